"""Threads in the second cache: whose lines of the destination lie beside whose, counted out line by line."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise, product

import numpy as np
import pytest

from layoutc import desc
from layoutc.conversion import Conversion
from layoutc.planning.choose import choose_plan
from layoutc.planning.explain import explain_plan
from layoutc.planning.machine import LINE, TARGETS
from layoutc.planning.moves import thread_rows
from layoutc.planning.moves.thread_rows import MANY_BORDERS, SMALL_PIECE, borders
from layoutc.planning.plans.plan import CopyPlan, Plan

AVX512 = TARGETS["avx512"]
TRANSPOSES = [
    ("ab", "ba", (257, 513), "bf16"),
    ("ab", "ba", (256, 320), "bf16"),
    ("abcd", "acdb", (1, 64, 28, 56), "bf16"),
    ("acdb", "abcd", (1, 256, 28, 28), "s8"),
    ("cdba", "abcd", (128, 128, 3, 3), "bf16"),
    ("abcd", "cdba", (128, 128, 3, 3), "bf16"),
    ("abc", "cba", (48, 45, 48), "bf16"),
    ("abc", "cab", (101, 3, 83), "f64"),
]


def planned(source: str, destination: str, dims: Sequence[int], type: str, threads: int) -> Plan:
    read, written = (desc(f"onednn:{tag}", dims, type) for tag in (source, destination))
    return choose_plan(read, written, AVX512, threads)


def spans(plan: CopyPlan, position: int, turn: int | None) -> range:
    """What the tiles of a macro tile write of a digit: a last one that does not fit starts earlier."""
    tile, macro, extent = plan.tile[position], plan.macro[position], plan.extents[position]
    if turn is None:
        return range(extent)
    end = min((turn + 1) * macro, extent)
    return range(max(min(turn * macro, end - tile), 0), end)


def owners(plan: CopyPlan, threads: int) -> list[int]:
    """Which threads write each line of the destination, as bits, in the order of the lines."""
    loops = [g for g in plan.outer_order if plan.macro[g] < plan.extents[g]]
    counts = [range(-(-plan.extents[g] // plan.macro[g])) for g in loops]
    turns = list(product(*counts))
    each, more = divmod(len(turns), threads)
    lines: dict[int, int] = {}
    for number, turn in enumerate(turns):
        first = more * (each + 1)
        thread = number // (each + 1) if number < first else more + (number - first) // each
        at = np.full(1, plan.copy.dst)
        for g, digit in enumerate(plan.copy.digits):
            steps = spans(plan, g, turn[loops.index(g)] if g in loops else None)
            at = (at[:, None] + [digit.offset("dst", step) for step in steps]).reshape(-1)
        for line in np.unique(at * plan.widths.dst // LINE).tolist():
            lines[line] = lines.get(line, 0) | 1 << thread
    return [lines[line] for line in sorted(lines)]


def counted(plan: CopyPlan, threads: int) -> int:
    """Lines that several threads write, and places where the next line is another thread's."""
    found = owners(plan, threads)
    shared = sum(bits.bit_count() > 1 for bits in found)
    return shared + sum(not before & after for before, after in pairwise(found))


def without_rule(
    monkeypatch: pytest.MonkeyPatch, source: str, destination: str, dims: Sequence[int], type: str, threads: int
) -> Plan:
    with monkeypatch.context() as patch:
        patch.setattr(thread_rows, "MANY_BORDERS", 1 << 62)
        patch.setattr(thread_rows, "SMALL_PIECE", 0)
        return planned(source, destination, dims, type, threads)


@pytest.mark.parametrize(("source", "destination", "dims", "type"), TRANSPOSES)
def test_two_threads_write_beside_each_other_in_few_places(
    source: str, destination: str, dims: tuple[int, ...], type: str
) -> None:
    plan = planned(source, destination, dims, type, 2)
    assert plan.threads == 2 and counted(plan.copies[0], 2) <= 2 * MANY_BORDERS


def test_one_thread_is_left_where_two_would_write_beside_each_other() -> None:
    """All 12 rows are in one tile: threads would share each of them."""
    plan = planned("abcd", "dcba", (12, 19, 19, 12), "f32", 2)
    assert plan == planned("abcd", "dcba", (12, 19, 19, 12), "f32", 1)
    assert counted(plan.copies[0], 2) > MANY_BORDERS
    assert planned("abcd", "dcba", (12, 19, 19, 12), "f32", 3).threads == 3
    sides = desc("onednn:abcd", (12, 19, 19, 12), "f32"), desc("onednn:dcba", (12, 19, 19, 12), "f32")
    assert "threads: one, as two would write beside each other in" in "\n".join(explain_plan(*sides, AVX512, 2))


def test_threads_that_convert_are_as_many_as_were_asked_for() -> None:
    sides = desc("onednn:abcd", (12, 19, 19, 12), "f32"), desc("onednn:dcba", (12, 19, 19, 12), "s32")
    assert choose_plan(*sides, AVX512, 2).threads == 2


@pytest.mark.parametrize("threads", [2, 3, 4, 16])
@pytest.mark.parametrize(("source", "destination", "dims", "type"), TRANSPOSES)
def test_threads_write_beside_each_other_in_no_more_places_than_before(
    source: str, destination: str, dims: tuple[int, ...], type: str, threads: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    (before,) = without_rule(monkeypatch, source, destination, dims, type, threads).copies
    (after,) = planned(source, destination, dims, type, threads).copies
    assert after == before or 2 * counted(after, threads) <= counted(before, threads)


@pytest.mark.parametrize("threads", [2, 3])
@pytest.mark.parametrize(("source", "destination", "dims", "type"), TRANSPOSES)
def test_borders_are_about_as_many_as_are_counted(
    source: str, destination: str, dims: tuple[int, ...], type: str, threads: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    for plan in (
        *without_rule(monkeypatch, source, destination, dims, type, threads).copies,
        *planned(source, destination, dims, type, threads).copies,
    ):
        exact, about = counted(plan, threads), borders(plan, threads)
        assert about / 2 <= exact <= 2 * about + 2 * threads


def test_a_thread_does_not_begin_with_a_tile_that_writes_what_another_wrote() -> None:
    """24 rows are two tiles of 16, of which the second one begins within the first."""
    (plan,) = planned("abcd", "dacb", (19, 12, 19, 24), "bf16", 3).copies
    assert plan.tile[0] == 16 and plan.extents[0] == 24
    assert sum(bits.bit_count() > 1 for bits in owners(plan, 3)) < 200


def test_one_thread_has_the_loops_that_it_had(monkeypatch: pytest.MonkeyPatch) -> None:
    given = "acdb", "abcd", (1, 192, 28, 28), "s8"
    assert planned(*given, 1) == without_rule(monkeypatch, *given, 1)
    assert planned(*given, 2) != without_rule(monkeypatch, *given, 2)


def test_what_the_second_cache_does_not_hold_is_shared_as_before(monkeypatch: pytest.MonkeyPatch) -> None:
    given = "ab", "ba", (1025, 2049), "bf16"
    assert planned(*given, 2) == without_rule(monkeypatch, *given, 2)


def test_a_small_copy_of_a_piece_of_the_destination_is_one_threads() -> None:
    sides = desc("onednn:ba", (512, 688), "s8"), desc("onednn:BA16a64b4a", (512, 688), "s8")
    large, small = choose_plan(*sides, AVX512, 2).copies
    assert small.copy.elements <= SMALL_PIECE < large.copy.elements
    assert small.macro == small.extents and large.macro != large.extents


def test_a_small_copy_of_many_pieces_is_shared_as_its_neighbours_are() -> None:
    """One thread would write beside all that the others write: 25 columns of each of 446 rows."""
    sides = desc("onednn:Ab32a", (409, 446), "bf16"), desc("onednn:ba", (409, 446), "bf16")
    _, small = choose_plan(*sides, AVX512, 2).copies
    assert small.copy.elements * small.widths.dst <= SMALL_PIECE and small.target_lanes
    assert small.macro != small.extents


def test_lines_that_a_last_tile_writes_again_are_borders() -> None:
    """Where a thread begins with it: 8 of 24 rows are in both tiles of 16."""
    (plan,) = planned("abcd", "dacb", (19, 12, 19, 24), "bf16", 1).copies
    cut = replace(plan, macro=(16, plan.extents[1]), outer_order=(0, 1))
    assert counted(cut, 2) - 2 <= borders(cut, 2) <= counted(cut, 2) + 2 and counted(cut, 2) > 1000


def test_it_is_explained() -> None:
    sides = desc("onednn:acdb", (1, 192, 28, 28), "s8"), desc("onednn:abcd", (1, 192, 28, 28), "s8")
    text = "\n".join(explain_plan(*sides, AVX512, 2))
    assert "rows of the destination, so that threads do not write beside each other" in text
    assert "along the destination, whose rows threads share" in text


@pytest.mark.parametrize(
    ("tags", "dims", "types", "how"),
    [
        (("ab", "ba"), (640, 513), ("s8", "s4"), Conversion()),
        (("abcd", "acdb"), (1, 256, 30, 24), ("f32", "f32"), Conversion(sum=0.5)),
    ],
    ids=["bytes that are shared", "a sum"],
)
def test_plans_that_may_write_nothing_twice_stay(
    tags: tuple[str, str], dims: tuple[int, ...], types: tuple[str, str], how: Conversion
) -> None:
    read, written = (desc(f"onednn:{tag}", dims, type) for tag, type in zip(tags, types, strict=True))
    shared, alone = (choose_plan(read, written, AVX512, threads, how) for threads in (2, 1))
    assert shared.threads == 2 and shared.parts == alone.parts
