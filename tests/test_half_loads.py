"""Loads of half a line where whole ones would straddle two, and tiles of bytes where rows evict each other."""

from __future__ import annotations

from dataclasses import replace

import pytest

import layoutc
from layoutc.planning.choose import choose_plan
from layoutc.planning.machine import TARGETS
from layoutc.planning.plans.plan import CopyPlan

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


@pytest.mark.parametrize("dims", [(470, 670), (943, 2509)])
def test_tiles_of_bytes_store_whole_lines(dims: tuple[int, int]) -> None:
    assert transpose(dims, "s8").tile == (16, 64)
