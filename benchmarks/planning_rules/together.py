"""Rules of small copies, and of copies that run together: which, how much in a turn, and what they ask for ahead."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from benchmarks.planning_changes import first_of, times, to
from benchmarks.planning_rules.rule import IN_DRAM, IN_L2, IN_L3, KIB, NEVER, Rule
from layoutc.planning.together.together import MIN_STEP


def _many_of_the_first(loop: Any, shared: Sequence[Any]) -> int:
    return MIN_STEP if loop == shared[0] else 1


TOGETHER_RULES = (
    Rule(
        "SMALL_COPY",
        "a copy that runs alone and writes less than a 1024th of its reorder goes element by element",
        {"never": {"SMALL_COPY": to(NEVER)}, "a 128th": {"SMALL_COPY": times(1 / 8)}},
        (IN_L3, IN_DRAM),
    ),
    Rule(
        "NEAR",
        "copies that begin within 4 KiB of each other run together, if they are larger than L2",
        {"never": {"NEAR": to(0)}, "64 bytes": {"NEAR": to(64)}, "64 KiB": {"NEAR": to(64 * KIB)}},
        (IN_L3, IN_DRAM),
    ),
    Rule(
        "GROWN_RUN",
        "together, runs of the source have 256 bytes before those of the destination that have 512 grow on",
        {
            "never": {"GROWN_RUN": to(NEVER)},
            "64 bytes": {"SOURCE_RUN": to(64)},
            "1 KiB": {"SOURCE_RUN": to(KIB)},
            "cut": {"MOST_GROWN": to(1)},
        },
        (IN_L3, IN_DRAM),
    ),
    Rule(
        "MIN_STEP",
        "together, at least 64 steps of the fastest shared digit at a time",
        {"a quarter": {"MIN_STEP": times(0.25)}, "four times": {"MIN_STEP": times(4)}},
        (IN_L3, IN_DRAM),
    ),
    Rule(
        "_least_steps",
        "of a loop that lanes are made of so few where several steps of another share a line of the source",
        {"not": {"_least_steps": to(_many_of_the_first)}},
        (IN_DRAM,),
    ),
    Rule(
        "L1_TURN_PART",
        "where the second cache holds the destination, rows of several copies are a quarter of the first one in a turn",
        {"one after the other": {"L1_TURN_PART": to(NEVER)}, "an eighth": {"L1_TURN_PART": times(2)}},
        (IN_L2,),
    ),
    Rule(
        "TURN_LINES",
        "together, lines of the source that half of the second cache holds at a time",
        {
            "any": {"TURN_LINES": to(NEVER)},
            "a quarter": {"TURN_LINES": times(0.25)},
            "twice": {"TURN_LINES": times(2)},
        },
        (IN_L3, IN_DRAM),
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
        "LONG_TURN",
        "copies that share a buffer and are transposed fill 72 KiB of it in a turn",
        {
            "never": {"MOST_LONG_TURN": to(0)},
            "half": {"LONG_TURN": times(0.5)},
            "three times": {"LONG_TURN": times(3), "MOST_LONG_TURN": times(3)},
        },
        (IN_DRAM,),
    ),
    Rule(
        "ROWS_TURN_PART",
        "copies that share a buffer and write rows that lie apart move a sixteenth of L2 in a turn",
        {
            "never": {"ROWS_PART": to(NEVER)},
            "an eighth": {"ROWS_TURN_PART": times(0.5)},
            "a 32nd": {"ROWS_TURN_PART": times(2)},
        },
        (IN_DRAM,),
    ),
    Rule(
        "RUNS_TURN",
        "those with loops inside of a run fill 8 KiB in a turn",
        {"never": {"RUNS_TURN": to(0)}, "2 KiB": {"RUNS_TURN": to(2 * KIB)}},
        (IN_DRAM,),
    ),
    Rule(
        "FEW_LINES",
        "of the loops around such copies those whose turns share a line of the source are the innermost",
        {"one": {"FEW_LINES": times(0.25)}, "16": {"FEW_LINES": times(4)}},
        (IN_DRAM,),
    ),
    Rule(
        "for_next_turn",
        "copies that fill a buffer together ask for what they load in a later turn",
        {"not": {"for_next_turn": to(first_of)}},
        (IN_DRAM,),
    ),
)
