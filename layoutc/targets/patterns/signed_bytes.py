"""
Low bytes of four registers of words whose sign is that of other words, as codes of 8 bits have the sign of an f32.

    %sign = arith.andi (arith.shrui %bits, %c24), %c128 : vector<16xi32>
    %signed = arith.ori %code, %sign : vector<16xi32>             (and so three others, of which low bytes are taken)

The signs are among the highest bytes of the other words, which become a register as the low bytes do: one choice then
takes the place of a shift and a choice for each of four, where a shuffle of two registers is one step.
"""

from __future__ import annotations

from typing import cast

from xdsl.dialects import arith
from xdsl.ir import Operation, SSAValue

from layoutc.targets.patterns.c_float_numbers import ONE_STEP
from layoutc.targets.patterns.c_low_bytes import (
    HELPERS,
    IN_ORDER,
    LOW_BYTES,
    LOW_BYTES_OF_HALF,
    SIGNED,
    WORD,
    byte_lines,
)
from layoutc.targets.patterns.macro_call import MacroCall
from layoutc.targets.words.c_text import BREAK
from layoutc.targets.words.vectors import behind, lane_bits, uncast
from layoutc.walk import operands

SIGN, PLACE = 128, 24
"""the sign of a code, and how far below that of a word it is"""
OF_REGISTERS, OF_HALVES = f"{LOW_BYTES}{SIGNED}", f"{LOW_BYTES_OF_HALF}{SIGNED}"
PARAMETERS = "a, b, c, d, w, x, y, z"
"""the registers of codes, then those of signs"""


def signed_bytes(found: MacroCall) -> MacroCall | None:
    """The registers of codes, then those whose sign they have, if these are what low bytes are taken of."""
    pairs = [_with_sign(uncast(each)) for each in found.operands]
    if found.helper not in HELPERS.values() or None in pairs:
        return None
    codes, signs = zip(*cast("list[tuple[SSAValue, SSAValue]]", pairs), strict=True)
    return MacroCall(found.helper + SIGNED, (*codes, *signs))


def _with_sign(words: SSAValue) -> tuple[SSAValue, SSAValue] | None:
    """The code and the word whose sign it gets, of words that are made for nothing else."""
    is_made_here = words.owner.__class__ is arith.OrIOp and words.has_one_use()
    if not is_made_here or lane_bits(words.type) != 8 * WORD:
        return None
    code, sign = operands(cast("Operation", words.owner))
    signed = behind(sign, (arith.AndIOp, SIGN), (arith.ShRUIOp, PLACE))
    return None if signed is None else (code, signed)


def signed_bytes_prelude(used: set[str]) -> list[str]:
    """The macros that are among the words that code uses."""
    found = {OF_REGISTERS: _of_registers, OF_HALVES: _of_halves}
    return [text() for name, text in found.items() if name in used]


def _portable(name: str, words: str, lows: str) -> str:
    given = (
        f"({words})({code}) | (({words})({sign}) >> {PLACE} & {SIGN})"
        for code, sign in zip("abcd", "wxyz", strict=True)
    )
    return f"#define {name}({PARAMETERS}) \\\n  {lows}({f', {BREAK}'.join(given)})"


def _of_registers() -> str:
    pairs, bytes = (byte_lines(range(1, 2 * count, 2)) for count in (32, 64))
    upper = [f"(i8x64)__builtin_shufflevector((i16x32)({a}), (i16x32)({b}), {BREAK}{pairs})" for a, b in ("wx", "yz")]
    highest = f"__builtin_shufflevector({f', {BREAK}'.join(upper)}, {BREAK}{bytes})"
    return f"""#if defined(__AVX512VBMI__) && !defined(__clang__) && \\
    {ONE_STEP}
#define {OF_REGISTERS}({PARAMETERS}) \\
  ((i8x64){LOW_BYTES}(a, b, c, d) | \\
   ({highest} & INT8_MIN))
#else
{_portable(OF_REGISTERS, "u32x16", LOW_BYTES)}
#endif"""


def _of_halves() -> str:
    return f"""#if defined(__AVX2__) && !defined(__clang__)
#define {OF_HALVES}({PARAMETERS}) \\
  __extension__ ({{ \\
    const i16x16 ab_ = (i16x16)__builtin_ia32_packusdw256((a) & 0xff, (b) & 0xff); \\
    const i16x16 cd_ = (i16x16)__builtin_ia32_packusdw256((c) & 0xff, (d) & 0xff); \\
    const i16x16 wx_ = (i16x16)__builtin_ia32_packssdw256(w, x); \\
    const i16x16 yz_ = (i16x16)__builtin_ia32_packssdw256(y, z); \\
    const i8x32 signs_ = (i8x32)__builtin_ia32_packsswb256(wx_, yz_) & INT8_MIN; \\
    const i32x8 mixed_ = (i32x8)((i8x32)__builtin_ia32_packuswb256(ab_, cd_) | signs_); \\
    (i8x32)__builtin_shufflevector(mixed_, mixed_, {IN_ORDER}); \\
  }})
#else
{_portable(OF_HALVES, "u32x8", LOW_BYTES_OF_HALF)}
#endif"""
