"""
Other plans than the planner's choice, for tuning: other stores, macro tiles and loop orders, and through the caches
other tiles.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import chain
from typing import NamedTuple

from layoutc.conversion import NO_ATTRIBUTES, Conversion
from layoutc.descriptor import MemoryDesc
from layoutc.errors import LayoutcError
from layoutc.planning.choose import choose_plan
from layoutc.planning.copies.copy_digits import SideName
from layoutc.planning.machine import Machine, machine
from layoutc.planning.moves.colliding_rows import halved
from layoutc.planning.moves.fetched_lines import with_fetched_lines
from layoutc.planning.moves.lane_tiles import with_lanes
from layoutc.planning.moves.last_cache import asking_in_last_cache
from layoutc.planning.moves.macro_shapes import (
    ALONG_ROWS_OF,
    COLLIDING,
    GATHERED_ALONG_SOURCE,
    NORMAL,
    STAGED_CHUNKS,
    STAGED_ROWS,
    STREAMED,
    STREAMED_COPY,
    STREAMED_SMALL,
    MacroShape,
)
from layoutc.planning.moves.macro_tiles import loop_order, with_macro
from layoutc.planning.moves.whole_lines import stores_whole_lines
from layoutc.planning.plan_checks import check_parts, check_together
from layoutc.planning.plans.plan import CopyPlan, Load, Plan, PlanPart, Store
from layoutc.planning.plans.turns import Through, Together
from layoutc.planning.tiles.lanes import choose_lanes


class Policy(NamedTuple):
    """A way to load and store, macro tiles, and the side whose strides the loops over these follow."""

    load: Load
    store: Store
    shape: MacroShape
    outer: SideName = "dst"


class Rows(NamedTuple):
    """Tiles in which the lanes of each side are halved so often, along the rows of a side."""

    source: int
    destination: int
    along: SideName


OTHER_TILES = (
    Rows(0, 0, "dst"),
    Rows(1, 0, "dst"),
    Rows(2, 0, "dst"),
    Rows(0, 0, "src"),
    Rows(0, 1, "src"),
    Rows(1, 0, "src"),
)
"""
for transposes through the caches, where rows evict each other: of 821 in L2 and L3 one in six took 0.6 to 0.93 of the
time of the planner's choice, mostly by one of these, and no rule that was tried tells by which
"""
BY_DESTINATION = (
    Policy("normal", "normal", NORMAL),
    Policy("normal", "nontemporal", STREAMED),
    Policy("normal", "staged", STAGED_ROWS),
    Policy("normal", "nontemporal", STREAMED_SMALL),
    Policy("normal", "staged", STAGED_CHUNKS),
    Policy("normal", "nontemporal", STREAMED_COPY),
    Policy("normal", "normal", STREAMED),
    Policy("staged", "nontemporal", COLLIDING),
    Policy("staged", "staged", STAGED_ROWS),
    Policy("staged", "normal", GATHERED_ALONG_SOURCE),
    Policy("normal", "normal", STREAMED_SMALL),
)
ALTERNATIVES = (*BY_DESTINATION, *(policy._replace(outer="src") for policy in BY_DESTINATION))


def choose_plans(
    source: MemoryDesc,
    destination: MemoryDesc,
    target: Machine | None = None,
    threads: int = 1,
    conversion: Conversion = NO_ATTRIBUTES,
) -> Iterator[Plan]:
    """
    Plans, all different: the planner's choice, through the caches other tiles, then the same tiles with other stores,
    macro tiles and loop orders.

    Raises NotStridedError as `choose_plan`.
    """
    target = target or machine()
    chosen = choose_plan(source, destination, target, threads, conversion)
    seen: set[Plan] = set()
    size = source.size_bytes + destination.size_bytes
    # What adds to what the destination holds has even macro tiles, and no buffers for its stores.
    ways = () if conversion.sum else (*OTHER_TILES, *ALTERNATIVES)
    found = (_by_way(chosen, target, way) for way in ways)
    for plan in chain([chosen], (with_fetched_lines(plan, size, target) for plan in found)):
        if plan not in seen:
            seen.add(plan)
            yield plan


def _by_way(plan: Plan, target: Machine, way: Policy | Rows) -> Plan:
    """The plan with its copies done another way, those that can be."""

    def other(copy: CopyPlan) -> CopyPlan:
        try:
            return _along_rows(copy, target, way) if isinstance(way, Rows) else _by_policy(copy, target, way)
        except LayoutcError:
            return copy

    store: Store = "normal" if isinstance(way, Rows) else way.store
    return replace(plan, parts=tuple(_part_by_way(part, other, store) for part in plan.parts))


def _part_by_way(part: PlanPart, other: Callable[[CopyPlan], CopyPlan], store: Store) -> PlanPart:
    """The part with its copies done another way; of those through a buffer, what leaves it."""
    if isinstance(part, CopyPlan):
        return other(part)
    if isinstance(part, Through):
        return replace(part, out_of=tuple(map(other, part.out_of)))
    try:
        return _together(part, other, store)
    except LayoutcError:
        return part


def _together(part: Together, other: Callable[[CopyPlan], CopyPlan], store: Store) -> Together:
    """Raises LayoutcError where copies that share buffers cannot be done that way."""
    changed = replace(part, copies=tuple(map(other, part.copies)), store=part.store if store != "normal" else "normal")
    check_together(changed)
    return changed


def _along_rows(plan: CopyPlan, target: Machine, way: Rows) -> CopyPlan:
    """Raises LayoutcError where a copy is no transpose through the caches, or a side has too few lanes."""
    widest = with_lanes(plan.copy, plan.widths, target, *choose_lanes(plan.copy, plan.widths, target))
    through_caches = plan.store in ("normal", "aligned")
    if not (through_caches and plan.copy.is_whole and widest.is_plain and widest.transposes):
        raise LayoutcError("no transpose through the caches")
    tiles = _halved(_halved(widest, "src", way.source), "dst", way.destination)
    found = asking_in_last_cache(with_macro(tiles, ALONG_ROWS_OF[way.along]), target)
    check_parts(found)
    return found


def _halved(plan: CopyPlan, side: SideName, times: int) -> CopyPlan:
    """Raises LayoutcError if a side has too few lanes to be halved so often."""
    for _ in range(times):
        if (fewer := halved(plan, side)) is None:
            raise LayoutcError("the lanes of a side are few")
        plan = fewer
    return plan


def _by_policy(plan: CopyPlan, target: Machine, policy: Policy) -> CopyPlan:
    """Raises LayoutcError where a copy cannot be done that way."""
    load, store, shape, outer = policy
    if not plan.target_lanes or (load == "staged" and plan.copy.is_fill):
        raise LayoutcError("the same for all policies")
    if plan.widths.converts and "staged" in (store, load, plan.load):
        raise LayoutcError("what is converted has the buffers that its plan has")
    if store == "nontemporal" and not (target.streams_whole_lines and stores_whole_lines(plan, target)):
        raise LayoutcError("stores are no whole lines")
    order = loop_order(plan.copy.digits, outer)
    plan = replace(plan, store="normal", load="normal", prefetch=0, macro=plan.least_macro, outer_order=order)
    plan = replace(with_macro(plan, shape), store=store, load=load, fetches=False, asks="")
    plan = replace(plan, side_by_side=plan.stages_stores and target.aligns_lines and plan.keeps_lines)
    check_parts(plan)
    return plan
