"""Every block of the README and of the pages in docs/ runs and prints what it shows."""

from __future__ import annotations

import doctest
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
README = "\n".join(page.read_text() for page in PAGES)
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
BLOCKS = BLOCK.findall(README)

SETUP = "import numpy as np\nnp.save('in.npy', np.arange(1, 681, dtype=np.float32).reshape(2, 17, 5, 4))\n"
"""the array that the README's commands read; the module that they read is the README's own"""


def of_language(*languages: str) -> list[str]:
    return [text for language, text in BLOCKS if language in languages]


def commands(block: str) -> Iterator[tuple[str, str]]:
    """(command, shown output) of each `$ ` line of a block."""
    for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
        command, _, shown = part.replace("\\\n", "").partition("\n")
        yield command, shown


COMMANDS = [pair for block in of_language("console") for pair in commands(block)]


def environment() -> dict[str, str]:
    """The tools of this environment first."""
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    return {**os.environ, "PATH": path, "PYTHONPATH": str(ROOT)}


def matches(shown: str, printed: str) -> bool:
    """Equal, where a line `...` stands for any lines."""
    parts = re.split(r"^\s*\.\.\.\n", shown, flags=re.MULTILINE)
    return re.fullmatch(r"(?:.*\n)*?".join(map(re.escape, parts)), printed) is not None


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the commands run, one after the other."""
    made = tmp_path_factory.mktemp("readme")
    subprocess.run([sys.executable, "-c", SETUP], cwd=made, check=True)
    for module in of_language("mlir"):
        name = module.partition("@")[2].partition("(")[0]
        (made / f"{name}.mlir").write_text(module)
    return made


@pytest.mark.parametrize(("command", "shown"), COMMANDS, ids=[command[:60] for command, _ in COMMANDS])
def test_commands_print_what_is_shown(folder: Path, command: str, shown: str) -> None:
    done = subprocess.run(command, shell=True, cwd=folder, env=environment(), capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert matches(shown, done.stdout), done.stdout


def test_python_blocks_run_and_print_what_is_shown(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    names: dict[str, object] = {}
    runner = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE)
    for block in of_language("python", "pycon"):
        if ">>>" not in block:
            exec(compile(block, "README.md", "exec"), names)
            continue
        test = doctest.DocTestParser().get_doctest(block, names, "README.md", None, None)
        runner.run(test, clear_globs=False)
        names |= test.globs
    assert runner.summarize(verbose=False) == (0, runner.tries) and runner.tries > 5


def test_no_block_is_left_out() -> None:
    assert {language for language, _ in BLOCKS} <= {"console", "python", "pycon", "mlir", "sh"}
    assert len(COMMANDS) > 5


@pytest.mark.parametrize("line", [line for block in of_language("sh") for line in block.splitlines()])
def test_commands_that_are_not_run_are_make_targets(line: str) -> None:
    target = re.match(r"make (\w+)", line)
    assert target, f"{line!r}: use console for what can be run here"
    assert re.search(rf"^{target[1]}:", (ROOT / "Makefile").read_text(), re.MULTILINE)


def test_links_to_files_lead_somewhere() -> None:
    links = [(page, link) for page in PAGES for link in re.findall(r"\]\((?!https?:)([^)#]+)", page.read_text())]
    assert links
    assert [link for page, link in links if not (page.parent / link).exists()] == []


def test_anchors_lead_to_headings() -> None:
    for page in PAGES:
        for link in re.findall(r"\]\(([^):]*#[^)]+)\)", page.read_text()):
            path, _, anchor = link.partition("#")
            headings = re.findall(r"^#+ (.*)$", (page.parent / path if path else page).read_text(), re.MULTILINE)
            assert anchor in {re.sub(r"[^\w -]", "", heading).lower().replace(" ", "-") for heading in headings}, link


def test_the_attributes_that_lowering_leaves_are_named() -> None:
    named = (ROOT / "layoutc" / "discardable.py").read_text()
    left = set(re.findall(r'^[A-Z_]+ = "(layout\.\w+)"$', named, re.MULTILINE))
    (row,) = (line for line in README.splitlines() if line.startswith("| reorders become loops |"))
    assert "layout.comment" in left and set(re.findall(r"`(layout\.\w+)`", row)) == left


def test_the_map_of_the_planner_is_linked_and_has_its_rooms() -> None:
    working = README.partition("## Working on layoutc\n")[2].partition("\n## ")[0]
    assert "[How a plan is made](docs/plans.md#how-a-plan-is-made)" in working
    steps = (ROOT / "docs" / "plans.md").read_text().partition("## How a plan is made\n")[2].partition("\n## ")[0]
    named = re.findall(r"`(\w+)/", steps)
    rooms = {path.parent.name for path in (ROOT / "layoutc" / "planning").glob("*/*.py")}
    assert "tiles" in rooms and sorted(rooms - {*named, "plans"}) == []  # plans/ is what a plan is, not how it is made


def test_the_continuous_integration_runs_the_test_command_of_the_readme() -> None:
    assert "make test" in README
    assert "make test" in (ROOT / ".ci" / "run").read_text()
