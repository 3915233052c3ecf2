"""
A planned copy as IR: macro tiles, tiles, and in each tile loads, shuffles and stores of whole registers.

Requires a plan (`planning.plans.plan.CopyPlan`). Leaves scf, affine, arith, memref and vector ops on flat buffers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from xdsl.ir import Operation, SSAValue

from layoutc.once import once
from layoutc.planning.conversions.running_sums import own_loops
from layoutc.planning.copies.copy_digits import SIDES, Carry, SideName, Stride
from layoutc.planning.plans.plan import CopyPlan
from layoutc.transforms.building.loop_nest import NestBuilder
from layoutc.transforms.planned.copy_memory import Memory
from layoutc.transforms.planned.element_body import ElementBody
from layoutc.transforms.planned.lines_ahead import ask_in_turn
from layoutc.transforms.planned.step_table import Place, tabulate
from layoutc.transforms.planned.tile_body import VectorBody
from layoutc.transforms.values.lane_params import ParamSite, param_sites
from layoutc.transforms.values.tile_loops import Steps, Term, TileLoops


@dataclass(frozen=True)
class Around:
    """Loops that a copy shares with others: their counters, and what a step is, in elements of the memory."""

    loops: TileLoops
    terms: Sequence[Term]
    src: Sequence[int]
    dst: Sequence[int]
    params: Sequence[Sequence[int]] = ()
    """and in values of each list of parameters, where these are indexed"""


class TiledCopy:
    """One planned copy: loops over macro tiles and tiles, and the body of a tile."""

    def __init__(self, nest: NestBuilder, plan: CopyPlan, memory: Memory, threads: int):
        self.nest, self.plan, self.memory, self.threads = nest, plan, memory, threads
        self.ratio = memory.ratio(plan)
        widths = plan.widths
        self.shares = {side: widths.per_byte(side) if plan.target_lanes else 1 for side in SIDES}
        """elements of each side that have an offset together, as vectors begin and end with bytes"""
        self.loops = TileLoops(nest)
        self.around: Around | None = None
        digits = plan.copy.digits
        self.outer = [
            Steps.of(g, plan.macro[g], digits[g].extent, plan.macro_step(g))
            for g in plan.outer_order
            if plan.macro[g] < digits[g].extent
        ]
        self.inner = [
            Steps.of(g, plan.tile[g], plan.macro[g])
            for g in plan.inner_order
            if digits[g].is_whole and plan.tile[g] < plan.macro[g]
        ]
        self.param_sites: list[ParamSite] = []
        self.tile_plan = plan
        """the plan as its tiles see it, which may lie in buffers"""
        self.tables: dict[tuple[int, Carry], SSAValue] = {}
        """of the steps of a digit that carries"""
        self.tile_source, self.target = memory.source, memory.target
        """what tiles are loaded from and stored to"""
        self.src_strides, self.dst_strides = (self._strides(plan, side) for side in SIDES)
        self.touched = [self.src_strides, self.dst_strides]
        """those of the sides that tiles touch in memory, not in a buffer"""

    @once
    def body(self) -> VectorBody | ElementBody:
        """What a tile does."""
        return VectorBody(self, self.tile_plan) if self.plan.target_lanes else ElementBody(self)

    def put_inside(self, around: Around) -> None:
        """Builds it in the loops that it shares with other copies, once everything is prepared."""
        self.around, self.loops = around, around.loops.inside(len(self.plan.tile))
        for strides, shared in ((self.src_strides, around.src), (self.dst_strides, around.dst)):
            strides += shared

    def build(self) -> Operation:
        """Builds what is prepared; returns the outermost operation."""
        outer = [replace(loop, is_cut=self._is_cut(loop)) for loop in self.outer]
        terms = self.loops.tiles(self.open_outer(outer), outer, self.inner)
        self.find_params(terms)
        src = self.source(terms)
        self.ask_in_turn(terms, src)
        first = self.body.build(self.loops.builder, src, self.destination(terms))
        return self.loops.outermost or first

    def ask_in_turn(self, terms: Sequence[Term], src: Place | None) -> None:
        """Where tiles ask for lines that several take parts of, has one that is loaded from there ask for its share."""
        if self.plan.asks == "by tiles" and src is not None:
            ask_in_turn(self.plan, self.memory, self.loops, terms, src.offset)

    def find_params(self, terms: Sequence[Term]) -> None:
        """Where the parameters of a tile are, and its sums, if it has any."""
        if self.plan.widths.converts or self.adds_up:
            self.param_sites = param_sites(self.plan.copy, self.loops, terms, self.shared_params)

    @property
    def shared_params(self) -> Sequence[Sequence[int]]:
        """How far steps of loops that are shared with other copies are in the parameters."""
        if self.around is None:
            return ()
        return self.around.params if self.plan.copy.params else [()] * len(self.around.src)

    @property
    def adds_up(self) -> bool:
        """Whether what tiles store is added to sums."""
        return self.memory.sums is not None and not self.plan.copy.is_fill

    @property
    def shared(self) -> list[Steps]:
        """The outermost loops over macro tiles, which threads may share: where there are sums, each is one thread's."""
        if self.memory.sums is None or self.plan.copy.is_fill:
            return self.outer
        return self.outer[: len(own_loops(self.plan, self.memory.sums.number))]

    def _is_cut(self, loop: Steps) -> bool:
        """Whether the last macro tile has fewer tiles, not some of the one before again; in a buffer it is whole."""
        return not loop.is_even and any(
            tiles.digit == loop.digit and loop.size % tiles.size == 0 for tiles in self.inner
        )

    def _strides(self, plan: CopyPlan, side: SideName) -> list[Stride]:
        """Per digit, in elements of the memory."""
        strides = (digit.stride(side) for digit in plan.copy.digits)
        return [s * self.ratio if isinstance(s, int) else s.scaled(self.ratio) for s in strides]

    def prepare(self) -> None:
        """Makes what stands ahead of all loops: zeros, masks, tables."""
        self.body.prepare()
        for side, strides in zip(SIDES, (self.src_strides, self.dst_strides), strict=True):
            if any(strides is touched for touched in self.touched) and (carry := self._carry(strides)) is not None:
                digit, stride = carry
                self.tables[carry] = tabulate(self.nest, stride.shared(self.shares[side]), self.plan.tile[digit])

    def _carry(self, strides: Sequence[Stride]) -> tuple[int, Carry] | None:
        """The digit that carries within a tile, if there is one; a tile that is merged has all of it."""
        if self.plan.merges:
            return None
        found = ((g, s) for g, s in enumerate(strides) if isinstance(s, Carry) and self.plan.tile[g] > 1)
        return next(found, None)

    def open_outer(self, outer: Sequence[Steps]) -> list[Term]:
        """The loops over macro tiles, after those that are shared with other copies."""
        if self.around is not None:
            shared = [Term(len(self.plan.tile) + term.digit, term.position) for term in self.around.terms]
            return shared + self.loops.serial(outer)
        if self.threads > 1 and (count := len(self.shared)):
            return self.loops.parallel(outer[:count], self.threads) + self.loops.serial(outer[count:])
        return self.loops.serial(outer)

    def source(self, terms: Sequence[Term]) -> Place | None:
        """Where a tile is loaded from."""
        if self.plan.copy.is_fill:
            return None
        return self.place(self.loops, terms, "src", self.src_strides)

    def destination(self, terms: Sequence[Term]) -> Place:
        """Where a tile is stored to."""
        return self.place(self.loops, terms, "dst", self.dst_strides)

    def in_memory(self, side: SideName, elements: int) -> int:
        """So many elements of the plan in elements of a side's memory."""
        return elements * self.ratio // self.shares[side]

    def place(self, loops: TileLoops, terms: Sequence[Term], side: SideName, strides: Sequence[Stride]) -> Place:
        """Where a tile lies; its digit that carries, if it has one, is counted out per piece."""
        base, share, name = self.plan.copy.of(side) * self.ratio, self.shares[side], f"{side}_offset"
        carry = self._carry(strides[: len(self.plan.tile)])
        if carry is None:
            return Place(loops.offset(terms, strides, base, name, share))
        digit, stride = carry
        others = [term for term in terms if term.digit != digit]
        position = TileLoops.position(terms, digit)
        # Whole periods are counted here, what is left by the table.
        periods = Term(digit, position // stride.period)
        slowest = [stride.steps[-1][1] if g == digit else other for g, other in enumerate(strides)]
        rest = loops.offset([Term(digit, position % stride.period)], [1] * len(strides), 0, "rest")
        return Place(loops.offset((*others, periods), slowest, base, name, share), self.tables[carry], rest)
