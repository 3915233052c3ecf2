"""
Functions of lanes that are a byte each, each lane by itself: a table of 256 bytes, or words, says what one does.

    func.func private @twice(%given : vector<64xi8>) -> vector<64xi8> attributes {layout.inlined} {
      %words = arith.extui %given : vector<64xi8> to vector<64xi16>
      %sum = arith.addi %words, %words : vector<64xi16>
      %low = arith.trunci %sum : vector<64xi16> to vector<64xi8>
      func.return %low : vector<64xi8>
    }

gives 0, 2, 4 ... 254, 0, 2 ... The interpreter of lowered IR finds it, so that it is what this text says of each byte.
"""

from __future__ import annotations

from collections.abc import Container, Sequence
from functools import reduce
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray
from xdsl.dialects import arith, func, vector
from xdsl.dialects.builtin import DenseIntOrFPElementsAttr
from xdsl.ir import Attribute, Operation, SSAValue

from layoutc.targets.words.c_types import is_vector, width
from layoutc.walk import operands

BYTES = 256
MIXED = -1
"""in place of the lane that a lane is made of: of several, or of what is unknown"""
Lanes = NDArray[np.int64] | None
"""of which lane of what is given each lane of a value is made; None: of none, and all are alike"""


RESULTS = (8, 16)
"""bits of a lane of what such a function gives"""


def byte_table(function: func.FuncOp, counts: Container[int]) -> bytes | None:
    """
    What a function makes of each byte, as a byte or as two, the lower one first; None where it is given anything else,
    or where lanes depend on others.

    Only of vectors of so many lanes.
    """
    types = function.function_type.inputs.data, function.function_type.outputs.data
    bits = [[width(type.element_type) if is_vector(type) else 0 for type in side] for side in types]
    if bits[0] != [8] or len(bits[1]) != 1 or bits[1][0] not in RESULTS:
        return None
    (given,), (*ops, end) = function.body.block.args, function.body.block.ops
    lanes = _count(given.type)
    if lanes not in counts or any(len(op.results) != 1 for op in ops):
        return None
    return _evaluated(given, ops, end.operands[0]) if _is_by_lanes(given, ops, end.operands[0]) else None


def _count(type: Attribute) -> int:
    """Lanes of a vector; a scalar is one."""
    return cast("Any", type).get_shape()[0] if is_vector(type) else 1


def _is_by_lanes(given: SSAValue, ops: Sequence[Operation], result: SSAValue) -> bool:
    """Whether each lane of a result is made of the same lane of what is given, if of any."""
    every = np.arange(_count(given.type))
    made: dict[SSAValue, Lanes] = {given: every}
    for op in ops:
        made[op.results[0]] = _lanes_of(op, [made[operand] for operand in operands(op)])
    lanes = made[result]
    return _count(result.type) == len(every) and (lanes is None or np.array_equal(lanes, every))


def _lanes_of(op: Operation, given: Sequence[Lanes]) -> Lanes:
    """Of which lanes those of an op's result are made."""
    match op:
        case arith.ConstantOp():
            is_same = not isinstance(op.value, DenseIntOrFPElementsAttr) or op.value.is_splat()
            return None if is_same else _mixed(op.result)
        case vector.ShuffleOp():
            sides = (_mixed(op.operands[number]) if lanes is None else lanes for number, lanes in enumerate(given))
            return np.concatenate(tuple(sides))[np.asarray(op.mask.get_values())]
        case vector.BroadcastOp():
            return None if given[0] is None else _mixed(op.vector)
        case vector.BitcastOp():
            return _cast(given[0], _count(op.result.type))
        case _ if op.name.startswith(("arith.", "math.")):
            return reduce(_both, given)
        case _:
            return _mixed(op.results[0])


def _mixed(value: SSAValue) -> NDArray[np.int64]:
    return np.full(_count(value.type), MIXED)


def _both(one: Lanes, other: Lanes) -> Lanes:
    """Lanes that are made of those of two values."""
    if one is other or other is None:
        return one
    return other if one is None else np.where(one == other, one, MIXED)


def _cast(lanes: Lanes, count: int) -> Lanes:
    """As many lanes, parts of wider ones or each of some that lie side by side."""
    if lanes is None or count == len(lanes):
        return lanes
    if count > len(lanes):
        return np.repeat(lanes, count // len(lanes))
    return reduce(_both, lanes.reshape(count, -1).T)


def _evaluated(given: SSAValue, ops: Sequence[Operation], result: SSAValue) -> bytes | None:
    """A result for all bytes, as it lies in memory."""
    # The interpreter is what a compiler loads last.
    from layoutc.interpreter.functions import PURE
    from layoutc.interpreter.values import Fault, value_dtype

    lanes = _count(given.type)
    every = np.arange(BYTES, dtype=np.uint8).reshape(-1, lanes)
    values: dict[SSAValue, NDArray[Any]] = {given: every.view(value_dtype(given.type))}
    if any(op.__class__ not in PURE for op in ops):
        return None
    try:
        with np.errstate(all="ignore"):
            for op in ops:
                found = PURE[op.__class__](op, tuple(values[operand] for operand in operands(op)))
                values[op.results[0]] = np.asarray(found)
    except Fault:
        return None
    found = np.broadcast_to(values[result], every.shape)
    return np.ascontiguousarray(found).view(np.uint8).tobytes()
