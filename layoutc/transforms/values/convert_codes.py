"""
Conversions whose result is made of the bits of a code alone, in lanes that are no wider than the elements.

Between formats of up to 16 bits with the same exponents the codes of one are the upper bits of those of the other: f16
and f8_e5m2, bf16 and e8m0. f8 and f4 become formats of up to 16 bits in which all their numbers are normal. A boolean
has two codes, and becomes one of two.
"""

from __future__ import annotations

from xdsl.dialects.builtin import i1
from xdsl.ir import SSAValue

from layoutc.element_type import ElementType
from layoutc.float_format import FloatFormat
from layoutc.transforms.building.lanes import Lanes
from layoutc.transforms.values.convert_floats import format_of, infinity_of, last_code, upper_bits, width_of

MOST_BITS = 16
"""of codes; f32 becomes its upper half by an instruction, where there is one"""
LARGEST = 64
"""bytes of registers whose processors make bf16 and f16 of other formats by instructions, in fewer steps"""
BYTE = 8
"""bits of a register's lane, at least"""


def is_by_codes(source: ElementType, destination: ElementType, vector_bytes: int) -> bool:
    """Whether a value without attributes is made of bits alone, in registers of so many bytes, or none."""
    if source.is_integer or destination.is_integer:
        boolean, other = (source, destination) if source.name == "boolean" else (destination, source)
        return boolean.name == "boolean" and not other.is_integer
    one, other = format_of(source.name), format_of(destination.name)
    are_made = _have_same_exponents(one, other) or (vector_bytes < LARGEST and _are_normal(one, other))
    return are_made and max(source.bits, destination.bits) <= MOST_BITS


def _have_same_exponents(one: FloatFormat, other: FloatFormat) -> bool:
    return one.exponent_bits == other.exponent_bits and one.bias == other.bias


def _are_normal(have: FloatFormat, want: FloatFormat) -> bool:
    """Whether all numbers of a format are normal numbers of another one, but for zero."""
    has_specials = want.has_infinity >= have.has_infinity and want.has_nan >= have.has_nan
    is_within = have.max <= want.max and have.smallest >= want.smallest_normal
    return have.has_zero and has_specials and is_within and have.fraction_bits <= want.fraction_bits


def convert_code(lanes: Lanes, code: SSAValue, source: ElementType, destination: ElementType) -> SSAValue:
    """The code that the bits of a value become, or whether it is not zero; a boolean is an i1."""
    if source.is_integer:
        every = lanes.widen(code, max(BYTE, destination.bits), is_signed=True, name="every")
        return lanes.and_(every, _one(format_of(destination.name)), "code")
    have = format_of(source.name)
    if destination.is_integer:
        return _is_not_zero(lanes, code, have)
    want = format_of(destination.name)
    if source.bits < destination.bits:
        wide = lanes.widen(code, destination.bits, is_signed=False, name="wide")
        made = _with_lower_bits if _have_same_exponents(have, want) else _with_more_exponents
        return made(lanes, wide, have, want)
    magnitude = lanes.and_(code, last_code(have), "magnitude")
    if want.has_zero:
        upper = upper_bits(lanes, code, want, lanes.compare("sgt", magnitude, infinity_of(have)))
    else:
        upper = lanes.shr(magnitude, have.fraction_bits, "exponent")
    return lanes.truncate(upper, destination.bits, "code")


def _one(format: FloatFormat) -> int:
    """The code of 1."""
    return format.bias << format.fraction_bits


def _is_not_zero(lanes: Lanes, code: SSAValue, format: FloatFormat) -> SSAValue:
    """NaN is not zero; in a format without a zero nothing is."""
    if not format.has_zero:
        return lanes.constant(1, i1)
    return lanes.compare("ne", lanes.and_(code, last_code(format), "magnitude"), 0, "is_true")


def _with_lower_bits(lanes: Lanes, code: SSAValue, have: FloatFormat, want: FloatFormat) -> SSAValue:
    """NaN becomes quiet. Where there is no zero the least code is a subnormal number, and the last one NaN."""
    quiet = 1 << want.fraction_bits - 1
    bits = lanes.shl(code, want.fraction_bits - have.fraction_bits, "bits")
    if have.has_zero:
        is_nan = lanes.compare("sgt", lanes.and_(bits, last_code(want), "magnitude"), infinity_of(want))
    else:
        bits = lanes.select(lanes.compare("eq", code, 0), quiet, bits, "bits")
        is_nan = lanes.compare("eq", code, last_code(have))
    return lanes.select(is_nan, lanes.or_(bits, quiet, "quiet"), bits, "code")


def _with_more_exponents(lanes: Lanes, code: SSAValue, have: FloatFormat, want: FloatFormat) -> SSAValue:
    """
    With the other exponents, which subnormal numbers have too: by the place of their leading bit.

    Numbers with the leading bit at one place are a line, as a function of their codes. The lines rise the less the
    higher that place is, and meet where it changes, so that all numbers are the least of all lines. Zero is none.
    """
    magnitude, fraction = lanes.and_(code, last_code(have), "magnitude"), have.fraction_bits
    least = lanes.least_unsigned if lanes.bits(code) == BYTE else lanes.least  # those that SSE2 has
    zero = lanes.like(0, code)
    number = _line(lanes, magnitude, have, want, fraction)
    for place in reversed(range(fraction)):
        number = least(number, _line(lanes, magnitude, have, want, place), "number")
    number = lanes.select(lanes.compare("eq", magnitude, 0), zero, number, "number")
    number = lanes.shl(number, want.fraction_bits - fraction, "number")
    if have.has_nan:
        first = infinity_of(have) if have.has_infinity else last_code(have)
        found = first + (want.bias - have.bias << fraction) << want.fraction_bits - fraction
        quiet = 1 << want.fraction_bits - 1
        more = infinity_of(want) - found if have.has_infinity else (infinity_of(want) | quiet) - found
        number = lanes.add(number, lanes.select(lanes.compare("sge", magnitude, first), more, zero), "number")
        if have.has_infinity:
            number = lanes.or_(number, lanes.select(lanes.compare("sgt", magnitude, first), quiet, zero), "number")
    sign = lanes.and_(code, last_code(have) + 1)
    return lanes.or_(number, lanes.shl(sign, width_of(want) - width_of(have), "sign"), "code")


def _line(lanes: Lanes, magnitude: SSAValue, have: FloatFormat, want: FloatFormat, place: int) -> SSAValue:
    """The code of numbers whose leading bit is at a place of the fraction, or above it, with as long a fraction."""
    exponent = place - have.fraction_bits + want.bias - have.bias
    risen = lanes.shl(magnitude, have.fraction_bits - place) if place < have.fraction_bits else magnitude
    return lanes.add(risen, exponent << have.fraction_bits, "line")
