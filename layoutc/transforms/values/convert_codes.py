"""
Conversions whose result is made of the bits of a code alone, in lanes that are no wider than the elements.

Between formats of up to 16 bits with the same exponents the codes of one are the upper bits of those of the other: f16
and f8_e5m2, bf16 and e8m0. A boolean has two codes, and becomes one of two.
"""

from __future__ import annotations

from xdsl.dialects.builtin import i1
from xdsl.ir import SSAValue

from layoutc.element_type import ElementType
from layoutc.float_format import FloatFormat
from layoutc.transforms.building.lanes import Lanes
from layoutc.transforms.values.convert_floats import format_of, infinity_of, last_code, upper_bits

MOST_BITS = 16
"""of codes; f32 becomes its upper half by an instruction, where there is one"""
BYTE = 8
"""bits of a register's lane, at least"""


def is_by_codes(source: ElementType, destination: ElementType) -> bool:
    """Whether a value without attributes is made of bits alone."""
    if source.is_integer or destination.is_integer:
        boolean, other = (source, destination) if source.name == "boolean" else (destination, source)
        return boolean.name == "boolean" and not other.is_integer
    one, other = format_of(source.name), format_of(destination.name)
    are_alike = one.exponent_bits == other.exponent_bits and one.bias == other.bias
    return are_alike and max(source.bits, destination.bits) <= MOST_BITS


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
        return _with_lower_bits(lanes, lanes.widen(code, destination.bits, is_signed=False, name="wide"), have, want)
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
