"""
Quotients that become integers, in products and sums: a register of divisions takes as long as 20 other instructions.

With t the divisor and x the dividend times one power of two, and y = 1 / t: q = x * y, r = x - q * t, p = q + r * y,
where r and p are rounded once. p is what x / t rounds to, where nothing overflows and |x / t| > 2^-40; elsewhere both
become the same integer.

Proof, with u = 2^-24 and t, x in [1, 2), as powers of two change nothing; for t = 1, and x = t, it is seen at once.
y is off by at most u/2, so e = t * y - 1 by t * u/2 from 0, and x * y by x * u/2 from x / t. A place of x / t is 2u if
x > t, and q off by less than one; else it is u, and q off by less than (x + 1) / 2. q + r * y is x / t + r * e / t.

* q is a neighbour of x / t. Then r has 24 bits, and is exact. p could be wrong only if the midpoint m of the neighbours
  lay between x / t and q + r * y. a = |x - m * t| is not 0, as a quotient is never a midpoint, so at least 2u^2 with
  places of 2u, u^2 with those of u. q is half a place from m, thus |r| <= a + t * place/2. By t <= 2 - 2u follows
  |r * e| < a: both are on one side of m.
* q is no neighbour: x < t, and x / t is at least (1 - x/2) * u from m. Here r is off by 2u^2 at most, and the sum by
  3.5u^2, which only x = 2 - 2ku for k <= 3 could be too much for; of these p is right by trying
  (tests/test_quotients.py).
"""

from __future__ import annotations

from typing import cast

from xdsl.dialects import arith
from xdsl.dialects.builtin import DenseIntOrFPElementsAttr
from xdsl.ir import Operation, SSAValue

from layoutc.discardable import TO_INTEGER
from layoutc.targets.words.c_vector_types import VectorType as Lanes
from layoutc.targets.words.c_vector_types import macro
from layoutc.targets.words.vectors import F32_LANES, is_f32_register

USUAL = range(-60, 61)
"""exponents of constants by which nothing comes near to what a product overflows at, or loses places at"""
MANY = 2
"""registers divided by what is made beside them pay for its reciprocal: 2 take 0.93 of the time, 4 take 0.75"""
FUSED = {
    4: {
        "defined(__FMA__)": "__builtin_ia32_vfmaddps(a, b, c)",
        "defined(__aarch64__)": "vfmaq_f32((float32x4_t)(c), (float32x4_t)(a), (float32x4_t)(b))",
    },
    8: {"defined(__FMA__)": "__builtin_ia32_vfmaddps256(a, b, c)"},
    16: {"defined(__AVX512F__)": "__builtin_ia32_vfmaddps512_mask(a, b, c, -1, 4)"},
}
"""lanes of a register -> the condition of processors that add to products without rounding these, and how gcc does"""
LARGEST, SMALLEST = 0x7F000000, 0x00400000
"""the bits of 2^127 and 2^-127"""


def quotient_helper(op: Operation) -> str | None:
    """The macro for a division, if it is made of products."""
    if not is_by_products(op):
        return None
    return f"{'quotient_usual' if _is_usual(op.operands[1]) else 'quotient'}_f32x{F32_LANES}"


def is_by_products(op: Operation) -> bool:
    """Whether a division of a whole register is made of products."""
    return is_f32_register(op.results[0].type) and becomes_integer(op)


def becomes_integer(op: Operation) -> bool:
    """
    Whether a division becomes integers, and its divisor is used again.

    Half as many divisions take half as long, and the other instructions do not.
    """
    return TO_INTEGER in op.attributes and _is_used_again(op.operands[1], op)


def _is_used_again(divisor: SSAValue, op: Operation) -> bool:
    """Whether it stands ahead of a loop around the division, is given to a function, or divides many registers."""
    return not stands_beside(divisor, op) or sum(1 for _ in divisor.uses) >= MANY


def stands_beside(value: SSAValue, op: Operation) -> bool:
    """Whether a value that is neither a constant nor given to a function is made in the block of an op."""
    made_by = value.owner
    is_made = isinstance(made_by, Operation) and made_by.__class__ is not arith.ConstantOp
    return is_made and made_by.parent_block() is op.parent_block()


def _is_usual(divisor: SSAValue) -> bool:
    """Whether it is known, and neither tiny nor huge."""
    if not isinstance(divisor.owner, arith.ConstantOp) or not isinstance(divisor.owner.value, DenseIntOrFPElementsAttr):
        return False
    values = cast("tuple[float, ...]", divisor.owner.value.get_values())
    return all(2.0 ** USUAL[0] <= abs(value) <= 2.0 ** USUAL[-1] for value in values)


def quotient(type: Lanes) -> str:
    """
    Of any divisor. t = s * c, where c is a power of two, at most 2^127, by which t is below 2 and not subnormal.

    Where x * c overflows, or t is 0 or infinite, r and p are NaN, but q is what division gives.
    """
    given = (
        f"const {type} s_ = (s)",
        f"const {type.mask} exponent_ = {LARGEST:#x} - (({type.mask})s_ & 0x7f800000)",
        f"const {type.mask} least_ = ({type.mask})(exponent_ < {SMALLEST:#x})",
        f"const {type} c_ = ({type})((exponent_ & ~least_) | ({SMALLEST:#x} & least_))",
        f"const {type} t_ = s_ * c_",
        f"const {type} x_ = (x) * c_",
    )
    return _quotient("quotient", type, given)


def quotient_usual(type: Lanes) -> str:
    """Of a divisor from 2^-60 to 2^60."""
    return _quotient("quotient_usual", type, (f"const {type} t_ = (s)", f"const {type} x_ = (x)"))


def _quotient(name: str, type: Lanes, given: tuple[str, ...]) -> str:
    called, fused = f"{name}_{type}", f"fused_{type}"
    by_products = macro(
        called,
        "x, s",
        *given,
        f"const {type} y_ = 1.0f / t_",
        f"const {type} q_ = x_ * y_",
        f"const {type} r_ = {fused}(-q_, t_, x_)",
        f"const {type} p_ = {fused}(r_, y_, q_)",
        f"const {type.mask} nan_ = ({type.mask})(p_ != p_)",
        f"({type})((({type.mask})q_ & nan_) | (({type.mask})p_ & ~nan_))",
    )
    return with_fused(type, by_products, f"#define {called}(x, s) ((x) / (s))")


def with_fused(type: Lanes, text: str, otherwise: str) -> str:
    """A text that adds to products without rounding them, and one for processors that cannot."""
    fused = f"fused_{type}"
    lines: list[str] = []
    for condition, native in FUSED[type.lanes].items():
        lines += (
            f"#if {condition} && !defined({fused})",
            "#ifndef __clang__",
            f"#define {fused}(a, b, c) (({type}){native})",
            "#elif __has_builtin(__builtin_elementwise_fma)",
            f"#define {fused}(a, b, c) __builtin_elementwise_fma(a, b, c)",
            "#endif",
            "#endif",
            "",
        )
    return "\n".join((*lines, f"#ifdef {fused}", text, "#else", otherwise, "#endif"))
