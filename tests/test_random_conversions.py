"""Random reorders with scales, zero points and sums by index, by plans: the same bytes as by definition."""

from __future__ import annotations

import ctypes
import os
import random
import zlib
from dataclasses import dataclass
from functools import cache
from math import prod
from pathlib import Path

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp

from layoutc import reference
from layoutc.conversion import Conversion
from layoutc.descriptor import MemoryDesc
from layoutc.dialects.ops import ReorderOp
from layoutc.errors import LayoutcError
from layoutc.interpreted import interpreted
from layoutc.numeric.arithmetic import constant_bytes
from layoutc.param import Param
from layoutc.pipeline import lower, reorder_module
from layoutc.targets.c import emit_c
from tests.c_programs import compiled, compiler_named
from tests.random_reorders import MOST_BYTES, random_desc, random_shape

COUNT = int(os.environ.get("LAYOUTC_RANDOM_CONVERSIONS", "8"))
"""reorders per build; tests of the machine that has time take thousands"""
SMALL = 20_000
"""bytes that the interpreter moves in a reasonable time"""
POISON = 0x25
TYPES = ("f32", "f32", "s8", "u8", "bf16", "f16", "s32", "f8_e4m3", "s4", "u4", "u2", "f4_e2m1")
BUILDS = [
    ("avx512", "gcc", ("-O1", "-march=native"), 1),
    ("avx2", "clang", ("-O2", "-march=native", "-ffp-contract=fast"), 1),
    ("sse2", "gcc", ("-O1",), 1),
    ("avx512", "gcc", ("-O2", "-march=native", "-fopenmp"), 3),
]


@dataclass(frozen=True)
class Case:
    source: MemoryDesc
    destination: MemoryDesc
    conversion: Conversion
    seed: str

    def read(self) -> np.ndarray:
        """Codes of all kinds, more often of small numbers."""
        draw = np.random.default_rng(zlib.crc32(self.seed.encode()))
        data = draw.integers(0, 256, self.source.size_bytes, np.uint8)
        if self.source.element_type.name == "f32" and self.source.size_bytes % 4 == 0:
            small = draw.standard_normal(data.size // 4).astype(np.float32) * 50
            data.view(np.float32)[::2] = small[::2]
        return data

    def arguments(self) -> dict[str, np.ndarray]:
        return {name: values_of(param, self.source.dims) for name, param in self.conversion.arguments.items()}

    def expected(self) -> np.ndarray:
        written = np.full(self.destination.size_bytes, POISON, np.uint8)
        reference.reorder(self.source, self.destination, self.read(), written, self.conversion, self.arguments())
        return written


def values_of(param: Param, dims: tuple[int, ...]) -> np.ndarray:
    """The bytes of values that are given later: ordinary numbers of the type."""
    count = prod(param.shape(dims))
    numbers = [
        [0.5, 1.25, -0.75, 3.0, 0.01171875][n * n % 5] if not param.type.is_integer else n * 5 % 7 for n in range(count)
    ]
    known = Param(numbers, param.axes, param.groups, param.type)
    return constant_bytes(known)


def random_param(draw: random.Random, dims: tuple[int, ...], types: tuple[str, ...], is_scale: bool) -> Param | None:
    if draw.random() < 0.4:
        return None
    axes = tuple(axis for axis in range(len(dims)) if draw.random() < 0.5)
    groups = tuple(draw.choice([g for g in range(1, dims[axis] + 1) if dims[axis] % g == 0]) for axis in axes)
    type = draw.choice(types)
    if draw.random() < 0.5:
        return Param(None, axes, groups, type)
    count = prod(dims[axis] // group for axis, group in zip(axes, groups, strict=True))
    if count > 5000:
        return None
    return Param(
        [draw.choice((0.5, 1.5, -0.25, 0.75)) if is_scale else draw.randint(-7, 7) for _ in range(count)],
        axes,
        groups,
        type,
    )


def random_case(seed: str) -> Case:
    draw = random.Random(seed)
    while True:
        dims, layouts = random_shape(draw)
        scales, points = ("f32", "f32", "f16", "bf16"), ("s32", "s8", "f32")
        try:
            sides = [
                random_desc(draw, dims, draw.choice(TYPES), layout, is_source=number == 0)
                for number, layout in enumerate(layouts)
            ]
            conversion = Conversion(
                random_param(draw, dims, scales, True),
                random_param(draw, dims, points, False),
                random_param(draw, dims, scales, True),
                random_param(draw, dims, points, False),
                sum=draw.choice((0, 0, 0, 0.5)),
                reciprocal=draw.random() < 0.3,
            )
            conversion.check(*sides)
        except LayoutcError:
            continue
        if conversion.has_attributes and max(side.size_bytes for side in sides) <= MOST_BYTES // 4:
            return Case(sides[0], sides[1], conversion, seed)


@cache
def cases(number: int) -> list[Case]:
    return [random_case(f"conversions {number}/{n}") for n in range(COUNT)]


def module(made: list[Case], target: str, threads: int) -> ModuleOp:
    whole = ModuleOp([])
    for number, case in enumerate(made):
        for op in list(reorder_module(case.source, case.destination, f"reorder_{number}", case.conversion).ops):
            op.detach()
            whole.body.block.add_op(op)
    lower(whole, "plan-reorders", target=target, threads=threads)
    planned = [op for op in whole.walk() if isinstance(op, ReorderOp) and op.plan is not None]
    assert len(planned) > 0.6 * len(made)
    lower(whole, target=target, threads=threads)
    return whole


@pytest.mark.parametrize(("target", "compiler", "flags", "threads"), BUILDS)
def test_c_agrees_with_reference(
    target: str, compiler: str, flags: tuple[str, ...], threads: int, tmp_path: Path
) -> None:
    path = compiler_named(compiler)
    if path is None:
        pytest.skip(f"no {compiler}")
    made = cases(BUILDS.index((target, compiler, flags, threads)))
    load = compiled(emit_c(module(made, target, threads)), path, tmp_path, *flags)
    for number, case in enumerate(made):
        written = np.full(case.destination.size_bytes, POISON, np.uint8)
        pointers = [case.read(), written, *case.arguments().values()]
        load(f"reorder_{number}", (ctypes.c_void_p,) * len(pointers))(*(p.ctypes.data for p in pointers))
        np.testing.assert_array_equal(written, case.expected(), str(case))


@pytest.mark.parametrize("target", ["avx512", "sse2"])
def test_interpreter_agrees_with_reference(target: str) -> None:
    made = [case for case in cases(9) if max(case.source.span, case.destination.size_bytes) < SMALL]
    whole = module(made, target, 1)
    whole.verify()
    for number, case in enumerate(made):
        written = np.full(case.destination.size_bytes, POISON, np.uint8)
        run = interpreted(whole, f"reorder_{number}", case.source, case.destination, case.conversion, is_plain=False)
        run(case.read(), written, *case.arguments().values())
        np.testing.assert_array_equal(written, case.expected(), str(case))
