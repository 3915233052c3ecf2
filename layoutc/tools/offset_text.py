"""The offset formula of a memory descriptor in the words of its axis names, in MLIR's affine syntax."""

from __future__ import annotations

from dataclasses import dataclass

from layoutc.descriptor import MemoryDesc


@dataclass(frozen=True, slots=True)
class Expression:
    """Text of an affine expression; the operators build longer texts, with parentheses where they are needed."""

    text: str
    is_atom: bool = True

    def __add__(self, other: Expression | int) -> Expression:
        return Expression(f"{self} + {other}", is_atom=False)

    def __mul__(self, factor: int) -> Expression:
        return self._with("*", factor)

    def __floordiv__(self, divisor: int) -> Expression:
        return self._with("floordiv", divisor)

    def __mod__(self, modulus: int) -> Expression:
        return self._with("mod", modulus)

    def _with(self, operator: str, number: int) -> Expression:
        operand = self.text if self.is_atom else f"({self.text})"
        return Expression(f"{operand} {operator} {number}", is_atom=False)

    def __str__(self) -> str:
        return self.text


def offset_text(desc: MemoryDesc) -> str:
    """The offset in elements of a logical index: `n * 480 + (c floordiv 8) * 160 + h * 32 + w * 8 + c mod 8`."""
    index = [Expression(name) for name in desc.layout.axis_names]
    return str(desc.coordinate_offset([desc.group_coordinate(group, index) for group in desc.layout.groups]))
