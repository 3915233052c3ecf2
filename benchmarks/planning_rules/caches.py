"""Rules of threads and of the caches: when a second thread starts, and what is written past the caches."""

from __future__ import annotations

from benchmarks.planning_changes import answering, to
from benchmarks.planning_rules.rule import CACHES, IN_DRAM, KIB, MIB, NEVER, Rule

STREAMS = {"always": {"goes_past_caches": answering(True)}, "never": {"goes_past_caches": answering(False)}}

CACHE_RULES = (
    Rule(
        "PARALLEL_BYTES",
        "a second thread is started for 128 KiB or more that are read and written, for each of up to four copies",
        {"always": {"PARALLEL_BYTES": to(0)}, "never": {"PARALLEL_BYTES": to(NEVER)}},
        (128 * KIB, 256 * KIB, 512 * KIB, 1500 * KIB, 4 * MIB),
        threads=2,
    ),
    Rule(
        "streams",
        "one thread writes past the caches from a quarter of the last one on",
        STREAMS,
        (6 * MIB, 12 * MIB, 24 * MIB, IN_DRAM),
    ),
    Rule(
        "streams of 2 threads",
        "several threads do when both buffers fill the last cache",
        STREAMS,
        (24 * MIB, 40 * MIB, IN_DRAM, 96 * MIB),
        threads=2,
    ),
    Rule(
        "evict_each_other",
        "several threads write past the caches as early as one where rows in the caches would evict each other",
        {"not": {"evict_each_other": answering(False)}},
        (24 * MIB, 40 * MIB),
        threads=2,
    ),
    Rule(
        "evict_each_other of one thread",
        "where the last cache is far, so does one as soon as its second one is full",
        {"not": {"evict_each_other": answering(False)}},
        (6 * MIB, 16 * MIB),
    ),
    Rule(
        "_waits",
        "where processors wait for the lines that they store into, tiles ask for these, if L1 does not hold both sides",
        {"always": {"_waits": answering(True)}, "never": {"_waits": answering(False)}},
        CACHES,
    ),
)
