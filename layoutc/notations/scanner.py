"""Scanner: reads a notation's text from left to right and fails with a caret."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import NoReturn

from layoutc.errors import NotationError
from layoutc.layout import MAX_BLOCK

_SPACE = re.compile(r"[ \t\n]*")
_NUMBER = re.compile(r"[0-9]+")
_WORD = re.compile(r"[A-Za-z_]+")
MAX_DIGITS = 18
NEAR_LENGTH = (3, 64)


class MeantError(NotationError):
    """A fault in a text that is meant in this notation and no other: its first words or the whole name say so."""


class Scanner:
    """A text and a position in it."""

    def __init__(self, text: str, position: int = 0):
        self.text, self.position, self.is_meant = text, position, False

    def fail(self, message: str, at: int | None = None, near: str | None = None) -> NoReturn:
        """Raises NotationError at a column (by default here); `near` is a text that may have been meant."""
        if near is not None:
            message += f"; did you mean {near}"
        raise (MeantError if self.is_meant else NotationError)(self.text, self.position if at is None else at, message)

    @property
    def at_end(self) -> bool:
        """Whether nothing is left."""
        return self.position >= len(self.text)

    def skip_space(self) -> None:
        """Moves past blanks."""
        found = _SPACE.match(self.text, self.position)
        self.position = found.end() if found else self.position

    def take(self, token: str) -> bool:
        """Moves past blanks and `token`, if it comes next."""
        self.skip_space()
        if not self.text.startswith(token, self.position):
            return False
        self.position += len(token)
        return True

    def expect(self, token: str) -> None:
        """Moves past `token`, which must come next."""
        if not self.take(token):
            self.fail(f"expected {token!r}")

    def expect_end(self) -> None:
        """Fails unless only blanks are left."""
        self.skip_space()
        if not self.at_end:
            self.fail("expected the end")

    def word(self) -> str:
        """The letters and underscores that come next, possibly none."""
        found = _WORD.match(self.text, self.position)
        if found is None:
            return ""
        self.position = found.end()
        return found.group()

    def integer(self, what: str) -> int:
        """A non-negative decimal number below 10^18."""
        self.skip_space()
        found = _NUMBER.match(self.text, self.position)
        if found is None:
            self.fail(f"expected {what}")
        if found.end() - found.start() > MAX_DIGITS:
            self.fail(f"{what} has {found.end() - found.start()} digits, expected at most {MAX_DIGITS}")
        self.position = found.end()
        return int(found.group())

    def block(self) -> int:
        """A block size without leading zeros."""
        start = self.position
        size = self.integer("a block size")
        if not 1 <= size <= MAX_BLOCK or self.text[start] == "0":
            self.fail(f"block {self.text[start : self.position]} is outside 1..{MAX_BLOCK}", start)
        return size

    def integers(self, opening: str, closing: str, what: str) -> tuple[int, ...]:
        """A comma-separated list in brackets, possibly empty."""
        self.expect(opening)
        if self.take(closing):
            return ()
        values = [self.integer(what)]
        while self.take(","):
            values.append(self.integer(what))
        if not self.take(closing):
            self.fail(f"expected ',' or {closing!r}")
        return tuple(values)


def near_match(text: str, index: Mapping[str, Sequence[str]]) -> str | None:
    """
    The name of the index that a text was meant to be, if there is one.

    It differs in case, or by a character more, less, other, or swapped with its neighbour; of several, in the least.
    """
    if not NEAR_LENGTH[0] <= len(text) <= NEAR_LENGTH[1]:
        return None
    keys = (text.lower(), *_shorter(text.lower()))
    # A character left out here and another one there may leave the same, two edits apart.
    found = (name for key in keys for name in index.get(key, ()) if _edits(text.lower(), name.lower()) <= 1)
    return min((name for name in found if name != text), key=lambda name: _edits(text, name), default=None)


def near_index(names: Sequence[str]) -> dict[str, list[str]]:
    """The table for `near_match`: all names by their lower case, whole and with any one character left out."""
    index: dict[str, list[str]] = {}
    for name in names:
        for key in (name.lower(), *_shorter(name.lower())):
            index.setdefault(key, []).append(name)
    return index


def _edits(text: str, name: str) -> int:
    """Characters to add, to leave out, to change and to swap with their neighbours: optimal string alignment."""
    above: list[int] = []
    row = list(range(len(name) + 1))
    for i, letter in enumerate(text):
        before, above, row = above, row, [i + 1]
        for j, other in enumerate(name):
            least = min(above[j] + (letter != other), above[j + 1] + 1, row[j] + 1)
            if i and j and (text[i - 1], letter) == (other, name[j - 1]):
                least = min(least, before[j - 1] + 1)
            row.append(least)
    return row[-1]


def _shorter(text: str) -> list[str]:
    return [text[:place] + text[place + 1 :] for place in range(len(text))]
