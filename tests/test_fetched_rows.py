"""Long rows that the processor fetches by itself: loads ask for nothing ahead of them."""

from __future__ import annotations

from dataclasses import replace

import pytest

from layoutc.descriptor import MemoryDesc
from layoutc.element_type import element_type
from layoutc.planning.choose import choose_plan
from layoutc.planning.machine import TARGETS
from layoutc.planning.moves.fetched_rows import FETCHED_ROW, row_bytes
from layoutc.planning.plans.plan import CopyPlan
from tests.descriptors import layout

MACHINE = replace(TARGETS["avx512"], shuffles="any")


def plan_of(
    source: str, destination: str, dims: tuple[int, ...], type: str, fetches: bool, to_type: str = ""
) -> CopyPlan:
    """The plan of a reorder past the caches, on a processor that fetches rows or one of which that is not known."""
    src = MemoryDesc(dims, element_type(type), layout(source))
    dst = MemoryDesc(dims, element_type(to_type or type), layout(destination))
    return max(
        choose_plan(src, dst, replace(MACHINE, fetches_rows=fetches)).copies, key=lambda plan: plan.copy.elements
    )


@pytest.mark.parametrize(
    ("source", "destination", "dims", "reads_on"),
    [
        ("aBcd8b", "acdb", (16, 3, 256, 512), True),  # 3 of 8 channels, over gaps
        ("aBcd4b", "acdb", (16, 3, 512, 512), True),
        ("aBcd8b", "abcd", (16, 3, 512, 512), False),  # read in this order, and stored in another
        ("ab", "ba", (4096, 4100), False),
    ],
)
def test_rows_are_read_on_with_gaps_of_less_than_a_line(
    source: str, destination: str, dims: tuple[int, ...], reads_on: bool
) -> None:
    known, unknown = (plan_of(source, destination, dims, "bf16", fetches) for fetches in (True, False))
    assert unknown.prefetch > 0 and (known.prefetch == 0) == reads_on == (row_bytes(known) >= FETCHED_ROW)


@pytest.mark.parametrize(("channels", "type", "reads_on"), [(17, "f32", True), (4, "s8", True), (64, "f32", False)])
def test_tiles_that_are_runs_of_the_source_are_read_on(channels: int, type: str, reads_on: bool) -> None:
    """Where tiles take parts of a pixel the processor does not know which lines come next."""
    dims = (-(-(1 << 25) // (channels << 12)), channels, 64, 64)
    known, unknown = (plan_of("acdb", "abcd", dims, type, fetches) for fetches in (True, False))
    assert known.store == "nontemporal" and unknown.prefetch > 0
    assert (known.prefetch == 0) == reads_on


def test_tiles_that_leave_a_buffer_or_convert_ask_on() -> None:
    """Planes of 63x65 elements begin anywhere in a line."""
    staged = plan_of("acdb", "abcd", (600, 17, 63, 65), "s8", True)
    converted = plan_of("acdb", "abcd", (64, 3, 224, 224), "u8", True, "f32")
    assert (staged.store, converted.store) == ("staged", "nontemporal")
    assert staged.prefetch > 0 and converted.prefetch > 0


def test_gaps_of_a_line_end_a_row() -> None:
    assert row_bytes(plan_of("aBcd32b", "acdb", (8, 24, 512, 512), "bf16", False)) == 2 * 24
