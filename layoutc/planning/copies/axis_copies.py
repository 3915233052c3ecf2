"""
One axis of a reorder as copies: the coordinates from one place to another, of which the first ones are loaded.

What a copy has of the axis are digits that both sides count alike, and of its slowest digit it may have a part alone.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Literal, NamedTuple

from layoutc.planning.copies.copy_digits import Carry, CopyDigit, SideName, StridedCopy, axis_digit

MAX_PARTIAL, PARTIAL = 256, 64
"""the longest digit that is loaded in part, and the multiple that a longer one is cut at"""
FINE = 64
"""elements apart, below which steps may share lines"""
MAX_JOINED = 64
"""coordinates of an axis, or a period, that one tile may have all of"""

Joins = Literal["none", "whole", "all", "steps"]
"""
Which segments are one digit that carries on each side in its own way: of short axes those that are loaded whole, or
all, or all of the axis in steps that no block cuts.
"""


@dataclass(frozen=True, slots=True)
class Piece:
    """A digit of one side: coordinates `cut`, `2 cut`, ... are `stride` elements apart."""

    cut: int
    stride: int


@dataclass(frozen=True)
class Side:
    """
    One axis of one descriptor: its pieces from the least significant, and its coordinates with block padding.

    Before coordinate 0 lies a border of `low`, and between the last one and the block padding one of `high`.
    """

    pieces: tuple[Piece, ...]
    padded: int
    low: int = 0
    high: int = 0

    def at(self, coordinate: int) -> int:
        """The offset of a coordinate from that of the border's first."""
        total = 0
        coordinate += self.low
        for piece, larger in zip(self.pieces, (*(p.cut for p in self.pieces[1:]), None), strict=True):
            value = coordinate if larger is None else coordinate % larger
            total += value // piece.cut * piece.stride
        return total

    def edges(self, cuts: Collection[int], stop: int) -> set[int]:
        """The coordinates before `stop` at which a block of one of these cuts starts."""
        known = [piece.cut for piece in self.pieces if piece.cut in cuts]
        return {edge for cut in known for edge in range(-self.low % cut, stop, cut)}

    @property
    def starts_blocks(self) -> bool:
        """Whether a block of each cut starts at coordinate 0."""
        return all(self.low % piece.cut == 0 for piece in self.pieces)

    def shifted(self, by: int) -> Side:
        """The side with its coordinates counted from one of them."""
        return replace(self, padded=self.padded - by, low=self.low + by)

    def carry(self, extent: int, step: int = 1) -> Carry:
        """The strides of so many steps of `step` coordinates, which divides all larger cuts, from a block's start."""
        stop = extent * step
        pieces = [Piece(step, self.stride(step)), *(piece for piece in self.pieces if step < piece.cut < stop)]
        ends = [*(piece.cut for piece in pieces[1:]), stop]
        return Carry(tuple((-(-end // p.cut), p.stride) for p, end in zip(pieces, ends, strict=True)))

    def stride(self, cut: int) -> int:
        """Elements between coordinates that are `cut` apart, inside of the piece that `cut` lies in."""
        piece = max((p for p in self.pieces if p.cut <= cut), key=lambda p: p.cut)
        return cut // piece.cut * piece.stride


class Axis(NamedTuple):
    """
    An axis, several that one side flattens, or a part of one: both sides, parameters along it, and its joins.

    The coordinates below `dim` are loaded, those up to the destination's padding are stored.
    """

    src: Side
    dst: Side
    params: tuple[Side, ...]
    dim: int
    joins: Joins = "none"

    def of(self, side: SideName) -> Side:
        """One of both sides."""
        return self.src if side == "src" else self.dst

    @property
    def sides(self) -> tuple[Side, ...]:
        """All that has blocks along it."""
        return self.src, self.dst, *self.params

    @property
    def has_plain_params(self) -> bool:
        """Whether the values of parameters are as far apart everywhere along it."""
        return all(len(side.pieces) == 1 for side in self.params)

    def shifted(self, by: int) -> Axis:
        """The axis with its coordinates counted from one of them."""
        src, dst, *params = (side.shifted(by) for side in self.sides)
        return Axis(src, dst, tuple(params), max(self.dim - by, 0), self.joins)

    def at(self, start: int, *digits: CopyDigit) -> StridedCopy:
        """Digits from a coordinate on."""
        params = tuple(side.at(start) for side in self.params)
        return StridedCopy(self.src.at(start), self.dst.at(start), digits, params=params)

    def digit(self, extent: int, cut: int) -> CopyDigit:
        """Steps of `cut` coordinates."""
        return CopyDigit(extent, self.src.stride(cut), self.dst.stride(cut), extent, params=self.param_steps(cut))

    def param_steps(self, cut: int) -> tuple[int, ...]:
        """Values between coordinates that are `cut` apart, in each list of parameters."""
        return tuple(side.stride(cut) for side in self.params)


@dataclass(frozen=True)
class CutAxis:
    """An axis, with the cuts that nest on all of its sides, largest first."""

    axis: Axis
    cuts: tuple[int, ...]

    def joined(self, parts: Iterable[StridedCopy], start: int, dim: int, stop: int) -> list[StridedCopy]:
        """The parts that cover coordinates start..stop, as one if they may be, and are short."""
        found = [*parts]
        may = self.axis.joins == "all" or (self.axis.joins == "whole" and stop <= dim)
        if may and len(found) > 1 and stop - start <= MAX_JOINED and self.axis.has_plain_params:
            digit = self._uneven(start, min(dim, stop) - start, stop - start)
            if digit is not None:
                return [self.axis.at(start, replace(digit, params=self.axis.param_steps(1)))]
        return found

    def _uneven(self, start: int, loaded: int, extent: int) -> CopyDigit | None:
        """Coordinates as one digit; none if they do not begin with a block of each side, or none is loaded."""
        if loaded <= 0:
            return None
        src, dst, *_ = self.axis
        digit = axis_digit(extent, loaded, src.carry(loaded), dst.carry(extent))
        sides: tuple[tuple[Side, int, SideName], ...] = ((src, loaded, "src"), (dst, extent, "dst"))
        for side, count, name in sides:
            if any(digit.offset(name, v) != side.at(start + v) - side.at(start) for v in range(count)):
                return None
        return digit

    def stepped(self, step: int) -> Iterator[StridedCopy]:
        """
        All coordinates from a block's start, in steps that no block cuts: one copy, and what is loaded in part or not.

        The steps are a digit that carries on each side in its own way.
        """
        src, dst, _, dim, _ = self.axis
        count, cuts = dim // step, (step, *(cut for cut in self.cuts if cut < step))
        if count:
            steps = axis_digit(count, count, src.carry(count, step), dst.carry(count, step))
            steps = replace(steps, params=self.axis.param_steps(step))
            whole = self.box(cuts, 0, 1, 1)
            yield replace(whole, digits=(steps, *whole.digits))
        at = count * step
        if at < dim:
            stop = min(at + step, dst.padded)
            yield from self.cover(cuts, at, dim, stop)
            at = stop
        yield from self.padding(at, cuts)

    def padding(self, at: int, cuts: tuple[int, ...]) -> Iterator[StridedCopy]:
        """What follows a block of the first of these cuts, all of it padding: by blocks of the destination."""
        step, dst = cuts[0], self.axis.dst
        blocks = [cut for cut in sorted({step, *(piece.cut for piece in dst.pieces)}) if cut >= step]
        for cut, larger in zip(blocks, (*blocks[1:], None), strict=True):
            stop = dst.padded if larger is None else min(-(-at // larger) * larger, dst.padded)
            if empty := (stop - at) // cut:
                below = (cut, *(c for c in reversed(blocks) if c < cut), *cuts[1:])
                yield self.box(below, at, empty, 0)
                at += empty * cut

    def cover(self, cuts: tuple[int, ...], start: int, dim: int, stop: int) -> Iterator[StridedCopy]:
        """
        Coordinates start..stop, of which those below `dim` are loaded.

        The values of the largest digit that are loaded whole, the one that is in part, and those that are not at
        all are copies of their own; the middle one is cut further by the smaller digits.
        """
        cut, rest = cuts[0], cuts[1:]
        if self._is_fine(cuts, start, dim, stop):
            yield from self._apart(cuts, start, dim, stop)
            return
        if not rest:
            extent, loaded = stop - start, min(max(dim - start, 0), stop - start)
            # A macro tile has all of a digit that is loaded in part, so of a long one only the end is.
            whole = loaded // PARTIAL * PARTIAL if loaded < extent and extent > MAX_PARTIAL else 0
            if whole:
                yield self.box(cuts, start, whole, whole)
            yield self.box(cuts, start + whole * cut, extent - whole, loaded - whole)
            return
        if whole := max(min(dim, stop) - start, 0) // cut:
            yield self.box(cuts, start, whole, whole)
        at = start + whole * cut
        if at < min(dim, stop):
            yield from self.cover(rest, at, dim, min(at + cut, stop))
            at = min(at + cut, stop)
        if empty := (stop - at) // cut:
            yield self.box(cuts, at, empty, 0)
        at += empty * cut
        if at < stop:
            yield from self.cover(rest, at, dim, stop)

    def _is_fine(self, cuts: tuple[int, ...], start: int, dim: int, stop: int) -> bool:
        """
        Whether steps of the largest digit are the finest, and its last value has a part of the smaller digits.

        The copies of its first values and of its last one would have the same lines, all of them; where it is
        contiguous, that of its last one would be single elements.
        """
        if len(cuts) == 1 or start >= dim or (min(dim, stop) - start) % cuts[0] == 0:
            return False
        extent = -(-(stop - start) // cuts[0])
        if dim < stop:
            stride = _finest(self.axis.dst, cuts)
            return stride is not None and stride < FINE and extent * cuts[0] == stop - start and extent <= MAX_PARTIAL
        src, dst, *_ = self.axis
        pairs = ((src, dst), (dst, src))
        return extent > 1 and any(_finest(one, cuts) == 1 and _lies_apart(other, cuts) for one, other in pairs)

    def _apart(self, cuts: tuple[int, ...], start: int, dim: int, stop: int) -> Iterator[StridedCopy]:
        """Coordinates as copies that have all values of the largest digit, as many of them loaded in each."""
        extent, (whole, rest) = -(-(stop - start) // cuts[0]), divmod(min(dim, stop) - start, cuts[0])
        for part, is_before in self._around(cuts[1:], start, rest, cuts[0]):
            loaded = whole + is_before
            largest = self.axis.digit(extent if dim < stop else loaded, cuts[0])
            yield replace(part, digits=(replace(largest, loaded=loaded), *part.digits))

    def _around(self, cuts: tuple[int, ...], start: int, at: int, stop: int) -> Iterator[tuple[StridedCopy, bool]]:
        """`stop` coordinates from the start of a block, and whether they are those before `at`, or those behind."""
        whole, rest = divmod(at, cuts[0])
        if whole:
            yield self.box(cuts, start, whole, whole), True
        if rest:
            yield from self._around(cuts[1:], start + whole * cuts[0], rest, cuts[0])
        if behind := stop // cuts[0] - whole - (rest > 0):
            yield self.box(cuts, start + stop - behind * cuts[0], behind, behind), False

    def box(self, cuts: tuple[int, ...], start: int, count: int, loaded: int) -> StridedCopy:
        """`count` values of the largest digit, and all of the smaller ones."""
        extents = (count, *(large // small for large, small in pairwise(cuts)))
        digits = [self.axis.digit(extent, cut) for extent, cut in zip(extents, cuts, strict=True)]
        digits[0] = replace(digits[0], loaded=loaded)
        return self.axis.at(start, *digits)


def _finest(side: Side, cuts: Sequence[int]) -> int | None:
    """How far apart steps of the largest digit lie on a side, if that is inside of the others."""
    strides = [side.stride(cut) for cut in cuts]
    return strides[0] if strides[0] < min(strides[1:]) else None


def _lies_apart(side: Side, cuts: Sequence[int]) -> bool:
    """Whether coordinates share no lines on a side."""
    return min(side.stride(cut) for cut in cuts) >= FINE
