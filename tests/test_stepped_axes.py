"""Axes whose blocks do not nest, and cut a reorder into many copies, are one digit of steps."""

from __future__ import annotations

import numpy as np
import pytest

import layoutc
from layoutc.descriptor import MemoryDesc
from layoutc.planning.choose import choose_plan
from layoutc.planning.copies.strided_copy import MOST_COPIES, strided_copies
from layoutc.planning.machine import TARGETS
from layoutc.planning.plan_text import plan_lines
from layoutc.transforms.plan_reorders import read_plan
from tests.test_planning import buffers, run_copies, run_plan

STEPPED = {
    "steps of an element": ("ABc5a4b", "BAc32a4b", (333, 9, 3)),
    "steps of 4, and a tail": ("ABc52a8b", "BAc44a4b", (1003, 9, 3)),
    "more segments than copies may be": ("ABc130a4b", "BAc131a4b", (17100, 3, 2)),
    "along rows": ("Ab52a", "Ab44a", (1003, 7)),
    "two axes": ("ABc16a24b", "cBA36b20a", (203, 101, 2)),
    "blocks of blocks": ("ABc5a2a4b", "BAc8a4a3b", (333, 10, 3)),
    "steps that follow one another on one side": ("Ab48a", "Ab1040a", (1043, 7)),
    "channels that follow one another on one side": ("Ab3a", "AB2a2b1000a3b", (1000, 6)),
}


def sides(name: str, element_type: str = "f32") -> tuple[MemoryDesc, MemoryDesc]:
    source, destination, dims = STEPPED[name]
    return layoutc.desc(source, dims, element_type), layoutc.desc(destination, dims, element_type)


@pytest.mark.parametrize("element_type", ["s8", "f32"])
@pytest.mark.parametrize("name", STEPPED)
def test_copies_in_steps_are_the_reorder(name: str, element_type: str) -> None:
    source, destination = sides(name, element_type)
    copies = strided_copies(source, destination, steps=True)
    assert len(copies) <= MOST_COPIES
    assert any(digit.is_uneven for copy in copies for digit in copy.digits)
    type = f"u{source.element_type.bits // 8}"
    read, written, expected = buffers(source, destination)
    run_copies(copies, read.view(type), written.view(type))
    np.testing.assert_array_equal(written, expected)


@pytest.mark.parametrize("target", ["avx512", "avx2", "sse2"])
@pytest.mark.parametrize("name", STEPPED)
def test_plans_with_steps_are_the_reorder_and_can_be_read(name: str, target: str) -> None:
    source, destination = sides(name, "s8")
    plan = choose_plan(source, destination, TARGETS[target])
    assert read_plan(plan_lines(plan), source, destination) == plan
    read, written, expected = buffers(source, destination)
    run_plan(plan, read, written)
    np.testing.assert_array_equal(written, expected)


@pytest.mark.parametrize("executor", ["interpret", "c"])
def test_kernels_with_steps_are_the_reorder(executor: layoutc.kernel.Executor) -> None:
    source, destination = sides("two axes", "bf16")
    read, written, expected = buffers(source, destination)
    layoutc.compile(source, destination, executor=executor)(read, written)
    np.testing.assert_array_equal(written, expected)


BEHIND_BORDERS = {
    "blocks that never begin together": ("AB10a4b", "AB42a4b", (400, 64), (1, 0)),
    "nothing is loaded where blocks begin together": ("AB5a6b", "AB64a3b6a2b", (6, 12), (3, 0)),
}


@pytest.mark.parametrize("name", BEHIND_BORDERS)
def test_what_lies_behind_a_border_is_the_reorder(name: str) -> None:
    """Steps need a block on each side to begin with; past it there may be padding alone."""
    src, dst, dims, low = BEHIND_BORDERS[name]
    source, destination = layoutc.desc(src, dims, "f32", low=low), layoutc.desc(dst, dims, "f32")
    copies = strided_copies(source, destination, steps=True)
    read, written, expected = buffers(source, destination)
    run_copies(copies, read.view("u4"), written.view("u4"))
    np.testing.assert_array_equal(written, expected)


def test_short_steps_along_rows_are_not_taken_for_a_few_copies() -> None:
    """Steps of one element would leave no lanes."""
    source, destination = (layoutc.desc(tag, (330, 3), "s8") for tag in ("bA32a", "Ab5a"))
    assert strided_copies(source, destination, steps=True) == strided_copies(source, destination)
