"""Conversions in the vectors of planned reorders: the same bytes as by definition."""

from __future__ import annotations

import ctypes
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp

from layoutc import reference
from layoutc.conversion import NO_ATTRIBUTES, Conversion
from layoutc.descriptor import MemoryDesc
from layoutc.dialects.ops import ReorderOp
from layoutc.element_type import ELEMENT_TYPES, element_type
from layoutc.errors import LayoutcError
from layoutc.interpreted import interpreted
from layoutc.kernel import Kernel
from layoutc.param import Param
from layoutc.pipeline import lower, reorder_module
from layoutc.targets.c import emit_c
from layoutc.transforms.plan_reorders import read_converting_plan
from tests.c_programs import compiled, compiler_named
from tests.conversions import in_memory, interesting_codes
from tests.descriptors import layout

POISON = 0xA5
WHOLE = [type.name for type in ELEMENT_TYPES if type.bits >= 8 and type.name != "boolean"]
PAIRS = [
    *(("f32", name) for name in WHOLE if name != "f32"),
    *((name, "f32") for name in WHOLE if name != "f32"),
    *(("f64", "bf16"), ("s64", "u16"), ("u8", "f16"), ("s8", "f8_e5m2"), ("bf16", "e8m0"), ("u64", "s8")),
]
SHAPES = {
    "contiguous": ("a", "a", (1000,)),
    "transposed": ("ab", "ba", (37, 50)),
    "tailed": ("abcd", "aBcd16b", (2, 35, 3, 11)),
    "channels": ("acdb", "abcd", (2, 3, 5, 33)),
}
SCALED = Conversion(src_scale=0.75, dst_scale=0.3, dst_zero_point=Param(5, dtype="f32"))
CASES = [("transposed", pair, NO_ATTRIBUTES) for pair in PAIRS]
CASES += [(shape, pair, NO_ATTRIBUTES) for number, shape in enumerate(SHAPES) for pair in PAIRS[number::5]]
CASES += [("tailed", pair, SCALED) for pair in PAIRS[::6]]
TARGETS = ("avx512", "sse2")


def sides(number: int) -> tuple[MemoryDesc, MemoryDesc]:
    shape, (source, destination), _ = CASES[number]
    tag, to_tag, dims = SHAPES[shape]
    return MemoryDesc(dims, element_type(source), layout(tag)), MemoryDesc(
        dims, element_type(destination), layout(to_tag)
    )


@cache
def module(target: str) -> ModuleOp:
    """All cases, each a function; every one has a plan."""
    made = ModuleOp([])
    for number, (_, _, conversion) in enumerate(CASES):
        for op in list(reorder_module(*sides(number), f"reorder_{number}", conversion).ops):
            op.detach()
            made.body.block.add_op(op)
    lower(made, "plan-reorders", target=target)
    assert all(op.plan is not None for op in made.walk() if isinstance(op, ReorderOp))
    lower(made, target=target)
    made.verify()
    return made


@cache
def read(number: int) -> np.ndarray:
    source, _ = sides(number)
    codes = interesting_codes(source.element_type)
    return in_memory(np.random.default_rng(number).choice(codes, source.span).astype(codes.dtype), source.element_type)


@cache
def expected(number: int) -> np.ndarray:
    source, destination = sides(number)
    written = np.full(destination.size_bytes, POISON, np.uint8)
    reference.reorder(source, destination, read(number), written, CASES[number][2])
    return written


@pytest.mark.parametrize("target", TARGETS)
def test_interpreter_agrees_with_reference(target: str) -> None:
    for number, case in enumerate(CASES):
        source, destination = sides(number)
        written = np.full(destination.size_bytes, POISON, np.uint8)
        interpreted(module(target), f"reorder_{number}", source, destination, case[2], is_plain=False)(
            read(number), written
        )
        np.testing.assert_array_equal(written, expected(number), str(case))


@pytest.mark.parametrize(
    ("target", "compiler", "flags"),
    [
        ("avx512", "gcc", ("-O1", "-march=native")),
        ("avx2", "clang", ("-O2", "-march=native", "-ffp-contract=fast")),
        ("sse2", "gcc", ("-O1",)),
    ],
)
def test_c_agrees_with_reference(target: str, compiler: str, flags: tuple[str, ...], tmp_path: Path) -> None:
    path = compiler_named(compiler)
    if path is None:
        pytest.skip(f"no {compiler}")
    load = compiled(emit_c(module(target)), path, tmp_path, *flags)
    for number, case in enumerate(CASES):
        written = np.full(sides(number)[1].size_bytes, POISON, np.uint8)
        load(f"reorder_{number}", (ctypes.c_void_p,) * 2)(read(number).ctypes.data, written.ctypes.data)
        np.testing.assert_array_equal(written, expected(number), str(case))


def test_a_plan_that_converts_is_explained() -> None:
    """What it converts, and why a reorder has none."""
    source, destination = sides(CASES.index(("transposed", ("f32", "s8"), NO_ATTRIBUTES)))
    assert "1850 elements, converted from 32 to 8 bits" in Kernel(source, destination, "reference").explain()
    scales = Conversion(dst_scale=Param(axes=0))
    alone = Kernel(source, destination, "reference", conversion=scales).explain()
    assert alone.startswith("the textbook loop nest, as elements are not treated all alike")


def test_an_edited_plan_is_checked() -> None:
    """It must copy what the planner's copies, from the same types."""
    source, destination = sides(CASES.index(("transposed", ("f32", "s8"), NO_ATTRIBUTES)))
    made = reorder_module(source, destination)
    lower(made, "plan-reorders", target="avx2")
    (op,) = (op for op in made.walk() if isinstance(op, ReorderOp))
    assert op.plan is not None
    for old, new in (("elements of 4 to 1", "elements of 4 to 2"), ("37x", "36x"), ("normal stores", "staged stores")):
        lines = [line.data.replace(old, new) for line in op.plan]
        assert lines != [line.data for line in op.plan], old
        with pytest.raises(LayoutcError):
            read_converting_plan(lines, source, destination)
