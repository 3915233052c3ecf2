"""Small C functions for what the operators of C do not say; a file gets those that it uses."""

from __future__ import annotations

import re
from collections.abc import Iterable

from layoutc.targets.c_vector_helpers import vector_prelude


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

HELPERS: dict[str, str] = {**_DIVISIONS, **_FLOATS, **_INTEGERS, **_BITS, **_ALLOCATED, **_CACHES}
"""the text of each helper by its name"""

_HEADERS = (
    ("stdbool.h", r"\bbool\b"),
    ("stddef.h", r"\bNULL\b"),
    ("stdint.h", r"\bu?int(8|16|32|64|ptr)_t\b|\bINT(32|64)_MIN\b"),
    ("stdlib.h", r"\b(malloc|aligned_alloc|free|abort)\("),
    ("string.h", r"\bmemcpy\("),
)


_UNKNOWN_PRAGMAS = """#ifndef _OPENMP
#pragma GCC diagnostic ignored "-Wunknown-pragmas"
#endif"""


def prelude(code: str, helpers: Iterable[str]) -> str:
    """The includes and the helpers that stand above `code`."""
    functions = [HELPERS[name] for name in HELPERS if name in helpers] + vector_prelude(_without_comments(code))
    everything = _without_comments("\n".join((*functions, code)))
    includes = [f"#include <{header}>" for header, uses in _HEADERS if re.search(uses, everything)]
    pragma = [_UNKNOWN_PRAGMAS] if "#pragma omp" in everything else []
    return "\n\n".join((*(["\n".join(includes)] if includes else []), *pragma, *functions))


def _without_comments(code: str) -> str:
    return re.sub(r"^ *//.*$", "", code, flags=re.MULTILINE)
