"""Floating-point formats: their fields, their range, and rounding to them, exactly and in plain Python."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from fractions import Fraction
from math import copysign, frexp, inf, isfinite, ldexp, nan

from layoutc.once import once


class Specials(Enum):
    """What the codes with all exponent bits set mean."""

    IEEE = "infinity and NaN"
    LAST_IS_NAN = "numbers, but for the last code of each sign, which is NaN"
    NONE = "numbers"


@dataclass(frozen=True)
class FloatFormat:
    """
    A binary format: sign (or none), exponent field, fraction field.

    Exponents are biased by `bias`; the exponent field 0 holds zero and subnormals, but in a format without
    fraction bits (e8m0), where it is a power of two like the others.
    """

    exponent_bits: int
    fraction_bits: int
    bias: int
    specials: Specials = Specials.IEEE
    is_signed: bool = True

    @property
    def precision(self) -> int:
        """Bits of a normal number's significand, the leading one included."""
        return self.fraction_bits + 1

    @property
    def min_exponent(self) -> int:
        """Exponent of the smallest normal number: 2 ** min_exponent."""
        return (1 if self.fraction_bits else 0) - self.bias

    @property
    def max_exponent(self) -> int:
        """Exponent of the largest finite number."""
        top = (1 << self.exponent_bits) - 1 - self.bias
        is_code_of_numbers = self.specials is Specials.NONE or (
            self.specials is Specials.LAST_IS_NAN and self.fraction_bits > 0
        )
        return top if is_code_of_numbers else top - 1

    @property
    def max(self) -> Fraction:
        """The largest finite number."""
        significand = (1 << self.precision) - 1
        if self.specials is Specials.LAST_IS_NAN and self.fraction_bits:
            significand -= 1
        return Fraction(significand) * Fraction(2) ** (self.max_exponent - self.fraction_bits)

    @property
    def min(self) -> Fraction:
        """The smallest finite number: negative where there is a sign."""
        return -self.max if self.is_signed else self.smallest

    @property
    def smallest(self) -> Fraction:
        """The smallest positive number; a subnormal one where the format has those."""
        return Fraction(2) ** (self.min_exponent - self.fraction_bits)

    @property
    def smallest_normal(self) -> Fraction:
        """The smallest positive number with all bits of precision."""
        return Fraction(2) ** self.min_exponent

    @property
    def has_infinity(self) -> bool:
        """Whether there are infinities."""
        return self.specials is Specials.IEEE

    @property
    def has_nan(self) -> bool:
        """Whether there is a NaN."""
        return self.specials is not Specials.NONE

    @property
    def has_zero(self) -> bool:
        """Whether there is a zero."""
        return self.fraction_bits > 0

    def nearest(self, value: float) -> float:
        """The number of the format that is nearest, ties to even; infinity past the largest, whatever the format."""
        if not isfinite(value) or value == 0:
            return value
        if abs(value) / 2 > self._largest:
            return copysign(inf, value)
        step = max(frexp(value)[1] - 1, self.min_exponent) - self.fraction_bits
        # All three steps are exact in f64 but for the rounding, which is half to even.
        rounded = ldexp(round(ldexp(value, -step)), step)
        return copysign(inf if abs(rounded) > self._largest else rounded, value)

    @once
    def _largest(self) -> float:
        return float(self.max)


def value_of(format: FloatFormat, code: int) -> float:
    """The value of a code; each value of the formats up to f64 is a Python float."""
    fraction = code & ((1 << format.fraction_bits) - 1)
    field = code >> format.fraction_bits & ((1 << format.exponent_bits) - 1)
    sign = -1.0 if format.is_signed and code >> (format.fraction_bits + format.exponent_bits) & 1 else 1.0
    if field == (1 << format.exponent_bits) - 1:
        if format.specials is Specials.IEEE:
            return nan if fraction else sign * inf
        if format.specials is Specials.LAST_IS_NAN and fraction == (1 << format.fraction_bits) - 1:
            return nan
    leading = 0 if format.fraction_bits and field == 0 else 1 << format.fraction_bits
    exponent = max(field - format.bias, format.min_exponent)
    return sign * float(Fraction(leading + fraction) * Fraction(2) ** (exponent - format.fraction_bits))
