"""Conversions as values: what they accept, what follows from them, and float formats against ml_dtypes."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from fractions import Fraction
from math import copysign, frexp, inf, isnan, ldexp
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest

import layoutc
from layoutc.compensation import Compensation
from layoutc.conversion import NO_ATTRIBUTES, Conversion
from layoutc.element_type import ELEMENT_TYPES, element_type
from layoutc.errors import LayoutcError
from layoutc.float_format import value_of
from layoutc.param import Param
from layoutc.tools.attributes import SUMS

FLOATS = [type for type in ELEMENT_TYPES if type.float_format]
INTEGERS = [type for type in ELEMENT_TYPES if type.is_integer and type.name != "boolean"]


@pytest.mark.parametrize("type", FLOATS, ids=str)
def test_float_formats_are_those_of_numpy(type: Any) -> None:
    import ml_dtypes

    format, info = type.float_format, ml_dtypes.finfo(type.numpy)
    assert float(format.max) == float(info.max)
    assert float(format.smallest_normal) == float(info.smallest_normal)
    if format.has_zero:
        assert float(format.min) == float(info.min)
        assert float(format.smallest) == float(info.smallest_subnormal)
    assert format.precision == info.nmant + 1


@pytest.mark.parametrize("type", [type for type in FLOATS if type.bits <= 16], ids=str)
def test_every_code_has_the_value_that_numpy_gives_it(type: Any) -> None:
    codes = np.arange(1 << type.bits, dtype=np.uint16 if type.bits == 16 else np.uint8)
    with np.errstate(invalid="ignore"):
        values = codes.view(type.numpy).astype(np.float64)
    assert len(values) == 1 << type.bits
    for code, value in enumerate(values.tolist()):
        found = value_of(type.float_format, code)
        assert found == value or (isnan(found) and isnan(value)), hex(code)
        if not isnan(value):
            assert type.float_format.nearest(value) == value


@pytest.mark.parametrize("type", INTEGERS, ids=str)
def test_integer_ranges_are_those_of_numpy(type: Any) -> None:
    if type.name == "u2":
        assert type.integer_range == range(4)
        return
    import ml_dtypes

    info = ml_dtypes.iinfo(type.numpy)
    assert (type.integer_range[0], type.integer_range[-1]) == (info.min, info.max)


def test_the_table_of_types_in_the_docs_is_the_table_of_types() -> None:
    page = (Path(__file__).parent.parent / "docs" / "conversions.md").read_text()
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in page.splitlines() if line.startswith("|")]
    shown = [row[:8] for row in rows if len(row) == 9][2:]
    for type, row in zip(ELEMENT_TYPES, shown, strict=True):
        names = (type.onednn, type.openvino, type.inference_engine, type.directml, type.mlir, type.numpy_name)
        assert row == [type.name, str(type.bits), *(name or "" for name in names)]


def test_how_fast_stands_behind_the_rules_in_items() -> None:
    root = Path(__file__).parent.parent
    *rules, (name, text) = re.findall(
        r"^## (.*)\n((?:(?!## ).*\n)*)", (root / "docs" / "conversions.md").read_text(), re.MULTILINE
    )
    assert name == "How fast" and "[How fast](#how-fast)" in "".join(text for _, text in rules)
    assert max(block.count("\n") for block in re.split(r"\n\n|\n- ", text)) <= 12
    named = set(re.findall(r"`(\w+\.py)`", text))
    assert len(named) > 10 and sorted(named - {path.name for path in (root / "layoutc").rglob("*.py")}) == []


def test_values_are_rounded_to_their_type_once() -> None:
    f32 = float(np.float32(0.1))
    assert Conversion(src_scale=0.1).params["src_scale"] == Param(f32, dtype="f32")
    assert Conversion(src_scale=0.1) == Conversion(src_scale=f32)
    assert hash(Conversion(src_scale=0.1)) == hash(Conversion(src_scale=f32))
    assert Param(np.array([[1.5, 2.5]], np.float32), axes=(0, 1)).values == (1.5, 2.5)
    assert Param(257, dtype="bf16").values == (256,)
    assert Param(257.0000001, dtype="bf16").values == (258,)


def test_neutral_constants_are_no_attributes() -> None:
    neutral = Conversion(src_scale=1, dst_scale=Param([1.0]), src_zero_point=0, sum=0, reciprocal=True)
    assert neutral == NO_ATTRIBUTES
    assert Conversion(compensation=Compensation()) == NO_ATTRIBUTES
    assert Conversion(src_scale=Param()).arguments == {"src_scale": Param(dtype="f32")}


@pytest.mark.parametrize(
    ("given", "source", "destination", "arithmetic"),
    [
        ({}, "f32", "f32", "move"),
        ({}, "f32", "bf16", "direct"),
        ({"dst_zero_point": 3}, "s32", "s8", "integer"),
        ({"src_zero_point": Param()}, "u8", "u8", "integer"),
        ({"src_zero_point": Param(0.5, dtype="f32")}, "u8", "u8", "f32"),
        ({"dst_zero_point": 3}, "f32", "s8", "f32"),
        ({"dst_zero_point": 3, "sum": 1}, "s8", "s8", "f32"),
        ({"dst_zero_point": 3, "src_scale": 2}, "s8", "s8", "f32"),
        ({"sum": 1}, "f32", "f32", "f32"),
        ({"compensation": Compensation(s8s8=(0,))}, "s8", "s8", "move"),
    ],
)
def test_the_arithmetic_follows_from_types_and_attributes(
    given: dict[str, Any], source: str, destination: str, arithmetic: str
) -> None:
    assert Conversion(**given).arithmetic(element_type(source), element_type(destination)) == arithmetic


def test_compensation_lies_behind_the_data_at_a_multiple_of_four() -> None:
    weights = layoutc.desc("oIhw4i", (5, 3, 3, 1), "s8")
    both = Compensation(s8s8=(0,), asymmetric=(0, 1))
    assert weights.size_bytes == 60
    assert both.offsets_bytes(weights) == (60, 80, 160)
    assert Conversion(compensation=both).destination_bytes(weights) == 160
    odd = layoutc.desc("ab", (3, 3), "s8")
    assert Compensation(asymmetric=(1,)).offsets_bytes(odd) == (12, 24)


@pytest.mark.parametrize("given", [{"src_zero_point": 1}, {"dst_zero_point": Param()}, {"sum": 0.5}], ids=str)
def test_what_compensation_refuses_is_said_where_it_is_described(given: dict[str, Any]) -> None:
    with pytest.raises(LayoutcError, match="compensation is of scaled weights alone, got zero points or sum too"):
        Conversion(compensation=Compensation((0,)), **given)
    page = (Path(__file__).parent.parent / "docs" / "conversions.md").read_text()
    for text in (page.split("## Compensation")[1].split("##")[0], Compensation.__doc__ or "", SUMS):
        assert re.search(r"zero points\s+and\s+\W*sum", text)


F32, S8 = layoutc.desc("ab", (4, 6), "f32"), layoutc.desc("ba", (4, 6), "s8")
RECURSIVE: list[Any] = []
RECURSIVE.append(RECURSIVE)
SHAPE = r"src scale has shape \(6, 4\), expected \(4, 6\)"


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Param("1"), "value of a parameter '1' is no number"),
        (lambda: Param([b"1"], axes=0), "value of a parameter b'1' is no number"),
        (lambda: Param([10**400], axes=0), "value of a parameter is 1000.*, expected -9223372036854775808 or more"),
        (
            lambda: Param(Fraction(10**400)),
            "value of a parameter 1000.* is no number: integer division result too large",
        ),
        (lambda: Param(float("nan")), "value of a parameter nan is not finite"),
        (lambda: Param([1, 2], axes=(1, 0)), r"parameter axes \(1, 0\) are not in increasing order"),
        (lambda: Param([1, 2], axes=1, groups=(1, 2)), "got 2 groups, expected 1, one per axis"),
        (lambda: Param(9, dtype="s4"), "value 9 is no s4, expected an integer from -8 to 7"),
        (lambda: Param(3, dtype="e8m0"), "value 3 is no e8m0, expected a power of two"),
        (lambda: Param(-2, dtype="e8m0"), "value -2 is no e8m0, expected a power of two"),
        (lambda: Param(0.0, dtype="e8m0"), "value 0.0 is no e8m0, expected a power of two"),
        (lambda: Conversion(src_scale=1e40), "past the largest f32, 3.40282e"),
        (lambda: Conversion(dst_scale=0), "dst scale 0 cannot be divided by"),
        (lambda: Conversion(dst_scale=1e-300), "dst scale 1e-300, which is 0 in f32, cannot be divided by"),
        (lambda: Conversion(dst_zero_point=0.5), "value 0.5 is no s32"),
        (lambda: Conversion(src_scale=Param(1, dtype="s8")), "src scale is of s8, expected one of f32 f16 bf16 e8m0"),
        (lambda: Conversion(sum="x"), "sum 'x' is no number"),  # pyright: ignore[reportArgumentType]
        (lambda: Conversion(sum=1, compensation=Compensation((0,))), "compensation is of scaled weights alone"),
        (lambda: Compensation(s8s8=()), "axes .. are not one or more in increasing order"),
        (lambda: Conversion(src_scale=Param([1, 2], axes=0)).check(F32, S8), "has 2 values, expected 4 for axes"),
        (lambda: Conversion(src_scale=Param([1], axes=2)).check(F32, S8), "index of axis 2, the tensor has rank 2"),
        (lambda: Conversion(src_scale=Param([2], axes=0, groups=3)).check(F32, S8), "groups of 3 along axis 0, of dim"),
        (lambda: Param([[1, 2], [3]], axes=(0, 1)), r"have parts of shapes \(1,\) and \(2,\) side by side"),
        (lambda: Param([1, [2]], axes=0), r"have parts of shapes \(\) and \(1,\) side by side"),
        (lambda: Param(RECURSIVE), "values of a parameter are nested more than 12 deep"),
        (lambda: Param({1.0, 2.0}, axes=0), "value of a parameter {1.0, 2.0} is no number"),
        (lambda: Param({1: 2.0}), "value of a parameter {1: 2.0} is no number"),
        (lambda: Conversion(src_scale=Param(np.ones((6, 4)), (0, 1))).check(F32, S8), SHAPE),
        (lambda: Conversion(src_scale=Param(np.ones((6, 4)), (0, 1), dtype="f16")).check(F32, S8), SHAPE),
        (lambda: Conversion(src_scale=Param([[1] * 4] * 6, (0, 1))).check(F32, S8), SHAPE),
        (lambda: Conversion(compensation=Compensation((0,))).check(S8, F32), "is of s8 weights, the destination has"),
        (lambda: Conversion(compensation=Compensation((2,))).check(F32, S8), "per index of axis 2, the rank is 2"),
    ],
)
def test_what_does_not_fit_is_refused(make: Callable[[], object], message: str) -> None:
    with pytest.raises(LayoutcError, match=message):
        make()


@pytest.mark.parametrize("shape", [(24,), (4, 6), (4, 1, 6, 1)], ids=str)
def test_values_are_flat_or_have_the_shape_of_their_axes(shape: tuple[int, ...]) -> None:
    Conversion(src_scale=Param(np.ones(shape), (0, 1))).check(F32, S8)


@pytest.mark.parametrize("type", FLOATS, ids=str)
def test_rounding_is_to_the_nearest_number_and_to_the_even_one_of_two(type: Any) -> None:
    """The same sums in exact fractions."""
    format, draw = type.float_format, Random(1)
    largest = Fraction(format.max)
    for _ in range(3000):
        value = draw.choice((1, -1)) * ldexp(
            draw.getrandbits(draw.choice((3, 12, 25, 53))) + 0.5, draw.randint(-170, 140)
        )
        exponent = max(frexp(value)[1] - 1, format.min_exponent)
        step = Fraction(2) ** (exponent - format.fraction_bits)
        expected = round(Fraction(value) / step) * step
        assert format.nearest(value) == (copysign(inf, value) if abs(expected) > largest else float(expected)), value
    assert format.nearest(-sys.float_info.max) == (-sys.float_info.max if type.name == "f64" else -inf)
