"""
A reorder as strided copies: boxes of digits that have one stride on each side.

Both layouts cut an axis into digits. Where the cuts of both sides divide each other, their union is one list of
digits that every element runs through; where they do not (blocks of 6 and of 16), or where borders keep them out of
step, a period of the axis falls into segments of different lengths. What lies before the first coordinate at which all
blocks start is cut wherever one does. A tail is cut off into segments of its own, in which only the first `loaded`
values of a digit exist in the source and the rest is zero. So every copy is a plain box without conditions.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache
from itertools import product
from math import gcd, prod

from layoutc.descriptor import MemoryDesc
from layoutc.equality import NormalGroup
from layoutc.param import Grouping
from layoutc.planning.copies.axis_copies import Axis, Joins, Piece, Side
from layoutc.planning.copies.axis_segments import MAX_SEGMENTS, NotStridedError, copies_along
from layoutc.planning.copies.copy_digits import StridedCopy, merged

MOST_COPIES = 32
"""copies, more than which become fewer that step through axes whose blocks do not divide each other"""
LEAST_STEP = 4
"""elements of a row that a step has at least: those of one element took 5 times as long as segments"""
CHEAP_COPIES, LARGE_COPY = 32, 256
"""more copies than the first are worth their text, about 10 KB of C each, if they have so many elements on average"""


@lru_cache(maxsize=256)
def strided_copies(
    source: MemoryDesc,
    destination: MemoryDesc,
    groupings: tuple[Grouping, ...] = (),
    joins: Joins = "none",
    along: int | None = None,
    steps: bool = False,
) -> tuple[StridedCopy, ...]:
    """
    The reorder as copies and fills that write every element and all block padding of the destination once.

    Each copy says where the values of parameters are that belong to its elements, one list for each of `groupings`.
    Where it `joins` them, the segments of a short axis, and of a short period, are one digit that carries on each side
    in its own way: `all` of them, or those that are loaded `whole`; of every axis, or `along` one alone. If it `steps`,
    axes with the most segments are one digit of steps, where copies are many.

    Raises NotStridedError where axes that each side flattens with others, or a border of flattened axes, leave digits
    without a common form, or where the copies are too many for their elements.
    """
    src_offset, dst_offset, axes = axis_sides(source, destination, groupings, joins, along)
    parts = _few_parts(axes) if steps else [*map(copies_along, axes)]
    _check_count(prod(map(len, parts)), destination.elements)
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


def axis_sides(
    source: MemoryDesc,
    destination: MemoryDesc,
    groupings: tuple[Grouping, ...] = (),
    joins: Joins = "none",
    along: int | None = None,
) -> tuple[int, int, list[Axis]]:
    """The first element's offsets, and each axis; several as one where a side flattens them. Raises NotStridedError."""
    (src_offset, src_groups), (dst_offset, dst_groups) = source.normal_form, destination.normal_form
    axes = [
        Axis(
            side_of(source, axes, src_groups),
            side_of(destination, axes, dst_groups),
            tuple(_param_side(grouping, axes, destination.dims) for grouping in groupings),
            prod(destination.dims[axis] for axis in axes),
            joins if along is None or along in axes else "none",
        )
        for axes in _axes_apart(destination.rank, (*src_groups, *dst_groups))
    ]
    return src_offset, dst_offset, axes


def count_segments(source: MemoryDesc, destination: MemoryDesc) -> int:
    """How many copies there are without steps; about how many, if an axis has too many segments."""
    counts: list[int] = []
    for axis in axis_sides(source, destination)[2]:
        try:
            counts.append(len(copies_along(axis)))
        except NotStridedError:
            counts.append(MAX_SEGMENTS)
    return prod(counts)


def _few_parts(axes: Sequence[Axis]) -> list[tuple[StridedCopy, ...]]:
    """
    The copies of each axis; of axes with the most, those that steps need, until all together are few enough.

    Short steps along rows are only for what would have no strided form otherwise.
    """
    parts = [_parts(axis) for axis in axes]
    for number in sorted(range(len(axes)), key=lambda number: -len(parts[number])):
        count = prod(map(len, parts))
        if count > (MAX_SEGMENTS if _has_short_steps(axes[number]) else MOST_COPIES):
            parts[number] = min(parts[number], _stepped(axes[number]), key=len)
    return parts


def _parts(axis: Axis) -> tuple[StridedCopy, ...]:
    """The copies of an axis, in steps if its segments are too many."""
    try:
        return copies_along(axis)
    except NotStridedError:
        return _stepped(axis)


def _stepped(axis: Axis) -> tuple[StridedCopy, ...]:
    """The same as one digit of steps, and what is loaded in part or not."""
    return copies_along(axis._replace(joins="steps"))


def _has_short_steps(axis: Axis) -> bool:
    """Whether neighbours lie together on a side, of which steps would leave a few elements together."""
    sides = axis.src, axis.dst
    is_fastest = any(side.pieces[0].stride == 1 for side in sides)
    return is_fastest and gcd(*(p.cut for side in sides for p in side.pieces if p.cut > 1)) < LEAST_STEP


def _check_count(copies: int, elements: int) -> None:
    """Raises NotStridedError for more copies than so many elements are worth."""
    if copies > MAX_SEGMENTS or (copies > CHEAP_COPIES and elements < LARGE_COPY * copies):
        raise NotStridedError(f"blocks cut {elements} elements into {copies} copies")


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
