"""layoutc itself again, with a plan that it would make if one of its rules were another."""

from __future__ import annotations

from dataclasses import dataclass, replace

from benchmarks.peers import layoutc_kernel
from benchmarks.peers.work import Prepared, Work
from benchmarks.planning_changes import changed
from benchmarks.planning_rules import made_of, rule
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
        found = rule(self.rule)
        changes = found.others[self.other]
        asked = work.task, work.target, work.threads
        made = made_of(found, *asked, changes)
        if made in ((), made_of(found, *asked)):
            return None
        try:
            if not found.converts:
                return replace(layoutc_kernel.prepare(replace(work, plan=made)), facts={})
            with changed(changes):
                return replace(layoutc_kernel.prepare(work), facts={})
        except LayoutcError:
            return None
