"""Rows of elements that share bytes, taken apart in an image of bytes or put together out of one."""

from __future__ import annotations

from xdsl.ir import Operation

from layoutc.planning.plan import CopyPlan
from layoutc.transforms.byte_stage import ByteStage
from layoutc.transforms.copy_memory import Memory
from layoutc.transforms.loop_nest import NestBuilder
from layoutc.transforms.tiled_nest import TiledCopy


class ImageRows(TiledCopy):
    """A copy of rows, which shares its image with other copies."""

    def __init__(self, nest: NestBuilder, plan: CopyPlan, memory: Memory, spans: bool):
        """`spans` says whether rows a little apart may be taken apart together."""
        super().__init__(nest, plan, memory, 1)
        is_into = plan.load == "unpacked"
        inside, image = (memory.source, memory.target) if is_into else (memory.target, memory.source)
        self.stage = ByteStage(nest, plan, inside, "src" if is_into else "dst", image, memory.convert, spans)

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
