"""
Masked loads that C spells as a load of all lanes, of which it keeps those of the mask.

    %r = vector.maskedload %src[%i], %mask, %zeros {layout.within} : memref<64xi8>, vector<32xi1>, vector<32xi8>

where %mask and %zeros are constants.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import copysign

from xdsl.dialects import arith, vector
from xdsl.ir import Operation, SSAValue

from layoutc.discardable import WITHIN
from layoutc.targets.words.vectors import splat, uncast
from layoutc.walk import operands


def place_within(op: Operation) -> Sequence[SSAValue] | None:
    """The memory and the indices of such a load."""
    if op.__class__ is not vector.MaskedLoadOp or WITHIN not in op.attributes:
        return None
    *place, mask, others = operands(op)
    return place if mask.owner.__class__ is arith.ConstantOp and _is_zero(others) else None


def _is_zero(lanes: SSAValue) -> bool:
    """Whether the bits of all lanes are known to be zero."""
    number = splat(uncast(lanes))
    return number == 0 and copysign(1.0, number) > 0
