"""`outline-reorders`: what is called does what stood there."""

from __future__ import annotations

import ctypes
from pathlib import Path

import numpy as np
import pytest
from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp
from xdsl.parser import Parser

from layoutc import interpreter
from layoutc.compiler import find_compiler
from layoutc.dialects.ops import ReorderOp
from layoutc.pipeline import lower, make_context
from layoutc.targets.c import emit_c
from layoutc.transforms.outline_reorders import OutlineReordersPass

BLOCKED = 'memref<5x17xi8, #layout.tag<"Ba8b">>'
TEXT = f"""
func.func @run(%a: memref<5x17xf32>, %b: memref<5x17xf32>, %s: memref<5xf32>, %t: memref<5xf32>, %x: {BLOCKED}, %y: {BLOCKED}) {{
  layout.reorder %a into %x with (dst_scale = %s axes [0]) : memref<5x17xf32> into {BLOCKED}, memref<5xf32>
  layout.reorder %b into %y with (dst_scale = %t axes [0]) : memref<5x17xf32> into {BLOCKED}, memref<5xf32>
  func.return
}}
"""  # noqa: E501


def outlined() -> ModuleOp:
    module = Parser(make_context(), TEXT).parse_module()
    OutlineReordersPass().apply(make_context(), module)
    module.verify()
    return module


def buffers() -> list[np.ndarray]:
    a = np.arange(85, dtype=np.float32)
    scales = np.arange(1, 6, dtype=np.float32)
    return [a, a[::-1].copy(), scales, 2 * scales, np.full(120, -1, np.int8), np.full(120, -1, np.int8)]


@pytest.mark.parametrize("target", ["plain", "native"])
@pytest.mark.parametrize("stage", ["source", "resolve-layouts", "plan-reorders", "lower-reorders"])
def test_calls_write_what_the_reorders_did(stage: str, target: str, tmp_path: Path) -> None:
    found, expected = buffers(), buffers()
    interpreter.run(Parser(make_context(), TEXT).parse_module(), "run", *expected)
    module = outlined()
    lower(module, stage, target=target)
    interpreter.run(module, "run", *found)
    np.testing.assert_array_equal(found[4:], expected[4:])
    compiler = find_compiler()
    if stage == "lower-reorders" and compiler is not None:
        source, library, found = tmp_path / "run.c", tmp_path / "run.so", buffers()
        source.write_text(emit_c(module))
        compiler.run(source, library)
        ctypes.CDLL(str(library)).run(*(ctypes.c_void_p(buffer.ctypes.data) for buffer in found))
        np.testing.assert_array_equal(found[4:], expected[4:])


def test_there_is_one_reorder_and_nothing_more_to_do() -> None:
    module = outlined()
    before = str(module)
    assert sum(isinstance(op, ReorderOp) for op in module.walk()) == 1
    assert [op.sym_name.data for op in module.ops if isinstance(op, func.FuncOp)] == ["reorder", "run"]
    OutlineReordersPass().apply(make_context(), module)
    assert str(module) == before
