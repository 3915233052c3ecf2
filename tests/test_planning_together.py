"""The loops around copies that run together: their steps, their order, and what runs in them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import layoutc
from layoutc.planning.choose import choose_plan
from layoutc.planning.copies.strided_copy import strided_copies
from layoutc.planning.machine import TARGETS, Machine
from layoutc.planning.plan_covers import check_covers
from layoutc.planning.plan_text import parse_plan, plan_lines
from layoutc.planning.plans.plan import Plan
from layoutc.planning.plans.turns import SharedLoop, Together
from layoutc.planning.together.together import even_step
from tests.test_planning import buffers, run_plan

SERVER = replace(TARGETS["avx512"], shuffles="any")
BY_LINES = (
    "affine:(a, b, c, d) -> (b mod 3, a, (b floordiv 36) mod 3, c, (b floordiv 3) mod 12, b floordiv 108, d)",
    "onednn:dbca",
    (205, 255, 187, 4),
    "s8",
)
BY_PAGES = (
    "affine:(a, b, c) -> (b, (c floordiv 8) mod 48, c mod 8, c floordiv 384, a)",
    "onednn:abc",
    (126, 128, 1738),
    "bf16",
)
SHORT_ROWS = (
    "onednn:DacB16d32b",
    "affine:(a, b, c, d) -> (a mod 2, d floordiv 24, c, a floordiv 2, d mod 24, b)",
    (9, 81, 2, 32),
    "f32",
)
ZEROS_BESIDE = ("onednn:cbad", "onednn:abcD32d", (5, 9, 13, 134), "f64")
ROWS_AND_ZEROS = ("onednn:Ba16b8b16b", "onednn:bA6a", (255, 4500), "bf16")
Reorder = tuple[str, str, tuple[int, ...], str]


def plan_of(reorder: Reorder, target: Machine = SERVER) -> Plan:
    source, destination, dims, element = reorder
    return choose_plan(layoutc.desc(source, dims, element), layoutc.desc(destination, dims, element), target)


def checked(reorder: Reorder, target: Machine) -> Plan:
    """The plan, which reads as it is printed, is one of the reorder, and does it."""
    source, destination, dims, element = reorder
    pair = layoutc.desc(source, dims, element), layoutc.desc(destination, dims, element)
    plan = plan_of(reorder, target)
    assert parse_plan(plan_lines(plan)) == plan
    check_covers(plan, strided_copies(*pair), pair[0].element_type.bits // 8)
    read, written, expected = buffers(*pair)
    run_plan(plan, read, written)
    np.testing.assert_array_equal(written, expected)
    return plan


def shared_loops(plan: Plan) -> list[tuple[SharedLoop, ...]]:
    return [part.loops for part in plan.parts if isinstance(part, Together)]


def test_turns_that_share_lines_of_the_source_follow_each_other() -> None:
    """A turn takes some of 144 contiguous bytes, of so many lines that they are still there in the next one."""
    ((_, rows, near, *_),) = shared_loops(plan_of(BY_LINES))
    assert (rows.extent, near.extent, near.src) == (187, 12, 12) and near.step < 12
    assert 205 * 3 * rows.step * 64 < SERVER.l2


def test_turns_that_share_pages_of_the_source_follow_each_other() -> None:
    """What lanes are made of is most of a turn; all turns of one page follow each other."""
    ((slow, fast),) = shared_loops(plan_of(BY_PAGES))
    assert (slow.src, slow.step, fast.src, fast.step) == (483840, 1, 2, 63)


def test_steps_within_a_line_of_the_source_follow_each_other_around_no_other_turns() -> None:
    """Turns of 4 rows of 512 bytes take 20 of 400 contiguous bytes; the next 20 are in lines that were just loaded."""
    plan = plan_of(("onednn:Abc5a", "onednn:cba", (128, 3913, 20), "f32"))
    ((rows, near),) = shared_loops(plan)
    assert (rows.extent, rows.step, rows.src) == (3913, 4, 400) and (near.extent, near.src) == (20, 20)
    assert {copy.prefetch * copy.widths.src for copy in plan.copies} == {rows.step * rows.src}


def test_turns_of_a_line_follow_each_other_inside_of_those_of_a_few() -> None:
    """57 of 170 contiguous bytes, and then the next ones: not those of the next row, which begin 170 bytes on."""
    plan = plan_of(("onednn:adcbe", "onednn:decAb16a", (24, 170, 12, 839, 1), "s8"))
    ((rows, near),) = shared_loops(plan)
    assert (rows.src, rows.step, near.src, near.step) == (170, 1, 1, 57)


def test_where_turns_step_within_a_line_they_ask_for_a_near_one_of_another_loop() -> None:
    """Innermost are 17 steps of 16 bytes; what the loop around them turns to lies 5.7 MB further on."""
    plan = plan_of(("onednn:eCadb8c", "onednn:baedc", (153, 17, 183, 2, 32), "bf16"))
    assert shared_loops(plan)[0][-1].src == 16
    assert {copy.prefetch * copy.widths.src for copy in plan.copies} == {544}


def test_turns_that_begin_inside_of_lines_leave_a_buffer_that_copies_share() -> None:
    """Rows of 3476 bytes: of the turns along them one in 16 begins at a line."""
    (part,) = plan_of(BY_PAGES).parts
    assert isinstance(part, Together)
    assert (part.store, [copy.store for copy in part.copies]) == ("staged", ["normal", "normal"])


def test_turns_are_of_equal_size() -> None:
    """A last turn of 64 of 165 rows would begin earlier, and copy a third of them again."""
    assert even_step(165, 64) == 55
    ((_, pixels),) = shared_loops(plan_of(("onednn:nChw16c", "onednn:nhwc", (2, 17, 150, 175), "f32")))
    turns = -(-pixels.extent // pixels.step)
    assert pixels.extent == 26250 and turns > 2 and turns * pixels.step - pixels.extent < turns * 16


def test_turns_fill_lines_of_the_destination_that_are_far_apart() -> None:
    """48 neighbours there, which are rows of the source: with all of a row, two of them were a turn."""
    permuted = "affine:(a, b, c) -> (b, a, c mod 32, c floordiv 32)"
    (loops,) = shared_loops(plan_of(("onednn:acb", permuted, (56, 13824, 48), "s8")))
    (rows,) = (loop for loop in loops if loop.dst == 2)
    (along,) = (loop for loop in loops if loop.src == 1)
    assert rows.step == rows.extent == 16
    assert along.step < along.extent


def test_runs_that_go_on_in_the_next_turn_have_more_than_two_steps_of_one() -> None:
    """Rows of 2 x 183 are 732 bytes: two of them and a line of the third would be no run of their own."""
    source, destination, dims, element = ("eCadb8c", "baedc", (153, 17, 183, 2, 32), "bf16")
    (part,) = plan_of((source, destination, dims, element)).parts
    assert isinstance(part, Together) and part.store == "staged"
    assert [(loop.extent, loop.step) for loop in part.loops if loop.dst == 732] == [(32, 3)]


def test_copies_between_which_others_stand_fill_lines_together() -> None:
    """Rows of 81 are written by copies of 64 and 17, between which stand those of other rows."""
    plan = checked(SHORT_ROWS, replace(SERVER, l2=1 << 14, llc=1 << 12))
    staged = [part for part in plan.parts if isinstance(part, Together) and part.store == "staged"]
    assert any({0, 64} <= {copy.copy.dst for copy in part.copies} for part in staged)


def test_zeros_share_loops_with_what_is_beside_them() -> None:
    """Of rows that are one digit, as the zeros at their ends are evenly apart, the elements have one for each axis."""
    plan = checked(ZEROS_BESIDE, replace(SERVER, l2=1 << 14, llc=1 << 12))
    (part,) = plan.parts
    assert isinstance(part, Together) and [copy.copy.is_fill for copy in part.copies] == [False, True]
    assert [loop.extent for loop in part.loops] == [5, 9, 13]


def test_rows_that_are_transposed_fill_lines_together_in_turns_of_whole_lines_of_the_source() -> None:
    """Rows of 516 bytes, 255 elements and three zeros: a turn of 2 KiB would have 8 bytes of each line."""
    plan = checked(ROWS_AND_ZEROS, replace(SERVER, llc=1 << 12))
    staged = [part for part in plan.parts if isinstance(part, Together) and part.store == "staged"]
    assert len(staged) == len(plan.parts) == 2
    for part in staged:
        assert [loop.step for loop in part.loops if loop.src == 2] == [2 * 64 + 1]
        assert sum(copy.copy.elements for copy in part.copies) == 258 * 129


def test_rows_of_several_copies_are_together_in_the_first_cache() -> None:
    """16 channels and one more are rows of 68 bytes, which the second cache holds."""
    plan = plan_of(("onednn:nChw16c", "onednn:nhwc", (2, 17, 56, 56), "f32"))
    ((_, rows),) = shared_loops(plan)
    assert rows.extent == 3136
    assert 2 * rows.step * rows.dst < SERVER.l1
    source, destination = (layoutc.desc(name, (2, 17, 56, 56), "f32") for name in ("nChw16c", "nhwc"))
    threads = choose_plan(source, destination, SERVER, 2)
    assert threads.threads == 2
    assert shared_loops(threads) == shared_loops(plan)


def test_turns_in_the_first_cache_have_a_tile_for_what_is_loaded_in_part() -> None:
    """Of a turn of rows of 24 and 2 what is loaded in part has none, though alone it has."""
    layout = "affine:(a, b, c) -> (b mod 24, c mod 2, a, c floordiv 2, b floordiv 24)"
    plan = plan_of((layout, "onednn:CBa2c8b", (254, 652, 8), "s8"), replace(SERVER, l1=48 << 10, l2=2 << 20))
    assert parse_plan(plan_lines(plan)) == plan


def test_copies_in_the_second_cache_that_transpose_run_alone() -> None:
    reorder = ("onednn:abcd", "affine:(a, b, c, d) -> (c, d, b floordiv 16, a, b mod 16)", (14, 28, 36, 45), "s8")
    assert not shared_loops(plan_of(reorder))


def test_turns_are_of_what_the_first_cache_holds() -> None:
    """Of rows of 1.9 KB 64 are more than that."""
    reorder = (
        "affine:(a, b) -> (a, b floordiv 4, b mod 4)",
        "affine:(a, b) -> (a, b floordiv 3, b mod 3)",
        (351, 478),
        "f32",
    )
    assert not shared_loops(plan_of(reorder))


def test_copies_that_share_lines_run_together_where_others_stand_between() -> None:
    """48 of 50 elements of a row, and the last two: fills and other rows are between."""
    reorder = "onednn:CbdA8c8a3c", "affine:(a, b, c, d) -> (d mod 8, a, d floordiv 8, c, b)", (1310, 2, 50, 190), "bf16"
    plan = plan_of(reorder)
    begins = [{copy.copy.dst for copy in part.copies} for part in plan.parts if isinstance(part, Together)]
    assert any({0, 96} <= found for found in begins)


def test_copies_run_alone_where_the_largest_goes_past_the_caches_then() -> None:
    """171 of 172 elements of a row of the source, which share its lines with the last one of 26 rows."""
    source = "affine:(a, b) -> (b floordiv 256, a mod 32, b mod 16, (b floordiv 16) mod 16, a floordiv 32)"
    plan = plan_of((source, "onednn:ab", (5498, 1214), "f64"))
    largest = max(plan.copies, key=lambda copy: copy.copy.elements)
    assert largest.store == "staged"
    assert largest in plan.parts


@pytest.mark.parametrize(
    ("source", "destination", "dims", "element"),
    [("cbda", "cadB8b", (14, 149, 108, 64), "f32"), ("dbCa3c", "cdaB6b", (98, 100, 293, 10), "bf16")],
)
def test_digits_that_count_as_one_do_not_cut_rows_short(
    source: str, destination: str, dims: tuple[int, ...], element: str
) -> None:
    """Rows of 608 and of 204 bytes, one after the other along a digit that with another one would fill loads."""
    plan = plan_of((f"onednn:{source}", f"onednn:{destination}", dims, element))
    largest = max(plan.copies, key=lambda copy: copy.copy.elements)
    assert largest.store == "staged"
    assert largest.run * largest.widths.src > 2 << 10


def test_lines_of_the_source_are_whole_before_long_runs_grow() -> None:
    """Rows of 3 KiB of the destination; a turn takes a line of rows of which a step has 3 bytes."""
    destination = "affine:(a, b, c, d) -> (b, d, a, c floordiv 64, c mod 4, (c floordiv 4) mod 16)"
    for loops in shared_loops(plan_of(("onednn:Dcab3d", destination, (16, 256, 57, 195), "s8"))):
        steps = {(loop.src, loop.dst): loop.step for loop in loops}
        assert steps[3, 199680] * 3 >= 60


def test_runs_of_the_destination_stop_growing_where_they_are_contiguous_too() -> None:
    """Rows of 3520 bytes would be whole, of 1760 pieces of 16 bytes of lines that come again for each of 14 others."""
    reorder = ("onednn:ceaBd8b", "onednn:dbEac16e", (128, 55, 110, 2, 16), "bf16")
    loops = {loop.src: loop for shared in shared_loops(plan_of(reorder)) for loop in shared}
    assert loops[28672].step < 1760 and loops[16].step == 2


def test_turns_ask_along_no_loop_that_reads_the_same_again() -> None:
    """Of 200 images there is one in memory: its blocks of channels have fewer turns, and lie apart."""
    source = layoutc.desc("aBc16b", (200, 170, 400), "f32", strides=(0, 6400, 16, 1))
    parts = choose_plan(source, layoutc.desc("acb", (200, 170, 400), "f32"), SERVER).parts
    (part,) = (part for part in parts if isinstance(part, Together))
    assert all(copy.prefetch for copy in part.copies)
