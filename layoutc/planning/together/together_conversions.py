"""
Copies of a reorder that converts which run together, as they share cache lines.

Each is planned by itself first, which cuts it where need be; what is left of each in a turn of the shared loops is
planned once more, and must be one copy as well.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import prod

from layoutc.errors import LayoutcError
from layoutc.planning.conversions.converting import Converting
from layoutc.planning.conversions.merged_conversions import has_box
from layoutc.planning.conversions.plan_conversions import converting_plans
from layoutc.planning.copies.copy_digits import SIDES, SideName, StridedCopy, merged, unfused
from layoutc.planning.copies.widths import Widths
from layoutc.planning.machine import LINE, PAGE
from layoutc.planning.moves.element_tiles import with_element_tile
from layoutc.planning.moves.plan_copy import plan_moved
from layoutc.planning.plans.plan import CopyPlan
from layoutc.planning.plans.turns import SharedLoop, Together
from layoutc.planning.together.next_turn import for_next_turn
from layoutc.planning.together.plan_together import TURN_PART
from layoutc.planning.together.shared_lines import around_runs, largest_of, out_of_buffers
from layoutc.planning.together.together import Measured, alike, groups, line_bytes, with_runs
from layoutc.planning.together.turn_copies import reduced, restored, target_of_turns

LEAST_SAVED, STAGED_SAVED = 0.04, 0.1
"""
of what copies move of lines one after the other: as much less must they move together, and where the largest leaves a
buffer by whole lines even alone
"""
MOST_PAGES, MOSTLY_SAVED = 512, 1 / 3
"""pages of the source in a turn, past which copies must move so much less"""
CONVERTED_TURN, MOST_CONVERTED_TURN = 8 << 10, 128 << 10
"""bytes that copies write in a turn out of a buffer that they share, about and at most"""


def with_shared_loops(plans: Sequence[CopyPlan], how: Converting) -> tuple[CopyPlan | Together, ...]:
    """
    The copies, those together that share lines; in the order of the first of each.

    What the destination holds counts once, and threads must not write parts of a byte: such copies run alone.
    """
    if how.adds or (how.threads > 1 and how.widths.dst_per_byte > 1):
        return tuple(plans)
    measured = alike([(merged(unfused(plan.copy)), plan.widths) for plan in plans])
    numbers = list(range(len(plans)))
    parts: list[CopyPlan | Together] = []
    for loops, group in groups(measured, how.target.l2 // TURN_PART):
        alone = [_taken(measured, numbers, each) for each in group]
        each = [plans[number] for number in alone]
        parts += (_together(loops, group, each, how) if loops else None) or each
    return tuple(parts)


def _taken(measured: Sequence[Measured], numbers: list[int], each: Measured) -> int:
    """The number of a copy that no other group has taken."""
    found = next(number for number in numbers if measured[number] is each)
    numbers.remove(found)
    return found


def _together(
    loops: Sequence[SharedLoop], group: Sequence[Measured], alone: Sequence[CopyPlan], how: Converting
) -> list[Together] | None:
    """The copies together, out of a buffer that they share if they have one; none if they run alone."""
    if (staged := _staged(loops, group, alone, how)) is not None:
        return [staged]
    turns = _turns(loops, group, alone, how)
    return [Together(tuple(loops), turns)] if turns else None


def _staged(
    loops: Sequence[SharedLoop], group: Sequence[Measured], alone: Sequence[CopyPlan], how: Converting
) -> Together | None:
    """
    Copies that fill whole lines together, past the caches, in turns of a run of the destination, or of rows of such.

    What each leaves of a line by itself goes through the caches, and waits for memory.
    """
    if not how.streams or how.widths.dst_per_byte > 1 or largest_of(alone).store == "nontemporal":
        return None
    turns = with_runs(around_runs(loops, group), [(copy, widths.dst) for copy, widths in group], CONVERTED_TURN)
    turns = [replace(loop, step=loop.extent) if 0 < loop.src < LINE else loop for loop in turns]
    least = STAGED_SAVED if largest_of(alone).stages_stores else LEAST_SAVED
    if all(loop.step == loop.extent for loop in turns) or not _saves(turns, group, alone, least):
        return None
    into_buffer = replace(how, target=target_of_turns(turns, how.target), streams=False)
    planned = _each_turn(turns, group, alone, into_buffer)
    moved = sum(plan.copy.elements * plan.widths.dst for plan in planned)
    asking = [for_next_turn(plan, turns, moved, how.target) for plan in planned]
    return out_of_buffers(turns, asking, has_rows=True, most=MOST_CONVERTED_TURN) if asking else None


def _turns(
    loops: Sequence[SharedLoop], group: Sequence[Measured], alone: Sequence[CopyPlan], how: Converting
) -> tuple[CopyPlan, ...]:
    """What each copy does in a turn; nothing where one would be several, or where they go past the caches alone."""
    if not _saves(loops, group, alone):
        return ()
    found = _each_turn(loops, group, alone, replace(how, target=target_of_turns(loops, how.target)))
    if not found:
        return ()
    stays = largest_of(found).store != "normal" or largest_of(alone).store == "normal"
    return tuple(found) if stays and not any(map(_goes_straight_alone, alone, found)) else ()


def _each_turn(
    loops: Sequence[SharedLoop], group: Sequence[Measured], alone: Sequence[CopyPlan], how: Converting
) -> list[CopyPlan]:
    """What each copy does in a turn; nothing where one would be several."""
    found: list[CopyPlan] = []
    turns = prod(-(-loop.extent // loop.step) for loop in loops)
    for (copy, widths), plan in zip(group, alone, strict=True):
        planned = _planned(reduced(copy, widths, loops), plan, how)
        if len(planned) != 1 or not _is_turn(planned[0], copy, loops):
            return []
        (turn,) = planned
        # What is too little for a tile in one turn is not in all of them.
        found.append(turn if turn.target_lanes else with_element_tile(turn, turns=turns))
    return found


def _goes_straight_alone(alone: CopyPlan, turn: CopyPlan) -> bool:
    """Whether a copy needs no buffer for whole lines if it runs by itself, and one in turns."""
    return alone.store == "nontemporal" != turn.store


def _saves(
    loops: Sequence[SharedLoop], group: Sequence[Measured], alone: Sequence[CopyPlan], least: float = LEAST_SAVED
) -> bool:
    """Whether copies move far fewer lines together than apart, or somewhat fewer in turns of few pages."""
    apart = together = 0
    for side in SIDES:
        here = [(each, plan) for each, plan in zip(group, alone, strict=True) if side == "dst" or not each[0].is_fill]
        # What is stored through the caches is read first.
        lines = [line_bytes(*each, side) * _times(plan, side) for each, plan in here]
        moved = [(each[1].bytes(side, each[0].elements) or 0) * _times(plan, side) for each, plan in here]
        apart += sum(lines)
        together += max(max(lines, default=0), sum(moved))
    pages = sum(_pages(reduced(*each, loops), each[1]) for each in group if not each[0].is_fill)
    return apart - together >= apart * (MOSTLY_SAVED if pages > MOST_PAGES else least)


def _times(plan: CopyPlan, side: SideName) -> int:
    return 2 if side == "dst" and plan.store == "normal" else 1


def _pages(copy: StridedCopy, widths: Widths) -> int:
    """About how many pages of the source a copy has a part of."""
    return line_bytes(copy, widths, "src", PAGE) // PAGE


def _planned(turn: StridedCopy, alone: CopyPlan, how: Converting) -> list[CopyPlan]:
    """The plans of a turn of a copy."""
    if not alone.widths.converts:
        return [plan_moved(turn, alone.widths.src, how.target, how.streams)]
    is_box = turn.is_uneven and turn.is_whole
    if is_box and not has_box(turn, how.widths, how.target):
        return []
    return list(converting_plans([turn], how))


def _is_turn(plan: CopyPlan, copy: StridedCopy, loops: Sequence[SharedLoop]) -> bool:
    """Whether a plan is one of a turn of a copy."""
    try:
        return merged(restored(unfused(plan.copy), plan.widths, loops)) == merged(copy)
    except LayoutcError:
        return False
