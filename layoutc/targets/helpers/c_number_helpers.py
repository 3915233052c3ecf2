"""
Integers of 64 bits as floats and floats as such integers, each as a macro.

x86 has instructions for vectors of them only with AVX512-DQ; without, compilers take lanes out one by one. What they
are put together from is exact, but for one rounding: the halves of an integer are the low bits of two numbers whose
exponents are known, and a float is its mantissa, moved by what its exponent says.
"""

from __future__ import annotations

from layoutc.targets.words.c_text import either
from layoutc.targets.words.c_vector_types import VECTOR_TYPE, VectorType, macro, typedef

NUMBER_AS = rf"number_({VECTOR_TYPE})_as_({VECTOR_TYPE})"
"""a regular expression for the names of the macros; the types are groups 1 and 3"""
REGISTERS = (16, 32)
"""bytes of the integers that are converted so; larger registers have instructions"""


def is_by_parts(source: VectorType, target: VectorType) -> bool:
    """Whether there is a macro from one type to the other; of lanes with a sign each becomes f32 by an instruction."""
    floats, integers = sorted((source, target), key=lambda type: type.kind != "f")
    is_by_lanes = (source.kind, target.bits) == ("i", 32)
    is_pair = floats.kind == "f" and integers.kind != "f"
    return is_pair and integers.bits == 64 and integers.bytes in REGISTERS and not is_by_lanes


def number_helper(source: VectorType, target: VectorType) -> str:
    """The macro from one type to the other."""
    name = f"number_{source}_as_{target}"
    steps = _from_float(source, target) if source.kind == "f" else _to_float(source, target)
    # AVX2 has shifts of each lane by its own number, and comparisons of 64 bits; registers of 16 bytes hold two lanes.
    feature = "SSE2" if (source.kind, target.bits) == ("u", 64) else "AVX2"
    native = macro(name, "x", f"const {source} x_ = (x)", *steps)
    portable = f"#define {name}(x) __builtin_convertvector(x, {target})"
    return either(f"defined(__{feature}__) && !defined(__AVX512DQ__)", native, portable)


def _to_float(source: VectorType, target: VectorType) -> list[str]:
    """As f64: the upper half times 2^32 is a part of the number 2^84 + it, and the lower half one of 2^52 + it."""
    u, f64, whole, lines = f"u64x{source.lanes}", f"f64x{source.lanes}", "x_", list[str]()
    high, both = (
        ("0x4530000000000000", "0x1.00000001p84") if source.kind == "u" else ("0x4530000080000000", "0x1.00000801p84")
    )
    if target.bits == 32:
        lines, whole = _odd(u), "odd_"
    lines += [
        f"const {u} low_ = (({u}){whole} & 0xffffffff) | 0x4330000000000000",
        f"const {u} high_ = (({u}){whole} >> 32) ^ {high}",
    ]
    number = f"({f64})high_ - {both} + ({f64})low_"
    return [*lines, number if target.bits == 64 else f"__builtin_convertvector({number}, {target})"]


def _odd(type: str) -> list[str]:
    """Of integers that f64 cannot hold, those 11 bits less, of which the last is 1 if any was: f32 has none of them."""
    return [
        f"const {type} lost_ = 0x7ff & ({type})((x_ >> 53) != 0)",
        f"const {type} odd_ = (x_ | ((x_ & lost_) + lost_)) & ~lost_",
    ]


def _from_float(source: VectorType, target: VectorType) -> list[str]:
    """By two shifts, of which one leaves nothing: its number of places is negative, or large."""
    unsigned, size = f"u64x{target.lanes}", f"{target.lanes}di"
    number = "x_" if source.bits == 64 else f"__builtin_convertvector(x_, f64x{target.lanes})"
    lines = [
        typedef("native_", 64, target.bytes),
        f"const {unsigned} bits_ = ({unsigned}){number}",
        f"const {unsigned} places_ = (bits_ << 1 >> 53) - 1075",
        "const native_ mantissa_ = (native_)((bits_ & 0xfffffffffffff) | 0x10000000000000)",
        f"const native_ large_ = __builtin_ia32_psllv{size}(mantissa_, (native_)places_)",
        f"const native_ small_ = __builtin_ia32_psrlv{size}(mantissa_, (native_)-places_)",
    ]
    if target.kind == "u":
        return [*lines, f"({target})(large_ | small_)"]
    # Of the least integer the negation wraps, which it may without a sign.
    sign = f"const {unsigned} sign_ = ({unsigned})((native_)bits_ < 0)"
    return [*lines, sign, f"({target})((({unsigned})(large_ | small_) ^ sign_) - sign_)"]
