"""Lines of C that are no wider than people read."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

INDENT = "  "
BREAK = "\\\n          "
"""a new line of a macro"""
MAX_WIDTH = 110
_GAPS = bytes(byte if chr(byte).isalnum() or byte == ord("_") or byte >= 128 else ord(" ") for byte in range(256))
"""each byte of UTF-8, with blanks for those that are in no word"""
BRACKETS = re.compile(r"[()\[\]{}]")


def mentions(text: str, name: str) -> bool:
    """Whether a text has a name as a whole word."""
    # A pattern that begins with its letters is searched for many times as fast as one that begins with \b.
    return re.search(rf"{name}(?<!\w{name})\b", text) is not None


def words(text: str) -> set[str]:
    """Its words, each once however often it is there."""
    # Splitting bytes takes an eighth of the time of a pattern.
    return set(text.encode().translate(_GAPS).decode().split())


def wrapped(line: str, width: int = MAX_WIDTH) -> list[str]:
    """A line broken behind commas, each next part below what follows the innermost open bracket."""
    lines: list[str] = []
    # The part that is not yet broken is the indentation and what follows `start`: a line may have a million numbers.
    start, indentation = 0, ""
    while len(indentation) + len(line) - start > width:
        head = indentation + line[start : start + width - len(indentation)]
        end = head.rfind(", ")
        column = _hanging_column(head[: end + 1])
        if end < 0 or column >= end:
            break
        lines.append(head[: end + 1])
        start, indentation = start + end + 2 - len(indentation), " " * column
    return [*lines, indentation + line[start:]]


def _hanging_column(text: str) -> int:
    """Where the text after the last bracket that is still open starts; the text's indentation if none is."""
    opening = max(text.rfind("("), text.rfind("["), text.rfind("{"))
    if opening > max(text.rfind(")"), text.rfind("]"), text.rfind("}")):
        return opening + 1
    open_brackets: list[int] = []
    for bracket in BRACKETS.finditer(text):
        if bracket[0] in "([{":
            open_brackets.append(bracket.start())
        elif open_brackets:
            open_brackets.pop()
    # A part that was broken off before starts below the bracket that it is in.
    return open_brackets[-1] + 1 if open_brackets else len(text) - len(text.lstrip())


def listed(numbers: Iterable[int | str]) -> str:
    """Numbers as C lists them."""
    return ", ".join(map(str, numbers))


def either(condition: str, text: str, otherwise: str) -> str:
    """One of two texts, as the preprocessor finds a condition."""
    return first_found({condition: text}, otherwise)


def first_found(texts: Mapping[str, str], otherwise: str = "") -> str:
    """The text of the first condition that the preprocessor finds, or another one, if there is one."""
    lines: list[str] = []
    for condition, text in texts.items():
        lines += (f"#elif {condition}" if lines else f"#if {condition}", text)
    return "\n".join((*lines, *(("#else", otherwise) if otherwise else ()), "#endif"))


def by_gcc(feature: str) -> str:
    """The condition that gcc compiles for processors with a feature: clang finds its instructions by itself."""
    return f"defined(__{feature}__) && !defined(__clang__)"


def broken(text: str) -> str:
    """Text over the lines of a macro."""
    return " \\\n          ".join(line.strip() for line in wrapped(text, MAX_WIDTH - 14))
