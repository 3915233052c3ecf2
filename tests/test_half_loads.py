"""Loads and registers of half a line where a processor halves them, and tiles of bytes where rows evict each other."""

from __future__ import annotations

from dataclasses import replace
from math import prod

import pytest

import layoutc
from layoutc.planning.choose import choose_plan
from layoutc.planning.machine import TARGETS
from layoutc.planning.plan_text import parse_plan, plan_lines
from layoutc.planning.plans.plan import CopyPlan, Plan

ZEN4 = replace(TARGETS["avx512"], shuffles="single", waits_for_lines=False, fetches_rows=True, halves_registers=True)


def transpose(dims: tuple[int, int], element_type: str, halves: bool = True) -> CopyPlan:
    source, destination = (layoutc.desc(name, dims, element_type) for name in ("ab", "ba"))
    (copy,) = choose_plan(source, destination, replace(ZEN4, halves_registers=halves)).copies
    return copy


@pytest.mark.parametrize(("element_type", "lanes"), [("f32", 8), ("f64", 4)])
def test_rows_that_begin_anywhere_are_loaded_by_halves_of_a_line(element_type: str, lanes: int) -> None:
    tiles = {halves: transpose((250, 301), element_type, halves).tile for halves in (True, False)}
    assert tiles == {True: (lanes, 2 * lanes), False: (2 * lanes, 2 * lanes)}


@pytest.mark.parametrize(("dims", "element_type"), [((250, 320), "f32"), ((250, 301), "bf16"), ((250, 301), "s8")])
def test_rows_that_begin_with_lines_and_shorter_loads_stay(dims: tuple[int, int], element_type: str) -> None:
    assert transpose(dims, element_type) == transpose(dims, element_type, halves=False)


def test_tiles_of_bytes_store_whole_lines_in_macro_tiles_of_8_kib() -> None:
    """Tiles of half a line would be taken, or macro tiles of twice the bytes, if either rule were that of others."""
    copy = transpose((3880, 971), "s8")
    assert (copy.load, copy.tile, copy.macro) == ("normal", (16, 64), (128, 64))


def test_rows_of_bytes_that_share_sets_are_gathered_for_whole_lines() -> None:
    copy = transpose((513, 513), "s8")
    assert (copy.load, copy.tile) == ("staged", (16, 64))


@pytest.mark.parametrize(("element_type", "kib"), [("f32", 8), ("f64", 14)])
def test_macro_tiles_are_smaller_where_the_second_cache_holds_both_sides(element_type: str, kib: int) -> None:
    """Of elements of up to 4 bytes: the others have what is left of 16 KiB once rows are of equal parts."""
    copy = transpose((200, 301), element_type)
    assert prod(copy.macro) * copy.widths.src == kib << 10


def planned(dims: tuple[int, ...], element_type: str, names: tuple[str, str] = ("nhwc", "nchw")) -> CopyPlan:
    source, destination = (layoutc.desc(name, dims, element_type) for name in names)
    (copy,) = choose_plan(source, destination, ZEN4).copies
    return copy


@pytest.mark.parametrize("names", [("nhwc", "nchw"), ("nchw", "nhwc")])
def test_channels_are_taken_apart_by_registers_of_half_a_line(names: tuple[str, str]) -> None:
    copy = planned((2, 17, 28, 28), "f32", names)
    assert (copy.vector_bytes, sorted(copy.tile)[-2:]) == (32, [8, 17])
    assert parse_plan(plan_lines(Plan((copy,)))).copies == (copy,)


@pytest.mark.parametrize(
    "dims",
    [
        pytest.param((2, 3, 28, 28), id="few channels"),
        pytest.param((2, 17, 32, 32), id="rows in one set of the first cache"),
        pytest.param((64, 17, 112, 112), id="past the caches"),
    ],
)
def test_other_channels_are_taken_apart_by_registers_of_a_line(dims: tuple[int, ...]) -> None:
    assert planned(dims, "f32").vector_bytes == 64


@pytest.mark.parametrize(
    ("dims", "destination", "element_type", "bytes"),
    [
        pytest.param((15, 21, 10, 12), "cbda", "f32", 32, id="smaller boxes"),
        pytest.param((18, 24, 7, 14), "badc", "f32", 64, id="boxes as large"),
        pytest.param((15, 21, 10, 12), "cbda", "bf16", 64, id="elements of 2 bytes"),
        pytest.param((15, 84, 40, 12), "cbda", "f32", 64, id="past the second cache"),
    ],
)
def test_boxes_have_registers_of_half_a_line(
    dims: tuple[int, ...], destination: str, element_type: str, bytes: int
) -> None:
    copy = planned(dims, element_type, ("abcd", destination))
    assert copy.merges
    assert copy.vector_bytes == bytes
    assert parse_plan(plan_lines(Plan((copy,)))).copies == (copy,)


@pytest.mark.parametrize(
    ("dims", "bytes"),
    [
        pytest.param((40, 72), 32, id="tiles of 16 by 16 move a fifth more again"),
        pytest.param((160, 304), 64, id="tiles of 16 by 16 move each element once"),
        pytest.param((40, 6008), 64, id="past the second cache"),
    ],
)
def test_lanes_have_registers_of_half_a_line(dims: tuple[int, int], bytes: int) -> None:
    assert transpose(dims, "f32").vector_bytes == bytes
