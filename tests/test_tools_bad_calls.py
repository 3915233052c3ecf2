"""Bad calls from Python, and compilers and caches that do not work: the reason, and an untouched destination."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any, get_args

import numpy as np
import pytest

import layoutc
from layoutc import arrays
from layoutc.kernel_options import Executor
from layoutc.tools.layoutc import main

Capture = pytest.CaptureFixture[str]
Array = np.ndarray[Any, np.dtype[Any]]

SRC = layoutc.desc("nchw", (2, 3, 2, 2), "f32")
DST = layoutc.desc("nChw4c", (2, 3, 2, 2), "f32")
EXECUTORS: tuple[Executor, ...] = get_args(Executor)


def source() -> Array:
    return np.arange(1, 25, dtype=np.float32)


def destination() -> Array:
    return np.full(32, -1, np.float32)


def read_only() -> Array:
    array = destination()
    array.flags.writeable = False
    return array


def overlapping() -> tuple[Array, Array]:
    memory = np.full(55, -1, np.float32)
    return memory[:24], memory[23:]


BUFFERS = [
    (source()[:-1], destination(), "92 bytes, expected 96"),
    (np.zeros(25, np.float32), destination(), "100 bytes, expected 96"),
    (b"", destination(), "0 bytes, expected 96"),
    (source(), np.full(31, -1, np.float32), "124 bytes, expected 128"),
    (source(), np.full(33, -1, np.float32), "132 bytes, expected 128"),
    (source(), np.full(64, -1, np.float32)[::2], "contiguous"),
    (np.zeros(48, np.float32)[::2], destination(), "contiguous"),
    (source(), read_only(), "read-only"),
    (source(), bytes(128), "read-only"),
    (*overlapping(), "overlap"),
    (source(), [0.0] * 32, "destination is a list, expected bytes"),
    ("text", destination(), "source is a str, expected bytes"),
    (None, destination(), "source is a NoneType, expected bytes"),
    (np.array([None] * 12), destination(), "objects"),
]


@pytest.mark.parametrize("executor", EXECUTORS)
@pytest.mark.parametrize(("read", "written", "fragment"), BUFFERS, ids=[fragment for *_, fragment in BUFFERS])
def test_a_buffer_that_does_not_fit(executor: Executor, read: Any, written: Any, fragment: str) -> None:
    kernel = layoutc.compile(SRC, DST, executor=executor)
    before = np.array(written)
    with pytest.raises(layoutc.BufferError, match=fragment):
        kernel(read, written)
    np.testing.assert_array_equal(np.array(written), before)


DESCRIPTORS = [
    (layoutc.desc("nchw", (2, 3, 2, 3), "f32"), r"dims \(2, 3, 2, 2\).* differ from .*\(2, 3, 2, 3\)"),
    (layoutc.desc("abc", (2, 3, 4), "f32"), r"\(2, 3, 4\)"),
    (layoutc.desc("nchw", (2, 3, 2, 2), "f32", strides=(0, 4, 2, 1)), "offset"),
    (layoutc.desc("nchw", (2, 3, 2, 2), "f32", strides=(12, 4, 1, 1)), "offset"),
]


@pytest.mark.parametrize("executor", EXECUTORS)
@pytest.mark.parametrize(("target", "pattern"), DESCRIPTORS, ids=[str(target) for target, _ in DESCRIPTORS])
def test_descriptors_that_do_not_fit(executor: Executor, target: layoutc.MemoryDesc, pattern: str) -> None:
    with pytest.raises(layoutc.LayoutcError, match=pattern):
        layoutc.compile(SRC, target, executor=executor)


@pytest.fixture
def reorder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The arguments of a reorder in C that nothing has compiled before."""
    arrays._kernel.cache_clear()
    monkeypatch.setenv("LAYOUTC_CACHE_DIR", str(tmp_path / "cache"))
    np.save(tmp_path / "in.npy", source().reshape(2, 3, 2, 2))
    files = [str(tmp_path / "in.npy"), str(tmp_path / "out.npy")]
    return ["reorder", *files, "--from", "nchw", "--to", "nChw4c", "--executor", "c"]


def compiler_that(folder: Path, does: str) -> str:
    script = folder / "cc"
    script.write_text(f"#!/bin/sh\n{does}\n")
    script.chmod(0o755)
    return str(script)


@pytest.mark.parametrize(
    ("does", "fragment"),
    [
        (None, "/nonexistent/cc"),
        ("echo 'out of ideas' >&2; exit 3", "out of ideas"),
        ("exit 0", "compiler failed"),
        ("kill -9 $$", "compiler failed"),
        ('while [ "$1" != -o ]; do shift; done; echo junk > "$2"', "cannot be loaded"),
    ],
    ids=["missing", "failing", "silent", "killed", "junk"],
)
def test_a_compiler_that_does_not_work(
    capsys: Capture,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    reorder: list[str],
    does: str | None,
    fragment: str,
) -> None:
    monkeypatch.setenv("LAYOUTC_CC", "/nonexistent/cc" if does is None else compiler_that(tmp_path, does))
    assert main(reorder) == 1
    err = capsys.readouterr().err
    assert err.startswith("layoutc: error: ") and fragment in err and err.count("\n") == 1
    assert not (tmp_path / "out.npy").exists()


@pytest.mark.filterwarnings("default::UserWarning")
@pytest.mark.parametrize("kind", ["a file", "below a file", "open to others", "a link"])
def test_a_cache_that_cannot_be_used_is_left_alone(
    capsys: Capture, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, reorder: list[str], kind: str
) -> None:
    cache = tmp_path / "other"
    if kind in ("a file", "below a file"):
        cache.write_text("not a folder")
        cache = cache if kind == "a file" else cache / "cache"
    elif kind == "a link":
        (tmp_path / "real").mkdir(mode=0o700)
        cache.symlink_to(tmp_path / "real")
    else:
        cache.mkdir()
        cache.chmod(0o777)
    monkeypatch.setenv("LAYOUTC_CACHE_DIR", str(cache))
    assert main(reorder) == 0
    err = capsys.readouterr().err
    assert err.startswith("layoutc: warning: ") and str(cache) in err
    assert not cache.is_dir() or list(cache.iterdir()) == []
    assert np.load(tmp_path / "out.npy").shape == (2, 1, 2, 2, 4)


def test_without_a_compiler_the_reference_serves_and_says_so_once(tmp_path: Path, reorder: list[str]) -> None:
    empty = tmp_path / "bin"
    empty.mkdir()
    environment = {key: value for key, value in os.environ.items() if key not in ("CC", "LAYOUTC_CC")}
    code = f"from layoutc.tools.layoutc import main; print(main({reorder[:-2]}), main({reorder[:-2]}))"
    done = subprocess.run(
        [sys.executable, "-c", code], env={**environment, "PATH": str(empty)}, capture_output=True, text=True
    )
    assert done.stdout == "0 0\n"
    assert done.stderr.count("no C compiler") == 1
    assert np.load(tmp_path / "out.npy").shape == (2, 1, 2, 2, 4)
