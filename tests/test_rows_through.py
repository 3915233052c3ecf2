"""Conversions of rows that are converted as they lie, in turns through a buffer, where tiles take more instructions."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import layoutc
from layoutc import reference
from layoutc.conversion import Conversion
from layoutc.descriptor import MemoryDesc
from layoutc.kernel import Kernel
from layoutc.param import Param
from layoutc.planning.choose import choose_plan
from layoutc.planning.explain import explain_plan
from layoutc.planning.machine import Machine, machine
from layoutc.planning.plan_text import plan_lines
from layoutc.planning.plans.plan import Plan
from layoutc.planning.plans.turns import Through
from layoutc.transforms.plan_reorders import read_converting_plan
from tests.conversions import interesting_codes
from tests.random_conversions import arguments_of

ANY = replace(machine("avx512"), shuffles="any")
SCALES = Conversion(src_scale=Param(axes=0))
CASES = {
    "widened by scales, 6 of 12 channels": ("cbeaD4d->ebCad6c", (2, 21, 18, 12, 12), "f8_e5m2->f32", SCALES),
    "narrowed, with zeros": ("badc->cdAb5a", (26, 33, 46, 4), "s16->s8", Conversion()),
    "of one width": ("abc->bca", (121, 149, 12), "f8_e5m2->s8", Conversion(dst_scale=Param(axes=1), dst_zero_point=3)),
    "a last block": ("acDb4d->adbc", (29, 32, 14, 11), "s8->f32", Conversion(src_scale=Param(axes=2))),
}


def sides(name: str) -> tuple[MemoryDesc, MemoryDesc, Conversion]:
    tags, dims, types, conversion = CASES[name]
    (tag, to_tag), (type, to_type) = tags.split("->"), types.split("->")
    return layoutc.desc(tag, dims, type), layoutc.desc(to_tag, dims, to_type), conversion


def goes_through(plan: Plan) -> bool:
    return any(isinstance(part, Through) for part in plan.parts)


def assert_read_back_and_converts(
    plan: Plan, source: MemoryDesc, destination: MemoryDesc, conversion: Conversion
) -> None:
    """Its text is the plan of the reorder, and its kernel writes what the reference does, of all interesting values."""
    lines = tuple(plan_lines(plan))
    assert read_converting_plan(lines, source, destination, conversion) == plan
    codes = np.resize(interesting_codes(source.element_type).view(np.uint8), source.size_bytes)
    arguments = arguments_of(conversion, source.dims)
    made, expected = (np.full(destination.size_bytes, 0xA5, np.uint8) for _ in range(2))
    kernel = Kernel(source, destination, conversion=conversion, threads=plan.threads, plan=lines)
    kernel(codes, made, **{name: bytes(values) for name, values in arguments.items()})
    reference.reorder(source, destination, codes, expected, conversion, arguments)
    np.testing.assert_array_equal(made, expected)


@pytest.mark.parametrize("target", [ANY, machine("avx2")], ids=["avx512", "avx2"])
@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("name", CASES)
def test_both_ways_are_plans_and_the_conversion(name: str, threads: int, target: Machine) -> None:
    """A reader takes a plan that goes through a buffer, and one that goes straight, whatever the planner chooses."""
    source, destination, conversion = sides(name)
    for through in (True, False):
        plan = choose_plan(source, destination, target, threads, conversion, through)
        assert goes_through(plan) == through
        assert_read_back_and_converts(plan, source, destination, conversion)


def test_bf16_goes_through_a_buffer_where_no_instruction_makes_it() -> None:
    sides = layoutc.desc("AcdB16a4b", (704, 64, 3, 3), "s8"), layoutc.desc("abcd", (704, 64, 3, 3), "bf16")
    conversion = Conversion(src_scale=Param(axes=0))
    targets = machine("avx2"), machine("sse2"), ANY
    plans = [choose_plan(*sides, target, conversion=conversion) for target in targets]
    assert [goes_through(plan) for plan in plans] == [True, True, False]


@pytest.mark.parametrize("target", [ANY, machine("avx2"), machine("sse2")], ids=["avx512", "avx2", "sse2"])
@pytest.mark.parametrize(("types", "threads"), [("s8->f16", 1), ("u8->f32", 2), ("f8_e4m3->bf16", 1), ("bf16->f32", 2)])
def test_what_becomes_wide_beside_zeros_is_converted_before(types: str, threads: int, target: Machine) -> None:
    """As rows of the source: into the buffer, which holds wide elements; a zero point leaves the padding zero."""
    type, to_type = types.split("->")
    conversion = Conversion(src_scale=Param(axes=0), src_zero_point=0 if "f" in type else 3)
    source = layoutc.desc("abcd", (256, 3, 3, 3), type)
    destination = layoutc.desc("AcdB32a2b", (256, 3, 3, 3), to_type)
    plan = choose_plan(source, destination, target, threads, conversion, "src")
    ((part,), fills) = plan.parts[:1], plan.parts[1:]
    assert isinstance(part, Through) and not fills
    assert all(copy.widths.converts for copy in part.into) and not any(copy.widths.converts for copy in part.out_of)
    assert_read_back_and_converts(plan, source, destination, conversion)


@pytest.mark.parametrize("llc", [32 << 20, 0], ids=["in the caches", "past them"])
def test_the_planner_converts_before_zeros_come_between(llc: int) -> None:
    sides = layoutc.desc("abcd", (1024, 3, 3, 3), "s8"), layoutc.desc("AcdB32a2b", (1024, 3, 3, 3), "f16")
    (through, *_) = choose_plan(*sides, replace(ANY, llc=llc)).parts
    assert isinstance(through, Through) and all(copy.widths.converts for copy in through.into)


@pytest.mark.parametrize("name", CASES)
def test_rows_go_through_a_buffer_in_the_caches(name: str) -> None:
    """Past them what becomes narrower waits for memory; what becomes wider does not, if no lines are whole."""
    source, destination, conversion = sides(name)
    assert goes_through(choose_plan(source, destination, ANY, 1, conversion))
    assert not goes_through(choose_plan(source, destination, replace(ANY, llc=0), 1, conversion))
    lines = explain_plan(source, destination, ANY, 1, conversion)
    assert "rows: converted as they lie, through a buffer, as tiles take more instructions" in lines


@pytest.mark.parametrize(
    ("tags", "dims", "types", "target", "through"),
    [
        ("nchw->nhwc", (2, 64, 28, 28), "f32->s8", "avx2", True),
        ("nchw->nhwc", (2, 64, 28, 28), "f32->f8_e5m2", "avx2", True),
        ("nchw->nhwc", (2, 64, 28, 28), "f32->f16", "avx2", False),
        ("nhwc->nChw16c", (2, 64, 28, 28), "e8m0->f32", "avx512", False),
    ],
)
def test_long_conversions_go_through_a_buffer_for_less(
    tags: str, dims: tuple[int, ...], types: str, target: str, through: bool
) -> None:
    """Registers of rows are full; of tiles of 8 lanes a quarter of what is narrowed. What is shifted alone is short."""
    (tag, to_tag), (type, to_type) = tags.split("->"), types.split("->")
    sides = layoutc.desc(tag, dims, type), layoutc.desc(to_tag, dims, to_type)
    assert goes_through(choose_plan(*sides, machine(target))) == through


def test_what_becomes_wide_without_zeros_is_not_converted_before() -> None:
    """What is moved is narrower then."""
    sides = layoutc.desc("abcd", (1024, 4, 3, 3), "s8"), layoutc.desc("AcdB32a2b", (1024, 4, 3, 3), "f16")
    assert not goes_through(choose_plan(*sides, ANY, goes_through="src"))


def test_what_is_as_wide_as_numbers_are_computed_goes_straight() -> None:
    dims = (2, 21, 18, 12, 12)
    source, destination = layoutc.desc("cbeaD4d", dims, "s32"), layoutc.desc("ebCad6c", dims, "f32")
    assert not goes_through(choose_plan(source, destination, ANY, 1, SCALES, True))


@pytest.mark.parametrize(
    ("tags", "dims", "types"),
    [
        ("ab->ba", (512, 512), "s8->bf16"),
        ("abcd->acdb", (1, 64, 28, 56), "f32->bf16"),
        ("ab->ab", (300, 200), "u8->f32"),
    ],
)
def test_rows_of_whole_registers_are_converted_in_tiles(tags: str, dims: tuple[int, ...], types: str) -> None:
    (tag, to_tag), (type, to_type) = tags.split("->"), types.split("->")
    plan = choose_plan(layoutc.desc(tag, dims, type), layoutc.desc(to_tag, dims, to_type), ANY)
    assert not goes_through(plan)


def test_threads_do_not_wait_for_one_turn() -> None:
    """By one thread it goes through a buffer in one turn; of two one would wait."""
    source, destination = layoutc.desc("ab", (344, 384), "f32"), layoutc.desc("ba", (344, 384), "s8")
    target = replace(machine("avx512"), shuffles="single")
    assert [goes_through(choose_plan(source, destination, target, threads)) for threads in (1, 2)] == [True, False]
