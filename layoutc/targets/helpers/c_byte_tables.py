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
"""

from __future__ import annotations

from layoutc.targets.words.c_text import INDENT, listed

CAN_LOOK_UP = "defined(__AVX512VBMI__)"
REGISTER, PART = 64, 8
"""bytes of a register, and of the parts that it is put together from"""
LOOKED_UP = (16, 32, REGISTER)
"""how many lanes are looked up at once"""
SIZES = (64, 128, 256)
ROW = 16
"""bytes of a line of a table"""
BYTE_OF = r"(byte_of|widened)_\d+"
"""a regular expression for the names of the macros"""
_NATIVE = f"(char __attribute__((vector_size({REGISTER}))))"


def shortest(table: bytes) -> bytes:
    """The first part of a table, if the rest repeats it."""
    return next(table[:size] for size in SIZES if table[:size] * (len(table) // size) == table)


def table_text(name: str, table: bytes) -> str:
    """The registers of a table."""
    registers = [table[start : start + REGISTER] for start in range(0, len(table), REGISTER)]
    rows = (",\n".join(_rows(register)) for register in registers)
    texts = ",\n".join(f"{INDENT}{{\n{row}}}" for row in rows)
    return f"static const u8x{REGISTER} {name}[{len(registers)}] = {{\n{texts}}};"


def _rows(register: bytes) -> list[str]:
    starts = range(0, len(register), ROW)
    return [INDENT * 3 + listed(register[start : start + ROW]) for start in starts]


def looked_up(given: str, lanes: int, type: str, name: str, table: bytes) -> list[str]:
    """The statements of a macro whose last one is what a table has for its argument."""
    found = f"byte_of_{len(table)}"
    if lanes == REGISTER:
        return [f"({type}){found}({given}, {name});"]
    part = listed(range(lanes // PART))
    return [
        f"const u64x8 found_ = (u64x8){found}(widened_{lanes}({given}), {name});",
        f"({type})__builtin_shufflevector(found_, found_, {part});",
    ]


def byte_tables_prelude(used: set[str]) -> list[str]:
    """The macros that are among the words that code uses."""
    sizes = [size for size in SIZES if f"byte_of_{size}" in used]
    if not sizes:
        return []
    needed = sizes if sizes == [SIZES[0]] else [size for size in SIZES if size in sizes or size == SIZES[1]]
    texts = [text for lanes, text in _WIDENED.items() if f"widened_{lanes}" in used] + [_TEXTS[size] for size in needed]
    return [f"#if {CAN_LOOK_UP}\n" + "\n".join(texts) + "\n#endif"]


def _widened(lanes: int, builtin: str) -> str:
    """So many bytes in a register, whose others are anything: gcc takes a shuffle by way of memory."""
    part, others = f"(u64x{lanes // PART})(x)", ", -1" * ((REGISTER - lanes) // PART)
    numbers = listed(range(lanes // PART)) + others
    return f"""#if defined(__clang__)
#define widened_{lanes}(x) __builtin_shufflevector({part}, {part}, {numbers})
#else
#define widened_{lanes}(x) __builtin_ia32_{builtin}((int __attribute__((vector_size({lanes}))))(x))
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
