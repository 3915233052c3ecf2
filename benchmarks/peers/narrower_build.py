"""layoutc itself again, planned and compiled for a processor with narrower registers than this one's."""

from __future__ import annotations

from dataclasses import dataclass, replace

from benchmarks.peers import layoutc_kernel
from benchmarks.peers.work import Prepared, Work


@dataclass(frozen=True)
class NarrowerBuild:
    """The peer of a target's name, for a machine that runs what is compiled for it."""

    target: str

    def is_available(self) -> bool:
        return layoutc_kernel.is_available()

    def prepare(self, work: Work) -> Prepared:
        # The figures about its making would stand in the place of layoutc's own.
        return replace(layoutc_kernel.prepare(replace(work, target=self.target)), facts={})
