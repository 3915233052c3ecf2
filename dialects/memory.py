"""The memory descriptor of a memref or tensor type, whichever layout attribute it carries."""

from __future__ import annotations

from functools import cache, lru_cache
from typing import Any, TypeAlias

from typing_extensions import TypeIs
from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    AffineMapAttr,
    BFloat16Type,
    Float4E2M1FNType,
    Float8E4M3FNType,
    Float8E5M2Type,
    Float8E8M0FNUType,
    Float16Type,
    Float32Type,
    Float64Type,
    IntegerType,
    MemRefType,
    NoneAttr,
    Signedness,
    StridedLayoutAttr,
    TensorType,
    i8,
)
from xdsl.ir import Attribute

from layoutc.descriptor import MemoryDesc
from layoutc.dialects.attributes import LayoutAttr, MapAttr, map_descriptor
from layoutc.element_type import ElementType, element_type
from layoutc.errors import LayoutcError
from layoutc.layout import Layout

ShapedType: TypeAlias = MemRefType[Any] | TensorType[Any]


class DynamicShapeError(LayoutcError):
    """A type with a dimension that is not known, which the message names."""


def is_memref(type: Attribute) -> TypeIs[MemRefType[Any]]:
    """Whether a type is a memref."""
    return type.__class__ is MemRefType


def is_shaped(type: Attribute) -> TypeIs[ShapedType]:
    """Whether a type is a memref or a tensor."""
    return type.__class__ is MemRefType or type.__class__ is TensorType


def layout_of(type: ShapedType) -> Attribute:
    """The layout attribute of a memref, the encoding of a tensor; NoneAttr if there is none."""
    return type.layout if is_memref(type) else type.encoding


@lru_cache(maxsize=4096)
def memory_desc(type: ShapedType) -> MemoryDesc:
    """
    The descriptor of a type: no layout is row-major; `#layout.*`, `strided<>` and `affine_map<>` are read.

    Raises LayoutcError for dynamic shapes, other layouts, and layouts that do not fit the shape.
    """
    shape, element = type.get_shape(), element_type(str(type.get_element_type()))
    if DYNAMIC_INDEX in shape:
        raise DynamicShapeError(f"{type} has a dynamic dimension, expected a static shape")
    match layout_of(type):
        case NoneAttr():
            return MemoryDesc(shape, element, Layout.row_major(len(shape)))
        case LayoutAttr() as layout:
            return layout.descriptor(shape, element)
        case AffineMapAttr(data=map):
            return map_descriptor(map, shape, element)
        case StridedLayoutAttr() as layout:
            return _strided(layout, shape, element)
        case other:
            raise LayoutcError(f"{other} is not a layout")


def has_layout(type: Attribute) -> TypeIs[MemRefType[Any]]:
    """Whether a type is a memref that only layoutc can lower, to flat memory."""
    return is_memref(type) and (isinstance(type.layout, LayoutAttr | AffineMapAttr) or is_packed(type))


def is_packed(type: MemRefType[Any]) -> bool:
    """Whether elements share bytes."""
    element: Attribute = type.element_type
    return isinstance(element, IntegerType | Float4E2M1FNType) and 1 < element.bitwidth < 8


@lru_cache(maxsize=4096)
def flat_type(type: MemRefType[Any]) -> MemRefType[Any]:
    """The flat buffer that a memref with a layout becomes: one of bytes, where elements share bytes."""
    desc = memory_desc(type)
    if is_packed(type):
        return MemRefType(i8, (desc.size_bytes,), memory_space=type.memory_space)
    return MemRefType(type.element_type, (desc.span,), memory_space=type.memory_space)


def _strided(layout: StridedLayoutAttr, shape: tuple[int, ...], element: ElementType) -> MemoryDesc:
    strides, offset = layout.get_strides(), layout.get_offset()
    if offset is None or None in strides:
        raise LayoutcError(f"{layout} has a dynamic stride or offset, expected static ones")
    static = tuple(stride for stride in strides if stride is not None)
    return MemoryDesc(shape, element, Layout.row_major(len(shape)), static, offset)


_FLOATS: dict[str, Attribute] = {
    "f64": Float64Type(),
    "f32": Float32Type(),
    "f16": Float16Type(),
    "bf16": BFloat16Type(),
    "f8_e4m3": Float8E4M3FNType(),
    "f8_e5m2": Float8E5M2Type(),
    "e8m0": Float8E8M0FNUType(),
    "f4_e2m1": Float4E2M1FNType(),
}


@cache
def mlir_element_type(element: ElementType) -> Attribute:
    """The MLIR type of an element: signed integers are signless, as arith wants them; unsigned ones are `ui`."""
    if element.name in _FLOATS:
        return _FLOATS[element.name]
    if element.name == "boolean":
        return IntegerType(1)
    signedness = Signedness.UNSIGNED if element.mlir.startswith("ui") else Signedness.SIGNLESS
    return IntegerType(element.bits, signedness)


def memref_type(desc: MemoryDesc) -> MemRefType[Any]:
    """The memref type of a descriptor, with its layout as `#layout.map`."""
    return MemRefType(mlir_element_type(desc.element_type), desc.dims, MapAttr.of(desc))
