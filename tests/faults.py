"""What a notation says of a text that it does not read."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from layoutc.errors import NotationError


def check_fault(read: Callable[[str], object], text: str, column: int, message: str) -> None:
    """A text is refused at a column, in words that begin like this."""
    with pytest.raises(NotationError) as caught:
        read(text)
    assert (caught.value.column, caught.value.message[: len(message)]) == (column, message)
