"""Tiles out of a buffer that store few rows, so that lines side by side leave past the caches soon after each other."""

from __future__ import annotations

from dataclasses import replace
from math import prod

from layoutc.planning.plans.plan import CopyPlan
from layoutc.planning.tiles.joined_lines import line_elements
from layoutc.planning.tiles.lanes import PIECE_BYTES

NEAR_ROWS = 8
"""rows of the destination that a tile stores a line of, where each load has PIECE_BYTES then"""


def with_near_stores(plan: CopyPlan) -> CopyPlan:
    """
    The plan with tiles of fewer rows of the destination.

    Memory takes pairs of lines. One that is stored past the caches waits a little for the other: as long as 8 lines of
    other rows come between. Out of a buffer shorter pieces of the source cost little; elements that were narrowed take
    more reading than storing.
    """
    if (
        plan.widths.dst < plan.widths.src
        or plan.load != "staged"
        or plan.store != "nontemporal"
        or plan.merges
        or len(plan.source_lanes) != 1
    ):
        return plan
    (part,) = plan.source_lanes
    found = part
    while _rows(plan, found.extent) > NEAR_ROWS and found.extent * plan.widths.moved > PIECE_BYTES:
        found = replace(found, extent=found.extent // 2)
    if found == part or plan.tile[part.digit] != part.extent:
        return plan
    why = f"of {found.extent} rows, so that lines that lie side by side are stored one soon after the other"
    tile = tuple(found.extent if g == part.digit else size for g, size in enumerate(plan.tile))
    return plan.because("rows", why, source_lanes=(found,), tile=tile)


def _rows(plan: CopyPlan, extent: int) -> int:
    """Rows of the destination that a tile with so many lanes of the source stores a line of."""
    (part,) = plan.source_lanes
    return prod(plan.tile) // plan.tile[part.digit] * extent // line_elements(plan)
