"""
A buffer in which rows of the source are gathered, and converted if need be, before tiles are loaded from it.

Row by row a conversion is one loop over vectors: in tiles, which take a piece of each of many rows, it is spelled out
for every piece.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import lcm, prod

from xdsl.builder import Builder
from xdsl.ir import SSAValue

from layoutc.planning.conversions.gathered_rows import gathers_bytes, row_cycle, row_digits, taken_apart
from layoutc.planning.copies.copy_digits import Carry, Stride
from layoutc.planning.machine import LINE, merges_registers
from layoutc.planning.plans.plan import CopyPlan
from layoutc.transforms.building.creation import inserted
from layoutc.transforms.building.joined_lanes import all_joined
from layoutc.transforms.building.lanes import Lanes
from layoutc.transforms.building.loop_nest import NestBuilder
from layoutc.transforms.building.vector_ops import (
    blanks,
    buffer,
    first_lanes,
    further_on,
    load,
    load_masked,
    store,
    store_masked,
    sum_of,
    vector_type,
)
from layoutc.transforms.planned.byte_stage import ByteStage
from layoutc.transforms.planned.copy_memory import Memory
from layoutc.transforms.planned.lines_ahead import LinesAhead
from layoutc.transforms.planned.step_table import Place, RowSteps
from layoutc.transforms.planned.whole_lines import run_loops
from layoutc.transforms.values.lane_params import ParamSite, PieceParams, param_sites
from layoutc.transforms.values.shared_bytes import unpacked
from layoutc.transforms.values.tile_loops import Steps, Term, TileLoops, numbered

MOST_REPEATED = 1.125
"""times the elements of a row that its vectors may convert, as the last one begins earlier"""
UNROLLED = 4
"""vectors of a row that take no loop"""
MOST_REGISTERS = 8
"""that a short row is held in, with parameters of their own"""


class GatheredLoads:
    """
    The buffer of a macro tile of the source, and how it is filled.

    `inner` are the loops over the tiles of a macro tile.
    """

    def __init__(self, nest: NestBuilder, plan: CopyPlan, memory: Memory, inner: Sequence[Steps]):
        self.nest, self.plan, self.memory, self.inner = nest, plan, memory, inner
        self.ratio = ratio = memory.ratio(plan)
        self.strides: list[Stride] = [stride * ratio for stride in plan.load_buffer.strides]
        self.bytes = None
        """the buffer that rows go through first which begin inside of bytes: there each element has one"""
        if plan.widths.converts and not gathers_bytes(plan):
            self.bytes = ByteStage(nest, taken_apart(plan), memory.source, "src")
        self.share = plan.widths.src_per_byte if self.bytes is None else 1
        """elements of the source that have an offset together, as rows and vectors begin and end with bytes"""
        self.source_element = memory.source_element
        alloca = buffer(memory.element, plan.load_buffer.elements * ratio)
        self.allocas = [alloca, *([] if self.bytes is None else self.bytes.allocas)]
        """to be put on the stack: of the function, or of each thread"""
        self.source = memory.source if self.bytes is None else self.bytes.buffer
        """what rows are loaded from"""
        self.buffer: SSAValue = alloca.results[0]
        self.buffer.name_hint = "load_stage"
        self.steps = plan.memory_steps("src")
        self.rows = run_loops(plan, row_digits(plan), self.steps)
        """loops over the rows that are in the source: what is not there is not read"""
        length = prod(self.steps[g] for g in row_digits(plan)) * ratio
        self.cycle = row_cycle(plan) * ratio if plan.widths.converts else 0
        self.lanes = min(self._most_lanes(), 1 << (length.bit_length() - 1))
        """that are stored at once, or loaded at once if those are more"""
        while lcm(self.lanes, self.cycle or 1) > length or self._repeats_much(length):
            self.lanes //= 2
        self.along = Steps.of(row_digits(plan)[0], lcm(self.lanes, self.cycle or 1), length)
        """vectors along a row, or so many that their parameters begin again; its digits move as one"""
        self.filled = self._filled(length)
        """lanes of each vector that are in a row; none of these has a loop, and the last one may begin earlier"""
        self.lanes = self._at_once if self.filled else self.lanes
        self.mask: SSAValue | None = None
        """of the lanes that are filled, if not all are"""
        self.beside: SSAValue | None = None
        """what is in the other lanes"""
        self.row_steps: RowSteps | None = None
        """of a digit that carries from row to row"""

    def prepare(self, strides: Sequence[Stride]) -> None:
        """Makes what stands ahead of all loops: a mask, and the table of a digit that carries from row to row."""
        if 0 < self.filled < self.lanes:
            self.mask = self.nest.insert(first_lanes(self.nest.constant(self.filled), self.lanes)).results[0]
            self.beside = blanks(self.nest, vector_type(self.source_element, self.lanes), self.plan.widths.converts)
        if self.bytes is not None:
            return
        carries = ((loop.digit, strides[loop.digit]) for loop in self.rows)
        found = next(((g, stride) for g, stride in carries if isinstance(stride, Carry)), None)
        if found is not None:
            digit, stride = found
            # Rows begin with bytes here, wherever they lie.
            self.row_steps = RowSteps(self.nest, digit, stride.shared(self.share), self.steps[digit])

    def _most_lanes(self) -> int:
        """Lanes of a vector of the narrower side; where parameters come in cycles, of what is widest on the way."""
        if self.cycle > 1 or not self.plan.widths.converts:
            return self._at_once
        return self.plan.vector_bytes // min(self.plan.widths.src, self.plan.widths.dst)

    def _repeats_much(self, length: int) -> bool:
        """Whether the last lanes of a row would convert many elements again, and fewer lanes fewer."""
        return self.lanes > self._at_once and -(-length // self.lanes) * self.lanes > MOST_REPEATED * length

    def _filled(self, length: int) -> int:
        """
        Lanes of the registers that hold a short row, if these are less than half as many as smaller vectors; or 0.

        Each has parameters of its own. A row of 9 would be converted by pairs where its parameters begin again after 3.
        """
        plan, whole = self.plan, self._at_once
        fills = merges_registers(plan.vector_bytes, plan.shuffles, plan.widths.moved)
        registers, vectors = -(-length // whole), self.along.count * self.along.size // self.lanes
        if not fills or not plan.widths.converts or self.share > 1 or 2 * registers >= vectors:
            return 0
        if registers > MOST_REGISTERS:
            return 0
        return min(whole, length)

    @property
    def _at_once(self) -> int:
        """Lanes of what is widest on the way."""
        return self.plan.vector_bytes // self.memory.widest_bytes

    def fill(
        self,
        loops: TileLoops,
        outer: Sequence[Term],
        strides: Sequence[Stride],
        overlapping: Sequence[tuple[Steps, Steps]],
        shared: Sequence[Sequence[int]] = (),
    ) -> None:
        """
        Gathers a macro tile; the terms are of loops over digits that have these strides in the source.

        Of `overlapping` macro tiles only what the one before has not moved. Loops that are `shared` with other copies
        step so many values of each list of parameters.
        """
        if self.bytes is not None:
            self.bytes.fill(loops.inside(), outer, strides)
        if self.row_steps is not None:
            self.row_steps.begin(loops, outer)
        terms = [*outer, *loops.of_new_tiles(self.rows, overlapping, outer)]
        base, places = self.plan.copy.src * self.ratio, terms
        if self.bytes is not None:
            strides, base, places = self.bytes.strides, LINE, terms[len(outer) :]
        # Steps along a row count elements of the memory; all other counters count values of their digit.
        row = self._row(loops, places, strides, base)
        into = loops.offset(terms[len(outer) :], self.strides, 0, "into_row")
        if self.is_looped:
            along = loops.serial([self.along])
            single: list[Stride] = [1 if g == along[0].digit else stride for g, stride in enumerate(strides)]
            further = {share: loops.offset(along, single, 0, "at", share) for share in {self.share, 1}}
            row, into = (
                inserted(loops.builder, sum_of(start, further[share]))
                for start, share in ((row, self.share), (into, 1))
            )
            # Where parameters begin again, they are those of any other step along the row.
            terms += [] if self.cycle else along
        sites = param_sites(self.plan.copy, loops, terms, shared) if self.plan.widths.converts else []
        for start in self._starts:
            self._vector(loops.builder, row, into, start, sites)

    def _row(self, loops: TileLoops, places: Sequence[Term], strides: Sequence[Stride], base: int) -> SSAValue:
        """Where a row begins in the source, its digit that carries counted out by the table."""
        if self.row_steps is None:
            return loops.offset(places, strides, base, "row", self.share)
        others = [term for term in places if term.digit != self.row_steps.digit]
        start = loops.offset(others, strides, base, "row", self.share)
        return inserted(loops.builder, sum_of(start, self.row_steps.offset(loops, places)))

    def place(self, loops: TileLoops, inner: Sequence[Term]) -> Place:
        """Where a tile lies in the buffer."""
        return Place(loops.offset(inner, self.strides, 0, "load_offset"))

    def ask_ahead(self, loops: TileLoops, outer: Sequence[Term], inner: Sequence[Term], src: Sequence[Stride]) -> None:
        """A tile asks for its share of the lines of the next macro tile: by its number, the next ones of all."""
        ahead = LinesAhead(self.plan, self.memory, self.source, (), self.rows, row_digits(self.plan)[0])
        ahead.ask(loops, outer, src, numbered(self.inner, inner), prod(loop.count for loop in self.inner))

    @property
    def is_looped(self) -> bool:
        """Whether there is a loop along a row."""
        turns, lanes = self.along.count, min(self.lanes, self._at_once)
        return not self.filled and turns > 1 and turns * self.along.size > UNROLLED * lanes

    @property
    def _starts(self) -> Sequence[int]:
        """Where vectors begin in a row, or in what a step along it takes."""
        size, extent, count = self.along.size, self.along.extent, 1 if self.is_looped else self.along.count
        if self.filled:
            return [min(start, extent - self.filled) for start in range(0, extent, self.filled)]
        steps = (min(n * size, extent - size) for n in range(count))
        return [start + lane for start in steps for lane in range(0, size, self.lanes)]

    def _vector(self, builder: Builder, row: SSAValue, into: SSAValue, start: int, sites: Sequence[ParamSite]) -> None:
        """The lanes from `start` on out of the source and into the buffer."""
        if not self.plan.widths.converts:
            self._store(builder, self._loaded(builder, row, start, self.lanes), into, start)
            return
        most = self.plan.vector_bytes
        loaded, stored = (min(self.lanes, most // bytes) for bytes in (self.plan.widths.src, self.plan.widths.dst))
        piece, parts = min(loaded, stored), list[SSAValue]()
        for first in range(0, self.lanes, loaded):
            value = self._loaded(builder, row, start + first, loaded)
            for part in range(0, loaded, piece):
                taken = Lanes(builder, self.nest, loaded).part(value, part, piece)
                parts.append(self._converted(builder, taken, start + first + part, piece, sites))
        for first in range(0, self.lanes, stored):
            together = parts[first // piece : (first + stored) // piece]
            value = all_joined(builder, self.nest, together, self.plan.shuffles, "r")
            self._store(builder, value, into, start + first)

    def _loaded(self, builder: Builder, row: SSAValue, start: int, lanes: int) -> SSAValue:
        """So many lanes of a row, those that share bytes in a byte each."""
        asks = self.bytes is None and self.plan.asks != "by tiles"
        ahead = self.plan.prefetch * self.ratio // self.share if asks else 0
        type = vector_type(self.source_element, lanes // self.share)
        here = further_on(self.nest, builder, row, start // self.share)
        if self.mask is not None and self.beside is not None:
            return inserted(builder, load_masked(self.source, here, self.mask, self.beside, ahead))
        value: SSAValue = inserted(builder, load(self.source, here, type, ahead))
        return unpacked(Lanes(builder, self.nest, lanes // self.share), value, self.share) if self.share > 1 else value

    def _converted(
        self, builder: Builder, value: SSAValue, start: int, lanes: int, sites: Sequence[ParamSite]
    ) -> SSAValue:
        """So many lanes from `start` on as they go into the buffer."""
        digit = self.plan.copy.digits[self.along.digit]
        last = self.along.extent - 1
        along = [min(start + lane, last) % (self.cycle or self.along.extent) for lane in range(lanes)]
        distances = [tuple(lane * step for lane in along) for step in digit.params]
        return self.memory.convert(Lanes(builder, self.nest, lanes), value, PieceParams(sites, distances), None)

    def _store(self, builder: Builder, value: SSAValue, into: SSAValue, start: int) -> None:
        there = further_on(self.nest, builder, into, start)
        if self.mask is None:
            builder.insert(store(value, self.buffer, there))
        else:
            builder.insert(store_masked(value, self.buffer, there, self.mask))
