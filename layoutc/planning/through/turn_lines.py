"""How many steps of each loop a turn takes: so many that it has few parts of cache lines on both sides."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import islice
from math import gcd, inf, log2, prod
from operator import attrgetter, itemgetter

from layoutc.planning.machine import LINE
from layoutc.planning.plans.turns import SharedLoop
from layoutc.planning.together.together import even_step, page_by_page

TURN_BYTES = 64 << 10
"""about what a turn moves, which the second cache holds"""
MOST_TURN_BYTES = 512 << 10
"""what it moves at most, where it spares parts of lines"""
LARGER = 0.05
"""of its time that a turn of twice as many bytes takes longer"""
TURN_COST = 2 << 10
"""bytes of lines that pass in the time that it takes to begin a turn"""
STORED = 2
"""times that a line passes which is stored: it is loaded before"""
PASSING_GAIN = 0.9
"""of the time of the usual turns, above which these stay"""
MOST_TRIED = 1 << 13
"""turns of which the best is looked for; where there are more, as of eight loops, fewer steps of each are tried"""

Places = tuple[tuple[int, int], ...]
"""the steps of digits on one side, and the bytes from one to the next"""


def lines_of(places: Places, width: int) -> int:
    """About how many bytes the lines have of which elements of so many bytes at these places have a part."""
    span, runs, apart = width, 1, LINE
    for extent, stride in sorted((each for each in places if each[0] > 1), key=itemgetter(1)):
        if stride <= max(span, LINE):
            span += (extent - 1) * stride
        else:
            runs *= extent
            apart = gcd(apart, stride)
    return runs * (-(-span // apart) * apart + LINE - apart)


@lru_cache(maxsize=256)
def with_few_lines(
    usual: tuple[SharedLoop, ...], size: int, sides: tuple[Places, Places], width: int
) -> tuple[tuple[SharedLoop, ...], float]:
    """
    The loops, or others whose turns have far fewer parts of lines, and about how many bytes of lines pass in all turns.

    One step of all loops moves `size` bytes, of elements at these places on both sides.
    """

    def passing(steps: Sequence[int]) -> float:
        held = zip(steps, src_strides, strict=True), zip(steps, dst_strides, strict=True)
        src, dst = (lines_of((*inner, *outer), width) for inner, outer in zip(sides, held, strict=True))
        turns = prod(-(-extent // step) for extent, step in zip(extents, steps, strict=True))
        larger = LARGER * max(log2(size * prod(steps) / TURN_BYTES), 0)
        return turns * (TURN_COST + (src + STORED * dst) * (1 + larger))

    extents, src_strides, dst_strides = ([f(loop) for loop in usual] for f in map(attrgetter, ("extent", "src", "dst")))
    before = passing([loop.step for loop in usual])
    found = [(passing(steps), steps) for steps in tried(usual, size) if _is_long(usual, steps, size)]
    least, steps = min(found, default=(inf, ()))
    if least >= PASSING_GAIN * before:
        return usual, before
    return page_by_page([replace(loop, step=step) for loop, step in zip(usual, steps, strict=True)]), least


def _is_long(loops: Sequence[SharedLoop], steps: Sequence[int], size: int) -> bool:
    """Whether turns of so many steps move a quarter of what is usual, or all there is."""
    is_all = all(step == loop.extent for loop, step in zip(loops, steps, strict=True))
    return is_all or size * prod(steps) >= TURN_BYTES // 4


def tried(loops: Sequence[SharedLoop], size: int) -> list[tuple[int, ...]]:
    """Steps of each loop in a turn: powers of two, or of four and so on where these would be too many."""
    found: list[tuple[int, ...]] = []
    for bits in range(1, MOST_TURN_BYTES.bit_length() + 1):
        found = list(islice(_steps(loops, MOST_TURN_BYTES // size, bits), MOST_TRIED + 1))
        if len(found) <= MOST_TRIED:
            break
    return found[:MOST_TRIED]


def _steps(loops: Sequence[SharedLoop], most: int, bits: int) -> Iterator[tuple[int, ...]]:
    """Steps of each loop, of which a turn has so many at most: powers of 2^bits, or turns of equal size, or all."""
    if not loops:
        yield ()
        return
    *others, last = loops
    powers = range(0, last.extent.bit_length() + bits, bits)
    for step in sorted({even_step(last.extent, min(1 << bit, last.extent)) for bit in powers}):
        if step <= most:
            yield from ((*rest, step) for rest in _steps(others, most // step, bits))
