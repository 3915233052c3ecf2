"""OpenVINO's own queries of a tensor: linear size, bytes, pitches, offsets, reinterpretation; its table of traits."""

from itertools import product
from pathlib import Path

import pytest

import layoutc
from layoutc.descriptor import MemoryDesc
from layoutc.element_type import element_type
from layoutc.errors import LayoutcError
from layoutc.notations.openvino_compatible import compatible
from layoutc.notations.openvino_grammar import FormatName
from layoutc.notations.openvino_sizes import FormatDesc
from layoutc.notations.openvino_traits import default_format, find_format, to_weights_format, traits
from layoutc.split import SplitDesc

DATA = Path(__file__).parent / "data"
TRAITS = [
    line.split(";") for line in (DATA / "openvino_traits.txt").read_text().splitlines() if not line.startswith("#")
]
SIZES = (
    {"b": 5, "f": 19, "o": 35, "i": 21, "g": 3, "x": 5, "y": 3},
    {"b": 32, "f": 32, "o": 64, "i": 32, "g": 32, "x": 4, "y": 2},
)
F32 = element_type("f32")


def tensor(name: str, *dims: int, type: str = "f32", release: str = "2026.4", **padding: tuple[int, ...]) -> FormatDesc:
    return FormatDesc(name, dims, element_type(type), release=release, **padding)  # pyright: ignore[reportArgumentType]


def blocks(text: str) -> tuple[tuple[int, int], ...]:
    pairs = (pair.split(":") for pair in text.split())
    return tuple((int(axis), int(size)) for axis, size in pairs)


@pytest.mark.parametrize("row", TRAITS, ids=lambda row: row[0])
def test_the_traits_of_every_linear_format(row: list[str]):
    name, order, dims_order, block_sizes, logic_block_sizes, _ = row
    found = traits(name)
    assert (found.order, found.dims_order) == (order, tuple(map(int, dims_order)))
    assert (found.block_sizes, found.logic_block_sizes) == (blocks(block_sizes), blocks(logic_block_sizes))


@pytest.mark.parametrize("row", TRAITS, ids=lambda row: row[0])
def test_get_linear_size_is_wrong_for_the_formats_for_which_openvinos_is(row: list[str]):
    name, *_, right = row
    descs = [tensor(name, *(sizes.get(letter, 2) for letter in FormatName(name).axes)) for sizes in SIZES]
    assert all(desc.get_linear_size() == desc.memory.span for desc in descs) == (right == "yes")


def test_the_rows_are_133():
    assert len(TRAITS) == 133


@pytest.mark.parametrize(("release", "channels"), [("2018", 24), ("2021.4", 24), ("2022", 32), ("2026.4", 32)])
def test_up_to_2021_each_block_is_rounded_up_to_on_its_own(release: str, channels: int):
    # 19 channels in blocks of 8 and 4 take one of 32; rounded up to 8 and then to 4 they are 24.
    assert tensor("os_is_yx_isa8_osv8_isv4", 40, 19, 1, 8, release=release).get_linear_size() == 40 * channels * 8


@pytest.mark.parametrize(
    ("name", "dims", "elements"),
    [
        ("bf8_xy16", (2, 9, 3, 7), 2 * 16 * 32),
        ("byxf_af32", (2, 9, 3, 7), 2 * 32 * 21),
        ("byx8_f4", (2, 9, 3, 7), 2 * 12 * 3 * 8),
        ("os_is_y_x8_osv8_isv4", (9, 5, 3, 7), 16 * 8 * 3 * 8),
        ("is_o32_yx_isv32_swizzled_by_4", (9, 5, 3, 7), 32 * 32 * 21),
        ("os_is_osv32_isv32_swizzled_by_4", (33, 5), 64 * 32),
    ],
)
def test_sizes_of_older_formats(name: str, dims: tuple[int, ...], elements: int):
    desc = tensor(name, *dims, release="2020.3")
    assert desc.get_linear_size() == elements == desc.memory.span


@pytest.mark.parametrize(
    ("name", "dims", "bits"),
    [("b_fs_yx_32fp", (2, 33, 3, 5), 2 * 64 * 15), ("os_is_yx_osv32_isv32p", (33, 5, 3, 5), 64 * 32 * 15)],
)
def test_packed_bits_are_counted_in_words(name: str, dims: tuple[int, ...], bits: int):
    desc = tensor(name, *dims, release="2022")
    assert desc.memory.span == bits
    assert desc.get_linear_size() == bits // 32
    assert desc.bytes_count() == bits // 8


@pytest.mark.parametrize(("type", "size"), [("f32", 3840), ("f16", 1920), ("u4", 480), ("u2", 240)])
def test_bytes_count_is_that_of_the_packed_elements(type: str, size: int):
    assert tensor("b_fs_yx_fsv16", 2, 17, 3, 5, type=type).bytes_count() == size
    assert tensor("bfyx", 1, 1, 1, 3, type="u4").bytes_count() == 2


def test_pitches_know_no_blocks():
    assert tensor("byxf", 2, 3, 4, 5).get_pitches() == (60, 1, 15, 3)
    assert tensor("b_fs_yx_fsv16", 2, 17, 3, 5).get_pitches() == (255, 15, 5, 1)
    padded = tensor("bfyx", 2, 3, 4, 5, lower=(0, 0, 1, 2), upper=(0, 1, 0, 3))
    assert padded.get_pitches() == (4 * 5 * 10, 5 * 10, 10, 1)


def test_the_first_element_of_a_planar_tensor_is_past_its_lower_padding():
    desc = tensor("bfyx", 2, 3, 4, 5, lower=(0, 1, 1, 2), upper=(1, 1, 0, 3))
    pitches = desc.get_pitches()
    assert desc.get_linear_offset() == pitches[1] + pitches[2] + 2
    assert desc.get_linear_offset((0, -1, -1, -2)) == 0
    assert desc.get_linear_offset((2, 3, 3, 7)) == desc.get_linear_size() - 1 == desc.memory.span - 1


def test_a_lower_padding_of_features_need_not_be_whole_blocks():
    desc = tensor("b_fs_yx_fsv16", 1, 20, 1, 2, lower=(0, 5), upper=(0, 8))
    assert desc.get_linear_size() == 48 * 2
    assert desc.get_linear_offset((0, 11)) == 32
    assert desc.get_linear_offset() == 5


@pytest.mark.parametrize("element", [(0, 0, 0, -3), (0, 0, 0, 8), (2, 0, 0, 0), (0, -1, 0, 0)])
def test_an_element_past_the_padding_is_refused_in_openvinos_words(element: tuple[int, ...]):
    desc = tensor("bfyx", 2, 3, 4, 5, lower=(0, 0, 0, 2), upper=(0, 0, 0, 3))
    message = "^Requested to calculate linear offset for an element which lies outside of the buffer range.$"
    with pytest.raises(LayoutcError, match=message):
        desc.get_linear_offset(element)


def test_the_offsets_are_those_of_the_memory():
    desc = tensor("b_fs_yx_fsv16", 2, 17, 3, 5)
    assert desc.get_linear_offset((1, 16, 2, 4)) == 944
    assert desc.get_linear_size() == 960
    odd = tensor("iy_xs_os_xsv2_osv8__ao32", 3, 2, 2, 3)
    assert isinstance(odd.memory, SplitDesc)
    assert [odd.get_linear_offset((2, 1, 1, x)) for x in range(3)] == [386, 394, 450]


def test_a_descriptor_back_from_memory():
    desc = layoutc.desc("b_fs_yx_fsv16", (2, 17, 3, 5), "f16", low=(0, 0, 1, 1), high=(0, 0, 1, 1))
    found = FormatDesc.of(desc)
    assert (found.format, found.lower, found.upper) == ("b_fs_yx_fsv16", (0, 0, 1, 1), (0, 0, 1, 1))
    assert found.memory == desc
    with pytest.raises(LayoutcError, match="no strides or offset"):
        FormatDesc.of(layoutc.desc("bfyx", (1, 2, 3, 4), strides=(24, 12, 5, 1)))


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("nv12", "missing in fmt traits: nv12"),
        ("winograd_2x3_s1_data", "missing in fmt traits: winograd_2x3_s1_data"),
        ("oiyx_o16", "OpenVINO 2026.4 has no format oiyx_o16"),
        ("bfxyz", "OpenVINO has no format bfxyz"),
    ],
)
def test_a_format_that_is_no_linear_memory_of_the_release_is_refused(name: str, message: str):
    with pytest.raises(LayoutcError, match=message):
        tensor(name, 1, 2, 3, 4)


# --- reinterpretation ------------------------------------------------------------------------------------------------

TO_WEIGHTS = {
    "bfyx": "oiyx",
    "fbyx": "ioyx",
    "fyxb": "iyxo",
    "byxf": "oyxi",
    "byfx": "oyix",
    "bxfy": "oxiy",
    "yxfb": "yxio",
    "bfzyx": "oizyx",
    "b_fs_yx_fsv4": "o_is_yx_isv4",
    "b_fs_yx_fsv16": "o_is_yx_isv16",
    "bs_fs_fsv8_bsv8": "os_i_osv8__ai8",
}


@pytest.mark.parametrize(("data", "weights"), TO_WEIGHTS.items())
def test_data_read_as_weights(data: str, weights: str):
    desc = tensor(data, *(5, 19, 3, 4, 2)[: len(traits(data).order)])
    read = desc.to_weights()
    assert read.format == weights
    assert isinstance(desc.memory, MemoryDesc)
    assert isinstance(read.memory, MemoryDesc)
    assert desc.memory.same_memory(read.memory)


def test_grouped_weights_and_refusals():
    assert to_weights_format("bfzyx", is_grouped=True) == "goiyx"
    assert to_weights_format("bfwzyx", is_grouped=True) == "goizyx"
    assert to_weights_format("oiyx") == "oiyx"
    with pytest.raises(LayoutcError, match="bfwzyx can't be non-grouped"):
        to_weights_format("bfwzyx")
    with pytest.raises(LayoutcError, match=r"^Unable to convert data format bs_f_bsv16 to weights format$"):
        to_weights_format("bs_f_bsv16")


def test_default_formats():
    assert [default_format(rank) for rank in range(2, 9)] == [
        *("bfyx",) * 3,
        "bfzyx",
        "bfwzyx",
        "bfuwzyx",
        "bfvuwzyx",
    ]
    assert [default_format(rank, is_weights=True) for rank in (4, 5)] == ["oiyx", "oizyx"]
    assert [default_format(rank, True, is_grouped=True) for rank in (5, 6)] == ["goiyx", "goizyx"]
    with pytest.raises(LayoutcError, match="no default format of grouped weights of rank 4, expected one of 5 6"):
        default_format(4, True, True)
    with pytest.raises(LayoutcError, match="of data of rank 9"):
        default_format(9)


def test_find_format():
    assert find_format((0, 1, 2, 3), ((1, 16),)) == "b_fs_yx_fsv16"
    assert find_format((0, 1, 2, 3), ((1, 16), (0, 16)), is_weights=True) == "os_is_yx_isv16_osv16"
    with pytest.raises(LayoutcError, match=r"^\[GPU\] Cannot find a format with the specified parameters$"):
        find_format((0, 1, 2, 3), ((1, 3),))
    with pytest.raises(
        LayoutcError, match="parameters are ambiguous: os_is_yx_osv32_isv2 os_iyx_osv32 os_iyx_osv32__ai32"
    ):
        find_format((0, 1, 2, 3), ((0, 32),), is_weights=True)


def test_find_format_finds_every_format_or_says_that_it_is_one_of_several():
    found = 0
    for name, *_ in TRAITS:
        known = traits(name)
        try:
            assert find_format(known.dims_order, known.block_sizes, known.is_weights, known.is_grouped) == name
            found += 1
        except LayoutcError as error:
            assert name in str(error).partition("ambiguous: ")[2].split()
    assert found > 100


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        (tensor("bfyx", 2, 3, 4, 5), tensor("bfyx", 2, 3, 4, 5), True),
        (tensor("bfyx", 2, 3, 4, 5), tensor("bfzyx", 2, 3, 1, 4, 5), True),
        (tensor("bfyx", 2, 3, 4, 5), tensor("bfyx", 2, 3, 4, 5, type="f16"), False),
        (tensor("bfyx", 2, 3, 4, 5), tensor("byxf", 2, 3, 4, 5), False),
        (tensor("bfyx", 1, 32, 1, 1), tensor("b_fs_yx_fsv16", 1, 32, 1, 1), True),
        (tensor("bfyx", 1, 33, 1, 1), tensor("b_fs_yx_fsv16", 1, 33, 1, 1), False),
        (tensor("bfyx", 4, 32, 1, 1), tensor("b_fs_yx_fsv16", 4, 32, 1, 1), True),
        (tensor("byxf", 2, 16, 4, 5), tensor("b_fs_yx_fsv16", 2, 16, 4, 5), True),
        (tensor("byxf", 2, 32, 4, 5), tensor("b_fs_yx_fsv16", 2, 32, 4, 5), False),
        (tensor("b_fs_yx_fsv16", 2, 32, 4, 5), tensor("b_fs_yx_fsv32", 2, 32, 4, 5), False),
        (tensor("b_fs_yx_fsv16", 1, 32, 1, 1), tensor("b_fs_yx_fsv32", 1, 32, 1, 1), True),
        (tensor("b_fs_yx_fsv16", 1, 20, 1, 1), tensor("b_fs_yx_fsv32", 1, 20, 1, 1), False),
        (tensor("b_fs_yx_fsv16", 5, 19, 3, 4), tensor("o_is_yx_isv16", 5, 19, 3, 4), False),
        (tensor("byxf", 5, 19, 3, 4), tensor("oyxi", 5, 19, 3, 4), True),
        (tensor("bfyx", 2, 3, 4, 5, lower=(0, 0, 1, 0)), tensor("bfyx", 2, 3, 4, 5, upper=(0, 0, 1, 0)), False),
        (tensor("bfyx", 2, 3, 4, 5, lower=(1, 0, 0, 0)), tensor("bfyx", 2, 3, 4, 5, lower=(1, 0, 0, 0)), True),
        (tensor("bfyx", 2, 3, 1, 1), tensor("bfxy", 2, 3, 1, 1), True),
    ],
    ids=lambda value: value if isinstance(value, bool) else value.format,
)
def test_compatible(one: FormatDesc, other: FormatDesc, expected: bool):
    assert compatible(one, other) == compatible(other, one) == expected


def test_compatible_planar_formats_hold_the_elements_in_the_same_order():
    one, other = tensor("bfyx", 2, 3, 4, 5), tensor("bfzyx", 2, 3, 4, 1, 5)
    offsets = [[d.memory.offset(*index) for index in product(*map(range, d.dims))] for d in (one, other)]
    assert compatible(one, other)
    assert offsets[0] == offsets[1]
