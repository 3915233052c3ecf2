"""Tiles of two blocks in turn, where along the rows of one the processor would fetch what it is about to load."""

from __future__ import annotations

from dataclasses import replace
from math import prod

from layoutc.planning.copies.copy_digits import SIDES
from layoutc.planning.machine import LINE, Machine
from layoutc.planning.plans.plan import CopyPlan
from layoutc.planning.reasons import because
from layoutc.planning.tiles.lanes import lane_count

PAIRED_ROWS = 16
"""registers that a tile loads, and that it stores, from which on another block in turn is worth it: of 8 it is not"""
PAIRED_TILES = 2
"""tiles of a block in a macro tile"""
LEAST_TILES = 4
"""tiles of a block: of fewer, more lines than one begin or end"""


def in_pairs(plan: CopyPlan, target: Machine) -> CopyPlan:
    """
    The plan of a transpose in the second cache whose macro tiles have two blocks, if tiles go on along one loop alone.

    Such tiles load from many rows, each of which goes on: the processor fetches ahead along all of them, though lines
    of the second cache come as fast as loads ask for them. Two blocks in turn are more rows than it follows.
    """
    block = _blocks(plan, target)
    if block is None:
        return plan
    (row,) = _row_loops(plan)
    steps = {block: 2, row: PAIRED_TILES * plan.tile[row]}
    because("macro tiles", f"{PAIRED_TILES} tiles of 2 blocks each, as along one the processor fetches lines as well")
    return replace(plan, macro=tuple(steps.get(position, size) for position, size in enumerate(plan.tile)))


def _blocks(plan: CopyPlan, target: Machine) -> int | None:
    """The digit of the blocks, the innermost loop that no lanes are made of; None if other macro tiles are better."""
    digits, widths, rows = plan.copy.digits, plan.widths, _row_loops(plan)
    if target.waits_for_lines or 2 * plan.copy.elements * plan.element_bytes > target.l2:
        return None
    if not _is_transposed(plan) or len(rows) != 1 or digits[rows[0]].extent < LEAST_TILES * plan.tile[rows[0]]:
        return None
    if any(digit.carries or not digit.is_whole for digit in digits):
        return None
    others = [g for g in plan.inner_order if digits[g].extent > plan.tile[g] and g not in rows]
    if not others or any(digits[others[-1]].offset(side, 1) * widths.of(side) < LINE for side in SIDES):
        return None
    return others[-1] if digits[others[-1]].offset("src", 1) * widths.src > LINE else None


def _is_transposed(plan: CopyPlan) -> bool:
    """Whether tiles of many rows go straight from lanes of one side to those of the other."""
    if plan.merges or plan.copy.is_fill or plan.converted_bytes or plan.source_lanes == plan.target_lanes:
        return False
    is_straight = plan.load == plan.store == "normal" and bool(plan.source_lanes)
    return is_straight and all(
        prod(plan.tile) >= PAIRED_ROWS * lane_count(lanes) for lanes in (plan.source_lanes, plan.target_lanes)
    )


def _row_loops(plan: CopyPlan) -> list[int]:
    """The digits that lanes are made of, of which there are several tiles."""
    lanes = {part.digit for part in (*plan.source_lanes, *plan.target_lanes)}
    return [g for g in lanes if plan.copy.digits[g].extent > plan.tile[g]]
