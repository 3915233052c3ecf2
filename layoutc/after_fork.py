"""
Functions that run on several threads, in the child of a fork.

gcc's OpenMP keeps its threads for the thread that began with them. A fork copies that thread, and none of its helpers:
its next parallel loop waits for them for ever. In the child such loops are begun by another thread.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, wait

_forked: int | None = None
"""the thread that is a copy of one of the parent process; None in a process of its own"""
_helper: ThreadPoolExecutor | None = None


def on_threads(function: Callable[..., None]) -> Callable[..., None]:
    """A function whose loops have several threads, as one that may be called after a fork too."""

    def call(*addresses: int) -> None:
        if _forked is None or threading.get_ident() != _forked:
            function(*addresses)
        else:
            _call_elsewhere(function, addresses)

    return call


def _call_elsewhere(function: Callable[..., None], addresses: tuple[int, ...]) -> None:
    global _helper
    if _helper is None:
        _helper = ThreadPoolExecutor(1, "layoutc")
    running = _helper.submit(function, *addresses)
    try:
        running.result()
    finally:
        wait([running])  # An interrupt must not leave it writing to memory that is let go.


def _in_child() -> None:
    global _forked, _helper
    _forked, _helper = threading.get_ident(), None


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_in_child)
