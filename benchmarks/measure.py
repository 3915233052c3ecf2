"""One task with all peers: prepared, checked, and timed in turns."""

from __future__ import annotations

import random
import statistics
import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from math import ceil, gcd
from typing import Any

import numpy as np

from benchmarks import checking, checking_values
from benchmarks.buffers import Buffer, Bytes, fill
from benchmarks.peers import BUILDS, COPIES, Peer, Prepared, Work
from benchmarks.peers.layoutc_kernel import prepare_call
from benchmarks.tasks import Task
from benchmarks.values import fill_values, parameters
from layoutc.planning.machine import ALIGNMENT

PAUSE_S = 0.001
"""between two peers"""
WARMING_S = 0.02
"""
Of calls before a sample with threads: those of the peer before spin for some milliseconds, waiting for more, and what
comes next has half of a processor; after a pause of as long, a virtual one that slept takes 0.6 ms to come for each
call.
"""
LEAST_SAMPLE_S = 0.001
"""In the caches, a sample is as many calls as take this long."""
LEAST_SAMPLES = 5
LONG_CALL_S = 0.03


@dataclass(frozen=True)
class Options:
    """How to measure. `repeats` 0 means 15 for DRAM and 31 in the caches; `patience_s` is per peer and task."""

    threads: int
    target: str = "native"
    repeats: int = 0
    patience_s: float = 2.0
    seed: int = 0
    offset: int = 0
    """bytes by which the destination starts behind a page; the copies' destinations start at one"""
    reads: bool = False
    """whether each call counts together with one thread that reads its result"""

    def repeats_of(self, task: Task) -> int:
        return self.repeats or (15 if task.size == "dram" else 31)


@dataclass
class Row:
    """
    What was found for one task: seconds per call of each sample by peer, and whose result was wrong.

    `differing` libraries converted to other bytes than the definition: they may round otherwise, and are timed.
    """

    task: Task
    options: Options
    samples: dict[str, list[float]] = field(default_factory=dict[str, list[float]])
    facts: dict[str, float] = field(default_factory=dict[str, float])
    wrong: list[str] = field(default_factory=list[str])
    differing: list[str] = field(default_factory=list[str])

    def to_json(self) -> dict[str, Any]:
        return {
            **self.task.to_json(),
            "threads": self.options.threads,
            "source_bytes": self.task.source_desc.size_bytes,
            "destination_bytes": self.task.destination_bytes,
            "copied_bytes": self.task.moved_bytes,
            "us": {peer: summary(samples) for peer, samples in self.samples.items()},
            **{name: rounded(value) for name, value in self.facts.items()},
            "wrong": self.wrong,
            **({"differing": self.differing} if self.differing else {}),
        }


def summary(samples: list[float]) -> list[float]:
    """Median, least, number of samples: microseconds."""
    return [rounded(statistics.median(samples) * 1e6), rounded(min(samples) * 1e6), len(samples)]


def rounded(value: float) -> float:
    """Four digits."""
    return float(f"{value:.4g}")


def measure(task: Task, peers: Mapping[str, Peer], options: Options) -> Row:
    """All that is to be known about one task. Raises LayoutcError if layoutc cannot compile it."""
    work = prepared_work(task, options)
    row = Row(task, options)
    ready = {name: found for name, peer in peers.items() if (found := peer.prepare(work)) is not None}
    if options.reads:
        ready = {name: with_reader(found, work) for name, found in ready.items()}
    unlike = wrong_ones(work, ready)
    row.differing = [name for name in unlike if not (task.is_move or is_own(name))]
    row.wrong = [name for name in unlike if name not in row.differing]
    paces = {name: pace(found, task, options.threads) for name, found in ready.items() if name not in row.wrong}
    row.samples = in_turns({name: ready[name] for name in paces}, paces, work, options)
    for found in ready.values():
        row.facts.update(found.facts)
    if "layoutc" in ready and task.size != "dram":
        row.facts["python_call_us"] = call_from_python(work) * 1e6
    return row


def prepared_work(task: Task, options: Options) -> Work:
    source = Buffer(task.source_desc.size_bytes, task.moved_bytes)
    destination = Buffer(task.destination_bytes, task.moved_bytes, options.offset)
    draw, type = np.random.default_rng(options.seed), task.source_desc.element_type
    if task.moves_bytes:
        fill(source, type.bits // 8, options.seed, is_float=not type.is_integer)
    else:
        fill_values(source, type, draw)
    given = parameters(task.conversion, task.source_desc, task.destination_desc, draw)
    alignment = gcd(options.offset, ALIGNMENT)
    return Work(task, source, destination, options.threads, options.target, given, alignment=alignment)


def with_reader(found: Prepared, work: Work) -> Prepared:
    """The same with what reads the destination after each call: what lies in the caches then comes sooner."""
    read, result = work.copies.timer("time_read"), work.destination

    def seconds(calls: int) -> float:
        return sum(found.seconds(1) + read(result.address, result.bytes.size) for _ in range(calls))

    return replace(found, seconds=seconds)


def wrong_ones(work: Work, ready: Mapping[str, Prepared]) -> list[str]:
    """
    The peers whose result is wrong: the first one is compared with the definition, the others with the first right one.
    """
    expected: Bytes | None = None
    wrong: list[str] = []
    for name, found in ready.items():
        work.destination.poison()
        found.seconds(1)
        if name in COPIES:
            continue
        if expected is None:
            right = is_right(work)
        else:
            right = work.destination.is_canary_alive and (expected == work.destination.bytes).all()
        if right and expected is None:
            expected = work.destination.bytes.copy()
        if not right:
            wrong.append(name)
    return wrong


def is_right(work: Work) -> bool:
    """Whether the destination holds what the definition says."""
    task, read, written = work.task, work.source.bytes, work.destination
    if task.moves_bytes:
        return checking.is_right(task.source_desc, task.destination_desc, read, written)
    return checking_values.is_right(task, read, written, work.arguments)


def is_own(name: str) -> bool:
    """Whether a peer is a build of layoutc."""
    return name == "layoutc" or name in BUILDS


@dataclass(frozen=True)
class Pace:
    """How a peer is sampled: calls in a sample, and how many go before it that are not timed."""

    calls: int
    warming: int


def pace(found: Prepared, task: Task, threads: int) -> Pace:
    """
    In the caches a sample is many calls. A short sample is warmed, for data, threads and pages to be where they
    would be in a loop; with a long one, that would only take time.
    """
    once = min(found.seconds(1) for _ in range(1 if task.size == "dram" else 3))
    calls = 1 if task.size == "dram" else max(1, round(LEAST_SAMPLE_S / max(once, 1e-7)))
    if once >= LONG_CALL_S:
        return Pace(calls, 0)
    return Pace(calls, 1 if threads == 1 else ceil(WARMING_S / max(once, 1e-7)))


def in_turns(
    ready: Mapping[str, Prepared], paces: Mapping[str, Pace], work: Work, options: Options
) -> dict[str, list[float]]:
    """Seconds per call of every sample; in each round the peers come in another order."""
    samples: dict[str, list[float]] = {name: [] for name in ready}
    draw = random.Random(options.seed)
    for _ in range(options.repeats_of(work.task)):
        for name in draw.sample(sorted(ready), len(ready)):
            if len(samples[name]) < LEAST_SAMPLES or sum(samples[name]) * paces[name].calls < options.patience_s:
                time.sleep(PAUSE_S)
                samples[name].append(sample(ready[name], paces[name]))
    return samples


def sample(found: Prepared, pace: Pace) -> float:
    """Seconds per call."""
    if pace.warming:
        found.seconds(pace.warming)
    return found.seconds(pace.calls) / pace.calls


def call_from_python(work: Work) -> float:
    """Seconds that a call of the kernel from Python takes, all included."""
    found = prepare_call(work)
    chosen = pace(found, work.task, threads=1)
    return statistics.median(sample(found, chosen) for _ in range(LEAST_SAMPLES))
