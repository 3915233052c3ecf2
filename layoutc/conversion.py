"""
Conversion: what a reorder does to the values that it moves.

Element types may differ, and there may be attributes: scales, zero points, `sum`, compensation. One of four
arithmetics follows from the types and the attributes (`Conversion.arithmetic`):

| arithmetic | when | the value that is written |
| --- | --- | --- |
| `move` | equal types, no attributes | the same bits |
| `direct` | no attributes | `convert(x)`, rounded once, from the exact source value |
| `integer` | integers on both sides, integer zero points alone | `saturate((x - src_zp) + dst_zp)`, exactly |
| `f32` | any other attributes | below |

In `f32` each step is one IEEE operation on f32, rounded to nearest even, with subnormals kept, never contracted:

    v = f32(x)                              # the source value, rounded once
    v = v - f32(src_zp)                     # each line is left out where its attribute is not given
    v = v * f32(src_scale)
    v = v + f32(sum) * f32(old)             # two operations: the product, then the sum
    v = v / f32(dst_scale)                  # with `reciprocal`: v * r, where r = 1 / f32(dst_scale) is rounded first
    v = v + f32(dst_zp)
    v = the quiet NaN 0x7fc00000 if v is NaN
    y = convert(v)                          # as in `direct`, from f32 to the destination type

`old` is what lies in the destination before, as it is stored. `docs/conversions.md` has `convert` for every type, and
sources. Block padding becomes zero bits, whatever the attributes.

A common scale that is known to be 1, a common zero point known to be 0 and a sum of 0 are no attributes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from itertools import pairwise
from math import frexp, isfinite, prod
from typing import Any, Literal, TypeAlias

from layoutc.checks import instance, integer, integers, shown
from layoutc.descriptor import MemoryDesc, check_copy
from layoutc.element_type import ElementType, element_type
from layoutc.errors import LayoutcError

Arithmetic = Literal["move", "direct", "integer", "f32"]
Number: TypeAlias = "int | float"

SCALE_TYPES = ("f32", "f16", "bf16", "e8m0")
ZERO_POINT_TYPES = ("s32", "s8", "u8", "s4", "u4", "f32", "f16", "bf16")
MAX_SHOWN = 3


@dataclass(frozen=True)
class Param:
    """
    The values of a scale or of a zero point.

    `values` are constants, row-major over the logical `axes` in increasing order; an array or nested sequences are
    flattened. `None`: they are given when the kernel is called. Without `axes` there is one value for all elements.
    `groups` has one size per axis, 1 by default: so many neighbours along the axis share a value, and the axis's dim
    is a multiple of it. `dtype` is the element type that the values are stored in, and rounded to if need be: f32
    (default), f16, bf16 or e8m0 for scales; s32 (default), s8, u8, s4, u4, f32, f16 or bf16 for zero points.
    Raises LayoutcError.
    """

    values: tuple[Number, ...] | None = None
    axes: tuple[int, ...] = ()
    groups: tuple[int, ...] = ()
    dtype: ElementType | None = None

    def __init__(
        self,
        values: object = None,
        axes: Sequence[int] | int = (),
        groups: Sequence[int] | int = (),
        dtype: ElementType | str | None = None,
    ):
        put = object.__setattr__
        put(self, "dtype", None if dtype is None else element_type(dtype))
        put(self, "values", None if values is None else tuple(_numbers(values)))
        put(self, "axes", integers("parameter axes", (axes,) if isinstance(axes, int) else axes))
        put(self, "groups", integers("groups", (groups,) if isinstance(groups, int) else groups, 1))
        if any(a >= b for a, b in pairwise(self.axes)):
            raise LayoutcError(f"parameter axes {self.axes} are not in increasing order")
        if self.groups and len(self.groups) != len(self.axes):
            raise LayoutcError(f"got {len(self.groups)} groups, expected {len(self.axes)}, one per axis")
        put(self, "groups", self.groups or (1,) * len(self.axes))
        if self.values is not None and self.dtype is not None:
            put(self, "values", tuple(_stored(value, self.dtype) for value in self.values))

    @property
    def is_constant(self) -> bool:
        """Whether the values are known."""
        return self.values is not None

    @property
    def type(self) -> ElementType:
        """What the values are stored in; a parameter of a Conversion always has it."""
        if self.dtype is None:
            raise LayoutcError("a parameter has no element type of its own, expected one of a Conversion")
        return self.dtype

    def shape(self, dims: Sequence[int]) -> tuple[int, ...]:
        """How many values there are along each of the `axes` of a tensor."""
        return tuple(dims[axis] // group for axis, group in zip(self.axes, self.groups, strict=True))

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
            raise LayoutcError(f"{name} has {len(self.values)} values, expected {expected} for axes {self.axes}")

    def __str__(self) -> str:
        text = "argument" if self.values is None else _listed(self.values)
        if self.axes:
            text += f" of axes {list(self.axes)}"
        if any(group > 1 for group in self.groups):
            text += f" in groups of {list(self.groups)}"
        return f"{text} {self.type}" if self.dtype else text


@dataclass(frozen=True)
class Compensation:
    """
    Sums over s8 weights that a reorder appends to them, as oneDNN's integer convolutions and products want them.

    After the data, rounded up to 4 bytes, come s32 values, row-major over the padded dims of the axes:
    `s8s8`: -128 times the sum of the weights that are written, over all other axes; then `asymmetric`: minus the sum.
    Each names its axes, `None` means none; those of block padding are 0. (oneDNN's `scale_adjust` is a
    power of two: a factor of `src_scale`.)
    """

    s8s8: tuple[int, ...] | None = None
    asymmetric: tuple[int, ...] | None = None

    def __post_init__(self) -> None:
        for name, axes in self._named():
            found = None if axes is None else integers(f"{name} axes", axes)
            if found is not None and (not found or any(a >= b for a, b in pairwise(found))):
                raise LayoutcError(f"{name} axes {found} are not one or more in increasing order")
            object.__setattr__(self, name, found)

    @property
    def parts(self) -> tuple[tuple[int, tuple[int, ...]], ...]:
        """(the factor of the sum, its axes) of each part, in the order in which they lie in memory."""
        factors = {"s8s8": -128, "asymmetric": -1}
        return tuple((factors[name], axes) for name, axes in self._named() if axes is not None)

    def offsets_bytes(self, desc: MemoryDesc) -> tuple[int, ...]:
        """Where each part starts in the buffer of `desc`, in bytes, and at the end the size of it all."""
        found = [-(-desc.size_bytes // 4) * 4]
        for _, axes in self.parts:
            found.append(found[-1] + 4 * prod(desc.padded_dims[axis] for axis in axes))
        return tuple(found)

    def check(self, desc: MemoryDesc) -> None:
        """Raises LayoutcError unless it can follow the buffer of `desc`."""
        if desc.element_type.name != "s8":
            raise LayoutcError(f"compensation is of s8 weights, the destination has {desc.element_type}")
        for name, axes in self._named():
            if axes and axes[-1] >= desc.rank:
                raise LayoutcError(f"{name} compensation is per index of axis {axes[-1]}, the rank is {desc.rank}")

    def _named(self) -> tuple[tuple[str, tuple[int, ...] | None], ...]:
        return (("s8s8", self.s8s8), ("asymmetric", self.asymmetric))


@dataclass(frozen=True)
class Conversion:
    """
    The attributes of a reorder. A plain number stands for one value for all elements (see the head of this file).

    `sum` is the factor of what was in the destination. `reciprocal` says that the division by `dst_scale` is the
    product with its reciprocal, rounded to f32: faster, and other by an ulp here and there. Raises LayoutcError.
    """

    src_scale: Param | None = None
    src_zero_point: Param | None = None
    dst_scale: Param | None = None
    dst_zero_point: Param | None = None
    sum: float = 0.0
    reciprocal: bool = False
    compensation: Compensation | None = None

    def __init__(
        self,
        src_scale: Param | float | None = None,
        src_zero_point: Param | float | None = None,
        dst_scale: Param | float | None = None,
        dst_zero_point: Param | float | None = None,
        sum: float | None = 0.0,
        reciprocal: bool = False,
        compensation: Compensation | None = None,
    ):
        put = object.__setattr__
        given = (src_scale, src_zero_point, dst_scale, dst_zero_point)
        for name, param in zip(PARAMS, given, strict=True):
            put(self, name, _parameter(name, param))
        put(self, "sum", _stored(_number(sum or 0.0, "sum"), element_type("f32")))
        instance("reciprocal", reciprocal, bool)
        put(self, "reciprocal", reciprocal and self.dst_scale is not None)
        if compensation is not None:
            instance("compensation", compensation, Compensation)
        put(self, "compensation", compensation if compensation and compensation.parts else None)
        if self.compensation and (self.src_zero_point or self.dst_zero_point or self.sum):
            raise LayoutcError("compensation is of scaled weights alone, got zero points or sum too")

    # --- what is given --------------------------------------------------------------------------------------------

    @cached_property
    def params(self) -> dict[str, Param]:
        """The scales and zero points that are given, by name, in the order of PARAMS."""
        return {name: param for name in PARAMS if (param := getattr(self, name)) is not None}

    @cached_property
    def arguments(self) -> dict[str, Param]:
        """Those whose values are given when the kernel is called, in the order in which it takes them."""
        return {name: param for name, param in self.params.items() if not param.is_constant}

    @property
    def has_attributes(self) -> bool:
        """Whether values are computed with; compensation alone leaves them as they are."""
        return bool(self.params) or self.sum != 0

    @cached_property
    def exact_reciprocals(self) -> tuple[float, ...] | None:
        """
        The reciprocals of `dst_scale` if all are known and exact in f32, so that the product is the quotient.

        Those are powers of two; None where there is another, or an argument.
        """
        if self.dst_scale is None or self.dst_scale.values is None:
            return None
        if any(abs(frexp(value)[0]) != 0.5 for value in self.dst_scale.values):
            return None
        found = tuple(1 / value for value in self.dst_scale.values)
        return found if all(_is_normal(value) for value in found) else None

    def arithmetic(self, source: ElementType, destination: ElementType) -> Arithmetic:
        """Which of the four arithmetics converts between two types."""
        if not self.has_attributes:
            return "move" if source == destination else "direct"
        zero_points = [self.src_zero_point, self.dst_zero_point]
        are_integers = all(p.type.is_integer for p in zero_points if p is not None)
        if len(self.params) == sum(p is not None for p in zero_points) and not self.sum and are_integers:
            return "integer" if source.is_integer and destination.is_integer else "f32"
        return "f32"

    def is_identity(self, source: ElementType, destination: ElementType) -> bool:
        """Whether the reorder moves bits and does nothing else."""
        return self.arithmetic(source, destination) == "move" and self.compensation is None

    # --- against descriptors ---------------------------------------------------------------------------------------

    def destination_bytes(self, destination: MemoryDesc) -> int:
        """What the buffer of the destination must have, with the compensation behind it."""
        if self.compensation is None:
            return destination.size_bytes
        return self.compensation.offsets_bytes(destination)[-1]

    def check(self, source: MemoryDesc, destination: MemoryDesc) -> None:
        """Raises LayoutcError unless a tensor can be reordered between the two with these attributes."""
        check_copy(source, destination)
        for name, param in self.params.items():
            param.check(label(name), source.dims)
        if self.compensation is not None:
            self.compensation.check(destination)

    def __str__(self) -> str:
        parts = [f"{label(name)} {param}" for name, param in self.params.items()]
        if self.reciprocal:
            parts.append("by the reciprocal")
        if self.sum:
            parts.append(f"sum {self.sum:g}")
        if self.compensation:
            parts.append(f"compensation {self.compensation}")
        return ", ".join(parts) or "no attributes"


PARAMS = tuple(field.name for field in fields(Conversion))[:4]
"""the names of the scales and zero points, in the order in which a kernel takes them"""


def label(name: str) -> str:
    """A field's name as words."""
    return name.replace("_", " ")


def _parameter(name: str, given: object) -> Param | None:
    """The parameter with its element type; None for one that changes nothing."""
    is_scale = name.endswith("scale")
    if given is None:
        return None
    param = given if isinstance(given, Param) else Param(given)
    if param.dtype is None:
        param = replace(param, dtype=element_type("f32" if is_scale else "s32"))
    types = SCALE_TYPES if is_scale else ZERO_POINT_TYPES
    if param.type.name not in types:
        raise LayoutcError(f"{label(name)} is of {param.type}, expected one of {' '.join(types)}")
    if param.values is None:
        return param
    if name == "dst_scale" and 0 in param.values:
        raise LayoutcError("dst scale 0 cannot be divided by")
    # Only a common one can be dropped unseen: others are still to be checked against a tensor.
    return None if not param.axes and param.values == (1 if is_scale else 0,) else param


def _numbers(values: Any) -> Iterator[Number]:
    """All numbers of nested sequences or of an array, row-major."""
    if hasattr(values, "tolist"):
        values = values.tolist()
    if isinstance(values, Iterable) and not isinstance(values, str | bytes):
        for value in values:  # pyright: ignore[reportUnknownVariableType]
            yield from _numbers(value)
    else:
        yield _number(values, "value of a parameter")


def _number(value: Any, name: str) -> Number:
    if isinstance(value, bool) or not hasattr(value, "__float__") or isinstance(value, str | bytes):
        raise LayoutcError(f"{name} {shown(value)} is no number")
    try:
        found = integer(name, value, -(2**63)) if hasattr(value, "__index__") else float(value)
    except (TypeError, ValueError) as error:
        raise LayoutcError(f"{name} {shown(value)} is no number: {error}") from None
    if not isfinite(found):
        raise LayoutcError(f"{name} {found} is not finite")
    return found


def _stored(value: Number, type: ElementType) -> Number:
    """The value as the type holds it: floats are rounded, integers and e8m0 must be values of the type."""
    if type.float_format is None:
        if value != int(value) or int(value) not in type.integer_range:
            low, high = type.integer_range[0], type.integer_range[-1]
            raise LayoutcError(f"value {value} is no {type}, expected an integer from {low} to {high}")
        return int(value)
    found = type.float_format.nearest(float(value))
    if not isfinite(found):
        raise LayoutcError(f"value {value} is past the largest {type}, {float(type.float_format.max):g}")
    if type.name == "e8m0" and found != value:
        raise LayoutcError(f"value {value} is no {type}, expected a power of two from 2^-127 to 2^127")
    return found


def _is_normal(value: float) -> bool:
    format = element_type("f32").float_format
    assert format is not None
    return format.smallest_normal <= abs(value) <= format.max


def _listed(values: tuple[Number, ...]) -> str:
    shown_values = ", ".join(f"{value:g}" for value in values[:MAX_SHOWN])
    if len(values) == 1:
        return shown_values
    return f"[{shown_values}{', ...' if len(values) > MAX_SHOWN else ''}]"


NO_ATTRIBUTES = Conversion()
