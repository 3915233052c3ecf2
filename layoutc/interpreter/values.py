"""
Values: every scalar of the IR is a NumPy array, of shape () or of the loops that run at once.

A vector has one axis more, the last one, for its lanes.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from typing_extensions import TypeIs
from xdsl.dialects.builtin import IndexType, VectorType
from xdsl.ir import Attribute

from layoutc.element_type import element_type
from layoutc.errors import LayoutcError

Array = NDArray[Any]


class Fault(BaseException):
    """
    What stops a run: it becomes an InterpreterError with the same text.

    Not an Exception, because xDSL would wrap that in a printout of the whole module once per enclosing op.
    """


class OutOfOrder(BaseException):
    """What ran at once has to run one iteration after another."""


def is_vector(type: Attribute) -> TypeIs[VectorType[Any]]:
    """Whether a type is a vector; xDSL's `isa` makes constraints of its parameters at each question."""
    return type.__class__ is VectorType


@cache
def value_dtype(type: Attribute) -> np.dtype[Any]:
    """The NumPy type of an IR type, or of a vector's lanes; faults for those without, or packed below a byte."""
    if is_vector(type):
        return value_dtype(type.element_type)
    if isinstance(type, IndexType):
        return np.dtype(np.int64)
    try:
        found = element_type(str(type))
    except LayoutcError:
        raise Fault(f"no interpretation for values of type {type}") from None
    if found.bits < 8:
        raise Fault(f"element type {found} is not supported yet: it is packed below a byte")
    return found.numpy


def unsigned_dtype(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """The unsigned integer as wide as `dtype`: what memory holds."""
    return np.dtype(f"u{dtype.itemsize}")


def from_python(value: float, dtype: np.dtype[Any]) -> Array:
    """A Python number as a value: integers wrap around, floats are rounded."""
    if dtype.kind == "b":
        return np.asarray(bool(int(value) & 1))
    if dtype.kind in "iu":
        unsigned = unsigned_dtype(dtype)
        return np.asarray(int(value) & ((1 << 8 * dtype.itemsize) - 1), unsigned).view(dtype)
    return rounded(np.asarray(value, np.float64), dtype)


def signed(values: Array) -> Array:
    """Integers read as signed: one bit is 0 or -1."""
    if values.dtype.kind == "b":
        return np.negative(values.astype(np.int8))
    return values if values.dtype.kind == "i" else values.view(f"i{values.dtype.itemsize}")


def unsigned(values: Array) -> Array:
    """Integers read as unsigned."""
    return values.view(unsigned_dtype(values.dtype))


def wrapped(values: Array, dtype: np.dtype[Any]) -> Array:
    """Integers cut to the width of `dtype`."""
    return (values & 1).astype(np.bool_) if dtype.kind == "b" else values.astype(dtype)


def rounded(values: Array, dtype: np.dtype[Any]) -> Array:
    """
    Numbers rounded once to a float type, ties to even.

    ml_dtypes converts through f32 and NumPy converts 64-bit integers through f64, which would round twice; an
    intermediate that is rounded to odd does not disturb the last rounding.
    """
    if values.dtype == dtype or dtype == np.float64:
        return values.astype(dtype)
    if values.dtype.kind in "iu":
        values = _odd_f64(values) if values.dtype.itemsize == 8 else values.astype(np.float64)
    if values.dtype == np.float64 and dtype.isbuiltin != 1:
        values = _odd_f32(values)
    result = values.astype(dtype)
    if dtype.name == "bfloat16" and values.dtype == np.float32:
        # ml_dtypes forgets the payload of NaN, which the processor keeps as far as it goes.
        upper = (np.asarray(values).view(np.uint32) >> 16).astype(np.uint16).view(dtype)
        return np.where(np.isnan(values), upper, result)
    return result


QUIET = {2: 1 << 9, 4: 1 << 22, 8: 1 << 51}
"""bytes of f16, f32, f64 -> the bit that makes a NaN quiet"""


def quieted(values: Array) -> Array:
    """Floats whose NaNs are quiet, as conversions make them; NumPy keeps signalling ones in some."""
    if values.dtype.isbuiltin != 1:
        return values
    bits = np.asarray(values).view(unsigned_dtype(values.dtype))
    quiet = bits | np.asarray(QUIET[values.dtype.itemsize], bits.dtype)
    return np.where(np.isnan(values), quiet, bits).view(values.dtype)


def _odd_f64(values: Array) -> Array:
    """64-bit integers to f64, those of more than 53 bits rounded to odd."""
    sticky = (values >> 11 << 11) | (((values & 0x7FF) != 0).astype(values.dtype) << 11)
    small = np.abs(values.astype(np.float64)) < 2.0**52
    return np.where(small, values, sticky).astype(np.float64)


def _odd_f32(values: Array) -> Array:
    """f64 to f32, rounded to odd where it is not exact."""
    near = values.astype(np.float32)
    inexact = (near != values) & ~np.isnan(values)
    even = np.asarray(near).view(np.uint32) & 1 == 0
    towards = np.where(values > near, np.inf, -np.inf).astype(np.float32)
    return np.where(inexact & even, np.nextafter(near, towards), near)
