"""layoutc itself again, with a plan that it would make if one of its rules were another."""

from __future__ import annotations

from dataclasses import dataclass, replace

from benchmarks.peers import layoutc_kernel
from benchmarks.peers.work import Prepared, Work
from benchmarks.planning_rules import plan_of, rule
from layoutc.errors import LayoutcError


@dataclass(frozen=True)
class OtherPlan:
    """The peer that stands for another value of a rule."""

    rule: str
    other: str

    def is_available(self) -> bool:
        return layoutc_kernel.is_available()

    def prepare(self, work: Work) -> Prepared | None:
        """None if the plan is no other, or cannot be lowered."""
        changes = rule(self.rule).others[self.other]
        asked = work.task, work.target, work.threads
        plan = plan_of(*asked, changes)
        if plan == plan_of(*asked):
            return None
        try:
            return replace(layoutc_kernel.prepare(replace(work, plan=plan)), facts={})
        except LayoutcError:
            return None
