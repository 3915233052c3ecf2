"""The Inference Engine's descriptors as objects: layouts, precisions, refusals, the way to the model and back."""

from __future__ import annotations

from itertools import permutations, product
from math import prod
from operator import mul
from typing import Any, cast

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from layoutc import notations
from layoutc.descriptor import MemoryDesc
from layoutc.errors import LayoutcError
from layoutc.layout import Layout as MemoryLayout
from layoutc.notations import inference_engine as ie
from layoutc.notations.inference_engine import ROI, BlockingDesc, InferenceEngineError, Layout, TensorDesc
from layoutc.notations.inference_engine_precision import PRECISIONS, Precision
from tests.strategies import many

CHANNELS_BY_8 = BlockingDesc([1, 4, 20, 20, 8], [0, 1, 2, 3, 1])

VALUES = {
    "ANY": 0,
    "NCHW": 1,
    "NHWC": 2,
    "NCDHW": 3,
    "NDHWC": 4,
    "OIHW": 64,
    "GOIHW": 65,
    "OIDHW": 66,
    "GOIDHW": 67,
    "SCALAR": 95,
    "C": 96,
    "CHW": 128,
    "HWC": 129,
    "HW": 192,
    "NC": 193,
    "CN": 194,
    "BLOCKED": 200,
}


def test_the_enum_has_the_librarys_values_and_ranks() -> None:
    assert {layout.name: layout.value for layout in Layout} == VALUES
    ranks = {layout.name: layout.rank for layout in Layout}
    assert ranks == {name: len(name) for name in VALUES} | {"ANY": None, "BLOCKED": None, "SCALAR": 0}
    assert Layout.of(2) is Layout.of("NHWC") is Layout.NHWC


def test_the_layout_is_inferred_from_the_order() -> None:
    named = {(0,): "C", (0, 1): "NC", (1, 0): "CN", (1, 1): "CN", (0, 1, 2): "CHW", (1, 2, 0): "HWC"}
    named |= {(0, 1, 2, 3): "NCHW", (0, 2, 3, 1): "NHWC", (0, 1, 2, 3, 4): "NCDHW", (0, 2, 3, 4, 1): "NDHWC"}
    for rank in range(1, 7):
        for order in product(range(rank), repeat=rank) if rank < 5 else permutations(range(rank)):
            if max(order) == rank - 1:
                desc = TensorDesc("FP32", (2,) * rank, BlockingDesc((2,) * rank, order))
                assert desc.layout.name == named.get(order, "BLOCKED")


def test_layout_by_dims_in_each_release() -> None:
    names = ["SCALAR", "C", "NC", "CHW", "NCHW", "NCDHW", "BLOCKED", "BLOCKED"]
    assert [ie.layout_by_dims((2,) * rank).name for rank in range(8)] == names
    assert ie.layout_by_dims((), "2018") is Layout.BLOCKED
    dynamic = [ie.layout_by_dims((0,), release).name for release in ("2021.4", "2022.3", "2023.3")]
    assert dynamic == ["C", "BLOCKED", "BLOCKED"]


def test_equal_descriptors_hash_equal_and_none_can_be_changed() -> None:
    again = BlockingDesc((1, 4, 20, 20, 8), (0, 1, 2, 3, 1), strides=(12800, 3200, 160, 8, 1))
    assert (CHANNELS_BY_8, hash(CHANNELS_BY_8)) == (again, hash(again))
    desc = TensorDesc("FP32", (1, 25, 20, 20), again)
    assert len({desc, TensorDesc("f32", [1, 25, 20, 20], CHANNELS_BY_8)}) == 1
    with pytest.raises(AttributeError):
        desc.dims = (1,)  # pyright: ignore[reportAttributeAccessIssue]
    other = desc.set_dims((1, 30, 20, 20))
    assert (desc.dims, other.dims) == ((1, 25, 20, 20), (1, 30, 20, 20))


def test_descriptors_by_layout_name() -> None:
    assert BlockingDesc.of_layout((1, 25, 20, 20), "NHWC") == BlockingDesc((1, 20, 20, 25), (0, 2, 3, 1))
    assert BlockingDesc((1, 25, 20, 20), Layout.NHWC) == BlockingDesc((1, 25, 20, 20), "NHWC")
    assert TensorDesc("FP32", (1, 25, 20, 20), "NHWC") == TensorDesc(
        "FP32", (1, 25, 20, 20), BlockingDesc((1, 25, 20, 20), "NHWC")
    )


def test_text_of_a_blocking_descriptor() -> None:
    assert str(CHANNELS_BY_8) == "BlockingDesc({1,4,20,20,8}, {0,1,2,3,1})"
    part = BlockingDesc((2, 3), (0, 1), 7, (1, 2), (5, 1))
    assert str(part) == "BlockingDesc({2,3}, {0,1}, 7, {1,2}, {5,1})"
    assert str(BlockingDesc((2, 3), (0, 1), 7)) == "BlockingDesc({2,3}, {0,1}, 7)"


@pytest.mark.parametrize(
    ("name", "bits"),
    [
        *[("FP64", 64), ("FP32", 32), ("FP16", 16), ("BF16", 16), ("Q78", 16), ("I16", 16), ("U16", 16), ("I32", 32)],
        *[("U32", 32), ("I64", 64), ("U64", 64), ("U8", 8), ("I8", 8), ("BOOL", 8), ("U4", 4), ("I4", 4), ("BIN", 1)],
    ],
)
def test_precisions(name: str, bits: int) -> None:
    assert (PRECISIONS[name].bits, Precision.of(name).size) == (bits, -(-bits // 8))
    assert TensorDesc(name, (2, 3), "NC").byte_size == 6 * -(-bits // 8)


def test_precisions_without_bits_and_of_ones_own() -> None:
    with pytest.raises(InferenceEngineError, match="cannot estimate element if precision is MIXED"):
        _ = TensorDesc("MIXED", (2, 3), "NC").byte_size
    with pytest.raises(InferenceEngineError, match="Precision with 0 elements size not supported"):
        Precision.custom(0)
    assert TensorDesc(Precision.custom(12), (2, 3), "NC").byte_size == 12
    for precision in (Precision.custom(32, "FP32"), "Q78", "BIN"):
        with pytest.raises(LayoutcError, match="is no element type of layoutc"):
            TensorDesc(precision, (2, 3), "NC").memory_desc()


# --- the model -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("layout", [name for name in VALUES if name not in ("ANY", "SCALAR", "BLOCKED")])
def test_every_layout_is_the_one_of_its_name(layout: str) -> None:
    dims = (2, 3, 4, 5, 2, 3)[: len(layout)]
    desc = TensorDesc("FP32", dims, layout)
    assert desc.memory_desc() == notations.desc(f"ie:{layout}", dims)
    assert desc.memory_desc().layout.axis_names == notations.parse(f"ie:{layout}").axis_names
    for index in product(*map(range, dims)):
        assert desc.offset(index) == desc.memory_desc().offset(*index)


def test_a_position_may_be_an_integer_of_numpy() -> None:
    desc = TensorDesc("FP32", (1, 3, 4, 5), Layout.NHWC)
    assert desc.offset(cast(int, np.int64(7))) == desc.offset(7) == desc.offset((0, 0, 1, 2))


def test_blocks_and_alignment_in_the_model() -> None:
    desc = TensorDesc("U8", (1, 25, 20, 20), CHANNELS_BY_8).memory_desc()
    assert desc == notations.desc("nChw8c", (1, 25, 20, 20), "u8")
    wider = TensorDesc("U8", (1, 25, 20, 20), BlockingDesc([1, 5, 20, 20, 8], [0, 1, 2, 3, 1])).memory_desc()
    assert (wider.physical_shape, wider.offset(0, 24, 19, 19)) == ((1, 5, 20, 20, 8), 12792)


@pytest.mark.parametrize("layout", ["NCHW", "NHWC"])
def test_an_element_of_a_region_lies_where_it_lies_in_the_whole(layout: str) -> None:
    whole = TensorDesc("FP32", (2, 3, 6, 5), layout)
    part = ie.make_roi_desc(whole, ROI(1, 2, 1, 2, 4))
    again = ie.make_roi_desc(part, ROI(0, 1, 1, 1, 2))
    for c, h, w in product(range(3), range(2), range(1)):
        there = whole.memory_desc().offset(1, c, h + 2, w + 3)
        assert part.memory_desc().offset(0, c, h + 1, w + 1) == again.memory_desc().offset(0, c, h, w) == there
        # The library adds the dim offsets to an offset that has them.
        assert again.offset((0, c, h, w)) == 2 * whole.memory_desc().offset(1, 0, 2, 3) + whole.offset((0, c, h, w))


def test_a_packed_copy_of_a_region_starts_at_zero() -> None:
    whole = TensorDesc("FP32", (2, 3, 6, 5), "NHWC")
    for copy in (
        ie.make_roi_desc(whole, ROI(1, 2, 1, 2, 4), use_orig_mem_desc=False),
        ie.make_roi_desc(whole, ROI(1, 2, 1, 2, 4), False),
    ):
        assert copy == TensorDesc("FP32", (1, 3, 4, 2), "NHWC")


BLOCKED_AXES = st.permutations([0, 1, 2]).flatmap(
    lambda outer: st.lists(st.sampled_from(outer), max_size=2).map(lambda inner: [*outer, *inner])
)


@many(200)
@given(BLOCKED_AXES, st.data())
def test_random_blockings_have_the_librarys_offsets_in_the_model(order: list[int], data: st.DataObject) -> None:
    shape = [data.draw(st.integers(1, 4)) for _ in order]
    strides = [data.draw(st.integers(0, 40)) for _ in order]
    starts = [data.draw(st.integers(0, 2)) for _ in order]
    capacity = [prod(n for n, of in zip(shape, order, strict=True) if of == axis) for axis in range(3)]
    dims = [data.draw(st.integers(1, most)) for most in capacity]
    desc = TensorDesc("FP32", dims, BlockingDesc(shape, order, 7, starts, strides))
    model, skipped = desc.memory_desc(), sum(map(mul, starts, strides))
    assert (model.dims, model.physical_shape) == (tuple(dims), tuple(shape))
    for index in product(*map(range, dims)):
        assert desc.offset(index) == model.offset(*index) + skipped
    assert ie.from_memory_desc(model).memory_desc() == model


def test_an_axis_that_the_order_leaves_out_is_a_broadcast() -> None:
    desc = TensorDesc("FP32", (4, 2, 3), BlockingDesc((2, 3), (1, 2)))
    for index in product(range(4), range(2), range(3)):
        assert desc.memory_desc().offset(*index) == desc.offset(index)


def test_a_scalar_in_the_model_and_back() -> None:
    desc = TensorDesc("FP32", (), BlockingDesc((), (), 5))
    assert (desc.layout, desc.size, desc.byte_size, desc.offset(())) == (Layout.SCALAR, 1, 4, 5)
    assert desc.memory_desc() == MemoryDesc((), "f32", MemoryLayout(0, ()), base_offset=5)  # pyright: ignore[reportArgumentType]
    assert ie.from_memory_desc(desc.memory_desc()) == desc
    assert TensorDesc("FP32", (1, 1), "SCALAR").memory_desc().offset(0, 0) == 0


@pytest.mark.parametrize(
    ("name", "dims"),
    [
        ("nchw", (2, 17, 5, 4)),
        ("nChw8c", (2, 17, 5, 4)),
        ("OIhw4i16o4i", (33, 30, 3, 3)),
        ("strided<[7, 1], offset: 3>", (2, 5)),
    ],
)
def test_memory_descriptors_and_back(name: str, dims: tuple[int, ...]) -> None:
    desc = notations.desc(name, dims, "bf16")
    there = ie.from_memory_desc(desc, release="2022.3")
    assert (there.memory_desc(), there.precision.name) == (desc, "BF16")
    assert there.offset((0,) * len(dims)) == desc.base_offset


@pytest.mark.parametrize(
    ("desc", "message"),
    [
        (TensorDesc("FP32", (2, 3), "ANY"), "layout ANY describes no memory"),
        (TensorDesc("FP32", (2, 3), "SCALAR"), "one place for all elements of dims"),
        (
            TensorDesc("FP32", (1, 25, 1), BlockingDesc((1, 3, 1, 8), (0, 1, 2, 1))),
            "blocked dims hold 24 of axis d1, which has 25",
        ),
        (TensorDesc("FP32", (2, 0), "NC"), "hold 0"),
        (TensorDesc("FP32", (2, 3), "NC").reshape((2,), BlockingDesc((2, 3), (0, 1))), "the order names axis 1"),
    ],
)
def test_what_the_model_cannot_hold_is_refused(desc: TensorDesc, message: str) -> None:
    with pytest.raises(LayoutcError, match=message):
        desc.memory_desc()


def test_what_the_inference_engine_cannot_express_is_refused() -> None:
    with pytest.raises(LayoutcError, match="no precision for elements of f8_e4m3"):
        ie.from_memory_desc(notations.desc("ab", (2, 3), "f8_e4m3"))
    rows = notations.desc("strided<[0, 1]>", (2, 3))
    assert ie.from_memory_desc(rows).memory_desc() == rows
    with pytest.raises(InferenceEngineError, match="Stride in 0-th dimension is not valid; actual 0, should be >= 3"):
        ie.from_memory_desc(rows, release="2022.1")


# --- bad arguments ---------------------------------------------------------------------------------------------------


PAST = TensorDesc("FP32", (2, 3), "NC", release="2022.3").reshape((2, 3), BlockingDesc((2, 3), (0, 3)))
"""The library takes any blocking here."""


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: BlockingDesc((-1,), (0,)), r"blocked dims \(-1,\) hold -1, expected 0 or more and below 2\^63"),
        (lambda: BlockingDesc(cast(Any, [2.0]), (0,)), r"blocked dims \[2.0\] are not integers"),
        (lambda: BlockingDesc((2**40, 2**40), (0, 1)), None),
        (lambda: BlockingDesc((1, 2**40, 2**40), (0, 1, 2)), "packed strides of 3 blocked dims are past"),
        (lambda: BlockingDesc((1,) * 101, (0,)), "got 101 blocked dims, expected at most 100"),
        (lambda: BlockingDesc((2,), (0,), release="2017"), "unknown release '2017', expected one of 2018 to 2023.3"),
        (lambda: TensorDesc("FP33", (2,), "C"), "no precision 'FP33', expected one of UNSPECIFIED"),
        (lambda: TensorDesc("FP32", (2,), "CHN"), "unknown layout 'CHN', expected one of ANY NCHW"),
        (lambda: TensorDesc("FP32", (2, 3), "NC").offset((1,)), "index has 1 coordinates"),
        (lambda: TensorDesc("FP32", (2, 0), "NC").offset(1), r"dims \(2, 0\) hold 0"),
        (lambda: TensorDesc("FP32", (2, 0), "NC").offset((1, 0)), r"blocked dims \(2, 0\) hold 0"),
        (lambda: ie.make_roi_desc(TensorDesc("FP32", (2, 3), "NC"), (0, 0), (1, 1)), "2021.4 has no begin and end"),
        (lambda: ie.make_roi_desc(TensorDesc("FP32", (2, 3), "NC"), (0, 0)), "got no end"),
        (lambda: ie.make_roi_desc(TensorDesc("FP32", (), "NCHW"), ROI()), "an ROI needs 4 dims, got"),
        (lambda: ie.make_roi_desc(PAST, (0, 0), (1, 1)), r"order \(0, 3\) names axes past dims \(2, 3\)"),
    ],
)  # fmt: skip
def test_bad_arguments(call: Any, message: str | None) -> None:
    if message is None:
        call()
        return
    with pytest.raises(LayoutcError, match=message) as caught:
        call()
    assert not isinstance(caught.value, InferenceEngineError)


ANYTHING = st.one_of(st.none(), st.integers(-3, 2**65), st.text(max_size=4), st.floats())
SIZES = st.one_of(st.lists(st.integers(-1, 9), max_size=6), st.lists(ANYTHING, max_size=3), ANYTHING)
WORDS = st.one_of(st.sampled_from([*VALUES, *PRECISIONS, "2021.4", "2022.3"]), ANYTHING)


@many(400)
@given(st.tuples(SIZES, SIZES, st.one_of(st.just(0), ANYTHING), SIZES, SIZES), WORDS)
def test_random_arguments_of_a_blocking_descriptor_raise_layoutcs_errors_only(arguments: Any, release: Any) -> None:
    try:
        BlockingDesc(*arguments, release=release)
    except LayoutcError:
        return


@many(600)
@given(
    WORDS,
    SIZES,
    st.one_of(WORDS, st.builds(lambda n: BlockingDesc(n, range(len(n))), st.lists(st.integers(0, 9)))),
    SIZES,
    SIZES,
)
def test_random_calls_raise_layoutcs_errors_only(precision: Any, dims: Any, what: Any, one: Any, other: Any) -> None:
    calls = (
        lambda desc: desc.offset(one),
        lambda desc: desc.set_dims(one).memory_desc(),
        lambda desc: desc.set_layout(one),
        lambda desc: desc.reshape(one, other),
        lambda desc: ie.make_roi_desc(desc, one, other),
        lambda desc: desc.byte_size,
        lambda desc: desc.memory_desc(),
        lambda desc: ie.from_memory_desc(desc.memory_desc()),
    )
    for call in calls:
        try:
            call(TensorDesc(precision, dims, what))
        except LayoutcError:
            continue
