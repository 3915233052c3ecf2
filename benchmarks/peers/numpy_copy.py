"""NumPy: copies between strided views. It has one thread."""

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
    found = pieces(work.task.source_desc, work.task.destination_desc)
    if found is None:
        return None
    width = work.task.source_desc.element_type.bits // 8
    source, destination = work.source.bytes, work.destination.bytes
    pairs = [
        (viewed(destination, width, p.shape, p.destination), viewed(source, width, p.shape, p.source)) for p in found
    ]

    def seconds(calls: int) -> float:
        start = time.perf_counter()
        for _ in range(calls):
            for written, read in pairs:
                np.copyto(written, read)
        return time.perf_counter() - start

    return Prepared(seconds)


def viewed(buffer: Bytes, width: int, shape: tuple[int, ...], view: View | None) -> Any:
    """A view of a buffer's elements, or a zero where there is none."""
    if view is None:
        return 0
    elements = buffer.view(f"u{width}")[view.offset :]
    return as_strided(elements, shape, tuple(stride * width for stride in view.strides))
