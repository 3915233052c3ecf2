"""Parts of registers become wider lanes, and NaN other NaN, by whatever instructions: every code of narrow types."""

from __future__ import annotations

import ctypes
from pathlib import Path

import numpy as np
import pytest

import layoutc
from layoutc import reference
from layoutc.planning.choose import choose_plan
from layoutc.planning.machine import machine
from layoutc.planning.plan_text import plan_lines
from tests.c_programs import compiled, compiler_named

BUILDS = [
    ("gcc", ("-O2", "-march=native", "-ffp-contract=fast")),
    ("clang", ("-O2", "-march=native", "-ffp-contract=fast")),
    ("gcc", ("-O2", "-march=native", "-D__znver4__")),
    ("gcc", ("-O2",)),
]
"""one for processors whose shuffles of two registers are one step, wherever it runs"""
PAIRS = [
    ("bf16", "f32", "upper_part_u16x32_u32x16"),
    ("u8", "f32", "low_part_u8x64_u32x16"),
    ("s8", "f32", "signed_part_i8x64_i32x16"),
    ("s16", "f32", "signed_part_i16x32_i32x16"),
    ("u16", "f32", "low_part_u16x32_u32x16"),
    ("u8", "u16", "low_part_u8x64_u16x32"),
    ("s8", "s16", "signed_part_i8x64_i16x32"),
    ("f8_e4m3", "f32", "number_of_f8_e4m3("),
    ("f8_e5m2", "f32", "widen_f16_f32x16"),
    ("f8_e4m3", "bf16", "narrow_normal_bf16_f32x32"),
    ("f8_e4m3", "f16", "beside_32("),
    ("f4_e2m1", "f32", "number_of_f4_e2m1("),
    ("f4_e2m1", "bf16", "number_of_f4_e2m1("),
    ("f8_e4m3", "s8", "number_of_f8_e4m3("),
    ("f4_e2m1", "s8", "number_of_f4_e2m1("),
    ("s4", "f32", "number_of_code_f32x16"),
    ("s4", "bf16", "number_of_code_f32x16"),
    ("s4", "f8_e5m2", "number_of_code_f32x16"),
    ("u8", "bf16", "narrow_normal_bf16_f32x32"),
    ("f16", "bf16", "narrow_normal_bf16_f32x32"),
]


def text_of(type: str, to_type: str, **attributes: object) -> str:
    """With loads of whole registers, which many of these types would not have."""
    source, destination = layoutc.desc("ab", (256, 256), type), layoutc.desc("ab", (256, 256), to_type)
    conversion = layoutc.Conversion(**attributes)  # pyright: ignore[reportArgumentType]
    lines = plan_lines(choose_plan(source, destination, machine("avx512"), 1, conversion))
    plan = tuple(
        line.replace("lanes 0:16 -> 0:", f"lanes 0:{64 // source.element_type.size_bytes(1)} -> 0:") for line in lines
    )
    return layoutc.Kernel(source, destination, target="avx512", conversion=conversion, plan=plan).c_source


@pytest.mark.parametrize(
    ("compiler", "flags"), BUILDS, ids=lambda part: part if isinstance(part, str) else "".join(part)
)
@pytest.mark.parametrize(("type", "to_type", "helper"), PAIRS)
def test_every_code(
    compiler: str, flags: tuple[str, ...], type: str, to_type: str, helper: str, tmp_path: Path
) -> None:
    path = compiler_named(compiler)
    if path is None:
        pytest.skip(f"{compiler} is not here")
    source, destination = (layoutc.desc("ab", (256, 256), name) for name in (type, to_type))
    assert helper in text_of(type, to_type)
    codes = np.arange(1 << 16, dtype=np.uint16).view(np.uint8)
    codes = np.ascontiguousarray(np.resize(codes if source.element_type.bits == 16 else codes[::2], source.size_bytes))
    got, expected = (np.empty(destination.size_bytes, np.uint8) for _ in range(2))
    pointers = (ctypes.c_void_p(array.ctypes.data) for array in (codes, got))
    compiled(text_of(type, to_type), path, tmp_path, *flags, "-Wall", "-Werror", "-Wno-psabi")(
        "reorder", [ctypes.c_void_p] * 2
    )(*pointers)
    reference.reorder(source, destination, codes, expected)
    np.testing.assert_array_equal(got, expected)


def test_what_cannot_be_nan_is_not_asked() -> None:
    """Integers by known numbers become none; a scale that is given later, and a sum, may."""
    assert "usual_nan" not in text_of("u8", "f32", src_scale=0.1, src_zero_point=127)
    assert "usual_nan_f32x16" in text_of("u8", "f32", src_scale=layoutc.Param(axes=0))
    assert "usual_nan_f32x16" in text_of("u8", "f32", sum=0.5)
    assert "usual_nan_f32x16" in text_of("f16", "f32", src_scale=0.1)


def test_what_cannot_be_subnormal_is_not_asked() -> None:
    """Whole numbers by a normal number become none; by half a zero point, or a divisor, they may."""
    assert "narrow_normal_bf16" in text_of("u8", "bf16", src_scale=0.1, src_zero_point=127)
    for attributes in ({"src_scale": 1e-40}, {"src_zero_point": layoutc.Param(0.5, dtype="f32")}, {"dst_scale": 0.1}):
        assert "narrow_bf16" in text_of("u8", "bf16", **attributes)
    for axes, word in ((0, "narrow_scaled_bf16"), (1, "narrow_scaled_bf16"), ((0, 1), "narrow_usual_bf16")):
        assert word in text_of("u8", "bf16", src_scale=layoutc.Param(axes=axes))
    for attributes in ({"dst_scale": layoutc.Param(axes=0)}, {"sum": 0.5}):
        assert "narrow_usual_bf16" in text_of("u8", "bf16", src_scale=layoutc.Param(axes=0), **attributes)


UNUSUAL = np.array(
    [1.5, -3e38, 0.0, -0.0, 2.0**-40, -(2.0**-41), 2.0**-126, 1e-40, np.inf, -np.inf, np.nan], np.float32
)


@pytest.mark.parametrize(
    ("compiler", "flags"), BUILDS, ids=lambda part: part if isinstance(part, str) else "".join(part)
)
@pytest.mark.parametrize("type", ["s4", "u8", "s16", "u16", "boolean"])
def test_integers_by_any_parameters_become_bf16(
    compiler: str, flags: tuple[str, ...], type: str, tmp_path: Path
) -> None:
    """Each row has a scale and a zero point of its own: all pairs of usual and unusual ones, each sign of NaN."""
    path = compiler_named(compiler)
    if path is None:
        pytest.skip(f"{compiler} is not here")
    scales, zero_points = (np.ascontiguousarray(each.ravel()) for each in np.meshgrid(UNUSUAL, UNUSUAL))
    dims = (scales.size, 128)
    source, destination = layoutc.desc("ab", dims, type), layoutc.desc("ab", dims, "bf16")
    how = layoutc.Conversion(layoutc.Param(axes=0), layoutc.Param(axes=0, dtype="f32"))
    text = layoutc.Kernel(source, destination, target="avx512", conversion=how).c_source
    assert "narrow_scaled_bf16_f32x32(" in text
    codes = (np.arange(source.size_bytes) * 37 % 256).astype(np.uint8)
    got, expected = (np.empty(destination.size_bytes, np.uint8) for _ in range(2))
    pointers = (ctypes.c_void_p(array.ctypes.data) for array in (codes, got, scales, zero_points))
    built = compiled(text, path, tmp_path, *flags, "-Wall", "-Werror", "-Wno-psabi")
    built("reorder", [ctypes.c_void_p] * 4)(*pointers)
    slow = layoutc.Kernel(source, destination, "reference", conversion=how)
    slow(codes, expected, src_scale=scales, src_zero_point=zero_points)
    np.testing.assert_array_equal(got, expected)
