"""The tables of the README and of docs/ are what the results in the checkout come to; results in parts, and in part."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from benchmarks.cases import CONVERSIONS, RANDOM, RANDOM_CONVERSIONS, TRANSPOSITIONS
from benchmarks.pages import MARKED, PAGES, RESULTS, filled
from benchmarks.report import Report
from benchmarks.report import main as report_main
from benchmarks.speed import FILES, kind_of, speed
from layoutc.errors import LayoutcError

FACTS = {
    "processor": "A Chip",
    "cpus": 2,
    "l1": 32 << 10,
    "l2": 1 << 20,
    "l3": 32 << 20,
    "system": "",
    "compiler": "cc",
}
MACHINE = {**FACTS, "python": "3", "packages": {"numpy": "2"}}


def row(case: str, threads: int = 1, size: str = "dram", **times: float) -> dict[str, Any]:
    where = {"case": case, "size": size, "type": "f32", "dims": [2], "from": "a", "to": "a", "threads": threads}
    return {**where, "destination_bytes": 8, "us": {peer: [time, time, 1] for peer, time in times.items()}, "wrong": []}


def report(*rows: dict[str, Any], date: str = "2001-02-03", machine: dict[str, Any] = MACHINE) -> Report:
    return Report([{"date": date, "command": f"run of {date}"}], dict(machine), ["layoutc"], "AVX", list(rows))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_tables_of_pages_are_those_of_the_results(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    assert filled(text) == text, "run python -m benchmarks.pages"


def test_the_readme_has_the_table_of_the_speed() -> None:
    (found,) = MARKED.findall(PAGES[0].read_text(encoding="utf-8"))
    assert found[1] == "speed"
    assert Report.read(RESULTS / "reorders.json").place in PAGES[0].read_text(encoding="utf-8")


def test_tables_and_plots_beside_results_are_those_of_the_results(tmp_path: Path) -> None:
    for path in (RESULTS / f"{name}.json" for name in FILES if (RESULTS / f"{name}.json").exists()):
        Report.read(path).write(tmp_path / path.name)
    made = {path.name: path.read_text(encoding="utf-8") for path in tmp_path.iterdir()}
    found = {path.name: path.read_text(encoding="utf-8") for path in RESULTS.iterdir() if path.name in made}
    assert made == found, "run python -m benchmarks.report on each file"
    assert {path.name for path in RESULTS.glob("*.svg")} <= made.keys()


def test_the_table_has_mean_and_worst_of_each_kind_and_place(tmp_path: Path) -> None:
    rows = [
        row("nchw->nhwc plain", layoutc=2.0, nt=2.0, onednn=8.0),
        row("nhwc->nchw plain", layoutc=8.0, nt=2.0, onednn=4.0, numpy=16.0),
        row("nchw->nhwc plain", 2, "l2", layoutc=3.0, memcpy=2.0),
        row("random 4/17", layoutc=5.0, nt=4.0),
        {**row("ab->ba 1000"), "us": {}},
        {"case": "ab->ba 1000", "size": "dram", "threads": 1, "error": "none"},
    ]
    report(*rows).save(tmp_path / "reorders.json")
    report(*rows).save(tmp_path / "unaligned.json")
    text = speed(tmp_path)
    assert "2001-02-03, A Chip, 2 CPUs" in text
    assert "| reorders | DRAM, 1 thread | L2, 2 threads |\n| --- | ---: | ---: |" in text
    assert "| Activations | 2.00 (4.00) | 1.50 (1.50) |\n| Random | 1.25 (1.25) |  |" in text
    assert "| number measured | 3 | 1 |" in text
    assert "3 of the reorders take 1.71 times as long as the copy, and at most 4.00 (DRAM, 1 thread)." in text
    assert "|  | oneDNN | NumPy |\n| --- | ---: | ---: |\n| DRAM, 1 thread | 1.41 (0.50) | 2.00 (2.00) |" in text
    assert "Matrices" not in text and "torch" not in text and "avx2" not in text and "conversions" not in text


def test_results_of_several_days_say_which_they_are(tmp_path: Path) -> None:
    for name, date in (("reorders", "2001-02-03"), ("conversions", "2001-02-03"), ("narrower_builds", "2001-02-05")):
        report(date=date).save(tmp_path / f"{name}.json")
    first, second, *_ = speed(tmp_path).split("\n\n")
    assert first.startswith("Reorders, conversions: 2001-02-03, A Chip")
    assert second.startswith("Narrower builds: 2001-02-05, A Chip")


def test_without_results_there_are_no_tables(tmp_path: Path) -> None:
    assert "|" not in speed(tmp_path)
    report().save(tmp_path / "conversions.json")
    assert "|" not in speed(tmp_path)


def test_report_says_how_it_is_called(tmp_path: Path) -> None:
    said = CliRunner().invoke(report_main, ["--help"])
    assert (said.exit_code, "FILE" in said.output) == (0, True)
    assert CliRunner().invoke(report_main, [str(tmp_path / "none.json")]).exit_code == 2


def test_cases_have_the_kinds_that_they_stand_under() -> None:
    kinds = {
        "nchw->nhwc C17": "Activations",
        "oihw->hwio 3x3": "Convolution weights",
        "TTC 5 102": TRANSPOSITIONS,
        "random 1/1": RANDOM,
        "convert nchw->nhwc plain": CONVERSIONS,
        "convert random 1/1": RANDOM_CONVERSIONS,
    }
    assert {case: kind_of({"case": case}) for case in kinds} == kinds


def test_results_in_parts_take_the_place_of_older_ones(tmp_path: Path) -> None:
    path = tmp_path / "reorders.json"
    report(row("one", layoutc=1.0), row("two", layoutc=2.0)).write(path)
    later = report(date="2001-02-05", machine={**MACHINE, "packages": {"torch": "3"}})
    later.continues(path)
    later.joined(["nt", "layoutc"], "AVX2")
    for found in (row("two", layoutc=4.0), row("two", 2, layoutc=5.0)):
        later.add(found)
    later.write(path)
    found = Report.read(path)
    assert [(r["case"], r["threads"], r["us"]["layoutc"][0]) for r in found.rows] == [
        ("one", 1, 1.0),
        ("two", 1, 4.0),
        ("two", 2, 5.0),
    ]
    assert found.peers == ["layoutc", "nt"] and found.machine["packages"] == {"numpy": "2", "torch": "3"}
    assert "2001-02-03 to 2001-02-05" in found.heading and "run of 2001-02-03\nrun of 2001-02-05" in found.heading


def test_results_of_another_machine_are_not_added_to(tmp_path: Path) -> None:
    report().save(tmp_path / "reorders.json")
    with pytest.raises(LayoutcError, match="was measured with processor 'A Chip', here it is 'Another'"):
        report(machine={**MACHINE, "processor": "Another"}).continues(tmp_path / "reorders.json")


def test_plots_of_older_runs_do_not_stay(tmp_path: Path) -> None:
    path = tmp_path / "reorders.json"
    found = report(row("one", 2, layoutc=1.0, nt=1.0))
    found.write(path)
    replace(found, rows=[row("one", 1, layoutc=1.0, nt=1.0)]).write(path)
    assert [plot.name for plot in tmp_path.glob("*.svg")] == ["reorders-dram-1.svg"]


def test_a_saved_file_has_a_line_for_each_row(tmp_path: Path) -> None:
    report(row("one"), row("two")).save(tmp_path / "a.json")
    lines = (tmp_path / "a.json").read_text().splitlines()
    assert [json.loads(line.rstrip(","))["case"] for line in lines if '"case"' in line] == ["one", "two"]
    assert [path.name for path in tmp_path.iterdir()] == ["a.json"]
