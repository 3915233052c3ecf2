"""What lies ahead of a turn: the next one, and how far on in the source copies ask for what it loads."""

from __future__ import annotations

from collections.abc import Sequence

from layoutc.planning.machine import LINE, Machine
from layoutc.planning.moves.next_tile import HELD_AHEAD, LEAST_AHEAD
from layoutc.planning.plans.plan import CopyPlan
from layoutc.planning.plans.turns import SharedLoop
from layoutc.planning.together.together import NEAR


def for_next_turn(plan: CopyPlan, turns: Sequence[SharedLoop], moved: int, target: Machine) -> CopyPlan:
    """
    The plan, which asks for what it loads in the next turn, or in one that is a line or more further on.

    Where copies have few bytes in a turn, `moved`, that is the first one that comes in time, up to half of the loop
    further on.
    """
    loops, moved = _from_most_turns(turns, moved, target)
    steps = [loop.step * loop.src for loop in loops]
    if not any(steps) or plan.copy.is_fill or not plan.target_lanes:
        return plan
    ahead = steps[0]
    if ahead < LINE:
        ahead = next((step for step in steps if LINE <= step < NEAR), ahead * -(-LINE // max(ahead, 1)))
    else:
        count = -(-LEAST_AHEAD // moved)
        ahead *= count if count <= loops[0].extent // loops[0].step // 2 else 1
    return plan.because("prefetch", "for what comes next", prefetch=ahead // plan.widths.src, asks="")


def _from_most_turns(turns: Sequence[SharedLoop], moved: int, target: Machine) -> tuple[Sequence[SharedLoop], int]:
    """
    The loops from that of most turns outwards, the innermost first, and the bytes that pass in a turn of that one; one
    around so many bytes that the second cache does not hold what is asked for is none.

    A turn of the innermost moves so many bytes. In the last one of a loop the next one lies elsewhere: of a loop of
    three every third.
    """
    loops = [loop for loop in reversed(turns) if loop.step < loop.extent]
    most, found, passing = 0, 0, moved
    for number, loop in enumerate(loops):
        if moved > HELD_AHEAD * target.l2:
            break
        count = -(-loop.extent // loop.step)
        if loop.src and count > most:
            most, found, passing = count, number, moved
        moved *= count
    return loops[found:], passing
