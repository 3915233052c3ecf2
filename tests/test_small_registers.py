"""Registers of 16 and 32 bytes: their parts become wider lanes, lanes of several are joined narrow; any bits."""

from __future__ import annotations

import ctypes
import re
from pathlib import Path

import numpy as np
import pytest

import layoutc
from layoutc import reference
from layoutc.conversion import Conversion
from layoutc.targets.words.c_vector_types import VECTOR_TYPE, VectorType
from tests.c_programs import compiled, compiler_named

BUILDS = [
    ("gcc", ("-O2", "-march=native")),
    ("gcc", ("-O2", "-march=x86-64-v3")),
    ("gcc", ("-O2",)),
    ("clang", ("-O2",)),
    ("clang", ("-O2", "-march=x86-64-v3")),
    ("gcc", ("-O2", "-U__SSE2__", "-U__AVX2__")),
]
"""the last one for processors without packing, which gcc takes this one to be"""
REORDERS = [
    ("u8", "f32", Conversion(), "low_part_u8x16_u32x4("),
    ("s8", "f32", Conversion(), "signed_part_i8x16_i32x4("),
    ("u16", "f32", Conversion(), "low_part_u16x8_u32x4("),
    ("s16", "f32", Conversion(), "signed_part_i16x8_i32x4("),
    ("bf16", "f32", Conversion(), "upper_part_u16x8_u32x4("),
    ("s8", "s16", Conversion(), "signed_part_i8x16_i16x8("),
    ("s4", "f32", Conversion(src_scale=0.5), "low_part_u8x16_u32x4("),
    ("s32", "s8", Conversion(), "saturated_i32x4_i8x16("),
    ("f32", "f8_e4m3", Conversion(), "narrowed_i32x4_i8x16("),
    ("s32", "u16", Conversion(), "narrowed_i32x4_i16x8("),
    ("u16", "u8", Conversion(), "narrowed_i16x8_i8x16("),
    ("f32", "bf16", Conversion(), "narrowed_bf16_f32x4_i16x8("),
    ("f32", "bf16", Conversion(src_scale=0.75), "narrowed_usual_bf16_f32x4_i16x8("),
    ("f32", "bf16", Conversion(), "narrowed_bf16_f32x8_i16x16("),
    ("f32", "bf16", Conversion(src_scale=0.75), "narrowed_usual_bf16_f32x8_i16x16("),
    ("f32", "f8_e4m3", Conversion(), "low_bytes_of_half_signed("),
    ("f32", "e8m0", Conversion(), "low_bytes_of_half("),
]
OF_AVX2 = {helper for *_, helper in REORDERS if re.search("f32x8|of_half", helper)}
ONE_BY_ONE = "Ab24a", "bf16", "avx2", Conversion()
"""what is narrowed a register at a time"""
MOVES = [("ab", "ab"), ("ab", "ba"), ("Ab24a", "ab")]


@pytest.mark.parametrize(("compiler", "flags"), BUILDS, ids=lambda part: part if isinstance(part, str) else part[-1])
@pytest.mark.parametrize(
    ("type", "to_type", "conversion", "helper"),
    REORDERS,
    ids=lambda part: part if isinstance(part, str) else "",
)
def test_any_bits(
    compiler: str,
    flags: tuple[str, ...],
    type: str,
    to_type: str,
    conversion: Conversion,
    helper: str,
    tmp_path: Path,
) -> None:
    path = compiler_named(compiler)
    if path is None:
        pytest.skip(f"{compiler} is not here")
    source = layoutc.desc("Ab24a", (256, 272), type)
    codes = np.random.default_rng(1).integers(0, 256, source.size_bytes).astype(np.uint8)
    if source.element_type.bits == 32:
        # Most numbers of 32 bits are saturated: these have fewer.
        codes = (codes.view(np.int32) >> np.arange(codes.size // 4) % 28).astype(np.int32).view(np.uint8)
    for tag, to_tag in MOVES:
        source, destination = layoutc.desc(tag, (256, 272), type), layoutc.desc(to_tag, (256, 272), to_type)
        target = "avx2" if helper in OF_AVX2 else "sse2"
        text = layoutc.Kernel(source, destination, target=target, conversion=conversion).c_source
        assert helper in text or tag != to_tag
        assert "narrow_bf16_f32x8(r" in text or (tag, to_type, target, conversion) != ONE_BY_ONE
        got, expected = (np.empty(destination.size_bytes, np.uint8) for _ in range(2))
        given = codes[: source.size_bytes]
        pointers = (ctypes.c_void_p(array.ctypes.data) for array in (given, got))
        folder = tmp_path / f"{tag}_{to_tag}"
        folder.mkdir()
        library = compiled(text, path, folder, *flags, "-Wall", "-Wextra", "-Werror", "-Wno-psabi")
        library("reorder", [ctypes.c_void_p] * 2)(*pointers)
        reference.reorder(source, destination, given, expected, conversion)
        np.testing.assert_array_equal(got, expected)


WITHOUT_LANES = [
    ((289, 3), ("Ab3a", "s64"), ("ab", "s8")),
    ((289, 3), ("Ab3a", "s32"), ("ab", "f16")),
    ((7, 9, 13), ("aBc4b", "f32"), ("cAb3a", "s64")),
    ((18, 121, 99), ("bca", "u4"), ("bac", "bf16")),
]


@pytest.mark.parametrize(("target", "size"), [("sse2", 16), ("avx2", 32), ("avx512", 64)])
@pytest.mark.parametrize(("dims", "source", "destination"), WITHOUT_LANES)
def test_no_vector_is_wider_than_a_register(
    target: str, size: int, dims: tuple[int, ...], source: tuple[str, str], destination: tuple[str, str]
) -> None:
    """gcc keeps such in memory, and copies all of it for each lane that is set."""
    (tag, type), (to_tag, to_type) = source, destination
    kernel = layoutc.Kernel(layoutc.desc(tag, dims, type), layoutc.desc(to_tag, dims, to_type), target=target)
    _, _, body = kernel.c_source.partition("void reorder(")
    types = {VectorType.named(match[0]) for match in re.finditer(rf"\b{VECTOR_TYPE}\b", body)}
    assert types and max(type.bytes for type in types) <= size


@pytest.mark.parametrize(
    ("strides", "dims", "target"),
    [((0, 1), (2, 34), "avx2"), ((5, 1, 0), (12, 34, 2), "avx2"), ((1, 1, 0), (2, 34, 2), "avx512")],
    ids=["rows that are one", "pairs that are one", "rows that overlap"],
)
def test_registers_that_are_the_same_are_narrowed_together(
    strides: tuple[int, ...], dims: tuple[int, ...], target: str
) -> None:
    """Steps that the lanes of both take the place of go once, and not before all pairs are joined."""
    letters = "abc"[: len(dims)]
    source = layoutc.desc(letters, dims, "s64", strides=strides)
    destination = layoutc.desc("ba" if len(dims) == 2 else letters, dims, "u16")
    kernel = layoutc.compile(source, destination, executor="interpret", target=target)
    data = np.arange(-5, source.size_bytes // 8 - 5, dtype=np.int64) * 40
    expected, found = (np.full(destination.size_bytes, 0xA5, np.uint8) for _ in range(2))
    reference.reorder(source, destination, data, expected)
    kernel(data, found)
    np.testing.assert_array_equal(found, expected)
