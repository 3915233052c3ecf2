"""
Vectors joined to one, the lanes of the second behind those of the first.

Before, two registers that were each cut down to their low bits:

    %a = arith.trunci %x : vector<16xi32> to vector<16xi8>
    %b = arith.trunci %y : vector<16xi32> to vector<16xi8>
    %joined = vector.shuffle %a, %b [0, 1, ..., 31] : vector<16xi8>, vector<16xi8>

After, one shuffle of whole registers that leaves half of the bits, and half of the cutting:

    %low = vector.bitcast %x : vector<16xi32> to vector<32xi16>
    %high = vector.bitcast %y : vector<16xi32> to vector<32xi16>
    %joined = vector.shuffle %low, %high [0, 2, ..., 62] : vector<32xi16>, vector<32xi16>
    %both = arith.trunci %joined : vector<32xi16> to vector<32xi8>

What was done to both since they were narrowed to f16, and half empty, is done once, to the lanes of both.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, cast

from xdsl.builder import Builder
from xdsl.dialects import arith, vector
from xdsl.ir import Attribute, Operation, SSAValue

from layoutc.planning.machine import Shuffles
from layoutc.transforms.building import vector_ops
from layoutc.transforms.building.creation import created, inserted
from layoutc.transforms.building.lanes import Lanes
from layoutc.transforms.building.loop_nest import NestBuilder
from layoutc.transforms.building.vector_ops import integer_type, vector_type
from layoutc.walk import operands

FINEST = {"single": 8, "any": 8, "words": 16, "unpack": 64}
"""bits of the least lanes that a register's shuffles move at will"""
CASTS = (vector.BitcastOp, arith.BitcastOp)
"""ops that give the same bits another type"""
STEPS = (
    *(arith.AddiOp, arith.AndIOp, arith.OrIOp, arith.ShLIOp, arith.ShRUIOp, arith.CmpiOp, arith.SelectOp),
    *CASTS,
)
"""ops that do the same in each lane"""


def all_joined(
    builder: Builder, nest: NestBuilder, parts: Sequence[SSAValue], shuffles: Shuffles, name: str
) -> SSAValue:
    """The lanes of as many vectors as a power of two, which are joined in pairs."""
    return all_in_pairs(parts, lambda low, high: joined(builder, nest, low, high, shuffles, name))


def all_in_pairs(parts: Sequence[SSAValue], join: Callable[[SSAValue, SSAValue], SSAValue]) -> SSAValue:
    """What as many vectors as a power of two become, of which neighbours are joined; equal pairs once."""
    while len(parts) > 1:
        pairs = list(zip(parts[::2], parts[1::2], strict=True))
        both = {pair: join(*pair) for pair in dict.fromkeys(pairs)}
        for part in dict.fromkeys(parts):
            _erase_unused(part)
        parts = [both[pair] for pair in pairs]
    return parts[0]


def joined(
    builder: Builder, nest: NestBuilder, low: SSAValue, high: SSAValue, shuffles: Shuffles, name: str
) -> SSAValue:
    """The lanes of two vectors of one type, by a machine that has such shuffles."""
    count, element = _shape(low)
    wide, other = _before_cut(low), _before_cut(high)
    if wide is not None and other is not None and (whole := _in_one(builder, nest, wide, other)) is not None:
        lanes = Lanes(builder, nest, 2 * count)
        return lanes.bitcast(lanes.truncate(whole, _bits(low), name), element, name)
    half = 0 if wide is None else _bits(wide) // 2
    if wide is None or other is None or wide.type != other.type or half < max(_bits(low), FINEST[shuffles]):
        return inserted(builder, vector_ops.shuffle(low, high, range(2 * count), element, name))
    part = integer_type(half)
    first, second = (inserted(builder, vector_ops.bitcast(v, vector_type(part, 2 * count))) for v in (wide, other))
    lanes = Lanes(builder, nest, 2 * count)
    both = lanes.insert(vector_ops.shuffle(first, second, range(0, 4 * count, 2), part, name), name)
    both = lanes.truncate(both, _bits(low), name)
    if both.type != (wanted := vector_type(element, 2 * count)):
        both = lanes.insert(vector_ops.bitcast(both, wanted), name)
    return both


def _in_one(builder: Builder, nest: NestBuilder, low: SSAValue, high: SSAValue) -> SSAValue | None:
    """What two registers became by the same steps since they were narrowed to f16, in one; None if they did not."""
    return _Both(Lanes(builder, nest, 2 * _shape(low)[0])).joined(low, high) if _bits(low) == 16 else None


class _Both:
    """Steps of two registers that are done once, on the lanes of both."""

    def __init__(self, lanes: Lanes):
        self.lanes = lanes
        self.known: dict[SSAValue, SSAValue] = {}

    def joined(self, low: SSAValue, high: SSAValue) -> SSAValue | None:
        """The lanes of two values, if they are the same function of two that were narrowed."""
        if low not in self.known and (found := self._found(low, high)) is not None:
            self.known[low] = found
        return self.known.get(low)

    def _found(self, low: SSAValue, high: SSAValue) -> SSAValue | None:
        first, second = low.owner, high.owner
        count, element = _shape(low)
        if isinstance(first, arith.ConstantOp):
            return self._constant(first) if low is high else None
        if low.type != high.type or first.__class__ is not second.__class__:
            return None
        if isinstance(first, arith.TruncFOp):
            return self.lanes.insert(vector_ops.shuffle(low, high, range(2 * count), element, "halves"), "halves")
        if not isinstance(first, STEPS) or not isinstance(second, STEPS) or first.properties != second.properties:
            return None
        operands = [self.joined(*pair) for pair in zip(first.operands, second.operands, strict=True)]
        found = [operand for operand in operands if operand is not None]
        if len(found) < len(operands):
            return None
        type = vector_type(element, 2 * count)
        return self.lanes.insert(created(first.__class__, found, type, first.properties), low.name_hint)

    def _constant(self, op: arith.ConstantOp) -> SSAValue | None:
        """One that all lanes have, in twice as many."""
        value: Any = op.value
        return self.lanes.constant(next(value.iter_values()), value.get_element_type()) if value.is_splat() else None


def _shape(value: SSAValue) -> tuple[int, Attribute]:
    """How many lanes a vector has, and their type."""
    type: Any = value.type
    return type.get_shape()[0], type.element_type


def _bits(value: SSAValue) -> int:
    element: Any = _shape(value)[1]
    return element.bitwidth


def _before_cut(value: SSAValue) -> SSAValue | None:
    """What lanes were cut down from, if they were."""
    while (op := value.owner).__class__ in CASTS:
        (before,) = operands(cast("Operation", op))
        if _bits(before) != _bits(value):
            return None
        value = before
    return operands(cast("Operation", op))[0] if op.__class__ is arith.TruncIOp else None


def _erase_unused(value: SSAValue) -> None:
    """Takes casts, and steps that are done elsewhere, away that nobody uses any more."""
    op = value.owner
    if isinstance(op, (*STEPS, arith.TruncIOp)) and not any(True for _ in value.uses):
        operands = list(op.operands)
        op.detach()
        op.erase()
        for operand in operands:
            _erase_unused(operand)
