"""Runs that leave by whole lines and lie in the source as they are: they need no buffer."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import layoutc
from layoutc import reference
from layoutc.conversion import NO_ATTRIBUTES
from layoutc.descriptor import MemoryDesc
from layoutc.kernel import Kernel
from layoutc.kernel_options import Executor
from layoutc.planning.choose import choose_plan
from layoutc.planning.explain import explain_plan
from layoutc.planning.machine import TARGETS
from layoutc.planning.plan_text import parse_plan, plan_lines
from layoutc.planning.plans.macro_runs import COPIED_RUN
from layoutc.planning.plans.plan import CopyPlan

SMALL = replace(TARGETS["avx512"], llc=64 << 10)
"""a machine past whose caches these few bytes go"""


def desc(layout: str, dims: tuple[int, ...], element_type: str, *strides: int) -> MemoryDesc:
    return layoutc.desc(layout, dims, element_type, strides=strides or None)


CASES = {
    "rows with a pitch": (desc("ab", (40, 4049), "bf16", 4081, 1), desc("ab", (40, 4049), "bf16")),
    "rows in another order": (desc("bac", (9, 7, 1603), "f32"), desc("abc", (9, 7, 1603), "f32")),
    "pieces of rows": (desc("ab", (13, 3002), "s8"), desc("aB1501b", (13, 3002), "s8")),
    "rows of axes that carry": (desc("bA12a", (37, 2177), "f32"), desc("ab", (37, 2177), "f32", 2183, 1)),
    "8 bytes an element": (desc("bac", (11, 6, 517), "f64"), desc("abc", (11, 6, 517), "f64")),
    "long rows": (desc("ab", (3, 70001), "u8", 70100, 1), desc("ab", (3, 70001), "u8")),
}
"""of which most runs are so; whole rows, or parts that share lines with the next"""


def copied(name: str, threads: int = 1) -> list[CopyPlan]:
    source, destination = CASES[name]
    plan = choose_plan(source, destination, SMALL, threads)
    return [part for part in plan.parts if isinstance(part, CopyPlan) and part.copies_runs]


@pytest.mark.parametrize("offset", [0, 24])
@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("executor", ["interpret", "c"])
@pytest.mark.parametrize("name", [name for name in CASES if name != "rows of axes that carry"])
def test_lines_are_loaded_from_the_source(name: str, executor: Executor, threads: int, offset: int) -> None:
    """Wherever the destination begins, and in whatever runs."""
    source, destination = CASES[name]
    assert copied(name, threads)
    lines = tuple(plan_lines(choose_plan(source, destination, SMALL, threads)))
    kernel = Kernel(source, destination, executor, plan=lines, threads=threads)
    assert "memref.alloca" not in kernel.ir()
    memory = np.full(destination.size_bytes + 192, 0xA5, np.uint8)
    start = -memory.ctypes.data % 64 + offset
    read = np.random.default_rng(0).integers(0, 256, source.size_bytes, np.uint8)
    expected = memory.copy()
    reference.reorder(source, destination, read, expected[start : start + destination.size_bytes])
    kernel(read, memory[start : start + destination.size_bytes])
    np.testing.assert_array_equal(memory, expected)


def test_runs_that_are_put_together_of_others_have_a_buffer() -> None:
    """Those of which an axis is in another order in the source, short ones, and what is converted."""
    assert not copied("rows of axes that carry")
    short = choose_plan(desc("bac", (60, 70, 100), "f32"), desc("abc", (60, 70, 100), "f32", 7070, 101, 1), SMALL)
    converted = choose_plan(CASES["rows with a pitch"][0], desc("ab", (40, 4049), "f32"), SMALL)
    assert not any(part.copies_runs for plan in (short, converted) for part in plan.copies)


TO_BLOCKS = "affine:(a, b) -> (b mod 12, b floordiv 12, a)", "affine:(a, b) -> (b mod 24, b floordiv 24, a)"
OTHERS = {
    "runs of several rows": [desc(layout, (60, 70, 100), "f32") for layout in ("bac", "abc")],
    "zeros": [desc(layout, (40, 3001), "s8") for layout in ("ab", "aB2101b")],
    "rows of which some are zero": [desc(layout, (1603, 39), "f32") for layout in TO_BLOCKS],
}


@pytest.mark.parametrize("name", OTHERS)
def test_other_long_runs_have_a_buffer(name: str) -> None:
    source, destination = OTHERS[name]
    chosen = plan_lines(choose_plan(source, destination, SMALL))
    lines = tuple(line.replace("macro 12x128", "macro 12x512") for line in chosen)  # of the last case, for long runs
    plan = parse_plan(lines)
    long = [part for part in plan.copies if part.store == "staged" and part.run * part.widths.src >= COPIED_RUN]
    assert any(not part.copies_runs for part in long)
    read = np.random.default_rng(0).integers(0, 256, source.size_bytes, np.uint8)
    written, expected = np.ones((2, destination.size_bytes), np.uint8)
    Kernel(source, destination, plan=lines)(read, written)
    reference.reorder(source, destination, read, expected)
    np.testing.assert_array_equal(written, expected)


def test_runs_that_go_through_the_caches_by_whole_lines_need_no_buffer_either() -> None:
    name = "rows with a pitch"
    source, destination = CASES[name]
    head, line = plan_lines(choose_plan(source, destination, SMALL))
    aligned = [head, line.replace("staged stores", "aligned stores")]
    (part,) = parse_plan(aligned).parts
    assert isinstance(part, CopyPlan) and part.copies_runs
    read = np.random.default_rng(0).integers(0, 256, source.size_bytes, np.uint8)
    written, expected = np.zeros((2, destination.size_bytes), np.uint8)
    Kernel(source, destination, plan=tuple(aligned))(read, written)
    reference.reorder(source, destination, read, expected)
    np.testing.assert_array_equal(written, expected)


def test_an_explanation_says_that_there_is_no_buffer() -> None:
    text = "\n".join(explain_plan(*CASES["rows with a pitch"], SMALL, 1, NO_ATTRIBUTES))
    assert "past the caches by whole lines, out of the source, where runs lie as they are" in text
    assert "buffer" not in text
