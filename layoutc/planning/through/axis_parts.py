"""
The parts of axes that turns through a buffer have: periods of blocks that do not divide each other, and their rest.

Where both sides count an axis alike it has parts of digits alone. What a turn makes of a part of each axis is its own
matter (`through`, `byte_images`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise, product
from math import lcm
from typing import TypeVar

from layoutc.planning.copies.axis_copies import PARTIAL, Axis, CutAxis, Side
from layoutc.planning.copies.axis_segments import copies_along, segments
from layoutc.planning.copies.copy_digits import StridedCopy, cut_after, merged

SHORT_AXIS, LONG_AXIS = 256, 1 << 10
"""coordinates of an axis that a turn has all of, where it would be several copies; those of which it may have all"""

Turn = TypeVar("Turn")


def steps_of(side: Side, stop: int) -> Iterator[tuple[int, int]]:
    """How many steps of which stride so many coordinates take on a side, the fastest first."""
    ends = [*(piece.cut for piece in side.pieces[1:]), stop]
    for piece, end in zip(side.pieces, ends, strict=True):
        yield -(-min(end, stop) // piece.cut), piece.stride


@dataclass(frozen=True)
class AxisPart:
    """
    A part of an axis: digits that both sides count alike, and blocks that do not divide each other, if it has some.

    Without those it is all padding where a digit loads nothing.
    """

    copy: StridedCopy
    blocks: Axis | None = None

    @property
    def is_fill(self) -> bool:
        return any(digit.loaded == 0 for digit in self.copy.digits)

    @property
    def halves(self) -> tuple[AxisPart, ...]:
        """Most of what is loaded of a digit that is in part, and the rest with its padding; none if no digit is."""
        for position, digit in enumerate(self.copy.digits):
            if 1 < digit.loaded < digit.extent and not digit.carries:
                unit = min(PARTIAL, 1 << (digit.loaded - 1).bit_length() - 1)
                first, rest = cut_after(self.copy, position, (digit.loaded - 1) // unit * unit)
                return replace(self, copy=first), replace(self, copy=rest)
        return ()

    @property
    def stored(self) -> list[StridedCopy]:
        """What the destination has of it, as copies of a reorder to itself."""
        if self.blocks is None:
            return [self.copy]
        dst = self.blocks.dst
        return [sum_of((self.copy, each)) for each in segments(Axis(dst, dst, (), dst.padded))]


def ways_of(axes: Sequence[Axis]) -> list[tuple[bool, ...]]:
    """Of each axis, whether a turn has all of it, or a part; what is usual is first."""
    return [*product(*map(_has_all, axes))]


def _has_all(axis: Axis) -> tuple[bool, ...]:
    is_short = axis.dim <= SHORT_AXIS
    is_cut = axis.dim <= LONG_AXIS and (period_of(axis) is not None or len(copies_along(axis)) > 1)
    return (is_short, not is_short) if is_cut else (is_short,)


def in_parts(ways: Sequence[tuple[bool, ...]]) -> list[tuple[bool, ...]]:
    """The same, those first in which turns have parts of the most axes."""
    return sorted(ways, key=sum)


def turns_of(
    base: StridedCopy,
    axes: Sequence[Axis],
    turn_of: Callable[[Sequence[AxisPart]], Turn | None],
    whole: Sequence[bool],
) -> tuple[tuple[Turn, ...], tuple[StridedCopy, ...]] | None:
    """
    The turns of the parts of all axes that are loaded, and fills of those that are not.

    A turn has all of an axis if `whole` says so.

    None where a part has no turn, an axis has a border, or groups of parameters cut one.
    """
    if any(side.low or side.high for axis in axes for side in (axis.src, axis.dst)):
        return None
    if not all(axis.has_plain_params for axis in axes):
        return None
    turns: list[Turn] = []
    fills: list[StridedCopy] = []
    left = [*product(*map(_parts_of, axes, whole))][::-1]
    while left:
        chosen = left.pop()
        if any(part.is_fill for part in chosen):
            fills += (merged(sum_of((base, *each))) for each in product(*(part.stored for part in chosen)))
        elif (turn := turn_of(chosen)) is not None:
            turns.append(turn)
        elif smaller := _smaller(chosen):
            left += smaller[::-1]
        else:
            return None
    return tuple(turns), tuple(fills)


def _smaller(chosen: Sequence[AxisPart]) -> list[tuple[AxisPart, ...]]:
    """Parts of all axes of which a turn is too large, with the first that is loaded in part cut; none if none is."""
    for number, part in enumerate(chosen):
        if part.halves:
            return [(*chosen[:number], half, *chosen[number + 1 :]) for half in part.halves]
    return []


def _parts_of(axis: Axis, whole: bool) -> list[AxisPart]:
    """The parts of an axis: all of it, or whole periods, the rest of one, and padding."""
    period = period_of(axis)
    if period is None and (len(copies_along(axis)) == 1 or not whole):
        return [AxisPart(copy) for copy in copies_along(axis)]
    if whole:
        none = StridedCopy(0, 0, (), params=(0,) * len(axis.params))
        return [AxisPart(none, axis)]
    assert period is not None
    dst, periods = axis.dst, axis.dim // period * period
    walk = CutAxis(axis, (*reversed([cut for cut in _cuts(axis) if cut > period]), period))
    found: list[AxisPart] = []

    def blocks(loaded: int, stored: int) -> Axis:
        src, dst = (
            replace(side, pieces=tuple(piece for piece in side.pieces if piece.cut < period), padded=stored)
            for side in (axis.src, axis.dst)
        )
        return axis._replace(src=src, dst=dst, dim=loaded)

    at = 0
    for number, cut in enumerate(walk.cuts):
        if count := (periods - at) // cut:
            found.append(AxisPart(walk.box(walk.cuts[number:], at, count, count), blocks(period, period)))
        at += count * cut
    if periods < axis.dim:
        at = min(periods + period, dst.padded)
        found.append(AxisPart(axis.at(periods), blocks(axis.dim - periods, at - periods)))
    # Padding need not be whole periods, but blocks of the destination start here.
    below = tuple(cut for cut in sorted({1, *(piece.cut for piece in dst.pieces)}, reverse=True) if cut < period)
    return found + [AxisPart(each) for each in CutAxis(Axis(dst, dst, (), 0), below).padding(at, below)]


def _cuts(axis: Axis) -> list[int]:
    return sorted({p.cut for side in (axis.src, axis.dst) for p in side.pieces if 1 < p.cut < axis.dst.padded})


def period_of(axis: Axis) -> int | None:
    """Coordinates after which blocks of both sides that do not divide each other start anew; None if all do."""
    cuts = _cuts(axis)
    periods = ((lcm(*cuts[:number]), *cuts[number:]) for number in range(len(cuts) + 1))
    chain = next(chain for chain in periods if all(large % small == 0 for small, large in pairwise(chain)))
    return chain[0] if chain[0] > 1 else None


def sum_of(parts: Iterable[StridedCopy]) -> StridedCopy:
    """Parts of several axes, or of one, as one copy; padding has no parameters."""
    found = tuple(parts)
    digits = tuple(digit for part in found for digit in part.digits)
    params = tuple(map(sum, zip(*(part.params for part in found), strict=False)))
    return StridedCopy(sum(part.src for part in found), sum(part.dst for part in found), digits, params=params)
