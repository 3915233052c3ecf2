"""Where `-o` and OUT.npy may point: what is no file to replace is written to as it is."""

from __future__ import annotations

import io
import os
import stat
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest

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


@pytest.mark.parametrize("tool", [("layoutc", "describe", "nchw"), ("layoutc_opt", "--help")], ids=lambda tool: tool[0])
def test_a_closed_stdout_is_no_error(tool: tuple[str, ...]) -> None:
    run = [sys.executable, "-m", f"layoutc.tools.{tool[0]}", *tool[1:]]
    done = subprocess.run(["sh", "-c", 'exec "$@" >&-', "sh", *run], capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


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
