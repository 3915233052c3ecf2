"""Boxes of elements that share bytes, between buffers in which each has a byte."""

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
from layoutc.planning.explain import explain_plan
from layoutc.planning.machine import Machine, machine
from layoutc.planning.plan_text import plan_lines
from layoutc.planning.plans.plan import CopyPlan
from layoutc.planning.plans.row_spans import row_span
from layoutc.transforms.plan_reorders import read_plan_of
from tests.descriptors import sides
from tests.random_conversions import arguments_of, random_codes

ANY = replace(machine("avx512"), shuffles="any")
ATTRIBUTES = Conversion(src_scale=Param(axes=(1,)), dst_zero_point=Param(values=(3,)))
DIMS = (2, 14, 9, 7)
CASES = {
    "blocks of 14 apart": ("nChw16c->nhwc", DIMS, "s4->s8"),
    "blocks of 3 apart": ("nChw8c->nhwc", (2, 3, 33, 7), "s4->s4"),
    "blocks of 3 into planes": ("nChw16c->nchw", (1, 3, 33, 7), "u2->u2"),
    "3 channels with zeros": ("nhwc->nChw16c", (2, 3, 33, 7), "f32->s4"),
    "14 channels with zeros": ("nhwc->nChw16c", DIMS, "u4->f32"),
    "two blocks, one with zeros": ("nhwc->nChw8c", DIMS, "s8->s4"),
    "planes with zeros": ("nchw->nChw8c", DIMS, "f4_e2m1->bf16"),
    "rows with zeros": ("ab->aB8b", (65, 17), "s4->u2"),
    "columns": ("ab->ba", (65, 17), "u2->s8"),
}


def planned(name: str, target: Machine = ANY, threads: int = 1) -> tuple[CopyPlan, ...]:
    """The copies, as they go straight."""
    return choose_plan(*sides(*CASES[name]), target, threads, goes_through=False).copies


@pytest.mark.parametrize("name", ["blocks of 14 apart", "blocks of 3 apart", "3 channels with zeros"])
def test_odd_rows_are_boxes(name: str) -> None:
    """They went element by element, or by a few lanes, and their zeros were stored apart."""
    (plan,) = planned(name)
    assert plan.merges and (plan.load == "unpacked" or plan.store == "packed")


def test_rows_are_taken_apart_with_what_lies_between_them() -> None:
    """3 elements of each 8, of which a register of 32 bytes has 8 blocks: two bytes of each 4."""
    (plan,) = planned("blocks of 3 apart")
    span = row_span(plan)
    assert span is not None and (span.step, span.at_once) == (8, 8)
    assert span.mask == sum(0b11 << 4 * block for block in range(8))


def test_where_registers_of_bytes_are_not_merged_what_becomes_wider_is_converted_first() -> None:
    source, destination = sides("nchw->nChw8c", (2, 17, 5, 4), "u4->f16")
    plan = choose_plan(source, destination, machine("avx512")).copies[0]
    assert plan.merges and plan.widths.converted_at == "src"


@pytest.mark.parametrize("executor", ["interpret", "c"])
@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("conversion", [NO_ATTRIBUTES, ATTRIBUTES])
def test_bytes_are_those_of_the_reference(name: str, conversion: Conversion, executor: Executor) -> None:
    """Zeros stay zero behind a zero point, and have no scale; nothing between rows is read, and neighbours stay."""
    source, destination = sides(*CASES[name])
    lines = tuple(plan_lines(choose_plan(source, destination, ANY, 2, conversion, goes_through=False)))
    kernel = Kernel(source, destination, executor, plan=lines, target="avx512", threads=2, conversion=conversion)
    values, found, expected = random_codes("box", source), *np.zeros((2, destination.size_bytes), np.uint8)
    arguments = arguments_of(conversion, source.dims)
    reference.reorder(source, destination, values, expected, conversion, arguments)
    given = {argument: values.view(conversion.arguments[argument].type.numpy) for argument, values in arguments.items()}
    kernel(values, found, **given)
    np.testing.assert_array_equal(found, expected)


def test_boxes_past_the_caches_ask_for_the_next_macro_tile() -> None:
    source, destination = sides("nChw16c->nhwc", (2, 14, 99, 27), "f32->s4")
    (plan,) = choose_plan(source, destination, replace(ANY, llc=0)).copies
    assert plan.merges and plan.prefetch > 0


def test_boxes_past_the_caches_follow_pages_of_the_source() -> None:
    """The next macro tile goes on in the rows that this one has begun, not in others that are a page each."""
    source, destination = sides("ebacd->cbaed", (56, 255, 219, 19, 1), "s8->f4_e2m1")
    (plan,) = choose_plan(source, destination, replace(ANY, llc=0), goes_through=False).copies
    digit = plan.copy.digits[plan.outer_order[-1]]
    assert plan.merges and (digit.src, plan.prefetch) == (19, 16 * 19 + 63)


def test_whole_lines_past_the_caches_are_no_boxes() -> None:
    source = layoutc.desc("ab", (683, 2290), "s4")
    copies = choose_plan(source, layoutc.desc("ba", source.dims, "s8"), replace(ANY, llc=0)).copies
    assert all(copy.store != "normal" for copy in copies)


def test_where_lines_past_the_caches_would_have_few_lanes_boxes_stay() -> None:
    """Rows of 435 elements of which 4 are a byte, and stored 49 together: one by one it took 50 copies and more."""
    source, destination = sides("dAcB5b3a->cabd", (96, 144, 92, 49), "u2->s8")
    (plan,) = choose_plan(source, destination, ANY, conversion=Conversion(dst_scale=Param(axes=1))).copies
    assert plan.merges and plan.load == "unpacked"


@pytest.mark.parametrize("rows", [2033, 4001])
def test_threads_that_can_share_no_boxes_have_other_tiles(rows: int) -> None:
    """Every element is stored once, and the explanation has all copies."""
    source, destination = layoutc.desc("ab", (rows, 129), "s4"), layoutc.desc("ba", (rows, 129), "u4")
    plan = choose_plan(source, destination, ANY, 2)
    assert plan.threads == 2
    assert sum(copy.copy.elements for copy in plan.copies) == rows * 129
    assert explain_plan(source, destination, ANY, 2)
    assert read_plan_of(plan_lines(plan), source, destination, NO_ATTRIBUTES) == plan
