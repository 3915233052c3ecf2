"""Which ops of a function matter: C compilers warn of variables that nobody uses."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import cast

from xdsl.dialects import affine, arith, vector
from xdsl.ir import Operation, SSAValue

from layoutc.discardable import PREFETCH
from layoutc.targets.functions.c_vectors import VECTOR_SPELLINGS
from layoutc.targets.patterns.found import Pattern, pattern_of
from layoutc.targets.patterns.loads_within import place_within
from layoutc.targets.spelling.c_affine import used_operands
from layoutc.targets.spelling.c_arith import SPELLINGS
from layoutc.targets.spelling.c_memory import READS
from layoutc.walk import operands

AFFINE = (affine.ApplyOp, affine.MinOp)
MENTIONS_LESS = (*AFFINE, vector.MaskedLoadOp, vector.MaskedStoreOp)
"""ops whose text may leave operands out"""
REMOVABLE = {*SPELLINGS, *VECTOR_SPELLINGS, *READS}
"""ops that do nothing but give their results"""


def live_ops(ops: Sequence[Operation]) -> tuple[set[int], set[int], dict[int, Pattern]]:
    """
    Of all ops of a function, in the order of the text, the `id` of those that do something, prefetch too, and of those
    whose results such ops use; the `id` of those results; and the patterns that such ops end, by the `id` of the op.
    """
    # What uses a value stands below it. By identity: the hash of an op, or of a value, is a call of Python.
    live: set[int] = set()
    used: set[int] = set()
    patterns: dict[int, Pattern] = {}
    for op in reversed(ops):
        kind = op.__class__
        is_used = kind not in REMOVABLE or PREFETCH in op.attributes
        if is_used or not used.isdisjoint(map(id, op.results)):
            live.add(id(op))
            if kind in MENTIONS_LESS:
                used.update(map(id, _needed(op)))
            elif (found := pattern_of(op)) is not None:
                patterns[id(op)] = found
                used.update(map(id, found.operands))
            else:
                used.update(map(id, operands(op)))
    return live, used, patterns


def _needed(op: Operation) -> Iterable[SSAValue]:
    """The operands that the text of an op mentions, which may leave some out."""
    if op.__class__ in AFFINE:
        given = operands(op)
        return [given[i] for i in used_operands(cast("affine.ApplyOp | affine.MinOp", op))]
    *places, mask, lanes = operands(op)
    if (within := place_within(op)) is not None:
        return within
    # Of a constant mask only the number of its lanes that are on is printed.
    return (*places, lanes) if isinstance(mask.owner, arith.ConstantOp) else operands(op)
