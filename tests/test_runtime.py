"""The compiler, and the cache of kernels."""

from __future__ import annotations

import ctypes
import errno
import os
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import layoutc
from layoutc.compiler import Compiler, find_compiler
from layoutc.errors import CompilerError
from layoutc.runtime import build, load

SOURCE = "int answer(void) { return 42; }\n"

needs_compiler = pytest.mark.skipif(find_compiler() is None, reason="no C compiler is here")


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "cache"
    monkeypatch.setenv("LAYOUTC_CACHE_DIR", str(folder))
    return folder


def script(path: Path, text: str) -> Compiler:
    """A compiler of our own making."""
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return Compiler((str(path),))


def answer(path: Path) -> int:
    return load(path, "answer", [], ctypes.c_int)()


@needs_compiler
def test_builds_once(cache: Path) -> None:
    first = build(SOURCE)
    assert answer(first) == 42
    before = first.stat()
    assert build(SOURCE) == first
    assert first.stat().st_mtime_ns == before.st_mtime_ns
    assert build(SOURCE.replace("42", "43")) != first
    assert cache.stat().st_mode & 0o777 == 0o700
    assert {path.stat().st_mode & 0o077 for path in cache.rglob("*")} == {0}
    assert not list(cache.glob("build-*"))


@pytest.mark.usefixtures("cache")
@needs_compiler
def test_another_compiler_or_other_flags_have_their_own_entries(tmp_path: Path) -> None:
    real = find_compiler()
    assert real is not None
    wrapper = script(tmp_path / "mycc", f'exec {real.command[0]} "$@"')
    paths = {build(SOURCE, real), build(SOURCE, wrapper), build(SOURCE, Compiler(real.command, (*real.flags, "-O1")))}
    assert len(paths) == 3
    script(tmp_path / "mycc", f'# changed\nexec {real.command[0]} "$@"')
    assert build(SOURCE, wrapper) not in paths


@needs_compiler
def test_what_a_killed_build_left_is_removed_later(cache: Path) -> None:
    build(SOURCE)
    old, young = cache / "build-old", cache / "build-young"
    for work in (old, young):
        (work / "entry").mkdir(parents=True)
    os.utime(old, (0, 0))
    build(SOURCE.replace("42", "41"))
    assert young.exists() and not old.exists()


@pytest.mark.parametrize("damage", [b"", b"not an object"])
@pytest.mark.usefixtures("cache")
@needs_compiler
def test_a_damaged_entry_is_built_again(damage: bytes) -> None:
    path = build(SOURCE)
    path.write_bytes(path.read_bytes()[:2000] + damage)
    assert answer(build(SOURCE)) == 42


@pytest.mark.usefixtures("cache")
@needs_compiler
def test_an_entry_that_others_can_write_is_built_again() -> None:
    path = build(SOURCE)
    inode = path.stat().st_ino
    path.chmod(0o666)
    again = build(SOURCE)
    assert again.stat().st_mode & 0o777 == 0o600
    assert again.stat().st_ino != inode


@needs_compiler
def test_a_cache_that_others_can_write_is_not_used(cache: Path) -> None:
    cache.mkdir()
    cache.chmod(0o777)
    with pytest.warns(UserWarning, match="kernel cache not used: others can write to") as caught:
        path = build(SOURCE)
    assert answer(path) == 42
    assert not list(cache.iterdir())
    assert "\n" not in str(caught[0].message)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert build(SOURCE) == path


@needs_compiler
def test_the_warning_about_the_cache_quotes_the_line_that_called(cache: Path) -> None:
    cache.mkdir()
    cache.chmod(0o777)
    pair = layoutc.desc("ab", (2, 3)), layoutc.desc("ba", (2, 3))
    with pytest.warns(UserWarning, match="kernel cache not used") as caught:
        layoutc.compile(*pair, executor="c", target="generic")
    assert caught[0].filename == __file__


@needs_compiler
def test_a_cache_below_a_folder_that_others_can_write_is_not_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shared = tmp_path / "shared"
    shared.mkdir()
    shared.chmod(0o777)
    monkeypatch.setenv("LAYOUTC_CACHE_DIR", str(shared / "cache"))
    with pytest.warns(UserWarning, match=f"others can write to {shared}"):
        assert answer(build(SOURCE)) == 42


@needs_compiler
def test_a_cache_that_is_a_link_is_not_used(cache: Path, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir(mode=0o700)
    cache.symlink_to(tmp_path / "elsewhere")
    with pytest.warns(UserWarning, match="is a symbolic link"):
        assert answer(build(SOURCE)) == 42
    assert not list((tmp_path / "elsewhere").iterdir())


@needs_compiler
def test_a_cache_that_cannot_be_written_is_not_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("LAYOUTC_CACHE_DIR", str(tmp_path / "file" / "cache"))
    with pytest.warns(UserWarning, match="cannot be written"):
        assert answer(build(SOURCE)) == 42


@needs_compiler
def test_a_cache_that_was_removed_is_made_again(cache: Path) -> None:
    import shutil

    build(SOURCE)
    shutil.rmtree(cache)
    assert answer(build(SOURCE)) == 42


PROCESS = """
import ctypes, sys
from layoutc.runtime import build, load
for n in range(4):
    path = build("int answer(void) { return %d; }" % n)
    assert load(path, "answer", [], ctypes.c_int)() == n
"""


@needs_compiler
def test_processes_build_the_same_at_once(cache: Path) -> None:
    processes = [
        subprocess.Popen([sys.executable, "-W", "error", "-c", PROCESS], stderr=subprocess.PIPE) for _ in range(4)
    ]
    errors = [process.communicate(timeout=120)[1].decode() for process in processes]
    assert errors == [""] * 4
    assert len(list(cache.iterdir())) == 4


def test_a_failing_compiler(cache: Path, tmp_path: Path) -> None:
    compiler = script(
        tmp_path / "badcc", 'echo "In file included from x" >&2; echo "x.c:1: error: no luck" >&2; exit 3'
    )
    with pytest.raises(CompilerError, match=r"compiler failed: .*badcc.*: x.c:1: error: no luck$"):
        build(SOURCE, compiler)
    assert not list(cache.iterdir())


@pytest.mark.usefixtures("cache")
def test_a_fault_in_a_file_that_is_removed_says_where_its_text_is(tmp_path: Path) -> None:
    compiler = script(tmp_path / "badcc", 'for last; do :; done; echo "$last:7: error: no luck"; exit 1')
    with pytest.raises(CompilerError, match=r"kernel.c:7: error: no luck; kernel.c is the `c_source` of the kernel"):
        build(SOURCE, compiler)


@pytest.mark.usefixtures("cache")
@pytest.mark.parametrize(
    "summary", ["collect2: error: ld returned 1 exit status", "clang: error: linker command failed with exit code 1"]
)
def test_the_reason_of_a_linker_is_shown(summary: str, tmp_path: Path) -> None:
    script_text = f'echo "ld: no space left"; echo "{summary}"; exit 1'
    with pytest.raises(CompilerError, match=r": ld: no space left$"):
        build(SOURCE, script(tmp_path / "fullcc", script_text))


@pytest.mark.usefixtures("cache")
def test_a_compiler_that_writes_nothing(tmp_path: Path) -> None:
    with pytest.raises(CompilerError, match="it said nothing"):
        build(SOURCE, script(tmp_path / "silentcc", "exit 0"))


@pytest.mark.usefixtures("cache")
@pytest.mark.parametrize("said", ["", "collect2: error: ld returned 1 exit status"])
def test_a_compiler_on_a_full_disk(said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its words have no room either, and its linker may be ended as it writes."""
    monkeypatch.setattr("layoutc.compiler.LEAST_SPACE", 1 << 62)
    compiler = script(tmp_path / "silentcc", f'echo "{said}"; exit 1')
    with pytest.raises(CompilerError, match="no space left on the device of"), pytest.warns(match="on a full disk"):
        build(SOURCE, compiler)


@needs_compiler
def test_a_cache_on_a_full_disk_is_left_for_a_temporary_folder(cache: Path, tmp_path: Path) -> None:
    real = find_compiler()
    assert real is not None
    full = f'case "$*" in *{cache}*) echo "fatal error: cannot write: No space left on device"; exit 1;; esac'
    compiler = script(tmp_path / "fullcc", f'{full}; exec {real.command[0]} "$@"')
    with pytest.warns(UserWarning, match="cache is on a full disk; compiling into a temporary folder"):
        path = build(SOURCE, compiler)
    assert answer(path) == 42
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert build(SOURCE, compiler) == path


@needs_compiler
def test_a_cache_that_can_no_longer_be_written_is_left_for_a_temporary_folder(
    cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    build(SOURCE)
    real: Callable[..., str] = tempfile.mkdtemp

    def read_only(*arguments: Any, dir: Path | None = None, **options: Any) -> str:
        if dir == cache:
            raise OSError(errno.EROFS, os.strerror(errno.EROFS), str(dir))
        return real(*arguments, dir=dir, **options)

    monkeypatch.setattr(tempfile, "mkdtemp", read_only)
    with pytest.warns(UserWarning, match="cannot be written .read-only file system.; compiling into a temporary"):
        assert answer(build(SOURCE.replace("42", "41"))) == 41


@needs_compiler
@pytest.mark.skipif(sys.platform != "linux", reason="needs ELF objects")
@pytest.mark.usefixtures("cache")
def test_an_object_for_another_machine_is_said_to_be_one() -> None:
    path = build(SOURCE)
    code = bytearray(path.read_bytes())
    code[18:20] = b"\xb7\0" if code[18:20] != b"\xb7\0" else b"\x3e\0"
    path.write_bytes(code)
    with pytest.raises(CompilerError, match=r"'answer' cannot be loaded: its code is for another machine$"):
        load(path, "answer", ())


def test_what_is_no_object_does_not_stay(tmp_path: Path, cache: Path) -> None:
    """A compiler that writes anything and says that all is well is asked again; the next time it may be right."""
    real = find_compiler()
    assert real is not None
    works = f'exec {real.command[0]} "$@"'
    made = f'case "$*" in *probe*) {works};; esac; [ -f {tmp_path}/once ] && {works}'
    odd = f'touch {tmp_path}/once; while [ "$1" != -o ]; do shift; done; echo odd > "$2"'
    compiler = script(tmp_path / "oddcc", f"{made}; {odd}")
    with pytest.raises(CompilerError, match="cannot be loaded"):
        load(build(SOURCE, compiler), "answer", ())
    assert not list(cache.iterdir())
    assert load(build(SOURCE, compiler), "answer", ())() is None


@pytest.mark.parametrize("how", ["pidfd_open", "wait"])
def test_a_compiler_that_hangs_is_stopped_with_its_children(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    if how == "wait":
        monkeypatch.delattr(os, "pidfd_open", raising=False)
    compiler = script(tmp_path / "slowcc", f"sleep 100 & echo $! > {tmp_path}/child; wait")
    with pytest.raises(CompilerError, match="took more than 1 s"):
        compiler.run(tmp_path / "x.c", tmp_path / "x.so", timeout_s=1)
    child = int((tmp_path / "child").read_text())
    # It is killed, and dies as soon as it runs.
    deadline = time.monotonic() + 10
    while not is_dead(child) and time.monotonic() < deadline:
        time.sleep(0.01)
    assert is_dead(child)


def is_dead(process: int) -> bool:
    """Whether a process is gone, or waits for nothing but its parent."""
    try:
        return Path(f"/proc/{process}/stat").read_text().split()[2] == "Z"
    except OSError:
        return True


@pytest.mark.usefixtures("cache")
def test_a_compiler_that_cannot_start(tmp_path: Path) -> None:
    (tmp_path / "nocc").write_bytes(b"\x00\x01")
    (tmp_path / "nocc").chmod(0o755)
    with pytest.raises(CompilerError, match="does not start"):
        build(SOURCE, Compiler((str(tmp_path / "nocc"),)))


@pytest.mark.parametrize("variable", ["LAYOUTC_CC", "CC"])
def test_a_named_compiler_must_be_there(variable: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("LAYOUTC_CC", raising=False)
    monkeypatch.setenv(variable, "/no/such/cc -O3")
    with pytest.raises(CompilerError, match=rf"compiler '/no/such/cc', which \${variable} names, is not there"):
        find_compiler()
    monkeypatch.setenv(variable, os.devnull)
    with pytest.raises(CompilerError, match=rf"compiler '{os.devnull}', which \${variable} names, is no program"):
        find_compiler()


def test_a_named_compiler_comes_first_and_keeps_its_arguments(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    script(tmp_path / "mycc", "exit 0")
    monkeypatch.setenv("CC", "/no/such/cc")
    monkeypatch.setenv("LAYOUTC_CC", f"{tmp_path}/mycc -m64 '-DX=a b'")
    assert find_compiler() == Compiler((f"{tmp_path}/mycc", "-m64", "-DX=a b"))


def test_no_compiler(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("LAYOUTC_CC", raising=False)
    monkeypatch.delenv("CC", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert find_compiler() is None
    with pytest.raises(CompilerError, match="no C compiler"):
        build(SOURCE)


@pytest.mark.usefixtures("cache")
@needs_compiler
def test_a_symbol_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(CompilerError, match="'question' cannot be loaded"):
        load(build(SOURCE), "question", [])
    with pytest.raises(CompilerError, match="cannot be loaded"):
        load(tmp_path / "absent.so", "answer", [])


def test_importing_the_runtime_is_cheap() -> None:
    code = "import sys, layoutc.runtime; print(*{'numpy', 'xdsl', 'ctypes', 'platformdirs'} & sys.modules.keys())"
    assert subprocess.check_output([sys.executable, "-c", code], text=True).strip() == ""


@pytest.mark.skipif(os.getuid() != 0, reason="only root gives folders away")
@needs_compiler
def test_a_cache_of_another_user_is_not_used(cache: Path) -> None:
    cache.mkdir(mode=0o700)
    os.chown(cache, 12345, -1)
    with pytest.warns(UserWarning, match="belongs to another user"):
        assert answer(build(SOURCE)) == 42
