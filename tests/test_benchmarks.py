"""The harness of the benchmarks: its cases, its peers' results, its checks; no timing is looked at."""

from __future__ import annotations

import json
import platform
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from dataclasses import replace
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from click.testing import CliRunner

from benchmarks import checking, session, summary
from benchmarks.buffers import Buffer, fill
from benchmarks.cases import SIZES, TYPES, Case, named_cases, selected, transpositions
from benchmarks.copies import Copies
from benchmarks.machine import Machine, size_of
from benchmarks.measure import Options, measure, prepared_work, with_reader
from benchmarks.peers import PEERS, Prepared, Work, available, peer
from benchmarks.peers.pieces import pieces
from benchmarks.placement import Placement
from benchmarks.random_cases import LEAST, MOST, random_case, random_cases, random_conversion, random_conversions
from benchmarks.reorders import main as reorders_main
from benchmarks.tasks import DRAM_DESTINATION, Task, all_tasks, capacity, shrunk
from layoutc import reference
from layoutc.descriptor import check_copy
from layoutc.element_type import element_type
from layoutc.errors import LayoutcError
from layoutc.runtime import find_compiler

ROOT = Path(__file__).parent.parent
MACHINE = Machine("some processor", 2, 32 << 10, 1 << 20, 32 << 20, "", "", "", "", {})
CASES = named_cases()
TINY = 20_000
needs_compiler = pytest.mark.skipif(find_compiler() is None, reason="no C compiler")


def tiny(case: Case, type: str | None = None) -> Task:
    """A case with a few hundred elements or so, as far as it lets itself be scaled."""
    sides = case.source, case.destination
    return shrunk(Task(case.name, "l2", type or case.types[0], case.dims, *sides, case.attributes), case, TINY)


def task(source: str, destination: str, dims: tuple[int, ...], type: str = "f32") -> Task:
    return Task("a case", "l2", type, dims, Placement.parse(source), Placement.parse(destination))


# --- the cases ---------------------------------------------------------------------------------------------------


def test_there_are_many_named_cases_and_every_name_is_there_once() -> None:
    names = [case.name for case in CASES]
    assert len(names) == len(set(names)) >= 120


def test_every_case_binds_in_every_size_and_every_element_size_occurs() -> None:
    tasks = all_tasks(CASES, SIZES, MACHINE)
    for found in tasks:
        check_copy(found.source_desc, found.destination_desc)
    for size in SIZES:
        assert {found.source_desc.element_type.bits for found in tasks if found.size == size} == {8, 16, 32, 64}
    assert len({json.dumps(found.to_json()) for found in tasks}) == len(tasks)


def test_sizes_are_what_they_are_called() -> None:
    by_name = {case.name: case for case in CASES}
    for found in all_tasks(CASES, SIZES, MACHINE):
        case = by_name[found.name]
        scalable = {axis for group in case.scaled for axis in group}
        assert all(found.dims[axis] == case.dims[axis] for axis in range(len(case.dims)) if axis not in scalable)
        if found.size == "dram":
            assert found.destination_desc.size_bytes >= DRAM_DESTINATION
        else:
            assert found.footprint <= capacity(found.size, MACHINE)


def test_of_an_l3_that_a_server_shares_64_mib_count() -> None:
    large, counted = (all_tasks(CASES[:3], ["l3", "dram"], replace(MACHINE, l3=mib << 20)) for mib in (480, 64))
    assert large == counted != all_tasks(CASES[:3], ["l3", "dram"], MACHINE)


def test_a_machine_without_l3_has_no_tasks_for_it() -> None:
    assert not all_tasks(CASES[:3], ["l3"], replace(MACHINE, l3=0))


def test_transpositions_are_what_numpy_makes_of_them() -> None:
    cases = list(transpositions())
    assert len(cases) == 57
    rows = json.loads((ROOT / "benchmarks/data/tensor_transpositions.json").read_text())["cases"]
    for case, (_, axes) in zip(cases, rows, strict=True):
        found = tiny(case, "f32")
        source = np.arange(np.prod(found.dims), dtype=np.uint32).reshape(found.dims)
        destination = np.empty_like(source).reshape(-1)
        reference.reorder(found.source_desc, found.destination_desc, source, destination)
        np.testing.assert_array_equal(destination, source.transpose(axes).reshape(-1))


def test_cases_are_selected_by_a_part_of_their_name() -> None:
    assert [case.name for case in selected(CASES, "TTC 5? 543210")] == [f"TTC {n} 543210" for n in (55, 56, 57)]
    with pytest.raises(LayoutcError, match="no case among"):
        selected(CASES, "nothing like this")


def test_random_cases_are_the_same_each_time_and_bind() -> None:
    cases = random_cases(40, seed=7)
    assert cases == random_cases(40, seed=7)
    assert cases[5] == random_case(7, 5) != random_case(8, 5)
    assert {case.types[0] for case in cases} == set(TYPES)
    for case in cases:
        found = Task(case.name, "dram", case.types[0], case.dims, case.source, case.destination)
        check_copy(found.source_desc, found.destination_desc)
        assert LEAST <= found.destination_desc.size_bytes <= MOST


def test_random_conversions_are_the_same_each_time_and_bind() -> None:
    cases = random_conversions(40, seed=7)
    assert cases == random_conversions(40, seed=7)
    assert cases[5] == random_conversion(7, 5) != random_conversion(8, 5)
    for case in cases:
        sides = case.source, case.destination
        found = Task(case.name, "dram", case.types[0], case.dims, *sides, case.attributes)
        found.conversion.check(found.source_desc, found.destination_desc)
        assert not found.is_move
        assert LEAST <= max(found.source_desc.size_bytes, found.destination_desc.size_bytes) <= MOST
    assert {len(case.attributes.split()) // 2 for case in cases} == {0, 1, 2}


@pytest.mark.parametrize(
    "found", [task("nchw gaps 0,0,24,0", "nChw16c", (2, 17, 5, 4)), *map(tiny, random_cases(9, 1))]
)
def test_tasks_survive_json(found: Task) -> None:
    assert Task.from_json(json.loads(json.dumps(found.to_json()))) == found


def test_gaps_lie_behind_each_step() -> None:
    assert Placement("nhwc", (0, 0, 64, 0)).desc((2, 3, 5, 7), "f32").strides == (5 * 7 * 67, 7 * 67, 67, 1)
    assert Placement("ab", (3, 1)).desc((2, 5), "f32").strides == (5 * 2 + 3, 2)


def test_moved_bytes_count_padding_and_leave_gaps_out() -> None:
    padded = task("nchw", "nChw16c", (2, 17, 5, 4), "bf16")
    assert padded.destination_desc.padding_elements == 2 * 15 * 20
    assert padded.moved_bytes == (2 * 17 * 20 + 2 * 32 * 20) * 2 // 2
    assert task("ab gaps 9,0", "ba", (4, 6)).moved_bytes == 24 * 4


def test_cache_sizes_are_read_as_the_kernel_writes_them() -> None:
    assert size_of("1024K\n") == 1 << 20
    with pytest.raises(LayoutcError, match="cache size 'huge'"):
        size_of("huge")


# --- checking ----------------------------------------------------------------------------------------------------

PADDED = task("nchw", "nChw8c gaps 0,7,0,0,0", (2, 17, 5, 4))


def reordered(found: Task) -> tuple[Buffer, Buffer]:
    """Source and destination after a right reorder."""
    source, destination = Buffer(found.source_desc.size_bytes), Buffer(found.destination_desc.size_bytes)
    fill(source, found.source_desc.element_type.bits // 8, seed=1)
    reference.reorder(found.source_desc, found.destination_desc, source.bytes, destination.bytes)
    return source, destination


def is_right(found: Task, source: Buffer, destination: Buffer) -> bool:
    return checking.is_right(found.source_desc, found.destination_desc, source.bytes, destination)


@pytest.fixture(params=["at once", "in blocks"])
def how(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Both ways of checking, the second with several blocks."""
    if request.param == "in blocks":
        monkeypatch.setattr(checking, "SMALL", 0)
        monkeypatch.setattr(checking, "BLOCK", 100)


@pytest.mark.usefixtures("how")
def test_a_right_reorder_is_right() -> None:
    assert is_right(PADDED, *reordered(PADDED))


@pytest.mark.usefixtures("how")
@pytest.mark.parametrize("place", ["element", "padding", "gap", "canary"])
def test_one_wrong_byte_is_seen(place: str) -> None:
    source, destination = reordered(PADDED)
    desc = PADDED.destination_desc
    gap = next(offset for offset in range(desc.span) if offset not in set(reference.offsets(desc).ravel().tolist()))
    offsets = {
        "element": desc.offset(1, 16, 4, 3),
        "padding": int(reference.padding_offsets(desc)[-1]),
        "gap": next(n for n in range(gap, desc.span) if desc.index_of(n) is None and n not in padding(desc)),
        "canary": desc.span + 3,
    }
    destination.memory[4 * offsets[place]] ^= 1
    assert not is_right(PADDED, source, destination)


def padding(desc: Any) -> set[int]:
    return set(reference.padding_offsets(desc).tolist())


@pytest.mark.parametrize("type", ["f8_e4m3", "f8_e5m2", "f16", "bf16", "f32", "f64"])
def test_filled_elements_are_normal_floats(type: str) -> None:
    dtype = element_type(type).numpy
    buffer = Buffer(4096)
    fill(buffer, dtype.itemsize, seed=1, is_float=True)
    values = buffer.bytes.view(dtype)
    assert np.isfinite(values).all() and (values >= ml_dtypes.finfo(dtype).smallest_normal).all()


# --- the peers ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_numpy_reorders_as_the_definition_says(case: Case) -> None:
    found = tiny(case)
    work = prepared_work(found, Options(1))
    prepared = peer("numpy").prepare(work)
    if prepared is None:
        assert pieces(found.source_desc, found.destination_desc) is None
        return
    prepared.seconds(1)
    assert is_right(found, work.source, work.destination)


def test_blocks_that_do_not_divide_each_other_have_no_pieces() -> None:
    def of(source: str, destination: str) -> int | None:
        found = task(source, destination, (32, 33))
        parts = pieces(found.source_desc, found.destination_desc)
        return None if parts is None else len(parts)

    assert of("aB6b", "aB16b") is None
    assert of("ab", "aB16b") == 3  # two whole blocks, one element, and the zeros behind it
    assert of("aB4b", "aB16b") == 4  # those zeros are three elements, then three blocks of 4


@needs_compiler
@pytest.mark.parametrize("name", ["copy_streaming", "copy_cached"])
@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize(("start", "size"), [(0, 4096), (1, 1000), (63, 2), (5, 64 * 3 + 60), (0, 0)])
def test_copies_copy_all_bytes_and_no_more(name: str, threads: int, start: int, size: int) -> None:
    source, destination = Buffer(8192), Buffer(8192)
    fill(source, 1, seed=1)
    expected = destination.bytes.copy()
    expected[start : start + size] = source.bytes[7 : 7 + size]
    copies = Copies(threads)
    places = destination.address + start, source.address + 7
    assert copies.timer("time_copy")(copies.address(name), *places, size, threads, 2) >= 0
    np.testing.assert_array_equal(destination.bytes, expected)


class Idle:
    """A peer that is fast because it writes nothing."""

    def is_available(self) -> bool:
        return True

    def prepare(self, work: Work) -> Prepared:
        assert work.threads == 1
        return Prepared(lambda calls: 1e-3 * calls)


@pytest.mark.parametrize("first", ["idle", "numpy"])
def test_a_peer_with_wrong_results_is_named_and_not_timed(first: str) -> None:
    peers = {"idle": Idle(), "numpy": peer("numpy")}
    found = measure(PADDED, {first: peers[first], **peers}, Options(1, repeats=2))
    assert found.wrong == ["idle"]
    assert found.samples.keys() == {"numpy"}


@needs_compiler
def test_what_reads_a_result_counts_with_each_call() -> None:
    work = prepared_work(PADDED, Options(1))
    times = iter((1.0, 2.0))
    read = with_reader(Prepared(lambda calls: next(times)), work).seconds
    least = min(work.copies.timer("time_read")(work.destination.address, work.destination.bytes.size) for _ in range(9))
    assert least > 0
    assert 3.0 + least <= read(2) < 4.0, "two calls, one at a time, each with what reads"


def test_unknown_peers_are_named() -> None:
    with pytest.raises(
        LayoutcError, match="unknown peer 'onedn', expected one of layoutc nt memcpy onednn numpy torch avx2 sse2"
    ):
        peer("onedn")


# --- a run -------------------------------------------------------------------------------------------------------


def test_a_target_that_is_none_is_not_measured() -> None:
    done = CliRunner().invoke(reorders_main, ["--cases", "nchw->nhwc plain", "--target", "foo"])
    assert (done.exit_code, "'foo' is not one of 'native', 'avx512'" in done.output) == (2, True)


def test_cases_of_several_names_are_left_out() -> None:
    """Of an option that may be given twice each counts."""
    asked = ["--list", "--sizes", "l2", "--without", "convert*", "--without", "n*", "--without", "TTC*"]
    lines = CliRunner().invoke(reorders_main, asked).output.splitlines()
    assert len(lines) > 50
    assert not [line for line in lines if line.startswith(("convert", "n", "TTC"))]


@pytest.mark.parametrize("text", ["{", "[]", '{"foo": 1}', "\x00"])
def test_results_are_not_added_to_a_file_that_has_none(tmp_path: Path, text: str) -> None:
    path = tmp_path / "some.json"
    path.write_text(text)
    done = CliRunner().invoke(reorders_main, ["--cases", "nchw->nhwc plain", "--add", "--json", str(path)])
    assert (done.exit_code, done.output) == (1, f"error: {path} is no file of results\n")
    assert path.read_text() == text


@needs_compiler
def test_a_small_run_writes_right_rows_a_table_and_plots(tmp_path: Path) -> None:
    path = tmp_path / "out" / "reorders.json"
    command = "--cases, nChw8c C17, --types, f32,s8, --sizes, l2, --threads, 1, --repeats, 2, --date, 2001-02-03"
    arguments = [sys.executable, "-m", "benchmarks.reorders", *command.split(", "), "--json", str(path)]
    done = subprocess.run(arguments, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    report = json.loads(path.read_text())
    assert [run["date"] for run in report["runs"]] == ["2001-02-03"]
    assert report["peers"] == list(available(PEERS))
    assert [row["type"] for row in report["rows"]] == ["s8", "f32"]
    for row in report["rows"]:
        assert row["wrong"] == []
        assert row["us"].keys() == set(report["peers"])
        assert row["us"]["layoutc"][2] == 2
    assert path.with_suffix(".md").read_text().count("| nchw->nChw8c C17 |") == 2
    drawing = ElementTree.fromstring(path.with_name("reorders-l2-1.svg").read_text())
    assert any("nchw-&gt;nChw8c C17 s8" in ElementTree.tostring(text).decode() for text in drawing)
    assert "L2 / memcpy" in done.stdout


@needs_compiler
@pytest.mark.skipif(platform.machine() not in ("x86_64", "AMD64"), reason="builds for x86 alone")
def test_a_run_in_parts_of_builds_for_narrower_registers(tmp_path: Path) -> None:
    path = tmp_path / "builds.json"
    command = "--cases, nChw8c C17, --types, f32,s8, --sizes, l2, --threads, 1, --repeats, 1, --peers, layoutc,sse2"
    for part in ("1/2", "2/2", "2/2"):
        arguments = [*command.split(", "), "--part", part, "--add", "--json", str(path)]
        done = subprocess.run(
            [sys.executable, "-m", "benchmarks.reorders", *arguments], cwd=ROOT, capture_output=True, text=True
        )
        assert done.returncode == 0, done.stdout + done.stderr
    rows = json.loads(path.read_text())["rows"]
    assert [row["type"] for row in rows] == ["s8", "f32"]
    assert all(row["wrong"] == [] and row["us"].keys() == {"layoutc", "sse2"} for row in rows)
    assert "sse2/layoutc, 1 thr" in path.with_suffix(".md").read_text()


@needs_compiler
def test_what_cannot_be_measured_is_a_row_that_says_why() -> None:
    unknown, good = task("nchw", "nQhw", (1, 2, 3, 4)), task("ab", "ba", (4, 6))
    facts, *rows = session.rows([unknown, good], ["layoutc", "memcpy"], Options(1, repeats=1))
    assert facts["peers"] == ["layoutc", "memcpy"]
    assert "NotationError" in rows[0]["error"]
    assert rows[1]["wrong"] == [] and "layoutc" in rows[1]["us"]


def test_a_worker_that_crashes_is_replaced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    script = tmp_path / "worker"
    script.write_text(f"#!{sys.executable}\nprint('{{}}', flush=True)\ninput()\nraise SystemExit(3)\n")
    script.chmod(0o700)
    monkeypatch.setattr(session.sys, "executable", str(script))
    _, *rows = session.rows([task("ab", "ba", (4, n)) for n in (5, 6)], [], Options(1))
    assert [(row["dims"], row["error"]) for row in rows] == [
        ([4, 5], "crashed: status 3"),
        ([4, 6], "crashed: status 3"),
    ]


# --- the summary -------------------------------------------------------------------------------------------------


def row(layoutc: float, size: str = "dram", **others: float) -> dict[str, Any]:
    found = task("ab", "ba", (4000, 4000)).to_json()
    times = {peer: [time, time, 1] for peer, time in {"layoutc": layoutc, **others}.items()}
    return {**found, "size": size, "threads": 1, "destination_bytes": 64_000_000, "us": times, "wrong": []}


def test_the_summary_has_mean_worst_and_verdict_of_each_goal() -> None:
    rows = [row(2.0, nt=2.0, onednn=8.0), row(4.0, nt=1.0, onednn=3.0), row(3.0, "l2", memcpy=2.5, nt=9.0)]
    text = "\n".join(summary.lines(rows))
    assert "DRAM / streaming copy             2 rows  mean   2.00  worst   4.00  asked <= 1.25 and 2.5: not met" in text
    assert "L2 / memcpy                       1 rows  mean   1.20  worst   1.20  asked <= 1.3 and 2.2: met" in text
    assert "oneDNN / layoutc                  2 rows  mean   1.73  worst   0.75  asked >= 3 and 0.95: not met" in text
    assert "slower than oneDNN: 1 rows" in text


def test_the_summary_names_builds_that_are_far_slower() -> None:
    text = "\n".join(summary.lines([row(1.0, avx2=2.0, sse2=2.0), row(1.0, avx2=2.0, sse2=3.5)]))
    assert "avx2 / layoutc                    2 rows  mean   2.00  worst   2.00  asked <= 3 and 3: met" in text
    assert "sse2 over 3 times the build for this machine: 1 rows" in text
    assert "avx2 over" not in text


def test_the_summary_names_wrong_results() -> None:
    assert any("WRONG: layoutc: a case" in line for line in summary.lines([{**row(1.0), "wrong": ["layoutc"]}]))
