"""Writing files so that a failure leaves what was there before."""

from __future__ import annotations

import os
import re
import secrets
import sys
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

from layoutc.errors import LayoutcError

MAX_LINKS = 40


def open_stdout() -> None:
    """Where stdout was closed, as by `>&-`, what is written to it goes nowhere, and no file takes its descriptor."""
    if sys.stdout is None:  # pyright: ignore[reportUnnecessaryComparison]
        sys.stdout = Path(os.devnull).open("w", encoding="utf-8")  # noqa: SIM115


@contextmanager
def replaced(path: Path) -> Generator[IO[bytes], None, None]:
    """
    A file to write into that becomes `path` when the block ends well, and disappears when it does not.

    It keeps the permissions of the file that it replaces. What is no file to replace is written to as it is: `-`
    (stdout), an open descriptor by any name (/dev/stdout, /dev/fd/3), a pipe, a terminal, /dev/null.
    Raises LayoutcError if `path` is a folder, OSError if its folder cannot be written or its links lead nowhere.
    """
    with suppress(FileNotFoundError):
        path.stat()
    stream = _stream(path)
    if stream is not None:
        with _named(path), stream:
            yield stream
        return
    target = path.resolve()
    if target.is_dir():
        raise LayoutcError(f"{path}: not a regular file")
    beside = target.with_name(f".{target.name[:200]}.{secrets.token_hex(6)}")
    try:
        with _named(path), _created(beside, path) as file:
            if target.exists():
                beside.chmod(target.stat().st_mode & 0o7777)
            yield file
        beside.replace(target)
    except BaseException:
        # Where it could not be made it cannot be removed either, and that is not the reason.
        with suppress(OSError):
            beside.unlink()
        raise


@contextmanager
def _named(path: Path) -> Generator[None, None, None]:
    """Errors of writing, as on a full disk, name the file that was asked for."""
    try:
        yield
    except OSError as error:
        if error.errno is None or error.filename is not None:
            raise
        raise OSError(error.errno, error.strerror, str(path)) from None


def _stream(path: Path) -> IO[bytes] | None:
    """What is written to as it is, None for a file that is replaced."""
    descriptor = 1 if str(path) == "-" else _descriptor(path)
    if descriptor is not None:
        sys.stdout.flush()
        try:
            return os.fdopen(os.dup(descriptor), "wb")
        except OSError as error:
            raise OSError(error.errno, error.strerror, str(path)) from None
    if path.exists() and not path.is_file() and not path.is_dir():
        return path.open("wb")
    return None


def _descriptor(path: Path) -> int | None:
    """
    The open descriptor that a path names, through links too.

    A descriptor that is redirected to a file must not be resolved to the file: it has a position of its own, and
    whoever opened it would be left with the file that is replaced.
    """
    of_this_process = re.compile(rf"(?:/dev/fd|/proc/{os.getpid()}(?:/task/\d+)?/fd)/(\d+)")
    for _ in range(MAX_LINKS):
        place = path.parent.resolve() / path.name
        if found := of_this_process.fullmatch(str(place)):
            return int(found[1])
        if not place.is_symlink():
            return None
        path = place.parent / place.readlink()
    return None


def _created(beside: Path, path: Path) -> IO[bytes]:
    """A new file with the permissions that the umask gives; errors name the file that was asked for."""
    try:
        return os.fdopen(os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666), "wb")
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(path)) from None
