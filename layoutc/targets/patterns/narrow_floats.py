"""
Two registers of f32 as one of f16 or bf16, as C says it for x86 that has no instruction for that.

    %a = arith.truncf %x : vector<4xf32> to vector<4xbf16>
    %b = arith.truncf %y : vector<4xf32> to vector<4xbf16>
    %all = vector.shuffle [0, 1, ..., 7] %a, %b : vector<4xbf16>, vector<4xbf16>

The payload of NaN counts, and has rules of its own, which take longer than all others: these are left to the macros
for one register, where the sum of two lanes is NaN.
"""

from __future__ import annotations

from typing import cast

from xdsl.dialects import arith
from xdsl.dialects.builtin import bf16, f16, f32
from xdsl.ir import Attribute, Operation

from layoutc.targets.patterns.wide_parts import WITHOUT_F16
from layoutc.targets.words.c_text import either, listed
from layoutc.targets.words.c_vector_types import VectorType as Named
from layoutc.targets.words.c_vector_types import macro
from layoutc.targets.words.vectors import lane_type

BREAK = "\\\n          "
"""a new line of a macro"""
FORMATS: dict[str, Attribute] = {"f16": f16, "bf16": bf16}


def format_of(op: Operation) -> str:
    """The format of which an op makes lanes of f32, if it does."""
    if op.__class__ is not arith.TruncFOp or lane_type(op.operands[0].type) != f32:
        return ""
    result = lane_type(cast("arith.TruncFOp", op).result.type)
    return next((name for name, type in FORMATS.items() if type == result), "")


def narrow_floats(name: str, format: str, wide: Named, narrow: Named) -> str:
    """The macro for two registers, or for four halves of such, as numbers of 64 bits become."""
    if wide.bytes < narrow.bytes:
        whole = Named(wide.kind, wide.bits, 2 * wide.lanes)
        called = f"narrowed_{format}_{whole}_{narrow}"
        a, b = (f"__builtin_shufflevector({pair}, {listed(range(whole.lanes))})" for pair in ("a, b", "c, d"))
        # The macro for whole registers is one text, also where a file has both.
        rule = f"#ifndef {called}\n{narrow_floats(called, format, whole, narrow)}\n#endif"
        return f"{rule}\n\n#define {name}(a, b, c, d) \\\n  {called}( \\\n      {a}, \\\n      {b})"
    rounded, i = f"rounded_{format}_{wide}", wide.mask
    pack = f"({narrow})__builtin_ia32_packssdw128"
    codes, statements = f"{pack}({rounded}(a_), {rounded}(b_))", [f"{wide} a_ = (a), b_ = (b)"]
    if format == "f16":
        statements.append(f"const {narrow} signs_ = {pack}(({i})a_, ({i})b_) & INT16_MIN")
        codes += " | signs_"
    is_rare = f"__builtin_ia32_movmskps(({wide})(sum_ != sum_))"
    apart = '__asm__("" : "+x"(a_), "+x"(b_))'
    # Without that compilers would keep what the rule has in common with the rest in registers, and copy it there.
    ruled = f"{{ {apart}; codes_ = {_joined(format, wide, narrow, '_')}; }}"
    statements += (
        f"{narrow} codes_ = {codes}",
        f"const {wide} sum_ = a_ + b_",
        f"if (__builtin_expect({is_rare}, 0)) \\\n      {ruled}",
        "codes_",
    )
    native = macro(name, "a, b", *statements)
    portable = f"#define {name}(a, b) \\\n  ({_joined(format, wide, narrow)})"
    one = macro(rounded, "x", *(_half(wide) if format == "f16" else _upper_half(wide)))
    return either(WITHOUT_F16 if format == "f16" else "defined(__SSE2__)", f"{one}\n\n{native}", portable)


def _joined(format: str, wide: Named, narrow: Named, end: str = "") -> str:
    """Both registers by the macro for one."""
    codes = (f"(uint64_t)narrow_{format}_{wide}({each}{end})" for each in "ab")
    return f"({narrow})(u64x2){{ \\\n          {f', {BREAK}'.join(codes)}}}"


def _half(wide: Named) -> list[str]:
    """
    f16 without its sign, by the sum with a power of two whose last place is that of the code, from the number's
    exponent on, which `e_` is above the least one. The sum less that power is the significand, and what the exponent
    adds comes to it. Numbers too large are infinity, or as good as that.
    """
    i, u = wide.mask, f"u32x{wide.lanes}"
    return [
        f"const {wide} number_ = ({wide})(({i})(x) & INT32_MAX)",
        f"const {wide} least_ = min_{wide}(number_, ({wide}){{0}} + 0x1p16f)",
        f"const {wide} power_ = max_{wide}(({wide})(({i})least_ & 0x7f800000), ({wide}){{0}} + 0x1p-14f)",
        f"const {u} e_ = ({u})power_ - 0x38800000",
        f"const {u} place_ = e_ + 0x3f000000",
        f"({i})(({u})(least_ + ({wide})place_) - (place_ - (e_ >> 13)))",
    ]


def _upper_half(wide: Named) -> list[str]:
    """bf16, with its sign, as it stands in the upper half."""
    u = f"u32x{wide.lanes}"
    return [f"const {u} bits_ = ({u})(x)", f"({wide.mask})(bits_ + (((bits_ >> 16) & 1) + 0x7fff)) >> 16"]
