"""
How C spells the ops of `arith` and `math` on vectors: GNU C's operators work lane by lane.

A vector of i1 is a mask in C (`c_masks`).
"""

from __future__ import annotations

from collections.abc import Callable

from xdsl.dialects import arith, math
from xdsl.dialects.builtin import BFloat16Type, Float16Type, Float32Type
from xdsl.ir import Operation

from layoutc.targets.errors import no_spelling
from layoutc.targets.helpers.c_number_helpers import is_by_parts
from layoutc.targets.patterns.c_quotient import quotient_helper
from layoutc.targets.spelling.c_context import Site, Spelling
from layoutc.targets.spelling.c_floats import is_fusible
from layoutc.targets.spelling.c_lane_types import (
    all_read_as,
    as_lanes,
    as_result,
    check_number,
    element_of,
    lanes_of,
    read_as,
    resized_lanes,
    result_name,
    typed,
)
from layoutc.targets.spelling.c_masks import bitwise, mask_of, spell_cmpf, spell_cmpi, spell_select
from layoutc.targets.words.c_expressions import UNARY, Expression, binary, call
from layoutc.targets.words.c_expressions import cast as spell_cast
from layoutc.targets.words.c_types import is_boolean, is_float, vector_name, width
from layoutc.targets.words.c_vector_types import VectorType
from layoutc.walk import operands

# --- arithmetic --------------------------------------------------------------------------------------------------


def _wrapping(operator: str) -> Spelling:
    """addi, subi, muli, shli: unsigned, where C does not leave overflow undefined."""

    def spell(site: Site) -> Expression:
        check_number(site)
        return spell_cast(result_name(site), binary(operator, *all_read_as("u", site)))

    return spell


def _shift_right(kind: str) -> Spelling:
    def spell(site: Site) -> Expression:
        check_number(site)
        result = binary(">>", *all_read_as(kind, site))
        return result if kind == "i" else spell_cast(result_name(site), result)

    return spell


def _integer_extremum(name: str, kind: str) -> Spelling:
    def spell(site: Site) -> Expression:
        check_number(site)
        lanes = as_lanes(kind, site.op.results[0])
        return as_result(call(f"{name}_{lanes}", *all_read_as(kind, site)), lanes, site)

    return spell


def _float_operator(operator: str) -> Spelling:
    def spell(site: Site) -> Expression:
        if not is_float(element_of(site.op.results[0])):
            raise no_spelling(site.op, f"on {site.op.results[0].type}")
        return binary(operator, *site.operands)

    return spell


def _spell_divf(site: Site) -> Expression:
    helper = quotient_helper(site.op)
    return _float_operator("/")(site) if helper is None else call(helper, *site.operands)


def _spell_mulf(site: Site) -> Expression:
    product = _float_operator("*")(site)
    if not is_fusible(site.op):
        return product
    return call(f"unfused_{result_name(site)}", product, Expression(site.zero))


def _spell_negf(site: Site) -> Expression:
    return Expression(f"-{site.operands[0].at_least(UNARY)}", UNARY, site.operands[0].reads)


def _spell_round_even(site: Site) -> Expression:
    if not is_float(element_of(site.op.results[0])):
        raise no_spelling(site.op, f"on {site.op.results[0].type}")
    return call(f"round_even_{result_name(site)}", *site.operands)


# --- conversions -------------------------------------------------------------------------------------------------


def _converted(operand: Expression, type: str) -> Expression:
    """Lane by lane as another type: numbers keep their value, as in C's casts."""
    return call("__builtin_convertvector", operand, Expression(type))


def _number_as(operand: Expression, source: VectorType, target: VectorType) -> Expression:
    """Floats as integers, or integers as floats."""
    is_helped = is_by_parts(source, target)
    return call(f"number_{source}_as_{target}", operand) if is_helped else _converted(operand, str(target))


def _resized(kind: str) -> Spelling:
    """extsi, extui, trunci; a mask becomes 0 and 1, or 0 and -1."""

    def spell(site: Site) -> Expression:
        source, target = operands(site.op)[0], site.op.results[0]
        if is_boolean(element_of(source)):
            mask = mask_of(site, 0, width(element_of(target)))
            return mask if kind == "i" else binary("&", mask, Expression("1"))
        if is_boolean(element_of(target)):
            raise no_spelling(site.op, f"from {source.type} to {target.type}")
        operand, lanes = read_as(kind, site.operands[0], source), as_lanes(kind, target)
        return as_result(resized_lanes(operand, as_lanes(kind, source), lanes), lanes, site)

    return spell


def _number_cast(source_kind: str | None, target_kind: str | None) -> Spelling:
    """Between integers and floats."""

    def spell(site: Site) -> Expression:
        source, target = operands(site.op)[0], site.op.results[0]
        number = source if source_kind is None else target
        if not is_float(element_of(number)) or is_boolean(element_of(target if number is source else source)):
            raise no_spelling(site.op, f"from {source.type} to {target.type}")
        operand = site.operands[0] if source_kind is None else read_as(source_kind, site.operands[0], source)
        lanes = as_lanes(target_kind or "f", target)
        return as_result(_number_as(operand, as_lanes(source_kind or "f", source), lanes), lanes, site)

    return spell


def _spell_float_cast(site: Site) -> Expression:
    source, target = (element_of(value) for value in (operands(site.op)[0], site.op.results[0]))
    if is_float(source) and is_float(target):
        return _converted(site.operands[0], result_name(site))
    match source, target:
        case Float16Type(), Float32Type():
            return call(f"widen_f16_f32x{lanes_of(site)}", *site.operands)
        case Float32Type(), Float16Type():
            return call(f"narrow_f16_f32x{lanes_of(site)}", *site.operands)
        case Float32Type(), BFloat16Type():
            return call(f"narrow_bf16_f32x{lanes_of(site)}", *site.operands)
        case _:
            raise no_spelling(site.op, f"from {operands(site.op)[0].type} to {site.op.results[0].type}")


def _spell_bitcast(site: Site) -> Expression:
    source, target = (typed(value) for value in (operands(site.op)[0], site.op.results[0]))
    if is_boolean(element_of(operands(site.op)[0])) or is_boolean(element_of(site.op.results[0])):
        raise no_spelling(site.op, f"from {source} to {target}")
    names = vector_name(source), vector_name(target)
    return site.operands[0] if names[0] == names[1] else spell_cast(names[1], site.operands[0])


LANE_SPELLINGS: dict[type[Operation], Callable[[Site], Expression]] = {
    arith.AddiOp: _wrapping("+"),
    arith.SubiOp: _wrapping("-"),
    arith.MuliOp: _wrapping("*"),
    arith.ShLIOp: _wrapping("<<"),
    arith.ShRUIOp: _shift_right("u"),
    arith.ShRSIOp: _shift_right("i"),
    arith.AndIOp: bitwise("&"),
    arith.OrIOp: bitwise("|"),
    arith.XOrIOp: bitwise("^"),
    arith.MinSIOp: _integer_extremum("min", "i"),
    arith.MaxSIOp: _integer_extremum("max", "i"),
    arith.MinUIOp: _integer_extremum("min", "u"),
    arith.MaxUIOp: _integer_extremum("max", "u"),
    arith.CmpiOp: spell_cmpi,
    arith.CmpfOp: spell_cmpf,
    arith.SelectOp: spell_select,
    arith.AddfOp: _float_operator("+"),
    arith.SubfOp: _float_operator("-"),
    arith.MulfOp: _spell_mulf,
    arith.DivfOp: _spell_divf,
    arith.NegfOp: _spell_negf,
    math.RoundEvenOp: _spell_round_even,
    arith.ExtSIOp: _resized("i"),
    arith.ExtUIOp: _resized("u"),
    arith.TruncIOp: _resized("i"),
    arith.SIToFPOp: _number_cast("i", None),
    arith.UIToFPOp: _number_cast("u", None),
    arith.FPToSIOp: _number_cast(None, "i"),
    arith.FPToUIOp: _number_cast(None, "u"),
    arith.ExtFOp: _spell_float_cast,
    arith.TruncFOp: _spell_float_cast,
    arith.BitcastOp: _spell_bitcast,
}
"""the spelling of each op of arith and math on vectors"""
