"""The tag from a descriptor, all its names, its plain twin, and tags in words."""

from __future__ import annotations

import pytest

from layoutc import notations
from layoutc.errors import LayoutcError, NotationError
from layoutc.notations import onednn
from layoutc.notations.onednn_tags import enum

DIMS = (3, 40, 5, 7, 2, 3, 1, 2, 1, 2, 1, 2)


def test_every_canonical_tag_is_found_from_strides_and_blocks_alone() -> None:
    found = 0
    for canonical, names in enum().items():
        rank = notations.parse(f"onednn:{canonical}").rank
        desc = onednn.create_with_tag(tuple(128 + n for n in DIMS[:rank]) if rank < 7 else (2,) * rank, "s8", canonical)
        assert onednn.tag(desc) == canonical
        assert onednn.names(desc) == names
        found += 1
    assert found == 873


def test_tags_outside_of_the_enum_are_found() -> None:
    assert onednn.tag(onednn.create_with_tag((2, 12, 3, 3), "f32", "aBcd5b")) == "aBcd5b"
    assert onednn.names(onednn.create_with_tag((2, 12, 3, 3), "f32", "aBcd5b")) == ()


def test_permuted_and_partial_descriptors_have_a_tag_where_they_are_dense() -> None:
    nchw = onednn.create_with_tag((2, 3, 5, 4), "f32", "nchw")
    assert onednn.tag(onednn.permute_axes(nchw, (0, 3, 1, 2))) == "adbc"
    assert onednn.tag(onednn.submemory(nchw, (1, 2, 5, 4), (1, 1, 0, 0))) == "abcd"
    weights = onednn.create_with_tag((32, 32, 3, 3), "f32", "OIhw4i16o4i")
    assert onednn.tag(onednn.permute_axes(weights, (1, 0, 2, 3))) == "BAcd4a16b4a"
    with pytest.raises(LayoutcError, match="have gaps or share elements"):
        onednn.tag(onednn.submemory(nchw, (2, 2, 5, 4), (0, 0, 0, 0)))
    with pytest.raises(LayoutcError, match="owns a part of its blocks"):
        onednn.tag(onednn.submemory(weights, (8, 32, 3, 3), (0, 0, 0, 0)))


def test_strides_alone_find_the_tag() -> None:
    assert onednn.tag(onednn.create_with_strides((2, 3, 5, 4), "f32", (60, 1, 12, 3))) == "acdb"
    assert onednn.tag(onednn.create_with_strides((2, 1, 5, 4), "f32", (20, 999, 4, 1))) == "abcd"
    with pytest.raises(LayoutcError, match="have gaps or share elements"):
        onednn.tag(onednn.create_with_strides((2, 3), "f32", (0, 1)))


def test_unit_axes_give_a_descriptor_more_names() -> None:
    names = onednn.names(onednn.create_with_tag((2, 1, 5, 4), "f32", "nhwc"))
    assert names[0] == "acdb" and {"nchw", "nhwc", "bacd"} <= set(names)
    assert "bcda" not in names


def test_unblocking_gives_the_plain_descriptor_of_the_same_tensor() -> None:
    plain = onednn.unblocked(onednn.create_with_tag((2, 17, 5, 4), "bf16", "nChw16c"))
    assert plain == onednn.create_with_tag((2, 17, 5, 4), "bf16", "nchw")


def test_the_blocks_of_a_weight_tag_in_words() -> None:
    assert onednn.explain_tag("OIhw4i16o4i") == (
        "OIhw4i16o4i is oneDNN's ABcd4b16a4b, of logical axes o i h w",
        "outer order, slowest to fastest: o by 16, i by 16, h, w",
        "inside of each step: three blocks, 256 elements without gaps",
        "  4i, the outermost: 4 steps of 4 i, 64 elements apart: (i floordiv 4) mod 4",
        "  16o, inside of it: 16 steps of 1 o, 4 elements apart: o mod 16",
        "  4i, the innermost: 4 steps of 1 i, 1 element apart: i mod 4",
        "padded to multiples: o 16, i 4*4 = 16",
        "neighbours in memory: i and i + 1, 4 in a row, then the next o",
    )


@pytest.mark.parametrize(
    ("tag", "last"),
    [
        ("nchw", "neighbours in memory: w and w + 1, all of them in a row, then the next h"),
        ("nChw16c", "neighbours in memory: c and c + 1, 16 in a row, then the next w"),
        ("a", "neighbours in memory: a and a + 1, all of them in a row"),
        ("Ab4a1a", "neighbours in memory: a and a + 1, 4 in a row, then the next b"),
    ],
)
def test_the_neighbours_of_other_tags_in_words(tag: str, last: str) -> None:
    assert onednn.explain_tag(tag)[-1] == last


def test_words_for_no_tag_are_an_error_with_a_caret() -> None:
    with pytest.raises(NotationError, match="did you mean nChw16c"):
        onednn.explain_tag("nChw16C")
