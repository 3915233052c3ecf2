"""layoutc itself. Only `compiled` knows how a kernel is asked for and where its C function is."""

from __future__ import annotations

import ctypes
import inspect
import statistics
import time
from dataclasses import dataclass
from functools import partial
from typing import Any

import layoutc
from benchmarks.copies import address_of
from benchmarks.peers.work import Prepared, Work
from layoutc.runtime import find_compiler, load


@dataclass(frozen=True)
class Compiled:
    """A kernel, the address of its C function, and how long it took to make."""

    kernel: layoutc.Kernel
    address: int
    facts: dict[str, float]


def is_available() -> bool:
    return find_compiler() is not None


def prepare(work: Work) -> Prepared:
    made = compiled(work)
    more = further_addresses(work)
    places = work.source.address, work.destination.address, len(more), (ctypes.c_void_p * len(more))(*more)
    return Prepared(partial(work.copies.timer("time_reorder"), made.address, *places), made.facts)


def further_addresses(work: Work) -> list[int]:
    """What the C function takes after source and destination: scales and zero points, then places of sums."""
    compensation = work.task.conversion.compensation
    sums = compensation.offsets_bytes(work.task.destination_desc)[:-1] if compensation else ()
    values = (data.ctypes.data for data in work.arguments.values())
    return [*values, *(work.destination.address + start for start in sums)]


def prepare_call(work: Work) -> Prepared:
    """The same kernel as Python calls it; for small tensors, the call is what costs."""
    kernel = compiled(work).kernel
    source, destination = work.source.bytes, work.destination.bytes
    given = {name: data.tobytes() for name, data in work.arguments.items()}

    def seconds(calls: int) -> float:
        start = time.perf_counter()
        for _ in range(calls):
            kernel(source, destination, **given)
        return time.perf_counter() - start

    return Prepared(seconds)


def compiled(work: Work) -> Compiled:
    """The kernel for a task, and the times of making it when everything is imported: of the text, the median of 5."""
    _ = kernel_of(work).c_source
    written = [written_in(work) for _ in range(5)]
    kernel = kernel_of(work)
    text = kernel.c_source
    start = time.perf_counter()
    function = load(kernel.shared_object(), kernel.name, (ctypes.c_void_p,) * (2 + len(further_addresses(work))))
    built = time.perf_counter() - start
    facts = {"text_ms": statistics.median(written) * 1e3, "cc_ms": built * 1e3, "c_bytes": len(text)}
    return Compiled(kernel, address_of(function), facts)


def written_in(work: Work) -> float:
    """Seconds that planning, lowering and the C text of a task take."""
    start = time.perf_counter()
    _ = kernel_of(work).c_source
    return time.perf_counter() - start


def kernel_of(work: Work) -> layoutc.Kernel:
    return layoutc.Kernel(
        work.task.source_desc, work.task.destination_desc, "c", conversion=work.task.conversion, **options(work)
    )


def options(work: Work) -> dict[str, Any]:
    """Those of the arguments that a kernel takes."""
    known = inspect.signature(layoutc.Kernel).parameters
    asked = {"threads": work.threads, "target": work.target, "plan": work.plan, "alignment": work.alignment}
    return {name: value for name, value in asked.items() if name in known}
