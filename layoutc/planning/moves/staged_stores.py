"""Copies that go past the caches by whole lines, out of a buffer: whether their runs suffice, and their macro tiles."""

from __future__ import annotations

from dataclasses import replace
from math import prod

from layoutc.planning.copies.runs import contiguous
from layoutc.planning.machine import LINE, Machine
from layoutc.planning.moves.boxes import waste
from layoutc.planning.moves.cache_sets import overflow_sets, source_bytes
from layoutc.planning.moves.colliding_rows import (
    gathers_rows,
    rows_collide,
    with_few_rows,
    with_gathered_rows,
)
from layoutc.planning.moves.lane_tiles import with_lanes
from layoutc.planning.moves.macro_shapes import STAGED_CHUNKS, STAGED_ROWS, STREAMED, MacroShape
from layoutc.planning.moves.macro_tiles import with_joined_rows, with_macro
from layoutc.planning.moves.next_tile import straddles_lines
from layoutc.planning.plans.plan import CopyPlan
from layoutc.planning.tiles.lanes import choose_lanes, lane_count

MIN_STAGED_RUN = 256
"""bytes of a run of the destination, below which it has too few whole lines"""
MOST_WASTE = 1.125
"""times what tiles move twice, as the last ones begin earlier, where they load whole lines"""
LONG_ROW = 256
"""bytes of the source that lie together, below which macro tiles take all of them"""
STRADDLING = 2
"""bytes of an element, whose rows count another line each where they straddle lines"""
NARROW_LINES = 1 / 3
"""of the first cache, that lines may fill of which the next macro tile takes another part"""
WIDE_LINES, WIDE_LINES_ELEMENT = 256, 4
"""
bytes of a row of the source that macro tiles take where the last cache is far, the first one does not hold a line of
each, and loads take whole lines, which then leave a page of memory together; bytes of an element at least
"""
LONG_RUN = 4 << 10
"""bytes of a run of the destination that macro tiles do not shorten it to less than"""


def has_staged_runs(plan: CopyPlan) -> bool:
    """Whether a macro tile has runs that leave a buffer by whole lines."""
    rows = with_macro(plan, STAGED_ROWS)
    together = not plan.merges or all(part.digit in rows.run_digits for part in plan.target_lanes)
    return together and rows.run * plan.widths.dst >= MIN_STAGED_RUN


def with_staged_stores(plan: CopyPlan, target: Machine) -> CopyPlan:
    """The plan of a copy that goes past the caches out of a buffer, if its runs are long enough."""
    why = "tiles store parts of lines" if target.aligns_lines else "tiles may straddle lines where destinations start"
    staged = _with_runs(plan, target)
    if staged.run * plan.widths.dst < MIN_STAGED_RUN:
        return with_macro(plan, STREAMED).because("stores", few_lines(staged))
    if plan.merges and any(part.digit not in staged.run_digits for part in plan.target_lanes):
        apart = "through the caches, as what a tile stores together would lie apart in a buffer"
        return with_macro(plan, STREAMED).because("stores", apart)
    why = f"past the caches by whole lines, out of a buffer on the stack: {why}"
    joined = with_joined_rows(staged.because("stores", why, store="staged"), target)
    joined = replace(joined, side_by_side=target.aligns_lines and joined.keeps_lines)
    is_gathered = joined.macro == staged.macro and gathers_rows(joined, target) and not plan.widths.converts
    return with_gathered_rows(joined, target) if is_gathered else with_few_rows(joined)


def few_lines(plan: CopyPlan) -> str:
    """Why the runs of a plan leave no buffer by whole lines."""
    return f"through the caches, as runs of {plan.run * plan.widths.dst} bytes have too few whole lines"


def _with_runs(plan: CopyPlan, target: Machine) -> CopyPlan:
    """The plan with macro tiles whose runs are put together in a buffer, and loads of whole lines where they help."""
    rows = with_macro(plan, STAGED_ROWS)
    shape = STAGED_CHUNKS if len(rows.run_digits) > 1 else STAGED_ROWS
    staged = rows if shape is STAGED_ROWS else with_macro(plan, shape)
    if rows_collide(staged):
        plan = _by_lines(plan, target)
        staged = with_macro(plan, shape)
    if not rows_collide(staged):
        staged = _one_tile_wide(plan, shape, staged, target)
    if staged.run * plan.widths.dst >= MIN_STAGED_RUN:
        return staged
    return with_macro(plan, replace(shape, budget=2 * shape.budget))


def _one_tile_wide(plan: CopyPlan, shape: MacroShape, staged: CopyPlan, target: Machine) -> CopyPlan:
    """
    Macro tiles that take one tile of each row of the source, where rows are long: those to the right follow.

    They take a line of each row where the first cache does not hold one of all rows until then, or several.
    """
    if row_of(staged) * plan.widths.src < LONG_ROW:
        return staged
    narrow = with_macro(plan, replace(shape, source_run=1))
    if narrow.run < staged.run and narrow.run * plan.widths.dst < LONG_RUN:
        return staged
    if overflow_sets(narrow, target):
        loads_lines = lane_count(plan.source_lanes) * plan.widths.src >= LINE
        is_wide = target.llc_is_far and loads_lines and plan.widths.src >= WIDE_LINES_ELEMENT
        return with_macro(plan, replace(shape, source_run=WIDE_LINES if is_wide else LINE))
    shorter = with_macro(plan, replace(shape, source_run=1, target_run=shape.target_run // 2))
    is_better = _comes_back(narrow, target) and shorter.run * plan.widths.dst >= MIN_STAGED_RUN
    return shorter if is_better else narrow


def _comes_back(plan: CopyPlan, target: Machine) -> bool:
    """
    Whether macro tiles share more lines with the next ones than the first cache holds beside these and the buffer.

    Where the last cache is near, what comes back from the second one takes more than shorter runs do.
    """
    if target.llc_is_far or plan.merges:
        return False
    takes_parts, ends = plan.source_run * plan.widths.src < LINE, 0
    if plan.widths.src == STRADDLING and not takes_parts and straddles_lines(plan):
        ends = prod(plan.macro) // plan.source_run * LINE
    return (takes_parts or ends > 0) and source_bytes(plan) + ends > NARROW_LINES * target.l1


def row_of(plan: CopyPlan) -> int:
    """Elements of the source that lie together, but for those of other rows that are in one run of the destination."""
    row, is_across = 1, False
    for position, digit in contiguous(plan.copy, "src"):
        if is_across and position in plan.run_digits:
            break
        is_across = is_across or position not in plan.run_digits
        row *= digit.extent
    return row


def _by_lines(plan: CopyPlan, target: Machine) -> CopyPlan:
    """The plan with loads of whole lines: its stores, which a buffer takes in any size, are cut down first."""
    if plan.merges or not plan.source_lanes:
        return plan
    lanes = choose_lanes(plan.copy, plan.widths, target, whole="src")
    found = with_lanes(plan.copy, plan.widths, target, *lanes)
    if found.tile == plan.tile or lane_count(found.source_lanes) * plan.widths.src < LINE:
        return plan
    if waste(plan.copy, found.tile) > MOST_WASTE * waste(plan.copy, plan.tile):
        return plan
    found = found.because("tiles", "with whole lines of rows of the source")
    return found.because("loads", "straight, of whole lines: the buffer that stores fill takes less")
