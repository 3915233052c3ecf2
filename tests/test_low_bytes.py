"""The low bytes of registers of words become one, by whatever instructions."""

from __future__ import annotations

import ctypes
from pathlib import Path

import numpy as np
import pytest

import layoutc
from layoutc.planning.choose import choose_plan
from layoutc.planning.plan_text import plan_lines
from layoutc.targets.helpers.c_resize_helpers import resize_helper
from layoutc.targets.words.c_vector_types import VectorType
from tests.c_programs import compiled, compiler_named, emitted

BUILDS = [
    ("gcc", ("-O2", "-march=native")),
    ("gcc", ("-O2", "-march=native", "-D__znver4__")),
    ("gcc", ("-O2", "-march=native", "-U__znver3__", "-U__znver4__", "-U__znver5__")),
    ("clang", ("-O2", "-march=native")),
    ("gcc", ("-O2",)),
]
"""shuffles of two registers are one step or three"""


@pytest.mark.parametrize(
    ("compiler", "flags"), BUILDS, ids=lambda part: part if isinstance(part, str) else "".join(part)
)
@pytest.mark.parametrize(
    ("tag", "type", "to_type", "made"),
    [
        ("ab", "s32", "s8", " = (i8x64)low_bytes("),
        ("aB16b", "s32", "s8", " = (i8x64)low_bytes("),
        ("ba", "s32", "s8", "(i8x32)low_bytes_of_pair("),
        ("ab", "f32", "s4", "resize_i16x32_i8x32("),
        ("ab", "f32", "f8_e4m3", " = (i8x64)low_bytes_signed("),
        ("ab", "f32", "e8m0", " = (i8x64)low_bytes("),
    ],
)
def test_low_bytes(
    compiler: str, flags: tuple[str, ...], tag: str, type: str, to_type: str, made: str, tmp_path: Path
) -> None:
    path = compiler_named(compiler)
    if path is None:
        pytest.skip(f"{compiler} is not here")
    source, destination = layoutc.desc("ab", (64, 256), type), layoutc.desc(tag, (64, 256), to_type)
    straight = tuple(plan_lines(choose_plan(source, destination, goes_through=False)))
    text = layoutc.Kernel(source, destination, plan=straight).c_source
    if not any(f"vectors of 64, {shuffles} shuffles" in text for shuffles in ("any", "single")):
        pytest.skip("this machine has no shuffles of bytes")
    assert made in text
    x = np.random.default_rng(5).integers(-30000, 30000, (64, 256)).astype(source.element_type.numpy)
    got, expected = (np.empty(destination.size_bytes, np.uint8) for _ in range(2))
    pointers = (ctypes.c_void_p(array.ctypes.data) for array in (x, got))
    compiled(text, path, tmp_path, *flags, "-Wall", "-Werror", "-Wno-psabi")("reorder", [ctypes.c_void_p] * 2)(
        *pointers
    )
    layoutc.Kernel(source, destination, "reference")(x.reshape(-1), expected)
    np.testing.assert_array_equal(got, expected)


def test_lanes_of_one_register_become_narrow_by_one_shuffle() -> None:
    """Where bytes are shuffled; of less than a register, and into less than 16 bytes, another instruction does it."""
    names = (("i32x16", "i8x16"), ("i16x32", "i8x32"), ("i64x8", "i8x8"), ("i16x16", "i8x16"))
    texts = [resize_helper(VectorType.named(source), VectorType.named(target)) for source, target in names]
    assert ["permvarqi512" in text for text in texts] == [True, True, False, False]


@pytest.mark.parametrize(("bits", "made"), [(32, True), (64, False)])
def test_signs_are_those_of_words(bits: int, made: bool) -> None:
    """The highest byte of a word is not that of a number of 64 bits."""
    lanes = 512 // bits
    wide = f"vector<{lanes}xi{bits}>"
    lines: list[str] = []
    for number in range(4):
        lines += [
            f"%c{number} = arith.constant {number * lanes} : index",
            f"%x{number} = vector.load %source[%c{number}] : memref<{4 * lanes}xi{bits}>, {wide}",
            f"%upper{number} = arith.shrui %x{number}, %place : {wide}",
            f"%sign{number} = arith.andi %upper{number}, %highest : {wide}",
            f"%code{number} = arith.addi %x{number}, %highest : {wide}",
            f"%signed{number} = arith.ori %code{number}, %sign{number} : {wide}",
            f"%pairs{number} = vector.bitcast %signed{number} : {wide} to vector<32xi16>",
        ]
    evens = {count: ", ".join(map(str, range(0, 2 * count, 2))) for count in (32, 64)}
    for number in (0, 2):
        pair = f"%pairs{number}, %pairs{number + 1}"
        lines += [
            f"%even{number} = vector.shuffle {pair} [{evens[32]}] : vector<32xi16>, vector<32xi16>",
            f"%bytes{number} = vector.bitcast %even{number} : vector<32xi16> to vector<64xi8>",
        ]
    body = "\n".join(lines)
    text = emitted(f"""func.func @f(%source : memref<{4 * lanes}xi{bits}>, %target : memref<64xi8>) {{
      %place = arith.constant dense<24> : {wide}
      %highest = arith.constant dense<128> : {wide}
      {body}
      %all = vector.shuffle %bytes0, %bytes2 [{evens[64]}] : vector<64xi8>, vector<64xi8>
      vector.store %all, %target[%c0] : memref<64xi8>, vector<64xi8>
      func.return
    }}""")
    assert ("low_bytes_signed(" in text) == made and "low_bytes" in text
