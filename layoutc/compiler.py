"""The system's C compiler: which one, and how it is run."""

from __future__ import annotations

import os
import platform
import re
import shlex
import shutil
import tempfile
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from layoutc.errors import CompilerError
from layoutc.processes import run

FLAGS = ("-O2", "-std=gnu11", "-fPIC", "-shared", "-ffp-contract=off")
"""no contraction: a*b+c rounds twice in every executor"""
LONG_SOURCE = 128 << 10
"""
bytes of C from which on it is optimized less: its vectors are chosen already, and -O2 takes gcc more than
proportionally longer; 370 KB took it 15 s and with -O1 3 s, 650 KB more than 100 s and 12 s, and none of 7 kernels
took longer to run
"""
TARGETS = {
    "native": ("-march=native",),
    "avx512": ("-march=x86-64-v4",),
    "avx2": ("-march=x86-64-v3",),
    "sse2": ("-march=x86-64",),
    "generic": (),
}
"""the processors that code is compiled for: this machine's, a level of x86-64, or what the compiler has for any"""

OPENMP = "-fopenmp"
PROBE = """int probe(int n) {
  #pragma omp parallel for reduction(+ : n)
  for (int i = 0; i < 4; i++) {
    n += i;
  }
  return n;
}
"""
VARIABLES = ("LAYOUTC_CC", "CC")
NAMES = ("cc", "gcc", "clang")
OF_LINKER = ("ld returned", "linker command failed")
"""what gcc and clang say where the linker has said why"""
NO_SPACE = "no space left on"
"""what all say of a full disk, and so do we"""
TIMEOUT_S = 60.0
LEAST_SPACE = 32 << 10
"""bytes on a disk, of which a compiler needs more"""


class CompilationError(CompilerError):
    """The compiler ran, and did not make what it was asked for."""


class NoSpaceError(CompilationError):
    """The disk that it wrote to is full."""


@dataclass(frozen=True)
class Compiler:
    """
    A C compiler as it is called: the program, then arguments that always come first.

    `target` is one of TARGETS. Raises CompilerError for another one.
    """

    command: tuple[str, ...]
    flags: tuple[str, ...] = FLAGS
    target: str = "native"

    def __post_init__(self) -> None:
        if self.target not in TARGETS:
            raise CompilerError(f"unknown target {self.target!r}, expected one of {' '.join(TARGETS)}")

    @property
    def key(self) -> tuple[object, ...]:
        """All that decides what is made of a source: the compiler, its flags, and the processor if that is meant."""
        return (*self.identity, self.command, self.flags, self.target, _processor() if self.target == "native" else "")

    @property
    def identity(self) -> tuple[str, int, int]:
        """What changes when the compiler does: its real path, size and time of change in nanoseconds."""
        path = Path(self.command[0]).resolve()
        try:
            status = path.stat()
        except OSError as error:
            raise CompilerError(f"compiler {path} cannot be read: {error.strerror}") from error
        return str(path), status.st_size, status.st_mtime_ns

    def run(self, source: Path, output: Path, timeout_s: float = TIMEOUT_S, *, parallel: bool = False) -> None:
        """
        Compile a file to a shared object, `parallel` with OpenMP where the compiler has it.

        Raises CompilerError with the command and its first error line.
        """
        is_long = source.is_file() and source.stat().st_size > LONG_SOURCE
        flags = tuple("-O1" if flag == "-O2" and is_long else flag for flag in self.flags)
        self._compile(flags + self._extra_flags(parallel, timeout_s), source, output, timeout_s)

    def _extra_flags(self, parallel: bool, timeout_s: float) -> tuple[str, ...]:
        """Those of the target, which must be known unless it is `native`, and OpenMP's if it is known."""
        wanted, given = TARGETS[self.target], ()
        if self.target != "native":
            wanted, given = (), wanted
        if parallel:
            wanted = (*wanted, OPENMP)
        return given + _accepted(self, self.identity, wanted, timeout_s)

    def _compile(self, flags: tuple[str, ...], source: Path, output: Path, timeout_s: float) -> None:
        command = [*self.command, *flags, "-o", str(output), str(source)]
        log = output.with_suffix(".log")
        with log.open("wb") as file:
            status = run(command, file.fileno(), timeout_s)
        if status != 0 or not output.is_file():
            said = _first_error(log.read_text(errors="replace"))
            if not said or _is_of_linker(said):
                said = _why_silent(output.parent, said or f"it said nothing, and exited with {status}")
            kind = NoSpaceError if NO_SPACE in said.lower() else CompilationError
            raise kind(f"compiler failed: {shlex.join(command)}: {said}")

    def accepts(self, flags: tuple[str, ...], timeout_s: float = TIMEOUT_S) -> bool:
        """Whether a small program can be compiled and linked with these flags."""
        with tempfile.TemporaryDirectory() as folder:
            source = Path(folder) / "probe.c"
            source.write_text(PROBE)
            try:
                self._compile((*self.flags, *flags), source, source.with_suffix(".so"), timeout_s)
            except CompilationError:
                return False
        return True


@cache
def _accepted(
    compiler: Compiler, identity: tuple[str, int, int], flags: tuple[str, ...], timeout_s: float
) -> tuple[str, ...]:
    """Those of the flags that a compiler takes; asked once per process, while the compiler stays what it is."""
    del identity  # only a part of the key
    if not flags or compiler.accepts(flags, timeout_s):
        return flags
    return tuple(flag for flag in flags if len(flags) > 1 and compiler.accepts((flag,), timeout_s))


def find_compiler(target: str = "native") -> Compiler | None:
    """
    The compiler that $LAYOUTC_CC names, or $CC, or the first of cc, gcc, clang on the path; None without any.

    The variables may hold arguments too (`ccache gcc`), and `target` is one of TARGETS. Raises CompilerError if
    they name what is not there, or no program.
    """
    for variable in VARIABLES:
        if text := os.environ.get(variable, "").strip():
            return _named(variable, text, target)
    found = next(filter(None, map(shutil.which, NAMES)), None)
    return None if found is None else Compiler((found,), target=target)


def _named(variable: str, text: str, target: str) -> Compiler:
    try:
        program, *arguments = shlex.split(text)
    except ValueError as error:
        raise CompilerError(f"${variable} is {text!r}: {str(error).lower()}") from error
    path = shutil.which(program)
    if path is None:
        wrong = "is no program" if Path(program).exists() else "is not there"
        raise CompilerError(f"compiler {program!r}, which ${variable} names, {wrong}")
    return Compiler((path, *arguments), target=target)


@cache
def _processor() -> str:
    """This machine's processor, so far as the operating system tells."""
    try:
        text = Path("/proc/cpuinfo").read_text(errors="replace")
    except OSError:
        return f"{platform.machine()} {platform.processor()}"
    # Speeds change from read to read; what the processor is and can do does not.
    facts = re.findall(r"^(?:flags|Features|isa|model name|CPU part)\s*:\s*(.*)$", text, flags=re.MULTILINE)
    return " ".join((platform.machine(), *sorted(set(facts))))


def _why_silent(folder: Path, said: str) -> str:
    """What there is to say where a compiler gave no reason, as on a full disk, where its linker just ends."""
    return f"{NO_SPACE} the device of {folder}" if shutil.disk_usage(folder).free < LEAST_SPACE else said


def _is_of_linker(line: str) -> bool:
    return any(text in line for text in OF_LINKER)


def _first_error(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    # The linker's own lines stand ahead of what the compiler says of it, and need not have the word.
    said = (line for line in lines if "error" in line.lower() and not _is_of_linker(line))
    return next(said, lines[0] if lines else "")
