"""
Conversions between float formats as integer arithmetic on their bits, scalar and vector.

For the formats that the processor does not know. One rounding, to nearest even; `layoutc.float_format` has the
formats, docs/conversions.md the rules.
"""

from __future__ import annotations

from typing import NamedTuple, cast

from xdsl.dialects.builtin import IntegerType, UnitAttr, bf16, f16, f32, f64
from xdsl.ir import Attribute, Operation, SSAValue

from layoutc.discardable import EXACT, IS_NORMAL, IS_SCALED
from layoutc.element_type import element_type
from layoutc.float_format import FloatFormat, Specials
from layoutc.transforms.building.lanes import Lanes


def format_of(name: str) -> FloatFormat:
    """The format of a float type."""
    found = element_type(name).float_format
    assert found is not None
    return found


SINGLE, DOUBLE, HALF = format_of("f32"), format_of("f64"), format_of("f16")
BF16_LANES, BF16_PAIRED = 16, (4, 8)
"""
f32 in a register of processors that may have an instruction for bf16, and of those that narrow two at once, and ask
for NaN of both; others need the rule step by step
"""


HALF_LANES = (8, 16)
"""f32 in a register of processors that have an instruction for f16"""


def width_of(format: FloatFormat) -> int:
    """Bits of a code."""
    return format.is_signed + format.exponent_bits + format.fraction_bits


def last_code(format: FloatFormat) -> int:
    """The greatest code without a sign."""
    return (1 << (format.exponent_bits + format.fraction_bits)) - 1


def infinity_of(format: FloatFormat) -> int:
    """The code of infinity, or what would be: all exponent bits, no fraction."""
    return last_code(format) - (1 << format.fraction_bits) + 1


def _past_the_largest(format: FloatFormat) -> int:
    """What numbers too large become: infinity, else NaN, else the largest number."""
    return infinity_of(format) if format.has_infinity else last_code(format)


def _is_upper_half(format: FloatFormat, wide: FloatFormat) -> bool:
    """Whether the codes are the upper bits of the wider ones: bf16 of f32."""
    return format.is_signed and format.has_infinity and format.exponent_bits == wide.exponent_bits


# --- from narrow to f32 --------------------------------------------------------------------------------------------


def widen_code(lanes: Lanes, code: SSAValue, format: FloatFormat, *, quiets: bool = True) -> SSAValue:
    """
    The f32 of a code, an integer of 8 or 16 bits whose upper bits are zero.

    A NaN becomes a quiet one, or where that is not asked for, any NaN of its sign.
    """
    if format.has_zero and width_of(format) <= 8 and lanes.count in HALF_LANES:
        return _widen_through_f16(lanes, code, format)
    code = lanes.widen(code, 32, is_signed=False, name="code")
    if not format.has_zero:
        return lanes.bitcast(_widen_power_of_two(lanes, code), f32)
    if _is_upper_half(format, SINGLE):
        bits = lanes.shl(code, 32 - width_of(format), "bits")
        if not quiets:
            return lanes.bitcast(bits, f32, "number")
        quiet = lanes.or_(bits, 1 << 22, "quiet")
        number = lanes.bitcast(bits, f32, "number")
        return lanes.bitcast(lanes.select(lanes.compare("uno", number, number), quiet, bits, "bits"), f32, "number")
    magnitude = lanes.and_(code, last_code(format), "magnitude")
    bits = _widen_magnitude(lanes, magnitude, format)
    sign = lanes.shl(lanes.and_(code, 1 << (width_of(format) - 1)), 32 - width_of(format), "sign")
    return lanes.bitcast(lanes.or_(bits, sign), f32, "number")


def _widen_through_f16(lanes: Lanes, code: SSAValue, format: FloatFormat) -> SSAValue:
    """
    The f16 of the same bits, subnormal or not, times a power of two, by which the exponents differ.

    The sign goes to its place, and what of it is left in the exponent's upper bits is cut off. The only NaN becomes the
    quiet one without payload.
    """
    apart, width = HALF.exponent_bits - format.exponent_bits, width_of(format)
    if width == 8:
        half = lanes.shl(lanes.widen(code, 16, is_signed=True, name="code"), 8 - apart, "half")
    else:
        wide = lanes.widen(code, 16, is_signed=False, name="code")
        half = lanes.sar(lanes.shl(wide, 16 - width), apart, "half")
    last = last_code(format) << HALF.fraction_bits - format.fraction_bits
    sign = 1 << 15
    if apart:
        half = lanes.and_(half, sign | last, "half")
    if format.specials is Specials.LAST_IS_NAN:
        is_nan = lanes.compare("eq", lanes.or_(half, sign), sign | last)
        more = infinity_of(HALF) + (1 << HALF.fraction_bits - 1) - last
        half = lanes.add(half, lanes.select(is_nan, more, lanes.like(0, half)), "half")
    number = lanes.extend(lanes.bitcast(half, f16), f32, "number")
    return lanes.mul(number, 2.0 ** (HALF.bias - format.bias), "number") if apart else number


def _widen_power_of_two(lanes: Lanes, code: SSAValue) -> SSAValue:
    """e8m0 has the exponent of an f32, but for the least, which is subnormal there; the last is NaN."""
    bits = lanes.shl(code, 23, "bits")
    bits = lanes.select(lanes.compare("eq", code, 0), 1 << 22, bits, "bits")
    return lanes.select(lanes.compare("eq", code, 255), 0x7FC00000, bits, "bits")


def _widen_magnitude(lanes: Lanes, magnitude: SSAValue, format: FloatFormat) -> SSAValue:
    """
    The bits where f32 has them, and its exponent. Where the least exponent of a format is meant, that of subnormals,
    the number is twice as large, without its leading one: less than that with it; others are not.
    """
    shift, rebias = SINGLE.fraction_bits - format.fraction_bits, _rebias(SINGLE, format)
    shifted, special = lanes.shl(magnitude, shift, "shifted"), infinity_of(SINGLE)
    zero = lanes.like(0, shifted)
    bits = lanes.add(shifted, rebias, "bits")
    if format.specials is Specials.LAST_IS_NAN:
        more = (special | 1 << SINGLE.fraction_bits - 1) - (last_code(format) << shift) - rebias
        is_nan = lanes.compare("eq", magnitude, last_code(format))
        bits = lanes.add(bits, lanes.select(is_nan, more, zero), "bits")
    if format.has_infinity:
        is_special = lanes.compare("sge", magnitude, infinity_of(format))
        bits = lanes.or_(bits, lanes.select(is_special, special, zero), "bits")
    normal = lanes.bitcast(bits, f32, "normal")
    tiny = lanes.sub(lanes.add(normal, normal), float(format.smallest_normal), "tiny")
    return lanes.as_bits(lanes.select(lanes.compare("olt", normal, tiny), normal, tiny, "number"), "bits")


# --- from f32 and f64 to narrow ------------------------------------------------------------------------------------


def odd_single(lanes: Lanes, number: SSAValue) -> SSAValue:
    """
    An f64 as f32, rounded to odd: a further rounding, to f16, does not notice that, as f32 has more small numbers.

    The last bit that f32 has says if one below was set.
    """
    bits, lost = lanes.as_bits(number, "bits"), (1 << DOUBLE.fraction_bits - SINGLE.fraction_bits) - 1
    sticky = lanes.add(lanes.and_(bits, lost), lost, "sticky")
    odd = lanes.and_(lanes.or_(bits, sticky), ~lost, "odd")
    return lanes.narrow(lanes.bitcast(odd, f64), f32, "single")


class Facts(NamedTuple):
    """
    What is known of numbers that are narrowed.

    The bits of a quiet NaN without payload are rounded to such a one, if it is known that there are no others: of all
    NaN one was made, just before (`has_usual_nan`), or there is none. That no number is subnormal (`is_normal`) spares
    a question where processors make zero of those; of integers that were scaled (`is_scaled`) it may be asked of what
    scales them. Numbers that bf16 has (`is_exact`) are not rounded to it.
    """

    is_nan_quiet: bool = False
    has_usual_nan: bool = False
    is_normal: bool = False
    is_scaled: bool = False
    is_exact: bool = False


def narrow_to_code(lanes: Lanes, number: SSAValue, format: FloatFormat, facts: Facts) -> SSAValue:
    """The code that an f32 or f64 becomes, as an integer of 8 or 16 bits."""
    wide = SINGLE if lanes.bits(number) == 32 else DOUBLE
    width, code_width = lanes.bits(number), max(8, width_of(format))
    is_paired = lanes.count in BF16_PAIRED and (facts.has_usual_nan or not facts.is_nan_quiet)
    if wide is SINGLE and _is_upper_half(format, wide) and (lanes.count == BF16_LANES or is_paired):
        code = lanes.narrow(number, bf16, "code")
        for name, is_so in ((IS_NORMAL, facts.is_normal), (IS_SCALED, facts.is_scaled)):
            if is_so and isinstance(code.owner, Operation):
                code.owner.attributes[name] = UnitAttr()
        return lanes.bitcast(code, IntegerType(16), "code")
    if wide is SINGLE and _is_upper_half(format, HALF) and lanes.count in HALF_LANES:
        return _narrow_through_f16(lanes, number, format)
    bits = lanes.as_bits(number, "bits")
    if _is_upper_half(format, wide) and facts.is_exact:
        return lanes.truncate(lanes.shr(bits, width - code_width, "upper"), code_width, "code")
    if _is_upper_half(format, wide):
        is_nan = None if facts.is_nan_quiet else lanes.compare("uno", number, number)
        return lanes.truncate(upper_bits(lanes, bits, format, is_nan), code_width, "code")
    magnitude = lanes.and_(bits, (1 << (width - 1)) - 1, "magnitude")
    if not format.has_zero:
        return lanes.truncate(_narrow_to_power_of_two(lanes, magnitude, wide, format), code_width, "code")
    code = _narrow_number(lanes, magnitude, wide, format)
    if format.has_nan:
        code = _narrow_nan(lanes, magnitude, code, wide, format)
    sign = lanes.and_(lanes.shr(bits, width - width_of(format)), 1 << (width_of(format) - 1), "sign")
    return lanes.truncate(lanes.or_(code, sign), code_width, "code")


def upper_bits(lanes: Lanes, bits: SSAValue, format: FloatFormat, is_nan: SSAValue | None) -> SSAValue:
    """
    The upper bits of a wider code, rounded; where it `is_nan`, those of a quiet NaN.

    Sign and exponent stay where they are, and what rounds past the largest number carries into infinity.
    """
    shift = lanes.bits(bits) - width_of(format)
    upper = lanes.shr(bits, shift, "upper")
    odd = lanes.and_(upper, 1, "odd")
    rounded = lanes.shr(lanes.add(lanes.add(bits, (1 << (shift - 1)) - 1), odd), shift, "rounded")
    if is_nan is None:
        return rounded
    quiet = lanes.or_(upper, 1 << (format.fraction_bits - 1), "quiet")
    return lanes.select(is_nan, quiet, rounded, "code")


def _narrow_through_f16(lanes: Lanes, number: SSAValue, format: FloatFormat) -> SSAValue:
    """
    The upper bits of the f16, in lanes half as wide.

    Of the f32 the upper half counts, whose last bit also says that one below was set: rounded to odd, it is exact as
    f16 down to half of the least code, and is there on the same side of all ties.
    """
    bits, shift = lanes.as_bits(number, "bits"), width_of(HALF) - width_of(format)
    lost = lanes.add(lanes.and_(bits, 0xFFFF), 0xFFFF, "lost")
    odd = lanes.and_(lanes.or_(bits, lost), ~0xFFFF, "odd")
    half = lanes.as_bits(lanes.narrow(lanes.bitcast(odd, f32), f16, "half"), "half")
    last = lanes.and_(lanes.shr(half, shift), 1, "last")
    up = lanes.add(last, (1 << (shift - 1)) - 1, "up")
    is_number = lanes.compare("sle", lanes.and_(half, last_code(HALF)), infinity_of(HALF))
    up = lanes.select(is_number, up, lanes.like(0, up), "up")
    return lanes.truncate(lanes.shr(lanes.add(half, up, "rounded"), shift), width_of(format), "code")


def _narrow_number(lanes: Lanes, magnitude: SSAValue, wide: FloatFormat, format: FloatFormat) -> SSAValue:
    """
    Rounded in the last place of the format; past the largest number what the format has there. Upper bits are garbage.

    The sum with a power of two whose last place is that of the code, from the number's exponent, or the least one of
    the format, has the significand in its low bits. What the exponent adds to the code has none of its bits above.
    """
    float_type, shift = f32 if wide is SINGLE else f64, wide.fraction_bits - format.fraction_bits
    largest = _from_bits(lanes, (_past_the_largest(format) << shift) + _rebias(wide, format), float_type)
    # A NaN is not less than the largest; processors compare floats with less effort than integers.
    number = lanes.bitcast(magnitude, float_type)
    number = lanes.select(lanes.compare("olt", number, largest), number, largest, "number")
    least_bits = _rebias(wide, format) + (1 << wide.fraction_bits)
    least = _from_bits(lanes, least_bits, float_type)
    power = lanes.bitcast(lanes.and_(lanes.as_bits(number), infinity_of(wide)), float_type)
    power = lanes.select(lanes.compare("ogt", power, least), power, least, "power")
    exponent = lanes.as_bits(power, "exponent")
    # Even, so that ties are ties to even.
    unbiased = -(least_bits >> shift) % (1 << max(8, width_of(format)))
    # Products with a power of two are exact.
    above = _from_bits(lanes, (wide.bias + shift << wide.fraction_bits) + unbiased, float_type)
    place = lanes.mul(power, above, "place")
    cast("Operation", place.owner).attributes[EXACT] = UnitAttr()
    total = lanes.as_bits(lanes.add(number, place, "total"))
    return lanes.add(total, lanes.shr(exponent, shift), "code")


def _rebias(wide: FloatFormat, format: FloatFormat) -> int:
    """What exponents differ by, where those of the wider format are."""
    return (wide.bias - format.bias) << wide.fraction_bits


def _from_bits(lanes: Lanes, bits: int, type: Attribute) -> SSAValue:
    """The constant that has these bits."""
    format = SINGLE if type == f32 else DOUBLE
    exponent = (bits >> format.fraction_bits) - format.bias - format.fraction_bits
    fraction = bits & ((1 << format.fraction_bits) - 1) | 1 << format.fraction_bits
    return lanes.constant(fraction * 2.0**exponent, type)


def _narrow_nan(lanes: Lanes, magnitude: SSAValue, code: SSAValue, wide: FloatFormat, format: FloatFormat) -> SSAValue:
    """The quiet NaN with the leading bits of the payload, or the only one, which too large numbers are already."""
    if not format.has_infinity:
        return code
    shift = wide.fraction_bits - format.fraction_bits
    payload = lanes.and_(lanes.shr(magnitude, shift), (1 << format.fraction_bits) - 1)
    quiet = lanes.or_(payload, infinity_of(format) | (1 << (format.fraction_bits - 1)), "quiet")
    return lanes.select(lanes.compare("ugt", magnitude, infinity_of(wide)), quiet, code, "code")


def _narrow_to_power_of_two(lanes: Lanes, magnitude: SSAValue, wide: FloatFormat, format: FloatFormat) -> SSAValue:
    """The exponent alone, rounded towards zero; infinity and NaN are the last code."""
    exponent = lanes.shr(magnitude, wide.fraction_bits, "exponent")
    if wide.bias == format.bias:
        return exponent
    clamped = lanes.most(lanes.sub(exponent, wide.bias - format.bias), 0)
    return lanes.least(clamped, last_code(format), "exponent")
