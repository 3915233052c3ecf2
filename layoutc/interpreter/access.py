"""Loads and stores, of one element or of many, each checked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from xdsl.ir import Operation, SSAValue

from layoutc.interpreter.iterations import Iterations
from layoutc.interpreter.memory import Buffer, Mask, MemRef
from layoutc.interpreter.parallel import NOBODY
from layoutc.interpreter.values import Array, Fault, OutOfOrder
from layoutc.once import once


@dataclass
class Access:
    """
    The elements of one memref that one op reaches.

    `indices` broadcast to `shape`: the axes of the iterations that run at once, in sequential order, then those
    of what one iteration reaches. `mask`, if any, says which of all these elements are meant.
    """

    op: Operation
    operand: SSAValue
    memref: MemRef
    indices: Sequence[Array]
    iterations: Iterations
    shape: tuple[int, ...]
    mask: Mask | None = None

    def load(self) -> Array:
        """The values; faults outside of the memref and on undefined elements."""
        if self._active is not None and not self._active.any():
            return np.zeros(self.shape, self.memref.dtype)
        buffer, offsets = self.memref.buffer, self._offsets()
        self._refuse(~buffer.defined[offsets], "is undefined")
        region = self.iterations.region
        if region is not None and (visitors := region.visitors(buffer)) is not None:
            another = visitors.stored_by_another(offsets, self._per_element(region.point))
            self._refuse(another, "is stored by another iteration of the scf.parallel")
            visitors.note_load(offsets if self._active is None else offsets[self._active], region.point)
        return np.asarray(buffer.data[offsets]).view(self.memref.dtype)

    def store(self, values: Array) -> None:
        """Write the values; the last one in sequential order stays, unless a second one is refused."""
        if self._active is not None and not self._active.any():
            return
        self._refuse(np.asarray(not self.memref.buffer.writable), "is read-only")
        offsets, bits = self._flat(self._offsets()), self._flat(values.view(self.memref.buffer.data.dtype))
        _Store(self, offsets, bits).run()

    # --- places --------------------------------------------------------------------------------------------------

    @once
    def _active(self) -> Mask | None:
        """Which elements of the shape are meant; None for all."""
        active = self.iterations.active
        if active is None:
            return None if self.mask is None else np.broadcast_to(self.mask, self.shape)
        active = self._per_element(active)
        return np.broadcast_to(active if self.mask is None else active & self.mask, self.shape)

    def _per_element(self, values: Array) -> Array:
        """What is known of iterations, for the elements that each one reaches."""
        return values[(..., *[None] * (len(self.shape) - len(self.iterations.shape)))]

    def _flat(self, values: Array) -> Array:
        """Those of the elements that are meant, in sequential order."""
        everywhere = np.broadcast_to(values, self.shape)
        return everywhere.reshape(-1) if self._active is None else everywhere[self._active]

    def flat_points(self, points: Array) -> Array:
        """The number of the iteration that each of the elements that are meant belongs to."""
        return self._flat(self._per_element(points))

    def _offsets(self) -> Array:
        """Where the elements are in the buffer; those that are not meant are taken to be at 0."""
        memref = self.memref
        self._refuse(np.asarray(memref.buffer.freed), "is deallocated")
        if len(self.indices) != len(memref.shape):
            raise Fault(f"{self.op.name}: no interpretation for a memref with a layout that is lowered")
        extent = "x".join(map(str, memref.shape)) or "1"
        for index, size in zip(self.indices, memref.shape, strict=True):
            self._refuse((index < 0) | (index >= size), f"is outside of {extent} elements")
        offsets = memref.offset_of(self.indices)
        self._refuse((offsets < 0) | (offsets >= memref.room), f"is outside of {memref.room} elements of memory")
        offsets = offsets + self._per_element(np.asarray(memref.base))
        return offsets if self._active is None else np.where(self._active, offsets, 0)

    # --- errors --------------------------------------------------------------------------------------------------

    def refuse_flat(self, bad: Mask, what: str) -> None:
        """Fault for the first of the elements that are meant at which `bad` holds."""
        if bad.any():
            everywhere = np.zeros(self.shape, np.bool_)
            everywhere[np.ones(self.shape, np.bool_) if self._active is None else self._active] = bad
            self._refuse(everywhere, what)

    def _refuse(self, bad: Array, what: str) -> None:
        """Fault for the first element, in sequential order, at which `bad` holds."""
        if self._active is not None:
            bad = bad & self._active
        if not bad.any():
            return
        shape = self.shape
        position = np.unravel_index(int(np.broadcast_to(bad, shape).argmax()), shape)
        place = tuple(map(int, position))
        index = [int(np.broadcast_to(i, shape)[place]) for i in self.indices]
        offset = int(np.broadcast_to(self.memref.offset_of(self.indices), shape)[place])
        element = f"%{self.operand.name_hint or 'memref'}[{', '.join(map(str, index))}]"
        if index != [offset]:
            element += f" (offset {offset})"
        raise Fault(f"{self.op.name}: {element} {what}{self.iterations.at(place)}")


@dataclass
class _Store:
    """A store as flat arrays: where to, which bits."""

    access: Access
    offsets: Array
    bits: Array

    def run(self) -> None:
        buffer, offsets, bits = self.access.memref.buffer, self.offsets, self.bits
        repeated = _has_repeats(offsets, buffer.data.size)
        first = _first_of_each(offsets) if repeated else np.arange(offsets.size)
        self._check_scratch(buffer)
        self._check_race(buffer, first)
        self._check_write_once(buffer, first)
        if repeated:
            last = _last_of_each(offsets)
            offsets, bits = offsets[last], bits[last]
        buffer.data[offsets] = bits
        buffer.defined[offsets] = True

    def _check_write_once(self, buffer: Buffer, first: Array) -> None:
        if buffer.written is None:
            return
        earlier = buffer.written[self.offsets]
        again = earlier | (first != np.arange(first.size))
        if self.access.iterations.rewrite_same:
            again = self._differs(buffer, earlier, first)
        self.access.refuse_flat(again, "is written a second time")
        buffer.written[self.offsets] = True

    def _check_race(self, buffer: Buffer, first: Array) -> None:
        region = self.access.iterations.region
        visitors = None if region is None else region.visitors(buffer)
        if region is None or visitors is None:
            return
        offsets, points = self.offsets, self.access.flat_points(region.point)
        loaded = visitors.loaded_by_another(offsets, points)
        self.access.refuse_flat(loaded, "is loaded by another iteration of the scf.parallel")
        follows = points != points[first]
        shared = visitors.stored_by_another(offsets, points) | follows
        differs = self._differs(buffer, visitors.stored[offsets] != NOBODY, first)
        raced = shared
        if self.access.iterations.rewrite_same:
            shared = shared | _any_alike(follows, first)
            raced = shared & (differs | visitors.varied[offsets])
        self.access.refuse_flat(raced, "is stored by another iteration of the scf.parallel")
        visitors.note_store(offsets, points, shared, differs)

    def _differs(self, buffer: Buffer, earlier: Mask, first: Array) -> Mask:
        """Where the bits are not those that were stored `earlier`, or that the store's first one to an element has."""
        return np.where(earlier, buffer.data[self.offsets], self.bits[first]) != self.bits

    def _check_scratch(self, buffer: Buffer) -> None:
        """Scratch memory of iterations that run at once does not know in which order ops came to an element."""
        if buffer.scratch and (buffer.defined[self.offsets] & (buffer.data[self.offsets] != self.bits)).any():
            raise OutOfOrder


def _has_repeats(offsets: Array, size: int) -> bool:
    """Whether an offset below `size` occurs twice: each one keeps the number of a single writer."""
    if offsets.size < 2:
        return False
    numbers = np.arange(offsets.size)
    writer = np.empty(size, np.int64)
    writer[offsets] = numbers
    return bool((writer[offsets] != numbers).any())


def _first_of_each(offsets: Array) -> Array:
    """For each offset, where it occurs first."""
    _, first, which = np.unique(offsets, return_index=True, return_inverse=True)
    return first[which]


def _any_alike(holds: Mask, first: Array) -> Mask:
    """Whether something holds for any occurrence of the same offset."""
    found = np.zeros(holds.shape, np.bool_)
    found[first[holds]] = True
    return found[first]


def _last_of_each(offsets: Array) -> Array:
    """Where each distinct offset occurs last. NumPy does not promise an order for repeated indices."""
    _, from_the_end = np.unique(offsets[::-1], return_index=True)
    return offsets.size - 1 - from_the_end
