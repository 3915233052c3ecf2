"""
The planner's rules, each with other values that it might have: what benchmarks.rules measures.

A value is changed under its name, in every module of the planner that knows it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from benchmarks.planning_changes import (
    Change,
    answering,
    as_it_is,
    changed,
    first_of,
    of_each,
    shape,
    shapes,
    times,
    to,
)
from benchmarks.tasks import Task
from layoutc.errors import LayoutcError
from layoutc.planning.choose import choose_plan
from layoutc.planning.machine import machine
from layoutc.planning.plan_text import plan_lines
from layoutc.planning.strided_copy import NotStridedError

NEVER = 1 << 62
KIB, MIB = 1 << 10, 1 << 20
IN_L2, IN_L3, IN_DRAM = 768 * KIB, 8 * MIB, 64 * MIB
CACHES = IN_L2, IN_L3


@dataclass(frozen=True)
class Rule:
    """
    A rule, in a sentence; other values by their names, as changes of what the planner has; and where it is looked at:
    bytes of both buffers together, threads, target.
    """

    name: str
    about: str
    others: Mapping[str, Mapping[str, Change]]
    footprints: tuple[int, ...]
    threads: int = 1
    target: str = "native"

    @property
    def peers(self) -> tuple[str, ...]:
        """The names of its other values as peers of the benchmarks."""
        return tuple(f"{self.name}: {other}" for other in self.others)


STREAMS = {"always": {"_streams": answering(True)}, "never": {"_streams": answering(False)}}

RULES = (
    Rule(
        "PARALLEL_BYTES",
        "a second thread is started for destinations of 128 KiB or more, of several copies for each of up to four",
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
    Rule("NORMAL", "macro tiles in the caches: 16 KiB, along the destination", shapes("NORMAL"), CACHES),
    Rule(
        "NORMAL_BY_SOURCE",
        "in the caches the inner loops follow the source where its rows alone evict each other",
        {"not": {"NORMAL_BY_SOURCE": shape(inner="dst")}},
        CACHES,
    ),
    Rule(
        "NORMAL_BY_SOURCE of sse2",
        "the same, with registers of 16 bytes",
        {"not": {"NORMAL_BY_SOURCE": shape(inner="dst")}},
        CACHES,
        target="sse2",
    ),
    Rule(
        "COPIED_BY_SOURCE",
        "the same, for rows that are copied as they are, with longer runs in the source",
        {"not": {"COPIED_BY_SOURCE": shape(inner="dst")}, "as for others": {"COPIED_BY_SOURCE": shape(source_run=0.5)}},
        CACHES,
    ),
    Rule(
        "MIN_ALIGNED_RUN",
        "in the caches, rows that evict each other leave a buffer by whole lines if runs are long enough",
        {
            "never": {"MIN_ALIGNED_RUN": to(NEVER)},
            "a quarter": {"MIN_ALIGNED_RUN": times(0.25)},
            "four times": {"MIN_ALIGNED_RUN": times(4)},
        },
        CACHES,
    ),
    Rule(
        "MOST_EVICTED",
        "in the second cache they do so where many of the lines of a macro tile evict each other",
        {
            "never": {"MOST_EVICTED": to(1.0)},
            "half": {"MOST_EVICTED": times(0.5)},
            "in larger macro tiles": {"ALIGNED_IN_L2": shape(budget=2.0, target_run=2.0)},
        },
        (IN_L2,),
    ),
    Rule("ALIGNED", "macro tiles of these copies", shapes("ALIGNED"), CACHES),
    Rule("STREAMED", "macro tiles past the caches", shapes("STREAMED", prefetches=True), (IN_DRAM,)),
    Rule(
        "STREAMED_SMALL",
        "macro tiles past the caches, elements of 1 and 2 bytes",
        shapes("STREAMED_SMALL", prefetches=True),
        (IN_DRAM,),
    ),
    Rule(
        "COLLIDING",
        "macro tiles, elements of 1 and 2 bytes, where rows of a tile evict each other",
        shapes("COLLIDING", prefetches=True),
        (IN_L3, IN_DRAM),
    ),
    Rule(
        "NEAR_RUN",
        "past the caches, macro tiles follow the source's lines where their runs there are shorter than 512 bytes",
        {
            "never": {"NEAR_RUN": to(0)},
            "half": {"NEAR_RUN": times(0.5)},
            "always": {"NEAR_RUN": to(NEVER)},
        },
        (IN_DRAM,),
    ),
    Rule(
        "STREAMED_COPY",
        "macro tiles past the caches where lanes stay in their order",
        shapes("STREAMED_COPY", prefetches=True),
        (IN_DRAM,),
    ),
    Rule(
        "STAGED_ROWS",
        "macro tiles that leave a buffer past the caches: one run",
        shapes("STAGED_ROWS", prefetches=True),
        (IN_DRAM,),
    ),
    Rule(
        "LONG_ROW",
        "macro tiles that leave a buffer past the caches are one tile wide where the source has long rows",
        {
            "never": {"LONG_ROW": to(NEVER)},
            "half": {"LONG_ROW": times(0.5)},
            "twice": {"LONG_ROW": times(2)},
            "no shorter runs in the destination": {"LONG_RUN": to(NEVER)},
        },
        (IN_DRAM,),
    ),
    Rule(
        "_by_lines",
        "rows of 1 and 2 bytes an element are loaded by whole lines where stores go into a buffer",
        {"not": {"_by_lines": to(first_of)}},
        (IN_DRAM,),
    ),
    Rule("LINE_ROWS", "macro tiles of these copies: one run", shapes("LINE_ROWS"), (IN_DRAM,)),
    Rule("LINE_CHUNKS", "macro tiles of these copies: several runs", shapes("LINE_CHUNKS"), (IN_DRAM,)),
    Rule(
        "_straddles_lines",
        "where rows straddle lines, loads ask for the last line of what follows them",
        {"not": {"_straddles_lines": answering(False)}},
        (IN_DRAM,),
    ),
    Rule(
        "LEAST_AHEAD",
        "loads ask for what lies as many small macro tiles ahead as 4 KiB are",
        {
            "one": {"LEAST_AHEAD": to(0)},
            "half": {"LEAST_AHEAD": times(0.5)},
            "twice": {"LEAST_AHEAD": times(2)},
        },
        (IN_DRAM,),
    ),
    Rule(
        "ELEMENT_PART",
        "macro tiles of copies that go element by element follow lines where the second cache does not hold these",
        {"never": {"ELEMENT_PART": to(NEVER)}, "an eighth of it": {"ELEMENT_PART": times(0.25)}},
        (IN_DRAM,),
    ),
    Rule(
        "MOST_CARRYING",
        "loads ask ahead along digits that count as one where at most half of the steps carry",
        {"none": {"MOST_CARRYING": to(0)}, "all": {"MOST_CARRYING": to(1)}},
        (IN_DRAM,),
    ),
    Rule(
        "_asking_ahead",
        "copies that fill a buffer together ask for what they load in the next turn",
        {"not": {"_asking_ahead": to(first_of)}},
        (IN_DRAM,),
    ),
    Rule(
        "JOINED_ROWS",
        "macro tiles that leave a buffer past the caches have short rows that are one run together",
        {
            "not": {"SHORT_ROW": to(0)},
            "rows of up to 1536 bytes": {"SHORT_ROW": times(2)},
            "eight rows": {"JOINED_ROWS": times(2)},
            "up to 64 KiB": {"JOINED": times(0.5)},
            "up to 256 KiB": {"JOINED": times(2)},
        },
        (IN_DRAM,),
    ),
    Rule(
        "STAGED_CHUNKS",
        "macro tiles that leave a buffer past the caches: several runs",
        shapes("STAGED_CHUNKS", prefetches=True),
        (IN_DRAM,),
    ),
    Rule(
        "MIN_STAGED_RUN",
        "parts of lines leave a buffer by whole lines past the caches if runs are long enough",
        {
            "never": {"MIN_STAGED_RUN": to(NEVER)},
            "half": {"MIN_STAGED_RUN": times(0.5)},
            "twice": {"MIN_STAGED_RUN": times(2)},
            "four times": {"MIN_STAGED_RUN": times(4)},
        },
        (IN_DRAM,),
    ),
    Rule(
        "STAGED_TURN",
        "copies that share a buffer fill 2 KiB of it in a turn",
        {
            "a quarter": {"STAGED_TURN": times(0.25)},
            "four times": {"STAGED_TURN": times(4)},
            "twelve times": {"STAGED_TURN": times(12)},
        },
        (IN_DRAM,),
    ),
    Rule(
        "COLLIDING_ROWS",
        "past the caches, loads are gathered where more than 6 rows of a tile share a set of the first one",
        {
            "never": {"COLLIDING_ROWS": to(NEVER)},
            "half": {"COLLIDING_ROWS": times(0.5)},
            "twice": {"COLLIDING_ROWS": times(2)},
        },
        (IN_DRAM,),
    ),
    Rule(
        "_balance",
        "macro tiles along a digit are of equal size",
        {"not": {"_balance": answering(None)}},
        (*CACHES, IN_DRAM),
    ),
    Rule(
        "promoted",
        "elements that stay neighbours are moved as wider ones",
        {"not": {"promoted": to(as_it_is)}},
        CACHES,
    ),
    Rule(
        "PIECE_BYTES",
        "lanes of the source are cut down to 16 bytes, then those of the destination",
        {"half": {"PIECE_BYTES": times(0.5)}, "twice": {"PIECE_BYTES": times(2)}},
        (*CACHES, IN_DRAM),
    ),
    Rule(
        "TILE_REGISTERS",
        "a tile has up to 16 registers",
        {"half": {"TILE_REGISTERS": times(0.5)}, "twice": {"TILE_REGISTERS": times(2)}},
        (*CACHES, IN_DRAM),
    ),
    Rule(
        "MAX_CHANNELS",
        "channels that are no power of two are taken apart in registers",
        {
            "not": {"MAX_CHANNELS": of_each(to(0))},
            "half": {"MAX_CHANNELS": of_each(times(0.5))},
        },
        (*CACHES, IN_DRAM),
    ),
    Rule(
        "FUSE_GAIN",
        "digits count as one where that fills lanes 1.25 times as well",
        {"never": {"FUSE_GAIN": to(float("inf"))}, "always": {"FUSE_GAIN": to(1.0)}, "1.6": {"FUSE_GAIN": to(1.6)}},
        (*CACHES, IN_DRAM),
    ),
    Rule(
        "WELL_FILLED",
        "no more digits are joined once lanes are filled to 0.97",
        {name: {"WELL_FILLED": to(float(name))} for name in ("0.6", "0.85", "0.9", "1")},
        (*CACHES, IN_DRAM),
    ),
    Rule(
        "BOX_GAIN",
        "boxes are merged where that takes less than 0.8 of the instructions of lanes",
        {"never": {"BOX_GAIN": to(0.0)}, "always": {"BOX_GAIN": to(1.0)}, "0.6": {"BOX_GAIN": to(0.6)}},
        (*CACHES, IN_DRAM),
    ),
    Rule(
        "JOIN_GAIN",
        "boxes have all of short axes where that takes less than 0.8 of the instructions of their segments",
        {"never": {"JOIN_GAIN": to(0.0)}, "always": {"JOIN_GAIN": to(1.0)}, "0.6": {"JOIN_GAIN": to(0.6)}},
        (*CACHES, IN_DRAM),
    ),
    Rule(
        "BOX_REGISTERS",
        "a box has up to 16 registers",
        {"half": {"BOX_REGISTERS": times(0.5)}, "twice": {"BOX_REGISTERS": times(2)}},
        (*CACHES, IN_DRAM),
    ),
    Rule(
        "NEAR",
        "copies that begin within 4 KiB of each other run together, if they are larger than L2",
        {"never": {"NEAR": to(0)}, "64 bytes": {"NEAR": to(64)}, "64 KiB": {"NEAR": to(64 * KIB)}},
        (IN_L3, IN_DRAM),
    ),
    Rule(
        "MIN_STEP",
        "together, at least 64 steps of the fastest shared digit at a time",
        {"a quarter": {"MIN_STEP": times(0.25)}, "four times": {"MIN_STEP": times(4)}},
        (IN_L3, IN_DRAM),
    ),
    Rule(
        "TURN_LINES",
        "together, lines of the source that half of the second cache holds at a time",
        {
            "any": {"TURN_LINES": to(NEVER)},
            "half": {"TURN_LINES": times(0.5)},
            "twice": {"TURN_LINES": times(2)},
        },
        (IN_L3, IN_DRAM),
    ),
)


def rule(name: str) -> Rule:
    """The rule of that name. Raises LayoutcError, naming the known ones, for any other."""
    for found in RULES:
        if found.name == name:
            return found
    raise LayoutcError(f"unknown rule {name!r}, expected one of {', '.join(found.name for found in RULES)}")


def plan_of(task: Task, target: str, threads: int, changes: Mapping[str, Change] | None = None) -> tuple[str, ...]:
    """The lines of the plan of a task, with changes of the planner; none for a reorder without a plan."""
    with changed(changes or {}):
        try:
            plan = choose_plan(task.source_desc, task.destination_desc, machine(target), threads)
        except NotStridedError:
            return ()
    return tuple(plan_lines(plan))
