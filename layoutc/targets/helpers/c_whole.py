"""
Integers that are made of quotients, all at once (`whole_ops` finds them).

By a known divisor, of which it was tried that two products do (`two_products`): the product with both parts of its
reciprocal, clamped and rounded.

By any other, where its size is usual: what is divided is clamped first, to the products of the divisor with the limits,
less the zero point. The quotient of these products, k * (1 + d) with |d| < 2^-23 for a limit k, becomes the limit: |k|
is below 2^21, and so d * k below 1/4. Dividends beyond have quotients no nearer to 0, which are clamped to it. Those
within are as they were. So nothing overflows in the correction of the quotient (`c_quotient` proves that it is right),
p is NaN where the dividend is, and nothing is left to clamp. By a divisor that is not usual, all is done as it stands,
which is asked of each register: a branch that is never taken costs less than an instruction on registers.
"""

from __future__ import annotations

from collections.abc import Sequence

from layoutc.targets.patterns.c_quotient import USUAL, with_fused
from layoutc.targets.patterns.whole_ops import TO_LOW_BITS
from layoutc.targets.words.c_text import first_found
from layoutc.targets.words.c_vector_types import VectorType, macro

MOST_SHIFT = 1 << 20
"""of a zero point: with it and a limit of 16 bits quotients stay below 2^21"""
BIAS, MANTISSA = 127, 23


def whole_needs(used: set[str]) -> set[str]:
    """The helpers that those for integers call."""
    is_used = any(name.startswith("whole_") for name in used)
    return {f"{name}_f32x16" for name in ("max", "min")} if is_used else set()


def _given(type: VectorType, shift: str) -> tuple[str, ...]:
    """Each argument once."""
    return f"const {type} x_ = (x)", f"const {type} s_ = (s)", *([f"const {type} z_ = ({shift})"] if shift else [])


def _parameters(shift: str, *others: str) -> str:
    return ", ".join(("x", "s", *([shift] if shift else []), *others))


def clamped(type: VectorType, quotient: str, shift: str = "") -> tuple[str, ...]:
    """A number that NaN is not left in where the least is 0: a helper chooses its second one then."""
    return (
        f"const {type} scaled_ = {quotient}",
        f"const {type} shifted_ = scaled_{' + z_' if shift else ''}",
        f"const {type} least_ = (low) - ({type}){{0}}",
        f"const {type} most_ = (high) - ({type}){{0}}",
        f"const {type} above_ = (low) < 0 ? max_{type}(least_, shifted_) : max_{type}(shifted_, least_)",
        f"const {type} clamped_ = min_{type}(most_, above_)",
    )


def _rounded(type: VectorType, number: str) -> tuple[str, ...]:
    """The low bits of the number, or of 0 where it is NaN."""
    return (
        f"const {type.mask} bits_ = ({type.mask})({number} + {TO_LOW_BITS}f)",
        f"({type})(bits_ & ({type.mask})({number} == {number}))",
    )


def rounded_clamped(type: VectorType) -> tuple[str, ...]:
    """The same of a number that is clamped; where the least is 0 it is not NaN."""
    sum, kept = _rounded(type, "clamped_")
    return sum, f"(low) < 0 ? {kept} : ({type})bits_"


def _plain(type: VectorType, name: str, parameters: str, shift: str) -> str:
    steps = (*_given(type, shift), *clamped(type, "x_ / s_", shift), *rounded_clamped(type))
    return macro(f"{name}_{type}", parameters, *steps)


def whole(type: VectorType, shift: str = "") -> str:
    """The integers of x / s, or of x / s + z, with these limits."""
    name = f"whole{'_shifted' if shift else ''}"
    parameters, fused = _parameters(shift, "low", "high"), f"fused_{type}"
    less = "z_" if shift else f"({type}){{0}}"
    by_products = (
        f"const {type} above_ = max_{type}(first_, x_)",
        f"const {type} inside_ = min_{type}(last_, above_)",
        f"const {type} q_ = inside_ * y_",
        f"const {type} r_ = {fused}(-q_, s_, inside_)",
        f"number_ = {fused}(r_, y_, q_){' + z_' if shift else ''}",
    )
    by_division = (*clamped(type, "x_ / s_", shift), "number_ = clamped_")
    text = macro(
        f"{name}_{type}",
        parameters,
        *_given(type, shift),
        *_usual(type, shift),
        f"const {type} one_end_ = s_ * ((low) - {less})",
        f"const {type} other_end_ = s_ * ((high) - {less})",
        f"const {type} first_ = min_{type}(one_end_, other_end_)",
        f"const {type} last_ = max_{type}(one_end_, other_end_)",
        f"const {type} y_ = 1.0f / s_",
        f"{type} number_",
        f"if (__builtin_expect(all_{type.mask}(usual_), 1)) {block(by_products)} else {block(by_division)}",
        *_rounded(type, "number_"),
    )
    return f"{all_lanes(type)}\n\n{with_fused(type, text, _plain(type, name, parameters, shift))}"


def block(statements: Sequence[str]) -> str:
    """Statements of a macro that stand or fall together."""
    return " \\\n".join(("{", *(f"      {statement};" for statement in statements), "    }"))


def _usual(type: VectorType, shift: str) -> tuple[str, ...]:
    """Lanes whose divisor and zero point the proof holds for."""
    size, within = usual_divisor(type, "s_")
    if not shift:
        return size, f"const {type.mask} usual_ = {within}"
    near = f"({type.mask})(z_ >= -{MOST_SHIFT}.0f) & ({type.mask})(z_ <= {MOST_SHIFT}.0f)"
    return size, f"const {type.mask} near_ = {near}", f"const {type.mask} usual_ = {within} & near_"


def usual_divisor(type: VectorType, divisor: str) -> tuple[str, str]:
    """What the proof asks of the size of a divisor, and the lanes where that holds."""
    least, most = ((bound + BIAS) << MANTISSA for bound in (USUAL[0], USUAL[-1]))
    size = f"const {type.mask} size_ = ({type.mask}){divisor} & {2**31 - 1:#x}"
    return size, f"({type.mask})(size_ >= {least:#x}) & ({type.mask})(size_ <= {most:#x})"


def all_lanes(type: VectorType) -> str:
    """Whether a mask has all of its lanes."""
    name = f"all_{type.mask}"
    by_gcc = {
        16: {"defined(__AVX512F__)": f"__builtin_ia32_cmpd512_mask(mask, ({type.mask}){{0}}, 4, -1) == 0xffff"},
        8: {"defined(__AVX__)": f"__builtin_ia32_movmskps256(({type})(mask)) == 0xff"},
        4: {
            "defined(__SSE__)": f"__builtin_ia32_movmskps(({type})(mask)) == 0xf",
            "defined(__aarch64__)": "vminvq_u32((uint32x4_t)(mask)) == UINT32_MAX",
        },
    }
    asked = {"defined(__clang__)": "__builtin_reduce_and(mask) == -1", **by_gcc[type.lanes]}
    texts = {condition: f"#define {name}(mask) ({text})" for condition, text in asked.items()}
    return f"#ifndef {name}\n{first_found(texts)}\n#endif"
