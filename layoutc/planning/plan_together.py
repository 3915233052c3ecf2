"""The copies of a reorder as parts of a plan: alone, or together with others that share their lines."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from math import gcd

from layoutc.errors import LayoutcError
from layoutc.planning.boxes import best_box
from layoutc.planning.copy_digits import StridedCopy, merged, without_partial
from layoutc.planning.lanes import PIECE_BYTES, choose_lanes, fused, lane_count
from layoutc.planning.machine import Machine
from layoutc.planning.padded import padded_lanes
from layoutc.planning.plan import LINE, CopyPlan
from layoutc.planning.plan_copy import needs_box, plan_moved
from layoutc.planning.reasons import forget_copies
from layoutc.planning.small_copies import most_small, plans_alone
from layoutc.planning.staged_stores import MIN_STAGED_RUN
from layoutc.planning.together import NEAR, Measured, Sized, alike, moved_groups, reduced, with_runs
from layoutc.planning.turns import SharedLoop, Together
from layoutc.planning.unions import unions
from layoutc.planning.widths import Widths

TURN_PART = 8
"""copies that run together move an eighth of the second cache in a turn"""
L1_TURN_PART = 4
"""a quarter of the first cache, where the second one holds the destination"""
LONG_RUN = 1 << 10
"""bytes of a run, of which a turn may have a part"""
STAGED_TURN = 2 << 10
"""bytes that copies which run together write in a turn: with 24 KiB they took 1.5 times as long"""
LONG_TURN, MOST_LONG_TURN = 72 << 10, 96 << 10
"""bytes of turns that are long enough for lanes, and the most that turns of one line of the source write"""


def parts_in_cache(moved: Sequence[Sized], target: Machine, streams: bool) -> tuple[CopyPlan | Together, ...]:
    """
    The copies of a reorder that the second cache holds, those together that share lines of the first one.

    That pays where lines are what a copy waits for, not shuffles, and the first one holds a turn.
    """
    parts: list[CopyPlan | Together] = []
    most = most_small(moved)
    for loops, group in moved_groups(moved, target.l1 // L1_TURN_PART):
        turns = [_turn(*sized, loops) for sized in group]
        fits = sum(copy.elements * size for copy, size in turns) <= target.l1 // 2
        if loops and fits and all(_is_tiled(*sized, target) for sized in turns):
            alone = [plan_moved(*sized, target, streams) for sized in group]
            forget_copies(len(alone))
            together = tuple(plan_moved(*sized, target, streams) for sized in turns)
            if all(_moves_alike(*pair) for pair in zip(alone, together, strict=True)):
                parts.append(Together(loops, together))
                continue
            forget_copies(len(together))
        parts += (plan for sized in group for plan in plans_alone(sized, target, streams, most))
    return tuple(parts)


def _turn(copy: StridedCopy, size: int, loops: Sequence[SharedLoop]) -> Sized:
    """What a copy does in one turn of the loops."""
    return reduced(copy, Widths(size, size), loops), size


def _moves_alike(alone: CopyPlan, turn: CopyPlan) -> bool:
    """Whether a copy and a turn of it have the same tiles, of rows that stay rows, and runs as long, or long ones."""
    tiles = [([part.extent for part in p.target_lanes], [n for n in p.tile if n > 1]) for p in (alone, turn)]
    stays = all(p.copy.is_fill or p.source_lanes == p.target_lanes for p in (alone, turn))
    return stays and tiles[0] == tiles[1] and turn.run >= min(alone.run, LONG_RUN // turn.element_bytes)


def parts_past_it(moved: Sequence[Sized], target: Machine, streams: bool) -> tuple[CopyPlan | Together, ...]:
    """The copies of a reorder that does not fit the second cache, those together that share lines."""
    budget, most = target.l2 // TURN_PART, most_small(moved)
    parts: list[CopyPlan | Together] = []
    left = list(moved)
    found = tried = moved_groups(moved, budget)
    for loops, group in found if streams else ():
        staged = _staged_together(loops, group, target) if loops else None
        if staged is not None:
            parts.append(staged)
            whole = [(merged(copy), size) for copy, size in group]
            left = [sized for sized in left if sized not in whole]
    if len(left) < len(moved):
        found = moved_groups(left, budget)
    for loops, group in found:
        inner = [_turn(*sized, loops) for sized in group]
        if any(not _is_tiled(*sized, target) for sized in inner):
            loops = ()
        is_new = loops and streams and (loops, group) not in tried
        staged = _staged_together(loops, group, target) if is_new else None
        if staged is not None:
            parts.append(staged)
            continue
        # What is a whole line in the first turn need be none in the others.
        turns = [loop.dst for loop in loops if loop.step < loop.extent]
        of_turn = replace(target, alignment=gcd(target.alignment, *turns))
        together = tuple(plan_moved(*piece, of_turn, streams) for piece in inner) if loops else ()
        if together and streams and _largest(together).store == "normal" and not _is_cached(group, target):
            forget_copies(len(together))
            together = ()
        if together:
            parts.append(Together(loops, together))
        else:
            parts += (plan for sized in group for plan in plans_alone(sized, target, streams, most))
    return tuple(parts)


def _largest(plans: Sequence[CopyPlan]) -> CopyPlan:
    return max(plans, key=lambda plan: plan.copy.elements * plan.element_bytes)


def _is_cached(copies: Sequence[Sized], target: Machine) -> bool:
    """Whether the largest of several copies would be stored through the caches, where others go past them."""
    plan = plan_moved(*max(copies, key=lambda sized: sized[0].elements * sized[1]), target, streams=True)
    forget_copies(1)
    return plan.store == "normal"


def _is_tiled(copy: StridedCopy, size: int, target: Machine) -> bool:
    """Whether a copy that is loaded in part has a tile for it."""
    has_tile = best_box(copy, size, target) is not None or bool(padded_lanes(copy, size, target))
    return has_tile or not needs_box(copy, Widths(size, size), target)


def _staged_together(loops: Sequence[SharedLoop], group: Sequence[Sized], target: Machine) -> Together | None:
    """
    Copies that fill whole lines together, out of buffers that they share; none if they do not.

    Where short turns have no lanes, longer ones may.
    """
    part = _with_buffers(with_runs(loops, _measured(group), STAGED_TURN), group, target)
    return part or _in_long_turns(loops, group, target)


def _in_long_turns(loops: Sequence[SharedLoop], group: Sequence[Sized], target: Machine) -> Together | None:
    """Such copies with turns of whole lines of the source, where they would store parts of lines by themselves."""
    group = [part for sized in group for part in _apart_from_zeros(*sized, target)]
    turns = with_runs(loops, _measured(group), LONG_TURN, has_lines=True)
    is_cut = any(0 < loop.src * loop.step < LINE and loop.step < loop.extent for loop in turns)
    if is_cut or sum(copy.elements * size for copy, size in (_turn(*sized, turns) for sized in group)) > MOST_LONG_TURN:
        return None
    part = _with_buffers(turns, group, target)
    if part is None:
        return None
    alone = [plan_moved(*sized, target, streams=True) for sized in group]
    forget_copies(len(alone))
    pairs = zip(alone, part.copies, strict=True)
    if any(copy.store == "nontemporal" or (turn.merges and not copy.merges) for copy, turn in pairs):
        forget_copies(len(part.copies))
        return None
    return part


def _measured(group: Sequence[Sized]) -> list[Measured]:
    return [(copy, Widths(size, size)) for copy, size in group]


def _apart_from_zeros(copy: StridedCopy, size: int, target: Machine) -> Iterator[Sized]:
    """A copy, or what it loads and the zeros beside that, where both are an odd number and make short lanes."""
    partial = next((g for g, digit in enumerate(copy.digits) if not digit.is_whole), None)
    lanes = lane_count(choose_lanes(copy, Widths(size, size), target)[1])
    if partial is None or lanes * size >= PIECE_BYTES:
        yield copy, size
    else:
        parts = _measured([(part, size) for part in without_partial(copy, partial)])
        yield from ((part, size) for part, _ in alike(parts))


def _with_buffers(turns: Sequence[SharedLoop], group: Sequence[Sized], target: Machine) -> Together | None:
    """Copies that run in such turns."""
    inner = [_turn(*sized, turns) for sized in group]
    if not all(_keeps_lanes(*alone, *turn, target) for alone, turn in zip(group, inner, strict=True)):
        return None
    if not all(_is_tiled(*sized, target) for sized in inner):
        return None
    # Otherwise what is a whole line in the first turn is none in the others.
    streams = all(loop.dst % target.line == 0 for loop in turns)
    planned = tuple(_asking_ahead(plan_moved(*piece, target, streams, buffered=True), turns) for piece in inner)
    try:
        part = Together(tuple(turns), planned, "staged")
        runs = [union.plan.run * union.plan.element_bytes for union in unions(part)]
    except LayoutcError:
        part, runs = None, []
    if not runs or min(runs) < MIN_STAGED_RUN:
        forget_copies(len(planned))
        return None
    return part


def _asking_ahead(plan: CopyPlan, turns: Sequence[SharedLoop]) -> CopyPlan:
    """The plan, which asks for what it loads in the next turn, or in one that is a line or more further on."""
    steps = [loop.step * loop.src for loop in reversed(turns) if loop.step < loop.extent]
    if not any(steps) or plan.copy.is_fill or not plan.target_lanes:
        return plan
    ahead = steps[0]
    if ahead < LINE:
        ahead = next((step for step in steps if LINE <= step < NEAR), ahead * -(-LINE // max(ahead, 1)))
    return replace(plan, prefetch=ahead // plan.element_bytes)


def _keeps_lanes(alone: StridedCopy, size: int, turn: StridedCopy, _: int, target: Machine) -> bool:
    """Whether a copy has lanes of 16 bytes in a turn, or as many as alone."""
    widths = Widths(size, size)
    before, after = (choose_lanes(fused(copy, widths, target), widths, target) for copy in (alone, turn))
    sides = zip(before, after, strict=True)
    return all(min(lane_count(a) * size, PIECE_BYTES) <= lane_count(b) * size for a, b in sides)
