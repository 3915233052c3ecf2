"""Smaller tiles where text would be long: of many copies, as each has that of all its tile converts, or of one."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from itertools import islice
from math import prod

from layoutc.planning.conversions.shared_bytes import first_inside_a_byte
from layoutc.planning.plans.fits import is_power_of_two
from layoutc.planning.plans.plan import CONVERTED_LANE, CopyPlan, Part, Plan
from layoutc.planning.plans.turns import Together
from layoutc.planning.tiles.lanes import lane_count, tile_of
from layoutc.planning.tiles.lines_in_turn import lines_in_turn
from layoutc.planning.tiles.param_loads import param_loads

MOST, LEAST = 64, 8
"""vectors that the tiles of all copies convert, and that a tile has all the same"""
TILE = 96
"""vectors that a tile converts at most that has no such share"""
LOADS = 2
"""of parameters for each of these vectors, which compilers take as long for"""


def with_shorter_tiles(plans: Iterable[CopyPlan], packed: Collection[int] = ()) -> tuple[CopyPlan, ...]:
    """
    The plans, with tiles that convert fewer vectors where there are many copies, or where one has too many.

    17 copies of 64 vectors each of f32 to f8_e5m2 were 1.3 MB of C, which took 15 s to compile; a tile of 64 with a
    parameter for each element took gcc more than half an hour. In lists of parameters that are `packed` two values
    share a byte.
    """
    every = tuple(plans)
    share = max(LEAST, MOST // max(1, sum(map(_is_one_of_many, every))))
    return tuple(_shortened(plan, share, packed) for plan in every)


def parts_with_shorter_tiles(
    parts: Sequence[CopyPlan | Together], packed: Collection[int] = ()
) -> tuple[CopyPlan | Together, ...]:
    """The same of copies some of which run together."""
    shorter = iter(with_shorter_tiles(Plan(tuple(parts)).copies, packed))
    return tuple(
        next(shorter) if isinstance(part, CopyPlan) else replace(part, copies=tuple(islice(shorter, len(part.copies))))
        for part in parts
    )


def _is_one_of_many(plan: CopyPlan) -> bool:
    """Whether a tile of many copies has a share alone: it is a power of two along each digit, and stores no lines."""
    lanes = *plan.source_lanes, *plan.target_lanes
    return _may_be_shorter(plan) and plan.store != "nontemporal" and all(is_power_of_two(p.extent) for p in lanes)


def _may_be_shorter(plan: CopyPlan) -> bool:
    """Whether elements are converted in a tile that may have fewer lanes on the side where they are not."""
    if not plan.widths.converts or plan.gathers_converted or not plan.source_lanes or plan.merges:
        return False
    keeps_lines = plan.store != "nontemporal" or plan.widths.converted_at == "dst"
    return keeps_lines and plan.copy.is_whole


def _shortened(plan: CopyPlan, share: int, packed: Collection[int]) -> CopyPlan:
    """The plan with half the steps of a digit in a tile, again and again until it converts few vectors."""
    while _is_too_long(plan, share, packed):
        shorter = _halved(plan)
        if shorter is None or first_inside_a_byte(shorter) is not None:
            return plan
        plan = shorter
    return plan


def _is_too_long(plan: CopyPlan, share: int, packed: Collection[int]) -> bool:
    """Whether a tile converts more than its share of what many copies do, or more than any may."""
    if not _may_be_shorter(plan):
        return False
    lanes = plan.lanes(plan.widths.converted_at)
    most = share if _is_one_of_many(plan) else TILE
    vectors, loads = prod(plan.tile) // lane_count(lanes), param_loads(plan.copy, plan.tile, lanes, packed)
    return vectors > most or loads > LOADS * most


def _halved(plan: CopyPlan) -> CopyPlan | None:
    """
    The plan with half the lanes on the side on which elements are not converted; None if they are too few.

    Where lanes of the other side hold as many steps of the digit they have half too, if they still fill a register of
    what is converted.
    """
    at_load = plan.widths.converted_at == "src"
    converted, moved = (plan.source_lanes, plan.target_lanes) if at_load else (plan.target_lanes, plan.source_lanes)
    last = moved[-1]
    if not is_power_of_two(last.extent):
        return None
    shorter = _cut(moved, last.digit, last.extent // 2)
    tile = tile_of(plan.copy, converted, shorter)
    if tile == plan.tile:
        converted = _cut(converted, last.digit, last.extent // 2)
        tile = tile_of(plan.copy, converted, shorter)
        if lane_count(converted) < plan.vector_bytes // CONVERTED_LANE:
            return None
    if tile == plan.tile or not shorter:
        return None
    lanes = (converted, shorter) if at_load else (shorter, converted)
    halved = replace(plan, source_lanes=lanes[0], target_lanes=lanes[1], tile=tile)
    # Of shorter loads more tiles take parts of a line, and may be more than there are rows to share.
    asks_alike = halved.asks != "by tiles" or lines_in_turn(halved) is not None
    return halved if asks_alike else replace(halved, asks="")


def _cut(lanes: Sequence[Part], digit: int, most: int) -> tuple[Part, ...]:
    """Lanes with so many steps of a digit at most, behind which there are no further ones: those lie apart."""
    for number, part in enumerate(lanes):
        if part.digit == digit and part.extent > most:
            return (*lanes[:number], replace(part, extent=most)) if most > 1 else tuple(lanes[:number])
    return tuple(lanes)
