"""
A sum with a product that is exact, which a processor may leave unrounded: both are one instruction where there is such.

    %place = arith.mulf %power, %factor {layout.exact} : vector<16xf32>
    %total = arith.addf %number, %place : vector<16xf32>
"""

from __future__ import annotations

from xdsl.dialects import arith
from xdsl.dialects.builtin import f32
from xdsl.ir import Operation

from layoutc.discardable import EXACT
from layoutc.targets.patterns.c_quotient import FUSED, with_fused
from layoutc.targets.patterns.macro_call import MacroCall
from layoutc.targets.words.c_vector_types import VectorType as Named
from layoutc.targets.words.vectors import lane_type, lanes_in
from layoutc.walk import operands

EXACT_SUM = "exact_sum"


def exact_sum(op: Operation) -> MacroCall | None:
    """What is added, and the factors of an exact product that nobody else uses, if an op is such a sum of registers."""
    if op.__class__ is not arith.AddfOp:
        return None
    number, product = operands(op)
    made = product.owner
    if not isinstance(made, arith.MulfOp) or EXACT not in made.attributes or not product.has_one_use():
        return None
    if lane_type(product.type) != f32 or lanes_in(product) not in FUSED:
        return None
    type = Named("f", 32, lanes_in(product))
    return MacroCall(f"{EXACT_SUM}_{type}", (number, *operands(made)), type)


def exact_sum_text(type: Named) -> str:
    """Its text."""
    head = f"#define {EXACT_SUM}_{type}(x, a, b)"
    return with_fused(type, f"{head} fused_{type}(a, b, x)", f"{head} ((x) + (a) * (b))")
