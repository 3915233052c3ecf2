"""`layoutc describe` and `layoutc translate`: what they print."""

from __future__ import annotations

import json
from itertools import product
from typing import Any

import pytest

from layoutc import notations
from layoutc.affine_text import offset_text
from layoutc.descriptor import MemoryDesc
from layoutc.layout import Layout
from layoutc.tools.layoutc import main
from layoutc.tools.memory_order import listing, places

Capture = pytest.CaptureFixture[str]

DESCRIPTORS = [
    notations.desc("nchw", (2, 3, 2, 2)),
    notations.desc("nhwc", (2, 3, 2, 2)),
    notations.desc("nChw8c", (2, 17, 2, 3)),
    notations.desc("OIhw4i16o4i", (17, 18, 1, 2)),
    notations.desc("nchw", (2, 2, 3, 2), strides=(40, 20, 5, 2), offset=7),
    notations.desc("nchw", (2, 2, 3, 2), strides=(2, 4, 8, 24)),
    notations.desc("nchw", (2, 2, 3, 2), strides=(0, 6, 2, 1)),
    notations.desc("nChw8c", (1, 7, 3, 2), low=(0, 1, 2, 0), high=(0, 0, 1, 1)),
    notations.desc("a", (1,)),
    MemoryDesc((), notations.desc("a", (1,)).element_type, Layout.row_major(0)),
]


def printed(capsys: Capture, *arguments: str) -> str:
    assert main(arguments) == 0
    return capsys.readouterr().out


def described(capsys: Capture, *arguments: str) -> dict[str, Any]:
    return json.loads(printed(capsys, "describe", "--json", *arguments))


@pytest.mark.parametrize("desc", DESCRIPTORS, ids=str)
def test_places_come_by_offset_and_each_position_once(desc: MemoryDesc) -> None:
    found = list(places(desc, 10**9))
    assert [place.offset for place in found] == sorted(place.offset for place in found)
    assert sorted(place.digits for place in found) == sorted(product(*map(range, desc.physical_shape)))


@pytest.mark.parametrize("desc", DESCRIPTORS, ids=str)
def test_places_agree_with_the_offset_of_every_logical_index(desc: MemoryDesc) -> None:
    offsets = {place.index: place.offset for place in places(desc, 10**9)}
    indices = list(product(*map(range, desc.dims)))
    assert [offsets[index] for index in indices] == [desc.offset(*index) for index in indices]


@pytest.mark.parametrize("desc", DESCRIPTORS, ids=str)
def test_the_offset_text_is_the_offset(desc: MemoryDesc) -> None:
    text = offset_text(desc).replace("floordiv", "//").replace("mod", "%")
    for index in product(*map(range, desc.dims)):
        assert eval(text, dict(zip(desc.layout.axis_names, index, strict=True))) == desc.offset(*index)


@pytest.mark.parametrize("desc", DESCRIPTORS, ids=str)
def test_padding_elements_are_what_is_neither_data_nor_border(desc: MemoryDesc) -> None:
    low, high = (border or (0,) * desc.rank for border in (desc.low, desc.high))
    past = 0
    for place in places(desc, 10**9):
        bounds = zip(place.index, desc.dims, low, high, strict=True)
        inside = [(-below <= i < n + above, 0 <= i < n) for i, n, below, above in bounds]
        is_border = any(b and not d for b, d in inside) and not all(b for b, _ in inside)
        past += not all(b for b, _ in inside) and not is_border
    assert desc.padding_elements == past


def test_describe_says_the_seed_formula_and_its_padding(capsys: Capture) -> None:
    facts = described(capsys, "nChw8c", "--dims", "2,17,5,4")
    assert facts["offset_map"] == "n * 480 + (c floordiv 8) * 160 + h * 32 + w * 8 + c mod 8"
    assert facts["padded_dims"] == [2, 24, 5, 4]
    assert facts["physical_shape"] == [2, 3, 5, 4, 8]
    assert facts["inner_blocks"] == [{"axis": "c", "block": 8}]
    assert (facts["elements"], facts["block_padding"], facts["size_bytes"]) == (680, 280, 3840)
    assert facts["names"]["openvino"] == "b_fs_yx_fsv8"


def test_a_blocked_listing_is_whole_up_to_256_places(capsys: Capture) -> None:
    lines = printed(capsys, "describe", "b_fs_yx_fsv16", "--dims", "2,2,2,2").split("memory order:\n")[1].splitlines()
    assert len(lines) == 128
    assert lines[17] == "i = 17 => [b=0; f=1; y=0; x=1] == [b=0; fs=0; y=0; x=1; fsv=1];"
    assert lines[127] == "i = 127 => [b=1; f=15; y=1; x=1] == [b=1; fs=0; y=1; x=1; fsv=15];"


def test_a_plain_listing_names_the_axes_alone(capsys: Capture) -> None:
    lines = printed(capsys, "describe", "bfyx", "--dims", "2,2,2,2").split("memory order:\n")[1].splitlines()
    assert lines[1] == "i = 1 => [b=0; f=0; y=0; x=1];"
    assert len(lines) == 16


@pytest.mark.parametrize(("lines", "expected"), [(None, 16 + 2), (0, 2), (3, 3 + 2), (960, 960), (10**9, 960)])
def test_how_much_of_a_long_listing_is_shown(lines: int | None, expected: int) -> None:
    assert len(list(listing(notations.desc("nChw8c", (2, 17, 5, 4)), lines))) == expected


def test_a_huge_tensor_is_described_at_once(capsys: Capture) -> None:
    facts = described(capsys, "nChw8c", "--dims", "1000000,1000001,100,100", "--dtype", "u8")
    assert facts["size_bytes"] == 10**6 * 1000008 * 10**4
    assert facts["memory_order"]["last"]["offset"] == facts["size_bytes"] - 1


def test_describe_without_dims_says_what_the_layout_alone_says(capsys: Capture) -> None:
    facts = described(capsys, "nChw8c")
    assert facts["layout"] == "(n, c, h, w) -> (n, c floordiv 8, h, w, c mod 8)"
    assert not {"dims", "size_bytes", "memory_order"} & facts.keys()


def test_describe_takes_strides_offset_and_border(capsys: Capture) -> None:
    given = ["--strides", "100,30,5,1", "--offset", "3", "--low", "0,0,1,0", "--high", "0,0,0,2"]
    facts = described(capsys, "nchw", "--dims", "2,2,2,2", "--dtype", "s8", *given)
    assert facts["offset_map"] == "n * 100 + c * 30 + (h + 1) * 5 + w + 3"
    assert (facts["low"], facts["high"], facts["dense"]) == ([0, 0, 1, 0], [0, 0, 0, 2], False)
    assert facts["size_bytes"] == 3 + 100 + 30 + 2 * 5 + 3 + 1


def test_describe_takes_an_alignment(capsys: Capture) -> None:
    facts = described(capsys, "nchw", "--dims", "2,17,5,4", "--align", "1,8,1,1")
    assert (facts["align"], facts["padded_dims"], facts["block_padding"]) == ([1, 8, 1, 1], [2, 24, 5, 4], 280)


def test_a_text_with_sizes_needs_no_dims(capsys: Capture) -> None:
    facts = described(capsys, "{2,3},{5,1}")
    assert (facts["dims"], facts["strides"], facts["size_bytes"]) == ([2, 3], [5, 1], 4 * (5 + 2 + 1))


def test_translate_prints_one_name_or_all(capsys: Capture) -> None:
    assert printed(capsys, "translate", "nChw16c", "--to", "openvino") == "b_fs_yx_fsv16\n"
    names = json.loads(printed(capsys, "translate", "nChw16c", "--json"))
    assert names["openvino"] == "b_fs_yx_fsv16"
    assert names["onednn"] == "aBcd16b"
    assert "directml" not in names


def test_translate_with_dims_names_one_tensor(capsys: Capture) -> None:
    text = printed(capsys, "translate", "nChw8c", "--to", "ie", "--dims", "2,17,5,4")
    assert text == "BlockingDesc({2,3,5,4,8}, {0,1,2,3,1})\n"


@pytest.mark.parametrize("arguments", [["--help"], *([name, "--help"] for name in ("describe", "translate"))])
def test_help_is_printed_and_status_is_0(capsys: Capture, arguments: list[str]) -> None:
    assert "Usage: layoutc" in printed(capsys, *arguments)
