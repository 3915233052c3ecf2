"""
All pages of results: `python -m benchmarks.pages` makes the tables and plots beside the files in benchmarks/results/
again, and from the files the tables of the README and of docs/.

A table stands between `<!-- NAME: ... -->` and `<!-- end of NAME -->`.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

from benchmarks import rules_table
from benchmarks.report import Report
from benchmarks.speed import FILES, speed

ROOT = Path(__file__).parent.parent
RESULTS = ROOT / "benchmarks" / "results"
PAGES = (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")))
TABLES: dict[str, Callable[[Path], str]] = {"speed": speed, "rules": rules_table.rules}
"""what stands between the marks, of the folder of results"""
MARKED = re.compile(r"(<!-- (\w+): [^>]*-->\n).*?(<!-- end of \2 -->)", re.DOTALL)


def filled(page: str, results: Path = RESULTS) -> str:
    """A page with its tables as the results have them."""
    return MARKED.sub(lambda found: f"{found[1]}\n{TABLES[found[2]](results)}\n\n{found[3]}", page)


def write_beside() -> None:
    """Tables and plots of each file of results."""
    for path in (RESULTS / f"{name}.json" for name in FILES):
        if path.exists():
            Report.read(path).write(path)
    if (path := RESULTS / "rules.json").exists():
        path.with_suffix(".md").write_text(rules_table.page(Report.read(path)), encoding="utf-8")


def main() -> None:
    write_beside()
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        if (made := filled(text)) != text:
            page.write_text(made, encoding="utf-8")
            print(f"{page.relative_to(ROOT)} written again")


if __name__ == "__main__":
    main()
