"""What the text of an op is made from, where that is not its operands: ops in between have no text."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import arith
from xdsl.ir import Operation, SSAValue

from layoutc.targets.bf16_ops import NARROWING, narrowed
from layoutc.targets.c_low_bytes import low_bytes
from layoutc.targets.whole_ops import WHOLE, whole

ENDS = (*NARROWING, *WHOLE)
"""ops that may mention others than their operands"""
PASSED_OVER = (arith.TruncFOp, arith.DivfOp, arith.AddfOp)
"""ops without text whose operands others may mention"""


def operands_of(op: Operation) -> Sequence[SSAValue]:
    """The operands of an op, what lanes of bf16 are narrowed from, or integers the quotients or low bytes of."""
    if op.__class__ in NARROWING:
        found = narrowed(op)
        return (low_bytes(op) or op.operands) if found is None else found.numbers
    if op.__class__ in WHOLE and (made := whole(op)) is not None:
        return made.operands
    return op.operands
