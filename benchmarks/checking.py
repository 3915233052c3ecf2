"""Whether a reorder wrote what the definition says: all elements, zero padding, nothing else."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.buffers import POISON, Buffer, Bytes
from layoutc import reference
from layoutc.descriptor import MemoryDesc

SMALL = 1 << 20
"""Elements up to which the reference executor is run as it is; it needs memory for an offset per element."""
BLOCK = 1 << 22
"""elements that are checked at a time otherwise"""


def is_right(source: MemoryDesc, destination: MemoryDesc, read: Bytes, written: Buffer) -> bool:
    """Whether `written`, poisoned before, now holds the reorder of `read`, and no byte more."""
    if not written.is_canary_alive:
        return False
    if source.elements <= SMALL:
        expected = np.full(written.bytes.shape, POISON, np.uint8)
        reference.reorder(source, destination, read, expected)
        return np.array_equal(expected, written.bytes)
    elements = (reference.storage("source", source, read), reference.storage("destination", destination, written.bytes))
    untouched = reference.storage("destination", destination, np.full_like(written.bytes, POISON))
    return (
        all(np.array_equal(*pair) for pair in blocks(source, destination, *elements))
        and not elements[1][reference.padding_offsets(destination)].any()
        and are_gaps_untouched(destination, elements[1], untouched)
    )


def blocks(
    source: MemoryDesc, destination: MemoryDesc, read: NDArray[Any], written: NDArray[Any]
) -> Iterator[tuple[NDArray[Any], NDArray[Any]]]:
    """The elements of both sides in logical order, a part of the longest axis at a time."""
    for index in indices(source.dims):
        yield read[offsets(source, index)], written[offsets(destination, index)]


def indices(dims: tuple[int, ...]) -> Iterator[list[NDArray[Any]]]:
    """Open grids of indices that cover all dims, each of about BLOCK elements."""
    axis = max(range(len(dims)), key=lambda axis: dims[axis])
    step = max(1, BLOCK * dims[axis] // int(np.prod(dims)))
    for start in range(0, dims[axis], step):
        ranges = [slice(0, dim) for dim in dims]
        ranges[axis] = slice(start, min(start + step, dims[axis]))
        yield list(np.ogrid[tuple(ranges)])


def offsets(desc: MemoryDesc, index: list[NDArray[Any]]) -> NDArray[Any]:
    """Offset in elements of each index of an open grid; in 32 bits where they suffice, which is much faster."""
    if desc.span < 1 << 31:
        index = [coordinates.astype(np.int32) for coordinates in index]
    coordinates = [desc.group_coordinate(group, index) for group in desc.layout.groups]
    found = np.asarray(desc.coordinate_offset(coordinates))
    return np.broadcast_to(found, np.broadcast_shapes(*(part.shape for part in index)))


def are_gaps_untouched(desc: MemoryDesc, elements: NDArray[Any], untouched: NDArray[Any]) -> bool:
    """Whether all that is neither element nor padding still is as it is in an `untouched` buffer."""
    if desc.is_dense:
        return True
    is_gap = np.ones(desc.span, np.bool_)
    for index in indices(desc.dims):
        is_gap[offsets(desc, index)] = False
    is_gap[reference.padding_offsets(desc)] = False
    return np.array_equal(elements[is_gap], untouched[is_gap])
