"""Whether the stores of a plan are whole cache lines, which may go past the caches."""

from __future__ import annotations

from math import inf

from layoutc.planning.machine import Machine
from layoutc.planning.plans.plan import CopyPlan
from layoutc.planning.tiles.joined_lines import joined_digits, line_elements
from layoutc.planning.tiles.tile_runs import runs

MANY_TILES = 64
"""
along a digit, of which the last one may begin inside a line, which goes through the caches: not of rows that are moved
as they lie, whose lines may come from anywhere in the source (`COPIED_RUN`)
"""


def stores_whole_lines(plan: CopyPlan, target: Machine) -> bool:
    """
    Whether every store of the plan is an aligned cache line, or several of a tile are one together; but for those of
    the last of many tiles.
    """
    if not target.aligns_lines or not plan.target_lanes:
        return False
    lanes = joined_digits(plan)
    if lanes is None or (plan.merges and not _rows_are_lines(plan, line_elements(plan))):
        return False
    line = line_elements(plan)
    many = inf if plan.keeps_rows and not plan.widths.converts else MANY_TILES
    if plan.copy.dst % line:
        return False
    for position, digit in enumerate(plan.copy.digits):
        # Tiles start at multiples of the tile, and where the last one starts earlier.
        tile = plan.tile[position]
        steps = (tile, digit.extent % tile if digit.extent < many * tile else 0) if position in lanes else (1,)
        strides = [part.dst for part in digit.parts] if position not in lanes else [digit.dst]
        if any(step * stride % line for step in steps if digit.extent > step for stride in strides):
            return False
    return True


def _rows_are_lines(plan: CopyPlan, line: int) -> bool:
    """Whether what a tile stores along its lanes is whole lines."""
    row = runs(plan.copy, plan.tile, "dst", [part.digit for part in plan.target_lanes])
    return all(start % line == 0 and count % line == 0 for start, count in row)
