"""IR text to C to a function that Python can call, for the tests of the C target."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

from xdsl.context import Context
from xdsl.dialects import affine, arith, builtin, cf, func, math, memref, scf, vector
from xdsl.dialects.builtin import ModuleOp
from xdsl.parser import Parser

import layoutc.dialects.arith_on_vectors  # noqa: F401  text is read that has arithmetic on vectors
from layoutc.runtime import load
from layoutc.targets.c import emit_c

WARNINGS = ("-Wall", "-Wextra", "-Wpedantic", "-Werror")
FLAGS = ("-O2", "-std=gnu11", *WARNINGS, "-ffp-contract=off", "-fPIC", "-shared")
COMPILERS = {"gcc": ("gcc", "cc"), "clang": ("clang-22", "clang")}
DIALECTS = (
    affine.Affine,
    arith.Arith,
    builtin.Builtin,
    cf.Cf,
    func.Func,
    math.Math,
    memref.MemRef,
    scf.Scf,
    vector.Vector,
)


def compiler_named(name: str) -> str | None:
    """The path of gcc or clang, None where it is absent."""
    return next(filter(None, map(shutil.which, COMPILERS[name])), None)


def parsed(text: str, verify: bool = True) -> ModuleOp:
    context = Context()
    for dialect in DIALECTS:
        context.load_dialect(dialect)
    module = Parser(context, text).parse_module()
    if verify:
        module.verify()
    return module


def emitted(text: str) -> str:
    """The C of a module, which must be the same after printing and parsing."""
    module = parsed(text)
    c_text = emit_c(module)
    assert emit_c(parsed(str(module))) == c_text
    return c_text


def compiled(c_text: str, compiler: str, folder: Path, *flags: str) -> Callable[..., Callable[..., Any]]:
    """Compile with warnings as errors, and nothing else said; the loader of the functions in it."""
    source, target = folder / "program.c", folder / f"program{'_'.join(flags)}.so"
    source.write_text(c_text)
    done = subprocess.run([compiler, *FLAGS, *flags, "-o", target, source], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, ""), done.stderr + c_text
    return lambda symbol, argtypes, restype=None: load(target, symbol, argtypes, restype)


ELEMENTS = {
    **{f"{sign}i{bits}": bits // 8 for sign in ("", "u") for bits in (8, 16, 32, 64)},
    "f64": 8,
    "f32": 4,
    "f16": 2,
    "bf16": 2,
    "f8E4M3FN": 1,
    "f8E5M2": 1,
    "f8E8M0FNU": 1,
}
"""the element types of C, by MLIR's names, with their bytes"""
