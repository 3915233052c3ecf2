"""
Tiles of two blocks, or rows, in turn, where along those of one the processor fetches what it is about to load.

That it does is inferred from times of other orders, as docs/plan_rules.md says: no counters were read.
"""

from __future__ import annotations

from math import prod

from layoutc.planning.copies.copy_digits import SIDES
from layoutc.planning.machine import LINE, Machine
from layoutc.planning.moves.cache_sets import COLLIDING_ROWS, fits_second_cache
from layoutc.planning.moves.colliding_rows import rows_of_a_set
from layoutc.planning.moves.macro_tiles import loop_order
from layoutc.planning.moves.whole_lines import stores_whole_lines
from layoutc.planning.plans.plan import CopyPlan
from layoutc.planning.tiles.lanes import lane_count

PAIRED_ROWS = 16
"""registers that a tile loads, and that it stores, from which on another block in turn is worth it: of 8 it is not"""
PAIRED_TILES = 2
"""tiles of a block in a macro tile"""
LEAST_TILES = 4
"""tiles of a block: of fewer, more lines than one begin or end"""
SQUARE_SMALL = (1, 2)
"""bytes of an element whose macro tiles are 2 by 2 tiles, of 4 bytes also by other rules; of 8 it takes up to 2.3"""


def in_pairs(plan: CopyPlan, target: Machine) -> CopyPlan:
    """
    The plan of a transpose in the second cache whose macro tiles have two blocks, if tiles go on along one loop alone.

    Such tiles load from many rows, each of which goes on: the processor fetches ahead along all of them, though lines
    of the second cache come as fast as loads ask for them. Two blocks in turn are more rows than it follows.
    """
    if target.waits_for_lines or not (fits_second_cache(plan, target) and _is_transposed(plan)):
        return plan
    if _is_square(plan, target):
        return _in_squares(plan)
    block = _blocks(plan)
    if block is None:
        return plan
    (row,) = _row_loops(plan)
    steps = {block: 2, row: PAIRED_TILES * plan.tile[row]}
    why = f"{PAIRED_TILES} tiles of 2 blocks each, as along one the processor fetches lines as well"
    macro = tuple(steps.get(position, size) for position, size in enumerate(plan.tile))
    return plan.because("macro tiles", why, macro=macro)


def _is_square(plan: CopyPlan, target: Machine) -> bool:
    """
    Whether tiles go on along two loops, two of them in each, and their rows do not evict each other.

    They store whole lines, or two threads would store into the same ones. Other loops are around them in the source.
    """
    rows, digits = _row_loops(plan), plan.copy.digits
    has_two = len(rows) == 2 and all(digits[g].extent >= 2 * plan.tile[g] for g in rows)
    goes_on = all(digits[part.digit].extent > 2 * plan.tile[part.digit] for part in plan.source_lanes)
    others = [g for g in loop_order(digits, "src") if digits[g].extent > plan.tile[g]][:-2]
    if not (has_two and goes_on) or set(others) & set(rows):
        return False
    is_small = plan.widths.src in SQUARE_SMALL
    return is_small and stores_whole_lines(plan, target) and rows_of_a_set(plan) <= COLLIDING_ROWS


def _in_squares(plan: CopyPlan) -> CopyPlan:
    """The plan with macro tiles of 2 by 2 tiles, along the rows of the source."""
    rows, order = _row_loops(plan), loop_order(plan.copy.digits, "src")
    macro = tuple(2 * size if g in rows else size for g, size in enumerate(plan.tile))
    squares = plan.because("outer loops", "along the source", outer_order=order, inner_order=order)
    return squares.because(
        "macro tiles", "of 2 by 2 tiles, as along one row the processor fetches lines as well", macro=macro
    )


def _blocks(plan: CopyPlan) -> int | None:
    """The digit of the blocks, the innermost loop that no lanes are made of; None if other macro tiles are better."""
    digits, widths, rows = plan.copy.digits, plan.widths, _row_loops(plan)
    if len(rows) != 1 or digits[rows[0]].extent < LEAST_TILES * plan.tile[rows[0]]:
        return None
    others = [g for g in plan.inner_order if digits[g].extent > plan.tile[g] and g not in rows]
    if not others or any(digits[others[-1]].offset(side, 1) * widths.of(side) < LINE for side in SIDES):
        return None
    return others[-1] if digits[others[-1]].offset("src", 1) * widths.src > LINE else None


def _is_transposed(plan: CopyPlan) -> bool:
    """Whether tiles of many rows go straight from lanes of one side to those of the other."""
    if plan.merges or plan.keeps_rows:
        return False
    if any(digit.carries or not digit.is_whole for digit in plan.copy.digits):
        return False
    return plan.load == plan.store == "normal" and all(
        prod(plan.tile) >= PAIRED_ROWS * lane_count(lanes) for lanes in (plan.source_lanes, plan.target_lanes)
    )


def _row_loops(plan: CopyPlan) -> list[int]:
    """The digits that lanes are made of, of which there are several tiles."""
    return [g for g in plan.lane_digits if plan.copy.digits[g].extent > plan.tile[g]]
