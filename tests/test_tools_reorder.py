"""`layoutc reorder`: .npy in, .npy out, by every executor."""

from __future__ import annotations

import io
import os
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from layoutc import notations
from layoutc.tools.layoutc import main

EXECUTORS = ("c", "interpret", "reference")
DIMS = (2, 17, 5, 4)

Array = np.ndarray[Any, np.dtype[Any]]


def tensor(dtype: str = "float32", dims: tuple[int, ...] = DIMS) -> Array:
    """Elements that all differ, none of them zero, as far as the type holds."""
    return (np.arange(np.prod(dims)) % 250 + 1).astype(dtype).reshape(dims)


def reordered(folder: Path, array: Array, *arguments: str) -> Array:
    """What the command makes of an array."""
    np.save(folder / "in.npy", array)
    assert main(["reorder", str(folder / "in.npy"), str(folder / "out.npy"), *arguments]) == 0
    return np.load(folder / "out.npy")


def blocked(array: Array, block: int) -> Array:
    """nchw to nChw[block]c by NumPy alone."""
    n, c, h, w = array.shape
    padded = np.zeros((n, -(-c // block) * block, h, w), array.dtype)
    padded[:, :c] = array
    return padded.reshape(n, -1, block, h, w).transpose(0, 1, 3, 4, 2)


@pytest.mark.parametrize("executor", EXECUTORS)
@pytest.mark.parametrize("dtype", ["uint8", "float16", "float32", "int64"])
def test_blocking_pads_with_zeros(tmp_path: Path, executor: str, dtype: str) -> None:
    result = reordered(tmp_path, tensor(dtype), "--from", "nchw", "--to", "nChw8c", "--executor", executor)
    np.testing.assert_array_equal(result, blocked(tensor(dtype), 8), strict=True)
    assert np.count_nonzero(result == 0) == 280


def test_the_seed_tensor_lies_where_the_listing_says(tmp_path: Path) -> None:
    array = tensor(dims=(2, 2, 2, 2))
    result = reordered(tmp_path, array, "--from", "bfyx", "--to", "b_fs_yx_fsv16").reshape(-1)
    dst = notations.desc("b_fs_yx_fsv16", (2, 2, 2, 2))
    expected = [array[index] if (index := dst.index_of(i)) else 0 for i in range(128)]
    np.testing.assert_array_equal(result, expected)


def test_the_array_of_a_permuted_layout_has_the_permuted_shape(tmp_path: Path) -> None:
    nhwc = tensor().transpose(0, 2, 3, 1)
    result = reordered(tmp_path, np.ascontiguousarray(nhwc), "--from", "nhwc", "--to", "nchw")
    np.testing.assert_array_equal(result, tensor(), strict=True)


def test_without_dims_block_padding_counts_as_data(tmp_path: Path) -> None:
    result = reordered(tmp_path, np.ascontiguousarray(blocked(tensor(), 8)), "--from", "nChw8c", "--to", "nchw")
    assert result.shape == (2, 24, 5, 4)
    np.testing.assert_array_equal(result[:, :17], tensor())


@pytest.mark.parametrize("is_flat", [False, True])
def test_dims_cut_the_block_padding_off(tmp_path: Path, is_flat: bool) -> None:
    source = np.ascontiguousarray(blocked(tensor(), 8))
    source = source.reshape(-1) if is_flat else source
    result = reordered(tmp_path, source, "--from", "nChw8c", "--to", "nchw", "--dims", "2,17,5,4")
    np.testing.assert_array_equal(result, tensor(), strict=True)


def test_bf16_is_reinterpreted_and_kept_as_stored(tmp_path: Path) -> None:
    result = reordered(tmp_path, tensor("uint16"), "--from", "nchw", "--to", "nChw8c", "--dtype", "bf16")
    np.testing.assert_array_equal(result, blocked(tensor("uint16"), 8), strict=True)


@pytest.mark.parametrize("name", ["bfloat16", "float8_e4m3fn", "float8_e5m2"])
def test_what_numpy_saves_of_ml_dtypes_is_read(tmp_path: Path, name: str) -> None:
    """Of float8_e5m2, which NumPy writes under a name that it does not read, the file says the type."""
    array = tensor().astype(name)
    dtype = () if name == "float8_e5m2" else ("--dtype", name)
    result = reordered(tmp_path, array, "--from", "nchw", "--to", "nhwc", *dtype)
    np.testing.assert_array_equal(result.view(name), array.transpose(0, 2, 3, 1), strict=True)


@pytest.mark.parametrize("array", [np.asfortranarray(tensor()), tensor(">f4")], ids=["fortran", "big-endian"])
def test_how_numpy_stores_the_array_makes_no_difference(tmp_path: Path, array: Array) -> None:
    result = reordered(tmp_path, array, "--from", "nchw", "--to", "nhwc")
    np.testing.assert_array_equal(result, tensor().transpose(0, 2, 3, 1), strict=True)


def test_threads_share_a_reorder(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    array = tensor(dims=(4, 256, 32, 32))
    result = reordered(tmp_path, array, "--from", "nchw", "--to", "nChw8c", "--threads", "2")
    np.testing.assert_array_equal(result, blocked(array, 8))
    files = str(tmp_path / "in.npy"), str(tmp_path / "out.npy")
    assert main(["reorder", *files, "--from", "nchw", "--to", "nhwc", "--threads", "0"]) == 1
    assert "the number of threads is 0, expected 1 to" in capsys.readouterr().err


def test_a_strided_destination_is_a_flat_array_with_zero_in_its_gaps(tmp_path: Path) -> None:
    result = reordered(tmp_path, tensor(dims=(2, 3)), "--from", "ab", "--to", "{2,3},{5,1}")
    np.testing.assert_array_equal(result, np.array([1, 2, 3, 0, 0, 4, 5, 6], np.float32), strict=True)


def test_the_output_may_be_the_input(tmp_path: Path) -> None:
    path = str(tmp_path / "x.npy")
    np.save(path, tensor())
    assert main(["reorder", path, path, "--from", "nchw", "--to", "nhwc"]) == 0
    np.testing.assert_array_equal(np.load(path), tensor().transpose(0, 2, 3, 1))


def test_a_dash_is_stdin_and_stdout(tmp_path: Path) -> None:
    np.save(tmp_path / "in.npy", tensor())
    command = [sys.executable, "-m", "layoutc", "reorder", "-", "-", "--from", "nchw", "--to", "nhwc"]
    with (tmp_path / "in.npy").open("rb") as given:
        done = subprocess.run(command, stdin=given, capture_output=True, check=True)
    np.testing.assert_array_equal(np.load(io.BytesIO(done.stdout)), tensor().transpose(0, 2, 3, 1))


def test_a_new_output_has_the_permissions_of_the_umask(tmp_path: Path) -> None:
    before = os.umask(0o027)
    try:
        reordered(tmp_path, tensor(), "--from", "nchw", "--to", "nhwc")
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "out.npy").stat().st_mode) == 0o640


def test_a_replaced_output_keeps_its_permissions_and_its_link(tmp_path: Path) -> None:
    real = tmp_path / "real.npy"
    real.write_bytes(b"old")
    real.chmod(0o600)
    (tmp_path / "out.npy").symlink_to(real)
    reordered(tmp_path, tensor(), "--from", "nchw", "--to", "nhwc")
    assert (tmp_path / "out.npy").is_symlink()
    assert stat.S_IMODE(real.stat().st_mode) == 0o600
    assert np.load(real).shape == (2, 5, 4, 17)


@pytest.mark.parametrize("executor", EXECUTORS)
def test_types_below_a_byte_have_a_byte_each(tmp_path: Path, executor: str) -> None:
    """Also where an axis has one index, whose counter is a constant that no offset mentions."""
    array = (np.arange(24) % 16).astype(np.uint8).reshape(1, 3, 2, 4)
    result = reordered(tmp_path, array, "--from", "nchw", "--to", "nhwc", "--dtype", "u4", "--executor", executor)
    np.testing.assert_array_equal(result, array.transpose(0, 2, 3, 1), strict=True)


@pytest.mark.parametrize("version", [(1, 0), (2, 0), (3, 0)])
def test_every_version_of_npy_is_read(version: tuple[int, int], tmp_path: Path) -> None:
    with (tmp_path / "in.npy").open("wb") as file:
        np.lib.format.write_array(file, tensor(), version=version)
    assert main(["reorder", str(tmp_path / "in.npy"), str(tmp_path / "out.npy"), "--from", "nchw", "--to", "nchw"]) == 0
    np.testing.assert_array_equal(np.load(tmp_path / "out.npy"), tensor())
