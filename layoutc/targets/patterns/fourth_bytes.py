"""
Registers of words whose low bytes an op has side by side, whichever ops make lanes narrow on the way.

By shuffles that leave every second lane of two, first of pairs of bytes and then of bytes:

    %ab = vector.shuffle %a, %b [0, 2, 4, ..., 30] : vector<16xi16>, vector<16xi16>
    %pairs = vector.bitcast %ab : vector<16xi16> to vector<32xi8>  (and so %others)
    %bytes = vector.shuffle %pairs, %others [0, 2, 4, ..., 62] : vector<32xi8>, vector<32xi8>

or by `arith.trunci`, of words or of such pairs, and shuffles that put what is narrow side by side.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from xdsl.dialects import arith, vector
from xdsl.ir import Operation, SSAValue

from layoutc.targets.words.vectors import CASTS, even_lanes, lane_bits, lanes_in, shuffled, side_by_side
from layoutc.walk import operands

WORD, PAIR, BYTE = 32, 16, 8
"""bits of the lanes on the way"""


def fourth_bytes(op: Operation) -> list[SSAValue] | None:
    """The registers, as lanes of words or of pairs, if nobody else uses what is between them and the bytes."""
    if lane_bits(op.results[0].type) != BYTE:
        return None
    if op.__class__ is arith.TruncIOp:
        (words,) = operands(op)
        return [words] if lane_bits(words.type) == WORD else _pair(words)
    if op.__class__ is not vector.ShuffleOp:
        return None
    lanes, sides = shuffled(op), operands(op)
    count = lanes_in(sides[0])
    if lanes == side_by_side(count):
        return _both([fourth_bytes(made) if (made := _behind(side)) else None for side in sides])
    if lanes != even_lanes(count):
        return None
    pairs = [as_lanes(side, PAIR) for side in sides]
    return _both([_pair(pair) if pair is not None else None for pair in pairs])


def _pair(value: SSAValue) -> list[SSAValue] | None:
    """The two registers of words, as pairs, of which a value has every lower half."""
    if value.owner.__class__ is not vector.ShuffleOp or not value.has_one_use():
        return None
    shuffle = cast("Operation", value.owner)
    sides = operands(shuffle)
    is_even = shuffled(shuffle) == even_lanes(lanes_in(sides[0])) and lane_bits(value.type) == PAIR
    return list(sides) if is_even else None


def _both(found: Sequence[list[SSAValue] | None]) -> list[SSAValue] | None:
    """The registers of both sides."""
    first, second = found
    return None if first is None or second is None else first + second


def _behind(value: SSAValue) -> Operation | None:
    """The op that makes a value for nothing else, whatever sign its bytes are said to have meanwhile."""
    while value.owner.__class__ in CASTS and value.has_one_use():
        (value,) = operands(cast("Operation", value.owner))
    return value.owner if isinstance(value.owner, Operation) and value.has_one_use() else None


def as_lanes(value: SSAValue, bits: int) -> SSAValue | None:
    """The value of so many bits a lane that another one has by other names."""
    while value.owner.__class__ in CASTS and value.has_one_use() and lane_bits(value.type) != bits:
        (value,) = operands(cast("Operation", value.owner))
    return value if lane_bits(value.type) == bits else None
