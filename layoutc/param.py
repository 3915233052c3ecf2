"""Param: the values of a scale or of a zero point, constant or given later, common or one per group of indices."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from itertools import pairwise
from math import isfinite, prod
from typing import Any, TypeAlias

from layoutc.checks import integer, integers, shown
from layoutc.element_type import ElementType, TypeName, element_type
from layoutc.errors import LayoutcError

Number: TypeAlias = "int | float"

MAX_SHOWN = 3
MAX_NESTED = 12
"""sequences within each other: one for each axis of the highest rank"""


@dataclass(frozen=True, slots=True)
class Grouping:
    """Which elements share a value: so many (`groups`) neighbours along each of the `axes`; values lie row-major."""

    axes: tuple[int, ...]
    groups: tuple[int, ...]

    def shape(self, dims: Sequence[int]) -> tuple[int, ...]:
        """How many values there are along each of the axes of a tensor."""
        return tuple(dims[axis] // group for axis, group in zip(self.axes, self.groups, strict=True))

    def group(self, axis: int) -> int:
        """Neighbours along an axis that share a value; 1 along others, where values are apart by a stride of 0."""
        return self.groups[self.axes.index(axis)] if axis in self.axes else 1

    def stride(self, axis: int, dims: Sequence[int]) -> int:
        """Values from one group along an axis to the next; 0 where all share a value."""
        if axis not in self.axes:
            return 0
        return prod(self.shape(dims)[self.axes.index(axis) + 1 :])


@dataclass(frozen=True)
class Param:
    """
    The values of a scale or of a zero point.

    `values` are constants, row-major over the logical `axes` in increasing order; an array or nested sequences are
    flattened, and must have the shape that axes and groups give, or axes of 1 beside it. `None`: they are given when
    the kernel is called. Without `axes` there is one value for all elements.
    `groups` has one size per axis, 1 by default: so many neighbours along the axis share a value, and the axis's dim
    is a multiple of it. `dtype` is the element type that the values are stored in, and rounded to if need be: f32
    (default), f16, bf16 or e8m0 for scales; s32 (default), s8, u8, s4, u4, f32, f16 or bf16 for zero points.
    Raises LayoutcError.
    """

    values: tuple[Number, ...] | None = None
    axes: tuple[int, ...] = ()
    groups: tuple[int, ...] = ()
    dtype: ElementType | None = None
    given_shape: tuple[int, ...] = field(default=(), init=False, repr=False, compare=False)
    """of the values before they were flattened"""

    def __init__(
        self,
        values: object = None,
        axes: Sequence[int] | int = (),
        groups: Sequence[int] | int = (),
        dtype: TypeName | None = None,
    ):
        put = object.__setattr__
        put(self, "dtype", None if dtype is None else element_type(dtype))
        numbers, shape = (None, ()) if values is None else _numbers(values)
        put(self, "values", numbers)
        put(self, "given_shape", shape)
        put(self, "axes", integers("parameter axes", (axes,) if isinstance(axes, int) else axes))
        put(self, "groups", integers("groups", (groups,) if isinstance(groups, int) else groups, 1))
        if any(a >= b for a, b in pairwise(self.axes)):
            raise LayoutcError(f"parameter axes {self.axes} are not in increasing order")
        if self.groups and len(self.groups) != len(self.axes):
            raise LayoutcError(f"got {len(self.groups)} groups, expected {len(self.axes)}, one per axis")
        put(self, "groups", self.groups or (1,) * len(self.axes))
        if self.values is not None and self.dtype is not None:
            put(self, "values", tuple(stored(value, self.dtype) for value in self.values))

    @property
    def is_constant(self) -> bool:
        """Whether the values are known."""
        return self.values is not None

    @property
    def grouping(self) -> Grouping:
        """Which elements share a value."""
        return Grouping(self.axes, self.groups)

    def of_type(self, type: ElementType) -> Param:
        """The same values, stored as a type."""
        typed = replace(self, dtype=type)
        object.__setattr__(typed, "given_shape", self.given_shape)
        return typed

    @property
    def type(self) -> ElementType:
        """What the values are stored in; a parameter of a Conversion always has it."""
        if self.dtype is None:
            raise LayoutcError("a parameter has no element type of its own, expected one of a Conversion")
        return self.dtype

    def shape(self, dims: Sequence[int]) -> tuple[int, ...]:
        """How many values there are along each of the `axes` of a tensor."""
        return self.grouping.shape(dims)

    def size_bytes(self, dims: Sequence[int]) -> int:
        """Bytes of the values of a tensor of these dims; 4-bit ones are packed, the first in the low bits."""
        return self.type.size_bytes(prod(self.shape(dims)))

    def check(self, name: str, dims: Sequence[int]) -> None:
        """Raises LayoutcError unless there is one value per group along each axis of a tensor of these dims."""
        for axis, group in zip(self.axes, self.groups, strict=True):
            if axis >= len(dims):
                raise LayoutcError(f"{name} has a value per index of axis {axis}, the tensor has rank {len(dims)}")
            if dims[axis] % group:
                raise LayoutcError(f"{name} has groups of {group} along axis {axis}, of dim {dims[axis]}")
        expected = prod(self.shape(dims))
        if self.values is not None and len(self.values) != expected:
            where = f"for axes {self.axes}" if self.axes else "as no axes are given"
            values = "1 value" if len(self.values) == 1 else f"{len(self.values)} values"
            raise LayoutcError(f"{name} has {values}, expected {expected} {where}")
        if self.values is not None:
            self.check_shape(name, dims, self.given_shape)

    def check_shape(self, name: str, dims: Sequence[int], shape: tuple[int, ...]) -> None:
        """Raises LayoutcError unless values of this shape are flat, or lie as those of a tensor of these dims do."""
        expected = self.shape(dims)
        if shape != (prod(expected),) and [n for n in shape if n > 1] != [n for n in expected if n > 1]:
            raise LayoutcError(f"{name} has shape {shape}, expected {expected}")

    def __str__(self) -> str:
        text = "argument" if self.values is None else _listed(self.values)
        if self.axes:
            text += f" of axes {list(self.axes)}"
        if any(group > 1 for group in self.groups):
            text += f" in groups of {list(self.groups)}"
        return f"{text} {self.type}" if self.dtype else text


def _numbers(values: Any, nested: int = 0) -> tuple[tuple[Number, ...], tuple[int, ...]]:
    """All numbers of nested sequences or of an array, row-major, and their shape."""
    if hasattr(values, "tolist") and not isinstance(values, type):
        values = values.tolist()
    if not isinstance(values, Iterable) or isinstance(values, str | bytes | Mapping | Set):
        return (number(values, "value of a parameter"),), ()
    if nested == MAX_NESTED:
        raise LayoutcError(f"values of a parameter are nested more than {MAX_NESTED} deep")
    parts = [_numbers(value, nested + 1) for value in values]  # pyright: ignore[reportUnknownVariableType]
    shapes = sorted({shape for _, shape in parts})
    if len(shapes) > 1:
        raise LayoutcError(f"values of a parameter have parts of shapes {shapes[0]} and {shapes[1]} side by side")
    return tuple(value for numbers, _ in parts for value in numbers), (len(parts), *(shapes[0] if shapes else ()))


def number(value: Any, name: str) -> Number:
    if isinstance(value, bool) or not hasattr(value, "__float__") or isinstance(value, str | bytes):
        raise LayoutcError(f"{name} {shown(repr(value) if isinstance(value, str | bytes) else value)} is no number")
    if hasattr(value, "__index__"):
        return integer(name, value, -(2**63))
    try:
        found = float(value)
    except (TypeError, ValueError, OverflowError) as error:
        raise LayoutcError(f"{name} {shown(value)} is no number: {error}") from None
    if not isfinite(found):
        raise LayoutcError(f"{name} {found} is not finite")
    return found


def stored(value: Number, type: ElementType) -> Number:
    """The value as the type holds it: floats are rounded, integers and e8m0 must be values of the type."""
    if type.float_format is None:
        if value != int(value) or int(value) not in type.integer_range:
            low, high = type.integer_range[0], type.integer_range[-1]
            raise LayoutcError(f"value {value} is no {type}, expected an integer from {low} to {high}")
        return int(value)
    found = type.float_format.nearest(float(value))
    if not isfinite(found):
        raise LayoutcError(f"value {value} is past the largest {type}, {float(type.float_format.max):g}")
    if type.name == "e8m0" and (found != value or found <= 0):
        raise LayoutcError(f"value {value} is no {type}, expected a power of two from 2^-127 to 2^127")
    return found


def _listed(values: tuple[Number, ...]) -> str:
    shown_values = ", ".join(f"{value:g}" for value in values[:MAX_SHOWN])
    if len(values) == 1:
        return shown_values
    return f"[{shown_values}{', ...' if len(values) > MAX_SHOWN else ''}]"
