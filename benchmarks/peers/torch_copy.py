"""PyTorch on the CPU: copies between strided views, with the threads that it is told to use."""

from __future__ import annotations

import time
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from benchmarks.buffers import Bytes
from benchmarks.peers.pieces import View, pieces
from benchmarks.peers.work import Prepared, Work


def is_available() -> bool:
    return find_spec("torch") is not None


def prepare(work: Work) -> Prepared | None:
    found = pieces(work.task.source_desc, work.task.destination_desc) if work.task.moves_bytes else None
    if found is None:
        return None
    import_module("torch").set_num_threads(work.threads)
    width = work.task.source_desc.element_type.bits // 8
    source, destination = work.source.bytes, work.destination.bytes
    pairs = [
        (viewed(destination, width, p.shape, p.destination), viewed(source, width, p.shape, p.source)) for p in found
    ]

    def seconds(calls: int) -> float:
        start = time.perf_counter()
        for _ in range(calls):
            for written, read in pairs:
                written.zero_() if read is None else written.copy_(read)
        return time.perf_counter() - start

    return Prepared(seconds)


def viewed(buffer: Bytes, width: int, shape: tuple[int, ...], view: View | None) -> Any:
    """A tensor over a buffer's elements; signed, as torch has most for those."""
    if view is None:
        return None
    tensor = import_module("torch").from_numpy(buffer.view(f"i{width}"))
    return tensor.as_strided(shape, view.strides, view.offset)
