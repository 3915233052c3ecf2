"""Rules of macro tiles, loops, stores and prefetches of copies that go past the caches."""

from __future__ import annotations

from benchmarks.planning_changes import answering, first_of, shape, shapes, times, to
from benchmarks.planning_rules.rule import IN_DRAM, IN_L3, MIB, NEVER, Rule
from layoutc.planning.plans.plan import CopyPlan

GATHERED = {
    other: {**changes, "COLLIDING_NEAR": changes["COLLIDING"]}
    for other, changes in shapes("COLLIDING", prefetches=True).items()
}
"""where the last cache is far, and where it is near"""


def _own_steps(plan: CopyPlan, position: int) -> int:
    """Of a loop alone."""
    return -(-plan.copy.digits[position].extent // plan.macro[position])


STREAMED_RULES = (
    Rule("STREAMED", "macro tiles past the caches", shapes("STREAMED", prefetches=True), (IN_DRAM,)),
    Rule(
        "STREAMED_ALONG_ROWS",
        "the same, where a last cache that is far holds the source; 1 and 2 bytes where it is near",
        shapes("STREAMED_ALONG_ROWS", prefetches=True),
        (4 * MIB, 12 * MIB, IN_DRAM),
    ),
    Rule(
        "FEW_ROWS_PIECE",
        "where L3 is near, tiles of elements of 4 bytes and more load 16 bytes of each row, and store into few rows",
        {"not": {"_with_few_rows": answering(None)}, "32 bytes": {"FEW_ROWS_PIECE": times(2)}},
        (IN_DRAM,),
    ),
    Rule(
        "TRANSLATED_PAGES",
        "where L3 is near, elements of 4 bytes and more are stored row by row if macro tiles lie in more than 64 pages",
        {
            "never": {"TRANSLATED_PAGES": to(NEVER)},
            "half": {"TRANSLATED_PAGES": times(0.5)},
            "always": {"TRANSLATED_PAGES": to(0)},
        },
        (IN_DRAM,),
    ),
    Rule(
        "FETCHED_ROW",
        "of rows of 1 KiB nothing is asked for ahead, where a processor fetches them by itself",
        {"never": {"FETCHED_ROW": to(NEVER)}, "a quarter": {"FETCHED_ROW": times(0.25)}},
        (IN_DRAM,),
    ),
    Rule(
        "FETCHED_RUN",
        "nor of macro tiles of 4 KiB that are one run of the source, as their tiles are",
        {"never": {"FETCHED_RUN": to(NEVER)}, "four times": {"FETCHED_RUN": times(4)}},
        (IN_DRAM,),
    ),
    Rule(
        "MANY_TILES",
        "the last tile of 64 along a digit may begin inside a line, and all others go straight past the caches",
        {"never": {"MANY_TILES": to(NEVER)}, "a quarter": {"MANY_TILES": times(0.25)}},
        (IN_DRAM,),
    ),
    Rule(
        "MOST_STORED_TWICE",
        "tiles that store 1.2 times as many lines as there are store them out of a buffer; where L3 is near 1.5",
        {
            "never": dict.fromkeys(("MOST_STORED_TWICE", "MOST_STORED_TWICE_NEAR"), to(NEVER)),
            "1.1 times": dict.fromkeys(("MOST_STORED_TWICE", "MOST_STORED_TWICE_NEAR"), to(1.1)),
        },
        (12 * MIB, IN_DRAM),
    ),
    Rule(
        "HELD_AHEAD",
        "where L3 is near, loads ask for what the loop of most turns comes to, if a quarter of L2 holds what passes",
        {
            "never": {"HELD_AHEAD": to(0)},
            "a half": {"HELD_AHEAD": to(1 / 2)},
            "an eighth": {"HELD_AHEAD": to(1 / 8)},
        },
        (IN_DRAM,),
    ),
    Rule(
        "MANY_ROWS",
        "lines that leave a buffer ask again for what lies ahead, where macro tiles have parts of 32 rows",
        {"never": {"_is_asked_twice": answering(False)}, "8 rows": {"MANY_ROWS": to(8)}},
        (IN_DRAM,),
    ),
    Rule(
        "FEW_ROWS",
        "so they do where these have parts of up to 4 rows that go on",
        {"never": {"FEW_ROWS": to(0)}, "8 rows": {"FEW_ROWS": to(8)}},
        (IN_DRAM,),
    ),
    Rule(
        "LEAST_AHEAD_UNEVEN",
        "what begins inside a line lies 16 KiB of macro tiles ahead at least",
        {"half": {"LEAST_AHEAD_UNEVEN": times(0.5)}, "twice": {"LEAST_AHEAD_UNEVEN": times(2)}},
        (IN_DRAM,),
    ),
    Rule(
        "_steps_on",
        "loops that go on from one another's end are one, of which half may lie ahead",
        {"no": {"_steps_on": to(_own_steps)}},
        (IN_DRAM,),
    ),
    Rule(
        "STRIPS",
        "tiles along eight rows and more ask for what lies 4 KiB of tiles ahead, not for the next macro tile",
        {"never": {"STRIPS": to(NEVER)}, "4 rows": {"STRIPS": to(4)}, "one line": {"STRIP_AHEAD": times(0.5)}},
        (IN_DRAM,),
    ),
    Rule(
        "ROWS_OF_A_PAGE",
        "so they do where macro tiles in turn take parts of lines, if they have 3 rows in each page",
        {"never": {"ROWS_OF_A_PAGE": to(NEVER)}, "always": {"ROWS_OF_A_PAGE": to(0)}},
        (IN_DRAM,),
    ),
    Rule(
        "MOST_OVERLAPPING",
        "macro tiles that leave a buffer are made smaller where they move an eighth more than those do",
        {"never": {"MOST_OVERLAPPING": to(NEVER)}, "always": {"MOST_OVERLAPPING": to(1.0)}},
        (IN_DRAM,),
    ),
    Rule(
        "STREAMED_SMALL",
        "macro tiles past the caches, elements of 1 and 2 bytes",
        shapes("STREAMED_SMALL", prefetches=True),
        (IN_DRAM,),
    ),
    Rule(
        "STREAMED_PAIRS",
        "the same where the last cache is far, and rows of the destination share few sets of the first one",
        {
            "as others": {"STREAMED_PAIRS": shape(source_run=2, target_run=0.5)},
            "twice the destination's run": {"STREAMED_PAIRS": shape(target_run=2)},
        },
        (IN_DRAM,),
    ),
    Rule(
        "COLLIDING",
        "macro tiles, elements of 1 and 2 bytes, where rows of a tile evict each other",
        GATHERED,
        (IN_L3, IN_DRAM),
    ),
    Rule(
        "STREAMED_COPY",
        "macro tiles past the caches where lanes stay in their order",
        shapes("STREAMED_COPY", prefetches=True),
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
        "staged_stores.with_few_rows",
        "tiles that store into a buffer load fewer rows, as more than 6 would share a set of the first cache",
        {"never": {"staged_stores.with_few_rows": to(first_of)}},
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
        "STAGED_ROWS",
        "macro tiles that leave a buffer past the caches: one run",
        shapes("STAGED_ROWS", prefetches=True),
        (IN_DRAM,),
    ),
    Rule(
        "STAGED_CHUNKS",
        "macro tiles that leave a buffer past the caches: several runs",
        shapes("STAGED_CHUNKS", prefetches=True),
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
        "UNEVEN",
        "macro tiles are a line wide where rows share fewer sets of the first cache than there are",
        {"never": {"UNEVEN": to(NEVER)}, "always": {"UNEVEN": to(0)}},
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
        "WHOLE_ROW",
        "where L3 is near, macro tiles that leave a buffer past the caches cut no rows of up to 2 KiB that L1 holds",
        {
            "not": {"macro_tiles.WHOLE_ROW": to(0)},
            "half": {"macro_tiles.WHOLE_ROW": times(0.5)},
            "twice": {"macro_tiles.WHOLE_ROW": times(2)},
        },
        (IN_DRAM,),
    ),
    Rule(
        "NARROW_LINES",
        "where L3 is near, macro tiles that take parts of lines have shorter runs if these fill a third of L1",
        {"not": {"NARROW_LINES": to(NEVER)}, "half": {"NARROW_LINES": times(0.5)}},
        (IN_DRAM,),
    ),
    Rule(
        "HALF_LINE_ROWS",
        "where L3 is near, macro tiles that leave a buffer past the caches have half a line of 160 long rows",
        {
            "not": {"with_half_lines": to(first_of)},
            "half": {"HALF_LINE_ROWS": times(0.5)},
            "twice": {"HALF_LINE_ROWS": times(2)},
            "rows of 256 bytes": {"HALF_LINES_OF": times(0.25)},
        },
        (IN_DRAM,),
    ),
    Rule(
        "_by_lines",
        "rows of 1 and 2 bytes an element are loaded by whole lines where stores go into a buffer",
        {"not": {"_by_lines": to(first_of)}},
        (IN_DRAM,),
    ),
    Rule(
        "MOST_WASTE",
        "tiles that load whole lines move up to an eighth twice",
        {"never": {"MOST_WASTE": to(0.0)}, "any": {"MOST_WASTE": to(float("inf"))}},
        (IN_DRAM,),
    ),
    Rule(
        "straddles_lines",
        "where rows straddle lines, loads ask for the last line of what follows them",
        {"not": {"straddles_lines": answering(False)}},
        (IN_DRAM,),
    ),
    Rule(
        "WIDE_LINES",
        "where the last cache is far, four lines of rows that share few sets leave a page of memory together",
        {"one": {"WIDE_LINES": to(64)}, "eight": {"WIDE_LINES": times(2)}},
        (IN_DRAM,),
    ),
    Rule(
        "_steps_inside_lines",
        "so do they where macro tiles overlap, and the next one begins inside a line",
        {"not": {"_steps_inside_lines": answering(False)}},
        (2 * IN_DRAM,),
        converts=True,
    ),
    Rule(
        "LEAST_AHEAD_MOVED",
        "loads ask for what lies as many small macro tiles ahead as 8 KiB are",
        {
            "one": {"LEAST_AHEAD_MOVED": to(0)},
            "half": {"LEAST_AHEAD_MOVED": times(0.5)},
            "twice": {"LEAST_AHEAD_MOVED": times(2)},
        },
        (IN_DRAM,),
    ),
    Rule(
        "MOST_CARRYING",
        "loads ask for a later period of digits that count as one where more than half of the steps carry",
        {"always": {"MOST_CARRYING": to(0)}, "never": {"MOST_CARRYING": to(1)}},
        (IN_DRAM,),
    ),
    Rule(
        "ELEMENT_PART",
        "macro tiles of copies that go element by element follow lines where the second cache does not hold these",
        {"never": {"ELEMENT_PART": to(NEVER)}, "an eighth of it": {"ELEMENT_PART": times(0.25)}},
        (IN_DRAM,),
    ),
    Rule(
        "MOST_PAGES",
        "so they do where a macro tile has lines in more than 512 pages",
        {
            "never": {"element_macros.MOST_PAGES": to(NEVER)},
            "half": {"element_macros.MOST_PAGES": times(0.5)},
            "twice": {"element_macros.MOST_PAGES": times(2)},
        },
        (IN_DRAM,),
    ),
)
