"""How the tiles of a copy are stored, and what macro tiles suit that: through the caches, or past them."""

from __future__ import annotations

from dataclasses import replace

from layoutc.planning.cache_sets import l1_ways, most_in_a_set
from layoutc.planning.copy_digits import SIDES
from layoutc.planning.lanes import lane_count
from layoutc.planning.machine import Machine
from layoutc.planning.macro_tiles import (
    ALIGNED,
    NORMAL,
    NORMAL_BY_SOURCE,
    STREAMED,
    STREAMED_COLLIDING,
    STREAMED_COPY,
    STREAMED_SMALL,
    with_macro,
)
from layoutc.planning.plan import CopyPlan
from layoutc.planning.reasons import because
from layoutc.planning.whole_lines import stores_whole_lines

MIN_ALIGNED_RUN = 512
"""in the caches: 0.6 to 0.8 of the time of normal stores where rows of 513 and 257 elements are transposed"""
COLLIDING_ROWS = 6


def cached(plan: CopyPlan, target: Machine) -> CopyPlan:
    """The plan of a copy that stays in the caches; its inner loops follow the rows that would evict each other."""
    cached = with_macro(plan, NORMAL)
    if plan.copy.is_fill or plan.converted_bytes:
        return cached
    loaded, stored = (most_in_a_set(cached, side, cached.macro, target) for side in SIDES)
    if stored > l1_ways(target) and _is_better_aligned(plan, target):
        because("stores", "through the caches by whole lines, out of a buffer: rows of parts would evict each other")
        return replace(with_macro(plan, ALIGNED), store="aligned")
    if lane_count(plan.source_lanes) * plan.element_bytes >= target.line:
        return cached
    return with_macro(plan, NORMAL_BY_SOURCE) if loaded > l1_ways(target) >= stored else cached


def _is_better_aligned(plan: CopyPlan, target: Machine) -> bool:
    """Whether stores straddle the lines of long runs, which a buffer would leave by whole ones."""
    run = with_macro(plan, ALIGNED).run * plan.element_bytes
    return target.streams_whole_lines and run >= MIN_ALIGNED_RUN and not stores_whole_lines(plan, target)


def streamed(plan: CopyPlan, target: Machine) -> CopyPlan:
    """The plan of a copy whose tiles are stored past the caches, with macro tiles that suit its elements."""
    if plan.source_lanes == plan.target_lanes:
        return with_macro(plan, STREAMED_COPY)
    if plan.widths.moved not in STREAMED_COLLIDING:
        return with_macro(plan, STREAMED)
    if plan.converted_bytes:
        return with_macro(plan, STREAMED_SMALL)
    colliding = with_macro(plan, STREAMED_COLLIDING[plan.element_bytes])
    if rows_collide(colliding, target):
        return replace(colliding, load="staged")
    return with_macro(plan, STREAMED_SMALL)


def rows_collide(plan: CopyPlan, target: Machine) -> bool:
    """Whether a tile takes parts of lines of more rows than a set of the first cache holds."""
    piece = lane_count(plan.source_lanes) * plan.element_bytes
    if piece >= target.line or plan.source_run * plan.element_bytes < target.line or not plan.gathers_lanes:
        return False
    most = most_in_a_set(plan, "src", plan.tile, target, plan.source_run_digits)
    if most > COLLIDING_ROWS:
        because(
            "loads",
            f"gathered on the stack first, as {most} rows of a tile share one set of the first cache",
        )
    return most > COLLIDING_ROWS
