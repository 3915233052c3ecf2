"""The array of a .npy file as the physical buffer of a memory descriptor."""

from __future__ import annotations

from typing import Any

import numpy as np

from layoutc import notations
from layoutc.descriptor import MemoryDesc
from layoutc.element_type import ElementType, element_type
from layoutc.errors import LayoutcError
from layoutc.kernel import dims_of_physical_shape

Array = np.ndarray[Any, np.dtype[Any]]


def stored_type(array: Array, dtype: str | None) -> ElementType:
    """
    The element type that the array holds, or `dtype` if the array's elements are as wide.

    Raises LayoutcError for NumPy types that layoutc has no word for, such as complex64.
    """
    if dtype is None:
        if array.dtype.kind not in "biuf":
            raise LayoutcError(f"NumPy type {array.dtype} is no element type, name one with --dtype")
        return element_type(array.dtype.name)
    named = element_type(dtype)
    if named.bits != array.itemsize * 8:
        raise LayoutcError(
            f"element type {named} has {named.bits} bits, the array's {array.dtype} {array.itemsize * 8}"
        )
    return named


def source_desc(notation: str, dims: tuple[int, ...] | None, array: Array, stored: ElementType) -> MemoryDesc:
    """
    The descriptor of an array that holds the buffer of a layout.

    Dims that neither the option nor the text says are those of the array's shape, which is then the physical
    shape; block padding counts as data. Raises LayoutcError if the array cannot be that buffer.
    """
    reading = notations.read(notation)
    if dims is None and reading.dims is None:
        dims = dims_of_physical_shape(notation, array.shape)
    desc = notations.desc(notation, dims, stored)
    if array.shape != (desc.span,) and not (desc.is_dense and array.shape == desc.physical_shape):
        shapes = [(desc.span,), *([desc.physical_shape] if desc.is_dense else [])]
        expected = " or ".join(map(str, dict.fromkeys(reversed(shapes))))
        raise LayoutcError(f"the array has shape {array.shape}, expected {expected} for {desc}")
    return desc


def destination_array(desc: MemoryDesc, dtype: np.dtype[Any]) -> Array:
    """A zeroed array for the buffer of a descriptor: its physical shape where it is dense, else flat."""
    return np.zeros(desc.physical_shape if desc.is_dense else desc.span, dtype)
