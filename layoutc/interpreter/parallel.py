"""What the iterations of an scf.parallel may not do to each other."""

from __future__ import annotations

from collections.abc import Callable, Set
from dataclasses import dataclass, field

import numpy as np
from xdsl.dialects import func, scf
from xdsl.ir import SSAValue

from layoutc.interpreter.accesses import buffer_of, is_inside, root, stored_memref
from layoutc.interpreter.memory import Buffer, Mask
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
    stores: dict[Buffer, Array] = field(default_factory=dict[Buffer, Array])
    loads: dict[Buffer, Array] = field(default_factory=dict[Buffer, Array])

    def watches(self, buffer: Buffer) -> bool:
        return not buffer.private and (self.watched is None or buffer in self.watched)

    def stored_by_another(self, buffer: Buffer, offsets: Array, points: Array) -> Mask:
        return _by_another(_writers(self.stores, buffer), offsets, points)

    def loaded_by_another(self, buffer: Buffer, offsets: Array, points: Array) -> Mask:
        return _by_another(_writers(self.loads, buffer), offsets, points)

    def note_store(self, buffer: Buffer, offsets: Array, points: Array) -> None:
        _writers(self.stores, buffer)[offsets] = points

    def note_load(self, buffer: Buffer, offsets: Array) -> None:
        """
        Remember a load of the one iteration that runs.

        Those that run at once need none: they have been found to load nothing that another one stores.
        """
        if self.point.ndim:
            return
        readers = _writers(self.loads, buffer)
        before = readers[offsets]
        readers[offsets] = np.where((before == NOBODY) | (before == self.point), self.point, SEVERAL)


def _writers(known: dict[Buffer, Array], buffer: Buffer) -> Array:
    if buffer not in known:
        known[buffer] = np.full(buffer.data.shape, NOBODY, np.int64)
    return known[buffer]


def _by_another(who: Array, offsets: Array, points: Array) -> Mask:
    found = who[offsets]
    return (found != NOBODY) & (found != points)


def watched_buffers(op: scf.ParallelOp, value_of: Callable[[SSAValue], object]) -> Set[Buffer] | None:
    """The buffers from outside that the body stores to; None where that cannot be told."""
    found: set[Buffer] = set()
    for inner in op.body.walk():
        if isinstance(inner, func.CallOp):
            return None
        target = stored_memref(inner)
        if target is not None and not is_inside(root(target), op):
            found.add(buffer_of(value_of(root(target))))
    return found
