"""NumPy: copies between strided views, of other types too where there are no attributes. It has one thread."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import as_strided

from benchmarks.buffers import Bytes
from benchmarks.peers.pieces import View, pieces
from benchmarks.peers.work import Prepared, Work


def is_available() -> bool:
    return True


def prepare(work: Work) -> Prepared | None:
    read, written = work.task.source_desc.element_type, work.task.destination_desc.element_type
    attributes = work.task.conversion
    if attributes.has_attributes or attributes.compensation or min(read.bits, written.bits) < 8:
        return None
    found = pieces(work.task.source_desc, work.task.destination_desc)
    if found is None:
        return None
    # Elements that only move are integers to NumPy: of some types it knows little.
    types = [np.dtype(f"u{read.bits // 8}")] * 2 if work.task.is_move else [written.numpy, read.numpy]
    source, destination = work.source.bytes, work.destination.bytes
    pairs = [
        (viewed(destination, types[0], p.shape, p.destination), viewed(source, types[1], p.shape, p.source))
        for p in found
    ]

    def seconds(calls: int) -> float:
        start = time.perf_counter()
        for _ in range(calls):
            for to, values in pairs:
                np.copyto(to, values, casting="unsafe")
        return time.perf_counter() - start

    return Prepared(seconds)


def viewed(buffer: Bytes, type: np.dtype[Any], shape: tuple[int, ...], view: View | None) -> Any:
    """A view of a buffer's elements, or a zero where there is none."""
    if view is None:
        return 0
    elements = buffer.view(f"u{type.itemsize}")[view.offset :]
    # as_strided does not know the types of ml_dtypes.
    return as_strided(elements, shape, tuple(stride * type.itemsize for stride in view.strides)).view(type)
