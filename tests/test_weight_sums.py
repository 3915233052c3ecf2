"""Sums of weights by whole registers: their plans count every weight once, and all executors agree."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import numpy as np
import pytest

import layoutc
from layoutc.compensation import Compensation
from layoutc.conversion import Conversion
from layoutc.descriptor import MemoryDesc
from layoutc.element_type import element_type
from layoutc.errors import LayoutcError, PlanError
from layoutc.kernel import Kernel
from layoutc.kernel_options import Executor
from layoutc.layout import Layout
from layoutc.param import Param
from layoutc.planning.choose import choose_plan
from layoutc.planning.conversions.running_sums import sum_number
from layoutc.planning.conversions.weight_sums import SumPlan, plan_weight_sums
from layoutc.planning.machine import machine
from layoutc.planning.plan_text import plan_lines
from layoutc.transforms.plan_reorders import read_plan_of
from tests.descriptors import desc

CASES: dict[str, tuple[MemoryDesc, tuple[int, ...]]] = {
    "four neighbours in one sum": (desc("ABcd4b16a4b", (40, 24, 3, 3)), (0,)),
    "two neighbours": (desc("ABcd8b16a2b", (40, 24, 3, 3)), (0,)),
    "pairs of other sums": (desc("AB2a8b", (17, 19)), (1,)),
    "rows are sums": (desc("abcd", (5, 17, 3, 3)), (0,)),
    "columns are sums": (desc("ab", (33, 300)), (1,)),
    "blocks of columns": (desc("BA16a64b4a", (70, 130)), (1,)),
    "two axes, tailed": (desc("aBCde4c16b4c", (2, 17, 8, 3, 3)), (0, 1)),
    "axes apart": (desc("dcba", (8, 9, 10, 11)), (1, 3)),
    "sums that are no neighbours": (desc("dcab", (3, 4, 2, 8)), (0, 3)),
    "each weight a sum": (desc("ab", (6, 50)), (0, 1)),
    "gaps": (desc("ab", (9, 40), strides=(50, 1), base_offset=3), (0,)),
    "a border": (desc("ab", (6, 40), low=(0, 3), high=(0, 2)), (0,)),
    "less than a register behind the last": (desc("ab", (2, 1000)), (0,)),
    "rows of whole registers": (desc("ab", (6, 1024)), (0,)),
}
ONE_BY_ONE = {
    "sums with a border": (desc("ab", (40, 40), low=(1, 0)), (0,)),
    "few neighbours": (desc("ab", (40, 3)), (0,)),
}
LARGE = {
    "shared rows": (desc("ab", (600, 1000)), (0,)),
    "shared columns": (desc("ab", (600, 1000)), (1,)),
    "shared blocks": (desc("ABcd4b16a4b", (80, 200, 3, 3)), (0,)),
    "shared rows that are whole registers": (desc("ab", (128, 2048)), (0,)),
}
ALONG = {
    "rows as they lie": (desc("ab", (512, 8192)), (0,), "f32"),
    "columns as they lie": (desc("ab", (512, 8192)), (1,), "s8"),
    "transposed": (desc("ba", (2048, 2048)), (1,), "s8"),
    "blocks, the last one in part": (desc("ABcd4b16a4b", (262, 256, 8, 8)), (0,), "s8"),
    "blocks of what is converted": (desc("ABcd4b16a4b", (64, 256, 8, 8)), (0,), "f32"),
    "two axes": (desc("aBCde4c16b4c", (2, 32, 512, 8, 8)), (0, 1), "s8"),
}
"""with a type of the source; large enough for stores past the caches of a small machine"""
S8 = element_type("s8")


def plan_of(name: str, vector_bytes: int) -> SumPlan:
    return plan_weight_sums(*CASES[name], vector_bytes)


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("vector_bytes", [16, 64])
def test_every_weight_belongs_to_one_sum(name: str, vector_bytes: int):
    """By the definition: index by index."""
    weights, axes = CASES[name]
    plan = plan_of(name, vector_bytes)
    padded = [weights.padded_dims[axis] for axis in axes]
    places: dict[int, int] = {}
    for steps in product(*(range(digit.extent) for digit in plan.copy.digits)):
        pairs = [*zip(steps, plan.copy.digits, strict=True)]
        places[plan.copy.src + sum(n * d.src for n, d in pairs)] = sum(n * d.dst for n, d in pairs)
    for index in np.ndindex(*weights.dims):
        expected = int(np.ravel_multi_index([index[axis] for axis in axes], padded))
        assert places[weights.offset(*index)] == expected, index
    assert {*places.values()} == set(range(int(np.prod(padded))))
    assert plan.width <= vector_bytes
    assert len(plan.lane_offsets) == len({*plan.lane_offsets})


@pytest.mark.parametrize("name", ONE_BY_ONE)
def test_others_are_refused(name: str):
    with pytest.raises(LayoutcError, match=r"one by one|lie together"):
        plan_weight_sums(*ONE_BY_ONE[name], 64)


def written(name: str, executor: Executor, target: str, threads: int = 1) -> np.ndarray:
    """What one executor makes of random weights, of which many are the lowest: 16 bits must hold their sums."""
    weights, axes = {**CASES, **ONE_BY_ONE, **LARGE}[name]
    other = (0,) if len(axes) > 1 else axes
    source = MemoryDesc(weights.dims, S8, Layout.row_major(weights.rank))
    conversion = Conversion(compensation=Compensation(s8s8=axes, asymmetric=other))
    kernel = Kernel(source, replace(weights, element_type=S8), executor, "reorder", target, threads, conversion)
    x = np.random.default_rng(7).integers(-128, 128, kernel.source_bytes).astype(np.int8)
    x[: x.size // 2] = -128
    y = np.full(kernel.destination_bytes, 77, np.int8)
    kernel(x, y)
    return y


@pytest.mark.parametrize("name", [*CASES, *ONE_BY_ONE])
@pytest.mark.parametrize("target", ["avx512", "sse2"])
def test_executors_agree(name: str, target: str):
    expected = written(name, "reference", target)
    for executor in ("interpret", "c"):
        np.testing.assert_array_equal(written(name, executor, target), expected, executor)


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("name", ALONG)
def test_sums_run_along_with_copies(name: str, threads: int):
    """What is stored past the caches is not read again; a plan that is read does the same as one that was made."""
    weights, axes, type = ALONG[name]
    source = MemoryDesc(weights.dims, element_type(type), Layout.row_major(weights.rank))
    scale = Param(axes=axes) if type == "f32" else None
    conversion = Conversion(dst_scale=scale, compensation=Compensation(s8s8=axes, asymmetric=axes))
    target = replace(weights, element_type=S8)
    small = replace(machine("avx512"), l2=1 << 14, llc=1 << 18)
    plan = choose_plan(source, target, small, threads, conversion)
    assert sum_number(plan, conversion, target) is not None or (threads > 1 and name == "columns as they lie")
    draw = np.random.default_rng(5)
    x = draw.normal(0, 40, weights.elements).astype(np.float32) if scale else draw.integers(-128, 128, weights.elements)
    x = np.ascontiguousarray(x, dtype=np.float32 if scale else np.int8).view(np.int8)
    given = {"dst_scale": draw.random(weights.dims[axes[0]]).astype(np.float32) + 0.5} if scale else {}
    written: list[np.ndarray] = []
    tried: list[tuple[Executor, tuple[str, ...]]] = [("reference", ()), ("c", ()), ("c", tuple(plan_lines(plan)))]
    for executor, lines in tried:
        kernel = Kernel(source, target, executor, "reorder", "avx512", threads, conversion, plan=lines)
        assert not lines or ("totals" in kernel.c_source) == (sum_number(plan, conversion, target) is not None)
        y = np.full(kernel.destination_bytes, 77, np.int8)
        kernel(x, y, **given)
        written.append(y)
    for y in written[1:]:
        np.testing.assert_array_equal(y, written[0])


@pytest.mark.parametrize("name", LARGE)
def test_threads_share_sums(name: str):
    expected = written(name, "reference", "avx2")
    for executor in ("interpret", "c"):
        np.testing.assert_array_equal(written(name, executor, "avx2", threads=2), expected, executor)


@pytest.mark.parametrize("llc", [1 << 10, 32 << 20])
def test_plans_of_processors_with_other_caches_are_read_back(llc: int):
    """Whether sums run along follows from the caches: who reads the plan has others."""
    conversion = Conversion(src_scale=Param(), compensation=Compensation((2,)))
    source, destination = layoutc.desc("abc", (18, 32, 2), "u8"), layoutc.desc("acb", (18, 32, 2), "s8")
    plan = choose_plan(source, destination, replace(machine("avx2"), llc=llc), 1, conversion)
    lines = plan_lines(plan)
    assert read_plan_of(lines, source, destination, conversion) == plan
    with pytest.raises(PlanError, match="expected 'copy"):
        read_plan_of([line.replace("-> 0", "-> 1") for line in lines], source, destination, conversion)
