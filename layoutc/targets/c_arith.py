"""How C spells the ops of `arith` on integers and floats, and the casts between them."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import affine, arith
from xdsl.dialects.builtin import Float32Type, FloatAttr, IndexType, IntegerAttr, UnrealizedConversionCastOp
from xdsl.ir import Attribute, Operation

from layoutc.targets.bounds import type_range
from layoutc.targets.c_affine import spell_apply
from layoutc.targets.c_context import Site, Spelling
from layoutc.targets.c_expressions import (
    Expression,
    binary,
    bits_literal,
    call,
    cast,
    floating,
    integer,
    ternary,
    unary,
    wide,
)
from layoutc.targets.c_types import integer_name, is_boolean, is_float, is_unsigned, scalar_name, width
from layoutc.targets.errors import no_spelling


def spell_constant(op: arith.ConstantOp) -> Expression:
    """The literal of a constant."""
    value = op.value
    if isinstance(value, IntegerAttr):
        return integer(value.value.data, op.result.type)
    if isinstance(value, FloatAttr):
        number = value.value.data
        return floating(number, type) if is_float(type := value.type) else bits_literal(number, type)
    raise no_spelling(op, f"of type {op.result.type}")


# --- integers --------------------------------------------------------------------------------------------------


def _integer_type(op: Operation) -> Attribute:
    """The operand type of an integer op; booleans are no numbers in C."""
    type = op.operands[0].type
    if is_boolean(type):
        raise no_spelling(op, "on i1")
    return type


def _unsigned(operand: Expression, type: Attribute) -> Expression:
    return cast(integer_name(width(type), unsigned=True), operand)


def _widened(operands: Sequence[Expression], type: Attribute) -> Sequence[Expression]:
    """Operands one of which at least has C's full type for it."""
    if any(operand.literal is None for operand in operands):
        return operands
    return (wide(operands[0], type), *operands[1:])


def _wrapping(operator: str) -> Spelling:
    """addi, subi, muli: modulo 2^bits in the IR, but overflow is undefined in C's signed types."""

    def spell(site: Site) -> Expression:
        type = _integer_type(site.op)
        if _cannot_overflow(site.op, type, site.bounds):
            return binary(operator, *_widened(site.operands, type))
        if width(type) < 32:
            return cast(scalar_name(type), binary(operator, *site.operands))
        unsigned = (_unsigned(operand, type) for operand in site.operands)
        return cast(scalar_name(type), binary(operator, *unsigned))

    return spell


def _cannot_overflow(op: Operation, type: Attribute, context: Context) -> bool:
    """Indices do not, as in affine maps; others where the op or the operands' intervals say so."""
    flags = op.properties.get("overflowFlags")
    if isinstance(flags, arith.IntegerOverflowAttr) and arith.IntegerOverflowFlag.NSW in flags.data:
        return True
    computed = context.bounds.computed(op)
    return isinstance(type, IndexType) or (computed is not None and computed in type_range(type))


def _divides(operator: str, signed: bool) -> Spelling:
    def spell(site: Site) -> Expression:
        type = _integer_type(site.op)
        _check_divisor(site.op, site.operands)
        if signed or all(site.bounds[operand].is_natural for operand in site.op.operands):
            return binary(operator, *_widened(site.operands, type))
        unsigned = (_unsigned(operand, type) for operand in site.operands)
        return cast(scalar_name(type), binary(operator, *unsigned))

    return spell


def _check_divisor(op: Operation, operands: Sequence[Expression]) -> None:
    if operands[1].literal == 0:
        raise no_spelling(op, "by zero")


def _rounds(helper: str) -> Spelling:
    """floordivsi and ceildivsi: C truncates."""

    def spell(site: Site) -> Expression:
        type = _integer_type(site.op)
        _check_divisor(site.op, site.operands)
        dividend, divisor = (site.bounds[operand] for operand in site.op.operands)
        if helper == "floor_div" and dividend.is_natural and divisor.low > 0:
            return binary("/", *_widened(site.operands, type))
        called = site.helper(helper, *site.operands)
        return called if width(type) == 64 else cast(scalar_name(type), called)

    return spell


def _spell_ceil_unsigned(site: Site) -> Expression:
    type = _integer_type(site.op)
    _check_divisor(site.op, site.operands)
    called = site.helper("ceil_div_unsigned", *(_unsigned(operand, type) for operand in site.operands))
    return cast(scalar_name(type), called)


def _extremum(helper: str, signed: bool) -> Spelling:
    def spell(site: Site) -> Expression:
        type = _integer_type(site.op)
        arguments = site.operands if signed else [_unsigned(operand, type) for operand in operands]
        called = site.helper(helper, *arguments)
        return called if signed and width(type) == 64 else cast(scalar_name(type), called)

    return spell


def _bitwise(operator: str) -> Spelling:
    return lambda site: binary(operator, *site.operands)


def _shifts(operator: str, signed: bool) -> Spelling:
    def spell(site: Site) -> Expression:
        type = _integer_type(site.op)
        lhs, by = site.operands
        if by.literal is not None and not 0 <= by.literal < width(type):
            raise no_spelling(site.op, f"by {by.literal}, which is past the width of {type}")
        if signed:
            return binary(operator, wide(lhs, type), by)
        return cast(scalar_name(type), binary(operator, _unsigned(lhs, type), by))

    return spell


# --- comparisons and choice ------------------------------------------------------------------------------------

RELATIONS = {"eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">="}


def _spell_cmpi(site: Site) -> Expression:
    op = site.op
    assert isinstance(op, arith.CmpiOp)
    predicate = arith.CMPI_COMPARISON_OPERATIONS[op.predicate.value.data]
    relation, type = predicate[-2:], op.lhs.type
    if predicate not in ("eq", "ne") and is_boolean(type):
        raise no_spelling(op, f"{predicate} on i1")
    if site.operands[0].text == site.operands[1].text:
        return _known(relation in ("eq", "le", "ge"), site.operands[0])
    if predicate[0] == "u":
        limit = _unsigned_limit(relation, site.operands)
        if limit is not None:
            return limit
        if not all(site.bounds[operand].is_natural for operand in op.operands):
            operands = [_unsigned(operand, type) for operand in site.operands]
    return binary(RELATIONS[relation], *site.operands)


def _unsigned_limit(relation: str, operands: Sequence[Expression]) -> Expression | None:
    """A comparison with unsigned zero whose answer is known; compilers warn of those."""
    lhs, rhs = operands
    if rhs.literal == 0 and relation in ("lt", "ge"):
        return _known(relation == "ge", lhs)
    if lhs.literal == 0 and relation in ("gt", "le"):
        return _known(relation == "le", rhs)
    return None


def _known(answer: bool, operand: Expression) -> Expression:
    """A truth value that still mentions the operand, lest a variable be left unused."""
    return Expression(f"((void){operand.at_least(14)}, {int(answer)})", reads=operand.reads)


FLOAT_RELATIONS = {
    "oeq": "{} == {}",
    "ogt": "{} > {}",
    "oge": "{} >= {}",
    "olt": "{} < {}",
    "ole": "{} <= {}",
    "one": "__builtin_islessgreater({}, {})",
    "ord": "!__builtin_isunordered({}, {})",
    "ueq": "!__builtin_islessgreater({}, {})",
    "ugt": "!({} <= {})",
    "uge": "!({} < {})",
    "ult": "!({} >= {})",
    "ule": "!({} > {})",
    "une": "{} != {}",
    "uno": "__builtin_isunordered({}, {})",
}


def _spell_cmpf(site: Site) -> Expression:
    op = site.op
    assert isinstance(op, arith.CmpfOp)
    _check_float(op)
    predicate = arith.CMPF_COMPARISON_OPERATIONS[op.predicate.value.data]
    lhs, rhs = site.operands
    if predicate in ("true", "false"):
        return _known(predicate == "true", call("", lhs, rhs))
    template = FLOAT_RELATIONS[predicate]
    reads = lhs.reads or rhs.reads
    if template.startswith("{}"):
        return binary(template.split()[1], lhs, rhs)
    return Expression(template.format(lhs.at_least(12), rhs.at_least(12)), 14, reads)


def _spell_select(site: Site) -> Expression:
    condition, *choices = site.operands
    return ternary(condition, *_widened(choices, site.op.results[0].type))


# --- floats ----------------------------------------------------------------------------------------------------


def _check_float(op: Operation) -> None:
    """C calculates in float and double only; of f16, bf16 and f8 it has the bits."""
    for value in (*op.operands[:1], *op.results):
        if not is_float(value.type) and not isinstance(op, arith.CmpfOp):
            raise no_spelling(op, f"on {value.type}")
    if not is_float(op.operands[0].type):
        raise no_spelling(op, f"on {op.operands[0].type}")


def _float_binary(operator: str) -> Spelling:
    def spell(site: Site) -> Expression:
        _check_float(site.op)
        return binary(operator, *site.operands)

    return spell


def _float_extremum(helper: str) -> Spelling:
    def spell(site: Site) -> Expression:
        _check_float(site.op)
        suffix = "f32" if isinstance(site.op.results[0].type, Float32Type) else "f64"
        return site.helper(f"{helper}_{suffix}", *site.operands)

    return spell


def _spell_negf(site: Site) -> Expression:
    _check_float(site.op)
    return unary("-", site.operands[0])


def _spell_float_cast(site: Site) -> Expression:
    _check_float(site.op)
    return cast(scalar_name(site.op.results[0].type), site.operands[0])


# --- casts -----------------------------------------------------------------------------------------------------


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
        operand = _unsigned(operand, source)
    return cast(scalar_name(target), operand)


def _float_to_integer(signed: bool) -> Spelling:
    def spell(site: Site) -> Expression:
        source, target = site.op.operands[0].type, site.op.results[0].type
        if not is_float(source) or is_boolean(target):
            raise no_spelling(site.op, f"from {source} to {target}")
        operand = site.operands[0] if signed else _unsigned(site.operands[0], target)
        return cast(scalar_name(target), operand)

    return spell


def _integer_to_float(signed: bool) -> Spelling:
    def spell(site: Site) -> Expression:
        source, target = site.op.operands[0].type, site.op.results[0].type
        if not is_float(target) or (signed and is_boolean(source)):
            raise no_spelling(site.op, f"from {source} to {target}")
        operand = site.operands[0] if signed or is_boolean(source) else _unsigned(site.operands[0], source)
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


SPELLINGS: dict[type[Operation], Spelling] = {
    affine.ApplyOp: spell_apply,
    arith.AddiOp: _wrapping("+"),
    arith.SubiOp: _wrapping("-"),
    arith.MuliOp: _wrapping("*"),
    arith.DivSIOp: _divides("/", signed=True),
    arith.RemSIOp: _divides("%", signed=True),
    arith.DivUIOp: _divides("/", signed=False),
    arith.RemUIOp: _divides("%", signed=False),
    arith.FloorDivSIOp: _rounds("floor_div"),
    arith.CeilDivSIOp: _rounds("ceil_div"),
    arith.CeilDivUIOp: _spell_ceil_unsigned,
    arith.MinSIOp: _extremum("min_signed", signed=True),
    arith.MaxSIOp: _extremum("max_signed", signed=True),
    arith.MinUIOp: _extremum("min_unsigned", signed=False),
    arith.MaxUIOp: _extremum("max_unsigned", signed=False),
    arith.AndIOp: _bitwise("&"),
    arith.OrIOp: _bitwise("|"),
    arith.XOrIOp: _bitwise("^"),
    arith.ShLIOp: _shifts("<<", signed=False),
    arith.ShRUIOp: _shifts(">>", signed=False),
    arith.ShRSIOp: _shifts(">>", signed=True),
    arith.CmpiOp: _spell_cmpi,
    arith.CmpfOp: _spell_cmpf,
    arith.SelectOp: _spell_select,
    arith.AddfOp: _float_binary("+"),
    arith.SubfOp: _float_binary("-"),
    arith.MulfOp: _float_binary("*"),
    arith.DivfOp: _float_binary("/"),
    arith.NegfOp: _spell_negf,
    arith.MinimumfOp: _float_extremum("minimum"),
    arith.MaximumfOp: _float_extremum("maximum"),
    arith.MinnumfOp: _float_extremum("minnum"),
    arith.MaxnumfOp: _float_extremum("maxnum"),
    arith.ExtFOp: _spell_float_cast,
    arith.TruncFOp: _spell_float_cast,
    arith.ExtSIOp: _spell_cast,
    arith.TruncIOp: _spell_cast,
    arith.IndexCastOp: _spell_cast,
    arith.ExtUIOp: _spell_extui,
    arith.FPToSIOp: _float_to_integer(signed=True),
    arith.FPToUIOp: _float_to_integer(signed=False),
    arith.SIToFPOp: _integer_to_float(signed=True),
    arith.UIToFPOp: _integer_to_float(signed=False),
    arith.BitcastOp: _spell_bitcast,
    UnrealizedConversionCastOp: _spell_bitcast,
}
"""the spelling of each op without side effects"""
