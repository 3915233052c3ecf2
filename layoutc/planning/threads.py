"""How many threads a reorder is worth, and whether they write past the caches, by rules that benchmarks/ justifies."""

from __future__ import annotations

from collections.abc import Sequence

from layoutc.planning.conversions.reorder import Reorder
from layoutc.planning.copies.copy_digits import Sized
from layoutc.planning.machine import Machine
from layoutc.planning.moves.colliding_rows import evict_each_other
from layoutc.planning.moves.plan_copy import plan_moved
from layoutc.planning.reasons import because

PARALLEL_BYTES = 128 << 10
"""what a copy reads, and writes, in the mean, below which threads that wait take as long to start as they gain"""
FEW_COPIES = 4
"""as many as are counted: threads start with each, and gain more of what fills the second cache"""


def gains_by_threads(reorder: Reorder, copies: int) -> bool:
    """Whether so many copies move enough for threads to gain more than they take to start."""
    return reorder.bytes >= 2 * _least_shared(copies)


def _least_shared(copies: int) -> int:
    return PARALLEL_BYTES * min(copies, FEW_COPIES)


def worthwhile(threads: int, reorder: Reorder, copies: int) -> int:
    """As many threads as gain more than they take to start."""
    if threads == 1 or gains_by_threads(reorder, copies):
        return threads
    least = 2 * _least_shared(copies)
    because("threads", f"one, as more take as long to start as they gain where less than {least} bytes are moved")
    return 1


def goes_past_caches(reorder: Reorder, target: Machine, threads: int) -> bool:
    """
    Whether the destination is written past the caches.

    One thread gains from it long before both buffers fill the last cache; several, which have all of that, gain
    where both fill it. That is so of a last cache that is far, too: who reads the result finds it there.
    """
    destination_bytes = reorder.destination.size_bytes
    if threads == 1:
        streams, limit = destination_bytes >= target.streamed, "the destination fills a quarter of the last one"
    else:
        streams = reorder.bytes > target.llc
        limit = "both buffers fill the last one"
    because("caches", f"past them, as {limit}" if streams else f"through them, until {limit}")
    return streams


def gains_past_caches_early(copies: Sequence[Sized], destination_bytes: int, target: Machine, threads: int) -> bool:
    """
    Whether copies gain past the caches long before `goes_past_caches` says so.

    In the caches their rows would evict each other, or leave a buffer. Several threads gain then as early as one, and
    where the last cache is far both do as soon as the second one is full.
    """
    if destination_bytes < target.streamed_early or (threads == 1 and not target.llc_is_far):
        return False
    plans = [plan_moved(*copy, target, streams=False) for copy in copies]
    return any(plan.store == "aligned" or evict_each_other(plan, target) for plan in plans)
