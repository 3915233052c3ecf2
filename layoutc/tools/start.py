"""Where both commands start: a Ctrl-C while their modules are loaded, half of what most calls take, is one as later."""

from __future__ import annotations

import sys
from importlib import import_module
from signal import SIGINT


def layoutc() -> int | None:
    """The command `layoutc`; returns its exit status."""
    return _run("layoutc.tools.layoutc", "layoutc")


def layoutc_opt() -> int | None:
    """The command `layoutc-opt`; returns its exit status."""
    return _run("layoutc.tools.layoutc_opt", "layoutc-opt")


def _run(module: str, command: str) -> int | None:
    try:
        return import_module(module).main()
    except KeyboardInterrupt:
        print(f"{command}: error: interrupted", file=sys.stderr)
        return 128 + SIGINT
