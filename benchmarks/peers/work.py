"""One reorder as every peer is given it, and what a peer makes of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from benchmarks.buffers import Buffer, Bytes
from benchmarks.copies import Copies
from benchmarks.tasks import Task


@dataclass(frozen=True)
class Work:
    """
    A task with its buffers, which all peers share, the threads that each may use, and what layoutc compiles for.

    `parameters` are the bytes of its scales and zero points, constants too. `plan` stands in for the planner's choice.
    """

    task: Task
    source: Buffer
    destination: Buffer
    threads: int
    target: str
    parameters: dict[str, Bytes] = field(default_factory=dict[str, Bytes])
    plan: tuple[str, ...] = ()
    alignment: int = 64
    """what the destination's address is a multiple of, in bytes"""

    @property
    def arguments(self) -> dict[str, Bytes]:
        """The bytes of those that a kernel is given when it is called."""
        return {name: self.parameters[name] for name in self.task.conversion.arguments}

    @property
    def copies(self) -> Copies:
        return Copies(self.threads)


@dataclass(frozen=True)
class Prepared:
    """A reorder ready to run: `seconds(n)` is how long n calls take. `facts` are figures about its making."""

    seconds: Callable[[int], float]
    facts: dict[str, float] = field(default_factory=dict[str, float])
