"""Conversions to and between integers: exact, saturating, NaN to 0, scalar and vector."""

from __future__ import annotations

from xdsl.dialects.builtin import f32, f64
from xdsl.ir import SSAValue

from layoutc.element_type import ElementType
from layoutc.transforms.building.lanes import Lanes
from layoutc.transforms.values.known_numbers import UNKNOWN, Known

PRECISION = {32: 24, 64: 53}
"""bits of a float -> bits of its significand"""
FLOAT = {32: f32, 64: f64}
TABLE_LANES = 16
"""f32 in a register of processors that look up lanes by their low bits"""


def as_number(lanes: Lanes, value: SSAValue, type: ElementType) -> SSAValue:
    """The value of a loaded integer as one of 8 bits or more: packed ones are loaded without their sign."""
    if type.name == "boolean":
        return lanes.widen(value, 8, is_signed=False, name="number")
    if type.bits >= 8 or type.integer_range[0] == 0:
        return value
    sign = 1 << type.bits - 1
    return lanes.sub(lanes.xor(value, sign), sign, "number")


def integer_to_f32(lanes: Lanes, value: SSAValue, type: ElementType) -> SSAValue:
    """The value of a loaded integer as f32, rounded once; packed lanes are widened before they have a sign."""
    if lanes.count is not None and 1 < type.bits < 8 and type.integer_range[0] < 0:
        code, sign = lanes.widen(value, 32, is_signed=False, name="code"), 1 << type.bits - 1
        code = lanes.and_(code, 2 * sign - 1) if has_table(type, lanes.count) else code
        return lanes.to_float(lanes.sub(lanes.xor(code, sign), sign), f32, is_signed=True, name="number")
    return lanes.to_float(as_number(lanes, value, type), f32, type.integer_range[0] < 0, "number")


def has_table(type: ElementType, lanes: int | None) -> bool:
    """Whether numbers of a type are looked up: all fit a register, of which one instruction takes any."""
    return type.name == "s4" and lanes == TABLE_LANES


def saturate(lanes: Lanes, number: SSAValue, source: ElementType, destination: ElementType) -> SSAValue:
    """An integer as the nearest of another type."""
    have, want = source.integer_range, destination.integer_range
    if have[0] < 0:
        if have[0] < want[0]:
            number = lanes.most(number, want[0], "number")
        if have[-1] > want[-1]:
            number = lanes.least(number, want[-1], "number")
    elif have[-1] > want[-1]:
        number = lanes.least_unsigned(number, want[-1], "number")
    return lanes.resize(number, max(8, destination.bits), have[0] < 0, "value")


def to_odd(lanes: Lanes, number: SSAValue, is_signed: bool) -> SSAValue:
    """
    An integer of 32 or 64 bits as f32 or f64, rounded to odd where it is not exact: no further rounding notices that.

    As many bits are lost as there are more than in a significand; the last one that is not says if one of them was set.
    """
    bits = lanes.bits(number)
    lost, limit = (1 << bits - PRECISION[bits]) - 1, 1 << PRECISION[bits]
    sticky = lanes.add(lanes.and_(number, lost), lost, "sticky")
    odd = lanes.and_(lanes.or_(number, sticky), ~lost, "odd")
    distance = lanes.add(number, limit) if is_signed else number
    is_small = lanes.compare("ult", distance, 2 * limit if is_signed else limit)
    return lanes.to_float(lanes.select(is_small, number, odd), FLOAT[bits], is_signed, "number")


def float_to_integer(lanes: Lanes, number: SSAValue, type: ElementType, known: Known = UNKNOWN) -> SSAValue:
    """An f32 or f64 as the nearest integer of a type, half to even; NaN is 0. What is known is not asked."""
    if type.integer_range[-1].bit_length() <= PRECISION[lanes.bits(number)]:
        return _to_short(lanes, number, type, known)
    return _to_long(lanes, number, type, known)


def _to_short(lanes: Lanes, number: SSAValue, type: ElementType, known: Known) -> SSAValue:
    """To a type whose limits are numbers of the float type: clamped, then rounded."""
    low, high = type.integer_range[0], type.integer_range[-1]
    has_low_bits = lanes.count is not None and high.bit_length() < PRECISION[lanes.bits(number)] - 1
    # NaN is not greater than the lower limit, which is right where that is 0.
    is_nan = lanes.compare("uno", number, number) if low < 0 and known.has_nan else None
    if is_nan is not None and not has_low_bits:
        number = lanes.select(is_nan, 0.0, number, "number")
    if known.least < low or (known.has_nan and is_nan is None):
        limit = lanes.like(float(low), number)
        number = lanes.select(lanes.compare("ogt", number, float(low)), number, limit, "clamped")
    if known.greatest > high:
        limit = lanes.like(float(high), number)
        number = lanes.select(lanes.compare("olt", number, float(high)), number, limit, "clamped")
    if has_low_bits:
        return _low_bits(lanes, number, is_nan, max(8, type.bits))
    whole = lanes.round_even(number, "whole")
    # Processors convert to signed integers of 32 bits best.
    is_long = high >= 1 << 31
    integer = lanes.to_integer(whole, 64 if is_long else 32, is_signed=True, name="integer")
    return lanes.resize(integer, max(8, type.bits), is_signed=True, name="value")


def _low_bits(lanes: Lanes, number: SSAValue, is_zero: SSAValue | None, width: int) -> SSAValue:
    """
    A number of few bits rounded half to even, as an integer; 0 where it is said to be.

    The sum with 1.5 times the power of two whose last place is 1 has it in its low bits, which such vectors take in
    two steps; processors without an instruction for it round in seven. Zero is chosen last, as sums with a mask leave
    it in the other lanes.
    """
    large = 1.5 * 2.0 ** (PRECISION[lanes.bits(number)] - 1)
    rounded = lanes.add(number, large, "rounded")
    if is_zero is not None:
        rounded = lanes.select(is_zero, 0.0, rounded, "rounded")
    return lanes.resize(lanes.as_bits(rounded, "bits"), width, is_signed=True, name="value")


def _to_long(lanes: Lanes, number: SSAValue, type: ElementType, known: Known) -> SSAValue:
    """To a type whose upper limit is no number of the float type, but the power of two behind it is."""
    low, behind = type.integer_range[0], float(type.integer_range[-1] + 1)
    is_past, inside = known.greatest >= behind, number
    if is_past or known.has_nan:
        inside = lanes.select(lanes.compare("olt", number, behind), number, lanes.like(0.0, number), "inside")
    if known.least < low:
        limit = lanes.like(float(low), inside)
        inside = lanes.select(lanes.compare("ogt", inside, float(low)), inside, limit, "inside")
    whole = lanes.round_even(inside, "whole")
    integer = lanes.to_integer(whole, type.bits, is_signed=low < 0, name="integer")
    if not is_past:
        return integer
    return lanes.select(lanes.compare("oge", number, behind), type.integer_range[-1], integer, "value")


# --- zero points ---------------------------------------------------------------------------------------------------


def add_difference(
    lanes: Lanes, number: SSAValue, difference: SSAValue, source: ElementType, destination: ElementType
) -> SSAValue:
    """An integer plus a difference of up to 34 bits and a sign, given in 64, saturated to a type."""
    is_signed = source.integer_range[0] < 0
    wide = lanes.resize(number, 64, is_signed, "wide")
    total = lanes.add(wide, difference, "total")
    want = _target_range(destination)
    if source.bits < 64:
        total = lanes.least(lanes.most(total, want[0]), want[-1] if want[-1] < 1 << 63 else (1 << 63) - 1, "total")
        return lanes.truncate(total, max(8, destination.bits), "value")
    falls = lanes.compare("slt", difference, 0, "falls")
    if is_signed:
        # Below zero there is no way past 2^64, above it none past -2^64.
        is_negative = lanes.compare("slt", wide, 0)
        crosses = lanes.compare("slt", total, 0)
        negative = lanes.or_(lanes.and_(is_negative, lanes.or_(falls, crosses)), lanes.and_(falls, crosses))
        past = None
    else:
        below, above = lanes.compare("ugt", total, wide), lanes.compare("ult", total, wide)
        negative = lanes.and_(falls, below)
        past = lanes.and_(lanes.compare("sge", difference, 0), above)
    return _saturated(lanes, total, negative, past, want, destination)


def _target_range(destination: ElementType) -> range:
    """Any integer but 0 is true: 1 and -1 are as good as others."""
    return range(-1, 2) if destination.name == "boolean" else destination.integer_range


def _saturated(
    lanes: Lanes, total: SSAValue, negative: SSAValue, past: SSAValue | None, want: range, destination: ElementType
) -> SSAValue:
    """A sum modulo 2^64 of which the sign, and what is past 2^64, are known apart."""
    low = lanes.most(total, want[0])
    if want[0] < 0:
        # A sum below -2^63 looks positive.
        low = lanes.select(lanes.compare("slt", total, 0), low, lanes.like(want[0], low), "low")
    else:
        low = lanes.like(0, total)
    high = lanes.least_unsigned(total, want[-1], "high")
    if past is not None:
        high = lanes.select(past, want[-1], high, "high")
    total = lanes.select(negative, low, high, "total")
    return lanes.truncate(total, max(8, destination.bits), "value") if destination.bits < 64 else total
