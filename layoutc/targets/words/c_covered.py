"""
Shuffles of two registers in which lanes of the first one stay, as C says them.

Where any bytes or pairs of bytes of two registers are taken at once, Intel's processors shuffle twice. They shuffle the
second register once where it is shuffled by itself, and then covers lanes of the first.
"""

from __future__ import annotations

from layoutc.targets.words.c_vector_types import MODES, native

COVERED_BITS = 512
COVERED = {8: "cover_bytes", 16: "cover_pairs"}
"""the macros, by the bits of a lane"""
WORDS = native(32, COVERED_BITS // 8)
FIRST_OR_SECOND = "0xd8"
"""of vpternlog: the bits of the second operand where the third has ones, those of the first elsewhere"""


def covering(lanes: tuple[int, ...], bits: int) -> str:
    """The macro that takes these lanes of two vectors of lanes of so many bits, or nothing if there is none."""
    count = len(lanes)
    if bits not in COVERED or bits * count != COVERED_BITS:
        return ""
    stay = all(lane == number or lane >= count for number, lane in enumerate(lanes))
    moves = any(lane >= count and lane != number + count for number, lane in enumerate(lanes))
    return COVERED[bits] if stay and moves and any(lane < count for lane in lanes) else ""


def covering_prelude(used: set[str]) -> list[str]:
    """The macros that are among the words that code uses."""
    return [_definition(bits) for bits, name in COVERED.items() if name in used]


def _definition(bits: int) -> str:
    name, vector, last = COVERED[bits], native(bits, COVERED_BITS // 8), COVERED_BITS // bits - 1
    return f"""#if defined(__AVX512VBMI__) && !defined(__clang__)
#define {name}(a, b, ...) \\
  ((__typeof__(a))__builtin_ia32_pternlogd512_mask( \\
      ({WORDS})(a), \\
      ({WORDS})__builtin_ia32_permvar{MODES[bits]}512_mask( \\
          ({vector})(b), ({vector}){{__VA_ARGS__}}, ({vector}){{0}}, (uint{COVERED_BITS // bits}_t)-1), \\
      ({WORDS})(({vector}){{__VA_ARGS__}} > {last}), {FIRST_OR_SECOND}, (uint16_t)-1))
#else
#define {name}(a, b, ...) __builtin_shufflevector(a, b, __VA_ARGS__)
#endif"""
