"""Moves of elements that share bytes as moves of bytes, of which some steps swap their elements."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import product
from math import inf

import numpy as np
import pytest

import layoutc
from layoutc import reference
from layoutc.conversion import NO_ATTRIBUTES
from layoutc.descriptor import MemoryDesc
from layoutc.errors import PlanError
from layoutc.kernel_options import Executor
from layoutc.planning import reorder_copies
from layoutc.planning.choose import choose_plan
from layoutc.planning.copies.copy_digits import OTHER_SIDE, Carry, CopyDigit, SideName, StridedCopy, axis_digit
from layoutc.planning.copies.promotion import as_bytes, promoted, promotions
from layoutc.planning.copies.strided_copy import strided_copies
from layoutc.planning.copies.swapped import swapped, swapped_rows
from layoutc.planning.copies.widths import Widths
from layoutc.planning.explain import explain_plan
from layoutc.planning.machine import TARGETS
from layoutc.planning.moves.boxes import best_box
from layoutc.planning.moves.element_macros import with_element_macro
from layoutc.planning.moves.lane_tiles import with_lanes
from layoutc.planning.plan_text import parse_plan, plan_lines
from layoutc.planning.plans.plan import CopyPlan
from layoutc.planning.tiles.packed_tile import tile_program
from layoutc.planning.tiles.tile import Swap
from layoutc.planning.together.turn_copies import loop_of
from layoutc.transforms.plan_reorders import read_plan_of
from tests.descriptors import sides

MACHINES = {name: TARGETS[name] for name in ("avx2", "sse2", "neon")} | {
    "any bytes": replace(TARGETS["avx512"], shuffles="single")
}
CASES = {
    "rows": ("ab->ba", (64, 96), "s4->s4"),
    "rows of quarters": ("ab->ba", (64, 96), "u2->u2"),
    "channels": ("nchw->nhwc", (2, 32, 6, 10), "u4->u4"),
    "pixels": ("nhwc->nchw", (2, 32, 6, 10), "f4_e2m1->f4_e2m1"),
    "next bytes of a register": ("AB8b8a2b->ba", (64, 32), "s4->s4"),
    "every other word": ("AB4a4b->ba", (48, 32), "u4->u4"),
    "halves of 8 bytes": ("AB16a8b->ba", (64, 32), "s4->s4"),
    "lanes of 8 bytes": ("AB16a16b->ba", (64, 64), "s4->s4"),
    "lanes of quarters": ("AB16a16b->ba", (64, 64), "u2->u2"),
    "pairs of quarters": ("ab->BA16a2b", (64, 64), "u2->u2"),
    "padded blocks": ("ab->AB16b16a", (72, 40), "s4->s4"),
    "6 channels": ("abc->acb", (3, 6, 866), "s4->s4"),
    "few rows": ("ab->ba", (4, 6), "u4->u4"),
    "3 channels of 8 bytes": ("bdca->adcb", (2, 2, 8, 3), "u4->u4"),
    "elements of 4 bytes": ("Abc2a->acb", (8, 2, 4), "u4->u4"),
    "weights": ("oihw->OIhw4i16o4i", (48, 20, 4, 4), "u4->u4"),
}
ROWS = {
    "filters": ("oihw->OIhw16i16o2i", (40, 34, 3, 3), "s4->s4"),
    "filters out of blocks": ("OIhw16i16o2i->oihw", (40, 34, 3, 3), "s4->s4"),
    "half registers": ("oihw->os_is_yx_osv32_isv2", (40, 12, 3, 3), "u4->u4"),
    "half registers are loaded": ("os_is_yx_osv32_isv2->oihw", (64, 12, 3, 3), "u4->u4"),
    "channels last": ("oihw->ohwi", (4, 32, 1, 3), "f4_e2m1->f4_e2m1"),
    "rows of quarters": ("oihw->OIhw4i16o4i", (32, 32, 3, 3), "u2->u2"),
    "quarters out of blocks": ("OIhw4i16o4i->oihw", (32, 32, 3, 3), "u2->u2"),
    "even rows of quarters": ("oihw->ohwi", (4, 32, 2, 3), "u2->u2"),
    "rows of two quarters": ("oihw->ohwi", (4, 32, 1, 2), "u2->u2"),
    "filters of 5x5": ("oihw->OIhw4i16o4i", (32, 16, 5, 5), "u4->u4"),
    "pixels": ("nchw->nChw32c", (2, 64, 3, 3), "s4->s4"),
}
"""of which as many as share a byte have whole bytes"""
BOXES = {"any bytes": MACHINES["any bytes"], "dear bytes": replace(TARGETS["avx512"], shuffles="any")}


def steps(copy: StridedCopy, side: SideName) -> list[tuple[int, ...]]:
    """The values of all digits of a copy that are on a side."""
    return list(product(*(range(d.loaded if side == "src" else d.extent) for d in copy.digits)))


def offset(copy: StridedCopy, side: SideName, values: Sequence[int]) -> int:
    return copy.of(side) + sum(d.offset(side, v) for d, v in zip(copy.digits, values, strict=True))


def elements_moved(copy: StridedCopy, per_byte: int) -> Iterator[tuple[int, int]]:
    """Where each element of a copy of bytes comes from, and goes to, by what `CopyDigit.swaps` says."""
    position = copy.swapping
    assert position is not None
    digit = copy.digits[position]
    assert digit.swaps == per_byte
    for values in steps(copy, digit.swaps_at):
        step = values[position]
        for place in range(per_byte):
            swapped_values = [*values]
            swapped_values[position], other = divmod(place * digit.extent + step, per_byte)
            here = offset(copy, digit.swaps_at, values) * per_byte + place
            there = offset(copy, OTHER_SIDE[digit.swaps_at], swapped_values) * per_byte + other
            yield (here, there) if digit.swaps_at == "src" else (there, here)


def copies_of(name: str) -> tuple[tuple[StridedCopy, ...], int]:
    source, destination = sides(*CASES[name])
    return strided_copies(source, destination), 8 // source.element_type.bits


def pairs(copy: StridedCopy) -> tuple[StridedCopy, int]:
    """The copy in elements of twice the width."""
    _, wider, *_ = promotions(copy, 1)
    return wider


@pytest.mark.parametrize("name", CASES)
def test_elements_go_where_the_copy_of_elements_takes_them(name: str) -> None:
    copies, per_byte = copies_of(name)
    if name == "pairs of quarters":  # neighbours of two elements stay so
        copies, per_byte = [copy for copy, _ in map(pairs, copies)], 2
    found = [(copy, made) for copy in copies if (made := swapped(copy, per_byte)) is not None]
    assert found
    for copy, made in found:
        wanted = [(offset(copy, "src", values), offset(copy, "dst", values)) for values in steps(copy, "src")]
        assert sorted(elements_moved(made, per_byte)) == sorted(wanted)


@pytest.mark.parametrize("case", ROWS.values(), ids=ROWS)
def test_elements_of_short_rows_go_where_the_copy_of_elements_takes_them(
    case: tuple[str, tuple[int, ...], str],
) -> None:
    """Of as many channels as fill all blocks."""
    layouts, (_, _, *kernel), types = case
    source, destination = sides(layouts, (32, 64, *kernel), types)
    per_byte = 8 // source.element_type.bits
    (copy,) = strided_copies(source, destination)
    made = swapped_rows(copy, per_byte)
    assert made is not None and any(digit.swaps_rows for digit in made.digits)
    wanted = [(offset(copy, "src", values), offset(copy, "dst", values)) for values in steps(copy, "src")]
    assert sorted(elements_moved(made, per_byte)) == sorted(wanted)


@pytest.mark.parametrize("executor", ["interpret", "c"])
@pytest.mark.parametrize("target", BOXES)
@pytest.mark.parametrize("case", ROWS.values(), ids=ROWS)
def test_bytes_of_short_rows_are_those_of_the_reference(
    case: tuple[str, tuple[int, ...], str], target: str, executor: Executor, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reorder_copies, "SWAPPED_ROWS", inf)
    source, destination = sides(*case)
    plan = choose_plan(source, destination, BOXES[target])
    assert any(digit.swaps_rows for copy in plan.copies for digit in copy.copy.digits)
    lines = tuple(plan_lines(plan))
    assert parse_plan(lines) == read_plan_of(lines, source, destination, NO_ATTRIBUTES) == plan
    check(source, destination, executor, lines)


@pytest.mark.parametrize(
    ("from_", "to", "dims", "target"),
    [("oihw", "OIhw4i16o4i", (32, 64, 3, 3), "avx2"), ("OIhw16i16o2i", "oihw", (32, 64, 3, 3), "neon")],
)
def test_bytes_of_short_rows_by_registers_without_masks(
    from_: str, to: str, dims: tuple[int, ...], target: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reorder_copies, "SWAPPED_ROWS", inf)
    source, destination = (layoutc.desc(layout, dims, "s4") for layout in (from_, to))
    plan = choose_plan(source, destination, MACHINES[target])
    assert any(digit.swaps_rows for copy in plan.copies for digit in copy.copy.digits)
    check(source, destination, "c", tuple(plan_lines(plan)))


@pytest.mark.parametrize(
    ("from_", "to", "dims"),
    [
        ("nChw8c", "nchw", (6, 96, 7, 7)),  # a box loads four bytes at a time
        ("oihw", "ohwi", (4, 33, 3, 3)),  # the last row has no other one
        ("oihw", "hwio", (16, 32, 3, 3)),  # rows of 9 are apart
        ("ab", "ba", (64, 255)),  # no tile has a row
    ],
)
def test_what_has_no_short_rows_for_a_box_goes_as_elements(from_: str, to: str, dims: tuple[int, ...]) -> None:
    source, destination = (layoutc.desc(layout, dims, "s4") for layout in (from_, to))
    plan = choose_plan(source, destination, BOXES["any bytes"])
    assert not any(digit.swaps_rows for copy in plan.copies for digit in copy.copy.digits)
    check(source, destination, "c", tuple(plan_lines(plan)))


@pytest.mark.parametrize("goes_through", [False, "dst"])
def test_plans_without_short_rows_are_read_too(goes_through: bool | SideName) -> None:
    """As those that `tune` tries, and older ones."""
    source, destination = sides(*ROWS["filters"])
    lines = plan_lines(choose_plan(source, destination, BOXES["any bytes"], 1, NO_ATTRIBUTES, goes_through))
    assert "swapped" not in "".join(lines)
    read_plan_of(lines, source, destination, NO_ATTRIBUTES)


@pytest.mark.parametrize("executor", ["interpret", "c"])
@pytest.mark.parametrize("target", MACHINES)
@pytest.mark.parametrize("name", CASES)
def test_bytes_are_those_of_the_reference(name: str, target: str, executor: Executor) -> None:
    source, destination = sides(*CASES[name])
    plan = choose_plan(source, destination, MACHINES[target])
    assert any(copy.copy.swapping is not None for copy in plan.copies)
    lines = tuple(plan_lines(plan))
    assert parse_plan(lines) == read_plan_of(lines, source, destination, NO_ATTRIBUTES) == plan
    check(source, destination, executor, lines)


def planned(name: str, target: str = "any bytes") -> CopyPlan:
    return next(
        copy for copy in choose_plan(*sides(*CASES[name]), MACHINES[target]).copies if copy.copy.swapping is not None
    )


@pytest.mark.parametrize(
    ("name", "swaps"),
    [
        ("rows", [Swap(0, 1, across=True)]),
        ("rows of quarters", [Swap(0, 1, across=True), Swap(1, 2, across=True)]),
        ("next bytes of a register", [Swap(0, 1, across=False)]),
        ("every other word", [Swap(0, 2, across=False)]),
        ("halves of 8 bytes", [Swap(0, 4, across=False)]),
        ("lanes of 8 bytes", [Swap(0, 8, across=False)]),
        ("lanes of quarters", [Swap(0, 4, across=False), Swap(1, 8, across=False)]),
    ],
)
def test_steps_are_registers_or_lanes(name: str, swaps: list[Swap]) -> None:
    """Rows that lie side by side are loaded into one register."""
    assert tile_program(planned(name, "avx2")).swaps == tuple(swaps)


def test_boxes_load_each_step_by_itself() -> None:
    """What lies between 6 channels of 4 bits is of the other step."""
    plan = planned("6 channels")
    assert plan.merges and all(swap.across for swap in tile_program(plan).swaps)


@pytest.mark.parametrize(
    ("from_", "to", "dims", "strides"),
    [
        ("ab", "ba", (63, 96), None),  # columns end inside of a byte
        ("ab", "ba", (64, 95), None),  # rows do
        ("ab", "ba", (64, 96), (0, 1)),  # all rows are one
        ("ab", "ba", (64, 96), (4, 1)),  # rows overlap
        ("ab", "ab", (64, 96), (98, 1)),  # neighbours stay neighbours
        ("ab", "ba", (2, 2), (8, 1)),  # there are two bytes, apart
    ],
)
def test_what_swaps_no_bytes_is_moved_by_elements(
    from_: str, to: str, dims: tuple[int, int], strides: tuple[int, int] | None
) -> None:
    source = layoutc.desc(from_, dims, "s4") if strides is None else layoutc.desc(from_, dims, "s4", strides=strides)
    (copy,) = strided_copies(source, layoutc.desc(to, dims, "s4"))
    assert swapped(copy, 2) is None


@pytest.mark.parametrize(
    "digits",
    [
        (CopyDigit(8, 1, 4, 8), CopyDigit(4, 8, 1, 3)),  # three rows are loaded
        (CopyDigit(8, 1, 4, 8), CopyDigit(4, 8, 1, 4), axis_digit(4, 4, Carry(((4, 32),)), Carry(((2, 32), (2, 80))))),
    ],
)
def test_what_is_loaded_in_part_of_a_byte_or_carries_swaps_none(digits: tuple[CopyDigit, ...]) -> None:
    assert swapped(StridedCopy(0, 0, digits), 2) is None


def test_steps_that_swap_stay_a_digit_of_their_own() -> None:
    """Were they one with the rows behind them, or the fastest of wider elements, nothing would swap."""
    copy = StridedCopy(0, 0, (CopyDigit(4, 1, 4, 4), CopyDigit(4, 4, 1, 4), CopyDigit(8, 16, 16, 8)))
    found = as_bytes(copy, 4)
    assert found is not None and [(d.extent, d.swaps) for d in found.digits] == [(8, 0), (4, 4)]
    assert promoted(found, 1) == (found, 1)


def test_no_loops_are_shared_along_what_swaps() -> None:
    (digit,) = (digit for digit in planned("rows").copy.digits if digit.swaps)
    assert loop_of(digit, Widths(1, 1)) is None and loop_of(replace(digit, swaps=0), Widths(1, 1)) is not None


@pytest.mark.parametrize("strides", [(400, 24, 2, 1), (1600, 96, 2, 1)])
@pytest.mark.parametrize("executor", ["interpret", "c"])
def test_elements_of_several_bytes_swap_one_by_one(strides: tuple[int, ...], executor: Executor) -> None:
    """Nothing is contiguous once four bytes are an element: steps are as many elements apart, each of four bytes."""
    source = layoutc.desc("Abc2a", (8, 2, 4), "u4", strides=strides)
    destination = layoutc.desc("acb", (8, 2, 4), "u4", strides=(16, 2, 1))
    (plan,) = choose_plan(source, destination, MACHINES["avx2"]).copies
    assert plan.copy.swapping is not None and plan.widths.dst > 1 and not plan.target_lanes
    check(source, destination, executor)


def test_macro_tiles_of_elements_have_all_steps() -> None:
    source = layoutc.desc("bca", (2, 2, 4), "u4", strides=(24, 2, 1))
    check(source, layoutc.desc("acb", (2, 2, 4), "u4", strides=(24, 2, 1)), "c")


@pytest.mark.parametrize("dims", [(6, 500), (14, 36)])
@pytest.mark.parametrize("target", MACHINES)
def test_rows_that_overlap(dims: tuple[int, int], target: str) -> None:
    """A byte of them is of several steps: once swapped it would be another one in each."""
    source, destination = layoutc.desc("ab", dims, "s4", strides=(4, 1)), layoutc.desc("ba", dims, "s4")
    check(source, destination, "c", tuple(plan_lines(choose_plan(source, destination, MACHINES[target]))))


def check(source: MemoryDesc, destination: MemoryDesc, executor: Executor, lines: tuple[str, ...] = ()) -> None:
    """Bytes are those of the reference, by the plan of AVX2 or a given one."""
    read = np.random.default_rng(5).integers(0, 256, source.size_bytes, np.uint8)
    written, expected = (np.full(destination.size_bytes, 0xA5, np.uint8) for _ in range(2))
    lines = lines or tuple(plan_lines(choose_plan(source, destination, MACHINES["avx2"])))
    layoutc.Kernel(source, destination, executor, plan=lines)(read, written)
    reference.reorder(source, destination, read, expected)
    np.testing.assert_array_equal(written, expected)


def test_the_plan_says_which_steps_swap() -> None:
    source, destination = sides(*CASES["rows"])
    (line,) = plan_lines(choose_plan(source, destination, MACHINES["avx2"]))[1:]
    assert line.startswith("copy 0 -> 0: 48x(1, 64) swapped 2x(48, 32) 32x(96, 1), elements of 1, ")
    words = "\n".join(explain_plan(source, destination, MACHINES["avx2"], 1))
    assert "3072 elements of 8 bits, each 2 of s4, which steps of digit 1 swap" in words


@pytest.mark.parametrize(
    ("before", "after", "message"),
    [
        ("tile 16x2x16", "tile 16x1x16", "steps that swap the 2 or 4 elements of their bytes"),
        ("swapped 2x(48, 32)", "2x(48, 32)", "expected 'copy 0 -> 0: 48x(1, 64) swapped 2x(48, 32) 32x(96, 1), "),
        ("48x(1, 64) swapped", "swapped 48x(1, 64)", "steps that swap the 2 or 4 elements of their bytes"),
        ("elements of 1,", "elements of 1/2 to 1/2,", "steps that swap the 2 or 4 elements of their bytes"),
        ("swapped 2x(48, 32)", "swapped twice (48, 32)", "a digit as 20x(1, 8)"),
    ],
)
def test_edited_plans_are_refused(before: str, after: str, message: str) -> None:
    source, destination = sides(*CASES["rows"])
    lines = plan_lines(choose_plan(source, destination, MACHINES["avx2"]))
    assert before in lines[1]
    with pytest.raises(PlanError, match="line 2") as error:
        read_plan_of((lines[0], lines[1].replace(before, after)), source, destination, NO_ATTRIBUTES)
    assert message in str(error.value)


@pytest.mark.parametrize(
    "plan",
    [
        "16x(1, 4) swapped 2x(16, 2) swapped 2x(32, 1), elements of 1, {}, tile 16x2x2, lanes 0:16 -> 2:2 1:2, macro "
        "16x2x2, outer 0 1 2, inner 0 1 2, normal stores",
        "16x(1, 2) swapped 2x(16, 1)/1, elements of 1, {}, tile 16x2, lanes 0:16 -> 1:2, macro 16x2, outer 0 1, inner "
        "0 1, normal stores",
        "3x(1, 1) swapped 2x(3, 3), elements of 8, {}, tile 3x2, lanes 0:3 1:2 -> 0:3 1:2, macro 3x2, outer 0 1, inner "
        "0 1, normal stores",
        "swapped 2x(4, 8) 8x(16, 1)/1, elements of 1, {}, tile 2x8, lanes - -> 1:8, macro 2x8, outer 0 1, inner 0 1, "
        "normal stores",
    ],
    ids=["twice", "in part", "among channels", "beside zeros"],
)
def test_tiles_that_do_not_swap(plan: str) -> None:
    given = f"copy 0 -> 0: {plan.format('vectors of 16, any shuffles')}"
    with pytest.raises(PlanError, match="line 2: steps that swap the 2 or 4 elements"):
        parse_plan(("threads 1", given))
    assert parse_plan(("threads 1", given.replace("swapped ", "")))


def test_boxes_have_all_steps() -> None:
    copy = StridedCopy(0, 0, (CopyDigit(5, 50, 12, 5), CopyDigit(2, 1000, 500, 2, swaps=2), CopyDigit(12, 1, 1, 12)))
    found = best_box(copy, 1, MACHINES["any bytes"])
    assert found is not None and found[1].tile[1] == 2


def test_macro_tiles_that_grow_begin_with_all_steps() -> None:
    """Of caches of a line: nothing grows."""
    copy = StridedCopy(0, 0, (CopyDigit(1000, 96, 7, 1000), CopyDigit(2, 48, 3, 2, swaps=2)))
    plan = with_element_macro(
        with_lanes(copy, Widths(1, 1), MACHINES["avx2"], (), ()), replace(TARGETS["avx2"], l1=64, l2=64)
    )
    assert plan.tile == (1, 2) and plan.macro[1] == 2


@pytest.mark.parametrize(
    ("before", "after", "message"),
    [
        ("swapped 1/2 when stored 9x(1, 32)", "swapped 1/2 when loaded 9x(1, 32)", "loaded, or stored, each by itself"),
        ("swapped 1/2 when stored", "swapped 1/8 when stored", "steps that swap the 2 or 4 elements of their bytes"),
        ("swapped 1/2 when stored", "swapped 1/2 when", "expected 'loaded ' or 'stored '"),
        ("swapped 1/2 when stored", "swapped 1/2", "expected 'when"),
        ("9x2x16, merged lanes 1:9", "3x2x16, merged lanes 1:3", "steps that swap the 2 or 4 elements of their bytes"),
        ("merged lanes", "lanes", "steps that swap the 2 or 4 elements of their bytes"),
        ("-> 3:16 2:2", "-> 3:16 2:2 1:9", "steps that swap elements are loaded, or stored, each by itself"),
    ],
)
def test_edited_plans_of_short_rows_are_refused(before: str, after: str, message: str) -> None:
    source, destination = sides("oihw->OIhw2i16o2i", (16, 16, 3, 3), "s4->s4")
    lines = plan_lines(choose_plan(source, destination, BOXES["any bytes"]))
    assert before in lines[1]
    with pytest.raises(PlanError, match="line 2") as error:
        read_plan_of((lines[0], lines[1].replace(before, after)), source, destination, NO_ATTRIBUTES)
    assert message in str(error.value)


def test_merged_lanes_load_each_step_by_itself() -> None:
    source, destination = sides("ab->ba", (4, 12), "s4->s4")
    line = (
        "copy 0 -> 0: 6x(1, 4) swapped 2x(6, 2) 2x(12, 1), elements of 1, vectors of 64, single shuffles, tile 6x2x2, "
        "merged lanes 0:6{} -> 2:2 1:2 0:6, macro 6x2x2, outer 0 1 2, inner 0 1 2, normal stores"
    )
    read_plan_of(("threads 1", line.format("")), source, destination, NO_ATTRIBUTES)
    with pytest.raises(PlanError, match="line 2: steps that swap elements are loaded, or stored, each by itself"):
        read_plan_of(("threads 1", line.format(" 1:2")), source, destination, NO_ATTRIBUTES)


GATHERED = (
    "vectors of 64, single shuffles, tile 16x2x32, lanes 0:16 -> 2:32, macro 64x2x128, outer 0 1 2, inner 2 1 0, "
    "staged stores, staged loads, prefetch 64"
)
ALONE = "vectors of 32, any shuffles, tile 1x2x1, lanes - -> -, macro 64x2x128, outer 0 1 2, inner 0 1 2, normal stores"
QUARTERS = ALONE.replace("1x2x1", "1x4x1").replace("64x2x128", "64x4x64")


@pytest.mark.parametrize(
    ("type", "line"),
    [
        ("u4", f"copy 0 -> 0: 256x(1, 256) swapped 2x(256, 128) 128x(512, 1), elements of 1, {GATHERED}"),
        ("u4", f"copy 0 -> 0: 256x(1, 256) swapped 2x(256, 128) 128x(512, 1), elements of 1, {ALONE}"),
        ("u2", f"copy 0 -> 0: 128x(1, 256) swapped 4x(128, 64) 64x(512, 1), elements of 1, {QUARTERS}"),
    ],
)
@pytest.mark.parametrize("executor", ["interpret", "c"])
def test_plans_that_were_given(type: str, line: str, executor: Executor) -> None:
    """Rows are gathered as they lie, and swap when they leave the buffer; steps go element by element, all at once."""
    source, destination = layoutc.desc("ab", (256, 512), type), layoutc.desc("ba", (256, 512), type)
    check(source, destination, executor, ("threads 1", line))
