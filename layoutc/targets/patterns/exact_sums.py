"""
A sum with a product that is exact, which a processor may leave unrounded: both are one instruction where there is such.

    %place = arith.mulf %power, %factor {layout.exact} : vector<16xf32>
    %total = arith.addf %number, %place : vector<16xf32>
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import arith
from xdsl.dialects.builtin import f32
from xdsl.ir import Operation, SSAValue

from layoutc.discardable import EXACT
from layoutc.targets.patterns.c_quotient import FUSED, with_fused
from layoutc.targets.words.c_vector_types import VectorType as Named
from layoutc.targets.words.vectors import lane_type, lanes_in
from layoutc.walk import operands

EXACT_SUM = "exact_sum"


def exact_sum(op: Operation) -> Sequence[SSAValue] | None:
    """What is added, and the factors of an exact product that nobody else uses, if an op is such a sum of registers."""
    if op.__class__ is not arith.AddfOp:
        return None
    number, product = operands(op)
    made = product.owner
    if not isinstance(made, arith.MulfOp) or EXACT not in made.attributes or not product.has_one_use():
        return None
    is_register = lane_type(product.type) == f32 and lanes_in(product) in FUSED
    return (number, *operands(made)) if is_register else None


def exact_sum_helper(op: Operation) -> str:
    """The macro for it."""
    return f"{EXACT_SUM}_f32x{lanes_in(op.results[0])}"


def exact_sum_text(type: Named) -> str:
    """Its text."""
    head = f"#define {EXACT_SUM}_{type}(x, a, b)"
    return with_fused(type, f"{head} fused_{type}(a, b, x)", f"{head} ((x) + (a) * (b))")
