"""The copies of a reorder as parts of a plan: alone, or together with others that share their lines."""

from __future__ import annotations

from collections.abc import Sequence

from layoutc.planning.copies.copy_digits import Sized, merged
from layoutc.planning.machine import STREAMED_PART, Machine
from layoutc.planning.moves.plan_copy import plan_moved
from layoutc.planning.plans.plan import CopyPlan
from layoutc.planning.plans.turns import Together
from layoutc.planning.together.shared_lines import (
    is_tiled,
    largest_of,
    staged_rows,
    staged_together,
    turn_of,
)
from layoutc.planning.together.small_copies import most_small, plans_alone
from layoutc.planning.together.together import moved_groups
from layoutc.planning.together.turn_copies import target_of_turns

TURN_PART = 8
"""copies that run together move an eighth of the second cache in a turn"""
L1_TURN_PART = 4
"""a quarter of the first cache, where the second one holds the destination"""
LONG_RUN = 1 << 10
"""bytes of a run, of which a turn may have a part"""


def parts_in_cache(moved: Sequence[Sized], target: Machine, streams: bool) -> tuple[CopyPlan | Together, ...]:
    """
    The copies of a reorder that the second cache holds, those together that share lines of the first one.

    That pays where lines are what a copy waits for, not shuffles, and the first one holds a turn.
    """
    parts: list[CopyPlan | Together] = []
    most = most_small(moved)
    for loops, group in moved_groups(moved, target.l1 // L1_TURN_PART):
        turns = [turn_of(*sized, loops) for sized in group]
        fits = sum(copy.elements * size for copy, size in turns) <= target.l1 // 2
        if loops and fits and all(is_tiled(*sized, target) for sized in turns):
            alone = [plan_moved(*sized, target, streams) for sized in group]
            together = tuple(plan_moved(*sized, target, streams) for sized in turns)
            if all(_moves_alike(*pair) for pair in zip(alone, together, strict=True)):
                parts.append(Together(loops, together))
                continue
        parts += (plan for sized in group for plan in plans_alone(sized, target, streams, most))
    return tuple(parts)


def _moves_alike(alone: CopyPlan, turn: CopyPlan) -> bool:
    """Whether a copy and a turn of it have the same tiles, of rows that stay rows, and runs as long, or long ones."""
    tiles = [([part.extent for part in p.target_lanes], [n for n in p.tile if n > 1]) for p in (alone, turn)]
    stays = all(p.copy.is_fill or p.source_lanes == p.target_lanes for p in (alone, turn))
    return stays and tiles[0] == tiles[1] and turn.run >= min(alone.run, LONG_RUN // turn.widths.src)


def parts_past_it(moved: Sequence[Sized], target: Machine, streams: bool) -> tuple[CopyPlan | Together, ...]:
    """The copies of a reorder that does not fit the second cache, those together that share lines."""
    budget, most = target.l2 // TURN_PART, most_small(moved)
    is_far = sum(copy.elements * size for copy, size in moved) >= target.llc // STREAMED_PART
    parts: list[CopyPlan | Together] = []
    left = list(moved)
    found = moved_groups(moved, budget)
    for loops, group in found if streams else ():
        staged = staged_together(loops, group, target) if loops else None
        if staged is not None:
            parts.append(staged)
            whole = [(merged(copy), size) for copy, size in group]
            left = [sized for sized in left if sized not in whole]
    if len(left) < len(moved):
        found = moved_groups(left, budget)
    for loops, group in found:
        inner = [turn_of(*sized, loops) for sized in group]
        if any(not is_tiled(*sized, target) for sized in inner):
            loops = ()
        of_turn = target_of_turns(loops, target)
        together = tuple(plan_moved(*piece, of_turn, streams) for piece in inner) if loops else ()
        rows = staged_rows(loops, group, together, target) if together and streams and is_far else None
        if rows is not None:
            parts.append(rows)
            continue
        goes_past = streams and together and largest_of(together).store == "normal" and not _is_cached(group, target)
        if together and not goes_past:
            parts.append(Together(loops, together))
        else:
            parts += (plan for sized in group for plan in plans_alone(sized, target, streams, most))
    return tuple(parts)


def _is_cached(copies: Sequence[Sized], target: Machine) -> bool:
    """Whether the largest of several copies would be stored through the caches, where others go past them."""
    plan = plan_moved(*max(copies, key=lambda sized: sized[0].elements * sized[1]), target, streams=True)
    return plan.store == "normal"
