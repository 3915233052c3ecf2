"""The folder of compiled kernels: private to its user, and safe while several processes write to it."""

from __future__ import annotations

import atexit
import hashlib
import os
import shutil
import stat
import tempfile
import threading
import time
import warnings
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

OBJECT, DIGEST = "kernel.so", "kernel.sha256"
BUILDS = "build-"
ABANDONED_S = 3600
"""a compiler is stopped after a minute"""
OTHERS_MAY_WRITE = stat.S_IWGRP | stat.S_IWOTH


def cache_folder() -> Path:
    """$LAYOUTC_CACHE_DIR, or the folder `layoutc` among the user's caches."""
    if folder := os.environ.get("LAYOUTC_CACHE_DIR"):
        return Path(folder).absolute()
    from platformdirs import user_cache_path

    return user_cache_path("layoutc")


def usable(folder: Path) -> Cache:
    """The cache in a folder; with a warning, one in a temporary folder of this process if it cannot be used."""
    with _lock:
        key = (os.getpid(), folder)
        if key not in _caches or not _caches[key].folder.is_dir():
            reason = _prepare(folder)
            _caches[key] = Cache(folder.resolve()) if reason is None else _temporary(reason)
        return _caches[key]


def instead_of(folder: Path, reason: str) -> Cache:
    """A cache in a temporary folder of this process, from now on, in place of one that failed; with a warning."""
    with _lock:
        cache = _caches[os.getpid(), folder] = _temporary(reason)
        return cache


def forget(made: Path) -> None:
    """Remove the entry of an object that turned out to be none; a file that no cache of this process holds stays."""
    entry = made.parent
    if made.name == OBJECT and any(entry.parent == cache.folder for cache in _caches.values()):
        shutil.rmtree(entry, ignore_errors=True)


@dataclass(frozen=True)
class Cache:
    """
    Compiled objects by key, in a folder that nobody else can write to.

    An entry is a folder of its own with the object and its SHA-256, moved into place whole: it is
    complete or absent, whoever else builds the same, and a damaged one is seen.
    """

    folder: Path

    def get(self, key: str, build: Callable[[Path], None]) -> Path:
        """The object of that key; `build` makes it, at the path that it is given, unless it is there."""
        entry = self.folder / key
        if not _is_sound(entry):
            self._add(entry, build)
        return entry / OBJECT

    def _add(self, entry: Path, build: Callable[[Path], None]) -> None:
        self._remove_abandoned()
        work = Path(tempfile.mkdtemp(prefix=BUILDS, dir=self.folder))
        try:
            made = work / "entry"
            made.mkdir(mode=0o700)
            build(work / OBJECT)
            data = (work / OBJECT).read_bytes()
            _write(made / OBJECT, data)
            _write(made / DIGEST, hashlib.sha256(data).hexdigest().encode())
            self._place(made, entry, work / "damaged")
        finally:
            shutil.rmtree(work, ignore_errors=True)

    def _remove_abandoned(self) -> None:
        """What processes that were killed left of their builds."""
        for work in self.folder.glob(f"{BUILDS}*"):
            with suppress(OSError):
                if time.time() - work.stat().st_mtime > ABANDONED_S:
                    shutil.rmtree(work, ignore_errors=True)

    def _place(self, made: Path, entry: Path, aside: Path) -> None:
        """Move an entry into place, unless another process was first; a damaged one moves aside."""
        for _ in range(10):
            try:
                made.rename(entry)
                return
            except OSError:
                if _is_sound(entry):
                    return
                if os.path.lexists(aside):
                    _remove(aside)
                try:
                    entry.rename(aside)
                except FileNotFoundError:
                    continue
        raise OSError(f"cache entry {entry} cannot be replaced")


_lock = threading.Lock()
_caches: dict[tuple[int, Path], Cache] = {}


def _temporary(reason: str) -> Cache:
    folder = Path(tempfile.mkdtemp(prefix="layoutc-"))
    atexit.register(_remove_own, folder, os.getpid())
    warnings.warn(f"kernel cache not used: {reason}; compiling into a temporary folder", stacklevel=_level_of_caller())
    return Cache(folder)


def _level_of_caller() -> int:
    """How many calls up whoever called the package is, for a warning that quotes that line."""
    import inspect

    package, frame, level = __name__.partition(".")[0], inspect.currentframe(), 0
    while frame is not None and frame.f_globals.get("__name__", "").partition(".")[0] == package:
        frame, level = frame.f_back, level + 1
    return level


def _remove_own(folder: Path, process: int) -> None:
    """A forked child exits too, and must leave its parent's folder alone."""
    if os.getpid() == process:
        shutil.rmtree(folder, ignore_errors=True)


def _prepare(folder: Path) -> str | None:
    """Make the folder; why it cannot be used, or None."""
    try:
        for missing in reversed([path for path in (folder, *folder.parents) if not path.exists()]):
            missing.mkdir(mode=0o700, exist_ok=True)
        if reason := _why_unsafe(folder):
            return reason
        with tempfile.TemporaryFile(dir=folder):
            return None
    except OSError as error:
        return f"{folder} cannot be written ({(error.strerror or str(error)).lower()})"


def _why_unsafe(folder: Path) -> str | None:
    """Why others could put code there: folder and files must be the user's own, and so must the way to them."""
    if folder.is_symlink():
        return f"{folder} is a symbolic link"
    if reason := _why_not_private(folder):
        return reason
    for parent in folder.resolve().parents:
        status = parent.stat()
        is_shared = status.st_mode & OTHERS_MAY_WRITE and not status.st_mode & stat.S_ISVTX
        if is_shared or status.st_uid not in (0, _user()):
            return f"others can write to {parent}"
    return None


def _why_not_private(path: Path) -> str | None:
    status = path.lstat()
    if status.st_uid != _user():
        return f"{path} belongs to another user"
    return f"others can write to {path}" if status.st_mode & OTHERS_MAY_WRITE else None


def _user() -> int:
    return os.getuid()


def _is_sound(entry: Path) -> bool:
    """The entry is there, private, and holds what was once written."""
    try:
        files = (entry / OBJECT, entry / DIGEST)
        private = all(_why_not_private(path) is None for path in (entry, *files))
        regular = entry.is_dir() and not any(path.is_symlink() for path in (entry, *files))
        written = (entry / DIGEST).read_text()
        return private and regular and hashlib.sha256((entry / OBJECT).read_bytes()).hexdigest() == written
    except (OSError, UnicodeDecodeError):
        return False


def _write(path: Path, data: bytes) -> None:
    path.write_bytes(data)
    path.chmod(0o600)


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink()
