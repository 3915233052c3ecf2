"""Tiles of several registers."""

from __future__ import annotations

import numpy as np
import pytest

import layoutc
from layoutc.descriptor import MemoryDesc
from layoutc.planning.choose import choose_plan
from layoutc.planning.machine import TARGETS
from tests.test_planning import buffers, run_plan


@pytest.mark.parametrize(
    ("row", "rows", "target", "tile"),
    [
        (34, 6, "sse2", (1, 1, 4)),  # 36 are moved
        (10, 6, "sse2", (1, 1, 2)),  # in 4 elements at a time 12 would be moved
        (5, 6, "sse2", (1, 1, 4)),  # 6 are moved anyway, by a loop of 3
        (34, 6, "avx2", (1, 1, 16)),
        (512, 6, "sse2", (1, 1, 2)),  # long rows are left to memcpy
        (136, 6, "avx512", (1, 1, 8)),  # no line is stored twice
    ],
)
def test_rows_that_are_copied_as_they_are_have_tiles_of_several_registers(
    row: int, rows: int, target: str, tile: tuple[int, ...]
) -> None:
    source, destination = (layoutc.desc(name, (4, rows, row), "f64") for name in ("abc", "bac"))
    plan = choose_plan(source, destination, TARGETS[target])
    assert [copy.tile for copy in plan.copies] == [tile]
    read, written, expected = buffers(source, destination)
    run_plan(plan, read, written)
    np.testing.assert_array_equal(written, expected)


def one_image_of_16(pixels: int, element_type: str) -> tuple[MemoryDesc, MemoryDesc]:
    """A block of images of which all but the first are zero."""
    layouts = "nchw", "openvino:bs_fs_yx_bsv16_fsv16"
    first, second = (layoutc.desc(layout, (1, 16, pixels, pixels), element_type) for layout in layouts)
    return first, second


def test_what_is_mostly_zero_is_filled_apart_from_what_is_copied() -> None:
    """One image of 16: with a store of 2 images all pairs but the first would be zero."""
    source, destination = one_image_of_16(8, "s8")
    plan = choose_plan(source, destination, TARGETS["avx2"])
    assert [copy.copy.is_fill for copy in plan.copies] == [False, True]
    read, written, expected = buffers(source, destination)
    run_plan(plan, read, written)
    np.testing.assert_array_equal(written, expected)


def test_zeros_have_tiles_of_several_registers() -> None:
    copies = choose_plan(*one_image_of_16(4, "f32"), TARGETS["sse2"]).copies
    fills = [copy for copy in copies if copy.copy.is_fill]
    assert fills and all(copy.tile[-1] > copy.target_lanes[-1].extent for copy in fills)
