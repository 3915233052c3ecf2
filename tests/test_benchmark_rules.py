"""The benchmark of the planner's rules: what it changes, what it measures, what it says; no timing is looked at."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from benchmarks import rules_table
from benchmarks.cases import Case, conversion_cases, named_cases, read_conversion
from benchmarks.machine import Machine
from benchmarks.measure import Options, measure
from benchmarks.peers import peer
from benchmarks.placement import Placement
from benchmarks.planning_changes import MODULES, changed, to
from benchmarks.planning_rules import RULES, plan_of, rule, text_of
from benchmarks.planning_rules.conditions import condition_rules
from benchmarks.planning_rules.rule import Rule
from benchmarks.random_cases import random_case, random_cases, random_conversion
from benchmarks.report import Report
from benchmarks.rules import about, shuffled, tasks_of
from benchmarks.tasks import Task
from layoutc.errors import LayoutcError
from layoutc.planning.machine import TARGETS
from layoutc.planning.moves import staged_stores
from layoutc.planning.tiles import lanes
from layoutc.planning.together import plan_together, shared_lines
from layoutc.runtime import find_compiler

ROOT = Path(__file__).parent.parent
MACHINE = Machine("some processor", 2, 32 << 10, 1 << 20, 32 << 20, "", "", "", "", {})


def by_rows(dims: tuple[int, int], source: str, destination: str, type: str) -> Case:
    """A case whose first axis is scaled alone."""
    sides = Placement.parse(source), Placement.parse(destination)
    made = replace(random_case(77, 0), dims=dims, types=(type,), scaled=((0,),))
    return replace(made, source=sides[0], destination=sides[1])


CUT = by_rows((960, 2240), "AB64a64b", "AB48a112b", "f64")
"""60 copies, of periods that are too large for a buffer"""
APART = by_rows((300, 1024), "ab", "ba", "s8")
"""rows of bytes that evict each other, stored across lines"""
RARE = [
    *(random_case(77, number) for number in (112, 136, 213, 261, 597)),
    random_case(371, 388),
    random_case(84001, 119),
    CUT,
    APART,
    *(case for case in named_cases() if case.name == "abcd->cadb heads"),
]
RARE_CONVERSIONS = [
    read_conversion("nchw  nChw32c  short rows  64,64,7,7  s4  n  -"),
    read_conversion("ab  ba  lines that columns share  297,25760  f32->s8  b  -"),
    *(
        random_conversion(seed, number)
        for seed, numbers in ((77, (92, 129, 134, 172, 279)), (37002, (10, 50)), (38412, (860,)), (9001, (382, 574)))
        for number in numbers
    ),
]
"""decided by rules that few reorders are"""
Made = Callable[[Task, str, int], Sequence[str]]
"""the plan of a task for a target and some threads, or its text"""
AT_ONCE = 24
"""reorders that are planned with other values at once"""
TRANSPOSE = Task("ab->ba", "l2", "f32", (48, 48), Placement.parse("ab"), Placement.parse("ba"))


def on_avx512(found: Rule) -> str:
    """A target that is planned the same way on every machine."""
    return "avx512" if found.target == "native" else found.target


@pytest.mark.parametrize("found", RULES, ids=lambda found: found.name)
def test_every_rule_decides_some_reorder(found: Rule, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the last cache is near or far, or no stores wait for lines, by Zen 4 or 5. The planner has all values."""
    target, tasks = on_avx512(found), conversion_cases() if found.converts else named_cases() + random_cases(100, 77)
    rare = RARE_CONVERSIONS if found.converts else RARE
    for other, changes in found.others.items():
        assert changes, other
        with changed(changes):
            pass
    shuffles = "any" if target == "avx512" else TARGETS[target].shuffles
    monkeypatch.setitem(TARGETS, "far", replace(TARGETS[target], llc_is_far=True, l1=48 << 10, shuffles=shuffles))
    single = replace(
        TARGETS[target],
        waits_for_lines=False,
        fetches_rows=True,
        halves_registers=True,
        shuffles="single" if target == "avx512" else "any",
    )
    monkeypatch.setitem(TARGETS, "single", single)
    monkeypatch.setitem(TARGETS, "whole", replace(single, fetches_rows=False, halves_registers=False))
    asked = [
        (task, place)
        for footprint in found.footprints
        for task in (*tasks_of(rare, footprint, MACHINE), *shuffled(tasks_of(tasks, footprint, MACHINE), 1))
        for place in (target, "far", "single", "whole")
    ]
    ways = (plan_of, text_of) if found.converts else (plan_of,)
    assert any(
        is_decided(found, target, made, asked[start : start + AT_ONCE])
        for made in ways
        for start in range(0, len(asked), AT_ONCE)
    )


def is_decided(found: Rule, target: str, made: Made, asked: Sequence[tuple[Task, str]]) -> bool:
    """Whether another value, which is set once for all of these, makes another plan, or text, of one of them."""
    chosen = [made_with_rules(made, target, task, place, found.threads) for task, place in asked]
    for changes in found.others.values():
        with changed(changes):
            if any(made(*each, found.threads) != as_it_is for each, as_it_is in zip(asked, chosen, strict=True)):
                return True
    return False


@cache
def made_with_rules(made: Made, target: str, task: Task, place: str, threads: int) -> Sequence[str]:
    """What is made as the rules are; places are those of the target."""
    assert place in (target, "far", "single", "whole")
    return made(task, place, threads)


def test_the_planner_is_as_before_after_a_change() -> None:
    before = vars(shared_lines).copy(), vars(lanes).copy()
    plan = plan_of(TRANSPOSE, "avx512", 1)
    with pytest.raises(ZeroDivisionError), changed({"TILE_REGISTERS": to(8), "PIECE_BYTES": to(8)}):
        assert (lanes.TILE_REGISTERS, shared_lines.PIECE_BYTES, lanes.PIECE_BYTES) == (8, 8, 8)
        raise ZeroDivisionError
    assert (vars(shared_lines), vars(lanes)) == before and plan_of(TRANSPOSE, "avx512", 1) == plan
    assert plan_of(TRANSPOSE, "avx512", 1, {"TILE_REGISTERS": to(8)}) != plan


def test_a_value_of_one_file_leaves_others_of_its_name_alone() -> None:
    before = plan_together.LONG_RUN, staged_stores.LONG_RUN
    with changed({"plan_together.LONG_RUN": to(7)}):
        assert (7, before[1]) == (plan_together.LONG_RUN, staged_stores.LONG_RUN)
    assert before == (plan_together.LONG_RUN, staged_stores.LONG_RUN)
    with (
        pytest.raises(LayoutcError, match=r"the planner has no lanes\.LONG_RUN"),
        changed({"lanes.LONG_RUN": to(1)}),
    ):
        pass


def test_a_function_goes_without_one_of_its_conditions() -> None:
    """Rows of 4097 bytes evict each other: without being asked that, tiles do not load whole lines of them."""
    (found,) = (each for each in condition_rules("moves.staged_stores") if each.name.endswith("._with_runs"))
    assert rule(found.name).others.keys() == found.others.keys()
    (never,) = (changes for words, changes in found.others.items() if words.startswith("never rows_collide(staged), "))
    task = replace(TRANSPOSE, element_type="s8", dims=(4097, 4097))
    chosen = plan_of(task, "avx512", 1)
    assert "lanes 0:64 -> " in chosen[1] and "lanes 0:16 -> " in plan_of(task, "avx512", 1, never)[1]
    assert plan_of(task, "avx512", 1) == chosen


def test_functions_of_all_files_go_without_any_of_their_conditions() -> None:
    """One that several files know is another in each; peers are named by what stands before and behind a colon."""
    found = [each for module in MODULES for each in condition_rules(module.__name__.removeprefix("layoutc.planning."))]
    assert {"colliding_rows.rows_collide", "staged_stores.rows_collide"} <= {
        name.removeprefix("moves.") for each in found for changes in each.others.values() for name in changes
    }
    assert all(name.count(": ") == 1 for each in found for name in each.peers)


def test_conditions_of_a_file_that_the_planner_does_not_have_are_an_error() -> None:
    with pytest.raises(LayoutcError, match=r"the planner has no file 'stores', expected one of .*moves\.stores, "):
        condition_rules("stores")


def test_rules_have_names_of_their_own() -> None:
    """By its name a rule is found, and its results are."""
    names = [found.name for found in RULES]
    assert sorted(names) == sorted(set(names))
    assert all(rule(name) in RULES for name in names)


def test_a_value_that_the_planner_does_not_have_is_an_error() -> None:
    with pytest.raises(LayoutcError, match="the planner has no FOO"), changed({"FOO": to(1)}):
        pass
    with pytest.raises(LayoutcError, match="unknown rule 'FOO', expected one of PARALLEL_BYTES, streams"):
        rule("FOO")


def test_reorders_are_brought_to_so_many_bytes() -> None:
    for footprint in (256 << 10, 8 << 20, 64 << 20):
        tasks = list(tasks_of(named_cases()[:20], footprint, MACHINE))
        assert all(footprint // 4 < task.footprint <= footprint for task in tasks)
    assert {task.size for task in tasks_of(named_cases(), 8 << 20, MACHINE)} == {"l3"}


def test_reorders_are_those_that_the_rule_is_about() -> None:
    found = rule("MAX_CHANNELS")
    tasks = list(about(found, tasks_of(named_cases(), 768 << 10, MACHINE)))
    assert any("C3" in task.name for task in tasks) and not any("C64" in task.name for task in tasks)


@pytest.mark.skipif(find_compiler() is None, reason="no C compiler")
def test_other_plans_are_measured_and_checked_as_peers_are() -> None:
    names = [*rule("TILE_REGISTERS").peers, "PARALLEL_BYTES: always"]
    found = measure(TRANSPOSE, {name: peer(name) for name in ("layoutc", *names)}, Options(1, "generic", repeats=2))
    assert found.wrong == []
    assert found.samples.keys() == {"layoutc", "TILE_REGISTERS: half", "TILE_REGISTERS: twice"} - same_plans(names)


def same_plans(names: list[str]) -> set[str]:
    """Those whose plan for a 16-byte register is the planner's own, which nothing is to be measured of."""
    chosen = plan_of(TRANSPOSE, "generic", 1)
    found: set[str] = set()
    for name in names:
        of_rule, other = name.split(": ")
        if plan_of(TRANSPOSE, "generic", 1, rule(of_rule).others[other]) == chosen:
            found.add(name)
    return found


def row(case: str, footprint: int, chosen: float, **others: float) -> dict[str, Any]:
    times = {"layoutc": [chosen, chosen, 3]} | {f"NEAR: {k}": [v, v, 3] for k, v in others.items()}
    where = {"case": case, "type": "f32", "dims": [4], "from": "a", "to": "a"}
    return {"rule": "NEAR", "footprint": footprint, **where, "us": times, "wrong": []}


def test_tables_have_the_ratio_of_each_other_value(tmp_path: Path) -> None:
    rows = [
        row("one", 8 << 20, 2.0, never=4.0),
        row("two", 8 << 20, 2.0, never=1.0),
        row("random 1/2", 768 << 10, 1.0, never=3.0),
        {**row("three", 8 << 20, 1.0), "error": "crashed"},
    ]
    del rows[-1]["us"]
    machine = {"processor": "A Chip", "cpus": 2, "l1": 1024, "l2": 1 << 20, "l3": 1 << 20, "compiler": "cc"}
    report = Report([{"date": "2001-02-03", "command": "run"}], {**machine, "python": "3", "packages": {}}, rows=rows)
    page = rules_table.page(report)
    assert "| never |  | 3.00 (3.00 to 3.00, 1) | 1.00 (0.50 to 2.00, 2) |  |" in page
    assert "two, 4 f32, a -> a | 0.50 |" in page
    report.save(tmp_path / "rules.json")
    text = rules_table.rules(tmp_path)
    assert "2001-02-03, A Chip" in text
    assert "| NEAR | never: 1.44 | never: 1.44 | 3 |" in text


@pytest.mark.skipif(find_compiler() is None, reason="no C compiler")
def test_a_small_run_adds_to_the_results_of_other_rules(tmp_path: Path) -> None:
    path = tmp_path / "rules.json"
    command = [sys.executable, "-m", "benchmarks.rules", "--count", "1", "--repeats", "1", "--json", str(path)]
    for name in ("promoted", "NORMAL_BY_SOURCE of sse2", "promoted"):
        arguments = [*command, "--rule", name, "--where", "caches", "--date", "2001-02-03"]
        done = subprocess.run(arguments, cwd=ROOT, capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr
    rows = json.loads(path.read_text())["rows"]
    found = [(row["rule"], row["footprint"] >> 10, row["case"].startswith("random")) for row in rows]
    assert sorted(found) == sorted(
        (name, size, drawn)
        for name in ("promoted", "NORMAL_BY_SOURCE of sse2")
        for size in (768, 8192)
        for drawn in (False, True)
    )
    assert all(row["wrong"] == [] for row in rows)
    assert path.with_suffix(".md").read_text().count("\n## ") == 2


def test_pages_of_the_results_in_the_checkout_are_theirs() -> None:
    path = ROOT / "benchmarks" / "results" / "rules.json"
    assert path.with_suffix(".md").read_text(encoding="utf-8") == rules_table.page(Report.read(path))


def test_targets_that_rules_are_looked_at_for_are_known() -> None:
    assert {on_avx512(found) for found in RULES} <= TARGETS.keys()
