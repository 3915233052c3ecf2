"""memcpy, split among the threads where that makes it faster."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from benchmarks.peers.work import Prepared, Work

TRIALS = 7


def is_available() -> bool:
    return True


def prepare(work: Work) -> Prepared:
    return prepare_copy(work, "copy_cached")


def prepare_copy(work: Work, function: str) -> Prepared:
    """A function of copies.c that moves as many bytes as the reorder; with one thread where more are no faster."""
    buffers = work.destination.memory.ctypes.data, work.source.address, work.task.moved_bytes
    copy = partial(work.copies.timer("time_copy"), work.copies.address(function), *buffers)
    choices = [partial(copy, threads) for threads in sorted({1, work.threads})]
    return Prepared(min(choices, key=shortest) if len(choices) > 1 else choices[0])


def shortest(seconds: Callable[[int], float]) -> float:
    """The shortest of some calls, each after one that is not timed."""
    return min((seconds(1), seconds(1))[1] for _ in range(TRIALS))
