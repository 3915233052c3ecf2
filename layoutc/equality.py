"""When two memory descriptors are the same memory, whatever their layouts are called."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING

from layoutc.layout import AxisGroup

if TYPE_CHECKING:
    from layoutc.descriptor import MemoryDesc

Piece = tuple[int, int, int]
"""(divisor, extent, stride): the term `((coordinate // divisor) % extent) * stride`"""


@dataclass(frozen=True)
class NormalGroup:
    """The terms of some flattened axes of extent above 1, with nothing that could be left out or merged."""

    axes: tuple[int, ...]
    low: tuple[int, ...]
    pieces: tuple[Piece, ...]
    tail: tuple[int, int, int] | None
    """(border above, first padding coordinate, last + 1), None without block padding"""


NormalForm = tuple[int, frozenset[NormalGroup]]


def same_memory(one: MemoryDesc, other: MemoryDesc) -> bool:
    """
    Whether both put every element and every padding position at the same offset of an equally large buffer.

    Then a buffer of one is a buffer of the other, and a reorder between them moves nothing.
    """
    sizes = (one.dims, one.element_type, one.size_bytes) == (other.dims, other.element_type, other.size_bytes)
    return sizes and normal_form(one) == normal_form(other)


def normal_form(desc: MemoryDesc) -> NormalForm:
    """
    The base offset and the terms of the offset map, in a form that is equal for equal maps.

    Axes of extent 1 and digits of extent 1 are left out, contiguous digits are one, flattened axes are taken
    apart where their digits allow it, and a border before an unblocked axis becomes part of the base offset.
    """
    offset = desc.base_offset
    groups: list[NormalGroup] = []
    for group in desc.layout.groups:
        for normal in _split(desc, group):
            if len(normal.pieces) == 1 and len(normal.axes) == 1:
                offset += normal.low[0] * normal.pieces[0][2]
                normal = NormalGroup(normal.axes, (0,), normal.pieces, normal.tail)
            if normal.pieces:
                groups.append(normal)
    return offset, frozenset(groups)


def _split(desc: MemoryDesc, group: AxisGroup) -> list[NormalGroup]:
    """The group's axes of extent above 1, one by one where no digit and no padding straddles two of them."""
    extent = prod(desc.extents[axis] for axis in group.axes)
    padded = desc.layout.padded(group, extent)
    pieces = _merged(_pieces(desc, group))
    axes = tuple(axis for axis in group.axes if desc.extents[axis] > 1) or group.axes
    low = tuple(desc.lows[axis] for axis in axes)
    high = sum(desc.highs[axis] for axis in axes)
    whole = NormalGroup(axes, low, pieces, (high, extent, padded) if padded > extent else None)
    if padded > extent:
        return [whole]
    parts: list[NormalGroup] = []
    for axis, below in zip(reversed(axes), reversed(low), strict=True):
        cut = _cut(pieces, desc.extents[axis])
        if cut is None:
            return [whole]
        parts.append(NormalGroup((axis,), (below,), cut[0], None))
        pieces = cut[1]
    return parts


def _pieces(desc: MemoryDesc, group: AxisGroup) -> list[Piece]:
    """The group's digits of extent above 1, least significant first."""
    shape, strides, digits = desc.physical_shape, desc.strides, desc.layout.digits
    return [(digits[p].divisor, shape[p], strides[p]) for p in group.positions if shape[p] > 1]


def _merged(pieces: list[Piece]) -> tuple[Piece, ...]:
    merged: list[Piece] = []
    for divisor, extent, stride in pieces:
        if merged and stride == merged[-1][2] * merged[-1][1]:
            merged[-1] = (merged[-1][0], merged[-1][1] * extent, merged[-1][2])
        else:
            merged.append((divisor, extent, stride))
    return tuple(merged)


def _cut(pieces: tuple[Piece, ...], extent: int) -> tuple[tuple[Piece, ...], tuple[Piece, ...]] | None:
    """The pieces below a coordinate and those above it, a straddling one cut in two; None if it does not divide."""
    below: list[Piece] = []
    above: list[Piece] = []
    for divisor, size, stride in pieces:
        if divisor >= extent:
            if divisor % extent:
                return None
            above.append((divisor // extent, size, stride))
        elif divisor * size <= extent:
            below.append((divisor, size, stride))
        elif extent % divisor or (divisor * size) % extent:
            return None
        else:
            inner = extent // divisor
            below.append((divisor, inner, stride))
            above.append((1, size // inner, stride * inner))
    return tuple(below), tuple(above)
