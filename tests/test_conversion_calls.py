"""Conversions from the outside: kernels with arguments, arrays of all types, packed buffers, the command."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import layoutc
from layoutc import arrays
from layoutc.element_type import ELEMENT_TYPES, ElementType
from layoutc.numeric.convert import code_type
from layoutc.numeric.packing import packed, unpacked
from layoutc.param import Param
from layoutc.tools.layoutc import main

SRC, DST = layoutc.desc("nchw", (2, 3, 2, 2), "f32"), layoutc.desc("nhwc", (2, 3, 2, 2), "s8")
X = np.linspace(-9, 9, 24, dtype=np.float32).reshape(2, 3, 2, 2)


def by_numpy(scale: Any = 1.0, zero_point: Any = 0) -> np.ndarray:
    """X quantized to s8, as nhwc."""
    y = np.rint(X / np.asarray(scale, np.float32) + np.float32(zero_point))
    return np.clip(y, -128, 127).astype(np.int8).transpose(0, 2, 3, 1)


def run(kernel: layoutc.Kernel, **params: Any) -> np.ndarray:
    written = np.zeros((2, 2, 2, 3), np.int8)
    kernel(X, written, **params)
    return written


SCALES = np.array([0.1, 0.25, 3], np.float32)


@pytest.mark.parametrize(
    "value",
    [SCALES, SCALES.tolist(), SCALES.astype(np.float64), SCALES.tobytes(), SCALES.data],
    ids=["array", "list", "f64 array", "bytes", "memoryview"],
)
def test_an_argument_of_a_call_may_be_an_array_or_numbers_or_bytes(value: Any) -> None:
    kernel = layoutc.compile(SRC, DST, dst_scale=Param(axes=1), dst_zero_point=Param())
    expected = by_numpy(SCALES.reshape(3, 1, 1), 7)
    np.testing.assert_array_equal(run(kernel, dst_scale=value, dst_zero_point=7), expected)
    constant = layoutc.compile(SRC, DST, dst_scale=Param(SCALES, axes=1), dst_zero_point=7)
    np.testing.assert_array_equal(run(constant), expected)


def test_grouped_scales_and_packed_zero_points() -> None:
    """Weights of 4 bits, with a scale and a zero point for 2 x 4 of them."""
    random = np.random.default_rng(0)
    weights = random.integers(0, 16, (4, 8)).astype(np.uint8)
    scales, zeros = random.uniform(0.5, 2, (2, 2)).astype(np.float16), np.array([[1, 15], [7, 0]], np.uint8)
    src, dst = layoutc.desc("ab", (4, 8), "u4"), layoutc.desc("BA4b2a", (4, 8), "f32")
    groups = {"axes": (0, 1), "groups": (2, 4)}
    kernel = layoutc.compile(
        src, dst, src_scale=Param(dtype="f16", **groups), src_zero_point=Param(dtype="u4", **groups)
    )
    spread = [np.repeat(np.repeat(v, 2, 0), 4, 1).astype(np.float32) for v in (scales, zeros)]
    logical = (weights.astype(np.float32) - spread[1]) * spread[0]
    expected = logical.reshape(2, 2, 2, 4).transpose(2, 0, 3, 1)
    for zero_points in (zeros.astype(ml_dtypes.uint4), bytes([0xF1, 0x07]), zeros.tolist()):
        written = np.zeros((2, 2, 4, 2), np.float32)
        kernel(packed(weights, 4), written, src_scale=scales, src_zero_point=zero_points)
        np.testing.assert_array_equal(written, expected)


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({}, "argument 'dst_scale' is missing"),
        ({"dst_scale": None}, "dst scale is None, expected values"),
        ({"dst_scale": [1, 2, 3], "src_scale": 1}, "got an argument 'src_scale', expected dst_scale"),
        ({"dst_scale": [1, 2]}, "dst scale has 2 values, expected 3"),
        ({"dst_scale": np.ma.masked_equal(np.ones(3, np.float32), 0)}, "dst scale is a masked array"),
        ({"dst_scale": np.ones((3, 2), np.float32)}, r"dst scale has shape \(3, 2\), expected \(3,\)"),
        ({"dst_scale": memoryview(bytes(13))[1:]}, "dst scale lies at address 0x.*, expected a multiple of 4"),
        ({"dst_scale": bytes(8)}, "dst scale has 8 bytes, expected 12"),
        ({"dst_scale": "1,2,3"}, "dst scale: value of a parameter '1,2,3' is no number"),
        ({"dst_scale": [1, np.nan, 1]}, "dst scale: value of a parameter nan is not finite"),
        ({"dst_scale": np.full(3, 1e300)}, r"dst scale: value 1e\+300 is past the largest f32"),
    ],
)
def test_arguments_that_do_not_fit_are_refused(params: dict[str, Any], message: str) -> None:
    kernel = layoutc.compile(SRC, DST, dst_scale=Param(axes=1))
    written = np.full(24, 77, np.int8)
    with pytest.raises(layoutc.LayoutcError, match=message):
        kernel(X, written, **params)
    assert (written == 77).all()


@pytest.mark.parametrize("executor", ["c", "interpret", "reference"])
def test_memory_of_scales_is_taken_unread(executor: Any) -> None:
    """What NaN, infinity and 0 become is arithmetic; numbers to convert must be finite, but may be 0."""
    src, dst = layoutc.desc("a", (4,), "f32"), layoutc.desc("a", (4,), "s8")
    kernel = layoutc.compile(src, dst, dst_scale=Param(axes=0), executor=executor)
    x, y = np.array([1, 1, 1, -1], np.float32), np.zeros(4, np.int8)
    values = np.array([np.nan, np.inf, 0, 0], np.float32)
    for scales in (values, values.tobytes()):
        y[:] = 77
        kernel(x, y, dst_scale=scales)
        assert y.tolist() == [0, 0, 127, -128]
    kernel(x, y, dst_scale=[1, 2, 0, 0])
    assert y.tolist() == [1, 0, 127, -128]
    for scales in (values.tolist(), values.astype(np.float64)):
        with pytest.raises(layoutc.LayoutcError, match="dst scale: value of a parameter nan is not finite"):
            kernel(x, y, dst_scale=scales)


def lent(array: np.ndarray) -> object:
    """What is known of it through DLPack and a shape alone."""

    class Lent:
        shape = array.shape
        __dlpack__ = array.__dlpack__
        __dlpack_device__ = array.__dlpack_device__

    return Lent()


def tensor(array: np.ndarray) -> object:
    """A tensor of another library, which knows its numbers too."""
    found: Any = lent(array)
    found.tolist = array.tolist
    return found


@pytest.mark.parametrize("type", ["f32", "f64", "f16", "s32", "s64", "s16", "u8"])
@pytest.mark.parametrize("dtype", ["f32", "f16", "bf16", "s32"])
def test_numbers_of_another_type_are_converted(dtype: str, type: str) -> None:
    """Those of a tensor or a memoryview were taken for the parameter's own where they are as wide."""
    values = np.array([1, 2, 4], layoutc.desc("a", (1,), type).element_type.numpy)
    name = "dst_zero_point" if dtype == "s32" else "dst_scale"
    attributes: Any = {name: Param(axes=1, dtype=dtype)}
    kernel = layoutc.compile(SRC, DST, **attributes)
    expected = run(kernel, **{name: [1, 2, 4]})
    for given in (tensor(values), values) if type == "u8" else (tensor(values), values, values.data):
        np.testing.assert_array_equal(run(kernel, **{name: given}), expected)


def test_a_tensor_of_bytes_holds_the_memory_of_values() -> None:
    kernel = layoutc.compile(SRC, DST, dst_scale=Param(axes=1, dtype="e8m0"))
    expected = run(kernel, dst_scale=[1, 2, 4])
    np.testing.assert_array_equal(run(kernel, dst_scale=tensor(np.array([127, 128, 129], np.uint8))), expected)


def test_a_tensor_of_another_type_that_tells_no_numbers_is_refused() -> None:
    kernel = layoutc.compile(SRC, DST, dst_scale=Param(axes=1))
    with pytest.raises(layoutc.LayoutcError, match="dst scale has elements of s32, expected f32"):
        run(kernel, dst_scale=lent(np.array([1, 2, 4], np.int32)))


@pytest.mark.parametrize("as_given", [np.ndarray.tolist, np.asarray, memoryview, lent])
def test_values_in_another_shape_are_refused(as_given: Callable[[np.ndarray], object]) -> None:
    """Transposed scales are as many as right ones."""
    kernel = layoutc.compile(SRC, DST, dst_scale=Param(axes=(1, 3)))
    right = np.linspace(0.5, 1, 6, dtype=np.float32).reshape(3, 2)
    written, expected = np.empty((2, 24), np.int8)
    kernel(X, expected, dst_scale=right.reshape(-1))
    kernel(X, written, dst_scale=as_given(right))
    np.testing.assert_array_equal(written, expected)
    with pytest.raises(layoutc.LayoutcError, match=r"dst scale has shape \(2, 3\), expected \(3, 2\)"):
        kernel(X, written, dst_scale=as_given(right.T.copy()))


def test_an_array_of_values_may_lie_anywhere() -> None:
    kernel = layoutc.compile(SRC, DST, dst_scale=Param(axes=1))
    written, expected = np.empty((2, 24), np.int8)
    kernel(X, expected, dst_scale=SCALES)
    kernel(X, written, dst_scale=np.frombuffer(b"x" + np.array(SCALES, np.float32).tobytes(), "u1")[1:].view("f4"))
    np.testing.assert_array_equal(written, expected)


def test_an_argument_that_overlaps_the_destination_is_named() -> None:
    kernel = layoutc.compile(SRC, DST, dst_scale=Param(axes=1))
    memory = memoryview(bytearray(32))
    with pytest.raises(layoutc.BufferError, match="dst scale and destination overlap in 4 bytes"):
        kernel(X, memory[:24], dst_scale=memory[20:])


def test_a_kernel_without_arguments_takes_none() -> None:
    with pytest.raises(layoutc.LayoutcError, match="got an argument 'dst_scale', expected none"):
        layoutc.compile(SRC, SRC)(X, np.empty_like(X), dst_scale=2)


def codes_of(type: ElementType, count: int) -> np.ndarray:
    return np.random.default_rng(1).integers(0, 1 << type.bits, count, np.uint64).astype(code_type(type))


@pytest.mark.parametrize("type", [type for type in ELEMENT_TYPES if type.bits < 8], ids=str)
@pytest.mark.parametrize("layouts", ["abc cab", "abc aBc4b", "aBc4b abc", "aBc4b ABc2a3b", "cba aCb2c"])
def test_packed_elements_are_moved_one_by_one(type: ElementType, layouts: str) -> None:
    """Odd counts, tails, padding zero; the bits behind the last element stay as they are."""
    src, dst = (layoutc.desc(f"onednn:{tag}", (3, 5, 3), type) for tag in layouts.split())
    codes = codes_of(type, src.span)
    written = np.full(dst.size_bytes, 0xFF, np.uint8)
    layoutc.compile(src, dst)(packed(codes, type.bits), written)
    bytes_src, bytes_dst = (layoutc.desc(f"onednn:{tag}", (3, 5, 3), "u8") for tag in layouts.split())
    expected = np.full(bytes_dst.size_bytes, 0xFF, np.uint8)
    layoutc.compile(bytes_src, bytes_dst, executor="reference")(codes, expected)
    per_byte = 8 // type.bits
    full = np.full(len(written) * per_byte, (1 << type.bits) - 1, np.uint8)
    full[: len(expected)] = expected
    np.testing.assert_array_equal(unpacked(written, type.bits, len(full)), full)


def test_neighbours_in_a_byte_that_are_no_elements_stay() -> None:
    """Gaps between strides, and what lies ahead of the base offset."""
    src = layoutc.desc("ab", (3, 3), "u4")
    dst = layoutc.desc("ab", (3, 3), "u4", strides=(5, 1), offset=3)
    written = np.full(dst.size_bytes, 0xEE, np.uint8)
    layoutc.compile(src, dst)(packed(np.arange(9), 4), written)
    assert unpacked(written, 4, 16).tolist() == [14, 14, 14, 0, 1, 2, 14, 14, 3, 4, 5, 14, 14, 6, 7, 8]


@pytest.mark.parametrize("type", ELEMENT_TYPES, ids=str)
def test_arrays_of_all_types_come_and_go(type: ElementType) -> None:
    """f32 to the type and back, as blocks: values that every type but e8m0 holds."""
    x = np.array([[1, 0, 1], [0, 1, 1]], np.float32)
    made = layoutc.reorder(x, "ab", "aB2b", to_dtype=type)
    assert made.dtype == type.numpy and made.shape == (2, 2, 2)
    back = layoutc.reorder(made, "aB2b", "ab", dims=(2, 3), to_dtype="f32")
    expected = np.where(x == 0, np.float32(2.0**-127), x) if type.name == "e8m0" else x
    np.testing.assert_array_equal(back, expected)


def test_tensors_with_scales_of_their_own_share_one_kernel() -> None:
    """As the layers of a network do: a C compiler for each, or a million numbers as C text, would take seconds."""
    arrays._kernel.cache_clear()
    for scale in (0.5, 3.0):
        scales = np.array([0.1, 0.25, 3], np.float32) * np.float32(scale)
        params: Any = {"dst_scale": Param(scales, axes=1), "dst_zero_point": Param([1, -2, 3], axes=1, dtype="s4")}
        got = layoutc.reorder(X, "nchw", "nhwc", to_dtype="s8", **params)
        expected = by_numpy(scales.reshape(3, 1, 1), np.array([1, -2, 3]).reshape(3, 1, 1))
        np.testing.assert_array_equal(got, expected)
    assert arrays._kernel.cache_info().misses == 1


def test_sum_adds_to_out() -> None:
    out = np.full((2, 2, 2, 3), 10, np.float32)
    result = layoutc.reorder(X, "nchw", "nhwc", out=out, sum=0.5)
    assert result is out
    np.testing.assert_array_equal(out, X.transpose(0, 2, 3, 1) + np.float32(5))
    packed_out = np.array([1, 2, 3], ml_dtypes.int4)
    layoutc.reorder(np.array([1, 1, 9], np.int8), "a", "a", to_dtype="s4", out=packed_out, sum=1)
    assert packed_out.astype(int).tolist() == [2, 3, 7]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"sum": 1.0}, "sum adds to what the destination holds, got no out"),
        ({"out": np.zeros(23, np.float32)}, r"out has shape \(23,\) and type float32, expected \(2, 2, 2, 3\)"),
        ({"out": np.zeros((2, 2, 2, 3), np.int32)}, "and type int32, expected"),
        ({"out": np.zeros((2, 2, 2, 3), np.float32).T.copy().T}, "out is not C-contiguous"),
        ({"out": np.frombuffer(bytes(96), np.float32).reshape(2, 2, 2, 3)}, "out is read-only, expected an array"),
        ({"to_dtype": "f33"}, "unknown element type 'f33'"),
        ({"src_scale": Param()}, "argument 'src_scale' is missing"),
        ({"to_dtype": "s8", "compensation": layoutc.Compensation((4,))}, "per index of axis 4, the rank is 4"),
    ],
)
def test_what_an_array_cannot_become_is_refused(given: dict[str, Any], message: str) -> None:
    with pytest.raises(layoutc.LayoutcError, match=message):
        layoutc.reorder(X, "nchw", "nhwc", **given)


def test_compensation_follows_the_weights() -> None:
    weights = np.random.default_rng(2).integers(-128, 128, (5, 3, 1, 2)).astype(np.int8)
    both = layoutc.Compensation(s8s8=(0,), asymmetric=(0, 1))
    written = layoutc.reorder(weights, "oihw", "OIhw4i4o", compensation=both)
    assert written.dtype == np.int8 and written.shape == (64 + 4 * 8 + 4 * 8 * 4,)
    plain = layoutc.reorder(weights, "oihw", "OIhw4i4o")
    np.testing.assert_array_equal(written[:64], plain.reshape(-1))
    sums = written[64:].view(np.int32)
    assert sums[:8].tolist() == [*(-128 * weights.sum((1, 2, 3), np.int32)).tolist(), 0, 0, 0]
    by_channel = np.zeros((8, 4), np.int32)
    by_channel[:5, :3] = -weights.sum((2, 3), np.int32)
    np.testing.assert_array_equal(sums[8:].reshape(8, 4), by_channel)


def command(folder: Path, array: np.ndarray, *arguments: str) -> np.ndarray:
    np.save(folder / "in.npy", array)
    assert main(["reorder", str(folder / "in.npy"), str(folder / "out.npy"), *arguments]) == 0
    return np.load(folder / "out.npy")


def test_the_command_quantizes(tmp_path: Path) -> None:
    given = ["--from", "nchw", "--to", "nhwc", "--to-dtype", "s8", "--dst-zero-point", "3"]
    np.testing.assert_array_equal(command(tmp_path, X, *given, "--dst-scale", "0.3"), by_numpy(0.3, 3))
    per_channel = command(tmp_path, X, *given, "--dst-scale", "0.1,0.25,3@axis=1")
    np.testing.assert_array_equal(per_channel, by_numpy(SCALES.reshape(3, 1, 1), 3))
    np.save(tmp_path / "scales.npy", SCALES)
    from_file = command(tmp_path, X, *given, "--dst-scale", f"{tmp_path}/scales.npy@axis=1@groups=1")
    np.testing.assert_array_equal(from_file, per_channel)


def test_the_command_keeps_types_of_ml_dtypes_as_numpy_saves_them(tmp_path: Path) -> None:
    made = command(tmp_path, X, "--from", "nchw", "--to", "nhwc", "--to-dtype", "f8_e5m2")
    values = made.view(ml_dtypes.float8_e5m2).astype(np.float32)
    np.testing.assert_array_equal(values, X.transpose(0, 2, 3, 1).astype(ml_dtypes.float8_e5m2).astype(np.float32))
    back = command(
        tmp_path, X.astype(ml_dtypes.bfloat16), "--from", "nchw", "--to", "nchw", "--dtype", "bf16", "--to-dtype", "f32"
    )
    np.testing.assert_array_equal(back, X.astype(ml_dtypes.bfloat16).astype(np.float32))
    four = command(tmp_path, X, "--from", "nchw", "--to", "nchw", "--to-dtype", "s4")
    np.testing.assert_array_equal(four.view(ml_dtypes.int4).astype(np.float32), np.clip(np.rint(X), -8, 7))


def test_the_command_adds_to_the_output(tmp_path: Path) -> None:
    np.save(tmp_path / "out.npy", np.ones((2, 2, 2, 3), np.float32))
    result = command(tmp_path, X, "--from", "nchw", "--to", "nhwc", "--sum", "2")
    np.testing.assert_array_equal(result, X.transpose(0, 2, 3, 1) + 2)


@pytest.mark.parametrize(
    ("old", "found"),
    [(np.ones((2, 2, 3, 2), "f4"), "float32"), (np.ones((2, 2, 2, 3), "i4"), "int32")],
    ids=["f4", "i4"],
)
def test_an_output_that_does_not_fit_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], old: Any, found: str
) -> None:
    np.save(tmp_path / "in.npy", X)
    np.save(tmp_path / "old.npy", old)
    before = (tmp_path / "old.npy").read_bytes()
    paths = [str(tmp_path / "in.npy"), str(tmp_path / "old.npy")]
    assert main(["reorder", *paths, "--from", "nchw", "--to", "nhwc", "--sum", "2"]) == 1
    expected = f"has shape {old.shape} and type {found}, expected (2, 2, 2, 3) and float32"
    assert capsys.readouterr().err == f"layoutc: error: {paths[1]}: {expected}\n"
    assert (tmp_path / "old.npy").read_bytes() == before


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--src-scale", "x"), "'x' is not a number; expected one, 0.1,0.2@axis=1 with commas, or a .npy file"),
        (("--src-scale", "1,2"), "src scale has 2 values, expected 1 as no axes are given"),
        (("--src-scale", "1@axes=1"), "'axes=1' is not one of @axis=AXES, @groups=SIZES, @dtype=TYPE, each once"),
        (("--src-scale", "1@"), "'' is not one of @axis=AXES"),
        (("--src-scale", "1@axis"), "'axis' is not one of @axis=AXES"),
        (("--dst-scale", "1@axis="), "'axis=' is not one of @axis=AXES"),
        (("--dst-scale", "1@axis= "), "'axis= ' is not one of @axis=AXES"),
        (("--src-zero-point", "1@axis=1@groups="), "'groups=' is not one of @axis=AXES"),
        (("--dst-zero-point", "argument@dtype"), "'dtype' is not one of @axis=AXES"),
        (("--src-scale", "1,2@axis=1"), "src scale has 2 values, expected 3 for axes"),
        (("--src-scale", "1@dtype=s8"), "src scale is of s8, expected one of f32 f16 bf16 e8m0"),
        (("--src-scale", "nan"), "'nan' is not a number"),
        (("--src-scale", "missing.npy"), "missing.npy: no such file"),
        (("--dst-zero-point", "300@dtype=u8"), "error: --dst-zero-point: value 300 is no u8, expected an integer"),
        (("--src-scale", "0.3@dtype=f33"), "error: --src-scale: unknown element type 'f33'"),
        (("--src-scale", "argument"), "error: --src-scale: 'argument' is for `layoutc compile`, expected values here"),
        (("--sum", "1"), "out.npy: no such file"),
        (("--compensation", "s8s8"), r"s8s8 axes .. are not one or more"),
        (("--compensation", "u8=0"), "'u8=0' is neither s8s8=AXES nor asymmetric=AXES"),
        (("--src-scale", "1,2@axis=1,0"), r"parameter axes \(1, 0\) are not in increasing order"),
        (("--dst-scale", "0"), "dst scale 0 cannot be divided by"),
    ],
)
def test_bad_attributes_are_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...], message: str
) -> None:
    np.save(tmp_path / "in.npy", X)
    paths = [str(tmp_path / "in.npy"), str(tmp_path / "out.npy")]
    assert main(["reorder", *paths, "--from", "nchw", "--to", "nhwc", *arguments]) == 1
    assert re.search(message, capsys.readouterr().err)
    assert not (tmp_path / "out.npy").exists()


@pytest.mark.parametrize(
    ("scales", "more", "message"),
    [
        (np.array([1, np.nan, 1]), "", "value of a parameter nan is not finite"),
        (np.array(["a"]), "", "value of a parameter 'a' is no number"),
        (np.ones(3, ml_dtypes.bfloat16), "@dtype=f32", r"element type f32 has 32 bits, the array's \|V2 16"),
        (None, "", "scales.npy: not a .npy file, or its header is damaged"),
    ],
    ids=["nan", "text", "other type", "no file of an array"],
)
def test_what_a_file_of_scales_holds_is_bad_input(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], scales: Any, more: str, message: str
) -> None:
    path = tmp_path / "scales.npy"
    path.write_text("no array") if scales is None else np.save(path, scales)
    np.save(tmp_path / "in.npy", X)
    paths = [str(tmp_path / "in.npy"), str(tmp_path / "out.npy")]
    given = ("--from", "nchw", "--to", "nhwc", "--src-scale", f"{path}@axis=1{more}")
    assert main(["reorder", *paths, *given]) == 1
    assert re.fullmatch(rf"layoutc: error: --src-scale: (\S*/)?{message}\n", capsys.readouterr().err)
    assert not (tmp_path / "out.npy").exists()


def test_scales_that_numpy_has_no_word_for_come_from_a_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    scales = str(tmp_path / "scales.npy")
    np.save(scales, np.array([0.5, 1, 2], ml_dtypes.bfloat16))
    result = command(tmp_path, X, "--from", "nchw", "--to", "nchw", "--src-scale", f"{scales}@axis=1@dtype=bf16")
    np.testing.assert_array_equal(result, X * np.array([0.5, 1, 2], np.float32)[:, None, None])
    paths = [str(tmp_path / name) for name in ("in.npy", "none.npy")]
    assert main(["reorder", *paths, "--from", "nchw", "--to", "nchw", "--src-scale", f"{scales}@axis=1"]) == 1
    assert re.search(r"holds NumPy type \|V2; @dtype= says what that is", capsys.readouterr().err)
