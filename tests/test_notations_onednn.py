"""oneDNN's tags against what the library answers for every one of them."""

from pathlib import Path

import pytest

from layoutc import notations
from layoutc.descriptor import MemoryDesc
from layoutc.errors import LayoutcError, NotationError
from layoutc.layout import Digit, Layout
from layoutc.notations import onednn, onednn_tags
from tests.faults import check_fault

DATA = Path(__file__).parent / "data"
TAGS = [line.split() for line in Path(onednn.__file__).with_name("onednn_tags.txt").read_text().splitlines()]
NAMES = [name for names in TAGS for name in names]


def integers(text: str) -> tuple[int, ...]:
    return () if text == "-" else tuple(map(int, text.split(",")))


def answers() -> dict[str, tuple[tuple[int, ...], ...]]:
    """Canonical tag -> dims, strides, inner blocks, inner axes, size, as oneDNN gives them."""
    rows = [line.split() for line in (DATA / "onednn_descs.txt").read_text().splitlines() if line[0] != "#"]
    return {tag: tuple(map(integers, values)) for tag, *values in rows}


def test_every_tag_of_the_enum_gives_the_librarys_descriptor():
    expected, right = answers(), 0
    for canonical, *aliases in TAGS:
        for name in (canonical, *aliases):
            dims, strides, blocks, axes, (size,) = expected[canonical]
            desc = MemoryDesc(dims, "f32", onednn.parse(name))  # pyright: ignore[reportArgumentType]
            got = (desc.padded_dims, onednn.strides(desc), onednn.inner_blks(desc), onednn.inner_idxs(desc))
            assert (name, *got, onednn.get_size(desc)) == (name, dims, strides, blocks, axes, size)
            assert desc.size_bytes == size, name  # all are dense: the span is the size
            right += 1
    assert right == 1671


def test_every_tag_formats_as_its_canonical_tag_and_reads_back():
    for canonical, *aliases in TAGS:
        for name in (canonical, *aliases):
            layout = onednn.parse(name)
            assert onednn.format(layout) == canonical
            assert onednn.enum_names(layout) == (canonical, *aliases)


def test_canonical_grammar_and_table_agree_on_all_regular_aliases():
    # Six names do not say what they mean; the table decides.
    irregular = []
    for name in NAMES:
        order = "".join(onednn.parse(name).axis_names)
        head = onednn_tags._head(name).lower()  # pyright: ignore[reportPrivateUsage]
        assert sorted(order) == sorted(head)
        try:
            by_letters = onednn_tags._Tag(name).layout  # pyright: ignore[reportPrivateUsage]
        except NotationError:
            irregular.append(name)
            continue
        if by_letters != onednn.parse(name):
            irregular.append(name)
    assert set(irregular) == {
        "OhwI24o",
        "OhwI32o",
        "gOhwI24o",
        "gOhwI32o",
        "gIOhw2i8o16i2o",
        "gIOdhw2i8o16i2o",
    }


@pytest.mark.parametrize(
    ("tag", "names"),
    [
        ("nChw8c", "n c h w"),
        ("gIOhw2i8o16i2o", "g o i h w"),
        ("io", "o i"),
        ("OhwI24o", "o i h w"),
        ("aBcd5b", "a b c d"),
    ],
)
def test_axis_names_are_the_letters_in_logical_order(tag: str, names: str):
    assert onednn.parse(tag).axis_names == tuple(names.split())


@pytest.mark.parametrize("tag", ["aBcd5b", "AbcdefghijkL3l7a5l", "bcaD7d", "ABcd4a2b3a", "lkjihgfedcba"])
def test_tags_outside_of_the_enum_round_trip(tag: str):
    layout = onednn.parse(tag)
    assert onednn.format(layout) == tag
    assert onednn.enum_names(layout) == ()


def test_letters_of_the_domain_take_any_block():
    assert onednn.parse("nChw5c") == onednn.parse("aBcd5b")
    assert onednn.parse("nhwC24c") == onednn.parse("acdB24b")


def test_the_manuals_nchw8c_formulas():
    n, c, h, w = 2, 17, 5, 4
    padded = 24
    plain, desc = (notations.desc(tag, (n, c, h, w)) for tag in ("nchw", "nChw8c"))
    assert desc.padded_dims == (n, padded, h, w)
    assert onednn.strides(desc) == (padded * h * w, h * w * 8, w * 8, 8)
    assert (onednn.inner_blks(desc), onednn.inner_idxs(desc)) == ((8,), (1,))
    for i, j, k, m in ((0, 0, 0, 0), (1, 16, 4, 3), (1, 7, 2, 1), (0, 8, 0, 0)):
        assert desc.offset(i, j, k, m) == i * padded * h * w + j // 8 * h * w * 8 + k * w * 8 + m * 8 + j % 8
        assert plain.offset(i, j, k, m) == ((i * c + j) * h + k) * w + m
    chwn = notations.desc("chwn", (n, c, h, w))
    assert chwn.offset(1, 2, 3, 1) == 2 * h * w * n + 3 * w * n + 1 * n + 1


def test_get_size_counts_whole_strides_where_the_span_does_not():
    desc = notations.desc("ab", (2, 3), "f32", strides=(10, 1))
    assert (onednn.get_size(desc), desc.size_bytes) == (80, 52)
    assert onednn.get_size(notations.desc("ab", (1, 3), "f32", strides=(10, 1))) == 12
    blocked = notations.desc("aB8b", (1, 3), "s8")
    assert onednn.get_size(blocked) == 8


@pytest.mark.parametrize(
    ("tag", "column", "message"),
    [
        ("nChw16q", 6, "unknown axis 'q', a block names one of n c h w; did you mean nChw16c"),
        ("goIwi4", 4, "axis 'i' appears twice; did you mean goIw4i"),
        ("nChw16C", 6, "a block names its axis in lower case, expected 'c'; did you mean nChw16c"),
        ("nchw16c", 6, "axis 'c' is blocked, its letter in 'nchw' must be upper case; did you mean nChw16c"),
        ("nChw", 1, "upper case 'C' needs a block such as 8c; did you mean nchw"),
        ("ab8b", 3, "axis 'b' is blocked, its letter in 'ab' must be upper case; did you mean aB8b"),
        ("oihw4i", 5, "axis 'i' is blocked, its letter in 'oihw' must be upper case; did you mean oIhw4i"),
        ("ihwO8i", 5, "axis 'i' is blocked, its letter in 'ihwO' must be upper case; did you mean Ihwo8i"),
        ("aBcd0b", 4, "block 0 is outside 1..65536"),
        ("aBcd05b", 4, "block 05 is outside 1..65536"),
        ("aBcd1000000000b", 4, "block 1000000000 is outside 1..65536"),
        ("aBcd" + "9" * 9996, 4, "a block size has 9996 digits, expected at most 18"),
        ("a" * 10_000, 1, "axis 'a' appears twice"),
        ("abcdefghijklmn", 12, "a tag has at most 12 axes"),
        ("aB" + "2b" * 5_000, 1, "the blocks of axis 'b' multiply to more than 65536"),
        ("aBcB8b", 3, "axis 'b' appears twice"),
        ("nChw16", 6, "expected the axis of block 16, one of n c h w"),
        ("nChw16c!", 7, "expected a block size"),
        ("abqd", 2, "unknown axis 'q'"),
        ("abce", 3, "these axes have no known order, expected the letters a b c d"),
        ("", 0, "expected the letter of an axis"),
        ("16c", 0, "expected the letter of an axis"),
    ],
)
def test_faults_are_pointed_at(tag: str, column: int, message: str):
    check_fault(onednn.parse, tag, column, message)


@pytest.mark.parametrize(
    ("layout", "reason"),
    [
        (Layout(1, (Digit((0,)),), align=(8,)), "pads blocked axes only"),
        (Layout(2, (Digit((0, 1), 4), Digit((0, 1), 1, 4))), "no flattened axes"),
        (Layout(1, (Digit((0,), 32), Digit((0,), 1, 4), Digit((0,), 4, 8))), "the most significant first"),
        (Layout(2, (Digit((0,), 2), Digit((0,), 1, 2), Digit((1,)))), "all blocks inside of all axes"),
        (Layout(0, ()), "no tag of rank 0"),
        (Layout(1, (Digit((0,), 1 << 17), Digit((0,), 1 << 8, 1 << 9), Digit((0,), 1, 1 << 8))), "65536 at most"),
    ],
)
def test_layouts_that_no_tag_expresses_are_refused_with_the_reason(layout: Layout, reason: str):
    with pytest.raises(LayoutcError, match=reason):
        onednn.format(layout)
