"""A module that annotations name, loaded where one is resolved, as `typing.get_type_hints` does."""

from __future__ import annotations

from importlib import import_module
from typing import Any


class Deferred:
    """Stands for a module of this name until something in it is asked for."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, name: str) -> Any:
        return getattr(import_module(self._name), name)
