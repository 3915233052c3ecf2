"""The errors that bad input raises: one class per place where it can be found."""

from __future__ import annotations


class LayoutcError(ValueError):
    """Bad input. The message is lower case and names what was got and what was expected."""

    @property
    def message(self) -> str:
        """What is wrong, on one line: without the text that `str()` may quote."""
        return str(self.args[0]) if self.args else ""


class NoDimsError(LayoutcError):
    """A layout whose dims neither its text nor the caller says, where a descriptor is asked for."""


class NotationError(LayoutcError):
    """
    A text that is not a layout in the notation that was asked for.

    `text` is the input, `column` the place of the fault (from 0), `message` what was expected there.
    `str()` quotes the text with a caret under the fault; `line` is the same on one line.
    """

    def __init__(self, text: str, column: int, message: str):
        self.text, self.column = text, column
        super().__init__(message)

    def __reduce__(self) -> tuple[type[NotationError], tuple[str, int, str]]:
        # Exceptions are pickled by their arguments; pools of processes send them.
        return type(self), (self.text, self.column, self.message)

    def __str__(self) -> str:
        text, column = _excerpt(self.text, self.column)
        return f"{text}\n{' ' * column}^ {self.message}"

    @property
    def line(self) -> str:
        return f"{_excerpt(self.text, self.column)[0]!r}, column {self.column + 1}: {self.message}"


class PlanError(LayoutcError):
    """
    Lines of text that are not a plan.

    `line` is the number of the one at fault (from 1), `text` what it says, `column` the place of a word that no plan
    has (from 0), None where the words are right and do not fit each other. `str()` has the reason on its first line,
    and below it the text with a caret.
    """

    def __init__(self, line: int, text: str, column: int | None, message: str):
        self.line, self.text, self.column = line, text, column
        super().__init__(message)

    def __reduce__(self) -> tuple[type[PlanError], tuple[int, str, int | None, str]]:
        return type(self), (self.line, self.text, self.column, self.message)

    def __str__(self) -> str:
        if self.column is None:
            return f"line {self.line}: {self.message}"
        text, column = _excerpt(self.text, self.column)
        return f"line {self.line}, column {self.column + 1}: {self.message}\n  {text}\n  {' ' * column}^"


def _excerpt(text: str, column: int, width: int = 60) -> tuple[str, int]:
    """The part of a long text around `column`, and the column in that part."""
    shown = text.replace("\n", " ").replace("\t", " ").replace("\r", " ")
    if len(shown) <= width:
        return shown, column
    start = max(0, min(column - width // 2, len(shown) - width))
    head, tail = "..." if start else "", "..." if start + width < len(shown) else ""
    return head + shown[start : start + width] + tail, column - start + len(head)


class BufferError(LayoutcError):
    """A buffer that a kernel cannot take: wrong size, read-only, not contiguous, or overlapping."""


class UntunableError(LayoutcError):
    """A reorder that has the plain plan alone, so that there is nothing to choose from."""


class CompilerError(LayoutcError):
    """There is no C compiler, or it failed; the message holds the first line of what it said."""


class InterpreterError(LayoutcError):
    """Lowered IR did what it must not: out of bounds, read of undefined memory, a second write."""
