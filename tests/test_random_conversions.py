"""Random reorders with scales, zero points and sums by index, by plans: the same bytes as by definition."""

from __future__ import annotations

import ctypes
import os
import random
from dataclasses import dataclass, replace
from functools import cache
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
from layoutc.pipeline import lower, reorder_module
from layoutc.targets.c import emit_c
from tests.c_programs import compiled, compiler_named
from tests.random_conversions import arguments_of, random_codes, random_conversion
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
        return random_codes(self.seed, self.source)

    def arguments(self) -> dict[str, np.ndarray]:
        return arguments_of(self.conversion, self.source.dims)

    def expected(self) -> np.ndarray:
        written = np.full(self.destination.size_bytes, POISON, np.uint8)
        reference.reorder(self.source, self.destination, self.read(), written, self.conversion, self.arguments())
        return written


def random_case(seed: str) -> Case:
    draw = random.Random(seed)
    while True:
        dims, layouts = random_shape(draw)
        try:
            sides = [
                random_desc(draw, dims, draw.choice(TYPES), layout, is_source=number == 0)
                for number, layout in enumerate(layouts)
            ]
            conversion = replace(random_conversion(draw, *sides), compensation=None)
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
