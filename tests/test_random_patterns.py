"""The command that compares random patterns of all types: what it says of right kernels, and of wrong ones."""

from __future__ import annotations

import pytest
from click.testing import CliRunner

from layoutc.compiler import find_compiler
from tests import random_patterns

pytestmark = pytest.mark.skipif(find_compiler() is None, reason="no C compiler is here")
FEW = ["--count", "3000", "--from", "f32", "--to", "s8,s4"]


def test_right_kernels() -> None:
    done = CliRunner().invoke(random_patterns.main, FEW)
    assert (done.exit_code, done.output) == (0, "f32: 8 kernels, 0 wrong\n")


def test_wrong_kernels(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(random_patterns.reference, "reorder", lambda _src, _dst, _read, written: written.fill(1))
    done = CliRunner().invoke(random_patterns.main, FEW)
    assert done.exit_code == 1
    assert done.output.endswith("f32: 8 kernels, 8 wrong\n")
    assert "WRONG 55x55xf32, (a, b) -> (a, b) into 55x55xs8, (a, b) -> (a, b): byte 0 is " in done.output
