"""
Vectors of 16 or 32 bytes joined to one of 32 or 64, as C says it.

gcc shuffles all of them as wide registers where it is asked for their lanes. x86 spreads or inserts what comes from
memory by an instruction that needs no shuffle.
"""

from __future__ import annotations

from typing import Any, cast

from xdsl.dialects import vector
from xdsl.dialects.builtin import VectorType
from xdsl.ir import Operation

from layoutc.targets.words.c_types import vector_name, width

INSERTED = "layout.inserted"
"""discardable attribute of a shuffle: the second vector is inserted behind the first, or into it"""
JOIN, JOIN_WIDE = "join_halves", "join_wide_halves"
SPREAD, INSERT = "spread_quarter", "insert_quarter"
SPREAD_EIGHTH, INSERT_EIGHTH = "spread_eighth", "insert_eighth"
HALF, WORDS = (f"{type} __attribute__((vector_size(16)))" for type in ("int", "uint64_t"))
WIDE_HALF = "int __attribute__((vector_size(32)))"
REGISTER, REGISTER_WORDS = (f"{type} __attribute__((vector_size(64)))" for type in ("int", "uint64_t"))
SPREADING = f"""__builtin_shufflevector( \\
      ({WORDS})(a), \\
      ({WORDS})(a), 0, 1, 0, 1, 0, 1, 0, 1)"""
QUARTERS = ", ".join(f"{lane} + 8 * ((n) == {lane // 2})" for lane in range(8))
PAIR, FOUR, LONGS = (f"long long __attribute__((vector_size({size})))" for size in (16, 32, 64))
EIGHTHS = ", ".join(f"{lane} + {8 - lane} * ((n) == {lane})" for lane in range(8))
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
    SPREAD: f"""#if defined(__AVX512F__) && !defined(__clang__)
#define {SPREAD}(a) \\
  __builtin_ia32_broadcasti32x4_512(({HALF})(a), ({REGISTER}){{0}}, (uint16_t)-1)
#else
#define {SPREAD}(a) \\
  {SPREADING}
#endif""",
    INSERT: f"""#if defined(__AVX512F__) && !defined(__clang__)
#define {INSERT}(a, b, n) \\
  __builtin_ia32_inserti32x4_mask( \\
      ({REGISTER})(a), \\
      ({HALF})(b), n, ({REGISTER})(a), (uint16_t)-1)
#else
#define {INSERT}(a, b, n) \\
  __builtin_shufflevector( \\
      ({REGISTER_WORDS})(a), \\
      {SPREADING.replace("(a)", "(b)").replace("      ", "          ")}, \\
      {QUARTERS[: QUARTERS.index("4 +")]}\\
      {QUARTERS[QUARTERS.index("4 +") :]})
#endif""",
    SPREAD_EIGHTH: f"""#if defined(__AVX512F__) && !defined(__clang__)
#define {SPREAD_EIGHTH}(a) \\
  __builtin_ia32_pbroadcastq512(({PAIR}){{(int64_t)(a)}}, ({LONGS}){{0}}, (uint8_t)-1)
#else
#define {SPREAD_EIGHTH}(a) \\
  (({LONGS}){{0}} + (int64_t)(a))
#endif""",
    INSERT_EIGHTH: f"""#if defined(__AVX512F__) && !defined(__clang__)
#define {INSERT_EIGHTH}(a, b, n) \\
  __builtin_ia32_pbroadcastq512(({PAIR}){{(int64_t)(b)}}, ({LONGS})(a), (uint8_t)(1 << (n)))
#else
#define {INSERT_EIGHTH}(a, b, n) \\
  __builtin_shufflevector( \\
      ({LONGS})(a), \\
      ({LONGS}){{(int64_t)(b)}}, {EIGHTHS[: EIGHTHS.index("4 +")]}\\
      {EIGHTHS[EIGHTHS.index("4 +") :]})
#endif""",
}


def is_joining(op: Operation) -> bool:
    """Whether a shuffle is said to insert, and has a macro."""
    return INSERTED in op.attributes and bool(joining(cast("vector.ShuffleOp", op), "", ""))


def joining(op: vector.ShuffleOp, first: str, second: str) -> str:
    """The text of such a shuffle, with the type of its result; nothing for others."""
    one, other, result = (cast("VectorType[Any]", value.type) for value in (op.v1, op.v2, op.results[0]))
    lanes, bits = op.mask.get_values(), width(one.get_element_type())
    counts = [type.get_shape()[0] for type in (one, other, result)]
    text = ""
    match [bits * count for count in counts]:
        case [128, 128, 256] if lanes == tuple(range(2 * counts[0])):
            text = f"{JOIN}({first}, {second})"
        case [256, 256, 512] if lanes == tuple(range(2 * counts[0])):
            text = f"{JOIN_WIDE}({first}, {second})"
        case [128, 128, 512] if lanes == (*range(counts[0]),) * 4:
            text = f"{SPREAD}({first})"
        case [64, 64, 512] if lanes == (*range(counts[0]),) * 8:
            text = f"{SPREAD_EIGHTH}({first})"
        case [512, 128 | 64, 512] if (number := _part(lanes, counts[0], counts[1])) is not None:
            text = f"{INSERT if 4 * counts[1] == counts[0] else INSERT_EIGHTH}({first}, {second}, {number})"
        case _:
            pass
    return text and f"({vector_name(result)}){text}"


def _part(lanes: tuple[int, ...], count: int, size: int) -> int | None:
    """Which part of `size` lanes of a register comes from a second vector, if all other lanes stay."""
    number = next((n for n in range(count // size) if lanes[n * size] != n * size), 0)
    expected = list(range(count))
    expected[number * size : (number + 1) * size] = range(count, count + size)
    return number if [*lanes] == expected else None


def joining_prelude(used: set[str]) -> list[str]:
    """The macros that are among the words that code uses."""
    return [definition for name, definition in DEFINITIONS.items() if name in used]
