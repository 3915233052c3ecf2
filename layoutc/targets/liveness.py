"""Which ops of a function matter: C compilers warn of variables that nobody uses."""

from __future__ import annotations

from collections.abc import Iterable

from xdsl.dialects import affine, arith, vector
from xdsl.ir import Block, Operation, SSAValue

from layoutc.targets.bf16_ops import operands_of
from layoutc.targets.c_affine import used_operands
from layoutc.targets.c_arith import SPELLINGS
from layoutc.targets.c_memory import READS
from layoutc.targets.c_vectors import PREFETCH, VECTOR_SPELLINGS

MENTIONS_LESS = (affine.ApplyOp, affine.MinOp, vector.MaskedLoadOp, vector.MaskedStoreOp)
"""ops whose text may leave operands out"""
REMOVABLE = {*SPELLINGS, *VECTOR_SPELLINGS, *READS}
"""ops that do nothing but give their results"""


def live_ops(ops: Iterable[Operation]) -> set[Operation]:
    """Of all ops of a function those that do something, prefetch too, and those whose results such ops use."""
    worklist = [op for op in ops if op.__class__ not in REMOVABLE or PREFETCH in op.attributes]
    live = set(worklist)
    while worklist:
        for value in _needed(worklist.pop()):
            op = value.owner
            if op not in live and not isinstance(op, Block):
                live.add(op)
                worklist.append(op)
    return live


def _needed(op: Operation) -> Iterable[SSAValue]:
    """The operands that the text of an op mentions."""
    if op.__class__ not in MENTIONS_LESS:
        return operands_of(op)
    if isinstance(op, affine.ApplyOp | affine.MinOp):
        return [op.operands[i] for i in used_operands(op)]
    *places, mask, lanes = op.operands
    # Of a constant mask only the number of its lanes that are on is printed.
    return (*places, lanes) if isinstance(mask.owner, arith.ConstantOp) else op.operands
