"""
A copy of elements that share bytes as one of bytes, of which some steps swap their elements.

Where 256x1024 elements of 4 bits become 1024x256, neighbours in a byte of the source come from one row, those in a byte
of the destination from two. Rows are taken two at a time, and a digit of two steps is which of them: 128 pairs of rows,
2 steps, 512 bytes. What is at the second place of the bytes of the first row, and at the first of those of the second
one, is swapped when both are loaded; then the two steps are no longer rows, but which of two neighbours there was.

Rows of 9 elements of 4 bits, as of filters of 3x3, begin inside of bytes, but each two of them have 9. Where a side has
neighbours of two rows in a byte, these 9 are a digit: its steps are moved as bytes, which on that side have what lies
at the same place of both rows, and on the other one row after the other.
"""

from __future__ import annotations

from dataclasses import replace

from layoutc.planning.copies.copy_digits import OTHER_SIDE, SIDES, CopyDigit, SideName, StridedCopy, merged
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
    digits.append(CopyDigit(per_byte, rows, apart, per_byte, swaps=per_byte))
    found = merged(replace(copy, src=copy.src // per_byte, dst=copy.dst // per_byte, digits=tuple(digits)))
    loaded, stored = zip(*((digit.loaded, digit.extent) for digit in found.digits), strict=True)
    return found if min(run_of(found, "src", loaded), run_of(found, "dst", stored)) > 1 else None


def swapped_rows(copy: StridedCopy, per_byte: int) -> StridedCopy | None:
    """
    The copy in bytes that so many elements share, where neighbours on a side lie in short rows of the other, as many
    of which as share a byte are whole bytes.

    None if there are no such rows, or anything else begins or ends inside of bytes.
    """
    for side in SIDES:
        other = OTHER_SIDE[side]
        across, row = _unit(copy, side), _unit(copy, other)
        if row is not None and across is not None and _has_rows(copy, side, across, row, per_byte):
            digits = [_shared(digit, per_byte, is_unit=g == across) for g, digit in enumerate(copy.digits)]
            steps, apart = copy.digits[row].extent, copy.digits[row].of(side) // per_byte
            src, dst = (apart, 1) if side == "src" else (1, apart)
            digits[row] = CopyDigit(steps, src, dst, steps, swaps=per_byte, swaps_at=side)
            return merged(replace(copy, src=copy.src // per_byte, dst=copy.dst // per_byte, digits=tuple(digits)))
    return None


def _has_rows(copy: StridedCopy, side: SideName, across: int, row: int, per_byte: int) -> bool:
    """
    Whether neighbours on a side, the steps of a digit `across`, are rows behind each other on the other one, and all
    else is a whole number of bytes.
    """
    neighbours, rows = copy.digits[across], copy.digits[row]
    if across == row or not rows.is_whole or rows.extent == per_byte or neighbours.of(OTHER_SIDE[side]) != rows.extent:
        return False
    counts = [copy.src, copy.dst, neighbours.extent, neighbours.loaded, rows.of(side)]
    others = (digit for g, digit in enumerate(copy.digits) if g not in (across, row))
    counts += (digit.of(each) for digit in others for each in SIDES)
    carries = any(digit.carries for digit in copy.digits)
    return not (carries or _overlaps(copy) or any(count % per_byte for count in counts))


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
