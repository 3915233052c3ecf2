"""The arithmetic of a conversion on codes of elements (see `layoutc.conversion`), in NumPy, step by step."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from layoutc.conversion import Conversion, label
from layoutc.element_type import ElementType, element_type
from layoutc.errors import BufferError
from layoutc.numeric.convert import (
    QUIET_NAN_F32,
    Codes,
    code_type,
    convert,
    decode,
    encode,
    integers_as_values,
    to_f32,
)
from layoutc.numeric.packing import Bytes, packed, unpacked
from layoutc.param import Param

F32 = element_type("f32")
F32Array = NDArray[np.float32]
Arguments = Mapping[str, Bytes]
"""the bytes of the parameters that are given when a kernel is called"""
NO_ARGUMENTS: Arguments = {}


@np.errstate(all="ignore")
def converted(
    codes: Codes,
    source: ElementType,
    destination: ElementType,
    conversion: Conversion,
    arguments: Arguments = NO_ARGUMENTS,
    old: Callable[[], Codes] = lambda: np.zeros((), np.uint8),
) -> Codes:
    """
    What a tensor of codes, in the shape of its dims, becomes.

    `old` gives the codes that the destination holds before; it is asked only where there is a sum.
    """
    arithmetic = conversion.arithmetic(source, destination)
    if arithmetic in ("move", "direct"):
        return convert(codes, source, destination)
    values = {name: param_codes(name, param, codes.shape, arguments) for name, param in conversion.params.items()}
    if arithmetic == "integer":
        integers = {name: _as_int64(values[name], param.type) for name, param in conversion.params.items()}
        return _in_integers(codes, source, destination, integers)
    floats = {name: to_f32(values[name], param.type) for name, param in conversion.params.items()}
    before = to_f32(old(), destination) if conversion.sum else None
    return convert(_in_f32(to_f32(codes, source), conversion, floats, before).view(np.uint32), F32, destination)


def param_codes(name: str, param: Param, dims: tuple[int, ...], arguments: Arguments) -> Codes:
    """The codes of a parameter's values, in a shape that broadcasts to `dims`."""
    data = arguments[name] if param.values is None else constant_bytes(param)
    if data.size != param.size_bytes(dims):
        raise BufferError(f"{label(name)} has {data.size} bytes, expected {param.size_bytes(dims)}")
    shape, type = param.shape(dims), param.type
    codes = unpacked(data, type.bits, prod(shape)) if type.bits < 8 else data.view(code_type(type))
    codes = codes.reshape(shape)
    for place, group in enumerate(param.groups):
        codes = np.repeat(codes, group, axis=place)
    return codes.reshape([dim if axis in param.axes else 1 for axis, dim in enumerate(dims)])


def constant_bytes(param: Param) -> Bytes:
    """The values of a constant as they lie in memory; 4-bit ones are packed."""
    type = param.type
    if type.float_format is not None:
        exact = np.array(param.values, np.float64).view(np.uint64)
        return convert(exact, element_type("f64"), type).view(np.uint8)
    codes = (np.array(param.values, np.int64) & ((1 << type.bits) - 1)).astype(code_type(type))
    return packed(codes, type.bits) if type.bits < 8 else codes.view(np.uint8)


def _in_f32(v: F32Array, conversion: Conversion, params: dict[str, F32Array], old: F32Array | None) -> F32Array:
    """Each line is one rounding."""
    if "src_zero_point" in params:
        v = v - params["src_zero_point"]
    if "src_scale" in params:
        v = v * params["src_scale"]
    if old is not None:
        beta: Any = np.float32(conversion.sum)
        v = v + beta * old
    if "dst_scale" in params:
        v = _divided(v, params["dst_scale"], conversion.reciprocal)
    if "dst_zero_point" in params:
        v = v + params["dst_zero_point"]
    return np.where(np.isnan(v), QUIET_NAN_F32.view(np.float32), v)


def _divided(v: F32Array, scale: F32Array, by_reciprocal: bool) -> F32Array:
    if by_reciprocal:
        reciprocal: F32Array = np.float32(1) / scale
        return v * reciprocal
    return v / scale


def _in_integers(
    codes: Codes, source: ElementType, destination: ElementType, params: dict[str, NDArray[np.int64]]
) -> Codes:
    """(x - src_zp) + dst_zp of 64-bit integers and zero points of 32 bits, in two halves, exactly."""
    values = decode(np.atleast_1d(codes), source)
    x = np.where(values.negative, np.uint64(0) - values.significand, values.significand)
    low = (x & np.uint64(0xFFFFFFFF)).astype(np.int64)
    high = (x >> np.uint64(32)).astype(np.int64)
    high = np.where(values.negative, high - (1 << 32), high)
    low = low - params.get("src_zero_point", np.int64(0)) + params.get("dst_zero_point", np.int64(0))
    high, low = high + (low >> 32), low & 0xFFFFFFFF
    negative = high < 0
    # What does not fit 64 bits with its sign aside is past every type.
    past = np.abs(high) > 0xFFFFFFFF
    total = (high.astype(np.uint64) << np.uint64(32)) + low.astype(np.uint64)
    magnitude = np.where(negative, np.uint64(0) - total, total)
    return encode(integers_as_values(negative, magnitude, past), destination).reshape(codes.shape)


def _as_int64(codes: Codes, type: ElementType) -> NDArray[np.int64]:
    return convert(codes, type, element_type("s64")).view(np.int64)


def sums_of_weights(weights: NDArray[Any], axes: tuple[int, ...], padded: tuple[int, ...]) -> NDArray[np.int64]:
    """The sum of s8 weights over all axes but these, in the shape of the padded dims of these; 0 behind the tensor."""
    others = tuple(axis for axis in range(weights.ndim) if axis not in axes)
    sums = np.asarray(weights.astype(np.int64).sum(others))
    result = np.zeros(padded, np.int64)
    result[tuple(slice(0, n) for n in sums.shape)] = sums
    return result
