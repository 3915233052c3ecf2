"""oneDNN's descriptors and the operations on them, against recorded answers of the library."""

from __future__ import annotations

from collections import Counter
from itertools import product
from pathlib import Path

import pytest

from layoutc import notations
from layoutc.errors import LayoutcError, NotationError
from layoutc.layout import Digit, Layout
from layoutc.notations import onednn
from layoutc.notations.onednn import RUNTIME_DIM, Desc, StatusError

CALLS = [
    line for line in (Path(__file__).parent / "data" / "onednn_calls.txt").read_text().splitlines() if line[0] != "#"
]


def integers(text: str) -> tuple[int, ...]:
    return () if text == "-" else tuple(map(int, text.split(",")))


def called(kind: str, *words: str) -> Desc:
    if kind == "strides":
        data_type, dims, strides = words
        return onednn.create_with_strides(integers(dims), data_type, integers(strides))
    tag, dims, *arguments = words
    return getattr(onednn, kind)(onednn.create_with_tag(integers(dims), "f32", tag), *map(integers, arguments))


def answered(call: str) -> str:
    try:
        desc = called(*call.split())
    except StatusError as error:
        return error.status
    values = (desc.dims, desc.padded_dims, desc.strides, desc.inner_blks, desc.inner_idxs)
    return " ".join((*(",".join(map(str, v)) or "-" for v in values), str(desc.offset0), str(desc.get_size())))


def test_calls_are_answered_as_the_library_answers_them() -> None:
    right = Counter[str]()
    for line in CALLS:
        call, expected = line.split(" -> ")
        assert (call, answered(call)) == (call, expected)
        right[call.split()[0]] += 1
    assert right == {"strides": 80, "submemory": 120, "permute_axes": 80, "reshape": 80}


@pytest.mark.parametrize(
    ("call", "status", "message"),
    [
        (
            "strides f32 2,3 3,4",
            "invalid_arguments",
            "stride 4 of axis b lies inside of the 6 elements that axis a covers",
        ),
        ("strides f32 2,3 1,1", "invalid_arguments", "stride 1 of axis b lies inside of the 2 elements that axis a"),
        ("strides f32 2,3 3,-1", "invalid_arguments", "stride -1 of axis b is negative"),
        (
            "strides s4 3,5 5,1",
            "invalid_arguments",
            "stride 5 of axis a begins inside of a byte, expected 1 or an even one",
        ),
        ("strides boolean 2 1", "invalid_arguments", "oneDNN has no memory of boolean elements"),
        ("strides f32 -2 1", "invalid_arguments", "dim -2 of axis a is negative"),
        ("strides f32 4294967296,4294967296 4294967296,1", "invalid_arguments", "expected fewer than 2^63"),
        ("strides f32 4611686018427387904 1", "invalid_arguments", "need more than 2^64 bytes"),
        ("submemory aB16b 2,32 2,16 0,8", "unimplemented", "offset 8 of axis b is not a multiple of its block 16"),
        ("submemory aB16b 2,64 2,24 0,0", "unimplemented", "24 of axis b at 0 end inside of a block of 16"),
        ("submemory ab 2,3 2,2 0,2", "invalid_arguments", "axis b is 3 long, got 2 at 2"),
        ("permute_axes ab 2,3 0,0", "invalid_arguments", "(0, 0) is no permutation of the axes 0..1"),
        ("reshape acb 2,3,4 2,12", "invalid_arguments", "axes b and c do not follow each other in memory"),
        ("reshape aB16b 2,16 32", "invalid_arguments", "axis b is blocked or padded and cannot be split or joined"),
        ("reshape ab 2,3 4,2", "invalid_arguments", "dims (4, 2) do not hold the elements of dims (2, 3)"),
        ("reshape A8a 1 1,1,2", "invalid_arguments", "dims (1, 1, 2) do not hold the elements"),
        ("reshape Ab8a 1,6 2,3", "invalid_arguments", "axis a is padded or a part of a block and cannot be dropped"),
    ],
)
def test_refusals_have_the_status_and_a_reason(call: str, status: str, message: str) -> None:
    with pytest.raises(StatusError) as caught:
        called(*call.split())
    assert caught.value.status == status
    assert message in str(caught.value)


def test_unit_axes_may_have_any_stride_and_zero_broadcasts() -> None:
    assert onednn.create_with_strides((1, 3), "f32", (-7, 1)) == onednn.create_with_strides((1, 3), "f32", (3, 1))
    broadcast = onednn.create_with_strides((2, 3), "f32", (0, 1))
    assert [broadcast.offset(i, 2) for i in (0, 1)] == [2, 2]
    assert broadcast.get_size() == 12


def test_nchw_and_nhwc_are_equal_where_only_one_axis_is_long() -> None:
    for dims, equal in (((2, 1, 5, 4), True), ((2, 3, 1, 1), True), ((1, 1, 1, 1), True), ((2, 3, 5, 4), False)):
        one, other = (onednn.create_with_tag(dims, "f32", tag) for tag in ("nchw", "nhwc"))
        assert (one == other, hash(one) == hash(other)) == (equal, equal)


def test_zero_dims_have_a_descriptor_and_no_bytes() -> None:
    desc = onednn.create_with_tag((2, 0, 5, 4), "f32", "nChw8c")
    assert (desc.padded_dims, desc.strides, desc.get_size()) == ((2, 0, 5, 4), (160, 160, 32, 8), 0)
    with pytest.raises(LayoutcError, match="dims of 1 or more"):
        onednn.memory_desc(desc)


def test_runtime_dims_answer_queries_and_nothing_that_needs_them() -> None:
    desc = onednn.create_with_tag((2, 3, RUNTIME_DIM, 4), "f32", "nchw")
    assert desc.strides == (RUNTIME_DIM, RUNTIME_DIM, 4, 1)
    assert desc.get_size() == 2**63
    assert str(desc) == "2x3x*x4xf32, strides (*, *, 4, 1)"
    for call in (lambda: desc.offset(0, 0, 0, 0), lambda: onednn.memory_desc(desc), lambda: onednn.tag(desc)):
        with pytest.raises(LayoutcError, match="run time only"):
            call()


def test_offsets_are_those_of_the_memory_descriptor() -> None:
    for tag, dims in (
        ("OIhw4i16o4i", (17, 18, 2, 3)),
        ("BA16a64b4a", (65, 66)),
        ("aBcd5b", (2, 7, 2, 2)),
        ("ldio", (1, 2, 3, 4)),
    ):
        desc = onednn.create_with_tag(dims, "s8", tag)
        memory = onednn.memory_desc(desc)
        assert memory == notations.desc(tag, dims, "s8")
        assert onednn.from_memory_desc(memory) == desc
        assert all(desc.offset(*index) == memory.offset(*index) for index in product(*map(range, dims)))


def test_a_part_of_a_block_leaves_the_other_lanes_alone() -> None:
    parent = onednn.create_with_tag((2, 32, 3), "f32", "nCw16c")
    part = onednn.submemory(parent, (1, 8, 2), (1, 16, 1))
    assert (part.padded_dims, part.offset0) == ((1, 8, 2), 96 + 48 + 16)
    memory = onednn.memory_desc(part)
    assert (memory.high, memory.padding_boxes, memory.base_offset) == ((0, 8, 0), (), 160)
    assert onednn.from_memory_desc(memory) == part
    for i, j, k in product(*map(range, part.dims)):
        assert part.offset(i, j, k) == memory.offset(i, j, k) == parent.offset(i + 1, j + 16, k + 1)


def test_the_right_border_owns_its_padding() -> None:
    parent = onednn.create_with_tag((2, 17), "f32", "aB16b")
    part = onednn.submemory(parent, (2, 1), (0, 16))
    memory = onednn.memory_desc(part)
    assert (part.padded_dims, memory.high, memory.base_offset) == ((2, 16), (), 16)
    assert memory.padding_boxes == ((None, range(1, 16)),)


@pytest.mark.parametrize(
    ("desc", "reason"),
    [
        (
            notations.desc("b_fs_yx_fsv16", (1, 17, 2, 2), low=(0, 8, 0, 0)),
            "border of 8 before axis 1 is not a multiple",
        ),
        (notations.desc("b_fs_yx_fsv16", (1, 17, 2, 2), high=(0, 1, 0, 0)), "border of 1 after the 17 of axis 1"),
        (notations.desc("aB16b", (2, 32), strides=(64, 32, 2)), "blocks are dense"),
        (notations.desc(Layout(1, (Digit((0,)),), align=(8,)), (3,)), "pads blocked axes only"),
    ],
)
def test_memory_that_onednn_has_no_words_for_is_refused(desc: notations.MemoryDesc, reason: str) -> None:
    with pytest.raises(LayoutcError, match=reason):
        onednn.from_memory_desc(desc)


def test_padding_that_ends_inside_of_a_block_is_no_memory_desc() -> None:
    odd = Desc((3,), notations.desc("a", (1,)).element_type, (16,), (16,), (0,), padded_dims=(5,))
    with pytest.raises(LayoutcError, match="axis a owns 5 of 3 in blocks of 16, expected 3 or all of a block"):
        onednn.memory_desc(odd)


def test_size_is_not_the_span_and_leaves_the_offset_out() -> None:
    rows = onednn.create_with_strides((2, 3), "f32", (10, 1))
    assert (rows.get_size(), onednn.memory_desc(rows).size_bytes) == (80, 52)
    part = onednn.submemory(onednn.create_with_tag((4, 3), "f32", "ab"), (2, 3), (2, 0))
    assert (part.get_size(), onednn.memory_desc(part).size_bytes) == (24, 48)


def test_any_and_undef_are_no_layouts() -> None:
    for text in ("any", "undef"):
        with pytest.raises(NotationError, match=f"'{text}' "):
            onednn.parse(text)


@pytest.mark.parametrize("wrong", [None, 3, b"ab", [], notations.desc("ab", (2, 3))])
@pytest.mark.parametrize("called", ["tag", "names", "unblocked", "memory_desc", "permute_axes", "reshape", "submemory"])
def test_what_is_no_descriptor_of_onednn_is_said_to_be_none(called: str, wrong: object) -> None:
    """A descriptor of layoutc's is none either, and the error says who makes one."""
    arguments = {"permute_axes": [(0, 1)], "reshape": [(6,)], "submemory": [(1, 1), (0, 0)]}.get(called, [])
    with pytest.raises(LayoutcError, match=r"^desc is an? \w+, expected a Desc; onednn.create_with_tag and"):
        getattr(onednn, called)(wrong, *arguments)


@pytest.mark.parametrize("wrong", [None, 3, b"ab", []])
def test_what_is_no_tag_is_said_to_be_none(wrong: object) -> None:
    for call in (lambda: onednn.create_with_tag((2, 3), "f32", wrong), lambda: onednn.explain_tag(wrong)):  # pyright: ignore
        with pytest.raises(LayoutcError, match=r"^tag is an? \w+, expected a str$"):
            call()
    with pytest.raises(LayoutcError, match=r"^desc is an? \w+, expected a MemoryDesc"):
        onednn.from_memory_desc(wrong)  # pyright: ignore
