"""The system's C compiler: which one, and how it is run."""

from __future__ import annotations

import os
import shlex
import shutil
import signal
import subprocess
from dataclasses import dataclass
from pathlib import Path

from layoutc.errors import CompilerError

FLAGS = ("-O2", "-std=gnu11", "-fPIC", "-shared", "-ffp-contract=off")
"""no contraction: a*b+c rounds twice in every executor"""
VARIABLES = ("LAYOUTC_CC", "CC")
NAMES = ("cc", "gcc", "clang")
TIMEOUT_S = 60.0


@dataclass(frozen=True)
class Compiler:
    """A C compiler as it is called: the program, then arguments that always come first."""

    command: tuple[str, ...]
    flags: tuple[str, ...] = FLAGS

    @property
    def identity(self) -> tuple[str, int, int]:
        """What changes when the compiler does: its real path, size and time of change in nanoseconds."""
        path = Path(self.command[0]).resolve()
        try:
            status = path.stat()
        except OSError as error:
            raise CompilerError(f"compiler {path} cannot be read: {error.strerror}") from error
        return str(path), status.st_size, status.st_mtime_ns

    def run(self, source: Path, target: Path, timeout_s: float = TIMEOUT_S) -> None:
        """Compile a file to a shared object. Raises CompilerError with the command and its first error line."""
        command = [*self.command, *self.flags, "-o", str(target), str(source)]
        log = target.with_suffix(".log")
        with log.open("wb") as output:
            status = _run(command, output.fileno(), timeout_s)
        if status != 0 or not target.is_file():
            said = _first_error(log.read_text(errors="replace")) or f"it said nothing, and exited with {status}"
            raise CompilerError(f"compiler failed: {shlex.join(command)}: {said}")


def find_compiler() -> Compiler | None:
    """
    The compiler that $LAYOUTC_CC names, or $CC, or the first of cc, gcc, clang on the path; None without any.

    The variables may hold arguments too (`ccache gcc`). Raises CompilerError if they name what is not there.
    """
    for variable in VARIABLES:
        if text := os.environ.get(variable, "").strip():
            return _named(variable, text)
    found = next(filter(None, map(shutil.which, NAMES)), None)
    return None if found is None else Compiler((found,))


def _named(variable: str, text: str) -> Compiler:
    try:
        program, *arguments = shlex.split(text)
    except ValueError as error:
        raise CompilerError(f"${variable} is {text!r}: {str(error).lower()}") from error
    path = shutil.which(program)
    if path is None:
        raise CompilerError(f"compiler {program!r}, which ${variable} names, is not there")
    return Compiler((path, *arguments))


def _run(command: list[str], output: int, timeout_s: float) -> int:
    """Run in a session of its own, so that a compiler that hangs is stopped with all that it started."""
    environment = {**os.environ, "LC_ALL": "C"}
    try:
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            env=environment,
            start_new_session=True,
        )
    except OSError as error:
        raise CompilerError(f"compiler {command[0]} does not start: {error.strerror}") from error
    try:
        return process.wait(timeout_s)
    except subprocess.TimeoutExpired:
        raise CompilerError(f"compiler took more than {timeout_s:g} s: {shlex.join(command)}") from None
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def _first_error(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return next((line for line in lines if "error" in line.lower()), lines[0] if lines else "")
