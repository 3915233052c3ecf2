"""How the tiles of a copy are stored, and what macro tiles suit that: through the caches, or past them."""

from __future__ import annotations

from dataclasses import replace

from layoutc.planning.cache_sets import COLLIDING_ROWS, l1_ways, most_in_a_set
from layoutc.planning.copy_digits import SIDES, Carry, contiguous
from layoutc.planning.lanes import lane_count
from layoutc.planning.machine import Machine
from layoutc.planning.macro_tiles import (
    ALIGNED,
    COLLIDING,
    COPIED_BY_SOURCE,
    GATHERED_IN_CACHES,
    NORMAL,
    NORMAL_BY_SOURCE,
    STREAMED,
    STREAMED_COPY,
    STREAMED_SMALL,
    loop_order,
    with_macro,
)
from layoutc.planning.plan import CopyPlan, is_power_of_two
from layoutc.planning.reasons import because
from layoutc.planning.whole_lines import stores_whole_lines

MIN_ALIGNED_RUN = 512
"""in the caches: 0.6 to 0.8 of the time of normal stores where rows of 513 and 257 elements are transposed"""
MIN_LONG_ROW = 1 << 10
"""bytes of a row of the destination that leaves a buffer by whole lines, where stores straddle them"""
SHORT_LINES = 4
"""in a row of the destination that a macro tile has all of; with rows of 5 to 8 it takes as long as without"""


def cached(plan: CopyPlan, target: Machine) -> CopyPlan:
    """The plan of a copy that stays in the caches; its inner loops follow the rows that would evict each other."""
    cached = with_macro(plan, NORMAL)
    if plan.copy.is_fill or plan.converted_bytes:
        return cached
    ways = l1_ways(target)
    loaded, stored = (most_in_a_set(cached, side, cached.macro, target) for side in SIDES)
    # A line that comes from the second cache comes as fast as one from a buffer.
    if min(loaded, stored) > ways and plan.copy.elements * plan.element_bytes >= target.l2:
        gathered = _gathered_in_caches(plan, target)
        if gathered is not None:
            because("loads", f"gathered on the stack first, as {loaded} rows share one set of the first cache")
            return gathered
    if stored > ways and _is_better_aligned(plan, target):
        because("stores", "through the caches by whole lines, out of a buffer: rows of a tile would evict each other")
        return replace(with_macro(plan, ALIGNED), store="aligned")
    if _straddles_in_long_rows(plan, target):
        because("stores", "through the caches by whole lines, out of a buffer: they straddle lines of long rows")
        return replace(with_macro(plan, ALIGNED), store="aligned")
    if not loaded > ways >= stored:
        return _with_whole_rows(plan, target) if _shares_lines(plan, target) else cached
    if plan.source_lanes == plan.target_lanes:
        return with_macro(plan, COPIED_BY_SOURCE)
    is_line = lane_count(plan.source_lanes) * plan.element_bytes >= target.line
    return cached if is_line else with_macro(plan, NORMAL_BY_SOURCE)


def _gathered_in_caches(plan: CopyPlan, target: Machine) -> CopyPlan | None:
    """
    The plan with its source rows gathered in a buffer, where loads take parts of their lines.

    By loops along the destination a line would be evicted before its next part is loaded, by others the rows of the
    destination would.
    """
    gathered = with_macro(plan, GATHERED_IN_CACHES[plan.element_bytes])
    carries = any(isinstance(digit.stride("dst"), Carry) for digit in plan.copy.digits)
    if carries or not _takes_parts_of_lines(gathered, target):
        return None
    return replace(gathered, load="staged", inner_order=loop_order(plan.copy.digits, "dst"))


def _shares_lines(plan: CopyPlan, target: Machine) -> bool:
    """Whether tiles take parts of the lines of both sides, and both fit the second cache."""
    piece = lane_count(plan.source_lanes) * plan.element_bytes
    fits = 2 * plan.copy.elements * plan.element_bytes <= target.l2
    moves = plan.source_lanes != plan.target_lanes
    parts = piece < target.line and not stores_whole_lines(plan, target)
    return target.streams_whole_lines and fits and moves and parts


def _with_whole_rows(plan: CopyPlan, target: Machine) -> CopyPlan:
    """The plan with macro tiles that have all of short rows of the destination: nothing comes back to their lines."""
    row = next((digit.extent * plan.element_bytes for _, digit in contiguous(plan.copy, "dst")), 0)
    if not NORMAL.target_run < row <= SHORT_LINES * target.line:
        return with_macro(plan, NORMAL)
    whole = with_macro(plan, replace(NORMAL, target_run=row))
    because("macro tiles", f"with whole rows of {row} bytes in the destination, as tiles store parts of their lines")
    return whole


def _straddles_in_long_rows(plan: CopyPlan, target: Machine) -> bool:
    """
    Whether a transpose that the second cache does not hold stores parts of the lines of long rows.

    Each such line would be waited for twice, by stores that come long after one another.
    """
    lanes = *plan.source_lanes, *plan.target_lanes
    moves = plan.source_lanes != plan.target_lanes and all(is_power_of_two(part.extent) for part in lanes)
    is_large = 2 * plan.copy.elements * plan.element_bytes > target.l2
    if not (target.streams_whole_lines and is_large and moves) or plan.merges or plan.element_bytes == 1:
        return False
    row = next((digit.extent * plan.element_bytes for _, digit in contiguous(plan.copy, "dst")), 0)
    return row >= MIN_LONG_ROW and not stores_whole_lines(plan, target)


def _is_better_aligned(plan: CopyPlan, target: Machine) -> bool:
    """
    Whether runs are long, and stores straddle their lines, or those of a tile evict each other.

    A buffer leaves its runs by whole lines, one line of a run after the other.
    """
    # Of equal size, macro tiles have runs of half of this at least.
    run = with_macro(plan, replace(ALIGNED, target_run=2 * MIN_ALIGNED_RUN)).run * plan.element_bytes
    evict = not stores_whole_lines(plan, target) or most_in_a_set(plan, "dst", plan.tile, target) > l1_ways(target)
    return target.streams_whole_lines and run >= MIN_ALIGNED_RUN and evict


def streamed(plan: CopyPlan, target: Machine) -> CopyPlan:
    """The plan of a copy whose tiles are stored past the caches, with macro tiles that suit its elements."""
    if plan.source_lanes == plan.target_lanes:
        return with_macro(plan, STREAMED_COPY)
    if plan.widths.moved not in COLLIDING:
        return with_macro(plan, STREAMED)
    if plan.converted_bytes:
        return with_macro(plan, STREAMED_SMALL)
    return _gathered(plan, target, COLLIDING_ROWS) or with_macro(plan, STREAMED_SMALL)


def evict_each_other(plan: CopyPlan, target: Machine) -> bool:
    """Whether rows of a macro tile do, in the destination."""
    return bool(plan.target_lanes) and most_in_a_set(plan, "dst", plan.macro, target) > l1_ways(target)


def _gathered(plan: CopyPlan, target: Machine, most: int) -> CopyPlan | None:
    """The plan with its source rows gathered in a buffer, where more of a tile than that evict each other."""
    if plan.widths.moved not in COLLIDING:
        return None
    gathered = with_macro(plan, COLLIDING[plan.element_bytes])
    return replace(gathered, load="staged") if rows_collide(gathered, target, most) else None


def rows_collide(plan: CopyPlan, target: Machine, most: int = COLLIDING_ROWS) -> bool:
    """Whether a tile takes parts of lines of more rows than that in one set of the first cache."""
    if not _takes_parts_of_lines(plan, target):
        return False
    # Where the next macro tile lies here or there it cannot be asked for, and gathering would wait for each row.
    if any(isinstance(digit.stride("src"), Carry) for digit in plan.copy.digits):
        return False
    found = most_in_a_set(plan, "src", plan.tile, target, plan.source_run_digits)
    if found > most:
        because("loads", f"gathered on the stack first, as {found} rows of a tile share one set of the first cache")
    return found > most


def _takes_parts_of_lines(plan: CopyPlan, target: Machine) -> bool:
    """Whether a macro tile has whole lines of the source, of which each load takes a part."""
    piece = lane_count(plan.source_lanes) * plan.element_bytes
    return piece < target.line <= plan.source_run * plan.element_bytes and plan.gathers_lanes
