"""Registers of half a line, where a processor moves those of a line in halves anyway."""

from __future__ import annotations

from dataclasses import replace
from math import prod

from layoutc.planning.copies.copy_digits import SIDES
from layoutc.planning.machine import Machine
from layoutc.planning.moves.cache_sets import l1_ways, most_in_a_set
from layoutc.planning.plans.plan import CopyPlan

FEW_CHANNELS = 4
"""channels, up to which either registers take as long"""
HALVED_BOX = 4
"""bytes of the elements of boxes that are of half registers where the second cache holds both sides"""


def half_registers(plan: CopyPlan, target: Machine) -> Machine | None:
    """
    The machine with registers of half the width by which tiles through the caches take less time, if they do.

    Those of channels are taken apart as without AVX-512: what takes lanes of any two registers was slower. Boxes have
    masks, and merge registers, of either width.
    """
    if not target.halves_registers:
        return None
    if plan.has_channels and _has_many_rows(plan, target):
        return replace(target, vector=target.vector // 2, shuffles="any")
    is_held = 2 * plan.copy.elements * plan.widths.src <= target.l2
    if plan.merges and plan.widths.src == HALVED_BOX and is_held:
        return replace(target, vector=target.vector // 2)
    return None


def suits_half_registers(half: CopyPlan, plan: CopyPlan) -> bool:
    """
    Whether a plan by registers of half the width is of the same kind as one by whole ones.

    Of boxes it has smaller ones: in one as large twice as many registers are merged.
    """
    if plan.merges:
        return half.merges and prod(half.tile) < prod(plan.tile)
    return half.has_channels


def _has_many_rows(plan: CopyPlan, target: Machine) -> bool:
    """
    Whether tiles have a row for each of several channels, and twice as many registers.

    Not where more of those rows share a set of the first cache than it holds lines: the other half of a line would come
    too late.
    """
    if any(most_in_a_set(plan, side, plan.tile) > l1_ways(target) for side in SIDES):
        return False
    return any(part.extent > FEW_CHANNELS for part in plan.odd_lanes)
