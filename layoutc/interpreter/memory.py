"""Memory that knows what is defined, what may be written, and what has been written."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from xdsl.dialects.builtin import AffineMapAttr, MemRefType, NoneAttr, StridedLayoutAttr
from xdsl.ir import Attribute
from xdsl.ir.affine import AffineMap

from layoutc.dialects.memory import flat_type, has_layout, is_memref, is_packed
from layoutc.errors import LayoutcError
from layoutc.interpreter.values import Array, Fault, unsigned_dtype, value_dtype
from layoutc.strides import dense_strides

Mask = NDArray[np.bool_]


@dataclass(eq=False)
class Buffer:
    """
    A flat piece of memory.

    `data` holds unsigned integers of the element's width, so that bits are moved as they are. A load needs
    `defined`; a store needs `writable`. `written` marks what has been stored to memory in which each element may be
    stored only once; for other memory it is None. `private` memory belongs to one iteration, `scratch` is such
    memory for each of the iterations that run at once.
    """

    data: NDArray[Any]
    defined: Mask
    written: Mask | None = None
    writable: bool = True
    freed: bool = False
    private: bool = False
    scratch: bool = False

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

    def saved(self) -> Buffer:
        """A copy of all that a run may change."""
        written = None if self.written is None else self.written.copy()
        return replace(self, data=self.data.copy(), defined=self.defined.copy(), written=written)

    def restore(self, saved: Buffer) -> None:
        """Back to what it was."""
        if self.writable:
            self.data[:] = saved.data
        self.defined[:], self.freed = saved.defined, saved.freed
        if self.written is not None and saved.written is not None:
            self.written[:] = saved.written


@dataclass(frozen=True, eq=False)
class MemRef:
    """
    A view of a buffer: the value of a memref. `offset` and `strides` are in elements.

    Where many iterations run at once, each has its own part of the buffer, `part` elements from `base` on.
    """

    buffer: Buffer
    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    offset: int = 0
    base: Array | int = 0
    part: int | None = None

    @classmethod
    def typed(cls, buffer: Buffer, type: Attribute) -> MemRef:
        """A whole buffer seen as a memref type; faults if the width or the size does not fit."""
        return cls(buffer, *shape_of(type)).checked(type)

    def as_type(self, type: Attribute) -> MemRef:
        """The same memory seen as another memref type."""
        return MemRef(self.buffer, *shape_of(type), self.base, self.part).checked(type)

    def checked(self, type: Attribute) -> MemRef:
        """Itself; faults if it does not fill its memory."""
        itemsize = self.buffer.data.itemsize
        if self.dtype.itemsize != itemsize:
            raise Fault(f"elements of {itemsize} bytes, expected {self.dtype.itemsize} for {type}")
        if self.span != self.room:
            raise Fault(f"{self.room} elements, expected {self.span} for {type}")
        return self

    @property
    def room(self) -> int:
        """Elements of the memory that it is a view of."""
        return self.buffer.data.size if self.part is None else self.part

    @property
    def span(self) -> int:
        """Elements from the start of the buffer to the last one that the memref reaches."""
        if 0 in self.shape:
            return 0
        return self.offset + sum((n - 1) * s for n, s in zip(self.shape, self.strides, strict=True)) + 1

    def offset_of(self, indices: Sequence[Array]) -> Array:
        """Offset of the elements at these indices, in the buffer or the part of it that the memref is a view of."""
        start = np.asarray(self.offset, np.int64)
        return sum((i * s for i, s in zip(indices, self.strides, strict=True)), start)


def shape_of(type: Attribute) -> tuple[np.dtype[Any], tuple[int, ...], tuple[int, ...], int]:
    """
    Element dtype, shape, strides and offset of a static memref type: row-major, strided, or else flat memory, of bytes
    where elements share them.
    """
    if not is_memref(type):
        raise Fault(f"no interpretation for values of type {type}")
    if is_flat(type):
        try:
            type = flat_type(type)
        except LayoutcError as error:
            raise Fault(f"no interpretation for {type}: {error}") from None
    dtype, shape = value_dtype(type.element_type), type.get_shape()
    strides, offset = _strides_of(type, shape)
    if min((*shape, *strides, offset), default=0) < 0:
        raise Fault(f"no interpretation for {type}: its shape, strides and offset must be static and not negative")
    return dtype, shape, strides, offset


def is_flat(type: MemRefType[Attribute]) -> bool:
    """Whether a memref is flat memory here, as it will be when it is lowered."""
    is_row_major = isinstance(type.layout, AffineMapAttr) and type.layout.data == AffineMap.identity(
        type.get_num_dims()
    )
    return has_layout(type) and (is_packed(type) or not is_row_major)


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
