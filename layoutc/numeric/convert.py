"""
Converting the codes of one element type into those of another: exact, in NumPy, straight from the definition.

A code is the bits of an element as an unsigned integer. Every value that is a number is `significand * 2 ** exponent`
with a sign and a significand of up to 64 bits; it is taken apart into these, and rounded once to the destination.
`docs/conversions.md` has the rules as a table.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from layoutc.element_type import ElementType, element_type
from layoutc.float_format import FloatFormat, Specials

Codes = NDArray[Any]
"""unsigned integers, one per element"""
Flags = NDArray[np.bool_]
ONE = np.uint64(1)
QUIET_NAN_F32 = np.uint32(0x7FC00000)


@dataclass
class Values:
    """
    Numbers, infinities and NaNs, taken apart.

    A number is `significand * 2 ** exponent`, negative where `negative` says so. `payload` holds the bits of a NaN,
    from the highest of 64 on, the quiet bit first.
    """

    negative: Flags
    significand: NDArray[np.uint64]
    exponent: NDArray[np.int64]
    infinite: Flags
    nan: Flags
    payload: NDArray[np.uint64]


@np.errstate(all="ignore")  # of single numbers NumPy reports what arrays do in silence
def convert(codes: Codes, source: ElementType, destination: ElementType) -> Codes:
    """The codes of the destination type that the values of these codes of the source type become."""
    if source == destination:
        return codes
    if source.bits <= 16 and codes.size > 1 << source.bits:
        table = np.arange(1 << source.bits, dtype=codes.dtype)
        return convert(table, source, destination)[codes]
    return encode(decode(codes.reshape(-1), source), destination).reshape(codes.shape)


def to_f32(codes: Codes, source: ElementType) -> NDArray[np.float32]:
    """The values of these codes as f32, rounded once."""
    return convert(codes, source, element_type("f32")).view(np.float32)


def code_type(type: ElementType) -> np.dtype[Any]:
    """The NumPy type of this element type's codes, of a byte or more."""
    return np.dtype(f"u{max(type.bits // 8, 1)}")


# --- taking apart -------------------------------------------------------------------------------------------------


def decode(codes: Codes, type: ElementType) -> Values:
    """The values of these codes."""
    wide = codes.astype(np.uint64)
    if type.float_format is not None:
        return _decode_float(wide, type.float_format)
    if type.name == "boolean":
        return integers_as_values(np.zeros(codes.shape, np.bool_), (wide != 0).astype(np.uint64))
    is_signed = type.integer_range[0] < 0
    negative = (wide >> np.uint64(type.bits - 1) != 0) & is_signed
    modulus = np.uint64((1 << type.bits) % (1 << 64))
    return integers_as_values(negative, np.where(negative, modulus - wide, wide))


def integers_as_values(negative: Flags, magnitude: NDArray[np.uint64], past: Flags | None = None) -> Values:
    """Integers by sign and magnitude; those that are `past` 64 bits are as good as infinite."""
    none = np.zeros(magnitude.shape, np.bool_)
    zero = np.zeros(magnitude.shape, np.int64)
    return Values(negative, magnitude, zero, none if past is None else past, none, zero.view(np.uint64))


def _decode_float(wide: NDArray[np.uint64], format: FloatFormat) -> Values:
    bits = np.uint64(format.fraction_bits)
    fraction = wide & ((ONE << bits) - ONE)
    field = (wide >> bits & np.uint64((1 << format.exponent_bits) - 1)).astype(np.int64)
    sign = wide >> (bits + np.uint64(format.exponent_bits))
    infinite, nan = _specials(field, fraction, format)
    is_normal = (field > 0) | (not format.has_zero)
    significand = np.where(is_normal, fraction | (ONE << bits), fraction)
    exponent = np.maximum(field - format.bias, format.min_exponent) - format.fraction_bits
    if format.specials is Specials.IEEE:
        payload = fraction << np.uint64(64 - format.fraction_bits)
    else:
        payload = np.zeros_like(fraction)
    return Values(sign != 0, significand, exponent, infinite, nan, payload)


def _specials(field: NDArray[np.int64], fraction: NDArray[np.uint64], format: FloatFormat) -> tuple[Flags, Flags]:
    """Which are infinite, and which are NaN."""
    is_last = field == (1 << format.exponent_bits) - 1
    if format.specials is Specials.IEEE:
        return is_last & (fraction == 0), is_last & (fraction != 0)
    is_nan = is_last & (fraction == (1 << format.fraction_bits) - 1) & format.has_nan
    return np.zeros_like(is_last), is_nan


# --- putting together ---------------------------------------------------------------------------------------------


def encode(values: Values, type: ElementType) -> Codes:
    """The codes that these values become, by the rules of the type."""
    if type.float_format is None:
        codes = _encode_boolean(values) if type.name == "boolean" else _encode_integer(values, type.integer_range)
    elif type.float_format.has_zero:
        codes = _encode_float(values, type.float_format)
    else:
        codes = _encode_power_of_two(values, type.float_format)
    return (codes & np.uint64((1 << type.bits) - 1)).astype(code_type(type))


def _encode_boolean(values: Values) -> NDArray[np.uint64]:
    """Whatever is not zero is true."""
    return ((values.significand != 0) | values.infinite | values.nan).astype(np.uint64)


def _encode_integer(values: Values, span: range) -> NDArray[np.uint64]:
    """Rounded half to even, then the nearest of the range; NaN is 0."""
    exponent = values.exponent
    past = values.infinite | (_bit_length(values.significand) + exponent > 64) & (values.significand != 0)
    shifted = _shifted(values.significand, np.where(past, 0, exponent))
    limit = np.where(values.negative, np.uint64(-span[0]), np.uint64(span[-1]))
    magnitude = np.where(past | (shifted > limit), limit, shifted)
    magnitude = np.where(values.nan, np.uint64(0), magnitude)
    return np.where(values.negative, np.uint64(0) - magnitude, magnitude)


def _encode_float(values: Values, format: FloatFormat) -> NDArray[np.uint64]:
    """Rounded to nearest, ties to even; past the largest number what the format has there."""
    top = values.exponent + _bit_length(values.significand) - 1
    exponent = np.maximum(top, format.min_exponent)
    rounded = _shifted(values.significand, values.exponent - (exponent - format.fraction_bits))
    # A significand with its leading bit adds one to the exponent field, and one that was rounded up to a power of
    # two adds one more.
    field = (exponent + format.bias - 1).astype(np.uint64)
    codes = np.where(rounded == 0, np.uint64(0), (field << np.uint64(format.fraction_bits)) + rounded)
    limit = np.uint64(_code_past_the_largest(format))
    # A huge exponent shifts its field out of 64 bits.
    past = values.infinite | (top > format.max_exponent) | (codes > limit)
    codes = np.where(past, limit, codes)
    if format.has_nan:
        codes = np.where(values.nan, _nan_codes(values, format), codes)
    sign = values.negative.astype(np.uint64) << np.uint64(format.exponent_bits + format.fraction_bits)
    return codes | sign


def _code_past_the_largest(format: FloatFormat) -> int:
    """Infinity where there is one, else NaN where there is one, else the largest number itself; without the sign."""
    last = (1 << (format.exponent_bits + format.fraction_bits)) - 1
    return last - (1 << format.fraction_bits) + 1 if format.has_infinity else last


def _nan_codes(values: Values, format: FloatFormat) -> NDArray[np.uint64]:
    """The quiet NaN with the leading bits of the payload, or the only one."""
    last = np.uint64((1 << (format.exponent_bits + format.fraction_bits)) - 1)
    if format.specials is Specials.LAST_IS_NAN:
        return np.full(values.nan.shape, last)
    quiet = values.payload | (ONE << np.uint64(63))
    return quiet >> np.uint64(64 - format.fraction_bits) | np.uint64(_code_past_the_largest(format))


def _encode_power_of_two(values: Values, format: FloatFormat) -> NDArray[np.uint64]:
    """The exponent alone: rounded towards zero, but to the smallest power where that is zero; the sign is lost."""
    top = values.exponent + _bit_length(values.significand) - 1
    largest = format.max_exponent + format.bias
    code: NDArray[np.uint64] = np.clip(top + format.bias, 0, largest + 1).astype(np.uint64)
    code[values.significand == 0] = 0
    code[values.infinite | values.nan] = largest + 1
    return code


# --- 64-bit significands ------------------------------------------------------------------------------------------


def _shifted(significand: NDArray[np.uint64], places: NDArray[np.int64]) -> NDArray[np.uint64]:
    """`significand * 2 ** places`, rounded half to even; bits that go past 64 on the left are lost."""
    left = np.clip(places, 0, 63).astype(np.uint64)
    right = np.clip(-places, 0, 63).astype(np.uint64)
    whole = significand >> right
    rest = significand - (whole << right)
    half = (ONE << right) >> ONE
    up = (rest > half) | (rest == half) & (whole & ONE != 0)
    rounded = np.where(places < 0, whole + up, significand << left)
    # From 64 places on nothing is whole; half of 2 ** 64 and less rounds down to the even 0.
    rounded = np.where(places == -64, (significand > ONE << np.uint64(63)).astype(np.uint64), rounded)
    return np.where(places < -64, np.uint64(0), rounded)


def _bit_length(significand: NDArray[np.uint64]) -> NDArray[np.int64]:
    """The number of bits that a number needs; 0 needs none."""
    high = significand >> np.uint64(32)
    # Halves are exact as f64, whose exponent is the length.
    half = np.where(high != 0, high, significand).astype(np.float64)
    return np.frexp(half)[1].astype(np.int64) + np.where(high != 0, 32, 0)
