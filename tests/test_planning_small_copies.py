"""Copies that are nearly nothing of their reorder."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import layoutc
from layoutc.descriptor import MemoryDesc
from layoutc.planning.choose import choose_plan
from layoutc.planning.machine import TARGETS
from layoutc.planning.plan_text import parse_plan, plan_lines
from layoutc.planning.plans.plan import CopyPlan
from layoutc.transforms.plan_reorders import read_converting_plan
from tests.test_planning import buffers, run_plan

SERVER = replace(TARGETS["avx512"], shuffles="any")


def plans(source: str, destination: str, rows: int, columns: int) -> tuple[list[CopyPlan], tuple[MemoryDesc, ...]]:
    """The copies of a reorder of two axes that end within blocks of 16."""
    pair = layoutc.desc(source, (rows, columns), "bf16"), layoutc.desc(destination, (rows, columns), "bf16")
    plan = choose_plan(*pair, SERVER)
    assert parse_plan(plan_lines(plan)) == plan
    read, written, expected = buffers(*pair)
    run_plan(plan, read, written)
    np.testing.assert_array_equal(written, expected)
    return list(plan.copies), pair


@pytest.mark.parametrize(("rows", "goes_one_by_one"), [(643, False), (16 * 193 + 3, True)])
def test_a_small_copy_goes_element_by_element(rows: int, goes_one_by_one: bool) -> None:
    """The last 3 of 643 rows are a 214th of them; of 3091 they are a 1030th."""
    (_, last), _ = plans("onednn:AB16b16a", "onednn:ab", rows, 21)
    assert last.copy.digits[0].extent == 3
    assert (not last.target_lanes) == goes_one_by_one


def test_a_small_copy_that_is_zero_in_places_is_filled_there() -> None:
    """Where rows and columns both end within blocks of 48: elements that are loaded, and two fills."""
    copies, (_, destination) = plans("onednn:AB16b16a", "onednn:AB48a48b", 643, 645)
    small = [copy for copy in copies if copy.copy.elements * 1024 < destination.size_bytes // 2]
    assert any(not (copy.copy.is_fill or copy.target_lanes) for copy in small)
    assert all(digit.is_whole for copy in small if not copy.target_lanes for digit in copy.copy.digits)


@pytest.mark.parametrize("types", ["f32->s32", "s8->f4_e2m1", "u2->f32"])
@pytest.mark.parametrize(("rows", "goes_one_by_one"), [(643, False), (16 * 193 + 3, True)])
def test_a_small_copy_converts_element_by_element(rows: int, goes_one_by_one: bool, types: str) -> None:
    """As the last 3 rows do where nothing is converted; who reads the plan finds the same copies."""
    from_type, to_type = types.split("->")
    source, destination = layoutc.desc("AB16b16a", (rows, 20), from_type), layoutc.desc("ab", (rows, 20), to_type)
    lines = tuple(plan_lines(choose_plan(source, destination, SERVER)))
    copies = read_converting_plan(lines, source, destination).copies
    small = [copy for copy in copies if not copy.target_lanes]
    assert bool(small) == goes_one_by_one
    assert sum(copy.copy.elements for copy in copies) == rows * 20
    assert all(copy.copy.elements * 1024 <= rows * 20 and max(copy.tile) == 1 for copy in small)
