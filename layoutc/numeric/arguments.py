"""Scales and zero points that are given when a kernel is called, as the bytes that it reads."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from layoutc.buffers import Address, as_buffer, check_unmasked
from layoutc.conversion import Conversion, label
from layoutc.dlpack import lend
from layoutc.element_type import element_type
from layoutc.errors import BufferError, LayoutcError
from layoutc.numeric.arithmetic import constant_bytes
from layoutc.numeric.packing import Bytes, packed
from layoutc.param import Param

Dims = tuple[int, ...]


def argument_bytes(conversion: Conversion, dims: Dims, given: Mapping[str, Any]) -> dict[str, Bytes]:
    """
    The bytes of all arguments of a conversion, in its order, from what a call was given by name.

    Raises LayoutcError for missing and unknown names and for values that do not fit, BufferError for buffers.
    """
    expected = conversion.arguments
    for name in sorted(set(given) - set(expected)):
        raise LayoutcError(f"got an argument {name!r}, expected {' '.join(expected) or 'none'}")
    for name in expected:
        if name not in given:
            raise LayoutcError(f"argument {name!r} is missing: {label(name)} is given when the kernel is called")
    return {name: _bytes(name, param, dims, given[name]) for name, param in expected.items()}


def _bytes(name: str, param: Param, dims: Dims, value: Any) -> Bytes:
    """A buffer as it is, an array of the parameter's type without copying, other numbers as constants are read."""
    if issubclass(type(value), memoryview) and value.itemsize > 1:
        value = np.asarray(value)
    if issubclass(type(value), bytes | bytearray | memoryview | Address) or _is_lent_memory(name, param, dims, value):
        _check_shape(name, param, dims, getattr(value, "shape", ()))
        alignment = max(param.type.bits // 8, 1)
        return as_buffer(label(name), value, param.size_bytes(dims), writable=False, alignment=alignment)
    if issubclass(type(value), np.ndarray):
        check_unmasked(label(name), value)
        param.check_shape(label(name), dims, value.shape)
        if _is_of_type(value, param):
            data = _flat(value)
            return packed(data, param.type.bits) if param.type.bits < 8 else data
    if value is None:
        raise LayoutcError(f"{label(name)} is None, expected values")
    try:
        constant = Param(value, param.axes, param.groups, param.type)
    except LayoutcError as error:
        raise LayoutcError(f"{label(name)}: {error}") from None
    constant.check(label(name), dims)
    return constant_bytes(constant)


def _is_lent_memory(name: str, param: Param, dims: Dims, value: Any) -> bool:
    """
    Whether a tensor of another library holds the memory of the parameter: its type, or its bytes.

    Others are numbers, and an error where they cannot be asked for.
    """
    if not hasattr(value, "__dlpack__") or isinstance(value, np.ndarray | np.generic):
        return False
    lent = lend(label(name), value)
    if lent.element_type == param.type:
        return True
    if lent.element_type.name == "u8" and param.type.name != "s8" and lent.size_bytes == param.size_bytes(dims):
        return True
    if not hasattr(value, "tolist"):
        raise BufferError(f"{label(name)} has elements of {lent.element_type}, expected {param.type}")
    return False


def _flat(array: NDArray[Any]) -> Bytes:
    """The bytes of an array; a copy where C could not read them."""
    return np.require(array, requirements=["C", "A"]).reshape(-1).view(np.uint8)


def _check_shape(name: str, param: Param, dims: Dims, shape: Sequence[int]) -> None:
    """Of a buffer that may hold values: one of as many elements as there are values, where it says so."""
    if len(shape) > 1 and prod(shape) == prod(param.shape(dims)):
        param.check_shape(label(name), dims, tuple(shape))


def _is_of_type(array: NDArray[Any], param: Param) -> bool:
    try:
        return element_type(array.dtype) == param.type
    except LayoutcError:
        return False
