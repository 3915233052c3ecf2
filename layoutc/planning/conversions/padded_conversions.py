"""
Conversions of what is loaded in part, in tiles that hold both what rows became in a buffer, and the zeros beside it.

What is padding becomes zero, and no converted zero: elsewhere both are copies of their own.
"""

from __future__ import annotations

from layoutc.planning.conversions.converting import Converting
from layoutc.planning.conversions.row_conversions import row_by_row
from layoutc.planning.copies.copy_digits import StridedCopy, without_partial
from layoutc.planning.copies.widths import Widths
from layoutc.planning.machine import Machine, has_masks
from layoutc.planning.moves.boxes import best_box
from layoutc.planning.moves.plan_copy import all_pieces, instructions, needs_box
from layoutc.planning.plans.plan import CopyPlan

APART_GAIN = 0.5
"""Both are copies of their own if they need less than this share of a box's instructions: they may share lines."""


def padded_plan(copy: StridedCopy, how: Converting) -> CopyPlan | None:
    """
    The plan of a copy that is loaded in part, in tiles that hold both what was converted into a buffer, and zeros.

    None if there are no such tiles, or elements share bytes of the destination, stay what they are, or are added to
    others; or if they share bytes of a source which becomes a destination that the caches hold.
    """
    widths = how.widths
    moved = Widths(widths.dst, widths.dst)
    if how.adds or how.moves or copy.is_fill or (partial := copy.first_partial) is None:
        return None
    if widths.dst_per_byte > 1 or (widths.are_packed and not how.is_large):
        return None
    if needs_box(copy, moved, how.target) and not _is_worth_a_box(copy, partial, moved.dst, how.target):
        return None
    whole = how.target.vector // max(widths.src, widths.dst)

    def planned(how: Converting) -> CopyPlan | None:
        return row_by_row(copy, how, lambda plan: bool(plan.target_lanes), whole)

    # Whether it has one follows from the registers alone.
    found = planned(how.by_registers)
    return found and (planned(how) or found)


def has_padded_tile(copy: StridedCopy, widths: Widths, target: Machine, is_large: bool) -> bool:
    """Whether tiles hold both what a copy converts into a buffer, and the zeros beside it."""
    how = Converting(widths, target, streams=False, threads=1, adds=False, moves=False, is_large=is_large)
    return padded_plan(copy, how.by_registers) is not None


def _is_worth_a_box(copy: StridedCopy, partial: int, element: int, target: Machine) -> bool:
    """
    Whether a copy of elements of so many bytes, of which a digit is loaded in part, has a box that is worth it.

    A box has all of that digit: of 49 rows and 15 of zeros 16 elements each, where a row by itself fills registers.
    """
    box = best_box(copy, element, target)
    if box is None or copy.is_uneven:
        return box is not None
    parts = all_pieces(without_partial(copy, partial), element, target)
    there = instructions((sized for sized in parts if not sized[0].is_fill), target)
    stores = sum(zeros.elements * bytes for zeros, bytes in parts if zeros.is_fill) / target.vector
    gain = APART_GAIN if has_masks(target.vector, target.shuffles) else 1.0
    return there + stores >= gain * box[0] * copy.elements
