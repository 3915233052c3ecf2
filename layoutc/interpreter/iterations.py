"""The loops that are running: their names, their values, and the axes of a nest that runs at once."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field

import numpy as np
from xdsl.dialects import scf

from layoutc.interpreter.values import Array


@dataclass
class Iterations:
    """
    The enclosing loops, outermost first.

    `shape` has one axis per loop of a nest that runs at once, the outermost first, so that the order of its
    elements is the order of sequential execution; axes of loops that are not entered have extent 1. It is ()
    while one iteration runs at a time.
    """

    loops: list[tuple[str, Array]] = field(default_factory=list[tuple[str, Array]])
    shape: tuple[int, ...] = ()
    entered: int = 0

    @contextmanager
    def one(self, op: scf.ForOp, value: Array) -> Generator[None]:
        """Run a loop's body for one value of its index."""
        self.loops.append((loop_name(op, len(self.loops)), value))
        yield
        self.loops.pop()

    @contextmanager
    def nest(self, depth: int) -> Generator[None]:
        """Run all iterations of a nest of `depth` loops at once."""
        self.shape = (1,) * depth
        yield
        self.shape = ()

    @contextmanager
    def all(self, op: scf.ForOp, values: Array) -> Generator[Array]:
        """Run a loop's body for all values of its index, laid along the next axis of the nest."""
        axis, before = self.entered, self.shape
        self.entered, self.shape = axis + 1, (*before[:axis], len(values), *before[axis + 1 :])
        spread = values.reshape([len(values) if a == axis else 1 for a in range(len(before))])
        with self.one(op, spread):
            yield spread
        self.entered, self.shape = axis, before

    def at(self, position: tuple[int, ...], shape: tuple[int, ...]) -> str:
        """Which iteration the element at `position` of an array of that shape belongs to: ` at n = 1, c = 3`."""
        values = (f"{name} = {np.broadcast_to(value, shape)[position]}" for name, value in self.loops)
        return f" at {', '.join(values)}" if self.loops else ""


def loop_name(op: scf.ForOp, depth: int) -> str:
    """What a loop's index is called in messages."""
    return op.body.block.args[0].name_hint or f"i{depth}"
