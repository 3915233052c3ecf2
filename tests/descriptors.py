"""The shared list of descriptors: named pairs of source and destination, and every descriptor in them once."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import takewhile
from math import prod
from typing import Any

import layoutc
from layoutc.descriptor import MemoryDesc
from layoutc.element_type import element_type
from layoutc.layout import Digit, Layout

Pair = tuple[MemoryDesc, MemoryDesc]


def layout(tag: str, **options: Any) -> Layout:
    """The layout that a oneDNN tag in the letters a, b, .. means: `aBcd8b`."""
    outer = "".join(takewhile(str.isalpha, tag))
    blocks = re.findall(r"(\d+)([a-z])", tag[len(outer) :])
    inner = [(ord(letter) - ord("a"), int(block)) for block, letter in blocks]
    digits = [Digit((axis,), prod(b for a, b in inner if a == axis)) for axis in _axes(outer)]
    for place, (axis, block) in enumerate(inner):
        digits.append(Digit((axis,), prod(b for a, b in inner[place + 1 :] if a == axis), block))
    return Layout(len(outer), tuple(digits), **options)


def _axes(letters: str) -> list[int]:
    return [ord(letter) - ord("a") for letter in letters.lower()]


def desc(tag: str | Layout, dims: Sequence[int], align: tuple[int, ...] = (), **options: Any) -> MemoryDesc:
    """A descriptor of f32 elements."""
    of = layout(tag, align=align) if isinstance(tag, str) else tag
    return MemoryDesc(tuple(dims), element_type("f32"), of, **options)


def pair(dims: Sequence[int], source: str | Layout, destination: str | Layout) -> Pair:
    """Two dense descriptors of the same dims."""
    return desc(source, dims), desc(destination, dims)


def sides(layouts: str, dims: tuple[int, ...], types: str) -> Pair:
    """Two descriptors of texts, as `nchw->nChw8c` and `f32->s8`."""
    (layout, to_layout), (type, to_type) = layouts.split("->"), types.split("->")
    return layoutc.desc(layout, dims, type), layoutc.desc(to_layout, dims, to_type)


YX = (2, 3)
FLATTENED = Layout(4, (Digit((0,)), Digit((1,)), Digit(YX, 4), Digit(YX, 1, 4)))
"""(a, b, yx floordiv 4, yx mod 4)"""
FLATTENED_BLOCKS = Layout(4, (Digit((0,), 4), Digit((1,)), Digit(YX, 4), Digit((0,), 1, 4), Digit(YX, 1, 4)))
FLATTENED_TWICE = Layout(4, (Digit((0, 1), 4), Digit(YX, 2), Digit((0, 1), 1, 4), Digit(YX, 1, 2)))
FLATTENED_OUT_OF_ORDER = Layout(4, (Digit((3, 1), 3), Digit((0,)), Digit((2,)), Digit((3, 1), 1, 3)))
FINE = Layout(2, (Digit((0,), 1, 4), Digit((1,)), Digit((0,), 4, 3), Digit((0,), 12)))
"""(a mod 4, b, (a floordiv 4) mod 3, a floordiv 12)"""
SWIZZLE = Layout(
    4,
    (
        Digit((0,), 32),
        Digit((1,), 32),
        Digit((2,)),
        Digit((3,)),
        Digit((0,), 1, 4),
        Digit((1,), 4, 8),
        Digit((0,), 4, 8),
        Digit((1,), 1, 4),
    ),
)
"""os_is_yx_osa4_isa8_osv8_isv4_swizzled_by_4: the block of 8 counts in fours"""

PAIRS: dict[str, Pair] = {
    # ranks
    "rank 0": pair((), "", ""),
    "rank 0 with offsets": (desc("", (), base_offset=2), desc("", (), base_offset=3)),
    "rank 1": pair((7,), "a", "a"),
    "rank 1 into a block": pair((7,), "a", "A4a"),
    "rank 2 transposed": pair((3, 5), "ab", "ba"),
    "rank 3 rotated": pair((2, 3, 4), "abc", "cab"),
    "rank 4 nchw to nhwc": pair((2, 3, 4, 5), "abcd", "acdb"),
    "rank 5": pair((2, 3, 2, 3, 2), "abcde", "acdeb"),
    "rank 6": pair((2, 3, 2, 1, 2, 3), "abcdef", "fedcba"),
    "rank 8": pair((2,) * 8, "abcdefgh", "hbcdefga"),
    "rank 12 reversed": pair((2, 1, 2, 1, 2, 1, 2, 1, 2, 1, 2, 3), "abcdefghijkl", "lkjihgfedcba"),
    "rank 12 blocked": pair((1, 2, 1, 2, 1, 3, 1, 2, 1, 2, 1, 3), "abcdefghijkl", "abcdeFghijkL2f2l"),
    "outer digit innermost": pair((45, 3), "ab", FINE),
    "outer digit innermost, into the middle of a block": pair((43, 3), "Ba4b", FINE),
    # extents of 1
    "all extents 1": pair((1, 1, 1, 1), "abcd", "acdb"),
    "extent 1 into a block": pair((2, 1, 3, 2), "abcd", "aBcd8b"),
    "extent 1 from a block": pair((1, 1, 2, 2), "ABcd4a4b", "abcd"),
    "one element in a block": pair((1,), "a", "A16a"),
    # the same layout
    "identity": pair((2, 3, 4), "abc", "abc"),
    "identity of blocks with tails": pair((2, 5, 3, 3), "aBcd8b", "aBcd8b"),
    # blocks and tails
    "nchw to nChw8c": pair((2, 17, 5, 4), "abcd", "aBcd8b"),
    "nChw8c to nchw": pair((2, 17, 5, 4), "aBcd8b", "abcd"),
    "nChw16c without a tail": pair((1, 32, 2, 3), "abcd", "aBcd16b"),
    "nhwc to nChw16c": pair((1, 19, 3, 2), "acdb", "aBcd16b"),
    "tail of one": pair((1, 9, 2, 2), "abcd", "aBcd8b"),
    "tail of all but one": pair((1, 15, 2, 2), "abcd", "aBcd8b"),
    "tails on two axes": pair((5, 6, 2, 2), "abcd", "ABcd4a4b"),
    "tails on three axes": pair((3, 5, 7), "abc", "ABC2a4b4c"),
    "tails on every axis": pair((3, 5, 3, 5), "abcd", "ABCD2a4b2c4d"),
    "block of the fastest axis": pair((3, 10), "ab", "aB4b"),
    "block of the slowest axis": pair((10, 3), "ab", "Ab4a"),
    "block of 3": pair((2, 10, 3), "abc", "aBc3b"),
    "block of 1": pair((2, 3, 4), "abc", "aBc1b"),
    "block larger than the axis": pair((2, 3, 4), "abc", "aBc16b"),
    # an axis blocked more than once
    "OIhw4i16o4i": pair((17, 18, 2, 1), "abcd", "ABcd4b16a4b"),
    "OIhw4i16o4i back": pair((17, 18, 2, 1), "ABcd4b16a4b", "abcd"),
    "OIhw2i8o16i2o": pair((20, 33, 1, 2), "abcd", "ABcd2b8a16b2a"),
    "three blocks of an axis": pair((3, 29), "ab", "aB2b3b2b"),
    "block outside of a block with tails": pair((13,), "a", "A2a4a"),
    "swizzle": pair((9, 35, 2, 1), "abcd", SWIZZLE),
    "swizzle back": pair((9, 35, 2, 1), SWIZZLE, "bacd"),
    # blocked on both sides
    "8 to 16": pair((1, 17, 3, 2), "aBcd8b", "aBcd16b"),
    "16 to 8": pair((1, 17, 3, 2), "aBcd16b", "aBcd8b"),
    "6 to 16": pair((1, 19, 2, 2), "aBcd6b", "aBcd16b"),
    "16 to 6": pair((1, 19, 2, 2), "aBcd16b", "aBcd6b"),
    "48 to 32": pair((1, 70, 2), "aBc48b", "aBc32b"),
    "blocks of different axes": pair((9, 10, 2), "Abc8a", "aBc8b"),
    "blocks in the other order": pair((18, 20), "AB16a16b", "AB16b16a"),
    "doubly blocked both sides": pair((18, 20), "AB4b16a4b", "AB2a8b8a2b"),
    # strides, broadcasts, base offsets
    "row pitch of the source": (desc("ab", (3, 5), strides=(8, 1)), desc("ab", (3, 5))),
    "row pitch of the destination": (desc("ab", (3, 5)), desc("ab", (3, 5), strides=(8, 1))),
    "every axis strided": (desc("abc", (2, 3, 4), strides=(40, 12, 2)), desc("abc", (2, 3, 4), strides=(3, 7, 31))),
    "pitch of a blocked destination": (
        desc("abcd", (2, 9, 2, 3)),
        desc("aBcd8b", (2, 9, 2, 3), strides=(150, 70, 30, 9, 1)),
    ),
    "broadcast of an axis": (desc("ab", (3, 5), strides=(0, 1)), desc("ab", (3, 5))),
    "broadcast of a scalar into blocks": (desc("abc", (2, 5, 3), strides=(0, 0, 0)), desc("aBc4b", (2, 5, 3))),
    "overlapping source": (desc("ab", (4, 3), strides=(1, 1)), desc("ab", (4, 3))),
    "base offsets": (desc("ab", (3, 5), base_offset=7), desc("aB4b", (3, 5), base_offset=3)),
    "interleaved strides": (desc("ab", (2, 4)), desc("ab", (2, 4), strides=(3, 2))),
    "interleaved strides of the source": (desc("ab", (3, 3), strides=(4, 3)), desc("ba", (3, 3))),
    "strides in the other order": (desc("ab", (3, 4), strides=(1, 3)), desc("ab", (3, 4))),
    # borders
    "border of the destination": (
        desc("abcd", (1, 2, 3, 3)),
        desc("abcd", (1, 2, 3, 3), low=(0, 0, 1, 2), high=(0, 0, 2, 1)),
    ),
    "border of the source": (desc("ab", (3, 4), low=(1, 1), high=(1, 1)), desc("ba", (3, 4))),
    "border of a blocked axis": (desc("ab", (2, 9)), desc("aB4b", (2, 9), low=(0, 3), high=(0, 2))),
    "low border of a blocked axis with a tail": (desc("ab", (2, 9)), desc("aB4b", (2, 9), low=(0, 2))),
    "borders that keep blocks out of step": (desc("aB4b", (2, 19), low=(0, 1)), desc("aB8b", (2, 19), low=(0, 2))),
    "a border beyond the first blocks": (
        desc("aB6b", (2, 23), low=(0, 3)),
        desc("aB4b", (2, 23), low=(0, 9), high=(0, 2)),
    ),
    "high border of a blocked axis with a tail": (desc("ab", (2, 9)), desc("aB4b", (2, 9), high=(0, 2))),
    "borders next to a tail": (desc("abc", (2, 5, 3)), desc("aBc4b", (2, 5, 3), low=(1, 0, 1), high=(0, 0, 2))),
    "borders of two blocked axes": (desc("ab", (5, 7)), desc("AB4a4b", (5, 7), low=(1, 2), high=(2, 0))),
    "border, pitch and offset": (
        desc("ab", (3, 5)),
        desc("aB4b", (3, 5), strides=(17, 6, 1), base_offset=5, low=(1, 1), high=(0, 1)),
    ),
    # axes flattened before they are blocked
    "flattened axes": pair((2, 2, 3, 3), "abcd", FLATTENED),
    "flattened axes back": pair((2, 2, 3, 3), FLATTENED, "abcd"),
    "flattened axes and a block": pair((5, 2, 3, 3), "abcd", FLATTENED_BLOCKS),
    "two flattened groups": pair((3, 3, 3, 5), "abcd", FLATTENED_TWICE),
    "flattened out of order": pair((2, 4, 2, 5), "abcd", FLATTENED_OUT_OF_ORDER),
    "flattened both sides": pair((3, 3, 3, 3), FLATTENED, FLATTENED_TWICE),
    "border of flattened axes": (
        desc("abcd", (2, 2, 3, 3)),
        desc(FLATTENED, (2, 2, 3, 3), low=(0, 0, 1, 1), high=(0, 0, 0, 1)),
    ),
    "low border of the outer flattened axis": (
        desc("abcd", (1, 2, 3, 3)),
        desc(FLATTENED, (1, 2, 3, 3), low=(0, 1, 1, 0)),
    ),
    "border before flattened tails": (
        desc("abcd", (5, 2, 3, 3)),
        desc(FLATTENED_BLOCKS, (5, 2, 3, 3), low=(1, 1, 0, 0)),
    ),
    "low border of flattened axes beside tails": (
        desc("abcd", (5, 2, 3, 3)),
        desc(FLATTENED_BLOCKS, (5, 2, 3, 3), low=(0, 0, 2, 0)),
    ),
    # alignment without blocks
    "aligned axis": (desc("ab", (3, 5)), desc("ab", (3, 5), align=(1, 8))),
    "aligned slow axis": (desc("ab", (3, 5)), desc("ab", (3, 5), align=(4, 1))),
    "aligned beyond a block": (desc("ab", (3, 5)), desc("aB2b", (3, 5), align=(2, 3))),
    "aligned source": (desc("ab", (3, 5), align=(2, 4)), desc("ba", (3, 5))),
    "aligned axis with a border": (desc("ab", (3, 5)), desc("ab", (3, 5), align=(1, 8), low=(0, 1), high=(1, 1))),
}

DESCRIPTORS: dict[str, MemoryDesc] = {
    f"{name}, {side}": found
    for name, both in PAIRS.items()
    for side, found in zip(("source", "destination"), both, strict=True)
}
