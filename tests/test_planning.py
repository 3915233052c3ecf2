"""Plans: strided copies cover the destination once, and tiles move what they say, without any IR."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from numpy.typing import NDArray

import layoutc
from layoutc import reference
from layoutc.descriptor import MemoryDesc
from layoutc.errors import LayoutcError
from layoutc.planning.choose import choose_plan
from layoutc.planning.machine import TARGETS
from layoutc.planning.network import execute
from layoutc.planning.plan import CopyPlan, Plan, Together
from layoutc.planning.plan_text import check_covers, parse_plan, plan_lines
from layoutc.planning.strided_copy import SIDES, NotStridedError, SideName, StridedCopy, strided_copies, unfused
from layoutc.planning.tile import Piece, TileProgram
from tests.descriptors import PAIRS, pair
from tests.strategies import many, reorders

POISON = 0xCD


def offsets(copy: StridedCopy) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.bool_]]:
    """Source offset, destination offset and whether it is loaded, of every element of a copy."""
    src, dst, loaded = np.array([copy.src]), np.array([copy.dst]), np.array([not copy.is_fill])
    for digit in copy.digits:
        steps = np.arange(digit.extent)
        src = np.add.outer(src, [digit.offset("src", step) for step in range(digit.extent)]).ravel()
        dst = np.add.outer(dst, [digit.offset("dst", step) for step in range(digit.extent)]).ravel()
        loaded = np.logical_and.outer(loaded, steps < digit.loaded).ravel()
    return src, dst, loaded


def run_copies(source: MemoryDesc, destination: MemoryDesc, read: NDArray, written: NDArray) -> None:
    counts = np.zeros(written.size, int)
    for copy in strided_copies(source, destination):
        src, dst, loaded = offsets(copy)
        np.add.at(counts, dst, 1)
        written[dst[loaded]] = read[src[loaded]]
        written[dst[~loaded]] = 0
    assert counts.max(initial=0) <= 1, "a position is written twice"


def starts(extent: int, step: int) -> Iterator[int]:
    return (min(first, extent - step) for first in range(0, extent, step))


def run_plan(plan: Plan, read: NDArray, written: NDArray) -> None:
    """Every tile of every macro tile, element by element."""
    for part in plan.parts:
        loops, copies = (part.loops, part.copies) if isinstance(part, Together) else ((), (part,))
        for steps in product(*(starts(loop.extent, loop.step) for loop in loops)):
            for copy in copies:
                size = copy.element_bytes
                src, dst = (
                    sum(step * getattr(loop, side) // size for step, loop in zip(steps, loops, strict=True))
                    for side in SIDES
                )
                moved = replace(copy.copy, src=copy.copy.src + src, dst=copy.copy.dst + dst)
                whole = [array[: len(array) // size * size].view(f"u{size}") for array in (read, written)]
                run_copy(replace(copy, copy=moved), *whole)


def run_copy(plan: CopyPlan, read: NDArray, written: NDArray) -> None:
    digits = plan.copy.digits
    macros = product(*(starts(d.extent, m) for d, m in zip(digits, plan.macro, strict=True)))
    program = TileProgram(plan) if plan.target_lanes else None
    for macro in macros:
        for tile in product(*(starts(m, t) for m, t in zip(plan.macro, plan.tile, strict=True))):
            position = [a + b for a, b in zip(macro, tile, strict=True)]
            if program is None:
                src, dst = (place(plan.copy, side, position, Piece(0)) for side in SIDES)
                written[dst] = 0 if plan.copy.is_fill else read[src]
            else:
                run_tile(program, position, read, written)


def place(copy: StridedCopy, side: SideName, position: list[int], piece: Piece) -> int:
    """Where a piece of the tile at a position lies."""
    steps = (
        p + piece.step * any(name == side for name, _ in digit.carries)
        for p, digit in zip(position, copy.digits, strict=True)
    )
    start = copy.src if side == "src" else copy.dst
    return start + piece.offset + sum(d.offset(side, step) for d, step in zip(copy.digits, steps, strict=True))


def run_tile(program: TileProgram, position: list[int], read: NDArray, written: NDArray) -> None:
    piece = program.load_piece
    if program.plan.copy.is_fill:
        registers = [[0] * program.lanes for _ in program.stores()]
    else:
        lanes: list[list[int]] = []
        for register in program.loads(position):
            starts = [None if p is None else place(program.plan.copy, "src", position, p) for p in register.pieces]
            lanes.append([v for at in starts for v in ([0] * piece if at is None else read[at : at + piece])])
        registers = execute(program.network, lanes)
    for register, values in zip(program.stores(), registers, strict=True):
        for number, stored in enumerate(register.pieces):
            assert stored is not None
            at = place(program.plan.copy, "dst", position, stored)
            written[at : at + program.store_piece] = values[number * program.store_piece :][: program.store_piece]


def buffers(source: MemoryDesc, destination: MemoryDesc) -> tuple[NDArray, NDArray, NDArray]:
    """Random source elements, a poisoned destination, and what the reference makes of it."""
    read = np.random.default_rng(0).integers(0, 256, source.size_bytes, np.uint8)
    expected = np.full(destination.size_bytes, POISON, np.uint8)
    reference.reorder(source, destination, read, expected)
    return read, np.full(destination.size_bytes, POISON, np.uint8), expected


@pytest.mark.parametrize("name", PAIRS)
def test_strided_copies_are_the_reorder(name: str) -> None:
    source, destination = PAIRS[name]
    read, written, expected = buffers(source, destination)
    try:
        run_copies(source, destination, read.view("u4"), written.view("u4"))
    except NotStridedError:
        assert "border" in name
        return
    np.testing.assert_array_equal(written, expected)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("name", PAIRS)
def test_plans_are_the_reorder(name: str, target: str) -> None:
    source, destination = PAIRS[name]
    read, written, expected = buffers(source, destination)
    try:
        plan = choose_plan(source, destination, TARGETS[target])
    except NotStridedError:
        return
    run_plan(plan, read, written)
    np.testing.assert_array_equal(written, expected)


@many(150)
@given(reorders())
def test_plans_of_random_reorders(pair: tuple[MemoryDesc, MemoryDesc]) -> None:
    source, destination = pair
    read, written, expected = buffers(source, destination)
    try:
        plan = choose_plan(source, destination, TARGETS["avx2"])
    except NotStridedError:
        return
    run_plan(plan, read, written)
    np.testing.assert_array_equal(written, expected)


FUSED = [("hwio", "oihw"), ("oihw", "hwio"), ("OIhw16i16o", "oihw"), ("abcd", "dcba")]
"""rows of 3x3, whose 9 elements fill no register"""


@pytest.mark.parametrize("element", ["s8", "bf16", "f32"])
@pytest.mark.parametrize(("source", "destination"), FUSED)
def test_digits_that_fill_no_register_are_counted_as_one(source: str, destination: str, element: str) -> None:
    dims = (64, 80, 3, 3)
    pair = layoutc.desc(source, dims, element), layoutc.desc(destination, dims, element)
    read, written, expected = buffers(*pair)
    plan = choose_plan(*pair, TARGETS["avx512"])
    run_plan(plan, read, written)
    np.testing.assert_array_equal(written, expected)
    (copy,) = plan.copies
    assert any(digit.carries for digit in copy.copy.digits)
    assert [unfused(copy.copy)] == list(strided_copies(*pair))


def test_the_text_of_a_fused_plan() -> None:
    pair = layoutc.desc("hwio", (64, 32, 3, 3), "s8"), layoutc.desc("oihw", (64, 32, 3, 3), "s8")
    plan = choose_plan(*pair, TARGETS["avx512"])
    _, line = lines = plan_lines(plan)
    assert line.startswith("copy 0 -> 0: 64x(1, 288) [32x(64, 9) 9x(2048, 1)], elements of 1")
    assert parse_plan(lines) == plan
    check_covers(plan, strided_copies(*pair), 1)
    wrong = line.replace("32x(64, 9)", "32x(65, 9)")
    with pytest.raises(LayoutcError, match="no copy"):
        check_covers(parse_plan([lines[0], wrong]), strided_copies(*pair), 1)


@pytest.mark.parametrize(
    ("dims", "side"),
    [
        ((50, 1024), "src"),  # 50 rows of the source in one set of the cache, those of the destination in all
        ((256, 256), "dst"),  # rows of both sides share sets: stores lose more
        ((50, 1000), "dst"),  # no rows do
    ],
)
def test_inner_loops_follow_rows_that_would_evict_each_other(dims: tuple[int, int], side: SideName) -> None:
    (copy,) = choose_plan(*pair(dims, "ab", "ba"), TARGETS["sse2"]).copies
    innermost = copy.copy.digits[copy.inner_order[-1]]
    assert innermost.stride(side) == 1


TOGETHER = [
    ("nChw16c", "nhwc", (2, 17, 7, 9)),
    ("nhwc", "nChw16c", (2, 20, 7, 9)),
    ("aBcd12b", "aBcd16b", (2, 100, 7, 9)),
]
"""a tail, padding, and blocks that do not divide each other: copies that share cache lines"""
SMALL = replace(TARGETS["avx512"], l2=1 << 11)
"""a machine with a cache that these do not fit"""


@pytest.mark.parametrize("element", ["s8", "f32"])
@pytest.mark.parametrize(("source", "destination", "dims"), TOGETHER)
def test_copies_that_share_lines_run_together(
    source: str, destination: str, dims: tuple[int, ...], element: str
) -> None:
    pair = layoutc.desc(source, dims, element), layoutc.desc(destination, dims, element)
    read, written, expected = buffers(*pair)
    plan = choose_plan(*pair, SMALL)
    assert any(isinstance(part, Together) and len(part.copies) > 1 for part in plan.parts)
    run_plan(plan, read, written)
    np.testing.assert_array_equal(written, expected)
    assert parse_plan(plan_lines(plan)) == plan
    check_covers(plan, strided_copies(*pair), pair[0].element_type.bits // 8)


def test_copies_run_together_only_in_loops_that_they_have() -> None:
    pair = layoutc.desc("nChw16c", (2, 17, 7, 9), "f32"), layoutc.desc("nhwc", (2, 17, 7, 9), "f32")
    lines = plan_lines(choose_plan(*pair, SMALL))
    assert lines[1].startswith("together: ")
    wrong = [lines[0], lines[1].replace("63x(64, 68)", "64x(64, 68)"), *lines[2:]]
    with pytest.raises(LayoutcError, match=r"no copy|no digit"):
        check_covers(parse_plan(wrong), strided_copies(*pair), 4)
    for bad in ("together: 63x(64, 68), in bytes", "together: 63x(64, 68) by 0, in bytes"):
        with pytest.raises(LayoutcError, match=r"shares no loops|expected 1 to 63"):
            parse_plan([lines[0], bad, *lines[2:]])


def test_rows_that_would_evict_each_other_leave_a_buffer_by_whole_lines() -> None:
    """The ends of a row are no lines: both overlap with the lines between, at any place of the buffer."""
    source, destination = (layoutc.desc(layout, (1025, 40), "bf16") for layout in ("ab", "ba"))
    plan = choose_plan(source, destination, TARGETS["avx512"])
    assert [copy.store for copy in plan.copies] == ["aligned"]
    kernel = layoutc.Kernel(source, destination, "interpret", target="avx512")
    values = np.arange(1025 * 40, dtype=np.uint16).reshape(1025, 40)
    got = np.zeros((40, 1025), np.uint16)
    kernel(values, got)
    np.testing.assert_array_equal(got, values.T)


def test_a_tail_keeps_its_lanes_where_copies_run_together() -> None:
    source = layoutc.desc("cab", (12, 13, 199), "bf16")
    destination = layoutc.desc("Abc8a", (12, 13, 199), "bf16")
    read, written, expected = buffers(source, destination)
    plan = choose_plan(source, destination, replace(TARGETS["avx2"], l2=1 << 9))
    assert any(isinstance(part, Together) for part in plan.parts)
    run_plan(plan, read, written)
    np.testing.assert_array_equal(written, expected)
