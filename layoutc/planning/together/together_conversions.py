"""
Copies of a reorder that converts which run together, as they share cache lines.

Each is planned by itself first, which cuts it where need be; what is left of each in a turn of the shared loops is
planned once more, and must be one copy as well.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from layoutc.errors import LayoutcError
from layoutc.planning.conversions.converting import Converting
from layoutc.planning.conversions.merged_conversions import has_box
from layoutc.planning.conversions.plan_conversions import converting_plans
from layoutc.planning.copies.copy_digits import SIDES, SideName, StridedCopy, merged, unfused
from layoutc.planning.copies.widths import Widths
from layoutc.planning.machine import PAGE
from layoutc.planning.moves.plan_copy import plan_moved
from layoutc.planning.plans.plan import CopyPlan
from layoutc.planning.plans.turns import SharedLoop, Together
from layoutc.planning.together.plan_together import TURN_PART
from layoutc.planning.together.shared_lines import largest_of
from layoutc.planning.together.together import Measured, alike, groups, line_bytes
from layoutc.planning.together.turn_copies import reduced, restored, target_of_turns

LEAST_SAVED = 0.04
"""of what copies move of lines one after the other: as much less must they move together"""
MOST_PAGES, MOSTLY_SAVED = 512, 1 / 3
"""pages of the source in a turn, past which copies must move so much less"""


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
        turns = _turns(loops, group, [plans[number] for number in alone], how) if loops else ()
        parts += [Together(loops, turns)] if turns else [plans[number] for number in alone]
    return tuple(parts)


def _taken(measured: Sequence[Measured], numbers: list[int], each: Measured) -> int:
    """The number of a copy that no other group has taken."""
    found = next(number for number in numbers if measured[number] is each)
    numbers.remove(found)
    return found


def _turns(
    loops: Sequence[SharedLoop], group: Sequence[Measured], alone: Sequence[CopyPlan], how: Converting
) -> tuple[CopyPlan, ...]:
    """What each copy does in a turn; nothing where one would be several, or where they go past the caches alone."""
    if not _saves(loops, group, alone):
        return ()
    of_turn = replace(how, target=target_of_turns(loops, how.target))
    found: list[CopyPlan] = []
    for (copy, widths), plan in zip(group, alone, strict=True):
        turn = reduced(copy, widths, loops)
        planned = _planned(turn, plan, of_turn)
        if len(planned) != 1 or not _is_turn(planned[0], copy, loops):
            return ()
        found += planned
    stays = largest_of(found).store != "normal" or largest_of(alone).store == "normal"
    return tuple(found) if stays and not any(map(_goes_straight_alone, alone, found)) else ()


def _goes_straight_alone(alone: CopyPlan, turn: CopyPlan) -> bool:
    """Whether a copy needs no buffer for whole lines if it runs by itself, and one in turns."""
    return alone.store == "nontemporal" != turn.store


def _saves(loops: Sequence[SharedLoop], group: Sequence[Measured], alone: Sequence[CopyPlan]) -> bool:
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
    return apart - together >= apart * (MOSTLY_SAVED if pages > MOST_PAGES else LEAST_SAVED)


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
