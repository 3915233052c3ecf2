"""
Parts of a register in wider lanes, as C says it: 16 of 64 bytes in lanes of 32 bits, 16 of 32 pairs of bytes.

A part that is no register's beginning is shuffled there, and widened by another shuffle, on processors that move any
bytes. They put the bytes where they belong by one, with zeros between them: into the low bits of lanes, or into the
upper ones, from where the sign of a number is shifted down, and where f32 has the bits of a bf16. Parts of registers of
16 bytes, which are less than a register to gcc, are unpacked with zeros, one step for each doubling of lanes; those
of f16 become f32 so, where no instruction does that.

    %part = vector.shuffle [16, 17, ..., 31] %r, %r : vector<32xi16>, vector<32xi16>
    %code = arith.extui %part : vector<16xi16> to vector<16xi32>
    %bits = arith.shli %code, %c16 : vector<16xi32>

    %low = vector.shuffle [0, 1, 2, 3] %h, %h : vector<8xf16>, vector<8xf16>
    %number = arith.extf %low : vector<4xf16> to vector<4xf32>
"""

from __future__ import annotations

import re
from typing import NamedTuple

from xdsl.dialects import arith, vector
from xdsl.ir import Operation, SSAValue

from layoutc.targets.words.c_text import broken, by_gcc, either, listed
from layoutc.targets.words.c_vector_types import VECTOR_TYPE, beside_zeros, macro, native, unpacked_lanes
from layoutc.targets.words.c_vector_types import VectorType as Named
from layoutc.targets.words.vectors import lane_bits, lanes_in, splat, uncast
from layoutc.walk import operands

REGISTER_BITS, SMALL_BITS = 512, 128
"""of the registers whose parts are taken"""
WIDE = {8: (16, 32), 16: (32,)}
"""bits of a lane, and of those that it may become"""
WORDS = {"low": "low_part", "upper": "upper_part", "signed": "signed_part", "half": "half_part"}
"""the macros, by where the bits of a lane go; those of f16 become f32"""
WORD_OF: dict[type[Operation], str] = {arith.ExtUIOp: "low", arith.ExtSIOp: "signed", arith.ExtFOp: "half"}
"""what ops do that take a part as it is; a shift takes one that is widened"""
NAME = rf"({'|'.join(WORDS.values())})_({VECTOR_TYPE})_({VECTOR_TYPE})"
"""a regular expression for their names; the types are groups 2 and 4"""
BYTES = native(8, REGISTER_BITS // 8)
UNPACKED = r"unpacked_(u(8|16)x\d+)"
"""a regular expression for the names of the macros that take every lane of half a register before one of another's"""


WITHOUT_F16 = "defined(__SSE2__) && !defined(__F16C__)"
"""x86, whose products say which NaN they are, but have no instruction for f16"""


class WidePart(NamedTuple):
    """Which part of a register of so many bits becomes lanes of `wide` ones, and how."""

    size: int
    register: SSAValue
    number: int
    word: str
    bits: int
    wide: int

    @property
    def operands(self) -> tuple[SSAValue]:
        """What the text is made from."""
        return (self.register,)

    @property
    def kind(self) -> str:
        """Of integers: the sign of what is widened."""
        return "i" if self.word == "signed" else "u"

    @property
    def result(self) -> Named:
        """The type of the lanes."""
        return Named("f" if self.word == "half" else self.kind, self.wide, self.size // self.wide)

    @property
    def helper(self) -> str:
        """The macro."""
        return f"{WORDS[self.word]}_{Named(self.kind, self.bits, self.size // self.bits)}_{self.result}"


def wide_part(op: Operation) -> WidePart | None:
    """The part that an op widens, if it is one."""
    word = WORD_OF.get(op.__class__, "upper")
    widened = op
    if word == "upper":
        shifted = operands(op)[0].owner
        if not isinstance(shifted, arith.ExtUIOp) or not shifted.result.has_one_use():
            return None
        widened = shifted
    value = operands(widened)[0]
    source, wide = lane_bits(value.type), lane_bits(widened.results[0].type)
    if wide not in WIDE.get(source, ()) or (word == "upper" and splat(operands(op)[1]) != wide - source):
        return None
    return part_of(value, word, source, wide)


def part_of(value: SSAValue, word: str, source: int, wide: int) -> WidePart | None:
    """
    The part that a shuffle takes of one register, or one of another's part of it.

    The first one of a large register is as good without a shuffle, unless it goes up.
    """
    register, first = value, 0
    while (found := _part(register, source)) is not None:
        register, begin = found
        first += begin
    count, size = lanes_in(value), lanes_in(value) * wide
    is_register = size in (REGISTER_BITS, SMALL_BITS) and lanes_in(register) * source == size
    if register is value or not is_register or first % count or lane_bits(register.type) != source:
        return None
    number = first // count
    if size == SMALL_BITS or (word != "half" and (number or word == "upper")):
        return WidePart(size, register, number, word, source, wide)
    return None


def _part(value: SSAValue, bits: int) -> tuple[SSAValue, int] | None:
    """The vector of which a value is lanes that follow one another, and the first of these; None if it is none."""
    value = uncast(value)
    op = value.owner
    if not isinstance(op, vector.ShuffleOp) or lane_bits(value.type) != bits:
        return None
    register, second = operands(op)
    lanes = op.mask.get_values()
    follow = register is second and lanes == tuple(range(lanes[0], lanes[0] + len(lanes)))
    return (register, lanes[0]) if follow else None


def wide_parts_prelude(used: set[str]) -> list[str]:
    """The macros that are among the words that code uses, and those that they use themselves."""
    matches = (re.fullmatch(NAME, name) for name in sorted(used))
    parts = [(match[0], match[1], Named.named(match[2]), Named.named(match[4])) for match in matches if match]
    texts = [_text(*part) for part in parts]
    halves = sorted({match[1] for match in re.finditer(UNPACKED, "\n".join(texts))})
    return [*(_unpacked(Named.named(type)) for type in halves), *texts]


def _text(name: str, word: str, source: Named, target: Named) -> str:
    if word == WORDS["half"]:
        return _half_part(name, source, target)
    return (_by_unpacking if 8 * source.bytes == SMALL_BITS else _definition)(name, word, source, target)


def _half_part(name: str, source: Named, target: Named) -> str:
    """
    The bits where f32 has them, times 2^112, by which the exponents differ: subnormals become normal, NaN quiet.

    All but that is done in lanes of 16 bits. Infinity and NaN get the largest exponent ahead of it.
    """
    number = macro(
        name,
        "x, n",
        f"const {source.mask} code_ = ({source.mask})(x)",
        f"const {source.mask} largest_ = ({source.mask})((code_ & 0x7c00) == 0x7c00) & 0x7000",
        f"const {source} upper_ = ({source})(((code_ >> 3) & (int16_t)0x8fff) | largest_)",
        f"({target})unpacked_{source}(({source})code_ << 13, upper_, n) * 0x1p112f",
    )
    taken = listed(f"{target.lanes} * (n) + {lane}" for lane in range(target.lanes))
    part = broken(f"widen_f16_{target}(__builtin_shufflevector(x, x, {taken}))")
    return either(WITHOUT_F16, number, f"#define {name}(x, n) \\\n  {part}")


def _by_unpacking(name: str, word: str, source: Named, target: Named) -> str:
    """A part of a small register, with zeros above or below its lanes, which become twice as wide by each step."""
    taken, bits = "(x)", source.bits
    while bits < target.bits:
        type = Named("u", bits, SMALL_BITS // bits)
        both = beside_zeros(taken, type, above=word == WORDS["low"])
        half = "n" if 2 * source.bits == target.bits else "(n) / 2" if bits == source.bits else "(n) % 2"
        taken = f"unpacked_{type}({both}, {half})"
        bits *= 2
    shifted = f" >> {target.bits - source.bits}" if word == WORDS["signed"] else ""
    return f"#define {name}(x, n) \\\n  {broken(f'(({target}){taken}{shifted})')}"


def _unpacked(type: Named) -> str:
    lanes = unpacked_lanes(type, f"{type.lanes // 2} * (h) + ")
    return f"#define unpacked_{type}(a, b, h) \\\n  {broken(f'__builtin_shufflevector(a, b, {lanes})')}"


def _definition(name: str, word: str, source: Named, target: Named) -> str:
    shift, words = target.bits - source.bits, REGISTER_BITS // 64 * source.bits // target.bits
    part = Named(source.kind, source.bits, target.lanes)
    taken = ", ".join(f"{words} * (n) + {number}" for number in range(words))
    whole = f"__builtin_shufflevector( \\\n      (u64x8)(x), \\\n      (u64x8)(x), {taken})"
    widened = f"resize_{part}_{target}(({part}){whole})"
    widened = f"({widened} << {shift})" if word == WORDS["upper"] else widened
    head = f"#define {name}(x, n) \\\n  "
    return either(by_gcc("AVX512VBMI"), head + _native(word, source, target), head + widened)


def _native(word: str, source: Named, target: Named) -> str:
    """By a shuffle that leaves zeros where no byte goes."""
    count, shift = source.bits // 8, target.bits - source.bits
    up = 0 if word == WORDS["low"] else shift
    ones, apart = (
        sum(byte << 8 * number for number, byte in enumerate(each)) << up for each in ([1] * count, range(count))
    )
    lanes = ", ".join(f"{lane * count * ones + apart:#x}" for lane in range(target.lanes))
    places = sum((1 << count) - 1 << (up + target.bits * lane) // 8 for lane in range(target.lanes))
    moved = f"""__builtin_ia32_permvarqi512_mask( \\
      ({BYTES})(x), \\
      ({BYTES})({broken(f"({target.mask}){{{lanes}}}")} + \\
          {target.lanes * count * ones:#x} * (n)), \\
      ({BYTES}){{0}}, {places:#x})"""
    return f"(({target}){moved}{f' >> {shift}' if word == WORDS['signed'] else ''})"
