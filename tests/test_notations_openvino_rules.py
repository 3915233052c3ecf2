"""OpenVINO's rules beyond the name: trailing ones, 4-bit weights, an odd x, borders, formats of transformed values."""

from collections.abc import Callable
from itertools import product
from typing import Any

import pytest

import layoutc
from layoutc.errors import LayoutcError, NotationError
from layoutc.notations import openvino
from layoutc.notations.openvino_grammar import FormatName
from layoutc.split import SplitDesc


def compiled(expression: str) -> Callable[..., int]:
    """The expression as a function of o, i and their sizes."""
    known = {"cdiv": lambda a, b: -(-a // b), "rup": lambda a, b: -(-a // b) * b}  # pyright: ignore[reportUnknownLambdaType]
    return eval(f"lambda o, i, O, I: {expression}", known)


def test_a_lower_rank_is_completed_with_trailing_ones():
    assert layoutc.desc("openvino:bfyx", (2, 3)).dims == (2, 3, 1, 1)
    assert layoutc.desc("b_fs_zyx_fsv16", (2, 3, 4), low=(0, 0, 1)).low == (0, 0, 1, 0, 0)
    assert layoutc.desc("openvino:goiyx", (2, 3, 4)).dims == (2, 3, 4, 1, 1)
    assert layoutc.desc("bfyx", ()).dims == (1, 1, 1, 1)
    assert layoutc.desc("openvino:iy_xs_os_xsv2_osv8__ao32", (5, 3)).dims == (5, 3, 1, 1)
    assert openvino.describe("winograd_2x3_s1_data", (2, 3)).dims == (2, 3, 1, 1)
    with pytest.raises(LayoutcError, match="have rank 5"):
        layoutc.desc("bfyx", (1, 2, 3, 4, 5))
    with pytest.raises(LayoutcError, match="have rank 2"):
        layoutc.desc("onednn:abcd", (2, 3))


@pytest.mark.parametrize("border", [(1, 1), (1, 1, 1), (1,) * 5])
@pytest.mark.parametrize("side", ["low", "high"])
def test_a_border_has_an_entry_per_axis_of_the_dims(side: str, border: tuple[int, ...]):
    given: dict[str, Any] = {side: border}
    message = f"{side} border .* has rank {len(border)}, .* has rank 4"
    for name in ("bfyx", "b_fs_yx_fsv16", "os_is_yx_osa4_isa8_osv8_isv4_swizzled_by_4"):
        with pytest.raises(LayoutcError, match=message):
            layoutc.desc(name, (1, 2, 3, 4), **given)
        with pytest.raises(LayoutcError, match=message):
            openvino.describe(name, (1, 2, 3, 4), **given)


# The formulas of the kernel that packs 4-bit weights, in 4-bit units; o and i of 1x1 kernels.
NARROW = {
    "os_is_yx_osv32_isv2": ("((o//32*cdiv(I,2)+i//2)*32+o%32)*2+i%2", "rup(O,32)*rup(I,2)"),
    "os_is_yx_osv64_isv2": ("((o//64*cdiv(I,2)+i//2)*64+o%64)*2+i%2", "rup(O,64)*rup(I,2)"),
    "os_iyx_osv16": ("((o//16*cdiv(I,2)+i//2)*16+o%16)*2+i%2", "rup(O,16)*rup(I,2)"),
    "os_iyx_osv32": ("(o//32*I+i)*32+(o%16)*2+(o%32)//16", "rup(O,32)*I"),
    "os_iyx_osv64": (
        "((((o//32)*16+o%16)//32*I+i)*32+((o//32)*16+o%16)%32)*2+(o%32)//16",
        "rup(O,64)*I",
    ),
    "oiyx": ("o*I+i", "O*I"),
}


@pytest.mark.parametrize("elements", ["u4", "s4"])
@pytest.mark.parametrize("name", NARROW)
def test_4_bit_weights_have_layouts_of_their_own(name: str, elements: str):
    offset, size = (compiled(expression) for expression in NARROW[name])
    for o, i in [(64, 32), (128, 2), (35, 21), (1, 1), (100, 6)]:
        desc = layoutc.desc(name, (o, i), elements)
        for index in product(range(o), range(i)):
            assert desc.offset(*index, 0, 0) == offset(*index, o, i)
        assert desc.span == size(o, i, o, i)
        assert desc.is_injective


def test_4_bit_weights_are_packed_for_1x1_kernels_only():
    assert layoutc.desc("os_iyx_osv32", (64, 3, 3, 3), "u8").layout == openvino.parse("os_iyx_osv32")
    with pytest.raises(LayoutcError, match="os_iyx_osv32 holds 4-bit weights of 1x1 kernels only, got 3x3"):
        layoutc.desc("os_iyx_osv32", (64, 3, 3, 3), "u4")


def test_the_name_of_4_bit_weights():
    for name in NARROW:
        assert openvino.format_desc(layoutc.desc(name, (64, 32), "u4")) == name
    assert layoutc.desc("os_iyx_osv16", (64, 32), "u4").layout == openvino.parse("os_is_yx_osv16_isv2")
    with pytest.raises(LayoutcError, match="no weights format"):
        openvino.format_desc(layoutc.desc(openvino.parse("os_iyx_osv32"), (64, 32, 1, 1), "u4"))


def test_an_odd_x_takes_two_descriptors_and_an_even_one_or_a_single_column_one():
    name = "openvino:giy_xs_os_xsv2_osv16__ao32"
    assert layoutc.desc(name, (2, 35, 3, 2, 4)).layout == FormatName(name.partition(":")[2]).layout
    assert layoutc.desc(name, (2, 35, 3, 2, 1)).offset(1, 34, 2, 1, 0) == 11 * 2 * 64 + 64 + 2
    with pytest.raises(LayoutcError, match=r"lays out the last column of an odd x \(5\) in another way"):
        layoutc.desc(name, (2, 35, 3, 2, 5))
    with pytest.raises(NotationError, match="a layout alone cannot hold"):
        layoutc.parse(name)
    assert isinstance(openvino.describe(name.partition(":")[2], (2, 35, 3, 2, 5)), SplitDesc)


@pytest.mark.parametrize(
    ("name", "axis"),
    [("fs_b_yx_fsv32", "b"), ("bs_f_bsv16", "f"), ("iy_xs_os_xsv2_osv8__ao32", "x"), ("bs_fs_fsv8_bsv8", "b")],
)
def test_a_border_that_the_kernels_have_no_room_for_is_refused(name: str, axis: str):
    letters = FormatName(name).axes
    border = tuple(int(letter == axis) for letter in letters)
    with pytest.raises(LayoutcError, match=f"{name} has no border of {axis} in memory"):
        layoutc.desc(f"openvino:{name}", (3,) * len(letters), low=border)


def test_the_channels_that_depthwise_oiyx_o16_ignores():
    assert layoutc.desc("oiyx_o16", (20, 1, 2, 3)) == layoutc.desc("os_iyx_osv16", (20, 1, 2, 3))
    desc = layoutc.desc("oiyx_o16", (20, 3, 2, 3))
    assert desc.offset(17, 2, 1, 2) == desc.offset(17, 0, 1, 2) == 16 * 6 + 5 * 16 + 1
    assert (desc.span, desc.is_injective) == (192, False)


def test_a_winograd_format_has_offsets_and_is_no_layout_of_a_tensor():
    with pytest.raises(LayoutcError, match="needs o in whole blocks of 8, got 12"):
        openvino.describe("winograd_2x3_s1_fused_weights", (12, 2, 3, 4))
    with pytest.raises(LayoutcError, match="winograd_2x3_s1_data has no border"):
        openvino.describe("winograd_2x3_s1_data", (1, 2, 3, 4), low=(0, 0, 1, 0))
