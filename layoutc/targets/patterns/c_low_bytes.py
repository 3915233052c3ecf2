"""
The low bytes of four registers of words in one, or of two in half of one, as C says it.

Pairs of bytes of two registers, then bytes of two of those, are three shuffles of two registers, which Intel's
processors do in three steps each, AMD's in one. Four shuffles of one register, each into the lanes that the others
leave, are four: for Intel's. Of two registers they are two, in place of three steps and two of making lanes narrow.
Registers of half the size are cut and packed, within 16 bytes each, and put in order then.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import vector
from xdsl.ir import Operation, SSAValue

from layoutc.targets.patterns.c_float_numbers import ONE_STEP
from layoutc.targets.patterns.macro_call import MacroCall
from layoutc.targets.words.c_text import listed
from layoutc.targets.words.c_vector_types import native
from layoutc.targets.words.vectors import even_lanes, lanes_in, shuffled

LOW_BYTES, LOW_BYTES_OF_PAIR, LOW_BYTES_OF_HALF = "low_bytes", "low_bytes_of_pair", "low_bytes_of_half"
REGISTER, WORD, REGISTERS, BYTE = 64, 4, 4, 8
"""bytes of a register and of a word, how many registers become one, and bits of a byte"""
LANES = REGISTER // WORD
HALF = REGISTER // 2
SIGNED = "_signed"
"""what the names of macros end with that give the bytes signs, too"""
HELPERS = {even_lanes(REGISTER): LOW_BYTES, even_lanes(HALF): LOW_BYTES_OF_HALF}
"""lanes of the shuffle that joins four registers' bytes -> the macro"""
IN_ORDER = listed(4 * part + each for each in range(REGISTERS) for part in range(HALF // 16))
"""the words of four registers that were packed within 16 bytes each, one register's after another's"""
BYTES, PAIRS = native(8, REGISTER), native(16, REGISTER)


def low_bytes(op: Operation, registers: Sequence[SSAValue]) -> MacroCall | None:
    """The macro for the low bytes of registers, which an op has side by side (`fourth_bytes`), if there is one."""
    # Words that are looked at as pairs: what was loaded as pairs has no text where nothing mentions it directly.
    if not all(isinstance(register.owner, vector.BitcastOp) for register in registers):
        return None
    helper = HELPERS.get(shuffled(op)) if op.__class__ is vector.ShuffleOp else _helper_of_pair(registers)
    return None if helper is None else MacroCall(helper, registers)


def _helper_of_pair(registers: Sequence[SSAValue]) -> str | None:
    return LOW_BYTES_OF_PAIR if [lanes_in(register) for register in registers] == [HALF, HALF] else None


def low_bytes_prelude(used: set[str]) -> list[str]:
    """The macros that are among the words that code uses, and those that give them signs too (`signed_bytes`)."""
    used = used | {name.removesuffix(SIGNED) for name in used}
    of_one = [_OF_ONE] if used & {LOW_BYTES, LOW_BYTES_OF_PAIR} else []
    found = {LOW_BYTES: _definition, LOW_BYTES_OF_PAIR: _definition_of_pair, LOW_BYTES_OF_HALF: _definition_of_half}
    return [*of_one, *(text() for name, text in found.items() if name in used)]


def _definition_of_pair() -> str:
    ones = (1 << LANES) - 1
    return f"""#if defined(__AVX512VBMI__) && !defined(__clang__)
#define {LOW_BYTES_OF_PAIR}(a, b) \\
  __builtin_shufflevector( \\
      (u64x8){LOW_BYTES}_of_one(b, {ones << LANES:#x}, \\
          {LOW_BYTES}_of_one(a, {ones:#x}, ({BYTES}){{0}})), \\
      (u64x8){{0}}, 0, 1, 2, 3)
#else
#define {LOW_BYTES_OF_PAIR}(a, b) \\
  resize_i16x32_i8x32((i16x32)__builtin_shufflevector( \\
      ({PAIRS})(a), \\
      ({PAIRS})(b), \\
          {byte_lines(range(0, REGISTER, 2))}))
#endif"""


def _definition_of_half() -> str:
    pairs, bytes = (byte_lines(range(0, 2 * count, 2)) for count in (HALF // 2, HALF))
    return f"""#if defined(__AVX2__) && !defined(__clang__)
#define {LOW_BYTES_OF_HALF}(a, b, c, d) \\
  __extension__ ({{ \\
    const i16x16 ab_ = (i16x16)__builtin_ia32_packusdw256((i32x8)(a) & 0xff, (i32x8)(b) & 0xff); \\
    const i16x16 cd_ = (i16x16)__builtin_ia32_packusdw256((i32x8)(c) & 0xff, (i32x8)(d) & 0xff); \\
    const i32x8 mixed_ = (i32x8)__builtin_ia32_packuswb256(ab_, cd_); \\
    (i8x32)__builtin_shufflevector(mixed_, mixed_, {IN_ORDER}); \\
  }})
#else
#define {LOW_BYTES_OF_HALF}(a, b, c, d) \\
  __builtin_shufflevector( \\
      (i8x32)__builtin_shufflevector((i16x16)(a), (i16x16)(b), \\
          {pairs}), \\
      (i8x32)__builtin_shufflevector((i16x16)(c), (i16x16)(d), \\
          {pairs}), \\
          {bytes})
#endif"""


def _definition() -> str:
    merged = f"({BYTES}){{0}}"
    for number, name in enumerate("abcd"):
        lanes = ((1 << LANES) - 1) << LANES * number
        merged = f"{LOW_BYTES}_of_one({name}, {lanes:#x}, \\\n      {merged})"
    evens = byte_lines(range(0, REGISTER, 2))
    return f"""#if defined(__AVX512VBMI__) && !defined(__clang__) && \\
    !{ONE_STEP}
#define {LOW_BYTES}(a, b, c, d) \\
  {merged}
#else
#define {LOW_BYTES}_of_two(type, a, b, ...) \\
  __builtin_shufflevector( \\
      (type __attribute__((vector_size({REGISTER}))))(a), \\
      (type __attribute__((vector_size({REGISTER}))))(b), __VA_ARGS__)
#define {LOW_BYTES}(a, b, c, d) \\
  {LOW_BYTES}_of_two(char, \\
      {LOW_BYTES}_of_two(short, a, b, \\
          {evens}), \\
      {LOW_BYTES}_of_two(short, c, d, \\
          {evens}), \\
          {byte_lines(range(0, 2 * REGISTER, 2))})
#endif"""


def byte_lines(numbers: Sequence[int]) -> str:
    """Sixteen to a line of a macro."""
    rows = (listed(numbers[start : start + LANES]) for start in range(0, len(numbers), LANES))
    return ", \\\n          ".join(rows)


_OF_ONE = f"""#define {LOW_BYTES}_of_one(x, lanes, others) \\
  __builtin_ia32_permvarqi512_mask( \\
      ({BYTES})(x), \\
      ({BYTES}){{ \\
          {byte_lines([WORD * lane for lane in range(LANES)] * REGISTERS)}}}, \\
      others, lanes)"""
"""a shuffle of one register into the lanes that others leave, where there is such"""
