"""
Bytes whose elements change places with those of others: of values, of whole registers, and of lanes of one register.

One swap has bytes in pairs, and places of so many bits in them. What is at each second place of the first byte of a
pair comes to the place before it in the second one, and back: by 4 bits 0xBA and 0xDC become 0xCA and 0xDB. As many
bytes as share their elements swap all of them by one such step for each bit of a place's number.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import reduce

from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, i64
from xdsl.ir import SSAValue

from layoutc.transforms.building import vector_ops
from layoutc.transforms.building.lanes import Lanes
from layoutc.transforms.building.vector_ops import bitcast, integer_type, vector_type

Term = tuple[SSAValue, int, int]
"""a register of bytes, the place in each of an element, and the place that it comes to"""

WORD, LANE = 2, 8
"""bytes of the narrowest lanes that vectors are shifted in, and of the widest"""


def all_swapped(lanes: Lanes, values: Sequence[SSAValue]) -> list[SSAValue]:
    """As many values as elements share a byte, of bytes: each with those at its own place of all of them."""
    found, apart = [*values], 1
    while apart < len(found):
        for first in (number for number in range(len(found)) if not number & apart):
            one, two = found[first], found[first + apart]
            found[first], found[first + apart] = _swapped(lanes, one, two, 8 // len(found) * apart, 1)
        apart *= 2
    return found


def swapped_across(lanes: Lanes, first: SSAValue, second: SSAValue, bits: int) -> tuple[SSAValue, SSAValue]:
    """The bytes of two registers (a byte for each lane), each of which is a pair with one of the other."""
    words, one = _cast(lanes, first, WORD)
    two = _cast(lanes, second, WORD)[1]
    return _swapped(words, one, two, bits, WORD)


def gathered(lanes: Lanes, terms: Sequence[Term], bits: int) -> SSAValue:
    """Bytes with elements of so many bits from those of several registers (a byte for each lane)."""
    found: dict[tuple[SSAValue, int], int] = {}
    for value, place, to in terms:
        shift = (to - place) * bits
        found[value, shift] = found.get((value, shift), 0) | (1 << bits) - 1 << to * bits
    parts: list[SSAValue] = []
    for (value, shift), mask in found.items():
        words, part = _cast(lanes, value, WORD)
        if shift:
            part = (words.shl if shift > 0 else words.shr)(part, abs(shift))
        parts.append(words.and_(part, mask * 0x101))
    return reduce(lambda one, other: lanes.or_(one, other, "swapped"), parts)


def swapped_within(lanes: Lanes, value: SSAValue, bits: int, apart: int) -> SSAValue:
    """The bytes of a register (a byte for each lane) of which pairs are so many apart, a power of two."""
    if 2 * apart <= LANE:
        return _halves_swapped(*_cast(lanes, value, 2 * apart), bits, apart)
    return _lanes_swapped(*_cast(lanes, value, LANE), bits, apart // LANE)


def _cast(lanes: Lanes, value: SSAValue, width: int) -> tuple[Lanes, SSAValue]:
    """A register in lanes of so many bytes."""
    assert lanes.count is not None, "values of one byte have no other lanes"
    wide = replace(lanes, count=lanes.count // width)
    return wide, wide.insert(bitcast(value, vector_type(integer_type(8 * width), lanes.count // width)))


def _swapped(lanes: Lanes, first: SSAValue, second: SSAValue, bits: int, width: int) -> tuple[SSAValue, SSAValue]:
    """Pairs of values with lanes of so many bytes."""
    low, high = _places(bits, width)
    return (
        lanes.or_(lanes.and_(first, low), lanes.and_(lanes.shl(second, bits), high), "swapped"),
        lanes.or_(lanes.and_(lanes.shr(first, bits), low), lanes.and_(second, high), "swapped"),
    )


def _halves_swapped(lanes: Lanes, value: SSAValue, bits: int, half: int) -> SSAValue:
    """Pairs in the two halves, of so many bytes, of each lane: shifts take each to where the other one is."""
    (low, high), apart, second = _places(bits, half), 8 * half - bits, 8 * half
    kept = lanes.and_(value, low | high << second)
    moved = lanes.and_(lanes.shr(value, apart), high), lanes.and_(lanes.shl(value, apart), low << second)
    return lanes.or_(kept, lanes.or_(*moved), "swapped")


def _lanes_swapped(lanes: Lanes, value: SSAValue, bits: int, apart: int) -> SSAValue:
    """Pairs in the widest lanes, so many of them apart: a shuffle takes each to where the other one is."""
    numbers, (low, high) = vector_ops.lanes_of(value), _places(bits, LANE)

    def mask(first: int, second: int) -> SSAValue:
        """Bits of the first lanes of pairs, and of the second ones."""
        each = [second if number & apart else first for number in numbers]
        signed = [word - (word >> 63 << 64) for word in each]
        return lanes.nest.element(DenseIntOrFPElementsAttr.from_list(vector_type(i64, len(numbers)), signed))

    other = lanes.insert(vector_ops.shuffle(value, value, [number ^ apart for number in numbers], i64, "other"))
    moved = lanes.and_(lanes.shl(other, bits), mask(high, 0)), lanes.and_(lanes.shr(other, bits), mask(0, low))
    return lanes.or_(lanes.and_(value, mask(low, high)), lanes.or_(*moved), "swapped")


def _places(bits: int, width: int) -> tuple[int, int]:
    """The first places of so many bits, of each two of so many bytes, and the second ones."""
    first = sum((1 << bits) - 1 << place for place in range(0, 8 * width, 2 * bits))
    return first, first << bits
