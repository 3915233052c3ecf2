"""Copies whose macro tiles take a little of several parts of the source that lie far from each other."""

from __future__ import annotations

from dataclasses import replace

from layoutc.planning.copies.copy_digits import SIDES, CopyDigit
from layoutc.planning.machine import PAGE, Machine
from layoutc.planning.moves.macro_tiles import loop_order
from layoutc.planning.moves.next_tile import asking_ahead
from layoutc.planning.plans.plan import CopyPlan, Part

FAR_PARTS = 4
"""parts of the source that are read side by side"""


def with_far_parts(plan: CopyPlan, target: Machine) -> CopyPlan:
    """
    The plan with a tile of each quarter of the source in a macro tile, if it converts rows past the caches as they lie.

    A processor fetches ahead within a page, and what is done to a register fills the window in which it looks for
    further loads by itself: in several pages at once it asks for more lines. Where the last cache is near that gains
    nothing, and most take longer.
    """
    digits = plan.copy.digits
    if not target.llc_is_far or plan.store != "nontemporal" or plan.load != "normal":
        return plan
    if plan.merges or not _goes_along_rows(plan):
        return plan
    slowest = max(range(len(digits)), key=lambda g: digits[g].src)
    digit = digits[slowest]
    steps = digit.extent // FAR_PARTS
    is_even = digit.extent % FAR_PARTS == 0 and steps > 0 and steps % plan.tile[slowest] == 0
    if not is_even or any(digit.carries or not digit.is_whole for digit in digits):
        return plan
    if steps * digit.src * plan.widths.src < PAGE:
        return plan
    parts = CopyDigit(
        FAR_PARTS, steps * digit.src, steps * digit.dst, FAR_PARTS, params=tuple(steps * step for step in digit.params)
    )
    shortened = tuple(replace(d, extent=steps, loaded=steps) if d is digit else d for d in digits)
    cut = plan.because(
        "macro tiles",
        f"a tile of each of {FAR_PARTS} parts of the source, in as many pages, one after the other",
        copy=replace(plan.copy, digits=(parts, *shortened)),
        tile=(1, *plan.tile),
        macro=(FAR_PARTS, *plan.tile),
        source_lanes=_behind(plan.source_lanes),
        target_lanes=_behind(plan.target_lanes),
        outer_order=(0, *(g + 1 for g in plan.outer_order)),
        inner_order=(0, *(g + 1 for g in plan.inner_order)),
    )
    return asking_ahead(cut)


def _goes_along_rows(plan: CopyPlan) -> bool:
    """Whether elements are converted, lie side by side along one digit, and have one order on both sides."""
    orders = {loop_order(plan.copy.digits, side) for side in SIDES}
    return plan.widths.converts and bool(plan.source_lanes) and len(plan.lane_digits) == len(orders) == 1


def _behind(parts: tuple[Part, ...]) -> tuple[Part, ...]:
    return tuple(replace(part, digit=part.digit + 1) for part in parts)
