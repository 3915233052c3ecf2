"""Why a plan is as it is: what the planner's rules say of themselves, to whoever listens."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field


@dataclass
class Reasons:
    """By topic, in words: of the whole reorder, and of each of its copies in their order."""

    reorder: dict[str, str] = field(default_factory=dict[str, str])
    copies: list[dict[str, str]] = field(default_factory=list[dict[str, str]])


_listener: ContextVar[Reasons | None] = ContextVar("reasons", default=None)


@contextmanager
def listening() -> Generator[Reasons, None, None]:
    """Collects the reasons for what is decided inside of the block."""
    reasons = Reasons()
    token = _listener.set(reasons)
    try:
        yield reasons
    finally:
        _listener.reset(token)


@contextmanager
def silently() -> Generator[None, None, None]:
    """What is tried inside of the block has no reasons."""
    token = _listener.set(None)
    try:
        yield
    finally:
        _listener.reset(token)


def next_copy() -> None:
    """What follows is about one copy more."""
    if (reasons := _listener.get()) is not None:
        reasons.copies.append({})


def forget_copies(count: int) -> None:
    """The last copies are planned another way: their reasons are void."""
    if (reasons := _listener.get()) is not None:
        del reasons.copies[len(reasons.copies) - count :]


def arrange_copies(count: int, order: Sequence[int]) -> None:
    """Of the last copies those with these numbers are left, from 0 for the first of them, in this order."""
    if (reasons := _listener.get()) is not None:
        first = len(reasons.copies) - count
        reasons.copies[first:] = [reasons.copies[first + number] for number in order]


def because(topic: str, words: str, *, of_all: bool = False) -> None:
    """
    The reason for a decision, told where it is made; of the same topic the last one counts, as of decisions.

    Belongs to the copy that is being planned, or to the reorder before the first, or if it is one `of_all`.
    """
    if (reasons := _listener.get()) is not None:
        (reasons.copies[-1] if reasons.copies and not of_all else reasons.reorder)[topic] = words


def because_of(number: int, topic: str, words: str) -> None:
    """The reason for a decision about a copy that was planned before, by its number from 0."""
    if (reasons := _listener.get()) is not None:
        reasons.copies[number][topic] = words
