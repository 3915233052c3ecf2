"""Rules of macro tiles, loops and stores of copies that stay in the caches."""

from __future__ import annotations

from benchmarks.planning_changes import first_of, shape, shapes, times, to
from benchmarks.planning_rules.rule import CACHES, IN_DRAM, IN_L2, IN_L3, NEVER, Rule

CACHED_RULES = (
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
        "NORMAL_STRADDLING",
        "in the second cache those of bytes are 8 KiB, two lines wide, if stores wait for lines that they straddle",
        {**shapes("NORMAL_STRADDLING"), "of short rows too": {"STRADDLING_LINES": to(0)}},
        (IN_L2,),
    ),
    Rule(
        "STRADDLING_BY_SOURCE",
        "the same, whose inner loops follow the source where its rows evict each other",
        {"not": {"STRADDLING_BY_SOURCE": shape(inner="dst")}},
        (IN_L2,),
    ),
    Rule(
        "NORMAL_SQUARE",
        "where no stores wait for lines, elements of 4 bytes are transposed in the second cache by 2 by 2 tiles",
        {"never": {"SQUARE_ELEMENT": to(0)}, "elements of 2 bytes": {"SQUARE_ELEMENT": to(2)}},
        (IN_L2,),
    ),
    Rule(
        "HELD_BUDGET",
        "where a processor fetches rows, macro tiles have 8 KiB of elements of up to 4 bytes in the second cache",
        {
            "16 KiB": {"HELD_BUDGET": to(16 << 10)},
            "4 KiB": {"HELD_BUDGET": to(4 << 10)},
            "of 8 bytes too": {"HELD_ELEMENT": to(8)},
        },
        (IN_L2,),
    ),
    Rule(
        "with_half_loads",
        "in the caches half a line is loaded where whole ones would straddle two, and registers move in halves",
        {"not": {"with_half_loads": to(first_of)}},
        CACHES,
    ),
    Rule(
        "FEW_CHANNELS",
        "in the caches more than 4 channels are taken apart by registers of half a line, where those move in halves",
        {"never": {"FEW_CHANNELS": to(NEVER)}, "of 3 too": {"FEW_CHANNELS": to(2)}},
        CACHES,
    ),
    Rule(
        "HALVED_BOX",
        "in the second cache smaller boxes of elements of 4 bytes have such registers too",
        {"never": {"HALVED_BOX": to(0)}, "of 2 bytes": {"HALVED_BOX": to(2)}},
        (IN_L2,),
    ),
    Rule(
        "MOVED_AGAIN",
        "lanes have them in the second cache where tiles of whole ones move more than 7 % more again",
        {"never": {"MOVED_AGAIN": to(0.0)}, "always": {"MOVED_AGAIN": to(NEVER)}},
        (IN_L2,),
    ),
    Rule(
        "PAIRED_ROWS",
        "tiles of two blocks are taken in turn in the second cache, two of each, where no stores wait for lines",
        {
            "never": {"PAIRED_ROWS": to(1 << 20)},
            "of 8 registers": {"PAIRED_ROWS": to(8)},
            "one tile": {"PAIRED_TILES": to(1)},
            "of any block": {"LEAST_TILES": to(1)},
        },
        (IN_L2,),
    ),
    Rule(
        "SQUARE_SMALL",
        "elements of 1 and 2 bytes are transposed there by 2 by 2 tiles along the source",
        {"never": {"SQUARE_SMALL": to(())}, "of 8 bytes too": {"SQUARE_SMALL": to((1, 2, 8))}},
        (IN_L2,),
    ),
    Rule(
        "MANY_BORDERS",
        "threads write few lines of the destination beside each other in the second cache",
        {
            "never": {"MANY_BORDERS": to(NEVER), "SMALL_PIECE": to(0)},
            "always": {"MANY_BORDERS": to(1)},
            "bands alone": {"WHOLE_ROWS": to(0)},
            "half": {"FEWER_BORDERS": to(2)},
        },
        (IN_L2,),
        threads=2,
    ),
    Rule(
        "SMALL_PIECE",
        "small copies of a piece of the destination are one thread's where others are shared",
        {"never": {"SMALL_PIECE": to(0)}, "twice": {"SMALL_PIECE": times(2)}},
        (IN_L2,),
        threads=2,
    ),
    Rule(
        "FEWEST_SETS",
        "what a macro tile stores through the caches lies in 8 sets of the first one, where its rows evict each other",
        {"never": {"FEWEST_SETS": to(0)}, "half": {"FEWEST_SETS": times(0.5)}, "twice": {"FEWEST_SETS": times(2)}},
        CACHES,
    ),
    Rule(
        "SHORT_LINES",
        "in the second cache macro tiles have all of rows of up to 8 lines of the destination",
        {
            "never": {"SHORT_LINES": to(0)},
            "half": {"SHORT_LINES": times(0.5)},
            "twice": {"SHORT_LINES": times(2)},
        },
        (IN_L2,),
    ),
    Rule(
        "GATHERED_IN_CACHES",
        "macro tiles in the caches that are gathered, where rows of both sides evict each other",
        {
            "half the destination's run": {"GATHERED_IN_CACHES": shape(target_run=0.5)},
            "twice the destination's run": {"GATHERED_IN_CACHES": shape(target_run=2)},
        },
        (IN_L3,),
    ),
    Rule(
        "BUFFER_TIME",
        "in the caches rows that evict each other are gathered where their lines would come again more often than once",
        {"never": {"BUFFER_TIME": to(NEVER)}, "half": {"BUFFER_TIME": times(0.5)}, "twice": {"BUFFER_TIME": times(2)}},
        CACHES,
    ),
    Rule(
        "GATHERED_FULL",
        "where stores wait for lines, only where twice as many rows share a set as it holds, if L2 holds both sides",
        {"of any": {"GATHERED_FULL": to(0)}, "of twice as many": {"GATHERED_FULL": times(2)}},
        (IN_L2,),
    ),
    Rule(
        "EVICTING_GAIN",
        "in L2 they are gathered where rows of the destination evict each other if that spares a quarter",
        {"never": {"EVICTING_GAIN": to(0)}, "always": {"EVICTING_GAIN": to(1)}},
        (IN_L2,),
    ),
    Rule(
        "REGISTER_TIME",
        "in the caches tiles have fewer rows where these evict each other, and registers take an eighth of a line",
        {"half": {"REGISTER_TIME": times(0.5)}, "four times": {"REGISTER_TIME": times(4)}},
        CACHES,
    ),
    Rule(
        "ALONG_ROWS_OF",
        "macro tiles of these copies: 1 KiB of a row of the side along which they go",
        {
            "half the source's run": {"ALONG_ROWS_OF": shape(source_run=0.5)},
            "half the destination's run": {"ALONG_ROWS_OF": shape(target_run=0.5)},
        },
        CACHES,
    ),
    Rule(
        "ALONG_SOURCE_SMALL",
        "the same of elements of 1 byte along the source: 8 KiB",
        {"4 KiB": {"ALONG_SOURCE_SMALL": shape(budget=0.5)}, "16 KiB": {"ALONG_SOURCE_SMALL": shape(budget=2)}},
        CACHES,
    ),
    Rule(
        "LEAST_STORED_SMALL",
        "tiles of fewer rows, where these evict each other, store 64 bytes at least of elements of 1 byte",
        {"half": {"LEAST_STORED_SMALL": times(0.5)}},
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
        "CROWDED_TIME",
        "what a line takes that is stored where rows of a tile fill most of a set of the first cache",
        {
            "nothing": {"CROWDED_TIME": to(0.0)},
            "of rows that fill a quarter": {"CROWDED_PART": times(0.5)},
        },
        CACHES,
    ),
    Rule(
        "MOST_EVICTED",
        "in the second cache tiles follow rows of the destination where many lines of a macro tile evict each other",
        {
            "never": {"MOST_EVICTED": to(1.0)},
            "half": {"MOST_EVICTED": times(0.5)},
            "in larger macro tiles": {"ALONG_ROWS": shape(budget=2.0, target_run=2.0)},
        },
        (IN_L2,),
    ),
    Rule(
        "FOLLOWED_ROWS",
        "transposes that L2 does not hold ask for the next macro tile, unless it is of few rows that go on",
        {
            "never": {"asking_in_last_cache": to(first_of)},
            "of half as many rows": {"FOLLOWED_ROWS": times(0.5)},
            "of any rows that go on": {"FOLLOWED_ROWS": to(0)},
        },
        (IN_L3,),
    ),
    Rule(
        "LINE_LOADS",
        "tiles ask in turn for lines of the last cache that so many of them take parts of",
        {"never": {"LINE_LOADS": to(NEVER)}, "of half as many": {"LINE_LOADS": times(0.5)}},
        (IN_L3,),
    ),
    Rule("ALIGNED", "macro tiles of these copies", shapes("ALIGNED"), CACHES),
    Rule(
        "_balance",
        "macro tiles along a digit are of equal size",
        {"not": {"_balance": to(first_of)}},
        (*CACHES, IN_DRAM),
    ),
)
