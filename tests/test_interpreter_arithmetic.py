"""The interpreter's arithmetic: widths, signs, rounding, and results that are undefined."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from layoutc.errors import InterpreterError
from layoutc.interpreter import run
from tests.interpreting import function
from tests.strategies import many


def binary(op: str, type: str, x: Any, y: Any, result: str = "") -> Any:
    module = function(f"%x : {type}, %y : {type}", f"%r = arith.{op} %x, %y : {type}", result or type, "%r")
    return run(module, "f", x, y)[0]


INTEGERS = [
    ("addi", "i8", 127, 1, -128),
    ("subi", "i16", -32768, 1, 32767),
    ("muli", "i32", 1 << 20, 1 << 12, 0),
    ("muli", "index", -3, 5, -15),
    ("divsi", "i32", -7, 2, -3),
    ("floordivsi", "i32", -7, 2, -4),
    ("ceildivsi", "i32", -7, 2, -3),
    ("ceildivsi", "i32", 7, 2, 4),
    ("remsi", "i32", -7, 2, -1),
    ("divui", "i8", -1, 16, 15),
    ("ceildivui", "i8", -1, 16, 16),
    ("remui", "i8", -1, 16, 15),
    ("minsi", "i8", -1, 1, -1),
    ("minui", "i8", -1, 1, 1),
    ("maxsi", "i8", -1, 1, 1),
    ("maxui", "i8", -1, 1, -1),
    ("andi", "i8", 12, 10, 8),
    ("ori", "i8", 12, 10, 14),
    ("xori", "i8", 12, 10, 6),
    ("addi", "i1", 1, 1, 0),
    ("xori", "i1", 1, 0, 1),
    ("shli", "i8", 1, 7, -128),
    ("shrui", "i8", -128, 7, 1),
    ("shrsi", "i8", -128, 7, -1),
]


@pytest.mark.parametrize(("op", "type", "x", "y", "expected"), INTEGERS)
def test_integer(op: str, type: str, x: int, y: int, expected: int) -> None:
    """Truncation and floor, wraparound by width, signed and unsigned readings."""
    assert binary(op, type, x, y) == expected


@pytest.mark.parametrize(
    ("op", "x", "y", "message"),
    [
        ("divsi", 1, 0, "arith.divsi: division by zero"),
        ("remui", 1, 0, "arith.remui: division by zero"),
        ("divsi", -128, -1, "arith.divsi: the quotient overflows"),
        ("shli", 1, 8, "arith.shli: shift by 8 bits or more"),
    ],
)
def test_undefined_integer_results_are_refused(op: str, x: int, y: int, message: str) -> None:
    with pytest.raises(InterpreterError, match=f"^{message}$"):
        binary(op, "i8", x, y)


NAN = float("nan")
FLOATS = [
    ("addf", "f16", 2048, 1, 2048),
    ("addf", "f32", 1 << 24, 1, 1 << 24),
    ("addf", "f64", 1 << 24, 1, (1 << 24) + 1),
    ("mulf", "bf16", 1.0078125, 1.0078125, 1.015625),
    ("divf", "f32", 1, 3, float(np.float32(1) / np.float32(3))),
    ("subf", "f8E5M2", 3, 1, 2),
    ("divf", "f32", 1, 0, float("inf")),
    ("minimumf", "f32", NAN, 1, NAN),
    ("minnumf", "f32", NAN, 1, 1),
    ("maximumf", "f16", NAN, 1, NAN),
    ("maxnumf", "bf16", NAN, 1, 1),
    ("minimumf", "f32", 2, 1, 1),
    ("maximumf", "f32", 2, 1, 2),
]


@pytest.mark.parametrize(("op", "type", "x", "y", "expected"), FLOATS)
def test_float(op: str, type: str, x: float, y: float, expected: float) -> None:
    """Computed in the width of the type."""
    np.testing.assert_equal(float(binary(op, type, x, y)), float(expected))


@pytest.mark.parametrize(("op", "negative"), [("minimumf", True), ("maximumf", False), ("minnumf", True)])
@pytest.mark.parametrize("swapped", [False, True])
def test_the_sign_of_zero(op: str, negative: bool, swapped: bool) -> None:
    zeros = (0.0, -0.0) if swapped else (-0.0, 0.0)
    assert np.signbit(binary(op, "f32", *zeros)) == negative


def test_float_comparisons() -> None:
    """All sixteen predicates, ordered and not."""
    ordered = {"oeq": "==", "ogt": ">", "oge": ">=", "olt": "<", "ole": "<=", "one": "!="}
    for x, y in ((1.0, 2.0), (2.0, 1.0), (1.0, 1.0), (NAN, 1.0), (NAN, NAN)):
        nan = np.isnan(x) or np.isnan(y)
        for name, sign in ordered.items():
            holds = eval(f"{x} {sign} {y}", {"nan": NAN})
            assert binary(f"cmpf {name},", "f32", x, y, "i1") == (holds and not nan)
            assert binary(f"cmpf u{name[1:]},", "f32", x, y, "i1") == (holds or nan)
        for name, holds in (("ord", not nan), ("uno", nan), ("true", True), ("false", False)):
            assert binary(f"cmpf {name},", "f32", x, y, "i1") == holds


def test_integer_comparisons() -> None:
    """-1 is the smallest signed and the largest unsigned number here."""
    expected = {"eq": 0, "ne": 1, "slt": 1, "sle": 1, "sgt": 0, "sge": 0, "ult": 0, "ule": 0, "ugt": 1, "uge": 1}
    assert {name: int(binary(f"cmpi {name},", "i8", -1, 1, "i1")) for name in expected} == expected


def cast(op: str, source: str, target: str, x: Any) -> Any:
    return run(function(f"%x : {source}", f"%r = arith.{op} %x : {source} to {target}", target, "%r"), "f", x)[0]


CASTS = [
    ("trunci", "i32", "i8", 200, -56),
    ("trunci", "i32", "i1", 2, False),
    ("extsi", "i8", "i32", -56, -56),
    ("extui", "i8", "i32", -56, 200),
    ("extsi", "i1", "i8", 1, -1),
    ("extui", "i1", "i8", 1, 1),
    ("index_cast", "index", "i8", 200, -56),
    ("index_cast", "i8", "index", -56, -56),
    ("sitofp", "i8", "f32", -56, -56.0),
    ("uitofp", "i8", "f32", -56, 200.0),
    ("fptosi", "f32", "i8", -56.9, -56),
    ("fptoui", "f32", "i8", 200.9, -56),
    ("extf", "f16", "f64", 0.1, float(np.float16(0.1))),
    ("truncf", "f64", "f32", 0.1, float(np.float32(0.1))),
    ("truncf", "f32", "f8E4M3FN", 17.0, 16.0),
    ("truncf", "f64", "bf16", 1 + 2**-8 + 2**-40, 1 + 2**-7),
    ("truncf", "f64", "f8E5M2", 1 + 2**-3 + 2**-40, 1.25),
    ("sitofp", "i64", "bf16", (1 << 40) + (1 << 32) + 1, float((1 << 40) + (1 << 33))),
    ("sitofp", "i64", "f32", (1 << 62) + (1 << 38) + 1, float((1 << 62) + (1 << 39))),
    ("sitofp", "i64", "bf16", -(1 << 62) - (1 << 54) - 1, -float((1 << 62) + (1 << 55))),
    ("uitofp", "i64", "f32", -1, float(1 << 64)),
]


@pytest.mark.parametrize(("op", "source", "target", "x", "expected"), CASTS)
def test_cast(op: str, source: str, target: str, x: Any, expected: Any) -> None:
    """Widths, signs, and floats rounded once to nearest even, whatever lies between the two types."""
    assert cast(op, source, target, x) == expected


@pytest.mark.parametrize(("op", "x"), [("fptosi", 128.0), ("fptosi", NAN), ("fptoui", -1.0), ("fptoui", 256.0)])
def test_a_float_that_the_integer_cannot_hold(op: str, x: float) -> None:
    with pytest.raises(InterpreterError, match=f"^arith.{op}: a value does not fit i8$"):
        cast(op, "f32", "i8", x)


@many(100)
@given(st.floats(width=64, allow_nan=False))
def test_truncf_to_bf16_rounds_once(x: float) -> None:
    """The nearest bf16, found among the neighbours of the value that was rounded twice."""
    got = np.float64(cast("truncf", "f64", "bf16", x))
    if np.isfinite(got):
        near = np.array([x], ml_dtypes.bfloat16)
        others = [np.nextafter(near, np.array([end], ml_dtypes.bfloat16)) for end in (np.inf, -np.inf)]
        distances = [abs(float(other[0]) - x) for other in (near, *others)]
        assert abs(got - x) == min(distances)


def test_select_negf_and_affine_floor() -> None:
    module = function(
        "%i : index", "%r = affine.apply affine_map<(d0) -> (d0 floordiv 4 + d0 mod 4)> (%i)", "index", "%r"
    )
    assert run(module, "f", -1) == (2,)
    module = function("%c : i1, %x : f32", "%n = arith.negf %x : f32\n%r = arith.select %c, %x, %n : f32", "f32", "%r")
    assert (run(module, "f", 1, 2.0), run(module, "f", 0, 2.0)) == ((2.0,), (-2.0,))
    module = function("%i : index", "%r = affine.apply affine_map<(d0) -> (d0 mod 0)> (%i)", "index", "%r")
    with pytest.raises(InterpreterError, match=r"^affine.apply: .* divides by 0$"):
        run(module, "f", 1)
