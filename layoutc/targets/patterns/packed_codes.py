"""
Codes of 4 bits that share bytes, each in the low bits of a lane of 32 bits: from memory to there by one step or two.

    %wide = arith.extui %bytes : vector<8xi8> to vector<8xi16>
    %moved = arith.shli %wide, %c4 : vector<8xi16>
    %parts = arith.andi (arith.ori %wide, %moved), %c3855 : vector<8xi16>
    %codes = vector.bitcast %parts : vector<8xi16> to vector<16xi8>
    %lanes = arith.extui %codes : vector<16xi8> to vector<16xi32>

All bytes stand in each lane, as a load leaves them there; what remains is to shift each lane's code down.
"""

from __future__ import annotations

from dataclasses import replace
from typing import cast

from xdsl.dialects import arith
from xdsl.ir import Operation, SSAValue

from layoutc.targets.patterns.macro_call import MacroCall
from layoutc.targets.words.c_text import broken, by_gcc, either, first_found, listed
from layoutc.targets.words.c_vector_types import VectorType as Named
from layoutc.targets.words.c_vector_types import macro, native
from layoutc.targets.words.vectors import behind, lane_bits, lanes_in, splat, uncast
from layoutc.walk import operands

BITS, BYTE, WORD = 4, 8, 32
"""of a code, of a byte, and of a lane"""
LANES = (8, 16)
"""of a register"""
REGISTER = 64
"""bytes of a register that such a shift fills"""
MASK, KEPT = 0xF, 0x0F0F
"""the bits of a code, and of two in bytes of their own"""
MULTISHIFT = "__builtin_ia32_vpmultishiftqb512"
BY_MULTISHIFT = {
    by_gcc("AVX512VBMI"): "_mask({0}, {1}, {0}, UINT64_MAX)",
    "defined(__AVX512VBMI__)": "({0}, {1})",
}
"""the condition of processors that have it -> what gcc calls it with, and clang"""
LOW_CODES, CODES, SIGNED_CODES = "low_codes", "codes", "signed_codes"
"""the macros: whose lanes have codes as their low bits and anything above, and whose lanes are codes"""


def packed_codes(op: Operation) -> MacroCall | None:
    """The lanes that an op makes of codes that share bytes, if it does."""
    result = op.results[0]
    if lane_bits(result.type) != WORD or lanes_in(result) not in LANES or lane_bits(operands(op)[0].type) != BYTE:
        return None
    bytes = _bytes(uncast(operands(op)[0]))
    if bytes is None or BYTE * lanes_in(bytes) != BITS * lanes_in(result):
        return None
    type = Named("u", WORD, lanes_in(result))
    return MacroCall(f"{LOW_CODES if _is_cut(result) else CODES}_{type}", (bytes,), type)


def signed_codes(op: Operation) -> MacroCall | None:
    """The same of numbers with a sign, which are made of such lanes."""
    sign = 1 << BITS - 1
    lanes = behind(op.results[0], (arith.SubiOp, sign), (arith.XOrIOp, sign))
    if lanes is None or lanes.owner.__class__ is not arith.ExtUIOp or not lanes.has_one_use():
        return None
    found = packed_codes(cast("Operation", lanes.owner))
    if found is None or found.type is None:
        return None
    type = replace(found.type, kind="i")
    return MacroCall(f"{SIGNED_CODES}_{type}", found.operands, type)


def _bytes(parts: SSAValue) -> SSAValue | None:
    """The bytes whose codes lie in bytes of their own, two in each lane."""
    both = behind(parts, (arith.AndIOp, KEPT))
    if both is None or both.owner.__class__ is not arith.OrIOp:
        return None
    wide, moved = operands(cast("Operation", both.owner))
    bytes = behind(wide, (arith.ExtUIOp, None)) if behind(moved, (arith.ShLIOp, BITS)) is wide else None
    return bytes if bytes is not None and lane_bits(bytes.type) == BYTE else None


def _is_cut(lanes: SSAValue) -> bool:
    """Whether nobody asks for more than the bits of the codes."""
    users = [use.operation for use in lanes.uses]
    return all(user.__class__ is arith.AndIOp and splat(operands(user)[1]) == MASK for user in users)


def codes_need(used: set[str]) -> set[str]:
    """The macros that those of lanes that are codes call."""
    return {f"{LOW_CODES}{name.removeprefix(CODES)}" for name in used if name.startswith(f"{CODES}_")}


def codes(type: Named) -> str:
    """The macro of lanes that are codes."""
    return f"#define {CODES}_{type}(bytes) ({LOW_CODES}_{type}(bytes) & {MASK})"


def low_codes(type: Named) -> str:
    """The macro of lanes with anything above their codes."""
    name, given = f"{LOW_CODES}_{type}", _all_bytes(type)
    ways = BY_MULTISHIFT if type.bytes == REGISTER else {}
    texts = {condition: _multishift(name, type, called) for condition, called in ways.items()}
    texts["defined(__AVX2__)"] = macro(name, "bytes", *given, f"lanes_ >> {broken(_places(type))}")
    return first_found(texts, macro(name, "bytes", *given, f"({_moved_up(type)}) >> {WORD - BITS}"))


def signed_codes_text(type: Named) -> str:
    """The macro of lanes that are numbers with a sign, which are moved to the top, and down from there."""
    lanes, name = replace(type, kind="u"), f"{SIGNED_CODES}_{type}"
    shifted = f"({type})(lanes_ << ({WORD - BITS} - {_places(lanes)}))"
    moved = f"({type})({_moved_up(lanes)})"
    texts = [macro(name, "bytes", *_all_bytes(lanes), f"{each} >> {WORD - BITS}") for each in (shifted, moved)]
    return either("defined(__AVX2__)", *texts)


def _all_bytes(type: Named) -> tuple[str, str]:
    """The bytes in each lane, or those of them that a lane has room for."""
    held = f"uint{BITS * type.lanes}_t"
    words = [f"(uint32_t)(x_ >> {BITS * lane // WORD * WORD})" for lane in range(type.lanes)]
    return f"const {held} x_ = ({held})(bytes)", f"const {type} lanes_ = {{ \\\n      {broken(listed(words))}}}"


def _places(type: Named) -> str:
    """How far up in a lane its code is."""
    return f"({type}){{{listed(BITS * lane % WORD for lane in range(type.lanes))}}}"


def _moved_up(type: Named) -> str:
    """Codes as the upper bits of lanes, on processors that shift all lanes alike."""
    factors = (1 << WORD - BITS - BITS * lane % WORD for lane in range(type.lanes))
    return broken(f"lanes_ * ({type}){{{listed(map(hex, factors))}}}")


def _multishift(name: str, type: Named, called: str) -> str:
    """Each lane takes 8 bits from any place of the 64 bits that it stands in, which are all bytes."""
    places = (sum(2 * BITS * pair + BITS * half << WORD * half for half in range(2)) for pair in range(REGISTER // 8))
    bytes = native(8, REGISTER)
    return macro(
        name,
        "bytes",
        "const uint64_t x_ = (uint64_t)(bytes)",
        f"const u64x8 all_ = {{{listed(['x_'] * 8)}}}",
        f"const u64x8 places_ = {{ \\\n      {broken(listed(map(hex, places)))}}}",
        f"({type}){MULTISHIFT}{called.format(f'({bytes})places_', f'({bytes})all_')}",
    )
