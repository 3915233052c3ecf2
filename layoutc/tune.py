"""Tuning: the planner's best few plans of a reorder, tried on this machine."""

from __future__ import annotations

import platform
import random
import statistics
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import TYPE_CHECKING, Any

from layoutc import reference, tuned
from layoutc.buffers import address_of
from layoutc.builds import compile_all
from layoutc.descriptor import MemoryDesc
from layoutc.errors import LayoutcError
from layoutc.kernel import Kernel
from layoutc.planning.alternatives import choose_plans
from layoutc.planning.copies.strided_copy import NotStridedError
from layoutc.planning.machine import machine
from layoutc.planning.plan_text import plan_lines

if TYPE_CHECKING:
    from numpy.typing import NDArray

TRIES, ROUNDS = 16, 15
SAMPLE_S = 1e-3
"""a sample is as many calls as take this long"""
GAIN = 1.03
"""how much faster than the planner's choice another plan must be: less is noise"""
POISON = 0xA5
PAGE = 4096


@dataclass
class Candidate:
    """A plan, its kernel, and how long each call took, in seconds."""

    kernel: Kernel
    is_right: bool = True
    samples: list[float] = field(default_factory=list[float])

    @property
    def seconds(self) -> float:
        return statistics.median(self.samples)


@dataclass(frozen=True)
class Tuning:
    """What tuning a reorder found: the candidates in the planner's order, and the one that won."""

    candidates: tuple[Candidate, ...]
    best: Candidate

    @property
    def entry(self) -> dict[str, Any]:
        """What a file of tuned plans says of it."""
        kernel, first = self.best.kernel, self.candidates[0]
        key = tuned.key_of(kernel.source, kernel.destination, kernel.target, kernel.threads)
        return {
            **dict(zip(("source", "destination", "target", "threads"), key, strict=True)),
            "plan": list(kernel.plan),
            "microseconds": round(self.best.seconds * 1e6, 2),
            "planner_microseconds": round(first.seconds * 1e6, 2),
            "tried": len(self.candidates),
            "machine": this_machine(),
        }


def tune(
    source: MemoryDesc,
    destination: MemoryDesc,
    *,
    target: str = "native",
    threads: int = 1,
    tries: int = TRIES,
    rounds: int = ROUNDS,
) -> Tuning:
    """
    The fastest of the planner's first `tries` plans: the median of `rounds` samples, taken in turns.

    Each result is compared with the reference; a plan with a wrong one is out. The planner's choice stands unless
    another plan is faster by more than noise. Raises LayoutcError for a reorder that converts, or only has the plain
    plan.
    """
    if source.element_type != destination.element_type:
        raise LayoutcError(f"nothing to tune: {source.element_type} to {destination.element_type} converts")
    try:
        plans = list(islice(choose_plans(source, destination, machine(target), threads), tries))
    except NotStridedError as error:
        raise LayoutcError(f"nothing to tune: {error}") from None
    kernels = (
        Kernel(source, destination, "c", target=target, threads=threads, plan=tuple(plan_lines(plan))) for plan in plans
    )
    candidates = tuple(map(Candidate, compile_all(kernels)))
    _measure(candidates, rounds)
    right = [candidate for candidate in candidates if candidate.is_right]
    if not candidates[0].is_right:
        raise LayoutcError("the planner's choice gives a wrong result: please report this reorder")
    best = min(right, key=lambda candidate: candidate.seconds)
    return Tuning(tuple(right), best if best.seconds * GAIN < candidates[0].seconds else candidates[0])


def _measure(candidates: Sequence[Candidate], rounds: int) -> None:
    import numpy as np

    kernel = candidates[0].kernel
    read, written = _aligned(kernel.source_bytes), _aligned(kernel.destination_bytes)
    read[:] = np.random.default_rng(0).integers(0, 256, read.size, np.uint8)
    expected = np.full(written.size, POISON, np.uint8)
    reference.reorder(kernel.source, kernel.destination, read, expected)
    calls: dict[int, int] = {}
    for number, candidate in enumerate(candidates):
        written[:] = POISON
        candidate.kernel(read, written)
        candidate.is_right = bool(np.array_equal(written, expected))
        calls[number] = max(1, int(SAMPLE_S / max(_sample(candidate.kernel, read, written, 1), 1e-9)))
    order, draw = [number for number in calls if candidates[number].is_right], random.Random(0)
    for _ in range(rounds):
        draw.shuffle(order)
        for number in order:
            taken = _sample(candidates[number].kernel, read, written, calls[number])
            candidates[number].samples.append(taken)


def _sample(kernel: Kernel, read: NDArray[Any], written: NDArray[Any], calls: int) -> float:
    """Seconds of a call."""
    start = time.perf_counter()
    for _ in range(calls):
        kernel(read, written)
    return (time.perf_counter() - start) / calls


def _aligned(size: int) -> NDArray[Any]:
    """Bytes that start at a page and have been touched."""
    import numpy as np

    memory = np.full(size + PAGE, POISON, np.uint8)
    start = -address_of(memory) % PAGE
    return memory[start : start + size]


def this_machine() -> dict[str, Any]:
    """What a file of tuned plans says of where a plan was the fastest."""
    here = machine()
    return {"processor": _processor(), "vector": here.vector, "l1": here.l1, "l2": here.l2, "llc": here.llc}


def _processor() -> str:
    try:
        with open("/proc/cpuinfo", encoding="utf-8", errors="replace") as file:  # noqa: PTH123
            models = (line.split(":", 1)[1].strip() for line in file if line.startswith("model name"))
            return next(models, platform.machine())
    except OSError:
        return platform.processor() or platform.machine()
