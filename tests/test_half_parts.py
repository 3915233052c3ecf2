"""f16 and bf16 in registers of 16 bytes, where no instruction makes or takes them: all codes, and all roundings."""

from __future__ import annotations

import ctypes
from functools import cache
from pathlib import Path

import numpy as np
import pytest

import layoutc
from layoutc import reference
from layoutc.conversion import Conversion
from layoutc.descriptor import MemoryDesc
from tests.c_programs import compiled, compiler_named

BUILDS = [
    ("gcc", ("-O2",)),
    ("gcc", ("-O3", "-ffp-contract=fast")),
    ("gcc", ("-O2", "-march=x86-64-v3")),
    ("gcc", ("-O2", "-mavx512f", "-mfma", "-ffp-contract=fast", "-mno-f16c")),
    ("gcc", ("-O2", "-U__SSE2__")),
    ("clang", ("-O2",)),
    ("clang", ("-O3", "-ffp-contract=fast", "-mfma", "-mno-f16c")),
    ("clang", ("-O2", "-march=x86-64-v3")),
]
ROWS = 64


def _codes() -> np.ndarray:
    """Every f16."""
    return np.arange(1 << 16, dtype=np.uint16).reshape(ROWS, -1)


@cache
def _numbers() -> np.ndarray:
    """Bits of f32: around all f16 and all ties between two, NaN with any bit, and a million others."""
    codes = np.arange(1 << 16, dtype=np.uint16).view(np.float16)
    with np.errstate(invalid="ignore"):
        near = codes.astype(np.float32).view(np.uint32)
    apart = np.array([0, 1, -1, 1 << 12, (1 << 12) + 1, (1 << 12) - 1, 1 << 13], np.int64)
    numbers = (near[:, None] + apart).astype(np.uint32).reshape(-1)
    # Subnormals of f16: halves of the least one, and what is beside those.
    halves = (np.arange(1 << 12, dtype=np.float32) * np.float32(2.0**-25)).view(np.uint32)
    beside = np.array([0, 1, -1], np.int64)
    numbers = np.concatenate([numbers, (halves[:, None] + beside).astype(np.uint32).reshape(-1)])
    nan = np.uint32(0x7F800000) | (np.uint32(1) << np.arange(23, dtype=np.uint32))
    numbers = np.concatenate([numbers, numbers ^ np.uint32(1 << 31), nan, nan | np.uint32(1 << 31)])
    draw = np.random.default_rng(3)
    numbers = np.concatenate([numbers, draw.integers(0x32000000, 0x48000000, 1 << 20, np.uint32)])
    numbers = np.concatenate([numbers, draw.integers(0, 1 << 32, (1 << 20) + -len(numbers) % (8 * ROWS), np.uint32)])
    return numbers.reshape(ROWS, -1)


def sides(type: str, to_type: str) -> tuple[MemoryDesc, MemoryDesc]:
    dims = (_codes() if type == "f16" else _numbers()).shape
    return layoutc.desc("ab", dims, type), layoutc.desc("ab", dims, to_type)


@cache
def expected(type: str, to_type: str, conversion: Conversion) -> np.ndarray:
    """By definition, for all builds."""
    source, destination = sides(type, to_type)
    codes = _codes() if type == "f16" else _numbers()
    written = np.empty(destination.size_bytes, np.uint8)
    reference.reorder(source, destination, codes.view(np.uint8).reshape(-1), written, conversion)
    return written


@pytest.mark.parametrize(("compiler", "flags"), BUILDS, ids=lambda part: part if isinstance(part, str) else part[-1])
@pytest.mark.parametrize(
    ("type", "to_type", "helper", "conversion"),
    [
        ("f16", "f32", "half_part_u16x8_f32x4(", Conversion()),
        ("f16", "f32", "half_part_u16x8_f32x4(", Conversion(src_scale=0.3, src_zero_point=-3)),
        ("f32", "f16", "narrowed_f16_f32x4_i16x8(", Conversion()),
        ("f32", "f16", "narrowed_f16_f32x4_i16x8(", Conversion(src_scale=0.3, dst_zero_point=3)),
        ("f32", "bf16", "narrowed_bf16_f32x4_i16x8(", Conversion()),
    ],
    ids=["wide", "wide, scaled", "narrow", "narrow, scaled", "upper halves"],
)
def test_each_number(
    compiler: str,
    flags: tuple[str, ...],
    type: str,
    to_type: str,
    helper: str,
    conversion: Conversion,
    tmp_path: Path,
) -> None:
    path = compiler_named(compiler)
    if path is None:
        pytest.skip(f"{compiler} is not here")
    codes = _codes() if type == "f16" else _numbers()
    source, destination = sides(type, to_type)
    text = layoutc.Kernel(source, destination, target="sse2", conversion=conversion).c_source
    assert helper in text.partition("void reorder(")[2]
    got = np.empty(destination.size_bytes, np.uint8)
    library = compiled(text, path, tmp_path, *flags, "-Wall", "-Wextra", "-Werror", "-Wno-psabi")
    library("reorder", [ctypes.c_void_p] * 2)(*(ctypes.c_void_p(array.ctypes.data) for array in (codes, got)))
    np.testing.assert_array_equal(got, expected(type, to_type, conversion))


@pytest.mark.parametrize("compiler", ["gcc", "clang"])
@pytest.mark.parametrize(("type", "to_type"), [("f16", "f32"), ("f32", "f16")])
def test_registers_of_64_bytes_need_avx512f_alone(compiler: str, type: str, to_type: str, tmp_path: Path) -> None:
    """With gcc that brings no F16C."""
    path = compiler_named(compiler)
    if path is None:
        pytest.skip(f"{compiler} is not here")
    source, destination = layoutc.desc("ab", (64, 64), type), layoutc.desc("ba", (64, 64), to_type)
    text = layoutc.Kernel(source, destination, target="avx512").c_source
    compiled(text, path, tmp_path, "-mavx512f")
