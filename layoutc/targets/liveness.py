"""Which ops of a function matter: C compilers warn of variables that nobody uses."""

from __future__ import annotations

from collections.abc import Iterable

from xdsl.dialects import affine, func
from xdsl.ir import Operation, SSAValue

from layoutc.targets.c_affine import used_operands
from layoutc.targets.c_arith import SPELLINGS
from layoutc.targets.c_memory import READS


def live_ops(function: func.FuncOp) -> set[Operation]:
    """The ops that do something, and those whose results such ops use."""
    worklist = [op for op in function.walk() if op.__class__ not in SPELLINGS and op.__class__ not in READS]
    live = set(worklist)
    while worklist:
        for value in _needed(worklist.pop()):
            owner = value.owner
            if isinstance(owner, Operation) and owner not in live:
                live.add(owner)
                worklist.append(owner)
    return live


def _needed(op: Operation) -> Iterable[SSAValue]:
    """The operands that the text of an op mentions."""
    if isinstance(op, affine.ApplyOp):
        return [op.operands[i] for i in used_operands(op)]
    return op.operands
