"""Constants of a module: the values of a memref.global are those of its indices, whatever its layout."""

from __future__ import annotations

import ctypes
import re
from pathlib import Path

import numpy as np
import pytest
from xdsl.dialects import memref
from xdsl.parser import Parser
from xdsl.utils.exceptions import ParseError

from layoutc import interpreter
from layoutc.compiler import find_compiler
from layoutc.errors import InterpreterError
from layoutc.pipeline import STAGES, lower, make_context
from layoutc.targets.c import emit_c
from layoutc.targets.errors import EmissionError

MODULE = """
memref.global "private" constant @values : memref<{type}> = dense<{values}>
func.func @copy(%dst: memref<3x2x{element}>) {{
  %w = memref.get_global @values : memref<{type}>
  layout.reorder %w into %dst : memref<{type}> into memref<3x2x{element}>
  func.return
}}
"""
CASES = [
    ("f32", "f4", ""),
    ("f32", "f4", ', #layout.tag<"ba">'),
    ("f32", "f4", ', #layout.tag<"BA2a4b">'),
    ("f32", "f4", ', #layout.tag<"ab", strides = [5, 2], offset = 3>'),
    ("f32", "f4", ', #layout.tag<"ab", low = [1, 0], high = [0, 2]>'),
    ("f32", "f4", ", affine_map<(d0, d1) -> (d1, d0)>"),
    ("i16", "i2", ', #layout.tag<"ba">'),
    ("si8", "i1", ', #layout.tag<"Ab2a">'),
    ("ui8", "u1", ', #layout.tag<"ba">'),
    ("f64", "f8", ', #layout.tag<"ba">'),
    ("bf16", "u2", ', #layout.tag<"ba">'),
]


def text(element: str, layout: str, values: str = "[[1, 2], [3, 4], [5, 6]]") -> str:
    if "f" in element:
        values = re.sub("[0-9]", r"\g<0>.0", values)
    return MODULE.format(element=element, type=f"3x2x{element}{layout}", values=values)


@pytest.mark.parametrize("target", ["plain", "native"])
@pytest.mark.parametrize(("element", "dtype", "layout"), CASES, ids=[f"{e}{layout}" for e, _, layout in CASES])
def test_values_lie_where_the_layout_has_them(
    element: str, dtype: str, layout: str, target: str, tmp_path: Path
) -> None:
    expected = np.arange(1, 7).reshape(3, 2).astype(np.float32 if element == "bf16" else dtype)
    if element == "bf16":
        expected = (expected.view(np.uint32) >> 16).astype(np.uint16)
    modules = [Parser(make_context(), text(element, layout)).parse_module() for _ in STAGES]
    for stage, module in zip(STAGES, modules, strict=True):
        lower(module, stage.name, target=target)
        found = np.zeros((3, 2), dtype)
        interpreter.run(module, "copy", found)
        np.testing.assert_array_equal(found, expected, stage.name)
    if compiler := find_compiler():
        source, library = tmp_path / "copy.c", tmp_path / "copy.so"
        source.write_text(emit_c(modules[-1]))
        compiler.run(source, library)
        found = np.zeros((3, 2), dtype)
        ctypes.CDLL(str(library)).copy(found.ctypes.data_as(ctypes.c_void_p))
        np.testing.assert_array_equal(found, expected)


def test_strided_values_lie_where_the_strides_have_them() -> None:
    """C has no array of them: it would be in the order of the indices."""
    module = Parser(make_context(), text("f32", ", strided<[1, 3]>")).parse_module()
    for stage in STAGES:
        lower(module, stage.name)
        found = np.zeros((3, 2), np.float32)
        interpreter.run(module, "copy", found)
        assert found.ravel().tolist() == [1, 2, 3, 4, 5, 6]
    with pytest.raises(EmissionError, match=r"strided<\[1, 3\]>> with values of tensor<3x2xf32>, expected row-major"):
        emit_c(module)


READING = """
func.func @value_at(%i: index) -> f32 {
  %w = memref.get_global @w : memref<3x2xf32>
  %value = memref.load %w[%i, %i] : memref<3x2xf32>
  func.return %value : f32
}
"""


@pytest.mark.parametrize(
    ("symbol", "message"),
    [
        (
            "memref.global constant @w : memref<2x3xf32> = dense<1.0>",
            "'w' as memref<3x2xf32>, expected memref<2x3xf32>",
        ),
        ("func.func private @w(f32)", "'w', which the module does not have"),
    ],
)
def test_no_other_memory_goes_by_the_name_of_a_global(symbol: str, message: str) -> None:
    module = Parser(make_context(), symbol + READING).parse_module()
    with pytest.raises(EmissionError, match=f"no C spelling for 'memref.get_global' of {message}"):
        emit_c(module)


def test_the_interpreter_refuses_values_of_another_shape() -> None:
    module = Parser(make_context(), text("f32", ', #layout.tag<"ba">')).parse_module()
    (found,) = (op for op in module.ops if isinstance(op, memref.GlobalOp))
    values = text("f32", "").replace("3x2", "2x3").replace("[[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]", "0.0")
    (other,) = (op for op in Parser(make_context(), values).parse_module().ops if isinstance(op, memref.GlobalOp))
    found.initial_value = other.initial_value
    with pytest.raises(InterpreterError, match="@values: got values of tensor<2x3xf32>, expected of tensor<3x2xf32>"):
        interpreter.run(module, "copy", np.zeros(6, np.float32))


# --- MLIR's text ---------------------------------------------------------------------------------------------------

TEXTS = [
    ('"private" constant @w : memref<2xf32> = dense<[1.0, 2.0]>', ("private", True, (1.0, 2.0), None)),
    ("constant @w : memref<2xf32> = dense<1.0>", ("public", True, (1.0, 1.0), None)),
    ("@w : memref<2xi8> = uninitialized {alignment = 64 : i64}", ("public", False, None, 64)),
]


@pytest.mark.parametrize(("words", "expected"), TEXTS)
def test_text_of_a_global(words: str, expected: object) -> None:
    module = Parser(make_context(), f"memref.global {words}").parse_module()
    for again in (module, Parser(make_context(), str(module)).parse_module()):
        (op,) = again.ops
        assert isinstance(op, memref.GlobalOp)
        values = getattr(op.initial_value, "get_values", lambda: None)()
        alignment = op.alignment and op.alignment.value.data
        assert (op.sym_visibility.data, op.constant is not None, values, alignment) == expected


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("@w : f32 = dense<1.0>", "got f32, expected a memref of a static shape"),
        ("@w : memref<?xf32> = dense<1.0>", "expected a memref of a static shape"),
        ("@w : memref<2xf32>", "Expected '='"),
        ("@w : memref<2xf32> = 1.0", "Expected 'dense'"),
        ("@w : memref<2xf32> = dense<[1.0]>", "Shape mismatch"),
    ],
)
def test_text_that_is_no_global(words: str, message: str) -> None:
    with pytest.raises(ParseError, match=message):
        Parser(make_context(), f"memref.global {words}").parse_module()
