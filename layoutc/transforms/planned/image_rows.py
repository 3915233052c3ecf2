"""Rows of elements that share bytes, taken apart in an image of bytes or put together out of one."""

from __future__ import annotations

from xdsl.ir import Operation

from layoutc.planning.copies.copy_digits import SideName
from layoutc.planning.plans.plan import CopyPlan
from layoutc.transforms.building.loop_nest import NestBuilder
from layoutc.transforms.planned.byte_stage import ByteStage, Image
from layoutc.transforms.planned.copy_memory import Memory
from layoutc.transforms.planned.tiled_nest import TiledCopy


class ImageRows(TiledCopy):
    """A copy of rows, which shares its image with other copies."""

    def __init__(self, nest: NestBuilder, plan: CopyPlan, memory: Memory, spans: bool, is_first: bool):
        """
        `spans` says whether rows a little apart may be taken apart together. What the `first` copy puts between them
        and behind them others put right; these leave what is there.
        """
        super().__init__(nest, plan, memory, 1)
        is_into = plan.load == "unpacked"
        inside, image = (memory.source, memory.target) if is_into else (memory.target, memory.source)
        side: SideName = "src" if is_into else "dst"
        self.stage = ByteStage(nest, plan, inside, side, Image(image, memory.convert, spans, keeps_others=not is_first))

    def prepare(self) -> None:
        """Nothing stands ahead of the loops."""

    def build(self) -> Operation:
        terms, loops = self.open_outer([]), self.loops.inside()
        if self.stage.side == "src":
            self.stage.fill(loops, terms, self.src_strides)
        else:
            self.stage.copy_out(loops, terms, self.dst_strides)
        first = loops.outermost or self.stage.loop
        assert first is not None, "a row has a loop at least"
        return first
