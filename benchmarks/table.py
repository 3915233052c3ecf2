"""The rows of a run as Markdown tables: one for each size, a line for each reorder."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from benchmarks.summary import Row, ratio

TITLES = {"dram": "Larger than the caches", "l3": "In L3", "l2": "In L2"}
COLUMNS = (
    *(("layoutc", "nt"), ("layoutc", "memcpy"), ("onednn", "layoutc"), ("numpy", "layoutc"), ("torch", "layoutc")),
    *(("avx2", "layoutc"), ("sse2", "layoutc")),
)


def markdown(rows: Sequence[Row], heading: str) -> str:
    """The whole page; `heading` says when and where."""
    parts = ["# Reorders\n", heading, EXPLANATION]
    for size, title in TITLES.items():
        of_size = [row for row in rows if row["size"] == size and "us" in row]
        if of_size:
            parts.append(f"## {title}\n\n" + "\n".join(table(of_size)) + "\n")
    return "\n".join(parts)


EXPLANATION = """
MB are those of the destination. `layoutc/nt` is layoutc's time over that of a copy with streaming stores, and so on;
`onednn/layoutc` is how many times as fast as oneDNN layoutc is. `avx2` and `sse2` are layoutc's own builds for
processors with narrower registers. Times are medians of the same run.
"""


def table(rows: Sequence[Row]) -> Iterator[str]:
    threads = sorted({row["threads"] for row in rows})
    columns = [(one, other) for one, other in COLUMNS if any(ratio(row, one, other) for row in rows)]
    heads = [f"{one}/{other}, {n} thr" for n in threads for one, other in columns]
    yield "| case | dims | type | MB | " + " | ".join(heads) + " |"
    yield "| --- | --- | --- | ---: |" + " ---: |" * len(heads)
    for group in grouped(rows):
        first = next(iter(group.values()))
        cells = [cell(group.get(n), *column) for n in threads for column in columns]
        dims, megabytes = "x".join(map(str, first["dims"])), first["destination_bytes"] / 1e6
        yield f"| {first['case']} | {dims} | {first['type']} | {megabytes:.3g} | " + " | ".join(cells) + " |"


def grouped(rows: Sequence[Row]) -> list[dict[int, Row]]:
    """The rows of one reorder, by threads."""
    found: dict[tuple[str, str], dict[int, Row]] = {}
    for row in rows:
        found.setdefault((row["case"], row["type"]), {})[row["threads"]] = row
    return list(found.values())


def cell(row: Row | None, one: str, other: str) -> str:
    value = None if row is None else ratio(row, one, other)
    return "" if value is None else f"{value:.2f}"
