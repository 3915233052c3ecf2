"""Memory that knows what is defined, what may be written, and what has been written."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from xdsl.dialects.builtin import AffineMapAttr, MemRefType, NoneAttr, StridedLayoutAttr
from xdsl.ir import Attribute
from xdsl.ir.affine import AffineMap
from xdsl.utils.hints import isa

from layoutc.interpreter.values import Array, Fault, unsigned_dtype, value_dtype
from layoutc.strides import dense_strides

Mask = NDArray[np.bool_]


@dataclass(eq=False)
class Buffer:
    """
    A flat piece of memory.

    `data` holds unsigned integers of the element's width, so that bits are moved as they are. A load needs
    `defined`; a store needs `writable`. `written` marks what has been stored to memory in which each element may be
    stored only once; for other memory it is None.
    """

    data: NDArray[Any]
    defined: Mask
    written: Mask | None = None
    writable: bool = True
    freed: bool = False

    @classmethod
    def of(cls, array: Array, defined: Array | bool = True, write_once: bool = False) -> Buffer:
        """A C-contiguous array as a buffer that shares its memory; read-only if the array is."""
        if not array.flags.c_contiguous:
            raise Fault("the array is not contiguous")
        data = array.reshape(-1).view(unsigned_dtype(array.dtype))
        mask = np.broadcast_to(np.asarray(defined, np.bool_).reshape(-1), data.shape).copy()
        return cls(data, mask, np.zeros(data.shape, np.bool_) if write_once else None, array.flags.writeable)

    @classmethod
    def poisoned(cls, size: int, dtype: np.dtype[Any]) -> Buffer:
        """Fresh memory, wholly undefined."""
        return cls(np.zeros(size, unsigned_dtype(dtype)), np.zeros(size, np.bool_))


@dataclass(frozen=True, eq=False)
class MemRef:
    """A view of a buffer: the value of a memref. `offset` and `strides` are in elements."""

    buffer: Buffer
    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    offset: int = 0

    @classmethod
    def typed(cls, buffer: Buffer, type: Attribute) -> MemRef:
        """A whole buffer seen as a memref type; faults if the width or the size does not fit."""
        memref = cls(buffer, *shape_of(type))
        if memref.dtype.itemsize != buffer.data.itemsize:
            raise Fault(f"elements of {buffer.data.itemsize} bytes, expected {memref.dtype.itemsize} for {type}")
        if memref.span != buffer.data.size:
            raise Fault(f"{buffer.data.size} elements, expected {memref.span} for {type}")
        return memref

    @property
    def span(self) -> int:
        """Elements from the start of the buffer to the last one that the memref reaches."""
        if 0 in self.shape:
            return 0
        return self.offset + sum((n - 1) * s for n, s in zip(self.shape, self.strides, strict=True)) + 1

    def offset_of(self, indices: Sequence[Array]) -> Array:
        """Offset in the buffer of the elements at these indices."""
        start = np.asarray(self.offset, np.int64)
        return sum((i * s for i, s in zip(indices, self.strides, strict=True)), start)


def shape_of(type: Attribute) -> tuple[np.dtype[Any], tuple[int, ...], tuple[int, ...], int]:
    """Element dtype, shape, strides and offset of a static memref type, row-major or strided."""
    if not isa(type, MemRefType[Attribute]):
        raise Fault(f"no interpretation for values of type {type}")
    dtype, shape = value_dtype(type.element_type), type.get_shape()
    strides, offset = _strides_of(type, shape)
    if min((*shape, *strides, offset), default=0) < 0:
        raise Fault(f"no interpretation for {type}: its shape, strides and offset must be static and not negative")
    return dtype, shape, strides, offset


def _strides_of(type: MemRefType[Attribute], shape: tuple[int, ...]) -> tuple[tuple[int, ...], int]:
    match type.layout:
        case NoneAttr():
            return dense_strides(shape), 0
        case AffineMapAttr(data=data) if data == AffineMap.identity(len(shape)):
            return dense_strides(shape), 0
        case StridedLayoutAttr() as strided:
            strides, offset = strided.get_strides(), strided.get_offset()
            return tuple(-1 if s is None else s for s in strides), -1 if offset is None else offset
        case layout:
            raise Fault(f"no interpretation for the layout {layout} of a memref; lower it to a flat buffer first")
