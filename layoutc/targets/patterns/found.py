"""
Which chain of ops the text of an op stands for, if it is the last one of such: ops in between have no text.

Each pattern says what its text is made from, its `operands`; `c_patterns` spells it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import cast

from xdsl.dialects import arith, vector
from xdsl.ir import Operation

from layoutc.targets.patterns.bf16_ops import Narrowed, narrowed
from layoutc.targets.patterns.c_code_numbers import code_number
from layoutc.targets.patterns.c_float_numbers import FloatCodes, float_codes
from layoutc.targets.patterns.c_low_bytes import low_bytes
from layoutc.targets.patterns.exact_sums import exact_sum
from layoutc.targets.patterns.fourth_bytes import fourth_bytes
from layoutc.targets.patterns.lane_lists import LaneList, lane_list
from layoutc.targets.patterns.macro_call import MacroCall
from layoutc.targets.patterns.nan_choices import nan_choice
from layoutc.targets.patterns.narrow_parts import NarrowParts, narrow_parts
from layoutc.targets.patterns.packed_codes import packed_codes, signed_codes
from layoutc.targets.patterns.saturated import Saturated, saturated
from layoutc.targets.patterns.signed_bytes import signed_bytes
from layoutc.targets.patterns.whole_ops import Whole, whole
from layoutc.targets.patterns.wide_parts import WidePart, wide_part

Pattern = Saturated | Narrowed | NarrowParts | Whole | WidePart | FloatCodes | LaneList | MacroCall


def _bytes_of_words(op: Operation) -> Saturated | MacroCall | None:
    """What is clamped, gets signs, or is merely cut, register by register, of which an op has the low bytes."""
    if (registers := fourth_bytes(op)) is None:
        return None
    if (clamped := saturated(registers)) is not None or (found := low_bytes(op, registers)) is None:
        return clamped
    return signed_bytes(found) or found


PATTERNS: dict[type[Operation], tuple[Callable[[Operation], Pattern | None], ...]] = {
    vector.ShuffleOp: (_bytes_of_words, narrowed, narrow_parts),
    vector.InsertOp: (lane_list,),
    arith.TruncIOp: (_bytes_of_words,),
    arith.TruncFOp: (narrowed,),
    arith.SelectOp: (whole, nan_choice),
    arith.AddfOp: (whole, exact_sum),
    arith.MulfOp: (float_codes,),
    arith.SIToFPOp: (code_number,),
    arith.SubiOp: (signed_codes,),
    arith.ExtUIOp: (wide_part, packed_codes),
    **dict.fromkeys((arith.ExtSIOp, arith.ShLIOp, arith.ExtFOp), (wide_part,)),
}
"""an op -> the patterns that it may end, the first one that is found counts"""


def pattern_of(op: Operation) -> Pattern | None:
    """The pattern that an op ends; of vectors of several types, which nothing spells, none."""
    if (looks := PATTERNS.get(op.__class__)) is None:
        return None
    if op.__class__ is vector.ShuffleOp and _is_mixed(cast("vector.ShuffleOp", op)):
        return None
    return next((found for look in looks if (found := look(op)) is not None), None)


def _is_mixed(op: vector.ShuffleOp) -> bool:
    return op.v1.type is not op.v2.type and op.v1.type != op.v2.type
