"""A copy in wider elements: neighbours that stay neighbours move as one."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from layoutc.planning.copies.copy_digits import SIDES, Carry, CopyDigit, StridedCopy, axis_digit, merged
from layoutc.planning.copies.swapped import swapped, swapped_rows

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


def as_bytes(copy: StridedCopy, per_byte: int, with_rows: bool = False) -> StridedCopy | None:
    """
    The copy of elements that share bytes as one of whole bytes: neighbours in them stay so, or are swapped; of several
    short rows, if it may be `with_rows`.
    """
    while per_byte > 1:
        wider = _in_pairs(copy)
        if wider is None:
            found = swapped(copy, per_byte)
            return swapped_rows(copy, per_byte) if with_rows and found is None else found
        copy, per_byte = wider, per_byte // 2
    return copy


def _in_pairs(copy: StridedCopy) -> StridedCopy | None:
    """The copy in elements of twice the width, if it can be seen so."""
    unit = next((i for i, d in enumerate(copy.digits) if d.src == d.dst == 1 and not d.swaps), None)
    if unit is None or any(copy.digits[unit].params) or not _is_even(copy.digits[unit]) or copy.src % 2 or copy.dst % 2:
        return None
    others = [d for i, d in enumerate(copy.digits) if i != unit]
    if any(step % 2 for d in others for side in SIDES for _, step in d.all_steps(side)):
        return None
    digits = tuple(_halved(d, is_unit=i == unit) for i, d in enumerate(copy.digits))
    return merged(replace(copy, src=copy.src // 2, dst=copy.dst // 2, digits=digits))


def _is_even(unit: CopyDigit) -> bool:
    """Whether the steps of the fastest digit are pairs on both sides, none of which is loaded in part."""
    if unit.extent % 2 or unit.loaded % 2 or not (unit.is_whole or unit.is_uneven):
        return False
    return all(
        carry.steps[0][0] % 2 == 0 and all(step % 2 == 0 for _, step in carry.steps[1:]) for _, carry in unit.carries
    )


def _halved(digit: CopyDigit, is_unit: bool) -> CopyDigit:
    """A digit in elements of twice the width; of the fastest one, half as many steps."""
    count = 2 if is_unit else 1
    if not digit.carries:
        src, dst = (1, 1) if is_unit else (digit.src // 2, digit.dst // 2)
        return replace(digit, extent=digit.extent // count, loaded=digit.loaded // count, src=src, dst=dst)
    strides: list[Carry] = []
    for side in SIDES:
        (extent, first), *slower = digit.all_steps(side)
        fastest = (extent // count, 1 if is_unit else first // 2)
        strides.append(Carry((fastest, *((n, step // 2) for n, step in slower))))
    halved = axis_digit(digit.extent // count, digit.loaded // count, *strides)
    return replace(halved, params=digit.params)
