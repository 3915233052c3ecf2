"""Where `-o` and OUT.npy may point: what is no file to replace is written to as it is."""

from __future__ import annotations

import errno
import io
import os
import signal
import stat
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Generator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from layoutc.tools import layoutc_opt
from layoutc.tools.layoutc import main

COMPILE = ("compile", "--from", "ab", "--to", "ba", "--dims", "2,3", "--emit", "header")
LAYOUTC = [sys.executable, "-m", "layoutc"]


@pytest.fixture(scope="module")
def text() -> str:
    """What is to be written."""
    return subprocess.run([*LAYOUTC, *COMPILE], capture_output=True, text=True, check=True).stdout


@pytest.mark.parametrize("name", ["-", "/dev/stdout", "/dev/fd/1", "/proc/self/fd/1", "/dev/../dev/stdout", "link"])
def test_stdout_by_any_name_is_written_through(tmp_path: Path, text: str, name: str) -> None:
    """Redirected to a file it keeps its position, and the file is still the one that was opened."""
    (tmp_path / "link").symlink_to("/dev/stdout")
    out = tmp_path / "out.h"
    with out.open("w") as file:
        inode = out.stat().st_ino
        for word in ("first\n", "last\n"):
            file.write(word)
            file.flush()
            if word == "first\n":
                subprocess.run([*LAYOUTC, *COMPILE, "-o", name], cwd=tmp_path, stdout=file, check=True)
                file.seek(0, io.SEEK_END)
    assert out.read_text() == f"first\n{text}last\n"
    assert out.stat().st_ino == inode
    assert sorted(path.name for path in tmp_path.iterdir()) == ["link", "out.h"]


TO_STDOUT = [
    ("layoutc", *COMPILE),
    ("layoutc", *COMPILE, "-o", "-"),
    ("layoutc_opt", "in.mlir"),
    ("layoutc_opt", "--version"),
]


@pytest.mark.parametrize("tool", TO_STDOUT, ids=lambda tool: tool[0])
@pytest.mark.parametrize(
    ("stdout", "reason"), [(">&-", "bad file"), ("<&- >&-", "bad file"), (">/dev/full", "no space")]
)
def test_what_cannot_be_written_to_stdout_is_an_error(
    tmp_path: Path, tool: tuple[str, ...], stdout: str, reason: str
) -> None:
    (tmp_path / "in.mlir").write_text("builtin.module {}")
    done = run_with(stdout, tmp_path, tool)
    assert (done.returncode, done.stdout) == (1, "")
    assert reason in done.stderr and done.stderr.startswith(f"{tool[0].replace('_', '-')}: error: ")
    assert done.stderr.count("\n") == 1 and "Errno" not in done.stderr


@pytest.mark.parametrize("tool", [("layoutc", *COMPILE), ("layoutc_opt", "in.mlir")], ids=lambda tool: tool[0])
def test_a_closed_stdout_that_nothing_is_written_to_is_no_error(tmp_path: Path, tool: tuple[str, ...]) -> None:
    (tmp_path / "in.mlir").write_text("builtin.module {}")
    done = run_with(">&-", tmp_path, (*tool, "-o", "out"))
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert (tmp_path / "out").read_text()


def run_with(stdout: str, folder: Path, tool: tuple[str, ...]) -> subprocess.CompletedProcess[str]:
    """What a tool of layoutc does when a shell redirects its output so."""
    run = ["sh", "-c", f'exec "$@" {stdout}', "sh", sys.executable, "-m", f"layoutc.tools.{tool[0]}", *tool[1:]]
    return subprocess.run(run, cwd=folder, capture_output=True, text=True)


def test_where_a_file_with_two_names_has_no_room_it_stays_as_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def full(descriptor: int, offset: int, size: int) -> None:
        os.ftruncate(descriptor, offset + size // 2)
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    (tmp_path / "out").write_text("before")
    (tmp_path / "other").hardlink_to(tmp_path / "out")
    monkeypatch.setattr(os, "posix_fallocate", full, raising=False)
    assert main([*COMPILE, "-o", str(tmp_path / "out")]) == 1
    assert "no space left" in capsys.readouterr().err.lower()
    assert (tmp_path / "other").read_text() == "before"


def test_what_another_user_owns_in_a_sticky_folder_is_written_to(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str
) -> None:
    """As in /tmp: nobody but its owner may put another file in its place."""
    (tmp_path / "out").write_text("before " * len(text))
    tmp_path.chmod(0o1777)
    found = (tmp_path / "out").stat().st_ino
    monkeypatch.setattr(os, "geteuid", lambda: 1 + (tmp_path / "out").stat().st_uid)
    assert main([*COMPILE, "-o", str(tmp_path / "out")]) == 0
    assert ((tmp_path / "out").stat().st_ino, (tmp_path / "out").read_text()) == (found, text)


def test_any_open_descriptor_is_written_through(tmp_path: Path, text: str) -> None:
    with (tmp_path / "out.h").open("w+") as file:
        assert main([*COMPILE, "-o", f"/dev/fd/{file.fileno()}"]) == 0
        assert os.fstat(file.fileno()).st_nlink == 1
        file.seek(0)
        assert file.read() == text


def test_a_pipe_of_that_name_is_written_to(tmp_path: Path, text: str) -> None:
    os.mkfifo(tmp_path / "pipe")
    read: list[str] = []
    reader = threading.Thread(target=lambda: read.append((tmp_path / "pipe").read_text()))
    reader.start()
    assert main([*COMPILE, "-o", str(tmp_path / "pipe")]) == 0
    reader.join(10)
    assert read == [text]
    assert stat.S_ISFIFO((tmp_path / "pipe").stat().st_mode)


@pytest.mark.parametrize("name", ["loop", "loop/out.h"])
def test_links_in_a_circle_are_an_error(tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str) -> None:
    (tmp_path / "loop").symlink_to("loop")
    assert main([*COMPILE, "-o", str(tmp_path / name)]) == 1
    assert capsys.readouterr().err == f"layoutc: error: {tmp_path / name}: too many levels of symbolic links\n"
    assert [path.name for path in tmp_path.iterdir()] == ["loop"]


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no disk is full here")
def test_what_a_full_disk_has_no_room_for_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compile", "--from", "ab", "--to", "ba", "--dims", "8,8", "-o", "/dev/full"]) == 1
    assert capsys.readouterr().err == "layoutc: error: /dev/full: no space left on device\n"


@contextmanager
def as_anybody() -> Generator[None]:
    """Not as root, who may write all files."""
    before = os.geteuid()
    if before == 0:
        os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(before)


def test_a_file_that_may_only_be_read_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o777)
        out = Path(folder, "out.h")
        out.write_text("mine")
        out.chmod(0o444)
        with as_anybody():
            assert main([*COMPILE, "-o", str(out)]) == 1
        assert capsys.readouterr().err == f"layoutc: error: {out}: permission denied\n"
        assert [(path.name, path.read_text()) for path in Path(folder).iterdir()] == [("out.h", "mine")]


def test_a_file_in_a_folder_that_may_only_be_read_gets_other_contents(text: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder, "out.h")
        out.write_text("old" * 1000)
        out.chmod(0o666)
        Path(folder).chmod(0o555)
        with as_anybody():
            assert main([*COMPILE, "-o", str(out)]) == 0
        Path(folder).chmod(0o755)
        assert [(path.name, path.read_text()) for path in Path(folder).iterdir()] == [("out.h", text)]


@pytest.mark.parametrize("tool", ["layoutc", "layoutc-opt"])
def test_a_file_with_two_names_keeps_both(tmp_path: Path, tool: str) -> None:
    (tmp_path / "in.mlir").write_text("func.func @f() { func.return }")
    (tmp_path / "out").write_text("old" * 1000)
    (tmp_path / "other").hardlink_to(tmp_path / "out")
    if tool == "layoutc":
        assert main([*COMPILE, "-o", str(tmp_path / "out")]) == 0
    else:
        layoutc_opt.main([str(tmp_path / "in.mlir"), "-o", str(tmp_path / "out")])
    written = (tmp_path / "out").read_text()
    assert written and "old" not in written
    assert (tmp_path / "other").read_text() == written
    assert sorted(path.name for path in tmp_path.iterdir()) == ["in.mlir", "other", "out"]


def test_a_file_with_two_names_stays_as_it_was_where_something_is_wrong(tmp_path: Path) -> None:
    (tmp_path / "in.mlir").write_text("func.func @f() { no.such }")
    (tmp_path / "out").write_text("old")
    (tmp_path / "other").hardlink_to(tmp_path / "out")
    with pytest.raises(SystemExit):
        layoutc_opt.main([str(tmp_path / "in.mlir"), "-o", str(tmp_path / "out")])
    assert (tmp_path / "out").read_text() == "old"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_an_ended_driver_leaves_nothing_behind(tmp_path: Path, number: signal.Signals) -> None:
    """It waits for its input, which never comes, with its output open beside the old one."""
    (tmp_path / "out.mlir").write_text("old")
    command = [sys.executable, "-m", "layoutc.tools.layoutc_opt", "-o", str(tmp_path / "out.mlir")]
    heeds = partial(signal.signal, number, signal.SIG_DFL)  # who starts the tests may have it ignored, as nohup does
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stderr=subprocess.PIPE, text=True, preexec_fn=heeds)
    with process:
        for _ in range(1000):
            if len([*tmp_path.iterdir()]) == 2:
                break
            time.sleep(0.02)
        process.send_signal(number)
        assert process.wait(20) == 128 + number
        assert process.stderr and process.stderr.read() == "layoutc-opt: error: interrupted\n"
    assert [(path.name, path.read_text()) for path in tmp_path.iterdir()] == [("out.mlir", "old")]


def test_dev_null_stays_what_it_is() -> None:
    before = Path("/dev/null").stat()
    assert main([*COMPILE, "-o", "/dev/null"]) == 0
    assert Path("/dev/null").stat().st_ino == before.st_ino


@pytest.mark.parametrize("name", ["-", "/dev/stdout"])
def test_an_array_goes_down_a_pipe(tmp_path: Path, name: str) -> None:
    array = np.arange(6, dtype=np.float32).reshape(2, 3)
    np.save(tmp_path / "in.npy", array)
    command = [*LAYOUTC, "reorder", str(tmp_path / "in.npy"), name, "--from", "ab", "--to", "ba"]
    done = subprocess.run([*command, "--executor", "reference"], cwd=tmp_path, capture_output=True, check=True)
    np.testing.assert_array_equal(np.load(io.BytesIO(done.stdout)), array.T, strict=True)
    assert [path.name for path in tmp_path.iterdir()] == ["in.npy"]


def test_what_is_written_is_what_numpy_would_write(tmp_path: Path) -> None:
    for array in (np.arange(6, dtype=np.int16).reshape(2, 3), np.array(True), np.zeros((1,) * 12, np.float64)):
        np.save(tmp_path / "in.npy", array)
        tag = "abcdefghijkl"[: array.ndim] or "SCALAR"
        files = [str(tmp_path / "in.npy"), str(tmp_path / "out.npy")]
        assert main(["reorder", *files, "--from", tag, "--to", tag]) == 0
        assert (tmp_path / "out.npy").read_bytes() == (tmp_path / "in.npy").read_bytes()
