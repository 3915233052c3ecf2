"""
How C spells the ops of `arith` and `math` on vectors: GNU C's operators work lane by lane.

A vector of i1 is a mask in C: lanes as wide as what was compared, all bits set or none.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

from xdsl.dialects import arith, math
from xdsl.dialects.builtin import BFloat16Type, Float16Type, Float32Type, IntegerType, VectorType
from xdsl.ir import Attribute, Operation, SSAValue

from layoutc.targets.bf16_ops import helper_of, narrowed
from layoutc.targets.c_context import Site, Spelling
from layoutc.targets.c_expressions import UNARY, Expression, binary, call
from layoutc.targets.c_expressions import cast as spell_cast
from layoutc.targets.c_floats import is_fusible
from layoutc.targets.c_quotient import quotient_helper
from layoutc.targets.c_types import is_boolean, is_float, is_vector, lane_count, vector_name, width
from layoutc.targets.errors import no_spelling


def _typed(value: SSAValue) -> VectorType[Any]:
    return cast("VectorType[Any]", value.type)


def _name(kind: str, bits: int, lanes: int) -> str:
    return f"{kind}{bits}x{lanes}"


def _lanes(site: Site) -> int:
    return lane_count(_typed(site.op.results[0]))


def _element(value: SSAValue) -> Attribute:
    return cast(Attribute, _typed(value).element_type)


def _as(kind: str, operand: Expression, value: SSAValue) -> Expression:
    """An operand read as lanes of another kind (i, u, f) and the same width."""
    name = _name(kind, width(_element(value)), lane_count(_typed(value)))
    return operand if name == vector_name(_typed(value)) else spell_cast(name, operand)


def _check_number(site: Site) -> None:
    element = _element(site.op.operands[0])
    if is_boolean(element) or not (is_float(element) or isinstance(element, IntegerType)):
        raise no_spelling(site.op, f"on {site.op.operands[0].type}")


# --- masks -------------------------------------------------------------------------------------------------------


def _mask(expression: Expression, bits: int) -> Expression:
    return expression._replace(mask_bits=bits)


def mask_of(site: Site, number: int, bits: int) -> Expression:
    """An operand that is a mask, with lanes of so many bits."""
    operand = site.operands[number]
    if not operand.mask_bits:
        raise no_spelling(site.op, "of a vector of i1 that no comparison made")
    if operand.mask_bits == bits:
        return operand
    lanes = lane_count(_typed(site.op.operands[number]))
    return _resize(operand, *(_name("i", width, lanes) for width in (operand.mask_bits, bits)))


def _converted(operand: Expression, type: str) -> Expression:
    """Lane by lane as another type: numbers keep their value, as in C's casts."""
    return call("__builtin_convertvector", operand, Expression(type))


def _resize(operand: Expression, source: str, target: str) -> Expression:
    """Lanes of integers as wider or narrower ones."""
    return call(f"resize_{source}_{target}", operand)


def _compared(site: Site, relation: str, kind: str) -> Expression:
    operands = (_as(kind, o, v) for o, v in zip(site.operands, site.op.operands, strict=True))
    bits = width(_element(site.op.operands[0]))
    return _mask(spell_cast(_name("i", bits, _lanes(site)), binary(relation, *operands)), bits)


def _not(mask: Expression) -> Expression:
    return Expression(f"~{mask.at_least(UNARY)}", UNARY, mask.reads, mask_bits=mask.mask_bits)


INTEGER_RELATIONS = {"eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">="}


def _spell_cmpi(site: Site) -> Expression:
    assert isinstance(site.op, arith.CmpiOp)
    _check_number(site)
    predicate = arith.CMPI_COMPARISON_OPERATIONS[site.op.predicate.value.data]
    return _compared(site, INTEGER_RELATIONS[predicate[-2:]], "u" if predicate[0] == "u" else "i")


FLOAT_RELATIONS = {"oeq": "==", "ogt": ">", "oge": ">=", "olt": "<", "ole": "<=", "une": "!="}
NEGATED_RELATIONS = {"ugt": "<=", "uge": "<", "ult": ">=", "ule": ">"}


def _spell_cmpf(site: Site) -> Expression:
    assert isinstance(site.op, arith.CmpfOp)
    _check_number(site)
    predicate = arith.CMPF_COMPARISON_OPERATIONS[site.op.predicate.value.data]
    if predicate in FLOAT_RELATIONS:
        return _compared(site, FLOAT_RELATIONS[predicate], "f")
    if predicate in NEGATED_RELATIONS:
        return _not(_compared(site, NEGATED_RELATIONS[predicate], "f"))
    if predicate == "uno" and site.op.lhs is site.op.rhs:
        return _compared(site, "!=", "f")
    if predicate == "ord" and site.op.lhs is site.op.rhs:
        return _compared(site, "==", "f")
    raise no_spelling(site.op, f"{predicate} of two vectors")


def _bitwise(operator: str) -> Spelling:
    def spell(site: Site) -> Expression:
        if not is_boolean(_element(site.op.results[0])):
            return binary(operator, *site.operands)
        bits = max(operand.mask_bits for operand in site.operands)
        return _mask(binary(operator, mask_of(site, 0, bits), mask_of(site, 1, bits)), bits)

    return spell


def _spell_select(site: Site) -> Expression:
    type = _typed(site.op.results[0])
    if not is_vector(site.op.operands[0].type):
        raise no_spelling(site.op, f"of {type} by one condition")
    if is_boolean(_element(site.op.results[0])):
        raise no_spelling(site.op, f"of {type}")
    # A comparison that has a name is a variable, which compilers want to be used.
    if not site.operands[0].is_name and (relation := _extremum_of(site.op)) is not None:
        return call(f"{relation}_{vector_name(type)}", *site.operands[1:])
    mask = mask_of(site, 0, width(_element(site.op.results[0])))
    return call(f"select_{vector_name(type)}", mask, *site.operands[1:])


def _extremum_of(op: Operation) -> str | None:
    """`max` or `min` where floats are chosen as they compare: the second one where they are equal, or one is NaN."""
    condition = op.operands[0].owner
    if not isinstance(condition, arith.CmpfOp) or not condition.result.has_one_use():
        return None
    if (*condition.operands,) != (*op.operands[1:],):
        return None
    return {"ogt": "max", "olt": "min"}.get(arith.CMPF_COMPARISON_OPERATIONS[condition.predicate.value.data])


# --- arithmetic --------------------------------------------------------------------------------------------------


def _wrapping(operator: str) -> Spelling:
    """addi, subi, muli, shli: unsigned, where C does not leave overflow undefined."""

    def spell(site: Site) -> Expression:
        _check_number(site)
        both = (_as("u", o, v) for o, v in zip(site.operands, site.op.operands, strict=True))
        return spell_cast(vector_name(_typed(site.op.results[0])), binary(operator, *both))

    return spell


def _shift_right(kind: str) -> Spelling:
    def spell(site: Site) -> Expression:
        _check_number(site)
        both = (_as(kind, o, v) for o, v in zip(site.operands, site.op.operands, strict=True))
        result = binary(">>", *both)
        return result if kind == "i" else spell_cast(vector_name(_typed(site.op.results[0])), result)

    return spell


def _integer_extremum(relation: str, kind: str) -> Spelling:
    def spell(site: Site) -> Expression:
        _check_number(site)
        lhs, rhs = (_as(kind, o, v) for o, v in zip(site.operands, site.op.operands, strict=True))
        type = vector_name(_typed(site.op.results[0]))
        name = "min" if relation == "<" else "max"
        helper = f"{name}_{_name(kind, width(_element(site.op.results[0])), _lanes(site))}"
        result = call(helper, lhs, rhs)
        return result if kind == "i" else spell_cast(type, result)

    return spell


def _float_operator(operator: str) -> Spelling:
    def spell(site: Site) -> Expression:
        if not is_float(_element(site.op.results[0])):
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
    return call(f"unfused_{vector_name(_typed(site.op.results[0]))}", product, Expression(site.zero))


def _spell_negf(site: Site) -> Expression:
    return Expression(f"-{site.operands[0].at_least(UNARY)}", UNARY, site.operands[0].reads)


def _spell_round_even(site: Site) -> Expression:
    if not is_float(_element(site.op.results[0])):
        raise no_spelling(site.op, f"on {site.op.results[0].type}")
    return call(f"round_even_{vector_name(_typed(site.op.results[0]))}", *site.operands)


# --- conversions -------------------------------------------------------------------------------------------------


def _resized(kind: str) -> Spelling:
    """extsi, extui, trunci; a mask becomes 0 and 1, or 0 and -1."""

    def spell(site: Site) -> Expression:
        source, type = site.op.operands[0], vector_name(_typed(site.op.results[0]))
        if is_boolean(_element(source)):
            mask = mask_of(site, 0, width(_element(site.op.results[0])))
            return mask if kind == "i" else binary("&", mask, Expression("1"))
        if is_boolean(_element(site.op.results[0])):
            raise no_spelling(site.op, f"from {source.type} to {site.op.results[0].type}")
        operand = _as(kind, site.operands[0], source)
        wide = _name(kind, width(_element(site.op.results[0])), _lanes(site))
        result = _resize(operand, _name(kind, width(_element(source)), _lanes(site)), wide)
        return result if wide == type else spell_cast(type, result)

    return spell


def _number_cast(source_kind: str | None, target_kind: str | None) -> Spelling:
    """Between integers and floats."""

    def spell(site: Site) -> Expression:
        source, target = site.op.operands[0], site.op.results[0]
        number = source if source_kind is None else target
        if not is_float(_element(number)) or is_boolean(_element(target if number is source else source)):
            raise no_spelling(site.op, f"from {source.type} to {target.type}")
        operand = site.operands[0] if source_kind is None else _as(source_kind, site.operands[0], source)
        type = vector_name(_typed(target))
        if target_kind is None:
            return _converted(operand, type)
        name = _name(target_kind, width(_element(target)), _lanes(site))
        return _converted(operand, name) if name == type else spell_cast(type, _converted(operand, name))

    return spell


def _spell_float_cast(site: Site) -> Expression:
    source, target = (_element(value) for value in (site.op.operands[0], site.op.results[0]))
    if is_float(source) and is_float(target):
        return _converted(site.operands[0], vector_name(_typed(site.op.results[0])))
    match source, target:
        case Float16Type(), Float32Type():
            return call(f"widen_f16_f32x{_lanes(site)}", *site.operands)
        case Float32Type(), Float16Type():
            return call(f"narrow_f16_f32x{_lanes(site)}", *site.operands)
        case Float32Type(), BFloat16Type():
            found = narrowed(site.op)
            return call(helper_of(found) if found else f"narrow_bf16_f32x{_lanes(site)}", *site.operands)
        case _:
            raise no_spelling(site.op, f"from {site.op.operands[0].type} to {site.op.results[0].type}")


def _spell_bitcast(site: Site) -> Expression:
    source, target = (_typed(value) for value in (site.op.operands[0], site.op.results[0]))
    if is_boolean(_element(site.op.operands[0])) or is_boolean(_element(site.op.results[0])):
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
    arith.AndIOp: _bitwise("&"),
    arith.OrIOp: _bitwise("|"),
    arith.XOrIOp: _bitwise("^"),
    arith.MinSIOp: _integer_extremum("<", "i"),
    arith.MaxSIOp: _integer_extremum(">", "i"),
    arith.MinUIOp: _integer_extremum("<", "u"),
    arith.MaxUIOp: _integer_extremum(">", "u"),
    arith.CmpiOp: _spell_cmpi,
    arith.CmpfOp: _spell_cmpf,
    arith.SelectOp: _spell_select,
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
