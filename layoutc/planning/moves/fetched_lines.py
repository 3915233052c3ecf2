"""
Lines of the destination that tiles ask for before they load.

A store that straddles two lines waits for the second one where that is not in the first cache: nothing asks for it
ahead, as is done for stores of one line. What a tile stores into may be asked for while its registers are shuffled.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from layoutc.planning.copies.runs import run_of
from layoutc.planning.machine import LINE, Machine
from layoutc.planning.plans.plan import CopyPlan, Plan, PlanPart
from layoutc.planning.plans.turns import Through


def with_fetched_lines(plan: Plan, bytes_in_all: int, target: Machine) -> Plan:
    """The plan, whose tiles ask for lines where stores wait for these."""
    if not _waits(bytes_in_all, target):
        return plan
    return replace(plan, parts=tuple(_part(part) for part in plan.parts))


def _waits(bytes_in_all: int, target: Machine) -> bool:
    """Not if the first cache holds both buffers."""
    return target.waits_for_lines and bytes_in_all > target.l1


def _part(part: PlanPart) -> PlanPart:
    """What goes into a buffer on the stack finds its lines there."""
    if isinstance(part, CopyPlan):
        return _fetching(part)
    if isinstance(part, Through):
        return replace(part, out_of=tuple(_fetching(copy) for copy in part.out_of))
    if part.store == "staged":
        return part
    return replace(part, copies=tuple(_fetching(copy) for copy in part.copies))


def _fetching(plan: CopyPlan) -> CopyPlan:
    """What becomes narrower takes longer to be converted than its lines to come."""
    waits = plan.store == "normal" and plan.target_lanes and not plan.widths.narrows
    return replace(plan, fetches=True) if waits and 2 * _run(plan) >= LINE else plan


def _run(plan: CopyPlan) -> int:
    """Bytes of the shortest run of the destination that a tile stores."""
    return run_of(plan.copy, "dst", plan.tile) * plan.widths.dst // plan.widths.dst_per_byte


def line_ends(runs: Iterable[tuple[int, int, int]], line: int) -> list[tuple[int, int]]:
    """
    The last element of each line's worth of what runs are together, and of what is left, after their step.

    A run is the step of a digit that carries, and its first element and the one behind its last.
    """
    ends: list[tuple[int, int]] = []
    last: tuple[int, int] | None = None
    begin = 0
    for step, start, stop in sorted(runs):
        if last == (step, start):
            ends.pop()
        else:
            begin = start
        while stop - begin > line:
            begin += line
            ends.append((step, begin - 1))
        ends.append((step, stop - 1))
        last = step, stop
    return ends
