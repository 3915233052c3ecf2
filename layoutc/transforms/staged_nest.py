"""
A planned copy through a buffer: macro tiles are put together in the first cache, and leave it by whole lines.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cached_property

from xdsl.ir import Operation

from layoutc.planning.copy_digits import CopyDigit, SideName, Stride, StridedCopy
from layoutc.planning.plan import CopyPlan
from layoutc.planning.shared_bytes import digits_apart
from layoutc.transforms.byte_stage import ByteStage
from layoutc.transforms.copy_memory import Memory
from layoutc.transforms.gathered_loads import GatheredLoads
from layoutc.transforms.loop_nest import NestBuilder
from layoutc.transforms.step_table import Place
from layoutc.transforms.tile_loops import Steps, Term
from layoutc.transforms.tiled_nest import TiledCopy
from layoutc.transforms.whole_lines import StoreStage


class StagedCopy(TiledCopy):
    """A copy whose tiles are loaded from a buffer, stored to a buffer, or both."""

    def __init__(self, nest: NestBuilder, plan: CopyPlan, memory: Memory, threads: int):
        moved = plan.gathered
        super().__init__(nest, moved, memory.as_gathered if plan.gathers_converted else memory, threads)
        self.stages_loads, self.stages_stores = plan.load == "staged", plan.stages_stores
        self.packs_stores = plan.store == "packed"
        plain = replace(moved, store="normal") if self.stages_stores or self.packs_stores else moved
        if self.stages_loads:
            plain = replace(plain, load="normal", prefetch=0, copy=with_strides(plain, "src", plan.load_stage[0]))
            self.gathered = GatheredLoads(nest, plan, memory, self.inner, self.ratio)
            self.tile_source = self.gathered.buffer
        if self.stages_stores:
            plain = replace(plain, copy=with_strides(plain, "dst", plan.store_stage[0]))
            self.store_stage = StoreStage(nest, moved, self.memory)
            self.target = self.store_stage.buffer
        if self.packs_stores:
            plain = replace(plain, copy=with_strides(plain, "dst", moved.store_stage[0]), per_byte=(1, 1))
            self.byte_stage = ByteStage(nest, moved, memory.target, "dst")
            self.target, self.shares = self.byte_stage.buffer, {"src": 1, "dst": 1}
        self.touched = [self.src_strides] * (not self.stages_loads) + [self.dst_strides] * (plain.store == plan.store)
        self.tile_plan = plain

    def build(self) -> Operation:
        is_shared = self.around is not None or (self.threads > 1 and bool(self._shared))
        first = None if is_shared else self._stages(self.nest.insert)
        outer = self._open_outer()
        if is_shared:
            first = self._stages(self.loops.builder.insert)
        if self.stages_loads:
            self.gathered.fill(self.loops.inside(), outer, self.src_strides)
        out = self.loops.inside()
        inner = self.loops.serial(self.inner)
        terms = (*outer, *inner)
        src = self._in_stage(inner, self.gathered.strides, "load_offset") if self.stages_loads else self.source(terms)
        self.body.build(self.loops.builder, src, self._stored_at(inner, terms))
        if self.stages_stores:
            self.store_stage.copy_out(out, outer, self.dst_strides)
        if self.packs_stores:
            self.byte_stage.copy_out(out, outer, self.dst_strides)
        operation = self.loops.outermost or first
        assert operation is not None
        return operation

    @cached_property
    def _shared(self) -> list[Steps]:
        """The loops over macro tiles that threads may share."""
        apart = digits_apart(self.plan)
        return [loop for loop in self.outer if loop.digit in apart]

    def _open_outer(self) -> list[Term]:
        if not self.packs_stores:
            return self.open_outer(self.outer)
        terms = self.open_outer(self._shared) if self._shared else []
        return terms + self.loops.serial([loop for loop in self.outer if loop not in self._shared])

    def _stages(self, insert: Callable[[Operation], Operation]) -> Operation:
        """The buffers, on the stack: of the function, or of each thread."""
        made: list[Operation] = []
        if self.stages_loads:
            made += map(insert, self.gathered.allocas)
        if self.stages_stores:
            made.append(insert(self.store_stage.alloca))
        if self.packs_stores:
            made.append(insert(self.byte_stage.alloca))
        return made[0]

    def _in_stage(self, inner: Sequence[Term], strides: Sequence[Stride], name: str) -> Place:
        return Place(self.loops.offset(inner, strides, 0, name))

    def _stored_at(self, inner: Sequence[Term], terms: Sequence[Term]) -> Place:
        if self.packs_stores:
            return self.byte_stage.place(self.loops, inner)
        return (
            self._in_stage(inner, self.store_stage.strides, "store_offset")
            if self.stages_stores
            else self.destination(terms)
        )

    def prepare(self) -> None:
        super().prepare()
        if self.stages_stores:
            self.store_stage.prepare()


def with_strides(plan: CopyPlan, side: SideName, strides: Sequence[int]) -> StridedCopy:
    """The copy as its tiles see it: one side is a buffer, in which nothing carries."""
    digits: list[CopyDigit] = []
    for digit, stride in zip(plan.copy.digits, strides, strict=True):
        carries = tuple((name, carry) for name, carry in digit.carries if name != side)
        moved = replace(digit, src=stride) if side == "src" else replace(digit, dst=stride)
        digits.append(replace(moved, carries=carries))
    base = replace(plan.copy, src=0) if side == "src" else replace(plan.copy, dst=0)
    return replace(base, digits=tuple(digits))
