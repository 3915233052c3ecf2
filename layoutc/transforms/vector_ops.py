"""
The ops that tiles are made of, by the hundred.

They come from `create`, which takes what it is given (see `loop_nest`), and share their attributes.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from xdsl.dialects import arith, vector
from xdsl.dialects.arith import IntegerOverflowAttr
from xdsl.dialects.builtin import (
    BFloat16Type,
    BoolAttr,
    BytesAttr,
    DenseArrayBase,
    DenseIntOrFPElementsAttr,
    Float16Type,
    Float32Type,
    Float64Type,
    IntegerAttr,
    IntegerType,
    VectorType,
    i1,
    i64,
)
from xdsl.ir import Attribute, SSAValue

from layoutc.transforms.loop_nest import INDEX, NestBuilder

PREFETCH = "layout.prefetch"
"""discardable attribute of a load of lanes: how many elements further on memory will be needed next"""

TO_INTEGER = "layout.to_integer"
"""discardable attribute of a division: all it gives becomes integers, after integers of at most 32 bits were added"""

CANNOT_OVERFLOW = IntegerOverflowAttr("none")
STREAMS: dict[str, Attribute] = {"nontemporal": BoolAttr.from_bool(True)}

FLOATS = (Float64Type, Float32Type, Float16Type, BFloat16Type)
"""float types that arith has constants of"""


@lru_cache(maxsize=4096)
def vector_type(element: Attribute, lanes: int) -> VectorType[Any]:
    return VectorType(element, [lanes])


@lru_cache
def integer_type(width: int) -> IntegerType[Any]:
    return IntegerType(width)


@lru_cache(maxsize=4096)
def _ahead(elements: int) -> Attribute:
    return IntegerAttr(elements, i64)


@lru_cache(maxsize=4096)
def _mask(lanes: tuple[int, ...]) -> DenseArrayBase[Any]:
    return DenseArrayBase(i64, BytesAttr(b"".join(lane.to_bytes(8, "little") for lane in lanes)))


def sum_of(lhs: SSAValue, rhs: SSAValue) -> arith.AddiOp:
    """The sum of two indices."""
    flags = {"overflowFlags": CANNOT_OVERFLOW}
    return arith.AddiOp.create(operands=(lhs, rhs), result_types=(INDEX,), properties=flags)


def load(memory: SSAValue, offset: SSAValue, type: VectorType[Any], prefetch: int = 0) -> vector.LoadOp:
    """A vector out of a flat buffer; `prefetch` elements further on lies what is asked for meanwhile (0: nothing)."""
    op = vector.LoadOp.create(operands=(memory, offset), result_types=(type,))
    if prefetch:
        op.attributes[PREFETCH] = _ahead(prefetch)
    op.result.name_hint = "r"
    return op


def store(value: SSAValue, memory: SSAValue, offset: SSAValue, streams: bool = False) -> vector.StoreOp:
    """A vector into a flat buffer."""
    return vector.StoreOp.create(operands=(value, memory, offset), properties=STREAMS if streams else {})


def load_first(
    memory: SSAValue, offset: SSAValue, mask: SSAValue, otherwise: SSAValue, prefetch: int = 0
) -> vector.MaskedLoadOp:
    """The lanes of a mask out of a flat buffer, the others from a vector."""
    op = vector.MaskedLoadOp.create(operands=(memory, offset, mask, otherwise), result_types=(otherwise.type,))
    if prefetch:
        op.attributes[PREFETCH] = _ahead(prefetch)
    op.result.name_hint = "r"
    return op


def store_first(value: SSAValue, memory: SSAValue, offset: SSAValue, mask: SSAValue) -> vector.MaskedStoreOp:
    """The lanes of a mask into a flat buffer."""
    return vector.MaskedStoreOp.create(operands=(memory, offset, mask, value))


def first_lanes(count: SSAValue, lanes: int) -> vector.CreateMaskOp:
    """A mask of the first `count` of so many lanes."""
    op = vector.CreateMaskOp.create(operands=(count,), result_types=(vector_type(i1, lanes),))
    op.mask_vector.name_hint = "first"
    return op


def shuffle(a: SSAValue, b: SSAValue, mask: Sequence[int], element: Attribute, name: str) -> vector.ShuffleOp:
    """Lanes of two vectors of `element`."""
    type = vector_type(element, len(mask))
    op = vector.ShuffleOp.create(operands=(a, b), result_types=(type,), properties={"mask": _mask(tuple(mask))})
    op.result.name_hint = name
    return op


@lru_cache(maxsize=64)
def _lane(number: int) -> dict[str, Attribute]:
    return {"static_position": DenseArrayBase.from_list(i64, [number])}


def lane(value: SSAValue, element: Attribute, number: int) -> vector.ExtractOp:
    """One lane of a vector, as a scalar."""
    op = vector.ExtractOp.create(operands=(value,), result_types=(element,), properties=_lane(number))
    op.result.name_hint = "lane"
    return op


def with_lane(value: SSAValue, scalar: SSAValue, number: int) -> vector.InsertOp:
    """A vector one of whose lanes is another value."""
    op = vector.InsertOp.create(operands=(scalar, value), result_types=(value.type,), properties=_lane(number))
    op.result.name_hint = "lanes"
    return op


def bitcast(value: SSAValue, type: Attribute) -> vector.BitcastOp:
    """The bits of a vector as another type."""
    op = vector.BitcastOp.create(operands=(value,), result_types=(type,))
    op.result.name_hint = value.name_hint
    return op


def zeros(nest: NestBuilder, type: VectorType[Any]) -> SSAValue:
    """A vector whose bits are all zero, ahead of the loops."""
    element = type.get_element_type()
    if isinstance(element, FLOATS):
        made = DenseIntOrFPElementsAttr.from_list(VectorType(element, type.get_shape()), [0.0])
    else:
        width = IntegerType(element.bitwidth)
        made = DenseIntOrFPElementsAttr.from_list(VectorType(width, type.get_shape()), [0])
    value = nest.insert(arith.ConstantOp(made)).results[0]
    value.name_hint = "zeros"
    if value.type != type:
        value = nest.insert(vector.BitcastOp(value, type)).results[0]
        value.name_hint = "zeros"
    return value
