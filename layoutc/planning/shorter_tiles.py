"""Smaller tiles for reorders that fall into many copies, each of which has the text of all that its tile converts."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import islice
from math import prod

from layoutc.planning.lanes import converted_lanes, tile_of
from layoutc.planning.plan import CopyPlan, Plan, is_power_of_two
from layoutc.planning.shared_bytes import first_inside_a_byte
from layoutc.planning.turns import Together

MOST, LEAST = 64, 8
"""vectors that the tiles of all copies convert, and that a tile has all the same"""


def with_shorter_tiles(plans: Iterable[CopyPlan]) -> tuple[CopyPlan, ...]:
    """
    The plans, with tiles that convert fewer vectors where there are many copies.

    17 copies of 64 vectors each of f32 to f8_e5m2 were 1.3 MB of C, which took 15 s to compile.
    """
    every = tuple(plans)
    share = max(LEAST, MOST // max(1, sum(map(_may_be_shorter, every))))
    return tuple(_shortened(plan, share) for plan in every)


def parts_with_shorter_tiles(parts: Sequence[CopyPlan | Together]) -> tuple[CopyPlan | Together, ...]:
    """The same of copies some of which run together."""
    shorter = iter(with_shorter_tiles(Plan(tuple(parts)).copies))
    return tuple(
        next(shorter) if isinstance(part, CopyPlan) else replace(part, copies=tuple(islice(shorter, len(part.copies))))
        for part in parts
    )


def _may_be_shorter(plan: CopyPlan) -> bool:
    """Whether elements are converted in a tile that is a power of two along each digit."""
    lanes = *plan.source_lanes, *plan.target_lanes
    if not plan.converted_bytes or plan.gathers_converted or plan.store == "nontemporal":
        return False
    is_plain = all(is_power_of_two(part.extent) for part in lanes) and all(d.is_whole for d in plan.copy.digits)
    return is_plain and bool(plan.source_lanes) and not plan.merges


def _shortened(plan: CopyPlan, most: int) -> CopyPlan:
    """The plan with half the steps of a digit in a tile, again and again until it converts few vectors."""
    while _may_be_shorter(plan) and _vectors(plan) > most:
        shorter = _halved(plan)
        if shorter is None or first_inside_a_byte(shorter) is not None:
            return plan
        plan = shorter
    return plan


def _vectors(plan: CopyPlan) -> int:
    """How many vectors a tile converts."""
    return prod(plan.tile) // converted_lanes(plan)


def _halved(plan: CopyPlan) -> CopyPlan | None:
    """The plan with half the lanes on the side on which elements are not converted; None if they are too few."""
    at_load = plan.widths.converted_at == "src"
    *parts, last = plan.target_lanes if at_load else plan.source_lanes
    if last.extent > 2:
        parts.append(replace(last, extent=last.extent // 2))
    if not parts:
        return None
    lanes = (plan.source_lanes, tuple(parts)) if at_load else (tuple(parts), plan.target_lanes)
    tile = tile_of(plan.copy, *lanes)
    return replace(plan, source_lanes=lanes[0], target_lanes=lanes[1], tile=tile) if tile != plan.tile else None
