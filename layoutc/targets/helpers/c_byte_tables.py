"""
Functions of bytes that processors look up, where they choose any bytes from registers.

Four registers hold what a function makes of 256 bytes. One instruction chooses from two of them by the low seven bits
of each lane, and the last bit chooses between two of those. A function of the low six or seven bits needs one of them:

    static const u8x64 twice_table[2] = {{0, 2, 4, ...}, {128, ...}};
    #define twice(given) \\
      __extension__ ({ \\
        const u8x64 given_in = (given); \\
        (u8x64)byte_of_128(given_in, twice_table); \\
      })

Processors with AVX2 choose from 16 bytes, by the low four bits of lanes whose sign is not set: row by row, of which
each lane finds what its own row has, as all changes of bits from row to row up to that.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from layoutc.targets.words.c_text import INDENT, broken, listed
from layoutc.targets.words.c_vector_types import native, typedef

CAN_LOOK_UP = "defined(__AVX512VBMI__)"
REGISTER, PART = 64, 8
"""bytes of a register, and of the parts that it is put together from"""
LOOKED_UP = (16, 32, REGISTER)
"""how many lanes are looked up at once"""
SIZES = (64, 128, 256)
ROW = 16
"""bytes of a line of a table"""
BY_ROWS = {16: "128", 32: "256"}
"""how many lanes are looked up in rows of 16 bytes, and what the names of such instructions end in"""
CAN_LOOK_UP_ROWS = "defined(__AVX2__)"
LEAST_SPARED = 3
"""rows that are looked up at no cost but theirs"""
ROW_SIZES, SIGNED, BYTES = (16, 32, 64, 128, 256), 128, 256
"""bytes of tables; of the half of one whose codes have no sign; of a whole one"""
BYTE_OF = r"(byte_of|widened|less|in|in_row|next_row)_\d+"
"""a regular expression for the names of the macros"""
_NATIVE = f"({native(8, REGISTER)})"


def shortest(table: bytes, sizes: Sequence[int] = SIZES) -> bytes:
    """The first part of a table, of one of these sizes, if the rest repeats it."""
    return next(table[:size] for size in sizes if table[:size] * (len(table) // size) == table)


def table_text(name: str, table: bytes) -> str:
    """The registers of a table, where they are looked up in."""
    registers = [table[start : start + REGISTER] for start in range(0, len(table), REGISTER)]
    rows = (",\n".join(_rows(register)) for register in registers)
    texts = ",\n".join(f"{INDENT}{{\n{row}}}" for row in rows)
    # Not all processors that have one of its functions need it.
    held = f"__attribute__((unused)) static const u8x{REGISTER} {name}[{len(registers)}] = {{\n{texts}}};"
    return f"#if {CAN_LOOK_UP} || {CAN_LOOK_UP_ROWS}\n{held}\n#endif"


def _rows(register: bytes) -> list[str]:
    starts = range(0, len(register), ROW)
    return [INDENT * 3 + listed(register[start : start + ROW]) for start in starts]


def looked_up(given: str, lanes: int, type: str, name: str, table: bytes) -> list[tuple[str, list[str]]]:
    """Conditions, and each one's statements of a macro whose last one is what a table has for its argument."""
    rows = [(CAN_LOOK_UP_ROWS, by_rows(given, lanes, type, name, table))] if lanes in BY_ROWS else []
    return [(CAN_LOOK_UP, _in_registers(given, lanes, type, name, table)), *rows]


def _in_registers(given: str, lanes: int, type: str, name: str, table: bytes) -> list[str]:
    """The statements where any bytes are chosen from registers."""
    found = f"byte_of_{len(table)}"
    if lanes == REGISTER:
        return [f"({type}){found}({given}, {name});"]
    part = listed(range(lanes // PART))
    return [
        f"const u64x8 found_ = (u64x8){found}(widened_{lanes}({given}), {name});",
        f"({type})__builtin_shufflevector(found_, found_, {part});",
    ]


def by_rows(given: str, lanes: int, type: str, name: str, table: bytes) -> list[str]:
    """Those where registers of 16 bytes are looked up in: by what changes from row to row of a table."""
    size, folded, last_step = _folded(shortest(table, ROW_SIZES))
    lines = [
        f"{typedef('bytes_', 8, lanes)};",
        f"const bytes_ given_ = (bytes_){given};",
        f"const bytes_ folded_ = {folded};",
        "bytes_ code_ = folded_;",
        f"bytes_ found_ = in_row_{lanes}(code_, {name}, 0);",
    ]
    rows, last = [table[start : start + ROW] for start in range(0, size, ROW)], 0
    for number in range(1, len(rows)):
        if number * ROW == SIGNED:
            lines += ["code_ = folded_ ^ INT8_MIN;", f"found_ ^= in_row_{lanes}(code_, {name}, {number});"]
            last = number
        elif rows[number] != rows[number - 1]:
            lines.append(f"next_row_{lanes}(found_, code_, {name}, {number}, {ROW * (number - last)});")
            last = number
    return [*lines, *last_step, f"({type})found_;"]


def _folded(table: bytes) -> tuple[int, str, list[str]]:
    """
    How many bytes of a table are looked up, for which codes, and what is done to those found.

    A table of formats with a sign has the same bits changed for all codes with that, or for all whose negatives are
    integers: -128 is no negative of any, and keeps a row. What that takes is as much as two rows.
    """
    if len(table) < BYTES:
        return len(table), f"given_ & {len(table) - 1}", []
    rows = [table[start : start + ROW] for start in range(SIGNED, BYTES, ROW)]
    if sum(one != other for one, other in pairwise(rows)) < LEAST_SPARED:
        return BYTES, "given_", []
    if (bits := _changed(table[SIGNED:], table[:SIGNED])) is not None:
        return SIGNED, f"given_ & {SIGNED - 1}", [f"found_ ^= (bytes_)(given_ < 0) & (char){bits};"]
    if (bits := _changed(table[:SIGNED:-1], table[1:SIGNED])) is not None:
        negative = "(given_ ^ (bytes_)(given_ < 0)) - (bytes_)(given_ < 0)"
        return SIGNED + ROW, negative, [f"found_ ^= (bytes_)((given_ ^ folded_) < 0) & (char){bits};"]
    return BYTES, "given_", []


def _changed(bytes: bytes, others: bytes) -> int | None:
    """In which bits all bytes differ from others, if these are the same ones."""
    bits = {one ^ other for one, other in zip(bytes, others, strict=True)}
    return bits.pop() if len(bits) == 1 else None


def byte_tables_prelude(used: set[str]) -> list[str]:
    """The macros that are among the words that code uses, and those of rows that words are chosen from."""
    rows = [
        f"#if {CAN_LOOK_UP_ROWS}\n" + "\n".join(texts) + "\n#endif"
        for lanes, size in BY_ROWS.items()
        if (texts := _by_rows(lanes, size, used))
    ]
    sizes = [size for size in SIZES if f"byte_of_{size}" in used]
    if not sizes:
        return rows
    needed = sizes if sizes == [SIZES[0]] else [size for size in SIZES if size in sizes or size == SIZES[1]]
    texts = [text for lanes, text in _WIDENED.items() if f"widened_{lanes}" in used] + [_TEXTS[size] for size in needed]
    return [f"#if {CAN_LOOK_UP}\n" + "\n".join(texts) + "\n#endif", *rows]


def _by_rows(lanes: int, size: str, used: set[str]) -> list[str]:
    """
    What a row has for the low 4 bits of codes without a sign, and zero for others; and the same for a row further on.

    Codes are less by 16 for each row that is behind: those of rows before have a sign then, and keep what they found.
    Others find which bits of that change.
    """
    bytes, row = f"({native(8, lanes)})", "((const u8x16 *)(table))[n]"
    twice = listed(lane % ROW for lane in range(lanes))
    changed = f"{row} ^ {row.replace('[n]', '[(n) - 1]')}"
    in_one = f"""#define in_{lanes}(row, codes) \\
  __builtin_ia32_pshufb{size}( \\
      {broken(f"{bytes}__builtin_shufflevector(row, row, {twice})")}, codes)"""
    in_many = f"""#define in_row_{lanes}(codes, table, n) \\
  in_{lanes}({row}, codes)
#if defined(__clang__)
#define less_{lanes}(codes, number) \\
  __builtin_elementwise_sub_sat(codes, {bytes}{{0}} + (char)(number))
#else
#define less_{lanes}(codes, number) \\
  __builtin_ia32_psubsb{size}(codes, {bytes}{{0}} + (char)(number))
#endif
#define next_row_{lanes}(found, codes, table, n, passed) \\
  (codes = less_{lanes}(codes, passed), \\
   found ^= in_{lanes}({changed}, codes))"""
    is_in_many = f"in_row_{lanes}" in used
    return [in_one] * (is_in_many or f"word_in_row_{lanes}" in used) + [in_many] * is_in_many


def _widened(lanes: int, builtin: str) -> str:
    """So many bytes in a register, whose others are anything: gcc takes a shuffle by way of memory."""
    part, others = f"(u64x{lanes // PART})(x)", ", -1" * ((REGISTER - lanes) // PART)
    numbers = listed(range(lanes // PART)) + others
    return f"""#if defined(__clang__)
#define widened_{lanes}(x) __builtin_shufflevector({part}, {part}, {numbers})
#else
#define widened_{lanes}(x) __builtin_ia32_{builtin}(({native(32, lanes)})(x))
#endif"""


_WIDENED = {16: _widened(16, "si512_si"), 32: _widened(32, "si512_256si")}
_TEXTS = {
    64: f"""#if defined(__clang__)
#define byte_of_64(codes, table) \\
  __builtin_ia32_permvarqi512({_NATIVE}(table)[0], {_NATIVE}(codes))
#else
#define byte_of_64(codes, table) \\
  __builtin_ia32_permvarqi512_mask( \\
      {_NATIVE}(table)[0], {_NATIVE}(codes), \\
      {_NATIVE}(table)[0], UINT64_MAX)
#endif""",
    128: f"""#if defined(__clang__)
#define byte_of_128(codes, table) \\
  __builtin_ia32_vpermi2varqi512( \\
      {_NATIVE}(table)[0], {_NATIVE}(codes), \\
      {_NATIVE}(table)[1])
#else
#define byte_of_128(codes, table) \\
  __builtin_ia32_vpermt2varqi512_mask( \\
      {_NATIVE}(codes), {_NATIVE}(table)[0], \\
      {_NATIVE}(table)[1], UINT64_MAX)
#endif""",
    256: f"""#if defined(__clang__)
#define byte_of_256(codes, table) \\
  __builtin_ia32_selectb_512( \\
      __builtin_ia32_cvtb2mask512({_NATIVE}(codes)), \\
      byte_of_128(codes, (table) + 2), byte_of_128(codes, table))
#else
#define byte_of_256(codes, table) \\
  __builtin_ia32_blendmb_512_mask( \\
      byte_of_128(codes, table), byte_of_128(codes, (table) + 2), \\
      __builtin_ia32_cvtb2mask512({_NATIVE}(codes)))
#endif""",
}
