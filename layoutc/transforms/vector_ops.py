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
from xdsl.dialects.builtin import BoolAttr, BytesAttr, DenseArrayBase, IntegerAttr, VectorType, i64
from xdsl.ir import Attribute, SSAValue

from layoutc.transforms.loop_nest import INDEX

PREFETCH = "layout.prefetch"
"""discardable attribute of vector.load: how many elements further on memory will be needed next"""

CANNOT_OVERFLOW = IntegerOverflowAttr("none")
STREAMS: dict[str, Attribute] = {"nontemporal": BoolAttr.from_bool(True)}


@lru_cache(maxsize=4096)
def vector_type(element: Attribute, lanes: int) -> VectorType[Any]:
    return VectorType(element, [lanes])


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
        op.attributes[PREFETCH] = IntegerAttr(prefetch, i64)
    op.result.name_hint = "r"
    return op


def store(value: SSAValue, memory: SSAValue, offset: SSAValue, streams: bool = False) -> vector.StoreOp:
    """A vector into a flat buffer."""
    return vector.StoreOp.create(operands=(value, memory, offset), properties=STREAMS if streams else {})


def shuffle(a: SSAValue, b: SSAValue, mask: Sequence[int], element: Attribute, name: str) -> vector.ShuffleOp:
    """Lanes of two vectors of `element`."""
    type = vector_type(element, len(mask))
    op = vector.ShuffleOp.create(operands=(a, b), result_types=(type,), properties={"mask": _mask(tuple(mask))})
    op.result.name_hint = name
    return op


def bitcast(value: SSAValue, type: Attribute) -> vector.BitcastOp:
    """The bits of a vector as another type."""
    op = vector.BitcastOp.create(operands=(value,), result_types=(type,))
    op.result.name_hint = value.name_hint
    return op
