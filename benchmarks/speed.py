"""The short tables of the README: results by kind of reorder and by place, as means and worst cases."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from benchmarks.cases import CONVERT, RANDOM, RANDOM_CONVERSIONS, conversion_cases, named_cases
from benchmarks.peers import BUILDS
from benchmarks.report import Report
from benchmarks.summary import Ratio, Row, is_conversion, is_no_conversion, over_copy, over_own, speed_up

FILES = ("reorders", "conversions", "narrower_builds", "unaligned")
SIZES = {"dram": "DRAM", "l3": "L3", "l2": "L2"}
PEERS = {"onednn": "oneDNN", "numpy": "NumPy", "torch": "torch"}

ABOUT_COPY = """
The time of a reorder over that of a copy of as many bytes, with streaming stores in DRAM and by `memcpy` in the caches:
geometric mean, and the worst case in parentheses.
"""
ABOUT_PEERS = """
How many times as long as layoutc others take: geometric mean, and in parentheses the case that is best for them.
"""
ABOUT_BUILDS = """
How many times as long layoutc's own kernels for narrower registers take here, likewise with the worst case:
"""


@dataclass(frozen=True, order=True)
class Place:
    """Where the data fits, and by how many threads it is moved."""

    size: str
    threads: int

    def __str__(self) -> str:
        return f"{SIZES[self.size]}, {self.threads} thread{'s' if self.threads > 1 else ''}"

    def of(self, rows: Iterable[Row]) -> list[Row]:
        return [row for row in rows if (row["size"], row["threads"]) == (self.size, self.threads)]


def speed(folder: Path) -> str:
    """What the files of results in a folder come to; of files that are not there nothing is said."""
    found = {name: Report.read(path) for name in FILES if (path := folder / f"{name}.json").exists()}
    plain, converting, narrower, unaligned = (measured(found.get(name)) for name in FILES)
    others = {"": plain, "conversions, ": converting}
    builds = {"": is_no_conversion, "conversions, ": is_conversion}
    narrow = {kind: [row for row in narrower if chosen(row)] for kind, chosen in builds.items()}
    parts = [
        *measured_where(found),
        *titled(ABOUT_COPY, by_kind(plain + converting)),
        *titled(ABOUT_PEERS, by_peer(others, {name: speed_up(name) for name in PEERS}, is_speed_up=True)),
        *titled(ABOUT_BUILDS, by_peer(narrow, {name: over_own(name) for name in BUILDS}, is_speed_up=False)),
        *of_unaligned(unaligned),
        *of_making(plain + converting),
        "\n".join(plots(found)),
    ]
    return "\n\n".join(part.strip() for part in parts)


def measured_where(found: Mapping[str, Report]) -> list[str]:
    """When and where the results come from; which of them, where not all are from one place and time."""
    files: dict[str, list[str]] = {}
    for name, report in found.items():
        files.setdefault(f"{report.dates}, {report.place}.", []).append(name.replace("_", " "))
    if len(files) == 1:
        return list(files)
    return [f"{', '.join(names).capitalize()}: {where}" for where, names in files.items()]


def measured(report: Report | None) -> list[Row]:
    return [] if report is None else [row for row in report.rows if "us" in row]


def titled(about: str, lines: Sequence[str]) -> list[str]:
    return [about, "\n".join(lines)] if lines else []


def places(rows: Iterable[Row]) -> list[Place]:
    """Those that rows were measured in: the largest first."""
    found = {Place(row["size"], row["threads"]) for row in rows}
    return sorted(found, key=lambda place: (list(SIZES).index(place.size), place.threads))


def by_kind(rows: Sequence[Row]) -> list[str]:
    """A line for each kind of reorder, a column for each place."""
    names = [*dict.fromkeys(kinds().values()), RANDOM, RANDOM_CONVERSIONS]
    groups: dict[str, list[Row]] = {kind: [] for kind in names}
    for row in rows:
        groups[kind_of(row)].append(row)
    heads = places(rows)
    lines = [[kind, *(mean_and_worst(place.of(group), over_copy) for place in heads)] for kind, group in groups.items()]
    lines = [line for line in lines if any(line[1:])]
    counts = [str(sum(over_copy(row) is not None for row in place.of(rows))) for place in heads]
    return table(["reorders", *map(str, heads)], [*lines, ["number measured", *counts]]) if lines else []


def by_peer(groups: dict[str, list[Row]], peers: dict[str, Ratio], *, is_speed_up: bool) -> list[str]:
    """A line for each place of each group, a column for each peer that was there."""
    there = {
        name: ratio for name, ratio in peers.items() if any(ratio(row) for rows in groups.values() for row in rows)
    }
    lines = [
        [
            f"{group}{place}",
            *(mean_and_worst(place.of(rows), ratio, is_speed_up=is_speed_up) for ratio in there.values()),
        ]
        for group, rows in groups.items()
        for place in places(rows)
    ]
    return table(["", *(PEERS.get(name, name) for name in there)], lines) if there else []


def table(heads: Sequence[str], lines: Iterable[Sequence[str]]) -> list[str]:
    aligned = ["---", *["---:"] * (len(heads) - 1)]
    return [f"| {' | '.join(cells)} |" for cells in (heads, aligned, *lines)]


def mean_and_worst(rows: Iterable[Row], ratio: Ratio, *, is_speed_up: bool = False) -> str:
    values = [value for row in rows if (value := ratio(row)) is not None]
    if not values:
        return ""
    return f"{statistics.geometric_mean(values):.2f} ({min(values) if is_speed_up else max(values):.2f})"


@cache
def kinds() -> dict[str, str]:
    """The kind of every named case."""
    return {case.name: case.kind for case in named_cases() + conversion_cases()}


def kind_of(row: Row) -> str:
    """What a row's case is; one that has no name any more is as good as random."""
    case = str(row["case"])
    return kinds().get(case, RANDOM_CONVERSIONS if case.startswith(CONVERT) else RANDOM)


def of_unaligned(rows: Sequence[Row]) -> Iterator[str]:
    """What it costs that destinations start within a cache line."""
    for place in places(rows):
        times = [found for row in place.of(rows) if (found := over_copy(row)) is not None]
        yield (
            f"Into destinations that start within a cache line, as NumPy and malloc place large ones, {len(times)} of "
            f"the reorders take {statistics.geometric_mean(times):.2f} times as long as the copy, and at most "
            f"{max(times):.2f} ({place})."
        )


def of_making(rows: Sequence[Row]) -> Iterator[str]:
    """How long kernels take to make."""
    found = {name: [row[name] for row in rows if name in row] for name in ("text_ms", "cc_ms")}
    if all(found.values()):
        middle, most = ({name: of(values) for name, values in found.items()} for of in (statistics.median, max))
        yield (
            f"Planning, lowering and C text of a reorder take {middle['text_ms']:.0f} ms in the median and at most "
            f"{most['text_ms']:.0f}, the C compiler {middle['cc_ms']:.0f} ms and at most {most['cc_ms']:.0f}."
        )


def plots(found: dict[str, Report]) -> Iterator[str]:
    """Links to all cases: tables and plots."""
    for name, report in found.items():
        base = f"benchmarks/results/{name}"
        links = [f"[{place}]({base}-{place.size}-{place.threads}.svg)" for place in places(measured(report))]
        yield f"- {name.replace('_', ' ')}: [table]({base}.md), plots of {', '.join(links)}"
