"""Whether a reorder that converts wrote what the definition says; large ones a slab at a time."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import lcm
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks import checking
from benchmarks.buffers import POISON, Buffer, Bytes
from benchmarks.tasks import Task
from layoutc import reference
from layoutc.descriptor import MemoryDesc
from layoutc.numeric.arithmetic import converted, sums_of_weights
from layoutc.numeric.convert import code_type
from layoutc.numeric.packing import packed, unpacked
from layoutc.param import Param

Codes = NDArray[Any]


@dataclass(frozen=True)
class Slab:
    """The indices from `start` to `stop` of one axis, and all of the others."""

    axis: int
    start: int
    stop: int

    def grid(self, dims: tuple[int, ...]) -> list[NDArray[Any]]:
        ranges = [slice(0, dim) for dim in dims]
        ranges[self.axis] = slice(self.start, self.stop)
        return list(np.ogrid[tuple(ranges)])


def is_right(task: Task, read: Bytes, written: Buffer, arguments: Mapping[str, Bytes]) -> bool:
    """Whether `written`, poisoned before, now holds the conversion of `read`, and no byte more."""
    source, destination = task.source_desc, task.destination_desc
    if not written.is_canary_alive:
        return False
    if source.elements <= checking.SMALL:
        expected = np.full(written.bytes.shape, POISON, np.uint8)
        reference.reorder(source, destination, read, expected, task.conversion, arguments)
        return np.array_equal(expected, written.bytes)
    before, after = codes_of(source, read), codes_of(destination, written.bytes)
    untouched = codes_of(destination, np.full_like(written.bytes, POISON))
    return (
        all(is_slab_right(task, slab, before, after, arguments) for slab in slabs(task))
        and not after[reference.padding_offsets(destination)].any()
        and checking.are_gaps_untouched(destination, after, untouched)
        and are_sums_right(task, after, written.bytes)
    )


def codes_of(desc: MemoryDesc, bytes: Bytes) -> Codes:
    """All elements of a buffer, those under a byte unpacked."""
    data, bits = bytes[: desc.size_bytes], desc.element_type.bits
    return unpacked(data, bits, desc.span) if bits < 8 else data.view(code_type(desc.element_type))


def slabs(task: Task) -> Iterator[Slab]:
    """Of about BLOCK elements each; none cuts a group of a parameter."""
    dims = task.dims
    axis = max(range(len(dims)), key=lambda axis: dims[axis])
    params = [param for param in task.conversion.arguments.values() if axis in param.axes]
    whole = lcm(1, *(param.groups[param.axes.index(axis)] for param in params))
    step = max(whole, checking.BLOCK * dims[axis] // task.source_desc.elements // whole * whole)
    return (Slab(axis, start, min(start + step, dims[axis])) for start in range(0, dims[axis], step))


def is_slab_right(task: Task, slab: Slab, before: Codes, after: Codes, arguments: Mapping[str, Bytes]) -> bool:
    source, destination = task.source_desc, task.destination_desc
    index = slab.grid(task.dims)
    given = {
        name: of_slab(param, slab, task.dims, arguments[name]) for name, param in task.conversion.arguments.items()
    }
    codes = before[checking.offsets(source, index)]
    expected = converted(codes, source.element_type, destination.element_type, task.conversion, given)
    return np.array_equal(expected, after[checking.offsets(destination, index)])


def of_slab(param: Param, slab: Slab, dims: tuple[int, ...], data: Bytes) -> Bytes:
    """The part of an argument that a slab needs."""
    if slab.axis not in param.axes:
        return data
    place, bits = param.axes.index(slab.axis), param.type.bits
    shape, group = param.shape(dims), param.groups[place]
    codes = unpacked(data, bits, int(np.prod(shape))) if bits < 8 else data.view(code_type(param.type))
    part = np.take(codes.reshape(shape), np.arange(slab.start // group, slab.stop // group), axis=place)
    return packed(part, bits) if bits < 8 else np.ascontiguousarray(part).reshape(-1).view(np.uint8)


def are_sums_right(task: Task, after: Codes, written: Bytes) -> bool:
    """Whether the compensation sums are those of the weights that were written, and the bytes before them untouched."""
    compensation, desc = task.conversion.compensation, task.destination_desc
    if compensation is None:
        return True
    starts = compensation.offsets_bytes(desc)
    weights = after.view(np.int8)[checking.offsets(desc, Slab(0, 0, desc.dims[0]).grid(desc.dims))]
    for (factor, axes), start, end in zip(compensation.parts, starts, starts[1:], strict=False):
        sums = sums_of_weights(weights, axes, tuple(desc.padded_dims[axis] for axis in axes)) * factor
        if not np.array_equal(sums.astype(np.int32).reshape(-1).view(np.uint8), written[start:end]):
            return False
    return bool((written[desc.size_bytes : starts[0]] == POISON).all())
