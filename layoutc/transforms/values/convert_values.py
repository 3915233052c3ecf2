"""
What a conversion does to one value, or to the lanes of a vector: ops of arith and math.

Before: a value as it was loaded; after: one that can be stored. In between a float is f64, f32 or f16, or its code as
an integer where arithmetic does not know the format; an integer is signless, of 8 bits or more; a boolean is i1.
`layoutc.conversion` says what the result is, `layoutc.numeric` says it again in NumPy.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from math import inf, isfinite, nan

from xdsl.dialects.builtin import IntegerType, UnitAttr, f16, f32, f64, i64
from xdsl.ir import Attribute, Operation, SSAValue

from layoutc.conversion import Conversion
from layoutc.discardable import TO_INTEGER
from layoutc.element_type import ElementType, element_type
from layoutc.param import Param
from layoutc.transforms.building.lanes import Lanes
from layoutc.transforms.values.convert_codes import convert_code, is_by_codes
from layoutc.transforms.values.convert_floats import Facts, format_of, narrow_to_code, odd_single, widen_code
from layoutc.transforms.values.convert_integers import (
    add_difference,
    as_number,
    float_to_integer,
    has_table,
    integer_to_f32,
    saturate,
    to_odd,
)
from layoutc.transforms.values.known_numbers import UNKNOWN, Known, factor_of_quotients, known_numbers

KNOWN: dict[str, Attribute] = {"f64": f64, "f32": f32, "f16": f16}
"""the float types that values have as such"""
FAR = ("bf16", "e8m0")
"""formats that reach further than integers of 64 bits, so that those are rounded to them once"""

SHORT_BITS = 16
"""of integers that are the low bits of a sum"""
LEAST_NORMAL = 2.0**-126
"""of f32"""
HAVE_SUBNORMALS = ("f64", "f32", "bf16", "e8m0")
"""formats with numbers that are subnormal as f32"""
OF_INTEGERS = Facts(is_nan_quiet=True, is_normal=True)
"""what is known of numbers that were integers"""


@cache
def register_type(element: ElementType) -> Attribute:
    """The type that a value of these elements has between load and store."""
    return KNOWN.get(element.name) or IntegerType(1 if element.name == "boolean" else max(8, element.bits))


@dataclass(frozen=True)
class Values:
    """What else goes into one element: scales and zero points by name, and what the destination holds."""

    params: Mapping[str, SSAValue]
    """as i64 in the arithmetic of integers, else as f32"""
    old: SSAValue | None = None
    vector_bytes: int = 0
    """of the registers that lanes are in, where there are any"""


NO_VALUES = Values({})


def convert(
    lanes: Lanes,
    value: SSAValue,
    source: ElementType,
    destination: ElementType,
    conversion: Conversion,
    values: Values = NO_VALUES,
) -> SSAValue:
    """The value that is stored for one that was loaded."""
    match conversion.arithmetic(source, destination):
        case "move":
            return value
        case "direct":
            return convert_directly(lanes, value, source, destination, values.vector_bytes)
        case "integer":
            return _in_integers(lanes, value, source, destination, values)
        case "f32":
            number = to_f32(lanes, value, source, quiets=False)
            number = _in_f32(lanes, number, source, destination, conversion, values)
            if destination.is_integer and destination.name != "boolean":
                known = _known(source, destination, conversion)
                return float_to_integer(lanes, number, destination, known)
            if not destination.is_integer and has_no_nan(source, conversion):
                is_normal = scales_whole_numbers(source, conversion)
                return _from_float(lanes, number, destination, Facts(is_nan_quiet=True, is_normal=is_normal))
            if not destination.is_integer:
                # Which NaN comes out of arithmetic is the processor's choice.
                quiet = lanes.constant(nan, f32)
                number = lanes.select(lanes.compare("uno", number, number), quiet, number, "number")
                if destination.name == "bf16":
                    is_scaled = source.is_integer and conversion.scales_alone
                    facts = Facts(is_nan_quiet=True, has_usual_nan=True, is_scaled=is_scaled)
                    return _from_float(lanes, number, destination, facts)
            return convert_directly(lanes, number, element_type("f32"), destination)


def convert_directly(
    lanes: Lanes, value: SSAValue, source: ElementType, destination: ElementType, vector_bytes: int = 0
) -> SSAValue:
    """The exact value, rounded once."""
    if source == destination:
        return value
    if is_by_codes(source, destination, vector_bytes):
        code = value if source.is_integer else lanes.as_bits(value, "code")
        return lanes.bitcast(convert_code(lanes, code, source, destination), register_type(destination), "value")
    if destination.name == "boolean":
        return lanes.compare("ne", value, 0, "is_true")
    if destination.float_format is not None and has_table(source, lanes.count):
        number = integer_to_f32(lanes, value, source)
        return _from_float(lanes, number, destination, OF_INTEGERS)
    if source.is_integer:
        return _from_integer(lanes, as_number(lanes, value, source), source, destination)
    quiets = destination.float_format is not None and destination.float_format.has_infinity
    number = value if source.name == "f64" else to_f32(lanes, value, source, quiets=quiets)
    if destination.is_integer:
        return float_to_integer(lanes, number, destination, _known(source, destination, Conversion()))
    return _from_float(lanes, number, destination, Facts(is_normal=source.name not in HAVE_SUBNORMALS))


def to_f32(lanes: Lanes, value: SSAValue, source: ElementType, *, quiets: bool = True) -> SSAValue:
    """The value as f32, rounded once; that its NaN is quiet can be left to what follows."""
    match source.name:
        case "f32":
            return value
        case "f64":
            return lanes.narrow(value, f32, "number")
        case "f16":
            return lanes.extend(value, f32, "number")
        case _ if source.is_integer:
            return integer_to_f32(lanes, value, source)
        case _:
            return widen_code(lanes, value, format_of(source.name), quiets=quiets)


def _from_integer(lanes: Lanes, number: SSAValue, source: ElementType, destination: ElementType) -> SSAValue:
    if destination.is_integer:
        return saturate(lanes, number, source, destination)
    is_signed = source.integer_range[0] < 0
    if destination.name == "f64":
        return lanes.to_float(number, f64, is_signed, "number")
    if destination.name in FAR and source.bits > 16:
        odd = to_odd(lanes, number, is_signed)
        odd = odd_single(lanes, odd) if source.bits == 64 else odd
        return _from_float(lanes, odd, destination, OF_INTEGERS)
    # Where f32 is not exact, numbers are past all that the narrower formats have.
    number = lanes.to_float(number, f32, is_signed, "number")
    is_exact = source.bits <= format_of("bf16").precision
    return _from_float(lanes, number, destination, OF_INTEGERS._replace(is_exact=is_exact))


def _from_float(lanes: Lanes, number: SSAValue, destination: ElementType, facts: Facts) -> SSAValue:
    """An f32 or f64 as a value of a float type, rounded once."""
    is_single = lanes.bits(number) == 32
    match destination.name:
        case "f64":
            return lanes.extend(number, f64, "value")
        case "f32":
            return number if is_single else lanes.narrow(number, f32, "value")
        case "f16":
            return lanes.narrow(number if is_single else odd_single(lanes, number), f16, "value")
        case name:
            return narrow_to_code(lanes, number, format_of(name), facts)


# --- attributes ----------------------------------------------------------------------------------------------------


def _in_f32(
    lanes: Lanes,
    v: SSAValue,
    source: ElementType,
    destination: ElementType,
    conversion: Conversion,
    values: Values,
) -> SSAValue:
    """The formula, each step one rounding (see `layoutc.conversion`)."""
    params = values.params
    if (zero_point := params.get("src_zero_point")) is not None:
        v = lanes.sub(v, zero_point, "shifted")
    if (scale := params.get("src_scale")) is not None:
        v = lanes.mul(v, scale, "scaled")
    if conversion.sum:
        assert values.old is not None
        old = to_f32(lanes, values.old, destination, quiets=False)
        v = lanes.add(v, lanes.mul(old, conversion.sum, "product"), "total")
    if (scale := params.get("dst_scale")) is not None:
        v = _divided(lanes, v, scale, source, destination, conversion)
    if (zero_point := params.get("dst_zero_point")) is not None:
        v = lanes.add(v, zero_point, "shifted")
    return v


def has_no_nan(source: ElementType, conversion: Conversion) -> bool:
    """
    Whether no NaN comes of integers by a conversion: known numbers take them to infinity at most.

    What divides is a normal number, so that its reciprocal is a number too.
    """
    params = conversion.params
    numbers = all(param.is_constant and all(map(isfinite, param.values or ())) for param in params.values())
    return source.is_integer and not conversion.sum and numbers and _is_normal(params.get("dst_scale"))


def scales_whole_numbers(source: ElementType, conversion: Conversion) -> bool:
    """Whether all that a conversion to f32 does is to scale whole numbers, none of which becomes subnormal so."""
    params = conversion.params
    if conversion.sum or not source.is_integer or params.keys() - {"src_zero_point", "src_scale"}:
        return False
    zero_point = params.get("src_zero_point")
    is_whole = zero_point is None or all(value == int(value) for value in zero_point.values or (0.5,))
    return is_whole and _is_normal(params.get("src_scale"))


def _is_normal(param: Param | None) -> bool:
    """Whether all values of a parameter are known, and normal numbers of f32; one that is not there is 1."""
    return param is None or (param.is_constant and all(LEAST_NORMAL <= abs(v) < inf for v in param.values or ()))


def _divided(
    lanes: Lanes,
    v: SSAValue,
    scale: SSAValue,
    source: ElementType,
    destination: ElementType,
    conversion: Conversion,
) -> SSAValue:
    if conversion.reciprocal:
        reciprocal = lanes.div(lanes.constant(1.0, f32), scale, "reciprocal")
        return lanes.mul(v, reciprocal, "scaled")
    becomes_integer = _becomes_an_integer(destination, conversion)
    is_tried = becomes_integer and not _are_bytes(source, destination)
    if is_tried and (factor := factor_of_quotients(source, destination, conversion)) is not None:
        return lanes.mul(v, factor, "scaled")
    scaled = lanes.div(v, scale, "scaled")
    if lanes.count is not None and becomes_integer:
        assert isinstance(scaled.owner, Operation)
        scaled.owner.attributes[TO_INTEGER] = UnitAttr()
    return scaled


def _known(source: ElementType, destination: ElementType, conversion: Conversion) -> Known:
    """
    What is known of the numbers that become integers, if their code is shorter by that.

    A function of a byte is looked up. And C has one macro for a quotient and all that makes a short integer of it.
    """
    if _are_bytes(source, destination):
        return UNKNOWN
    divides = "dst_scale" in conversion.params and not conversion.reciprocal
    if divides and destination.bits <= SHORT_BITS and factor_of_quotients(source, destination, conversion) is None:
        return UNKNOWN
    return known_numbers(source, conversion)


def _are_bytes(source: ElementType, destination: ElementType) -> bool:
    return max(source.bits, destination.bits) <= 8


def _becomes_an_integer(destination: ElementType, conversion: Conversion) -> bool:
    """Whether all that counts of a quotient is which integer it becomes, after an integer is added."""
    zero_point = conversion.params.get("dst_zero_point")
    is_whole = zero_point is None or zero_point.type.is_integer
    return destination.is_integer and destination.name != "boolean" and is_whole


def _in_integers(
    lanes: Lanes,
    value: SSAValue,
    source: ElementType,
    destination: ElementType,
    values: Values,
) -> SSAValue:
    """`saturate((x - src_zp) + dst_zp)`, exactly."""
    difference = values.params.get("dst_zero_point")
    if (src := values.params.get("src_zero_point")) is not None:
        difference = lanes.sub(lanes.constant(0, i64) if difference is None else difference, src)
    assert difference is not None
    total = add_difference(lanes, as_number(lanes, value, source), difference, source, destination)
    if destination.name == "boolean":
        return lanes.compare("ne", total, 0, "is_true")
    return total
