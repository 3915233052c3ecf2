"""
The tables of the README and of docs/, made from benchmarks/results/: `python -m benchmarks.pages` writes them again.

A table stands between `<!-- NAME: ... -->` and `<!-- end of NAME -->`.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

from benchmarks.speed import speed

ROOT = Path(__file__).parent.parent
RESULTS = ROOT / "benchmarks" / "results"
PAGES = (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")))
TABLES: dict[str, Callable[[Path], str]] = {"speed": speed}
"""what stands between the marks, of the folder of results"""
MARKED = re.compile(r"(<!-- (\w+): [^>]*-->\n).*?(<!-- end of \2 -->)", re.DOTALL)


def filled(page: str, results: Path = RESULTS) -> str:
    """A page with its tables as the results have them."""
    return MARKED.sub(lambda found: f"{found[1]}\n{TABLES[found[2]](results)}\n\n{found[3]}", page)


def main() -> None:
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        if (made := filled(text)) != text:
            page.write_text(made, encoding="utf-8")
            print(f"{page.relative_to(ROOT)} written again")


if __name__ == "__main__":
    main()
