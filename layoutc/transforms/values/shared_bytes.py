"""
Elements that share bytes, the first in the low bits: one of them in its byte, and all of a vector of bytes.

A value that was loaded is a code without sign in a byte of its own; of one that is stored the low bits count.

Lanes are taken apart in wider integers, whose bytes they then are: 0x00BA becomes 0x0B0A.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any

from xdsl.dialects import arith
from xdsl.dialects.builtin import i8
from xdsl.ir import Operation, SSAValue
from xdsl.ir.affine import AffineExpr

from layoutc.transforms.building.creation import insert
from layoutc.transforms.building.lanes import Lanes
from layoutc.transforms.building.loop_nest import apply
from layoutc.transforms.building.vector_ops import bitcast, element, integer_type, put, vector_type


def load_part(lanes: Lanes, memory: SSAValue, per_byte: int, offset: SSAValue, name: str) -> SSAValue:
    """The element at an offset in elements."""
    at, shift = place_of(lanes, per_byte, offset)
    byte = lanes.insert(element(memory, at), "byte")
    return lanes.and_(lanes.shr(byte, shift), _mask(per_byte), name)


def store_part(lanes: Lanes, value: SSAValue, memory: SSAValue, per_byte: int, offset: SSAValue) -> Operation:
    """Replaces the element at an offset in elements, and leaves the other bits of its byte."""
    at, shift = place_of(lanes, per_byte, offset)
    taken = lanes.shl(lanes.constant(_mask(per_byte), i8), shift, "taken")
    before = lanes.insert(element(memory, at), "before")
    others = lanes.and_(before, lanes.xor(taken, -1))
    merged = lanes.or_(others, lanes.shl(lanes.and_(value, _mask(per_byte)), shift), "merged")
    store = put(merged, memory, at)
    insert(lanes.builder, store)
    return store


def place_of(lanes: Lanes, per_byte: int, offset: SSAValue) -> tuple[SSAValue, SSAValue]:
    """The byte of an element, and its lowest bit there."""
    d0 = AffineExpr.dimension(0)
    at = apply(lanes.builder, d0 // per_byte, [offset], "at")
    place = apply(lanes.builder, d0 % per_byte * (8 // per_byte), [offset], "place")
    return at, lanes.insert(arith.IndexCastOp(place, i8), "shift")


def _mask(per_byte: int) -> int:
    return (1 << 8 // per_byte) - 1


def parts_at(lanes: Lanes, bytes: SSAValue, per_byte: int, shift: SSAValue) -> SSAValue:
    """The elements at one place of all bytes in lanes, which are moved by pairs: no processor moves single ones."""
    assert lanes.count is not None
    pairs = replace(lanes, count=lanes.count // 2)
    wide = replace(lanes, count=None).widen(shift, 16, is_signed=False, name="shift")
    words = pairs.insert(bitcast(bytes, vector_type(integer_type(16), lanes.count // 2)), "words")
    moved = pairs.shr(words, pairs.spread(wide))
    return lanes.and_(lanes.insert(bitcast(moved, vector_type(i8, lanes.count)), "bytes"), _mask(per_byte), "value")


# --- vectors -------------------------------------------------------------------------------------------------------


def unpacked(lanes: Lanes, value: SSAValue, per_byte: int) -> SSAValue:
    """The elements of so many bytes (the lanes), each in a byte of its own."""
    value = lanes.widen(value, 8 * per_byte, is_signed=False, name="wide")
    for part in _halves(per_byte):
        moved = lanes.shl(value, part.apart)
        value = lanes.and_(lanes.or_(value, moved), part.kept, "parts")
    return _as_bytes(lanes, value, per_byte)


def packed(lanes: Lanes, value: SSAValue, per_byte: int) -> SSAValue:
    """Elements in a byte each, put together to so many bytes (the lanes)."""
    assert lanes.count is not None
    wide = vector_type(integer_type(8 * per_byte), lanes.count)
    value = lanes.and_(lanes.insert(bitcast(value, wide), "parts"), _spread(per_byte, 1, 8 // per_byte))
    for part in reversed(_halves(per_byte)):
        value = lanes.or_(value, lanes.shr(value, part.apart))
        value = lanes.and_(value, part.before, "packed") if part.before else value
    return lanes.truncate(value, 8, "packed")


def together(lanes: Lanes, rows: Sequence[SSAValue]) -> SSAValue:
    """The elements of as many rows as share a byte, in a byte each, put together to bytes (two for each lane)."""
    bits = 8 // len(rows)
    first, *others = (lanes.insert(bitcast(row, _words(lanes))) for row in rows)
    value = lanes.and_(first, _in_bytes((1 << bits) - 1))
    for number, row in enumerate(others, 1):
        moved = lanes.and_(lanes.shl(row, bits * number), _in_bytes(((1 << bits) - 1) << bits * number))
        value = lanes.or_(value, moved, "together")
    return value


def _words(lanes: Lanes) -> Any:
    """Pairs of bytes: no processor moves the bits of single ones."""
    assert lanes.count is not None
    return vector_type(integer_type(16), lanes.count)


def _in_bytes(bits: int) -> int:
    """The same bits of both bytes of a lane."""
    return 0x0101 * bits


class _Halves:
    """One step: what is in the upper half of a run of bits goes `apart` places up."""

    def __init__(self, per_byte: int, run: int):
        bits = 8 // per_byte
        self.apart = run * (8 - bits)
        self.kept = _spread(per_byte, run, run * bits)
        whole = 2 * run
        self.before = _spread(per_byte, whole, whole * bits) if whole < per_byte else 0


@lru_cache
def _halves(per_byte: int) -> list[_Halves]:
    runs = [per_byte >> step for step in range(1, per_byte.bit_length())]
    return [_Halves(per_byte, run) for run in runs]


@lru_cache
def _spread(per_byte: int, run: int, bits: int) -> int:
    """The low `bits` of every `run` bytes."""
    return sum(((1 << bits) - 1) << 8 * run * number for number in range(per_byte // run))


def _as_bytes(lanes: Lanes, value: SSAValue, per_byte: int) -> SSAValue:
    assert lanes.count is not None
    return lanes.insert(bitcast(value, vector_type(i8, lanes.count * per_byte)), "r")
