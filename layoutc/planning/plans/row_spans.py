"""
Rows of a source a little apart, in which elements share bytes: they are taken apart with what lies between them.

Row by row, 3 elements of each block of 16 would take a loop of a few bytes. A register has several blocks, of whose
bytes a mask keeps out those without an element.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import gcd
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from layoutc.planning.plans.plan import CopyPlan

MASKED = 64
"""bytes of the registers whose loads have masks of bytes"""


@dataclass(frozen=True, slots=True)
class RowSpan:
    """Rows along a digit that are `step` elements apart, as many of which as a register has are loaded at once."""

    digit: int
    step: int
    rows: int
    """of a macro tile"""
    at_once: int
    mask: int
    """the bytes that hold elements of so many rows, as bits"""
    elements: int
    """these elements, as bits"""


def row_span(plan: CopyPlan) -> RowSpan | None:
    """The rows of the source that are taken apart together, where all of them begin at the same place of a byte."""
    share, run = plan.widths.src_per_byte, plan.source_run
    if plan.load != "unpacked" or plan.vector_bytes != MASKED:
        return None
    digits, along = plan.copy.digits, plan.source_run_digits
    near = [
        (digit.src, g)
        for g, digit in enumerate(digits)
        if g not in along and not digit.carries and run < digit.src <= MASKED and plan.loaded_steps(g) > 1
    ]
    if not near or any(plan.macro[g] < digits[g].extent for g in along):
        return None
    step, found = min(near)
    unit = share // gcd(share, step)
    rows = plan.loaded_steps(found)
    at_once = min(MASKED // step // unit * unit, rows)
    starts = [plan.copy.src, (rows - at_once) * step]
    for g, digit in enumerate(digits):
        if g not in along and (g != found or plan.macro[g] < digit.extent):
            counts = (1,) if g != found else (plan.macro_step(g), digit.extent - plan.macro[g])
            starts += (count * apart for count in counts for _, apart in digit.all_steps("src"))
    if at_once < 1 or any(start % share for start in starts):
        return None
    held = [place for row in range(at_once) for place in range(row * step, row * step + run)]
    mask = sum(1 << byte for byte in {place // share for place in held})
    return RowSpan(found, step, rows, at_once, mask, sum(1 << place for place in held))
