"""How C spells the integer ops of `arith`: wrapping, unsigned, flooring."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import arith
from xdsl.dialects.builtin import IndexType
from xdsl.ir import Attribute, Operation

from layoutc.targets.errors import no_spelling
from layoutc.targets.spelling.c_context import Site, Spelling
from layoutc.targets.words.bounds import Bounds, type_range
from layoutc.targets.words.c_expressions import (
    PRODUCT,
    SUM,
    UNARY,
    Expression,
    binary,
    cast,
    ternary,
    wide,
)
from layoutc.targets.words.c_types import INDEX, integer_name, is_boolean, scalar_name, width
from layoutc.walk import relation


def _integer_type(op: Operation) -> Attribute:
    """The operand type of an integer op; booleans are no numbers in C."""
    type = op.operands[0].type
    if is_boolean(type):
        raise no_spelling(op, "on i1")
    return type


def unsigned(operand: Expression, type: Attribute) -> Expression:
    return cast(integer_name(width(type), unsigned=True), operand)


def widened(operands: Sequence[Expression], type: Attribute) -> Sequence[Expression]:
    """Operands one of which at least has C's full type for it."""
    if any(operand.literal is None for operand in operands):
        return operands
    return (wide(operands[0], type), *operands[1:])


def wrapping(operator: str) -> Spelling:
    """addi, subi, muli: modulo 2^bits in the IR, but overflow is undefined in C's signed types."""

    def spell(site: Site) -> Expression:
        type = _integer_type(site.op)
        if _cannot_overflow(site.op, type, site.bounds):
            return binary(operator, *widened(site.operands, type))
        if width(type) < 32:
            return cast(scalar_name(type), binary(operator, *site.operands))
        both = (unsigned(operand, type) for operand in site.operands)
        return cast(scalar_name(type), binary(operator, *both))

    return spell


def index_sum(lhs: Expression, rhs: Expression) -> Expression:
    """The sum of two indices, which do not overflow."""
    if lhs.literal is not None and rhs.literal is not None:
        lhs = wide(lhs, INDEX)
    return Expression(f"{lhs.at_least(SUM)} + {rhs.at_least(PRODUCT)}", SUM, lhs.reads or rhs.reads)


def _cannot_overflow(op: Operation, type: Attribute, bounds: Bounds) -> bool:
    """Indices do not, as in affine maps; others where the op or the operands' intervals say so."""
    if isinstance(type, IndexType):
        return True
    flags = op.properties.get("overflowFlags")
    if isinstance(flags, arith.IntegerOverflowAttr) and arith.IntegerOverflowFlag.NSW in flags.data:
        return True
    computed = bounds.computed(op)
    return computed is not None and computed in type_range(type)


def divides(operator: str, signed: bool) -> Spelling:
    def spell(site: Site) -> Expression:
        type = _integer_type(site.op)
        _check_divisor(site.op, site.operands)
        if signed or all(site.bounds[operand].is_natural for operand in site.op.operands):
            return binary(operator, *widened(site.operands, type))
        both = (unsigned(operand, type) for operand in site.operands)
        return cast(scalar_name(type), binary(operator, *both))

    return spell


def _check_divisor(op: Operation, operands: Sequence[Expression]) -> None:
    if operands[1].literal == 0:
        raise no_spelling(op, "by zero")


def rounds(helper: str) -> Spelling:
    """floordivsi and ceildivsi: C truncates."""

    def spell(site: Site) -> Expression:
        type = _integer_type(site.op)
        _check_divisor(site.op, site.operands)
        dividend, divisor = (site.bounds[operand] for operand in site.op.operands)
        if helper == "floor_div" and dividend.is_natural and divisor.low > 0:
            return binary("/", *widened(site.operands, type))
        called = site.helper(helper, *site.operands)
        return called if width(type) == 64 else cast(scalar_name(type), called)

    return spell


def spell_ceil_unsigned(site: Site) -> Expression:
    type = _integer_type(site.op)
    _check_divisor(site.op, site.operands)
    called = site.helper("ceil_div_unsigned", *(unsigned(operand, type) for operand in site.operands))
    return cast(scalar_name(type), called)


def extremum(helper: str, signed: bool) -> Spelling:
    def spell(site: Site) -> Expression:
        type = _integer_type(site.op)
        arguments = site.operands if signed else [unsigned(operand, type) for operand in site.operands]
        called = site.helper(helper, *arguments)
        return called if signed and width(type) == 64 else cast(scalar_name(type), called)

    return spell


def bitwise(operator: str) -> Spelling:
    return lambda site: binary(operator, *site.operands)


def shifts(operator: str, signed: bool) -> Spelling:
    def spell(site: Site) -> Expression:
        type = _integer_type(site.op)
        lhs, by = site.operands
        if by.literal is not None and not 0 <= by.literal < width(type):
            raise no_spelling(site.op, f"by {by.literal}, which is past the width of {type}")
        if signed:
            return binary(operator, wide(lhs, type), by)
        return cast(scalar_name(type), binary(operator, unsigned(lhs, type), by))

    return spell


RELATIONS = {"eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">="}


def spell_cmpi(site: Site) -> Expression:
    op, operands = site.op, site.operands
    assert isinstance(op, arith.CmpiOp)
    word, type = relation(op), op.lhs.type
    if word not in ("eq", "ne") and is_boolean(type):
        raise no_spelling(op, f"{word} on i1")
    if operands[0].text == operands[1].text:
        return known(word[-2:] in ("eq", "le", "ge"), *operands)
    if word[0] == "u":
        limit = _unsigned_limit(word[-2:], operands)
        if limit is not None:
            return limit
        if not all(site.bounds[operand].is_natural for operand in op.operands):
            operands = [unsigned(operand, type) for operand in operands]
    return binary(RELATIONS[word[-2:]], *operands)


def _unsigned_limit(relation: str, operands: Sequence[Expression]) -> Expression | None:
    """A comparison with unsigned zero whose answer is known; compilers warn of those."""
    lhs, rhs = operands
    if rhs.literal == 0 and relation in ("lt", "ge"):
        return known(relation == "ge", lhs)
    if lhs.literal == 0 and relation in ("gt", "le"):
        return known(relation == "le", rhs)
    return None


def known(answer: bool, *operands: Expression) -> Expression:
    """A truth value that still mentions the operands, lest a variable be left unused."""
    mentioned = "".join(f"(void){operand.at_least(UNARY)}, " for operand in operands)
    return Expression(f"({mentioned}{int(answer)})", reads=any(operand.reads for operand in operands))


def spell_select(site: Site) -> Expression:
    condition, *choices = site.operands
    return ternary(condition, *widened(choices, site.op.results[0].type))
