"""The NumPy front end: one rule for arrays of a layout, descriptors of arrays, and views of buffers."""

from __future__ import annotations

import re
from itertools import product
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import layoutc
from layoutc.descriptor import MemoryDesc
from layoutc.kernel_options import Executor
from layoutc.tools.layoutc import main
from tests.descriptors import DESCRIPTORS

Array = np.ndarray[Any, np.dtype[Any]]

X = np.arange(1, 25, dtype=np.float32).reshape(2, 3, 2, 2)


def by_command(folder: Path, array: Array, source: str, *more: str) -> int:
    np.save(folder / "in.npy", array)
    return main(["reorder", str(folder / "in.npy"), str(folder / "out.npy"), "--from", source, "--to", source, *more])


def test_types_and_factors_are_what_numpy_has():
    """Its types are checked by pyright: what is taken is what the annotations say."""
    desc = layoutc.desc("nchw", X.shape, X.dtype)
    assert desc == layoutc.desc("nchw", X.shape, np.float32) == layoutc.from_array(X, X.dtype)
    halves = layoutc.reorder(X, "nchw", "nchw", to_dtype=np.int8, dst_scale=np.float32(2), dst_zero_point=np.int64(1))
    np.testing.assert_array_equal(halves, np.rint(X / 2 + 1).astype(np.int8))


def test_layouts_are_named_by_a_text_or_by_themselves():
    source, destination = layoutc.parse("nchw"), layoutc.parse("nhwc")
    np.testing.assert_array_equal(layoutc.reorder(X, source, destination), layoutc.reorder(X, "nchw", "nhwc"))


@pytest.mark.parametrize(
    ("array", "source", "dims"),
    [
        (np.zeros((3, 2), np.float32), "ab", (2, 3)),
        (np.zeros((6, 1), np.float32), "ab", (2, 3)),
        (np.zeros(5, np.float32), "ab", (2, 3)),
        (np.zeros((3, 2, 1), np.float32), "ab", (2, 3)),
        (np.zeros((2, 5), np.float32), "{2,3},{5,1}", (2, 3)),
    ],
    ids=str,
)
def test_an_array_that_is_not_the_physical_shape(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], array: Array, source: str, dims: tuple[int, ...]
) -> None:
    """The same refusal in Python and by the command, which names the file."""
    with pytest.raises(layoutc.BufferError, match=r"the array has shape \(.*\), expected \(") as caught:
        layoutc.reorder(array, source, source, dims)
    assert by_command(tmp_path, array, source, "--dims", ",".join(map(str, dims))) == 1
    assert capsys.readouterr().err == f"layoutc: error: {tmp_path / 'in.npy'}: {caught.value}\n"


def test_the_physical_shape_or_one_axis_of_the_buffer() -> None:
    expected = X.transpose(0, 2, 3, 1)
    np.testing.assert_array_equal(layoutc.reorder(X, "nchw", "nhwc"), expected)
    np.testing.assert_array_equal(layoutc.reorder(X.ravel(), "nchw", "nhwc", X.shape), expected)
    np.testing.assert_array_equal(layoutc.reorder(X.astype(">f4"), "nchw", "nhwc"), expected)
    np.testing.assert_array_equal(layoutc.reorder(np.asfortranarray(X), "nchw", "nhwc"), expected)
    unaligned = np.frombuffer(b"-" + X.tobytes(), np.float32, offset=1).reshape(X.shape)
    np.testing.assert_array_equal(layoutc.reorder(unaligned, "nchw", "nhwc"), expected)


def test_an_element_type_that_numpy_has_no_word_for() -> None:
    bits = np.arange(6, dtype=np.uint16).reshape(2, 3)
    for result in (
        layoutc.reorder(bits, "ab", "ba", dtype="bf16"),
        layoutc.reorder(bits, layoutc.desc("ab", (2, 3), "bf16"), "ba"),
    ):
        np.testing.assert_array_equal(result, bits.T, strict=True)
    with pytest.raises(layoutc.LayoutcError, match="element type f32 has 32 bits, the array's uint16 16"):
        layoutc.reorder(bits, "ab", "ba", dtype="f32")
    with pytest.raises(layoutc.LayoutcError, match="NumPy type complex64 is no element type"):
        layoutc.reorder(bits.astype(np.complex64), "ab", "ba")


def test_what_contradicts_a_source_descriptor_is_refused() -> None:
    with pytest.raises(layoutc.LayoutcError, match="contradict the source"):
        layoutc.reorder(X, layoutc.desc("nchw", X.shape), "nhwc", (2, 3, 4))
    with pytest.raises(layoutc.LayoutcError, match="contradict the source"):
        layoutc.reorder(X.view("V4"), layoutc.desc("nchw", X.shape), "nhwc", dtype="s32")


@pytest.mark.parametrize(
    ("stored", "named"),
    [
        (np.int32, "f32"),
        (np.float32, "s32"),
        (np.int8, "u8"),
        (np.float16, "bf16"),
        (ml_dtypes.bfloat16, "f16"),
        (ml_dtypes.float8_e5m2, "f8_e4m3"),
        (ml_dtypes.float8_e4m3fnuz, "f8_e4m3"),
        (ml_dtypes.int4, "u4"),
        (np.complex64, "f64"),
        ("datetime64[s]", "s64"),
        ("S2", "bf16"),
    ],
    ids=str,
)
def test_an_array_of_one_type_is_not_read_as_another(stored: Any, named: str) -> None:
    """The values would be other ones, and nothing would say so."""
    array = np.ones((2, 3), stored)
    found = re.escape(str(array.dtype))
    with pytest.raises(layoutc.LayoutcError, match=f"element type {named} contradicts the array's {found}"):
        layoutc.reorder(array, "ab", "ba", dtype=named, to_dtype="f32")
    with pytest.raises(layoutc.LayoutcError, match=f"element type {named} contradicts the array's {found}"):
        layoutc.reorder(array, layoutc.desc("ab", (2, 3), named), "ba")
    with pytest.raises(layoutc.LayoutcError, match=f"out has shape .* and type {found}, expected"):
        layoutc.reorder(np.ones((3, 2), np.float32), "ab", "ab", to_dtype=named, out=np.ones((3, 2), stored))


@pytest.mark.parametrize("stored", ["V2", np.int16, np.uint16, ml_dtypes.bfloat16], ids=str)
def test_void_and_integers_may_hold_what_numpy_has_no_word_for(stored: Any) -> None:
    ones = np.ones((2, 3), ml_dtypes.bfloat16)
    result = layoutc.reorder(ones.view(stored), "ab", "ba", dtype="bf16", to_dtype="f32")
    np.testing.assert_array_equal(result, np.ones((3, 2), np.float32), strict=True)


def test_a_type_of_ml_dtypes_that_is_no_element_type() -> None:
    """Another f8 than ours says what it holds, so that no name is asked for."""
    array = np.ones((2, 3), ml_dtypes.float8_e4m3fnuz)
    message = "NumPy type float8_e4m3fnuz is no element type, expected one or its bits as uint8"
    with pytest.raises(layoutc.LayoutcError, match=message):
        layoutc.reorder(array, "ab", "ba")
    with pytest.raises(layoutc.LayoutcError, match=r"NumPy type \|V1 does not say what its elements are"):
        layoutc.reorder(array.view("V1"), "ab", "ba")


def offsets_agree(desc: MemoryDesc, array: Array) -> None:
    """Every element of the array lies where the descriptor says, counted from the array's first one."""
    start = array.__array_interface__["data"][0]
    for index in product(*map(range, array.shape)):
        at = array[tuple(slice(i, i + 1) for i in index)].__array_interface__["data"][0]
        assert at - start == desc.offset(*index) * array.itemsize


@pytest.mark.parametrize(
    "array",
    [X, X.transpose(0, 2, 3, 1), X[:, ::2, 1:], np.broadcast_to(X[:1], (4, 3, 2, 2)), X[0, 0, 0, 0:1], X[:1][::-1]],
    ids=["dense", "permuted", "sliced", "broadcast", "one", "reversed axis of one"],
)
def test_from_array(array: Array) -> None:
    desc = layoutc.from_array(array)
    assert (desc.dims, desc.element_type.name) == (array.shape, "f32")
    offsets_agree(desc, array)
    assert layoutc.from_strides(array.shape, desc.strides) == desc


def test_from_array_names_the_type_and_refuses_the_rest() -> None:
    assert layoutc.from_array(np.zeros(3, np.uint16), "bf16").element_type.name == "bf16"
    assert layoutc.from_array(np.array(1.0)).dims == ()
    with pytest.raises(layoutc.LayoutcError, match="stride -1 of axis 0 is negative"):
        layoutc.from_array(X.ravel()[::-1])
    with pytest.raises(layoutc.LayoutcError, match="hold 0, expected 1 or more"):
        layoutc.from_array(np.zeros((0, 3)))
    with pytest.raises(layoutc.LayoutcError, match="stride of 6 bytes of axis 0 is no multiple of the 4 of f32"):
        layoutc.from_array(np.zeros(2, "f4,i2")["f0"])
    with pytest.raises(layoutc.LayoutcError, match="byte order"):
        layoutc.from_array(X.astype(">f4"))
    with pytest.raises(layoutc.LayoutcError, match="array is a list"):
        layoutc.from_array([1])  # pyright: ignore[reportArgumentType]


def test_a_type_that_numpy_lost_is_to_be_named() -> None:
    """`np.save` of bfloat16 reads back as void."""
    with pytest.raises(layoutc.LayoutcError, match=r"V2 does not say what its elements are, .* name of a type.*bf16"):
        layoutc.reorder(np.zeros((2, 3), "V2"), "ab", "ba")


def test_from_strides() -> None:
    assert layoutc.from_strides((2, 3), (5, 1)) == layoutc.desc("{2,3},{5,1}")
    assert layoutc.from_strides((2, 3), (20, 4), in_bytes=True) == layoutc.desc("{2,3},{5,1}")
    with pytest.raises(layoutc.LayoutcError, match="got 1 strides, expected 2"):
        layoutc.from_strides((2, 3), (5,))
    with pytest.raises(layoutc.LayoutcError, match="packed below a byte"):
        layoutc.from_strides((2, 3), (3, 1), "u4", in_bytes=True)


STRIDED = {
    "part": (slice(None), slice(0, 3, 2), slice(1, None)),
    "every second": (slice(None), slice(None), slice(None), slice(None, None, 2)),
    "one plane": (1,),
}


@pytest.mark.parametrize("executor", ["c", "interpret", "reference"])
@pytest.mark.parametrize("part", STRIDED)
def test_a_kernel_reads_and_writes_what_an_array_looks_at(part: str, executor: Executor) -> None:
    """The array that `from_array` describes is a buffer of the kernel: nothing beside its elements is written."""
    source = X.transpose(0, 2, 3, 1)[STRIDED[part]]
    whole = np.full_like(X, -1)
    destination = whole.transpose(0, 2, 3, 1)[STRIDED[part]]
    assert not source.flags.c_contiguous
    dense = layoutc.from_strides(source.shape, np.empty(source.shape, np.int8).strides)
    between = np.empty(source.size, np.float32)
    layoutc.compile(layoutc.from_array(source), dense, executor=executor)(source, between)
    np.testing.assert_array_equal(between.reshape(source.shape), source)
    layoutc.compile(dense, layoutc.from_array(destination), executor=executor)(between, destination)
    np.testing.assert_array_equal(destination, source)
    destination[...] = -1
    assert (whole == -1).all()


INTERLEAVED: dict[str, tuple[Any, Any]] = {
    "columns": (np.s_[:, ::2], np.s_[:, 1::2]),
    "rows backwards": (np.s_[1::2], np.s_[::2]),
    "halves": (np.s_[:, :5], np.s_[:, 5:]),
}


@pytest.mark.parametrize("executor", ["c", "interpret", "reference"])
@pytest.mark.parametrize("parts", INTERLEAVED)
def test_slices_of_one_array_that_share_no_element(parts: str, executor: Executor) -> None:
    whole = np.arange(80, dtype=np.float32).reshape(8, 10)
    expected = whole.copy()
    read, written = INTERLEAVED[parts]
    expected[written] = expected[read]
    source, destination = whole[read], whole[written]
    kernel = layoutc.compile(layoutc.from_array(source), layoutc.from_array(destination), executor=executor)
    kernel(source, destination)
    np.testing.assert_array_equal(whole, expected)


@pytest.mark.parametrize("executor", ["c", "interpret", "reference"])
def test_slices_of_one_array_that_share_an_element(executor: Executor) -> None:
    """Also those whose padding is in the other one, and blocks, of which nobody knows."""
    whole = np.zeros(80, np.float32)
    threes, fours = whole[::3][:8], whole[1::4][:8]
    assert np.shares_memory(threes, fours)
    for source, destination, read, written in (
        (layoutc.from_array(threes), layoutc.from_array(fours), threes, fours),
        (layoutc.from_strides((8,), (2,)), layoutc.desc("a", (8,), align=(16,)), whole[8:23], whole[:16]),
        (layoutc.from_strides((16,), (2,)), layoutc.desc("A8a", (16,), strides=(64, 2)), whole[1:32], whole[:79]),
    ):
        with pytest.raises(layoutc.BufferError, match="source and destination overlap in "):
            layoutc.compile(source, destination, executor=executor)(read, written)
    assert not whole.any()


def test_a_kernel_reads_an_array_that_repeats_its_elements_and_a_view_of_a_buffer() -> None:
    repeated, result = np.broadcast_to(X[:1], (4, 3, 2, 2)), np.empty((4, 3, 2, 2), np.float32)
    layoutc.compile(layoutc.from_array(repeated), layoutc.desc("abcd", repeated.shape))(repeated, result)
    np.testing.assert_array_equal(result, repeated)
    nhwc = layoutc.desc("nhwc", X.shape)
    view = layoutc.view(nhwc, bytearray(nhwc.size_bytes))
    layoutc.compile(layoutc.desc("nchw", X.shape), nhwc)(X, view)
    np.testing.assert_array_equal(view, X)


@pytest.mark.parametrize(
    ("array", "message"),
    [
        (X.transpose(0, 2, 3, 1), "got memory of 2x2x2x3xf32, .* strides .*, expected of 2x3x2x2xf32, "),
        (X.T.copy().T, "got memory of 2x3x2x2xf32, .* strides .*, expected of 2x3x2x2xf32, "),
        (X[:, ::-1], "stride -4 of axis 1 is negative"),
    ],
    ids=["axes", "strides", "negative"],
)
def test_an_array_with_other_strides_is_no_buffer(array: Array, message: str) -> None:
    desc = layoutc.desc("nchw", X.shape)
    with pytest.raises(layoutc.BufferError, match=f"source is not C-contiguous: {message}"):
        layoutc.compile(desc, desc)(array, np.empty_like(X))


@pytest.mark.parametrize("name", DESCRIPTORS)
def test_logical_strides_and_views(name: str) -> None:
    """Where an axis has one stride, the view holds each element at its index; where not, both are refused."""
    desc = DESCRIPTORS[name]
    buffer = np.arange(desc.span, dtype=np.float32)
    try:
        strides = layoutc.logical_strides(desc)
    except layoutc.LayoutcError as error:
        assert "has no single stride" in str(error)
        with pytest.raises(layoutc.LayoutcError, match="has no single stride"):
            layoutc.view(desc, buffer)
        assert desc.inner_blocks
        return
    first = desc.offset(*(0,) * desc.rank)
    array = layoutc.view(desc, buffer)
    for index in product(*map(range, desc.dims)):
        assert desc.offset(*index) == first + sum(i * s for i, s in zip(index, strides, strict=True))
        assert array[index] == desc.offset(*index)
    assert layoutc.logical_strides(desc, in_bytes=True) == tuple(4 * stride for stride in strides)


def test_a_blocked_axis_has_no_stride() -> None:
    with pytest.raises(layoutc.LayoutcError, match="axis c has no single stride: blocks of 8 lie 160 elements apart"):
        layoutc.logical_strides(layoutc.desc("nChw8c", (2, 17, 5, 4)))
    # Up to 8 channels there is one block only.
    assert layoutc.logical_strides(layoutc.desc("nChw8c", (2, 7, 5, 4))) == (160, 1, 32, 8)


def test_a_view_shares_memory_and_its_permission() -> None:
    memory = bytearray(layoutc.desc("ba", (2, 3)).size_bytes)
    view = layoutc.view(layoutc.desc("ba", (2, 3)), memory)
    view[1, 2] = 7
    assert np.frombuffer(memory, np.float32).tolist() == [0, 0, 0, 0, 0, 7]
    assert not layoutc.view(layoutc.desc("ba", (2, 3)), bytes(memory)).flags.writeable
    with pytest.raises(layoutc.BufferError, match="buffer has 23 bytes, expected 24"):
        layoutc.view(layoutc.desc("ba", (2, 3)), bytes(23))


def test_what_view_refuses_is_in_the_readme() -> None:
    with pytest.raises(layoutc.LayoutcError, match="element type s4 is packed below a byte"):
        layoutc.view(layoutc.desc("ab", (2, 4), "s4"), bytes(4))
    with pytest.raises(layoutc.LayoutcError, match="axis a has no single stride"):
        layoutc.view(layoutc.desc("Ab2a", (4, 3)), bytes(48))
    described = (Path(__file__).parent.parent / "README.md").read_text().partition("`view` is")[2].partition("```")[0]
    assert re.search(r"refuses\s+elements\s+below\s+a\s+byte,\s+and\s+blocked\s+axes", described)


def test_from_dlpack() -> None:
    assert layoutc.from_dlpack(X[:, ::2]) == layoutc.from_array(X[:, ::2])
    with pytest.raises(layoutc.LayoutcError, match="list, is not read through DLPack: "):
        layoutc.from_dlpack([1.0])
