"""
A buffer in which runs of the destination are put together, and which they leave by whole lines.

Neither the destination nor its runs need start at a line: where lines start is asked of the pointer. Each macro tile
writes the lines that start in its part of a run; only the ends of a whole row are parts of lines, and those lines are
asked for before the buffer is filled.

Runs that lie in the source as they are need no buffer (`LineCopy`): lines are loaded from there.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import NamedTuple

from xdsl.builder import Builder
from xdsl.dialects import arith, memref, scf
from xdsl.ir import Block, Region, SSAValue
from xdsl.ir.affine import AffineExpr
from xdsl.rewriter import InsertPoint

from layoutc.planning.copies.copy_digits import Stride
from layoutc.planning.machine import LINE
from layoutc.planning.plans.plan import CopyPlan
from layoutc.transforms.building.creation import insert, inserted
from layoutc.transforms.building.loop_nest import NestBuilder, apply, open_loop
from layoutc.transforms.building.vector_ops import (
    buffer,
    element,
    fetch,
    further_on,
    load,
    put,
    store,
    sum_of,
    vector_type,
)
from layoutc.transforms.planned.copy_memory import Memory
from layoutc.transforms.planned.step_table import Place
from layoutc.transforms.values.tile_loops import Steps, Term, TileLoops, numbered

AskAhead = Callable[[TileLoops, AffineExpr, int], None]
"""what asks for lines ahead: in some loops, in which turn of how many"""


def run_loops(plan: CopyPlan, run_digits: Sequence[int], steps: Sequence[int]) -> list[Steps]:
    """Loops over the runs of a macro tile, which has so many steps of each digit."""
    return [Steps.of(g, 1, steps[g]) for g in plan.outer_order if g not in run_digits and steps[g] > 1]


class Run(NamedTuple):
    """Where the stores of a run are built, where it begins in the destination, and in what it is loaded from."""

    builder: Builder
    row: SSAValue
    stage: SSAValue


class StoreStage:
    """
    The buffer of a macro tile, and how it leaves it.

    Macro tiles are `step` apart along the digit that runs end in. Where runs are `in_source`, there is no buffer.
    """

    def __init__(
        self, nest: NestBuilder, plan: CopyPlan, memory: Memory, step: int | None = None, *, in_source: bool = False
    ):
        self.nest, self.plan, self.memory = nest, plan, memory
        self.last = plan.run_digits[-1]
        self.step = plan.macro_step(self.last) if step is None else step
        self.ratio = memory.ratio(plan)
        self.line = LINE // memory.element_bytes
        """elements of the memory in a line"""
        self.lanes = min(plan.vector_bytes, LINE) // memory.element_bytes
        self.strides: list[Stride] = [stride * self.ratio for stride in plan.store_buffer.strides]
        self.allocas: list[memref.AllocaOp] = []
        """to be put on the stack: of the function, or of each thread"""
        self.buffer = memory.source
        """what lines are loaded from"""
        self.ahead = plan.prefetch * self.ratio if in_source else 0
        """how far ahead of it each line asks for another one"""
        if not in_source:
            alloca = buffer(memory.element, plan.store_buffer.elements * self.ratio)
            self.allocas.append(alloca)
            self.buffer = alloca.results[0]
            self.buffer.name_hint = "store_stage"
        self.runs = run_loops(plan, plan.run_digits, plan.macro)

    def prepare(self) -> None:
        """Asks where lines start."""
        address = self.nest.insert(memref.ExtractAlignedPointerAsIndexOp.get(self.memory.target)).results[0]
        elements = AffineExpr.dimension(0) % LINE // self.memory.element_bytes
        self.begin = apply(Builder(InsertPoint.before(self.nest.before)), elements, [address], "begin")
        """how many elements of its first line lie before the destination"""

    def place(self, loops: TileLoops, inner: Sequence[Term]) -> Place:
        """Where a tile lies in the buffer."""
        return Place(loops.offset(inner, self.strides, 0, "store_offset"))

    def fetch_parts(self, loops: TileLoops, outer: Sequence[Term], strides: Sequence[Stride]) -> None:
        """
        Asks for the lines in which rows begin and end, where these are parts of lines.

        A store waits for the rest of its line, and those past the caches wait behind it. Runs that are whole lines have
        such ends where the destination begins inside of one. The terms are as in `copy_out`.
        """
        if self.plan.store != "staged" or self.plan.side_by_side:
            return
        position, builder = self._position(loops, outer), loops.builder
        if self.plan.keeps_lines:
            builder = self._where_it_is(builder, self.begin, "ne", 0)
        for at, distance, name in ((0, 0, "row_start"), (self.limit, self.plan.run * self.ratio - 1, "row_end")):
            inside = loops.inside()
            inside.builder = builder if position is None else self._where_it_is(builder, position, "eq", at)
            runs = inside.serial(self.runs)
            place = inside.offset((*outer, *runs), strides, self.plan.copy.dst * self.ratio + distance, name)
            insert(inside.builder, fetch(self.memory.target, place, writes=True))

    def _where_it_is(self, builder: Builder, value: SSAValue, predicate: str, number: int) -> Builder:
        """Where to build what is done if a value is (`eq`), or is not (`ne`), a number."""
        region = Region(Block([scf.YieldOp()]))
        condition = inserted(builder, arith.CmpiOp(value, self.nest.constant(number), predicate))
        insert(builder, scf.IfOp(condition, [], region))
        return Builder(InsertPoint.at_start(region.block))

    @property
    def limit(self) -> int:
        """Where the last macro tile of a row begins."""
        return self.plan.extents[self.last] - self.plan.macro[self.last]

    def _position(self, loops: TileLoops, outer: Sequence[Term]) -> SSAValue | None:
        """Where a macro tile begins in its row; None if it has all of it, or others do not overlap it."""
        terms = [term for term in outer if term.digit == self.last]
        if not terms or self.step >= self.plan.macro[self.last]:
            return None
        return loops.offset(terms, [1] * len(self.plan.macro), 0, "position")

    def copy_out(
        self,
        loops: TileLoops,
        outer: Sequence[Term],
        strides: Sequence[Stride],
        asks: AskAhead | None = None,
        source: Sequence[Stride] | None = None,
    ) -> None:
        """
        Each run: the head of a row, whole lines, the tail of a row.

        The terms are of loops over digits that have these strides in the destination, and in the `source` where lines
        are loaded from there. Each line asks for what lies ahead, if it is told how.
        """
        runs = loops.serial(self.runs)
        builder, line, length = loops.builder, self.line, self.plan.run * self.ratio
        row = loops.offset((*outer, *runs), strides, self.plan.copy.dst * self.ratio, "row")
        if source is None:
            stage = loops.offset(runs, self.strides, 0, "stage_row")
        else:
            stage = loops.offset((*outer, *runs), source, self.plan.copy.src * self.ratio, "src_row")
        run, place = Run(builder, row, stage), inserted(builder, sum_of(row, self.begin))
        place.name_hint = "place"
        d0 = AffineExpr.dimension(0)
        # Everything below counts from the start of the run.
        lines = apply(builder, self._to_line(d0), [place], "lines")
        lines_end = apply(builder, AffineExpr.constant(length) - (d0 + length) % line, [place], "lines_end")
        start, stop, limit = self.nest.constant(0), self.nest.constant(length), self.limit
        if (position := self._position(loops, outer)) is not None:
            step = self.step * self.plan.run // self.plan.macro[self.last] * self.ratio
            owned = apply(builder, self._to_line(d0 + step) + step, [place], "owned_end")
            start = self._where(builder, position, 0, start, lines, "start")
            lines_end = self._where(builder, position, limit, lines_end, owned, "lines_end")
            stop = self._where(builder, position, limit, stop, owned, "stop")
        if self.plan.store == "aligned":
            # A line from the very start, and one up to the very end: the lines between write some of them again.
            self._lines(run, start, lines)
            ends = inserted(builder, arith.CmpiOp(lines_end, stop, "slt"))
            tail = apply(builder, d0 - line, [stop], "tail")
            tail = inserted(builder, arith.SelectOp(ends, tail, stop))
            self._lines(run, tail, stop)
        else:
            self._elements(run, start, lines)
            self._elements(run, lines_end, stop)
        inner, at = self._lines(run, lines, lines_end)
        if asks is not None:
            along, count = loops.inside(), -(-length // line)
            along.builder, along.counters = inner, [*along.counters, at]
            number = numbered(self.runs, runs) * count + AffineExpr.dimension(len(loops.counters)) // line
            asks(along, number, count * prod(loop.count for loop in self.runs))

    def _to_line(self, place: AffineExpr) -> AffineExpr:
        """How far the next line is; as a remainder, in which C compilers see that it is less than a line."""
        return place * (self.line - 1) % self.line

    def _where(
        self, builder: Builder, position: SSAValue, value: int, yes: SSAValue, no: SSAValue, name: str
    ) -> SSAValue:
        """One of two values, whether or not the macro tile is the first (the last) of its row."""
        condition = inserted(builder, arith.CmpiOp(position, self.nest.constant(value), "eq"))
        result = inserted(builder, arith.SelectOp(condition, yes, no))
        result.name_hint = name
        return result

    def _elements(self, run: Run, start: SSAValue, stop: SSAValue) -> None:
        inner, at, offset = self._loop(run, start, stop, 1)
        value = inserted(inner, element(self.buffer, offset))
        insert(inner, put(value, self.memory.target, at))

    def _lines(self, run: Run, start: SSAValue, stop: SSAValue) -> tuple[Builder, SSAValue]:
        """Whole lines; returns where each is stored, and the counter along the run there."""
        inner, at, offset = self._loop(run, start, stop, self.line)
        type = vector_type(self.memory.element, self.lanes)
        loaded: list[SSAValue] = []
        for number in range(0, self.line, self.lanes):
            index = further_on(self.nest, inner, offset, number)
            loaded.append(inserted(inner, load(self.buffer, index, type, self.ahead)))
        for number, value in enumerate(loaded):
            index = further_on(self.nest, inner, at, number * self.lanes)
            inner.insert(store(value, self.memory.target, index, streams=self.plan.store == "staged"))
        return inner, inner.insertion_point.block.args[0]

    def _loop(self, run: Run, start: SSAValue, stop: SSAValue, step: int) -> tuple[Builder, SSAValue, SSAValue]:
        """A loop along a run: the offsets in the destination and in the buffer."""
        _, inner, counter = open_loop(run.builder, (start, stop, self.nest.constant(step)), "k")
        at, offset = (inserted(inner, sum_of(base, counter)) for base in (run.row, run.stage))
        at.name_hint, offset.name_hint = "at", "stage_at" if self.allocas else "src_at"
        return inner, at, offset
