"""
The grammar of OpenVINO's format names: `b_fs_yx_fsv16` to digits.

    name  := outer ("_" outer)* ("_" block)* ("_swizzled_by_" K)? ("__a" axis N)*
    outer := axis+ | axis+ "s"         a slice of a blocked axis; of several letters, of the flattened axes
    block := axis+ ("sv" | "sa") N

Everything is listed slowest first, and of two blocks of an axis the first is the more significant. `__ao32` pads an
axis that is not blocked, `_swizzled_by_4` takes every fourth o first.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from math import prod
from typing import NoReturn

from layoutc.errors import NotationError
from layoutc.layout import MAX_BLOCK, Digit, Layout
from layoutc.notations.reading import Piece, nested_digits
from layoutc.notations.scanner import Scanner

DATA_AXES = "bflkvuwzyx"
WEIGHTS_AXES = "goivuwzyx"
_LETTERS = frozenset(DATA_AXES + WEIGHTS_AXES)
SWIZZLED = 32
"""output channels that a swizzle reorders among themselves"""

_PART = re.compile(r"[^_]*")
_BLOCK = re.compile(r"([a-z]+)s[va](?=[0-9]|$)")
_ALIGN = re.compile(r"a([a-z])(?=[0-9]|$)")
_SWIZZLE = "swizzled_by_"


class FormatName:
    """
    A name read part by part, the parts being what stands between underscores.

    `outer` are the letters of each outer part and whether it is a slice, `blocks` the letters and sizes of the blocks,
    `align` the multiples of axes that are not blocked. Raises NotationError, with the column, for a text that is no
    such name.
    """

    def __init__(self, text: str):
        self.text = text
        self.outer: list[tuple[str, bool]] = []
        self.blocks: list[tuple[str, int]] = []
        self.align: dict[str, int] = {}
        self.swizzle = 1
        self._columns: dict[str, int] = {}
        name, dashes, _ = text.partition("__")
        self._read_parts(name)
        column = len(name)
        while dashes and column < len(text):
            column = self._read_alignment(column + len(dashes))
        self.axes = self._logical_axes()
        self.layout = self._layout()

    @property
    def order(self) -> str:
        """The axes' letters in the order of the name: `giyxo`."""
        return "".join(letters for letters, _ in self.outer)

    def _fail(self, message: str, at: int) -> NoReturn:
        raise NotationError(self.text, at, message)

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
        self._columns[f"{letters} block"] = column

    def _read_axes(self, part: str, column: int) -> None:
        sliced = part.endswith("s") and len(part) > 1
        letters = part[:-1] if sliced else part
        self._check_letters(letters, column)
        if not letters:
            self._fail("expected an axis, a slice such as fs, or a block such as fsv16", column)
        if self.blocks:
            self._fail("an axis cannot follow a block", column)
        for offset, letter in enumerate(letters):
            if letter in self._columns:
                self._fail(f"axis {letter!r} appears twice", column + offset)
            self._columns[letter] = column + offset
        self.outer += [(letters, True)] if sliced else [(letter, False) for letter in letters]
        self._columns[letters] = column

    def _check_letters(self, letters: str, column: int) -> None:
        # Of more letters than there are axes, an early one is wrong or repeated, which is found after this.
        for offset, letter in enumerate(letters[: len(_LETTERS) + 1]):
            if letter not in _LETTERS:
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

    def _read_alignment(self, column: int) -> int:
        """Reads `ao32` and gives the column of the next `__` or the end."""
        found, stop = _ALIGN.match(self.text, column), self.text.find("__", column)
        if found is None or found[1] not in self._columns:
            self._fail("expected the alignment of an axis of the name, such as ao32", column)
        if found[1] in self.align:
            self._fail(f"axis {found[1]!r} is aligned twice", column)
        stop = len(self.text) if stop < 0 else stop
        self.align[found[1]] = self._number(found.end(), stop)
        return stop

    def _logical_axes(self) -> str:
        if not self.order:
            self._fail("expected an axis", 0)
        alphabet = WEIGHTS_AXES if set(self.order) & set("oig") else DATA_AXES
        for letter in self.order:
            if letter not in alphabet:
                self._fail(f"axis {letter!r} of data in a weights format", self._columns[letter])
        return "".join(letter for letter in alphabet if letter in self.order)

    def _layout(self) -> Layout:
        for letters, size in self.blocks:
            if (letters, True) not in self.outer:
                self._fail(
                    f"block {letters}sv{size} has no slice {letters}s before it", self._columns[f"{letters} block"]
                )
        for letters, sliced in self.outer:
            if sliced and letters not in dict(self.blocks):
                self._fail(f"slice {letters}s needs a block such as {letters}sv16", self._columns[letters])
        named = [*((letters, None) for letters, _ in self.outer), *self.blocks]
        pieces: list[Piece] = [(tuple(self.axes.index(letter) for letter in letters), size) for letters, size in named]
        digits = nested_digits(pieces)
        if self.swizzle != 1:
            digits = self._swizzled(digits)
        align = tuple(self.align.get(letter, 1) for letter in self.axes)
        return Layout(len(self.axes), digits, align, tuple(self.axes))

    def _swizzled(self, digits: Sequence[Digit]) -> tuple[Digit, ...]:
        at = self.text.index(_SWIZZLE)
        if "o" not in self.axes or SWIZZLED % self.swizzle:
            self._fail(f"a swizzle reorders {SWIZZLED} output channels, by a divisor of {SWIZZLED}", at)
        output = (self.axes.index("o"),)
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

    The swizzled channel has three digits, from the most significant: o floordiv 32, o mod K, (o floordiv K) mod 32/K.
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
