"""Where the elements of a tile lie on a side: contiguous runs of them, what these are loaded in, and single steps."""

from __future__ import annotations

from collections.abc import Sequence

from layoutc.planning.copies.copy_digits import CopyDigit, SideName, StridedCopy
from layoutc.planning.shuffles.merging import ZERO

Runs = list[tuple[int, int]]
"""where contiguous elements begin, and how many they are"""


def runs(copy: StridedCopy, tile: Sequence[int], side: SideName, along: Sequence[int]) -> Runs:
    """The contiguous elements of a tile's row on a side, `along` some digits."""
    found = [(0, 1)]
    for g in along:
        found = _joined(sorted((start + at, n) for at in offsets(copy, tile, side, g) for start, n in found))
    return found


def in_pieces(row: Runs, lanes: int) -> Runs:
    """Where loads, or stores, of a row's runs begin, and the elements up to their ends, gaps among them."""
    found: Runs = []
    for start, count in row:
        end, reach = start + count, found[-1][0] + lanes if found else start
        if start < reach:
            found[-1] = (reach - lanes, min(lanes, end - reach + lanes))
        found += [(first, min(lanes, end - first)) for first in range(max(start, reach), end, lanes)]
    return found


def rows(copy: StridedCopy, tile: Sequence[int], side: SideName, across: Sequence[int], row: Runs) -> Runs:
    """A row's runs at all values of other digits, the first of them counting fastest."""
    for g in across:
        row = [(start + at, n) for at in offsets(copy, tile, side, g) for start, n in row]
    return row


def places(digit: CopyDigit, value: int) -> tuple[int, int]:
    """How far a step of a digit lies in the destination and in the source, or that it is ZERO."""
    return digit.offset("dst", value), digit.offset("src", value) if value < digit.loaded else ZERO


def offsets(copy: StridedCopy, tile: Sequence[int], side: SideName, position: int) -> list[int]:
    """Where the steps of a digit lie that a tile has on a side."""
    digit = copy.digits[position]
    return [*digit.places(side, taken(copy, tile, side, position))]


def taken(copy: StridedCopy, tile: Sequence[int], side: SideName, position: int) -> int:
    """How many steps of a digit a tile has on a side; in the source, of those that are loaded."""
    return min(tile[position], copy.digits[position].loaded) if side == "src" else tile[position]


def _joined(found: Runs) -> Runs:
    """Those as one that follow one another, or overlap, sorted."""
    joined = found[:1]
    for start, count in found[1:]:
        first, before = joined[-1]
        if start <= first + before:
            joined[-1] = (first, max(before, start + count - first))
        else:
            joined.append((start, count))
    return joined
