"""The results of benchmarks.rules as tables: how many times as long plans by other values take."""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Sequence
from pathlib import Path

from benchmarks.planning_rules import RULES
from benchmarks.planning_rules.rule import Rule
from benchmarks.report import Report
from benchmarks.speed import table
from benchmarks.summary import Row, is_random, label, ratio

ABOUT = """
How many times as long a plan takes that is made by another value of a rule: geometric mean, least and most, and of how
many reorders; named ones, and random ones, by which no rule was found. Above 1 the planner's own value is better.
"""


def of_other(row: Row, other: str) -> float | None:
    return ratio(row, f"{row['rule']}: {other}", "layoutc")


def ratios(row: Row) -> str:
    """A row in short, while it is new; `row` may not know its rule yet."""
    times = {peer: ratio(row, peer, "layoutc") for peer in row["us"] if ": " in peer}
    return "  ".join(f"{peer.split(': ')[1]} {value:.2f}" for peer, value in times.items() if value is not None)


def page(report: Report, rules: Sequence[Rule] = RULES) -> str:
    """The whole page: the table of each of these rules, and every reorder."""
    parts = ["# Rules of the planner", report.heading, ABOUT.strip()]
    for rule in rules:
        if rows := [row for row in report.rows if row["rule"] == rule.name]:
            parts += [f"## {rule.name}", sentence(rule), "\n".join(summary(rule, rows)), "\n".join(each(rule, rows))]
    return "\n\n".join(parts) + "\n"


def sentence(rule: Rule) -> str:
    return f"{rule.about[0].upper()}{rule.about[1:]}."


def summary(rule: Rule, rows: Sequence[Row]) -> list[str]:
    """A line for each other value, a column for each number of bytes and kind of reorders."""
    sizes = sorted({row["footprint"] for row in rows})
    heads = [f"{bytes_of(size)}, {kind}" for size in sizes for kind in ("named", "random")]
    return table(["instead", *heads], lines(rule, rows, sizes))


def lines(rule: Rule, rows: Sequence[Row], sizes: Sequence[int]) -> Iterator[list[str]]:
    for other in decided(rule, rows):
        yield [
            other,
            *(
                cell([row for row in rows if row["footprint"] == size and is_random(row) == drawn], other)
                for size in sizes
                for drawn in (False, True)
            ),
        ]


def decided(rule: Rule, rows: Sequence[Row]) -> list[str]:
    """The other values that plan some of these reorders otherwise."""
    return [other for other in rule.others if any(of_other(row, other) for row in rows)]


def cell(rows: Sequence[Row], other: str) -> str:
    values = [value for row in rows if (value := of_other(row, other)) is not None]
    if not values:
        return ""
    return f"{statistics.geometric_mean(values):.2f} ({min(values):.2f} to {max(values):.2f}, {len(values)})"


def bytes_of(count: int) -> str:
    return f"{count >> 20} MiB" if count % (1 << 20) == 0 else f"{count >> 10} KiB"


def each(rule: Rule, rows: Sequence[Row]) -> list[str]:
    """Every reorder of a rule."""
    measured = [row for row in rows if "us" in row]
    others = decided(rule, rows)
    cells = ([label(row), *(value_of(row, other) for other in others)] for row in measured)
    return table(["reorder", *others], cells)


def value_of(row: Row, other: str) -> str:
    value = of_other(row, other)
    return "" if value is None else f"{value:.2f}"


def rules(folder: Path) -> str:
    """The table of docs/plan_rules.md: each rule, and what the best and the worst of its other values came to."""
    path = folder / "rules.json"
    if not path.exists():
        return ""
    report = Report.read(path)
    lines = [
        [sentence(rule), rule.name, *found]
        for rule in RULES
        if (found := best_and_worst(rule, [row for row in report.rows if row["rule"] == rule.name]))
    ]
    heads = ["rule", "name", "the best other value", "the worst", "reorders"]
    return "\n\n".join([f"{report.dates}, {report.place}.", "\n".join(table(heads, lines))])


def best_and_worst(rule: Rule, rows: Sequence[Row]) -> list[str]:
    """Other values with their mean on all reorders on which they decide."""
    means: list[tuple[float, str]] = []
    for other in rule.others:
        if values := [value for row in rows if (value := of_other(row, other)) is not None]:
            means.append((statistics.geometric_mean(values), other))
    if not means:
        return []
    return [
        *(f"{other}: {mean:.2f}" for mean, other in (min(means), max(means))),
        str(sum("us" in row for row in rows)),
    ]
