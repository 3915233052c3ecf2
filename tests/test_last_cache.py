"""What loads ask for ahead in the last cache."""

from __future__ import annotations

from dataclasses import replace

import pytest

from layoutc.descriptor import MemoryDesc
from layoutc.element_type import element_type
from layoutc.planning.choose import choose_plan
from layoutc.planning.explain import explain_plan
from layoutc.planning.machine import TARGETS, Machine
from layoutc.planning.moves.last_cache import FOLLOWED_ROWS
from tests.descriptors import layout

NEAR = TARGETS["avx512"]
"""a machine whose last cache is near, and whose second one has 1 MiB"""


def sides(
    source: str, destination: str, dims: tuple[int, ...], types: tuple[str, str]
) -> tuple[MemoryDesc, MemoryDesc]:
    src, dst = (
        MemoryDesc(dims, element_type(t), layout(tag)) for t, tag in zip(types, (source, destination), strict=True)
    )
    return src, dst


def ahead(
    source: str, destination: str, dims: tuple[int, ...], types: tuple[str, str] = ("f32", "f32"), on: Machine = NEAR
) -> int:
    """How far ahead loads ask."""
    (copy,) = choose_plan(*sides(source, destination, dims, types), on).copies
    assert copy.store == "normal"
    return copy.prefetch


@pytest.mark.parametrize("types", [("f32", "f32"), ("s8", "s8"), ("f32", "bf16"), ("bf16", "f32")])
def test_a_transpose_that_the_second_cache_does_not_hold_asks_ahead(types: tuple[str, str]) -> None:
    """For rows of the source that lie elsewhere."""
    rows = 700 if types == ("f32", "f32") else 1400
    assert ahead("ab", "ba", (rows, 700), types) > 0
    assert ahead("ab", "ba", (300, 300), types) == 0


def test_both_sides_count() -> None:
    """L2 holds the bytes of one and the floats of the other up to 209,715 elements."""
    assert ahead("ab", "ba", (400, 500), ("s8", "f32")) == 0 < ahead("ab", "ba", (441, 500), ("s8", "f32"))


def test_a_last_cache_that_is_far_is_not_asked() -> None:
    """Of those that was not measured."""
    far = replace(NEAR, llc_is_far=True, l2=2 << 20)
    assert ahead("ab", "ba", (600, 700)) > 0 == ahead("ab", "ba", (600, 700), on=far)


def test_few_rows_that_go_on_are_left_to_the_processor() -> None:
    """It follows those of 16 channels by itself, not of 64."""
    assert ahead("abcd", "aBcd16b", (4, 64, 56, 56)) == 0
    assert ahead("abcd", "acdb", (4, FOLLOWED_ROWS, 112, 56)) > 0
    assert ahead("abcd", "acdb", (8, FOLLOWED_ROWS // 2, 112, 56)) == 0


def test_rows_that_are_copied_as_they_are_do_not_ask() -> None:
    assert ahead("abcd", "acbd", (1, 512, 16, 64)) == 0


def test_elements_that_share_bytes_of_the_source_do_not_ask() -> None:
    assert ahead("ab", "ba", (1001, 1000), ("s8", "f32")) > 0
    assert ahead("ab", "ba", (1001, 1000), ("s4", "f32")) == 0


def test_explain_says_that_loads_ask() -> None:
    lines = explain_plan(*sides("ab", "ba", (600, 700), ("f32", "f32")), NEAR, 1)
    assert any("prefetch: each load asks" in line for line in lines)
