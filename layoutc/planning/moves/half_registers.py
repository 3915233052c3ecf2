"""Registers of half a line for copies of a few channels, where a processor moves those of a line in halves anyway."""

from __future__ import annotations

from layoutc.planning.copies.copy_digits import SIDES
from layoutc.planning.machine import Machine
from layoutc.planning.moves.cache_sets import l1_ways, most_in_a_set
from layoutc.planning.plans.plan import CopyPlan

FEW_CHANNELS = 4
"""channels, up to which either registers take as long"""


def halves_channels(plan: CopyPlan, target: Machine) -> bool:
    """
    Whether tiles through the caches that take channels apart, or put them together, are better of half registers.

    They have a row for each channel, and twice as many registers. Not where more of those rows share a set of the first
    cache than it holds lines: the other half of a line would come too late.
    """
    if not (target.halves_registers and plan.has_channels):
        return False
    if any(most_in_a_set(plan, side, plan.tile) > l1_ways(target) for side in SIDES):
        return False
    return any(part.extent > FEW_CHANNELS for part in plan.odd_lanes)
