"""
The low bits of several registers in one, as C says it: of four of words as bytes, of two as pairs of bytes.

A vector of 4 or 8 bytes is no register to gcc, which joins such in registers of integers. x86 packs two registers of 16
bytes in one by a single step, lanes with numbers that are too large saturated: so they lose their upper bits before.
Two of f32 become one of f16 so, where no instruction does that.

    %a = arith.trunci %x : vector<8xi16> to vector<8xi8>
    %b = arith.trunci %y : vector<8xi16> to vector<8xi8>
    %all = vector.shuffle [0, 1, ..., 15] %a, %b : vector<8xi8>, vector<8xi8>
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple, cast

from xdsl.dialects import arith, vector
from xdsl.dialects.builtin import Float16Type, Float32Type
from xdsl.ir import Operation, SSAValue

from layoutc.targets.patterns.wide_parts import SMALL_BITS, WITHOUT_F16
from layoutc.targets.words.c_text import broken, either, listed
from layoutc.targets.words.c_vector_types import VECTOR_TYPE, macro
from layoutc.targets.words.c_vector_types import VectorType as Named
from layoutc.targets.words.vectors import CASTS, lane_bits, lane_type, lanes_in
from layoutc.walk import operands

NAME = rf"narrowed_({VECTOR_TYPE})_({VECTOR_TYPE})"
"""a regular expression for the names of the macros; the types are groups 1 and 3"""
F16, F32 = Float16Type(), Float32Type()
PACKING = {32: "packssdw", 16: "packuswb"}
"""bits of a lane -> how two registers of such are packed"""


class NarrowParts(NamedTuple):
    """The registers whose narrow lanes stand side by side, and the types of one and of all."""

    registers: Sequence[SSAValue]
    wide: Named
    narrow: Named

    @property
    def helper(self) -> str:
        """The macro."""
        return f"narrowed_{self.wide}_{self.narrow}"


def narrow_parts(op: Operation) -> NarrowParts | None:
    """The registers whose lanes an op joins, if they are narrowed for nothing else."""
    if not _joins(op) or not (registers := _narrowed(op.operands)):
        return None
    joined, *wide = (
        Named(_kind(value), lane_bits(value.type), lanes_in(value)) for value in (op.results[0], *registers)
    )
    narrow = Named("i", joined.bits, joined.lanes)
    are_registers = wide[0].bytes == narrow.bytes == SMALL_BITS // 8 and len(set(wide)) == 1
    return NarrowParts(registers, wide[0], narrow) if are_registers and wide[0].bits in PACKING else None


def _kind(value: SSAValue) -> str:
    """Of the lanes of a value: those of f32 are narrowed to f16."""
    return "f" if lane_type(value.type) == F32 else "i"


def _joins(op: Operation) -> bool:
    """Whether an op puts two vectors side by side."""
    return isinstance(op, vector.ShuffleOp) and op.mask.get_values() == tuple(range(2 * lanes_in(op.v1)))


def _narrowed(values: Sequence[SSAValue]) -> Sequence[SSAValue]:
    """What is narrowed to values that stand side by side; nothing if one is anything else, or has another use."""
    found: list[SSAValue] = []
    for value in values:
        while value.owner.__class__ in CASTS and value.has_one_use():
            value = operands(cast("Operation", value.owner))[0]
        op = cast("Operation", value.owner)
        behind = [operands(op)[0]] if _narrows(op) else _narrowed(op.operands) if _joins(op) else []
        if not behind or not value.has_one_use():
            return []
        found += behind
    return found


def _narrows(op: Operation) -> bool:
    """Whether an op makes lanes narrow, and may be left to the macro."""
    if not isinstance(op, arith.TruncFOp):
        return isinstance(op, arith.TruncIOp)
    return (lane_type(op.input.type), lane_type(op.result.type)) == (F32, F16)


def narrow_parts_prelude(used: set[str]) -> list[str]:
    """The macros that are among the words that code uses."""
    found = (re.fullmatch(NAME, name) for name in sorted(used))
    types = [(match[0], Named.named(match[1]), Named.named(match[3])) for match in found if match]
    return [(_halves if wide.kind == "f" else _definition)(name, wide, narrow) for name, wide, narrow in types]


def _definition(name: str, wide: Named, narrow: Named) -> str:
    """By packing, where there is that, or by shuffles that take every second lane."""
    parts = names = ["a", "b", "c", "d"][: wide.bits // narrow.bits]
    packed = [f"const {wide} {each}_ = {_cut(each, wide, narrow.bits)}" for each in names]
    picked = [f"const {wide} {each}_ = {each}" for each in names]
    bits = wide.bits
    while bits > narrow.bits:
        pack, bits = f"__builtin_ia32_{PACKING[bits]}128", bits // 2
        type = Named("i", bits, SMALL_BITS // bits)
        evens = listed(range(0, 2 * type.lanes, 2))
        for a, b in zip(parts[::2], parts[1::2], strict=True):
            packed.append(f"const {type} {a}{b}_ = ({type}){pack}({a}_, {b}_)")
            picked.append(f"const {type} {a}{b}_ = __builtin_shufflevector(({type}){a}_, ({type}){b}_, {evens})")
        parts = [a + b for a, b in zip(parts[::2], parts[1::2], strict=True)]
    native, portable = (
        macro(name, ", ".join(names), *map(broken, lines), f"{parts[0]}_") for lines in (packed, picked)
    )
    return either("defined(__SSE2__)", native, portable)


def _cut(name: str, wide: Named, bits: int) -> str:
    """The low bits of lanes as numbers that packing leaves as they are: bytes without a sign, pairs with one."""
    return f"({name}) & 0xff" if bits == 8 else f"({wide})((u{wide.bits}x{wide.lanes})({name}) << {bits}) >> {bits}"


def _halves(name: str, wide: Named, narrow: Named) -> str:
    """
    Rounded by the sum with a power of two whose last place is that of the code, from the number's exponent on, which
    `e_` is above the least one. The sum less that power is the significand, and what the exponent adds comes to it.

    The rule is for NaN, whose payload counts; infinity is as good for numbers too large for f16.
    """
    i, u = wide.mask, f"u32x{wide.lanes}"
    ruled, by_rule = (
        f"({narrow})(u64x2){{(uint64_t)narrow_f16_{wide}({a}), (uint64_t)narrow_f16_{wide}({b})}}"
        for a, b in (("a_", "b_"), ("a", "b"))
    )
    half = macro(
        f"rounded_half_{wide}",
        "x",
        f"const {wide} number_ = ({wide})(({i})(x) & INT32_MAX)",
        f"const {wide} least_ = min_{wide}(number_, ({wide}){{0}} + 0x1p16f)",
        f"const {wide} power_ = max_{wide}(({wide})(({i})least_ & 0x7f800000), ({wide}){{0}} + 0x1p-14f)",
        f"const {u} e_ = ({u})power_ - 0x38800000",
        f"const {u} place_ = e_ + 0x3f000000",
        f"({i})(({u})(least_ + ({wide})place_) - (place_ - (e_ >> 13)))",
    )
    codes = f"rounded_half_{wide}(a_), rounded_half_{wide}(b_)"
    statements = (
        f"const {wide} a_ = (a), b_ = (b)",
        f"const {narrow} signs_ = ({narrow})__builtin_ia32_packssdw128(({i})a_, ({i})b_) & INT16_MIN",
        f"{narrow} codes_ = ({narrow})__builtin_ia32_packssdw128({codes}) | signs_",
        f"const {wide} nan_ = ({wide})((a_ != a_) | (b_ != b_))",
        f"if (__builtin_expect(__builtin_ia32_movmskps(nan_), 0)) codes_ = {ruled}",
        "codes_",
    )
    native = macro(name, "a, b", *map(broken, statements))
    portable = f"#define {name}(a, b) \\\n  {broken(f'({by_rule})')}"
    return either(WITHOUT_F16, f"{half}\n\n{native}", portable)
