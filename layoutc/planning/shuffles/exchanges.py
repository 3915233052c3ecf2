"""Which exchanges of a register bit with a lane bit lead from one order of lane bits to another most cheaply."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from heapq import heappop, heappush
from itertools import count, permutations
from math import inf
from typing import NamedTuple

from layoutc.planning.machine import LANE_BYTES, Shuffles, merges_registers

ENTERING = -1
"""in the `sources` of an exchange: the bit that comes from the register number"""
ELSEWHERE = -1
"""in lanes: any bit that is no target lane; where it lies does not matter"""

Lanes = tuple[int, ...]
"""per lane position, low to high: the position at which the target has this bit, or ELSEWHERE"""

WIDE_STAGE = 1.02
"""cost of a stage that vpermt2 does with a mask of regular steps"""

LAST_STAGE = 1.05
"""cost of a stage that vpermt2 does with an arbitrary order of lanes: a stage, and its mask in a register"""


class Exchange(NamedTuple):
    """A shuffle of every register: lane position p then holds the bit that was at `sources[p]`, or the entering one."""

    cost: float
    sources: tuple[int, ...]
    leaving: int | None


class Move(NamedTuple):
    """One stage: an exchange, and the target position of the bit that enters (ELSEWHERE, or None if none enters)."""

    sources: tuple[int, ...]
    entering: int | None


class VectorUnit(NamedTuple):
    """What decides the price of a shuffle: the lanes of a vector, the widest registers, and what moves lanes there."""

    lane_count: int
    element_bytes: int
    native_bytes: int
    shuffles: Shuffles

    @property
    def positions(self) -> int:
        return self.lane_count.bit_length() - 1

    @property
    def inner(self) -> int:
        """How many of the lane positions lie within 16 bytes."""
        return min(self.positions, (LANE_BYTES // self.element_bytes).bit_length() - 1)

    @property
    def has_packs(self) -> bool:
        """Whether shufps serves: even or odd lanes of two registers of four-byte elements."""
        return self.element_bytes == 4 and self.inner == 2 and not (self.unpacks_only or self.permutes)

    @property
    def permutes(self) -> bool:
        """Whether any shuffle of two registers is one instruction: AVX-512's vpermt2, for bytes with VBMI only."""
        return merges_registers(self.native_bytes, self.shuffles, self.element_bytes)

    @property
    def unpacks_only(self) -> bool:
        """Whether lanes are moved by punpckl and punpckh, and 16 bytes as they are: x86-64 before SSSE3."""
        return self.shuffles == "unpack"


@lru_cache(maxsize=4096)
def find_moves(lanes: Lanes, others: int, unit: VectorUnit) -> tuple[Move, ...] | None:
    """
    The cheapest stages that bring every bit to its target position. None if no stages lead there.

    `others` counts the bits that are no target lanes, in lanes and registers.
    """
    if ELSEWHERE in lanes or unit.permutes:
        moves = _Search(lanes, others, unit, direct=True).run()
        if moves is not None:
            return moves
    return _Search(lanes, others, unit, direct=False).run()


class _Search:
    """
    A* over orders of lane bits.

    `direct` takes only stages in which a target bit enters and one that is no target leaves: the fewest that can do,
    and few to try. Where they do not suffice, all stages are searched.
    """

    def __init__(self, lanes: Lanes, others: int, unit: VectorUnit, direct: bool):
        self.start, self.goal = lanes, tuple(range(len(lanes)))
        self.others, self.unit, self.direct = others, unit, direct
        self.costs: dict[Lanes, float] = {lanes: 0.0}
        self.came: dict[Lanes, tuple[Lanes, Move]] = {}

    def run(self) -> tuple[Move, ...] | None:
        serial = count()  # first found, first taken: the answer does not depend on how tuples compare
        queue = [(0.0, 0.0, next(serial), self.start)]
        while queue:
            _, negative, _, state = heappop(queue)
            if state == self.goal:
                return self._path()
            if -negative > self.costs[state]:
                continue
            for new in self._improved(state):
                cost = self.costs[new]
                heappush(queue, (cost + self._bound(new), -cost, next(serial), new))
        return None

    def _improved(self, state: Lanes) -> Iterator[Lanes]:
        """The orders that one stage more reaches, if no cheaper way to them was known."""
        for cost, move, new in self._stages(state):
            reached = self.costs[state] + cost
            if reached < self.costs.get(new, inf) and self._bound(new) < inf:
                self.costs[new], self.came[new] = reached, (state, move)
                yield new

    def _path(self) -> tuple[Move, ...]:
        moves: list[Move] = []
        state = self.goal
        while state != self.start:
            state, move = self.came[state]
            moves.append(move)
        return tuple(reversed(moves))

    def _stages(self, lanes: Lanes) -> Iterator[tuple[float, Move, Lanes]]:
        missing = [position for position in self.goal if position not in lanes]
        for cost, sources, leaving in _exchanges(self.unit):
            if self.direct and (leaving is None or lanes[leaving] != ELSEWHERE):
                continue
            for label in self._entering(missing) if leaving is not None else (ELSEWHERE,):
                new = tuple([label if source == ENTERING else lanes[source] for source in sources])
                yield cost, Move(sources, None if leaving is None else label), new
        if self.unit.permutes and len(missing) <= 1:
            yield self._last_stage(lanes, missing)

    def _entering(self, missing: list[int]) -> list[int]:
        return missing if self.direct or self.others == len(missing) else [*missing, ELSEWHERE]

    def _last_stage(self, lanes: Lanes, missing: list[int]) -> tuple[float, Move, Lanes]:
        """One shuffle that ends it: the last bit enters, and all others go where they belong."""
        sources = tuple(ENTERING if position in missing else lanes.index(position) for position in self.goal)
        return LAST_STAGE, Move(sources, missing[0] if missing else None), self.goal

    def _bound(self, lanes: Lanes) -> float:
        """What is left costs at least this: a stage per missing bit, and more for those that unpacks cannot place."""
        missing, misplaced = lanes.count(ELSEWHERE), _misplaced(lanes, self.unit.inner)
        if self.unit.permutes:
            return missing + (WIDE_STAGE - 1 if misplaced else 0)
        if self.direct:
            return inf if misplaced and not self.unit.has_packs else missing
        return missing + (misplaced if self.unit.unpacks_only else min(misplaced, 1))


def _misplaced(lanes: Lanes, inner: int) -> int:
    """How many bits have to leave their position by more than unpacks, which only move bits up within 16 bytes."""
    return sum(
        label not in (ELSEWHERE, position) and (position >= inner or not position < label < inner)
        for position, label in enumerate(lanes)
    )


@lru_cache
def _exchanges(unit: VectorUnit) -> tuple[Exchange, ...]:
    """
    The shuffles worth trying. Costs are instructions per register, as measured with gcc 12 and clang 22.

    Small fractions only choose among programs of equal length: where any shuffle is one instruction, the number of
    stages is the smallest possible.
    """
    found = [_exchange(1.0, _unpack(unit, position)) for position in range(unit.inner)]
    found += _chunk_exchanges(unit)
    if unit.permutes:
        found += [_exchange(WIDE_STAGE, _replace(unit, position)) for position in range(unit.inner - 1)]
        found += _shifts(unit)
    elif not unit.unpacks_only:
        found += [*_packs(unit), *_lane_orders(unit)]
    return tuple(found)


def _exchange(cost: float, sources: tuple[int, ...]) -> Exchange:
    leaving = set(range(len(sources))) - set(sources)
    return Exchange(cost, sources, leaving.pop() if leaving else None)


def _unpack(unit: VectorUnit, position: int) -> tuple[int, ...]:
    """punpckl/punpckh of elements of 2**position lanes: a bit enters, those above move up, the highest leaves."""
    inner = unit.inner
    return (*range(position), ENTERING, *range(position, inner - 1), *range(inner, unit.positions))


def _replace(unit: VectorUnit, position: int) -> tuple[int, ...]:
    """A bit takes the place of the one that leaves."""
    return (*range(position), ENTERING, *range(position + 1, unit.positions))


def _chunk_exchanges(unit: VectorUnit) -> Iterator[Exchange]:
    """Whole 16-byte chunks change places: vperm2i128, vinserti64x4; the lower position of 64 bytes takes vpermt2q."""
    for position in range(unit.inner, unit.positions):
        yield _exchange(1.0 if position == unit.positions - 1 else 1.01, _replace(unit, position))


def _shifts(unit: VectorUnit) -> Iterator[Exchange]:
    """Interleaving two whole registers, and its inverse. Clang takes chunk moves before a last stage apart."""
    positions = unit.positions
    if positions > unit.inner:
        yield _exchange(WIDE_STAGE, (ENTERING, *range(positions - 1)))
        yield _exchange(WIDE_STAGE, (*range(1, positions), ENTERING))


def _packs(unit: VectorUnit) -> Iterator[Exchange]:
    """shufps takes the even or the odd lanes of two registers; gcc needs float lanes to see it in 32 bytes."""
    if unit.has_packs:
        yield _exchange(1.5, (1, ENTERING, *range(2, unit.positions)))


def _lane_orders(unit: VectorUnit) -> Iterator[Exchange]:
    """Shuffles of one register: pshufb or pshufd within 16 bytes; vpermq, vpermd and vshufi64x2 across."""
    inner, positions = unit.inner, unit.positions
    across = unit.element_bytes >= 4
    for order in permutations(range(positions if across else inner)):
        if order != tuple(range(len(order))):
            yield _exchange(1.0, (*order, *range(len(order), positions)))
    if not across:
        for low in range(inner - 1, positions - 1):
            yield _exchange(1.0, (*range(low), low + 1, low, *range(low + 2, positions)))
