"""A line of a plan, read from left to right; what no plan has there is an error at its place."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NoReturn, TypeVar

from layoutc.errors import PlanError

Meaning = TypeVar("Meaning")

_NUMBER = re.compile(r"[0-9]+")
_WORD = re.compile(r",?\s?[^\s,]*,?")
MAX_DIGITS = 19
"""of a number, as of an offset below 2^63"""
NOTHING = "-"
"""a list without entries"""


class PlanLine:
    """A line and a position in it."""

    def __init__(self, text: str, number: int):
        self.text, self.line, self.position = text, number, 0

    def fail(self, expected: str) -> NoReturn:
        """Raises PlanError: what was expected here, and what was got."""
        found = _WORD.match(self.text, self.position)
        got = repr(found.group()[:40]) if found and found.group() else "the end of the line"
        raise PlanError(self.line, self.text, self.position, f"expected {expected}, got {got}")

    def refuse(self, message: str) -> NoReturn:
        """Raises PlanError for words that do not fit each other."""
        raise PlanError(self.line, self.text, None, message)

    def sees(self, token: str) -> bool:
        """Whether `token` comes next."""
        return self.text.startswith(token, self.position)

    def take(self, token: str) -> bool:
        """Moves past `token`, if it comes next."""
        is_next = self.sees(token)
        self.position += len(token) if is_next else 0
        return is_next

    def expect(self, token: str) -> None:
        """Moves past `token`, which must come next; an error is at the first word of it that does not."""
        if not self.take(token):
            pairs = zip(token, self.text[self.position :], strict=False)
            alike = next((place for place, (wanted, got) in enumerate(pairs) if wanted != got), 0)
            begin = token[:alike].rfind(" ") + 1
            self.position += begin
            word = token[begin:].rstrip()
            self.fail(repr(token[begin:] if self.sees(word) else word))

    def expect_end(self, options: str) -> None:
        """Fails unless nothing is left; `options` are what could have followed."""
        if self.position < len(self.text):
            self.fail(f"{options}the end of the line")

    def number(self, what: str) -> int:
        """A non-negative decimal number."""
        found = _NUMBER.match(self.text, self.position)
        if found is None:
            self.fail(what)
        if len(found.group()) > MAX_DIGITS:
            self.fail(f"a number of at most {MAX_DIGITS} digits")
        self.position = found.end()
        return int(found.group())

    def numbers(self, what: str, separator: str) -> tuple[int, ...]:
        """`1x16x8`; `-` is the empty list."""
        if self.take(NOTHING):
            return ()
        found = [self.number(f"{what}, or '-'")]
        while self.take(separator):
            found.append(self.number(what))
        return tuple(found)

    def one_of(self, words: Mapping[str, Meaning], after: str = "") -> Meaning:
        """What one of some words means, which comes next, and then the text `after`."""
        word = next((word for word in words if self.take(f"{word}{after}")), None)
        if word is None:
            *others, last = (f"'{word}{after}'" for word in words)
            self.fail(f"{', '.join(others)} or {last}")
        return words[word]
