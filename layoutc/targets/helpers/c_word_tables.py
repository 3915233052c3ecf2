"""
Functions of bytes whose results have two bytes, looked up where processors choose words, or any bytes, from registers.

What few codes become is a register of words, of which one instruction chooses by the low bits of its lanes:

    static const u8x64 number_table[1] = {{0x00, 0x00, 0x00, 0x3c, ...}};
    #define number(given) \\
      __extension__ ({ \\
        const u8x32 given_in = (given); \\
        (u16x32)word_of_32(given_in, number_table); \\
      })

What 256 become are two tables of bytes (`c_byte_tables`), of the lower ones and of the upper ones behind them; one more
shuffle puts what they have beside each other. So do processors with AVX2 what few codes become, of which a row of bytes
is chosen from for either.
"""

from __future__ import annotations

from layoutc.targets.helpers.c_byte_tables import CAN_LOOK_UP, CAN_LOOK_UP_ROWS, PART, REGISTER, shortest
from layoutc.targets.words.c_text import broken, listed
from layoutc.targets.words.c_vector_types import native, typedef

WORDS_OF = (16, 32)
"""how many lanes are looked up at once"""
CAN_LOOK_UP_WORDS = "defined(__AVX512BW__) && defined(__AVX512VL__)"
BY_ROWS = (16,)
"""how many lanes are chosen from rows of bytes"""
WORD_OF = r"(word_of|beside|word_in_row)_\d+_?"
"""a regular expression for the names of the macros"""
FEW = 16
"""codes whose words a register of 32 bytes holds"""


def words_held(table: bytes) -> bytes:
    """The registers that words are looked up in: that of the few there are, or of lower bytes, then of upper ones."""
    return _few(table) or b"".join(_parts(table))


def words_looked_up(given: str, lanes: int, type: str, name: str, table: bytes) -> list[tuple[str, list[str]]]:
    """Conditions, and each one's statements of a macro whose last one is what a table of words has for its argument."""
    if _few(table):
        rows = [(CAN_LOOK_UP_ROWS, [f"({type})word_in_row_{lanes}({given}, {name});"])] if lanes in BY_ROWS else []
        return [(CAN_LOOK_UP_WORDS, [f"({type})word_of_{lanes}({given}, {name});"]), *rows]
    low, upper = map(len, _parts(table))
    statements = [
        f"const u8x{REGISTER} codes_ = (u8x{REGISTER})widened_{lanes}({given});",
        f"const u8x{REGISTER} low_ = (u8x{REGISTER})byte_of_{low}(codes_, {name});",
        f"const u8x{REGISTER} upper_ = (u8x{REGISTER})byte_of_{upper}(codes_, {name} + {low // REGISTER});",
        f"({type})beside_{lanes}(low_, upper_);",
    ]
    return [(CAN_LOOK_UP, statements)]


def _few(table: bytes) -> bytes:
    """A register of the words of few codes, if all others have the same as these; empty if not."""
    few = table[: 2 * FEW]
    return few * (REGISTER // len(few)) if few * (len(table) // len(few)) == table else b""


def _parts(table: bytes) -> tuple[bytes, bytes]:
    """The table of the lower bytes, and that of the upper ones."""
    return shortest(table[::2]), shortest(table[1::2])


def word_tables_prelude(used: set[str]) -> list[str]:
    """The macros that are among the words that code uses."""
    found: list[str] = []
    for lanes in WORDS_OF:
        if f"word_of_{lanes}" in used:
            found.append(f"#if {CAN_LOOK_UP_WORDS}\n{_word_of(lanes)}\n#endif")
        if f"beside_{lanes}" in used:
            found.append(f"#if {CAN_LOOK_UP}\n{_beside(lanes)}\n#endif")
        if f"word_in_row_{lanes}" in used:
            found.append(f"#if {CAN_LOOK_UP_ROWS}\n{_word_in_row(lanes)}\n#endif")
    return found


def _word_of(lanes: int) -> str:
    """Codes become words, whose upper bits are not looked at."""
    register, bits, every = f"({native(16, 2 * lanes)})", 16 * lanes, hex((1 << lanes) - 1)
    held = "(table)[0]"
    if 2 * lanes < REGISTER:
        part = listed(range(2 * lanes // PART))
        held = broken(f"__builtin_shufflevector((u64x8){held}, (u64x8){held}, {part})")
    codes = f"resize_u8x{lanes}_u16x{lanes}((u8x{lanes})(codes))"
    return f"""#if defined(__clang__)
#define word_of_{lanes}(codes, table) \\
  __builtin_ia32_permvarhi{bits}( \\
      {register}{held}, \\
      {register}{codes})
#else
#define word_of_{lanes}(codes, table) \\
  __builtin_ia32_permvarhi{bits}_mask( \\
      {register}{held}, \\
      {register}{codes}, \\
      {register}{{0}}, {every})
#endif"""


def _beside(lanes: int) -> str:
    """The first bytes of two registers in turns."""
    bytes = f"({native(8, REGISTER)})"
    numbers = broken(listed(n for lane in range(lanes) for n in (lane, REGISTER + lane)))
    others = "" if 2 * lanes == REGISTER else ", " + listed([0] * (REGISTER - 2 * lanes))
    places = f"{bytes}{{{numbers}{others}}}"
    both = f"beside_{lanes}_(low, upper)"
    part = both if 2 * lanes == REGISTER else f"__builtin_shufflevector((u64x8){both}, (u64x8){both}, 0, 1, 2, 3)"
    return f"""#if defined(__clang__)
#define beside_{lanes}_(low, upper) \\
  __builtin_ia32_vpermi2varqi512({bytes}(low), {places}, {bytes}(upper))
#else
#define beside_{lanes}_(low, upper) \\
  __builtin_ia32_vpermt2varqi512_mask({places}, {bytes}(low), {bytes}(upper), UINT64_MAX)
#endif
#define beside_{lanes}(low, upper) \\
  {part}"""


def _word_in_row(lanes: int) -> str:
    """The same, whose lower bytes and upper ones are chosen from a row each, by the low 4 bits of codes."""
    low, upper = (listed(range(part, 2 * FEW, 2)) for part in range(2))
    numbers = listed(n for lane in range(lanes) for n in (lane, lanes + lane))
    return f"""#define word_in_row_{lanes}(codes, table) \\
  __extension__ ({{ \\
    {typedef("codes_", 8, lanes)}; \\
    const codes_ code_ = (codes_)(codes) & {FEW - 1}; \\
    const u8x{2 * FEW} held_ = ((const u8x{2 * FEW} *)(table))[0]; \\
    const codes_ low_ = in_{lanes}( \\
        {broken(f"__builtin_shufflevector(held_, held_, {low})")}, code_); \\
    const codes_ upper_ = in_{lanes}( \\
        {broken(f"__builtin_shufflevector(held_, held_, {upper})")}, code_); \\
    {broken(f"__builtin_shufflevector(low_, upper_, {numbers})")}; \\
  }})"""
