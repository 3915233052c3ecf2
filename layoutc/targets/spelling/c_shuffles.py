"""
Shuffles that come often: each mask becomes a macro, so that its lanes are read once, by people and compilers.

So does each that moves lanes in a way of its own.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any, NamedTuple, cast

from xdsl.dialects import vector
from xdsl.dialects.builtin import VectorType
from xdsl.ir import Operation

from layoutc.targets.words.c_covered import COVERED_BITS, covering
from layoutc.targets.words.c_joined import is_joining, joining
from layoutc.targets.words.c_text import MAX_WIDTH, listed, wrapped
from layoutc.targets.words.c_types import lane_count, type_name, vector_name, width
from layoutc.targets.words.vectors import shuffled
from layoutc.walk import operands

MIN_USES, MIN_LANES = 3, 16
"""below which a shuffle is read best with its lanes in place"""

BUILTIN = "__builtin_shufflevector"
DOUBLES = 8
"""of the registers whose shuffles of doubles gcc 12 gets wrong"""
REGISTER_BITS, WORD_BITS, WIDEST_BITS = 128, 32, 64
WITHOUT_BYTES = """// Without shuffles of bytes gcc would move one lane at a time.
#if defined(__SSE2__) && !defined(__SSSE3__)"""
"""x86-64 before SSSE3, whose registers have so many bits, and which shuffles words of so many at will"""


class _Shuffle(NamedTuple):
    """What is called, the lanes that stand behind the vectors, and the types of the result and of the vectors."""

    name: str
    lanes: str = ""
    result: str = ""
    vectors: str = ""


class Shuffles:
    """The names of masks in one file."""

    def __init__(self, ops: Iterable[Operation]) -> None:
        shuffles = [op for op in ops if op.__class__ is vector.ShuffleOp and not is_joining(op)]
        masks = Counter(map(shuffled, shuffles))
        self._covers = _most_stay(shuffles)
        self._often = {mask for mask, uses in masks.items() if uses >= MIN_USES and len(mask) >= 8 * MIN_LANES}
        self._known: dict[tuple[bytes, str, bool], _Shuffle] = {}
        self._names: dict[tuple[bytes, str], str] = {}
        self._always: list[str] = []
        self._special: list[str] = []
        self._otherwise: list[str] = []

    def call(self, op: vector.ShuffleOp, first: str, second: str) -> str:
        """The text of a shuffle of two vectors."""
        if is_joining(op):
            return joining(op, first, second)
        source, other = operands(op)
        key = shuffled(op), type_name(source.type), source is other
        if (known := self._known.get(key)) is None:
            known = self._known[key] = self._shuffle(op)
        if known.result:
            first, second = (f"({known.vectors})({vector})" for vector in (first, second))
        return f"{known.result}{known.name}({first}, {second}{known.lanes})"

    def _shuffle(self, op: vector.ShuffleOp) -> _Shuffle:
        mask, lanes = shuffled(op), op.mask.get_values()
        special, wide = _without_bytes(op, lanes), _widened(op, lanes)
        taking = covering(lanes, _bits(op)) if self._covers and _is_narrow(op, lanes) else ""
        if taking:
            special = wide = ""
        if mask not in self._often and not (special or wide):
            return _Shuffle(taking or BUILTIN, "".join(f", {lane}" for lane in lanes), *_types(op))
        key = mask, special or wide
        if key not in self._names:
            self._names[key] = f"shuffle_{len(self._names) + 1}"
            self._define(self._names[key], wide or _builtin(lanes, "a", "b", taking or BUILTIN), special)
        return _Shuffle(self._names[key])

    def _define(self, name: str, text: str, special: str) -> None:
        if special:
            self._special.append(f"#define {name}(a, b) {special}")
        (self._otherwise if special else self._always).append(_definition(name, text))

    def definitions(self) -> list[str]:
        """The macros that were called."""
        if not self._special:
            return self._always
        special, otherwise = ("\n".join(macros) for macros in (self._special, self._otherwise))
        return [*self._always, f"{WITHOUT_BYTES}\n{special}\n#else\n{otherwise}\n#endif"]


def _types(op: vector.ShuffleOp) -> tuple[str, str]:
    """
    The types that the result and the vectors of a shuffle are cast to, where they are not what they should be.

    gcc 12 puts other lanes than those asked for into registers of 8 doubles: `0, 1, 4, 4, 4, 5, 6, 7` gives
    `0, 1, 2, 2, 4, 5, 6, 7` (it takes a shuffle inside of pairs of lanes). Integers of 64 bits come out right.
    """
    types = [cast("VectorType[Any]", value.type) for value in (op.results[0], op.operands[0])]
    if type_name(types[0].get_element_type()) != "double" or all(type.get_shape() != (DOUBLES,) for type in types):
        return "", ""
    return f"({vector_name(types[0])})", f"i64x{types[1].get_shape()[0]}"


def _most_stay(shuffles: Iterable[Operation]) -> bool:
    """
    Whether lanes of the first vector stay in half of the shuffles of narrow lanes, or more.

    Where fewer do, the constants and copies of those take longer than the others' shuffles: 1.05 to 1.09 of the time.
    """
    known: dict[bytes, int] = {}
    balance = 0
    for op in shuffles:
        if (mask := shuffled(op)) not in known:
            known[mask] = _balance(cast("vector.ShuffleOp", op))
        balance += known[mask]
    return balance >= 0


def _balance(op: vector.ShuffleOp) -> int:
    lanes = op.mask.get_values()
    return (1 if covering(lanes, _bits(op)) else -1) if _is_narrow(op, lanes) else 0


def _is_narrow(op: vector.ShuffleOp, lanes: tuple[int, ...]) -> bool:
    """Whether a shuffle takes lanes of two large registers, which do not move as words."""
    bits, (first, second) = _bits(op), op.operands
    if bits * len(lanes) != COVERED_BITS or first is second:
        return False
    while bits < WORD_BITS and (wider := _pairs_moved(lanes)):
        lanes, bits = wider, 2 * bits
    return bits < WORD_BITS


def _bits(op: vector.ShuffleOp) -> int:
    return width(cast("VectorType[Any]", op.operands[0].type).get_element_type())


def _builtin(lanes: Iterable[int], first: str, second: str, name: str = BUILTIN) -> str:
    return f"{name}({first}, {second}, {listed(lanes)})"


def _definition(name: str, text: str) -> str:
    head, *rest = [f"#define {name}(a, b)", *wrapped(f"  {text}", MAX_WIDTH - 2)]
    return " \\\n".join((head, *rest))


def _widened(op: vector.ShuffleOp, lanes: tuple[int, ...]) -> str:
    """
    How lanes that move together are moved as wider ones, or nothing where none do.

    In registers of more than 16 bytes gcc takes any lanes of two by an index in a third, and does not see that pairs
    of bytes are unpacked. It does see it of words of 4 bytes.
    """
    source, result = (cast("VectorType[Any]", value.type) for value in (op.operands[0], op.results[0]))
    bits, count = width(source.get_element_type()), lane_count(source)
    narrow, moved = bits, lanes
    sizes = bits * count, bits * len(lanes)
    if bits >= WORD_BITS or min(sizes) < REGISTER_BITS or max(sizes) == REGISTER_BITS:
        return ""
    while bits < WIDEST_BITS and (wider := _pairs_moved(moved)):
        moved, bits = wider, 2 * bits
    if bits == narrow:
        return ""
    wide = f"u{bits}x{count * narrow // bits}"
    return f"(({vector_name(result)}){_builtin(moved, f'({wide})(a)', f'({wide})(b)')})"


def _pairs_moved(lanes: tuple[int, ...]) -> tuple[int, ...]:
    """The lanes twice as wide that move so, or none."""
    together = all(b == a + 1 and a % 2 == 0 for a, b in zip(lanes[::2], lanes[1::2], strict=True))
    return tuple(lane // 2 for lane in lanes[::2]) if together else ()


def _without_bytes(op: vector.ShuffleOp, lanes: tuple[int, ...]) -> str:
    """How such a machine moves bytes or pairs of them, or nothing where gcc finds the best by itself."""
    type = cast("VectorType[Any]", op.operands[0].type)
    bits, count = width(type.get_element_type()), len(lanes)
    if bits * count != REGISTER_BITS or bits >= WORD_BITS or type.get_shape() != (count,):
        return ""
    while bits < WORD_BITS and (wider := _pairs_moved(lanes)):
        lanes, bits = wider, 2 * bits
    if bits < WORD_BITS:
        moved = _pairs(lanes, bits)
    else:  # pshufd needs no copy of its operand
        moved = _builtin(lanes, "(u32x4)(a)", "(u32x4)(b)") if op.v1 is op.v2 else ""
    return moved and f"(({vector_name(type)}){moved})"


def _pairs(lanes: tuple[int, ...], bits: int) -> str:
    """A shuffle that takes every second lane of `a`, each before one of `b`, by shifts of lanes twice as wide."""
    count = len(lanes)
    low, high = lanes[0], lanes[1] - count
    expected = tuple(lane for first in range(0, count, 2) for lane in (first + low, count + first + high))
    if {low, high} - {0, 1} or lanes != expected:
        return ""
    wide, ones = f"u{2 * bits}x{count // 2}", (1 << bits) - 1
    first = f"({wide})(a) >> {bits}" if low else f"({wide})(a) & {ones:#x}"
    second = f"({wide})(b) & {ones << bits:#x}" if high else f"({wide})(b) << {bits}"
    return f"(({first}) | ({second}))"
