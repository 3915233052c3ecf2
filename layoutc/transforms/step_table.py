"""
Where a tile lies, and the table of a digit that carries: several digits counted as one have no single stride.

A step of such a digit lies at an offset that repeats after a period, the steps of all its digits but the slowest.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.builder import Builder
from xdsl.dialects import memref
from xdsl.dialects.builtin import IndexType
from xdsl.ir import Operation, SSAValue
from xdsl.ir.affine import AffineExpr

from layoutc.planning.copy_digits import Carry
from layoutc.planning.plan import LINE
from layoutc.transforms.loop_nest import Loop, NestBuilder, apply


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
    table = nest.insert(memref.AllocaOp.get(IndexType(), LINE, [count])).results[0]
    table.name_hint = "steps"

    def body(inner: Builder, counters: Sequence[SSAValue]) -> Operation:
        offset = apply(inner, stride.at(AffineExpr.dimension(0)), counters, "step")
        return inner.insert(memref.StoreOp.get(offset, table, [counters[0]]))

    nest.nest([Loop("k", range(count))], body)
    return table
