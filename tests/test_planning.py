"""Plans: strided copies cover the destination once, and tiles move what they say, without any IR."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from numpy.typing import NDArray

from layoutc import reference
from layoutc.descriptor import MemoryDesc
from layoutc.planning.choose import choose_plan
from layoutc.planning.machine import TARGETS
from layoutc.planning.network import execute
from layoutc.planning.plan import CopyPlan, Plan
from layoutc.planning.strided_copy import NotStridedError, StridedCopy, strided_copies
from layoutc.planning.tile import TileProgram
from tests.descriptors import PAIRS
from tests.strategies import many, reorders

POISON = 0xCD


def offsets(copy: StridedCopy) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.bool_]]:
    """Source offset, destination offset and whether it is loaded, of every element of a copy."""
    src, dst, loaded = np.array([copy.src]), np.array([copy.dst]), np.array([not copy.is_fill])
    for digit in copy.digits:
        steps = np.arange(digit.extent)
        src = np.add.outer(src, steps * digit.src).ravel()
        dst = np.add.outer(dst, steps * digit.dst).ravel()
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
    for copy in plan.copies:
        size = copy.element_bytes
        whole = [array[: len(array) // size * size].view(f"u{size}") for array in (read, written)]
        run_copy(copy, *whole)


def run_copy(plan: CopyPlan, read: NDArray, written: NDArray) -> None:
    digits = plan.copy.digits
    macros = product(*(starts(d.extent, m) for d, m in zip(digits, plan.macro, strict=True)))
    program = TileProgram(plan) if plan.target_lanes else None
    for macro in macros:
        for tile in product(*(starts(m, t) for m, t in zip(plan.macro, plan.tile, strict=True))):
            position = [a + b for a, b in zip(macro, tile, strict=True)]
            src = plan.copy.src + sum(p * d.src for p, d in zip(position, digits, strict=True))
            dst = plan.copy.dst + sum(p * d.dst for p, d in zip(position, digits, strict=True))
            if program is None:
                written[dst] = 0 if plan.copy.is_fill else read[src]
            else:
                run_tile(program, position, src, dst, read, written)


def run_tile(program: TileProgram, position: list[int], src: int, dst: int, read: NDArray, written: NDArray) -> None:
    piece = program.load_piece
    if program.plan.copy.is_fill:
        registers = [[0] * program.lanes for _ in program.stores()]
    else:
        # Offsets of the registers are those from the tile's start, of which `src` is the offset already.
        loads = program.loads(position)
        lanes = [
            [v for p in r.pieces for v in ([0] * piece if p is None else read[src + p : src + p + piece])]
            for r in loads
        ]
        registers = execute(program.network, lanes)
    for register, values in zip(program.stores(), registers, strict=True):
        for number, at in enumerate(register.pieces):
            assert at is not None
            part = values[number * program.store_piece : (number + 1) * program.store_piece]
            written[dst + at : dst + at + program.store_piece] = part


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
