"""Affine expressions as MLIR spells them, without needing xDSL: `n * 480 + (c floordiv 8) * 160 + c mod 8`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from layoutc.descriptor import MemoryDesc
from layoutc.layout import Digit, generic_names

if TYPE_CHECKING:
    from xdsl.ir.affine import AffineMap


@dataclass(frozen=True, slots=True)
class AffineText:
    """The text of an affine expression; its operators build longer texts, with parentheses where MLIR has them."""

    text: str
    is_atom: bool = True

    def __add__(self, other: AffineText | int) -> AffineText:
        return AffineText(f"{self} + {other}", is_atom=False)

    def __mul__(self, factor: int) -> AffineText:
        return self._with("*", factor)

    def __floordiv__(self, divisor: int) -> AffineText:
        return self._with("floordiv", divisor)

    def __mod__(self, modulus: int) -> AffineText:
        return self._with("mod", modulus)

    def _with(self, operator: str, number: int) -> AffineText:
        operand = self.text if self.is_atom else f"({self.text})"
        return AffineText(f"{operand} {operator} {number}", is_atom=False)

    def __str__(self) -> str:
        return self.text


def offset_text(desc: MemoryDesc, names: Sequence[str] = ()) -> str:
    """The offset map of a descriptor in terms of `names`, by default those of its axes."""
    index = [AffineText(name) for name in names or desc.layout.axis_names]
    return str(desc.coordinate_offset([desc.group_coordinate(group, index) for group in desc.layout.groups]))


def digit_texts(desc: MemoryDesc) -> list[AffineText]:
    """Every digit of a descriptor, slowest first."""
    index = [AffineText(name) for name in generic_names(desc.rank)]
    return [digit_expr(digit, desc.extents, index) for digit in desc.layout.digits]


def strided_sum(desc: MemoryDesc) -> str:
    """The offset as a sum of every digit times its stride, of those too that are 0 at all indices of these dims."""
    digits = zip(desc.layout.digits, digit_texts(desc), desc.strides, strict=True)
    terms = [str(text if stride == 1 else text * stride) for digit, text, stride in digits if digit.modulus != 1]
    return " + ".join([*terms, str(desc.base_offset)] if desc.base_offset else terms)


def digit_expr(digit: Digit, extents: Sequence[int], index: Sequence[Any]) -> Any:
    """A digit of an index of affine expressions, or of texts of them; `extents` matter for flattened axes only."""
    first, *rest = digit.axes
    expr = index[first]
    for axis in rest:
        expr = expr * extents[axis] + index[axis]
    if digit.divisor != 1:
        expr = expr // digit.divisor
    return expr if digit.modulus is None else expr % digit.modulus


def map_text(map: AffineMap) -> str:
    """`(d0, d1) -> (d0, d1 floordiv 8, d1 mod 8)`."""
    dims: list[Any] = [AffineText(f"d{axis}") for axis in range(map.num_dims)]
    results = map.eval(dims, [])
    return f"({', '.join(str(dim) for dim in dims)}) -> ({', '.join(str(result) for result in results)})"
