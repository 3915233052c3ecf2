"""
Two registers of f32 as one of f16 or bf16, as C says it for x86 that has no instruction for that.

    %a = arith.truncf %x : vector<4xf32> to vector<4xbf16>
    %b = arith.truncf %y : vector<4xf32> to vector<4xbf16>
    %all = vector.shuffle [0, 1, ..., 7] %a, %b : vector<4xbf16>, vector<4xbf16>

The payload of NaN counts, and has rules of its own, which take longer than all others: these are left to the macros
for one register, where the sum of two lanes is NaN.
"""

from __future__ import annotations

from typing import NamedTuple, cast

from xdsl.dialects import arith
from xdsl.dialects.builtin import bf16, f16, f32
from xdsl.ir import Attribute, Operation

from layoutc.targets.patterns.wide_parts import WITHOUT_F16
from layoutc.targets.words.c_text import BREAK, either, listed
from layoutc.targets.words.c_vector_types import VectorType as Named
from layoutc.targets.words.c_vector_types import macro
from layoutc.targets.words.vectors import lane_type

FORMATS: dict[str, Attribute] = {"f16": f16, "bf16": bf16}
USUAL_BF16 = "usual_bf16"
"""bf16 all of whose NaN become the one without sign and payload"""
WORDS = (*FORMATS, USUAL_BF16)
"""what macros are named after"""


class X86(NamedTuple):
    """The condition of processors that pack two registers, and what says that a lane of one is NaN, or may be."""

    condition: str
    is_rare: str


BY_BYTES = {
    16: X86("defined(__SSE2__)", "__builtin_ia32_movmskps(({0})((a_ + b_) != (a_ + b_)))"),
    32: X86("defined(__AVX2__)", "__builtin_ia32_movmskps256(__builtin_ia32_cmpps256(a_, b_, 3))"),
}
"""the same by the bytes of a register"""


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
    x86 = BY_BYTES[wide.bytes]
    pack = f"({narrow})__builtin_ia32_packssdw{8 * wide.bytes}"
    codes = _in_order(f"{pack}({rounded}(a_), {rounded}(b_))", narrow)
    statements = [f"{wide} a_ = (a), b_ = (b)"]
    if format == "f16":
        statements.append(f"const {narrow} signs_ = {pack}(({i})a_, ({i})b_) & INT16_MIN")
        codes += " | signs_"
    apart = '__asm__("" : "+x"(a_), "+x"(b_))'
    # Without that compilers would keep what the rule has in common with the rest in registers, and copy it there.
    ruled = f"{{ {apart}; codes_ = {_joined(format, wide, narrow, '_')}; }}"
    statements += (
        f"{narrow} codes_ = {codes}",
        f"if (__builtin_expect({x86.is_rare.format(wide)}, 0)) \\\n      {ruled}",
        "codes_",
    )
    native = macro(name, "a, b", *statements)
    portable = f"#define {name}(a, b) \\\n  ({_joined(format, wide, narrow)})"
    one = macro(rounded, "x", *(_half(wide) if format == "f16" else _upper_half(wide)))
    return either(WITHOUT_F16 if format == "f16" else x86.condition, f"{one}\n\n{native}", portable)


def _in_order(codes: str, narrow: Named) -> str:
    """Packed ones: of larger registers each half of 16 bytes by itself."""
    if narrow.bytes == 16:
        return codes
    return f"({narrow})__builtin_shufflevector( \\\n          (u64x4){codes}, \\\n          (u64x4){{0}}, 0, 2, 1, 3)"


def _joined(format: str, wide: Named, narrow: Named, end: str = "") -> str:
    """Both registers by the macro for one."""
    codes = [f"narrow_{format}_{wide}({each}{end})" for each in "ab"]
    if wide.bytes > 16:
        taken = f", {BREAK}".join((*codes, listed(range(narrow.lanes))))
        return f"({narrow})__builtin_shufflevector( \\\n          {taken})"
    lanes = (f"(uint64_t){code}" for code in codes)
    return f"({narrow})(u64x2){{ \\\n          {f', {BREAK}'.join(lanes)}}}"


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
