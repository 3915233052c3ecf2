"""f32 as bf16, by the instruction of processors that have it."""

from __future__ import annotations

from layoutc.targets.c_vector_types import VectorType, macro

INSTRUCTION = 16
"""lanes of the instruction"""
_ASM = """
__asm__("vcvtneps2bf16 %2, %0\\n\\t"
        "vfpclassps $32, %2, %%k1\\n\\t"
        "kortestw %%k1, %%k1"
        : "=&v"(code_), "=@ccnz"(tiny_) : "v"(number_) : "k1")
"""
"""asks also whether a lane is subnormal (class 32)"""


def narrow_bf16(type: VectorType) -> str:
    """
    Rounded to nearest even; NaN stays NaN and becomes quiet.

    The instruction makes zero of subnormals: where a lane has one, all are rounded by the rule. gcc and clang have no
    name for it in common, but in a header that takes longer to read than a kernel to compile.
    """
    i, u, codes = type.mask, f"u32x{type.lanes}", f"u16x{type.lanes}"
    rounded = macro(
        f"rounded_bf16_{type}",
        "x",
        f"const {u} bits_ = ({u})(x)",
        f"const {u} upper_ = bits_ >> 16",
        f"const {u} rounded_ = (bits_ + 0x7fff + (upper_ & 1)) >> 16",
        f"const {u} nan_ = ({u})({i})((bits_ & 0x7fffffff) > 0x7f800000)",
        f"__builtin_convertvector((rounded_ & ~nan_) | ((upper_ | 0x40) & nan_), {codes})",
    )
    portable = f"#define narrow_bf16_{type}(x) rounded_bf16_{type}(x)"
    if type.lanes != INSTRUCTION:
        return f"{rounded}\n\n{portable}"
    native = macro(
        f"narrow_bf16_{type}",
        "x",
        f"const {type} number_ = (x)",
        f"{codes} code_",
        "_Bool tiny_",
        " \\\n    ".join(_ASM.strip().split("\n")),
        f"if (__builtin_expect(tiny_, 0)) code_ = rounded_bf16_{type}(number_)",
        "code_",
    )
    condition = "#if defined(__AVX512BF16__) && defined(__AVX512DQ__)"
    return f"{rounded}\n\n{condition}\n{native}\n#else\n{portable}\n#endif"
