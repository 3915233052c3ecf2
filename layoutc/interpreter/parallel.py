"""What the iterations of an scf.parallel may not do to each other."""

from __future__ import annotations

from collections.abc import Callable, Set
from dataclasses import dataclass, field

import numpy as np
from xdsl.dialects import func, scf
from xdsl.dialects.builtin import MemRefType
from xdsl.ir import SSAValue

from layoutc.interpreter.memory import Buffer, Mask
from layoutc.interpreter.memref_ops import buffer_of, is_inside, root, stored_memref
from layoutc.interpreter.values import Array

NOBODY, SEVERAL = -1, -2


@dataclass(eq=False)
class Region:
    """
    One run of an scf.parallel, and which of its iterations came to each element.

    `point` is the number of the iteration that runs, or of each that runs at once. Only `watched` buffers count,
    all if that is None: those that are stored to and were there before.
    """

    watched: Set[Buffer] | None
    point: Array = field(default_factory=lambda: np.zeros((), np.int64))
    known: dict[Buffer, Visitors] = field(default_factory=dict[Buffer, "Visitors"])

    def visitors(self, buffer: Buffer) -> Visitors | None:
        """Who came to the elements of a buffer; None if that does not matter."""
        if buffer.private or (self.watched is not None and buffer not in self.watched):
            return None
        if buffer not in self.known:
            self.known[buffer] = Visitors(buffer.data.size)
        return self.known[buffer]


@dataclass(init=False, eq=False)
class Visitors:
    """The iteration that stored to each element of a buffer, the one that loaded it: or nobody, or several."""

    stored: Array
    loaded: Array
    varied: Mask
    """where the one that stored did so more than once, and not always the same"""

    def __init__(self, size: int) -> None:
        self.stored, self.loaded = (np.full(size, NOBODY, np.int64) for _ in range(2))
        self.varied = np.zeros(size, np.bool_)

    def stored_by_another(self, offsets: Array, points: Array) -> Mask:
        return _by_another(self.stored[offsets], points)

    def loaded_by_another(self, offsets: Array, points: Array) -> Mask:
        return _by_another(self.loaded[offsets], points)

    def note_load(self, offsets: Array, point: Array) -> None:
        """
        Remember a load of the one iteration that runs.

        Those that run at once need none: they have been found to load nothing that another one stores.
        """
        if not point.ndim:
            before = self.loaded[offsets]
            self.loaded[offsets] = np.where(_by_another(before, point), SEVERAL, point)

    def note_store(self, offsets: Array, points: Array, shared: Mask, differs: Mask) -> None:
        """Remember a store; `shared` where others stored too, `differs` where another value had been stored."""
        self.stored[offsets] = np.where(shared, SEVERAL, points)
        self.varied[offsets[differs]] = True


def _by_another(who: Array, points: Array) -> Mask:
    return (who != NOBODY) & (who != points)


def watched_buffers(op: scf.ParallelOp, value_of: Callable[[SSAValue], object]) -> Set[Buffer] | None:
    """The buffers from outside that the body stores to; None where that cannot be told."""
    found: set[Buffer] = set()
    for inner in op.body.walk():
        if isinstance(inner, func.CallOp) and any(isinstance(value.type, MemRefType) for value in inner.operands):
            return None
        target = stored_memref(inner)
        if target is not None and not is_inside(root(target), op):
            found.add(buffer_of(value_of(root(target))))
    return found
