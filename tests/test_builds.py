"""Kernels that are compiled at once: by one call, by threads, and by processes."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path

import numpy as np
import pytest

import layoutc
from layoutc import Compensation, Conversion, Param
from layoutc.compiler import find_compiler
from layoutc.errors import CompilerError
from layoutc.kernel import Kernel

pytestmark = pytest.mark.skipif(find_compiler() is None, reason="no C compiler is here")

NCHW = layoutc.desc("nchw", (1, 3, 2, 5), "f32")
TARGETS = [layoutc.desc(name, NCHW.dims, "f32") for name in ("nhwc", "nChw8c", "nchw", "nhwc", "chwn")]


def kernels(executor: layoutc.kernel.Executor = "c") -> list[Kernel]:
    return [Kernel(NCHW, target, executor, target="plain") for target in TARGETS]


@pytest.fixture
def compiled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[], int]:
    """An empty cache, and a compiler that waits until two of it run, or 20 s; how often it compiled a kernel."""
    found = find_compiler()
    assert found is not None
    script = tmp_path / "cc"
    script.write_text(
        f"""#!/bin/sh
case "$*" in *kernel.so*) ;; *) exec {found.command[0]} "$@" ;; esac
touch "{tmp_path}/run.$$"
tries=0
while [ "$(ls "{tmp_path}" | grep -c '^run[.]')" -lt 2 ] && [ $tries -lt 200 ]; do sleep 0.1; tries=$((tries + 1)); done
[ $tries -lt 200 ] && exec {found.command[0]} "$@"
echo "error: alone" >&2
exit 1
"""
    )
    script.chmod(0o755)
    monkeypatch.setenv("LAYOUTC_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("LAYOUTC_CC", str(script))
    return lambda: len(list(tmp_path.glob("run.*")))


def check(made: tuple[Kernel, ...]) -> None:
    x = np.arange(30, dtype=np.float32)
    for kernel, reference in zip(made, kernels("reference"), strict=True):
        got, expected = (np.full(kernel.destination.span, -1, np.float32) for _ in range(2))
        kernel(x, got)
        reference(x, expected)
        np.testing.assert_array_equal(got, expected)


def test_all_at_once_in_their_order(compiled: Callable[[], int]) -> None:
    made = layoutc.compile_all(kernels(), workers=2)
    assert [kernel.destination for kernel in made] == TARGETS
    check(made)
    assert compiled() == 4, "a text that two kernels share is compiled once"
    check(layoutc.compile_all(kernels()))
    assert compiled() == 4


def test_kernels_of_threads_do_not_wait_for_each_other(compiled: Callable[[], int]) -> None:
    made = kernels()
    threads = [threading.Thread(target=kernel.prepare) for kernel in made]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    check(tuple(made))
    assert compiled() >= 4


def test_two_processes_build_the_same_kernel() -> None:
    code = (
        "import layoutc; d = [layoutc.desc(n, (1, 3, 2, 5)) for n in ('nchw', 'nhwc')]; k = layoutc.compile(*d, "
        "executor='c'); y = bytearray(120); k(bytes(range(120)), y); print(bytes(y).hex())"
    )
    processes = [
        subprocess.Popen([sys.executable, "-W", "error", "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        for _ in range(3)
    ]
    said = [process.communicate(timeout=120) for process in processes]
    assert {error for _, error in said} == {b""}
    assert len({output for output, _ in said}) == 1


def test_no_kernels_and_those_of_other_executors() -> None:
    assert layoutc.compile_all([]) == ()
    check(layoutc.compile_all(kernels("interpret")))


def test_a_kernel_that_cannot_be_built(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "cc").write_text('#!/bin/sh\necho "error: no luck" >&2\nexit 1\n')
    (tmp_path / "cc").chmod(0o755)
    monkeypatch.setenv("LAYOUTC_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("LAYOUTC_CC", str(tmp_path / "cc"))
    with pytest.raises(CompilerError, match="no luck"):
        layoutc.compile_all(kernels())
    s8 = layoutc.desc("nhwc", NCHW.dims, "s8")
    with_argument, with_sums = Conversion(dst_scale=Param(axes=1)), Conversion(compensation=Compensation(s8s8=(1,)))
    for conversion in (Conversion(), with_argument, with_sums):
        with pytest.raises(CompilerError, match="no luck"):
            Kernel(NCHW, s8, conversion=conversion).prepare()


def test_bad_calls() -> None:
    with pytest.raises(layoutc.LayoutcError, match="kernel is a tuple, expected a Kernel"):
        layoutc.compile_all([(NCHW, NCHW)])  # pyright: ignore[reportArgumentType]
    with pytest.raises(layoutc.LayoutcError, match="kernels are a Kernel, expected a sequence of Kernel"):
        layoutc.compile_all(kernels()[0])  # pyright: ignore[reportArgumentType]
    with pytest.raises(layoutc.LayoutcError, match="workers is 0, expected 1 or more"):
        layoutc.compile_all([], workers=0)


AFTER_FORK = """
import os, signal, sys
import numpy as np
import layoutc
source, destination = (layoutc.desc(name, (2048, 1024), "f32") for name in ("ab", "ba"))
kernel = layoutc.compile(source, destination, threads=2, executor="c")
assert "num_threads" in kernel.c_source
x, y = np.arange(1 << 21, dtype=np.float32), np.zeros(1 << 21, np.float32)
kernel(x, y)
def in_child(depth):
    child = os.fork()
    if child:
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    signal.alarm(30)
    y[:] = 0
    for _ in range(2):
        kernel(x, y)
    is_right = bool((y.reshape(1024, 2048) == x.reshape(2048, 1024).T).all())
    os._exit(0 if is_right and (depth == 0 or in_child(depth - 1) == 0) else 1)
sys.exit(in_child(1))
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork is here")
def test_kernels_of_threads_run_in_the_child_of_a_fork_and_in_its_child() -> None:
    """gcc's OpenMP hangs there by itself."""
    done = subprocess.run([sys.executable, "-c", AFTER_FORK], capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("code", ["layoutc.compile(*pairs[0])", "layoutc.compile_all([Kernel(*p) for p in pairs])"])
def test_an_interrupt_ends_the_compilers_and_leaves_nothing(code: str, tmp_path: Path) -> None:
    script, started, cache = tmp_path / "cc", tmp_path / "started", tmp_path / "cache"
    script.write_text(f'#!/bin/sh\nsleep 300 &\necho $! >> "{started}"\nwait\n')
    script.chmod(0o755)
    program = f"""
import layoutc
from layoutc.kernel import Kernel
pairs = [(layoutc.desc("ab", (n, 7)), layoutc.desc("ba", (n, 7))) for n in range(2, 9)]
{code}
"""
    environment = {**os.environ, "LAYOUTC_CC": str(script), "LAYOUTC_CACHE_DIR": str(cache)}
    heeds = partial(signal.signal, signal.SIGINT, signal.SIG_DFL)  # in the background of a shell it is ignored
    run = subprocess.Popen([sys.executable, "-c", program], env=environment, stderr=subprocess.PIPE, preexec_fn=heeds)
    expire = time.monotonic() + 20
    while not (started.exists() and started.read_text().endswith("\n")) and time.monotonic() < expire:
        time.sleep(0.05)
    assert b"KeyboardInterrupt" in errors_of_interrupted(run)
    assert not any(map(is_running, started.read_text().split()))
    assert not list(cache.glob("build-*"))


def test_an_interrupt_while_a_program_starts_ends_it(tmp_path: Path) -> None:
    """It comes before whoever started the program has it in hand."""
    number = tmp_path / "number"
    program = f"""
import os, signal, subprocess, threading, time
from layoutc.processes import run
threading.Thread(target=time.sleep, args=(30,), daemon=True).start()  # the signal may come to this one
class Interrupted(subprocess.Popen):
    def __init__(self, *arguments, **options):
        super().__init__(*arguments, **options)
        with open({str(number)!r}, "w") as file:
            file.write(str(self.pid))
        os.kill(os.getpid(), signal.SIGINT)
subprocess.Popen = Interrupted
run(["sleep", "300"], os.open(os.devnull, os.O_WRONLY), 60)
"""
    heeds = partial(signal.signal, signal.SIGINT, signal.SIG_DFL)
    run = subprocess.run([sys.executable, "-c", program], stderr=subprocess.PIPE, preexec_fn=heeds, timeout=50)
    assert b"KeyboardInterrupt" in run.stderr
    assert not is_running(number.read_text())


def errors_of_interrupted(run: subprocess.Popen[bytes]) -> bytes:
    """Interrupted again if it goes on: CPython drops an interrupt that comes in the callback of a weak reference."""
    for _ in range(3):
        run.send_signal(signal.SIGINT)
        with suppress(subprocess.TimeoutExpired):
            return run.communicate(timeout=10)[1]
    run.kill()
    pytest.fail(f"three interrupts did not end it: {run.communicate()[1].decode()}")


def is_running(process: str) -> bool:
    try:
        return Path(f"/proc/{process}/stat").read_text().split()[2] != "Z"
    except FileNotFoundError:
        return False
