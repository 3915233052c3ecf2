"""
oneDNN's format tags to layouts and back, by the table of its enum and by the grammar for all others.

A tag is a head, one letter per axis from the slowest on, upper case where the axis is blocked, and a tail of blocks,
outermost first. Canonical tags letter the logical axes a, b, c, ...; aliases (`nchw`) come from a table, since
a few of them do not say what they mean.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from functools import cache
from math import prod
from pathlib import Path
from typing import NoReturn

from layoutc.checks import as_annotated, instance
from layoutc.errors import LayoutcError, NotationError
from layoutc.layout import MAX_BLOCK, MAX_RANK, Digit, Layout
from layoutc.notations.reading import Piece, nested_digits, pieces_of
from layoutc.notations.scanner import MeantError, Scanner, near_index, near_match

ALPHABET = "abcdefghijkl"
NO_LAYOUT = {
    "any": "'any' leaves the choice of a layout to a primitive, it is no layout",
    "undef": "'undef' is the absence of a layout",
}


def parse(text: str) -> Layout:
    """The layout of a tag. Raises NotationError, with the column, for a text that is none."""
    instance("tag", text, str)
    if text in NO_LAYOUT:
        raise MeantError(text, 0, NO_LAYOUT[text])
    canonical = canonical_tags().get(text)
    if canonical is None:
        return _Tag(text).layout
    layout = _Tag(canonical).layout
    return layout if canonical == text else replace(layout, axis_names=_alias_letters(text, canonical))


@as_annotated
def format(layout: Layout) -> str:
    """The canonical tag. Raises LayoutcError for what blocks of single axes cannot express."""
    pieces = pieces_of(layout)
    if layout.rank == 0:
        raise LayoutcError("oneDNN has no tag of rank 0")
    if layout.align:
        raise LayoutcError(f"oneDNN pads blocked axes only, {layout} is aligned to {layout.align}")
    if any(len(digit.axes) > 1 for digit in layout.digits):
        raise LayoutcError(f"oneDNN has no flattened axes, got {layout}")
    if pieces is None:
        raise LayoutcError(f"oneDNN nests the blocks of an axis, the most significant first, got {layout}")
    if any(size is not None for _, size in pieces[: layout.rank]):
        raise LayoutcError(f"oneDNN keeps all blocks inside of all axes, got {layout}")
    blocked = {axes[0] for axes, size in pieces if size is not None}
    if any(prod(size or 1 for axes, size in pieces if axes[0] == axis) > MAX_BLOCK for axis in blocked):
        raise LayoutcError(f"blocks of an axis multiply to {MAX_BLOCK} at most, got {layout}")
    letters = [ALPHABET[axes[0]] for axes, _ in pieces]
    head = "".join(c.upper() if ALPHABET.index(c) in blocked else c for c in letters[: layout.rank])
    return head + "".join(f"{size}{c}" for c, (_, size) in zip(letters, pieces, strict=True) if size is not None)


@as_annotated
def enum_names(layout: Layout) -> tuple[str, ...]:
    """All names that oneDNN's enum has for a layout, the canonical tag first; empty if it has none."""
    return enum().get(format(layout), ())


# --- the table -----------------------------------------------------------------------------------------------------


@cache
def enum() -> dict[str, tuple[str, ...]]:
    """Canonical tag -> itself and its aliases, in the order of oneDNN's enum."""
    lines = Path(__file__).with_name("onednn_tags.txt").read_text().splitlines()
    return {line.split(" ", 1)[0]: tuple(line.split()) for line in lines}


@cache
def canonical_tags() -> dict[str, str]:
    """Each name of the enum -> its canonical tag."""
    return {name: canonical for canonical, names in enum().items() for name in names}


@cache
def _near_names() -> dict[str, list[str]]:
    return near_index(tuple(canonical_tags()))


@cache
def _logical_orders() -> dict[str, str]:
    """Sorted letters of the plain aliases -> those letters in logical order."""
    plain = {name: canonical for name, canonical in canonical_tags().items() if name.isalpha() and name.islower()}
    orders: dict[str, str] = {}
    for name, canonical in plain.items():
        orders.setdefault("".join(sorted(name)), "".join(_alias_letters(name, canonical)))
    return orders


def _alias_letters(alias: str, canonical: str) -> tuple[str, ...]:
    """
    The alias's letter for each logical axis.

    The blocks decide, the head fills in the rest: in gIOhw2i8o16i2o the head has i and o the wrong way round.
    """
    names = dict(zip(_tail_letters(canonical), _tail_letters(alias), strict=True))
    for letter, name in zip(_head(canonical).lower(), _head(alias).lower(), strict=True):
        if name not in names.values():
            names[letter] = name
    return tuple(names[letter] for letter in sorted(names))


def _head(tag: str) -> str:
    return tag[: next((k for k, c in enumerate(tag) if c.isdigit()), len(tag))]


def _tail_letters(tag: str) -> list[str]:
    return [c for c in tag[len(_head(tag)) :] if c.isalpha()]


# --- the grammar ---------------------------------------------------------------------------------------------------


def _meant(text: str) -> str | None:
    """The tag with letters in the case that its blocks ask for, if it reads, or else a name of the enum near to it."""
    head = _head(text)
    tail = text[len(head) :].lower()
    cased = "".join(c.upper() if c.lower() in tail else c.lower() for c in head) + tail
    if cased != text:
        with suppress(NotationError):
            _Tag(cased)
            return cased
    return near_match(text, _near_names())


class _Tag:
    """Reads a tag by the grammar."""

    def __init__(self, text: str):
        self.text, self.scanner = text, Scanner(text)
        self.head = self._read_head()
        self.axes = self._logical_axes()
        pieces: list[Piece] = [((self.axes.index(letter.lower()),), None) for letter in self.head]
        pieces += self._read_tail()
        self.layout = Layout(len(self.axes), self._digits(pieces), axis_names=tuple(self.axes))

    def _fail(self, message: str, at: int | None = None) -> NoReturn:
        self.scanner.fail(message, at, _meant(self.text))

    def _read_head(self) -> str:
        head = self.scanner.word()
        if not head:
            self._fail("expected the letter of an axis", 0)
        for column, letter in enumerate(head):
            if column == MAX_RANK:
                self._fail(f"a tag has at most {MAX_RANK} axes", column)
            if letter == "_":
                self._fail("expected an axis, a block size or the end", column)
            if letter.lower() in head[:column].lower():
                self._fail(f"axis {letter.lower()!r} appears twice", column)
        return head

    def _logical_axes(self) -> str:
        letters = "".join(sorted(self.head.lower()))
        if letters == ALPHABET[: len(letters)]:
            return letters
        known = _logical_orders()
        if letters in known:
            return known[letters]
        used = set(ALPHABET).union(*known)
        column = next((k for k, c in enumerate(self.head) if c.lower() not in used), None)
        if column is not None:
            self._fail(f"unknown axis {self.head[column]!r}", column)
        expected = ALPHABET[: len(letters)]
        column = next((k for k, c in enumerate(self.head) if c.lower() not in expected), 0)
        return self._fail(f"these axes have no known order, expected the letters {' '.join(expected)}", column)

    def _read_tail(self) -> list[Piece]:
        blocks: list[Piece] = []
        while not self.scanner.at_end:
            size = self._block()
            blocks.append(((self._block_axis(size),), size))
        return blocks

    def _block(self) -> int:
        try:
            return self.scanner.block()
        except NotationError as error:
            self._fail(error.message, error.column)

    def _block_axis(self, size: int) -> int:
        column = self.scanner.position
        letter = self.text[column : column + 1]
        names = " ".join(self.head.lower())
        if not letter:
            self._fail(f"expected the axis of block {size}, one of {names}")
        if letter not in self.axes:
            if letter.lower() in self.axes:
                self._fail(f"a block names its axis in lower case, expected {letter.lower()!r}")
            self._fail(f"unknown axis {letter!r}, a block names one of {names}")
        if letter in self.head:
            self._fail(f"axis {letter!r} is blocked, its letter in {self.head!r} must be upper case")
        self.scanner.position += 1
        return self.axes.index(letter)

    def _digits(self, pieces: list[Piece]) -> tuple[Digit, ...]:
        blocks = dict.fromkeys(range(len(self.axes)), 1)
        for (axis, *_), size in pieces:
            blocks[axis] *= size or 1
        sized = {axes[0] for axes, size in pieces if size is not None}
        for column, letter in enumerate(self.head):
            axis = self.axes.index(letter.lower())
            if letter.isupper() and axis not in sized:
                self._fail(f"upper case {letter!r} needs a block such as 8{letter.lower()}", column)
            if blocks[axis] > MAX_BLOCK:
                self._fail(f"the blocks of axis {letter.lower()!r} multiply to more than {MAX_BLOCK}", column)
        return nested_digits(pieces)
