"""The names of GNU C's vector types in emitted code."""

from __future__ import annotations

from dataclasses import dataclass

VECTOR_TYPE = r"[fiu](8|16|32|64)x\d+"
"""a regular expression for the names"""

KINDS = {"f": {32: "float", 64: "double"}} | {
    kind: {bits: f"{sign}int{bits}_t" for bits in (8, 16, 32, 64)} for kind, sign in (("i", ""), ("u", "u"))
}

NATIVE_LANES = {8: "char", 16: "short", 32: "int", 64: "long long"}
"""bits of a lane -> its type in the vectors that compilers' names for instructions take"""
LETTERS = {8: "b", 16: "w", 32: "d", 64: "q"}
MODES = {8: "qi", 16: "hi", 32: "si", 64: "di"}
"""bits of a lane -> what such names have in them"""


def native(bits: int, size: int) -> str:
    """The vector of so many bytes that such names take."""
    return f"{NATIVE_LANES[bits]} __attribute__((vector_size({size})))"


def typedef(name: str, bits: int, size: int) -> str:
    """The same under a name."""
    return f"typedef {NATIVE_LANES[bits]} {name} __attribute__((vector_size({size})))"


@dataclass(frozen=True, order=True)
class VectorType:
    """The type `f32x16`, sorted by kind, then lane, then lanes."""

    kind: str
    bits: int
    lanes: int

    @classmethod
    def named(cls, name: str) -> VectorType:
        bits, lanes = name[1:].split("x")
        return cls(name[0], int(bits), int(lanes))

    def __str__(self) -> str:
        return f"{self.kind}{self.bits}x{self.lanes}"

    @property
    def mask(self) -> str:
        """The type of what a comparison of two such vectors gives."""
        return f"i{self.bits}x{self.lanes}"

    @property
    def lane(self) -> str:
        """The C type of a lane."""
        return KINDS[self.kind][self.bits]

    @property
    def bytes(self) -> int:
        return self.bits * self.lanes // 8


def macro(name: str, parameters: str, *statements: str) -> str:
    """A macro whose value is that of its last statement."""
    body = (f"    {statement};" for statement in statements)
    return " \\\n".join((f"#define {name}({parameters})", "  __extension__ ({", *body, "  })"))


def beside_zeros(value: str, type: VectorType, *, above: bool) -> str:
    """
    The operands of a shuffle that unpacks a value with zeros, in lanes of twice as many bits: the zeros are `above`
    each of its lanes, as of a number without a sign, or below it.
    """
    both = f"({type}){value}", f"({type}){{0}}"
    return ", ".join(both if above else reversed(both))


def unpacked_lanes(type: VectorType, begin: str = "") -> str:
    """The lanes of that shuffle: those of both operands in turn, of the first half or from `begin` on."""
    lanes = ((lane, lane + type.lanes) for lane in range(type.lanes // 2))
    return ", ".join(f"{begin}{lane}" for pair in lanes for lane in pair)
