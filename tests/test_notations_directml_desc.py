"""DirectML's buffer tensors: the published helper's sizes, the rules of its pages, the way to the model and back."""

from __future__ import annotations

import json
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from layoutc import notations
from layoutc.errors import LayoutcError
from layoutc.notations import directml
from layoutc.notations import directml_types as types
from layoutc.notations.directml import BufferTensorDesc, DataType, Flags, calc_buffer_tensor_size
from tests.strategies import many

CASES = [
    json.loads(line) for line in (Path(__file__).parent / "data" / "directml_cases.jsonl").read_text().splitlines()
]
"""name, type, sizes, strides, bytes, elements, last offset, distinct offsets, kinds, some offsets, all offsets"""

BITS = {
    "UNKNOWN": 0,
    "FLOAT32": 32,
    "FLOAT16": 16,
    "UINT32": 32,
    "UINT16": 16,
    "UINT8": 8,
    "INT32": 32,
    "INT16": 16,
    "INT8": 8,
    "FLOAT64": 64,
    "UINT64": 64,
    "INT64": 64,
    "UINT4": 4,
    "INT4": 4,
}


@pytest.mark.parametrize("row", CASES, ids=lambda row: row[0])
def test_the_published_helper_and_the_offsets(row: list[Any]) -> None:
    _, data_type, sizes, strides, size, elements, last, distinct, kinds, some, offsets = row
    assert calc_buffer_tensor_size(data_type, sizes, strides) == size
    # The helper takes UNKNOWN and answers 0; a tensor of it is refused, so that row is tried with another type.
    desc = BufferTensorDesc(data_type if size else "UINT8", sizes, strides)
    assert (desc.elements, desc.index_of_last_element, desc.distinct_elements) == (elements, last, distinct)
    assert list(desc.kinds) == kinds
    for index, offset in some:
        assert desc.offset(*index) == desc.memory_desc().offset(*index) == offset
    if offsets is not None:
        assert [desc.offset(*index) for index in product(*map(range, sizes))] == offsets


def test_the_data_types() -> None:
    assert {kind.name: kind.bits for kind in DataType} == BITS
    assert [kind.value for kind in DataType] == list(range(14))
    assert DataType.of("f16") is DataType.of("DML_TENSOR_DATA_TYPE_FLOAT16") is DataType.of(2) is DataType.FLOAT16
    for kind in DataType:
        if kind:
            assert kind.element_type.bits == kind.bits
            assert DataType.of(kind.element_type) is kind


@pytest.mark.parametrize(
    ("sizes", "strides", "message"),
    [
        ((1, 0, 2, 2), None, r"sizes \(1, 0, 2, 2\) hold 0, expected 1 or more"),
        ((1,) * 9, None, "got 9 sizes, expected 1 to 8"),
        ((), None, "got 0 sizes, expected 1 to 8"),
        ((65536, 65536), None, r"spans 4294967296 elements, expected at most 2\^32 - 1"),
        ((3, 2), (2**31, 1), r"spans 4294967298 elements"),
        ((2, 2), (2**32, 1), r"strides \(4294967296, 1\) hold 4294967296, expected 0 or more below 2\^32"),
        ((2, 2), (-2, 1), "hold -2"),
        ((2, 2), (2, 1, 1), "got 3 strides, expected 2, one per size"),
        ((2.0, 2), None, "are not integers"),
    ],
)
def test_sizes_and_strides_that_directml_refuses(sizes: Any, strides: Any, message: str) -> None:
    with pytest.raises(LayoutcError, match=message):
        BufferTensorDesc("UINT8", sizes, strides)
    with pytest.raises(LayoutcError, match=message):
        calc_buffer_tensor_size("UINT8", sizes, strides)


def test_the_largest_tensor() -> None:
    assert calc_buffer_tensor_size("FLOAT32", (2**32 - 1,)) == 4 * (2**32 - 1)
    assert calc_buffer_tensor_size("FLOAT32", (65536, 65536), (0, 1)) == 4 * 65536
    assert BufferTensorDesc("UINT8", (2, 2), (2**32 - 3, 1)).physical_elements == 2**32 - 1
    with pytest.raises(LayoutcError, match="spans 4294967296 elements"):
        calc_buffer_tensor_size("UINT8", (2, 2), (2**32 - 2, 1))


@pytest.mark.parametrize(
    ("data_type", "sizes", "keywords", "message"),
    [
        ("FLOAT32", (1, 1, 3, 5), {"total_tensor_size_in_bytes": 56}, "56 bytes is below the 60 that"),
        ("FLOAT16", (1, 1, 1, 3), {"total_tensor_size_in_bytes": 6}, "6 bytes is below the 8 that"),
        ("UINT8", (3,), {"total_tensor_size_in_bytes": 2**33}, r"holds more than 2\^32 - 1 elements"),
        ("UINT8", (3,), {"guaranteed_base_offset_alignment": 24}, "24 is no power of two"),
        ("FLOAT32", (3,), {"guaranteed_base_offset_alignment": 2}, "2 is below the element size of 4 bytes"),
        ("UINT8", (3,), {"flags": 2}, "unknown flags 2, expected NONE or OWNED_BY_DML"),
        ("UNKNOWN", (3,), {}, "data type UNKNOWN is not valid for a tensor"),
        ("FLOAT128", (3,), {}, "no data type FLOAT128, expected one of UNKNOWN FLOAT32"),
        ("bf16", (3,), {}, "no data type bf16"),
    ],
)
def test_the_rules_of_a_tensor(data_type: str, sizes: tuple[int, ...], keywords: Any, message: str) -> None:
    with pytest.raises(LayoutcError, match=message):
        BufferTensorDesc(data_type, sizes, **keywords)


def test_what_a_tensor_may_say() -> None:
    desc = BufferTensorDesc(
        "FLOAT32",
        (1, 1, 3, 5),
        flags="OWNED_BY_DML",
        total_tensor_size_in_bytes=256,
        guaranteed_base_offset_alignment=256,
    )
    assert (desc.flags, desc.total_tensor_size_in_bytes) == (Flags.OWNED_BY_DML, 256)
    assert BufferTensorDesc("UINT4", (9,), guaranteed_base_offset_alignment=1).total_tensor_size_in_bytes == 8
    assert len({desc, BufferTensorDesc(**vars(desc))}) == 1


def test_outputs() -> None:
    BufferTensorDesc("UINT8", (2, 3), (5, 1)).check_output()
    with pytest.raises(LayoutcError, match="flag OWNED_BY_DML is for inputs"):
        BufferTensorDesc("UINT8", (2, 3), flags=Flags.OWNED_BY_DML).check_output()
    for strides in ((0, 1), (1, 1)):
        with pytest.raises(LayoutcError, match="two elements of an output at one offset"):
            BufferTensorDesc("UINT8", (2, 3), strides).check_output()


def test_bindings() -> None:
    desc = BufferTensorDesc("FLOAT16", (1, 1, 1, 3), guaranteed_base_offset_alignment=32)
    desc.check_binding(64, 8)
    BufferTensorDesc("FLOAT16", (3,)).check_binding(16, 12)
    with pytest.raises(LayoutcError, match="base offset 16 is no multiple of 32"):
        desc.check_binding(16, 8)
    with pytest.raises(LayoutcError, match="base offset 8 is no multiple of 16"):
        BufferTensorDesc("FLOAT16", (3,)).check_binding(8, 8)
    for size in (4, 10):
        with pytest.raises(
            LayoutcError, match=f"a range of {size} bytes is bound, expected 8 or more, a multiple of 4"
        ):
            desc.check_binding(0, size)


def test_the_constants() -> None:
    assert (types.TENSOR_DIMENSION_COUNT_MAX, types.TENSOR_DIMENSION_COUNT_MAX1) == (5, 8)
    assert (types.TEMPORARY_BUFFER_ALIGNMENT, types.PERSISTENT_BUFFER_ALIGNMENT) == (256, 256)
    assert (types.MINIMUM_BUFFER_TENSOR_ALIGNMENT, Flags.NONE, Flags.OWNED_BY_DML) == (16, 0, 1)


def test_equal_size_does_not_make_packed() -> None:
    desc = BufferTensorDesc("UINT8", (2, 2, 2), (5, 1, 1))
    assert (desc.physical_elements, desc.elements, desc.kinds) == (8, 8, ("padded", "overlapping"))
    both = BufferTensorDesc("UINT8", (2, 3, 4), (0, 8, 1))
    assert (both.kinds, both.distinct_elements, both.physical_elements) == (("broadcast", "padded"), 12, 20)


def test_interleaved_strides_over_a_large_span_are_not_counted() -> None:
    desc = BufferTensorDesc("UINT8", (3, 3, 10**6), (10**9, 10**6 - 1, 1))
    assert desc.is_overlapping
    with pytest.raises(LayoutcError, match="not counted"):
        _ = desc.distinct_elements


# --- labels, ranks, the model -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("label", "sizes", "strides"),
    [
        ("HW", (2, 3), (3, 1)),
        ("WH", (2, 3), (1, 2)),
        ("DHW", (2, 3, 4), (12, 4, 1)),
        ("WHD", (2, 3, 4), (1, 2, 6)),
        ("NCHW", (2, 3, 4, 5), (60, 20, 5, 1)),
        ("NHWC", (2, 3, 4, 5), (60, 1, 15, 3)),
        ("NCDHW", (2, 3, 2, 4, 5), (120, 40, 20, 5, 1)),
        ("NDHWC", (2, 3, 2, 4, 5), (120, 1, 60, 15, 3)),
    ],
)
def test_labels(label: str, sizes: tuple[int, ...], strides: tuple[int, ...]) -> None:
    desc = BufferTensorDesc.of_label(label, "FLOAT32", sizes)
    assert (desc.strides, desc.label, desc.labels, desc.is_packed) == (strides, label, (label,), True)
    for index in product(*map(range, sizes)):
        assert desc.offset(*index) == notations.desc(f"directml:{label}", sizes).offset(*index)


def test_labels_of_padded_broadcast_and_unit_axes() -> None:
    assert BufferTensorDesc("UINT8", (2, 3), (5, 1)).label == "HW"
    assert BufferTensorDesc("UINT8", (2, 3), (0, 1)).labels == ("HW", "WH")
    assert {"NCHW", "NHWC"} < set(BufferTensorDesc("FLOAT32", (1, 1, 3, 5), (15, 1, 5, 1)).labels)
    with pytest.raises(LayoutcError, match="labels 1 to 5 axes, got 6"):
        _ = BufferTensorDesc("UINT8", (1,) * 6).label
    with pytest.raises(LayoutcError, match="names 3 axes, expected 4, one per size"):
        BufferTensorDesc.of_label("NHW", "UINT8", (1, 2, 3, 4))


@pytest.mark.parametrize(
    ("sizes", "strides"),
    [
        ((4,), (1,)),
        ((2, 3), (3, 1)),
        ((2, 3, 4), (12, 1, 3)),
        ((2, 3, 4, 5), (60, 1, 15, 3)),
        ((2, 3, 2, 4, 5), (120, 1, 60, 15, 3)),
    ],
)
def test_interleaved_channel(sizes: tuple[int, ...], strides: tuple[int, ...]) -> None:
    desc = BufferTensorDesc.interleaved_channel("FLOAT16", sizes)
    assert (desc.strides, desc.is_packed) == (strides, True)


def test_leading_ones() -> None:
    rows = BufferTensorDesc("FLOAT32", (3, 5))
    assert rows.with_rank(4) == BufferTensorDesc("FLOAT32", (1, 1, 3, 5))
    padded = BufferTensorDesc("FLOAT32", (3, 5), (8, 1)).with_rank(4)
    assert (padded.sizes, padded.strides) == ((1, 1, 3, 5), (24, 24, 8, 1))
    assert padded.with_rank(2) == BufferTensorDesc("FLOAT32", (3, 5), (8, 1))
    with pytest.raises(LayoutcError, match=r"sizes \(3, 5\) have no 1 leading ones to take away"):
        rows.with_rank(1)
    with pytest.raises(LayoutcError, match=r"rank 9 is outside 1\.\.8"):
        rows.with_rank(9)


@pytest.mark.parametrize(
    "text", ["{2,3},{5,1}", "{2,3},{0,1}", "{2,2,3}", "{1,1,3,5},{15,1,5,1}", "{2,3,4,5},{60,1,15,3}"]
)
def test_memory_descriptors_and_back(text: str) -> None:
    desc = notations.desc(text, element_type="u4")
    there = directml.from_memory_desc(desc)
    assert there.memory_desc() == desc
    assert there.data_type is DataType.UINT4
    assert directml.format_desc(there.memory_desc()) == text


def test_blocks_that_one_stride_per_axis_finds() -> None:
    desc = notations.desc("nChw8c", (2, 8, 3, 4))
    there = directml.from_memory_desc(desc)
    assert there == BufferTensorDesc.of_label("NHWC", "FLOAT32", (2, 8, 3, 4))
    for dims in ((2, 16, 3, 4), (2, 7, 3, 4), (2, 1, 3, 4)):
        with pytest.raises(LayoutcError, match="one stride per axis, no blocks or padding"):
            directml.from_memory_desc(notations.desc("nChw8c", dims))


def test_what_directml_cannot_express_is_refused() -> None:
    with pytest.raises(LayoutcError, match="no data type for elements of bf16"):
        directml.from_memory_desc(notations.desc("ab", (2, 3), "bf16"))
    with pytest.raises(LayoutcError, match="no base offset or border"):
        directml.from_memory_desc(notations.desc("ab", (2, 3), offset=1))
    with pytest.raises(LayoutcError, match="spans 4295032832 elements"):
        directml.from_memory_desc(notations.desc("ab", (65536, 65537)))
    with pytest.raises(LayoutcError, match="1 to 8 dimensions, got 0"):
        directml.from_memory_desc(notations.desc("ie:SCALAR", ()))


ANYTHING = st.one_of(st.none(), st.integers(-3, 2**65), st.text(max_size=4), st.floats())
SIZES = st.one_of(st.lists(st.integers(0, 9), max_size=9), st.lists(ANYTHING, max_size=3), ANYTHING)
TYPES = st.one_of(st.sampled_from(list(BITS)), ANYTHING)


@many(600)
@given(TYPES, SIZES, SIZES, ANYTHING, ANYTHING, ANYTHING)
def test_random_arguments_raise_layoutcs_errors_only(
    kind: Any, sizes: Any, strides: Any, a: Any, b: Any, c: Any
) -> None:
    calls = (
        lambda: calc_buffer_tensor_size(kind, sizes, strides),
        lambda: BufferTensorDesc(
            kind, sizes, flags=a, total_tensor_size_in_bytes=b, guaranteed_base_offset_alignment=c
        ),
        lambda: BufferTensorDesc(kind, sizes, strides).kinds,
        lambda: directml.from_memory_desc(BufferTensorDesc(kind, sizes, strides).memory_desc()),
        lambda: BufferTensorDesc(kind, sizes, strides).with_rank(a),
        lambda: BufferTensorDesc.of_label(a, kind, sizes),
        lambda: BufferTensorDesc.interleaved_channel(kind, sizes).label,
        lambda: BufferTensorDesc(kind, sizes, strides).check_output(),
        lambda: BufferTensorDesc(kind, sizes, strides).check_binding(a, b),
    )
    for call in calls:
        try:
            call()
        except LayoutcError:
            continue


@many(300)
@given(st.lists(st.tuples(st.integers(1, 5), st.integers(0, 12)), min_size=1, max_size=4))
def test_sizes_and_kinds_are_what_the_offsets_say(axes: list[tuple[int, int]]) -> None:
    sizes, strides = [n for n, _ in axes], [s for _, s in axes]
    desc = BufferTensorDesc("UINT8", sizes, strides)
    offsets = [desc.offset(*index) for index in product(*map(range, sizes))]
    assert (desc.index_of_last_element, desc.distinct_elements) == (max(offsets), len(set(offsets)))
    assert desc.is_packed == (sorted(offsets) == list(range(len(offsets))))
    assert desc.is_padded == (len(set(offsets)) <= max(offsets))
    back = directml.from_memory_desc(desc.memory_desc())
    assert [back.offset(*index) for index in product(*map(range, sizes))] == offsets
