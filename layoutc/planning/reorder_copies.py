"""The strided copies of a reorder, with segments of short axes joined where boxes of whole axes gain by it."""

from __future__ import annotations

from collections.abc import Sequence

from layoutc.planning.conversions.merged_conversions import has_box
from layoutc.planning.conversions.padded_conversions import has_padded_tile
from layoutc.planning.conversions.reorder import Reorder
from layoutc.planning.copies.axis_copies import Joins
from layoutc.planning.copies.copy_digits import Sized, StridedCopy
from layoutc.planning.copies.promotion import as_bytes
from layoutc.planning.copies.strided_copy import NotStridedError, strided_copies
from layoutc.planning.copies.widths import Widths
from layoutc.planning.machine import Machine, boxing
from layoutc.planning.moves.boxes import ELEMENT, best_box, loads_over_gaps
from layoutc.planning.moves.plan_copy import all_pieces, instructions

JOIN_GAIN = 0.8
"""Boxes have all of short axes if they need less than this share of the instructions."""
SWAPPED_ROWS = 0.45
"""instructions for each byte of a box that swaps the elements of short rows, less than which it takes"""


def copies_of(
    reorder: Reorder, joins: Joins = "none", along: int | None = None, with_rows: bool = False
) -> tuple[tuple[StridedCopy, ...], Widths]:
    """
    The strided copies of a reorder, and the widths of their elements; moves of elements that share bytes as moves of
    bytes, where all of them are, of several short rows if they may be `with_rows`. Raises NotStridedError if there are
    none.
    """
    widths, moves = reorder.widths, reorder.moves
    sides, steps = (reorder.source, reorder.destination), moves and not widths.are_packed
    copies = strided_copies(*sides, reorder.seen.groupings, joins, along, steps=steps)
    if widths.are_packed and moves:
        moved = (as_bytes(copy, widths.dst_per_byte, with_rows) for copy in copies)
        whole = tuple(copy for copy in moved if copy is not None)
        if len(whole) == len(copies):
            return whole, Widths(1, 1)
    return copies, widths


def copies_with_rows(reorder: Reorder, target: Machine) -> tuple[tuple[StridedCopy, ...], Widths]:
    """The same, of several short rows where boxes move these in few instructions."""
    found = copies_of(reorder, with_rows=True)
    swapping = (copy for copy in found[0] if any(digit.swaps_rows for digit in copy.digits))
    boxes = (best_box(copy, 1, target) for copy in swapping)
    is_worth_it = all(box is not None and box[0] < SWAPPED_ROWS for box in boxes)
    return found if is_worth_it else copies_of(reorder)


def joined_moves(reorder: Reorder, apart: list[Sized], element: int, target: Machine) -> list[Sized]:
    """The copies with segments of short axes joined, if boxes of whole axes take fewer instructions."""
    if not boxing(target, element):
        return apart
    copies, widths = copies_of(reorder, joins="all")
    is_more = len(copies) > len(apart)  # than what steps leave
    if widths.are_packed or is_more or not any(copy.is_uneven for copy in copies):
        return apart
    joined = all_pieces(copies, element, target)
    over_gaps = [sized for sized in apart if loads_over_gaps(sized[0])]
    # They load lines that others have loaded once more, and gain nothing.
    alone = ELEMENT * sum(copy.elements for copy, _ in over_gaps)
    cost = alone + instructions((sized for sized in apart if sized not in over_gaps), target)
    return joined if instructions(joined, target) < JOIN_GAIN * cost else apart


def copies_that_convert(reorder: Reorder, target: Machine) -> tuple[Sequence[StridedCopy], Widths] | None:
    """The copies of a reorder that converts, with short axes joined where that pays; None if there are none."""
    try:
        copies, widths = copies_of(reorder)
    except NotStridedError:
        return None
    if len(copies) > 1 and not reorder.conversion.sum:
        copies = _joined_conversions(reorder, copies, widths, target)
    return copies, widths


def _joined_conversions(
    reorder: Reorder, apart: Sequence[StridedCopy], widths: Widths, target: Machine
) -> Sequence[StridedCopy]:
    """
    The copies with segments of short axes joined, and with their last blocks, if boxes of whole axes convert them in
    fewer instructions.

    Where a box cannot have all of two axes, or gains nothing by it, one alone may be joined.
    """
    held = max(widths.src, widths.dst)
    ways: list[tuple[Joins, int | None]] = [
        ("all", None),
        *(("whole", along) for along in (None, *range(reorder.destination.rank))),
    ]
    tried: list[Sequence[StridedCopy]] = []
    for joins, along in ways:
        joined, _ = copies_of(reorder, joins, along)
        uneven = [copy for copy in joined if copy.is_uneven]
        if not uneven and along is None and joins == "whole":
            break
        if joined in tried:
            continue
        tried.append(joined)
        if uneven and all(_has_tile(copy, reorder, target) for copy in uneven):
            cost, before = (instructions(((copy, held) for copy in copies), target) for copies in (joined, apart))
            if cost < JOIN_GAIN * before:
                return joined
    return apart


def _has_tile(copy: StridedCopy, reorder: Reorder, target: Machine) -> bool:
    """Whether a tile holds all of the axes that a copy has as one digit, converted in it or before."""
    widths = reorder.widths
    return has_box(copy, widths, target) if copy.is_whole else has_padded_tile(copy, widths, target, reorder.is_large)
