"""
Vectors of 8, 16 or 32 bytes joined to one of twice as many, as C says it.

gcc shuffles all of them as wide registers where it is asked for their lanes. x86 inserts what comes from memory by an
instruction of its own.
"""

from __future__ import annotations

from typing import Any, cast

from xdsl.dialects import vector
from xdsl.dialects.builtin import VectorType
from xdsl.ir import Operation

from layoutc.discardable import INSERTED
from layoutc.targets.words.c_types import vector_name, width
from layoutc.targets.words.c_vector_types import native

JOIN_WORDS, JOIN, JOIN_WIDE = "join_words", "join_halves", "join_wide_halves"
JOINED = {64: JOIN_WORDS, 128: JOIN, 256: JOIN_WIDE}
"""the macro for two vectors of so many bits"""
HALF, WIDE_HALF, FOUR, LONGS = native(32, 16), native(32, 32), native(64, 32), native(64, 64)
WORDS = "uint64_t __attribute__((vector_size(16)))"
DEFINITIONS = {
    JOIN: f"""#if defined(__AVX__) && !defined(__clang__)
#define {JOIN}(a, b) \\
  __builtin_ia32_vinsertf128_si256( \\
      __builtin_ia32_si256_si(({HALF})(a)), \\
      ({HALF})(b), 1)
#else
#define {JOIN}(a, b) \\
  __builtin_shufflevector( \\
      ({WORDS})(a), \\
      ({WORDS})(b), 0, 1, 2, 3)
#endif""",
    JOIN_WIDE: f"""#if defined(__AVX512F__) && !defined(__clang__)
#define {JOIN_WIDE}(a, b) \\
  __builtin_ia32_inserti64x4_mask( \\
      ({LONGS})__builtin_ia32_si512_256si(({WIDE_HALF})(a)), \\
      ({FOUR})(b), 1, ({LONGS}){{0}}, (uint8_t)-1)
#else
#define {JOIN_WIDE}(a, b) \\
  __builtin_shufflevector( \\
      ({FOUR})(a), \\
      ({FOUR})(b), 0, 1, 2, 3, 4, 5, 6, 7)
#endif""",
    JOIN_WORDS: f"""#define {JOIN_WORDS}(a, b) (({WORDS}){{(uint64_t)(a), (uint64_t)(b)}})""",
}


def is_joining(op: Operation) -> bool:
    """Whether a shuffle is said to insert, and has a macro."""
    return INSERTED in op.attributes and bool(joining(cast("vector.ShuffleOp", op), "", ""))


def joining(op: vector.ShuffleOp, first: str, second: str) -> str:
    """The text of such a shuffle, with the type of its result; nothing for others."""
    one, other, result = (cast("VectorType[Any]", value.type) for value in (op.v1, op.v2, op.results[0]))
    lanes, bits = op.mask.get_values(), width(one.get_element_type())
    counts = [type.get_shape()[0] for type in (one, other)]
    if lanes != tuple(range(2 * counts[0])) or counts[0] != counts[1]:
        return ""
    joined = JOINED.get(bits * counts[0])
    return f"({vector_name(result)}){joined}({first}, {second})" if joined else ""


def joining_prelude(used: set[str]) -> list[str]:
    """The macros that are among the words that code uses."""
    return [definition for name, definition in DEFINITIONS.items() if name in used]
