"""
Masked loads that C spells as a load of all lanes, of which it keeps those of the mask.

    %r = vector.maskedload %src[%i], %mask, %zeros {layout.within} : memref<64xi8>, vector<32xi1>, vector<32xi8>

where %mask and %zeros are constants, and the lanes of the mask are not just the first ones.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import copysign
from typing import cast

from xdsl.dialects import arith, vector
from xdsl.dialects.builtin import DenseIntOrFPElementsAttr
from xdsl.ir import Operation, SSAValue

from layoutc.discardable import WITHIN
from layoutc.targets.words.vectors import splat, uncast
from layoutc.walk import operands


def place_within(op: Operation) -> Sequence[SSAValue] | None:
    """The memory and the indices of such a load."""
    if op.__class__ is not vector.MaskedLoadOp or WITHIN not in op.attributes:
        return None
    *place, mask, others = operands(op)
    return place if _has_gaps(mask) and _is_zero(others) else None


def _has_gaps(mask: SSAValue) -> bool:
    """Whether a mask is a constant that leaves a lane out before one that it has."""
    if mask.owner.__class__ is not arith.ConstantOp:
        return False
    lanes = cast("DenseIntOrFPElementsAttr", cast("arith.ConstantOp", mask.owner).value).get_values()
    return not all(lanes[: sum(map(bool, lanes))])


def _is_zero(lanes: SSAValue) -> bool:
    """Whether the bits of all lanes are known to be zero."""
    number = splat(uncast(lanes))
    return number == 0 and copysign(1.0, number) > 0
