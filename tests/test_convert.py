"""Conversions of codes against exact rational arithmetic, for every pair of element types."""

from __future__ import annotations

from fractions import Fraction
from functools import cache
from math import ceil, floor, nextafter

import numpy as np
import pytest

from layoutc.conversion import Conversion
from layoutc.element_type import ELEMENT_TYPES, ElementType, element_type
from layoutc.numeric.arithmetic import converted
from layoutc.numeric.convert import code_type, convert
from layoutc.param import Param
from tests.exact import exact_code, exact_value, float_code, integer_code

SMALL = [type for type in ELEMENT_TYPES if type.bits <= 8]
MIDDLE = [type for type in ELEMENT_TYPES if type.bits == 16]
WIDE = [type for type in ELEMENT_TYPES if type.bits > 16]
by_source = pytest.mark.parametrize("source", ELEMENT_TYPES, ids=str)
by_destination = pytest.mark.parametrize("destination", ELEMENT_TYPES, ids=str)


def check(codes: list[int], source: ElementType, destination: ElementType) -> None:
    """Every code of a list becomes what exact arithmetic says."""
    found = convert(np.array(codes, code_type(source)), source, destination).tolist()
    for code, got in zip(codes, found, strict=True):
        expected = exact_code(code, source, destination)
        assert got == expected, f"{source} {code:#x} -> {destination} {got:#x}, expected {expected:#x}"


@by_destination
@pytest.mark.parametrize("source", SMALL, ids=str)
def test_every_code_of_a_byte_or_less(source: ElementType, destination: ElementType) -> None:
    check(list(range(1 << source.bits)), source, destination)


@by_destination
@pytest.mark.parametrize("source", MIDDLE, ids=str)
def test_every_code_of_two_bytes(source: ElementType, destination: ElementType) -> None:
    """All codes in NumPy, from the list of all values; a sample and the boundaries one by one."""
    check(boundaries(source, destination)[:: 1 if destination.bits <= 16 else 7], source, destination)
    codes = np.arange(1 << 16, dtype=np.uint16)
    values = numbers(source)
    finite = np.isfinite(values)
    found = convert(codes, source, destination)[finite]
    np.testing.assert_array_equal(found, nearest_codes(values[finite], np.signbit(values[finite]), destination))


def numbers(source: ElementType) -> np.ndarray:
    """The values of all codes of two bytes; f64 holds them."""
    codes = np.arange(1 << 16, dtype=np.uint16)
    with np.errstate(invalid="ignore"):
        return codes.view(source.numpy).astype(np.float64)


def nearest_codes(values: np.ndarray, signs: np.ndarray, type: ElementType) -> np.ndarray:
    """The nearest codes of numbers: of integers by rint and clip, of small floats by the midpoints of all values."""
    width = code_type(type)
    if type.name == "boolean":
        return (values != 0).astype(width)
    if type.float_format is None:
        low, high = type.integer_range[0], type.integer_range[-1]
        return np.array([min(max(int(v), low), high) % (1 << type.bits) for v in np.rint(values).tolist()], width)
    if not type.float_format.has_zero:
        exponents = np.frexp(values)[1] - 1
        return np.where(values == 0, 0, np.clip(exponents + 127, 0, 255)).astype(width)
    if type.bits > 16:
        wide: np.ndarray = values.astype(type.numpy)  # exact: what fits two bytes fits four
        assert (wide.astype(np.float64) == values).all()
        return wide.view(width)
    midpoints = midpoints_of(type)
    low = np.searchsorted(midpoints, np.abs(values), "left")
    high = np.searchsorted(midpoints, np.abs(values), "right")
    # On a midpoint the two differ, and the even one is right.
    codes = np.where(low % 2 == 0, low, high)
    codes = np.minimum(codes, (1 << (type.bits - 1)) - 1)
    return (codes + (signs.astype(np.int64) << (type.bits - 1))).astype(width)


@cache
def midpoints_of(type: ElementType) -> np.ndarray:
    """Between each two magnitudes that follow each other, the last with the one that would come next."""
    values: list[float] = []
    for code in range(1 << (type.bits - 1)):
        value = exact_value(type, code)
        if not isinstance(value, Fraction):
            break
        values.append(float(value))
    values.append(2 * values[-1] - values[-2])
    return (np.array(values[:-1]) + np.array(values[1:])) / 2


@by_destination
@pytest.mark.parametrize("source", WIDE, ids=str)
def test_boundaries_of_four_and_eight_bytes(source: ElementType, destination: ElementType) -> None:
    check(boundaries(source, destination), source, destination)


@cache
def boundaries(source: ElementType, destination: ElementType) -> list[int]:
    """Codes of the source at and beside the values of the destination, and at and beside their midpoints."""
    codes = special_codes(source)
    for value in interesting_values(destination):
        codes |= codes_around(value, source)
    return sorted(codes)


def special_codes(type: ElementType) -> set[int]:
    """The first and last codes, those around each power of two of the code, and some at random."""
    top = 1 << type.bits
    near = {(1 << bit) + step for bit in range(type.bits + 1) for step in (-1, 0, 1)}
    some = np.random.default_rng(1).integers(0, top, 60, np.uint64, endpoint=False).tolist()
    codes = {code % top for code in near | {-code for code in near} | set(some)}
    format = type.float_format
    if format is not None and format.is_signed:
        infinity = ((1 << format.exponent_bits) - 1) << format.fraction_bits
        codes |= {(infinity + step) % top | sign << (type.bits - 1) for step in (-1, 0, 1, 5) for sign in (0, 1)}
    return codes


@cache
def interesting_values(type: ElementType) -> tuple[Fraction, ...]:
    """Values of a type and their midpoints: all of a byte, those at the ends and some between of more."""
    if type.bits <= 8:
        codes = list(range(1 << type.bits))
    else:
        codes = [code for code in sorted(special_codes(type)) if code + 1 < 1 << type.bits]
    found: set[Fraction] = set()
    for code in codes:
        pair = [exact_value(type, c) for c in (code, min(code + 1, (1 << type.bits) - 1))]
        numbers = [value for value in pair if isinstance(value, Fraction)]
        found |= set(numbers)
        if len(numbers) == 2:
            found.add(sum(numbers, Fraction()) / 2)
            found.add(numbers[0] + (numbers[0] - numbers[1]) / 2)
    return tuple(sorted(found))


def codes_around(value: Fraction, type: ElementType) -> set[int]:
    """The codes of a type at a value, or below and above it, and the next ones."""
    if type.float_format is None:
        span = type.integer_range
        near = {floor(value) - 1, floor(value), ceil(value), ceil(value) + 1}
        return {n % (1 << type.bits) for n in near if n in span}
    middle = float_code(abs(value), type.float_format)
    sign = (value < 0) << (type.bits - 1) if type.float_format.is_signed else 0
    return {max(middle + step, 0) % (1 << (type.bits - 1)) | sign for step in (-1, 0, 1)}


@pytest.mark.parametrize(
    ("source", "destination"),
    [("f32", "f16"), ("f64", "f32"), ("f64", "f16"), ("f32", "f64"), ("s64", "f32"), ("u64", "f64"), ("s32", "f32")],
)
def test_a_million_random_codes_are_converted_as_numpy_does(source: str, destination: str) -> None:
    """These pairs the processor converts by itself, as IEEE 754 says; of NaNs NumPy's own code has other ideas."""
    a, b = element_type(source), element_type(destination)
    codes = np.random.default_rng(2).integers(0, 1 << a.bits, 1_000_000, np.uint64, endpoint=False)
    codes = codes.astype(code_type(a))
    with np.errstate(all="ignore"):
        expected = codes.view(a.numpy).astype(b.numpy)
    numbers = expected == expected
    np.testing.assert_array_equal(convert(codes, a, b)[numbers], expected.view(code_type(b))[numbers])


INTEGERS = [type for type in ELEMENT_TYPES if type.is_integer]


@pytest.mark.parametrize("source", INTEGERS, ids=str)
def test_zero_points_of_integers_are_exact(source: ElementType) -> None:
    for destination in INTEGERS:
        codes = sorted(special_codes(source))
        for src_zp, dst_zp in ((3, 0), (0, -7), (-(2**31), 2**31 - 1), (2**31 - 1, -(2**31)), (100, 5)):
            conversion = Conversion(src_zero_point=src_zp, dst_zero_point=dst_zp)
            found = converted(np.array(codes, code_type(source)), source, destination, conversion).tolist()
            for code, got in zip(codes, found, strict=True):
                value = exact_value(source, code) - src_zp + dst_zp
                expected = integer_code(value, destination) % (1 << destination.bits)
                if destination.name == "boolean":
                    expected = int(value != 0)
                assert got == expected, (source, hex(code), destination, src_zp, dst_zp)


@pytest.mark.parametrize("reciprocal", [False, True])
@pytest.mark.parametrize("types", ["s32 s8", "f32 f32", "u8 bf16", "f64 u4", "s64 f32"])
def test_attributes_are_computed_in_f32_step_by_step(types: str, reciprocal: bool) -> None:
    """Each step is exact as f64, or rounds to f32 as the exact result does: then it is rounded once to f32."""
    source, destination = map(element_type, types.split())
    random = np.random.default_rng(3)
    count = 200
    values = (random.standard_normal(count) * 40).astype(np.float32)
    x = convert(values.view(np.uint32), element_type("f32"), source)
    old = convert(values[::-1].copy().view(np.uint32), element_type("f32"), destination)
    scales = random.uniform(0.1, 3, (2, count)).astype(np.float32)
    conversion = Conversion(
        src_scale=Param(scales[0], axes=0),
        src_zero_point=5,
        dst_scale=Param(scales[1], axes=0),
        dst_zero_point=Param(0.3, dtype="f32"),
        sum=0.7,
        reciprocal=reciprocal,
    )
    found = converted(x, source, destination, conversion, old=lambda: old)
    f32 = element_type("f32")

    def rounded(value: Fraction) -> Fraction:
        """The f32 nearest to an exact number."""
        magnitude = exact_value(f32, float_code(abs(value), f32.float_format))  # pyright: ignore[reportArgumentType]
        return Fraction(magnitude) * (-1 if value < 0 else 1)

    for i in range(count):
        v = rounded(Fraction(exact_value(source, int(x[i]))))
        v = rounded(v - 5)
        v = rounded(v * Fraction(float(scales[0, i])))
        before = rounded(Fraction(exact_value(destination, int(old[i]))))
        v = rounded(v + rounded(Fraction(float(np.float32(0.7))) * before))
        scale = Fraction(float(scales[1, i]))
        v = rounded(v * rounded(1 / scale)) if reciprocal else rounded(v / scale)
        v = rounded(v + Fraction(float(np.float32(0.3))))
        code = float_code(abs(v), f32.float_format) | (v < 0) << 31  # pyright: ignore[reportArgumentType]
        assert int(found[i]) == exact_code(code, f32, destination)


def test_results_that_are_no_number_are_one_nan() -> None:
    """Whatever the operands were: a processor may keep either payload."""
    f32 = element_type("f32")
    codes = np.array([0x7FC12345, 0xFF800001, 0x7F800000, 0xFF800000], np.uint32)
    scaled = converted(codes, f32, f32, Conversion(src_scale=2.0))
    assert [hex(code) for code in scaled.tolist()] == ["0x7fc00000", "0x7fc00000", "0x7f800000", "0xff800000"]
    added = converted(codes, f32, f32, Conversion(sum=1.0), old=lambda: codes[::-1])
    assert set(added.tolist()) == {0x7FC00000}
    assert converted(codes, f32, element_type("s8"), Conversion(dst_zero_point=3)).tolist() == [0, 0, 127, 0x80]


def test_the_largest_s32_is_reached_from_f32() -> None:
    codes = np.array([2.0**31, 2147483520.0, float("inf"), -(2.0**31)], np.float32).view(np.uint32)
    found = convert(codes, element_type("f32"), element_type("s32")).view(np.int32).tolist()
    assert found == [2**31 - 1, 2147483520, 2**31 - 1, -(2**31)]


def test_f64_is_rounded_to_bf16_and_s8_once() -> None:
    """Through f32 the first would become a tie that it is not, and the second 0."""
    values = [1 + 2**-8 + 2**-40, nextafter(0.5, 1)]
    codes = np.array(values).view(np.uint64)
    f64 = element_type("f64")
    assert convert(codes, f64, element_type("bf16"))[0] == 0x3F81
    assert convert(codes, f64, element_type("s8"))[1] == 1
