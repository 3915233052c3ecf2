"""
A planned copy through buffers in which elements that share bytes have one each.

A row of 4095 elements of 4 bits begins inside of a byte if another one lies before it. On the way in all bytes of a row
are taken apart, and its first element comes to lie where the buffer's row begins. On the way out the bytes that a row
fills are put together by vectors; what is in bytes with others is put into them one by one, by the same thread.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

from xdsl.builder import Builder
from xdsl.dialects import affine, memref
from xdsl.dialects.builtin import AffineMapAttr, MemRefType, i8
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.ir.affine import AffineExpr, AffineMap

from layoutc.planning.copies.copy_digits import SideName, Stride
from layoutc.planning.machine import LINE
from layoutc.planning.plans.plan import CopyPlan
from layoutc.planning.plans.row_spans import RowSpan, row_span
from layoutc.transforms.building.creation import inserted
from layoutc.transforms.building.lanes import Lanes
from layoutc.transforms.building.loop_nest import NestBuilder, apply, open_loop
from layoutc.transforms.building.vector_ops import (
    buffer,
    element,
    fetch,
    load,
    load_masked,
    some_lanes,
    store,
    store_masked,
    sum_of,
    vector_type,
    zeros,
)
from layoutc.transforms.planned.copy_memory import Convert, unchanged
from layoutc.transforms.planned.step_table import Place
from layoutc.transforms.planned.whole_lines import run_loops
from layoutc.transforms.values.lane_params import PieceParams
from layoutc.transforms.values.shared_bytes import packed, store_part, unpacked
from layoutc.transforms.values.tile_loops import Term, TileLoops

SHORT_ROW = 2 * LINE
"""bytes of a row whose lines are asked for before it is loaded; along longer ones the processor fetches by itself"""
NO_PARAMS = PieceParams((), ())
D0, D1 = AffineExpr.dimension(0), AffineExpr.dimension(1)


@dataclass(frozen=True)
class Image:
    """A buffer that copies share, and what becomes of elements on their way into it, or out of it."""

    buffer: SSAValue
    convert: Convert
    spans: bool
    """whether rows a little apart may be taken apart together"""
    keeps_others: bool
    """whether what lies between such rows stays what it is"""


class ByteStage:
    """The buffer of one side of a macro tile, a byte for each element, and the rows of memory that go with it."""

    def __init__(self, nest: NestBuilder, plan: CopyPlan, memory: SSAValue, side: SideName, image: Image | None = None):
        self.nest, self.memory, self.side = nest, memory, side
        self.per_byte = plan.widths.per_byte(side)
        is_source = side == "src"
        self.base = plan.copy.of(side)
        self.run = plan.memory_run(side)
        self.runs = run_loops(plan, plan.memory_run_digits(side), plan.memory_steps(side))
        self.span = row_span(plan) if is_source and (image is None or image.spans) else None
        """rows that are taken apart together"""
        self.runs = [loop for loop in self.runs if self.span is None or loop.digit != self.span.digit]
        self.allocas: list[memref.AllocaOp] = []
        """to be put on the stack: of the function, or of each thread"""
        self.start = LINE
        """where the first row begins: before it lie the elements that share its first byte"""
        if image is None:
            strides = plan.buffer(side).strides
            self.allocas.append(buffer(i8, LINE + plan.buffer(side).elements))
            self.buffer: SSAValue = self.allocas[0].results[0]
            self.buffer.name_hint = "load_stage" if is_source else "store_stage"
        else:
            strides = [digit.dst if is_source else digit.src for digit in plan.copy.digits]
            self.buffer, self.start = image.buffer, plan.copy.dst if is_source else plan.copy.src
        self.strides: list[Stride] = list(strides)
        self.element: Attribute = cast("MemRefType[Any]", self.buffer.type).element_type
        """of the buffer: a byte, or what elements become on their way into it, or were"""
        self.convert = unchanged if image is None else image.convert
        self.loop: Operation | None = None
        """over the vectors of a row"""
        self.most_lanes = plan.vector_bytes // self.per_byte
        self.keeps_others = image is not None and image.keeps_others
        self.asks = plan.prefetch > 0
        self.ahead = plan.prefetch // self.per_byte if is_source else 0
        """how many bytes further on lies what is asked for with each load of a row"""
        self.nothing = zeros(nest, vector_type(i8, self.most_lanes)) if self.span is not None else None
        """what lies between such rows"""

    @property
    def _touched(self) -> tuple[int, int]:
        """The fewest bytes, and the most, that have elements of a row."""
        return -(-self.run // self.per_byte), (self.run + 2 * (self.per_byte - 1)) // self.per_byte

    @property
    def _filled(self) -> tuple[int, int]:
        """The fewest bytes, and the most, that a row fills alone."""
        return (self.run - self.per_byte + 1) // self.per_byte, self.run // self.per_byte

    def _lanes(self, bytes: int) -> int:
        """Bytes of a vector, of which so many are there at least."""
        return min(self.most_lanes, 1 << max(bytes, 1).bit_length() - 1)

    def place(self, loops: TileLoops, inner: Sequence[Term]) -> Place:
        """Where a tile lies in the buffer."""
        return Place(loops.offset(inner, self.strides, LINE, "stage_offset"))

    def fill(self, loops: TileLoops, outer: Sequence[Term], strides: Sequence[Stride]) -> None:
        """All bytes that have elements of a row, taken apart."""
        row, stage = self._row(loops, outer, strides)
        builder, share = loops.builder, self.per_byte
        if self.span is not None:
            self._fill_span(builder, self.span, row, stage)
            return
        first = apply(builder, D0 // share, [row], "first")
        into = apply(builder, D0 - D1 % share, [stage, row], "into")
        touched = apply(builder, (D0 % share + (self.run + share - 1)) // share, [row], "touched")
        inner, at, lanes = self._vectors(builder, touched, self._touched)
        index = inserted(inner.builder, sum_of(first, at))
        value = inserted(inner.builder, load(self.memory, index, vector_type(i8, lanes), self.ahead))
        there = apply(inner.builder, D0 + D1 * share, [into, at], "there")
        inner.builder.insert(store(self._converted(inner, unpacked(inner, value, share)), self.buffer, there))

    def _fill_span(self, builder: Builder, span: RowSpan, row: SSAValue, stage: SSAValue) -> None:
        """The bytes of several rows at once, without those between them."""
        turns = -(-span.rows // span.at_once)
        assert self.nothing is not None
        mask = self.nest.element(some_lanes(span.mask, self.most_lanes))
        inner, counter = self._loop(builder, *(self.nest.constant(value) for value in (0, turns, 1)))
        starts = (D0 * (span.at_once * span.step), AffineExpr.constant((span.rows - span.at_once) * span.step))
        at = inserted(inner, affine.MinOp([counter], AffineMapAttr(AffineMap(1, 0, starts))))
        at.name_hint = "at"
        here = apply(inner, (D0 + D1) // self.per_byte, [row, at], "here")
        value = inserted(inner, load_masked(self.memory, here, mask, self.nothing, self.ahead))
        lanes = Lanes(inner, self.nest, self.most_lanes)
        there = inserted(inner, sum_of(stage, at))
        made = self._converted(lanes, unpacked(lanes, value, self.per_byte))
        if self.keeps_others:
            elements = self.nest.element(some_lanes(span.elements, self.most_lanes * self.per_byte))
            inner.insert(store_masked(made, self.buffer, there, elements))
        else:
            inner.insert(store(made, self.buffer, there))

    def _converted(self, lanes: Lanes, value: SSAValue) -> SSAValue:
        """What becomes of the elements of so many bytes."""
        assert lanes.count is not None
        return self.convert(replace(lanes, count=lanes.count * self.per_byte), value, NO_PARAMS, None)

    def fetch_parts(self, loops: TileLoops, outer: Sequence[Term], strides: Sequence[Stride]) -> None:
        """
        Asks for the lines in which rows begin and end, if the plan asks ahead at all, and rows have no others.

        What is put into a byte beside others waits until that is there: it is read. The terms are as in `copy_out`.
        """
        if not self.asks or self._touched[1] > SHORT_ROW:
            return
        loops = loops.inside()
        row = loops.offset((*outer, *loops.serial(self.runs)), strides, self.base, "row")
        for distance, name in ((0, "row_start"), (self.run - 1, "row_end")):
            byte = apply(loops.builder, (D0 + distance) // self.per_byte, [row], name)
            loops.builder.insert(fetch(self.memory, byte))

    def copy_out(self, loops: TileLoops, outer: Sequence[Term], strides: Sequence[Stride]) -> None:
        """All elements of a row: those of bytes that it fills by vectors, those beside others one by one."""
        row, stage = self._row(loops, outer, strides)
        builder, share = loops.builder, self.per_byte
        if self._filled[0] < 1:
            self._elements(builder, self.nest.constant(0), self.nest.constant(self.run), row, stage)
            return
        head = apply(builder, D0 * (share - 1) % share, [row], "head")
        first = apply(builder, (D0 + D1) // share, [row, head], "first")
        filled = apply(builder, (AffineExpr.constant(self.run) - D0) // share, [head], "filled")
        tail = apply(builder, D0 + D1 * share, [head, filled], "tail")
        source = inserted(builder, sum_of(stage, head))
        self._elements(builder, self.nest.constant(0), head, row, stage)
        inner, at, lanes = self._vectors(builder, filled, self._filled)
        here = apply(inner.builder, D0 + D1 * share, [source, at], "here")
        value = inserted(inner.builder, load(self.buffer, here, vector_type(self.element, lanes * share)))
        value = self._converted(inner, value)
        index = inserted(inner.builder, sum_of(first, at))
        inner.builder.insert(store(packed(inner, value, share), self.memory, index))
        self._elements(builder, tail, self.nest.constant(self.run), row, stage)

    def _row(self, loops: TileLoops, outer: Sequence[Term], strides: Sequence[Stride]) -> tuple[SSAValue, SSAValue]:
        """Where a row of a macro tile begins, in loops over these: in elements of the memory, and in the buffer."""
        runs = loops.serial(self.runs)
        row = loops.offset((*outer, *runs), strides, self.base, "row")
        return row, loops.offset(runs, self.strides, self.start, "stage_row")

    def _vectors(self, builder: Builder, bytes: SSAValue, count: tuple[int, int]) -> tuple[Lanes, SSAValue, int]:
        """A loop over vectors of so many bytes, which lie from the fewest to the most; the last one starts earlier."""
        lanes = self._lanes(count[0])
        zero, one, stop = (self.nest.constant(value) for value in (0, 1, -(-count[1] // lanes)))
        inner, counter = self._loop(builder, zero, stop, one)
        starts = AffineMapAttr(AffineMap(2, 0, (D0 * lanes, D1 - lanes)))
        at = inserted(inner, affine.MinOp([counter, bytes], starts))
        at.name_hint = "at"
        return Lanes(inner, self.nest, lanes), at, lanes

    def _elements(self, builder: Builder, start: SSAValue, stop: SSAValue, row: SSAValue, stage: SSAValue) -> None:
        """Some elements of a row, one by one."""
        inner, counter = self._loop(builder, start, stop, self.nest.constant(1))
        lanes = Lanes(inner, self.nest)
        here, there = (lanes.insert(sum_of(base, counter), "at") for base in (stage, row))
        value = lanes.insert(element(self.buffer, here), "code")
        value = self.convert(lanes, value, NO_PARAMS, None)
        store_part(lanes, value, self.memory, self.per_byte, there)

    def _loop(self, builder: Builder, start: SSAValue, stop: SSAValue, one: SSAValue) -> tuple[Builder, SSAValue]:
        """A loop within a row: where what it does is built, and its counter."""
        self.loop, inside, counter = open_loop(builder, (start, stop, one), "k")
        return inside, counter
