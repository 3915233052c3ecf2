"""The harness's own C: the copies, and the timing loops."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from layoutc.errors import CompilerError
from layoutc.runtime import FLAGS, Compiler, build, find_compiler, load

SOURCE = Path(__file__).with_name("copies.c")
POINTER = ctypes.c_void_p
TIMERS: dict[str, tuple[Any, ...]] = {
    "time_copy": (POINTER, POINTER, POINTER, ctypes.c_size_t, ctypes.c_int, ctypes.c_int64),
    "time_reorder": (POINTER, POINTER, POINTER, ctypes.c_int, POINTER, ctypes.c_int64),
    "time_read": (POINTER, ctypes.c_size_t),
    "time_primitive": (POINTER, POINTER, POINTER, POINTER, ctypes.c_int, POINTER, ctypes.c_int64),
}


@dataclass(frozen=True)
class Copies:
    """copies.c, compiled for this processor; with OpenMP if more than one thread is asked for."""

    threads: int

    @cached_property
    def _library(self) -> Path:
        compiler = find_compiler()
        if compiler is None:
            raise CompilerError("the benchmarks need a C compiler")
        flags = (*FLAGS, "-march=native", *(("-fopenmp",) if self.threads > 1 else ()))
        return build(SOURCE.read_text(encoding="utf-8"), Compiler(compiler.command, flags))

    def timer(self, name: str) -> Callable[..., float]:
        """One of the timing loops, whose result is in seconds; the last argument of most is the number of calls."""
        return load(self._library, name, TIMERS[name], ctypes.c_double)

    def address(self, name: str) -> int:
        """Where a function of copies.c begins."""
        return address_of(load(self._library, name, ()))

    @property
    def streaming_instructions(self) -> str:
        """Which instructions the streaming copy is made of."""
        return ctypes.string_at(self._symbol("streaming_instructions")).decode()

    def _symbol(self, name: str) -> int:
        return ctypes.addressof(ctypes.c_char.in_dll(ctypes.CDLL(str(self._library)), name))


def address_of(function: Callable[..., Any]) -> int:
    """The address behind a function of ctypes."""
    address = ctypes.cast(function, POINTER).value  # pyright: ignore[reportArgumentType]
    assert address is not None
    return address
