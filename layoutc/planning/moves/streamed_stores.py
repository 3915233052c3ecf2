"""How tiles are stored past the caches, each store a whole line, and what macro tiles suit that."""

from __future__ import annotations

from dataclasses import replace

from layoutc.planning.copies.copy_digits import SIDES
from layoutc.planning.machine import LINE, Machine
from layoutc.planning.moves.cache_sets import COLLIDING_ROWS, holds_lines, pages, share_stored_sets
from layoutc.planning.moves.colliding_rows import (
    gathers_rows,
    rows_of_a_set,
    with_at_most,
    with_gathered_rows,
)
from layoutc.planning.moves.macro_shapes import (
    COLLIDING,
    COLLIDING_NEAR,
    STREAMED,
    STREAMED_ALONG_ROWS,
    STREAMED_COPY,
    STREAMED_PAIRS,
    STREAMED_SMALL,
)
from layoutc.planning.moves.macro_tiles import loop_order, with_macro
from layoutc.planning.plans.plan import CopyPlan

TRANSLATED_PAGES = 64
"""whose places in memory a processor has at hand; for those of others it asks a second, slower table"""
FEW_ROWS_PIECE = 16
"""bytes of a row of the source that a tile of elements of 4 bytes and more loads, where the last cache is near"""
WIDE_ELEMENT = 4
"""bytes of an element, from which on tiles that widen others load few of a row, and put lines together in a buffer"""


def streamed(plan: CopyPlan, target: Machine) -> CopyPlan:
    """The plan of a copy whose tiles are stored past the caches, with macro tiles that suit its elements."""
    if plan.keeps_rows:
        return with_macro(plan, STREAMED_COPY)
    plan = with_fewer_widened(plan, target)
    if plan.widths.moved >= WIDE_ELEMENT:
        return _streamed_large(plan, target)
    if not plan.widths.converts and (gathered := _gathered(plan, target)):
        return gathered
    if plan.widths.converts and plan.widths.dst_per_byte > 1:
        return with_macro(plan, STREAMED_SMALL)
    if not target.llc_is_far:
        return with_macro(plan, STREAMED_ALONG_ROWS)
    small = with_macro(plan, STREAMED_SMALL)
    has_pairs = share_stored_sets(small) and not plan.widths.converts
    return with_macro(plan, STREAMED_PAIRS) if has_pairs else small


def with_fewer_widened(plan: CopyPlan, target: Machine) -> CopyPlan:
    """
    The plan, whose tiles, where they widen elements, load few from each row.

    So many as one register holds once they are wide: all that one holds of narrow ones go into as many rows of the
    destination. Not where rows of the source evict each other: there whole lines are loaded at once. Nor, where the
    last cache is far, of elements that share bytes, of which so few are a few bytes.
    """
    is_wide = plan.widths.dst >= WIDE_ELEMENT and plan.widths.src < plan.widths.dst
    shares_far = target.llc_is_far and plan.widths.are_packed
    if shares_far or not (is_wide and plan.is_plain and plan.transposes):
        return plan
    if rows_of_a_set(plan) > COLLIDING_ROWS:
        return plan
    wide = plan.vector_bytes // plan.widths.dst
    few = with_at_most(plan, wide)
    why = f"with {wide} elements of a row or little more, as they store wide ones into few rows so"
    return few.because("tiles", why) if few is not plan else plan


def _streamed_large(plan: CopyPlan, target: Machine) -> CopyPlan:
    """
    The plan with elements of 4 bytes and more, whose loops inside follow the source, or rows of the destination.

    These where a last cache that is far holds both sides. Where it is near, if tiles convert, or store few rows, or a
    macro tile lies in more pages than the processor translates at once: loads wait for a translation beside each other,
    stores one by one.
    """
    by_source = with_macro(plan, STREAMED)
    if target.llc_is_far:
        is_held = 2 * plan.copy.elements * plan.widths.src <= target.llc
        return with_macro(plan, STREAMED_ALONG_ROWS) if is_held else by_source
    if plan.widths.converts:
        return with_macro(plan, STREAMED_ALONG_ROWS)
    if (few := _with_few_rows(plan, target)) is not None:
        return few
    if (count := sum(pages(by_source, side) for side in SIDES)) <= TRANSLATED_PAGES:
        return by_source
    why = f"{STREAMED_ALONG_ROWS.reason}, as rows lie in {count} pages, more than are translated at once"
    return with_macro(plan, STREAMED_ALONG_ROWS).because("macro tiles", why)


def _with_few_rows(plan: CopyPlan, target: Machine) -> CopyPlan | None:
    """
    The plan of a move whose tiles load less of a row, and so store into few rows of the destination at a time.

    Each line of the source is loaded again for the rest of it, so the first cache has to hold them. Where a row is one
    line alone, those of a large tile follow one another.
    """
    if not plan.source_lanes or not plan.is_plain:
        return None
    apart = plan.copy.digits[plan.source_lanes[0].digit].offset("dst", 1) * plan.widths.src
    if apart < 2 * LINE:
        return None
    few = with_at_most(plan, FEW_ROWS_PIECE // plan.widths.src)
    if few is plan:
        return None
    few = with_macro(few, STREAMED_ALONG_ROWS)
    why = f"with {FEW_ROWS_PIECE} bytes of a row or little more, as they store into few rows so, line by line"
    return few.because("tiles", why) if holds_lines(few, target) else None


def _gathered(plan: CopyPlan, target: Machine) -> CopyPlan | None:
    """The plan with its source rows gathered in a buffer, where those of a tile evict each other."""
    gathered = with_macro(plan, COLLIDING if target.llc_is_far else COLLIDING_NEAR)
    if not gathers_rows(gathered, target):
        return None
    return replace(with_gathered_rows(gathered, target), inner_order=loop_order(plan.copy.digits, "dst"))
