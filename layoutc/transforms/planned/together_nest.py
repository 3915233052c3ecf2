"""Copies that run together as IR: loops that they share, the copies in these, and what leaves their buffers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from xdsl.ir import Operation

from layoutc.planning.copies.copy_digits import SIDES, SideName
from layoutc.planning.plans.plan import CopyPlan
from layoutc.planning.plans.turns import Together
from layoutc.planning.together.unions import Union, shared_step, unions
from layoutc.transforms.building.loop_nest import NestBuilder
from layoutc.transforms.planned.buffered_copy import tiled_copy
from layoutc.transforms.planned.copy_memory import Memory
from layoutc.transforms.planned.tiled_nest import Around, TiledCopy
from layoutc.transforms.planned.whole_lines import StoreStage
from layoutc.transforms.values.tile_loops import Steps, Term, TileLoops


class TogetherNest:
    """Copies in the loops that they share."""

    def __init__(self, nest: NestBuilder, together: Together, memory: Memory):
        self.nest, self.shared, self.memory = nest, together.loops, memory
        self.plans = together.copies
        self.unions = unions(together) if together.store == "staged" else ()
        self.steps = [shared_step(g, self.unions) if self.unions else loop.step for g, loop in enumerate(self.shared)]
        self.loops = TileLoops(nest)
        turns = zip(self.shared, self.steps, strict=True)
        pieces = [Steps.of(g, loop.step, loop.extent, step) for g, (loop, step) in enumerate(turns)]
        self.moving = [piece for piece in pieces if piece.size < piece.extent]
        self.stages = [self._stage(union) for union in self.unions]
        buffers = zip(self.unions, self.stages, strict=True)
        self.buffers = {number: (union, stage) for union, stage in buffers for number in union.members}
        self.copies = [self._copy(number, plan) for number, plan in enumerate(together.copies)]

    def _stage(self, union: Union) -> StoreStage:
        last = union.plan.run_digits[-1]
        stage = StoreStage(self.nest, union.plan, self.memory, self.steps[last] if last < len(self.steps) else None)
        stage.prepare()
        return stage

    def _copy(self, number: int, plan: CopyPlan) -> TiledCopy:
        """A copy, which stores to the destination or to the buffer that it shares."""
        if number not in self.buffers:
            return tiled_copy(self.nest, plan, self.memory, 1)
        union, stage = self.buffers[number]
        return tiled_copy(self.nest, union.inside(plan), replace(self.memory, target=stage.buffer), 1)

    def build(self, threads: int) -> tuple[Operation, list[Operation]]:
        """Returns the outermost of the shared loops, and the outermost operation of each copy."""
        if threads == 1:
            self._put_on_stack()
        terms = self.loops.parallel(self.moving, threads) if threads > 1 else self.loops.serial(self.moving)
        if threads > 1:
            self._put_on_stack()
        strides = [self._stage_strides(stage) for stage in self.stages]
        for stage, along in zip(self.stages, strides, strict=True):
            stage.fetch_parts(self.loops, terms, along)
        made = [self._put_inside(number, copy, terms) for number, copy in enumerate(self.copies)]
        for stage, along in zip(self.stages, strides, strict=True):
            stage.copy_out(self.loops.inside(), terms, along)
        assert self.loops.outermost is not None, "a loop of one turn is none"
        return self.loops.outermost, made

    def _stage_strides(self, stage: StoreStage) -> list[int]:
        """What steps of the loops, and of the rows of a buffer, are in the destination."""
        rows = stage.plan.copy.digits[len(self.shared) :]
        return self._strides("dst", stage.plan) + [digit.dst * stage.ratio for digit in rows]

    def _put_on_stack(self) -> None:
        """The buffers: of the function, or of each thread."""
        for stage in self.stages:
            for alloca in stage.allocas:
                self.loops.builder.insert(alloca)

    def _put_inside(self, number: int, copy: TiledCopy, terms: Sequence[Term]) -> Operation:
        src, dst = (self._strides(side, self.plans[number]) for side in SIDES)
        dst = [0] * len(self.shared) if number in self.buffers else dst
        params = [loop.params for loop in self.shared]
        copy.put_inside(Around(self.loops, terms, src, dst, params))
        return copy.build()

    def _strides(self, side: SideName, plan: CopyPlan) -> list[int]:
        """What steps of the loops are, in elements of the memory, some of which may share bytes."""
        if plan.copy.is_fill and side == "src":
            return [0] * len(self.shared)
        width = plan.widths.src if plan.widths.converts and side == "src" else self.memory.element_bytes
        share = plan.widths.per_byte(side)
        return [loop.of(side) * share // width for loop in self.shared]
