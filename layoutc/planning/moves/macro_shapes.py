"""Shapes of macro tiles: how many bytes they have, how long their runs are on both sides, and which loops go inside."""

from __future__ import annotations

from dataclasses import dataclass, replace

from layoutc.planning.copies.copy_digits import SideName


@dataclass(frozen=True)
class MacroShape:
    """
    Bytes of a macro tile at most, of its runs on both sides, whose runs the inner loops follow, and the bytes up to
    which those of the destination grow on (by default all).
    """

    budget: int
    source_run: int
    target_run: int
    inner: SideName
    prefetch: bool = True
    filled: int | None = None
    overlaps: bool = False
    """whether macro tiles overlap by a line along a run, as those do that leave a buffer by whole lines"""

    @property
    def most(self) -> int:
        """Bytes that a macro tile is grown to once its runs are long enough."""
        return self.budget if self.filled is None else self.filled

    @property
    def reason(self) -> str:
        """What a macro tile is grown to."""
        side = {"src": "source", "dst": "destination"}[self.inner]
        runs = f"runs of {self.source_run} bytes in the source and {self.target_run} in the destination"
        return f"grown towards {runs}, then to {self.most} bytes; the loops inside follow the {side}"


NORMAL = MacroShape(16 << 10, 256, 64, "dst", prefetch=False)
NORMAL_BY_SOURCE = replace(NORMAL, inner="src")
"""where only the source's rows evict each other: 4 times as fast with 16-byte registers"""
NORMAL_SQUARE = replace(NORMAL, source_run=128, target_run=128, filled=128)
"""where the second cache holds both sides, and nothing waits for lines: two lines of few rows on both sides"""
NORMAL_LONG = replace(NORMAL, target_run=512)
"""where rows of the destination evict each other, and shorter runs of these lie in few sets of the first cache"""
NORMAL_STRADDLING = MacroShape(8 << 10, 64, 128, "dst", prefetch=False)
"""elements of 1 byte whose stores straddle lines that they wait for, where the second cache holds both sides"""
STRADDLING_BY_SOURCE = replace(NORMAL_STRADDLING, inner="src")
"""the same, where the source's rows evict each other"""
STREAMED = MacroShape(16 << 10, 256, 256, "src")
STREAMED_ALONG_ROWS = replace(STREAMED, inner="dst")
"""
The same, where a last cache that is far holds the source: lines leave one behind the other. Where it is near, tiles
that convert, of few rows, and of elements of 1 and 2 bytes
"""
STREAMED_SMALL = MacroShape(32 << 10, 1024, 64, "dst")
"""elements of 1 and 2 bytes, where the last cache is far; those that share bytes of the destination everywhere"""
STREAMED_PAIRS = replace(STREAMED_SMALL, source_run=512, target_run=128)
"""the same, where rows of the destination share few sets: two lines of each, as memory they share is slower by one"""
ROWS_APART, ROW_APART = MacroShape(16 << 10, 4 << 10, 64, "src", filled=64), 256
"""
Rows that are read in the order of the source; bytes of one on both sides, from which on that is so of macro tiles too
"""
COLLIDING = MacroShape(32 << 10, 256, 128, "dst", filled=16 << 10)
"""the same, where the rows of a tile evict each other: through a buffer, which the first cache holds"""
COLLIDING_NEAR = replace(COLLIDING, budget=16 << 10)
"""the same where the last cache is near: the first one holds the buffer beside what is asked for meanwhile"""
ALONG_ROWS_OF: dict[SideName, MacroShape] = {
    "src": MacroShape(16 << 10, 1 << 10, 64, "src", prefetch=False),
    "dst": MacroShape(16 << 10, 64, 1 << 10, "dst", prefetch=False),
}
"""in the caches, for tiles of few rows of a side, as lines would evict each other before the next tile takes a part"""
ALONG_SOURCE_SMALL = replace(ALONG_ROWS_OF["src"], budget=8 << 10)
"""the same along the source, for elements of 1 byte, of which a tile has most rows"""
GATHERED_ALONG_SOURCE = replace(ALONG_ROWS_OF["src"], inner="dst")
"""rows that are gathered there and go on along the source"""
GATHERED_IN_CACHES = {
    1: MacroShape(16 << 10, 128, 128, "dst"),
    2: MacroShape(32 << 10, 256, 256, "dst"),
    4: MacroShape(32 << 10, 256, 512, "dst"),
    8: MacroShape(16 << 10, 256, 512, "dst"),
}
"""rows that are gathered there, where several tiles in turn take a line of each"""
STREAMED_COPY = MacroShape(8 << 10, 1024, 64, "src")
"""
Rows that are copied as they are: along the destination's runs, `nhwc` to `nChw16c` of 512 channels of f32 takes 1.34
times as long, `abcd` to `acbd` of 16 heads of 64 f32 1.14
"""
STAGED_ROWS = MacroShape(64 << 10, 512, 512, "src", filled=4 << 10, overlaps=True)
STAGED_CHUNKS = MacroShape(16 << 10, 256, 512, "src", filled=4 << 10, overlaps=True)
"""macro tiles that are one run, or few long ones; filled to their budget they took 1.1 to 1.7 times as long"""
GATHERED = MacroShape(8 << 10, 128, 64, "dst")
"""rows that are converted into a buffer: it stays in the first cache with two lines of each"""
GATHERED_DIVIDED = replace(GATHERED, budget=32 << 10, source_run=512, filled=8 << 10)
"""the same past the caches, where each row is divided by a number of its own, by way of its reciprocal"""
GATHERED_DIVIDED_NEAR = replace(GATHERED_DIVIDED, source_run=256)
"""the same, where the last cache is near"""
GATHERED_DIVIDED_CACHED = replace(GATHERED_DIVIDED, budget=256 << 10, source_run=8 << 10)
"""the same in the caches: the second one holds the buffer, and a reciprocal serves long rows"""
WIDENED = MacroShape(16 << 10, 256, 256, "dst", filled=8 << 10)
"""
The same, where elements become wider: `ab` to `ba` of 4096x4096 s4 with groups of scales to f32 takes half the time in
DRAM and in L2. Where they become narrower, 256 rows of f32 for runs of s4 took 1.6 times as long.
"""
GATHERED_PACKED = MacroShape(16 << 10, 128, 64, "dst")
"""The same, where elements share bytes of whole lines that go past the caches: rows are as many as fill a line."""
ALIGNED = MacroShape(32 << 10, 256, 512, "src", prefetch=False)
ALONG_ROWS = replace(NORMAL, budget=32 << 10, source_run=64, target_run=4 << 10)
"""through the caches, where rows of both sides evict each other: one line of each of the source, all of a few stored"""
