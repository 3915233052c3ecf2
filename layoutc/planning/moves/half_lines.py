"""
Transposes of long rows that leave a buffer by whole lines, in small macro tiles of half a line of each row.

What a macro tile has put together leaves at once, and nothing is loaded meanwhile but what was asked for. So few lines
at a time leave sooner beside what is loaded than many; and whole lines of few rows of the source would be too few.
"""

from __future__ import annotations

from dataclasses import replace

from layoutc.planning.machine import LINE, Machine
from layoutc.planning.moves.cache_sets import holds_lines
from layoutc.planning.moves.element_tiles import has_few_lanes
from layoutc.planning.moves.macro_tiles import SHORT_ROW, by_source_lines, loop_order, with_joined_rows
from layoutc.planning.moves.staged_stores import MIN_STAGED_RUN
from layoutc.planning.plans.plan import CopyPlan
from layoutc.planning.tiles.lanes import tile_of

HALF_LINE_ROWS = 160
"""rows of the source at least, half a line of each, that a macro tile has which leaves a buffer"""
HALF_LINES_OF = 1 << 10
"""bytes of such rows, from which on half a line of each is taken"""


def with_half_lines(plan: CopyPlan, target: Machine) -> CopyPlan:
    """
    The plan, or one whose tiles are half a line of the source by half a line of the destination, and whose macro tiles
    are one tile wide: where the last cache is near, the first one holds the other halves, and a register has a line.

    What converts elements of 8 bytes would do few of them at once.
    """
    if plan.store != "staged" or plan.load != "normal" or plan.merges or target.llc_is_far or plan.vector_bytes != LINE:
        return plan
    if plan.widths.are_packed or not plan.copy.is_whole:
        return plan
    if len(plan.source_lanes) != 1 or len(plan.target_lanes) != 1:
        return plan
    digits, widths, line = plan.copy.digits, plan.widths, LINE // plan.widths.dst
    (loaded,), (stored,) = plan.source_lanes, plan.target_lanes
    counts = LINE // 2 // widths.src, LINE // 2 // widths.dst
    if max(counts) * widths.moved > LINE:
        return plan
    rows = -(-max(HALF_LINE_ROWS, MIN_STAGED_RUN // widths.dst) // line) * line
    apart = digits[loaded.digit].offset("dst", 1), digits[stored.digit].offset("src", 1)
    extents = digits[loaded.digit].extent, digits[stored.digit].extent
    is_long = extents[0] * widths.src >= HALF_LINES_OF and extents[1] >= 2 * rows
    if not is_long or extents[1] * widths.dst < SHORT_ROW or min(apart) < rows:
        return plan
    loads, stores = (replace(loaded, extent=counts[0]),), (replace(stored, extent=counts[1]),)
    tile, order = tile_of(plan.copy, loads, stores), loop_order(digits, "dst")
    macro = tuple(rows if g == stored.digit else steps for g, steps in enumerate(tile))
    half = replace(plan, source_lanes=loads, target_lanes=stores, tile=tile, macro=macro, inner_order=order)
    if (plan.widths.converts and has_few_lanes(half)) or not holds_lines(half, target):
        return plan
    half = half.because("tiles", "half a line of the source by half a line of the destination")
    half = half.because("loads", "straight")
    why = f"{rows} rows of half a line of the source, so that few lines leave the buffer at a time"
    half = half.because("macro tiles", why)
    half = with_joined_rows(half, target)
    half = replace(half, side_by_side=target.aligns_lines and half.keeps_lines)
    return by_source_lines(half, target)
