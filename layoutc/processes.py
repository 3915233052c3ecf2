"""The programs that layoutc starts: none outlives who waits for it."""

from __future__ import annotations

import os
import select
import shlex
import signal
import subprocess
import threading
from collections.abc import Generator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from types import FrameType

from layoutc.errors import CompilerError


class Group:
    """The programs that some threads wait for, so that another thread can end them together."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._running: set[subprocess.Popen[bytes]] = set()
        self._is_over = False

    def enter(self) -> None:
        """What this thread starts from now on belongs to the group."""
        _group.set(self)

    def end(self) -> None:
        """Ends all that run; what is started later ends at once."""
        with self._lock:
            self._is_over = True
            for process in self._running:
                _kill(process)

    def add(self, process: subprocess.Popen[bytes]) -> None:
        with self._lock:
            self._running.add(process)
            if self._is_over:
                _kill(process)

    def discard(self, process: subprocess.Popen[bytes]) -> None:
        with self._lock:
            self._running.discard(process)


_group: ContextVar[Group | None] = ContextVar("group", default=None)


def run(command: list[str], output: int, timeout_s: float) -> int:
    """
    The exit status of a program that writes to a descriptor; negative, the signal that ended it.

    It runs in a session of its own, so that one that hangs is stopped with all that it started. Raises CompilerError
    if it does not start or takes longer than the time limit.
    """
    group = _group.get() or Group()
    process = None
    try:
        with _interrupts_waiting():
            process = _started(command, output)
            group.add(process)
        return _ended(process, timeout_s)
    except subprocess.TimeoutExpired:
        raise CompilerError(f"compiler took more than {timeout_s:g} s: {shlex.join(command)}") from None
    finally:
        if process is not None:
            group.discard(process)
            _kill(process)
            process.wait()


@contextmanager
def _interrupts_waiting() -> Generator[None, None, None]:
    """
    An interrupt comes when the block is done: one while a program starts would leave it to nobody.

    Python handles them in the main thread, whichever thread of the process a signal goes to.
    """
    before = signal.getsignal(signal.SIGINT)
    if not callable(before) or threading.current_thread() is not threading.main_thread():
        yield
        return
    came: list[tuple[int, FrameType | None]] = []

    def note(number: int, frame: FrameType | None) -> None:
        came.append((number, frame))

    signal.signal(signal.SIGINT, note)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
        if came:
            before(*came[0])


def _started(command: list[str], output: int) -> subprocess.Popen[bytes]:
    try:
        return subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            env={**os.environ, "LC_ALL": "C"},
            start_new_session=True,
        )
    except OSError as error:
        raise CompilerError(f"compiler {command[0]} does not start: {error.strerror}") from error


def _kill(process: subprocess.Popen[bytes]) -> None:
    """With all that it started, unless it has ended."""
    if process.poll() is None:
        with suppress(ProcessLookupError):  # it ended meanwhile, and another thread saw it first
            os.killpg(process.pid, signal.SIGKILL)


def _ended(process: subprocess.Popen[bytes], timeout_s: float) -> int:
    """Its exit status as soon as it ends; `wait` with a time limit alone looks every 50 ms."""
    try:
        ending = os.pidfd_open(process.pid)
    except (AttributeError, OSError):
        return process.wait(timeout_s)
    try:
        watched = select.poll()
        watched.register(ending, select.POLLIN)
        watched.poll(timeout_s * 1000)
    finally:
        os.close(ending)
    return process.wait(0)
