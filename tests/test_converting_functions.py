"""Tiles of many registers call a function for each that they convert: a macro in C."""

from __future__ import annotations

import ctypes
from pathlib import Path

import numpy as np
import pytest

import layoutc
from layoutc.conversion import Conversion
from layoutc.param import Param
from layoutc.planning.choose import choose_plan
from layoutc.planning.machine import machine
from layoutc.planning.plan_text import plan_lines
from tests.c_programs import compiled, compiler_named

CASES = [
    ("ab", "ba", (64, 28), "f32", "u32", Conversion(dst_scale=0.25, dst_zero_point=3)),
    ("ab", "ba", (48, 33), "s8", "s16", Conversion(dst_scale=Param(axes=(0,)))),
    ("ab", "ba", (64, 17), "f8_e5m2", "f16", Conversion(src_scale=Param(axes=(1,)))),
    ("ba", "ba", (14, 96), "boolean", "bf16", Conversion(src_scale=Param(axes=(0,)), src_zero_point=3)),
    ("BA16a6a6b", "ba", (75, 64), "bf16", "s32", Conversion()),
    (
        "ab",
        "ba",
        (64, 64),
        "s8",
        "s32",
        Conversion(src_scale=Param(axes=(0,)), dst_zero_point=Param((0.25,), dtype="f32")),
    ),
    ("ab", "ba", (64, 64), "s16", "s16", Conversion(src_scale=0.5, sum=0.5)),
    ("abcd", "aBcd16b", (1, 64, 4, 56), "f32", "s8", Conversion(dst_scale=0.25, dst_zero_point=3)),
]
TARGETS = {"avx512": "-march=x86-64-v4", "avx2": "-march=x86-64-v3", "sse2": "-march=x86-64"}


def kernel(case: int, target: str, executor: layoutc.kernel.Executor = "c") -> layoutc.Kernel:
    source, destination, dims, type, to_type, conversion = CASES[case]
    sides = layoutc.desc(source, dims, type), layoutc.desc(destination, dims, to_type)
    return layoutc.Kernel(*sides, executor, target=target, conversion=conversion)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("case", range(len(CASES)))
def test_executors_agree(case: int, target: str, tmp_path: Path) -> None:
    here = kernel(case, target)
    if target == "avx512":
        assert "reorder_convert(" in here.c_source
    rng = np.random.default_rng(3)
    x = rng.integers(0, 255, here.source_bytes).astype(np.uint8)
    if CASES[case][3] == "f32":
        x = rng.normal(0, 1000, here.source_bytes // 4).astype(np.float32).view(np.uint8)
    old = rng.integers(0, 255, here.destination_bytes).astype(np.uint8)
    count = {param.axes: CASES[case][2][param.axes[0]] for param in here.conversion.arguments.values()}
    given = {
        name: rng.uniform(0.5, 2, count[param.axes]).astype(np.float32).tobytes()
        for name, param in here.conversion.arguments.items()
    }
    expected, got = old.copy(), old.copy()
    kernel(case, target, "reference")(x, expected, **given)
    kernel(case, target, "interpret")(x, got, **given)
    np.testing.assert_array_equal(got, expected)
    for name in ("gcc", "clang"):
        if (path := compiler_named(name)) is None:
            continue
        function = compiled(here.c_source, path, tmp_path, "-O2", TARGETS[target], "-Wall", "-Wextra", "-Werror")(
            "reorder", [ctypes.c_void_p] * (2 + len(given))
        )
        got = old.copy()
        if target != "avx512" or "avx512bw" in Path("/proc/cpuinfo").read_text():
            function(*(ctypes.c_void_p(np.frombuffer(a, np.uint8).ctypes.data) for a in (x, got, *given.values())))
            np.testing.assert_array_equal(got, expected)


def test_small_conversions_stay_in_place() -> None:
    """One or two ops are as easily read where they are, and few registers are no text."""
    wide = layoutc.Kernel(layoutc.desc("ab", (64, 64), "s8"), layoutc.desc("ba", (64, 64), "s16"), target="avx512")
    few = layoutc.Kernel(layoutc.desc("ab", (4, 64), "f32"), layoutc.desc("ab", (4, 64), "s8"), target="avx512")
    assert "_convert(" not in wide.c_source + few.c_source


def test_registers_of_several_pieces_have_one_call() -> None:
    source, destination = layoutc.desc("nchw", (1, 64, 4, 56), "f32"), layoutc.desc("nChw16c", (1, 64, 4, 56), "s8")
    text = layoutc.Kernel(source, destination, target="avx512", conversion=Conversion(dst_scale=0.25)).c_source
    assert "reorder_convert(given, given_2, given_3, given_4)" in text
    macro, tiles = text.split("void reorder(")
    assert "saturated_f32x16_i8x64(" in macro.split("#define reorder_convert")[1]
    assert "saturated_" not in tiles.split("#undef")[0]


def test_functions_of_two_reorders_have_names_of_their_own() -> None:
    from layoutc.pipeline import lower, reorder_module

    sides = layoutc.desc("ab", (64, 28), "f32"), layoutc.desc("ba", (64, 28), "u32")
    module = reorder_module(*sides)
    for op in list(reorder_module(*sides, "reorder_convert").ops):
        op.detach()
        module.body.block.add_op(op)
    lower(module, target="avx512")
    module.verify()
    names = [op.sym_name.data for op in module.ops]  # pyright: ignore
    assert len(set(names)) == len(names) == 4


def test_functions_do_not_have_the_name_of_a_constant() -> None:
    from xdsl.dialects import memref
    from xdsl.dialects.builtin import MemRefType, StringAttr, UnitAttr, f32

    from layoutc.pipeline import lower, reorder_module

    module = reorder_module(layoutc.desc("ab", (64, 28), "f32"), layoutc.desc("ba", (64, 28), "u32"))
    constant = memref.GlobalOp.get(
        StringAttr("reorder_convert"), MemRefType(f32, (2,)), UnitAttr(), sym_visibility=StringAttr("private")
    )
    module.body.block.add_op(constant)
    lower(module, target="avx512")
    names = [op.sym_name.data for op in module.ops]  # pyright: ignore
    assert len(set(names)) == len(names) == 3


def test_tiles_of_other_lanes_call_other_functions() -> None:
    """Of the same registers one tile converts 16 lanes at once, and stores these, and the other 8."""
    sides = layoutc.desc("Ba32b", (32, 48), "bf16"), layoutc.desc("ba", (32, 48), "s32")
    planned = plan_lines(choose_plan(*sides, machine("avx512")))
    lines = [line.replace("tile 16x16, lanes 0:16 -> 1:16", "tile 16x8, lanes 0:16 -> 1:8") for line in planned]
    assert lines != planned
    x = np.arange(-1024, 1024).astype(np.float32).view(np.uint32)
    read, expected, got = (x >> 16).astype(np.uint16), np.zeros(32 * 48, np.int32), np.zeros(32 * 48, np.int32)
    layoutc.Kernel(*sides, "reference")(read, expected)
    layoutc.Kernel(*sides, "interpret", target="avx512", plan=tuple(lines))(read, got)
    np.testing.assert_array_equal(got, expected)
