"""
Reorders through a buffer: blocks that do not divide each other are taken apart first, and put together then.

A period of such an axis, with as much of the others as a buffer holds, is a turn of some loops. In the buffer the axis
has no blocks, so that each half of a turn has few copies, where all in one would have one for each segment of a period.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import product
from math import gcd, prod

from layoutc.descriptor import MemoryDesc
from layoutc.param import Grouping
from layoutc.planning.copies.axis_copies import Axis, Piece, Side
from layoutc.planning.copies.axis_segments import segments
from layoutc.planning.copies.copy_digits import CopyDigit, SideName, StridedCopy, merged
from layoutc.planning.copies.strided_copy import axis_sides
from layoutc.planning.copies.widths import Widths
from layoutc.planning.machine import LINE
from layoutc.planning.plans.macro_buffers import MAX_STAGE_BYTES
from layoutc.planning.plans.turns import SharedLoop
from layoutc.planning.through.axis_parts import AxisPart, in_parts, period_of, steps_of, sum_of, turns_of, ways_of
from layoutc.planning.through.turn_lines import MOST_TURN_BYTES, PASSING_GAIN, TURN_BYTES, Places, with_few_lines
from layoutc.planning.together.together import even_step, grown, page_by_page

MOST_BUFFER = MAX_STAGE_BYTES * 3 // 4
"""what it moves where only so many steps have whole lines of the destination; with room for what keeps rows apart"""
ROW_BYTES = 256
"""of the buffer that lie together, behind which rows are kept an odd number of lines apart"""
MOST_CUT_COPIES = 24
"""as which a reorder may run, where axes are cut so that its turns have far fewer parts of lines"""


@dataclass(frozen=True)
class Turn:
    """Copies into a buffer, between two, and out of one in a turn of some loops; lines of so many bytes pass in all."""

    loops: tuple[SharedLoop, ...]
    into: tuple[StridedCopy, ...]
    out_of: tuple[StridedCopy, ...]
    between: tuple[StridedCopy, ...] = ()
    passing: float = 0.0

    @property
    def copies(self) -> tuple[StridedCopy, ...]:
        """In the order in which they run."""
        return *self.into, *self.between, *self.out_of


@dataclass(frozen=True)
class Detour:
    """A reorder as turns through buffers, and fills of padding that has none."""

    turns: tuple[Turn, ...]
    fills: tuple[StridedCopy, ...]

    @property
    def count(self) -> int:
        """Copies in all."""
        return len(self.fills) + sum(len(turn.copies) for turn in self.turns)

    @property
    def passing(self) -> float:
        """About how many bytes of lines pass in all turns."""
        return sum(turn.passing for turn in self.turns)


def through_buffers(
    source: MemoryDesc,
    destination: MemoryDesc,
    order: SideName,
    groupings: tuple[Grouping, ...] = (),
    *,
    has_blocks: bool = True,
    at: SideName | None = None,
) -> Detour | None:
    """
    The reorder through a buffer whose digits are in the order of a side; it holds the narrower elements of both, or
    those of the other side than the one `at` which they are converted.

    The copies that convert say where parameters are, one list for each of `groupings`. None where no blocks need a
    buffer and one that `has_blocks` is asked for, groups cut an axis, or all are too large. Raises NotStridedError as
    `strided_copies` does.
    """
    widths = Widths(source.element_type.bits // 8, destination.element_type.bits // 8, at=at)
    src, dst, axes = axis_sides(source, destination, groupings)
    base = StridedCopy(src, dst, (), params=(0,) * len(groupings))
    if has_blocks and all(period_of(axis) is None for axis in axes):
        return None
    converts = widths.src != widths.dst
    usual, *others = ways_of(axes)
    ways = (usual, *(in_parts(others) if converts else others))
    turns = (turns_of(base, axes, lambda chosen: _turn(base, chosen, order, widths), whole) for whole in ways)
    found = (Detour(*each) for each in turns if each is not None)
    best = next(found, None)
    if best is None or converts:
        return best
    for other in found:
        if other.passing < PASSING_GAIN * best.passing and other.count <= max(MOST_CUT_COPIES, best.count):
            best = other
    return best


def _turn(base: StridedCopy, chosen: Sequence[AxisPart], order: SideName, widths: Widths) -> Turn | None:
    """The turns of one part of each axis; None if one is too large."""
    digits = [digit for part in chosen for digit in part.copy.digits]
    partial = [digit for digit in digits if not digit.is_whole]
    blocks = [part.blocks for part in chosen if part.blocks is not None]
    size = widths.moved * prod((*(digit.loaded for digit in partial), *(each.dim for each in blocks)))
    if size > MOST_TURN_BYTES:
        return None

    def on(side: SideName) -> Places:
        steps = [
            *(each for digit in partial for each in digit.all_steps(side)),
            *(each for part in blocks for each in steps_of(part.of(side), part.dim)),
        ]
        return tuple((extent, stride * widths.of(side)) for extent, stride in steps)

    usual = loops_of([digit for digit in digits if digit.is_whole], size, widths)
    loops, passing = usual, 0.0
    if widths.src == widths.dst:
        loops, passing = with_few_lines(usual, size, (on("src"), on("dst")), widths.src)
    sizes = [(loop, loop.src // widths.src, loop.dst // widths.dst) for loop in loops]
    held = [CopyDigit(loop.step, src, dst, loop.step, params=loop.params) for loop, src, dst in sizes] + partial
    starts = replace(sum_of((base, *(part.copy for part in chosen))), digits=tuple(held))
    into, out_of = halves_of(starts, blocks, order, widths.converted_at, widths.moved)
    return Turn(loops, into, out_of, passing=passing)


def halves_of(
    copy: StridedCopy, blocks: Sequence[Axis], order: SideName, converted_at: SideName, element: int
) -> tuple[tuple[StridedCopy, ...], tuple[StridedCopy, ...]]:
    """A copy of blocks as copies into a buffer that has none, with its digits in the order of a side, and out of it."""
    places = [(digit.of(order), digit.loaded) for digit in copy.digits]
    places += ((each.of(order).stride(1), each.dim) for each in blocks)
    strides = _strides(places, element)
    first = [replace(digit, extent=digit.loaded, dst=at) for digit, at in zip(copy.digits, strides, strict=False)]
    last = [replace(digit, src=at) for digit, at in zip(copy.digits, strides, strict=False)]
    rows = [Side((Piece(1, at),), each.dim) for each, at in zip(blocks, strides[len(copy.digits) :], strict=True)]
    into, out_of = replace(copy, dst=0, digits=tuple(first)), replace(copy, src=0, digits=tuple(last))
    apart = (each._replace(dst=row) for each, row in zip(blocks, rows, strict=True))
    joined = (each._replace(src=row) for each, row in zip(blocks, rows, strict=True))
    is_early = converted_at == "src"
    return copies_in(into, apart, is_early), copies_in(out_of, joined, not is_early)


def copies_in(base: StridedCopy, axes: Iterable[Axis], converts: bool) -> tuple[StridedCopy, ...]:
    """Half of a turn: a copy for each segment of each axis, which has parameters if it is the half that `converts`."""
    found = (sum_of((base, *parts)) for parts in product(*map(segments, axes)))
    return tuple(merged(copy if converts else _moved(copy)) for copy in found)


def _moved(copy: StridedCopy) -> StridedCopy:
    """The copy without parameters."""
    return replace(copy, digits=tuple(replace(digit, params=()) for digit in copy.digits), params=())


def loops_of(digits: Sequence[CopyDigit], size: int, widths: Widths, most: int | None = None) -> tuple[SharedLoop, ...]:
    """
    Loops over digits, slowest first in the destination, whose turns have about `most` bytes where one step has `size`.

    By default these are TURN_BYTES, or MOST_TURN_BYTES where steps share lines of the source. A turn has runs of the
    destination that are as long as it can hold, of whole lines if these are no more than MOST_BUFFER.
    """
    loops = [
        SharedLoop(digit.extent, 1, digit.src * widths.src, digit.dst * widths.dst, digit.params)
        for digit in merged(StridedCopy(0, 0, tuple(digits))).digits
    ]
    steps = dict.fromkeys(loops, 1)
    for loop, wanted in grown(loops[::-1], widths.src):
        unit = LINE // gcd(loop.dst, LINE)
        turn = size * prod(n for other, n in steps.items() if other != loop)
        budget = most or (MOST_TURN_BYTES if 0 < loop.src < LINE else TURN_BYTES)
        whole = -(-max(budget // turn, 1) // unit) * unit if turn < budget else 1
        fitting = min(whole, max(MOST_BUFFER // turn, 1))
        step = max(min(fitting, wanted, loop.extent), steps[loop])
        steps[loop] = even_step(loop.extent, step)
    return page_by_page([replace(loop, step=steps[loop]) for loop in loops])


def _strides(places: Sequence[tuple[int, int]], element: int) -> list[int]:
    """
    The strides in a buffer of digits that have these strides on a side and so many steps, in the order of that side.

    Rows begin at lines, an odd number of these apart: a power of two apart, they would evict each other.
    """
    strides = [0] * len(places)
    inner, line = 1, LINE // element
    is_row = False
    for number in sorted(range(len(places)), key=lambda number: places[number][0]):
        strides[number] = inner
        inner *= places[number][1]
        if inner * element >= ROW_BYTES and not is_row:
            inner, is_row = (-(-inner // line) | 1) * line, True
    return strides
