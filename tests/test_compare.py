"""Comparing layouts: what is called equal is equal, and a witness is the smallest."""

from __future__ import annotations

from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

import layoutc
from layoutc.compare import Difference, compare, equal_for_all_dims, first_difference
from layoutc.descriptor import MemoryDesc
from layoutc.element_type import element_type
from layoutc.errors import LayoutcError
from layoutc.layout import Layout
from layoutc.tools.layoutc import main
from tests.descriptors import DESCRIPTORS, layout
from tests.strategies import layouts, many

F32 = element_type("f32")


def smallest_witness(one: MemoryDesc, other: MemoryDesc) -> tuple[int, ...] | None:
    """By looking at every index, the last axis fastest."""
    indices = product(*map(range, one.dims))
    return next((index for index in indices if one.offset(*index) != other.offset(*index)), None)


def test_first_difference_over_the_shared_list() -> None:
    descs = sorted(dict.fromkeys(DESCRIPTORS.values()), key=lambda desc: desc.dims)
    compared = 0
    for one, other in product(descs, descs):
        if one.dims == other.dims:
            found = first_difference(one, other)
            assert (found and found.index) == smallest_witness(one, other), f"{one} and {other}"
            if found:
                assert found.offsets == (one.offset(*found.index), other.offset(*found.index))
            compared += 1
    assert compared > 200


@st.composite
def layout_pairs(draw: st.DrawFn) -> tuple[Layout, Layout]:
    rank = draw(st.integers(0, 3))
    return draw(layouts(rank)), draw(layouts(rank))


@many(200)
@given(layout_pairs(), st.lists(st.integers(1, 7), min_size=3, max_size=3))
def test_verdicts_hold(pair: tuple[Layout, Layout], sizes: list[int]) -> None:
    one, other = pair
    dims = tuple(sizes[: one.rank])
    verdict = compare(one, other)
    here, there = (MemoryDesc(dims, F32, found) for found in pair)
    if verdict.for_all_dims:
        assert here.same_memory(there)
    elif verdict.difference is not None:
        assert verdict.dims is not None
        witnesses = [MemoryDesc(verdict.dims, F32, found) for found in pair]
        offsets = tuple(desc.offset(*verdict.difference.index) for desc in witnesses)
        assert offsets == verdict.difference.offsets
        assert offsets[0] != offsets[1]
    else:
        assert smallest_witness(here, there) is None
        assert not verdict.same_padding


@many(200)
@given(layout_pairs())
def test_merging_is_nothing(pair: tuple[Layout, Layout]) -> None:
    for found in pair:
        assert equal_for_all_dims(found, found)


@pytest.mark.parametrize(
    ("one", "other", "equal"),
    [
        ("aB8b", "aB2b4b", True),
        ("aB8b", "aB4b2b", True),
        ("aB8b", "aB16b", False),
        ("ab", "ba", False),
        ("aB1b", "ab", True),
        ("A8a", "a", False),
        ("ABcd4b16a4b", "ABcd16a16b", False),
    ],
)
def test_equal_for_all_dims(one: str, other: str, equal: bool) -> None:
    assert equal_for_all_dims(layout(one), layout(other)) is equal


def test_flattened_axes_without_blocks_are_the_axes() -> None:
    from layoutc.layout import Digit

    assert equal_for_all_dims(Layout(3, (Digit((0,)), Digit((1, 2)))), layout("abc"))
    assert not equal_for_all_dims(Layout(3, (Digit((0,)), Digit((2, 1)))), layout("abc"))


def test_the_padding_may_differ_alone() -> None:
    verdict = compare(layout("A8a"), layout("a"), (5,))
    assert (verdict.difference, verdict.same_padding) == (None, False)


def test_a_difference_is_searched_for_among_the_first_elements(monkeypatch: pytest.MonkeyPatch) -> None:
    descs = layoutc.desc("ab", (4, 3)), layoutc.desc("{4,3},{5,1}", (4, 3))
    monkeypatch.setattr("layoutc.compare.MAX_ELEMENTS", 3)
    assert first_difference(*descs) == Difference((1, 0), (3, 5))
    for most in (0, 1):
        monkeypatch.setattr("layoutc.compare.MAX_ELEMENTS", most)
        with pytest.raises(LayoutcError, match="too many elements to compare"):
            first_difference(*descs)


def test_different_ranks_are_refused() -> None:
    with pytest.raises(LayoutcError, match=r"rank 1, .* rank 2"):
        compare(layout("a"), layout("ab"))
    with pytest.raises(LayoutcError, match="dims 5 are no sequence of integers"):
        compare(layout("a"), layout("A8a"), 5)  # pyright: ignore[reportArgumentType]
    with pytest.raises(LayoutcError, match="dims"):
        first_difference(layoutc.desc("ab", (2, 3)), layoutc.desc("ab", (3, 2)))


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["nChw16c", "b_fs_yx_fsv16"], "equal for all dims\n"),
        (["nchw", "nhwc", "--dims", "2,1,5,4"], "equal for dims 2,1,5,4, not for all dims\n"),
        (
            ["nchw", "nhwc", "--dims", "2,3,5,4"],
            "different for dims 2,3,5,4\nindex (0, 0, 0, 1) has offset 1 in nchw, 3 in nhwc\n",
        ),
        (["nhwc", "{1,8,3,3},{72,1,24,8}"], "equal for dims 1,8,3,3\n"),
        (["sizes={2,3}, strides={3,1}", "ab", "--dims", "2,3"], "equal for dims 2,3\n"),
        (["memref<2x3xf32>", "ab"], "equal for dims 2,3\n"),
        (["ab", "memref<2x3xf16>"], "equal for dims 2,3\n"),
        (["memref<2x3xf32>", "memref<2x3xf16>"], "equal for dims 2,3; elements are f32 and f16\n"),
        (["BlockingDesc({2,2,16},{0,1,1})", "aB16b", "--dims", "2,17"], "equal for dims 2,17\n"),
        (
            ["BlockingDesc({2,4,16},{0,1,1})", "aB16b", "--dims", "2,17"],
            "different for dims 2,17\nindex (1, 0) has offset 64 in BlockingDesc({2,4,16},{0,1,1}), 32 in aB16b\n",
        ),
        (["memref<f32>", "memref<f16>"], "equal for dims none; elements are f32 and f16\n"),
        (
            ["aB32b", "ab", "--dims", "1099511627776,33"],
            "different for dims 1099511627776,33\nindex (1, 0) has offset 64 in aB32b, 33 in ab\n",
        ),
        (["{2,3},{5,1}", "ab"], "different for dims 2,3\nindex (1, 0) has offset 5 in {2,3},{5,1}, 3 in ab\n"),
    ],
)
def test_explain(arguments: list[str], expected: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", *arguments]) == 0
    assert capsys.readouterr().out == expected


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["memref<2x3xf32>", "memref<4x5xf32>"], "dims (2, 3) differ from the sizes (4, 5) in the text"),
        (["ab", "ab", "--dims", "4"], "dims (4,) have rank 1, layout (a, b) -> (a, b) has rank 2"),
        (["ab", "ab", "--dims", "4,0"], "dims (4, 0) hold 0, expected 1 or more and below 2^63"),
        (["memref<2x3xf32>", "ab", "--dims", "4,5"], "dims (4, 5) differ from the sizes (2, 3) in the text"),
    ],
)
def test_explain_takes_dims_from_texts(arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", *arguments]) == 1
    assert capsys.readouterr().err == f"layoutc: error: {message}\n"
