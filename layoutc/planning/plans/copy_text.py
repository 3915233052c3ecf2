"""A strided copy as text, and back: `copy 0 -> 0: 2x(340, 480) 20x(1, 8) 8x(20, 1)/3`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import prod

from layoutc.planning.copies.copy_digits import SIDES, Carry, CopyDigit, SideName, Stride, StridedCopy, axis_digit
from layoutc.planning.plans.plan_line import NOTHING, PlanLine

SWAPPED_DIGIT = "swapped "
"""ahead of a digit that swaps the elements of bytes"""
ROWS: dict[SideName, str] = {"src": "loaded", "dst": "stored"}
"""when it does, if its steps are not as many as share a byte: `swapped 1/2 when stored 9x(1, 32)`"""


def copy_text(copy: StridedCopy) -> str:
    """Where a copy goes from and to, and its digits."""
    head = f"fill -> {copy.dst}" if copy.is_fill else f"copy {copy.src} -> {copy.dst}"
    params = f" with {joined(copy.params, ' ')}" if copy.params else ""
    return f"{head}{params}:" + "".join(f" {_digit(digit)}" for digit in copy.digits)


def _digit(digit: CopyDigit) -> str:
    if len(digit.parts) > 1:
        return f"[{' '.join(map(_digit, reversed(digit.parts)))}]"
    steps = ", ".join(map(str, (*(_stride(digit.stride(side)) for side in SIDES), *digit.params)))
    when = f"1/{digit.swaps} when {ROWS[digit.swaps_at]} " if digit.swaps_rows else ""
    whole = f"{SWAPPED_DIGIT + when if digit.swaps else ''}{digit.extent}x({steps})"
    return whole if digit.is_whole else f"{whole}/{digit.loaded}"


def _stride(stride: Stride) -> str:
    """A number; or how many steps have a stride until the next one has another, the last without a number."""
    if isinstance(stride, int):
        return str(stride)
    *inner, (_, last) = stride.steps
    return " ".join((*(f"{extent}:{step}" for extent, step in inner), str(last)))


def joined(numbers: Sequence[int], separator: str) -> str:
    """`1x16x8`; `-` is the empty list."""
    return separator.join(map(str, numbers)) or NOTHING


def parse_strided(line: PlanLine) -> tuple[StridedCopy, list[int]]:
    """A copy with its digits, each by itself, and how many of them count as one."""
    is_fill = line.take("fill")
    if not is_fill and not line.take("copy "):
        line.fail("'copy' or 'fill'" if line.position else "'copy', 'fill', 'together' or 'through a buffer'")
    src = 0 if is_fill else line.number("the offset of the first element in the source")
    line.expect(" -> ")
    dst = line.number("the offset of the first element in the destination")
    params = line.numbers("offsets of parameters", " ") if line.take(" with ") else ()
    line.expect(":")
    groups: list[list[CopyDigit]] = []
    while not line.sees(","):
        groups.append(_parse_group(line, len(params)))
    digits = tuple(digit for group in groups for digit in group)
    return StridedCopy(dst if is_fill else src, dst, digits, is_fill, params), [len(group) for group in groups]


def _parse_group(line: PlanLine, params: int) -> list[CopyDigit]:
    """A digit, or some in brackets that count as one."""
    if not line.sees(" "):
        line.fail("a blank and a digit, or ', elements of'")
    line.expect(" ")
    if not line.take("["):
        return [_parse_digit(line, params)]
    group = [_parse_digit(line, params)]
    while not line.take("]"):
        line.expect(" ")
        group.append(_parse_digit(line, params))
    return group


def _parse_digit(line: PlanLine, params: int) -> CopyDigit:
    swaps, side = _parse_swaps(line)
    extent = line.number("a digit as 20x(1, 8)")
    line.expect("x(")
    src = _parse_stride(line)
    line.expect(", ")
    dst = _parse_stride(line)
    steps: list[int] = []
    for _ in range(params):
        line.expect(", ")
        steps.append(line.number("steps of a parameter, as many numbers as behind 'with'"))
    line.expect(")")
    loaded = line.number("how many steps are loaded") if line.take("/") else extent
    strides = (_carry(*src, loaded), _carry(*dst, extent))
    digit = axis_digit(extent, loaded, *strides)
    return replace(digit, params=tuple(steps), swaps=extent if swaps is None else swaps, swaps_at=side)


def _parse_swaps(line: PlanLine) -> tuple[int | None, SideName]:
    """The elements that share a byte where a digit swaps them, and where: None are as many as it has steps."""
    if not line.take(SWAPPED_DIGIT):
        return 0, "src"
    if not line.take("1/"):
        return None, "src"
    share = line.number("elements that share a byte")
    line.expect(" when ")
    return share, line.one_of({word: side for side, word in ROWS.items()}, " ")


def _parse_stride(line: PlanLine) -> tuple[list[tuple[int, int]], int]:
    """A number; or how many steps have a stride until the next one has another, `16:1 560`."""
    inner: list[tuple[int, int]] = []
    number = line.number("the stride of a digit")
    while line.take(":"):
        inner.append((number, line.number("a stride")))
        line.expect(" ")
        number = line.number("the stride of the other steps")
    return inner, number


def _carry(inner: list[tuple[int, int]], last: int, extent: int) -> Carry:
    period = prod(n for n, _ in inner)
    return Carry((*inner, (-(-extent // period) if period else 0, last)))
