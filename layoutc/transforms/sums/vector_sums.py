"""
The sums of a compensation by whole registers of weights: loops over sums, and in them loops that carry their totals.

A register of 8-bit weights is added up in lanes of 16 bits, a few of those in lanes of 32; no lane moves until all
weights of a sum have been added (`sum_lanes`). Leaves scf, affine, arith and vector ops on flat buffers.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import count, product

from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, i8
from xdsl.ir import Operation, SSAValue

from layoutc.planning.conversions.weight_sums import ADDED_LOADS, SumPlan
from layoutc.planning.copies.copy_digits import SIDES
from layoutc.transforms.building import vector_ops
from layoutc.transforms.building.creation import inserted
from layoutc.transforms.building.lanes import Lanes
from layoutc.transforms.building.loop_nest import NestBuilder
from layoutc.transforms.building.vector_ops import vector_type
from layoutc.transforms.sums.sum_lanes import SumLanes, Values
from layoutc.transforms.values.tile_loops import Steps, Term, TileLoops


@dataclass(frozen=True)
class Load:
    """A register of weights: how far from the first one, and how many of its low steps have been counted already."""

    offset: int
    counted: int = 0


class VectorSums:
    """The sums of one plan, which go times each factor into a memory of their own."""

    def __init__(
        self, nest: NestBuilder, plan: SumPlan, weights: SSAValue, sums: Sequence[tuple[int, SSAValue]], threads: int
    ):
        self.nest, self.plan, self.weights, self.sums, self.threads = nest, plan, weights, sums, threads
        self.digits, self.loops, self.lanes = (
            plan.copy.digits,
            TileLoops(nest),
            SumLanes(nest, plan.width, [plan.is_kept(digit) for digit in plan.lane_bits]),
        )
        self.weight_strides, self.sum_strides = ([d.of(side) for d in self.digits] for side in SIDES)
        self.outer = [
            Steps.of(g, plan.kept[g], d.extent) for g, d in enumerate(self.digits) if d.dst and plan.kept[g] < d.extent
        ]
        self.inner = [
            Steps.of(g, 1, d.extent)
            for g, d in enumerate(self.digits)
            if not d.dst and g != plan.added and plan.lane_steps(g) < d.extent
        ]
        self.turns, self.rest = self._added_loads()
        self.places = list(product(*(range(0, n, plan.lane_steps(g)) for g, n in enumerate(plan.kept))))
        """the steps of digits at which the registers of sums start that are added up side by side"""

    def _added_loads(self) -> tuple[Steps | None, list[Load]]:
        """Turns of several registers along the digit that is counted out, and the registers that are left."""
        if (g := self.plan.added) is None:
            return None, [Load(0)]
        digit, part = self.digits[g], self.plan.lane_steps(g)
        size = min(digit.extent // part, ADDED_LOADS) * part
        turns = digit.extent // size
        end = turns * size if turns > 1 else 0
        rest = [Load(start * digit.src) for start in range(end, digit.extent - part + 1, part)]
        if left := digit.extent % part:
            rest.append(Load((digit.extent - part) * digit.src, part - left))
        return Steps.of(g, size, end) if end else None, rest

    @property
    def _turn(self) -> list[Load]:
        """The registers of a turn."""
        if self.turns is None:
            return []
        stride = self.digits[self.turns.digit].src
        return [Load(start * stride) for start in range(0, self.turns.size, self.plan.lane_steps(self.turns.digit))]

    # --- loops -----------------------------------------------------------------------------------------------------

    def build(self) -> Operation | None:
        """Builds all of it; returns the outermost loop, if there is one."""
        are_shared = self.threads > 1 and bool(self.outer)
        terms = self.loops.parallel(self.outer, self.threads) if are_shared else self.loops.serial(self.outer)
        zeros = self.lanes.zeros(Lanes(self.loops.builder, self.nest)) * len(self.places)
        totals = self._carried(self.loops, terms, self.inner, zeros)
        self._store(terms, totals)
        return self.loops.outermost

    def _carried(
        self, loops: TileLoops, terms: Sequence[Term], inner: Sequence[Steps], totals: Sequence[SSAValue]
    ) -> Values:
        """The totals with all weights of these sums added."""
        if inner:
            return loops.carrying(
                inner[0], totals, lambda inside, term, held: self._carried(inside, (*terms, term), inner[1:], held)
            )
        if self.turns is not None:
            totals = loops.carrying(
                self.turns, totals, lambda inside, term, held: self._added(inside, (*terms, term), self._turn, held)
            )
        return self._added(loops, terms, self.rest, totals) if self.rest else [*totals]

    def _added(
        self, loops: TileLoops, terms: Sequence[Term], loads: Sequence[Load], totals: Sequence[SSAValue]
    ) -> Values:
        """The totals with some registers of each of these sums added."""
        start = loops.offset(terms, self.weight_strides, self.plan.copy.src, "weight_offset")
        lanes, count = Lanes(loops.builder, self.nest), self.lanes.count
        found: Values = []
        for number, place in enumerate(self.places):
            distance = _offset(place, self.weight_strides)
            weights = [self._load(lanes, start, distance, load) for load in loads]
            found += self.lanes.added(lanes, weights, totals[number * count : (number + 1) * count])
        return found

    def _load(self, lanes: Lanes, start: SSAValue, distance: int, load: Load) -> SSAValue:
        at = vector_ops.further_on(self.nest, lanes.builder, start, distance + load.offset)
        weights = inserted(lanes.builder, vector_ops.load(self.weights, at, vector_type(i8, self.plan.width)))
        weights.name_hint = "weights"
        if not load.counted:
            return weights
        below = self.plan.width // self.plan.lanes[-1].extent * load.counted
        uncounted = [0] * below + [-1] * (self.plan.width - below)
        mask = DenseIntOrFPElementsAttr.from_list(vector_type(i8, self.plan.width), uncounted)
        return lanes.and_(weights, self.nest.element(mask), "weights")

    # --- stores ----------------------------------------------------------------------------------------------------

    def _runs(self) -> Iterator[tuple[int, int, range]]:
        """The sums that are stored at once: the number of their vector, their offset, and its lanes."""
        offsets = self.plan.lane_offsets
        for vectors, place in zip(count(0, len(offsets) // self.lanes.length), self.places):
            for number, offset, run in self.lanes.runs(offsets):
                yield vectors + number, _offset(place, self.sum_strides) + offset, run

    def _store(self, terms: Sequence[Term], totals: Values) -> None:
        """Each sum times each factor."""
        start = self.loops.offset(terms, self.sum_strides, 0, "sum_offset")
        lanes, count = Lanes(self.loops.builder, self.nest, self.lanes.length), self.lanes.count
        groups = (totals[n : n + count] for n in range(0, len(totals), count))
        vectors = [vector for group in groups for vector in self.lanes.sums(lanes, group)]
        for factor, memory in self.sums:
            scaled = [lanes.mul(vector, factor, "sums") for vector in vectors]
            for number, offset, run in self._runs():
                value = self.lanes.cut(lanes, scaled[number], run)
                at = vector_ops.further_on(self.nest, lanes.builder, start, offset)
                lanes.builder.insert(vector_ops.store(value, memory, at))


def _offset(place: Sequence[int], strides: Sequence[int]) -> int:
    return sum(step * stride for step, stride in zip(place, strides, strict=True))
