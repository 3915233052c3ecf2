"""
The planner's rules against others: `python -m benchmarks.rules` measures plans that it would make if a value were
another, in turns with those that it makes. Results are saved at once;
`python -m benchmarks.pages` makes the tables of a run that was stopped.

Each rule is looked at where it decides something: on named reorders, and on random ones, by which no rule was found;
rules of conversions on those of data/conversions.txt.

`--conditions` measures the functions of a file of the planner without one of their conditions each.
"""

from __future__ import annotations

import datetime
import random
import shlex
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, replace
from itertools import islice
from pathlib import Path

import click

from benchmarks import machine, rules_table, session
from benchmarks.cases import Case, conversion_cases, named_cases
from benchmarks.machine import Machine
from benchmarks.measure import Options
from benchmarks.planning_rules import RULES, made_of, rule
from benchmarks.planning_rules.conditions import condition_rules
from benchmarks.planning_rules.rule import IN_DRAM, Rule
from benchmarks.random_cases import random_cases
from benchmarks.report import Report
from benchmarks.summary import label
from benchmarks.tasks import Task, shrunk, with_extent
from layoutc.errors import LayoutcError

RESULTS = Path(__file__).parent / "results" / "rules.json"
TRIED = 400
"""reorders that are looked at, at most, to find some that a rule is about"""


@click.command()
@click.option("--rule", "names", multiple=True, metavar="NAME", help="Only these; may be given several times.")
@click.option("--conditions", "file", default=None, metavar="FILE", help="The conditions of one, as moves.stores.")
@click.option(
    "--where", type=click.Choice(["caches", "dram"]), default=None, help="Only where the data fits, or does not fit."
)
@click.option("--count", default=6, show_default=True, type=click.IntRange(1), help="Named reorders; as many random.")
@click.option("--seed", default=77, show_default=True, help="Of the choice of reorders, and of the random ones.")
@click.option("--repeats", default=0, type=click.IntRange(0), help="Samples; 0 means 15 in DRAM, 31 in the caches.")
@click.option("--reads", is_flag=True, help="Count what reads the result, too.")
@click.option("--date", default=None, help="The date of the results [default: today].")
@click.option("--json", "path", type=click.Path(path_type=Path), default=RESULTS, help="Where to write the results.")
@click.option("--list", "only_list", is_flag=True, help="List the rules, and measure nothing.")
def main(
    names: tuple[str, ...],
    file: str | None,
    where: str | None,
    path: Path,
    date: str | None,
    only_list: bool,
    reads: bool,
    **asked: int,
) -> None:
    """Measure the planner's rules. What FILE.json has of other rules stays."""
    try:
        rules = [*map(rule, names), *(condition_rules(file) if file is not None else ())] or list(RULES)
        if only_list:
            print("\n".join(f"{found.name}: {found.about}; or {', '.join(found.others)}" for found in rules))
            return
        if file is not None and path == RESULTS:
            raise LayoutcError("results of conditions are kept apart: expected --json with another file")
        if reads and path == RESULTS:
            raise LayoutcError("results with a reader are kept apart: expected --json with another file")
        here = machine.detect()
        run = {
            "date": date or datetime.date.today().isoformat(),
            "command": shlex.join(["python", "-m", "benchmarks.rules", *sys.argv[1:]]),
        }
        report = Report([run], asdict(here))
        if path.exists():
            report.continues(path)
        for found in rules:
            for footprint in (size for size in found.footprints if where in (None, place_of(size))):
                measure(report, found, footprint, here, path, reads=reads, **asked)
    except LayoutcError as error:
        sys.exit(f"error: {error}")
    known = RULES if file is None else rules
    path.with_suffix(".md").write_text(rules_table.page(report, known), encoding="utf-8")
    sys.exit(any(row.get("wrong") or "error" in row for row in report.rows))


def measure(
    report: Report,
    found: Rule,
    footprint: int,
    here: Machine,
    path: Path,
    count: int,
    seed: int,
    repeats: int,
    reads: bool,
) -> None:
    """A row for each reorder in the place of older ones; each is saved at once."""
    report.rows = [row for row in report.rows if (row["rule"], row["footprint"]) != (found.name, footprint)]
    tasks = [
        task
        for cases in ([conversion_cases()] if found.converts else [named_cases(), random_cases(TRIED, seed)])
        for task in islice(about(found, shuffled(tasks_of(cases, footprint, here), seed)), count)
    ]
    print(f"{found.name}, {footprint >> 10} KiB: {len(tasks)} reorders", flush=True)
    if not tasks:
        return
    options = Options(found.threads, found.target, repeats, seed=seed, reads=reads)
    rows = session.rows(tasks, ["layoutc", *found.peers], options)
    report.joined(**next(rows))
    for row in rows:
        report.add({"rule": found.name, "footprint": footprint, **row})
        report.save(path)
        print(f"  {label(row)}  {row.get('error') or rules_table.ratios(row)}", flush=True)


def place_of(footprint: int) -> str:
    return "dram" if footprint >= IN_DRAM else "caches"


def tasks_of(cases: Iterable[Case], footprint: int, here: Machine) -> Iterator[Task]:
    """The cases for all their element types, brought to about that many bytes of both buffers."""
    for case in cases:
        for element_type in case.types:
            task = Task(case.name, "l3", element_type, case.dims, case.source, case.destination, case.attributes)
            while task.footprint < footprint:
                axis = min(case.scaled[0], key=lambda axis: task.dims[axis])
                task = with_extent(task, axis, 2 * task.dims[axis])
            task = shrunk(task, case, footprint)
            yield replace(task, size="dram" if footprint > here.l3_share else "l3" if footprint > here.l2 else "l2")


def shuffled(tasks: Iterable[Task], seed: int) -> Sequence[Task]:
    drawn = list(tasks)
    random.Random(seed).shuffle(drawn)
    return drawn[:TRIED]


def about(found: Rule, tasks: Iterable[Task]) -> Iterator[Task]:
    """Those that another value of the rule would plan otherwise."""
    for task in tasks:
        asked = found, task, found.target, found.threads
        chosen = made_of(*asked)
        if any(made_of(*asked, changes) not in ((), chosen) for changes in found.others.values()):
            yield task


if __name__ == "__main__":
    main()
