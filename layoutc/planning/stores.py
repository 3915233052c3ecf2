"""How the tiles of a copy are stored, and what macro tiles suit that: through the caches, or past them."""

from __future__ import annotations

from dataclasses import replace

from layoutc.planning.cache_sets import COLLIDING_ROWS, l1_ways, most_in_a_set, share_evicted
from layoutc.planning.copy_digits import SIDES, Carry, SideName, contiguous
from layoutc.planning.lanes import lane_count, tile_of
from layoutc.planning.machine import Machine
from layoutc.planning.macro_tiles import (
    ALIGNED,
    ALONG_COLLIDING,
    ALONG_ROWS,
    COLLIDING,
    COLLIDING_NEAR,
    COPIED_BY_SOURCE,
    GATHERED_IN_CACHES,
    NORMAL,
    NORMAL_BY_SOURCE,
    NORMAL_SQUARE,
    STREAMED,
    STREAMED_ALONG_ROWS,
    STREAMED_COPY,
    STREAMED_PACKED,
    STREAMED_SMALL,
    WIDENED_ROWS,
    MacroShape,
    loop_order,
    steps_along_rows,
    with_macro,
)
from layoutc.planning.next_tile import straddles_lines
from layoutc.planning.plan import CopyPlan, is_power_of_two
from layoutc.planning.reasons import because
from layoutc.planning.whole_lines import stores_whole_lines

MIN_ALIGNED_RUN = 512
"""in the caches: 0.6 to 0.8 of the time of normal stores where rows of 513 and 257 elements are transposed"""
MIN_LONG_ROW = 1 << 10
"""bytes of a row of the destination that leaves a buffer by whole lines, if the last cache is far"""
SQUARE_ELEMENT = 4
"""bytes of an element that NORMAL_SQUARE is for: with others it takes as long, or longer"""
MOST_EVICTED = 0.3
"""of the lines of a macro tile, where the second cache holds both sides"""
MOST_LOADED_AGAIN = 0.4
"""times that a line comes from the second cache again, for each register of it: more take longer than a buffer"""
SHORT_LINES, LONGER_LINES = 4, 8
"""in a row of the destination that a macro tile has all of; more where a processor does not wait for lines"""
HELD_LINES = 0.5
"""of the first cache, that lines of the source may fill then, one for each element of a row"""


def cached(plan: CopyPlan, target: Machine) -> CopyPlan:
    """The plan of a copy that stays in the caches; its inner loops follow the rows that would evict each other."""
    if _widens(plan) and (stored := _stored_in_a_set(plan, target)) > l1_ways(target):
        return _with_fewer_rows(plan, target, stored)
    cached = with_macro(plan, _normal(plan, target))
    if plan.copy.is_fill or plan.converted_bytes:
        return cached
    ways = l1_ways(target)
    loaded, stored = (most_in_a_set(cached, side, cached.macro, target) for side in SIDES)
    # A line that comes from the second cache comes as fast as one from a buffer.
    evict = min(loaded, stored) > ways and plan.copy.elements * plan.element_bytes >= target.l2
    if evict and not (_stored_in_a_set(plan, target) > ways and _is_better_aligned(plan, target)):
        gathered = _gathered_in_caches(plan, target)
        if gathered is not None:
            because("loads", f"gathered on the stack first, as {loaded} rows share one set of the first cache")
            return gathered
    if (apart := _of_colliding_rows(plan, target)) is not None:
        return apart
    if stored > ways and _is_better_aligned(plan, target):
        because("stores", "through the caches by whole lines, out of a buffer: rows of a tile would evict each other")
        return replace(with_macro(plan, ALIGNED), store="aligned")
    straddling = _straddling(plan, cached, target) if _straddles_lines(plan, target) else None
    if straddling is not None:
        return straddling
    if not loaded > ways >= stored:
        return _with_whole_rows(plan, target) if _shares_lines(plan, target) else cached
    if plan.source_lanes == plan.target_lanes:
        return with_macro(plan, COPIED_BY_SOURCE)
    is_line = lane_count(plan.source_lanes) * plan.element_bytes >= target.line
    return cached if is_line else with_macro(plan, NORMAL_BY_SOURCE)


def _normal(plan: CopyPlan, target: Machine) -> MacroShape:
    """The shape of macro tiles that are stored through the caches; where L2 holds both sides maybe of 2 by 2 tiles."""
    if target.waits_for_lines or plan.element_bytes != SQUARE_ELEMENT or not _fits_second_cache(plan, target):
        return NORMAL
    is_moved = not (plan.copy.is_fill or plan.merges or plan.converted_bytes)
    transposes = is_moved and plan.source_lanes != plan.target_lanes
    lanes = [(plan.copy.digits[part.digit], part) for part in (*plan.source_lanes, *plan.target_lanes)]
    is_long = all(not digit.carries and digit.extent >= 2 * part.extent for digit, part in lanes)
    return NORMAL_SQUARE if transposes and is_long else NORMAL


def _fits_second_cache(plan: CopyPlan, target: Machine) -> bool:
    """Whether that holds both sides."""
    return 2 * plan.copy.elements * plan.element_bytes <= target.l2


def _widens(plan: CopyPlan) -> bool:
    """Whether elements are moved before they are wide, and the tile has a row of the destination for each loaded."""
    return _is_plain(plan) and plan.widths.converted_at == "dst" and plan.widths.src < plan.widths.dst


def _is_plain(plan: CopyPlan) -> bool:
    """Whether lanes are powers of two on both sides, so that any half of them is a tile too."""
    lanes = *plan.source_lanes, *plan.target_lanes
    return not plan.merges and all(is_power_of_two(part.extent) for part in lanes)


def _stored_in_a_set(plan: CopyPlan, target: Machine) -> int:
    """The most rows of the destination that a tile stores into one set of the first cache."""
    return most_in_a_set(plan, "dst", plan.tile, target, width=plan.widths.dst)


def _with_fewer_rows(plan: CopyPlan, target: Machine, stored: int) -> CopyPlan:
    """
    The plan with tiles that load fewer elements of a row, as those of the destination would evict each other.

    Registers of narrow elements have more of these than registers of wide ones: where those are, 64 rows 2 KiB apart
    were stored in turn. Loops then go along the rows of the destination, of which a line leaves at once.
    """
    because("rows", f"of fewer rows, as {stored} of them would share one set of the first cache where they are stored")
    least = plan.vector_bytes // plan.widths.dst
    while _stored_in_a_set(plan, target) > l1_ways(target) and lane_count(plan.source_lanes) > least:
        if (fewer := _halved(plan, "src")) is None:
            break
        plan = fewer
    return with_macro(plan, WIDENED_ROWS)


def _halved(plan: CopyPlan, side: SideName) -> CopyPlan | None:
    """The plan, whose lanes are powers of two, with half of those of one side; None if its tile stays as it is."""
    lanes = {"src": plan.source_lanes, "dst": plan.target_lanes}
    *others, last = lanes[side]
    if last.extent == 2:
        return None
    lanes[side] = (*others, replace(last, extent=last.extent // 2))
    tile = tile_of(plan.copy, lanes["src"], lanes["dst"])
    halved = replace(plan, source_lanes=lanes["src"], target_lanes=lanes["dst"], tile=tile)
    return replace(halved, macro=halved.least_macro) if tile != plan.tile else None


def _of_colliding_rows(plan: CopyPlan, target: Machine) -> CopyPlan | None:
    """
    The plan where rows of a tile evict each other from the first cache before the tile beside it loads their lines.

    Loads of whole lines that straddle others take two of each row: tiles of fewer rows, one after the other along the
    source, find them. Where loads take parts of lines, rows are gathered in a buffer first.
    """
    rows = _rows_of_a_set(plan, target)
    if rows <= COLLIDING_ROWS or any(digit.carries for digit in plan.copy.digits):
        return None
    if lane_count(plan.source_lanes) * plan.element_bytes < target.line:
        found, key = _gathered_by_rows(plan, target, rows), "loads"
        why = f"gathered on the stack first, as {rows} rows of a tile share one set of the first cache"
    else:
        found, key = _with_half_the_rows(plan, target), "rows"
        why = f"half as many in a tile, as {rows} of them share one set of the first cache"
    if found is None or evict_each_other(found, target):
        return None
    because(key, why)
    return found


def _gathered_by_rows(plan: CopyPlan, target: Machine, rows: int) -> CopyPlan | None:
    """The plan with its source rows gathered in a buffer, if many of their lines would come again without it."""
    parts = target.line // (lane_count(plan.source_lanes) * plan.element_bytes)
    again = (parts - 1 + straddles_lines(plan)) * (1 - l1_ways(target) / rows)
    gathered = with_macro(plan, ALONG_COLLIDING)
    if again <= MOST_LOADED_AGAIN * target.line / target.vector or not _takes_parts_of_lines(gathered, target):
        return None
    return replace(gathered, load="staged", inner_order=loop_order(plan.copy.digits, "dst"))


def _with_half_the_rows(plan: CopyPlan, target: Machine) -> CopyPlan | None:
    """The plan with tiles of half as many rows, if loads straddle lines and stores have sets of their own."""
    if not (_is_plain(plan) and straddles_lines(plan)):
        return None
    fewer = _halved(plan, "dst")
    if fewer is None or _stored_in_a_set(fewer, target) > max(COLLIDING_ROWS, lane_count(plan.source_lanes) // 2):
        return None
    return with_macro(fewer, ALONG_COLLIDING)


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
    moves = plan.source_lanes != plan.target_lanes
    parts = piece < target.line and not stores_whole_lines(plan, target)
    return target.streams_whole_lines and _fits_second_cache(plan, target) and moves and parts


def _with_whole_rows(plan: CopyPlan, target: Machine) -> CopyPlan:
    """The plan with macro tiles that have all of short rows of the destination: nothing comes back to their lines."""
    row = next((digit.extent * plan.element_bytes for _, digit in contiguous(plan.copy, "dst")), 0)
    lines = SHORT_LINES if target.waits_for_lines else LONGER_LINES
    is_held = row // plan.element_bytes * target.line <= HELD_LINES * target.l1
    if not (is_held and NORMAL.target_run < row <= lines * target.line):
        return with_macro(plan, _normal(plan, target))
    whole = with_macro(plan, replace(NORMAL, target_run=row))
    because("macro tiles", f"with whole rows of {row} bytes in the destination, as tiles store parts of their lines")
    return whole


def _straddling(plan: CopyPlan, cached: CopyPlan, target: Machine) -> CopyPlan | None:
    """
    The plan of a transpose whose stores straddle lines, if its rows are long enough.

    Where it is as large as the second cache, tiles would wait twice for a line that they store parts of, as it comes
    from a last cache that is far. Where lines evict each other before they are whole, tiles follow the rows they store.
    """
    row = next((digit.extent * plan.element_bytes for _, digit in contiguous(plan.copy, "dst")), 0)
    if plan.copy.elements * plan.element_bytes >= target.l2:
        if not target.llc_is_far or row < MIN_LONG_ROW:
            return None
        because("stores", "through the caches by whole lines, out of a buffer: they straddle lines of long rows")
        return replace(with_macro(plan, ALIGNED), store="aligned")
    if row >= MIN_ALIGNED_RUN and share_evicted(cached, target) > MOST_EVICTED:
        along_rows = with_macro(plan, ALONG_ROWS)
        because("macro tiles", "along rows of the destination, as lines would evict each other before they are whole")
        return along_rows
    return None


def _straddles_lines(plan: CopyPlan, target: Machine) -> bool:
    """
    Whether the tiles of a transpose store parts of lines.

    With elements of 1 byte a buffer gains nothing; what tiles along rows gain is known where no stores wait for lines.
    """
    moves = plan.source_lanes != plan.target_lanes and _is_plain(plan)
    if not (target.streams_whole_lines and moves):
        return False
    if plan.element_bytes == 1 and target.waits_for_lines:
        return False
    return not stores_whole_lines(plan, target)


def _is_better_aligned(plan: CopyPlan, target: Machine) -> bool:
    """
    Whether runs are long, and stores straddle their lines, or those of a tile evict each other.

    A buffer leaves its runs by whole lines, one line of a run after the other.
    """
    # Of equal size, macro tiles have runs of half of this at least.
    run = with_macro(plan, replace(ALIGNED, target_run=2 * MIN_ALIGNED_RUN)).run * plan.element_bytes
    evict = not stores_whole_lines(plan, target) or _stored_in_a_set(plan, target) > l1_ways(target)
    return target.streams_whole_lines and run >= MIN_ALIGNED_RUN and evict


def streamed(plan: CopyPlan, target: Machine) -> CopyPlan:
    """The plan of a copy whose tiles are stored past the caches, with macro tiles that suit its elements."""
    if plan.source_lanes == plan.target_lanes:
        return with_macro(plan, STREAMED_COPY)
    if plan.widths.moved not in COLLIDING:
        is_held = target.llc_is_far and 2 * plan.copy.elements * plan.element_bytes <= target.llc
        return with_macro(plan, STREAMED_ALONG_ROWS if is_held else STREAMED)
    if plan.converted_bytes:
        return with_macro(plan, STREAMED_SMALL if plan.widths.dst_per_byte == 1 else STREAMED_PACKED)
    return _gathered(plan, target) or _streamed_small(plan, target)


def _streamed_small(plan: CopyPlan, target: Machine) -> CopyPlan:
    """
    The plan with elements of 1 and 2 bytes; where the last cache is near, with longer runs in the destination.

    There what is left of the source's lines waits in the first cache, beside what was asked for. Rows that macro tiles
    would have all of stay whole.
    """
    long = with_macro(plan, STREAMED_SMALL)
    if target.llc_is_far or lane_count(plan.source_lanes) * plan.element_bytes >= target.line:
        return long
    even = with_macro(plan, STREAMED_ALONG_ROWS)
    cuts = any(even.macro[g] < long.macro[g] == plan.copy.digits[g].extent for g in long.source_run_digits)
    if even.prefetch and not cuts:
        return even
    because("macro tiles", STREAMED_SMALL.reason)
    return long


def evict_each_other(plan: CopyPlan, target: Machine) -> bool:
    """Whether rows of a macro tile do, in the destination."""
    return bool(plan.target_lanes) and most_in_a_set(plan, "dst", plan.macro, target) > l1_ways(target)


def _gathered(plan: CopyPlan, target: Machine) -> CopyPlan | None:
    """The plan with its source rows gathered in a buffer, where those of a tile evict each other."""
    gathered = with_macro(plan, (COLLIDING if target.llc_is_far else COLLIDING_NEAR)[plan.element_bytes])
    if not gathers_rows(gathered, target):
        return None
    # In the buffer no digit of the source carries.
    carries = any(isinstance(digit.stride("dst"), Carry) for digit in plan.copy.digits)
    inner = gathered.inner_order if carries else loop_order(plan.copy.digits, "dst")
    return replace(with_gathered_rows(gathered, target), inner_order=inner)


def gathers_rows(plan: CopyPlan, target: Machine) -> bool:
    """
    Whether rows that collide come sooner from a buffer: where the last cache is near, if sets hold less than half.

    Lines of others come back from the second cache.
    """
    if not rows_collide(plan, target):
        return False
    rows = most_in_a_set(plan, "src", plan.macro, target, plan.source_run_digits)
    return target.llc_is_far or rows > 2 * l1_ways(target)


def rows_collide(plan: CopyPlan, target: Machine) -> bool:
    """Whether a tile takes parts of lines of more rows than that in one set of the first cache."""
    if not _takes_parts_of_lines(plan, target):
        return False
    # Where the next macro tile lies here or there it cannot be asked for, and gathering would wait for each row.
    carries = any(isinstance(digit.stride("src"), Carry) for digit in plan.copy.digits)
    if carries and not steps_along_rows(plan, target):
        return False
    return _rows_of_a_set(plan, target) > COLLIDING_ROWS


def with_gathered_rows(plan: CopyPlan, target: Machine) -> CopyPlan:
    """The plan with its source rows gathered in a buffer, as they collide."""
    found = _rows_of_a_set(plan, target)
    because("loads", f"gathered on the stack first, as {found} rows of a tile share one set of the first cache")
    return replace(plan, load="staged", asks_by_tiles=bool(plan.prefetch) and not target.llc_is_far)


def _rows_of_a_set(plan: CopyPlan, target: Machine) -> int:
    return most_in_a_set(plan, "src", plan.tile, target, plan.source_run_digits)


def _takes_parts_of_lines(plan: CopyPlan, target: Machine) -> bool:
    """Whether a macro tile has whole lines of the source, of which each load takes a part."""
    piece = lane_count(plan.source_lanes) * plan.element_bytes
    return piece < target.line <= plan.source_run * plan.element_bytes and plan.gathers_lanes
