"""Clamped lanes of several registers become bytes at once, whatever numbers are among them."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest

import layoutc
from layoutc.targets.patterns.saturated import LANES
from tests.c_programs import compiled, compiler_named, emitted
from tests.random_kernels import CROSS, EMULATOR

BUILDS = [("gcc", "-march=native"), ("clang", "-march=native"), ("gcc", "-march=x86-64"), ("gcc", "-mavx2")]
LARGE = [np.nan, np.inf, -np.inf, 3e38, -3e38, 2.0**31, -(2.0**31), 2147483520, 32767.5, 32768, -32768, -32768.5]
SMALL = [-0.0, 1e-40, -1e-40, 0.5, 1.5, 2.5, -0.5, -1.5, 126.5, 127.5, 128.5, -127.5, -128.5, -129, 254.5, 255.5, -8.5]
SPECIAL = np.array([*LARGE, *SMALL], np.float32)
"""what is no number, too large for 32 or 16 bits, as near as can be to that, tiny, midway between integers"""
NAMED = {"rows": layoutc.Param(axes=(0,)), "argument": layoutc.Param()}
SHAPE = (48, 256)
FOR_NEON = ("--target=aarch64-linux-gnu", "-isystem", "/usr/aarch64-linux-gnu/include")
"""what clang is told"""
TARGETS = {"avx512": 16, "avx2": 8, "sse2": 4}
"""targets, and the lanes of their registers"""


def numbers(type: str, shape: tuple[int, int], scale: float) -> np.ndarray:
    """Mostly usual ones; every row but the first has one special number, or several, anywhere."""
    rng = np.random.default_rng(3)
    x = rng.normal(0, 40 * scale, shape).astype(np.float32)
    for row in range(1, shape[0]):
        at = rng.integers(0, shape[1], 1 + row % 3)
        x[row, at] = rng.choice(SPECIAL, len(at)) * np.float32(scale)
    if type == "s32":
        edges = np.array([-(2**31), 2**31 - 1, -32769, -32768, 32767, 32768, -129, 127, 128, 255, 256], np.int64)
        whole = rng.integers(-300, 300, shape)
        return np.where(rng.integers(0, 9, shape) == 0, rng.choice(edges, shape), whole).astype(np.int32)
    with np.errstate(over="ignore"):
        return x.astype(layoutc.desc("a", (1,), type).element_type.numpy)


CASES = [
    ("f32", "s8", None, None),
    ("f32", "u8", 0.37, None),
    ("f32", "u8", "argument", 3),
    ("f32", "s8", "rows", -100),
    ("f32", "s8", "rows", -(2**31)),
    ("f32", "s4", "rows", None),
    ("f32", "u4", 0.37, 7),
    ("bf16", "s8", None, None),
    ("f16", "u2", None, None),
    ("s32", "s8", None, None),
    ("s32", "u8", None, None),
    ("s32", "s4", None, None),
    ("s32", "s8", "argument", None),
]
"""element types, scales of the destination, and its zero points"""
CASE = pytest.mark.parametrize(("type", "to_type", "scale", "zero_point"), CASES)


class Job(NamedTuple):
    """A kernel, what it is given, and what it has to write."""

    text: str
    given: list[np.ndarray]
    expected: np.ndarray

    @classmethod
    def of(cls, type: str, to_type: str, scale: float | str | None, zero_point: int | None, target: str) -> Job:
        source, destination = layoutc.desc("ab", SHAPE, type), layoutc.desc("ab", SHAPE, to_type)
        given = NAMED[scale] if isinstance(scale, str) else scale
        conversion = layoutc.Conversion(dst_scale=given, dst_zero_point=zero_point)
        text = layoutc.Kernel(source, destination, target=target, conversion=conversion).c_source
        size = 1.0 if scale is None else 0.37
        x = numbers(type, SHAPE, size)
        scales = [np.full(SHAPE[0] if scale == "rows" else 1, size, np.float32)] if isinstance(scale, str) else []
        expected = np.empty(destination.size_bytes, np.uint8)
        reference = layoutc.Kernel(source, destination, "reference", conversion=conversion)
        reference(x.view(np.uint8).reshape(-1), expected, **({"dst_scale": scales[0]} if scales else {}))
        return cls(text, [x, *scales], expected)


@pytest.mark.parametrize(("compiler", "flag"), BUILDS)
@pytest.mark.parametrize("target", TARGETS)
@CASE
def test_numbers_of_all_kinds(
    type: str,
    to_type: str,
    scale: float | str | None,
    zero_point: int | None,
    target: str,
    compiler: str,
    flag: str,
    tmp_path: Path,
) -> None:
    if (path := compiler_named(compiler)) is None:
        pytest.skip(f"{compiler} is not here")
    job = Job.of(type, to_type, scale, zero_point, target)
    is_moved_by_shuffles = type == "s32" and scale is None and TARGETS[target] == LANES[-1]
    assert ("saturated_" in job.text) != is_moved_by_shuffles
    x, *scales = job.given
    got = np.empty_like(job.expected)
    pointers = [ctypes.c_void_p(array.ctypes.data) for array in (x, got, *scales)]
    function = compiled(job.text, path, tmp_path, "-O2", flag, "-Wall", "-Wextra", "-Werror", "-Wno-psabi")
    function("reorder", [ctypes.c_void_p] * len(pointers))(*pointers)
    np.testing.assert_array_equal(got, job.expected)


def run_in_qemu(job: Job, compiler: str, folder: Path) -> np.ndarray:
    """What a kernel for NEON writes."""
    path = compiler_named(compiler)
    if shutil.which(CROSS) is None or shutil.which(EMULATOR[0]) is None or path is None:
        pytest.skip(f"no {CROSS}, {EMULATOR[0]} or {compiler}")
    names = ["src", "dst", *(["scales"] if len(job.given) > 1 else [])]
    sizes = [job.given[0].nbytes, job.expected.nbytes, *(each.nbytes for each in job.given[1:])]
    lines = [
        f"static char {name}[{size}] __attribute__((aligned(64)));" for name, size in zip(names, sizes, strict=True)
    ]
    reads = [f"if (fread({name}, sizeof({name}), 1, stdin) != 1) return 1;" for name in names if name != "dst"]
    call = f"reorder({', '.join(f'(void *){name}' for name in names)});"
    writes = "return fwrite(dst, sizeof(dst), 1, stdout) != 1;"
    main = "\n".join(["#include <stdio.h>", *lines, "int main(void) {", *reads, call, writes, "}"])
    source, objects, program = folder / "program.c", folder / "program.o", folder / "program"
    source.write_text(f"{job.text}\n{main}\n")
    by = (path, *FOR_NEON) if compiler == "clang" else (CROSS,)
    flags = ("-O2", "-Wall", "-Wextra", "-Werror", "-Wno-psabi")
    subprocess.run([*by, *flags, "-c", "-o", objects, source], check=True)
    subprocess.run([CROSS, "-o", program, objects], check=True)
    given = b"".join(each.tobytes() for each in job.given)
    got = subprocess.run([*EMULATOR, program], input=given, capture_output=True, check=True).stdout
    return np.frombuffer(got, np.uint8)


@CASE
def test_in_neon(type: str, to_type: str, scale: float | str | None, zero_point: int | None, tmp_path: Path) -> None:
    """NEON saturates without a question."""
    job = Job.of(type, to_type, scale, zero_point, "neon")
    np.testing.assert_array_equal(run_in_qemu(job, "gcc", tmp_path), job.expected)


@pytest.mark.parametrize("compiler", ["gcc", "clang"])
def test_nan_that_signals_in_neon(compiler: str, tmp_path: Path) -> None:
    """A register that is clamped by itself has 0 for it: clang made an extremum of the choice, which has not."""
    source, destination = layoutc.desc("ab", (19, 83), "f32"), layoutc.desc("aB32b", (19, 83), "u4")
    text = layoutc.Kernel(source, destination, target="neon").c_source
    assert "max_f32x4(r" in text
    x = np.arange(19 * 83, dtype=np.float32).reshape(19, 83) % 17
    x.view(np.uint32)[::2, ::3] = 0x7F800001
    expected = np.empty(destination.size_bytes, np.uint8)
    layoutc.Kernel(source, destination, "reference")(x, expected)
    np.testing.assert_array_equal(run_in_qemu(Job(text, [x], expected), compiler, tmp_path), expected)


def test_two_registers_are_half_of_one() -> None:
    source, destination = layoutc.desc("ab", (256, 512), "f32"), layoutc.desc("ba", (256, 512), "s4")
    text = layoutc.Kernel(source, destination, target="avx512", conversion=layoutc.Conversion(dst_scale=0.4)).c_source
    assert "saturated_limited_f32x16_i8x32(" in text


LIMITS = [(-128, 127), (0, 255), (-7, 100), (0, 200), (-200, 127), (-128, 255), (0, 1000)]


def joined(kind: str, low: float, high: float, also: str = "", through: str = "i8") -> str:
    """Two registers of 8 that are clamped, become bytes, or other lanes, and lie side by side as bytes."""
    count = {"i8": 8, "i16": 16}[through]
    lines: list[str] = []
    for number in range(2):
        lines += [f"%x{number} = vector.load %source[%c{8 * number}] : memref<16x{kind}>, vector<8x{kind}>"]
        lines += _clamped(number) if kind == "i32" else _rounded(number)
        lines += [f"%narrow{number} = arith.trunci %clamped{number} : vector<8xi32> to vector<8x{through}>"]
        lines += [f"%byte{number} = vector.bitcast %narrow{number} : vector<8x{through}> to vector<{count}xi8>"]
    lanes = ", ".join(map(str, range(2 * count)))
    body = "\n".join(lines)
    return emitted(f"""func.func @f(%source : memref<16x{kind}>, %target : memref<{2 * count}xi8>) {{
      %c0 = arith.constant 0 : index
      %c8 = arith.constant 8 : index
      %low = arith.constant dense<{low}> : vector<8x{kind}>
      %high = arith.constant dense<{high}> : vector<8x{kind}>
      %zero = arith.constant dense<0.0> : vector<8xf32>
      %magic = arith.constant dense<12582912.0> : vector<8xf32>
      {body}
      {also}
      %all = vector.shuffle %byte0, %byte1 [{lanes}] {{layout.inserted}} : vector<{count}xi8>, vector<{count}xi8>
      vector.store %all, %target[%c0] : memref<{2 * count}xi8>, vector<{2 * count}xi8>
      func.return
    }}""")


def _clamped(number: int) -> list[str]:
    return [
        f"%above{number} = arith.maxsi %x{number}, %low : vector<8xi32>",
        f"%clamped{number} = arith.minsi %above{number}, %high : vector<8xi32>",
    ]


def _rounded(number: int) -> list[str]:
    return [
        f"%greater{number} = arith.cmpf ogt, %x{number}, %low : vector<8xf32>",
        f"%above{number} = arith.select %greater{number}, %x{number}, %low : vector<8xi1>, vector<8xf32>",
        f"%less{number} = arith.cmpf olt, %above{number}, %high : vector<8xf32>",
        f"%within{number} = arith.select %less{number}, %above{number}, %high : vector<8xi1>, vector<8xf32>",
        f"%sum{number} = arith.addf %within{number}, %magic : vector<8xf32>",
        f"%nan{number} = arith.cmpf uno, %x{number}, %x{number} : vector<8xf32>",
        f"%rounded{number} = arith.select %nan{number}, %zero, %sum{number} : vector<8xi1>, vector<8xf32>",
        f"%clamped{number} = arith.bitcast %rounded{number} : vector<8xf32> to vector<8xi32>",
    ]


@pytest.mark.parametrize("stored", [False, True])
def test_lanes_that_something_else_uses_too(stored: bool) -> None:
    """They are clamped by themselves then, once."""
    also = "vector.store %clamped0, %source[%c0] : memref<16xi32>, vector<8xi32>" if stored else ""
    code = joined("i32", -128, 127, also).split("void f(")[1].split("#undef")[0]
    assert ("saturated_i32x8_i8x16(" in code, code.count("max_i32x8(")) == ((False, 2) if stored else (True, 0))


def test_pairs_of_a_small_register_that_are_looked_at_as_bytes(tmp_path: Path) -> None:
    """What packs registers of 16 bytes has them as pairs."""
    if (path := compiler_named("gcc")) is None:
        pytest.skip("gcc is not here")
    lines = [
        f"""%x{k} = vector.load %source[%c{4 * k}] : memref<8xi32>, vector<4xi32>
        %pairs{k} = arith.trunci %x{k} : vector<4xi32> to vector<4xi16>
        %bytes{k} = vector.bitcast %pairs{k} : vector<4xi16> to vector<8xi8>"""
        for k in range(2)
    ]
    text = emitted(f"""func.func @f(%source : memref<8xi32>, %target : memref<16xi8>) {{
      %c0 = arith.constant 0 : index
      %c4 = arith.constant 4 : index
      {" ".join(lines)}
      %all = vector.shuffle %bytes0, %bytes1 [{", ".join(map(str, range(16)))}] : vector<8xi8>, vector<8xi8>
      vector.store %all, %target[%c0] : memref<16xi8>, vector<16xi8>
      func.return
    }}""")
    x, got = np.arange(-70000, 70000, 17501).astype(np.int32)[:8], np.zeros(8, np.int16)
    function = compiled(text, path, tmp_path, "-O2", "-Wno-psabi")
    function("f", [ctypes.c_void_p] * 2)(x.ctypes.data, got.ctypes.data)
    np.testing.assert_array_equal(got, x.astype(np.int16))


def test_pairs_that_are_looked_at_as_bytes(tmp_path: Path) -> None:
    """No low bytes of words, however they are called."""
    if (path := compiler_named("gcc")) is None:
        pytest.skip("gcc is not here")
    x, got = np.arange(-1600, 1600, 200).astype(np.int32), np.zeros(16, np.int16)
    function = compiled(joined("i32", -128, 127, through="i16"), path, tmp_path, "-O2", "-Wno-psabi")
    function("f", [ctypes.c_void_p] * 2)(x.ctypes.data, got.ctypes.data)
    np.testing.assert_array_equal(got, np.clip(x, -128, 127))


@pytest.mark.parametrize("flag", ["-march=x86-64", "-march=x86-64-v3"])
@pytest.mark.parametrize(
    ("kind", "low", "high"), [*((kind, *limits) for kind in ("i32", "f32") for limits in LIMITS), ("f32", 0.5, 126.6)]
)
def test_other_limits(kind: str, low: float, high: float, flag: str, tmp_path: Path) -> None:
    """Bytes are the low ones of what was clamped, also where that is more than a byte, or no whole number."""
    if (path := compiler_named("gcc")) is None:
        pytest.skip("gcc is not here")
    x = np.array([-40000, -300, -200, -129, -128, -7, 0, 1, 99, 126, 127, 150, 201, 256, 999, 40000])
    given, got = x.astype(np.int32 if kind == "i32" else np.float32), np.zeros(16, np.int8)
    text = joined(kind, *((low, high) if kind == "i32" else (float(low), float(high))))
    function = compiled(text, path, tmp_path, "-O2", flag, "-Wno-psabi")
    function("f", [ctypes.c_void_p] * 2)(given.ctypes.data, got.ctypes.data)
    np.testing.assert_array_equal(got, np.rint(np.clip(x, low, high)).astype(np.int64).astype(np.int8))
