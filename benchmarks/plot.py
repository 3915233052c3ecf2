"""Time against the copy, one line for each reorder: an SVG drawing, so that no plotting library is needed."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from html import escape

from benchmarks.summary import Row, over_copy, ratio

LEFT, RIGHT, TOP, STEP, WIDTH = 330, 20, 60, 13, 620
LEAST, MOST = 0.5, 64.0
TICKS = (0.5, 1, 1.25, 2, 2.5, 4, 8, 16, 32, 64)
COLORS = {
    "layoutc": "#c0392b",
    "onednn": "#2471a3",
    "numpy": "#b7b7b7",
    "torch": "#b9770e",
    "avx2": "#7d3c98",
    "sse2": "#1e8449",
}


def svg(rows: Sequence[Row], title: str) -> str:
    """A plot of rows of one size and one number of threads, the slowest of layoutc first."""
    ranked = sorted(rows, key=lambda row: -(over_copy(row) or 0))
    height = TOP + STEP * len(ranked) + 10
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{LEFT + WIDTH + RIGHT}" height="{height}" '
        'font-family="sans-serif" font-size="10">',
        '<rect width="100%" height="100%" fill="white"/>',
        f'<text x="10" y="16" font-size="13">{escape(title)}</text>',
        *legend([peer for peer in COLORS if any(peer in row["us"] for row in rows)]),
        *grid(height),
        *(mark for number, row in enumerate(ranked) for mark in line(row, TOP + STEP * number + STEP)),
        "</svg>\n",
    ]
    return "\n".join(parts)


def legend(peers: Sequence[str]) -> Iterator[str]:
    for number, peer in enumerate(peers):
        x = LEFT + 90 * number
        yield f'<circle cx="{x}" cy="30" r="4" fill="{COLORS[peer]}"/><text x="{x + 8}" y="34">{peer}</text>'


def grid(height: int) -> Iterator[str]:
    for tick in TICKS:
        x, color = position(tick), "#555" if tick == 1 else "#ddd"
        yield f'<line x1="{x}" y1="{TOP - 4}" x2="{x}" y2="{height - 8}" stroke="{color}"/>'
        yield f'<text x="{x}" y="{TOP - 8}" text-anchor="middle">{tick:g}</text>'


def line(row: Row, y: int) -> Iterator[str]:
    """The name of a reorder, and a dot for each peer."""
    yield f'<text x="{LEFT - 8}" y="{y + 3}" text-anchor="end">{escape(str(row["case"])[:52])} {row["type"]}</text>'
    copy = "nt" if row["size"] == "dram" else "memcpy"
    for peer, color in reversed(COLORS.items()):
        if value := ratio(row, peer, copy):
            yield f'<circle cx="{position(value)}" cy="{y}" r="3.5" fill="{color}"/>'


def position(value: float) -> float:
    """Logarithmic; what is out of range is drawn at the edge."""
    share = math.log(min(max(value, LEAST), MOST) / LEAST) / math.log(MOST / LEAST)
    return round(LEFT + share * WIDTH, 1)
