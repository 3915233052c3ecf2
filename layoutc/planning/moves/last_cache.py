"""
What loads ask for ahead in the last cache.

Other processes share it, and evict what lies there: then it comes from memory, and a kernel that waits for each line of
it loses more meanwhile than it brings back.
"""

from __future__ import annotations

from math import prod

from layoutc.planning.copies.copy_digits import SIDES
from layoutc.planning.machine import Machine
from layoutc.planning.moves.next_tile import along_most_turns, asking_ahead, goes_on, outer_loops
from layoutc.planning.plans.plan import CopyPlan

FOLLOWED_ROWS = 32
"""rows of a macro tile that go on in the next one, of which the processor fetches fewer by itself"""


def asking_in_last_cache(plan: CopyPlan, target: Machine) -> CopyPlan:
    """
    The plan of a transpose that the second cache does not hold, whose loads ask for the next macro tile.

    Where elements share bytes of the source, little is read.
    """
    transposes = not plan.copy.is_fill and plan.source_lanes != plan.target_lanes
    each = sum(plan.widths.of(side) / plan.widths.per_byte(side) for side in SIDES)
    is_held, reads_little = plan.copy.elements * each <= target.l2, plan.widths.src_per_byte > 1
    if target.llc_is_far or plan.prefetch or is_held or reads_little or not transposes or _is_followed(plan):
        return plan
    return along_most_turns(asking_ahead(plan), target)


def _is_followed(plan: CopyPlan) -> bool:
    """Whether the processor fetches the next macro tile by itself."""
    loops = outer_loops(plan, plan.outer_order)
    return not loops or (goes_on(plan, loops[-1]) and prod(plan.macro) < FOLLOWED_ROWS * plan.source_run)
