"""docs/plan_rules.md: it names what the planner has, and has a row for each of its values."""

from __future__ import annotations

import ast
import re
from collections import Counter, defaultdict
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from pathlib import Path

import pytest

from layoutc.planning.moves.macro_shapes import MacroShape

ROOT = Path(__file__).parent.parent
PLANNER = ROOT / "layoutc" / "planning"
RULES = (ROOT / "docs" / "plan_rules.md").read_text()
PROSE = RULES.partition("## Rules against other values")[0]
ASKED = set(re.findall(r"`((?:\w+\.)?\w+)`", PROSE))

NO_RULES = {
    "exchanges.ENTERING",  # these stand for no number
    "exchanges.ELSEWHERE",
    "merging.ZERO",
    "merging.ANY",
    "machine.LINE",  # what memory and processors are
    "machine.PAGE",
    "machine.ALIGNMENT",
    "machine.MAX_ALIGNMENT",
    "machine.MERGED_HALF",
    "machine.MERGED_VECTOR",
    "machine.MASKED_BYTES",
    "param_lists.BYTE",
    "param_lists.NUMBER",
    "short_loads.CODE",
    "short_loads.BYTE",
    "short_loads.PAIR",
    "short_loads.NUMBER",
    "pairs.WORD_BYTES",
    "padded.WORD_BYTES",
    "plan_cost.COMPUTED",
    "plan_cost.SHARED_BY_CODES",
    "machine.LANE_BYTES",
    "neighbours.FACTORS",  # what tuning tries
    "plan.MAX_THREADS",  # what the text of a plan may have
    "plan_checks.VECTOR_BYTES",
    "plan_checks.STEP_BYTES",
    "plan_checks.MAX_PREFETCH",
    "plan_line.MAX_DIGITS",
    "synthesis.ELEMENT_BYTES",
}
"""Numbers of the planner by which nothing is decided."""


def files() -> list[Path]:
    return [path for path in sorted(PLANNER.rglob("*.py")) if path.name != "__init__.py"]


def assigned(tree: ast.Module) -> Iterator[str]:
    """The names that a module gives to values, one by one."""
    for node in tree.body:
        if isinstance(node, ast.Assign | ast.AnnAssign):
            for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
                parts = target.elts if isinstance(target, ast.Tuple) else [target]
                yield from (part.id for part in parts if isinstance(part, ast.Name))


def is_value(value: object) -> bool:
    """Whether it is a number, a shape of macro tiles, or some of them."""
    if isinstance(value, dict):
        return all(map(is_value, value.values()))  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]
    if isinstance(value, tuple):
        return all(map(is_value, value))  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]
    return isinstance(value, int | float | MacroShape)


@cache
def values() -> tuple[str, ...]:
    """`module.NAME` of each value in the planner."""
    found: list[str] = []
    for path in files():
        module = import_module(".".join(path.relative_to(ROOT).with_suffix("").parts))
        names = (name for name in assigned(ast.parse(path.read_text())) if name.isupper())
        found += (f"{path.stem}.{name}" for name in names if is_value(getattr(module, name)))
    return tuple(found)


def defined(path: Path) -> Iterator[str]:
    """All that a file gives a name to: functions and methods, classes and what their objects have, values."""
    tree = ast.parse(path.read_text())
    yield from assigned(tree)
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            yield node.name
        if isinstance(node, ast.ClassDef):
            yield from assigned(ast.Module(node.body, []))


def test_files_that_are_named_exist() -> None:
    named = set(re.findall(r"`(\w+\.py)`", PROSE))
    assert len(named) > 20
    assert sorted(named - {path.name for path in (ROOT / "layoutc").rglob("*.py")}) == []


def test_names_are_given_to_something() -> None:
    """A word of a comment is none: what is named is defined, in the file that stands before its name if one does."""
    found: defaultdict[str, set[str]] = defaultdict(set)
    for path in (ROOT / "layoutc").rglob("*.py"):
        found[path.stem].update(defined(path))
    every = set[str]().union(*found.values())
    looks_defined = re.compile(r"(?:\w+\.)?(?:_\w+|[A-Z]+_\w+|[a-z]+_\w+|[A-Z][A-Z0-9]+)|[A-Za-z]\w*\.[A-Za-z_]\w*")
    named = {name for name in ASKED if looks_defined.fullmatch(name) and not name.endswith(".py")} - LAYOUTS
    assert len(named) > 100
    missing = [
        name
        for name in named
        if name.rpartition(".")[2] not in (found.get(name.partition(".")[0], every) if "." in name else every)
    ]
    assert sorted(missing) == []


LAYOUTS = {name for name in ASKED if re.search(r"_(?:yx|fsv|bsv|bs|oi|is|os|[a-z]*v\d+)", name)}
"""names of formats, which nobody but their notation has"""


def test_every_value_of_the_planner_has_a_row() -> None:
    """By its name, with its file before it where other files have a value of this name."""
    times = Counter(value.rpartition(".")[2] for value in values())
    rows = [value for value in values() if value not in NO_RULES]
    missing = [
        value
        for value in rows
        if value not in ASKED and (times[value.rpartition(".")[2]] > 1 or value.rpartition(".")[2] not in ASKED)
    ]
    assert missing == []


def test_what_has_no_rule_is_there() -> None:
    assert sorted(NO_RULES - set(values())) == []


@pytest.mark.parametrize("page", sorted((ROOT / "docs").glob("*.md")), ids=lambda page: page.name)
def test_lines_of_the_pages_are_short(page: Path) -> None:
    """But for tables, what programs print, and links."""
    text = re.sub(r"^```.*?^```", "", page.read_text(), flags=re.MULTILINE | re.DOTALL)
    prose = (line for line in text.splitlines() if not line.startswith(("|", "    ", "<!--")))
    assert [line for line in prose if len(line) > 120 and not re.match(r"20\d\d-", line)] == []
