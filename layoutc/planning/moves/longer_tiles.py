"""Tiles of several registers for rows that are copied as they are, and for zeros."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from layoutc.planning.machine import LINE
from layoutc.planning.moves.boxes import tile_cost, waste
from layoutc.planning.plans.plan import CopyPlan
from layoutc.planning.tiles.lanes import lane_count

ROW_REGISTERS = 8
"""registers of a row in a tile: with 16 nothing more is gained"""
MEMCPY_ROW = 4 << 10
"""bytes of rows that are left to `memcpy`, which C compilers make of a loop that copies one register"""
MOST_REPEATED = 1.125
"""times what is moved twice, as the last tile begins earlier, of rows that registers divide evenly"""


def with_longer_tile(plan: CopyPlan) -> CopyPlan:
    """
    The plan with as many registers of a row in a tile as take the fewest instructions.

    Of a loop that copies one register C compilers make a string instruction, which takes 3 times as long for rows of
    some hundred bytes.
    """
    alike = plan.copy.is_fill or plan.keeps_rows
    if not alike or plan.widths.converts or not plan.target_lanes:
        return plan
    return min([plan, *_longer(plan)], key=tile_cost)


def _longer(plan: CopyPlan) -> Iterator[CopyPlan]:
    """The plan with tiles of 2, 4, ... registers, which lie one after the other in the last digit of the lanes."""
    position, lanes = plan.target_lanes[-1].digit, plan.target_lanes[-1].extent
    digit, row = plan.copy.digits[position], lane_count(plan.target_lanes) // lanes * plan.widths.src
    if not digit.is_whole or digit.carries or row * digit.extent >= MEMCPY_ROW:
        return
    limit = _most_waste(row * lanes, digit.extent % lanes == 0) * waste(plan.copy, plan.tile)
    extent = 2 * lanes
    while extent <= min(digit.extent, ROW_REGISTERS * lanes):
        tile, macro = (
            tuple(extent if g == position else n for g, n in enumerate(steps)) for steps in (plan.tile, plan.macro)
        )
        if waste(plan.copy, tile) <= limit:
            yield replace(plan, tile=tile, macro=macro)
        extent *= 2


def _most_waste(register: int, is_even: bool) -> float:
    """How much more may be moved twice: no line, little of rows that make a short loop as they are."""
    return 1.0 if register >= LINE else MOST_REPEATED if is_even else 2.0
