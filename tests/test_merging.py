"""Boxes of odd extents: registers that are merged in pairs, and when the planner takes them."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
import pytest

import layoutc
from layoutc.errors import LayoutcError
from layoutc.planning.choose import choose_plan
from layoutc.planning.machine import TARGETS, Machine
from layoutc.planning.plan_text import parse_plan, plan_lines
from layoutc.planning.plans.plan import CopyPlan, Plan
from layoutc.planning.shuffles.interleave import deinterleave, interleave
from layoutc.planning.shuffles.merging import ANY, ZERO, merge, staying
from layoutc.planning.shuffles.network import Network
from layoutc.planning.tiles.merged_tile import MergedTile
from layoutc.planning.tiles.tile import Register
from layoutc.transforms.plan_reorders import read_plan
from tests.networks import check_elements, execute

VBMI = replace(TARGETS["avx512"], shuffles="any")
SINGLE = replace(TARGETS["avx512"], shuffles="single")
ROWS_OF_8 = (
    "threads 1",
    "copy 0 -> 0: 8x(1, 112) 8x(8, 14) 14x(64, 1), elements of 1, vectors of 64, any shuffles, tile 8x4x14, merged "
    "lanes 0:8 -> 2:14 1:4, macro 8x8x14, outer 0 1 2, inner 0 1 2, normal stores",
)

WEIGHTS = (64, 64, 3, 3), "abcd", "ABcd4b16a4b"


def planned(dims: tuple[int, ...], source: str, destination: str, element: str, machine: Machine) -> CopyPlan:
    (copy,) = choose_plan(layoutc.desc(source, dims, element), layoutc.desc(destination, dims, element), machine).copies
    return copy


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("merge", [merge, staying])
def test_any_elements_are_merged(merge: Callable[..., Network], seed: int):
    """Elements in any order, some of them several times, zeros, and lanes that do not matter."""
    draw = random.Random(seed)
    for _ in range(100):
        lanes, unwanted = draw.choice((4, 8, 16)), draw.choice((0, 0.3, 0.6))
        places = [range(lanes * row, lanes * (row + 1)) for row in range(draw.randint(2, 24))]
        held = tuple(tuple(draw.choice((place, place, place, ZERO)) for place in row) for row in places)
        found = [element for row in held for element in row if element != ZERO]
        wanted = tuple(
            tuple(draw.choice((ANY, ZERO) if draw.random() < unwanted else found) for _ in range(lanes))
            for _ in range(draw.randint(1, 24))
        )
        network = merge(held, wanted, lanes)
        registers = execute(network, [*held, *[(ZERO,) * lanes] * (network.inputs - len(held))])
        for row, output in zip(registers, wanted, strict=True):
            assert [(e, got) for e, got in zip(output, row, strict=True) if e not in (ANY, got)] == []


@pytest.mark.parametrize(("rows", "columns", "lanes"), [(38, 24, 64), (9, 16, 16), (5, 7, 8), (64, 16, 64), (3, 3, 16)])
@pytest.mark.parametrize("merge", [merge, staying])
def test_any_matrix_is_transposed(merge: Callable[..., Network], rows: int, columns: int, lanes: int):
    """Also where the last register of a side is not full."""
    source = range(rows * columns)
    wanted = [row * columns + column for column in range(columns) for row in range(rows)]
    held = tuple(tuple(source[first : first + lanes]) for first in range(0, len(source), lanes))
    outputs = tuple(tuple(wanted[first : first + lanes]) for first in range(0, len(wanted), lanes))
    network = merge(held, outputs, lanes)
    registers = execute(network, [[*row, *[-1] * (lanes - len(row))] for row in held])
    assert [lane for row, out in zip(registers, outputs, strict=True) for lane in row[: len(out)]] == wanted


@pytest.mark.parametrize("network", [interleave(17, 64, 1), deinterleave(17, 64, 1)])
def test_lanes_of_one_register_stay_where_bytes_are_merged(network: Network):
    """But for the last step to each output, of which all lanes are given."""
    moves = [any(source < 64 and source != lane for lane, source in enumerate(step.mask)) for step in network.steps]
    assert len(moves) <= 17 * 6
    assert sum(moves) <= 17


@pytest.mark.parametrize("channels", [5, 17])
def test_no_lanes_stay_where_any_of_two_registers_are_a_single_shuffle(channels: int):
    """Though that takes fewer steps, which Intel's processors gain by."""
    single, several = (deinterleave(channels, 64, 1, shuffles=by) for by in ("single", "any"))
    assert len(single.steps) == channels * (channels - 1 if channels < 7 else 6)
    assert len(several.steps) < len(single.steps)


def test_lanes_that_stay_are_covered_by_those_of_the_other_register():
    source, destination = (layoutc.desc(name, (1, 17, 16, 16), "s8") for name in ("nhwc", "nchw"))
    plan = tuple(plan_lines(choose_plan(source, destination, VBMI)))
    text = layoutc.Kernel(source, destination, target="avx512", plan=plan).c_source
    (body,) = re.findall(r"#define cover_bytes\(a, b, \.\.\.\).*?#else\n(.*?)\n", text, re.DOTALL)
    assert body == "#define cover_bytes(a, b, ...) __builtin_shufflevector(a, b, __VA_ARGS__)"
    calls = [call.replace("\\", "").split(",") for call in re.findall(r"cover_bytes\(\w+, \w+, ([\d,\s\\]+)\)", text)]
    assert calls
    for lanes in calls:
        assert len(lanes) == 64
        assert all(int(source) in (lane, max(int(source), 64)) for lane, source in enumerate(lanes))


@pytest.mark.parametrize("side", [56, 57])
def test_pieces_are_inserted_into_registers(side: int):
    """A register of 64 bytes is four of them: two pairs, of which the second is inserted, and the second pair."""
    source, destination = (layoutc.desc(name, (1, 64, side, side), "s8") for name in ("nhwc", "nchw"))
    plan = tuple(plan_lines(choose_plan(source, destination, VBMI)))
    text = layoutc.Kernel(source, destination, target="avx512", plan=plan).c_source
    for macro, lanes in (("join_halves", 32), ("join_wide_halves", 64)):
        assert f"#define {macro}(a, b)" in text
        assert len(re.findall(rf"= \(i8x{lanes}\){macro}\(\w+, \w+\);", text)) >= 1024 // lanes


@pytest.mark.parametrize("rows", [24, 25])
def test_short_rows_are_gathered_from_memory_where_shuffles_take_longest(rows: int):
    """Rows of 12 are two pieces of 8, the second of which begins earlier, and four of these are a register."""
    copy = planned((3, rows, 24), "abc", "acb", "bf16", VBMI)
    tile = MergedTile(copy)
    registers = tile.loads([])
    assert all(len(register.pieces) == 4 for register in registers)
    assert sum(len(set(register.pieces)) for register in registers) == 2 * rows
    held = held_in(registers)
    for (_, wanted), row in zip(tile.wanted, execute(tile.network, held), strict=True):
        assert row[: len(wanted) - wanted.count(ANY)] == [element for element in wanted if element != ANY]
    source, destination = (layoutc.desc(name, (3, rows, 24), "bf16") for name in ("abc", "acb"))
    plan = tuple(plan_lines(Plan((copy,))))
    text = layoutc.Kernel(source, destination, target="avx512", plan=plan).c_source
    assert len(re.findall(r"= load_u16x8\(src", text)) == 2 * rows
    assert len(re.findall(r"= \(\w+\)join_halves\(", text)) == sum(
        len({register.pieces[:2], register.pieces[2:]}) for register in registers
    )
    assert len(re.findall(r"= \(\w+\)join_wide_halves\(", text)) == len(registers)
    assert "load_u16x32(src" not in text


@pytest.mark.parametrize(
    ("dims", "source", "destination", "element", "gathers"),
    [
        ((16, 64, 3, 3), "abcd", "ABcd16b16a", "bf16", {VBMI: True, SINGLE: False}),
        ((6, 38, 12, 24), "abcd", "dacb", "s8", {VBMI: True, SINGLE: True}),
        ((12, 196, 24, 4), "abcd", "cbda", "s8", {VBMI: False, SINGLE: True}),
    ],
)
def test_rows_are_gathered_where_their_loads_spare_single_shuffles(
    dims: tuple[int, ...], source: str, destination: str, element: str, gathers: dict[Machine, bool]
):
    """Three loads for each row of 36 bytes spare about one of them; two for rows of 24 as many."""
    for machine, expected in gathers.items():
        registers = MergedTile(planned(dims, source, destination, element, machine)).loads([])
        assert any(len(register.pieces) > 1 for register in registers) == expected


def held_in(registers: Sequence[Register]) -> list[list[int]]:
    """The elements in registers of pieces of 8."""
    return [
        [piece.offset + lane for piece in register.pieces if piece is not None for lane in range(8)]
        for register in registers
    ]


def test_rows_of_less_than_16_bytes_are_gathered_by_8():
    (copy,) = parse_plan(ROWS_OF_8).copies
    tile = MergedTile(copy)
    registers = tile.loads([])
    assert all(len(register.pieces) == 8 for register in registers)
    held = held_in(registers)
    for (_, wanted), row in zip(tile.wanted, execute(tile.network, held), strict=True):
        assert all(found == element for found, element in zip(row, wanted, strict=True) if element != ANY)
    source, destination = (layoutc.desc(name, (14, 8, 8), "s8") for name in ("abc", "cba"))
    text = layoutc.Kernel(source, destination, target="avx512", plan=ROWS_OF_8).c_source
    assert len(re.findall(r"= \(\w+\)join_words\(", text)) == 28
    assert "load_i8x64(src" not in text


def test_rows_of_words_are_loaded_as_they_are():
    tile = MergedTile(planned((14, 11, 14, 4, 12), "abcde", "eadcb", "f32", VBMI))
    assert all(len(register.pieces) == 1 for register in tile.loads([]))


def test_merging_powers_of_two_takes_as_many_shuffles_as_exchanges():
    held = tuple(tuple(range(first, first + 16)) for first in range(0, 256, 16))
    network = merge(held, tuple(zip(*held, strict=True)), 16)
    assert len(network.steps) == 64
    check_elements(network, [16 * lane + row for row in range(16) for lane in range(16)])


def test_elements_of_any_registers_are_brought_together():
    draw = random.Random(1)
    for _ in range(50):
        elements = draw.sample(range(1000), 96)
        held = tuple(tuple(elements[first : first + 8]) for first in range(0, 96, 8))
        wanted = tuple(tuple(draw.sample(elements, draw.randint(1, 8))) for _ in range(draw.randint(1, 12)))
        registers = execute(merge(held, wanted, 8), held)
        assert [tuple(row[: len(out)]) for row, out in zip(registers, wanted, strict=True)] == list(wanted)


def test_zeros_come_from_lanes_that_have_them_or_a_register_of_them():
    """Wherever the zeros of a register are, and whether it has any."""
    draw = random.Random(2)
    for _ in range(100):
        elements = draw.sample(range(1000), 64)
        held = tuple((*row, *[ZERO] * (8 - len(row))) for row in _cut(draw, elements, 8))
        wanted = tuple(
            tuple(draw.choice((ZERO, draw.choice(elements))) for _ in range(draw.randint(1, 8))) for _ in range(9)
        )
        network = merge(held, wanted, 8)
        zeros = [(ZERO,) * 8] * (network.inputs - len(held))
        assert len(zeros) == any(ZERO in row for row in wanted)
        registers = execute(network, [*held, *zeros])
        assert [tuple(row[: len(out)]) for row, out in zip(registers, wanted, strict=True)] == list(wanted)


def _cut(draw: random.Random, elements: list[int], most: int) -> list[list[int]]:
    """The elements in pieces of any sizes."""
    pieces: list[list[int]] = []
    while elements:
        count = draw.randint(1, most)
        pieces.append(elements[:count])
        elements = elements[count:]
    return pieces


def test_a_load_in_part_is_a_store_with_zeros():
    """Three channels of a pixel and 13 zeros are what a masked load has in its lanes: no shuffle, no other zeros."""
    held, wanted = ((0, 1, 2, *[ZERO] * 13),), ((0, 1, 2, *[ZERO] * 13),)
    assert merge(held, wanted, 16).steps == ()


def test_an_element_that_no_register_has_is_named():
    with pytest.raises(LayoutcError, match="output 1 wants element 9, which no register has"):
        merge(((0, 1),), ((1,), (0, 9)), 2)


def test_filters_are_merged_where_bytes_can_be_permuted():
    """36 contiguous bytes of 16 rows are 9 lines of the destination."""
    copy = planned(*WEIGHTS, "s8", VBMI)
    assert copy.merges
    assert copy.tile == (1, 1, 9, 1, 16, 4)
    assert not planned(*WEIGHTS, "s8", TARGETS["avx512"]).merges
    assert planned((64, 64, 3, 3), "abcd", "ABcd8b16a2b", "bf16", TARGETS["avx512"]).merges
    assert not planned(*WEIGHTS, "s8", TARGETS["avx2"]).merges


@pytest.mark.parametrize(
    ("layouts", "dims", "element", "is_box"),
    [
        ("ab ba", (16, 40), "f16", True),  # 0.76 of the instructions of lanes that are powers of two
        ("ab ba", (16, 40), "f32", False),  # 0.94
        ("acb abc", (19, 44, 5), "f32", True),  # 0.90 of those of others
        ("acb abc", (3, 12, 863), "f64", False),  # as many
    ],
)
def test_boxes_take_far_fewer_instructions_than_lanes_and_fewer_than_odd_ones(
    layouts: str, dims: tuple[int, ...], element: str, is_box: bool
):
    source, destination = (f"onednn:{tag}" for tag in layouts.split())
    assert planned(dims, source, destination, element, TARGETS["avx512"]).merges == is_box


def test_boxes_save_the_table_that_loads_of_joined_digits_need():
    """With 12 columns loads would need one; with 16 only stores do, whose places cost little."""
    assert planned((12, 19, 19, 12), "abcd", "dcba", "f32", VBMI).tile == (12, 1, 1, 12)
    assert not planned((16, 19, 19, 12), "abcd", "dcba", "f32", VBMI).merges


AXES = {
    "zeros beside channels": ((2, 3, 5, 7), "nhwc", "nChw16c", "16x(1, 1)/3", "16x(1, 1)/2"),
    "a channel more than a block": ((2, 17, 5, 7), "nhwc", "nChw16c", "32x(1, 16:1 560)/17", "32x(1, 16:1 576)/17"),
    "back": ((2, 19, 5, 7), "nChw16c", "nhwc", "19x(16:1 560, 1)", "19x(16:1 576, 1)"),
    "periods of blocks": ((2, 100, 5, 7), "aBcd12b", "aBcd16b", "24x(6:1 210, 8:1 280)", "24x(6:1 210, 8:1 288)"),
}
"""dims, source, destination, the axis that a box has all of, and what it is not"""


@pytest.mark.parametrize("name", AXES)
def test_a_box_has_all_of_a_short_axis(name: str):
    """With its tail and its padding, however its blocks on both sides lie."""
    dims, *layouts, digit, wrong = AXES[name]
    source, destination = (layoutc.desc(layout, dims, "f32") for layout in layouts)
    plan = choose_plan(source, destination, VBMI)
    lines = plan_lines(plan)
    assert plan.copies[0].merges
    assert f" {digit}," in lines[1]
    assert read_plan(lines, source, destination) == plan
    with pytest.raises(LayoutcError, match=r"for this reorder|elements apart"):
        read_plan([line.replace(digit, wrong) for line in lines], source, destination)


def test_powers_of_two_go_along_index_bits():
    assert not planned((512, 512), "ab", "ba", "s8", VBMI).merges


EDITS = {
    "merged lanes 2:9 5:4": ("merged lanes 2:9 5:2", "got merged lanes 5:2, expected all 4"),
    "merged lanes": ("lanes", "lanes that are no power of two are all of a few channels"),
    "any shuffles": ("words shuffles", "merged lanes need any shuffles of their elements"),
    "-> 5:4 4:16": ("-> -", "merged lanes need contiguous elements on both sides"),
    "2:9 5:4 -> 5:4 4:16": ("2:9 -> 5:4", "tile 1x1x9x1x16x4 has 144 stores, expected at most 64"),
}
"""of the plan of the filters: text, what it becomes, the error"""


@pytest.mark.parametrize("text", EDITS)
def test_merged_lanes_that_do_not_fit_are_named(text: str):
    head, line = plan_lines(Plan((planned(*WEIGHTS, "s8", VBMI),)))
    becomes, message = EDITS[text]
    assert text in line
    with pytest.raises(LayoutcError, match=re.escape(message)):
        parse_plan([head, line.replace(text, becomes)])


@pytest.mark.parametrize("element", ["s8", "bf16", "f32", "f64"])
@pytest.mark.parametrize("destination", ["ab", "ba"])
@pytest.mark.parametrize("side", [0, 1])
def test_elements_between_which_there_are_gaps_are_loaded_and_stored_by_masks(
    element: str, destination: str, side: int
):
    """Every second element of a row, or every third one: what lies between is neither read nor written."""
    dims = 45, 70
    with_gaps = [layoutc.desc("ab", dims, element, strides=(dims[1] * step, step)) for step in (2, 3)]
    for gaps in with_gaps:
        pair = (
            (gaps, layoutc.desc(destination, dims, element))
            if side == 0
            else (layoutc.desc(destination, dims, element), gaps)
        )
        (copy,) = choose_plan(*pair, VBMI).copies
        assert copy.merges
        assert parse_plan(plan_lines(Plan((copy,), 1))).copies == (copy,)
        text = layoutc.Kernel(*pair, target="avx512", plan=tuple(plan_lines(Plan((copy,), 1)))).c_source
        assert ("load_some_" if side == 0 else "store_some_") in text
        read = np.random.default_rng(0).integers(0, 256, pair[0].size_bytes, np.uint8)
        got, expected = (np.full(pair[1].size_bytes, 0xCD, np.uint8) for _ in range(2))
        layoutc.Kernel(*pair, "interpret", target="avx512")(read, got)
        layoutc.Kernel(*pair, "reference")(read, expected)
        np.testing.assert_array_equal(got, expected)
