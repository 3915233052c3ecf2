"""When Python looks for garbage."""

from __future__ import annotations

import gc
from collections.abc import Generator
from contextlib import contextmanager


@contextmanager
def without_collections() -> Generator[None, None, None]:
    """
    A time without looking for garbage.

    Nearly all that a compilation makes stays until its end; looking through it again and again is a quarter of the
    time.
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()
