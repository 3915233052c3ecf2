"""How C spells the float ops of `arith`."""

from __future__ import annotations

from xdsl.dialects import arith, func, math, memref, vector
from xdsl.dialects.builtin import Float16Type, Float32Type
from xdsl.ir import Operation

from layoutc.discardable import EXACT, INLINED
from layoutc.targets.errors import no_spelling
from layoutc.targets.patterns.c_float_numbers import float_codes
from layoutc.targets.spelling.c_context import Site, Spelling
from layoutc.targets.spelling.c_integers import known
from layoutc.targets.words.c_expressions import (
    SUM,
    UNARY,
    Expression,
    binary,
    cast,
    unary,
)
from layoutc.targets.words.c_types import is_float, scalar_name, width
from layoutc.walk import relation

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


def spell_cmpf(site: Site) -> Expression:
    op = site.op
    assert isinstance(op, arith.CmpfOp)
    _check_float(op)
    word = relation(op)
    lhs, rhs = site.operands
    if word in ("true", "false"):
        return known(word == "true", lhs, rhs)
    template = FLOAT_RELATIONS[word]
    reads = lhs.reads or rhs.reads
    if template.startswith("{}"):
        return binary(template.split()[1], lhs, rhs)
    return Expression(template.format(lhs.at_least(SUM), rhs.at_least(SUM)), UNARY, reads)


def _check_float(op: Operation) -> None:
    """C calculates in float and double only; of f16, bf16 and f8 it has the bits."""
    for value in (*op.operands[:1], *op.results):
        if not is_float(value.type) and not isinstance(op, arith.CmpfOp):
            raise no_spelling(op, f"on {value.type}")
    if not is_float(op.operands[0].type):
        raise no_spelling(op, f"on {op.operands[0].type}")


def float_binary(operator: str) -> Spelling:
    def spell(site: Site) -> Expression:
        _check_float(site.op)
        return binary(operator, *site.operands)

    return spell


HARMLESS = (
    *(arith.MulfOp, arith.DivfOp, arith.CmpfOp, arith.TruncFOp, arith.FPToSIOp, arith.FPToUIOp, math.RoundEvenOp),
    *(memref.StoreOp, vector.StoreOp, vector.MaskedStoreOp),
)
"""ops that a product may go into as it is"""
PASSING = (arith.SelectOp, arith.BitcastOp, vector.BitcastOp, vector.ShuffleOp)
"""ops that give it on to others"""


def is_fusible(op: Operation) -> bool:
    """
    Whether a compiler may be told to leave out the rounding of a product, as the sum that it goes into rounds.

    A number that is looked up is no product, and one that is exact may go unrounded.
    """
    is_product = op.__class__ is arith.MulfOp and EXACT not in op.attributes
    return is_product and float_codes(op) is None and _goes_into_a_sum(op)


def _goes_into_a_sum(op: Operation) -> bool:
    """Whether what an op gives may be added to something, or leave the function; choices and bits pass it on."""
    users = {use.operation for use in op.results[0].uses}
    passing = [user for user in users if isinstance(user, PASSING)]
    others = [user for user in users if not isinstance(user, (*HARMLESS, *PASSING))]
    return not all(map(_is_stored, others)) or any(map(_goes_into_a_sum, passing))


def _is_stored(user: Operation) -> bool:
    """Whether an op gives what is stored, at the end of a function that stands for its text."""
    around = user.parent_op()
    return isinstance(user, func.ReturnOp) and around is not None and INLINED in around.attributes


def spell_mulf(site: Site) -> Expression:
    _check_float(site.op)
    product = binary("*", *site.operands)
    if not is_fusible(site.op):
        return product
    return site.helper(f"unfused_f{width(site.op.results[0].type)}", product, Expression(site.zero))


def float_extremum(helper: str) -> Spelling:
    def spell(site: Site) -> Expression:
        _check_float(site.op)
        suffix = "f32" if isinstance(site.op.results[0].type, Float32Type) else "f64"
        return site.helper(f"{helper}_{suffix}", *site.operands)

    return spell


def spell_round_even(site: Site) -> Expression:
    _check_float(site.op)
    return site.helper(f"round_even_f{width(site.op.results[0].type)}", *site.operands)


def spell_negf(site: Site) -> Expression:
    _check_float(site.op)
    return unary("-", site.operands[0])


def spell_float_cast(site: Site) -> Expression:
    match site.op.operands[0].type, site.op.results[0].type:
        case Float16Type(), Float32Type():
            return site.helper("widen_f16", *site.operands)
        case Float32Type(), Float16Type():
            return site.helper("narrow_f16", *site.operands)
        case _:
            _check_float(site.op)
    return cast(scalar_name(site.op.results[0].type), site.operands[0])
