"""
The results of runs. `python -m benchmarks.report FILE.json` makes table, plots and summary of a file again.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import click

from benchmarks import plot, summary, table
from benchmarks.summary import Row
from layoutc.errors import LayoutcError

KEY = ("rule", "case", "size", "type", "dims", "from", "to", "attributes", "threads")
MACHINE_FACTS = ("processor", "cpus", "l1", "l2", "l3", "system", "compiler")
"""what is the same for all rows of a file"""


@dataclass
class Report:
    """Runs on one machine: their days and commands, facts about the machine and the peers, and the rows."""

    runs: list[dict[str, str]]
    machine: dict[str, Any]
    peers: list[str] = field(default_factory=list[str])
    streaming_copy: str = ""
    rows: list[Row] = field(default_factory=list[Row])

    @classmethod
    def read(cls, path: Path) -> Report:
        """The results that a file has. Raises LayoutcError for a file that has none."""
        try:
            return cls(**json.loads(path.read_text(encoding="utf-8")))
        except (ValueError, TypeError):
            raise LayoutcError(f"{path} is no file of results") from None

    def continues(self, path: Path) -> None:
        """Takes over what a file has. Raises LayoutcError if that was measured on another machine."""
        before = Report.read(path)
        for fact in MACHINE_FACTS:
            if (found := before.machine[fact]) != self.machine[fact]:
                raise LayoutcError(f"{path} was measured with {fact} {found!r}, here it is {self.machine[fact]!r}")
        self.runs = before.runs + [run for run in self.runs if run not in before.runs]
        self.machine["packages"] = before.machine["packages"] | self.machine["packages"]
        self.peers, self.rows = before.peers, before.rows

    def joined(self, peers: Sequence[str], streaming_copy: str) -> None:
        """These peers are measured from here on."""
        self.peers += [peer for peer in peers if peer not in self.peers]
        self.streaming_copy = streaming_copy

    def add(self, row: Row) -> None:
        """A row takes the place of an older one of the same reorder with as many threads."""
        places = [place for place, other in enumerate(self.rows) if key(other) == key(row)]
        if places:
            self.rows[places[0]] = row
        else:
            self.rows.append(row)

    def save(self, path: Path) -> None:
        """The JSON file, a line for each row; never half of it."""
        path.parent.mkdir(parents=True, exist_ok=True)
        beside = path.with_suffix(".part")
        beside.write_text(self.to_json(), encoding="utf-8")
        beside.replace(path)

    def write(self, path: Path) -> None:
        """The JSON file, beside it the table `.md` and a plot for each size and threads, in the place of older ones."""
        self.save(path)
        path.with_suffix(".md").write_text(table.markdown(self.rows, self.heading), encoding="utf-8")
        for old in plots_of(path):
            old.unlink()
        for size, threads in sorted({(row["size"], row["threads"]) for row in self.rows if "us" in row}):
            chosen = [row for row in self.rows if (row["size"], row["threads"]) == (size, threads) and "us" in row]
            title = f"Time over the copy, {size}, {threads} thr, {self.dates}, {self.machine['processor']}"
            path.with_name(f"{path.stem}-{size}-{threads}.svg").write_text(plot.svg(chosen, title), encoding="utf-8")

    def to_json(self) -> str:
        fields = {name: value for name, value in vars(self).items() if name != "rows"}
        head = json.dumps(fields, indent=1)[:-2]
        return head + ',\n "rows": [\n' + ",\n".join(json.dumps(row) for row in self.rows) + "\n]}\n"

    @property
    def dates(self) -> str:
        """The day of the runs, or the first and the last."""
        days = sorted({run["date"] for run in self.runs})
        return days[0] if len(days) == 1 else f"{days[0]} to {days[-1]}"

    @property
    def place(self) -> str:
        """The machine and what is installed there, in one sentence."""
        m = self.machine
        caches = f"L1d {m['l1'] >> 10} KiB, L2 {m['l2'] >> 10} KiB, L3 {m['l3'] >> 20} MiB"
        packages = ", ".join(f"{name} {number}" for name, number in m["packages"].items())
        return f"{m['processor']}, {m['cpus']} CPUs, {caches}; {m['compiler']}; Python {m['python']}, {packages}"

    @property
    def heading(self) -> str:
        """When, where and how, for the top of a page."""
        commands = "\n".join(dict.fromkeys(run["command"] for run in self.runs))
        return (
            # Plans by other values of a rule are no libraries: their tables name them.
            f"{self.dates}, {self.place}. Peers: {' '.join(peer for peer in self.peers if ': ' not in peer)}; "
            f"streaming copy with {self.streaming_copy}.\n\n```sh\n{commands}\n```"
        )


def key(row: Row) -> tuple[object, ...]:
    """What a row measures: a reorder, and the threads."""
    return tuple(str(row.get(name)) for name in KEY)


def plots_of(path: Path) -> list[Path]:
    """The plots beside a file of results."""
    return sorted(path.parent.glob(f"{path.stem}-*.svg"))


def show(heading: str, rows: Sequence[Row]) -> None:
    print(heading + "\n")
    print("\n".join(summary.lines(rows)))


@click.command()
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
def main(file: Path) -> None:
    """Makes table, plots and summary of FILE, the results of runs, again."""
    report = Report.read(file)
    report.write(file)
    show(report.heading, report.rows)


if __name__ == "__main__":
    main()
