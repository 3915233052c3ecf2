"""Where elements are converted: by the tiles that move them, or in a buffer that rows are gathered in before."""

from __future__ import annotations

from math import prod

from layoutc.planning.conversions.converting import Converting
from layoutc.planning.conversions.gathered_rows import is_transposed
from layoutc.planning.conversions.merged_conversions import converts_few, filled, merged_plan, takes_less
from layoutc.planning.conversions.params_outside import with_params_outside
from layoutc.planning.conversions.row_conversions import row_by_row
from layoutc.planning.copies.copy_digits import StridedCopy
from layoutc.planning.moves.boxes import BOX_GAIN, tile_cost
from layoutc.planning.moves.colliding_rows import rows_collide
from layoutc.planning.moves.element_tiles import with_element_tile
from layoutc.planning.moves.far_parts import with_far_parts
from layoutc.planning.moves.half_lines import with_half_lines
from layoutc.planning.moves.lane_tiles import with_lanes
from layoutc.planning.moves.plan_copy import instructions_each, plan_converted, stores_lines_twice
from layoutc.planning.moves.staged_stores import row_of
from layoutc.planning.moves.streamed_stores import WIDE_ELEMENT
from layoutc.planning.plans.fits import is_power_of_two
from layoutc.planning.plans.plan import CopyPlan
from layoutc.planning.tiles.lanes import TILE_REGISTERS, choose_lanes, fused, lane_count, tile_of

FEW_LANES = 4
"""A vector that has a quarter of its lanes, or fewer, takes as long as a whole one: rows fill theirs."""
MORE_LANES = 2
"""times the lanes that a tile converts at once must be in a row that is shorter than a register"""
STREAMED_VECTORS = 32
"""of registers that a tile converts itself past the caches, where the last one is near"""
CACHED_ELEMENT = 2
"""bytes of an element of the destination, from which on tiles convert as many in the caches too"""
HALVED = 2
"""bytes of an element that tiles narrow to past the caches, however many registers they convert"""
CONVERTED_ROW = 1 << 10
"""bytes of a row of the source, from which on tiles that put lines of single bytes together convert them"""
MOSTLY_FILLED = 0.5
"""of the lanes that a box converts hold an element, where elements become wider past the caches"""
GATHERING = 0.1
"""instructions that gather an element: its share of a load, of a store, and of a loop"""


def gathered_plan(copy: StridedCopy, how: Converting) -> CopyPlan | None:
    """
    The plan of a copy whose tiles take rows that were converted into a buffer; none where that does not pay.

    A tile converts a few registers as fast, if they are not mostly empty, and rows that are short fill none. So it
    does many that become wider, in the caches, and more of these, of full ones, and of those that stay as wide as they
    are, where the last one is near. Past them what is converted before can have other tiles, boxes among them.
    """
    vectors, lanes = _conversions(copy, how)
    whole = how.target.vector // max(how.widths.src, how.widths.dst)
    pays = (vectors > TILE_REGISTERS and not _widens_in_caches(how)) or lanes * FEW_LANES <= whole
    keeps = how.widths.src == how.widths.dst and not how.widths.are_packed
    is_full = pays and vectors <= STREAMED_VECTORS and lanes == whole
    if _converts_more(copy, how, is_full or keeps or _halves(how)):
        return None
    if not pays and not (how.streams and _has_better_tiles(copy, how)):
        return None
    gathered = row_by_row(copy, how, is_transposed, min(MORE_LANES * lanes, whole))
    return None if gathered and _leave_as_well(copy, gathered, how) else gathered


def gathered_lines(copy: StridedCopy, how: Converting) -> CopyPlan | None:
    """The same of elements that share bytes and are moved as they are, where whole lines of them go past the caches."""
    gathered = gathered_plan(copy, how) if how.streams else None
    return gathered if gathered and gathered.store == "nontemporal" else None


def _converts_more(copy: StridedCopy, how: Converting, suits: bool) -> bool:
    """
    Whether tiles convert more registers themselves: such as suit, and past the caches, where the last one is near, that
    fill lines.

    Past the caches they wait for what they read, if not for rows that evict each other; what a buffer takes is less
    than lines that are stored again. In them it counts, but elements of a byte leave it by longer runs.
    """
    if not how.streams:
        return suits and how.widths.dst >= CACHED_ELEMENT
    if how.target.llc_is_far:
        return False
    narrows = how.widths.dst == 1 < how.widths.src and not how.widths.are_packed
    widens = how.widths.src < how.widths.dst
    if not (suits or narrows or widens):
        return False
    straight = straight_plan(copy, how)
    stores_again = straight.store == "nontemporal" and stores_lines_twice(straight, how.target)
    converts = suits or (narrows and _fills_lines(straight)) or (widens and _widens_well(straight))
    return converts and not (stores_again or rows_collide(straight))


def _leave_as_well(copy: StridedCopy, gathered: CopyPlan, how: Converting) -> bool:
    """
    Whether tiles that convert put lines together as well, out of rows as long, where the last cache is far.

    One buffer is less to pass through than two. But not of 8 bytes, which are few of many rows, if registers hold them
    by lanes; nor in boxes of less than 4, whose registers are mostly empty once they are wide enough to compute with.
    """
    if not (how.streams and how.target.llc_is_far and gathered.store == "staged"):
        return False
    straight = straight_plan(copy, how)
    if straight.store != "staged" or straight.source_run < gathered.source_run:
        return False
    bytes = straight.widths.dst
    return bytes >= WIDE_ELEMENT if straight.merges else bytes <= WIDE_ELEMENT and not gathered.merges


def _widens_well(plan: CopyPlan) -> bool:
    """
    Whether tiles that widen elements store whole lines, or put lines together; or are boxes with mostly full registers.

    Out of lanes in a buffer those of 4 bytes and more alone, as their tiles load few of a row.
    """
    if plan.merges:
        return filled(plan) >= MOSTLY_FILLED
    puts_together = plan.store == "staged" and plan.widths.dst >= WIDE_ELEMENT and plan.transposes
    return plan.store == "nontemporal" or puts_together


def _fills_lines(plan: CopyPlan) -> bool:
    """Whether tiles put lines together in a buffer, out of long rows."""
    return plan.store == "staged" and not plan.merges and row_of(plan) * plan.widths.src >= CONVERTED_ROW


def _halves(how: Converting) -> bool:
    """Whether elements become 2 bytes wide past the caches: a line of them takes few rows, which moves take anyway."""
    return how.streams and how.widths.dst == HALVED < how.widths.src


def _widens_in_caches(how: Converting) -> bool:
    """Whether elements are moved before they are wide, and each register is stored as soon as it is converted."""
    return how.widths.src < how.widths.dst and not how.streams


def straight_plan(copy: StridedCopy, how: Converting) -> CopyPlan:
    """The plan of a copy whose tiles convert: in lanes, in a box, or, where these are few, element by element."""
    plan = with_half_lines(plan_converted(copy, how.widths, how.target, how.streams), how.target)
    merged = merged_plan(copy, how.widths, how.target, how.streams)
    if merged and (converts_few(plan) or takes_less(merged, plan, how.copies)):
        return merged
    return with_element_tile(in_order(plan, how))


def in_order(plan: CopyPlan, how: Converting) -> CopyPlan:
    """The plan with its macro tiles, and the loops in them, as suits what is converted as it lies."""
    plan = with_far_parts(plan, how.target)
    return plan if how.kept is None else with_params_outside(plan, how.kept, how.target)


def _conversions(copy: StridedCopy, how: Converting) -> tuple[int, int]:
    """How many vectors a tile converts, each or of each channel, and the lanes of each."""
    one, widths = fused(copy, how.widths, how.target), how.widths
    lanes = choose_lanes(one, widths, how.target)
    tile = prod(tile_of(one, *lanes))
    at_once = lane_count(lanes[0] if widths.converted_at == "src" else lanes[1])
    at_once = min(at_once, how.target.vector // max(widths.src, widths.dst))
    odd = [part.extent for parts in lanes for part in parts if not is_power_of_two(part.extent)]
    return odd[0] if odd else tile // at_once, at_once


def _has_better_tiles(copy: StridedCopy, how: Converting) -> bool:
    """Whether what is converted before needs far fewer instructions in its tiles, with those that gather it."""
    one, widths = fused(copy, how.widths, how.target), how.widths
    straight = with_lanes(one, widths, how.target, *choose_lanes(one, widths, how.target))
    return instructions_each(copy, widths.dst, how.target) + GATHERING < BOX_GAIN * tile_cost(straight)
