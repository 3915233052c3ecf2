"""OpenVINO's formats against the offset and size expressions that its kernels were checked with."""

from collections.abc import Callable
from itertools import product
from pathlib import Path

import pytest

import layoutc
from layoutc import notations
from layoutc.errors import LayoutcError, NotationError
from layoutc.layout import Digit, Layout
from layoutc.notations import onednn, openvino
from layoutc.notations.openvino_formats import Format, formats
from layoutc.notations.openvino_grammar import FormatName
from layoutc.split import SplitDesc
from tests.faults import check_fault

DATA = Path(__file__).parent / "data"
ALIGNED = {"b": 32, "f": 32, "o": 64, "i": 32, "g": 32, "x": 4, "y": 2}
UNALIGNED = {"b": 5, "f": 19, "o": 35, "i": 21, "g": 3, "x": 5, "y": 3}
SMALL = {"b": 3, "f": 5, "o": 9, "i": 5, "g": 2, "x": 3, "y": 2}
SIZES = {"aligned": ALIGNED, "unaligned": UNALIGNED, "small": SMALL}
OTHER_EXTENT = 2

FUNCTIONS = {"cdiv": lambda a, b: -(-a // b), "rup": lambda a, b: -(-a // b) * b}  # pyright: ignore[reportUnknownLambdaType]


def rows(name: str, separator: str) -> list[list[str]]:
    return [line.split(separator) for line in (DATA / name).read_text().splitlines() if line[0] != "#"]


FORMATS = rows("openvino_offsets.txt", ";")


def compiled(expression: str, letters: str) -> Callable[..., int]:
    """The expression as a function of coordinates and sizes, in the order of `letters`."""
    return eval(f"lambda {', '.join([*letters, *letters.upper()])}: {expression}", dict(FUNCTIONS))


def sample(dims: tuple[int, ...]) -> list[tuple[int, ...]]:
    """First, last and a few inner indices of every axis, combined: at most 4,000."""
    steps = [sorted({0, 1 % n, n // 2, n - 1}) for n in dims]
    indices = list(product(*steps))
    return indices[:: -(-len(indices) // 4_000)]


def dims_of(format: Format, sizes: dict[str, int]) -> tuple[int, ...]:
    """Sizes of a format's axes; those that come in whole blocks rounded up to 16."""
    letters = FormatName(format.reads).axes
    dims = [sizes.get(letter, OTHER_EXTENT) for letter in letters]
    return tuple(-(-n // 16) * 16 if letter in format.whole else n for letter, n in zip(letters, dims, strict=True))


@pytest.mark.parametrize("sizes", SIZES)
@pytest.mark.parametrize(("name", "offset", "elements"), FORMATS, ids=[row[0] for row in FORMATS])
def test_every_format_has_the_kernels_offsets_and_size(name: str, offset: str, elements: str, sizes: str):
    letters, dims = FormatName(formats()[name].reads).axes, dims_of(formats()[name], SIZES[sizes])
    desc = openvino.describe(name, dims)
    function = compiled(offset, letters)
    indices = list(product(*map(range, dims))) if sizes == "small" else sample(dims)
    offsets = [desc.offset(*index) for index in indices]
    assert offsets == [function(*index, *dims) for index in indices]
    assert max(offsets) < desc.span
    if elements:
        assert desc.span == compiled(elements, letters)(*dims, *dims)


def test_the_rows_are_all_of_137_linear_formats_and_all_older_ones():
    known = {name for name, _, _ in FORMATS}
    current = {f.name for f in formats().values() if f.is_current}
    older = formats().keys() - current
    assert (len(current), len(known & current), len(older)) == (143, 137, 57)
    assert older == (known - current) | {name for name, _, _ in rows("openvino_aliases.txt", " ")}


def test_desc_is_what_describe_says_where_one_descriptor_holds_it():
    for name, _, _ in FORMATS:
        described = openvino.describe(name, dims := dims_of(formats()[name], UNALIGNED))
        if isinstance(described, SplitDesc) or formats()[name].reason:
            with pytest.raises(LayoutcError, match=r"openvino\.describe"):
                layoutc.desc(f"openvino:{name}", dims)
        else:
            assert layoutc.desc(f"openvino:{name}", dims) == described


def test_older_names_of_todays_formats():
    for name, now, release in rows("openvino_aliases.txt", " "):
        assert openvino.parse(name) == openvino.parse(now) == openvino.parse(f"{name}@{release}")
        assert openvino.parse(name, release=release) == openvino.parse(now)
    lied = openvino.parse("is_os_yx_osv16_isv16@2020.3")
    assert lied.inner_blocks == ((1, 16), (0, 16))


@pytest.mark.parametrize(
    ("text", "column", "message"),
    [
        (
            "os_i_yxs_osv4_yxsv4@2020.3",
            20,
            "OpenVINO 2020.3 has no format os_i_yxs_osv4_yxsv4, which is in 2021.4 to 2022",
        ),
        ("oiyx_o16@2026", 9, "OpenVINO 2026.4 has no format oiyx_o16, which is in 2019.3"),
        ("bfyx@1999", 5, "unknown OpenVINO release '1999', expected one of 2018 2019.3 2020.3 2021.4 2022 2026.4"),
        ("bfyx@", 5, "unknown OpenVINO release ''"),
        ("b_fs_yx_fsv15@2022", 0, "OpenVINO has no format b_fs_yx_fsv15; did you mean b_fs_yx_fsv16"),
        ("b_fs_yx_fsv16@2019.3", 14, "OpenVINO 2019.3 has no format b_fs_yx_fsv16, which is in 2020.3 to 2026.4"),
    ],
)
def test_a_release_reads_its_own_names_only(text: str, column: int, message: str):
    check_fault(openvino.parse, text, column, message)


@pytest.mark.parametrize("text", ["b_fs_yx_fsv16@1999", "b_fs_yx_fsv16@2018"])
def test_a_format_of_another_release_is_no_misspelt_one(text: str):
    with pytest.raises(NotationError) as caught:
        openvino.parse(text)
    assert "did you mean" not in caught.value.message


@pytest.mark.parametrize("release", ["2026", "2026.4", "2026.4.1"])
def test_a_release_is_a_year_or_a_version(release: str):
    assert openvino.parse("bfyx", release) == openvino.parse("bfyx")


def test_a_border_is_the_same_map_on_shifted_coordinates_of_larger_sizes():
    for name, offset, _ in FORMATS:
        found = formats()[name]
        if found.reason or found.no_border or found.ignores:
            continue
        letters, dims = FormatName(found.reads).axes, dims_of(found, SMALL)
        low = tuple((axis * 3 + 1) % 5 for axis in range(len(dims)))
        high = tuple(axis % 3 for axis in range(len(dims)))
        desc = openvino.describe(name, dims, low=low, high=high)
        padded = [below + size + above for below, size, above in zip(low, dims, high, strict=True)]
        function = compiled(offset, letters)
        for index in sample(dims):
            assert desc.offset(*index) == function(
                *(i + below for i, below in zip(index, low, strict=True)), *padded
            ), name


def test_every_older_name_reads_back_from_its_layout():
    for found in formats().values():
        if not (found.reason or found.last_x or found.ignores):
            layout = openvino.parse(found.name)
            assert openvino.parse(openvino.format(layout)) == layout
    assert openvino.format(openvino.parse("os_is_yx_osv8_isv2")) == "os_is_yx_osv8_isv2@2022"
    assert openvino.format(openvino.parse("b_fs_yx_32fp")) == "b_fs_yx_fsv32"


def test_grouped_weights_of_five_axes_have_a_grouped_format():
    assert notations.translate("goihw", to="openvino") == "goiyx"
    assert notations.translate("OIDHW", to="openvino") == "oizyx"


def test_a_descriptor_with_what_no_name_has_is_refused():
    desc = layoutc.desc("bfyx", (1, 2, 3, 4), low=(0, 0, 1, 1))
    with pytest.raises(LayoutcError, match="an OpenVINO format's name has no border"):
        openvino.format_desc(desc)


def test_every_format_is_the_name_of_its_layout():
    for name in openvino.format_names():
        assert openvino.format(openvino.parse(name)) == name
    assert len(openvino.format_names()) == 129


def test_every_format_without_a_layout_is_refused_by_name_with_the_reason():
    refused = openvino.refused_formats()
    assert sum(not formats()[name].is_linear for name in refused) == 6
    assert sum(formats()[name].is_linear for name in refused) == 4
    for name, reason in refused.items():
        with pytest.raises(NotationError) as caught:
            notations.read(name)
        assert caught.value.message.startswith(f"{name} is not an offset map: {reason}")
        if not formats()[name].is_linear:
            with pytest.raises(NotationError):
                openvino.describe(name, (1, 2, 3, 4))


def test_the_tags_of_onednn_that_are_the_same_memory():
    found = rows("openvino_tags.txt", " ")
    for name, tag, known in found:
        layout = openvino.parse(name)
        assert onednn.format(layout) == tag
        assert bool(onednn.enum_names(layout)) == (known == "enum"), name
        assert openvino.parse(openvino.format(onednn.parse(tag))) == layout
    assert (len(found), sum(row[2] == "enum" for row in found)) == (116, 91)


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
        ("bfyx_swizzled_by_2", 5, "a swizzle reorders 32 output channels"),
        ("byxf__ax8__ax4", 11, "axis 'x' is aligned twice"),
        ("byxf__ax8__", 11, "expected the alignment of an axis of the name"),
        ("bfyx__ax8q", 9, "expected '_' or the end"),
        ("fs_yx" + "_fsv2" * 2000, 86, "the blocks of f multiply to more than 65536"),
        ("x" * 10_000, 1, "axis 'x' appears twice"),
        ("", 0, "expected an axis, a slice such as fs, or a block such as fsv16"),
    ],
)
def test_faults_are_pointed_at(name: str, column: int, message: str):
    check_fault(openvino.parse, name, column, message)
