"""
Reorders against copies and against other libraries, all in one run, in turns: `python -m benchmarks.reorders`.

Prints a line for each reorder while it runs and a summary at the end. --json saves each result at once, and at the end
writes a table and plots beside them (`python -m benchmarks.report` does for a run that was stopped).
benchmarks/README.md says how it measures.
"""

from __future__ import annotations

import datetime
import shlex
import sys
from collections.abc import Callable, Iterable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

from benchmarks import machine, session, summary
from benchmarks.cases import SIZES, conversion_cases, is_named, named_cases, selected
from benchmarks.measure import Options
from benchmarks.peers import BUILDS, PEERS
from benchmarks.random_cases import random_cases, random_conversions
from benchmarks.report import Report, show
from benchmarks.summary import Row
from benchmarks.tasks import Task, all_tasks
from layoutc.element_type import ELEMENT_TYPES
from layoutc.errors import LayoutcError
from layoutc.planning.machine import PLAIN, TARGETS

NAMES = tuple(type.name for type in ELEMENT_TYPES)


def some_of(known: Iterable[str]) -> Callable[[str], tuple[str, ...]]:
    """Reads a comma-separated list of these names."""
    names = tuple(known)

    def read(text: str) -> tuple[str, ...]:
        parts = tuple(text.split(","))
        if unknown := sorted(set(parts) - set(names)):
            raise click.BadParameter(f"{unknown[0]!r} is not one of {' '.join(names)}")
        return parts

    return read


def counts(text: str) -> tuple[int, ...]:
    """Reads a comma-separated list of positive numbers."""
    if not all(part.isdecimal() and int(part) for part in text.split(",")):
        raise click.BadParameter(f"{text!r} is not a list of positive numbers")
    return tuple(int(part) for part in text.split(","))


def part(text: str) -> tuple[int, int]:
    """Reads `2/3`: the second of three parts."""
    first, _, count = text.partition("/")
    if not (first.isdecimal() and count.isdecimal() and 1 <= int(first) <= int(count)):
        raise click.BadParameter(f"{text!r} is not a part such as 2/3")
    return int(first), int(count)


def listed(name: str, read: Callable[[str], Any], default: str, text: str) -> Callable[[Any], Any]:
    """An option that takes a comma-separated list."""
    return click.option(name, type=read, default=default, show_default=True, metavar="A,B,...", help=text)


@click.command()
@click.option("--cases", "pattern", default="*", help="Only cases with this shell pattern in their name.")
@click.option(
    "--without", multiple=True, metavar="PATTERN", help="None with this shell pattern in their name; any number."
)
@click.option(
    "--random",
    "random_count",
    default=0,
    type=click.IntRange(0),
    help="Add that many random cases; `--cases random` leaves them alone.",
)
@click.option(
    "--random-conversions",
    default=0,
    type=click.IntRange(0),
    help="The same of random cases that convert; `--cases 'convert random'`.",
)
@click.option("--seed", default=1, show_default=True, help="Of the random cases, the data, and the order of the peers.")
@listed("--threads", counts, "1,2", "Numbers of threads.")
@listed("--sizes", some_of(SIZES), ",".join(SIZES), "Where the data fits.")
@click.option("--types", type=some_of(NAMES), metavar="A,B,...", help="Element types of either side [default: all].")
@listed("--peers", some_of((*PEERS, *BUILDS)), ",".join(PEERS), "Who is measured.")
@click.option("--part", type=part, default="1/1", show_default=True, help="K/N measures every N-th reorder, from K on.")
@click.option(
    "--target",
    default="native",
    type=click.Choice(["native", *TARGETS, PLAIN]),
    show_default=True,
    help="What layoutc compiles for.",
)
@click.option(
    "--repeats", default=0, type=click.IntRange(0), help="Samples of each peer; 0 means 15 in DRAM, 31 in the caches."
)
@click.option("--offset", default=0, type=click.IntRange(0, 4095), help="Bytes from a page to the destination.")
@click.option("--reads", is_flag=True, help="Count what reads the result, too.")
@click.option("--patience", default=2.0, show_default=True, help="Seconds after which a peer gets 5 samples only.")
@click.option("--date", default=None, help="The date of the results [default: today].")
@click.option("--json", "path", type=click.Path(path_type=Path), default=None, help="Where to write the results.")
@click.option("--add", "adds", is_flag=True, help="Keep what FILE.json has of other reorders.")
@click.option("--list", "only_list", is_flag=True, help="List the reorders, and measure nothing.")
def main(path: Path | None, date: str | None, adds: bool, only_list: bool, **asked: Any) -> None:
    """Measure layoutc's reorders against copies and other libraries."""
    try:
        here = machine.detect()
        tasks = chosen_tasks(here, asked)
        if only_list:
            print("\n".join(summary.label(task.to_json()) for task in tasks))
            return
        command = shlex.join(["python", "-m", "benchmarks.reorders", *sys.argv[1:]])
        report = Report([{"date": date or datetime.date.today().isoformat(), "command": command}], asdict(here))
        if adds and path is not None and path.exists():
            report.continues(path)
        run(report, tasks, path, asked)
        if path is not None:
            report.write(path)
    except LayoutcError as error:
        sys.exit(f"error: {error}")
    show(report.heading, report.rows)
    sys.exit(any(row.get("wrong") or "error" in row for row in report.rows))


def chosen_tasks(here: machine.Machine, asked: dict[str, Any]) -> list[Task]:
    """The reorders that were asked for, with their dims on this machine."""
    cases = named_cases() + conversion_cases() + random_cases(asked["random_count"], asked["seed"])
    cases += random_conversions(asked["random_conversions"], asked["seed"])
    chosen = selected(cases, asked["pattern"])
    chosen = [case for case in chosen if not any(is_named(case, pattern) for pattern in asked["without"])]
    tasks = all_tasks(chosen, asked["sizes"], here)
    if asked["types"]:
        tasks = [task for task in tasks if set(task.element_type.split("->")) & set(asked["types"])]
    first, step = asked["part"]
    return tasks[first - 1 :: step]


def run(report: Report, tasks: list[Task], path: Path | None, asked: dict[str, Any]) -> None:
    """Measures all tasks, with one number of threads after the other; each row is saved, and said, at once."""
    for threads in asked["threads"]:
        if threads > report.machine["cpus"]:
            print(f"{threads} threads left out: there are {report.machine['cpus']} CPUs")
            continue
        fields = {name: asked[name] for name in ("target", "repeats", "seed", "offset", "reads")}
        options = Options(threads, patience_s=asked["patience"], **fields)
        rows = session.rows(tasks, asked["peers"], options)
        report.joined(**next(rows))
        for number, row in enumerate(rows, 1):
            report.add(row)
            if path is not None:
                report.save(path)
            print(f"{number}/{len(tasks)} {threads} thr  {progress(row)}", flush=True)


def progress(row: Row) -> str:
    """A row in short, while it is new."""
    if "error" in row:
        return f"{summary.label(row)}  {row['error']}"
    times = "  ".join(f"{peer} {median:.4g}" for peer, (median, *_) in row["us"].items())
    wrong = f"  WRONG: {' '.join(row['wrong'])}" if row["wrong"] else ""
    return f"{summary.label(row)}  {times} us{wrong}"


if __name__ == "__main__":
    main()
