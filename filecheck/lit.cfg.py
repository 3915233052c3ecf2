"""lit's configuration: `lit filecheck` from the root of the checkout."""

import os
import shutil
import sys
from pathlib import Path
from typing import Any

import lit.formats

config: Any = globals()["config"]  # lit puts it there
here = Path(__file__).parent

config.name = "layoutc"
config.test_format = lit.formats.ShTest(execute_external=False)
config.suffixes = [".mlir", ".test"]
config.excludes = ["Inputs"]
config.test_source_root = str(here)
config.test_exec_root = str(here / "Output")

# The tools of the environment that lit runs in, ahead of any others.
config.environment["PATH"] = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
# This checkout's layoutc, whichever one is installed there.
config.environment["PYTHONPATH"] = str(here.parent)

WARNINGS = "-std=gnu11 -Wall -Wextra -Wpedantic -Werror"
OPTIONAL_TOOLS = {
    "%cc": ("gcc", "cc"),
    "%clang": ("clang-22", "clang"),
    "%mlir-opt": ("mlir-opt-22", "mlir-opt"),
}
for name, candidates in OPTIONAL_TOOLS.items():
    found = next(filter(None, map(shutil.which, candidates)), None)
    if found is not None:
        config.available_features.add(name[1:])
        flags = "" if name == "%mlir-opt" else f" {WARNINGS}"
        config.substitutions.append((name, found + flags))
config.substitutions.append(("ROUNDTRIP", "layoutc-opt %s --print-op-generic | layoutc-opt | filecheck %s"))
