"""Small C functions for what the operators of C do not say; a file gets those that it uses."""

from __future__ import annotations

from collections.abc import Iterable

from layoutc.targets.helpers.c_vector_helpers import vector_prelude
from layoutc.targets.words.c_text import words


def _float_extremum(name: str, type: str, relation: str, negative: str, nan: str) -> str:
    """minimumf/maximumf return a NaN operand, minnumf/maxnumf the other one; -0 is less than +0 for all."""
    return f"""static inline {type} {name}({type} a, {type} b) {{
  if (a != a) {{
    return {"a" if nan == "wins" else "b"};
  }}
  if (b != b) {{
    return {"b" if nan == "wins" else "a"};
  }}
  if (a == b) {{
    return __builtin_signbit(a) ? {negative};
  }}
  return a {relation} b ? a : b;
}}"""


def _integer_extremum(name: str, type: str, relation: str) -> str:
    return f"static inline {type} {name}({type} a, {type} b) {{\n  return a {relation} b ? a : b;\n}}"


def _bits(name: str, source: str, target: str) -> str:
    return f"""static inline {target} {name}({source} from) {{
  {target} to;
  memcpy(&to, &from, sizeof(to));
  return to;
}}"""


_DIVISIONS = {
    "floor_div": """static inline int64_t floor_div(int64_t a, int64_t b) {
  return a / b - (a % b != 0 && (a < 0) != (b < 0));
}""",
    "floor_mod": """static inline int64_t floor_mod(int64_t a, int64_t b) {
  const int64_t r = a % b;
  return r < 0 ? r + b : r;
}""",
    "ceil_div": """static inline int64_t ceil_div(int64_t a, int64_t b) {
  return a / b + (a % b != 0 && (a < 0) == (b < 0));
}""",
    "ceil_div_unsigned": """static inline uint64_t ceil_div_unsigned(uint64_t a, uint64_t b) {
  return a / b + (a % b != 0);
}""",
}

_FLOATS = {
    f"{name}_{suffix}": _float_extremum(f"{name}_{suffix}", type, relation, negative, nan)
    for suffix, type in (("f32", "float"), ("f64", "double"))
    for name, relation, negative, nan in (
        ("minimum", "<", "a : b", "wins"),
        ("maximum", ">", "b : a", "wins"),
        ("minnum", "<", "a : b", "loses"),
        ("maxnum", ">", "b : a", "loses"),
    )
}

_INTEGERS = {
    name: _integer_extremum(name, type, relation)
    for name, type, relation in (
        ("min_signed", "int64_t", "<"),
        ("max_signed", "int64_t", ">"),
        ("min_unsigned", "uint64_t", "<"),
        ("max_unsigned", "uint64_t", ">"),
    )
}

_BITS = {
    "float_bits": _bits("float_bits", "float", "int32_t"),
    "float_from_bits": _bits("float_from_bits", "int32_t", "float"),
    "double_bits": _bits("double_bits", "double", "int64_t"),
    "double_from_bits": _bits("double_from_bits", "int64_t", "double"),
}

_ALLOCATED = {
    "allocated": """static inline void *allocated(void *memory) {
  if (memory == NULL) {
    abort();
  }
  return memory;
}""",
}

_CACHES = {
    "prefetch": """// Asks for what lies so many bytes further on, which need not exist, into the second-level cache.
static inline void prefetch(const void *from, int64_t bytes) {
  __builtin_prefetch((const void *)((uintptr_t)from + (uintptr_t)bytes), 0, 2);
}""",
    "is_aligned": """static inline bool is_aligned(const void *address, uintptr_t size) {
  return (uintptr_t)address % size == 0;
}""",
    "stream_fence": """// Stores past the caches become visible before what follows.
static inline void stream_fence(void) {
#ifdef __SSE__
  __builtin_ia32_sfence();
#endif
}""",
}

_CONVERSIONS = {
    "widen_f16": """static inline float widen_f16(uint16_t code) {
#ifdef __F16C__
  return _cvtsh_ss(code);
#else
  // A subnormal is what is left of a normal number when its leading one is taken away.
  const float least = 0x1p-14f;
  uint32_t bits = (uint32_t)(code & 0x7fff) << 13;
  float number;
  if (bits < 0x00800000) {
    bits += 0x38800000;
    memcpy(&number, &bits, sizeof(number));
    number -= least;
    memcpy(&bits, &number, sizeof(bits));
  } else {
    const uint32_t quiet = bits > 0x0f800000 ? 0x00400000 : 0;
    bits = (bits + (bits < 0x0f800000 ? 0x38000000 : 0x70000000)) | quiet;
  }
  bits |= (uint32_t)(code & 0x8000) << 16;
  memcpy(&number, &bits, sizeof(number));
  return number;
#endif
}""",
    "narrow_f16": """static inline uint16_t narrow_f16(float number) {
#ifdef __F16C__
  return _cvtss_sh(number, 0);
#else
  uint32_t bits;
  memcpy(&bits, &number, sizeof(bits));
  const uint32_t sign = bits >> 16 & 0x8000;
  bits &= 0x7fffffff;
  if (bits > 0x7f800000) {
    return (uint16_t)(sign | 0x7e00 | (bits >> 13 & 0x3ff));
  }
  if (bits < 0x38800000) {
    // The sum has the last place of a subnormal, and is rounded to it.
    float sum;
    memcpy(&sum, &bits, sizeof(sum));
    sum += 0.5f;
    memcpy(&bits, &sum, sizeof(bits));
    return (uint16_t)(sign | (bits - 0x3f000000));
  }
  bits = (bits + (bits >> 13 & 1) - 0x37fff001) >> 13;
  return (uint16_t)(sign | (bits < 0x7c00 ? bits : 0x7c00));
#endif
}""",
    **{
        f"round_even_f{bits}": f"""// Without the library's function, which not all processors have an instruction for.
static inline {type} round_even_f{bits}({type} x) {{
#if defined(__SSE4_1__) || defined(__aarch64__)
  return __builtin_roundeven{suffix}(x);
#else
  const {type} large = __builtin_copysign{suffix}({large}, x);
  return __builtin_fabs{suffix}(x) < {large} ? __builtin_copysign{suffix}(x + large - large, x) : x;
#endif
}}"""
        for bits, type, suffix, large in ((32, "float", "f", "0x1p23f"), (64, "double", "", "0x1p52"))
    },
    "opaque_zero": """// Zero, which the compiler must not know.
static inline int64_t opaque_zero(void) {
  int64_t zero = 0;
  __asm__("" : "+r"(zero));
  return zero;
}""",
    **{
        f"unfused_f{bits}": f"""// Rounds a product before it goes into a sum, even where products may be fused.
static inline {type} unfused_f{bits}({type} product, int64_t zero) {{
  int{bits}_t bits;
  memcpy(&bits, &product, sizeof(bits));
  bits ^= (int{bits}_t)zero;
  memcpy(&product, &bits, sizeof(bits));
  return product;
}}"""
        for bits, type in ((32, "float"), (64, "double"))
    },
}

HELPERS: dict[str, str] = {**_DIVISIONS, **_FLOATS, **_INTEGERS, **_BITS, **_ALLOCATED, **_CACHES, **_CONVERSIONS}
"""the text of each helper by its name"""

_HEADERS = (
    ("stdbool.h", {"bool"}),
    ("stddef.h", {"NULL"}),
    ("stdint.h", {f"{sign}int{bits}_t" for sign in ("", "u") for bits in (8, 16, 32, 64, "ptr")}),
    ("stdint.h", {f"{sign}INT{bits}_{end}" for sign in ("", "U") for bits in (32, 64) for end in ("MIN", "MAX")}),
    ("stdlib.h", {"malloc", "aligned_alloc", "free", "abort"}),
    ("string.h", {"memcpy"}),
)
_INTRINSICS = """#if defined(__F16C__) || defined(__AVX512F__)
#include <immintrin.h>
#endif"""
"""what converts f16; with gcc AVX512F brings no F16C, whose 8 lanes it has as 16"""

_NEON = """#if defined(__aarch64__)
#include <arm_neon.h>
#endif"""
_OF_NEON = {"vcvtnq_s32_f32", "vqmovn_s32", "vfmaq_f32"}
"""of NEON's instructions those that what uses any uses"""

_UNKNOWN_PRAGMAS = """#ifndef _OPENMP
#pragma GCC diagnostic ignored "-Wunknown-pragmas"
#endif"""

_EXACT = """#if defined(__FAST_MATH__) || __FINITE_MATH_ONLY__ || \\
    defined(__ASSOCIATIVE_MATH__) || defined(__RECIPROCAL_MATH__) || defined(__NO_SIGNED_ZEROS__)
#error "this file computes as IEEE 754 says: build it without -ffast-math, -Ofast and their parts"
#endif"""
"""clang says so of -ffast-math and -ffinite-math-only, gcc also of other parts"""


def prelude(used: set[str], helpers: Iterable[str], *, has_pragmas: bool, has_floats: bool) -> str:
    """The includes and the helpers that stand above code in which these words are used, and floats computed."""
    functions = [HELPERS[name] for name in HELPERS if name in helpers] + vector_prelude(used)
    used = used | words(without_comments("\n".join(functions)))
    includes = sorted({f"#include <{header}>" for header, names in _HEADERS if names & used})
    includes += [_INTRINSICS] if "__F16C__" in used else []
    includes += [_NEON] if "__aarch64__" in used and _OF_NEON & used else []
    checks = ([_EXACT] if has_floats else []) + ([_UNKNOWN_PRAGMAS] if has_pragmas else [])
    return "\n\n".join((*(["\n".join(includes)] if includes else []), *checks, *functions))


def without_comments(code: str) -> str:
    """Code without the lines that are comments."""
    return "\n".join(line for line in code.split("\n") if not line.lstrip(" ").startswith("//"))
