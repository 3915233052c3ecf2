"""
Long rows that are read as they lie, where the processor fetches their lines by itself.

What is asked for ahead of them there takes the place of what it would fetch.
"""

from __future__ import annotations

from dataclasses import replace
from math import prod

from layoutc.planning.copies.runs import chain_of, contiguous, run_of
from layoutc.planning.machine import LINE, Machine
from layoutc.planning.moves.next_tile import goes_on, outer_loops
from layoutc.planning.plans.plan import CopyPlan, Plan, PlanPart

FETCHED_ROW = 1 << 10
"""bytes of a row, from which on nothing is asked for: 256 take as long with it as without, 64 far less with it"""
FETCHED_RUN = 4 << 10
"""bytes of a macro tile that is one run of the source, as its tiles are, from which on these need not ask either"""


def with_fetched_rows(plan: Plan, target: Machine) -> Plan:
    """The plan, whose copies of long rows do not ask for what is next."""
    if not target.fetches_rows:
        return plan
    return replace(plan, parts=tuple(_part(part) for part in plan.parts))


def _part(part: PlanPart) -> PlanPart:
    """Turns of several copies do not read on where they were."""
    return _fetched(part) if isinstance(part, CopyPlan) else part


def _fetched(plan: CopyPlan) -> CopyPlan:
    keeps_order = {part.digit for part in plan.source_lanes} == {part.digit for part in plan.target_lanes}
    reads_on = (keeps_order and row_bytes(plan) >= FETCHED_ROW) or _tiles_read_on(plan)
    return replace(plan, prefetch=0, asks="") if plan.prefetch and plan.load == "normal" and reads_on else plan


def _tiles_read_on(plan: CopyPlan) -> bool:
    """Whether tiles are one run of the source, one after the other, and go straight past the caches as they are."""
    if plan.store != "nontemporal" or plan.widths.converts or prod(plan.macro) * plan.widths.src < FETCHED_RUN:
        return False
    loops = outer_loops(plan, plan.outer_order)
    are_runs = all(run_of(plan.copy, "src", steps) == prod(steps) for steps in (plan.tile, plan.macro))
    return are_runs and bool(loops) and goes_on(plan, loops[-1])


def row_bytes(plan: CopyPlan) -> int:
    """Bytes of the source that are read in the order in which they are stored, with gaps of less than a line."""
    row, line = 1, LINE * plan.widths.src_per_byte // plan.widths.src
    in_order = zip(chain_of(plan.copy, "src", line, line), contiguous(plan.copy, "dst"), strict=False)
    for (position, step), (other, digit) in in_order:
        if position != other:
            break
        row = step * digit.loaded
    return row * plan.widths.src // plan.widths.src_per_byte
