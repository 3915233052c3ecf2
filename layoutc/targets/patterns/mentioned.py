"""What the text of an op is made from, where that is not its operands: ops in between have no text."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import arith, vector
from xdsl.ir import Operation, SSAValue

from layoutc.targets.patterns.bf16_ops import NARROWING, narrowed
from layoutc.targets.patterns.c_code_numbers import code_of
from layoutc.targets.patterns.c_float_numbers import float_codes
from layoutc.targets.patterns.c_low_bytes import low_bytes, low_bytes_of_pair
from layoutc.targets.patterns.exact_sums import exact_sum
from layoutc.targets.patterns.lane_lists import lane_list
from layoutc.targets.patterns.nan_choices import nan_choice
from layoutc.targets.patterns.narrow_parts import narrow_parts
from layoutc.targets.patterns.saturated import saturated
from layoutc.targets.patterns.signed_bytes import signed_bytes
from layoutc.targets.patterns.whole_ops import WHOLE, whole
from layoutc.targets.patterns.wide_parts import WIDENING, wide_part
from layoutc.walk import operands

ENDS = (*NARROWING, *WHOLE, *WIDENING, arith.TruncIOp, arith.SIToFPOp, arith.MulfOp, vector.InsertOp)
"""ops that may mention others than their operands"""


def operands_of(op: Operation) -> Sequence[SSAValue]:
    """The operands of an op, or what its text is made from instead: lanes of bf16, low bytes, codes, and others."""
    if (packed := saturated(op)) is not None:
        return packed.operands
    if op.__class__ in NARROWING:
        return _narrowed_of(op)
    if op.__class__ in WHOLE and (made := whole(op)) is not None:
        return made.operands
    if (sum := exact_sum(op)) is not None:
        return sum
    if op.__class__ in WHOLE and (choice := nan_choice(op)) is not None:
        return choice.operands
    if op.__class__ in WIDENING and (part := wide_part(op)) is not None:
        return (part.register,)
    if (found := lane_list(op)) is not None:
        return found.operands
    if (found := float_codes(op)) is not None:
        return (found.held,)
    if (code := code_of(op)) is not None:
        return (code,)
    return low_bytes_of_pair(op) or operands(op)


def _narrowed_of(op: Operation) -> Sequence[SSAValue]:
    """The same of an op that narrows, or joins what was narrowed."""
    if (found := narrowed(op)) is not None:
        return found.operands
    if (parts := narrow_parts(op)) is not None:
        return parts.registers
    return signed_bytes(op) or low_bytes(op) or operands(op)
