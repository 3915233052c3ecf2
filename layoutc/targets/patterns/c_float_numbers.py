"""
The numbers that codes of f8_e4m3 and f4_e2m1 are, looked up, of which `convert_floats` makes them by way of f16.

    %half = arith.shli (arith.extsi %part), %c7 : vector<16xi16>
    %bits = arith.andi %half, %c-16512 : vector<16xi16>
    %all = arith.ori %bits, %c-32768 : vector<16xi16>
    %nan = arith.cmpi eq, %all, %c-16512 : vector<16xi16>
    %more = arith.select %nan, %c16000, %c0 : vector<16xi1>, vector<16xi16>
    %f16 = arith.bitcast (arith.addi %bits, %more) : vector<16xi16> to vector<16xf16>
    %number = arith.mulf (arith.extf %f16), %c256.0 : vector<16xf32>

Of f8_e4m3, where processors take any bytes of two registers in one step: each number has its upper two bytes alone. A
code goes into both of them by one shuffle, which takes it from a register of 64; its low bits choose one of 128 bytes
for each, and its sign is that of the lane. The 16 numbers of f4_e2m1 fit a register, of which its low bits choose:

    %half = arith.shrsi (arith.shli (arith.extui %part), %c12), %c3 : vector<16xi16>
    %f16 = arith.bitcast (arith.andi %half, %c-29184) : vector<16xi16> to vector<16xf16>
    %number = arith.mulf (arith.extf %f16), %c16384.0 : vector<16xf32>
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import Any, NamedTuple, cast

from xdsl.dialects import arith
from xdsl.dialects.builtin import VectorType
from xdsl.ir import Operation, SSAValue

from layoutc.targets.patterns.wide_parts import part_of
from layoutc.targets.words.c_text import by_gcc, either
from layoutc.targets.words.c_vector_types import macro, typedef
from layoutc.targets.words.vectors import F32_LANES, behind, splat
from layoutc.walk import operands, relation

NUMBER_OF_F8, NUMBER_OF_F4 = "number_of_f8_e4m3", "number_of_f4_e2m1"
ONE_STEP = "(defined(__znver3__) || defined(__znver4__) || defined(__znver5__))"
"""
AMD's processors, which have shuffles of two registers that are one step; Intel's are three. Compilers that do not know
one by its name call it by an older one's.
"""
SCALE, SHIFT, SIGN, LAST, TO_NAN = 256.0, 7, -0x8000, -0x4080, 0x3E80
"""what f16 is multiplied by; places that codes go up; of i16: the sign, the last code with it, and from there to NaN"""
CODES, REGISTER, WORD, QUIET = 128, 64, 4, 0x7FC0
"""without a sign; bytes of a register; bytes of a lane; the upper half of the f32 that is a quiet NaN"""
F4_SCALE, F4_SHIFT, F4_APART, F4_BITS, F4_CODES = 16384.0, 12, 3, -0x7200, 16
"""what f16 is multiplied by; places that codes go up, and down with their sign; the bits that then count; all codes"""


class FloatCodes(NamedTuple):
    """The macro that looks codes up, the register that holds these, and which 16 of its 64 they are; or they alone."""

    helper: str
    held: SSAValue
    number: int | None

    @property
    def operands(self) -> tuple[SSAValue]:
        """What the text is made from."""
        return (self.held,)


def float_codes(op: Operation) -> FloatCodes | None:
    """The codes whose numbers an op gives, if it does."""
    if op.__class__ is not arith.MulfOp or (scale := splat(operands(op)[1])) not in (SCALE, F4_SCALE):
        return None
    half = behind(operands(op)[0], (arith.ExtFOp, None), (arith.BitcastOp, None))
    code = None if half is None else _f8_code(half) if scale == SCALE else _f4_code(half)
    if code is None or cast("VectorType[Any]", code.type).get_shape() != (F32_LANES,):
        return None
    found = part_of(code, "upper", 8, 32)
    if found is not None:
        return FloatCodes(NUMBER_OF_F8 if scale == SCALE else NUMBER_OF_F4, found.register, found.number)
    return FloatCodes(NUMBER_OF_F4, code, None) if scale == F4_SCALE else None


def _f8_code(half: SSAValue) -> SSAValue | None:
    """The codes of f8_e4m3 of which the bits of f16 are made."""
    if half.owner.__class__ is not arith.AddiOp:
        return None
    bits, more = operands(cast("Operation", half.owner))
    code = behind(bits, (arith.AndIOp, LAST), (arith.ShLIOp, SHIFT), (arith.ExtSIOp, None))
    return code if _is_for_nan(more, bits) else None


def _f4_code(half: SSAValue) -> SSAValue | None:
    """The codes of f4_e2m1."""
    moved = (arith.AndIOp, F4_BITS), (arith.ShRSIOp, F4_APART), (arith.ShLIOp, F4_SHIFT)
    return behind(half, *moved, (arith.ExtUIOp, None))


def _is_for_nan(more: SSAValue, bits: SSAValue) -> bool:
    """Whether it is what the last code lacks to be NaN, and nothing for others."""
    if more.owner.__class__ is not arith.SelectOp:
        return False
    asked, yes, no = operands(cast("Operation", more.owner))
    if asked.owner.__class__ is not arith.CmpiOp or (splat(yes), splat(no)) != (TO_NAN, 0):
        return False
    compared = cast("Operation", asked.owner)
    every, last = operands(compared)
    is_equal = relation(compared) == "eq"
    return is_equal and splat(last) == LAST and behind(every, (arith.OrIOp, SIGN)) is bits


def float_numbers_prelude(used: set[str]) -> list[str]:
    """The macros that are among the words that code uses."""
    found = {NUMBER_OF_F8: _of_f8, NUMBER_OF_F4: _of_f4}
    return [text() for name, text in found.items() if name in used]


def _of_f4() -> str:
    numbers = ", ".join(f"{_of_half((code & 8) << 12 | (code & 7) << 9, F4_SCALE)}f" for code in range(F4_CODES))
    half = "((codes_ & 8) << 12) | ((codes_ & 7) << 9)"
    native = f"""#define {NUMBER_OF_F4}(code) \\
  ((f32x16)__builtin_ia32_permvarsf512_mask( \\
      ((f32x16){{{numbers}}}), \\
      (i32x16)(code), (f32x16){{0}}, (uint16_t)-1))"""
    portable = macro(
        NUMBER_OF_F4,
        "x",
        "const i32x16 codes_ = (i32x16)(x)",
        f"widen_f16_f32x16(__builtin_convertvector({half}, u16x16)) * {F4_SCALE}f",
    )
    return either(by_gcc("AVX512F"), native, portable)


def _of_half(half: int, scale: float) -> float:
    """The number of the bits of an f16, times another."""
    return struct.unpack("<e", struct.pack("<H", half))[0] * scale


def _of_f8() -> str:
    low, high = ([half >> shift & 0xFF for half in map(_upper_half, range(CODES))] for shift in (0, 8))
    spread = _rows([f"{0x01010101 * lane:#x}" for lane in range(REGISTER // WORD)])
    native = macro(
        NUMBER_OF_F8,
        "x, n",
        typedef("bytes_", 8, REGISTER),
        f"const i32x16 lanes_ = (i32x16){{ \\\n{spread}}} + 0x10101010 * (n)",
        "const bytes_ code_ = __builtin_ia32_permvarqi512_mask( \\\n"
        "        (bytes_)(x), (bytes_)lanes_, (bytes_){0}, UINT64_MAX)",
        f"const bytes_ low_ = {_looked_up(low, 0x4444444444444444)}",
        f"const bytes_ high_ = {_looked_up(high, 0x8888888888888888)}",
        "(f32x16)((i32x16)low_ | (i32x16)high_ | ((i32x16)code_ & INT32_MIN))",
    )
    portable = macro(
        NUMBER_OF_F8,
        "x, n",
        "const u64x8 all_ = (u64x8)(x)",
        "const i8x16 code_ = (i8x16)__builtin_shufflevector(all_, all_, 2 * (n), 2 * (n) + 1)",
        f"const i16x16 bits_ = (i16x16)((u16x16)resize_i8x16_i16x16(code_) << {SHIFT}) & {LAST}",
        f"const i16x16 more_ = (i16x16)((bits_ | {SIGN}) == {LAST}) & {TO_NAN}",
        f"widen_f16_f32x16((u16x16)(bits_ + more_)) * {SCALE}f",
    )
    return either(f"{by_gcc('AVX512VBMI')} && \\\n    {ONE_STEP}", native, portable)


def _upper_half(code: int) -> int:
    """Of the f32 that a code is; what is below is zero."""
    number = struct.pack("<f", _of_half(code << SHIFT, SCALE))
    return QUIET if code == CODES - 1 else int.from_bytes(number, "little") >> 16


def _looked_up(table: Sequence[int], lanes: int) -> str:
    """The bytes of a table of two registers that codes choose, in some bytes of lanes, and zero in the others."""
    bytes = [str(byte - 256 if byte > 127 else byte) for byte in table]
    first, second = (f"(bytes_){{ \\\n{_rows(bytes[start : start + REGISTER])}}}" for start in (0, REGISTER))
    return f"__builtin_ia32_vpermt2varqi512_maskz( \\\n        code_, {first}, {second}, {lanes:#x})"


def _rows(numbers: Sequence[str]) -> str:
    """Eight to a line of a macro."""
    return ", \\\n".join(f"          {', '.join(numbers[at : at + 8])}" for at in range(0, len(numbers), 8))
