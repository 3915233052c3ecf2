"""Tiles through the caches that load half lines of the source, where whole lines would straddle two of the cache."""

from __future__ import annotations

from dataclasses import replace

from layoutc.planning.machine import LINE, Machine
from layoutc.planning.moves.colliding_rows import halved
from layoutc.planning.moves.next_tile import straddles_lines
from layoutc.planning.plans.plan import CopyPlan
from layoutc.planning.tiles.lanes import lane_count


def with_half_loads(plan: CopyPlan, target: Machine) -> CopyPlan:
    """
    The plan of a transpose with half of the lanes of the source, if rows of it begin anywhere in a line.

    A processor that halves registers loads each half by itself. Where a line is loaded from its middle, both halves of
    the register are of two lines; every other half of a line is in one.
    """
    is_straight = plan.load == "normal" and plan.store == "normal"
    if not (target.halves_registers and plan.is_plain and is_straight) or plan.keeps_rows:
        return plan
    if lane_count(plan.source_lanes) * plan.widths.src < LINE or not straddles_lines(plan):
        return plan
    half = halved(plan, "src")
    if half is None:
        return plan
    lanes = {"source_lanes": half.source_lanes, "target_lanes": half.target_lanes, "tile": half.tile}
    return replace(plan, **lanes).because(
        "rows", "of half a line of each row of the source, as whole ones would straddle two"
    )
