"""Memory to measure on: aligned, touched, with a canary behind it."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

PAGE = 4096
APART = 1 << 20
"""
bytes that nobody touches, ahead of a buffer and behind it: what a processor fetches ahead of the source of one thread
would else be lines of the destination that another has written
"""
POISON = 0xA5
Bytes = NDArray[np.uint8]


class Buffer:
    """
    `size` bytes, `offset` behind the start of a page, then a page of canary and room for `room` bytes in all.

    `room` is for the copies, which move another number of bytes than the reorder needs on one side, from its start.
    """

    def __init__(self, size: int, room: int = 0, offset: int = 0) -> None:
        touched = max(size + offset, room) + 2 * PAGE
        around = np.empty(touched + 2 * APART, np.uint8)
        self.memory = around[APART + -around.ctypes.data % PAGE :][:touched]
        self.bytes: Bytes = self.memory[offset : offset + size]
        self._canary: Bytes = self.memory[offset + size : offset + size + PAGE]
        self.poison()

    def poison(self) -> None:
        """Overwrite all of it."""
        self.memory.fill(POISON)

    @property
    def is_canary_alive(self) -> bool:
        """Whether nothing was written behind the buffer since it was poisoned."""
        return bool((self._canary == POISON).all())

    @property
    def address(self) -> int:
        return self.bytes.ctypes.data


def fill(buffer: Buffer, element_bytes: int, seed: int, *, is_float: bool = False) -> None:
    """
    Random elements, each of them a normal number if it is read as a float; single bytes only where they are floats.

    Peers that compute instead of copying would change others: quiet a NaN, flush a denormal, lose the sign of a zero.
    """
    draw = np.random.default_rng(seed)
    data: Any = buffer.bytes
    data[:] = np.frombuffer(draw.bytes(data.size), np.uint8)
    if element_bytes > 1 or is_float:
        top = data[element_bytes - 1 :: element_bytes]
        top &= 0x1F
        top |= 0x20
