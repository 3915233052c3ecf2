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

from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from inspect import Parameter, signature
from typing import Literal, SupportsFloat, TypedDict

from layoutc.checks import instance
from layoutc.compensation import Compensation
from layoutc.descriptor import MemoryDesc, check_copy
from layoutc.element_type import ElementType, element_type
from layoutc.errors import LayoutcError
from layoutc.once import once
from layoutc.param import Grouping, Param, number, stored

Arithmetic = Literal["move", "direct", "integer", "f32"]

SCALE_TYPES = ("f32", "f16", "bf16", "e8m0")
ZERO_POINT_TYPES = ("s32", "s8", "u8", "s4", "u4", "f32", "f16", "bf16")


class Attributes(TypedDict, total=False):
    """The attributes of a reorder as keywords: the fields of Conversion."""

    src_scale: Param | SupportsFloat | None
    src_zero_point: Param | SupportsFloat | None
    dst_scale: Param | SupportsFloat | None
    dst_zero_point: Param | SupportsFloat | None
    sum: SupportsFloat | None
    reciprocal: bool
    compensation: Compensation | None


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
        src_scale: Param | SupportsFloat | None = None,
        src_zero_point: Param | SupportsFloat | None = None,
        dst_scale: Param | SupportsFloat | None = None,
        dst_zero_point: Param | SupportsFloat | None = None,
        sum: SupportsFloat | None = 0.0,
        reciprocal: bool = False,
        compensation: Compensation | None = None,
    ):
        put = object.__setattr__
        given = (src_scale, src_zero_point, dst_scale, dst_zero_point)
        for name, param in zip(PARAMS, given, strict=True):
            put(self, name, _parameter(name, param))
        put(self, "sum", stored(number(sum or 0.0, "sum"), element_type("f32")))
        instance("reciprocal", reciprocal, bool)
        put(self, "reciprocal", reciprocal and self.dst_scale is not None)
        if compensation is not None:
            instance("compensation", compensation, Compensation)
        put(self, "compensation", compensation if compensation and compensation.parts else None)
        if self.compensation and (self.src_zero_point or self.dst_zero_point or self.sum):
            raise LayoutcError("compensation is of scaled weights alone, got zero points or sum too")

    # --- what is given --------------------------------------------------------------------------------------------

    @once
    def params(self) -> dict[str, Param]:
        """The scales and zero points that are given, by name, in the order of PARAMS."""
        return {name: param for name in PARAMS if (param := getattr(self, name)) is not None}

    @once
    def arguments(self) -> dict[str, Param]:
        """Those whose values are given when the kernel is called, in the order in which it takes them."""
        return {name: param for name, param in self.params.items() if not param.is_constant}

    def opened(self) -> tuple[Conversion, dict[str, Param]]:
        """
        This conversion with arguments in place of constants that have axes, and those constants.

        One kernel then serves many tensors, each with scales of its own.
        """
        constants = {name: param for name, param in self.params.items() if param.axes and param.is_constant}
        return replace(self, **{name: replace(param, values=None) for name, param in constants.items()}), constants

    @once
    def groupings(self) -> tuple[Grouping, ...]:
        """Which elements share a value, of all parameters with axes, or go into one sum; each way once."""
        params = (param.grouping for param in self.params.values() if param.axes)
        sums = () if self.sum_grouping is None else (self.sum_grouping,)
        return tuple(dict.fromkeys((*params, *sums)))

    @property
    def sum_grouping(self) -> Grouping | None:
        """Which weights go into one sum of a compensation, if all of its parts have the same."""
        axes = None if self.compensation is None else self.compensation.shared_axes
        return None if axes is None else Grouping(axes, (1,) * len(axes))

    @property
    def attributes(self) -> Attributes:
        """The fields as keywords."""
        return Attributes(**{name: getattr(self, name) for name in Attributes.__annotations__})

    @property
    def has_attributes(self) -> bool:
        """Whether values are computed with; compensation alone leaves them as they are."""
        return bool(self.params) or self.sum != 0

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

    @property
    def scales_alone(self) -> bool:
        """Whether all it does is to scale, perhaps less a zero point."""
        names = self.params.keys()
        return not self.sum and "src_scale" in names and names <= {"src_zero_point", "src_scale"}

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
PARAM_TYPES = {name: SCALE_TYPES if name.endswith("scale") else ZERO_POINT_TYPES for name in PARAMS}
"""what the values of each parameter may be"""


def label(name: str) -> str:
    """A field's name as words."""
    return name.replace("_", " ")


def _parameter(name: str, given: object) -> Param | None:
    """The parameter with its element type; None for one that changes nothing."""
    is_scale = name.endswith("scale")
    if given is None:
        return None
    try:
        param = exact = given if isinstance(given, Param) else Param(given)
        if param.dtype is None:
            param = param.of_type(element_type("f32" if is_scale else "s32"))
    except LayoutcError as error:
        raise LayoutcError(f"{label(name)}: {error}") from None
    types = PARAM_TYPES[name]
    if param.type.name not in types:
        raise LayoutcError(f"{label(name)} is of {param.type}, expected one of {' '.join(types)}")
    if param.values is None:
        return param
    if name == "dst_scale" and 0 in param.values:
        value = (exact.values or param.values)[param.values.index(0)]
        rounded = f", which is 0 in {param.type}," if value else ""
        raise LayoutcError(f"dst scale {value}{rounded} cannot be divided by")
    # Only a common one can be dropped unseen: others are still to be checked against a tensor.
    return None if not param.axes and param.values == (1 if is_scale else 0,) else param


def conversion_of(function: Callable[..., object], attributes: Attributes) -> Conversion:
    """The conversion of a function's keywords. Raises TypeError for one that it has not, as Python does."""
    unknown = [name for name in attributes if name not in Attributes.__annotations__]
    if unknown:
        own = [p.name for p in signature(function).parameters.values() if p.kind is Parameter.KEYWORD_ONLY]
        expected = " ".join((*own, *Attributes.__annotations__))
        raise TypeError(f"{function.__name__}() got an unexpected keyword {unknown[0]}, expected one of {expected}")
    return Conversion(**attributes)


NO_ATTRIBUTES = Conversion()
