"""Transposes in the second cache whose macro tiles have two blocks, or 2 by 2 tiles."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import layoutc
from layoutc.planning.choose import choose_plan
from layoutc.planning.explain import explain_plan
from layoutc.planning.machine import TARGETS, Machine
from layoutc.planning.plan_text import parse_plan, plan_lines
from layoutc.planning.plans.plan import CopyPlan
from tests.test_planning import buffers, run_plan

NEAR = replace(TARGETS["avx512"], shuffles="single", waits_for_lines=False)

Pair = tuple[layoutc.MemoryDesc, layoutc.MemoryDesc]


def pair(source: str, destination: str, dims: tuple[int, ...], dtype: str) -> Pair:
    return layoutc.desc(source, dims, dtype), layoutc.desc(destination, dims, dtype)


def weights(out: int, into: int, dtype: str = "f32") -> Pair:
    """Tiles of a block of 16 output channels go on along its input channels alone."""
    return pair("oihw", "OIhw16i16o", (out, into, 1, 1), dtype)


def plan_of(sides: Pair, target: Machine = NEAR) -> CopyPlan:
    (copy,) = choose_plan(*sides, target).copies
    return copy


@pytest.mark.parametrize("dtype", ["f32", "bf16"])
def test_tiles_of_two_blocks_are_taken_in_turn(dtype: str) -> None:
    plan = plan_of(weights(256, 256, dtype))
    rows = plan.tile[1]
    assert (plan.tile, plan.macro) == ((1, rows, 16), (2, 2 * rows, 16))
    text = "\n".join(explain_plan(*weights(256, 256, dtype), NEAR, 1))
    assert "2 tiles of 2 blocks each, as along one the processor fetches lines as well" in text


@pytest.mark.parametrize(
    ("sides", "target", "why"),
    [
        (weights(256, 256), replace(NEAR, waits_for_lines=True), "a processor that waits for lines"),
        (weights(1024, 512), NEAR, "more than the second cache holds"),
        (weights(256, 48), NEAR, "three tiles of a block"),
        (weights(16, 1024), NEAR, "one block"),
        (pair("ab", "BA16a16b", (320, 320), "f32"), NEAR, "lanes that stay in their order"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_others_have_the_usual_macro_tiles(sides: Pair, target: Machine, why: str) -> None:
    text = "\n".join(explain_plan(*sides, target, 1))
    assert "the processor fetches lines as well" not in text, why


@pytest.mark.parametrize("dtype", ["s8", "bf16"])
def test_small_elements_have_2_by_2_tiles_along_the_source(dtype: str) -> None:
    plan = plan_of(pair("ab", "ba", (192, 320), dtype))
    assert plan.macro == tuple(2 * size for size in plan.tile)
    assert plan.outer_order == plan.inner_order == (1, 0)


def test_2_by_2_tiles_store_whole_lines_of_rows_that_have_room_in_their_sets() -> None:
    for sides in (pair("ab", "ba", (200, 310), "bf16"), pair("ab", "ba", (64, 2048), "bf16")):
        plan = plan_of(sides)
        assert plan.macro != tuple(2 * size for size in plan.tile)


@pytest.mark.parametrize("sides", [weights(64, 64), weights(48, 144, "bf16"), pair("ab", "ba", (192, 320), "s8")])
def test_such_plans_are_read_again_and_move_every_element(sides: Pair) -> None:
    plan = choose_plan(*sides, NEAR)
    assert "the processor fetches lines as well" in "\n".join(explain_plan(*sides, NEAR, 1))
    assert parse_plan(plan_lines(plan)) == plan
    read, written, expected = buffers(*sides)
    run_plan(plan, read, written)
    np.testing.assert_array_equal(written, expected)
