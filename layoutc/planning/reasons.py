"""Why a reorder is planned as it is: what rules about all of it say, to whoever listens. A copy has its own (`why`)."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from contextvars import ContextVar

_listener: ContextVar[dict[str, str] | None] = ContextVar("reasons", default=None)


@contextmanager
def listening() -> Generator[dict[str, str]]:
    """Collects the reasons for what is decided inside of the block: words, by topic."""
    reasons: dict[str, str] = {}
    token = _listener.set(reasons)
    try:
        yield reasons
    finally:
        _listener.reset(token)


def because(topic: str, words: str) -> None:
    """The reason for a decision, told where it is made; of the same topic the last one counts, as of decisions."""
    if (reasons := _listener.get()) is not None:
        reasons[topic] = words
