"""Tiles of few rows, whose stores past the caches come soon to lines that lie side by side."""

from __future__ import annotations

from dataclasses import replace

import pytest

from layoutc.conversion import Conversion
from layoutc.descriptor import MemoryDesc
from layoutc.element_type import element_type
from layoutc.planning.choose import choose_plan
from layoutc.planning.machine import TARGETS
from layoutc.planning.moves.near_stores import NEAR_ROWS, with_near_stores
from layoutc.planning.plans.plan import CopyPlan
from tests.descriptors import layout


def plan_of(source: str, destination: str, rows: int = 8192) -> CopyPlan:
    """The plan of a large transpose, where rows are gathered that become wider."""
    dims = (rows, 8192)
    src, dst = (MemoryDesc(dims, element_type(t), layout(tag)) for t, tag in ((source, "ab"), (destination, "ba")))
    (copy,) = choose_plan(src, dst, replace(TARGETS["avx512"], llc_is_far=True), 1, Conversion()).copies
    return copy


@pytest.mark.parametrize("types", [("u8", "f32"), ("s4", "f32"), ("bf16", "bf16")])
def test_tiles_out_of_a_buffer_store_few_rows(types: tuple[str, str]) -> None:
    plan = plan_of(*types)
    assert (plan.load, plan.store) == ("staged", "nontemporal")
    assert plan.tile[0] == plan.source_lanes[0].extent == NEAR_ROWS


@pytest.mark.parametrize("types", [("f32", "bf16"), ("f32", "s8"), ("s8", "s8")])
def test_narrowed_elements_and_short_pieces_keep_their_rows(types: tuple[str, str]) -> None:
    """Those read more than they store, and pieces of less than 16 bytes take more instructions."""
    assert plan_of(*types).tile[0] == 16


def test_through_the_caches_it_does_not_matter() -> None:
    plan = plan_of("u8", "f32")
    wide = replace(plan, tile=(16, 16), source_lanes=(replace(plan.source_lanes[0], extent=16),))
    assert with_near_stores(wide) == plan
    normal = replace(wide, store="normal")
    assert with_near_stores(normal) == normal


def test_tiles_of_other_shapes_stay() -> None:
    """Boxes, and tiles of more rows than a load has lanes."""
    plan = plan_of("u8", "f32")
    lanes = (replace(plan.source_lanes[0], extent=16),)
    wide = replace(plan, tile=(16, 16), source_lanes=lanes)
    for shape in (replace(wide, tile=(32, 16), macro=(64, 64)), replace(wide, merges=True)):
        assert with_near_stores(shape) == shape
