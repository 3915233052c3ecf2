"""
A copy of elements that share bytes as one of bytes, of which some steps swap their elements.

Where 256x1024 elements of 4 bits become 1024x256, neighbours in a byte of the source come from one row, those in a byte
of the destination from two. Rows are taken two at a time, and a digit of two steps is which of them: 128 pairs of rows,
2 steps, 512 bytes. What is at the second place of the bytes of the first row, and at the first of those of the second
one, is swapped when both are loaded; then the two steps are no longer rows, but which of two neighbours there was.
"""

from __future__ import annotations

from dataclasses import replace

from layoutc.planning.copies.copy_digits import SIDES, CopyDigit, SideName, StridedCopy, merged
from layoutc.planning.copies.runs import run_of


def swapped(copy: StridedCopy, per_byte: int) -> StridedCopy | None:
    """
    The copy in bytes that so many elements share, where neighbours on a side lie in rows of the other.

    None if rows begin or end inside of bytes, or no bytes lie together on a side; if some digit carries; or if the
    source overlaps itself, as a byte would be of several steps.
    """
    along, across = (_unit(copy, side) for side in SIDES)
    if along is None or across is None or along == across or not _has_bytes(copy, (along, across), per_byte):
        return None
    digits = [_shared(digit, per_byte, is_unit=g in (along, across)) for g, digit in enumerate(copy.digits)]
    rows, apart = copy.digits[across].src // per_byte, copy.digits[along].dst // per_byte
    digits.append(CopyDigit(per_byte, rows, apart, per_byte, swaps=True))
    found = merged(replace(copy, src=copy.src // per_byte, dst=copy.dst // per_byte, digits=tuple(digits)))
    loaded, stored = zip(*((digit.loaded, digit.extent) for digit in found.digits), strict=True)
    return found if min(run_of(found, "src", loaded), run_of(found, "dst", stored)) > 1 else None


def _unit(copy: StridedCopy, side: SideName) -> int | None:
    """The digit whose steps are neighbours on a side."""
    return next((g for g, digit in enumerate(copy.digits) if digit.of(side) == 1), None)


def _has_bytes(copy: StridedCopy, units: tuple[int, int], per_byte: int) -> bool:
    """Whether all else than the steps of these digits, one of each side, is a whole number of bytes on that side."""
    counts = [copy.src, copy.dst]
    for side, unit in zip(SIDES, units, strict=True):
        counts += (copy.digits[unit].extent, copy.digits[unit].loaded)
        counts += (digit.of(side) for g, digit in enumerate(copy.digits) if g != unit)
    carries = any(digit.carries for digit in copy.digits)
    return not (carries or _overlaps(copy) or any(count % per_byte for count in counts))


def _overlaps(copy: StridedCopy) -> bool:
    """Whether steps of some digit lie within what the faster ones take of the source."""
    reach = 0
    for digit in sorted(copy.digits, key=lambda digit: digit.src):
        if digit.src <= reach:
            return True
        reach += (digit.loaded - 1) * digit.src
    return False


def _shared(digit: CopyDigit, per_byte: int, *, is_unit: bool) -> CopyDigit:
    """A digit in bytes; of a unit of a side as many steps fewer, which lie as far apart as steps of elements did."""
    if is_unit:
        return replace(digit, extent=digit.extent // per_byte, loaded=digit.loaded // per_byte)
    return replace(digit, src=digit.src // per_byte, dst=digit.dst // per_byte)
