"""Registers of half a line, where a processor moves those of a line in halves anyway."""

from __future__ import annotations

from dataclasses import replace
from math import prod

from layoutc.planning.machine import Machine
from layoutc.planning.moves.boxes import waste
from layoutc.planning.moves.cache_sets import fits_second_cache, l1_ways, most_in_a_set
from layoutc.planning.moves.colliding_rows import crowds_sets
from layoutc.planning.plans.plan import CopyPlan

FEW_CHANNELS = 4
"""channels, up to which either registers take as long"""
HALVED_BOX = 4
"""bytes of the elements of boxes that are of half registers where the second cache holds both sides"""
MOVED_AGAIN = 0.93
"""of the elements that larger tiles move, with those that are moved again, where smaller ones are worth it there"""


def half_registers(plan: CopyPlan, target: Machine) -> Machine | None:
    """
    The machine with registers of half the width by which tiles through the caches take less time, if they do.

    Channels have a row each, and twice as many registers. They are taken apart as without AVX-512: what takes lanes of
    any two registers was slower. Boxes have masks, and merge registers, of either width.
    """
    if not target.halves_registers or _fills_sets(plan, target):
        return None
    half = replace(target, vector=target.vector // 2)
    if plan.has_channels and any(part.extent > FEW_CHANNELS for part in plan.odd_lanes):
        return replace(half, shuffles="any")
    if not fits_second_cache(plan, target):
        return None
    if plan.merges and plan.widths.src == HALVED_BOX:
        return half
    return replace(half, shuffles="any") if plan.is_plain and plan.transposes else None


def suits_half_registers(half: CopyPlan, plan: CopyPlan) -> bool:
    """
    Whether a plan by registers of half the width is of the same kind as one by whole ones.

    Of boxes it has smaller ones: in one as large twice as many registers are merged. Tiles of other lanes move far
    less again than larger ones do.
    """
    if plan.merges:
        return half.merges and prod(half.tile) < prod(plan.tile)
    if plan.is_plain:
        return half.is_plain and waste(half.copy, half.tile) < MOVED_AGAIN * waste(plan.copy, plan.tile)
    return half.has_channels


def _fills_sets(plan: CopyPlan, target: Machine) -> bool:
    """Whether rows of a tile fill a set of the first cache: the other half of a line would come too late."""
    return most_in_a_set(plan, "src", plan.tile) > l1_ways(target) or crowds_sets(plan, target)
