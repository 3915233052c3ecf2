"""The results of a run. `python -m benchmarks.report FILE.json` makes its table and plots again, and its summary."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks import plot, summary, table
from benchmarks.summary import Row


@dataclass
class Report:
    """A run: the day it was made, facts about the machine and the peers, and the rows."""

    date: str
    command: str
    machine: dict[str, Any]
    peers: list[str] = field(default_factory=list[str])
    streaming_copy: str = ""
    rows: list[Row] = field(default_factory=list[Row])

    @classmethod
    def read(cls, path: Path) -> Report:
        return cls(**json.loads(path.read_text(encoding="utf-8")))

    def write(self, path: Path) -> None:
        """The JSON file (a line for each row), beside it the table `.md` and a plot for each size and threads."""
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(self.to_json(), encoding="utf-8")
        path.with_suffix(".md").write_text(table.markdown(self.rows, self.heading), encoding="utf-8")
        for size, threads in sorted({(row["size"], row["threads"]) for row in self.rows if "us" in row}):
            chosen = [row for row in self.rows if (row["size"], row["threads"]) == (size, threads) and "us" in row]
            title = f"Time over the copy, {size}, {threads} thr, {self.date}, {self.machine['processor']}"
            path.with_name(f"{path.stem}-{size}-{threads}.svg").write_text(plot.svg(chosen, title), encoding="utf-8")

    def to_json(self) -> str:
        fields = {name: value for name, value in vars(self).items() if name != "rows"}
        head = json.dumps(fields, indent=1)[:-2]
        return head + ',\n "rows": [\n' + ",\n".join(json.dumps(row) for row in self.rows) + "\n]}\n"

    @property
    def heading(self) -> str:
        """When and where, for the top of a page."""
        m = self.machine
        caches = f"L1d {m['l1'] >> 10} KiB, L2 {m['l2'] >> 10} KiB, L3 {m['l3'] >> 20} MiB"
        packages = ", ".join(f"{name} {number}" for name, number in m["packages"].items())
        return (
            f"{self.date}, {m['processor']}, {m['cpus']} CPUs, {caches}; {m['compiler']}; "
            f"Python {m['python']}, {packages}. Peers: {' '.join(self.peers)}; "
            f"streaming copy with {self.streaming_copy}.\n\n`{self.command}`"
        )


def show(heading: str, rows: Sequence[Row]) -> None:
    print(heading + "\n")
    print("\n".join(summary.lines(rows)))


def main() -> None:
    if len(sys.argv) != 2:
        sys.exit("usage: python -m benchmarks.report FILE.json")
    path = Path(sys.argv[1])
    report = Report.read(path)
    report.write(path)
    show(report.heading, report.rows)


if __name__ == "__main__":
    main()
