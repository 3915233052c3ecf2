"""Codes of 4 bits go from memory into lanes of 32 bits by one shift, whatever the processor has for that."""

from __future__ import annotations

import ctypes
from pathlib import Path

import numpy as np
import pytest

import layoutc
from tests.c_programs import compiled, compiler_named, emitted

BUILDS = [("gcc", "-march=native"), ("clang", "-march=native"), ("gcc", "-march=x86-64"), ("gcc", "-mavx2")]
SHAPE = (33, 160)
GROUPS = layoutc.Param(axes=(0, 1), groups=(1, 32))
ROWS = layoutc.Param(axes=(0,))
CASES = [
    ("s4", "f32", "avx512", "low_codes_u32x16("),
    ("s4", "bf16", "avx512", "low_codes_u32x16("),
    ("u4", "f32", "avx512", "= (i32x16)codes_u32x16("),
    ("u4", "f16", "avx512", "= (i32x16)codes_u32x16("),
    ("s4", "f32", "avx2", "signed_codes_i32x8("),
    ("s4", "bf16", "avx2", "signed_codes_i32x8("),
    ("u4", "s32", "avx2", "= (i32x8)codes_u32x8("),
]
"""element types, the target, and the macro"""


@pytest.mark.parametrize(("compiler", "flag"), BUILDS)
@pytest.mark.parametrize("param", [GROUPS, ROWS], ids=["groups", "rows"])
@pytest.mark.parametrize(("type", "to_type", "target", "made"), CASES)
def test_every_code_in_every_lane(
    type: str, to_type: str, target: str, made: str, param: layoutc.Param, compiler: str, flag: str, tmp_path: Path
) -> None:
    if (path := compiler_named(compiler)) is None:
        pytest.skip(f"{compiler} is not here")
    source, destination = layoutc.desc("ab", SHAPE, type), layoutc.desc("ab", SHAPE, to_type)
    conversion = layoutc.Conversion(src_scale=param)
    text = layoutc.Kernel(source, destination, target=target, conversion=conversion).c_source
    assert made in text
    rng = np.random.default_rng(7)
    x = rng.integers(0, 256, source.size_bytes, np.uint8)
    scales = rng.uniform(-3, 3, param.shape(SHAPE)).astype(np.float32)
    got, expected = (np.empty(destination.size_bytes, np.uint8) for _ in range(2))
    flags = "-O2", flag, "-Wall", "-Wextra", "-Werror", "-Wno-psabi"
    reorder = compiled(text, path, tmp_path, *flags)("reorder", [ctypes.c_void_p] * 3)
    reorder(*(ctypes.c_void_p(array.ctypes.data) for array in (x, got, scales)))
    layoutc.Kernel(source, destination, "reference", conversion=conversion)(x, expected, src_scale=scales)
    np.testing.assert_array_equal(got, expected)


def test_bits_of_conditions_are_no_bytes() -> None:
    """A lane of one is a byte in C, or a word."""
    text = emitted("""func.func @f(%source : memref<4xi8>, %target : memref<8xi32>) {
      %c0 = arith.constant 0 : index
      %three = arith.constant dense<3> : vector<4xi8>
      %four = arith.constant dense<4> : vector<4xi16>
      %kept = arith.constant dense<3855> : vector<4xi16>
      %bytes = vector.load %source[%c0] : memref<4xi8>, vector<4xi8>
      %less = arith.cmpi slt, %bytes, %three : vector<4xi8>
      %wide = arith.extui %less : vector<4xi1> to vector<4xi16>
      %moved = arith.shli %wide, %four : vector<4xi16>
      %both = arith.ori %wide, %moved : vector<4xi16>
      %parts = arith.andi %both, %kept : vector<4xi16>
      %codes = vector.bitcast %parts : vector<4xi16> to vector<8xi8>
      %lanes = arith.extui %codes : vector<8xi8> to vector<8xi32>
      vector.store %lanes, %target[%c0] : memref<8xi32>, vector<8xi32>
      func.return
    }""")
    assert "codes_u32x8" not in text


@pytest.mark.parametrize(
    ("bits", "sum", "made"),
    [(15, "%wide", True), (7, "%wide", True), (15, "%moved", False)],
    ids=["codes", "cut further", "other bytes"],
)
def test_what_is_no_code_is_none(bits: int, sum: str, made: bool, tmp_path: Path) -> None:
    """Of codes that are cut, all above the cut may be anything; bytes that are not theirs are no codes."""
    if (path := compiler_named("gcc")) is None:
        pytest.skip("gcc is not here")
    text = emitted(f"""func.func @f(%source : memref<4xi8>, %target : memref<8xi32>) {{
      %c0 = arith.constant 0 : index
      %four = arith.constant dense<4> : vector<4xi16>
      %kept = arith.constant dense<3855> : vector<4xi16>
      %cut = arith.constant dense<{bits}> : vector<8xi32>
      %bytes = vector.load %source[%c0] : memref<4xi8>, vector<4xi8>
      %wide = arith.extui %bytes : vector<4xi8> to vector<4xi16>
      %moved = arith.shli %wide, %four : vector<4xi16>
      %both = arith.ori {sum}, %moved : vector<4xi16>
      %parts = arith.andi %both, %kept : vector<4xi16>
      %codes = vector.bitcast %parts : vector<4xi16> to vector<8xi8>
      %lanes = arith.extui %codes : vector<8xi8> to vector<8xi32>
      %few = arith.andi %lanes, %cut : vector<8xi32>
      vector.store %few, %target[%c0] : memref<8xi32>, vector<8xi32>
      func.return
    }}""")
    assert ("codes_u32x8(" in text) == made
    x, got = np.array([0xA1, 0xF7, 0x38, 0xE9], np.uint8), np.zeros(8, np.int32)
    function = compiled(text, path, tmp_path, "-O2", "-mavx2", "-Wno-psabi")
    function("f", [ctypes.c_void_p] * 2)(x.ctypes.data, got.ctypes.data)
    wide = x.astype(np.int32)
    parts = ((wide if made else wide << 4) | wide << 4) & 0x0F0F
    np.testing.assert_array_equal(got, np.stack([parts & 0xFF, parts >> 8], 1).reshape(-1) & bits)
