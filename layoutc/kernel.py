"""Kernel: one reorder, compiled once and called on buffers."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

from layoutc.buffers import as_buffer, check_disjoint
from layoutc.descriptor import MemoryDesc
from layoutc.errors import LayoutcError

if TYPE_CHECKING:
    import numpy as np

Executor = Literal["c", "interpret", "reference"]


@dataclass(frozen=True)
class Kernel:
    """
    A reorder from `source` to `destination`, run by one executor.

    Calling it takes two C-contiguous buffers of exactly `size_bytes` of the descriptors, which must not
    overlap; the second is written. All executors write the same bytes.
    """

    source: MemoryDesc
    destination: MemoryDesc
    executor: Executor
    name: str = "reorder"

    def __call__(self, source: Any, destination: Any) -> None:
        """
        Reorders the bytes of `source` into `destination`.

        Raises BufferError for a buffer of another size, a read-only destination, or overlapping buffers.
        """
        read = as_buffer(source, self.source.size_bytes, writable=False)
        written = as_buffer(destination, self.destination.size_bytes, writable=True)
        check_disjoint(read, written)
        self._run(read, written)
