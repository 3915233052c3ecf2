"""
A reorder as strided copies: boxes of digits that have one stride on each side.

Both layouts cut an axis into digits. Where the cuts of both sides divide each other, their union is one list of
digits that every element runs through; where they do not (blocks of 6 and of 16), or where borders keep them out of
step, a period of the axis falls into segments of different lengths. What lies before the first coordinate at which all
blocks start is cut wherever one does. A tail is cut off into segments of its own, in which only the first `loaded`
values of a digit exist in the source and the rest is zero. So every copy is a plain box without conditions.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise, product
from math import lcm, prod

from layoutc.descriptor import MemoryDesc
from layoutc.equality import NormalGroup
from layoutc.errors import LayoutcError
from layoutc.param import Grouping
from layoutc.planning.copy_digits import Carry, CopyDigit, SideName, StridedCopy, axis_digit, merged

MAX_SEGMENTS = 256
"""segments of one axis, past which blocks that do not divide each other are not worth unrolling"""
MAX_PARTIAL, PARTIAL = 256, 64
"""the longest digit that is loaded in part, and the multiple that a longer one is cut at"""


MAX_JOINED = 64
"""coordinates of an axis, or a period, that one tile may have all of"""


class NotStridedError(LayoutcError):
    """The reorder has no form as strided copies; the plain plan serves."""


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

    def carry(self, extent: int) -> Carry:
        """The strides of so many coordinates from the start of a block."""
        pieces = [self.pieces[0], *(piece for piece in self.pieces[1:] if piece.cut < extent)]
        ends = [*(piece.cut for piece in pieces[1:]), extent]
        return Carry(tuple((-(-end // p.cut), p.stride) for p, end in zip(pieces, ends, strict=True)))

    def stride(self, cut: int) -> int:
        """Elements between coordinates that are `cut` apart, inside of the piece that `cut` lies in."""
        piece = max((p for p in self.pieces if p.cut <= cut), key=lambda p: p.cut)
        return cut // piece.cut * piece.stride


def strided_copies(
    source: MemoryDesc, destination: MemoryDesc, groupings: Sequence[Grouping] = (), joins: bool = False
) -> tuple[StridedCopy, ...]:
    """
    The reorder as copies and fills that write every element and all block padding of the destination once.

    Each copy says where the values of parameters are that belong to its elements, one list for each of `groupings`.
    If it `joins`, the segments of a short axis, and of a short period, are one digit that carries on each side in its
    own way.

    Raises NotStridedError where axes that each side flattens with others, or a border of flattened axes, leave digits
    without a common form.
    """
    (src_offset, src_groups), (dst_offset, dst_groups) = source.normal_form(), destination.normal_form()
    parts: list[tuple[StridedCopy, ...]] = []
    for axes in _axes_apart(destination.rank, (*src_groups, *dst_groups)):
        src, dst = side_of(source, axes, src_groups), side_of(destination, axes, dst_groups)
        params = tuple(_param_side(grouping, axes, destination.dims) for grouping in groupings)
        parts.append(tuple(_bordered(src, dst, params, prod(destination.dims[axis] for axis in axes), joins)))
    copies = (
        StridedCopy(
            src_offset + sum(part.src for part in chosen),
            dst_offset + sum(part.dst for part in chosen),
            tuple(digit for part in chosen for digit in part.digits),
            params=tuple(sum(part.params[n] for part in chosen) for n in range(len(groupings))),
        )
        for chosen in product(*parts)
    )
    return tuple(map(merged, copies))


def _axes_apart(rank: int, groups: Iterable[NormalGroup]) -> list[tuple[int, ...]]:
    """The axes, those together that one side flattens. Raises NotStridedError if the sides flatten other axes."""
    flattened = {group.axes for group in groups if len(group.axes) > 1}
    taken = [axis for axes in flattened for axis in axes]
    if len(set(taken)) != len(taken):
        raise NotStridedError("axes that are flattened with others on each side are reordered by the plain plan")
    return [*flattened, *((axis,) for axis in range(rank) if axis not in taken)]


def side_of(desc: MemoryDesc, axes: tuple[int, ...], groups: Iterable[NormalGroup]) -> Side:
    """
    Some axes of one descriptor as one, flattened row-major.

    Raises NotStridedError where that does not cut them into nesting digits.
    """
    if len(axes) > 1 and any(desc.extents[axis] != desc.dims[axis] for axis in axes):
        raise NotStridedError("flattened axes with a border are reordered by the plain plan")
    pieces: list[Piece] = []
    padded = prod(desc.dims[axis] for axis in axes)
    low = high = 0
    inner = 1
    found = {group.axes: group for group in groups}
    for part in [axes] if axes in found else [(axis,) for axis in reversed(axes)]:
        group = found.get(part, NormalGroup(part, (0,), ((1, 1, 0),), None))
        high, extent, end = group.tail or (0, 0, 0)
        low = group.low[0]
        if len(axes) > len(part) and (
            group.tail or any(inner * cut % lower.cut for cut, _, _ in group.pieces for lower in pieces)
        ):
            raise NotStridedError("blocks that straddle flattened axes are reordered by the plain plan")
        pieces += (Piece(cut * inner, stride) for cut, _, stride in group.pieces)
        padded += end - extent + high
        inner *= prod(desc.dims[axis] for axis in part)
    return Side(_joined(pieces), padded, low, high)


def _param_side(grouping: Grouping, axes: tuple[int, ...], dims: Sequence[int]) -> Side:
    """The values of a parameter along some axes, flattened row-major."""
    pieces: list[Piece] = []
    inner = 1
    for axis in reversed(axes):
        if dims[axis] > 1:
            group, stride = grouping.group(axis), grouping.stride(axis, dims)
            if group > 1 or not stride:
                pieces.append(Piece(inner, 0))
            if group < dims[axis] and stride:
                pieces.append(Piece(inner * group, stride))
        inner *= dims[axis]
    return Side(_joined(pieces or [Piece(1, 0)]), inner)


def _joined(pieces: Iterable[Piece]) -> tuple[Piece, ...]:
    """Pieces without those that only continue the one below."""
    joined: list[Piece] = []
    for piece in pieces:
        if not joined or piece.stride * joined[-1].cut != joined[-1].stride * piece.cut:
            joined.append(piece)
    return tuple(joined)


# --- one axis ------------------------------------------------------------------------------------------------------


def _bordered(src: Side, dst: Side, params: tuple[Side, ...], dim: int, joins: bool) -> Iterator[StridedCopy]:
    """The coordinates of an axis and the destination's padding of it, without the border between them."""
    if not dst.high:
        yield from _from_a_block(src, dst, params, dim, joins)
        return
    yield from _from_a_block(src, replace(dst, padded=dim), params, dim, joins)
    padding = dst.shifted(dim + dst.high)
    if padding.padded:
        yield from _from_a_block(padding, padding, params, 0, joins)


def _from_a_block(src: Side, dst: Side, params: tuple[Side, ...], dim: int, joins: bool) -> Iterator[StridedCopy]:
    """
    Coordinates as `_segments` has them, of sides that may start within a block, behind a border.

    What lies before the first coordinate at which all blocks start is cut wherever one does.
    """
    sides = (src, dst, *params)
    origin = _origin(sides, dst.padded)
    if origin is None:
        yield from _segments(src, dst, params, dim, joins)
        return
    if origin:
        cuts = {piece.cut for side in sides for piece in side.pieces} - {1}
        for start, stop in pairwise([*_edges(sides, cuts, origin), origin]):
            yield from _Axis(src, dst, params, (1,)).cover((1,), start, dim, stop)
    if origin < dst.padded:
        src, dst, *params_from = (side.shifted(origin) for side in sides)
        yield from _segments(src, dst, tuple(params_from), max(dim - origin, 0), joins)


def _origin(sides: Sequence[Side], stop: int) -> int | None:
    """The first coordinate at which blocks of all sides start, `stop` if none starts before; None if they never do."""
    origin, step = 0, 1
    # `origin` is right for all blocks so far, and so is every `step` from there.
    for low, cut in ((side.low, piece.cut) for side in sides for piece in side.pieces):
        found = next((at for at in range(origin, origin + step * cut, step) if (at + low) % cut == 0), None)
        if found is None:
            return None
        origin, step = found, lcm(step, cut)
    return min(origin, stop)


def _edges(sides: Sequence[Side], cuts: Collection[int], stop: int) -> list[int]:
    """0, and where blocks of these cuts start before `stop`. Raises NotStridedError for too many."""
    least = stop // min(cuts)
    found = {0}.union(*(side.edges(cuts, stop) for side in sides)) if least <= MAX_SEGMENTS else ()
    if not 0 < len(found) <= MAX_SEGMENTS:
        raise NotStridedError(f"blocks cut an axis into {max(least, len(found))} segments")
    return sorted(found)


def _segments(src: Side, dst: Side, params: tuple[Side, ...], dim: int, joins: bool) -> Iterator[StridedCopy]:
    """Coordinates up to the destination's padding, those below `dim` loaded, as copies and fills of one axis."""
    sides = (src, dst, *params)
    nests = all(side.starts_blocks for side in sides)
    cuts = sorted({1, *(p.cut for side in sides for p in side.pieces if p.cut < dst.padded or not nests)})
    nesting = [cut for cut in cuts if cut == 1 or (nests and all(n % cut == 0 for n in cuts if n > cut))]
    shared = nesting if len(nesting) == len(cuts) else [c for c in nesting if c < min(set(cuts) - set(nesting))]
    walk = _Axis(src, dst, params, tuple(reversed(shared)), joins)
    odd = [cut for cut in cuts if cut not in shared]
    if not odd:
        yield from walk.joined(walk.cover(walk.cuts, 0, dim, dst.padded), 0, dim, dst.padded)
    else:
        yield from walk.joined(_periods(walk, odd, dim), 0, dim, dst.padded)


def _periods(walk: _Axis, odd: Sequence[int], dim: int) -> Iterator[StridedCopy]:
    """Periods of an axis whose blocks do not nest, cut where a block begins, and the last one."""
    src, dst, params = walk.src, walk.dst, walk.params
    sides = (src, dst, *params)
    period = lcm(*odd)
    inside = _edges(sides, odd, period)
    whole = dim // period
    if whole:
        steps, (in_src, in_dst) = (
            tuple(side.at(period) - side.at(0) for side in sides) for sides in (params, (src, dst))
        )
        outer = CopyDigit(whole, in_src, in_dst, whole, params=steps)
        spans = pairwise([*inside, period])
        found = (part for start, stop in spans for part in walk.cover(walk.cuts, start, stop, stop))
        for part in walk.joined(found, 0, period, period):
            yield replace(part, digits=(outer, *part.digits))
    edges = {base + edge for base in range(whole * period, dst.padded, period) for edge in inside}
    spans = pairwise([*sorted(e for e in edges if e < dst.padded), dst.padded])
    found = (part for start, stop in spans for part in walk.cover(walk.cuts, start, dim, stop))
    yield from walk.joined(found, whole * period, dim, dst.padded)


@dataclass(frozen=True)
class _Axis:
    """Two sides of an axis, and the parameters along it, with the cuts that nest on all, largest first."""

    src: Side
    dst: Side
    params: tuple[Side, ...]
    cuts: tuple[int, ...]
    joins: bool = False

    def joined(self, parts: Iterable[StridedCopy], start: int, dim: int, stop: int) -> list[StridedCopy]:
        """The parts that cover coordinates start..stop, as one if they may be, and are short."""
        found = [*parts]
        if self.joins and len(found) > 1 and stop - start <= MAX_JOINED and not self.params:
            digit = self._uneven(start, min(dim, stop) - start, stop - start)
            if digit is not None:
                return [StridedCopy(self.src.at(start), self.dst.at(start), (digit,))]
        return found

    def _uneven(self, start: int, loaded: int, extent: int) -> CopyDigit | None:
        """Coordinates as one digit; none if they do not begin with a block of each side, or none is loaded."""
        if loaded <= 0:
            return None
        digit = axis_digit(extent, loaded, self.src.carry(loaded), self.dst.carry(extent))
        sides: tuple[tuple[Side, int, SideName], ...] = ((self.src, loaded, "src"), (self.dst, extent, "dst"))
        for side, count, name in sides:
            if any(digit.offset(name, v) != side.at(start + v) - side.at(start) for v in range(count)):
                return None
        return digit

    def cover(self, cuts: tuple[int, ...], start: int, dim: int, stop: int) -> Iterator[StridedCopy]:
        """
        Coordinates start..stop, of which those below `dim` are loaded.

        The values of the largest digit that are loaded whole, the one that is in part, and those that are not at
        all are copies of their own; the middle one is cut further by the smaller digits.
        """
        cut, rest = cuts[0], cuts[1:]
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

    def box(self, cuts: tuple[int, ...], start: int, count: int, loaded: int) -> StridedCopy:
        """`count` values of the largest digit, and all of the smaller ones."""
        extents = (count, *(large // small for large, small in pairwise(cuts)))
        digits = [self._digit(extent, cut) for extent, cut in zip(extents, cuts, strict=True)]
        digits[0] = replace(digits[0], loaded=loaded)
        params = tuple(side.at(start) for side in self.params)
        return StridedCopy(self.src.at(start), self.dst.at(start), tuple(digits), params=params)

    def _digit(self, extent: int, cut: int) -> CopyDigit:
        """Steps of `cut` coordinates."""
        steps = tuple(side.stride(cut) for side in self.params)
        return CopyDigit(extent, self.src.stride(cut), self.dst.stride(cut), extent, params=steps)
