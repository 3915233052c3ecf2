"""Whether what a copy loads, and the zeros beside it, are copies of their own, or one box."""

from __future__ import annotations

from layoutc.planning.copies.copy_digits import StridedCopy, without_partial
from layoutc.planning.machine import Machine
from layoutc.planning.moves.boxes import best_box
from layoutc.planning.moves.plan_copy import instructions, pieces

APART_GAIN = 0.5
"""Both are copies of their own if they need less than this share of a box's instructions: they may share lines."""


def box_suits(copy: StridedCopy, partial: int, element: int, target: Machine) -> bool:
    """
    Whether a copy of elements of so many bytes, of which a digit is loaded in part, has a box that is worth it.

    A box has all of that digit: of 49 rows and 15 of zeros 16 elements each, where a row by itself fills registers.
    """
    box = best_box(copy, element, target)
    if box is None or any(digit.is_uneven for digit in copy.digits):
        return box is not None
    parts = [piece for part in without_partial(copy, partial) for piece in pieces(part, element, target)]
    there = instructions((sized for sized in parts if not sized[0].is_fill), target)
    stores = sum(zeros.elements * bytes for zeros, bytes in parts if zeros.is_fill) / target.vector
    return there + stores >= APART_GAIN * box[0] * copy.elements
