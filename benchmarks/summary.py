"""What the rows of a run come to: the ratios, and what is asked of them."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from benchmarks.cases import CONVERT
from benchmarks.peers import BUILDS
from benchmarks.tasks import DRAM_DESTINATION

Row = dict[str, Any]
Ratio = Callable[[Row], float | None]
WORST = 10
MOST_OF_BUILD = 3.0
"""times the time of the build for this machine that one for narrower registers may take"""


def ratio(row: Row, peer: str, to: str) -> float | None:
    """The median time of a peer over that of another; None where one of them has none."""
    times = row.get("us", {})
    return times[peer][0] / times[to][0] if peer in times and to in times else None


def over_copy(row: Row) -> float | None:
    """layoutc's time over that of the copy that a row is held against: with streaming stores in DRAM, else memcpy."""
    return ratio(row, "layoutc", "nt" if row["size"] == "dram" else "memcpy")


def over_own(build: str) -> Ratio:
    """The time of a build for narrower registers over that of the build for this machine."""
    return lambda row: ratio(row, build, "layoutc")


def speed_up(peer: str) -> Ratio:
    """How many times as fast as a peer layoutc is."""
    return lambda row: ratio(row, peer, "layoutc")


@dataclass(frozen=True)
class Goal:
    """A set of rows, a ratio of them, and what its geometric mean and its worst value should be."""

    text: str
    chosen: Callable[[Row], bool]
    ratio: Ratio
    mean: float
    worst: float
    is_speed_up: bool = False

    def is_met(self, mean: float, worst: float) -> bool:
        if self.is_speed_up:
            return mean >= self.mean and worst >= self.worst
        return mean <= self.mean and worst <= self.worst

    def values(self, rows: Iterable[Row]) -> list[float]:
        return [value for row in rows if self.chosen(row) and (value := self.ratio(row)) is not None]


def any_row(_: Row) -> bool:
    return True


def is_conversion(row: Row) -> bool:
    """Whether a row is of data/conversions.txt."""
    return str(row["case"]).startswith(CONVERT)


def conversion_in(size: str) -> Callable[[Row], bool]:
    return lambda row: is_conversion(row) and row["size"] == size


def is_no_conversion(row: Row) -> bool:
    return not is_conversion(row)


def is_plain(row: Row) -> bool:
    """A named reorder of data/cases.txt or TTC."""
    return is_no_conversion(row) and not is_random(row)


def is_random(row: Row) -> bool:
    return str(row["case"]).startswith("random ")


def is_large(row: Row) -> bool:
    return row["size"] == "dram" and row["destination_bytes"] >= DRAM_DESTINATION


def goals(threads: int) -> list[Goal]:
    """What the compiler is held to, for a number of threads."""
    onednn = 3.0 if threads == 1 else 2.5
    return [
        Goal("DRAM / streaming copy", lambda row: is_large(row) and is_plain(row), over_copy, 1.25, 2.5),
        Goal("DRAM / streaming copy, random", lambda row: is_large(row) and is_random(row), over_copy, 1.5, 2.5),
        Goal("L3 / memcpy", lambda row: row["size"] == "l3" and is_no_conversion(row), over_copy, 1.3, 2.2),
        Goal("L2 / memcpy", lambda row: row["size"] == "l2" and is_no_conversion(row), over_copy, 1.3, 2.2),
        Goal("oneDNN / layoutc", is_no_conversion, speed_up("onednn"), onednn, 0.95, is_speed_up=True),
        *(
            Goal(f"conversions, {name}", conversion_in(size), over_copy, 1.5, 1.5)
            for size, name in (("dram", "DRAM / stream"), ("l3", "L3 / memcpy"), ("l2", "L2 / memcpy"))
        ),
        Goal("conversions, oneDNN / layoutc", is_conversion, speed_up("onednn"), onednn, 1.0, is_speed_up=True),
        Goal("NumPy / layoutc", any_row, speed_up("numpy"), 1.0, 1.0, is_speed_up=True),
        Goal("torch / layoutc", any_row, speed_up("torch"), 1.0, 1.0, is_speed_up=True),
        *(
            Goal(f"{kind}{build} / layoutc", chosen, over_own(build), MOST_OF_BUILD, MOST_OF_BUILD)
            for kind, chosen in (("", is_no_conversion), ("conversions, ", is_conversion))
            for build in BUILDS
        ),
    ]


def lines(rows: Sequence[Row]) -> Iterator[str]:
    """The summary for people."""
    measured = [row for row in rows if "us" in row]
    for threads in sorted({row["threads"] for row in measured}):
        yield f"{threads} thread{'s' if threads > 1 else ''}"
        yield from of_threads([row for row in measured if row["threads"] == threads], threads)
    yield from of_making(measured)
    yield from failures(rows)


def of_threads(rows: Sequence[Row], threads: int) -> Iterator[str]:
    for goal in goals(threads):
        if values := goal.values(rows):
            yield "  " + goal_line(goal, values)
    for size in ("dram", "l3", "l2"):
        yield from worst([row for row in rows if row["size"] == size], size)
    yield from slower_than_onednn(rows)
    for build in BUILDS:
        yield from slow_builds(rows, build)


def goal_line(goal: Goal, values: Sequence[float]) -> str:
    mean, sign = statistics.geometric_mean(values), ">=" if goal.is_speed_up else "<="
    worst = min(values) if goal.is_speed_up else max(values)
    found = f"{goal.text:<30} {len(values):4} rows  mean {mean:6.2f}  worst {worst:6.2f}"
    verdict = "met" if goal.is_met(mean, worst) else "not met"
    return f"{found}  asked {sign} {goal.mean:g} and {goal.worst:g}: {verdict}"


def worst(rows: Sequence[Row], size: str) -> Iterator[str]:
    """The rows farthest from the copy."""
    ranked = sorted(((value, row) for row in rows if (value := over_copy(row)) is not None), key=lambda pair: -pair[0])
    if ranked:
        yield f"  worst in {size}, times the copy"
    for value, row in ranked[:WORST]:
        yield f"    {value:6.2f}  {label(row)}"


def slower_than_onednn(rows: Sequence[Row]) -> Iterator[str]:
    slow = [(value, row) for row in rows if (value := ratio(row, "onednn", "layoutc")) is not None and value < 0.95]
    if slow:
        yield f"  slower than oneDNN: {len(slow)} rows; oneDNN's time over layoutc's, the least first"
    for value, row in sorted(slow, key=lambda pair: pair[0])[:WORST]:
        yield f"    {value:6.2f}  {label(row)}"


def slow_builds(rows: Sequence[Row], build: str) -> Iterator[str]:
    slow = [
        (value, row) for row in rows if (value := ratio(row, build, "layoutc")) is not None and value > MOST_OF_BUILD
    ]
    if slow:
        yield f"  {build} over {MOST_OF_BUILD:g} times the build for this machine: {len(slow)} rows, the worst first"
    for value, row in sorted(slow, key=lambda pair: -pair[0])[:WORST]:
        yield f"    {value:6.2f}  {label(row)} ({row['size']})"


def of_making(rows: Sequence[Row]) -> Iterator[str]:
    """How long kernels take to make, and how large they are."""
    for name, text in (("text_ms", "C text, ms"), ("cc_ms", "C compiler, ms"), ("c_bytes", "C text, bytes")):
        if values := [row[name] for row in rows if name in row]:
            yield f"{text:<18} median {statistics.median(values):9.1f}  most {max(values):9.1f}"


def failures(rows: Sequence[Row]) -> Iterator[str]:
    """Wrong results and rows that could not be measured."""
    for row in rows:
        if row.get("wrong"):
            yield f"WRONG: {' '.join(row['wrong'])}: {label(row)}"
        if "error" in row:
            yield f"FAILED: {label(row)}: {row['error']}"


def label(row: Row) -> str:
    dims = "x".join(map(str, row["dims"]))
    attributes = f", {row['attributes']}" if "attributes" in row else ""
    return f"{row['case']}, {dims} {row['type']}, {row['from']} -> {row['to']}{attributes}"
