"""The machine model: what a last cache that a server's processes share counts for."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

import layoutc
from layoutc.planning.choose import choose_plan
from layoutc.planning.machine import TARGETS, Machine, native
from layoutc.planning.plan_text import parse_plan, plan_lines

MIB = 1 << 20
SERVER = replace(TARGETS["avx512"], l2=2 * MIB, llc=64 * MIB, llc_is_far=True)


def detected(folder: Path, monkeypatch: pytest.MonkeyPatch, sizes: dict[int, str]) -> Machine:
    """The native machine, were its caches of these levels and sizes, as the kernel writes them."""
    for level, size in sizes.items():
        index = folder / f"index{level}"
        index.mkdir()
        for name, text in {"type": "Unified", "level": str(level), "size": size}.items():
            (index / name).write_text(f"{text}\n")
    monkeypatch.setattr("layoutc.planning.machine.CACHES", folder)
    return native.__wrapped__()


def of_processor(told: Path, monkeypatch: pytest.MonkeyPatch) -> Machine:
    """The native machine, were this what Linux says of its processors, and nothing of caches."""
    monkeypatch.setattr("platform.machine", lambda: "x86_64")
    monkeypatch.setattr("layoutc.planning.machine.CPUINFO", told)
    return detected(told.parent, monkeypatch, {})


@pytest.mark.parametrize(
    ("last", "counted", "is_far", "streamed", "early"),
    [
        ("32768K", 32 * MIB, False, 8 * MIB, 8 * MIB),
        ("98304K", 64 * MIB, False, 16 * MIB, 16 * MIB),
        ("491520K", 64 * MIB, True, 16 * MIB, 2 * MIB),
    ],
)
def test_of_a_large_last_cache_a_part_counts(
    last: str, counted: int, is_far: bool, streamed: int, early: int, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    found = detected(tmp_path, monkeypatch, {1: "48K", 2: "2048K", 3: last})
    assert (found.l1, found.l2, found.llc, found.llc_is_far) == (48 << 10, 2 * MIB, counted, is_far)
    assert (found.streamed, found.streamed_early) == (streamed, early)


def test_a_machine_that_tells_no_sizes_has_those_of_its_registers(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    found = detected(tmp_path, monkeypatch, {})
    assert (found.l2, found.llc, found.llc_is_far) == (1 * MIB, 32 * MIB, False)


@pytest.mark.parametrize(("vendor", "waits"), [("GenuineIntel", True), ("AuthenticAMD", False), ("", True)])
def test_stores_wait_for_lines_but_on_processors_that_were_seen_not_to(
    vendor: str, waits: bool, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    told = tmp_path / "cpuinfo"
    told.write_text(
        f"processor\t: 0\nvendor_id\t: {vendor}\nflags\t\t: sse2 avx2\n\nprocessor\t: 1\nvendor_id\t: other\n"
    )
    found = of_processor(told, monkeypatch)
    assert (found.vector, found.waits_for_lines) == (32, waits)
    source, destination = (layoutc.desc(name, (250, 500), "f32") for name in ("ab", "ba"))
    (copy,) = choose_plan(source, destination, found).copies
    assert copy.fetches == waits


@pytest.mark.parametrize(
    ("vendor", "family", "fetches"),
    [("AuthenticAMD", "25", True), ("AuthenticAMD", "26", False), ("GenuineIntel", "25", False)],
)
def test_long_rows_are_not_asked_for_where_a_processor_was_seen_to_fetch_them(
    vendor: str, family: str, fetches: bool, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    told = tmp_path / "cpuinfo"
    told.write_text(f"vendor_id\t: {vendor}\ncpu family\t: {family}\nflags\t\t: sse2 avx2\n")
    found = of_processor(told, monkeypatch)
    assert (found.fetches_rows, found.halves_registers) == (fetches, fetches)
    asks: list[bool] = []
    for tag, to_tag, dims in (("ab", "ab", (4096, 4096)), ("abcd", "acbd", (64, 197, 16, 64))):
        source, destination = layoutc.desc(tag, dims, "f32"), layoutc.desc(to_tag, dims, "bf16")
        asks.append(any(copy.prefetch for copy in choose_plan(source, destination, replace(found, llc=0)).copies))
    assert asks == [not fetches, True]


@pytest.mark.parametrize(("vendor", "shuffles"), [("GenuineIntel", "any"), ("AuthenticAMD", "single"), ("", "any")])
def test_bytes_of_two_registers_are_a_single_shuffle_on_processors_that_were_seen_to_have_one(
    vendor: str, shuffles: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    told = tmp_path / "cpuinfo"
    flags = "avx512f avx512bw avx512vl avx512dq avx512vbmi"
    told.write_text(f"processor\t: 0\nvendor_id\t: {vendor}\nflags\t\t: {flags}\n")
    found = of_processor(told, monkeypatch)
    assert (found.vector, found.shuffles) == (64, shuffles)
    source, destination = (layoutc.desc(name, (14, 14, 22, 4, 12), "s8") for name in ("abcde", "bdaec"))
    plan = choose_plan(source, destination, found)
    assert f"{shuffles} shuffles" in "".join(plan_lines(plan))
    assert parse_plan(plan_lines(plan)) == plan


@pytest.mark.parametrize(
    ("type", "rows", "macro", "waiting"),
    [
        ("f32", 250, (32, 32), (32, 250)),
        ("f64", 200, (32, 64), (32, 64)),
        ("f32", 31, (31, 128), (31, 128)),
        ("f32", 1100, (64, 64), (64, 64)),
    ],
)
def test_transposes_in_the_second_cache_go_by_two_tiles_of_few_rows_where_nothing_waits_for_lines(
    type: str, rows: int, macro: tuple[int, int], waiting: tuple[int, int]
) -> None:
    source, destination = (layoutc.desc(name, (250, rows), type) for name in ("ab", "ba"))
    for waits in (False, True):
        (copy,) = choose_plan(source, destination, replace(TARGETS["avx512"], waits_for_lines=waits)).copies
        assert copy.macro == (waiting if waits else macro)


@pytest.mark.parametrize(
    ("megabytes", "threads", "streams"), [(15, 1, False), (16, 1, True), (32, 2, False), (33, 2, True)]
)
def test_a_last_cache_that_is_far_is_written_past_as_one_that_is_near(
    megabytes: int, threads: int, streams: bool
) -> None:
    dims = (megabytes * 256, 1024)
    for target in (SERVER, replace(SERVER, llc_is_far=False)):
        plan = choose_plan(layoutc.desc("ab", dims, "f32"), layoutc.desc("ab", dims, "f32"), target, threads)
        assert [copy.store for copy in plan.copies] == ["nontemporal" if streams else "normal"]


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize(("rows", "columns", "early"), [(1024, 1024, True), (400, 1024, False), (1000, 1100, False)])
def test_a_last_cache_that_is_far_is_written_past_early_where_rows_evict_each_other(
    rows: int, columns: int, early: bool, threads: int
) -> None:
    """1024 rows are 2 KiB apart in the destination; 400 fit the second cache."""
    source, destination = (layoutc.desc(name, (rows, columns), "bf16") for name in ("ab", "ba"))
    for is_far in (True, False):
        (copy,) = choose_plan(source, destination, replace(SERVER, llc_is_far=is_far), threads).copies
        assert (copy.store == "nontemporal") == (early and is_far)


def test_where_the_last_cache_is_far_threads_write_transposes_of_long_rows_past_them_early() -> None:
    source, destination = (layoutc.desc(name, (1000, 500), "f32") for name in ("ab", "ba"))
    (cached,) = choose_plan(source, destination, SERVER, threads=2).copies
    source, destination = (layoutc.desc(name, (1000, 1000), "f32") for name in ("ab", "ba"))
    (streamed,) = choose_plan(source, destination, SERVER, threads=2).copies
    assert (cached.store, streamed.store) == ("normal", "staged")


@pytest.mark.parametrize(("rows", "order"), [(1024, (0, 1)), (16384, (1, 0))])
def test_lines_leave_one_behind_the_other_where_a_far_cache_holds_the_source(rows: int, order: tuple[int, int]) -> None:
    source, destination = (layoutc.desc(name, (rows, 1024), "f32") for name in ("ab", "ba"))
    (copy,) = choose_plan(source, destination, SERVER).copies
    assert (copy.store, copy.inner_order) == ("nontemporal", order)
