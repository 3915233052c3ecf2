"""Reorder straight from the definition, in NumPy: the specification that every other executor is compared with."""

from __future__ import annotations

from collections.abc import Iterator
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from layoutc.descriptor import Box, MemoryDesc, check_reorder
from layoutc.element_type import check_whole_bytes
from layoutc.errors import BufferError

Offsets = NDArray[np.int64]
Array = NDArray[Any]
MAX_POSITIONS = 1 << 48


def offsets(desc: MemoryDesc) -> Offsets:
    """Offset in elements of every logical element: an array of shape `desc.dims`."""
    _check_countable(desc)
    index = np.ogrid[tuple(slice(0, dim) for dim in desc.dims)]
    coordinates = [desc.group_coordinate(group, index) for group in desc.layout.groups]
    return np.broadcast_to(np.asarray(desc.coordinate_offset(coordinates), np.int64), desc.dims)


def padding_offsets(desc: MemoryDesc) -> Offsets:
    """Offset in elements of every position of the block padding: a flat array, in no particular order."""
    _check_countable(desc)
    parts = [_box_offsets(desc, box) for box in desc.padding_boxes]
    return np.concatenate([np.empty(0, np.int64), *parts])


def reorder(src: MemoryDesc, dst: MemoryDesc, source: Array, destination: Array) -> None:
    """
    Copy every logical element from `source` to `destination`, and write zero to the destination's block padding.

    Both are buffers of exactly `size_bytes` of their descriptors, of any dtype; the bits are moved as they are.
    Nothing else of `destination` is touched. Raises LayoutcError for descriptors that do not fit each other or
    element types under 8 bits, BufferError for buffers that do not fit their descriptors.
    """
    check_reorder(src, dst)
    elements, result = storage("source", src, source), storage("destination", dst, destination)
    if not result.flags.writeable:
        raise BufferError("destination is read-only")
    # Memory may run out while the offsets are made: then nothing has been written yet.
    values, padding = elements[offsets(src)], padding_offsets(dst)
    result[offsets(dst)] = values
    result[padding] = 0


def storage(name: str, desc: MemoryDesc, buffer: Array) -> Array:
    """
    The buffer as a flat array of unsigned integers of the element's width; it shares the memory.

    Raises BufferError unless the buffer is C-contiguous and holds exactly `desc.size_bytes`, and LayoutcError for
    element types under 8 bits.
    """
    check_whole_bytes(desc.element_type)
    if not buffer.flags.c_contiguous:
        raise BufferError(f"{name} is not contiguous")
    if buffer.nbytes != desc.size_bytes:
        raise BufferError(f"{name} has {buffer.nbytes} bytes, expected {desc.size_bytes}")
    return buffer.reshape(-1).view(f"u{desc.element_type.bits // 8}")


def _check_countable(desc: MemoryDesc) -> None:
    """NumPy has other errors for sizes past any memory; those that it merely cannot get it reports itself."""
    if prod(desc.physical_shape) > MAX_POSITIONS:
        raise MemoryError(f"{desc} has more than 2^48 positions")


def _box_offsets(desc: MemoryDesc, box: Box) -> Offsets:
    coordinates = np.ix_(*_box_coordinates(desc, box))
    shape = np.broadcast_shapes(*(coordinate.shape for coordinate in coordinates))
    return np.broadcast_to(np.asarray(desc.coordinate_offset(coordinates), np.int64), shape).ravel()


def _box_coordinates(desc: MemoryDesc, box: Box) -> Iterator[Offsets]:
    """Per axis group, the coordinates that the box spans."""
    for group, span in zip(desc.layout.groups, box, strict=True):
        if span is not None:
            yield np.arange(span.start, span.stop)
        else:
            index = np.ogrid[tuple(slice(0, dim) for dim in desc.dims)]
            shape = tuple(dim if axis in group.axes else 1 for axis, dim in enumerate(desc.dims))
            yield np.broadcast_to(desc.group_coordinate(group, index), shape).ravel()
