"""
The ops that tiles are made of, by the hundred.

They share their attributes, and are made as `creation` has it.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any, cast

from xdsl.builder import Builder
from xdsl.dialects import arith, memref, vector
from xdsl.dialects.arith import IntegerOverflowAttr
from xdsl.dialects.builtin import (
    BFloat16Type,
    BoolAttr,
    BytesAttr,
    DenseArrayBase,
    DenseIntOrFPElementsAttr,
    FixedBitwidthType,
    Float8E8M0FNUType,
    Float16Type,
    Float32Type,
    Float64Type,
    IntegerAttr,
    IntegerType,
    MemRefType,
    UnitAttr,
    VectorType,
    i1,
    i32,
    i64,
)
from xdsl.ir import Attribute, SSAValue

from layoutc.discardable import PREFETCH, WITHIN
from layoutc.memref_prefetch import TO_READ, TO_WRITE, PrefetchOp
from layoutc.planning.machine import LINE
from layoutc.transforms.building.creation import NOTHING, created, give_name, inserted
from layoutc.transforms.building.loop_nest import INDEX, NestBuilder
from layoutc.walk import operands

CANNOT_OVERFLOW = IntegerOverflowAttr("none")
FLAGS: dict[str, Attribute] = {"overflowFlags": CANNOT_OVERFLOW}
STREAMS: dict[str, Attribute] = {"nontemporal": BoolAttr.from_bool(True)}

ON_LINES: dict[str, Attribute] = {
    "alignment": IntegerAttr(LINE, i64),
    "operandSegmentSizes": DenseArrayBase.from_list(i32, [0, 0]),
}

ONE_OF_E8M0 = 127
"""the code of 1"""
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
    return created(arith.AddiOp, (lhs, rhs), INDEX, FLAGS)


def further_on(nest: NestBuilder, builder: Builder, at: SSAValue, distance: int, name: str | None = None) -> SSAValue:
    """An index so much further on."""
    if not distance:
        return at
    total = inserted(builder, sum_of(at, nest.constant(distance)))
    give_name(total, name)
    return total


def element(memory: SSAValue, offset: SSAValue) -> memref.LoadOp:
    """An element out of a flat buffer."""
    type = cast("MemRefType[Any]", memory.type).element_type
    return created(memref.LoadOp, (memory, offset), type)


def put(value: SSAValue, memory: SSAValue, offset: SSAValue) -> memref.StoreOp:
    """An element into a flat buffer."""
    return created(memref.StoreOp, (value, memory, offset))


@lru_cache(maxsize=4096)
def _buffer_type(element: Attribute, count: int) -> MemRefType[Any]:
    return MemRefType(element, [count])


def buffer(element: Attribute, count: int) -> memref.AllocaOp:
    """A buffer on the stack, which begins with a line."""
    return created(memref.AllocaOp, (), _buffer_type(element, count), ON_LINES)


def load(memory: SSAValue, offset: SSAValue, type: VectorType[Any], prefetch: int = 0) -> vector.LoadOp:
    """A vector out of a flat buffer; `prefetch` elements further on lies what is asked for meanwhile (0: nothing)."""
    op = created(vector.LoadOp, (memory, offset), type, name="r")
    if prefetch:
        op.attributes[PREFETCH] = _ahead(prefetch)
    return op


def store(value: SSAValue, memory: SSAValue, offset: SSAValue, streams: bool = False) -> vector.StoreOp:
    """A vector into a flat buffer."""
    return created(vector.StoreOp, (value, memory, offset), None, STREAMS if streams else NOTHING)


def fetch(memory: SSAValue, offset: SSAValue, writes: bool = False) -> PrefetchOp:
    """Asks for the line of an element that will be loaded, or stored."""
    return created(PrefetchOp, (memory, offset), None, TO_WRITE if writes else TO_READ)


def load_masked(
    memory: SSAValue, offset: SSAValue, mask: SSAValue, otherwise: SSAValue, prefetch: int = 0, is_within: bool = False
) -> vector.MaskedLoadOp:
    """The lanes of a mask out of a flat buffer, the others from a vector; if it `is_within`, all lie in the buffer."""
    op = created(vector.MaskedLoadOp, (memory, offset, mask, otherwise), otherwise.type, name="r")
    if prefetch:
        op.attributes[PREFETCH] = _ahead(prefetch)
    if is_within:
        op.attributes[WITHIN] = UnitAttr()
    return op


def store_masked(value: SSAValue, memory: SSAValue, offset: SSAValue, mask: SSAValue) -> vector.MaskedStoreOp:
    """The lanes of a mask into a flat buffer."""
    return created(vector.MaskedStoreOp, (memory, offset, mask, value))


def first_lanes(count: SSAValue, lanes: int) -> vector.CreateMaskOp:
    """A mask of the first `count` of so many lanes."""
    return created(vector.CreateMaskOp, (count,), vector_type(i1, lanes), name="first")


def some_lanes(bits: int, lanes: int) -> DenseIntOrFPElementsAttr:
    """A mask of those of so many lanes whose bits are set."""
    return DenseIntOrFPElementsAttr.from_list(vector_type(i1, lanes), [bits >> lane & 1 for lane in range(lanes)])


def shuffle(a: SSAValue, b: SSAValue, mask: Sequence[int], element: Attribute, name: str) -> vector.ShuffleOp:
    """Lanes of two vectors of `element`."""
    type = vector_type(element, len(mask))
    return created(vector.ShuffleOp, (a, b), type, {"mask": _mask(tuple(mask))}, name)


def part(builder: Builder, value: SSAValue, lanes: range, element: Attribute) -> SSAValue:
    """Lanes of a vector that follow one another; out of two that were joined those of the one that has them."""
    while (sides := _joined(value)) is not None:
        count = len(lanes_of(sides[0]))
        if lanes.start < count < lanes.stop:
            break
        value, before = (sides[0], 0) if lanes.stop <= count else (sides[1], count)
        lanes = range(lanes.start - before, lanes.stop - before)
    if lanes == lanes_of(value):
        return value
    return inserted(builder, shuffle(value, value, lanes, element, "part"))


def lanes_together(value: SSAValue) -> int:
    """How many lanes each of the vectors has that a value was joined from."""
    while (sides := _joined(value)) is not None:
        value = sides[0]
    return len(lanes_of(value))


def _joined(value: SSAValue) -> Sequence[SSAValue] | None:
    """The two vectors of which a value has all lanes, the one's behind the other's."""
    op = value.owner
    if not isinstance(op, vector.ShuffleOp) or op.v1.type != op.v2.type:
        return None
    return operands(op) if op.mask == _mask(tuple(range(2 * len(lanes_of(op.v1))))) else None


def lanes_of(value: SSAValue) -> range:
    """The numbers of the lanes of a vector."""
    (count,) = cast("VectorType[Any]", value.type).get_shape()
    return range(count)


@lru_cache(maxsize=64)
def _lane(number: int) -> dict[str, Attribute]:
    return {"static_position": DenseArrayBase.from_list(i64, [number])}


def lane(value: SSAValue, element: Attribute, number: int) -> vector.ExtractOp:
    """One lane of a vector, as a scalar."""
    return created(vector.ExtractOp, (value,), element, _lane(number), "lane")


def with_lane(value: SSAValue, scalar: SSAValue, number: int) -> vector.InsertOp:
    """A vector one of whose lanes is another value."""
    return created(vector.InsertOp, (scalar, value), value.type, _lane(number), "lanes")


def bitcast(value: SSAValue, type: Attribute) -> vector.BitcastOp:
    """The bits of a vector as another type."""
    return created(vector.BitcastOp, (value,), type, name=value.name_hint)


@lru_cache(maxsize=256)
def _filled(element: Attribute, lanes: int, bits: int) -> DenseIntOrFPElementsAttr:
    """A constant of these bits, which are 0 of floats; of integers where arith has none of the elements."""
    if isinstance(element, FLOATS):
        return DenseIntOrFPElementsAttr.from_list(vector_type(element, lanes), [0.0])
    assert isinstance(element, FixedBitwidthType)
    return DenseIntOrFPElementsAttr.from_list(vector_type(integer_type(element.bitwidth), lanes), [bits])


def zeros(nest: NestBuilder, type: VectorType[Any]) -> SSAValue:
    """A vector whose bits are all zero, ahead of the loops."""
    return _constant(nest, type, 0, "zeros")


def blanks(nest: NestBuilder, type: VectorType[Any], are_converted: bool) -> SSAValue:
    """
    A vector for lanes that no element is loaded into, ahead of the loops: zeros, or ones of e8m0 that are converted.

    Its least number has zero bits, and is subnormal in f32: some processors compute with it ten times as long.
    """
    if are_converted and isinstance(type.get_element_type(), Float8E8M0FNUType):
        return _constant(nest, type, ONE_OF_E8M0, "ones")
    return zeros(nest, type)


def _constant(nest: NestBuilder, type: VectorType[Any], bits: int, name: str) -> SSAValue:
    made = _filled(type.get_element_type(), type.get_shape()[0], bits)
    value = nest.insert(created(arith.ConstantOp, (), made.type, {"value": made}, name)).results[0]
    if value.type != type:
        value = nest.insert(bitcast(value, type)).results[0]
    return value
