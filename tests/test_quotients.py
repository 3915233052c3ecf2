"""Quotients that become integers are what IEEE 754's division gives, by whatever instructions, for any divisor."""

from __future__ import annotations

import ctypes
import re
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

import layoutc
from layoutc.planning.choose import choose_plan
from layoutc.planning.machine import machine
from layoutc.planning.plan_text import plan_lines
from layoutc.targets.patterns.two_products import Beginnings, Integers, two_products
from tests.c_programs import compiled, compiler_named

RANGES = {"s8": (-128, 127), "u8": (0, 255), "s16": (-(2**15), 2**15 - 1), "s32": (-(2**31), 2**31 - 1)}
BUILDS = [
    ("gcc", ("-O3", "-march=native", "-ffp-contract=fast")),
    ("clang", ("-O3", "-march=native", "-ffp-contract=fast")),
    ("gcc", ("-O2",)),
    ("gcc", ("-O2", "-march=x86-64-v3")),
]
ROW = 4096
SPECIAL = (
    0,
    1,
    2,
    0x7FFFFF,
    0x800000,
    0x800001,
    0x3F800001,
    0x3FFFFFFF,
    0x7F000000,
    0x7F7FFFFF,
    0x7F800000,
    0x7FC00000,
)
EXPONENTS = ((0, 256), (0, 12), (118, 136), (242, 256))
"""of random divisors, with their bias: any, about the least, about 1, about the largest"""


def divisors(count: int, rng: np.random.Generator) -> np.ndarray:
    bits = [code | sign for code in SPECIAL for sign in (0, 0x80000000)]
    for number in range(count - len(bits)):
        low, high = EXPONENTS[number % len(EXPONENTS)]
        bits.append(int(rng.integers(low, high)) << 23 | int(rng.integers(1 << 23)) | int(rng.integers(2)) << 31)
    return np.array(bits, np.uint32).view(np.float32)


def dividends(scales: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """A row for each divisor: floats at and beside the multiples where an integer changes, and any bits."""
    halves = rng.integers(-600, 600, (len(scales), ROW)).astype(np.float32) + np.float32(0.5)
    with np.errstate(all="ignore"):
        near = (halves * scales[:, None]).view(np.int32) + rng.integers(-3, 4, halves.shape).astype(np.int32)
    anything = rng.integers(0, 1 << 32, halves.shape, np.uint32).view(np.int32)
    return np.where(rng.integers(0, 4, halves.shape) == 0, anything, near).view(np.float32)


def expected(x: np.ndarray, scales: np.ndarray, zero_point: int | None, type: str) -> np.ndarray:
    low, high = RANGES[type]
    with np.errstate(all="ignore"):
        quotient = x / scales[:, None]
        shifted = quotient if zero_point is None else quotient + np.float32(zero_point)
    return np.clip(np.rint(np.where(np.isnan(shifted), 0, shifted).astype(np.float64)), low, high)


@pytest.mark.parametrize(
    ("compiler", "flags"), BUILDS, ids=lambda part: part if isinstance(part, str) else "".join(part)
)
@pytest.mark.parametrize(
    ("type", "zero_point", "made"),
    [
        ("s8", None, "saturated_quotient_f32x16_i8x64("),
        ("s8", -100, "saturated_quotient_shifted_f32x16_i8x64("),
        ("u8", 2**31 - 1, "saturated_quotient_shifted_f32x16_u8x64("),
        ("u8", 7, "saturated_quotient_shifted_f32x16_u8x64("),
        ("u8", None, "saturated_quotient_f32x16_u8x64("),
        ("s16", None, "whole_f32x16("),
        ("s16", -(2**20), "whole_shifted_f32x16("),
        ("s32", None, "quotient_f32x16("),
        ("s8", None, "saturated_quotient_f32x8_i8x32("),
        ("u8", -(2**31), "saturated_quotient_shifted_f32x8_u8x32("),
    ],
)
def test_any_divisor(
    compiler: str, flags: tuple[str, ...], type: str, zero_point: int | None, made: str, tmp_path: Path
) -> None:
    path = compiler_named(compiler)
    if path is None:
        pytest.skip(f"{compiler} is not here")
    rng = np.random.default_rng(7)
    scales = divisors(96, rng)
    x = dividends(scales, rng)
    source, destination = (layoutc.desc("ab", x.shape, name) for name in ("f32", type))
    conversion = layoutc.Conversion(dst_scale=layoutc.Param(axes=0), dst_zero_point=zero_point)
    target = "avx2" if "f32x8" in made else "avx512"
    text = layoutc.Kernel(source, destination, target=target, conversion=conversion).c_source
    assert made in text
    got = np.empty(x.shape, {"s8": np.int8, "u8": np.uint8, "s16": np.int16, "s32": np.int32}[type])
    pointers = (ctypes.c_void_p(array.ctypes.data) for array in (x, got, scales))
    compiled(text, path, tmp_path, *flags, "-Wno-psabi")("reorder", [ctypes.c_void_p] * 3)(*pointers)
    np.testing.assert_array_equal(got, expected(x, scales, zero_point, type))


@pytest.mark.parametrize("scale", [0.43, -0.0236, 1.0, float.fromhex("0x1.fffffep-1"), 3e-18, 1e18, 1e-30, 1e38, 1e-44])
@pytest.mark.parametrize(("type", "zero_point"), [("s8", None), ("s8", -100), ("u8", 7), ("u8", 2**31 - 1)])
@pytest.mark.parametrize("tag", ["ab", "Ab3a"])
def test_constant_divisor(scale: float, type: str, zero_point: int | None, tag: str) -> None:
    """Of four registers at once, and of each by itself."""
    rng = np.random.default_rng(8)
    scales = np.array([scale], np.float32)
    x = dividends(np.repeat(scales, 63), rng)
    got = np.empty(x.shape, {"s8": np.int8, "u8": np.uint8}[type])
    source, destination = layoutc.desc(tag, x.shape, "f32"), layoutc.desc("ab", x.shape, type)
    conversion = layoutc.Conversion(dst_scale=scale, dst_zero_point=zero_point)
    given = x if tag == "ab" else np.ascontiguousarray(x.reshape(21, 3, -1).transpose(0, 2, 1))
    layoutc.Kernel(source, destination, conversion=conversion)(given.view(np.uint8).reshape(-1), got)
    np.testing.assert_array_equal(got, expected(x, scales, zero_point, type))


@pytest.mark.parametrize(("low", "high", "zero_point"), [(-128, 127, 0), (0, 255, 3), (-8, 7, 0), (-128, 127, -40000)])
def test_two_products(low: int, high: int, zero_point: int) -> None:
    """Where they are taken, they become the integers of the quotient beside each place where one begins."""
    rng = np.random.default_rng(9)
    random = rng.uniform(1, 2, 400).astype(np.float32) * (2.0 ** rng.integers(-60, 60, 400)).astype(np.float32)
    integers = Integers(low, high, float(zero_point))
    taken = 0
    for divisor in (random * rng.choice([-1, 1], 400).astype(np.float32)).tolist():
        if (factors := two_products(divisor, integers)) is None:
            continue
        taken += 1
        begins = (rng.integers(low, high, 8) - 0.5 - zero_point) * divisor
        near = begins.astype(np.float32).view(np.int32)[:, None] + rng.integers(-2, 3, 8, np.int32)
        for x in near.view(np.float32).ravel().tolist():
            product = float(np.float32(x) * np.float32(factors[1]))
            total = rounded(Fraction(x) * Fraction(factors[0]) + Fraction(product))
            became = integers.of(np.array([float(total), np.float32(x) / np.float32(divisor)]))
            assert became[0] == became[1]
    assert taken > 390


def test_two_products_that_differ() -> None:
    """Of other factors than those of the divisor it is found that they make other integers."""
    begins = Beginnings.of(np.float32(0.02), Integers(-128, 127, 0.0))
    factors = two_products(0.02, begins.integers)
    assert factors is not None
    high, low = map(np.float32, factors)
    assert begins.are_those_of(high, low)
    assert not begins.are_those_of(high, np.float32(0))
    assert not begins.are_those_of(np.nextafter(high, np.float32(100)), low)


@pytest.mark.parametrize("divisor", [0.0, 1.0, 2.0**-61, 1e30, float("inf"), float("nan")])
def test_divisors_without_two_products(divisor: float) -> None:
    assert two_products(divisor, Integers(-128, 127, 0.0)) is None
    assert two_products(0.02, Integers(-(2**15), 2**15 - 1, 0.0)) is None
    assert two_products(0.02, Integers(-128, 127, 2.0**17)) is None


def rounded(value: Fraction) -> Fraction:
    """To the nearest number of 24 bits, of two as near the even one."""
    exponent = value.numerator.bit_length() - value.denominator.bit_length()
    if Fraction(2) ** exponent > abs(value):
        exponent -= 1
    last = Fraction(2) ** (exponent - 23)
    return round(value / last) * last


def test_what_the_proof_leaves() -> None:
    """The dividends and divisors next below 2 whose first quotient is no neighbour, and some that are ordinary."""
    u = Fraction(1, 1 << 24)
    pairs = [(2 - 2 * k * u, 2 - 2 * j * u) for k in range(1, 5) for j in range(1, k + 1)]
    pairs += [(1 + 2 * k * u, 1 + 2 * j * u) for k in range(5) for j in range(5)]
    for x, t in pairs:
        y = rounded(1 / t)
        q = rounded(x * y)
        assert rounded(q + rounded(x - q * t) * y) == rounded(x / t)


def text_of(type: str, target: str, conversion: layoutc.Conversion, rows: int = 63, tag: str = "ab") -> str:
    source, destination = layoutc.desc(tag, (rows, 256), "f32"), layoutc.desc("ab", (rows, 256), type)
    straight = choose_plan(source, destination, machine(target), conversion=conversion, goes_through=False)
    plan = tuple(plan_lines(straight))
    return layoutc.Kernel(source, destination, target=target, conversion=conversion, plan=plan).c_source


def test_where_products_are_taken() -> None:
    """Where a register holds 16, or becomes bytes, the divisor is used again, and only the integer counts."""
    rows, columns, each = (layoutc.Param(axes=axes) for axes in ((0,), (1,), (0, 1)))
    fraction = layoutc.Param(0.5, dtype="f32")
    shifted = layoutc.Conversion(dst_scale=0.1, dst_zero_point=layoutc.Param())
    assert "quotient_usual_f32x16(" in text_of("s32", "avx512", layoutc.Conversion(dst_scale=0.1))
    assert "quotient_f32x16(" in text_of("s32", "avx512", layoutc.Conversion(dst_scale=1e-30))
    assert "product_f32x16(" in text_of("s8", "avx512", layoutc.Conversion(dst_scale=0.1))
    one = text_of("s8", "avx512", layoutc.Conversion(dst_scale=0.1), tag="Ab3a")
    assert "low_bits_f32x16(product_f32x16(" in one and "saturated_" not in one
    assert "product_f32x8(" in text_of("s8", "avx2", layoutc.Conversion(dst_scale=0.1))
    assert "product_f32x4(" in text_of("s8", "neon", layoutc.Conversion(dst_scale=0.1))
    assert "saturated_quotient_shifted_f32x16_i8x64(" in text_of("s8", "avx512", shifted)
    assert "saturated_quotient_f32x16_i8x64(" in text_of("s8", "avx512", layoutc.Conversion(dst_scale=1e-30))
    assert "whole_f32x16(" in text_of("s16", "avx512", layoutc.Conversion(dst_scale=0.1))
    assert "saturated_quotient_limited_f32x16_i8x64(" in text_of("s4", "avx512", layoutc.Conversion(dst_scale=rows))
    assert "saturated_quotient_f32x16_i8x64(" in text_of("s8", "avx512", layoutc.Conversion(dst_scale=columns))
    for type, target, conversion in (
        ("s16", "avx2", layoutc.Conversion(dst_scale=0.1)),
        ("s8", "avx512", layoutc.Conversion(dst_scale=each)),
        ("f16", "avx512", layoutc.Conversion(dst_scale=0.1)),
        ("boolean", "avx512", layoutc.Conversion(dst_scale=0.1)),
        ("s8", "avx512", layoutc.Conversion(dst_scale=0.1, dst_zero_point=fraction)),
    ):
        assert not re.search("quotient|whole_|product", text_of(type, target, conversion))
    assert "product_f32x16(" in text_of("s8", "avx512", layoutc.Conversion(dst_scale=0.1), rows=1 << 18)


@pytest.mark.parametrize("group", [1, 3, 24])
@pytest.mark.parametrize("element", ["s8", "u8"])
def test_zero_points_that_are_loaded_as_they_are_added(group: int, element: str) -> None:
    """Groups that cut blocks of lanes are spread as f32 ahead: nothing but the sum takes a load of these."""
    source, destination = (layoutc.desc("ab", (16, 96), type) for type in ("f32", element))
    rng = np.random.default_rng(group)
    x = rng.normal(0, 30, (16, 96)).astype(np.float32)
    given = {
        "dst_scale": rng.uniform(0.5, 2, 16).astype(np.float32),
        "dst_zero_point": rng.integers(-5, 60, 96 // group, np.int32),
    }
    made: list[NDArray[np.uint8]] = []
    for executor in ("c", "reference"):
        kernel = layoutc.compile(
            source,
            destination,
            target="native" if executor == "c" else "generic",
            executor=executor,
            dst_scale=layoutc.Param(axes=(0,)),
            dst_zero_point=layoutc.Param(axes=(1,), groups=(group,)),
        )
        made.append(np.empty(16 * 96, np.uint8))
        kernel(x, made[-1], **given)
    np.testing.assert_array_equal(made[0], made[1])


@pytest.mark.parametrize("flags", [("-march=native",), ()], ids="".join)
def test_no_warning(flags: tuple[str, ...], tmp_path: Path) -> None:
    """Not of a divisor that is known, whose products do not mention it."""
    path = compiler_named("gcc")
    if path is None:
        pytest.skip("gcc is not here")
    text = text_of("s8", "avx512", layoutc.Conversion(dst_scale=0.1, dst_zero_point=3))
    compiled(text, path, tmp_path, "-O1", "-Wall", "-Wextra", "-Werror", "-Wno-psabi", *flags)(
        "reorder", [ctypes.c_void_p]
    )
