"""
Operations on vectors that GNU C has no operator for, each as a macro that takes its arguments once.

Macros, because gcc warns of a function that is given or returns a vector wider than the registers.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial

from layoutc.targets.helpers.c_bf16_helper import (
    ARE_USUAL,
    are_usual,
    bf16_needs,
    narrow_bf16,
    narrow_bf16_normal,
    narrow_bf16_scaled,
    narrow_bf16_usual,
)
from layoutc.targets.helpers.c_number_helpers import NUMBER_AS, number_helper
from layoutc.targets.helpers.c_resize_helpers import RESIZED, resize_helper
from layoutc.targets.helpers.c_whole import whole, whole_needs
from layoutc.targets.patterns.c_code_numbers import NUMBER_OF_CODE, number_of_code
from layoutc.targets.patterns.c_quotient import quotient, quotient_usual
from layoutc.targets.patterns.exact_sums import EXACT_SUM, exact_sum_text
from layoutc.targets.patterns.lane_lists import LANES, lanes_text
from layoutc.targets.patterns.mask_choices import CHOICES, choice
from layoutc.targets.patterns.nan_choices import QUIET_NAN, USUAL_NAN, quiet_nan, usual_nan
from layoutc.targets.patterns.packed_codes import (
    CODES,
    LOW_CODES,
    SIGNED_CODES,
    codes,
    codes_need,
    low_codes,
    signed_codes_text,
)
from layoutc.targets.words.c_text import broken, by_gcc, either, first_found, listed
from layoutc.targets.words.c_vector_types import LETTERS, VECTOR_TYPE, VectorType, macro, native

MANTISSA_BITS = {32: 23, 64: 52}
SIGN = {32: "INT32_MIN", 64: "INT64_MIN"}


def _chosen(type: VectorType) -> str:
    """The lanes of `yes_` where `mask_` is set, of `no_` elsewhere."""
    picked = f"((({type.mask})yes_ & mask_) | (({type.mask})no_ & ~mask_))"
    return picked if type.kind == "i" else f"({type}){picked}"


def _select(type: VectorType) -> str:
    given = f"const {type.mask} mask_ = (mask)", f"const {type} yes_ = (yes)", f"const {type} no_ = (no)"
    return macro(f"select_{type}", "mask, yes, no", *given, _chosen(type))


def _extremum(name: str) -> Callable[[VectorType], str]:
    def text(type: VectorType) -> str:
        relation = "<" if name == "min" else ">"
        given = f"const {type} yes_ = (a)", f"const {type} no_ = (b)"
        compared = f"{type.mask} mask_ = ({type.mask})(yes_ {relation} no_)"
        portable = macro(f"{name}_{type}", "a, b", *given, f"const {compared}", _chosen(type))
        if type.kind == "f" and type.bytes == NEON_BYTES:
            apart = macro(f"{name}_{type}", "a, b", *given, compared, '__asm__("" : "+w"(mask_))', _chosen(type))
            portable = either(CLANG_FOR_NEON, apart, portable)
        return (_float_extremum if type.kind == "f" else _integer_extremum)(name, type, portable)

    return text


FLOAT_REGISTERS = {16: ("SSE2", ""), 32: ("AVX", "256"), 64: ("AVX512F", "512")}
"""bytes of a register -> the macro of processors that have it, and what gcc's names for it end in"""
NEON_BYTES, CLANG_FOR_NEON = 16, "defined(__clang__) && defined(__aarch64__)"
"""
of its registers, and the condition of a compiler that makes its own extremum of the choice, which is another one where
a NaN signals
"""
INTEGER_REGISTERS = {16: ("SSE4_1", "128"), 32: ("AVX2", "256"), 64: ("AVX512F", "512")}
"""the same for integers, but for some"""
OF_SSE2 = (("i", 16), ("u", 8))
"""integers whose extrema processors had first"""
EVERY = "-1"
"""the mask of all lanes, which gcc takes as an integer of one sign here and of the other there"""
TO_EVEN = 8
"""the mode of rounding: to nearest, half to even, without a trap"""


def _float_extremum(name: str, type: VectorType, portable: str) -> str:
    """x86 has this very choice, which gcc does not find in the comparison; clang does."""
    if type.bytes not in FLOAT_REGISTERS:
        return portable
    feature, size = FLOAT_REGISTERS[type.bytes]
    called = f"__builtin_ia32_{name}{'ps' if type.bits == 32 else 'pd'}{size}"
    native = f"{called}(a, b)"
    if size == "512":
        native = f"{called}_mask(a, b, ({type}){{0}}, {EVERY}, 4)"
    return _by_gcc(feature, f"{name}_{type}(a, b)", f"({type}){native}", portable)


def _integer_extremum(name: str, type: VectorType, portable: str) -> str:
    """The same of integers; of 64 bits only the largest registers have it."""
    if type.bytes not in INTEGER_REGISTERS or (type.bits == 64 and type.bytes < 64):
        return portable
    feature, size = INTEGER_REGISTERS[type.bytes]
    if type.bytes == 16 and (type.kind, type.bits) in OF_SSE2:
        feature = "SSE2"
    if type.bytes == 64 and type.bits < 32:
        feature = "AVX512BW"
    sign, lanes = "u" if type.kind == "u" else "s", f"({native(type.bits, type.bytes)})"
    masked = (
        f"_mask({lanes}(a), {lanes}(b), {lanes}{{0}}, (uint{type.lanes}_t)-1)"
        if size == "512"
        else f"({lanes}(a), {lanes}(b))"
    )
    called = f"({type})__builtin_ia32_p{name}{sign}{LETTERS[type.bits]}{size}{masked}"
    return _by_gcc(feature, f"{name}_{type}(a, b)", broken(called), portable)


def _by_gcc(feature: str, macro: str, native: str, portable: str) -> str:
    """gcc's own name of an instruction, where it has the feature; clang finds it in the portable form."""
    return either(by_gcc(feature), f"#define {macro} ({native})", portable)


def _round_even(type: VectorType) -> str:
    """The sum with 2^mantissa has no room for a fraction; larger numbers have none already."""
    whole, bits = type.mask, type.bits
    exponent = (MANTISSA_BITS[bits] + (127 if bits == 32 else 1023)) << MANTISSA_BITS[bits]
    portable = macro(
        f"round_even_{type}",
        "x",
        f"const {type} no_ = (x)",
        f"const {whole} sign_ = ({whole})no_ & {SIGN[bits]}",
        f"const {type} large_ = ({type})(sign_ | {exponent:#x})",
        f"const {type} yes_ = ({type})(({whole})(no_ + large_ - large_) | sign_)",
        f"const {whole} mask_ = ({whole})((({whole})no_ ^ sign_) < {exponent:#x})",
        _chosen(type),
    )
    if type.bytes not in FLOAT_REGISTERS:
        return portable
    feature, size = FLOAT_REGISTERS[type.bytes]
    suffix = "ps" if bits == 32 else "pd"
    native = f"__builtin_ia32_round{suffix}{size}(x, {TO_EVEN})"
    if size == "512":
        native = f"__builtin_ia32_rndscale{suffix}_mask(x, {TO_EVEN}, ({type}){{0}}, {EVERY}, 4)"
    return _by_gcc("SSE4_1" if feature == "SSE2" else feature, f"round_even_{type}(x)", f"({type}){native}", portable)


def _unfused(type: VectorType) -> str:
    whole, bits = type.mask, type.bits
    return f"#define unfused_{type}(product, nothing) (({type})(({whole})(product) ^ (int{bits}_t)(nothing)))"


# --- f16 ---------------------------------------------------------------------------------------------------------


def _widen_f16(type: VectorType) -> str:
    """f16 to f32. Subnormals are what is left of a normal number when its leading one is taken away."""
    lanes, i = type.lanes, type.mask
    name = f"widen_f16_f32x{lanes}"
    portable = macro(
        name,
        "x",
        f"const {i} code_ = __builtin_convertvector(x, {i})",
        f"const {i} magnitude_ = (code_ & 0x7fff) << 13",
        f"const {i} infinite_ = ({i})(magnitude_ >= 0x0f800000)",
        f"const {i} nan_ = ({i})(magnitude_ > 0x0f800000) & 0x00400000",
        f"const {i} normal_ = (magnitude_ + 0x38000000 + (infinite_ & 0x38000000)) | nan_",
        f"const {i} tiny_ = ({i})((f32x{lanes})(magnitude_ + 0x38800000) - 0x1p-14f)",
        f"const {i} mask_ = ({i})(magnitude_ < 0x00800000)",
        f"(f32x{lanes})((tiny_ & mask_) | (normal_ & ~mask_) | ((code_ & 0x8000) << 16))",
    )
    return _by_hardware(name, lanes, portable, "f32", lambda part, n: _WIDEN[n].format(part))


def _narrow_f16(type: VectorType) -> str:
    """f32 to f16, rounded to nearest even; NaN stays NaN and becomes quiet."""
    lanes, i, u = type.lanes, type.mask, f"u32x{type.lanes}"
    name = f"narrow_f16_f32x{lanes}"
    portable = macro(
        name,
        "x",
        f"const {i} bits_ = ({i})(x)",
        f"const {i} magnitude_ = bits_ & 0x7fffffff",
        f"const {i} rounded_ = (magnitude_ + ((magnitude_ >> 13) & 1) - 0x37fff001) >> 13",
        f"const {i} over_ = ({i})(rounded_ > 0x7c00)",
        f"const {i} nan_ = ({i})(magnitude_ > 0x7f800000)",
        f"const {i} normal_ = (rounded_ & ~over_) | (0x7c00 & over_)",
        f"const {i} quiet_ = ((magnitude_ >> 13) & 0x3ff) | 0x7e00",
        f"const {i} tiny_ = ({i})((f32x{lanes})magnitude_ + 0.5f) - 0x3f000000",
        f"const {i} mask_ = ({i})(magnitude_ < 0x38800000)",
        f"const {i} number_ = (tiny_ & mask_) | (normal_ & ~mask_ & ~nan_) | (quiet_ & nan_)",
        f"const {i} sign_ = ({i})(({u})bits_ >> 16) & 0x8000",
        f"__builtin_convertvector(({u})(number_ | sign_), u16x{lanes})",
    )
    return _by_hardware(name, lanes, portable, "u16", lambda part, n: _NARROW[n].format(part))


_WIDEN = {
    16: "(f32x16)_mm512_cvtph_ps((__m256i)({}))",
    8: "(f32x8)_mm256_cvtph_ps((__m128i)({}))",
    4: "(f32x4)_mm_cvtph_ps(_mm_cvtsi64_si128((long long)({})))",
}
_NARROW = {
    16: "(u16x16)_mm512_cvtps_ph((__m512)({}), 0)",
    8: "(u16x8)_mm256_cvtps_ph((__m256)({}), 0)",
    4: "(u16x4)_mm_cvtsi128_si64(_mm_cvtps_ph((__m128)({}), 0))",
}


F16_LANES = {"__AVX512F__": (16,), "__F16C__": (8, 4)}
"""the macros of processors that have such instructions -> how many lanes these take"""


def _by_hardware(name: str, lanes: int, portable: str, kind: str, convert: Callable[[str, int], str]) -> str:
    """The instructions of processors that have them, 16 or 8 lanes at a time."""
    natives = {
        f"defined({feature})": f"#define {name}(x) \\\n{_pieces(lanes, size, kind, convert)}"
        for feature, sizes in F16_LANES.items()
        if (size := next((size for size in sizes if size <= lanes), 0))
    }
    return first_found(natives, portable) if natives else portable


def _pieces(lanes: int, size: int, kind: str, convert: Callable[[str, int], str]) -> str:
    """As many conversions as it takes, put together again."""
    if lanes == size:
        return f"  ({convert('x', size)})"
    source = "u16" if kind == "f32" else "f32"
    parts = [f"__builtin_shufflevector(x_, x_, {listed(range(s, s + size))})" for s in range(0, lanes, size)]
    parts = [convert(part, size) for part in parts]
    lines = [f"  __extension__ ({{ const {source}x{lanes} x_ = (x);"]
    names: list[str] = []
    for number, part in enumerate(parts):
        names.append(f"part_{number}_")
        lines.append(f"     const {kind}x{size} {names[-1]} = {part};")
    while len(names) > 1:
        size *= 2
        joined = [
            f"__builtin_shufflevector({a}, {b}, {listed(range(size))})"
            for a, b in zip(names[::2], names[1::2], strict=True)
        ]
        names = [f"joined_{size}_{number}_" for number in range(len(joined))]
        lines += [f"     const {kind}x{size} {n} = {j};" for n, j in zip(names, joined, strict=True)]
    return " \\\n".join((*lines, f"     {names[0]}; }})"))


_TEXTS: dict[str, Callable[[VectorType], str]] = {
    **{name: partial(choice, name) for name in CHOICES},
    "select": _select,
    "min": _extremum("min"),
    "max": _extremum("max"),
    "round_even": _round_even,
    "widen_f16": _widen_f16,
    "narrow_f16": _narrow_f16,
    "narrow_bf16": narrow_bf16,
    "narrow_usual_bf16": narrow_bf16_usual,
    "narrow_normal_bf16": narrow_bf16_normal,
    "narrow_scaled_bf16": narrow_bf16_scaled,
    ARE_USUAL: are_usual,
    NUMBER_OF_CODE: number_of_code,
    LOW_CODES: low_codes,
    CODES: codes,
    SIGNED_CODES: signed_codes_text,
    USUAL_NAN: usual_nan,
    QUIET_NAN: quiet_nan,
    "unfused": _unfused,
    EXACT_SUM: exact_sum_text,
    LANES: lanes_text,
    "quotient": quotient,
    "quotient_usual": quotient_usual,
    "whole": whole,
    "whole_shifted": partial(whole, shift="z"),
}
"""each macro by the first part of its name, for vectors of the type that the rest names"""
OPERATIONS = (*_TEXTS, "fused")
"""all of these, and what others define for themselves"""


def lane_helpers(used: set[str]) -> list[str]:
    """The macros among the names that code uses, in a fixed order."""
    used = used | whole_needs(used) | bf16_needs(used) | codes_need(used)
    found = (re.fullmatch(rf"({'|'.join(_TEXTS)})_({VECTOR_TYPE})", name) for name in used)
    named = sorted((match[1], VectorType.named(match[2])) for match in found if match)
    resizes = [resize_helper(*types) for types in _named_types(RESIZED, used)]
    numbers = [number_helper(*types) for types in _named_types(NUMBER_AS, used)]
    return resizes + numbers + [_TEXTS[operation](type) for operation, type in named]


def _named_types(pattern: str, used: set[str]) -> list[tuple[VectorType, VectorType]]:
    """The types of the macros of a pattern, whose groups 1 and 3 they are."""
    found = (re.fullmatch(pattern, name) for name in sorted(used))
    return [(VectorType.named(match[1]), VectorType.named(match[3])) for match in found if match]
