"""Reorder straight from the definition, in NumPy: the specification that every other executor is compared with."""

from __future__ import annotations

from collections.abc import Iterator
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from layoutc.compensation import Compensation
from layoutc.conversion import NO_ATTRIBUTES, Conversion
from layoutc.descriptor import MemoryDesc
from layoutc.element_type import check_whole_bytes
from layoutc.errors import BufferError
from layoutc.numeric.arithmetic import NO_ARGUMENTS, Arguments, converted, sums_of_weights
from layoutc.numeric.convert import code_type
from layoutc.numeric.packing import Bytes, pack_into, unpacked
from layoutc.padding import Box

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


def reorder(
    src: MemoryDesc,
    dst: MemoryDesc,
    source: Array,
    destination: Array,
    conversion: Conversion = NO_ATTRIBUTES,
    arguments: Arguments = NO_ARGUMENTS,
) -> None:
    """
    Convert every logical element of `source` into `destination`, and write zero to the destination's block padding.

    Both are buffers of any dtype and of exactly the bytes that their descriptors and the compensation need; elements
    below a byte are packed. `arguments` are the bytes of the parameters that the conversion leaves open.
    Nothing else of `destination` is touched, down to the bit. Raises LayoutcError for descriptors that do not fit each
    other, BufferError for buffers that do not fit their descriptors.
    """
    conversion.check(src, dst)
    elements = _Elements("source", src, source, src.size_bytes)
    result = _Elements("destination", dst, destination, conversion.destination_bytes(dst))
    if not destination.flags.writeable:
        raise BufferError("destination is read-only")
    # Memory may run out while the offsets are made: then nothing has been written yet.
    places, padding = offsets(dst), padding_offsets(dst)
    codes = elements.codes[offsets(src)]
    values = converted(codes, src.element_type, dst.element_type, conversion, arguments, lambda: result.codes[places])
    result.codes[places] = values
    result.codes[padding] = 0
    result.put_back()
    if conversion.compensation is not None:
        _append(conversion.compensation, dst, values, destination)


class _Elements:
    """The codes of all elements of a buffer: its own memory, or a copy where they are packed."""

    def __init__(self, name: str, desc: MemoryDesc, buffer: Array, size_bytes: int):
        self.bits = desc.element_type.bits
        self.bytes = flat_bytes(name, buffer, size_bytes)[: desc.size_bytes]
        if self.bits < 8:
            self.codes = unpacked(self.bytes, self.bits, desc.span)
        else:
            self.codes = self.bytes.view(code_type(desc.element_type))

    def put_back(self) -> None:
        """Pack the codes into the buffer again, with every bit between them as it was."""
        if self.bits < 8:
            pack_into(self.bytes, self.codes, self.bits)


def _append(compensation: Compensation, desc: MemoryDesc, weights: Array, destination: Array) -> None:
    """Write the sums of the weights, in the shape of the dims, behind the data."""
    buffer = destination.reshape(-1).view(np.uint8)
    starts = compensation.offsets_bytes(desc)
    for (factor, axes), start in zip(compensation.parts, starts, strict=False):
        padded = tuple(desc.padded_dims[axis] for axis in axes)
        values = sums_of_weights(weights.view(np.int8), axes, padded) * factor
        data = values.astype(np.int32).reshape(-1).view(np.uint8)
        buffer[start : start + data.size] = data


def flat_bytes(name: str, buffer: Array, size_bytes: int) -> Bytes:
    """The bytes of a buffer; it shares the memory. Raises BufferError unless it is C-contiguous and has so many."""
    if not buffer.flags.c_contiguous:
        raise BufferError(f"{name} is not contiguous")
    if buffer.nbytes != size_bytes:
        raise BufferError(f"{name} has {buffer.nbytes} bytes, expected {size_bytes}")
    return buffer.reshape(-1).view(np.uint8)


def storage(name: str, desc: MemoryDesc, buffer: Array) -> Array:
    """
    The buffer as a flat array of unsigned integers of the element's width; it shares the memory.

    Raises BufferError unless the buffer is C-contiguous and holds exactly `desc.size_bytes`, and LayoutcError for
    element types under 8 bits.
    """
    check_whole_bytes(desc.element_type)
    return flat_bytes(name, buffer, desc.size_bytes).view(code_type(desc.element_type))


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
