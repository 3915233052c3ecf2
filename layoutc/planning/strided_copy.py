"""
A reorder as strided copies: boxes of digits that have one stride on each side.

Both layouts cut an axis into digits. Where the cuts of both sides divide each other, their union is one list of
digits that every element runs through; where they do not (blocks of 6 and of 16), a period of the axis falls into
segments of different lengths. A tail is cut off into segments of its own, in which only the first `loaded` values
of a digit exist in the source and the rest is zero. So every copy is a plain box without conditions.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise, product
from math import lcm, prod
from typing import Any, Literal

from layoutc.descriptor import MemoryDesc
from layoutc.equality import NormalGroup
from layoutc.errors import LayoutcError

SideName = Literal["src", "dst"]
SIDES: tuple[SideName, ...] = ("src", "dst")

MAX_SEGMENTS = 256
"""segments of one axis, past which blocks that do not divide each other are not worth unrolling"""


class NotStridedError(LayoutcError):
    """The reorder has no form as strided copies; the plain plan serves."""


@dataclass(frozen=True, slots=True)
class Carry:
    """The stride of several digits that are counted as one: steps of each and their strides, the fastest first."""

    steps: tuple[tuple[int, int], ...]

    def at(self, value: Any) -> Any:
        """The offset of a value, a number or an affine expression."""
        *inner, (_, last) = self.steps
        total: Any = 0
        for extent, stride in inner:
            total += value % extent * stride
            value = value // extent
        return total + value * last

    @property
    def period(self) -> int:
        """Steps after which the slowest digit takes one: from there on the others repeat."""
        return prod(extent for extent, _ in self.steps[:-1])

    def scaled(self, factor: int) -> Carry:
        return Carry(tuple((extent, stride * factor) for extent, stride in self.steps))


Stride = int | Carry


@dataclass(frozen=True, slots=True)
class CopyDigit:
    """
    `extent` steps of `src` and `dst` elements; only the first `loaded` are in the source, the rest is zero.

    A digit that is several in one (`fused`) has one stride on one side; on the other, `src` or `dst` is that of its
    fastest one, and `carries` has all.
    """

    extent: int
    src: int
    dst: int
    loaded: int
    carries: tuple[tuple[SideName, Carry], ...] = ()

    @property
    def is_whole(self) -> bool:
        """Whether all of it is in the source."""
        return self.loaded == self.extent

    def stride(self, side: SideName) -> Stride:
        """Elements from one step to the next on a side."""
        return dict(self.carries).get(side) or (self.src if side == "src" else self.dst)

    def offset(self, side: SideName, value: int) -> int:
        """Elements up to the step `value` on a side."""
        stride = self.stride(side)
        return stride * value if isinstance(stride, int) else stride.at(value)

    @property
    def parts(self) -> tuple[CopyDigit, ...]:
        """The digits that it was made of, the fastest first; itself for any other."""
        if not self.carries:
            return (self,)
        found: list[CopyDigit] = []
        below = 1
        for number, (extent, _) in enumerate(self.carries[0][1].steps):
            carries = dict(self.carries)
            src, dst = (
                carries[side].steps[number][1] if side in carries else getattr(self, side) * below
                for side in ("src", "dst")
            )
            found.append(CopyDigit(extent, src, dst, extent))
            below *= extent
        return tuple(found)


@dataclass(frozen=True, slots=True)
class StridedCopy:
    """Nested digits from element offsets on both sides. A fill loads nothing and writes zeros."""

    src: int
    dst: int
    digits: tuple[CopyDigit, ...]
    is_fill: bool = False

    @property
    def elements(self) -> int:
        """Elements that are stored."""
        return prod(digit.extent for digit in self.digits)


@dataclass(frozen=True, slots=True)
class Piece:
    """A digit of one side: coordinates `cut`, `2 cut`, ... are `stride` elements apart."""

    cut: int
    stride: int


@dataclass(frozen=True)
class Side:
    """One axis of one descriptor: its pieces from the least significant, and its coordinates with block padding."""

    pieces: tuple[Piece, ...]
    padded: int

    def at(self, coordinate: int) -> int:
        """The offset of a coordinate from that of coordinate 0."""
        total = 0
        for piece, larger in zip(self.pieces, (*(p.cut for p in self.pieces[1:]), None), strict=True):
            value = coordinate if larger is None else coordinate % larger
            total += value // piece.cut * piece.stride
        return total

    def stride(self, cut: int) -> int:
        """Elements between coordinates that are `cut` apart, inside of the piece that `cut` lies in."""
        piece = max((p for p in self.pieces if p.cut <= cut), key=lambda p: p.cut)
        return cut // piece.cut * piece.stride


def strided_copies(source: MemoryDesc, destination: MemoryDesc) -> tuple[StridedCopy, ...]:
    """
    The reorder as copies and fills that write every element and all block padding of the destination once.

    Raises NotStridedError where a border before a blocked axis, or axes that each side flattens with others, leave
    digits without a common form.
    """
    (src_offset, src_groups), (dst_offset, dst_groups) = source.normal_form(), destination.normal_form()
    parts: list[tuple[StridedCopy, ...]] = []
    for axes in _axes_apart(destination.rank, (*src_groups, *dst_groups)):
        src, dst = _side(source, axes, src_groups), _side(destination, axes, dst_groups)
        parts.append(tuple(_segments(src, dst, prod(destination.dims[axis] for axis in axes))))
    copies = (
        StridedCopy(
            src_offset + sum(part.src for part in chosen),
            dst_offset + sum(part.dst for part in chosen),
            tuple(digit for part in chosen for digit in part.digits),
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


def _side(desc: MemoryDesc, axes: tuple[int, ...], groups: Iterable[NormalGroup]) -> Side:
    """
    Some axes of one descriptor as one, flattened row-major.

    Raises NotStridedError where that does not cut them into nesting digits.
    """
    if len(axes) > 1 and any(desc.extents[axis] != desc.dims[axis] for axis in axes):
        raise NotStridedError("flattened axes with a border are reordered by the plain plan")
    pieces: list[Piece] = []
    padded = prod(desc.dims[axis] for axis in axes)
    inner = 1
    found = {group.axes: group for group in groups}
    for part in [axes] if axes in found else [(axis,) for axis in reversed(axes)]:
        group = found.get(part, NormalGroup(part, (0,), ((1, 1, 0),), None))
        high, extent, end = group.tail or (0, 0, 0)
        if high or any(group.low):
            raise NotStridedError("an axis with blocks and a border is reordered by the plain plan")
        if len(axes) > len(part) and (
            group.tail or any(inner * cut % lower.cut for cut, _, _ in group.pieces for lower in pieces)
        ):
            raise NotStridedError("blocks that straddle flattened axes are reordered by the plain plan")
        pieces += (Piece(cut * inner, stride) for cut, _, stride in group.pieces)
        padded += end - extent
        inner *= prod(desc.dims[axis] for axis in part)
    return Side(_joined(pieces), padded)


def _joined(pieces: Iterable[Piece]) -> tuple[Piece, ...]:
    """Pieces without those that only continue the one below."""
    joined: list[Piece] = []
    for piece in pieces:
        if not joined or piece.stride * joined[-1].cut != joined[-1].stride * piece.cut:
            joined.append(piece)
    return tuple(joined)


# --- one axis ------------------------------------------------------------------------------------------------------


def _segments(src: Side, dst: Side, dim: int) -> Iterator[StridedCopy]:
    """Coordinates up to the destination's padding, those below `dim` loaded, as copies and fills of one axis."""
    cuts = sorted({1, *(p.cut for side in (src, dst) for p in side.pieces if p.cut < dst.padded)})
    nesting = [cut for cut in cuts if all(larger % cut == 0 for larger in cuts if larger > cut)]
    shared = nesting if len(nesting) == len(cuts) else [c for c in nesting if c < min(set(cuts) - set(nesting))]
    walk = _Axis(src, dst, tuple(reversed(shared)))
    odd = [cut for cut in cuts if cut not in shared]
    if not odd:
        yield from walk.cover(walk.cuts, 0, dim, dst.padded)
        return
    period = lcm(*odd)
    inside = sorted({edge for cut in odd for edge in range(0, period, cut)})
    if len(inside) > MAX_SEGMENTS:
        raise NotStridedError(f"blocks cut an axis into {len(inside)} segments")
    whole = dim // period
    if whole:
        outer = CopyDigit(whole, src.at(period) - src.at(0), dst.at(period) - dst.at(0), whole)
        for start, stop in pairwise([*inside, period]):
            for part in walk.cover(walk.cuts, start, stop, stop):
                yield replace(part, digits=(outer, *part.digits))
    edges = {base + edge for base in range(whole * period, dst.padded, period) for edge in inside}
    for start, stop in pairwise([*sorted(e for e in edges if e < dst.padded), dst.padded]):
        yield from walk.cover(walk.cuts, start, dim, stop)


@dataclass(frozen=True)
class _Axis:
    """Two sides of an axis with the cuts that nest on both, largest first."""

    src: Side
    dst: Side
    cuts: tuple[int, ...]

    def cover(self, cuts: tuple[int, ...], start: int, dim: int, stop: int) -> Iterator[StridedCopy]:
        """
        Coordinates start..stop, of which those below `dim` are loaded.

        The values of the largest digit that are loaded whole, the one that is in part, and those that are not at
        all are copies of their own; the middle one is cut further by the smaller digits.
        """
        cut, rest = cuts[0], cuts[1:]
        if not rest:
            yield self.box(cuts, start, stop - start, min(max(dim - start, 0), stop - start))
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
        digits = [
            CopyDigit(n, self.src.stride(cut), self.dst.stride(cut), n) for n, cut in zip(extents, cuts, strict=True)
        ]
        digits[0] = replace(digits[0], loaded=loaded)
        return StridedCopy(self.src.at(start), self.dst.at(start), tuple(digits))


# --- the whole copy ------------------------------------------------------------------------------------------------


def merged(copy: StridedCopy) -> StridedCopy:
    """The copy with digits of extent 1 left out and contiguous ones joined, by falling destination stride."""
    if any(digit.loaded == 0 for digit in copy.digits):
        # The source does not matter: strides that follow the destination's let the most digits join.
        whole = tuple(CopyDigit(d.extent, d.dst, d.dst, d.extent) for d in copy.digits)
        copy = StridedCopy(copy.dst, copy.dst, whole, is_fill=True)
    digits = [d for d in copy.digits if d.extent > 1]
    digits.sort(key=_falling)
    changed = True
    while changed:
        changed = False
        for i, j in product(range(len(digits)), repeat=2):
            slow, fast = digits[i], digits[j]
            if i != j and _continues(slow, fast):
                digits[j] = CopyDigit(fast.extent * slow.extent, fast.src, fast.dst, fast.loaded * slow.extent)
                del digits[i]
                changed = True
                break
    return replace(copy, digits=tuple(digits))


def _continues(slow: CopyDigit, fast: CopyDigit) -> bool:
    """Whether the slow digit only carries the fast one on, on both sides."""
    contiguous = slow.src == fast.src * fast.extent and slow.dst == fast.dst * fast.extent
    return contiguous and slow.is_whole and fast.is_whole


def without_partial(copy: StridedCopy, position: int) -> tuple[StridedCopy, StridedCopy]:
    """A copy of what a digit that is loaded in part loads, and a fill of the rest."""
    digit = copy.digits[position]
    loaded = CopyDigit(digit.loaded, digit.src, digit.dst, digit.loaded)
    empty = CopyDigit(digit.extent - digit.loaded, digit.src, digit.dst, 0)
    before, after = copy.digits[:position], copy.digits[position + 1 :]
    rest = replace(copy, dst=copy.dst + digit.loaded * digit.dst, digits=(*before, empty, *after))
    return merged(replace(copy, digits=(*before, loaded, *after))), merged(rest)


def fuse(copy: StridedCopy, positions: Sequence[int]) -> StridedCopy:
    """The copy with these whole digits counted as one; the first is the fastest."""
    parts = [copy.digits[position] for position in positions]
    carries: list[tuple[SideName, Carry]] = []
    for side in SIDES:
        strides = [(part.extent, part.src if side == "src" else part.dst) for part in parts]
        if any(fast * extent != slow for (extent, fast), (_, slow) in pairwise(strides)):
            carries.append((side, Carry(tuple(strides))))
    extent = prod(part.extent for part in parts)
    one = CopyDigit(extent, parts[0].src, parts[0].dst, extent, tuple(carries))
    rest = [None if i in positions else digit for i, digit in enumerate(copy.digits)]
    rest[min(positions)] = one
    return replace(copy, digits=tuple(digit for digit in rest if digit is not None))


def unfused(copy: StridedCopy) -> StridedCopy:
    """The copy with every digit by itself."""
    digits = [part for digit in copy.digits for part in digit.parts]
    return replace(copy, digits=tuple(sorted(digits, key=_falling)))


def _falling(digit: CopyDigit) -> tuple[int, int]:
    return -digit.dst, -digit.src


def contiguous(copy: StridedCopy, side: SideName) -> Iterator[tuple[int, CopyDigit]]:
    """The digits by rising stride on one side, as long as each begins where the one before ends."""
    stride = 1
    while True:
        found = next(((i, d) for i, d in enumerate(copy.digits) if d.stride(side) == stride and d.extent > 1), None)
        if found is None:
            return
        yield found
        stride *= found[1].extent
