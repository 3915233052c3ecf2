"""What macros that narrow clamped lanes are made from (`c_saturated`): one step of a processor each, or a few."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from xdsl.dialects.builtin import f32

from layoutc.targets.helpers.c_whole import all_lanes, clamped, rounded_clamped, usual_divisor
from layoutc.targets.patterns.c_quotient import with_fused
from layoutc.targets.patterns.fourth_bytes import BYTE, PAIR
from layoutc.targets.words.c_expressions import Expression, binary, call, floating
from layoutc.targets.words.c_text import first_found
from layoutc.targets.words.c_vector_types import VECTOR_TYPE, VectorType, macro, native

FEATURES = {16: "SSE2", 32: "AVX2", 64: "AVX512BW"}
"""bytes of a register -> the macro of processors with these instructions"""
LEAST, MOST = -(1 << PAIR - 1), (1 << PAIR - 1) - 1
"""of pairs of bytes"""
PACKING = {("i", PAIR): "packssdw", ("i", BYTE): "packsswb", ("u", BYTE): "packuswb"}
"""what two registers of lanes twice as wide become -> the instruction"""
ARM, ARM_BYTES = "defined(__aarch64__)", 16
"""the condition of processors with NEON, and bytes of their registers"""


def x86(type: VectorType) -> str:
    """The condition of those with x86's instructions for registers of a type."""
    return f"defined(__{FEATURES[type.bytes]}__)"


def _integers(type: VectorType) -> dict[str, str]:
    """Of f32, half to even; x86 gives the least one for NaN and what is too large, NEON 0 and the nearest."""
    called = {
        16: "__builtin_ia32_cvtps2dq(x)",
        32: "__builtin_ia32_cvtps2dq256(x)",
        64: "__builtin_ia32_cvtps2dq512_mask(x, (i32x16){0}, (uint16_t)-1, 4)",
    }
    head = f"#define integers_{type}(x) (({type.mask}){{}})"
    neon = {ARM: head.format("vcvtnq_s32_f32((float32x4_t)(x))")} if type.bytes == ARM_BYTES else {}
    return {x86(type): head.format(called[type.bytes])} | neon


def _packed(type: VectorType) -> dict[str, str]:
    """Two registers as one, each 16 bytes of both by themselves."""
    head, name = f"#define packed_{type}(a, b) \\\n  (({type}){{}})", f"__builtin_ia32_{PACKING[type.kind, type.bits]}"
    plain = head.format(f"{name}{8 * type.bytes}(a, b)")
    if type.bytes == ARM_BYTES:
        moved, wide = "vqmovun" if type.kind == "u" else "vqmovn", f"s{2 * type.bits}"
        a, b = (f"(int{2 * type.bits}x{type.lanes // 2}_t)({each})" for each in "ab")
        return {x86(type): plain, ARM: head.format(f"{moved}_high_{wide}({moved}_{wide}({a}), {b})")}
    if type.bytes < 64:
        return {x86(type): plain}
    others = f"({native(type.bits, type.bytes)}){{0}}, (uint{type.lanes}_t)-1"
    by_gcc = head.format(f"{name}512_mask(a, b, {others})")
    return {f"{x86(type)} && defined(__clang__)": plain, x86(type): by_gcc}


def _has_least(type: VectorType) -> dict[str, str]:
    """Whether a lane of two registers is the least number."""
    given = f"const {type} least_ = min_{type}(a, b)", f"const {type} all_ = ({type}){{0}} + (int16_t){LEAST}"
    if type.bytes == 64:
        asked = "__builtin_ia32_cmpw512_mask(least_, all_, 0, (uint32_t)-1)"
    else:
        asked = f"__builtin_ia32_pmovmskb{8 * type.bytes}(({native(BYTE, type.bytes)})(least_ == all_))"
    return {x86(type): macro(f"has_least_{type}", "a, b", *given, f"{asked} != 0")}


def _bound(type: VectorType) -> str:
    """A dividend whose quotient is about 2^64."""
    return f"#define bound_{type}(s) (({type})(({type.mask})(s) & {2**31 - 1:#x}) * 0x1p64f)"


def _bounded(type: VectorType) -> dict[str, str]:
    """A dividend that is at most as large; NaN stays NaN."""
    lanes = f"(float{type.bits}x{type.lanes}_t)"
    moved = f"vminq_f32(vmaxq_f32({lanes}(x), -{lanes}(bound)), {lanes}(bound))"
    return {ARM: f"#define bounded_{type}(x, bound) \\\n  (({type}){moved})"}


def _near(type: VectorType) -> str:
    """A number that fits a pair of bytes as an integer, 0 for NaN."""
    return macro(
        f"near_{type}",
        "x",
        f"const {type} x_ = (x)",
        f"const {type} above_ = max_{type}(x_, ({type}){{0}} + {LEAST}.0f)",
        f"const {type} near_ = min_{type}(above_, ({type}){{0}} + {MOST}.0f)",
        f"({type})(({type.mask})near_ & ({type.mask})(x_ == x_))",
    )


def _low_bits(type: VectorType) -> str:
    """Words whose low bits are those of clamped numbers."""
    if type.kind == "f":
        steps = *clamped(type, "(x)"), *rounded_clamped(type)
        return macro(f"low_bits_{type}", "x, low, high", *steps[:-1], f"({type.mask})({steps[-1]})")
    low, high = (f"({type}){{0}} + (int32_t)({limit})" for limit in ("low", "high"))
    return macro(f"low_bits_{type}", "x, low, high", f"min_{type}(max_{type}(x, {low}), {high})")


def _by_product(type: VectorType) -> str:
    """The quotient by a usual divisor, of which y is the reciprocal."""
    steps = f"const {type} x_ = (x)", f"const {type} q_ = x_ * (y)", f"const {type} r_ = fused_{type}(-q_, s, x_)"
    return macro(f"by_product_{type}", "x, s, y", *steps, f"fused_{type}(r_, y, q_)")


def _usual(type: VectorType) -> str:
    """The lanes of a divisor that is usual."""
    return f"{all_lanes(type)}\n\n{macro(f'usual_{type}', 's', *usual_divisor(type, '(s)'))}"


def _product(type: VectorType) -> str:
    """The quotient by a known divisor, as good as two products make it."""
    name, fused = f"product_{type}(x, s, h, l)", f"fused_{type}"
    steps = f"const {type} x_ = (x)", "(void)(s)", f"{fused}(x_, ({type}){{0}} + (h), x_ * (l))"
    return with_fused(type, macro(f"product_{type}", "x, s, h, l", *steps), f"#define {name} ((x) / (s))")


def spell_product(type: VectorType, given: Sequence[Expression], factors: tuple[float, float]) -> Expression:
    """The quotient of a dividend by a known divisor, and what is added then, if anything is given for it."""
    dividend, divisor, *more = given
    product = call(f"product_{type}", dividend, divisor, *(floating(factor, f32) for factor in factors))
    return binary("+", product, *more) if more else product


_NATIVE: dict[str, Callable[[VectorType], dict[str, str]]] = {
    "integers": _integers,
    "packed": _packed,
    "has_least": _has_least,
    "bounded": _bounded,
}
"""each macro that only processors with the instructions have, by the first part of its name, with its conditions"""
_TEXTS: dict[str, Callable[[VectorType], str]] = {
    "near": _near,
    "bound": _bound,
    "low_bits": _low_bits,
    "product": _product,
    "by_product": _by_product,
    "usual": _usual,
}
"""each of the others"""
PART = rf"({'|'.join((*_NATIVE, *_TEXTS))})_({VECTOR_TYPE})"
"""a regular expression for the names"""


def packed_prelude(used: set[str]) -> list[str]:
    """The macros that are among the words that code uses."""
    found = (re.fullmatch(PART, name) for name in sorted(used))
    return [_text(match[1], VectorType.named(match[2])) for match in found if match]


def _text(name: str, type: VectorType) -> str:
    return first_found(_NATIVE[name](type)) if name in _NATIVE else _TEXTS[name](type)
