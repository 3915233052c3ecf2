"""
OpenVINO's page on GPU memory formats: every listing, formula and statement.

The older copy of the page prints six lines with f=1 where it must be 2; the listing here has them right.
"""

from itertools import product
from pathlib import Path

import numpy as np
import pytest

import layoutc
from layoutc.layout import Digit
from layoutc.notations import openvino

DIMS = (2, 2, 2, 2)
LINES = [
    line.replace(" ;", "").split()
    for line in (Path(__file__).parent / "data" / "openvino_listings.txt").read_text().splitlines()
    if line[0] != "#"
]
PLANAR = [[int(field) for field in fields] for name, *fields in LINES if name == "bfyx"]
BLOCKED = [[int(field) for field in fields] for name, *fields in LINES if name == "b_fs_yx_fsv16"]


def test_the_listings_are_complete():
    assert [row[0] for row in PLANAR] == list(range(16))
    assert [row[0] for row in BLOCKED] == [start + k for start in range(0, 128, 16) for k in (0, 1, 2, 15)]


@pytest.mark.parametrize("row", PLANAR, ids=lambda row: f"i = {row[0]}")
def test_the_16_lines_of_bfyx(row: list[int]):
    i, *index = row
    desc = layoutc.desc("bfyx", DIMS)
    assert desc.index_of(i) == tuple(index)
    assert desc.offset(*index) == i


@pytest.mark.parametrize("row", BLOCKED, ids=lambda row: f"i = {row[0]}")
def test_the_printed_lines_of_b_fs_yx_fsv16(row: list[int]):
    i, b, f, y, x, *digits = row
    desc = layoutc.desc("b_fs_yx_fsv16", DIMS)
    position = tuple(int(n) for n in np.unravel_index(i, desc.physical_shape))
    assert position == tuple(digits)
    assert desc.axis_coordinates(position) == (b, f, y, x)
    assert desc.index_of(i) == ((b, f, y, x) if f < 2 else None)


def test_all_128_lines_of_b_fs_yx_fsv16_with_those_that_the_page_leaves_out():
    desc = layoutc.desc("b_fs_yx_fsv16", DIMS)
    lines = list(product(range(2), range(1), range(2), range(2), range(16)))
    assert len(lines) == desc.span == 128
    for i, (b, fs, y, x, fsv) in enumerate(lines):
        f = fs * 16 + fsv
        assert desc.axis_coordinates((b, fs, y, x, fsv)) == (b, f, y, x)
        assert desc.index_of(i) == ((b, f, y, x) if f < 2 else None)


@pytest.mark.parametrize("i", [18, 34, 50, 82, 98, 114])
def test_the_six_misprinted_lines_are_feature_2(i: int):
    desc = layoutc.desc("b_fs_yx_fsv16", DIMS)
    position = tuple(int(n) for n in np.unravel_index(i, desc.physical_shape))
    assert desc.axis_coordinates(position)[1] == 2


def test_sizes_before_and_after_the_reorder():
    assert layoutc.desc("bfyx", DIMS).span == 16
    blocked = layoutc.desc("b_fs_yx_fsv16", DIMS)
    assert blocked.padded_dims == (2, 16, 2, 2)
    assert blocked.span == 128


def test_in_bfyx_x_changes_faster_than_y_and_y_faster_than_f():
    assert layoutc.desc("bfyx", (2, 3, 4, 5)).strides == (60, 20, 5, 1)


@pytest.mark.parametrize("features", [1, 15, 16, 17, 32, 33])
def test_the_slices_are_ceil_div_of_the_features_by_the_block(features: int):
    desc = layoutc.desc("b_fs_yx_fsv16", (1, features, 1, 1))
    assert desc.physical_shape == (1, -(-features // 16), 1, 1, 16)
    assert desc.padded_dims[1] == -(-features // 16) * 16


def test_the_block_is_of_the_features_and_changes_first_then_x():
    desc = layoutc.desc("b_fs_yx_fsv16", (2, 32, 2, 2))
    assert desc.layout.digits == (Digit((0,)), Digit((1,), 16), Digit((2,)), Digit((3,)), Digit((1,), 1, 16))
    assert desc.layout.digit_names == ("b", "fs", "y", "x", "fsv")
    assert desc.offset(0, 1, 0, 0) == 1
    assert desc.offset(0, 0, 0, 1) == 16


def test_a_reorder_fills_the_pad_with_zeroes():
    values = np.arange(1, 17, dtype=np.float32).reshape(DIMS)
    stored = layoutc.reorder(values, "bfyx", "b_fs_yx_fsv16", executor="reference").ravel()
    desc = layoutc.desc("b_fs_yx_fsv16", DIMS)
    for i in range(128):
        index = desc.index_of(i)
        assert stored[i] == (0 if index is None else values[index])


def test_every_letter_of_the_page_is_an_axis():
    assert openvino.parse("bfwzyx").axis_names == tuple("bfwzyx")
    assert openvino.parse("goizyx").axis_names == tuple("goizyx")
