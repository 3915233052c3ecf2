"""Wrong values in Python: an error that names got and expected, whoever is asked."""

from __future__ import annotations

import pickle
import time
from collections.abc import Callable
from importlib import import_module
from typing import Any

import numpy as np
import pytest

import layoutc
from layoutc.descriptor import MemoryDesc, check_copy
from layoutc.element_type import element_type
from layoutc.errors import LayoutcError
from layoutc.layout import Digit, Layout
from layoutc.notations import directml, inference_engine, onednn, openvino
from layoutc.padding import MAX_BOXES

NCHW = layoutc.desc("nchw", (2, 3, 2, 2))


class TorchType:
    """An object whose text has its module in front, as torch.bfloat16."""

    def __str__(self) -> str:
        return f"{__name__}.bfloat16"


class Tensor:
    """An object that lends its memory through DLPack."""

    def __dlpack__(self) -> None: ...


TENSOR: Any = Tensor()
MASKED: Any = np.ma.masked_equal([1.0, 2.0], 1.0)
TEXTS: Any = ("nchw", "nChw8c")

CALLS: dict[str, tuple[Callable[[], object], str]] = {
    "digit without axes": (lambda: Digit(()), "a digit has no axes, expected one or more"),
    "digit of no number": (lambda: Digit(("c",)), r"digit axes \('c',\) are no sequence of integers"),  # pyright: ignore[reportArgumentType]
    "digit of a negative axis": (lambda: Digit((-1,)), r"digit axes \(-1,\) hold -1, expected 0 or more"),
    "divisor 0": (lambda: Digit((0,), 0), "digit divisor is 0, expected 1 or more"),
    "modulus 0": (lambda: Digit((0,), 1, 0), "block is 0, expected 1 or more"),
    "modulus 1.5": (lambda: Digit((0,), 1, 1.5), "block is 1.5, expected an integer"),  # pyright: ignore[reportArgumentType]
    "digits that are none": (lambda: Layout(1, (0,)), "a digit is an int, expected a Digit"),  # pyright: ignore[reportArgumentType]
    "one digit": (lambda: Layout(1, Digit((0,))), "expected a sequence"),  # pyright: ignore[reportArgumentType]
    "rank of text": (lambda: Layout("1", ()), "rank is '1', expected an integer"),  # pyright: ignore[reportArgumentType]
    "names of numbers": (lambda: Layout(1, (Digit((0,)),), (), (1,)), "an axis name is an int, expected a str"),  # pyright: ignore[reportArgumentType]
    "layout of text": (lambda: MemoryDesc((2,), "f32", "a"), "layout is a str, expected a Layout; layoutc.desc reads"),  # pyright: ignore[reportArgumentType]
    "dims of one number": (lambda: layoutc.desc("nchw", 5), "dims 5 are no sequence of integers"),  # pyright: ignore[reportArgumentType]
    "dims of floats": (lambda: layoutc.desc("ab", (2.0, 3)), r"dims \(2.0, 3\) are no sequence of integers"),  # pyright: ignore[reportArgumentType]
    "dims of text": (lambda: layoutc.desc("ab", "23"), "dims 23 are no sequence of integers"),  # pyright: ignore[reportArgumentType]
    "dims without an order": (lambda: layoutc.desc("ab", {4, 3}), r"dims \{3, 4\} are no sequence of integers"),  # pyright: ignore[reportArgumentType]
    "axes that are no permutation": (lambda: NCHW.layout.permute((0, 1, 2)), r"axes \(0, 1, 2\) are no permutation of"),
    "a scale that is a type": (lambda: layoutc.Param(np.float32), "value of a parameter <class 'numpy.float32'> is no"),
    "low of one number": (lambda: layoutc.desc("ab", (2, 3), low=1), "low border 1 is no sequence of integers"),  # pyright: ignore[reportArgumentType]
    "strides of text": (lambda: layoutc.desc("ab", (2, 3), strides="ab"), "strides ab are no sequence of integers"),  # pyright: ignore[reportArgumentType]
    "offset of text": (lambda: layoutc.desc("ab", (2, 3), offset="x"), "base offset is 'x', expected an integer"),  # pyright: ignore[reportArgumentType]
    "align of 0": (lambda: layoutc.desc("ab", (2, 3), align=(0, 1)), r"alignments \(0, 1\) hold 0, expected 1 or more"),
    "index of floats": (lambda: NCHW.offset(0.5, 0, 0, 0), r"index \(0.5, 0, 0, 0\) is no sequence of integers"),  # pyright: ignore[reportArgumentType]
    "a physical index of another rank": (
        lambda: NCHW.logical_index((0, 0, 0)),
        r"physical index \(0, 0, 0\) lies outside of physical shape \(2, 3, 2, 2\)",
    ),
    "a physical index past its block": (
        lambda: layoutc.desc("aB4b", (2, 9)).logical_index((0, 0, 5)),
        r"physical index \(0, 0, 5\) lies outside of physical shape \(2, 3, 4\)",
    ),
    "blocks of an axis that is none": (
        lambda: onednn.Desc((2, 3), element_type("f32"), (3, 1), (4,), (2,)),
        r"blocks \(4,\) have axes \(2,\), expected one of 0..1 each",
    ),
    "offset of a float": (lambda: NCHW.index_of(0.5), "offset is 0.5, expected an integer"),  # pyright: ignore[reportArgumentType]
    "a huge offset": (
        lambda: layoutc.desc("ab", (2, 3), offset=2**64),
        "^base offset is 18446744073709551616, expected 0 or more and below 2\\^63$",
    ),
    "a short border": (lambda: layoutc.desc("ab", (2, 3), low=(1,)), r"^low border \(1,\) has rank 1, layout"),
    "compile texts": (
        lambda: layoutc.compile(*TEXTS),
        "source is a str, expected a MemoryDesc; layoutc.desc",
    ),
    "compile under a number": (lambda: layoutc.compile(NCHW, NCHW, name=5), "name of a function is an int, expected a"),  # pyright: ignore[reportArgumentType]
    "compile under _init": (lambda: layoutc.compile(NCHW, NCHW, name="_init"), "'_init' cannot be the name"),
    "reorder of dims that are a number": (
        lambda: layoutc.reorder(np.zeros((2, 3, 2, 2), np.float32), NCHW, "nhwc", 5),  # pyright: ignore[reportArgumentType]
        "dims 5 are no sequence of integers",
    ),
    "translate to no text": (lambda: layoutc.translate("nchw", to=None), "notation is a NoneType, expected a str"),  # pyright: ignore[reportArgumentType]
    "names of a descriptor": (lambda: layoutc.names(NCHW), "expected a Layout; .* and a descriptor has its `layout`"),  # pyright: ignore[reportArgumentType]
    "reorder a list": (lambda: layoutc.reorder([[1.0]], "ab", "ba"), "array is a list, expected an ndarray"),  # pyright: ignore[reportArgumentType]
    "reorder a tensor": (
        lambda: layoutc.reorder(TENSOR, "ab", "ba"),
        "array is a Tensor, expected an ndarray; numpy.from_dlpack makes one of a tensor",
    ),
    "from_array of a tensor": (lambda: layoutc.from_array(TENSOR), "; layoutc.from_dlpack takes tensors"),
    "20 as u4": (
        lambda: layoutc.reorder(np.full(4, 20, np.uint8), "a", "a", dtype="u4"),
        "20 to 20, .* 0 to 15",
    ),
    "-9 as s4": (lambda: layoutc.reorder(np.full(4, -9, np.int8), "a", "a", dtype="s4"), "-9 to -9, .* -8 to 7"),
    "reorder under a mask": (lambda: layoutc.reorder(MASKED, "a", "a"), "array is a masked array, expected one"),
    "reorder into a mask": (lambda: layoutc.reorder(MASKED.data, "a", "a", out=MASKED), "out is a masked array"),
    "describe a mask": (lambda: layoutc.from_array(MASKED), "array is a masked array, expected one"),
    "2.5 threads": (lambda: layoutc.Kernel(NCHW, NCHW, threads=2.5), "number of threads is 2.5, expected an integer"),  # pyright: ignore[reportArgumentType]
    "2 threads in words": (lambda: layoutc.Kernel(NCHW, NCHW, threads="2"), "threads is '2', expected an integer"),  # pyright: ignore[reportArgumentType]
    "a plan in one text": (
        lambda: layoutc.Kernel(NCHW, NCHW, plan="threads 1\ncopy"),  # pyright: ignore[reportArgumentType]
        r"plan is a str, expected its lines, as 'text\.splitlines\(\)' has them",
    ),
    "no plan": (lambda: layoutc.Kernel(NCHW, NCHW, plan=None), "plan is a NoneType, expected its lines"),  # pyright: ignore[reportArgumentType]
    "a plan of numbers": (
        lambda: layoutc.Kernel(NCHW, NCHW, plan=(1,)),  # pyright: ignore[reportArgumentType]
        "a line of the plan is an int, expected a str",
    ),
    "a file of a number": (
        lambda: layoutc.compile(NCHW, NCHW, tuned=3),  # pyright: ignore[reportArgumentType]
        "tuned is an int, expected the path of a file",
    ),
    "no threads": (lambda: layoutc.Kernel(NCHW, NCHW, threads=0), "number of threads is 0, expected 1 to"),
    "a rank beyond all": (lambda: Layout.row_major(1 << 60), r"rank 1152921504606846976 is outside 0\.\.12"),
    "alignment of 3": (lambda: layoutc.Kernel(NCHW, NCHW, alignment=3), "3 bytes, expected a power of two"),
    "names of a text": (lambda: layoutc.names("nChw8c"), "layout is a str, expected a Layout; layoutc.parse reads"),  # pyright: ignore[reportArgumentType]
    "one value of three": (
        lambda: layoutc.compile(NCHW, layoutc.desc("nchw", NCHW.dims, "s8"), dst_scale=layoutc.Param([0.5], axes=1)),
        r"dst scale has 1 value, expected 3 for axes \(1,\)",
    ),
    "type of a list": (lambda: layoutc.desc("a", (2,), []), r"unknown element type '\[\]'"),  # pyright: ignore[reportArgumentType]
    "type of Python": (lambda: layoutc.desc("a", (2,), int), "unknown element type 'int'"),  # pyright: ignore[reportArgumentType]
    "type in foreign order": (lambda: element_type(np.dtype(">f4")), "not in this machine's byte order"),
    "type of records": (lambda: element_type(np.dtype("f4,i2")), "unknown element type 'void48'"),
}


NOTATIONS = ("affine", "directml", "inference_engine", "memref", "onednn", "openvino")
WRONG: Any = {
    "read": (7, "text is an int, expected a str"),
    "parse": (None, "(text|tag) is a NoneType, expected a str"),
    "format": ("nchw", "layout is a str, expected a Layout"),
    "format_desc": (None, "desc is a NoneType, expected a MemoryDesc"),
}


@pytest.mark.parametrize("notation", NOTATIONS)
@pytest.mark.parametrize("function", WRONG)
def test_notations_say_what_they_expect(notation: str, function: str) -> None:
    value, message = WRONG[function]
    called = getattr(import_module(f"layoutc.notations.{notation}"), function)
    with pytest.raises(LayoutcError, match=f"^{message}"):
        called(value)


NONE: Any = None
OF_SYSTEMS: dict[str, tuple[Callable[[], object], str]] = {
    "enum names": (lambda: onednn.enum_names(NONE), "layout is a NoneType, expected a Layout"),
    "strides of oneDNN": (lambda: onednn.strides(NONE), "desc is a NoneType, expected a MemoryDesc"),
    "traits": (lambda: openvino.traits(NONE), "name is a NoneType, expected a str"),
    "a format of parts": (lambda: openvino.find_format(NONE, ()), "order None is no sequence of integers"),
    "a default format": (lambda: openvino.default_format(NONE), "rank is None, expected an integer"),
    "compatible": (lambda: openvino.compatible(NONE, NONE), "one is a NoneType, expected a FormatDesc"),
    "a layout by rank": (lambda: inference_engine.layout_by_rank(NONE), "rank is None, expected an integer"),
    "blocks": (lambda: inference_engine.blocking_desc(NONE), "desc is a NoneType, expected a MemoryDesc"),
    "from_memory_desc": (lambda: inference_engine.from_memory_desc(NONE), "desc is a NoneType, expected a MemoryDesc"),
    "a tensor of DirectML": (lambda: directml.from_memory_desc(NONE), "desc is a NoneType, expected a MemoryDesc"),
    "a format of memory": (lambda: openvino.FormatDesc.of(NONE), "desc is a NoneType, expected a MemoryDesc"),
    "an offset of OpenVINO": (
        lambda: openvino.FormatDesc.of(NCHW).get_linear_offset((0.5, 0, 0, 0)),  # pyright: ignore[reportArgumentType]
        r"element \(0.5, 0, 0, 0\) is no sequence of integers",
    ),
    "an offset of oneDNN": (
        lambda: onednn.from_memory_desc(NCHW).offset(0.5, 0, 0, 0),  # pyright: ignore[reportArgumentType]
        r"index \(0.5, 0, 0, 0\) are not integers",
    ),
    "strides of channels": (lambda: directml.interleaved_channel_strides(NONE), "sizes None are no sequence of"),
}


@pytest.mark.parametrize("name", OF_SYSTEMS)
def test_what_systems_compute_says_what_it_expects(name: str) -> None:
    call, message = OF_SYSTEMS[name]
    with pytest.raises(LayoutcError, match=f"^{message}"):
        call()


@pytest.mark.parametrize("name", CALLS)
def test_a_wrong_value_is_a_layoutc_error(name: str) -> None:
    call, message = CALLS[name]
    with pytest.raises(layoutc.LayoutcError, match=message):
        call()


def test_constructors_normalise() -> None:
    """Lists and NumPy integers make the same value as tuples of ints, and one that can be hashed."""
    digits = [Digit([np.int64(0)], True), Digit([1], np.int32(1))]  # pyright: ignore[reportArgumentType]
    layout = Layout(np.int64(2), digits, [1, 8], ["n", "c"])  # pyright: ignore[reportArgumentType]
    assert layout == Layout(2, (Digit((0,)), Digit((1,))), (1, 8), ("n", "c"))
    assert hash(layout) == hash(Layout(2, (Digit((0,)), Digit((1,))), (1, 8)))
    desc = MemoryDesc([2, np.int64(3)], "f32", layout, low=[0, 0])  # pyright: ignore[reportArgumentType]
    assert desc == layoutc.desc(layout, (2, 3)) and desc.element_type is element_type("f32")
    kernel = layoutc.Kernel(desc, desc, threads=np.int64(2), alignment=np.int32(16))  # pyright: ignore[reportArgumentType]
    assert repr((kernel.threads, kernel.alignment)) == "(2, 16)"
    lines = layoutc.Kernel(desc, desc).ir("plan-reorders").split('plan ["')[1].split('"]')[0].split('", "')
    planned = layoutc.Kernel(desc, desc, plan=lines)  # pyright: ignore[reportArgumentType]
    assert planned.plan == tuple(lines) and hash(planned) == hash(layoutc.Kernel(desc, desc, plan=tuple(lines)))
    assert repr(digits[0]) == "Digit(axes=(0,), divisor=1, modulus=None)"


@pytest.mark.parametrize(
    ("given", "name"),
    [
        (np.float32, "f32"),
        (np.dtype("f4"), "f32"),
        (np.dtype(bool), "boolean"),
        (np.int8, "s8"),
        ("si8", "s8"),
        ("si64", "s64"),
        ("si4", "s4"),
        ("bfloat16", "bf16"),
        (TorchType(), "bf16"),
    ],
    ids=str,
)
def test_numpy_and_mlir_name_element_types(given: object, name: str) -> None:
    assert element_type(given) is element_type(name)  # pyright: ignore[reportArgumentType]


def test_alignment_shows_in_the_text() -> None:
    desc = layoutc.desc("ab", (3, 5), align=(1, 8))
    assert str(desc.layout) == "(a, b) -> (a, b) align (1, 8)"
    assert str(desc) == "3x5xf32, (a, b) -> (a, b) align (1, 8)"


def bordered(axes: int) -> MemoryDesc:
    """Borders above and padding on this many axes: indices and padding stay apart in two ranges on each."""
    return layoutc.desc(Layout.row_major(12), (3,) * 12, high=(1,) * axes + (0,) * (12 - axes), align=(8,) * 12)


def test_padding_in_too_many_boxes_is_refused_at_once() -> None:
    start = time.process_time()
    with pytest.raises(
        layoutc.LayoutcError, match=f"block padding is 4095 boxes, expected at most {MAX_BOXES}: 12 axes"
    ):
        layoutc.compile(layoutc.desc(Layout.row_major(12), (3,) * 12), bordered(12), executor="reference")
    assert time.process_time() - start < 0.5
    assert bordered(12).padding_elements == (3 + 4) ** 12 - 3**12
    with pytest.raises(layoutc.LayoutcError, match="block padding is"):
        check_copy(bordered(0), bordered(12))
    check_copy(bordered(12), bordered(6))


@pytest.mark.parametrize("executor", ["interpret", "reference"])
def test_dims_past_any_memory(executor: layoutc.kernel.Executor) -> None:
    """A kernel of petabytes compiles; the buffers that it is called with are refused."""
    desc = layoutc.desc("ab", (1 << 30, 1 << 24))
    kernel = layoutc.compile(desc, desc, executor=executor)
    with pytest.raises(layoutc.BufferError, match="4 bytes, expected 72057594037927936"):
        kernel(bytes(4), bytearray(4))


def test_counting_out_a_broadcast_of_petabytes_is_a_layoutc_error() -> None:
    from layoutc import reference

    with pytest.raises(MemoryError, match="more than 2\\^48 positions"):
        reference.offsets(layoutc.desc("ab", (1 << 30, 1 << 24), strides=(0, 0)))


def test_running_out_of_memory_is_a_layoutc_error(monkeypatch: pytest.MonkeyPatch) -> None:
    from layoutc import reference

    def fail(*_: object) -> None:
        raise MemoryError

    kernel = layoutc.compile(NCHW, NCHW, executor="reference")
    monkeypatch.setattr(reference, "offsets", fail)
    destination = bytearray(b"!" * 96)
    with pytest.raises(layoutc.LayoutcError, match=r"not enough memory to run dims \(2, 3, 2, 2\) by reference"):
        kernel(bytes(96), destination)
    assert destination == b"!" * 96


@pytest.mark.parametrize("executor", ["c", "interpret", "reference"])
def test_a_kernel_survives_pickling(executor: layoutc.kernel.Executor) -> None:
    """Also one that was built and has run."""
    kernel = layoutc.compile(NCHW, layoutc.desc("nChw4c", NCHW.dims), executor=executor, name="pack")
    source = np.arange(24, dtype=np.float32)
    expected, got = np.empty(32, np.float32), np.empty(32, np.float32)
    kernel(source, expected)
    again = pickle.loads(pickle.dumps(kernel))
    assert again == kernel
    again(source, got)
    np.testing.assert_array_equal(got, expected)


def test_errors_survive_pickling() -> None:
    """As pools of processes send them: one that does not hangs the pool."""
    with pytest.raises(layoutc.NotationError) as caught:
        layoutc.desc("nchq", NCHW.dims)
    again = pickle.loads(pickle.dumps(caught.value))
    assert (type(again), str(again), again.column) == (layoutc.NotationError, str(caught.value), 3)


def test_an_unknown_keyword_names_the_function_and_those_it_has() -> None:
    wrong: Any = {"element_type": "s8"}
    with pytest.raises(
        TypeError, match=r"^compile\(\) got an unexpected keyword element_type, expected .* threads .* dst_scale"
    ):
        layoutc.compile(NCHW, NCHW, **wrong)
    with pytest.raises(
        TypeError, match=r"^reorder\(\) got an unexpected keyword element_type, expected one of dtype to_dtype .* sum"
    ):
        layoutc.reorder(np.zeros(4), "a", "a", **wrong)


def test_a_descriptor_shows_in_a_line_what_it_is_of() -> None:
    desc = layoutc.desc("nChw8c", (2, 17, 5, 4), "bf16", offset=3)
    layout = "(n, c, h, w) -> (n, c floordiv 8, h, w, c mod 8)"
    assert repr(desc) == f"<layoutc.MemoryDesc 2x17x5x4xbf16, {layout}, offset 3>"
    assert repr(desc.layout) == f"<layoutc.Layout {layout}>"
    assert repr(layoutc.Param(0.5, dtype="f16")) == (
        "Param(values=(0.5,), axes=(), groups=(), dtype=<layoutc.ElementType f16>)"
    )


def test_a_kernel_shows_what_it_does_in_a_line() -> None:
    kernel = layoutc.compile(NCHW, NCHW, executor="reference", dst_scale=0.5, threads=2)
    assert repr(kernel) == (
        "<layoutc.Kernel reorder: 2x3x2x2xf32, (n, c, h, w) -> (n, c, h, w) into "
        "2x3x2x2xf32, (n, c, h, w) -> (n, c, h, w), dst scale 0.5 f32; reference, native, 2 threads>"
    )


def test_kernels_of_arrays_are_kept_within_bounds() -> None:
    from layoutc import arrays

    assert arrays._kernel.cache_parameters()["maxsize"] == 256


def test_a_descriptor_and_its_sizes_take_50_us() -> None:
    def once() -> int:
        desc = layoutc.desc("nChw16c", (2, 17, 5, 4))
        return desc.strides[0] + desc.size_bytes

    once()
    best = float("inf")
    for _ in range(20):
        start = time.perf_counter()
        for _ in range(50):
            once()
        best = min(best, (time.perf_counter() - start) / 50)
    assert best <= 50e-6


@pytest.mark.parametrize(
    ("word", "meant"),
    [("fp32", "f32"), ("F32", "f32"), ("Float32", "f32"), ("float", "f32"), ("double", "f64"), ("half", "f16"),
     ("int32_t", "s32"), ("uint8_t", "u8"), ("e4m3", "f8_e4m3"),
     ("fp16", "f16"), ("Int8", "s8"), ("int-8", "s8"), ("BFloat16", "bf16"), ("bool", None), ("f33", None), ("", None)],
)  # fmt: skip
def test_usual_words_for_types_are_answered_with_the_name(word: str, meant: str | None) -> None:
    if word == "bool":
        assert element_type(word).name == "boolean"
        return
    with pytest.raises(LayoutcError) as caught:
        element_type(word)
    assert str(caught.value).endswith(f"; did you mean {meant}" if meant else "boolean")


def test_errors_of_a_value_that_does_not_fit_name_the_parameter() -> None:
    with pytest.raises(LayoutcError, match=r"^dst zero point: value 3\.5 is no s32"):
        layoutc.Conversion(dst_zero_point=3.5)


@pytest.mark.parametrize("name", ["dst_scale", "src_zero_point", "sum"])
@pytest.mark.parametrize("value", [float("nan"), "x", [1.0, [2.0]]])
def test_errors_of_a_value_name_the_parameter(name: str, value: Any) -> None:
    source, destination = layoutc.desc("ab", (2, 3)), layoutc.desc("ab", (2, 3), "s8")
    with pytest.raises(LayoutcError, match=f"^{name.replace('_', ' ')}"):
        layoutc.compile(source, destination, **{name: value})


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"executor": ["c"]}, r"unknown executor \['c'\], expected one of c interpret reference"),
        ({"threads": [2]}, r"the number of threads is \[2\], expected an integer"),
    ],
    ids=["executor", "threads"],
)
def test_options_of_a_reorder_that_have_no_hash(options: Any, message: str) -> None:
    with pytest.raises(LayoutcError, match=message):
        layoutc.reorder(np.zeros((2, 3), np.float32), "ab", "ba", **options)


def test_a_result_that_no_memory_has_room_for() -> None:
    source, destination = layoutc.desc("ab", (2, 3)), layoutc.from_strides((2, 3), (2**50, 1))
    with pytest.raises(LayoutcError, match="not enough memory for the 4503599627370508 bytes of 2x3xf32, "):
        layoutc.reorder(np.zeros((2, 3), np.float32), source, destination)


@pytest.mark.parametrize("other", ["nchw", None, [[1]]])
def test_methods_of_a_descriptor_say_what_they_got(other: Any) -> None:
    desc = layoutc.desc("aB8b", (2, 3))
    with pytest.raises(LayoutcError, match=r"the other is an? .*, expected a MemoryDesc; layoutc.desc makes one"):
        desc.same_memory(other)
    with pytest.raises(LayoutcError, match=r"physical index .* no sequence of integers"):
        desc.logical_index(other)
