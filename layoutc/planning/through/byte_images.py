"""
Reorders of elements that share bytes by way of images: buffers in which each element has a byte, in memory's order.

The copies of a reorder may each have a few elements of a row that together they have all of. In each turn of some loops
rows of the source are taken apart, as long as they are, copies of bytes go from one image to the other, and whole rows
of the destination are put together. What is no image, but a buffer without blocks, has copies that convert in place of
rows.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from math import prod

from layoutc.descriptor import MemoryDesc
from layoutc.param import Grouping
from layoutc.planning.conversions.shared_bytes import MOST_BUFFERED
from layoutc.planning.copies.axis_copies import Axis, Joins, Piece, Side
from layoutc.planning.copies.axis_segments import NotStridedError
from layoutc.planning.copies.copy_digits import CopyDigit, SideName, StridedCopy
from layoutc.planning.copies.strided_copy import axis_sides
from layoutc.planning.copies.widths import Widths
from layoutc.planning.machine import LINE
from layoutc.planning.plans.row_spans import MASKED
from layoutc.planning.plans.turns import SharedLoop
from layoutc.planning.through.axis_parts import AxisPart, in_parts, steps_of, sum_of, turns_of, ways_of
from layoutc.planning.through.through import Detour, Turn, copies_in, halves_of, loops_of
from layoutc.planning.through.turn_lines import MOST_TURN_BYTES

TURNS = (64 << 10, 16 << 10, 4 << 10)
"""elements of a turn: fewer where gaps that an image keeps make it too large"""


def by_images(
    source: MemoryDesc,
    destination: MemoryDesc,
    widths: Widths,
    groupings: tuple[Grouping, ...],
    joins: Joins,
    *,
    by_parts: bool = False,
) -> Iterator[Detour]:
    """
    The reorder by way of images of the sides whose elements share bytes; what is between has the parameters.

    Turns have all of a short axis, or, `by_parts`, of fewer and then of more of these: each way is one. None where a
    turn is too large, or elements of a side overlap. Raises NotStridedError as `strided_copies` does.
    """
    src, dst, axes = axis_sides(source, destination, groupings)
    base = StridedCopy(src, dst, (), params=(0,) * len(groupings))
    usual, *others = ways_of(axes)
    ways = in_parts(others) if by_parts else [usual]
    turns = (turns_of(base, axes, lambda chosen: _turn(base, chosen, widths, joins), whole) for whole in ways)
    return (Detour(*found) for found in turns if found is not None)


def _turn(base: StridedCopy, chosen: Sequence[AxisPart], widths: Widths, joins: Joins) -> Turn | None:
    """The turns of one part of each axis."""
    digits = [digit for part in chosen for digit in part.copy.digits]
    partial = [digit for digit in digits if not digit.is_whole]
    blocks = [part.blocks for part in chosen if part.blocks is not None]
    size = prod((*(digit.extent for digit in partial), *(each.dst.padded for each in blocks)))
    if size > MOST_TURN_BYTES:
        return None
    # An element that shares a byte has one in the images, and counts as one in the loops.
    whole, in_bytes = [digit for digit in digits if digit.is_whole], Widths(widths.src, widths.dst)
    starts = sum_of((base, *(part.copy for part in chosen)))
    for most in TURNS:
        loops = loops_of(whole, size, in_bytes, most)
        src = _Rows.of("src", starts.src, loops, widths, partial, blocks)
        dst = _Rows.of("dst", starts.dst, loops, widths, partial, blocks)
        if src is None or dst is None:
            return None
        if max(src.image_bytes, dst.image_bytes) <= MOST_BUFFERED:
            break
    else:
        return None
    steps = zip(loops, src.images, dst.images, strict=False)
    held = [CopyDigit(loop.step, one, other, loop.step, params=loop.params) for loop, one, other in steps]
    ends = zip(partial, src.images[len(loops) :], dst.images[len(loops) :], strict=False)
    held += [replace(digit, src=one, dst=other) for digit, one, other in ends]
    sides = zip(blocks, src.sides, dst.sides, strict=True)
    imaged = [each._replace(src=one, dst=other) for each, one, other in sides]
    copy = replace(starts, src=src.start, dst=dst.start, digits=tuple(held))
    try:
        between = copies_in(copy, (each._replace(joins=joins) for each in imaged), converts=True)
    except NotStridedError:
        if src.has_image == dst.has_image:
            raise
        between = ()
    into = tuple(src.copies()) if src.has_image else ()
    out_of = tuple(dst.copies()) if dst.has_image else ()
    if src.has_image != dst.has_image:
        wide: SideName = "dst" if src.has_image else "src"
        first, last = halves_of(copy, imaged, wide, wide, 1)
        if not between or len(first) + len(last) < len(between):
            into, between, out_of = (into, first, last) if src.has_image else (first, last, out_of)
    return Turn(loops, into, out_of, between)


@dataclass(frozen=True)
class _Rows:
    """What a turn has of a side: where it begins, strides in memory and in its image, and the blocks in both."""

    side: SideName
    base: int
    start: int
    """where it begins in its image, or in memory where it has none"""
    strides: tuple[tuple[int, int], ...]
    """of loops, of digits that are loaded in part, and of blocks, with how many steps are there"""
    images: tuple[int, ...]
    memory: tuple[Side, ...]
    sides: tuple[Side, ...]
    has_image: bool

    @classmethod
    def of(
        cls,
        side: SideName,
        base: int,
        loops: Sequence[SharedLoop],
        widths: Widths,
        partial: Sequence[CopyDigit],
        blocks: Sequence[Axis],
    ) -> _Rows | None:
        """None where elements overlap."""
        is_source = side == "src"
        strides = [(loop.of(side) // widths.of(side), loop.step) for loop in loops]
        strides += ((digit.of(side), digit.loaded if is_source else digit.extent) for digit in partial)
        memory = [replace(each.src, padded=each.dim) if is_source else each.dst for each in blocks]
        strides += ((stride, count) for each in memory for count, stride in steps_of(each, each.padded))
        if widths.per_byte(side) == 1:
            return cls(
                side, base, base, tuple(strides), tuple(s for s, _ in strides), tuple(memory), tuple(memory), False
            )
        images = _in_image(strides, widths.per_byte(side), is_source)
        if images is None:
            return None
        left = iter(images[len(loops) + len(partial) :])
        sides = [replace(each, pieces=_with_strides(each, left)) for each in memory]
        return cls(side, base, LINE, tuple(strides), images, tuple(memory), tuple(sides), True)

    @property
    def image_bytes(self) -> int:
        """Bytes of its image; 0 if it has none."""
        steps = zip(self.images, self.strides, strict=True)
        return sum((count - 1) * image for image, (_, count) in steps) + 1 if self.has_image else 0

    def copies(self) -> Iterator[StridedCopy]:
        """Rows of memory into the image, or out of it."""
        digits = len(self.strides) - sum(len(each.pieces) for each in self.memory)
        is_source = self.side == "src"
        here = list(zip(self.strides[:digits], self.images[:digits], strict=True))
        steps = [(stride, image) if is_source else (image, stride) for (stride, _), image in here]
        found = zip(steps, (count for (_, count), _ in here), strict=True)
        held = tuple(CopyDigit(count, *step, count) for step, count in found)
        start = (self.base, self.start) if is_source else (self.start, self.base)
        sides = (self.memory, self.sides) if is_source else (self.sides, self.memory)
        inner = (Axis(one, other, (), one.padded) for one, other in zip(*sides, strict=True))
        yield from copies_in(StridedCopy(*start, held), inner, converts=False)


def _with_strides(side: Side, strides: Iterator[int]) -> tuple[Piece, ...]:
    found = islice(strides, len(side.pieces))
    return tuple(Piece(piece.cut, stride) for piece, stride in zip(side.pieces, found, strict=True))


def _in_image(strides: Sequence[tuple[int, int]], per_byte: int, keeps_gaps: bool) -> tuple[int, ...] | None:
    """
    The strides in an image of steps that have these in memory; None where elements overlap.

    Rows follow one another, an odd number of lines apart, with room around each for the elements that share its first
    byte and its last. Short gaps in a source are there in the image too, as several rows are taken apart at once.
    """
    found = [1] * len(strides)
    reach = at = 1
    is_row = has_gaps = False
    for number in sorted(range(len(strides)), key=lambda number: strides[number][0]):
        stride, count = strides[number]
        if count == 1:
            continue
        if stride < reach:
            return None
        if stride > reach and not is_row:
            if keeps_gaps and stride <= MASKED:
                at, has_gaps = stride, True
            else:
                room = at + 2 * (per_byte - 1) + (MASKED if has_gaps else 0)
                line = min(LINE, 1 << (room - 1).bit_length())
                at, is_row = (-(-room // line) | 1) * line, True
        found[number] = at
        at, reach = at * count, stride * count
    return tuple(found)
