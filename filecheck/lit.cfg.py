"""lit's configuration: `lit filecheck` from the root of the checkout."""

import os
import shutil
import sys

import lit.formats

config.name = "layoutc"
config.test_format = lit.formats.ShTest(execute_external=False)
config.suffixes = [".mlir", ".test"]
config.excludes = ["Inputs"]
config.test_source_root = os.path.dirname(__file__)
config.test_exec_root = os.path.join(config.test_source_root, "Output")

# The tools of the environment that lit runs in, ahead of any others.
config.environment["PATH"] = os.pathsep.join([os.path.dirname(sys.executable), os.environ["PATH"]])

WARNINGS = "-std=gnu11 -Wall -Wextra -Werror"
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
