"""
How C spells vectors of i1: what compares lanes, combines such masks, and chooses by them.

A mask has lanes as wide as what was compared, all bits set or none.
"""

from __future__ import annotations

from xdsl.dialects import arith
from xdsl.dialects.builtin import DenseIntOrFPElementsAttr
from xdsl.ir import Operation

from layoutc.targets.errors import no_spelling
from layoutc.targets.patterns.mask_choices import choice_by, gains_by_choice
from layoutc.targets.spelling.c_context import Site, Spelling
from layoutc.targets.spelling.c_integers import RELATIONS
from layoutc.targets.spelling.c_lane_types import (
    all_read_as,
    check_number,
    element_of,
    lanes_of,
    resized_lanes,
    typed,
)
from layoutc.targets.words.c_expressions import UNARY, Expression, binary, call
from layoutc.targets.words.c_expressions import cast as spell_cast
from layoutc.targets.words.c_types import is_boolean, is_vector, lane_count, mask_name, vector_name, width
from layoutc.targets.words.c_vector_types import VectorType
from layoutc.walk import operands, relation


def _as_mask(expression: Expression, bits: int) -> Expression:
    return expression._replace(mask_bits=bits)


def mask_of(site: Site, number: int, bits: int) -> Expression:
    """An operand that is a mask, with lanes of so many bits."""
    operand, value = site.operands[number], operands(site.op)[number]
    if isinstance(value.owner, arith.ConstantOp):
        return _known_mask(value.owner, bits)
    if not operand.mask_bits:
        raise no_spelling(site.op, "of a vector of i1 that no comparison or constant made")
    if operand.mask_bits == bits:
        return operand
    lanes = lane_count(typed(value))
    return resized_lanes(operand, *(VectorType("i", width, lanes) for width in (operand.mask_bits, bits)))


def _not(mask: Expression) -> Expression:
    return Expression(f"~{mask.at_least(UNARY)}", UNARY, mask.reads, mask_bits=mask.mask_bits)


def _known_mask(op: arith.ConstantOp, bits: int) -> Expression:
    """A constant, in parentheses where it has commas: it may be given to a macro."""
    assert isinstance(op.value, DenseIntOrFPElementsAttr)
    type, on = mask_name(op.result.type, bits), [bool(lane) for lane in op.value.get_values()]
    none = Expression(f"({type}){{0}}", mask_bits=bits)
    if all(on) or not any(on):
        return _not(none) if all(on) else none
    return Expression(f"(({type}){{{', '.join(str(-lane) for lane in on)}}})", mask_bits=bits)


def _compared(site: Site, relation: str, kind: str) -> Expression:
    lhs, rhs = all_read_as(kind, site)
    bits = width(element_of(operands(site.op)[0]))
    mask = spell_cast(str(VectorType("i", bits, lanes_of(site))), binary(relation, lhs, rhs))
    return _as_mask(mask, bits)._replace(compared=(choice_by(kind, relation), f"{lhs.text}, {rhs.text}"))


def spell_cmpi(site: Site) -> Expression:
    assert isinstance(site.op, arith.CmpiOp)
    check_number(site)
    word = relation(site.op)
    return _compared(site, RELATIONS[word[-2:]], "u" if word[0] == "u" else "i")


FLOAT_RELATIONS = {"oeq": "==", "ogt": ">", "oge": ">=", "olt": "<", "ole": "<=", "une": "!="}
NEGATED_RELATIONS = {"ugt": "<=", "uge": "<", "ult": ">=", "ule": ">"}


def spell_cmpf(site: Site) -> Expression:
    assert isinstance(site.op, arith.CmpfOp)
    check_number(site)
    word, (lhs, rhs) = relation(site.op), operands(site.op)
    if word in FLOAT_RELATIONS:
        return _compared(site, FLOAT_RELATIONS[word], "f")
    if word in NEGATED_RELATIONS:
        return _not(_compared(site, NEGATED_RELATIONS[word], "f"))
    if word == "uno" and lhs is rhs:
        return _compared(site, "!=", "f")
    if word == "ord" and lhs is rhs:
        return _compared(site, "==", "f")
    raise no_spelling(site.op, f"{word} of two vectors")


def bitwise(operator: str) -> Spelling:
    def spell(site: Site) -> Expression:
        if not is_boolean(element_of(site.op.results[0])):
            return binary(operator, *site.operands)
        bits = max(8, *(operand.mask_bits for operand in site.operands))
        return _as_mask(binary(operator, mask_of(site, 0, bits), mask_of(site, 1, bits)), bits)

    return spell


def spell_select(site: Site) -> Expression:
    type = typed(site.op.results[0])
    if not is_vector(operands(site.op)[0].type):
        raise no_spelling(site.op, f"of {type} by one condition")
    if is_boolean(element_of(site.op.results[0])):
        raise no_spelling(site.op, f"of {type}")
    # A comparison that has a name is a variable, which compilers want to be used.
    if not site.operands[0].is_name and (extremum := _extremum_of(site.op)) is not None:
        return call(f"{extremum}_{vector_name(type)}", *site.operands[1:])
    bits = width(element_of(site.op.results[0]))
    choice, compared = site.operands[0].compared
    if choice and site.operands[0].mask_bits == bits and gains_by_choice(site.op):
        sides = Expression(compared, reads=site.operands[0].reads)
        return call(f"{choice}_{vector_name(type)}", sides, *site.operands[1:])
    return call(f"select_{vector_name(type)}", mask_of(site, 0, bits), *site.operands[1:])


def _extremum_of(op: Operation) -> str | None:
    """`max` or `min` where floats are chosen as they compare: the second one where they are equal, or one is NaN."""
    asked, yes, no = operands(op)
    condition = asked.owner
    if not isinstance(condition, arith.CmpfOp) or not condition.results[0].has_one_use():
        return None
    lhs, rhs = operands(condition)
    if lhs is not yes or rhs is not no:
        return None
    return {"ogt": "max", "olt": "min"}.get(relation(condition))
