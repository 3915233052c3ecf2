"""Loads and stores, of one element or of one per iteration, each checked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from xdsl.ir import Operation, SSAValue

from layoutc.interpreter.iterations import Iterations
from layoutc.interpreter.memory import Buffer, MemRef
from layoutc.interpreter.values import Array, Fault


@dataclass
class Access:
    """The elements of one memref that one op reaches: `indices` broadcast to `shape`, in sequential order."""

    op: Operation
    operand: SSAValue
    memref: MemRef
    indices: Sequence[Array]
    iterations: Iterations
    shape: tuple[int, ...]

    def load(self) -> Array:
        """The values; faults outside of the memref and on undefined elements."""
        buffer = self.memref.buffer
        offsets = self._offsets()
        self._refuse(~buffer.defined[offsets], "is undefined")
        return np.asarray(buffer.data[offsets]).view(self.memref.dtype)

    def store(self, values: Array) -> None:
        """Write the values; the last one in sequential order stays, unless the buffer is write-once."""
        buffer = self.memref.buffer
        everywhere = np.broadcast_to(self._offsets(), self.shape).reshape(-1)
        bits = np.broadcast_to(values.view(buffer.data.dtype), self.shape).reshape(-1)
        self._refuse(np.asarray(not buffer.writable), "is read-only")
        repeated = _has_repeats(everywhere, buffer.data.size)
        if buffer.written is not None:
            self._write_once(buffer, everywhere, repeated)
        elif repeated:
            last = _last_of_each(everywhere)
            everywhere, bits = everywhere[last], bits[last]
        buffer.data[everywhere] = bits
        buffer.defined[everywhere] = True

    def _write_once(self, buffer: Buffer, offsets: Array, repeated: bool) -> None:
        assert buffer.written is not None
        again = buffer.written[offsets]
        if repeated:
            again |= _after_the_first(offsets)
        self._refuse(again.reshape(self.shape), "is written a second time")
        buffer.written[offsets] = True

    def _offsets(self) -> Array:
        memref = self.memref
        self._refuse(np.asarray(memref.buffer.freed), "is deallocated")
        extent = "x".join(map(str, memref.shape)) or "1"
        for index, size in zip(self.indices, memref.shape, strict=True):
            self._refuse((index < 0) | (index >= size), f"is outside of {extent} elements")
        offsets = memref.offset_of(self.indices)
        size = memref.buffer.data.size
        self._refuse((offsets < 0) | (offsets >= size), f"is outside of {size} elements of memory")
        return offsets

    def _refuse(self, bad: Array, what: str) -> None:
        """Fault for the first element, in sequential order, at which `bad` holds."""
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
        raise Fault(f"{self.op.name}: {element} {what}{self.iterations.at(place, shape)}")


def _has_repeats(offsets: Array, size: int) -> bool:
    """Whether an offset below `size` occurs twice: each one keeps the number of a single writer."""
    if offsets.size < 2:
        return False
    numbers = np.arange(offsets.size)
    writer = np.empty(size, np.int64)
    writer[offsets] = numbers
    return bool((writer[offsets] != numbers).any())


def _last_of_each(offsets: Array) -> Array:
    """Where each distinct offset occurs last. NumPy does not promise an order for repeated indices."""
    _, from_the_end = np.unique(offsets[::-1], return_index=True)
    return offsets.size - 1 - from_the_end


def _after_the_first(offsets: Array) -> Array:
    """Which occurrences of an offset are not its first."""
    _, first = np.unique(offsets, return_index=True)
    again = np.ones(offsets.shape, np.bool_)
    again[first] = False
    return again
