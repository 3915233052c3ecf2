"""
Integers of vectors made wider and narrower, each as a macro.

gcc 12 takes `__builtin_convertvector` apart, lane by lane, between 8 bits and 32 or where its operand is a part of a
wider vector. Its own names for the processor's instructions spare that; without such, steps by a factor of 2 do. clang
needs none of it.
"""

from __future__ import annotations

from collections.abc import Iterator

from layoutc.targets.words.c_text import broken, listed
from layoutc.targets.words.c_vector_types import (
    KINDS,
    LETTERS,
    VECTOR_TYPE,
    VectorType,
    beside_zeros,
    macro,
    typedef,
    unpacked_lanes,
)

RESIZED = rf"resize_({VECTOR_TYPE})_({VECTOR_TYPE})"
"""a regular expression for the names of the macros; the types are groups 1 and 3"""

REGISTER, LEAST = 16, 4
"""bytes of the least register, and of the least part of one that is taken as an integer"""


def resize_helper(source: VectorType, target: VectorType) -> str:
    """The macro from one type to another of the same kind and as many lanes."""
    name = f"resize_{source}_{target}"
    lines = ["#if defined(__clang__)", f"#define {name}(x) __builtin_convertvector(x, {target})"]
    for condition, statements in _native(source, target):
        lines += [f"#elif {condition}", macro(name, "x", f"const {source} x_ = (x)", *statements)]
    return "\n".join((*lines, "#else", f"#define {name}(x) \\", f"  {_by_steps('x', source, target)}", "#endif"))


def _by_steps(operand: str, source: VectorType, target: VectorType) -> str:
    while source != target:
        bits = source.bits * 2 if source.bits < target.bits else source.bits // 2
        source = VectorType(source.kind, bits, source.lanes)
        operand = f"__builtin_convertvector({operand}, {source})"
    return operand


def _native(source: VectorType, target: VectorType) -> Iterator[tuple[str, list[str]]]:
    """Conditions on the processor, and what is right where they hold."""
    sizes = source.bytes, target.bytes
    if source.bits < target.bits and LEAST <= target.bytes < REGISTER:
        yield "defined(__SSE2__)", _unpacked(source, target)
    if max(sizes) not in (REGISTER, 2 * REGISTER, 4 * REGISTER) or min(sizes) < LEAST:
        return
    if source.bits < target.bits:
        yield _widened(source, target)
        if target.bytes == REGISTER:
            yield "defined(__SSE2__)", _unpacked(source, target)
        return
    if source.bytes == 4 * REGISTER and target.bytes >= REGISTER:
        yield _picked(source, target)
    yield _narrowed(source, target)
    if source.bytes <= 2 * REGISTER:
        register, step = VectorType("i", target.bits, source.bytes * 8 // target.bits), source.bits // target.bits
        picked = listed(range(0, source.lanes * step, step))
        shuffled = [f"const {register} y_ = ({register})x_", f"({target})__builtin_shufflevector(y_, y_, {picked})"]
        yield f"defined(__{'SSSE3' if source.bytes == REGISTER else 'AVX2'}__)", shuffled


def _widened(source: VectorType, target: VectorType) -> tuple[str, list[str]]:
    sign, letters = "z" if source.kind == "u" else "s", LETTERS[source.bits] + LETTERS[target.bits]
    builtin = f"__builtin_ia32_pmov{sign}x{letters}{target.bytes * 8}"
    lines, operand = [typedef("from_", source.bits, max(REGISTER, source.bytes))], "x_"
    if source.bytes < REGISTER:
        lines.append(typedef("low_", 64, REGISTER))
        operand = f"(low_){{(long long)({KINDS['u'][source.bytes * 8]})x_, 0}}"
    if target.bytes < 4 * REGISTER:
        feature = "AVX2" if target.bytes > REGISTER else "SSE4_1"
        return f"defined(__{feature}__)", [*lines, f"({target}){builtin}((from_){operand})"]
    lines.append(typedef("to_", target.bits, target.bytes))
    found = f"({target}){builtin}_mask((from_){operand}, (to_){{0}}, {_all(source.lanes)})"
    return f"defined(__AVX512{'BW' if source.bits == 8 and target.bits == 16 else 'F'}__)", [*lines, found]


def _unpacked(source: VectorType, target: VectorType) -> list[str]:
    """In a register of 16 bytes, whose first lanes these are: with zeros above each, or below it, if it has a sign."""
    lines, bits = [typedef("low_", 64, REGISTER)], source.bits
    register = f"(low_){{(long long)({KINDS['u'][source.bytes * 8]})x_, 0}}"
    while bits < target.bits:
        type = VectorType("u", bits, 8 * REGISTER // bits)
        both = beside_zeros(register, type, above=source.kind == "u")
        lines.append(f"const {type} w{2 * bits}_ = __builtin_shufflevector({both}, {unpacked_lanes(type)})")
        bits, register = 2 * bits, f"w{2 * bits}_"
    whole = VectorType(target.kind, bits, 8 * REGISTER // bits)
    found = f"({whole}){register}" if source.kind == "u" else f"(({whole}){register} >> {bits - source.bits})"
    if target.bytes < REGISTER:
        found = f"({KINDS['u'][8 * target.bytes]})((low_){found})[0]"
    return [*map(broken, lines), f"({target}){found}"]


def _narrowed(source: VectorType, target: VectorType) -> tuple[str, list[str]]:
    lines = [
        typedef("from_", source.bits, source.bytes),
        typedef("to_", target.bits, max(REGISTER, target.bytes)),
    ]
    builtin = f"__builtin_ia32_pmov{LETTERS[source.bits]}{LETTERS[target.bits]}{source.bytes * 8}_mask"
    found = f"{builtin}((from_)x_, (to_){{0}}, {_all(source.lanes)})"
    if target.bytes < REGISTER:
        lines.append(typedef("low_", target.bytes * 8, REGISTER))
        found = f"((low_){found})[0]"
    features = ["BW" if source.bits == 16 else "F", *(["VL"] if source.bytes < 4 * REGISTER else [])]
    condition = " && ".join(f"defined(__AVX512{feature}__)" for feature in features)
    return condition, [*lines, f"({target}){found}"]


def _picked(source: VectorType, target: VectorType) -> tuple[str, list[str]]:
    """The low bytes of all lanes by one shuffle of bytes, where narrowing takes Intel's processors two."""
    taken, step = target.bits // 8, source.bits // 8
    lanes = listed(lane * step + byte for lane in range(source.lanes) for byte in range(taken))
    register = typedef("register_", 8, 4 * REGISTER)
    lines = [register, typedef("words_", 64, 4 * REGISTER), f"const register_ lanes_ = {{{lanes}}}"]
    found = "__builtin_ia32_permvarqi512_mask((register_)x_, lanes_, (register_){0}, (uint64_t)-1)"
    lines.append(f"const words_ picked_ = (words_){found}")
    picked = listed(range(target.bytes // 8))
    return "defined(__AVX512VBMI__)", [*lines, f"({target})__builtin_shufflevector(picked_, picked_, {picked})"]


def _all(lanes: int) -> str:
    """The mask of all lanes."""
    return f"{(1 << lanes) - 1:#x}"
