"""
A planned copy through a buffer: macro tiles are put together in the first cache, and leave it by whole lines.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from math import prod

from xdsl.dialects import memref
from xdsl.ir import Operation
from xdsl.ir.affine import AffineExpr

from layoutc.planning.copy_digits import CopyDigit, SideName, Stride, StridedCopy
from layoutc.planning.plan import LINE, CopyPlan
from layoutc.transforms.loop_nest import NestBuilder
from layoutc.transforms.step_table import Place
from layoutc.transforms.tile_body import Memory, VectorBody
from layoutc.transforms.tile_loops import Steps, Term, TileLoops
from layoutc.transforms.tiled_nest import TiledCopy
from layoutc.transforms.vector_ops import load, store, sum_of, vector_type
from layoutc.transforms.whole_lines import StoreStage, run_loops


class StagedCopy(TiledCopy):
    """A copy whose tiles are loaded from a buffer, stored to a buffer, or both."""

    def __init__(self, nest: NestBuilder, plan: CopyPlan, memory: Memory, threads: int):
        super().__init__(nest, plan, memory, threads)
        self.stages_loads, self.stages_stores = plan.load == "staged", plan.stages_stores
        plain = replace(plan, store="normal") if self.stages_stores else plan
        if self.stages_loads:
            strides, self.load_elements = plan.load_stage
            plain = replace(plain, load="normal", prefetch=0, copy=_with_strides(plain, "src", strides))
            self.load_strides = [stride * self.ratio for stride in strides]
        if self.stages_stores:
            plain = replace(plain, copy=_with_strides(plain, "dst", plan.store_stage[0]))
            self.store_stage = StoreStage(nest, plan, memory)
            self.target = self.store_stage.buffer
        self.touched = [self.src_strides] * (not self.stages_loads) + [self.dst_strides] * (not self.stages_stores)
        self.body = VectorBody(self, plain)

    def build(self) -> Operation:
        is_shared = self.around is not None or (self.threads > 1 and bool(self.outer))
        first = None if is_shared else self._stages(self.nest.insert)
        outer = self.open_outer()
        if is_shared:
            first = self._stages(self.loops.builder.insert)
        if self.stages_loads:
            self._copy_in(self.loops.inside(), outer)
        out = self.loops.inside()
        inner = self.loops.serial(self.inner)
        terms = (*outer, *inner)
        if self.stages_loads and self.plan.prefetch:
            self._ask_ahead(outer, inner)
        src = self._in_stage(inner, self.load_strides, "load_offset") if self.stages_loads else self.source(terms)
        dst = (
            self._in_stage(inner, self.store_stage.strides, "store_offset")
            if self.stages_stores
            else self.destination(terms)
        )
        self.body.build(self.loops.builder, src, dst)
        if self.stages_stores:
            self.store_stage.copy_out(out, outer, self.dst_strides)
        operation = self.loops.outermost or first
        assert operation is not None
        return operation

    def _stages(self, insert: Callable[[Operation], Operation]) -> Operation:
        """The buffers, on the stack: of the function, or of each thread."""
        made: list[Operation] = []
        if self.stages_loads:
            made.append(insert(memref.AllocaOp.get(self.memory.element, LINE, [self.load_elements * self.ratio])))
            self.tile_source = made[-1].results[0]
            self.tile_source.name_hint = "load_stage"
        if self.stages_stores:
            made.append(insert(self.store_stage.alloca))
        return made[0]

    def _in_stage(self, inner: Sequence[Term], strides: Sequence[Stride], name: str) -> Place:
        return Place(self.loops.offset(inner, strides, 0, name))

    def prepare(self) -> None:
        super().prepare()
        for value in (0, 1):
            self.nest.constant(value)
        if self.stages_loads:
            self.loops.constants((*self._source_runs(), self._along_run()))
            self.nest.constant(self._asked_by_a_tile())
        if self.stages_stores:
            self.store_stage.prepare(self.loops)

    # --- the copy in -----------------------------------------------------------------------------------------------

    def _source_runs(self) -> list[Steps]:
        """Loops over the runs that are in the source: what is not there is not read."""
        steps = [self.plan.loaded_steps(position) for position in range(len(self.plan.macro))]
        return run_loops(self.plan, self.plan.source_run_digits, steps)

    def _along_run(self) -> Steps:
        """Vectors along a run of the source; its digits move as one, by the stride of the fastest."""
        length = self.plan.source_run * self.ratio
        lanes = min(self.plan.vector_bytes // self.memory.element_bytes, 1 << (length.bit_length() - 1))
        return Steps.of(self.plan.source_run_digits[0], lanes, length)

    def _copy_in(self, loops: TileLoops, outer: Sequence[Term]) -> None:
        runs = loops.serial(self._source_runs())
        along = loops.serial([self._along_run()])
        single: list[Stride] = [1 if g == along[0].digit else stride for g, stride in enumerate(self.src_strides)]
        base = self.plan.copy.src * self.ratio
        # Steps along a run count elements of the memory; all other counters count values of their digit.
        row = loops.offset((*outer, *runs), self.src_strides, base, "row")
        into = loops.offset(runs, self.load_strides, 0, "into_row")
        at = loops.offset(along, single, 0, "at")
        builder, lanes = loops.builder, self._along_run().size
        here, there = (builder.insert(sum_of(start, at)).result for start in (row, into))
        type = vector_type(self.memory.element, lanes)
        value = builder.insert(load(self.memory.source, here, type)).result
        builder.insert(store(value, self.tile_source, there))

    # --- the next macro tile ---------------------------------------------------------------------------------------

    def _source_lines(self) -> list[Steps]:
        """Loops over the lines of the runs in the source."""
        line = LINE // self.memory.element_bytes
        lines = -(-self.plan.source_run * self.ratio // line)
        return [*self._source_runs(), Steps.of(self.plan.source_run_digits[0], line, lines * line)]

    def _asked_by_a_tile(self) -> int:
        """How many of these lines each tile asks for, so that memory is busy while registers are."""
        lines, tiles = (prod(loop.count for loop in loops) for loops in (self._source_lines(), self.inner))
        return -(-lines // tiles)

    def _ask_ahead(self, outer: Sequence[Term], inner: Sequence[Term]) -> None:
        """A tile asks for its share of the next macro tile's lines: the next ones of all, by the tile's number."""
        number: AffineExpr = AffineExpr.constant(0)
        for steps, term in zip(self.inner, inner, strict=True):
            number = number * steps.count + steps.number(term.position)
        share = self._asked_by_a_tile()
        loops = self.loops.inside()
        asked = loops.serial([Steps.of(0, 1, share)])[0].position
        terms: list[Term] = []
        left = number * share + asked
        for steps in reversed(self._source_lines()):
            terms.insert(0, Term(steps.digit, left % steps.count * steps.step))
            left = left // steps.count
        strides: list[Stride] = [1 if g == terms[-1].digit else stride for g, stride in enumerate(self.src_strides)]
        row = loops.offset((*outer, *terms[:-1]), self.src_strides, self.plan.copy.src * self.ratio, "row")
        at = loops.offset(terms[-1:], strides, 0, "at")
        here = loops.builder.insert(sum_of(row, at)).result
        one = vector_type(self.memory.element, 1)
        loops.builder.insert(load(self.memory.source, here, one, self.plan.prefetch * self.ratio))


def _with_strides(plan: CopyPlan, side: SideName, strides: Sequence[int]) -> StridedCopy:
    """The copy as its tiles see it: one side is a buffer, in which nothing carries."""
    digits: list[CopyDigit] = []
    for digit, stride in zip(plan.copy.digits, strides, strict=True):
        carries = tuple((name, carry) for name, carry in digit.carries if name != side)
        moved = replace(digit, src=stride) if side == "src" else replace(digit, dst=stride)
        digits.append(replace(moved, carries=carries))
    base = replace(plan.copy, src=0) if side == "src" else replace(plan.copy, dst=0)
    return replace(base, digits=tuple(digits))


def tiled_copy(nest: NestBuilder, plan: CopyPlan, memory: Memory, threads: int) -> TiledCopy:
    """One planned copy, through a buffer or straight, with its constants made."""
    kind = StagedCopy if plan.stages_stores or plan.load == "staged" else TiledCopy
    copy = kind(nest, plan, memory, threads)
    copy.prepare()
    return copy
