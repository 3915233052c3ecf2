"""What lies ahead of a turn: the next one, and how far on in the source copies ask for what it loads."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from layoutc.planning.machine import LINE
from layoutc.planning.moves.next_tile import LEAST_AHEAD
from layoutc.planning.plans.plan import CopyPlan
from layoutc.planning.plans.turns import SharedLoop
from layoutc.planning.together.together import NEAR

LEAST_TURNS = 3
"""turns of a loop that is asked along, where there is another around it: the last one's next turn lies elsewhere"""


def for_next_turn(plan: CopyPlan, turns: Sequence[SharedLoop], moved: int) -> CopyPlan:
    """
    The plan, which asks for what it loads in the next turn, or in one that is a line or more further on.

    Where the largest copy has few bytes in a turn that is the first one that comes in time, up to half of the loop
    further on.
    """
    moving = [loop for loop in reversed(turns) if loop.step < loop.extent]
    loops = [loop for loop in moving if loop.extent // loop.step >= LEAST_TURNS] or moving
    steps = [loop.step * loop.src for loop in loops]
    if not any(steps) or plan.copy.is_fill or not plan.target_lanes:
        return plan
    ahead = steps[0]
    if ahead < LINE:
        ahead = next((step for step in steps if LINE <= step < NEAR), ahead * -(-LINE // max(ahead, 1)))
    else:
        count = -(-LEAST_AHEAD // moved)
        ahead *= count if count <= loops[0].extent // loops[0].step // 2 else 1
    return replace(plan, prefetch=ahead // plan.element_bytes, asks="")
