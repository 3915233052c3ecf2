"""f32 as bf16, by the instructions of processors that have them."""

from __future__ import annotations

from collections.abc import Sequence

from layoutc.targets.helpers.c_whole import all_lanes
from layoutc.targets.patterns.bf16_ops import Narrowed, helper_of
from layoutc.targets.words.c_expressions import Expression, call
from layoutc.targets.words.c_text import either, listed
from layoutc.targets.words.c_vector_types import VectorType, macro
from layoutc.targets.words.vectors import F32_LANES

SUBNORMAL, ANY_NAN = 0x20, 0x81
"""classes of numbers that `vfpclassps` asks for"""
USUAL_NAN = 0x7FC0
ARE_USUAL = "are_usual"
MOST_PARAMS = 2
"""of a register: what integers are less, and times"""
LEAST_USUAL, INFINITY = 0x2B800000, 0x7F800000
"""the bits of 2^-40 and of infinity"""
HALF_LANES, HALF_CONDITION = 8, "defined(__AVX2__)"
"""f32 in half such a register, and the condition of processors that pack those"""
IS_NAN = "__builtin_ia32_movmskps256((f32x8)(x_ != x_))"
CONDITION = "defined(__AVX512BF16__) && defined(__AVX512DQ__)"


def bf16_needs(used: set[str]) -> set[str]:
    """The helpers that those for bf16 call."""
    return {f"{ARE_USUAL}_f32x{F32_LANES}"} if any(name.startswith("narrow_scaled_") for name in used) else set()


def narrow_bf16(type: VectorType) -> str:
    """
    Rounded to nearest even; NaN stays NaN and becomes quiet. Of 32 lanes, which no register holds, in two halves.

    The instruction makes zero of subnormals: where a lane has one, all are rounded by the rule. gcc and clang have no
    name for it in common, but in a header that takes longer to read than a kernel to compile.
    """
    return _narrow("narrow", type, "((upper_ | 0x40) & nan_)", SUBNORMAL)


def narrow_bf16_usual(type: VectorType) -> str:
    """The same, but all NaN become the one without sign and payload: by the rule too, as they are as rare."""
    return _narrow("narrow_usual", type, f"({USUAL_NAN:#x} & nan_)", SUBNORMAL | ANY_NAN)


def narrow_bf16_normal(type: VectorType) -> str:
    """The same of numbers none of which is subnormal: what the instruction gives."""
    return _narrow("narrow_normal", type, "((upper_ | 0x40) & nan_)", 0)


def narrow_bf16_scaled(type: VectorType) -> str:
    """The same of integers that parameters scaled, of which is asked whether they are usual."""
    params = "pqrs"[: MOST_PARAMS * -(-type.lanes // F32_LANES)]
    return _narrow("narrow_scaled", type, f"({USUAL_NAN:#x} & nan_)", 0, params)


def spell_narrowed(found: Narrowed, operands: Sequence[Expression]) -> Expression:
    """What is narrowed, as C says it: registers, and two parameters of each, which may be the same."""
    given = (*operands, *[operands[-1]] * (MOST_PARAMS * len(found.numbers) - len(found.params)))
    return call(helper_of(found), *(given if found.params else operands))


def are_usual(type: VectorType) -> str:
    """
    Whether all lanes are zero, or numbers of 2^-40 and more.

    An integer, also one less such a number, is a multiple of 2^-63: its product with one is zero, normal, or infinite,
    never subnormal, and never NaN.
    """
    unsigned = f"u32x{type.lanes}"
    usual = f"(size_ - {LEAST_USUAL:#x} < {INFINITY - LEAST_USUAL:#x}) | (size_ == 0)"
    asked = macro(
        f"{ARE_USUAL}_{type}",
        "x",
        f"const {unsigned} size_ = ({unsigned})(x) & 0x7fffffff",
        f"all_{type.mask}(({type.mask})({usual}))",
    )
    return f"{all_lanes(type)}\n\n{asked}"


def _narrow(name: str, type: VectorType, nan: str, classes: int, params: str = "") -> str:
    """The macro for registers, or for pairs of them; `params` are those that scaled them."""
    part = VectorType("f", 32, min(type.lanes, F32_LANES))
    rounded, called = f"rounded_{name}_bf16_{part}", f"{name}_bf16_{type}"
    rule, more = _rule(rounded, part, nan), "".join(f", {param}" for param in params)
    if type.lanes < F32_LANES:
        portable = f"#define {called}(x) {rounded}(x)"
        is_half = type.lanes == HALF_LANES
        return f"{rule}\n\n{either(HALF_CONDITION, _packed(called, rounded), portable) if is_half else portable}"
    if type.lanes == F32_LANES:
        portable = f"#define {called}(x{more}) {rounded}(x)"
        native = _native(called, "x", type.lanes, f"{rounded}(number_)", classes, params)
    else:
        both = f"__builtin_shufflevector({{}}, {{}}, {listed(range(2 * F32_LANES))})"
        halves = both.format(f"{rounded}(a)", f"{rounded}(b)")
        portable = f"#define {called}(a, b{more}) \\\n  {halves}"
        ruled = both.format(f"{rounded}(number_)", f"{rounded}(other_)")
        native = _native(called, "a, b", type.lanes, ruled, classes, params)
    # The rule is one text, also where a file narrows registers and pairs of them.
    guard = f"#ifndef {rounded}\n{rule}\n#endif"
    return f"{guard}\n\n{either(CONDITION, native, portable)}"


def _packed(name: str, rounded: str) -> str:
    """Half as many lanes by packing, where none is NaN."""
    return macro(
        name,
        "x",
        "f32x8 x_ = (x)",
        "const u32x8 bits_ = (u32x8)x_",
        "const i32x8 upper_ = (i32x8)(bits_ + (((bits_ >> 16) & 1) + 0x7fff)) >> 16",
        "const u64x4 twice_ = (u64x4)__builtin_ia32_packssdw256(upper_, upper_)",
        "u16x8 code_ = (u16x8)__builtin_shufflevector(twice_, twice_, 0, 2)",
        f'if (__builtin_expect({IS_NAN}, 0)) {{ __asm__("" : "+x"(x_)); code_ = {rounded}(x_); }}',
        "code_",
    )


def _rule(name: str, type: VectorType, nan: str) -> str:
    """Rounded step by step."""
    i, u, codes = type.mask, f"u32x{type.lanes}", f"u16x{type.lanes}"
    return macro(
        name,
        "x",
        f"const {u} bits_ = ({u})(x)",
        f"const {u} upper_ = bits_ >> 16",
        f"const {u} rounded_ = (bits_ + 0x7fff + (upper_ & 1)) >> 16",
        f"const {u} nan_ = ({u})({i})((bits_ & 0x7fffffff) > 0x7f800000)",
        f"__builtin_convertvector((rounded_ & ~nan_) | {nan}, {codes})",
    )


def _native(name: str, parameters: str, lanes: int, ruled: str, classes: int, params: str) -> str:
    """By the instruction, after which it is asked whether a lane is of these classes, if any."""
    codes, number = f"u16x{lanes}", f"f32x{F32_LANES}"
    first, *others = parameters.split(", ")
    given = [f"const {number} number_ = ({first})", *(f"const {number} other_ = ({other})" for other in others)]
    if others:
        steps = ("vcvtne2ps2bf16 %2, %3, %0", f"vfpclassps ${classes}, %2, %%k1", f"vfpclassps ${classes}, %3, %%k2")
        inputs, asked, changed = '"v"(number_), "v"(other_)', "kortestw %%k1, %%k2", '"k1", "k2"'
    else:
        steps = ("vcvtneps2bf16 %2, %0", f"vfpclassps ${classes}, %2, %%k1")
        inputs, asked, changed = '"v"(number_)', "kortestw %%k1, %%k1", '"k1"'
    if not classes:
        # Without the question's answer each input has the number before.
        step = steps[0].replace("%2", "%1").replace("%3", "%2")
        last = f'__asm__("{step}" : "=v"(code_) : {inputs})'
        usual = " & ".join(f"{ARE_USUAL}_{number}({param})" for param in params)
        rare = (f"const _Bool usual_ = {usual}", f"if (!__builtin_expect(usual_, 1)) code_ = {ruled}") if params else ()
        return macro(name, ", ".join((parameters, *params)), *given, f"{codes} code_", last, *rare, "code_")
    text = " \\\n            ".join(f'"{step}\\n\\t"' for step in steps)
    places = f': "=&v"(code_), "=@ccnz"(is_rare_) : {inputs} : {changed}'
    return macro(
        name,
        parameters,
        *given,
        f"{codes} code_",
        "_Bool is_rare_",
        f'__asm__({text} \\\n            "{asked}" \\\n            {places})',
        f"if (__builtin_expect(is_rare_, 0)) code_ = {ruled}",
        "code_",
    )
