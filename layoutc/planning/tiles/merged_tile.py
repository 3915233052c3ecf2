"""
A tile whose registers are merged in pairs: any box of elements, in pieces of any number of elements.

Each load and store takes what is contiguous: whole registers, and the first lanes of one for what is left; or lanes
between which there are gaps. Zeros beside what a digit has in the source come out of the lanes that a masked load
leaves, or out of a register of zeros.

Registers without masks are stored whole, the last one of a row where it still is, and loaded so, or as two halves that
overlap; zeros are put into them when they are stored.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import repeat
from math import prod

from layoutc.once import once
from layoutc.planning.copies.copy_digits import OTHER_SIDE, SideName
from layoutc.planning.machine import LANE_BYTES, LINE, has_masks
from layoutc.planning.plans.plan import CopyPlan, Part
from layoutc.planning.shuffles.halves import instructions_by_halves
from layoutc.planning.shuffles.merging import ANY, ZERO, Elements, merge
from layoutc.planning.shuffles.network import Network
from layoutc.planning.tiles.gathered_pieces import Loaded, gathered
from layoutc.planning.tiles.tile import Piece, Register, Swap, SwappedSteps
from layoutc.planning.tiles.tile_runs import Runs, in_pieces, offsets, places, rows, runs, taken


class MergedTile:
    """The loads, the network and the stores of such a tile; an element's name is its offset in the source."""

    def __init__(self, plan: CopyPlan):
        self.plan = plan
        self.lanes = self.load_piece = plan.vector_bytes // plan.widths.moved
        self.store_piece = stored_lanes(plan)
        self.has_masks = has_masks(plan.vector_bytes, plan.shuffles)
        self.clears = not self.has_masks or plan.widths.converts
        """whether zeros are put between elements when these are stored; else the network has them"""
        source = self._sources()
        pieces = self._pieces("src", plan.source_lanes, plan.target_lanes)
        stored = self._pieces("dst", plan.target_lanes, plan.source_lanes)
        self.swapped_steps = self._swapped_steps({"src": len(pieces), "dst": len(stored)})
        """what registers swap once they are loaded, or before they are stored"""
        loaded = self._of_steps("src", len(pieces), {place: place for place in source.values()})
        self.held = [
            self._held("src", *piece, each, ZERO if self.has_masks else ANY)
            for piece, each in zip(pieces, loaded, strict=True)
        ]
        self._counts = [count for _, count in pieces]
        self.wanted = [
            self._held("dst", *piece, each, ANY)
            for piece, each in zip(stored, self._of_steps("dst", len(stored), source), strict=True)
        ]

    def _held(
        self, side: SideName, first: int, count: int, elements: Mapping[int, int], missing: int
    ) -> tuple[Piece, Elements]:
        """A piece and the elements of its lanes, by their places; it has no other lanes, where something is missing."""
        places, most = range(first, first + count), self.load_piece if side == "src" else self.store_piece
        found = [*map(elements.__contains__, places), *[False] * (most - count)]
        lanes = (*map(elements.get, places, repeat(missing)), *[missing] * (self.lanes - count))
        is_zero = [side == "dst" and self.clears and element == ZERO for element in lanes]
        loaded = [there and not zero for there, zero in zip(found, is_zero, strict=False)]
        piece = Piece(first, 0, self._params(side, first, loaded), _mask(found), _bits(is_zero))
        if self.has_masks or all(is_zero):
            return piece, lanes
        return piece, tuple(ANY if zero else element for zero, element in zip(is_zero, lanes, strict=True))

    @once
    def network(self) -> Network:
        """From the registers as loaded to the registers as stored; the last input may be a register of zeros."""
        held = tuple(elements for _, elements in self.registers)
        part = 0 if self.has_masks else LANE_BYTES // self.plan.widths.moved
        return merge(held, self._elements_wanted, self.lanes, self.plan.shuffles, part)

    @once
    def merges(self) -> float:
        """Instructions that merge what is loaded, and put registers of halves together."""
        if self.has_masks:
            return len(self.network.steps)
        joined = sum(len(register.pieces) - 1 for register, _ in self.registers)
        return joined + instructions_by_halves(self.network, self.plan.widths.moved)

    @once
    def registers(self) -> Sequence[Loaded]:
        """What is loaded: a row, or pieces of rows, and their elements."""
        if not self.has_masks:
            return [self._in_halves(*held, count) for held, count in zip(self.held, self._counts, strict=True)]
        rows = [(Register((piece,)), elements) for piece, elements in self.held]
        plan, widths = self.plan, self.plan.widths
        converts_loads = plan.widths.converts and widths.converted_at == "src"
        steps = self.swapped_steps
        keeps = (steps is not None and steps.side == "src") or converts_loads or widths.src_per_byte > 1
        if plan.vector_bytes < LINE or plan.prefetch or keeps:
            return rows
        return gathered(rows, self._elements_wanted, self.lanes, plan.shuffles)

    def _in_halves(self, piece: Piece, elements: Elements, count: int) -> Loaded:
        """A register without masks: of halves that overlap, of which the second ends with the elements of a row."""
        if count == self.lanes:
            return Register((piece,)), elements
        half = self.lanes // 2
        starts = 0, count - half
        parts = [elements[start : start + half] for start in starts]
        pieces = (
            Piece(
                piece.offset + start,
                params=tuple(each[start : start + half] for each in piece.params),
                mask=_mask([element != ANY for element in part]),
            )
            for start, part in zip(starts, parts, strict=True)
        )
        return Register(tuple(pieces)), (*parts[0], *parts[1])

    @once
    def _elements_wanted(self) -> tuple[Elements, ...]:
        return tuple(elements for _, elements in self.wanted)

    def loads(self, starts: Sequence[int]) -> list[Register]:
        """The registers as loaded."""
        loaded = [register for register, _ in self.registers]
        return loaded + [Register((None,))] * (self.network.inputs - len(loaded))

    def stores(self) -> list[Register]:
        """The registers as stored."""
        return [Register((piece,)) for piece, _ in self.wanted]

    def _sources(self) -> dict[int, int]:
        """Which element comes to each place of the destination."""
        found = [(0, 0)]
        for digit, count in zip(self.plan.copy.digits, self.plan.tile, strict=True):
            steps = [places(digit, value) for value in range(count)]
            found = [
                (dst + at, ZERO if ZERO in (src, step) else src + step) for at, step in steps for dst, src in found
            ]
        return dict(found)

    @once
    def _params_at(self) -> dict[int, tuple[int, ...]]:
        """How far the parameters of each place lie from those of the first, on the side where it is converted."""
        return dict(_placed_params(self.plan))

    def _params(self, side: SideName, first: int, found: Sequence[bool]) -> tuple[tuple[int, ...], ...]:
        """Those of the lanes of a piece: one list per grouping; of lanes without an element those of the first one."""
        if not self.plan.widths.converts or side != self.plan.widths.converted_at:
            return ()
        if not any(found):
            return tuple((0,) * len(found) for _ in self.plan.copy.params)
        places = [first + (lane if there else found.index(True)) for lane, there in enumerate(found)]
        return tuple(zip(*(self._params_at[place] for place in places), strict=True))

    def _pieces(self, side: SideName, lanes: Sequence[Part], others: Sequence[Part]) -> Runs:
        """Where the pieces of memory begin, and their elements."""
        copy, tile = self.plan.copy, self.plan.tile
        along = [part.digit for part in lanes]
        most = self.lanes if side == "src" else self.store_piece
        row = in_pieces(runs(copy, tile, side, along), most)
        if side == "src" or not self.has_masks:  # A last load, or store, of a whole register begins earlier.
            follows = {first + most for first, _ in row}
            row = [(first + n - most, most) if first in follows else (first, n) for first, n in row]
        return rows(copy, tile, side, self._across(lanes, others), row)

    def _across(self, lanes: Sequence[Part], others: Sequence[Part]) -> list[int]:
        """The digits that pieces have one step of, the fastest first."""
        along = [part.digit for part in lanes]
        numbers = (*(part.digit for part in others), *range(len(self.plan.tile)))
        return [g for g in dict.fromkeys(numbers) if g not in along]

    def _of_steps(self, side: SideName, pieces: int, elements: Mapping[int, int]) -> Iterator[Mapping[int, int]]:
        """The elements that each of so many pieces of a side may have, by their places: those of its step of a swap."""
        plan, swapped = self.plan, self.swapped_steps
        if swapped is None or swapped.side != side:
            yield from repeat(elements, pieces)
            return
        swapping, found = plan.copy.swapping, [0]
        assert swapping is not None
        for position in range(len(plan.tile)):
            if position != swapping:
                found = [place + step for step in offsets(plan.copy, plan.tile, side, position) for place in found]
        by_step = [
            {place + step: elements[place + step] for place in found}
            for step in offsets(plan.copy, plan.tile, side, swapping)
        ]
        yield from (by_step[number // swapped.apart % swapped.steps] for number in range(pieces))

    def _swapped_steps(self, pieces: Mapping[SideName, int]) -> SwappedSteps | None:
        """What swaps, of so many pieces of each side, each of which has one step of the digit that does."""
        plan, swapping = self.plan, self.plan.copy.swapping
        if swapping is None:
            return None
        digit = plan.copy.digits[swapping]
        side = digit.swaps_at
        lanes = plan.lanes(side), plan.lanes(OTHER_SIDE[side])
        across = self._across(*lanes)
        slower = across[across.index(swapping) :]
        apart = pieces[side] // prod(taken(plan.copy, plan.tile, side, g) for g in slower)
        return SwappedSteps(plan.tile[swapping], apart, digit.swaps, side)

    @once
    def swaps(self) -> tuple[Swap, ...]:
        """The same of as many steps as share a byte, bit by bit of their number."""
        found = self.swapped_steps
        if found is None or found.steps != found.per_byte:
            return ()
        return tuple(Swap(bit, found.apart << bit, across=True) for bit in range(found.steps.bit_length() - 1))


def count_pieces(plan: CopyPlan, side: SideName) -> int:
    """Loads, or stores, of a tile whose registers are merged."""
    along = [part.digit for part in plan.lanes(side)]
    lanes = plan.vector_bytes // plan.widths.moved if side == "src" else stored_lanes(plan)
    row = in_pieces(runs(plan.copy, plan.tile, side, along), lanes)
    return len(row) * prod(taken(plan.copy, plan.tile, side, g) for g in range(len(plan.tile)) if g not in along)


def stored_lanes(plan: CopyPlan) -> int:
    """The most lanes of a store: those of a register of what they are converted to, if they become wider there."""
    return plan.vector_bytes // max(plan.widths.moved, plan.widths.dst)


def _mask(lanes: Sequence[bool]) -> int:
    """Some lanes as bits, or 0 for all of them."""
    return 0 if all(lanes) else _bits(lanes)


def _bits(lanes: Sequence[bool]) -> int:
    """Lanes, from the lowest up, as bits."""
    return sum(1 << lane for lane, there in enumerate(lanes) if there)


def has_whole_rows(plan: CopyPlan) -> bool:
    """
    Whether a tile's rows can do without masks: stores of registers, and loads of these or their halves.

    What lies between elements of a row is loaded with them, and dropped; nothing lies between those that are stored.
    """
    lanes, target = plan.vector_bytes // plan.widths.moved, _runs_along(plan, "dst")
    if len(target) > 1 or target[0][1] < stored_lanes(plan):
        return False
    row = in_pieces(_runs_along(plan, "src"), lanes)
    ends = {first + lanes for first, _ in row}
    return all(2 * count >= lanes or first in ends for first, count in row)


def stores_twice(plan: CopyPlan) -> bool:
    """Whether a last store of a row begins earlier than where the one before ends."""
    if has_masks(plan.vector_bytes, plan.shuffles):
        return False
    return any(count % stored_lanes(plan) > 0 for _, count in _runs_along(plan, "dst"))


def _runs_along(plan: CopyPlan, side: SideName) -> Runs:
    """The contiguous elements of a tile along its lanes on a side."""
    return runs(plan.copy, plan.tile, side, [part.digit for part in plan.lanes(side)])


def converts_twice(plan: CopyPlan) -> bool:
    """Whether elements of a source that overlaps itself would be merged as one, but have parameters of their own."""
    if not plan.merges or plan.widths.converted_at != "src" or not plan.copy.params:
        return False
    found = {*_placed_params(plan)}
    return len({at for at, _ in found}) < len(found)


def _placed_params(plan: CopyPlan) -> list[tuple[int, tuple[int, ...]]]:
    """The places of a tile on the side where it is converted, and how far their parameters lie from the first one's."""
    side, found = plan.widths.converted_at, [(0, (0,) * len(plan.copy.params))]
    for position, digit in enumerate(plan.copy.digits):
        found = [
            (start + at, tuple(n + value * step for n, step in zip(params, digit.params, strict=True)))
            for value, at in enumerate(offsets(plan.copy, plan.tile, side, position))
            for start, params in found
        ]
    return found
