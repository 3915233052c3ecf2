"""Planning reorders through a buffer: when they are worth one, the order of its digits, and how each copy runs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from math import prod

from layoutc.planning.conversions.converting import Converting
from layoutc.planning.conversions.plan_conversions import converting_plans
from layoutc.planning.conversions.reorder import Reorder
from layoutc.planning.conversions.shorter_tiles import with_shorter_tiles
from layoutc.planning.copies.copy_digits import SIDES, StridedCopy
from layoutc.planning.copies.strided_copy import NotStridedError, count_segments
from layoutc.planning.machine import Machine
from layoutc.planning.moves.macro_shapes import NORMAL
from layoutc.planning.moves.macro_tiles import with_macro
from layoutc.planning.moves.next_tile import asking_ahead
from layoutc.planning.moves.plan_copy import all_pieces, instructions, plan_moved
from layoutc.planning.plans.plan import CopyPlan
from layoutc.planning.plans.turns import SharedLoop, Through
from layoutc.planning.reasons import because
from layoutc.planning.through.through import Detour, Turn, through_buffers
from layoutc.planning.together.next_turn import for_next_turn
from layoutc.planning.together.turn_copies import target_of_turns

TURN_AHEAD = 1 / 4
"""of the second cache, that a turn takes at most for the next one to be asked for"""
MOST_SEGMENTS = 16
"""copies, more than which go through a buffer if they are fewer there"""


def best_buffer(reorder: Reorder, target: Machine, joined: int | None) -> Detour | None:
    """
    A reorder through a buffer in few instructions; None where the copies that go straight are few, or fewer.

    Those are one for each segment of a period, or so many where segments were `joined`.
    """
    source, destination, conversion = reorder.source, reorder.destination, reorder.conversion
    if reorder.widths.are_packed or conversion.sum or conversion.compensation is not None:
        return None
    try:
        straight = joined or count_segments(source, destination)
        if straight <= MOST_SEGMENTS:
            return None
        ways = (through_buffers(source, destination, side, reorder.seen.groupings) for side in SIDES)
        found = [buffered for buffered in ways if buffered]
    except NotStridedError:
        return None
    if not found or found[0].count >= straight:
        return None
    because("blocks", f"through a buffer, by {found[0].count} copies, as straight they would be {straight}")
    element = min(reorder.widths.src, reorder.widths.dst)
    return min(found, key=lambda way: sum(turn_instructions(turn, turn.copies, element, target) for turn in way.turns))


def plan_through(best: Detour, how: Converting) -> tuple[CopyPlan | Through, ...]:
    """How each copy of a reorder through a buffer runs."""
    turns = [_turns(turn, how) for turn in best.turns]
    fills = all_pieces(best.fills, how.widths.dst, how.target)
    return *turns, *(plan_moved(*piece, how.target, how.streams) for piece in fills)


def turn_instructions(turn: Turn, copies: Sequence[StridedCopy], element: int, target: Machine) -> float:
    """About how many instructions these copies of a turn take in all turns."""
    each = instructions(all_pieces(copies, element, target), target)
    return each * prod(loop.extent / loop.step for loop in turn.loops)


def _turns(turn: Turn, how: Converting) -> Through:
    """
    How the copies of a turn run: into the buffer by way of the caches, and out of it past them if it `streams`.

    Elements are converted on the side on which they are wider, or on the one that `how` names.
    """
    is_early = how.widths.converted_at == "src"
    of_turn = replace(how, target=target_of_turns(turn.loops, how.target))
    into = plans_into(turn.into, how, converts=is_early)
    out_of = plans_out_of(turn.out_of, of_turn, converts=not is_early)
    return Through(turn.loops, asking_for_turns(into, turn.loops, how.target) if how.streams else into, out_of)


def asking_for_turns(into: Sequence[CopyPlan], turns: Sequence[SharedLoop], target: Machine) -> tuple[CopyPlan, ...]:
    """
    The copies into a buffer, which ask for what the next turn takes.

    Where a turn takes much, that would not stay in the second cache: then for the next macro tile of this one.
    """
    moved = [plan.copy.elements * plan.widths.src for plan in into]
    if sum(moved) > TURN_AHEAD * target.l2:
        return tuple(asking_ahead(plan) if plan.target_lanes else plan for plan in into)
    return tuple(for_next_turn(plan, turns, sum(moved), target) for plan in into)


def plans_into(copies: Sequence[StridedCopy], how: Converting, converts: bool) -> tuple[CopyPlan, ...]:
    """The plans of copies into a buffer."""
    return tuple(map(_into, _plans(copies, replace(how, streams=False), converts)))


def plans_out_of(copies: Sequence[StridedCopy], how: Converting, converts: bool) -> tuple[CopyPlan, ...]:
    """The plans of copies out of a buffer, which is in the caches: nothing is asked for ahead."""
    return tuple(replace(plan, prefetch=0, asks="") for plan in _plans(copies, how, converts))


def _plans(copies: Sequence[StridedCopy], how: Converting, converts: bool) -> Iterator[CopyPlan]:
    """The plans of half of a turn."""
    if converts and not how.moves:
        usual = replace(how, threads=1, widths=replace(how.widths, at=None))
        return iter(with_shorter_tiles(converting_plans(copies, usual)))
    return (plan_moved(*piece, how.target, how.streams) for piece in all_pieces(copies, how.widths.moved, how.target))


def _into(plan: CopyPlan) -> CopyPlan:
    """The plan of a copy into the buffer, which stays in the caches: its lines need no other buffer."""
    if plan.store == "normal":
        return plan
    plan = plan.because("stores", "normal, through the caches", store="normal", side_by_side=False)
    return with_macro(plan, NORMAL)
