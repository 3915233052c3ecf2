"""IR for the interpreter's tests: one function, its constants, loops."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
from xdsl.context import Context
from xdsl.dialects.affine import Affine
from xdsl.dialects.arith import Arith
from xdsl.dialects.builtin import Builtin, ModuleOp
from xdsl.dialects.func import Func
from xdsl.dialects.math import Math
from xdsl.dialects.memref import MemRef
from xdsl.dialects.scf import Scf
from xdsl.dialects.vector import Vector
from xdsl.parser import Parser

from layoutc.errors import InterpreterError
from layoutc.interpreter import run

COPY = """
%v = memref.load %src[%i] : memref<4xf32>
memref.store %v, %dst[%i] : memref<4xf32>
"""
TWO = "%src : memref<4xf32>, %dst : memref<4xf32>"
"""a copy of element %i, and the arguments that it needs"""


def parse(text: str) -> ModuleOp:
    context = Context()
    for dialect in (Affine, Arith, Builtin, Func, Math, MemRef, Scf, Vector):
        context.load_dialect(dialect)
    return Parser(context, text).parse_module()


def function(arguments: str, body: str, results: str = "", returned: str = "") -> ModuleOp:
    """A module with one function @f, and the constants %c0 .. %c9."""
    constants = "\n".join(f"%c{n} = arith.constant {n} : index" for n in range(10))
    types = f"-> ({results})" if results else ""
    returns = f"func.return {returned} : {results}" if results else "func.return"
    return parse(f"func.func @f({arguments}) {types} {{\n{constants}\n{body}\n{returns}\n}}")


def loop(index: str, extent: int, body: str) -> str:
    return f"scf.for %{index} = %c0 to %c{extent} step %c1 {{\n{body}\n}}"


def parallel(indices: dict[str, int], body: str, attributes: str = "") -> str:
    """An scf.parallel from 0 up to the extent of each index, in the form that xDSL reads."""
    count = len(indices)
    bounds = ["%c0"] * count + [f"%c{extent}" for extent in indices.values()] + ["%c1"] * count
    segments = f"operandSegmentSizes = array<i32: {count}, {count}, {count}, 0>"
    arguments = ", ".join(f"%{index} : index" for index in indices)
    return (
        f'"scf.parallel"({", ".join(bounds)}) <{{{segments}}}> ({{\n^bb0({arguments}):\n{body}\nscf.reduce\n}}) '
        f"{{{attributes}}} : ({', '.join(['index'] * 3 * count)}) -> ()"
    )


def refused(message: str, module: ModuleOp, *args: Any, **options: Any) -> None:
    """Refused with this message whether loops run at once or in order."""
    for sequential in (False, True):
        copies = [arg.copy() if isinstance(arg, np.ndarray) and arg.flags.writeable else arg for arg in args]
        with pytest.raises(InterpreterError, match=f"^{re.escape(message)}$"):
            run(module, "f", *copies, sequential=sequential, **options)


def f32(*values: float) -> np.ndarray:
    return np.array(values, np.float32)
