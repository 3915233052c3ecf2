"""OpenVINO's formats against the offset and size expressions that its kernels were checked with."""

from collections.abc import Callable
from itertools import product
from pathlib import Path

import pytest

from layoutc import notations
from layoutc.errors import LayoutcError, NotationError
from layoutc.layout import Digit, Layout
from layoutc.notations import onednn, openvino

DATA = Path(__file__).parent / "data"
ALIGNED = {"b": 32, "f": 32, "o": 64, "i": 32, "g": 32, "x": 4, "y": 2}
UNALIGNED = {"b": 5, "f": 19, "o": 35, "i": 21, "g": 3, "x": 5, "y": 3}
OTHER_EXTENT = 2


def rows(name: str, separator: str) -> list[list[str]]:
    return [line.split(separator) for line in (DATA / name).read_text().splitlines() if line[0] != "#"]


FORMATS = rows("openvino_offsets.txt", ";")


def compiled(expression: str, letters: str) -> Callable[..., int]:
    """The expression as a function of coordinates and sizes, in the order of `letters`."""
    arguments = ", ".join([*letters, *letters.upper()])
    known = {"cdiv": lambda a, b: -(-a // b), "rup": lambda a, b: -(-a // b) * b}
    return eval(f"lambda {arguments}: {expression}", known)


def sample(dims: tuple[int, ...]) -> list[tuple[int, ...]]:
    """First, last and a few inner indices of every axis, combined: at most 4,000."""
    steps = [sorted({0, 1 % n, n // 2, n - 1}) for n in dims]
    indices = list(product(*steps))
    return indices[:: -(-len(indices) // 4_000)]


@pytest.mark.parametrize("sizes", [ALIGNED, UNALIGNED], ids=["aligned", "unaligned"])
def test_every_affine_format_has_the_kernels_offsets_and_size(sizes: dict[str, int]):
    for name, offset, elements in FORMATS:
        layout = openvino.parse(name)
        letters = "".join(layout.axis_names)
        dims = tuple(sizes.get(letter, OTHER_EXTENT) for letter in letters)
        desc = notations.desc(layout, dims)
        function = compiled(offset, letters)
        for index in sample(dims):
            assert desc.offset(*index) == function(*index, *dims), (name, index)
        assert desc.span == compiled(elements, letters)(*dims, *dims), name
    assert len(FORMATS) == 129


def test_every_format_reads_back_from_its_layout():
    for name in openvino.format_names():
        layout = openvino.parse(name)
        assert openvino.parse(openvino.format(layout)) == layout
    assert len(openvino.format_names()) == 129


def test_every_other_format_is_refused_by_name_with_a_reason():
    refused = openvino.refused_formats()
    assert len(refused) == 143 - 129
    for name, reason in refused.items():
        with pytest.raises(NotationError) as caught:
            notations.read(name)
        assert caught.value.message == f"{name} is not an offset map: {reason}"


def test_the_tags_of_onednn_that_are_the_same_memory():
    found = rows("openvino_tags.txt", " ")
    for name, tag, known in found:
        layout = openvino.parse(name)
        assert onednn.format(layout) == tag
        assert bool(onednn.enum_names(layout)) == (known == "enum"), name
        assert openvino.parse(openvino.format(onednn.parse(tag))) == layout
    assert (len(found), sum(row[2] == "enum" for row in found)) == (116, 91)


def test_the_manuals_listing_of_b_fs_yx_fsv16():
    desc = notations.desc("b_fs_yx_fsv16", (2, 2, 2, 2))
    assert desc.span == 128
    for i in range(128):
        b, y, x, f = i // 64, i // 32 % 2, i // 16 % 2, i % 16
        assert desc.index_of(i) == ((b, f, y, x) if f < 2 else None)
        if f < 2:
            assert desc.offset(b, f, y, x) == i
    assert notations.desc("b_fs_yx_fsv16", (2, 17, 3, 5)).offset(1, 16, 2, 4) == 944


def test_of_two_blocks_of_an_axis_the_first_is_the_more_significant():
    layout = openvino.parse("os_is_yx_osa4_isa8_osv8_isv4")
    assert layout.digits[4:] == (Digit((0,), 8, 4), Digit((1,), 4, 8), Digit((0,), 1, 8), Digit((1,), 1, 4))


def test_a_swizzle_is_another_order_of_digits():
    assert openvino.parse("os_is_yx_osv32_isv4_swizzled_by_2").digits == (
        Digit((0,), 32),
        Digit((1,), 4),
        Digit((2,)),
        Digit((3,)),
        Digit((0,), 1, 2),
        Digit((0,), 2, 16),
        Digit((1,), 1, 4),
    )


def test_weights_names_for_weights_and_data_names_for_data():
    assert notations.translate("Oihw16o", "openvino") == "os_iyx_osv16"
    assert notations.translate("NChw16n16c", "openvino") == "bs_fs_yx_bsv16_fsv16"
    assert notations.translate("OIhw16o16i", "openvino") == "os_is_yx_osv16_isv16"
    assert notations.translate("OIHW", "openvino") == "oiyx"
    assert notations.translate("abcd", "openvino") == "bfyx"
    assert notations.translate("Abcd16a", "openvino") == "os_iyx_osv16"
    with pytest.raises(LayoutcError, match=r"no data format .*; it has os_iyx_osv16, which is not for data"):
        notations.translate("Nchw16n", "openvino")


@pytest.mark.parametrize(
    ("layout", "reason"),
    [
        (Layout.row_major(3), "its formats have ranks 2 4 5 6 7 8"),
        (onednn.parse("nChw5c"), "its blocks are 2 4 8 16 32 64, not 5"),
        (onednn.parse("dbca"), "no format for"),
        (Layout(4, onednn.parse("nChw8c").digits, align=(1, 1, 1, 8)), "no format for"),
    ],
)
def test_layouts_without_a_format_are_refused_with_the_reason(layout: Layout, reason: str):
    with pytest.raises(LayoutcError, match=reason):
        openvino.format(layout)


@pytest.mark.parametrize(
    ("name", "column", "message"),
    [
        ("b_fs_yx_fsv16q", 13, "expected '_' or the end; did you mean b_fs_yx_fsv16"),
        ("b_fs_yx_fv16", 10, "unknown axis '1'"),
        ("b_fs_yx", 2, "slice fs needs a block such as fsv16"),
        ("b_fs_yx_bsv16", 8, "block bsv16 has no slice bs before it"),
        ("b_fs_yx_fsv0", 11, "block 0 is outside 1..65536"),
        ("b_fs_yx_fsv1000000000", 11, "block 1000000000 is outside 1..65536"),
        ("b_fs_yx_fsv", 11, "expected a block size"),
        ("B_FS_YX_FSV16", 0, "unknown axis 'B', expected one of b f o i g v u w z y x; did you mean b_fs_yx_fsv16"),
        ("bfyq", 3, "unknown axis 'q'"),
        ("bfyy", 3, "axis 'y' appears twice"),
        ("oifx", 2, "axis 'f' of data in a weights format"),
        ("b_fs_fsv16_yx", 11, "an axis cannot follow a block"),
        ("b__yx", 3, "expected the alignment of an axis of the name, such as ao32"),
        ("os_i_osv8__af8", 11, "expected the alignment of an axis of the name, such as ao32"),
        ("os_is_yx_osv3_isv4_swizzled_by_2", 19, "the blocks of o do not meet the swizzle"),
        ("os_is_yx_osv32_isv4_swizzled_by_3", 20, "a swizzle reorders 32 output channels"),
        ("bfyx_swizzled_by_2", 5, "only formats that end in isv4 are swizzled"),
        ("os_is_osv32_isv32_swizzled_by_4", 18, "only formats that end in isv4 are swizzled"),
        ("fs_yx" + "_fsv2" * 2000, 86, "the blocks of f multiply to more than 65536"),
        ("x" * 10_000, 1, "axis 'x' appears twice"),
        ("", 0, "expected an axis, a slice such as fs, or a block such as fsv16"),
    ],
)
def test_faults_are_pointed_at(name: str, column: int, message: str):
    with pytest.raises(NotationError) as caught:
        openvino.parse(name)
    assert (caught.value.column, caught.value.message[: len(message)]) == (column, message)
