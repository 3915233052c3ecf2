"""
OpenVINO's GPU formats: `bfyx`, `b_fs_yx_fsv16`, `os_is_yx_osa4_isa8_osv8_isv4_swizzled_by_4`, `gs_oi_yxs_gsv4_yxsv4`.

A name lists, slowest first, axes (`yx`), slices of blocked axes (`fs`; `yxs` slices the flattened y and x), and blocks
(`fsv16`, `osa4`); of two blocks of an axis the first is the more significant. `__ao32` pads an axis that is not
blocked, `_swizzled_by_4` takes every fourth o first.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cache
from math import prod
from pathlib import Path
from typing import NoReturn

from layoutc.descriptor import MemoryDesc
from layoutc.errors import LayoutcError, NotationError
from layoutc.layout import MAX_BLOCK, Digit, Layout
from layoutc.notations.reading import Piece, Reading, nested_digits
from layoutc.notations.scanner import MeantError, Scanner, near_index, near_match

NAME = "openvino"
DATA_AXES = "bfvuwzyx"
WEIGHTS_AXES = "goivuwzyx"
SWIZZLED = 32
"""output channels that a swizzle reorders among themselves"""

_PART = re.compile(r"[^_]*")
_BLOCK = re.compile(r"([a-z]+)s[va](?=[0-9]|$)")
_ALIGN = re.compile(r"a([a-z])(?=[0-9]|$)")
_SWIZZLE = "swizzled_by_"


def read(text: str) -> Reading:
    """The layout of a format. Raises NotationError, with the column, for a text that is none."""
    return Reading(parse(text))


def parse(text: str) -> Layout:
    """The layout of a format. Raises NotationError, with the column, for a text that is none."""
    reason = _formats().get(text)
    if reason:
        raise MeantError(text, 0, f"{text} is not an offset map: {reason}")
    return _Name(text).layout


def format(layout: Layout) -> str:
    """The format's name: a weights format if the axes are named o and i. LayoutcError if OpenVINO has none."""
    data = [name for name in _names_by_layout().get(layout, ()) if not _is_weights(name)]
    weights = [name for name in _names_by_layout().get(layout, ()) if _is_weights(name)]
    letters = set(layout.axis_names)
    if letters & {"o", "i"}:
        if weights:
            return weights[0]
        other, kind = data, "weights"
    elif data or layout.axis_names[:2] not in (("n", "c"), ("b", "f")):
        if data or weights:
            return (data + weights)[0]
        other, kind = [], ""
    else:
        other, kind = weights, "data"
    instead = f"; it has {other[0]}, which is not for {kind}" if other else ""
    raise LayoutcError(f"OpenVINO has no {kind}{' ' * bool(kind)}format for {layout}{_blame(layout)}{instead}")


def format_desc(desc: MemoryDesc) -> str:
    """The format of a dense descriptor; LayoutcError for strides or offset, which no format has."""
    if not desc.is_dense:
        raise LayoutcError(f"an OpenVINO format has no strides or offset, got {desc}")
    return format(desc.layout)


def format_names() -> tuple[str, ...]:
    """The names of all formats that are offset maps, in the order of OpenVINO's enum."""
    return tuple(name for name, reason in _formats().items() if not reason)


def refused_formats() -> dict[str, str]:
    """The formats that are not offset maps, and why."""
    return {name: reason for name, reason in _formats().items() if reason}


def _blame(layout: Layout) -> str:
    """What the layout has that no format has, if that is plain to see."""
    ranks = sorted({known.rank for known in _names_by_layout()})
    if layout.rank not in ranks:
        return f", its formats have ranks {' '.join(map(str, ranks))}"
    sizes = {size for known in _names_by_layout() for _, size in known.inner_blocks}
    odd = sorted({size for _, size in layout.inner_blocks} - sizes)
    return f", its blocks are {' '.join(map(str, sorted(sizes)))}, not {odd[0]}" if odd else ""


@cache
def _formats() -> dict[str, str]:
    """Name -> why it is not an offset map, or an empty text."""
    lines = Path(__file__).with_name("openvino_formats.txt").read_text().splitlines()
    return {name: reason for name, _, reason in (line.partition(" ") for line in lines)}


@cache
def _names_by_layout() -> dict[Layout, list[str]]:
    found: dict[Layout, list[str]] = {}
    for name in format_names():
        found.setdefault(parse(name), []).append(name)
    return found


@cache
def _near_names() -> dict[str, str]:
    return near_index(tuple(_formats()))


def _is_weights(name: str) -> bool:
    return "o" in name or "i" in name


class _Name:
    """Reads a name part by part, the parts being what stands between underscores."""

    def __init__(self, text: str):
        self.text = text
        self.outer: list[tuple[str, bool]] = []
        self.blocks: list[tuple[str, int]] = []
        self.align: dict[str, int] = {}
        self.swizzle = 1
        self.columns: dict[str, int] = {}
        name, _, suffix = text.partition("__")
        self._read_parts(name)
        if suffix or text.endswith("__"):
            self._read_alignment(len(name) + 2)
        self.layout = self._layout()

    def _fail(self, message: str, at: int) -> NoReturn:
        Scanner(self.text).fail(message, at, near_match(self.text, _near_names()))

    def _read_parts(self, name: str) -> None:
        for column, part in _parts(name):
            if name.startswith(_SWIZZLE, column):
                self.swizzle = self._number(column + len(_SWIZZLE), len(name))
                return
            block = _BLOCK.match(part)
            if block:
                self._check_letters(block[1], column)
                self._add_block(block[1], column, self._number(column + block.end(), column + len(part)))
            else:
                self._read_axes(part, column)

    def _add_block(self, letters: str, column: int, size: int) -> None:
        if size * prod(known for axes, known in self.blocks if axes == letters) > MAX_BLOCK:
            self._fail(f"the blocks of {letters} multiply to more than {MAX_BLOCK}", column)
        self.blocks.append((letters, size))
        self.columns[f"{letters} block"] = column

    def _read_axes(self, part: str, column: int) -> None:
        sliced = part.endswith("s") and len(part) > 1
        letters = part[:-1] if sliced else part
        self._check_letters(letters, column)
        if not letters:
            self._fail("expected an axis, a slice such as fs, or a block such as fsv16", column)
        if self.blocks:
            self._fail("an axis cannot follow a block", column)
        for offset, letter in enumerate(letters):
            if letter in self.columns:
                self._fail(f"axis {letter!r} appears twice", column + offset)
            self.columns[letter] = column + offset
        self.outer += [(letters, True)] if sliced else [(letter, False) for letter in letters]
        self.columns[letters] = column

    def _check_letters(self, letters: str, column: int) -> None:
        for offset, letter in enumerate(letters):
            if letter not in DATA_AXES + WEIGHTS_AXES:
                self._fail(f"unknown axis {letter!r}, expected one of b f o i g v u w z y x", column + offset)

    def _number(self, start: int, stop: int) -> int:
        scanner = Scanner(self.text[:stop], start)
        try:
            size = scanner.block()
        except NotationError as error:
            self._fail(error.message, error.column)
        if not scanner.at_end:
            self._fail("expected '_' or the end", scanner.position)
        return size

    def _read_alignment(self, column: int) -> None:
        found = _ALIGN.match(self.text, column)
        if found is None or found[1] not in self.columns:
            self._fail("expected the alignment of an axis of the name, such as ao32", column)
        self.align[found[1]] = self._number(found.end(), len(self.text))

    def _layout(self) -> Layout:
        axes = self._logical_axes()
        for letters, size in self.blocks:
            if (letters, True) not in self.outer:
                self._fail(f"block {letters}sv{size} has no slice {letters}s before it", self._at(letters))
        for letters, sliced in self.outer:
            if sliced and letters not in dict(self.blocks):
                self._fail(f"slice {letters}s needs a block such as {letters}sv16", self.columns[letters])
        named = [*((letters, None) for letters, _ in self.outer), *self.blocks]
        pieces: list[Piece] = [(tuple(axes.index(letter) for letter in letters), size) for letters, size in named]
        digits = nested_digits(pieces)
        if self.swizzle != 1:
            digits = self._swizzled(digits, axes)
        align = tuple(self.align.get(letter, 1) for letter in axes)
        return Layout(len(axes), digits, align, tuple(axes))

    def _at(self, letters: str) -> int:
        return self.columns[f"{letters} block"]

    def _logical_axes(self) -> str:
        letters = "".join(letters for letters, _ in self.outer)
        if not letters:
            self._fail("expected an axis", 0)
        alphabet = WEIGHTS_AXES if set(letters) & set("oig") else DATA_AXES
        for letter in letters:
            if letter not in alphabet:
                self._fail(f"axis {letter!r} of data in a weights format", self.columns[letter])
        return "".join(letter for letter in alphabet if letter in letters)

    def _swizzled(self, digits: Sequence[Digit], axes: str) -> tuple[Digit, ...]:
        at = self.text.index(_SWIZZLE)
        if self.blocks[-1:] != [("i", 4)]:
            self._fail("only formats that end in isv4 are swizzled", at)
        if "o" not in axes or SWIZZLED % self.swizzle:
            self._fail(f"a swizzle reorders {SWIZZLED} output channels, by a divisor of {SWIZZLED}", at)
        output = (axes.index("o"),)
        result: list[Digit] = []
        for digit in digits:
            pieces = _swizzle(digit, self.swizzle) if digit.axes == output else [digit]
            if pieces is None:
                self._fail("the blocks of o do not meet the swizzle", at)
            result += pieces
        return tuple(result)


def _parts(name: str) -> Iterator[tuple[int, str]]:
    """The parts between underscores and the columns they start at."""
    column = 0
    while column <= len(name):
        found = _PART.match(name, column)
        part = found[0] if found else ""
        yield column, part
        column += len(part) + 1


def _swizzle(digit: Digit, by: int) -> list[Digit] | None:
    """
    A digit of the swizzled channel `(o mod K) * (32 / K) + (o mod 32) floordiv K` as digits of o itself.

    The swizzled channel has three digits, from the least significant: (o floordiv K) mod 32/K, o mod K, o floordiv 32.
    """
    inner = SWIZZLED // by
    low, high = digit.divisor, None if digit.modulus is None else digit.divisor * digit.modulus
    pieces: list[Digit] = []
    for start, stop, divisor in ((SWIZZLED, None, SWIZZLED), (inner, SWIZZLED, 1), (1, inner, by)):
        bottom = max(low, start)
        top = stop if high is None else high if stop is None else min(high, stop)
        if top is not None and bottom >= top:
            continue
        if bottom % start or (top is not None and top % bottom):
            return None
        pieces.append(Digit(digit.axes, bottom // start * divisor, None if top is None else top // bottom))
    return pieces
