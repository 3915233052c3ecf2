"""A rule of the planner as data: its name, what it says, and the other values that it might have."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from benchmarks.planning_changes import Change

NEVER = 1 << 62
KIB, MIB = 1 << 10, 1 << 20
IN_L2, IN_L3, IN_DRAM = 768 * KIB, 8 * MIB, 64 * MIB
CACHES = IN_L2, IN_L3


@dataclass(frozen=True)
class Rule:
    """
    A rule, in a sentence; other values by their names, as changes of what the planner has; and where it is looked at:
    bytes of both buffers together, threads, target. Rules of conversions are looked at where elements are converted;
    the C text of other values is made with them, as loops ask for them too.
    """

    name: str
    about: str
    others: Mapping[str, Mapping[str, Change]]
    footprints: tuple[int, ...]
    threads: int = 1
    target: str = "native"
    converts: bool = False

    @property
    def peers(self) -> tuple[str, ...]:
        """The names of its other values as peers of the benchmarks."""
        return tuple(f"{self.name}: {other}" for other in self.others)
