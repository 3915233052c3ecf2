"""The wheel holds all that the checkout has, and works where there is no checkout."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "layoutc"
PIP = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--quiet"]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A wheel built from a copy: setuptools leaves a folder `build` where it works."""
    folder = tmp_path_factory.mktemp("wheel")
    source = folder / "source"
    source.mkdir()
    for name in ("layoutc", "dialects", "pyproject.toml", "README.md", "LICENSE"):
        subprocess.run(["cp", "-a", str(ROOT / name), str(source)], check=True)
    # Offline, so with this environment's setuptools where it has one.
    options = ["--no-build-isolation"] if has_setuptools() else []
    subprocess.run([*PIP, "wheel", "--no-deps", *options, "-w", str(folder), str(source)], check=True)
    (made,) = folder.glob("*.whl")
    return made


def has_setuptools() -> bool:
    """Whether there is a setuptools here that reads this pyproject.toml."""
    code = "import setuptools; assert int(setuptools.__version__.split('.')[0]) >= 77"
    return subprocess.run([sys.executable, "-c", code], capture_output=True).returncode == 0


@pytest.fixture(scope="module")
def installed(wheel: Path) -> Path:
    """The wheel unpacked into an empty folder, as `pip install --target` does."""
    target = wheel.parent / "site"
    subprocess.run([*PIP, "install", "--no-deps", "--no-index", "--target", str(target), str(wheel)], check=True)
    return target


def run_elsewhere(installed: Path, code: str) -> str:
    """What code prints in a Python that sees the installed wheel and not the checkout."""
    program = f"import sys\nsys.path = [{str(installed)!r}, *(p for p in sys.path if p != {str(ROOT)!r})]\n{code}"
    done = subprocess.run(
        [sys.executable, "-I", "-c", program], cwd=installed.parent, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_wheel_holds_every_source_and_data_file(wheel: Path) -> None:
    kept = {".py", ".txt", ".typed", ".json"}
    expected = {path.relative_to(ROOT).as_posix() for path in PACKAGE.rglob("*") if path.suffix in kept}
    expected |= {f"layoutc/dialects/{path.name}" for path in (ROOT / "dialects").glob("*.py")}
    expected |= {"layoutc/py.typed"}
    names = {name for name in zipfile.ZipFile(wheel).namelist() if ".dist-info/" not in name}
    assert names == {name for name in expected if "__pycache__" not in name}


def test_the_wheel_brings_licence_and_entry_points(wheel: Path) -> None:
    archive = zipfile.ZipFile(wheel)
    named = {Path(name).name: name for name in archive.namelist() if ".dist-info/" in name}
    assert "LLVM Exceptions" in archive.read(named["LICENSE"]).decode()
    assert "License-Expression: Apache-2.0 WITH LLVM-exception" in archive.read(named["METADATA"]).decode()
    entry_points = archive.read(named["entry_points.txt"]).decode()
    assert "layoutc = layoutc.tools.start:layoutc" in entry_points
    assert "layoutc-opt = layoutc.tools.start:layoutc_opt" in entry_points
    assert "layoutc = layoutc.universe:LAYOUTC_UNIVERSE" in entry_points


def test_the_installed_wheel_is_what_is_imported(installed: Path) -> None:
    printed = run_elsewhere(installed, "import layoutc.dialects.layout as m; print(m.__file__)")
    assert printed.strip() == str(installed / "layoutc" / "dialects" / "layout.py")


def test_the_installed_wheel_compiles_and_runs(installed: Path) -> None:
    code = """
import numpy, layoutc
x = numpy.arange(6, dtype=numpy.float32).reshape(2, 3)
print(layoutc.reorder(x, "ab", "ba", executor="interpret").tolist())
print(layoutc.translate("nChw16c", to="openvino"))
"""
    assert run_elsewhere(installed, code) == "[[0.0, 3.0], [1.0, 4.0], [2.0, 5.0]]\nb_fs_yx_fsv16\n"
