"""A copy in wider elements: neighbours that stay neighbours move as one."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from layoutc.planning.copy_digits import CopyDigit, StridedCopy, merged

MAX_ELEMENT_BYTES = 8


def promoted(copy: StridedCopy, element: int) -> tuple[StridedCopy, int]:
    """The copy in the widest elements: pairs of bf16 that stay neighbours become elements of 4 bytes."""
    *_, widest = promotions(copy, element)
    return widest


def promotions(copy: StridedCopy, element: int) -> Iterator[tuple[StridedCopy, int]]:
    """The copy in elements of `element` bytes, and in all wider ones that it can be seen in."""
    yield copy, element
    while element < MAX_ELEMENT_BYTES and (wider := _in_pairs(copy)) is not None:
        copy, element = wider, 2 * element
        yield copy, element


def in_bytes(copy: StridedCopy, per_byte: int) -> StridedCopy | None:
    """The copy of elements that share bytes as one of whole bytes, if neighbours in a byte stay neighbours in one."""
    while per_byte > 1:
        wider = _in_pairs(copy)
        if wider is None:
            return None
        copy, per_byte = wider, per_byte // 2
    return copy


def _in_pairs(copy: StridedCopy) -> StridedCopy | None:
    """The copy in elements of twice the width, if it can be seen so."""
    unit = next((i for i, d in enumerate(copy.digits) if d.src == d.dst == 1), None)
    others = [n for i, d in enumerate(copy.digits) if i != unit for n in (d.src, d.dst)]
    even = all(n % 2 == 0 for n in (*others, copy.src, copy.dst))
    if unit is None or not even or copy.digits[unit].extent % 2 or not copy.digits[unit].is_whole:
        return None
    digits = tuple(
        CopyDigit(d.extent // 2, 1, 1, d.loaded // 2) if i == unit else replace(d, src=d.src // 2, dst=d.dst // 2)
        for i, d in enumerate(copy.digits)
    )
    return merged(replace(copy, src=copy.src // 2, dst=copy.dst // 2, digits=digits))
