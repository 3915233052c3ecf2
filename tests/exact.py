"""Conversions of single values in exact rational arithmetic, by looking for the nearest of all values of a type."""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache
from math import inf, isnan, nan

from layoutc.element_type import ElementType
from layoutc.float_format import FloatFormat, Specials, value_of

Exact = Fraction | float
"""a number, or one of inf, -inf, nan"""


def exact_value(type: ElementType, code: int) -> Exact:
    """What a code stands for."""
    if type.float_format is not None:
        value = value_of(type.float_format, code)
        return value if isnan(value) or value in (inf, -inf) else Fraction(value)
    if type.name == "boolean":
        return Fraction(bool(code))
    span = type.integer_range
    return Fraction(code if code in span else code - (1 << type.bits))


def is_negative(type: ElementType, code: int) -> bool:
    """Whether the sign bit is set; that of zeros and NaNs too."""
    format = type.float_format
    is_signed = format.is_signed if format else type.integer_range[0] < 0
    return is_signed and code >> (type.bits - 1) == 1


def exact_code(code: int, source: ElementType, destination: ElementType) -> int:
    """The code of the destination type that a code of another type becomes."""
    if source == destination:
        return code
    value, sign = exact_value(source, code), is_negative(source, code)
    if destination.name == "boolean":
        return int(value != 0)
    if destination.float_format is None:
        return integer_code(value, destination) % (1 << destination.bits)
    if not destination.float_format.has_zero:
        return power_of_two_code(value)
    if isnan(value):
        magnitude = nan_code(code, source, destination.float_format)
    else:
        magnitude = float_code(abs(value), destination.float_format)
    return magnitude | sign << (destination.bits - 1)


def integer_code(value: Exact, type: ElementType) -> int:
    low, high = type.integer_range[0], type.integer_range[-1]
    if isnan(value):
        return 0
    if isinstance(value, float):
        return high if value > 0 else low
    below = value.numerator // value.denominator
    twice = 2 * (value - below)
    return min(max(below + (twice > 1 or (twice == 1 and below % 2 == 1)), low), high)


def float_code(value: Exact, format: FloatFormat) -> int:
    """The code of the nearest magnitude, of two as near the even one, by bisection over all codes."""
    last = (1 << (format.exponent_bits + format.fraction_bits)) - 1
    past = {Specials.IEEE: last + 1 - (1 << format.fraction_bits), Specials.LAST_IS_NAN: last}.get(
        format.specials, last + 1
    )

    def magnitude(code: int) -> Fraction:
        # The first code past the numbers stands for the number that would follow.
        if code < past:
            return number_of(format, code)
        return 2 * number_of(format, past - 1) - number_of(format, past - 2)

    if value >= magnitude(past):
        found = past
    else:
        low, high = 0, past
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if magnitude(middle) <= value else (low, middle)
        below, above = value - magnitude(low), magnitude(high) - value
        found = low if below < above or (below == above and low % 2 == 0) else high
    return min(found, last)


@lru_cache(1 << 15)
def number_of(format: FloatFormat, code: int) -> Fraction:
    """What the code of a number stands for: every bisection comes to the same ones first."""
    return Fraction(value_of(format, code))


def power_of_two_code(value: Exact) -> int:
    """e8m0: the largest power of two that is not larger than the magnitude, from 2^-127 on."""
    if isinstance(value, float):
        return 255
    code = 0
    while code < 255 and Fraction(2) ** (code + 1 - 127) <= abs(value):
        code += 1
    return code


def nan_code(code: int, source: ElementType, format: FloatFormat) -> int:
    """A quiet NaN that starts with the bits of the one that it comes from, where both have room for them."""
    last = (1 << (format.exponent_bits + format.fraction_bits)) - 1
    if format.specials is not Specials.IEEE:
        return last
    assert source.float_format is not None
    bits = source.float_format.fraction_bits
    payload = f"{code % (1 << bits):0{bits}b}" if source.float_format.specials is Specials.IEEE else "0"
    kept = "1" + payload[1:].ljust(format.fraction_bits, "0")[: format.fraction_bits - 1]
    return int("1" * format.exponent_bits + kept, 2)


__all__ = ["exact_code", "exact_value", "nan"]
