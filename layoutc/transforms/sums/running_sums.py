"""
Sums of a compensation that are added up as tiles store weights, in a buffer on the stack.

That is zero before the copies. Each tile adds what its registers add up to; behind the copies each part gets the totals
times its factor. Leaves scf, affine, arith, memref and vector ops on flat buffers.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import prod

from xdsl.builder import Builder
from xdsl.dialects import memref
from xdsl.dialects.builtin import StringAttr, i32
from xdsl.ir import Operation, SSAValue

from layoutc.discardable import COMMENT
from layoutc.planning.conversions.running_sums import tile_sums
from layoutc.planning.machine import LINE
from layoutc.planning.plans.plan import CopyPlan
from layoutc.transforms.building import vector_ops
from layoutc.transforms.building.creation import inserted
from layoutc.transforms.building.lanes import Lanes
from layoutc.transforms.building.loop_nest import Loop, NestBuilder, apply
from layoutc.transforms.building.vector_ops import vector_type
from layoutc.transforms.sums.sum_lanes import SumLanes
from layoutc.transforms.values.element_access import Conversions
from layoutc.transforms.values.lane_params import ParamSite

NestBody = Callable[[Builder, Sequence[SSAValue]], Operation]
MOST_ADDED = 64
"""registers that are added up in 16 bits at once"""


@dataclass(frozen=True)
class RunningSums:
    """Where totals are added up, and which of the numbers that digits have for parameters are theirs."""

    totals: SSAValue
    number: int


def build_totals(nest: NestBuilder, conversions: Conversions, number: int, axis_names: Sequence[str]) -> RunningSums:
    """A buffer on the stack for the totals, which are zero before the copies."""
    made = nest.insert(memref.AllocaOp.get(i32, LINE, [prod(conversions.sums[0].desc.dims)])).results[0]
    made.name_hint = "totals"
    compensation = conversions.conversion.compensation
    assert compensation is not None
    kept = ", ".join(axis_names[axis] for axis in compensation.parts[0][1])

    def body(inner: Builder, counters: Sequence[SSAValue]) -> Operation:
        return inner.insert(memref.StoreOp.get(Lanes(inner, nest).constant(0, i32), made, counters))

    _over_sums(nest, conversions, body, f"totals: the sums of the weights over all axes but {kept}")
    return RunningSums(made, number)


def build_scaled_sums(nest: NestBuilder, conversions: Conversions, totals: SSAValue) -> None:
    """Each part's factor times the totals."""
    compensation = conversions.conversion.compensation
    assert compensation is not None
    parts = list(zip(compensation.parts, conversions.sums, strict=True))

    def body(inner: Builder, counters: Sequence[SSAValue]) -> Operation:
        lanes = Lanes(inner, nest)
        load = inner.insert(memref.LoadOp.get(totals, counters))
        load.res.name_hint = "total"
        for (factor, _), sums in parts:
            inner.insert(memref.StoreOp.get(lanes.mul(load.res, factor, "scaled"), sums.memory, counters))
        return load

    _over_sums(nest, conversions, body, f"{' and '.join(f'{factor}' for (factor, _), _ in parts)} times the totals")


def _over_sums(nest: NestBuilder, conversions: Conversions, body: NestBody, text: str) -> None:
    count = prod(conversions.sums[0].desc.dims)
    nest.nest([Loop("sum", range(count))], body).attributes[COMMENT] = StringAttr(text)


class TileAdder:
    """Adds what the tiles of a copy store."""

    def __init__(self, nest: NestBuilder, plan: CopyPlan, sums: RunningSums):
        found = tile_sums(plan, sums.number)
        assert found is not None, "sums run along with tiles that have them"
        self.nest, self.tile, self.sums = nest, found, sums
        self.lanes = SumLanes(nest, found.width, found.kept)

    def add(self, builder: Builder, site: ParamSite, stored: Sequence[tuple[int, SSAValue]]) -> None:
        """Vectors that are stored, with how far each lies from the tile's first in the destination."""
        by_sum: dict[int, list[SSAValue]] = {}
        for place, value in stored:
            by_sum.setdefault(self.tile.at[place], []).append(value)
        start = self._start(builder, site)
        for distance, registers in by_sum.items():
            for first in range(0, len(registers), MOST_ADDED):
                self._add(builder, start, distance, registers[first : first + MOST_ADDED])

    def _start(self, builder: Builder, site: ParamSite) -> SSAValue:
        """The sum of the tile's first weight."""
        if isinstance(site.offset, int):
            return self.nest.constant(site.offset)
        return apply(builder, site.offset, site.counters, "sum_offset")

    def _add(self, builder: Builder, start: SSAValue, distance: int, registers: Sequence[SSAValue]) -> None:
        """Registers whose weights go into the same sums."""
        lanes = Lanes(builder, self.nest, self.lanes.length)
        vectors = self.lanes.sums(lanes, self.lanes.added_up(lanes, registers))
        for number, offset, run in self.lanes.runs(self.tile.lane_offsets):
            part = self.lanes.cut(lanes, vectors[number], run)
            at = vector_ops.further_on(self.nest, builder, start, distance + offset)
            before = vector_ops.load(self.sums.totals, at, vector_type(i32, len(run)))
            total = Lanes(builder, self.nest, len(run)).add(inserted(builder, before), part, "total")
            builder.insert(vector_ops.store(total, self.sums.totals, at))
