"""Elements that are loaded one by one, and stored with the zeros beside them."""

from __future__ import annotations

import numpy as np
import pytest

import layoutc
from layoutc.planning.choose import choose_plan
from layoutc.planning.machine import TARGETS
from layoutc.planning.plans.plan import Part
from tests.test_planning import buffers, run_plan


@pytest.mark.parametrize(
    ("target", "element_type"),
    [("sse2", type) for type in ("s8", "bf16", "f32")] + [("avx2", "bf16"), ("avx2", "f32"), ("neon", "bf16")],
)
def test_elements_are_stored_with_the_zeros_beside_them(target: str, element_type: str) -> None:
    """The last of 9 weights of a group, whose neighbours lie in other groups' rows, and 3 zeros: one store."""
    layouts = "openvino:goiyx", "openvino:gs_oi_yxs_gsv16_yxsv4"
    source, destination = (layoutc.desc(layout, (32, 2, 3, 3, 3), element_type) for layout in layouts)
    plan = choose_plan(source, destination, TARGETS[target])
    padded = plan.copies[-1]
    assert (padded.source_lanes, padded.target_lanes) == ((), (Part(3, 4),))
    assert padded.tile == (1, 1, 16, 4)
    assert not any(copy.copy.is_fill for copy in plan.copies)
    read, written, expected = buffers(source, destination)
    run_plan(plan, read, written)
    np.testing.assert_array_equal(written, expected)


def test_such_tiles_are_explained() -> None:
    layouts = "openvino:goiyx", "openvino:gs_oi_yxs_gsv16_yxsv4"
    source, destination = (layoutc.desc(layout, (32, 2, 3, 3, 3), "s8") for layout in layouts)
    text = layoutc.Kernel(source, destination, target="sse2").explain()
    assert "tiles: 1x1x16x4 = 64, loaded one by one, stored along 4 of digit 3 with the zeros beside them" in text


def test_elements_that_lie_together_are_copied_apart_from_zeros() -> None:
    """4 channels of 8, which lie side by side: a load and a store of 4, and one of zeros."""
    source, destination = (layoutc.desc(layout, (2, 20, 7, 3), "s8") for layout in ("nChw16c", "nChw8c"))
    plan = choose_plan(source, destination, TARGETS["sse2"])
    assert not any(copy.pads_elements for copy in plan.copies)
    assert any(copy.copy.is_fill for copy in plan.copies)
