"""The shape of the house: which room may know which, what an import costs, and how large files grow."""

from __future__ import annotations

import ast
import statistics
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import get_type_hints

import pytest

import layoutc

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "layoutc"

CONVERSION = {"param", "compensation", "conversion"}
NUMBERS = {"float_format", "element_type"} | CONVERSION
CORE = {"errors", "checks", "strides", "layout", "equality", "padding", "descriptor", "split"} | NUMBERS
AFFINE = {"affine_digits", "affine_text"}
IR = CORE | AFFINE | {"notations", "dialects"}

ALLOWED = {
    "errors": set[str](),
    "checks": {"errors"},
    "float_format": set[str](),
    "element_type": {"errors", "float_format"},
    "strides": {"errors"},
    "layout": {"errors", "checks"},
    "equality": {"errors", "layout", "strides", "descriptor"},
    "padding": {"errors", "layout", "descriptor"},
    "reshaped": {"errors", "checks", "layout", "descriptor"},
    "descriptor": CORE - {"equality", "padding", "split"} - CONVERSION,
    "param": {"errors", "checks", "element_type"},
    "compensation": {"errors", "checks", "descriptor"},
    "conversion": CORE - {"equality", "split"},
    "split": CORE - {"equality"} - CONVERSION,
    "notations": CORE | {"affine_text"},
    "compare": CORE,
    "numeric": CORE | {"buffers", "dlpack"},
    "reference": CORE | {"numeric"},
    "planning": CORE,
    "affine_digits": CORE | {"affine_text", "notations"},
    "affine_text": CORE,
    "dialects": IR | {"walk"},
    "constants": IR | {"numeric", "reference"},
    "tuned": CORE | {"notations", "dialects"},
    "walk": set[str](),
    "memref_prefetch": set[str](),
    "discardable": set[str](),
    "transforms": IR | {"planning", "tuned", "walk", "memref_prefetch", "discardable"},
    "targets": {"errors", "walk", "memref_prefetch", "discardable"},
    "interpreter": IR | {"constants", "memref_prefetch", "reference", "walk"} | NUMBERS,
    "garbage": set[str](),
    "pipeline": IR | {"transforms", "planning", "garbage", "walk"},
    "dlpack": {"errors", "checks", "element_type"},
    "buffers": {"errors", "checks", "dlpack"},
    "views": CORE - {"equality", "split"} - CONVERSION | {"buffers", "dlpack"},
    "after_fork": set[str](),
    "exports": {"errors", "buffers"},
    "deferred": set[str](),
    "once": set[str](),
    "cache": {"errors"},
    "processes": {"errors"},
    "compiler": {"errors", "cache", "processes"},
    "runtime": {"errors", "buffers", "cache", "compiler"},
    "universe": {"dialects", "transforms", "targets", "memref_prefetch"},
}
"""What each room may import of the others. The rooms that are not here stand at the end and may import all."""

FOR_EVERY_ROOM = {"deferred", "once"}
"""What knows no other room itself, and any may import."""

WHEN_CALLED = {
    # Parts of one concept: what these say of a descriptor, it answers.
    "descriptor": {"equality", "padding", "reshaped"},
    "notations": {"affine_digits", "dialects"},  # MLIR's notations are read by xDSL's parser
    # An op hands out its canonicalization patterns, as xDSL's ops do, and says where the text of its plan is none.
    "dialects": {"transforms", "planning"},
    "transforms": {"constants"},  # which loads NumPy, and only a memref.global with a layout needs
    "targets": {"interpreter"},  # what a function of bytes gives is found by running it
}
"""What a room may import inside a function only."""

WITHIN = {
    "planning": ("copies", "plans", "shuffles", "tiles", "moves", "conversions", "together", "through"),
    "transforms": ("building", "values", "plain", "sums", "planned"),
    "targets": ("words", "patterns", "helpers", "spelling", "functions"),
}
"""The rooms within a room: each imports only those before it, and what all of them may."""

FOR_ALL = {"planning": {"machine", "reasons"}, "targets": {"errors"}}

OUTSIDE = {"arrays", "builds", "interpreted", "kernel", "kernel_options", "tune", "tools", "__init__", "__main__"}

KNOWS_NO_XDSL = {
    "arrays",
    "checks",
    "errors",
    "element_type",
    "strides",
    "layout",
    "notations",
    "numeric",
    "reference",
    "planning",
    "buffers",
    "dlpack",
    "views",
    "exports",
    "runtime",
}


def room_of(path: Path) -> str:
    """`layoutc/targets/c.py` belongs to the room `targets`, `layoutc/layout.py` to `layout`."""
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


def inner_room_of(path: Path) -> str:
    """`layoutc/targets/words/c_text.py` belongs to `words`; what stands directly in a room has none."""
    return "/".join(path.relative_to(PACKAGE).parts[1:-1])


def sources() -> list[Path]:
    return sorted(path for path in PACKAGE.rglob("*.py") if "__pycache__" not in path.parts) + sorted(
        PACKAGE / "dialects" / path.name for path in (ROOT / "dialects").glob("*.py")
    )


def imports(tree: ast.AST) -> Iterator[str]:
    """Dotted names of all that is imported in a piece of code."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "relative import"
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def imports_when_loaded(path: Path) -> Iterator[str]:
    """Those outside of functions, and not for the type checker alone."""
    for statement in ast.parse(path.read_text()).body:
        if not isinstance(statement, ast.FunctionDef | ast.ClassDef | ast.If):
            yield from imports(statement)


def rooms_in(names: Iterator[str], path: Path) -> set[str]:
    """The other rooms among dotted names."""
    rooms = {room_of(source) for source in SOURCES} - {room_of(path)}
    return {name.split(".")[1] for name in names if name.startswith("layoutc.")} & rooms


SOURCES = sorted(set(sources()))


def relative(path: Path) -> str:
    return str(path.relative_to(ROOT))


@pytest.mark.parametrize("path", SOURCES, ids=relative)
def test_dependencies_point_one_way(path: Path) -> None:
    room, known = room_of(path), rooms_in(imports(ast.parse(path.read_text())), path)
    if room in OUTSIDE:
        assert room in {"tools", "__main__"} or "tools" not in known
        return
    allowed = ALLOWED[room] | FOR_EVERY_ROOM
    assert known <= allowed | WHEN_CALLED.get(room, set())
    assert rooms_in(imports_when_loaded(path), path) <= allowed


@pytest.mark.parametrize("path", [path for path in SOURCES if inner_room_of(path)], ids=relative)
def test_rooms_within_a_room_know_what_stands_before_them(path: Path) -> None:
    room, inner = room_of(path), inner_room_of(path)
    before = WITHIN[room][: WITHIN[room].index(inner) + 1]
    names = (name.split(".") for name in imports_when_loaded(path) if name.startswith(f"layoutc.{room}."))
    assert {name[2] for name in names} <= {*before, *FOR_ALL.get(room, ())}


def test_every_room_has_its_place() -> None:
    assert {room_of(path) for path in SOURCES} <= ALLOWED.keys() | OUTSIDE


@pytest.mark.parametrize("path", [path for path in SOURCES if room_of(path) in KNOWS_NO_XDSL], ids=relative)
def test_these_rooms_know_no_xdsl(path: Path) -> None:
    assert not [name for name in imports(ast.parse(path.read_text())) if name.split(".")[0] == "xdsl"]


@pytest.mark.parametrize("path", SOURCES, ids=relative)
def test_no_property_waits_for_a_lock(path: Path) -> None:
    """The lock of Python 3.11 keeps threads from compiling side by side, and forks from compiling at all."""
    assert "functools.cached_property" not in imports(ast.parse(path.read_text()))


@pytest.mark.parametrize("path", SOURCES, ids=relative)
def test_no_file_is_past_300_lines_of_code(path: Path) -> None:
    assert code_lines(path) <= 300


def test_the_median_file_is_small() -> None:
    assert statistics.median(code_lines(path) for path in SOURCES) <= 120


def test_functions_are_short_on_average() -> None:
    lengths = [length for path in SOURCES for length in function_lengths(path)]
    assert statistics.mean(lengths) <= 10


def code_lines(path: Path) -> int:
    """Lines that are neither blank nor comment."""
    lines = (line.strip() for line in path.read_text().splitlines())
    return sum(bool(line) and not line.startswith("#") for line in lines)


def function_lengths(path: Path) -> Iterator[int]:
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.FunctionDef):
            first = node.body[0]
            is_docstring = isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant) and len(node.body) > 1
            start = first.end_lineno if is_docstring else node.lineno - 1
            assert node.end_lineno is not None and start is not None
            yield node.end_lineno - start


def modules_loaded_by(code: str) -> set[str]:
    """Top-level modules in a fresh Python after running this code."""
    program = f"{code}\nimport sys\nprint(*{{name.split('.')[0] for name in sys.modules}}, file=sys.stderr)"
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True)
    return set(done.stderr.split())


def test_importing_layoutc_loads_neither_xdsl_nor_numpy() -> None:
    assert not {"xdsl", "numpy", "click"} & modules_loaded_by("import layoutc")


@pytest.mark.parametrize("name", layoutc.__all__)
def test_annotations_of_public_names_resolve(name: str) -> None:
    public = getattr(layoutc, name)
    get_type_hints(public)
    for of, member in vars(public).items() if isinstance(public, type) else ():
        function = getattr(member, "fget", getattr(member, "__func__", member))
        if not of.startswith("_") and callable(function):
            get_type_hints(function)


@pytest.mark.parametrize(
    "arguments",
    [["describe", "nChw8c", "--dims", "2,17,5,4"], ["describe", "bfyx", "--json"], ["translate", "nChw16c"]],
)
def test_describing_loads_neither_xdsl_nor_numpy(arguments: list[str]) -> None:
    assert not {"xdsl", "numpy"} & modules_loaded_by(f"from layoutc.tools.layoutc import main\nmain({arguments})")


def test_dialects_are_not_importable_under_a_second_name() -> None:
    done = subprocess.run([sys.executable, "-c", "import dialects"], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 1
    assert "import layoutc.dialects, not dialects" in done.stderr


def test_all_rooms_are_installed() -> None:
    packages = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]["packages"]
    folders = {path.parent.relative_to(ROOT) for path in SOURCES} - {Path("dialects"), Path("layoutc/dialects")}
    assert packages == sorted({".".join(folder.parts) for folder in folders} | {"layoutc.dialects"})
