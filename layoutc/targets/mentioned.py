"""What the text of an op is made from, where that is not its operands: ops in between have no text."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import arith
from xdsl.ir import Operation, SSAValue

from layoutc.targets.bf16_ops import NARROWING, narrowed
from layoutc.targets.whole_ops import WHOLE, whole

ENDS = (*NARROWING, *WHOLE)
"""ops that may mention others than their operands"""
PASSED_OVER = (arith.TruncFOp, arith.DivfOp, arith.AddfOp)
"""ops without text whose operands others may mention"""


def operands_of(op: Operation) -> Sequence[SSAValue]:
    """The operands of an op, what lanes of bf16 are narrowed from, or what integers are the quotients of."""
    if op.__class__ in NARROWING and (found := narrowed(op)) is not None:
        return found.numbers
    if op.__class__ in WHOLE and (made := whole(op)) is not None:
        return made.operands
    return op.operands
