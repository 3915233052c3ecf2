"""
The low bits of several registers in one, as C says it: of four of words as bytes, of two as pairs of bytes.

A vector of 4 or 8 bytes is no register to gcc, which joins such in registers of integers. x86 packs two registers of 16
bytes in one by a single step, lanes with numbers that are too large saturated: so they lose their upper bits before.
Two of f32 become one of f16 or bf16 so (`narrow_floats`), where no instruction does that.

    %a = arith.trunci %x : vector<8xi16> to vector<8xi8>
    %b = arith.trunci %y : vector<8xi16> to vector<8xi8>
    %all = vector.shuffle [0, 1, ..., 15] %a, %b : vector<8xi8>, vector<8xi8>
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple, cast

from xdsl.dialects import arith, vector
from xdsl.ir import Operation, SSAValue

from layoutc.targets.patterns.bf16_ops import with_any_nan
from layoutc.targets.patterns.narrow_floats import USUAL_BF16, WORDS, format_of, narrow_floats
from layoutc.targets.patterns.wide_parts import SMALL_BITS
from layoutc.targets.words.c_text import broken, either, listed
from layoutc.targets.words.c_vector_types import VECTOR_TYPE, macro
from layoutc.targets.words.c_vector_types import VectorType as Named
from layoutc.targets.words.vectors import CASTS, lane_bits, lanes_in, shuffled, side_by_side, splat
from layoutc.walk import operands

REGISTER = SMALL_BITS // 8
HALF = 16
"""bits of a pair of bytes"""
UPPER = "upper"
"""in place of a format: the upper halves of integers"""
NAME = rf"narrowed_((?:{'|'.join((*WORDS, UPPER))})_)?({VECTOR_TYPE})_({VECTOR_TYPE})"
"""a regular expression for the names of the macros; floats' format is group 1, the types are groups 2 and 4"""
PACKING = {32: "packssdw", 16: "packuswb"}
"""bits of a lane -> how two registers of such are packed"""


class NarrowParts(NamedTuple):
    """The registers whose narrow lanes stand side by side, the types of one and of all, and the format of floats."""

    registers: Sequence[SSAValue]
    wide: Named
    narrow: Named
    format: str = ""

    @property
    def operands(self) -> Sequence[SSAValue]:
        """What the text is made from."""
        return self.registers

    @property
    def helper(self) -> str:
        """The macro."""
        return f"narrowed_{self.format and self.format + '_'}{self.wide}_{self.narrow}"


def narrow_parts(op: Operation) -> NarrowParts | None:
    """The registers whose lanes an op joins, if they are narrowed for nothing else."""
    if not _joins(op) or not (narrowing := _narrowed(op.operands)):
        return None
    registers = [operands(each)[0] for each in narrowing]
    formats = {format_of(each) for each in narrowing}
    sizes = {(lane_bits(each.type), lanes_in(each)) for each in registers}
    narrowed = {lane_bits(each.results[0].type) for each in narrowing}
    if len(formats) > 1 or len(sizes) > 1 or narrowed != {lane_bits(op.results[0].type)}:
        return None
    (format,), (size,) = formats, sizes
    found = NarrowParts(registers, Named("f" if format else "i", *size), _type(op.results[0]), format)
    return _of_what_is_behind(found) if _are_registers(found) else None


def _type(value: SSAValue) -> Named:
    return Named("i", lane_bits(value.type), lanes_in(value))


def _are_registers(found: NarrowParts) -> bool:
    """Whether what is narrowed and what it becomes are such as are packed: larger ones of bf16 too, halves of f16."""
    wide, narrow = found.wide, found.narrow
    if found.format == "bf16" and narrow.bytes == 2 * REGISTER:
        return wide.bytes == narrow.bytes
    is_whole = wide.bytes in ((REGISTER, REGISTER // 2) if found.format == "f16" else (REGISTER,))
    return is_whole and narrow.bytes == REGISTER and wide.bits in PACKING


def _of_what_is_behind(found: NarrowParts) -> NarrowParts:
    """The same of lanes whose upper halves were taken, and of numbers all of whose NaN were made the usual one."""
    look = {"": _upper_half_of, "bf16": with_any_nan}.get(found.format)
    behind = [] if look is None else [value for each in found.registers if (value := look(each)) is not None]
    if len(behind) != len(found.registers):
        return found
    return found._replace(registers=behind, format=USUAL_BF16 if found.format else UPPER)


def _upper_half_of(value: SSAValue) -> SSAValue | None:
    """The lanes of 32 bits whose upper halves a value is, for nothing else."""
    op = value.owner
    if not isinstance(op, arith.ShRUIOp) or not value.has_one_use():
        return None
    return op.lhs if splat(op.rhs) == HALF and lane_bits(value.type) == 2 * HALF else None


def _joins(op: Operation) -> bool:
    """Whether an op puts two vectors side by side."""
    return op.__class__ is vector.ShuffleOp and shuffled(op) == side_by_side(lanes_in(op.operands[0]))


def _narrowed(values: Sequence[SSAValue]) -> Sequence[Operation]:
    """What narrows to values that stand side by side; nothing if one is anything else, or has another use."""
    found: list[Operation] = []
    for value in values:
        while value.owner.__class__ in CASTS and value.has_one_use():
            value = operands(cast("Operation", value.owner))[0]
        op = cast("Operation", value.owner)
        behind = (
            [op] if isinstance(op, arith.TruncIOp) or format_of(op) else _narrowed(op.operands) if _joins(op) else []
        )
        if not behind or not value.has_one_use():
            return []
        found += behind
    return found


def narrow_parts_prelude(used: set[str]) -> list[str]:
    """The macros that are among the words that code uses."""
    found = (re.fullmatch(NAME, name) for name in sorted(used))
    return [_text(match[0], match[1], Named.named(match[2]), Named.named(match[4])) for match in found if match]


def _text(name: str, format: str | None, wide: Named, narrow: Named) -> str:
    word = (format or "").rstrip("_")
    return narrow_floats(name, word, wide, narrow) if word in WORDS else _definition(name, wide, narrow, word == UPPER)


def _definition(name: str, wide: Named, narrow: Named, are_upper: bool) -> str:
    """By packing, where there is that, or by shuffles that take every second lane."""
    parts = names = ["a", "b", "c", "d"][: wide.bits // narrow.bits]
    packed = [f"const {wide} {each}_ = {_cut(each, wide, narrow.bits, are_upper)}" for each in names]
    picked = [f"const {wide} {each}_ = {f'({each}) >> {HALF}' if are_upper else each}" for each in names]
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


def _cut(name: str, wide: Named, bits: int, are_upper: bool) -> str:
    """The bits that count as numbers that packing leaves as they are: bytes without a sign, pairs with one."""
    if bits == 8:
        return f"({name}) & 0xff"
    low = f"({name})" if are_upper else f"({wide})((u{wide.bits}x{wide.lanes})({name}) << {bits})"
    return f"{low} >> {bits}"
