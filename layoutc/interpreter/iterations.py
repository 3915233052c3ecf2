"""The loops that are running: their names, their values, and the axes of a nest that runs at once."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

import numpy as np
from xdsl.dialects import scf

from layoutc.interpreter.memory import Mask
from layoutc.interpreter.parallel import Region
from layoutc.interpreter.values import Array


@dataclass
class Iterations:
    """
    The enclosing loops, outermost first, and what holds for the whole run.

    `shape` has one axis per loop of a nest that runs at once, the outermost first, so that the order of its
    elements is the order of sequential execution; axes of loops that are not entered have extent 1. It is ()
    while one iteration runs at a time. `active` says which of them are in this branch of an scf.if, None for all.
    """

    rewrite_same: bool = False
    """a second store of the same value counts as none"""
    region: Region | None = None
    """the scf.parallel that runs"""
    loops: list[tuple[str, Array]] = field(default_factory=list[tuple[str, Array]])
    shape: tuple[int, ...] = ()
    entered: int = 0
    active: Mask | None = None

    @contextmanager
    def one(self, names: Sequence[str], values: Sequence[Array]) -> Generator[None]:
        """Run a loop's body for one value of its index, or of each of its indices."""
        self.loops += zip(names, values, strict=True)
        yield
        del self.loops[-len(values) :]

    @contextmanager
    def nest(self, depth: int) -> Generator[None]:
        """Run all iterations of a nest of `depth` loops at once."""
        self.shape = (1,) * depth
        yield
        self.shape = ()

    @contextmanager
    def all(self, names: Sequence[str], values: Sequence[Array]) -> Generator[tuple[Array, ...]]:
        """Run a loop's body for all values of its index, or indices, laid along the next axis of the nest."""
        axis, before = self.entered, self.shape
        count = len(values[0])
        self.entered, self.shape = axis + 1, (*before[:axis], count, *before[axis + 1 :])
        spread = tuple(self.spread(value, axis) for value in values)
        with self.one(names, spread):
            yield spread
        self.entered, self.shape = axis, before

    def spread(self, values: Array, axis: int) -> Array:
        """One value per iteration of the loop of an axis, against all axes."""
        return values.reshape([len(values) if a == axis else 1 for a in range(len(self.shape))])

    @contextmanager
    def where(self, condition: Mask) -> Generator[bool]:
        """Run a branch for those iterations only; whether there are any."""
        before = self.active
        inside = condition if before is None else before & condition
        self.active = None if inside.all() else inside
        yield bool(inside.any())
        self.active = before

    def at(self, position: tuple[int, ...]) -> str:
        """Which iteration the element at `position`, whose first axes are `shape`, belongs to: ` at n = 1, c = 3`."""
        place = position[: len(self.shape)]
        values = (f"{name} = {np.broadcast_to(value, self.shape)[place]}" for name, value in self.loops)
        return f" at {', '.join(values)}" if self.loops else ""


def loop_names(op: scf.ForOp | scf.ParallelOp, depth: int) -> list[str]:
    """What a loop's indices are called in messages."""
    indices = op.body.block.args[: 1 if isinstance(op, scf.ForOp) else None]
    return [index.name_hint or f"i{depth + place}" for place, index in enumerate(indices)]
