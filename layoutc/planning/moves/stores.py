"""How the tiles of a copy are stored through the caches, and what macro tiles suit that."""

from __future__ import annotations

from dataclasses import replace

from layoutc.planning.copies.copy_digits import SIDES
from layoutc.planning.copies.runs import contiguous
from layoutc.planning.machine import LINE, Machine
from layoutc.planning.moves.cache_sets import (
    fits_second_cache,
    l1_ways,
    most_in_a_set,
    share_evicted,
    share_without_room,
    stored_sets,
    waits_in_second_cache,
)
from layoutc.planning.moves.colliding_rows import (
    crowds_sets,
    gathered_in_caches,
    stored_in_a_set,
    widens,
    with_fewer_rows,
)
from layoutc.planning.moves.fewest_lines import with_fewest_lines
from layoutc.planning.moves.half_loads import with_half_loads
from layoutc.planning.moves.last_cache import asking_in_last_cache
from layoutc.planning.moves.macro_shapes import (
    ALIGNED,
    ALONG_ROWS,
    GATHERED_IN_CACHES,
    NORMAL,
    NORMAL_BY_SOURCE,
    NORMAL_LONG,
    NORMAL_SQUARE,
    NORMAL_STRADDLING,
    STRADDLING_BY_SOURCE,
    MacroShape,
)
from layoutc.planning.moves.macro_tiles import loop_order, with_macro
from layoutc.planning.moves.paired_blocks import in_pairs
from layoutc.planning.moves.whole_lines import stores_whole_lines
from layoutc.planning.plans.plan import CopyPlan
from layoutc.planning.tiles.lanes import lane_count

MIN_ALIGNED_RUN = 512
"""in the caches: 0.6 to 0.8 of the time of normal stores where rows of 513 and 257 elements are transposed"""
MIN_LONG_ROW = 1 << 10
"""bytes of a row of the destination that leaves a buffer by whole lines, if the last cache is far"""
SQUARE_ELEMENT = 4
"""bytes of an element that NORMAL_SQUARE is for: with others it takes as long, or longer"""
MOST_EVICTED = 0.15
"""of the lines of a macro tile, where the second cache holds both sides"""
FEWEST_SETS = 8
"""of the first cache, over which a macro tile spreads what it stores, where its rows evict each other"""
SHORT_LINES = 8
"""in a row of the destination that a macro tile has all of"""
STRADDLING_LINES = 3
"""of a row of the source, up to which NORMAL_STRADDLING gains nothing: NORMAL has all of it"""
HELD_BUDGET, HELD_ELEMENT = 8 << 10, 4
"""
bytes of a macro tile where the second cache holds both sides, on a processor that fetches rows by itself, if elements
that are moved have so many at most
"""
HELD_LINES = 0.5
"""of the first cache, that lines of the source may fill then, one for each element of a row"""


def cached(plan: CopyPlan, target: Machine) -> CopyPlan:
    """The plan of a copy that stays in the caches; in the last one it asks ahead."""
    return asking_in_last_cache(_with_rows(plan, target), target)


def _with_rows(plan: CopyPlan, target: Machine) -> CopyPlan:
    """The plan with macro tiles and loops that follow the rows that would evict each other."""
    if widens(plan) and crowds_sets(plan, target):
        return with_fewer_rows(plan, target)
    if plan.copy.is_fill or plan.widths.converts:
        return with_macro(plan, _normal(plan, target))
    found = with_fewest_lines(plan, _usual(plan, target), target)
    return with_half_loads(in_pairs(found, target), target) if found.tile == plan.tile else found


def _usual(plan: CopyPlan, target: Machine) -> CopyPlan:
    """The plan whose rows are those of the tile, whatever of their lines comes again."""
    cached = _over_more_sets(with_macro(plan, _normal(plan, target)), plan, target)
    ways = l1_ways(target)
    loaded, stored = (most_in_a_set(cached, side, cached.macro) for side in SIDES)
    # A line that comes from the second cache comes as fast as one from a buffer.
    evict = min(loaded, stored) > ways and plan.copy.elements * plan.widths.src >= target.l2
    if evict and not (stored_in_a_set(plan) > ways and _is_better_aligned(plan, target)):
        gathered = gathered_in_caches(plan, GATHERED_IN_CACHES[plan.widths.src])
        if gathered is not None:
            why = f"gathered on the stack first, as {loaded} rows share one set of the first cache"
            return gathered.because("loads", why)
    if stored > ways and _is_better_aligned(plan, target):
        return _aligned(plan, "rows of a tile would evict each other")
    straddling = _straddling(plan, cached, target) if _straddles_lines(plan, target) else None
    if straddling is not None:
        return straddling
    if not loaded > ways >= stored:
        return _with_whole_rows(plan, target) if _shares_lines(plan, target) else cached
    loads_lines = lane_count(plan.source_lanes) * plan.widths.src >= LINE and not plan.keeps_rows
    if loads_lines:
        return cached
    by_source = STRADDLING_BY_SOURCE if _waits_twice(plan, target) else _sized(NORMAL_BY_SOURCE, plan, target)
    return with_macro(plan, by_source)


def _aligned(plan: CopyPlan, why: str) -> CopyPlan:
    """The plan whose lines leave a buffer."""
    words = f"through the caches by whole lines, out of a buffer: {why}"
    return with_macro(plan, ALIGNED).because("stores", words, store="aligned")


def _over_more_sets(cached: CopyPlan, plan: CopyPlan, target: Machine) -> CopyPlan:
    """
    The plan of a transpose, whose rows of the destination do not wait for each other in a few sets of the first cache.

    `plan` has macro tiles of one tile. What processors that wait for lines gain is not known.
    """
    if target.waits_for_lines or plan.keeps_rows:
        return cached
    stored = most_in_a_set(cached, "dst", cached.macro)
    if stored <= l1_ways(target):
        return cached
    why = f"as {stored} of them share one set of the first cache"
    for shape in (_sized(shape, plan, target) for shape in (NORMAL, NORMAL_LONG)):
        if stored_sets(cached) < FEWEST_SETS and stores_whole_lines(plan, target):
            longer = f"{shape.reason}; runs of rows of the destination are longer, {why}"
            cached = with_macro(plan, shape).because("macro tiles", longer)
    if share_evicted(cached, "dst", target) > 0:
        inside = f"grown as others; the loops inside follow rows of the destination, {why}"
        return cached.because("macro tiles", inside, inner_order=loop_order(plan.copy.digits, "dst"))
    return cached


def _sized(shape: MacroShape, plan: CopyPlan, target: Machine) -> MacroShape:
    """A shape of macro tiles that are stored through the caches, or a smaller one where L2 holds both sides."""
    is_small = plan.widths.src <= HELD_ELEMENT and not plan.widths.converts
    is_held = target.fetches_rows and is_small and fits_second_cache(plan, target)
    return replace(shape, budget=HELD_BUDGET) if is_held else shape


def _normal(plan: CopyPlan, target: Machine) -> MacroShape:
    """The shape of macro tiles that are stored through the caches; where L2 holds both sides maybe of few tiles."""
    if _waits_twice(plan, target):
        return NORMAL_STRADDLING
    is_square = plan.widths.src == SQUARE_ELEMENT and not (target.waits_for_lines or target.fetches_rows)
    if not is_square or not fits_second_cache(plan, target):
        return _sized(NORMAL, plan, target)
    is_moved = not (plan.copy.is_fill or plan.merges or plan.widths.converts)
    lanes = [(plan.copy.digits[part.digit], part) for part in (*plan.source_lanes, *plan.target_lanes)]
    is_long = all(not digit.carries and digit.extent >= 2 * part.extent for digit, part in lanes)
    return NORMAL_SQUARE if is_moved and not plan.keeps_rows and is_long else NORMAL


def _waits_twice(plan: CopyPlan, target: Machine) -> bool:
    """Whether bytes of long rows are transposed in the second cache by stores that wait for two lines each."""
    moves_bytes = plan.widths.src == 1 and plan.is_plain and plan.transposes and not plan.widths.converts
    if not (moves_bytes and waits_in_second_cache(plan, target)):
        return False
    row = next((digit.extent for _, digit in contiguous(plan.copy, "src")), 0)
    steps = [step for digit in plan.copy.digits for _, step in digit.all_steps("dst")]
    return row > STRADDLING_LINES * LINE and any(step > LINE and step % LINE for step in steps)


def _shares_lines(plan: CopyPlan, target: Machine) -> bool:
    """Whether tiles take parts of the lines of both sides, and both fit the second cache."""
    piece = lane_count(plan.source_lanes) * plan.widths.src
    parts = piece < LINE and not stores_whole_lines(plan, target)
    return target.streams_whole_lines and fits_second_cache(plan, target) and not plan.keeps_rows and parts


def _with_whole_rows(plan: CopyPlan, target: Machine) -> CopyPlan:
    """The plan with macro tiles that have all of short rows of the destination: nothing comes back to their lines."""
    row = next((digit.extent * plan.widths.src for _, digit in contiguous(plan.copy, "dst")), 0)
    is_held = row // plan.widths.src * LINE <= HELD_LINES * target.l1
    if not (is_held and NORMAL.target_run < row <= SHORT_LINES * LINE):
        return with_macro(plan, _normal(plan, target))
    why = f"with whole rows of {row} bytes in the destination, as tiles store parts of their lines"
    shape = replace(_sized(NORMAL, plan, target), target_run=row)
    return with_macro(plan, shape).because("macro tiles", why)


def _straddling(plan: CopyPlan, cached: CopyPlan, target: Machine) -> CopyPlan | None:
    """
    The plan of a transpose whose stores straddle lines, if its rows are long enough.

    Where it is as large as the second cache, tiles would wait twice for a line that they store parts of, as it comes
    from a last cache that is far. Where lines evict each other before they are whole, tiles follow the rows they store.
    """
    row = next((digit.extent * plan.widths.src for _, digit in contiguous(plan.copy, "dst")), 0)
    if plan.copy.elements * plan.widths.src >= target.l2:
        if not target.llc_is_far or row < MIN_LONG_ROW:
            return None
        return _aligned(plan, "they straddle lines of long rows")
    if row >= MIN_ALIGNED_RUN and share_without_room(cached, target) > MOST_EVICTED:
        why = "along rows of the destination, as lines would evict each other before they are whole"
        return with_macro(plan, ALONG_ROWS).because("macro tiles", why)
    return None


def _straddles_lines(plan: CopyPlan, target: Machine) -> bool:
    """
    Whether the tiles of a transpose store parts of lines.

    With elements of 1 byte a buffer gains nothing; what tiles along rows gain is known where no stores wait for lines.
    """
    if plan.keeps_rows or not (target.streams_whole_lines and plan.is_plain):
        return False
    if plan.widths.src == 1 and target.waits_for_lines:
        return False
    return not stores_whole_lines(plan, target)


def _is_better_aligned(plan: CopyPlan, target: Machine) -> bool:
    """
    Whether runs are long, and stores straddle their lines, or those of a tile evict each other.

    A buffer leaves its runs by whole lines, one line of a run after the other.
    """
    if ALIGNED.budget >= target.l1 or target.waits_for_lines:
        return False
    # Of equal size, macro tiles have runs of half of this at least.
    run = with_macro(plan, replace(ALIGNED, target_run=2 * MIN_ALIGNED_RUN)).run * plan.widths.src
    evict = not stores_whole_lines(plan, target) or stored_in_a_set(plan) > l1_ways(target)
    return target.streams_whole_lines and run >= MIN_ALIGNED_RUN and evict
