"""Copies whose tiles take rows that were converted into a buffer."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from math import prod

from layoutc.planning.conversions.converting import Converting
from layoutc.planning.conversions.gathered_rows import row_digits
from layoutc.planning.conversions.shared_bytes import first_inside_a_byte, with_packed_stores
from layoutc.planning.copies.copy_digits import StridedCopy
from layoutc.planning.copies.runs import contiguous
from layoutc.planning.machine import Machine
from layoutc.planning.moves.cache_sets import fill_second_sets, holds_lines
from layoutc.planning.moves.macro_shapes import (
    GATHERED,
    GATHERED_DIVIDED,
    GATHERED_DIVIDED_CACHED,
    GATHERED_DIVIDED_NEAR,
    GATHERED_PACKED,
    WIDENED,
    MacroShape,
)
from layoutc.planning.moves.macro_tiles import in_source_order, with_macro
from layoutc.planning.moves.near_stores import with_near_stores
from layoutc.planning.moves.next_tile import LEAST_AHEAD, along_most_turns, asking_ahead, next_macro_tile, outer_loops
from layoutc.planning.moves.plan_copy import plan_converted, plan_copy
from layoutc.planning.plans.plan import CopyPlan
from layoutc.planning.tiles.lanes import PIECE_BYTES
from layoutc.planning.tiles.merged_tile import converts_twice

FAR_ROWS = MacroShape(32 << 10, 1 << 10, 64, "dst", prefetch=False)
"""bytes of the buffer that longer rows are converted into, and of each in the source"""
LEAST_ROW = 8
"""elements of a row that is converted by itself, where fewer lanes would do"""
ROWS_AHEAD = 8
"""times as many rows as lie between one and what it asks for are in a macro tile at least: its last ones ask in vain"""
NARROWED_PIECE = 128
"""bytes of a row of elements that become narrower, in a macro tile that leaves a buffer by whole lines"""


def row_by_row(copy: StridedCopy, how: Converting, suits: Callable[[CopyPlan], bool], least: int) -> CopyPlan | None:
    """The plan of a copy whose tiles take rows of `least` elements that were converted into a buffer, if it suits."""
    widths = how.widths
    if widths.dst_per_byte > 1:
        moved = replace(widths, src=widths.dst, src_per_byte=1)
        plan = plan_converted(copy, moved, how.target, how.streams)
    else:
        plan = plan_copy(copy, widths.dst, how.target, how.streams)
    if suits(plan) and plan.gathers_lanes and plan.source_run_digits:
        # Rows ask while they are converted, whatever moves of them do.
        plan = replace(plan, load="staged", widths=replace(widths, at="src"), asks="")
        enough = max(least // 2, LEAST_ROW)
        plan = _asking_ahead(plan, how.target, enough) if plan.stages_stores else _small(plan, how)
        row = prod(plan.loaded_steps(g) for g in row_digits(plan))
        if first_inside_a_byte(plan.gathered) == "dst":
            plan = with_packed_stores(plan)
        if plan.fits_stack and row >= (enough if plan.stages_stores else least) and not converts_twice(plan):
            plan = plan.because("loads", "row by row into a buffer, which converts whole registers")
            plan = with_near_stores(plan)
            ordered = in_source_order(plan, how.target) if how.streams else plan
            if ordered is not plan:
                plan = asking_ahead(ordered)  # other loops ask for other macro tiles, too
            asks_next = how.streams and plan.prefetch == next_macro_tile(plan)
            return along_most_turns(plan, how.target) if asks_next else plan
    return None


def _with_pieces(plan: CopyPlan, target: Machine, enough: int) -> CopyPlan:
    """
    The plan with as much of each row as a load is worth, where elements share bytes of it or become narrower, and at
    least with as many elements as are enough.

    Where lines leave a buffer, macro tiles may take one tile of each row, which is a few bytes of packed elements, and
    a line or less of others. What the first cache does not hold of these until the next one is waited for again.
    """
    first, *_ = row_digits(plan)
    widths, row = plan.widths, prod(plan.loaded_steps(g) for g in row_digits(plan))
    is_long = plan.copy.digits[first].extent * widths.src >= NARROWED_PIECE
    narrows = is_long and widths.dst < widths.src and not (target.llc_is_far or holds_lines(plan, target))
    bytes = PIECE_BYTES if widths.src_per_byte > 1 else NARROWED_PIECE if narrows else 0
    least = max(bytes * widths.src_per_byte // widths.src, enough)
    longer = _with_row_of(plan, least) if plan.source_run == row < least else None
    if longer is None or not longer.fits_stack:
        return plan
    why = f"with {least} elements of each row of the source, as less of it costs as much"
    return longer.because("macro tiles", why)


def _with_row_of(plan: CopyPlan, least: int) -> CopyPlan | None:
    """The plan with macro tiles that have so many elements of a row, if there are as many."""
    while (row := prod(plan.loaded_steps(g) for g in row_digits(plan))) < least:
        last = row_digits(plan)[-1]
        steps, tile = -(-least * plan.loaded_steps(last) // row), plan.tile[last]
        steps = min(-(-steps // tile) * tile, plan.copy.digits[last].extent)
        if steps <= plan.macro[last]:
            return None
        plan = replace(plan, macro=tuple(steps if g == last else size for g, size in enumerate(plan.macro)))
    return plan


def _asking_ahead(plan: CopyPlan, target: Machine, enough: int) -> CopyPlan:
    """The plan, whose loads are of whole registers of rows, with what these ask for, if they ask."""
    plan = _with_pieces(plan, target, enough)
    return asking_ahead(plan) if plan.prefetch else plan


def _small(plan: CopyPlan, how: Converting) -> CopyPlan:
    """The plan with macro tiles of few lines of each row."""
    fills_lines = plan.store == "nontemporal" and plan.widths.dst_per_byte > 1
    widens = plan.widths.dst > plan.widths.src
    shape = GATHERED_PACKED if fills_lines else WIDENED if widens else _narrowed(plan, how)
    shape, least = replace(shape, prefetch=how.streams), replace(plan, macro=plan.least_macro)
    far = how.streams and plan.widths.dst == 1 < plan.widths.src
    return (_with_far_rows(with_macro(least, shape), how.target) if far else None) or with_macro(least, shape)


def _with_far_rows(plan: CopyPlan, target: Machine) -> CopyPlan | None:
    """
    The plan with longer rows of the source in a macro tile, which ask for what lies a few rows further on; None if that
    gains nothing.

    Where the next macro tile has other rows, or rows evict each other, what short ones ask for comes from memory line
    by line, or is gone before it is needed. A line of single bytes takes so many rows that those ahead are few of them.
    A first cache that the buffer would fill holds neither it nor what comes next.
    """
    if target.l1 <= FAR_ROWS.budget:
        return None
    loops = outer_loops(plan, plan.outer_order)
    if loops and loops[-1] in row_digits(plan) and not fill_second_sets(plan, target):
        return None
    far = with_macro(plan, replace(FAR_ROWS, budget=FAR_ROWS.budget * plan.widths.src))
    row = prod(far.loaded_steps(g) for g in row_digits(far)) * far.widths.src
    others = [g for g, steps in enumerate(far.macro) if g not in row_digits(far) and steps > 1]
    if not others or row < FAR_ROWS.source_run:
        return None
    near = min(others, key=lambda g: far.copy.digits[g].offset("src", 1))
    ahead = -(-LEAST_AHEAD // row)
    if far.macro[near] < ROWS_AHEAD * ahead:
        return None
    return replace(far, prefetch=far.copy.digits[near].offset("src", ahead))


def _narrowed(plan: CopyPlan, how: Converting) -> MacroShape:
    """The shape of macro tiles, with more of rows that are divided by one number, whose reciprocal serves them all."""
    _, row = next(contiguous(plan.copy, "src"))
    divides = how.divisor is not None and how.makes_quotients and not row.params[how.divisor]
    if not divides:
        return GATHERED
    if not how.streams:
        return GATHERED_DIVIDED_CACHED
    return GATHERED_DIVIDED if how.target.llc_is_far else GATHERED_DIVIDED_NEAR
