"""From C text to a function that Python can call."""

from __future__ import annotations

import hashlib
import json
import re
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from layoutc.cache import cache_folder, forget, instead_of, usable
from layoutc.compiler import FLAGS, TARGETS, CompilationError, Compiler, NoSpaceError, find_compiler
from layoutc.errors import CompilerError

__all__ = ["FLAGS", "TARGETS", "Compiler", "build", "find_compiler", "load"]


def build(c_source: str, compiler: Compiler | None = None) -> Path:
    """
    The shared object of a C file, from the user's cache of kernels if it was compiled before.

    Raises CompilerError if there is no compiler, or it fails, or takes longer than a minute. Where the cache
    cannot be used, has no room, or others could write to it, a warning says so and a temporary folder serves.
    """
    compiler = compiler or find_compiler()
    if compiler is None:
        raise CompilerError("no C compiler: none of cc, gcc, clang is on the path, and $CC is not set")
    chosen = compiler

    def compile_to(target: Path) -> None:
        source = target.with_suffix(".c")
        source.write_text(c_source, encoding="utf-8")
        try:
            chosen.run(source, target, parallel="#pragma omp" in c_source)
        except CompilationError as error:
            if not re.search(rf"{source.name}:\d", str(error)):
                raise
            raise CompilationError(f"{error}; {source.name} is the `c_source` of the kernel, and is removed") from None

    folder, key = cache_folder(), _key(c_source, chosen)
    try:
        return usable(folder).get(key, compile_to)
    except OSError as error:
        reason = f"{folder} cannot be written ({(error.strerror or str(error)).lower()})"
    except NoSpaceError:
        reason = f"{folder} is on a full disk"
    try:
        return instead_of(folder, reason).get(key, compile_to)
    except OSError as error:
        raise CompilerError(f"compiled code cannot be stored: {error}") from error


def _key(c_source: str, compiler: Compiler) -> str:
    return hashlib.sha256(json.dumps((c_source, compiler.key)).encode()).hexdigest()


def load(
    so_path: Path, symbol: str, argtypes: Sequence[type[Any]], restype: type[Any] | None = None
) -> Callable[..., Any]:
    """
    The function `symbol` of a shared object, as ctypes calls it (and lets other threads run meanwhile).

    `argtypes` and `restype` are ctypes types. Raises CompilerError if the object or the symbol cannot be loaded; the
    cache forgets such an object, so that the next call compiles it again.
    """
    import ctypes

    try:
        function = getattr(ctypes.CDLL(str(so_path)), symbol)
    except (OSError, AttributeError) as error:
        reason = "its code is for another machine" if _is_foreign(so_path) else error
        forget(so_path)
        raise CompilerError(f"compiled function {symbol!r} cannot be loaded: {reason}") from error
    function.argtypes, function.restype = list(argtypes), restype
    return function


def _is_foreign(so_path: Path) -> bool:
    """Whether an ELF object is of another machine than this process: of that glibc says that it is not there."""
    try:
        with so_path.open("rb") as file, Path(sys.executable).open("rb") as own:
            made, here = file.read(20), own.read(20)
    except OSError:
        return False
    is_elf = made[:4] == here[:4] == b"\x7fELF"
    # Behind the magic stand the width and the byte order, at byte 18 the machine.
    return is_elf and (made[4:6], made[18:]) != (here[4:6], here[18:])
