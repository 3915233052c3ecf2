"""Boxes of registers that have no masks: whole ones and their halves, gaps that are loaded and dropped, their cost."""

from __future__ import annotations

import re

import numpy as np
import pytest

import layoutc
from layoutc.conversion import Conversion
from layoutc.errors import LayoutcError
from layoutc.param import Param
from layoutc.planning.choose import choose_plan
from layoutc.planning.machine import TARGETS
from layoutc.planning.plan_checks import check_adds
from layoutc.planning.plan_text import parse_plan, plan_lines
from layoutc.planning.plans.plan import CopyPlan
from layoutc.planning.shuffles.halves import SHUFFLED, instructions_by_halves
from layoutc.planning.shuffles.merging import ANY, merge
from layoutc.planning.shuffles.network import Network, Shuffle
from layoutc.planning.tiles.merged_tile import MergedTile
from tests.networks import execute

DIMS = 2, 3, 20, 23
CASES = [
    ("nhwc", "nChw4c", "u8", "u8"),
    ("nChw4c", "nhwc", "u8", "u8"),
    ("nChw4c", "nchw", "s8", "s8"),
    ("nhwc", "nChw16c", "bf16", "bf16"),
    ("nhwc", "nChw16c", "f32", "f32"),
    ("nhwc", "nChw4c", "f32", "f32"),
    ("nhwc", "nChw4c", "u8", "f32"),
    ("nhwc", "nChw16c", "u8", "f32"),
]
BOXES = {"avx2": CASES, "avx512": CASES[:3], "neon": CASES, "sse2": CASES[4:6]}


def planned(source: str, destination: str, type: str, target: str, to_type: str = "") -> CopyPlan:
    sides = layoutc.desc(source, DIMS, type), layoutc.desc(destination, DIMS, to_type or type)
    (copy,) = choose_plan(*sides, TARGETS[target]).copies
    return copy


@pytest.mark.parametrize(("target", "case"), [(target, case) for target, cases in BOXES.items() for case in cases])
def test_few_channels_beside_padding_are_boxes(target: str, case: tuple[str, str, str, str]) -> None:
    """They went element by element, or by two: 2 to 10 times as long. All executors agree."""
    layout, to_layout, type, to_type = case
    sides = layoutc.desc(layout, DIMS, type), layoutc.desc(to_layout, DIMS, to_type)
    conversion = Conversion() if type == to_type else Conversion(src_scale=Param(axes=(1,)))
    plan = choose_plan(*sides, TARGETS[target], conversion=conversion)
    assert all(copy.merges for copy in plan.copies if not copy.copy.is_fill)
    assert {copy.vector_bytes for copy in plan.copies} == {32 if target == "avx512" else TARGETS[target].vector}
    layoutc.Kernel(*sides, target=target, conversion=conversion, plan=tuple(plan_lines(plan)))
    read = np.random.default_rng(0).integers(1, 100, sides[0].size_bytes, np.uint8)
    given = {} if type == to_type else {"src_scale": np.array([0.5, 3.0, -2.0], np.float32)}
    results: list[bytes] = []
    for executor in ("reference", "interpret", "c"):
        written = np.full(sides[1].size_bytes, 0xCD, np.uint8)
        layoutc.Kernel(*sides, executor, target=target, conversion=conversion)(read, written, **given)
        results.append(written.tobytes())
    assert results[0] == results[1] == results[2]


NARROWER = [
    ("avx2", "openvino:bs_fs_yx_bsv8_fsv4", "abcd", "u8", 16),
    ("avx2", "abCd4c", "abcd", "s8", 16),
    ("avx2", "nhwc", "nChw16c", "bf16", 32),
    ("avx512", "openvino:bs_fs_yx_bsv8_fsv4", "abcd", "u8", 16),
    ("avx512", "openvino:bs_fs_yx_bsv8_fsv4", "abcd", "f16", 64),
]
"""target, layouts, type, and the bytes of the registers that merge such elements by the fewest instructions"""


@pytest.mark.parametrize(("target", "layout", "to_layout", "type", "registers"), NARROWER)
def test_narrower_registers_merge_what_crosses_halves_of_wider_ones(
    target: str, layout: str, to_layout: str, type: str, registers: int
) -> None:
    dims = DIMS if layout == "nhwc" else (16, 3, 7, 7)
    sides = layoutc.desc(layout, dims, type), layoutc.desc(to_layout, dims, type)
    plan = choose_plan(*sides, TARGETS[target])
    assert {copy.vector_bytes for copy in plan.copies if copy.merges} == {registers}
    read = np.random.default_rng(0).integers(1, 100, sides[0].size_bytes, np.uint8)
    results: list[bytes] = []
    for executor in ("reference", "interpret", "c"):
        written = np.full(sides[1].size_bytes, 0xCD, np.uint8)
        layoutc.Kernel(*sides, executor, target=target, plan=tuple(plan_lines(plan)))(read, written)
        results.append(written.tobytes())
    assert results[0] == results[1] == results[2]


def test_rows_of_less_than_a_register_are_two_halves_that_shuffles_do_not_cross() -> None:
    """8 pixels of 3 bytes become 8 of 4: the second half begins 8 bytes later, and has the last 4 of them."""
    tile = MergedTile(planned("nhwc", "nChw4c", "u8", "avx2"))
    (register,) = tile.loads([])
    assert [piece.offset for piece in register.pieces if piece is not None] == [0, 8]
    (step,) = tile.network.steps
    assert all(source // 16 == lane // 16 for lane, source in enumerate(step.mask))
    ((piece, wanted),) = tile.wanted
    assert piece.zeros == 0x88888888
    (row,) = execute(tile.network, [[*range(16), *range(8, 24)]])
    assert [row[lane] for lane, element in enumerate(wanted) if element != ANY] == [*range(24)]


def test_what_lies_between_elements_is_loaded_where_it_lies_in_the_buffer() -> None:
    """IR has masks, which say what is data; C loads all lanes."""
    sides = layoutc.desc("nChw4c", DIMS, "u8"), layoutc.desc("nhwc", DIMS, "u8")
    kernel = layoutc.Kernel(*sides, target="avx2")
    loads = re.findall(r"load_within_u8x(16|32)\(src[^,]*, (0x\w+)u\)", kernel.c_source)
    assert loads
    assert "load_some" not in kernel.c_source
    assert all(mask in ("0x7777", "0xeeee", "0xbbbb", "0xdddd") for lanes, mask in loads if lanes == "16")


def test_stores_between_which_there_are_gaps_have_no_boxes() -> None:
    """These may not be written."""
    source = layoutc.desc("ab", (45, 70), "f32")
    destination = layoutc.desc("ab", (45, 70), "f32", strides=(140, 2))
    plan = choose_plan(source, destination, TARGETS["avx2"])
    assert not any(copy.merges for copy in plan.copies)
    line = (
        "copy 0 -> 0: 45x(70, 140) 70x(1, 2), elements of 4, vectors of 32, any shuffles, tile 1x70, merged lanes "
        "1:70 -> 1:70, macro 45x70, outer 0 1, inner 0 1, normal stores"
    )
    with pytest.raises(LayoutcError, match="need rows of half of one in the source, and of a whole one, with nothing"):
        parse_plan(["threads 1", line])


EDITS = {
    "tile 8x4": ("tile 4x4", "need rows of half of one in the source, and of a whole one"),
    "any shuffles": ("unpack shuffles", "merged lanes need any shuffles of their elements"),
}


@pytest.mark.parametrize("text", EDITS)
def test_rows_that_would_need_masks_are_named(text: str) -> None:
    source, destination = (layoutc.desc(name, DIMS, "u8") for name in ("nhwc", "nChw4c"))
    lines = plan_lines(choose_plan(source, destination, TARGETS["avx2"]))
    becomes, message = EDITS[text]
    edited = [line.replace(text, becomes).replace("0:8", "0:4" if text == "tile 8x4" else "0:8") for line in lines]
    assert edited != lines
    with pytest.raises(LayoutcError, match=re.escape(message)):
        parse_plan(edited)


@pytest.mark.parametrize(
    ("mask", "element", "expected"),
    [
        ([*range(32)], 1, 0),
        ([*range(15, -1, -1), *range(16, 32)], 1, 1),
        ([*range(16, 32), *range(16)], 1, 2),
        ([*range(31, -1, -1)], 1, 2),
        ([31, *range(1, 32)], 1, 4),
        ([*range(8), *range(40, 48), *range(16, 32)], 1, 1),
        ([8, *range(1, 16)], 2, 4),
        ([*range(8)], 4, 0),
        ([*range(7, -1, -1)], 4, 1),
        ([8, 1, 2, 3, 4, 5, 6, 7], 4, 1),
        ([9, 7, 2, 3, 4, 5, 6, 0], 4, 3),
        ([8, 7, 2, 3, 4, 5, 6, 0], 4, 2),
    ],
)
def test_instructions_of_steps_that_do_not_cross_halves_at_once(mask: list[int], element: int, expected: int) -> None:
    """Of bytes, what comes of both halves, or registers, is put together."""
    lanes = 32 // element
    network = Network(2, lanes, (Shuffle(0, 1, tuple(mask)),), (2,))
    assert instructions_by_halves(network, element) == expected * (SHUFFLED if element < 4 else 1)


def test_elements_that_a_register_has_twice_stay_in_their_part() -> None:
    held = ((0, 1, 2, 3, 2, 3, 4, 5),)
    wanted = ((3, 2, ANY, ANY, 3, 2, ANY, 5),)
    masks = [merge(held, wanted, 8, part=part).steps[0].mask for part in (0, 4)]
    assert [(mask[:2], mask[4:6]) for mask in masks] == [((5, 4), (5, 4)), ((3, 2), (5, 4))]


def test_what_adds_to_its_destination_is_not_stored_twice() -> None:
    """17 bytes in registers of 16 are two stores that overlap, 16 are one."""
    line = (
        "copy 0 -> 0: 4x(34, {0}) {0}x(2, 1), elements of 1 to 1 when stored, vectors of 16, any shuffles, tile 1x{0}, "
        "merged lanes 1:{0} -> 1:{0}, macro 4x{0}, outer 0 1, inner 0 1, normal stores"
    )
    check_adds(parse_plan(["threads 1", line.format(16)]))
    with pytest.raises(LayoutcError, match="have rows of whole registers there"):
        check_adds(parse_plan(["threads 1", line.format(17)]))


def test_short_axes_are_one_digit_of_a_box() -> None:
    """Rows of 6 in blocks of 4: with an element, or two, at a time such took 6 times as long in DRAM."""
    source, destination = layoutc.desc("abCd4c", (64, 8, 6, 6), "s8"), layoutc.desc("abcd", (64, 8, 6, 6), "s8")
    (copy,) = choose_plan(source, destination, TARGETS["avx2"]).copies
    assert copy.merges
    assert copy.tile[-2:] == (6, 6)


@pytest.mark.parametrize(
    ("layouts", "dims", "types"),
    [("ba->bA32a", (100, 33), "s8->u8"), ("a->A4a", (255,), "f32->f8_e5m2"), ("ab->aB16b", (14, 38), "u2->u2")],
)
def test_conversions_have_registers_of_one_width(layouts: str, dims: tuple[int, ...], types: str) -> None:
    """Who reads their plans back takes those of the first copy for all."""
    sides = [layoutc.desc(*each) for each in zip(layouts.split("->"), [dims] * 2, types.split("->"), strict=True)]
    lines = tuple(plan_lines(choose_plan(sides[0], sides[1], TARGETS["avx512"])))
    assert not any("vectors of 32" in line for line in lines)
    assert layoutc.Kernel(sides[0], sides[1], target="avx512", plan=lines).plan == lines
