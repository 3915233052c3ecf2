"""Writing files so that a failure leaves what was there before."""

from __future__ import annotations

import os
import secrets
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from layoutc.errors import LayoutcError


@contextmanager
def replaced(path: Path) -> Generator[IO[bytes], None, None]:
    """
    A file to write into that becomes `path` when the block ends well, and disappears when it does not.

    It keeps the permissions of the file that it replaces. Raises LayoutcError if `path` is no regular file, OSError if
    its folder cannot be written.
    """
    target = path.resolve()
    if target.exists() and not target.is_file():
        raise LayoutcError(f"{path}: not a regular file")
    beside = target.with_name(f".{target.name[:200]}.{secrets.token_hex(6)}")
    try:
        with _created(beside, path) as file:
            if target.exists():
                beside.chmod(target.stat().st_mode & 0o7777)
            yield file
        beside.replace(target)
    except BaseException:
        beside.unlink(missing_ok=True)
        raise


def _created(beside: Path, path: Path) -> IO[bytes]:
    """A new file with the permissions that the umask gives; errors name the file that was asked for."""
    try:
        return os.fdopen(os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666), "wb")
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(path)) from None
