"""The spelling of every op of `arith`, of affine.apply and affine.min; constants and casts are spelt here."""

from __future__ import annotations

from xdsl.dialects import affine, arith, math
from xdsl.dialects.builtin import FloatAttr, IntegerAttr, UnrealizedConversionCastOp
from xdsl.ir import Operation

from layoutc.targets.errors import no_spelling
from layoutc.targets.spelling.c_affine import spell_apply, spell_min
from layoutc.targets.spelling.c_context import Site, Spelling
from layoutc.targets.spelling.c_floats import (
    float_binary,
    float_extremum,
    spell_cmpf,
    spell_float_cast,
    spell_mulf,
    spell_negf,
    spell_round_even,
)
from layoutc.targets.spelling.c_integers import (
    bitwise,
    divides,
    extremum,
    rounds,
    shifts,
    spell_ceil_unsigned,
    spell_cmpi,
    spell_select,
    unsigned,
    wrapping,
)
from layoutc.targets.words.c_expressions import (
    Expression,
    binary,
    cast,
    integer,
    literal,
    unary,
)
from layoutc.targets.words.c_types import is_boolean, is_float, is_unsigned, scalar_name, width


def spell_constant(op: arith.ConstantOp) -> Expression:
    """The literal of a constant."""
    value, result = op.properties["value"], op.results[0].type
    if isinstance(value, IntegerAttr):
        return integer(value.value.data, result)
    if isinstance(value, FloatAttr):
        return literal(value.value.data, result)
    raise no_spelling(op, f"of type {result}")


def _spell_cast(site: Site) -> Expression:
    """trunci, extsi, index_cast: C's cast of signed integers; to a boolean it would not take the low bit."""
    source, target = site.op.operands[0].type, site.op.results[0].type
    (operand,) = site.operands
    if operand.literal is not None and not is_boolean(source):
        return integer(operand.literal, target)
    if is_boolean(source):
        operand = unary("-", operand)
    if is_boolean(target):
        return binary("!=", binary("&", operand, Expression("1", literal=1)), Expression("0", literal=0))
    return operand if scalar_name(source) == scalar_name(target) else cast(scalar_name(target), operand)


def _spell_extui(site: Site) -> Expression:
    source, target = site.op.operands[0].type, site.op.results[0].type
    (operand,) = site.operands
    if not is_boolean(source) and not site.bounds[site.op.operands[0]].is_natural:
        operand = unsigned(operand, source)
    return cast(scalar_name(target), operand)


def _float_to_integer(signed: bool) -> Spelling:
    def spell(site: Site) -> Expression:
        source, target = site.op.operands[0].type, site.op.results[0].type
        if not is_float(source) or is_boolean(target):
            raise no_spelling(site.op, f"from {source} to {target}")
        operand = site.operands[0] if signed else unsigned(site.operands[0], target)
        return cast(scalar_name(target), operand)

    return spell


def _integer_to_float(signed: bool) -> Spelling:
    def spell(site: Site) -> Expression:
        source, target = site.op.operands[0].type, site.op.results[0].type
        if not is_float(target) or (signed and is_boolean(source)):
            raise no_spelling(site.op, f"from {source} to {target}")
        operand = site.operands[0] if signed or is_boolean(source) else unsigned(site.operands[0], source)
        return cast(scalar_name(target), operand)

    return spell


def _spell_bitcast(site: Site) -> Expression:
    """The same bits as another type: between integers, and the bits of narrow floats, a cast."""
    if len(site.op.operands) != 1 or len(site.op.results) != 1:
        raise no_spelling(site.op, f"from {len(site.op.operands)} to {len(site.op.results)} values")
    source, target = site.op.operands[0].type, site.op.results[0].type
    names = scalar_name(source), scalar_name(target)
    if width(source) != width(target):
        raise no_spelling(site.op, f"from {source} to {target}")
    (operand,) = site.operands
    if is_float(source) != is_float(target):
        type = "float" if width(source) == 32 else "double"
        called = site.helper(f"{type}_bits" if is_float(source) else f"{type}_from_bits", operand)
        return cast(names[1], called) if is_unsigned(target) else called
    if operand.literal is not None and not is_float(target):
        return integer(operand.literal, target)
    return operand if names[0] == names[1] else cast(names[1], operand)


FLOAT_SPELLINGS: dict[type[Operation], Spelling] = {
    arith.CmpfOp: spell_cmpf,
    arith.AddfOp: float_binary("+"),
    arith.SubfOp: float_binary("-"),
    arith.MulfOp: spell_mulf,
    arith.DivfOp: float_binary("/"),
    arith.NegfOp: spell_negf,
    arith.MinimumfOp: float_extremum("minimum"),
    arith.MaximumfOp: float_extremum("maximum"),
    arith.MinnumfOp: float_extremum("minnum"),
    arith.MaxnumfOp: float_extremum("maxnum"),
    math.RoundEvenOp: spell_round_even,
    arith.ExtFOp: spell_float_cast,
    arith.TruncFOp: spell_float_cast,
    arith.FPToSIOp: _float_to_integer(signed=True),
    arith.FPToUIOp: _float_to_integer(signed=False),
    arith.SIToFPOp: _integer_to_float(signed=True),
    arith.UIToFPOp: _integer_to_float(signed=False),
}
"""of the ops that compute with floats; others only move their bits"""

SPELLINGS: dict[type[Operation], Spelling] = {
    affine.ApplyOp: spell_apply,
    affine.MinOp: spell_min,
    arith.AddiOp: wrapping("+"),
    arith.SubiOp: wrapping("-"),
    arith.MuliOp: wrapping("*"),
    arith.DivSIOp: divides("/", signed=True),
    arith.RemSIOp: divides("%", signed=True),
    arith.DivUIOp: divides("/", signed=False),
    arith.RemUIOp: divides("%", signed=False),
    arith.FloorDivSIOp: rounds("floor_div"),
    arith.CeilDivSIOp: rounds("ceil_div"),
    arith.CeilDivUIOp: spell_ceil_unsigned,
    arith.MinSIOp: extremum("min_signed", signed=True),
    arith.MaxSIOp: extremum("max_signed", signed=True),
    arith.MinUIOp: extremum("min_unsigned", signed=False),
    arith.MaxUIOp: extremum("max_unsigned", signed=False),
    arith.AndIOp: bitwise("&"),
    arith.OrIOp: bitwise("|"),
    arith.XOrIOp: bitwise("^"),
    arith.ShLIOp: shifts("<<", signed=False),
    arith.ShRUIOp: shifts(">>", signed=False),
    arith.ShRSIOp: shifts(">>", signed=True),
    arith.CmpiOp: spell_cmpi,
    arith.SelectOp: spell_select,
    arith.ExtSIOp: _spell_cast,
    arith.TruncIOp: _spell_cast,
    arith.IndexCastOp: _spell_cast,
    arith.ExtUIOp: _spell_extui,
    arith.BitcastOp: _spell_bitcast,
    UnrealizedConversionCastOp: _spell_bitcast,
    **FLOAT_SPELLINGS,
}
"""the spelling of each op without side effects"""
