"""Writing files so that a failure leaves what was there before."""

from __future__ import annotations

import errno
import os
import re
import secrets
import shutil
import signal
import stat
import sys
import tempfile
import threading
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import FrameType
from typing import IO, NoReturn

from layoutc.errors import LayoutcError

MAX_LINKS = 40
ENDING = (signal.SIGTERM, signal.SIGHUP)
CLOSED_PIPE = 128 + signal.SIGPIPE
"""the exit status where nobody reads what is written, as in `| head -1`: what a shell says of any tool that ends so"""


def open_stdout() -> None:
    """Where stdout was closed, as by `>&-`, writing to it fails, and no file takes its descriptor."""
    if sys.stdout is None:  # pyright: ignore[reportUnnecessaryComparison]
        os.dup2(os.open(os.devnull, os.O_RDONLY), 1)
        sys.stdout = os.fdopen(1, "w", encoding="utf-8")


def drop_stdout() -> None:
    """What could not be written to stdout goes nowhere; without this, Python complains about it at exit."""
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def os_message(error: OSError) -> str:
    """What the system says went wrong, and with which file."""
    reason = (error.strerror or str(error)).lower()
    return f"{error.filename}: {reason}" if error.filename else reason


def status_of_interrupt(error: BaseException) -> int:
    """The exit status of whom a signal ended, 130 for Ctrl-C."""
    arguments = (error.__cause__ or error).args
    return 128 + (arguments[0] if arguments else signal.SIGINT)


def _interrupt(number: int, _: FrameType | None) -> NoReturn:
    raise KeyboardInterrupt(number)


@contextmanager
def ending_as_interrupt() -> Generator[None]:
    """Asked to end, as by `timeout` or a closed terminal, it cleans up as after Ctrl-C."""
    is_main = threading.current_thread() is threading.main_thread()
    signals = [number for number in ENDING if is_main and signal.getsignal(number) is signal.SIG_DFL]
    for number in signals:
        signal.signal(number, _interrupt)
    try:
        yield
    finally:
        for number in signals:
            signal.signal(number, signal.SIG_DFL)


@contextmanager
def replaced(path: Path) -> Generator[IO[bytes], None, None]:
    """
    A file to write into that becomes `path` when the block ends well, and disappears when it does not.

    It keeps the permissions of the file that it replaces; one with further names, or in a folder where it cannot be
    replaced, stays the same file, with other contents. What is no file to replace is written to as it is: `-`
    (stdout), an open descriptor by any name (/dev/stdout, /dev/fd/3), a pipe, a terminal, /dev/null.
    Raises LayoutcError if `path` is a folder, OSError if it or its folder cannot be written, or links go in a circle.
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
    if target.exists():
        if not _may_write(target):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))
        if target.stat().st_nlink > 1 or not _may_replace(target):
            with _named(path), _overwritten(target) as file:
                yield file
            return
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


class _NothingWrittenError(Exception):
    """Ends a block that writes nothing."""


def check_writable(path: Path) -> None:
    """Raises what `replaced` would; nothing is written. What is no file to replace is not opened."""
    if not is_stream(path):
        with suppress(_NothingWrittenError), replaced(path):
            raise _NothingWrittenError


@contextmanager
def locked(folder: Path) -> Generator[None, None, None]:
    """Waits until no other process is in such a block for this folder; where that cannot be asked for, it goes on."""
    descriptor = None
    try:
        with suppress(ImportError, OSError):
            import fcntl  # POSIX has it

            descriptor = os.open(folder, os.O_RDONLY)
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        if descriptor is not None:
            os.close(descriptor)


def _may_write(path: Path) -> bool:
    return os.access(path, os.W_OK, effective_ids=os.access in os.supports_effective_ids)


def _may_replace(path: Path) -> bool:
    """Whether another file may take a file's name: not where the folder is sticky, as /tmp, and both are others'."""
    folder = path.parent.stat()
    owns = os.geteuid() in (0, folder.st_uid, path.stat().st_uid)
    return _may_write(path.parent) and (owns or not folder.st_mode & stat.S_ISVTX)


@contextmanager
def _overwritten(path: Path) -> Generator[IO[bytes], None, None]:
    """A file to write into whose bytes become those of `path` when the block ends well."""
    with tempfile.TemporaryFile() as kept:
        with os.fdopen(os.dup(kept.fileno()), "wb") as file:
            yield file
        kept.seek(0)
        size, before = os.fstat(kept.fileno()).st_size, path.stat().st_size
        with path.open("r+b") as out:
            if size > before and hasattr(os, "posix_fallocate"):
                _reserve(out.fileno(), before, size)
            shutil.copyfileobj(kept, out)
            out.truncate()


def _reserve(descriptor: int, before: int, size: int) -> None:
    """Makes room for so many bytes where there were fewer; OSError if there is none, with the file as it was."""
    try:
        os.posix_fallocate(descriptor, before, size - before)
    except OSError as error:
        os.ftruncate(descriptor, before)
        if error.errno == errno.ENOSPC:
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


def of_input(path: Path) -> Path:
    """What is read under a path; `-` is stdin."""
    return Path("/dev/stdin") if str(path) == "-" else path


def is_stream(path: Path) -> bool:
    """Whether what is written to a path follows what was written before, as on stdout (`-`), and replaces nothing."""
    return str(path) == "-" or _descriptor(path) is not None or _is_special(path)


def _is_special(path: Path) -> bool:
    """Whether a path is a pipe or a device."""
    return path.exists() and not path.is_file() and not path.is_dir()


def _stream(path: Path) -> IO[bytes] | None:
    """What is written to as it is, None for a file that is replaced."""
    descriptor = 1 if str(path) == "-" else _descriptor(path)
    if descriptor is not None:
        sys.stdout.flush()
        try:
            return os.fdopen(os.dup(descriptor), "wb")
        except OSError as error:
            raise OSError(error.errno, error.strerror, str(path)) from None
    if _is_special(path):
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
