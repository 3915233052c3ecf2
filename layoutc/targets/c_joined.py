"""
Vectors of 16 bytes joined to one of 32, as C says it.

gcc shuffles both halves as wide registers where it is asked for their lanes. x86 inserts the second half by an
instruction that needs no shuffle where that comes from memory.
"""

from __future__ import annotations

from typing import Any, cast

from xdsl.dialects import vector
from xdsl.dialects.builtin import VectorType

from layoutc.targets.c_types import vector_name, width

INSERTED = "layout.inserted"
"""discardable attribute of a shuffle: the second vector, of memory, is inserted behind the first"""
HALF_BITS = 128
JOIN = "join_halves"
HALF, WORDS = (f"{type} __attribute__((vector_size(16)))" for type in ("int", "uint64_t"))
DEFINITION = f"""#if defined(__AVX__) && !defined(__clang__)
#define {JOIN}(a, b) \\
  __builtin_ia32_vinsertf128_si256( \\
      __builtin_ia32_si256_si(({HALF})(a)), \\
      ({HALF})(b), 1)
#else
#define {JOIN}(a, b) \\
  __builtin_shufflevector( \\
      ({WORDS})(a), \\
      ({WORDS})(b), 0, 1, 2, 3)
#endif"""


def joining(op: vector.ShuffleOp) -> str:
    """The macro for a shuffle that is said to insert, with the type of its result; nothing for others."""
    if INSERTED not in op.attributes:
        return ""
    type, result = (cast("VectorType[Any]", value.type) for value in (op.v1, op.results[0]))
    count = type.get_shape()[0]
    is_join = op.v2.type == type and op.mask.get_values() == tuple(range(2 * count))
    fits = width(type.get_element_type()) * count == HALF_BITS
    return f"({vector_name(result)}){JOIN}" if is_join and fits else ""


def joining_prelude(used: set[str]) -> list[str]:
    """The macro, if it is among the words that code uses."""
    return [DEFINITION] if JOIN in used else []
