"""What is known of numbers that become integers spares code, and changes none of them."""

from __future__ import annotations

import ctypes
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp

import layoutc
from layoutc.compiler import LONG_SOURCE
from layoutc.conversion import Conversion
from layoutc.element_type import element_type
from layoutc.param import Param
from layoutc.pipeline import lower, reorder_module
from layoutc.runtime import build, load
from layoutc.targets.c import emit_c
from layoutc.transforms.values.known_numbers import UNKNOWN, Known, factor_of_quotients, known_numbers

SOURCES = ("s8", "u8", "s4", "boolean", "s16", "f4_e2m1", "f8_e4m3", "e8m0")
DESTINATIONS = ("s8", "s16", "s32", "u32", "s64")
CONVERSIONS = (
    Conversion(dst_scale=0.0236),
    Conversion(dst_scale=0.08, dst_zero_point=-3),
    Conversion(dst_scale=-0.0384),
    Conversion(src_zero_point=7, src_scale=0.5, dst_scale=0.144),
    Conversion(dst_scale=1e-30),
    Conversion(dst_scale=1e-42),
    Conversion(src_scale=3e38, dst_scale=2.0),
    Conversion(src_scale=1e7, dst_zero_point=Param((0.25,), dtype="f32")),
    Conversion(dst_scale=0.3, reciprocal=True, dst_zero_point=2**31 - 1),
    Conversion(src_scale=-41.0, dst_scale=41 * 2.0**-31),  # of 1 exactly the least s32, by a product what is below it
)


def kernel(source: str, destination: str, conversion: Conversion, executor: layoutc.kernel.Executor) -> layoutc.Kernel:
    sides = layoutc.desc("ab", (64, 64), source), layoutc.desc("ab", (64, 64), destination)
    return layoutc.Kernel(*sides, executor, conversion=conversion)


@cache
def functions(source: str, destination: str) -> Path:
    """The object that has `by_0`, `by_1`, ... of all conversions between two types."""
    module = ModuleOp([])
    for number, conversion in enumerate(CONVERSIONS):
        one = kernel(source, destination, conversion, "c")
        for op in list(reorder_module(one.source, one.destination, f"by_{number}", conversion).ops):
            op.detach()
            module.body.block.add_op(op)
    lower(module, target="native")
    text = emit_c(module)
    assert len(text) < LONG_SOURCE, "it is optimized less"
    return build(text)


@pytest.mark.parametrize("conversion", CONVERSIONS)
@pytest.mark.parametrize("source", SOURCES)
def test_executors_agree(source: str, conversion: Conversion) -> None:
    rng = np.random.default_rng(7)
    for destination in DESTINATIONS:
        if source == destination:
            continue
        every = kernel(source, destination, conversion, "reference")
        bits = rng.integers(0, 256, every.source_bytes).astype(np.uint8)
        if every.source_bytes == 64 * 64:
            bits[:256] = np.arange(256)
        expected, by_c, by_interpreter = (np.empty(every.destination_bytes, np.uint8) for _ in range(3))
        every(bits, expected)
        by = load(functions(source, destination), f"by_{CONVERSIONS.index(conversion)}", (ctypes.c_void_p,) * 2)
        by(bits.ctypes.data, by_c.ctypes.data)
        np.testing.assert_array_equal(by_c, expected, f"{destination} c")
        kernel(source, destination, conversion, "interpret")(bits, by_interpreter)
        np.testing.assert_array_equal(by_interpreter, expected, f"{destination} interpret")


def known(source: str, conversion: Conversion) -> Known:
    return known_numbers(element_type(source), conversion)


def test_between_which_numbers_are() -> None:
    assert known("s8", Conversion()) == (-128, 127, False)
    assert known("u8", Conversion(src_zero_point=100, src_scale=Param((-2.0, 0.5), axes=0))) == (-310, 200, False)
    assert known("f4_e2m1", Conversion(dst_scale=-0.5, dst_zero_point=1)) == (-11, 13, False)
    assert known("f8_e4m3", Conversion()) == (-448, 448, True)
    for source in ("f8_e5m2", "f32"):
        assert known(source, Conversion()) == UNKNOWN
    assert known("s8", Conversion(dst_scale=Param())) == UNKNOWN
    assert known("s8", Conversion(dst_scale=1e-38)) == UNKNOWN
    assert known("s8", Conversion(src_scale=2.0, sum=1.0)) == UNKNOWN


def factor(source: str, destination: str, conversion: Conversion) -> float | None:
    return factor_of_quotients(element_type(source), element_type(destination), conversion)


def test_products_in_place_of_quotients() -> None:
    assert factor("s8", "s32", Conversion(dst_scale=0.25)) == 4
    assert factor("u8", "s32", Conversion(dst_scale=0.0236)) == pytest.approx(1 / 0.0236)
    # No neighbour of the reciprocal rounds each of these halves to the same side.
    assert factor("s8", "s32", Conversion(dst_scale=0.0192)) is None
    assert factor("s32", "s8", Conversion(dst_scale=0.25)) is None
    assert factor("s8", "s32", Conversion(dst_scale=0.25, sum=1.0)) is None
    assert factor("s8", "s32", Conversion(dst_scale=1e-42)) is None
    assert factor("s8", "s32", Conversion(dst_scale=Param((0.25, 0.5), axes=0))) is None


def test_what_is_known_is_neither_divided_nor_asked() -> None:
    text = kernel("s8", "s32", Conversion(dst_scale=0.0236), "c").ir("lower-reorders")
    assert "arith.mulf" in text
    for op in ("arith.divf", "arith.cmpf", "arith.select"):
        assert op not in text
