"""Conversions between blocks that do not nest: segments of a period are one digit, and boxes convert all of it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import layoutc
from layoutc import reference
from layoutc.conversion import NO_ATTRIBUTES, Conversion
from layoutc.kernel import Kernel
from layoutc.kernel_options import Executor
from layoutc.param import Param
from layoutc.planning.choose import choose_plan
from layoutc.planning.machine import Machine, machine
from layoutc.planning.plan_text import plan_lines
from layoutc.planning.plans.plan import Plan
from layoutc.transforms.plan_reorders import read_converting_plan
from tests.descriptors import sides
from tests.random_conversions import arguments_of, random_codes

ANY = replace(machine("avx512"), shuffles="any")


def planned(layouts: str, dims: tuple[int, ...], types: str, target: Machine = ANY) -> tuple[Plan, tuple[str, ...]]:
    source, destination = sides(layouts, dims, types)
    plan = choose_plan(source, destination, target)
    return plan, tuple(plan_lines(plan))


@pytest.mark.parametrize(
    ("layouts", "dims", "types", "copies"),
    [
        ("aCb10c->aCb6c", (48, 40, 480), "f32->s8", 1),
        ("aCb10c->aCb6c", (48, 40, 480), "s8->f32", 1),
        ("aCb10c->aCb6c", (48, 40, 490), "f32->bf16", 2),
        ("nhwc->nChw16c", (2, 17, 12, 13), "f32->bf16", 1),
        ("nhwc->nChw8c", (2, 10, 12, 13), "u8->f32", 1),
    ],
)
def test_segments_are_joined(layouts: str, dims: tuple[int, ...], types: str, copies: int) -> None:
    """Of 7 copies, of 10, which become 2, and of two of 17 channels."""
    plan, lines = planned(layouts, dims, types)
    assert len(plan.copies) == copies
    assert all(copy.merges for copy in plan.copies if any(digit.is_uneven for digit in copy.copy.digits))
    assert read_converting_plan(lines, *sides(layouts, dims, types)).copies == plan.copies


def test_segments_of_two_axes_are_joined_past_the_caches() -> None:
    """Of 84, where a box has all of one axis; in the caches they go through a buffer."""
    case = "AB3a10b->AB10a6b", (960, 960), "f32->s8"
    for llc, copies in ((0, 12), (1 << 40, 2)):
        plan, lines = planned(*case, replace(ANY, llc=llc))
        assert len(plan.copies) == copies
        assert read_converting_plan(lines, *sides(*case)).copies == plan.copies


def test_other_registers_have_a_copy_for_each_segment() -> None:
    plan, _ = planned("aCb10c->aCb6c", (48, 40, 480), "f32->s8", machine("avx2"))
    assert len(plan.copies) == 7


@pytest.mark.parametrize("llc", [0, 1 << 40])
def test_a_plan_for_other_caches_is_read(llc: int) -> None:
    """Which copies there are follows from the registers alone."""
    case = "aCb10c->aCb6c", (48, 40, 480), "s8->f32"
    plan, lines = planned(*case, replace(ANY, llc=llc))
    assert read_converting_plan(lines, *sides(*case)) == plan


def test_boxes_that_store_whole_lines_need_no_buffer() -> None:
    """Of every other element of the source: its lines are passed once, as the loops go on within them."""
    dims = (17, 64, 75, 110)
    source = layoutc.desc("bcad", dims, "f16", strides=(75 * 17 * 220, 17 * 220, 220, 2))
    plan = choose_plan(source, layoutc.desc("adcb", dims, "s16"), replace(ANY, llc=0))
    (copy,) = plan.copies
    assert copy.merges and copy.store == "nontemporal"
    along_rows = next(g for g, digit in enumerate(copy.copy.digits) if digit.src == 2)
    assert copy.outer_order[-1] == along_rows


@pytest.mark.parametrize("executor", ["c", "interpret"])
@pytest.mark.parametrize(
    ("layouts", "channels", "types", "conversion"),
    [
        ("nChw10c->nChw6c", 65, "f32->s8", Conversion(dst_scale=Param(axes=1), dst_zero_point=Param(axes=(0, 1)))),
        ("nChw6c->nChw10c", 60, "s8->f32", Conversion(src_scale=Param(axes=1))),
        ("nChw6c->nChw10c", 60, "u8->f32", Conversion(src_scale=Param(axes=(1, 3)), src_zero_point=7)),
        ("nChw3c->nChw16c", 100, "u8->s32", Conversion(src_zero_point=Param(axes=1, dtype="s8"))),
        ("nChw6c->nChw16c", 96, "s32->f64", NO_ATTRIBUTES),
        ("nChw6c->nChw16c", 96, "f16->bf16", Conversion(src_scale=Param(axes=1, groups=24))),
        ("nChw10c->nChw6c", 61, "bf16->f32", Conversion(sum=0.5)),
        ("nhwc->nChw16c", 17, "f32->s8", Conversion(dst_scale=Param(axes=1), dst_zero_point=3)),
        ("nhwc->nChw16c", 35, "u8->f32", Conversion(src_scale=Param(axes=1), src_zero_point=Param(axes=1))),
        ("nChw16c->nhwc", 20, "s8->f32", Conversion(src_scale=Param(axes=(0, 1)))),
        ("nChw4c->nchw", 3, "u8->f32", Conversion(src_scale=Param(axes=1), src_zero_point=Param(axes=1))),
        ("nChw4c->nhwc", 3, "f32->s8", Conversion(dst_scale=Param(axes=(1, 2)))),
        ("nChw4c->nchw", 3, "f32->bf16", NO_ATTRIBUTES),
    ],
)
def test_bytes_are_those_of_the_definition(
    executor: Executor, layouts: str, channels: int, types: str, conversion: Conversion
) -> None:
    """Boxes that convert what they load, and what they store, with a value for each channel, and for each pixel."""
    dims = (2, channels, 7, 7)
    source, destination = sides(layouts, dims, types)
    read, old = random_codes("read", source), random_codes("old", destination)
    arguments = arguments_of(conversion, dims)
    expected, found = old.copy(), old.copy()
    reference.reorder(source, destination, read, expected, conversion, arguments)
    target = "avx512" if executor == "interpret" else "native"
    kernel = replace(Kernel(source, destination, target=target, conversion=conversion), executor=executor)
    kernel(read, found, **{name: bytes(values) for name, values in arguments.items()})
    np.testing.assert_array_equal(found, expected)
    assert kernel.explain()


def test_loads_take_what_lies_between_rows() -> None:
    """Three channels of four, of 16 pixels: a load each would be four times as many."""
    for types, pixels in (("u8->f32", 512), ("f32->u8", 64), ("f32->bf16", 64)):
        plan, _ = planned("nChw4c->nchw", (8, 3, pixels, pixels), types)
        (copy,) = plan.copies
        assert copy.merges and [part.extent for part in copy.source_lanes] == [3, 16]


def test_first_lanes_of_narrow_registers_are_masked() -> None:
    """Loads of 9 bytes: by way of the stack, the register would wait until they are stored there."""
    source, destination = sides("nChw3c->nChw16c", (2, 96, 7, 7), "u8->f32")
    text = Kernel(source, destination, target="avx512").c_source
    assert "__builtin_ia32_loaddquqi128_mask" in text


@pytest.mark.parametrize(
    ("executor", "target"), [("interpret", "avx512"), ("interpret", "avx2"), ("interpret", "sse2"), ("c", "native")]
)
def test_f8_by_way_of_f16_is_rounded_once(executor: Executor, target: str) -> None:
    """All codes of f16 and their neighbours as f32, ties of f8_e5m2 among them: a second rounding would show there."""
    step = 61 if executor == "interpret" else 1
    codes = np.arange(0, 1 << 16, step, dtype=np.uint16).view(np.float16).astype(np.float32).view(np.uint32)
    values = np.resize(np.concatenate([codes - 1, codes, codes + 1]), (64, 3 * (1 << 16) // step // 64))
    source, destination = (layoutc.desc("ab", values.shape, type) for type in ("f32", "f8_e5m2"))
    kernel = Kernel(source, destination, executor, target=target)
    assert ("i16x32" in kernel.c_source) == (target == "avx512") or target == "native"
    got, want = (np.zeros(values.shape, np.uint8) for _ in range(2))
    kernel(values.view(np.float32), got)
    reference.reorder(source, destination, values.view(np.uint8).reshape(-1), want.reshape(-1))
    np.testing.assert_array_equal(got, want)
