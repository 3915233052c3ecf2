"""The error of an emitter."""

from collections.abc import Generator
from contextlib import contextmanager

from xdsl.ir import Operation

from layoutc.errors import LayoutcError
from layoutc.walk import name_of


class EmissionError(LayoutcError):
    """IR that the target language has no words for."""


def no_spelling(op: Operation, reason: str = "") -> EmissionError:
    """The error for an op that the C target does not know, or knows but for `reason`."""
    if op.name.startswith("layout."):
        reason = "before the pass lower-reorders, which makes loops of it"
    return EmissionError(f"no C spelling for '{name_of(op)}'" + (f" {reason}" if reason else ""))


@contextmanager
def emitting(function: str) -> Generator[None, None, None]:
    """Names the function that an EmissionError is about."""
    try:
        yield
    except EmissionError as error:
        raise EmissionError(f"function {function!r}: {error}") from error
