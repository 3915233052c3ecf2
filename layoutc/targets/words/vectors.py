"""What is asked of the vectors of the IR, op by op: of their lanes, of those that are constants, or chosen."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Any, cast

from xdsl.dialects import arith, vector
from xdsl.dialects.builtin import DenseArrayBase, DenseIntOrFPElementsAttr, IntegerType, VectorType, f32
from xdsl.ir import Attribute, Operation, SSAValue

from layoutc.targets.words.c_types import is_vector, once_per_type
from layoutc.targets.words.c_vector_types import VectorType as Named
from layoutc.walk import operands

CASTS = (vector.BitcastOp, arith.BitcastOp)
"""ops that give the same bits another type"""
F32_LANES = 16
"""of the largest registers, which have instructions that others lack"""
F32_REGISTER = Named("f", 32, F32_LANES)
"""the type of one"""


@once_per_type
def is_f32_register(type: Attribute) -> bool:
    """Whether a value fills such a register."""
    return is_vector(type) and type == VectorType(f32, [F32_LANES])


@once_per_type
def lane_bits(type: Attribute) -> int:
    """Bits of a lane of a vector, or none."""
    return cast("VectorType[IntegerType]", type).element_type.bitwidth if is_vector(type) else 0


@once_per_type
def lane_type(type: Attribute) -> Attribute | None:
    """The type of a lane of a vector, or none."""
    return cast("VectorType[Attribute]", type).element_type if is_vector(type) else None


def lanes_in(value: SSAValue) -> int:
    """Lanes of a value that is a vector of one axis, or none."""
    shape = value.type.get_shape() if is_vector(value.type) else ()
    return shape[0] if len(shape) == 1 else 0


def splat(value: SSAValue) -> float | None:
    """The number that all lanes of a constant are."""
    op = value.owner
    return _splat(cast("arith.ConstantOp", op).properties["value"]) if op.__class__ is arith.ConstantOp else None


@once_per_type
def _splat(value: Attribute) -> float | None:
    if not isinstance(value, DenseIntOrFPElementsAttr):
        return None
    values = cast("Sequence[float]", value.get_values())
    return float(values[0]) if value.is_splat() else None


def uncast(value: SSAValue) -> SSAValue:
    """The value whose bits another one has by other names."""
    while value.owner.__class__ in CASTS:
        (value,) = operands(cast("Operation", value.owner))
    return value


def behind(value: SSAValue, *steps: tuple[type[Operation], float | None]) -> SSAValue | None:
    """What goes into ops, the last of which gives a value, if they are these, with these constants."""
    for kind, number in steps:
        if value.owner.__class__ is not kind:
            return None
        value, *others = operands(cast("Operation", value.owner))
        if number is not None and splat(others[0]) != number:
            return None
    return value


def shuffled(shuffle: Operation) -> bytes:
    """The lanes that a shuffle takes, as the IR keeps them: 8 bytes of each."""
    return cast("DenseArrayBase[Any]", shuffle.properties["mask"]).data.data


@lru_cache(maxsize=64)
def even_lanes(count: int) -> bytes:
    """Every second lane of two vectors of so many, as `shuffled` has lanes."""
    return _as_shuffled(range(0, 2 * count, 2))


@lru_cache(maxsize=64)
def side_by_side(count: int) -> bytes:
    """All lanes of two vectors of so many, as `shuffled` has lanes."""
    return _as_shuffled(range(2 * count))


def _as_shuffled(lanes: Iterable[int]) -> bytes:
    return b"".join(lane.to_bytes(8, "little") for lane in lanes)
