"""What a tag means, in words: the order of the axes, the blocks one by one, what is next to what in memory."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from layoutc.layout import Digit, Layout
from layoutc.notations.onednn_tags import format, parse

NUMERALS = ("no block", "one block", "two blocks", "three blocks", "four blocks", "five blocks")


def explain_tag(text: str) -> tuple[str, ...]:
    """
    A tag in words, one line per fact.

    Raises NotationError for a text that is no tag.
    """
    layout = parse(text)
    outer, inner = layout.digits[: layout.rank], layout.digits[layout.rank :]
    lines = [
        f"{text} is oneDNN's {format(layout)}, of logical axes {' '.join(layout.axis_names)}",
        f"outer order, slowest to fastest: {', '.join(_step(layout, digit) for digit in outer)}",
    ]
    if inner:
        lines.append(f"inside of each step: {_numeral(len(inner))}, {_product(inner)} elements without gaps")
        lines += [_block_line(layout, inner, place) for place in range(len(inner))]
        lines.append(f"padded to multiples: {_multiples(layout)}")
    return (*lines, _neighbours(layout))


def _numeral(count: int) -> str:
    return NUMERALS[count] if count < len(NUMERALS) else f"{count} blocks"


def _product(digits: Sequence[Digit]) -> int:
    return prod(digit.modulus or 1 for digit in digits)


def _name(layout: Layout, digit: Digit) -> str:
    return layout.axis_name(digit.axes)


def _step(layout: Layout, digit: Digit) -> str:
    """An outer axis: `h`, or `o by 16` where a step takes a whole block."""
    return _name(layout, digit) + (f" by {digit.divisor}" if digit.divisor > 1 else "")


def _block_line(layout: Layout, inner: Sequence[Digit], place: int) -> str:
    digit, name = inner[place], _name(layout, inner[place])
    apart = _elements(_product(inner[place + 1 :]))
    where = "the innermost" if place == len(inner) - 1 else "the outermost" if place == 0 else "inside of it"
    steps = f"{digit.modulus} steps of {digit.divisor} {name}"
    return f"  {digit.modulus}{name}, {where}: {steps}, {apart} apart: {digit.text(name)}"


def _elements(count: int) -> str:
    return "1 element" if count == 1 else f"{count} elements"


def _multiples(layout: Layout) -> str:
    """The whole block of each blocked axis, with its factors: `i 4*4 = 16`."""
    texts: list[str] = []
    for group in layout.groups:
        sizes = [str(size) for axis, size in layout.inner_blocks if axis == group.axes[0]]
        if sizes:
            factors = f"{'*'.join(sizes)} = " if len(sizes) > 1 else ""
            texts.append(f"{layout.axis_name(group.axes)} {factors}{group.block}")
    return ", ".join(texts)


def _neighbours(layout: Layout) -> str:
    """Which index changes from one element to the next, and which one when that has run out."""
    first, *others = (digit for digit in reversed(layout.digits) if digit.modulus != 1)
    name, reach = _name(layout, first), first.modulus or "all of them"
    line = f"neighbours in memory: {name} and {name} + {first.divisor}, {reach} in a row"
    return line + (f", then the next {_name(layout, others[0])}" if others else "")
