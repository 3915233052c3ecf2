"""Plans that differ from one by a single decision about its largest copy: what tuning goes along, step by step."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import combinations, permutations
from typing import Any

from layoutc.conversion import NO_ATTRIBUTES, Conversion
from layoutc.errors import LayoutcError
from layoutc.planning.copies.copy_digits import SIDES
from layoutc.planning.moves.next_tile import next_macro_tile, outer_loops
from layoutc.planning.plan_checks import check_adds, check_parts, check_through, check_together
from layoutc.planning.plans.plan import CopyPlan, Plan, PlanPart
from layoutc.planning.plans.turns import Together
from layoutc.planning.tiles.lanes import tile_of

Changes = dict[str, Any]
"""fields of a CopyPlan"""
FACTORS = (2.0, 0.5, 4.0, 0.25)
"""of the steps of a digit in a macro tile"""


def neighbours(plan: Plan, conversion: Conversion = NO_ATTRIBUTES) -> Iterator[Plan]:
    """
    The plan with one decision about its largest copy, of those with lanes, made otherwise: its macro tile, its lanes,
    what it asks for ahead, its buffers, where it converts, or two of its loops.

    Those that do not fit are left out, and those that would store twice what a sum adds to.
    """
    largest = max(plan.copies, key=lambda copy: (not copy.copy.is_fill, bool(copy.target_lanes), copy.copy.elements))
    for changes in _changes(largest):
        try:
            other = replace(largest, **changes)
            check_parts(other)
            found = replace(plan, parts=tuple(_with(part, largest, other) for part in plan.parts))
            if conversion.sum:
                check_adds(found)
        except LayoutcError:
            continue
        if other != largest:
            yield found


def _with(part: PlanPart, copy: CopyPlan, other: CopyPlan) -> PlanPart:
    """The part with another copy in place of one that it may have. Raises LayoutcError if that does not fit it."""

    def each(copies: Sequence[CopyPlan]) -> tuple[CopyPlan, ...]:
        return tuple(other if found is copy else found for found in copies)

    if isinstance(part, CopyPlan):
        return other if part is copy else part
    if isinstance(part, Together):
        check_together(changed := replace(part, copies=each(part.copies)))
        return changed
    changed = replace(part, into=each(part.into), between=each(part.between), out_of=each(part.out_of))
    check_through(changed)
    return changed


def _changes(plan: CopyPlan) -> Iterator[Changes]:
    yield from _of_macro_tile(plan)
    yield from _of_lanes(plan)
    yield from _of_what_is_ahead(plan)
    yield from _of_buffers(plan)
    yield from _of_loops(plan)


def _of_macro_tile(plan: CopyPlan) -> Iterator[Changes]:
    positions = range(len(plan.macro))
    for position in positions:
        for factor in FACTORS:
            yield {"macro": _scaled(plan, {position: factor})}
    for longer, shorter in permutations(positions, 2):
        macro = _scaled(plan, {longer: 2, shorter: 0.5})
        if macro[longer] != plan.macro[longer] and macro[shorter] != plan.macro[shorter]:
            yield {"macro": macro}


def _scaled(plan: CopyPlan, factors: dict[int, float]) -> tuple[int, ...]:
    """The steps of a macro tile, of some digits so many times as many, by whole tiles."""
    return _of_tiles(plan, plan.tile, [int(m * factors.get(g, 1)) for g, m in enumerate(plan.macro)])


def _of_tiles(plan: CopyPlan, tile: Sequence[int], macro: Sequence[int]) -> tuple[int, ...]:
    """A macro tile of whole tiles, and of all of a digit that is loaded in part."""
    found = zip(plan.copy.digits, tile, macro, strict=True)
    return tuple(min(max(m // t, 1) * t, d.extent) if d.is_whole else d.extent for d, t, m in found)


def _of_lanes(plan: CopyPlan) -> Iterator[Changes]:
    """Half as many elements in a load or a store, or twice as many."""
    if not (plan.is_plain and plan.transposes):
        return
    for side in SIDES:
        *others, last = plan.lanes(side)
        for extent in (last.extent // 2, 2 * last.extent):
            lanes = {each: plan.lanes(each) for each in SIDES} | {side: (*others, replace(last, extent=extent))}
            tile = tile_of(plan.copy, lanes["src"], lanes["dst"])
            macro = _of_tiles(plan, tile, plan.macro)
            yield {"source_lanes": lanes["src"], "target_lanes": lanes["dst"], "tile": tile, "macro": macro}


def _of_what_is_ahead(plan: CopyPlan) -> Iterator[Changes]:
    ahead = plan.prefetch or next_macro_tile(plan)
    if ahead:
        yield {"prefetch": 0, "asks": ""}
        yield {"prefetch": 2 * ahead}
        for asks in ("", "twice", "by tiles"):
            yield {"prefetch": ahead, "asks": asks}
    yield {"fetches": not plan.fetches}


def _of_buffers(plan: CopyPlan) -> Iterator[Changes]:
    """Other stores, and sources that are gathered or not; what converts does so then, or on either side."""
    yield {"side_by_side": not plan.side_by_side}
    if not plan.target_lanes:
        return
    for store in ("normal", "nontemporal", "staged", "aligned"):
        yield {"store": store, "side_by_side": False}
    if not plan.widths.converts:
        yield {"load": "normal" if plan.load == "staged" else "staged"}
        return
    for load, at in (("staged", "src"), ("normal", "src"), ("normal", "dst")):
        if (load, at) != (plan.load, plan.widths.converted_at):
            yield {"load": load, "widths": replace(plan.widths, at=at)}


def _of_loops(plan: CopyPlan) -> Iterator[Changes]:
    """Two loops in each other's place."""
    inside = [g for g in plan.inner_order if plan.tile[g] < plan.macro[g]]
    for field, loops in (("inner_order", inside), ("outer_order", outer_loops(plan, plan.outer_order))):
        for one, other in combinations(loops, 2):
            swapped = {one: other, other: one}
            yield {field: tuple(swapped.get(g, g) for g in getattr(plan, field))}
