"""
What loads ask for ahead in the last cache.

Other processes share it, and evict what lies there: then it comes from memory, and a kernel that waits for each line of
it loses more meanwhile than it brings back.
"""

from __future__ import annotations

from dataclasses import replace
from math import prod

from layoutc.planning.copies.copy_digits import SIDES
from layoutc.planning.machine import Machine
from layoutc.planning.moves.next_tile import along_most_turns, asking_ahead, goes_on, outer_loops
from layoutc.planning.plans.plan import CopyPlan
from layoutc.planning.tiles.lines_in_turn import lines_in_turn

FOLLOWED_ROWS = 32
"""rows of a macro tile that go on in the next one, of which the processor fetches fewer by itself"""
LINE_LOADS = 4
"""loads of a line, of several tiles, from which on these ask for it once: each load would ask for the same again"""


def asking_in_last_cache(plan: CopyPlan, target: Machine) -> CopyPlan:
    """
    The plan of a transpose that the second cache does not hold, whose loads ask for the next macro tile.

    Where elements share bytes of the source, little is read. A last cache that is far has too much in flight for other
    lines than those that rows go on with.
    """
    is_row = plan.copy.is_fill or plan.keeps_rows
    each = sum(plan.widths.of(side) / plan.widths.per_byte(side) for side in SIDES)
    is_held, reads_little = plan.copy.elements * each <= target.l2, plan.widths.src_per_byte > 1
    by_tiles = _loads_small_parts(plan)
    if plan.prefetch or is_held or reads_little or is_row:
        return plan
    loops = outer_loops(plan, plan.outer_order)
    continues = bool(loops) and goes_on(plan, loops[-1])
    is_followed = not loops or (continues and prod(plan.macro) < FOLLOWED_ROWS * plan.source_run)
    if (is_followed and not by_tiles) or (target.llc_is_far and not continues):
        return plan
    asking = along_most_turns(asking_ahead(plan), target)
    return replace(asking, asks="by tiles") if by_tiles and asking.prefetch else asking


def _loads_small_parts(plan: CopyPlan) -> bool:
    """Whether many loads, of several tiles, take parts of a line."""
    lines = lines_in_turn(plan) if plan.load == "normal" and plan.macro != plan.tile else None
    return lines is not None and lines.turns >= LINE_LOADS
