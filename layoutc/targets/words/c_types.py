"""How C spells the types of the IR, and where an element of a memref lies."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from math import prod
from typing import Any, TypeGuard, TypeVar, cast

from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    BFloat16Type,
    FixedBitwidthType,
    Float16Type,
    Float32Type,
    Float64Type,
    IndexType,
    IntAttr,
    IntegerType,
    MemRefType,
    NoneAttr,
    ReducedPrecisionFloatType,
    Signedness,
    StridedLayoutAttr,
    VectorType,
    i1,
)
from xdsl.ir import Attribute

from layoutc.targets.errors import EmissionError

INDEX = IndexType()
INTEGER_WIDTHS = (8, 16, 32, 64)
FLOAT_NAMES = {Float32Type: "float", Float64Type: "double"}
MAX_BYTES = (1 << 63) - 1
MAX_TYPES = 4096

Type = TypeVar("Type", bound=Attribute)
Fact = TypeVar("Fact")


def once_per_type(compute: Callable[[Type], Fact]) -> Callable[[Type], Fact]:
    """
    `functools.lru_cache` by the identity of a type, of which there are few objects.

    The hash of a type is that of all its parts, and takes longer than most of what is asked about it, op by op.
    """
    known: dict[int, tuple[Type, Fact]] = {}

    @wraps(compute)
    def found(type: Type) -> Fact:
        entry = known.get(id(type))
        if entry is None:
            if len(known) >= MAX_TYPES:
                known.clear()
            # The type is kept as well, lest another one takes its place in memory.
            entry = known[id(type)] = type, compute(type)
        return entry[1]

    return found


def is_memref(type: Attribute) -> TypeGuard[MemRefType[Any]]:
    return type.__class__ is MemRefType


def is_vector(type: Attribute) -> TypeGuard[VectorType[Any]]:
    return type.__class__ is VectorType


def is_float(type: Attribute) -> TypeGuard[Float32Type | Float64Type]:
    """A float type that C can calculate with; the narrower ones are only bits to it."""
    return type.__class__ in FLOAT_NAMES


@once_per_type
def is_boolean(type: Attribute) -> bool:
    return type == i1


@once_per_type
def is_unsigned(type: Attribute) -> bool:
    """Types whose C spelling is an unsigned integer: ui8, and the bits of narrow floats."""
    if isinstance(type, IntegerType):
        return cast("IntegerType[Any]", type).signedness.data == Signedness.UNSIGNED
    return isinstance(type, FixedBitwidthType) and not is_float(type)


@once_per_type
def width(type: Attribute) -> int:
    """The bits of a scalar type; an index has 64."""
    if isinstance(type, IndexType):
        return 64
    if not isinstance(type, FixedBitwidthType):
        raise EmissionError(f"no C spelling for type {type}")
    return type.bitwidth


def integer_name(bits: int, unsigned: bool = False) -> str:
    return f"{'u' if unsigned else ''}int{bits}_t"


@once_per_type
def scalar_name(type: Attribute) -> str:
    """The C type of a value: `float`, `int64_t`, `bool`. Raises EmissionError if there is none."""
    if isinstance(type, IndexType):
        return "int64_t"
    if is_float(type):
        return FLOAT_NAMES[type.__class__]
    if is_boolean(type):
        return "bool"
    bit_floats = Float16Type | BFloat16Type | ReducedPrecisionFloatType
    if isinstance(type, IntegerType | bit_floats) and width(type) in INTEGER_WIDTHS:
        return integer_name(width(type), is_unsigned(type))
    raise EmissionError(f"no C spelling for type {type}")


@once_per_type
def lane_count(type: VectorType[Any]) -> int:
    """Lanes of a vector that C has a type for: of one axis and fixed size, a power of two. Raises EmissionError."""
    lanes = prod(type.get_shape())
    if (
        type.get_num_dims() != 1
        or any(axis.value.data for axis in type.scalable_dims)
        or lanes & (lanes - 1)
        or not lanes
    ):
        raise EmissionError(f"no C spelling for type {type}, expected a vector of one axis and 2^n lanes")
    return lanes


def lane_name(type: VectorType[Any]) -> str:
    """The C type of a vector's elements; a boolean is a byte."""
    element = cast(Attribute, type.element_type)
    return "uint8_t" if is_boolean(element) else scalar_name(element)


@once_per_type
def vector_name(type: VectorType[Any]) -> str:
    """The C type of a vector: `f32x16`, `u8x64`."""
    lane = lane_name(type)
    kind = lane[0] if lane[0] in "iu" else "f"
    return f"{kind}{max(8, width(type.element_type))}x{lane_count(type)}"


def mask_name(type: Attribute, bits: int) -> str:
    """The C type of a vector of i1 whose lanes are so wide: `i32x16`."""
    assert is_vector(type)
    return f"i{bits}x{lane_count(type)}"


@once_per_type
def vector_bytes(type: VectorType[Any]) -> int:
    """Bytes of a vector in memory."""
    return lane_count(type) * max(8, width(type.element_type)) // 8


@once_per_type
def type_name(type: Attribute) -> str:
    """The C type of a value, scalar or vector. Raises EmissionError if there is none."""
    return vector_name(type) if is_vector(type) else scalar_name(type)


@once_per_type
def element_name(type: MemRefType[Any]) -> str:
    """The C type of a memref's elements; a boolean is one byte in memory."""
    element = cast(Attribute, type.element_type)
    if not isinstance(type.memory_space, NoneAttr):
        raise EmissionError(f"no C spelling for memory space {type.memory_space}")
    return "uint8_t" if is_boolean(element) else scalar_name(element)


def element_count(type: MemRefType[Any]) -> int:
    """Elements of a memref of static shape. Raises EmissionError if it is dynamic or overflows."""
    shape = type.get_shape()
    if DYNAMIC_INDEX in shape:
        raise EmissionError(f"{type} has a dynamic shape, expected a static one")
    count = prod(shape)
    if count * 8 > MAX_BYTES:
        raise EmissionError(f"{type} has {count} elements, expected fewer than 2^60")
    return count


@once_per_type
def is_static(type: MemRefType[Any]) -> bool:
    """Whether a memref says its shape, and its strides and offset where it has any."""
    layout = type.layout
    numbers = (*layout.strides.data, layout.offset) if isinstance(layout, StridedLayoutAttr) else ()
    return DYNAMIC_INDEX not in type.get_shape() and all(isinstance(number, IntAttr) for number in numbers)


@once_per_type
def strides_and_offset(type: MemRefType[Any]) -> tuple[tuple[int, ...], int]:
    """
    Strides and offset of a memref, in elements: row-major, or as a static `strided<...>` says.

    Raises EmissionError for any other layout, which a pass must have lowered before.
    """
    layout = type.layout
    if isinstance(layout, StridedLayoutAttr):
        numbers = (*layout.strides.data, layout.offset)
        if all(isinstance(number, IntAttr) for number in numbers):
            *strides, offset = (cast(IntAttr, number).data for number in numbers)
            return tuple(strides), offset
    if not isinstance(layout, NoneAttr):
        lowered = ", which the pass lower-reorders makes flat" if layout.name.startswith("layout.") else ""
        raise EmissionError(f"{type} has a layout that C cannot index{lowered}, expected row-major or static strides")
    shape = type.get_shape()
    if DYNAMIC_INDEX in shape[1:]:
        raise EmissionError(f"{type} has dynamic strides, expected static ones")
    return tuple(prod(shape[axis + 1 :]) for axis in range(len(shape))), 0
