"""Rules of conversions: how rows come to tiles, and where sums of a compensation run along."""

from __future__ import annotations

from benchmarks.planning_changes import first_of, shape, times, to, unless_unpacked
from benchmarks.planning_rules.rule import CACHES, IN_DRAM, IN_L2, IN_L3, NEVER, Rule

CONVERSION_RULES = (
    Rule(
        "FAR_ROWS",
        "rows that become single bytes are 1 KiB past the caches, where short ones come from memory line by line",
        {
            "never": {"ROWS_AHEAD": to(NEVER)},
            "half": {"FAR_ROWS": shape(source_run=0.5)},
            "twice": {"FAR_ROWS": shape(budget=2, source_run=2)},
        },
        (IN_DRAM,),
        converts=True,
    ),
    Rule(
        "LEAST_AHEAD",
        "loads of elements that are converted ask for what lies as many small macro tiles ahead as 4 KiB are",
        {
            "one": {"LEAST_AHEAD": to(0)},
            "half": {"LEAST_AHEAD": times(0.5)},
            "twice": {"LEAST_AHEAD": times(2)},
        },
        (IN_DRAM,),
        converts=True,
    ),
    Rule(
        "GATHERED_PACKED",
        "rows that come to share bytes of whole lines are gathered two lines of each at a time",
        {
            "one line": {"GATHERED_PACKED": shape(budget=0.5, source_run=0.5)},
            "four lines": {"GATHERED_PACKED": shape(budget=2, source_run=2)},
        },
        (IN_DRAM,),
        converts=True,
    ),
    Rule(
        "LEAST_ROW",
        "rows that are converted on their way into a buffer have 8 elements, or 16 where it has a byte for each",
        {"never": {"LEAST_ROW": to(NEVER)}, "always": {"LEAST_ROW": to(0)}},
        (IN_L2, IN_DRAM),
        converts=True,
    ),
    Rule(
        "plan_images._asking_ahead",
        "rows of elements that share bytes are taken apart in images, and ask for those of a later turn",
        {"not": {"plan_images._asking_ahead": to(first_of)}},
        (IN_DRAM,),
        converts=True,
    ),
    Rule(
        "plan_images.asking_for_turns",
        "copies from memory into an image of bytes ask for what the next turn takes",
        {"not": {"plan_images.asking_for_turns": to(first_of)}},
        (IN_DRAM,),
        converts=True,
    ),
    Rule(
        "IMAGE_GAIN",
        "elements that share bytes go by way of images where that takes less than 0.9 of the instructions",
        {"never": {"IMAGE_GAIN": to(0.0)}, "always": {"IMAGE_GAIN": to(float(NEVER))}, "0.7": {"IMAGE_GAIN": to(0.7)}},
        (IN_L2, IN_DRAM),
        converts=True,
    ),
    Rule(
        "plan_conversions.by_source_lines",
        "boxes between buffers that take elements apart follow the source, and ask for the next macro tile",
        {"not": {"plan_conversions.by_source_lines": unless_unpacked}},
        (IN_DRAM,),
        converts=True,
    ),
    Rule(
        "LEAST_SHUFFLES",
        "rows of a box are loaded by pieces of registers where they take 3.5 shuffles for each store even so",
        {"never": {"LEAST_SHUFFLES": to(NEVER)}, "2.5": {"LEAST_SHUFFLES": to(2.5)}},
        (IN_L2,),
        converts=True,
    ),
    Rule(
        "LEAST_SPARED",
        "the same where any lanes are a single shuffle, if each load more spares 0.7 of them",
        {"never": {"LEAST_SPARED": to(NEVER)}, "0.5": {"LEAST_SPARED": to(0.5)}},
        (IN_L2,),
        converts=True,
    ),
    Rule(
        "STREAMED_VECTORS",
        "past the caches tiles convert 32 full registers, where L3 is near",
        {"16": {"STREAMED_VECTORS": to(16)}},
        (IN_DRAM,),
        converts=True,
    ),
    Rule(
        "CONVERTED_ROW",
        "past the caches tiles convert to single bytes out of rows of 1 KiB where lines leave a buffer, if L3 is near",
        {"never": {"CONVERTED_ROW": to(NEVER)}, "of any length": {"CONVERTED_ROW": to(0)}},
        (IN_DRAM,),
        converts=True,
    ),
    Rule(
        "HALVED",
        "past the caches they convert any registers, where elements become 2 bytes wide, and L3 is near",
        {"never": {"HALVED": to(NEVER)}, "of 1 byte": {"HALVED": to(1)}},
        (IN_DRAM,),
        converts=True,
    ),
    Rule(
        "MOSTLY_FILLED",
        "past the caches boxes widen elements themselves where half of their lanes are full, if L3 is near",
        {"never": {"MOSTLY_FILLED": to(NEVER)}, "however full": {"MOSTLY_FILLED": to(0)}},
        (IN_DRAM,),
        converts=True,
    ),
    Rule(
        "WIDE_ELEMENT",
        "past the caches tiles load as many elements of a row as a register holds once they have 4 bytes or more",
        {"never": {"with_fewer_widened": to(first_of)}, "of 2 bytes too": {"streamed_stores.WIDE_ELEMENT": to(2)}},
        (IN_DRAM,),
        converts=True,
    ),
    Rule(
        "CACHED_ELEMENT",
        "in the caches they convert as many to elements of 2 bytes and more, where L3 is near",
        {"never": {"CACHED_ELEMENT": to(NEVER)}, "of 1 byte too": {"CACHED_ELEMENT": to(1)}},
        CACHES,
        converts=True,
    ),
    Rule(
        "NEAR_ROWS",
        "tiles out of a buffer store lines of 8 rows past the caches, where they load 16 bytes of each row or more",
        {"never": {"NEAR_ROWS": to(NEVER)}, "half": {"NEAR_ROWS": times(0.5)}, "twice": {"NEAR_ROWS": times(2)}},
        (IN_DRAM,),
        converts=True,
    ),
    Rule(
        "FAR_PARTS",
        "rows of elements that share bytes are taken from 4 parts of the source at a time",
        {"half": {"FAR_PARTS": to(2)}, "twice": {"FAR_PARTS": to(8)}},
        (IN_L3, IN_DRAM),
        converts=True,
    ),
    Rule(
        "MOST_TOTALS",
        "sums of a compensation run along with the copies if they are at most 32 K",
        {"never": {"MOST_TOTALS": to(0)}},
        (IN_L2, IN_DRAM),
        converts=True,
    ),
    Rule(
        "FOLDED_REGISTERS",
        "where stores go through the caches they do so if 4 registers are added up before their lanes are folded",
        {"always": {"FOLDED_REGISTERS": to(0)}, "never": {"FOLDED_REGISTERS": to(NEVER)}},
        (IN_L2,),
        converts=True,
    ),
    Rule(
        "CONVERTED_TURN",
        "past the caches copies that convert, and share lines, leave a buffer together, 8 KiB in a turn",
        {
            "never": {"MOST_CONVERTED_TURN": to(0)},
            "saving less": {"STAGED_SAVED": to(0.04)},
            "half": {"CONVERTED_TURN": times(0.5)},
            "twice": {"CONVERTED_TURN": times(2)},
        },
        (IN_DRAM,),
        converts=True,
    ),
)
