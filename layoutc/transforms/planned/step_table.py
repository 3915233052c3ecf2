"""
Where a tile lies, and the table of a digit that carries: several digits counted as one have no single stride.

A step of such a digit lies at an offset that repeats after a period, the steps of all its digits but the slowest.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.builder import Builder
from xdsl.dialects import memref
from xdsl.ir import Operation, SSAValue
from xdsl.ir.affine import AffineExpr

from layoutc.planning.copies.copy_digits import Carry, Stride
from layoutc.planning.machine import LINE
from layoutc.transforms.building.creation import inserted
from layoutc.transforms.building.loop_nest import INDEX, Loop, NestBuilder, apply
from layoutc.transforms.building.vector_ops import element, sum_of
from layoutc.transforms.values.tile_loops import Term, TileLoops


@dataclass(frozen=True)
class Place:
    """
    Where a tile lies in a buffer: the offset of its first element.

    Along a digit that carries, `steps` is a table of the steps' offsets, and `first` the place of the tile's first.
    """

    offset: SSAValue
    steps: SSAValue | None = None
    first: SSAValue | None = None


def tabulate(nest: NestBuilder, stride: Carry, tile: int) -> SSAValue:
    """The offsets of the first steps of a digit that carries: of a period, and of a tile that starts in it."""
    count = stride.period + tile - 1
    table = nest.insert(memref.AllocaOp.get(INDEX, LINE, [count])).results[0]
    table.name_hint = "steps"

    def body(inner: Builder, counters: Sequence[SSAValue]) -> Operation:
        offset = apply(inner, stride.at(AffineExpr.dimension(0)), counters, "step")
        return inner.insert(memref.StoreOp.get(offset, table, [counters[0]]))

    nest.nest([Loop("k", range(count))], body)
    return table


class RowSteps:
    """
    Where the rows of a macro tile lie along a digit that carries: what a macro tile begins with, and a table of steps.

    Counted out for each row, a division and a remainder for each digit in it took longer than to convert the row.
    """

    def __init__(self, nest: NestBuilder, digit: int, stride: Carry, steps: int):
        self.digit, self.stride = digit, stride
        self.table = tabulate(nest, stride, steps)

    def begin(self, loops: TileLoops, outer: Sequence[Term]) -> None:
        """Counts out where a macro tile begins."""
        self.outer = [term for term in outer if term.digit == self.digit]
        start = TileLoops.position(self.outer, self.digit)
        one: list[Stride] = [1] * (self.digit + 1)
        slowest = self.stride.steps[-1][1]
        whole = start // self.stride.period * slowest
        self.whole = loops.offset([Term(self.digit, whole)], one, 0, "periods")
        self.rest = loops.offset([Term(self.digit, start % self.stride.period)], one, 0, "rest")

    def offset(self, loops: TileLoops, places: Sequence[Term]) -> SSAValue:
        """Where a row lies behind the others' offset."""
        inner = [term for term in places if term.digit == self.digit and term not in self.outer]
        one: list[Stride] = [1] * (self.digit + 1)
        at = inserted(loops.builder, sum_of(self.rest, loops.offset(inner, one, 0, "at")))
        step = inserted(loops.builder, element(self.table, at))
        return inserted(loops.builder, sum_of(self.whole, step))
