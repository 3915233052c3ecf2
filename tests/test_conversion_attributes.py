"""Scales, zero points, sum and compensation, constant and given at run time: all executors agree byte for byte."""

from __future__ import annotations

import ctypes
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp

from layoutc import reference
from layoutc.compensation import Compensation
from layoutc.conversion import Conversion
from layoutc.descriptor import MemoryDesc
from layoutc.element_type import element_type
from layoutc.interpreted import interpreted
from layoutc.numeric.arithmetic import constant_bytes
from layoutc.param import Param
from layoutc.pipeline import lower, reorder_module
from layoutc.targets.c import emit_c
from tests.c_programs import compiled, compiler_named
from tests.descriptors import desc

BUILDS = (("gcc", ("-O3", "-march=native", "-ffp-contract=fast")), ("gcc", ("-O2",)), ("clang", ("-O2",)))
LAYOUTS = {
    "plain": (desc("ab", (6, 10)), desc("ab", (6, 10))),
    "transposed": (desc("ab", (6, 10)), desc("ba", (6, 10))),
    "tailed": (desc("ab", (6, 10)), desc("AB4a4b", (6, 10))),
    "odd": (desc("ab", (5, 3)), desc("ba", (5, 3))),
    "gaps": (desc("ba", (6, 10)), desc("ab", (6, 10), strides=(23, 2), base_offset=3)),
    "border": (desc("ab", (6, 10), low=(1, 0), high=(0, 2)), desc("aB4b", (6, 10), low=(0, 1), high=(1, 3))),
    "interleaved": (desc("ab", (2, 5)), desc("ab", (2, 5), strides=(3, 2))),
    "flattened": (desc("ab", (6, 10)), desc("ab", (6, 10))),
}


def param(
    type: str, axes: tuple[int, ...] = (), groups: tuple[int, ...] = (), dims: tuple[int, ...] = (6, 10)
) -> Param:
    """A parameter with distinct values, powers of two where the type has no others."""
    shape = Param(None, axes, groups).shape(dims)
    count = int(np.prod(shape))
    if type == "e8m0":
        values = [2.0 ** (n % 5 - 2) for n in range(count)]
    elif type[0] in "su":
        values = [n * 5 % 15 - (7 if type[0] == "s" else 0) for n in range(count)]
    else:
        values = [0.1 + 0.3 * n for n in range(count)]
    return Param(values, axes, groups, type)


CASES: dict[str, tuple[str, str, str, Conversion]] = {
    "dst scale": ("f32", "s8", "plain", Conversion(dst_scale=0.07)),
    "dst scale per axis": ("f32", "u8", "transposed", Conversion(dst_scale=param("f32", (1,)))),
    "dst scale and zero point": (
        "f32",
        "u8",
        "tailed",
        Conversion(dst_scale=0.3, dst_zero_point=Param(17, dtype="u8")),
    ),
    "reciprocal": ("f32", "s8", "plain", Conversion(dst_scale=param("f32", (0,)), reciprocal=True)),
    "reciprocal and zero point": ("f32", "f32", "plain", Conversion(dst_scale=0.3, reciprocal=True, dst_zero_point=3)),
    "src scale and zero point": (
        "u8",
        "f32",
        "transposed",
        Conversion(src_scale=param("f32", (1,)), src_zero_point=Param(100, dtype="u8")),
    ),
    "grouped scales": (
        "s4",
        "f32",
        "plain",
        Conversion(src_scale=param("f16", (0, 1), (3, 5)), src_zero_point=param("u4", (0, 1), (3, 5))),
    ),
    "bf16 and e8m0": (
        "f8_e4m3",
        "bf16",
        "tailed",
        Conversion(src_scale=param("bf16", (0,)), dst_scale=param("e8m0", (1,))),
    ),
    "sum": ("f32", "f32", "transposed", Conversion(src_scale=0.3, sum=0.7)),
    "sum of s8": ("s32", "s8", "tailed", Conversion(sum=1.0, dst_scale=7.0, src_zero_point=-3)),
    "all at once": (
        "bf16",
        "f16",
        "border",
        Conversion(param("f32", (0,)), param("s8", (1,)), param("f16", (0, 1)), param("bf16", (0,)), sum=-0.5),
    ),
    "zero points of integers": (
        "s64",
        "u64",
        "plain",
        Conversion(src_zero_point=-5, dst_zero_point=param("s32", (1,))),
    ),
    "zero points of u64": ("u64", "s64", "plain", Conversion(src_zero_point=7, dst_zero_point=param("s8", (0,)))),
    "zero points to s8": ("u64", "s8", "plain", Conversion(src_zero_point=200)),
    "zero points to u4": ("s8", "u4", "odd", Conversion(dst_zero_point=8)),
    "zero points of booleans": ("s64", "boolean", "plain", Conversion(src_zero_point=1)),
    "quantised to s4": ("f32", "s4", "tailed", Conversion(dst_scale=param("f32", (0,)))),
    "sum of s4": ("f32", "s4", "tailed", Conversion(dst_scale=4.0, sum=0.5)),
    "scaled booleans": ("boolean", "f16", "plain", Conversion(src_scale=3.0)),
    "odd count of u4": ("f32", "u4", "odd", Conversion(dst_scale=param("f32", (0,), dims=(5, 3)))),
    "gaps in s4": ("f16", "s4", "gaps", Conversion(dst_scale=0.2, sum=0.5)),
    "gaps in u2": ("f32", "u2", "gaps", Conversion(src_scale=0.2)),
    "border of f4": ("f32", "f4_e2m1", "border", Conversion(src_scale=2.0)),
    "interleaved u4": ("s8", "u4", "interleaved", Conversion(sum=2.0)),
    "moved s4": ("s4", "s4", "border", Conversion()),
    "moved u2": ("u2", "u2", "tailed", Conversion()),
    "moved f4 in gaps": ("f4_e2m1", "f4_e2m1", "gaps", Conversion()),
    "infinite scale": (
        "f32",
        "f32",
        "plain",
        Conversion(src_scale=3e38, dst_scale=1e-38, dst_zero_point=param("f32", (1,))),
    ),
    "s8s8": ("f32", "s8", "tailed", Conversion(src_scale=12.5, compensation=Compensation(s8s8=(0,)))),
    "both compensations": (
        "s8",
        "s8",
        "tailed",
        Conversion(compensation=Compensation(s8s8=(0,), asymmetric=(0, 1))),
    ),
}


def run_time(conversion: Conversion) -> Conversion:
    """The same with all parameters given when the kernel is called."""
    params = {name: replace_values(param) for name, param in conversion.params.items()}
    return Conversion(
        **params, sum=conversion.sum, reciprocal=conversion.reciprocal, compensation=conversion.compensation
    )  # pyright: ignore[reportArgumentType]


def replace_values(given: Param) -> Param:
    return Param(None, given.axes, given.groups, given.type)


NAMES = [(name, is_known) for name in CASES for is_known in (True, False)]


@cache
def case(name: str, is_known: bool) -> tuple[MemoryDesc, MemoryDesc, Conversion, dict[str, np.ndarray]]:
    source, destination, kind, conversion = CASES[name]
    sides = LAYOUTS[kind]
    src, dst = (replace(d, element_type=element_type(t)) for d, t in zip(sides, (source, destination), strict=True))
    if is_known:
        return src, dst, conversion, {}
    arguments = {given: constant_bytes(conversion.params[given]) for given in conversion.params}
    return src, dst, run_time(conversion), arguments


def buffers(name: str) -> tuple[np.ndarray, np.ndarray]:
    """Random bits, of floats mostly numbers of middling size; a destination that holds numbers too."""
    src, dst, conversion, _ = case(name, True)
    made: list[np.ndarray] = []
    for seed, side, size in ((0, src, src.size_bytes), (1, dst, conversion.destination_bytes(dst))):
        random = np.random.default_rng(seed)
        data = random.integers(0, 256, size, np.uint8)
        if side.element_type.name in ("f32", "f64") and name != "infinite scale":
            width = side.element_type.bits // 8
            data = (random.normal(size=size // width) * 20).astype(f"f{width}").view(np.uint8)
        made.append(data)
    return made[0], made[1]


@cache
def expected(name: str) -> np.ndarray:
    src, dst, conversion, _ = case(name, True)
    read, written = buffers(name)
    reference.reorder(src, dst, read, written, conversion)
    return written


@cache
def module() -> ModuleOp:
    """All cases, each a function."""
    made = ModuleOp([])
    for number, (name, is_known) in enumerate(NAMES):
        src, dst, conversion, _ = case(name, is_known)
        for op in list(reorder_module(src, dst, f"reorder_{number}", conversion).ops):
            op.detach()
            made.body.block.add_op(op)
    lower(made)
    made.verify()
    return made


@pytest.mark.parametrize("name", CASES)
def test_interpreter_agrees_with_reference(name: str) -> None:
    for is_known in (True, False):
        src, dst, conversion, arguments = case(name, is_known)
        function = f"reorder_{NAMES.index((name, is_known))}"
        read, written = buffers(name)
        interpreted(module(), function, src, dst, conversion, is_plain=True)(read, written, *arguments.values())
        np.testing.assert_array_equal(written, expected(name), f"parameters are known: {is_known}")


@pytest.mark.parametrize(("compiler", "flags"), BUILDS, ids=[" ".join((name, *flags)) for name, flags in BUILDS])
def test_c_agrees_with_reference(compiler: str, flags: tuple[str, ...], tmp_path: Path) -> None:
    path = compiler_named(compiler)
    if path is None:
        pytest.skip(f"no {compiler}")
    load = compiled(emit_c(module()), path, tmp_path, *flags)
    for number, (name, is_known) in enumerate(NAMES):
        _, dst, conversion, arguments = case(name, is_known)
        read, written = buffers(name)
        starts = () if conversion.compensation is None else conversion.compensation.offsets_bytes(dst)[:-1]
        pointers = [read, written, *arguments.values(), *(written[start:] for start in starts)]
        load(f"reorder_{number}", (ctypes.c_void_p,) * len(pointers))(*(p.ctypes.data for p in pointers))
        np.testing.assert_array_equal(written, expected(name), f"{name}, parameters are known: {is_known}")
