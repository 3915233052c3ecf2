"""Plans: strided copies cover the destination once, and tiles move what they say, without any IR."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import product
from math import prod
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

import layoutc
from layoutc import desc, reference
from layoutc.conversion import Conversion
from layoutc.descriptor import MemoryDesc
from layoutc.errors import LayoutcError
from layoutc.planning.choose import choose_plan
from layoutc.planning.copies.copy_digits import SIDES, Carry, SideName, StridedCopy, unfused
from layoutc.planning.copies.strided_copy import NotStridedError, strided_copies
from layoutc.planning.explain import explain_plan
from layoutc.planning.machine import LINE, PAGE, TARGETS, Machine, Shuffles, machine
from layoutc.planning.moves.colliding_rows import stored_in_a_set
from layoutc.planning.moves.macro_tiles import loop_order
from layoutc.planning.plan_covers import check_covers
from layoutc.planning.plan_text import parse_plan, plan_lines
from layoutc.planning.plans.plan import CopyPlan, Load, Plan, Store
from layoutc.planning.plans.turns import SharedLoop, Through, Together
from layoutc.planning.tiles.lanes import lane_count
from layoutc.planning.tiles.merged_tile import MergedTile
from layoutc.planning.tiles.tile import Piece, TileProgram
from layoutc.planning.together.unions import Union, shared_step, unions
from layoutc.transforms.plan_reorders import read_plan
from tests.descriptors import PAIRS, pair
from tests.networks import execute
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


def run_copies(copies: Sequence[StridedCopy], read: NDArray, written: NDArray) -> None:
    counts = np.zeros(written.size, int)
    for copy in copies:
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
        if isinstance(part, Together) and part.store == "staged":
            run_staged(part, read, written)
            continue
        if isinstance(part, Through):
            run_through(part, read, written)
            continue
        loops, copies = (part.loops, part.copies) if isinstance(part, Together) else ((), (part,))
        for steps in product(*(starts(loop.extent, loop.step) for loop in loops)):
            for copy in copies:
                run_turn(copy, loops, steps, read, written)


def run_through(part: Through, read: NDArray, written: NDArray) -> None:
    """Turns into a buffer and out of it."""
    for steps in product(*(starts(loop.extent, loop.step) for loop in part.loops)):
        buffer = np.full(part.buffer_bytes, POISON + 1, np.uint8)
        into, out_of = ([replace(loop, **{side: 0}) for loop in part.loops] for side in ("dst", "src"))
        for copy in part.into:
            run_turn(copy, into, steps, read, buffer)
        for copy in part.out_of:
            run_turn(copy, out_of, steps, buffer, written)


def run_turn(copy: CopyPlan, loops: Sequence[SharedLoop], steps: Sequence[int], read: NDArray, out: NDArray) -> None:
    """A copy in one turn of the loops around it, which begins at these steps."""
    size = copy.widths.src
    src, dst = (
        sum(step * getattr(loop, side) // size for step, loop in zip(steps, loops, strict=True)) for side in SIDES
    )
    moved = replace(copy.copy, src=copy.copy.src + src, dst=copy.copy.dst + dst)
    whole = [array[: len(array) // size * size].view(f"u{size}") for array in (read, out)]
    run_copy(replace(copy, copy=moved), *whole)


def run_staged(part: Together, read: NDArray, written: NDArray) -> None:
    """Turns that overlap: each leaves the lines that begin in its steps, wherever lines begin in the destination."""
    made = unions(part)
    shared = [shared_step(g, made) for g in range(len(part.loops))]
    turns = [starts_apart(loop.extent, loop.step, step) for loop, step in zip(part.loops, shared, strict=True)]
    buffered = {number for union in made for number in union.members}
    for steps in product(*turns):
        buffer = np.full_like(written, POISON + 1)
        for number, copy in enumerate(part.copies):
            run_turn(copy, part.loops, steps, read, buffer if number in buffered else written)
        for union in made:
            for begin, end in owned(union, shared, steps, written.ctypes.data):
                written[begin:end] = buffer[begin:end]


def starts_apart(extent: int, size: int, step: int) -> list[int]:
    return [min(first, extent - size) for first in range(0, extent - size + step, step)]


def owned(union: Union, shared: Sequence[int], steps: Sequence[int], address: int) -> Iterator[tuple[int, int]]:
    """The bytes of each run that a turn writes: whole lines, but for the ends of a row."""
    plan = union.plan
    size, last, digits = plan.widths.src, plan.run_digits[-1], plan.copy.digits
    first = plan.copy.dst + sum(step * digit.dst for step, digit in zip(steps, digits, strict=False))
    rows = [g for g in range(len(digits)) if g not in plan.run_digits]
    for row in product(*(range(plan.macro[g]) for g in rows)):
        begin = size * (first + sum(step * digits[g].dst for step, g in zip(row, rows, strict=True)))
        end = begin + plan.run * size
        if last < len(shared) and plan.macro[last] < plan.extents[last]:
            stop = begin + shared[last] * digits[last].dst * size
            lines = [place + -(address + place) % LINE for place in (begin, stop)]
            limit = plan.extents[last] - plan.macro[last]
            begin, end = begin if steps[last] == 0 else lines[0], end if steps[last] == limit else lines[1]
        yield begin, end


def run_copy(plan: CopyPlan, read: NDArray, written: NDArray) -> None:
    digits = plan.copy.digits
    macros = product(*(starts(d.extent, m) for d, m in zip(digits, plan.macro, strict=True)))
    program = None
    if plan.target_lanes:
        program = MergedTile(plan) if plan.merges else TileProgram(plan)
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


def loaded_lanes(
    program: TileProgram | MergedTile, position: list[int], piece: Piece | None, size: int, read: NDArray
) -> list[int]:
    """What so many lanes of a register hold; those that a piece does not have are zero, or poison behind it."""
    if piece is None:
        return [0] * size
    at = place(program.plan.copy, "src", position, piece)
    if piece.mask:
        assert 0 <= at <= len(read) - piece.mask.bit_length()
        return [int(read[at + lane]) if piece.mask >> lane & 1 else 0 for lane in range(size)]
    count = min(size, program.load_piece)
    assert 0 <= at <= len(read) - count
    return [*map(int, read[at : at + count]), *[POISON] * (size - count)]


def run_tile(program: TileProgram | MergedTile, position: list[int], read: NDArray, written: NDArray) -> None:
    if program.plan.copy.is_fill:
        registers = [[0] * program.lanes for _ in program.stores()]
    else:
        lanes: list[list[int]] = []
        for register in program.loads(position):
            size = program.lanes // len(register.pieces)
            lanes.append([v for piece in register.pieces for v in loaded_lanes(program, position, piece, size, read)])
        registers = execute(program.network, lanes)
    for register, values in zip(program.stores(), registers, strict=True):
        for number, stored in enumerate(register.pieces):
            assert stored is not None
            at = place(program.plan.copy, "dst", position, stored)
            for lane, value in enumerate(values[number * program.store_piece :][: program.store_piece]):
                if not stored.mask or stored.mask >> lane & 1:
                    written[at + lane] = 0 if stored.zeros >> lane & 1 else value


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
        run_copies(strided_copies(source, destination), read.view("u4"), written.view("u4"))
    except NotStridedError:
        assert "flattened" in name
        return
    np.testing.assert_array_equal(written, expected)


def test_a_last_digit_within_a_line_is_in_every_copy() -> None:
    source, destination = PAIRS["outer digit innermost, into the middle of a block"]
    for copy in strided_copies(source, destination):
        (inner,) = (digit for digit in copy.digits if digit.dst == 1)
        assert (inner.extent, inner.loaded) in ((4, 4), (4, 3))


def test_contiguous_steps_of_a_digit_are_rows_up_to_the_last_one() -> None:
    """5 of 6 rows have 1041 elements, the last one 1040; of 211 columns the last one has 13 values of 16."""
    source = desc("affine:(a, b) -> (a, b mod 6, b floordiv 6)", (100, 6245), "u8")
    rows = strided_copies(source, desc("ba", (100, 6245), "u8"))
    assert sorted(next(d.extent for d in copy.digits if d.src == 1) for copy in rows) == [1040, 1041]
    destination = desc("affine:(a, b) -> (b mod 16, a, b floordiv 16)", (100, 3373), "u8")
    columns = strided_copies(desc("ba", (100, 3373), "u8"), destination)
    assert sorted(next((d.extent, d.loaded) for d in copy.digits if d.dst == 1) for copy in columns) == [
        (211, 210),
        (211, 211),
    ]


@pytest.mark.parametrize(
    ("layouts", "types", "takes_gaps"),
    [
        ("nChw16c->nchw", "s8->s8", True),
        ("nChw16c->nhwc", "u8->s8", True),
        ("nChw8c->nhwc", "bf16->bf16", True),
        ("nChw16c->nchw", "bf16->bf16", False),  # a register holds two rows of 3, and no more
        ("nChw8c->nhwc", "bf16->s8", True),
    ],
)
def test_loads_take_short_rows_and_the_gaps_between_them(layouts: str, types: str, takes_gaps: bool) -> None:
    """Each pixel of 3 channels was a load of 3 elements."""
    (layout, to_layout), (type, to_type), dims = layouts.split("->"), types.split("->"), (2, 3, 56, 56)
    target = replace(machine("avx512"), shuffles="any")
    (copy,) = choose_plan(desc(layout, dims, type), desc(to_layout, dims, to_type), target).copies
    assert (len(copy.source_lanes) > 1) == takes_gaps


def test_small_copies_are_not_too_many() -> None:
    dims = (16, 17, 18)
    source, destination = layoutc.desc("ABC7a7b7c", dims, "f32"), layoutc.desc("CBA5a5b5c", dims, "bf16")
    with pytest.raises(NotStridedError, match="4896 elements into 72 copies"):
        choose_plan(source, destination, TARGETS["avx512"], conversion=Conversion(sum=1.0))


def test_memory_is_asked_ahead_where_stores_of_a_large_copy_go_through_the_caches() -> None:
    dims = (128, 96, 64, 15)
    gaps = (64 * 96 * 16, 64 * 16, 16, 1)
    pair = layoutc.desc("acdb", dims, "f32"), layoutc.desc("abcd", dims, "f32", strides=gaps)
    (copy,) = choose_plan(*pair, TARGETS["avx512"]).copies
    assert copy.store == "normal"
    assert copy.prefetch > 0


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
    with pytest.raises(LayoutcError, match="for this reorder"):
        check_covers(parse_plan([lines[0], wrong]), strided_copies(*pair), 1)


@pytest.mark.parametrize(
    ("l2", "channels", "ahead"), [(1 << 20, 8, 64 * 36 * 64), (32 << 10, 8, 2 * 8), (16 << 10, 5, 10)]
)
def test_copies_that_fill_a_buffer_together_ask_for_a_later_turn(l2: int, channels: int, ahead: int) -> None:
    """
    That of most turns if the second cache holds what passes until then. Else the second one of 2 KiB, or the first that
    is a line or more further on: what is nearer is there already.
    """
    source = layoutc.desc(f"onednn:DbaC{channels}d{channels}c", (64, 48, 36 * channels - channels // 2, 5), "f64")
    machine = replace(TARGETS["avx512"], l2=l2)
    (part,) = choose_plan(source, layoutc.desc("onednn:abdc", source.dims, "f64"), machine).parts
    assert isinstance(part, Together)
    assert {copy.prefetch for copy in part.copies} == {ahead}


@pytest.mark.parametrize("shuffles", ["any", "single", "words"])
def test_plans_of_joined_axes_are_read_back_though_digits_are_fused(shuffles: Shuffles) -> None:
    source, destination = (layoutc.desc(name, (32, 224, 1404), "bf16") for name in ("BaC16c3c5b", "aBc2b"))
    plan = choose_plan(source, destination, replace(TARGETS["avx512"], shuffles=shuffles))
    assert any("[" in line for line in plan_lines(plan))
    assert read_plan(plan_lines(plan), source, destination) == plan


@pytest.mark.parametrize(
    ("l2", "macro"), [(1 << 20, (32, 64)), (1 << 30, (1, 139725))], ids=["lines of both sides", "rows that are held"]
)
def test_macro_tiles_of_elements_follow_lines(l2: int, macro: tuple[int, int]) -> None:
    """A line of the source, whose elements lie two apart, has 8 rows or so: it is gone before the second one."""
    source = layoutc.desc("ba", (49, 139725), "f32", strides=(98, 2))
    destination = layoutc.desc("ab", (49, 139725), "f32")
    (copy,) = choose_plan(source, destination, replace(TARGETS["sse2"], l2=l2)).copies
    assert (copy.target_lanes, copy.macro) == ((), macro)


@pytest.mark.parametrize(("ways", "width"), [(12, 64), (16, 16)])
def test_macro_tiles_take_lines_of_rows_that_the_first_cache_has_no_room_for(ways: int, width: int) -> None:
    """Of 448 rows 14 share a set: part of a line is there for the next macro tile only where a set holds as many."""
    source, destination = (layoutc.desc(layout, (2320, 59, 384), "s8") for layout in ("abc", "cba"))
    target = replace(TARGETS["avx512"], shuffles="any", l1=ways * LINE * 64, llc_is_far=True)
    (copy,) = choose_plan(source, destination, target).copies
    assert (copy.store, copy.macro) == ("staged", (width, 1, 448))


@pytest.mark.parametrize(
    ("dims", "dtype", "near", "far"),
    [
        ((359, 35096), "f32", (8, 359), (16, 112)),  # a row of the destination is not cut
        ((359, 16384), "f32", (16, 359), (64, 112)),  # though rows of the source share sets; of these four lines
        ((601, 35096), "f32", (8, 160), (16, 128)),  # 2404 bytes; half a line of each row
        ((5746, 7749), "s8", (32, 256), (16, 512)),
        ((5746, 7749), "bf16", (16, 160), (16, 256)),
        ((200001, 197), "s8", (112, 512), (112, 512)),  # short rows
        ((200001, 197), "bf16", (16, 256), (16, 256)),
    ],
)
def test_macro_tiles_that_fill_a_buffer_where_the_last_cache_is_near(
    dims: tuple[int, int], dtype: str, near: tuple[int, int], far: tuple[int, int]
) -> None:
    """All of a row that would be cut, if the first cache holds the lines it comes from; rows that leave room in it."""
    source, destination = (layoutc.desc(layout, dims, dtype) for layout in ("ab", "ba"))
    for is_far, macro in ((False, near), (True, far)):
        target = replace(TARGETS["avx512"], shuffles="any", l1=48 << 10, llc_is_far=is_far)
        (copy,) = choose_plan(source, destination, target).copies
        assert (copy.store, copy.macro) == ("staged", macro)


@pytest.mark.parametrize(
    ("dims", "run"),
    [
        ((143, 4, 21504), 572 * 32),
        ((153, 209, 2000), 153 * 4),
        ((366, 28, 2000), 366 * 4),
        ((451, 28, 2000), 160),
    ],
)
def test_short_rows_of_the_destination_are_one_run(dims: tuple[int, int, int], run: int) -> None:
    """All rows of a digit, or a few; what a row leaves of a line would go through the caches, and wait for memory."""
    source, destination = (layoutc.desc(layout, dims, "bf16") for layout in ("abc", "cba"))
    (copy,) = choose_plan(source, destination, replace(TARGETS["avx512"], shuffles="any")).copies
    assert (copy.store, copy.run) == ("staged", run)


@pytest.mark.parametrize(
    ("layout", "dims", "dtype", "loaded", "macro"),
    [
        ("ab->ba", (400004, 404), "bf16", 16, (16, 128)),  # these do not
        ("ab->ba", (4097, 4097), "s8", 64, (64, 480)),
        ("nhwc->nchw", (128, 100, 75, 75), "s8", 16, (1, 100, 512)),
        ("abcd->cadb", (64, 197, 16, 64), "bf16", 32, (1, 1, 32, 197)),
    ],
)
def test_lines_are_loaded_whole_where_a_buffer_takes_parts(
    layout: str, dims: tuple[int, ...], dtype: str, loaded: int, macro: tuple[int, ...]
) -> None:
    """Of rows that evict each other; macro tiles are a line wide."""
    source, destination = (layoutc.desc(name, dims, dtype) for name in layout.split("->"))
    (copy,) = choose_plan(source, destination, replace(TARGETS["avx512"], shuffles="any")).copies
    assert (copy.store, copy.load) == ("staged", "normal")
    assert (prod(part.extent for part in copy.source_lanes), copy.macro) == (loaded, macro)


@pytest.mark.parametrize(
    ("layout", "dims", "dtype", "ahead"),
    [
        ("ab->ba", (4104, 4104), "bf16", 32 + 15),
        ("ab->ba", (4104, 4128), "bf16", 32 + 16),  # half a line on, by the second part of one
        ("cab->bac", (1061, 670, 13), "f32", 16 + 15),
        ("abc->bac", (7875, 66, 7), "f64", 10 * 7 + 7),
        ("hwio->oihw", (1056, 1056, 3, 3), "bf16", 128),  # four lines of each row on, where tiles follow one another
        ("OIhw16i16o->oihw", (1024, 1024, 5, 1), "bf16", 13 * 1280 + 15),  # 1024 steps are 12.8 periods of 80
        ("acb->cab", (64, 300, 1030), "f32", 7 * 150 + 7),  # by pairs of f32
        ("Dabc3d->cbad", (75, 48, 178, 28), "bf16", 72 + 31),  # the row goes on behind blocks of 3, which carry
    ],
)
def test_what_is_asked_for_ends_in_a_line_that_is_not_there(
    layout: str, dims: tuple[int, ...], dtype: str, ahead: int
) -> None:
    """The last byte where rows straddle lines; along digits of which four of 5 steps carry, whole periods ahead."""
    source, destination = (layoutc.desc(name, dims, dtype) for name in layout.split("->"))
    (copy,) = choose_plan(source, destination, replace(TARGETS["avx512"], shuffles="any", llc_is_far=True)).copies
    assert copy.prefetch == ahead


@pytest.mark.parametrize(
    ("layout", "dims", "dtype", "ahead"),
    [
        ("nchw->nChw16c", (1, 16, 1000, 1000), "f32", 8 * 16),
        ("nchw->nChw16c", (32, 64, 56, 56), "f32", 16 * 3136 + 15),  # 512 steps of channels, and each has 13 of pixels
        ("nchw->nhwc", (64, 16, 112, 112), "bf16", 8 * 32),
        ("nchw->nhwc", (32, 3, 224, 224), "f32", 1024),  # the processor follows three rows by itself
        ("ab->ba", (4000, 4000), "bf16", 64),  # tiles are 4 KiB
    ],
)
def test_tiles_along_many_rows_ask_for_what_lies_8_kib_of_them_ahead(
    layout: str, dims: tuple[int, ...], dtype: str, ahead: int
) -> None:
    source, destination = (layoutc.desc(name, dims, dtype) for name in layout.split("->"))
    (copy,) = choose_plan(source, destination, replace(AVX512, shuffles="any")).copies
    assert (copy.prefetch, copy.store) == (ahead, "nontemporal")


@pytest.mark.parametrize(
    ("layout", "dims", "dtype", "macro"),
    [
        ("ab->ba", (32247, 231), "f32", (16, 128)),
        ("ab->ba", (4103, 2048), "f32", (16, 128)),  # though rows share few sets of the cache
        ("acb->abc", (700, 60, 331), "f32", (1, 60, 96)),  # rows are short
        ("acb->abc", (609, 75, 472), "s8", (1, 16, 472)),
        ("acb->abc", (1200, 300, 100), "s8", (1, 112, 100)),  # 16 rows of the destination are a short run
    ],
)
def test_macro_tiles_of_long_rows_are_one_tile_wide(
    layout: str, dims: tuple[int, ...], dtype: str, macro: tuple[int, ...]
) -> None:
    source, destination = (layoutc.desc(name, dims, dtype) for name in layout.split("->"))
    (copy,) = choose_plan(source, destination, replace(TARGETS["avx512"], shuffles="any")).copies
    assert (copy.store, copy.macro) == ("staged", macro)


@pytest.mark.parametrize(
    ("images", "pixels", "ahead"), [(1200, 4099, 4 * 640 + 15), (9000, 511, 4 * 640 + 15), (20000, 203, 3 * 1015)]
)
def test_small_macro_tiles_ask_for_a_later_one(images: int, pixels: int, ahead: int) -> None:
    """Those of 2560 bytes, asked for twice, for the fourth one: a loop of four of them goes on in the next image."""
    source, destination = (layoutc.desc(layout, (images, 5, pixels), "f32") for layout in ("acb", "abc"))
    (copy,) = choose_plan(source, destination, replace(TARGETS["avx512"], llc_is_far=True)).copies
    assert copy.prefetch == ahead


@pytest.mark.parametrize(("middle", "joined"), [(12, {19, 38}), (2, {2, 38, 19})])
def test_digits_within_a_line_of_the_source_stay_apart(middle: int, joined: set[int]) -> None:
    """Unless a macro tile has all of what is counted as one: otherwise each takes 16 bytes of many lines."""
    source, destination = (layoutc.desc(layout, (19, 38, middle, 16), "s8") for layout in ("abcd", "dcba"))
    (copy,) = choose_plan(source, destination, replace(TARGETS["avx512"], shuffles="any")).copies
    by_lanes = [digit.parts for digit in copy.copy.digits if digit.carries and digit.stride("dst") == 1]
    assert [{part.extent for part in parts} for parts in by_lanes] == [joined]


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
    ("Acdb48a", "Acdb32a", (192, 8, 3, 3)),
]
"""a tail, padding, blocks that do not divide each other: copies that share cache lines, or pages of straight lines"""
AVX512 = TARGETS["avx512"]
SMALL = replace(TARGETS["sse2"], l2=1 << 11)
"""a machine with a cache that these do not fit, and without boxes of bytes that have all of a short axis"""


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


def test_copies_that_begin_close_but_share_no_lines_run_alone() -> None:
    """The tail of c begins 768 bytes behind whole lines: loops around both could not follow the source."""
    source, destination = (layoutc.desc(f"onednn:{tag}", (2, 3, 54, 16), "bf16") for tag in ("CdbA4a3c", "aDbC8d24c"))
    read, written, expected = buffers(source, destination)
    plan = choose_plan(source, destination, SMALL)
    first, second = [copy.copy.dst for copy in plan.copies if not copy.copy.is_fill]
    assert (second - first) * 2 == 768
    together = [part for part in plan.parts if isinstance(part, Together)]
    assert all(sum(not copy.copy.is_fill for copy in part.copies) == 1 for part in together)
    run_plan(plan, read, written)
    np.testing.assert_array_equal(written, expected)


def test_copies_run_together_only_in_loops_that_they_have() -> None:
    pair = layoutc.desc("nChw16c", (2, 17, 7, 9), "f32"), layoutc.desc("nhwc", (2, 17, 7, 9), "f32")
    lines = plan_lines(choose_plan(*pair, SMALL))
    assert lines[1].startswith("together: ")
    wrong = [lines[0], lines[1].replace("63x(64, 68)", "64x(64, 68)"), *lines[2:]]
    with pytest.raises(LayoutcError, match=r"for this reorder|no digit"):
        check_covers(parse_plan(wrong), strided_copies(*pair), 4)
    for bad in ("together: 63x(64, 68), in bytes", "together: 63x(64, 68) by 0, in bytes"):
        with pytest.raises(LayoutcError, match=r"expected '\) by', got|expected 1 to 63"):
            parse_plan([lines[0], bad, *lines[2:]])


def test_rows_that_would_evict_each_other_leave_a_buffer_by_whole_lines() -> None:
    """The ends of a row are no lines: both overlap with the lines between, at any place of the buffer."""
    source, destination = (layoutc.desc(layout, (1025, 40), "bf16") for layout in ("ab", "ba"))
    target = replace(TARGETS["avx512"], l1=48 << 10)
    for l2 in (64 << 10, 1 << 20):
        waiting = choose_plan(source, destination, replace(target, l2=l2))
        assert [copy.store for copy in waiting.copies] == ["normal"], "where stores wait for lines"
    plan = choose_plan(source, destination, replace(target, waits_for_lines=False))
    assert [copy.store for copy in plan.copies] == ["aligned"]
    kernel = layoutc.Kernel(source, destination, "interpret", plan=tuple(plan_lines(plan)))
    values = np.arange(1025 * 40, dtype=np.uint16).reshape(1025, 40)
    got = np.zeros((40, 1025), np.uint16)
    kernel(values, got)
    np.testing.assert_array_equal(got, values.T)


def test_lines_do_not_leave_a_buffer_that_fills_the_first_cache() -> None:
    source, destination = (layoutc.desc(layout, (1024, 1024), "f32") for layout in ("ab", "ba"))
    stores = {}
    for l1 in (32 << 10, 48 << 10):
        machine = replace(TARGETS["avx512"], l1=l1, waits_for_lines=False)
        (copy,) = choose_plan(source, destination, machine).copies
        stores[l1 >> 10] = copy.store
    assert stores == {32: "normal", 48: "aligned"}


@pytest.mark.parametrize(
    ("layouts", "dims", "dtype", "tile", "macro"),
    [
        ("ab ba", (4032, 4000), "f32", (4, 16), (64, 64)),
        ("ab ba", (4104, 4104), "f64", (2, 8), (32, 64)),
        ("ab ba", (4032, 4000), "bf16", (16, 32), (64, 128)),
        ("ab ba", (4096, 4096), "f32", (16, 16), (64, 64)),  # rows evict each other
        ("nchw nhwc", (64, 16, 112, 112), "f32", (1, 16, 16), (1, 256, 16)),  # a row of the destination is a line
        ("nchw nhwc", (64, 32, 75, 75), "f32", (1, 4, 16), (1, 128, 32)),
    ],
)
def test_past_the_caches_tiles_of_large_elements_store_into_few_rows(
    layouts: str, dims: tuple[int, ...], dtype: str, tile: tuple[int, ...], macro: tuple[int, ...]
) -> None:
    """By 16 bytes of each row of the source, whose lines the first cache holds; not where the last one is far."""
    source, destination = (layoutc.desc(layout, dims, dtype) for layout in layouts.split())
    (copy,) = choose_plan(source, destination, TARGETS["avx512"]).copies
    assert (copy.store, copy.tile, copy.macro) == ("nontemporal", tile, macro)
    (far,) = choose_plan(source, destination, replace(TARGETS["avx512"], llc_is_far=True)).copies
    assert min(prod(part.extent for part in far.source_lanes) * far.widths.src, 64) == {"bf16": 32}.get(dtype, 64)


@pytest.mark.parametrize(
    ("dims", "dtype", "tile", "macro"),
    [
        ((3001, 5003), "f64", (4, 4), (4, 160)),
        ((3001, 5003), "f32", (8, 8), (8, 160)),
        ((3001, 5003), "bf16", (16, 16), (16, 160)),
        ((3001, 5003), "s8", (32, 32), (32, 256)),  # 160 of them would be too short a run
    ],
)
def test_transposes_of_long_rows_leave_a_buffer_in_half_lines(
    dims: tuple[int, int], dtype: str, tile: tuple[int, int], macro: tuple[int, int]
) -> None:
    """In macro tiles one tile wide, of which few lines leave at a time; not where the last cache is far."""
    source, destination = (layoutc.desc(layout, dims, dtype) for layout in ("ab", "ba"))
    (copy,) = choose_plan(source, destination, TARGETS["avx512"]).copies
    assert (copy.store, copy.load, copy.tile, copy.macro) == ("staged", "normal", tile, macro)
    (far,) = choose_plan(source, destination, replace(TARGETS["avx512"], llc_is_far=True)).copies
    assert far.store == "staged" and far.tile != tile


@pytest.mark.parametrize(
    ("layouts", "dims", "dtype", "loaded"),
    [
        ("ab ba", (301, 50003), "f32", 16),  # few rows
        ("ab ba", (300001, 203), "f32", 16),  # rows are short
        ("ab ba", (4097, 4097), "s8", 64),  # rows evict each other
        ("ab ba", (601, 50003), "s8", 16),  # rows of the destination are short
    ],
)
def test_other_transposes_leave_a_buffer_in_other_tiles(
    layouts: str, dims: tuple[int, ...], dtype: str, loaded: int
) -> None:
    source, destination = (layoutc.desc(layout, dims, dtype) for layout in layouts.split())
    (copy,) = choose_plan(source, destination, TARGETS["avx512"]).copies
    assert (copy.store, prod(part.extent for part in copy.source_lanes)) == ("staged", loaded)


@pytest.mark.parametrize("name", ["avx2", "sse2", "neon", "generic"])
def test_half_lines_are_for_registers_of_a_line(name: str) -> None:
    source, destination = (layoutc.desc(layout, (3001, 5003), "f32") for layout in ("ab", "ba"))
    plan = choose_plan(source, destination, TARGETS[name])
    assert parse_plan(plan_lines(plan)) == plan
    assert all(part.extent <= plan.copies[0].vector_bytes // 4 for part in plan.copies[0].source_lanes)


@pytest.mark.parametrize(
    ("layouts", "dims", "side"),
    [
        ("ab ba", (4096, 4096), "dst"),
        ("nchw nhwc", (64, 16, 112, 112), "src"),  # rows of the destination are one run
    ],
)
def test_past_the_caches_rows_in_many_pages_are_stored_one_after_the_other(
    layouts: str, dims: tuple[int, ...], side: SideName
) -> None:
    source, destination = (layoutc.desc(layout, dims, "f32") for layout in layouts.split())
    (copy,) = choose_plan(source, destination, TARGETS["avx512"]).copies
    assert copy.inner_order == loop_order(copy.copy.digits, side) != loop_order(copy.copy.digits, other_side(side))


def other_side(side: SideName) -> SideName:
    return "dst" if side == "src" else "src"


def test_the_first_cache_holds_rows_that_are_gathered() -> None:
    """Runs of 64 elements in the destination."""
    source = layoutc.desc("ab", (4096, 65536), "bf16")
    (copy,) = choose_plan(source, layoutc.desc("ba", source.dims, "bf16"), TARGETS["avx512"]).copies
    assert (copy.load, copy.store, copy.macro) == ("staged", "nontemporal", (128, 64))


def test_rows_shorter_than_a_line_are_gathered_where_they_evict_each_other() -> None:
    """Three loads take parts of 49 bytes each, of 128 rows that lie in one set."""
    source = layoutc.desc("edbAc16a", (49, 56, 1, 112, 128), "s8")
    (copy,) = choose_plan(source, layoutc.desc("cbadE8e", source.dims, "s8"), TARGETS["avx512"]).copies
    assert (copy.load, copy.source_run) == ("staged", 49)


@pytest.mark.parametrize(
    ("layouts", "dims", "name", "loaded", "stored"),
    [
        ("ab ba", (4097, 4097), "f32", 16, 4),  # rows 4 pages and an element apart
        ("abcde edcba", (352, 28, 28, 4, 48), "s8", 16, 16),  # 147 KiB apart: 64 rows lie in four sets
        ("abcde edcba", (352, 28, 29, 4, 48), "s8", 16, 64),  # some 5 KiB more: in all
    ],
)
def test_tiles_that_store_into_a_buffer_load_few_rows_of_a_set(
    layouts: str, dims: tuple[int, ...], name: str, loaded: int, stored: int
) -> None:
    source, destination = (layoutc.desc(layout, dims, name) for layout in layouts.split())
    plan = choose_plan(source, destination, TARGETS["avx512"])
    (copy,) = plan.copies
    assert (copy.store, copy.load) == ("staged", "normal")
    assert [lane_count(copy.lanes(side)) for side in SIDES] == [loaded, stored]
    assert parse_plan(plan_lines(plan)).copies == (copy,)


def test_rows_are_gathered_for_tiles_of_fewer_rows() -> None:
    """Rows of 2050 bytes on both sides: each tile of 16 by 32 would store 16 of them into two sets."""
    machine = replace(TARGETS["avx512"], waits_for_lines=False)
    source, destination = (layoutc.desc(layout, (1025, 1025), "bf16") for layout in ("ab", "ba"))
    (copy,) = choose_plan(source, destination, machine).copies
    assert (copy.tile, copy.load) == ((8, 32), "staged")
    text = "\n".join(explain_plan(source, destination, machine, 1))
    assert "gathered on the stack first for tiles of 8 of the destination" in text


@pytest.mark.parametrize(
    ("layouts", "dims", "dtype", "load"),
    [
        ("abcdef fedcba", (4, 8, 8, 8, 8, 8), "bf16", "staged"),
        ("abcdef fedcba", (14, 8, 8, 8, 5, 8), "s8", "staged"),  # a digit of 896 steps that carries
        ("ab ba", (512, 512), "s8", "normal"),  # it would spare a fifth
    ],
)
def test_rows_are_gathered_in_the_second_cache_if_that_spares_a_quarter(
    layouts: str, dims: tuple[int, ...], dtype: str, load: str
) -> None:
    """Rows of the destination evict each other there, too."""
    machine = replace(TARGETS["avx512"], l1=32 << 10, waits_for_lines=False)
    source, destination = (layoutc.desc(layout, dims, dtype) for layout in layouts.split())
    (copy,) = choose_plan(source, destination, machine).copies
    assert copy.load == load


@pytest.mark.parametrize(
    ("channels", "pixels", "alignment", "side_by_side"),
    [
        (100, 3136, 64, True),
        (100, 3135, 64, False),  # each image begins elsewhere in a line
        (100, 3136, 16, False),  # the destination does
        (102, 3136, 64, True),  # 32 pixels of 408 bytes are whole lines too
    ],
)
def test_macro_tiles_are_side_by_side_where_their_runs_are_whole_lines(
    channels: int, pixels: int, alignment: int, side_by_side: bool
) -> None:
    target = replace(AVX512, llc=1 << 20, alignment=alignment)
    source, destination = (layoutc.desc(name, (6, channels, pixels), "f32") for name in ("abc", "acb"))
    plan = choose_plan(source, destination, target)
    (copy,) = plan.copies
    assert (copy.store, copy.side_by_side) == ("staged", side_by_side)
    position = copy.run_digits[-1]
    assert (copy.macro_step(position) == copy.macro[position]) == side_by_side
    assert parse_plan(plan_lines(plan)) == plan


@pytest.mark.parametrize("begin", [0, 4, 60])
def test_macro_tiles_side_by_side_write_all_wherever_a_destination_begins(begin: int) -> None:
    """Lines that two of them share are stored by parts, and the last one begins earlier, in the middle of a line."""
    source, destination = (layoutc.desc(name, (100, 1001), "f32") for name in ("ab", "ba"))
    lines = plan_lines(choose_plan(source, destination, replace(AVX512, llc=1 << 18)))
    assert "staged stores, side by side" in lines[1]
    values = np.arange(100 * 1001, dtype=np.float32).reshape(100, 1001)
    memory = np.full(values.nbytes + 3 * LINE, POISON, np.uint8)
    first = LINE + -memory.ctypes.data % LINE + begin
    got = memory[first:][: values.nbytes].view(np.float32).reshape(1001, 100)
    layoutc.Kernel(source, destination, "interpret", plan=tuple(lines))(values, got)
    np.testing.assert_array_equal(got, values.T)
    assert (memory[:first] == POISON).all() and (memory[first + values.nbytes :] == POISON).all()


@pytest.mark.parametrize(
    ("source", "destination", "dims", "element", "target", "load"),
    [
        ("ab", "ba", (2048, 2048), "s8", "avx512", "staged"),
        ("ab", "ba", (512, 512), "s8", "avx512", "normal"),  # lines come as fast from the second cache as from a buffer
        ("ab", "ba", (2048, 64), "s8", "avx512", "normal"),  # only the source's rows evict each other
        ("ab", "ba", (2048, 2048), "s8", "sse2", "staged"),  # rows of one tile do not
        ("ab", "ba", (512, 1024), "f64", "avx2", "staged"),
        ("hwio", "oihw", (256, 256, 3, 3), "f32", "avx2", "staged"),  # rows that a table has
        ("oihw", "hwio", (256, 256, 3, 3), "f32", "avx2", "normal"),  # rows of the destination are here and there
    ],
)
def test_rows_of_both_sides_that_evict_each_other_are_gathered(
    source: str, destination: str, dims: tuple[int, ...], element: str, target: str, load: Load
) -> None:
    read, written = (layoutc.desc(name, dims, element) for name in (source, destination))
    (copy,) = choose_plan(read, written, TARGETS[target]).copies
    assert (copy.load, copy.store) == (load, "normal")
    assert load == "normal" or copy.inner_order == (0, 1), "along the destination"


@pytest.mark.parametrize(
    ("dims", "element", "load", "rows"),
    [
        ((66, 4097), "s8", "staged", 64),
        ((66, 4112), "s8", "normal", 64),  # 16 bytes further on each: 4 of 64 rows share a set
        ((57, 2049), "bf16", "staged", 32),
        ((57, 1024), "bf16", "normal", 16),  # 16 of 32 rows, and of a line two parts: a buffer takes longer
        ((79, 1025), "f32", "normal", 8),
        ((79, 1024), "f32", "normal", 8),  # loads are whole lines, which were fetched ahead
        ((120, 513), "f64", "normal", 4),
        ((79, 1041), "f32", "normal", 16),
        ((27, 513), "f64", "normal", 27),  # few channels stay together
    ],
)
def test_lines_that_rows_of_a_tile_evict_are_loaded_once(
    dims: tuple[int, int], element: str, load: Load, rows: int
) -> None:
    """Rows near a multiple of 2 KiB: they are gathered, or the tile has fewer, and goes along the source."""
    source, destination = (layoutc.desc(name, dims, element) for name in ("ab", "ba"))
    target = replace(AVX512, shuffles="any", l1=48 << 10)
    plan = choose_plan(source, destination, replace(target, l2=64 << 10))
    assert parse_plan(plan_lines(plan)) == plan, "a right one"
    (copy,) = plan.copies
    assert (copy.load, copy.store, copy.tile[1]) == (load, "normal", rows)
    (held,) = choose_plan(source, destination, target).copies
    assert min(held.tile[1] * held.widths.src, 64) == min(held.extents[1] * held.widths.src, 64), "where L2 holds both"
    stores_half_lines = rows * copy.widths.src < 64
    assert copy.inner_order == (1, 0) or not stores_half_lines


@pytest.mark.parametrize(
    ("tags", "dims", "element", "run", "otherwise"),
    [
        (("abc", "cba"), (512, 30, 15), "f64", 64, 32),  # rows a multiple of 4 KiB apart, in 4 sets
        (("abc", "acb"), (8, 1024, 96), "bf16", 256, 64),  # pairs of them are
        (("abc", "cba"), (520, 24, 15), "f64", 32, 32),  # 4160 bytes apart
    ],
)
def test_rows_of_the_destination_that_evict_each_other_have_longer_runs(
    tags: tuple[str, str], dims: tuple[int, ...], element: str, run: int, otherwise: int
) -> None:
    source, destination = (layoutc.desc(tag, dims, element) for tag in tags)
    waiting = replace(AVX512, shuffles="single", l1=48 << 10)
    for target, expected in ((replace(waiting, waits_for_lines=False), run), (waiting, otherwise)):
        plan = choose_plan(source, destination, target)
        assert parse_plan(plan_lines(plan)) == plan, "a right one"
        (copy,) = plan.copies
        along = next(position for position, digit in enumerate(copy.copy.digits) if digit.dst == 1)
        assert (copy.store, copy.macro[along]) == ("normal", expected)


def test_loops_follow_rows_of_the_destination_that_evict_each_other() -> None:
    """Though digits of the source carry, whose places are then counted out more often."""
    source, destination = (layoutc.desc(tag, (7, 1024, 24), "f64") for tag in ("abc", "cba"))
    waiting = replace(AVX512, shuffles="single", l1=48 << 10)
    for target, order in ((replace(waiting, waits_for_lines=False), (0, 1)), (waiting, (1, 0))):
        (copy,) = choose_plan(source, destination, target).copies
        assert copy.copy.digits[1].carries
        assert copy.inner_order == order


@pytest.mark.parametrize(
    ("dims", "tags", "element", "begins"),
    [
        ((20, 4097), ("ab", "ba"), "f16", 0),  # rows of no power of two
        ((8, 4, 1025), ("abc", "cba"), "f32", 0),  # 8 rows of one digit, of another two
        ((8, 4, 8192), ("acb", "cab"), "s8", 1),  # lanes that both sides have last
    ],
)
def test_rows_that_have_no_half_stay_in_their_tile(
    dims: tuple[int, ...], tags: tuple[str, str], element: str, begins: int
) -> None:
    source, destination = (layoutc.desc(tag, dims, element) for tag in tags)
    source = replace(source, base_offset=begins)
    plan = choose_plan(source, destination, AVX512)
    assert read_plan(plan_lines(plan), source, destination) == plan
    assert plan.copies[0].source_lanes


def test_digits_are_not_counted_as_one_where_runs_would_end_at_them() -> None:
    source, destination = (layoutc.desc(name, (13, 64, 247, 194), "s8") for name in ("cbda", "abdc"))
    (copy,) = choose_plan(source, destination, replace(AVX512, shuffles="any")).copies
    assert copy.store == "staged" and copy.merges
    assert not any(digit.carries for digit in copy.copy.digits)
    assert copy.run > 247, "several rows of 247 are one run"


def test_macro_tiles_grow_along_runs_that_go_on_behind_blocks() -> None:
    source, destination = (
        layoutc.desc("BAc48b2a", (5, 165447, 28), "bf16"),
        layoutc.desc("bca", (5, 165447, 28), "bf16"),
    )
    copy = choose_plan(source, destination, replace(AVX512, shuffles="any")).copies[0]
    assert [(digit.src, macro) for digit, macro in zip(copy.copy.digits, copy.macro, strict=True)][1] == (2, 48)


@pytest.mark.parametrize(
    ("source", "destination", "dims", "element", "load"),
    [
        ("ab", "ba", (8192, 8192), "s8", "staged"),
        ("ab", "ba", (4096, 4096), "bf16", "staged"),
        ("hwio", "oihw", (2048, 1024, 3, 3), "s8", "staged"),  # digits that carry are not stepped along
        ("hwio", "oihw", (1056, 1056, 3, 3), "bf16", "normal"),
    ],
)
def test_past_the_caches_rows_that_evict_each_other_are_gathered_where_the_first_one_holds_the_buffer(
    source: str, destination: str, dims: tuple[int, ...], element: str, load: Load
) -> None:
    read, written = (layoutc.desc(name, dims, element) for name in (source, destination))
    target = replace(AVX512, shuffles="any", llc_is_far=True)
    (copy,) = choose_plan(read, written, target).copies
    assert (copy.load, copy.store) == (load, "nontemporal")
    assert copy.buffer_bytes("src") <= target.l1 * 5 // 4, "each row is a line longer"
    assert 0 < copy.prefetch <= 352, "the next part of the same rows is asked for"


@pytest.mark.parametrize(("is_far", "load"), [(True, "staged"), (False, "normal")])
def test_rows_that_leave_a_buffer_are_gathered_in_another_where_the_last_cache_is_far(is_far: bool, load: Load) -> None:
    read, written = (layoutc.desc(name, (14, 56, 264, 192), "s8") for name in ("adcb", "dcab"))
    target = replace(AVX512, shuffles="any", l1=48 << 10, llc_is_far=is_far)
    (copy,) = choose_plan(read, written, target).copies
    assert (copy.load, copy.store) == (load, "staged")


CROWDED = {
    "16 rows 2 KiB apart": (("nchw", "nhwc"), (8, 512, 7, 7), "f32", 8),
    "16 rows 4 KiB apart": (("nchw", "nhwc"), (8, 1024, 7, 7), "f32", 4),
    "16 rows 1 KiB apart": (("nchw", "nhwc"), (8, 256, 7, 7), "f32", 16),
    "16 rows of 800 lines each": (("ndhwc", "ncdhw"), (2, 32, 25, 32, 32), "bf16", 8),
}


@pytest.mark.parametrize("waits", [False, True])
@pytest.mark.parametrize("name", CROWDED)
def test_rows_that_a_tile_stores_do_not_fill_a_set(name: str, waits: bool) -> None:
    """Of the first cache, which holds 8 of them; where stores wait for lines that is not known to gain."""
    tags, dims, element_type, lanes = CROWDED[name]
    source, destination = (layoutc.desc(tag, dims, element_type) for tag in tags)
    machine = replace(AVX512, shuffles="any", l1=32 << 10, waits_for_lines=waits)
    (copy,) = choose_plan(source, destination, machine).copies
    assert lane_count(copy.source_lanes) == (16 if waits else lanes)
    assert stored_in_a_set(copy) <= (16 if waits else 4)


@pytest.mark.parametrize(("channels", "lanes"), [(64, 64), (128, 32), (136, 64)])
def test_rows_that_tiles_widen_do_not_fill_a_set_either(channels: int, lanes: int) -> None:
    """64 rows of 128 floats would share 8 sets, 8 in each; of 64 floats 4, and of 136 as many as anywhere."""
    source = layoutc.desc("nchw", (4, channels, 28, 28), "u8")
    destination = layoutc.desc("nhwc", source.dims, "f32")
    (copy,) = choose_plan(source, destination, replace(AVX512, shuffles="any", l1=32 << 10)).copies
    assert (copy.widths.dst, lane_count(copy.source_lanes)) == (4, lanes)


@pytest.mark.parametrize("is_far", [False, True])
def test_tiles_ask_for_what_lies_ahead_of_gathered_rows_where_the_last_cache_is_near(is_far: bool) -> None:
    source, destination = (layoutc.desc(name, (4096, 4096), "s8") for name in ("ab", "ba"))
    plan = choose_plan(source, destination, replace(AVX512, shuffles="any", llc_is_far=is_far))
    (copy,), lines = plan.copies, plan_lines(plan)
    assert (copy.load, copy.asks) == ("staged", "" if is_far else "by tiles")
    assert lines[1].endswith(f", prefetch {copy.prefetch}" + (" by tiles" if copy.asks else ""))
    assert parse_plan(lines) == plan
    text = layoutc.Kernel(source, destination, "c", target="avx512", plan=tuple(lines)).c_source
    assert ("prefetch(src + (row + at), " in text) == bool(copy.asks)


def _asks(read: str, written: str, dims: tuple[int, ...], element_type: str = "s8") -> str:
    """Who asks for what lies ahead, in the plan of a reorder past the caches."""
    source, destination = (layoutc.desc(name, dims, element_type) for name in (read, written))
    copy = choose_plan(source, destination, replace(AVX512, shuffles="any")).copies[0]
    assert copy.store == "staged" and copy.prefetch
    return copy.asks


def test_lines_that_leave_a_buffer_ask_again_for_what_loads_of_many_rows_ask_for() -> None:
    assert _asks("nhwc", "nchw", (128, 256, 28, 28)) == "twice"
    assert _asks("abcdef", "beafdc", (15, 15, 112, 15, 5, 32)) == "twice", "16 bytes of each row"
    assert _asks("abcde", "bdaec", (28, 28, 352, 4, 48)) == "twice", "rows of which a page has many, in few bytes"
    assert _asks("abcdef", "fedcba", (112, 15, 15, 15, 5, 32)) == "", "rows in pages of their own"
    assert _asks("nchw", "nhwc", (256, 3, 223, 223)) == "twice", "three rows that go on"
    assert _asks("nchw", "nhwc", (256, 6, 223, 223)) == "", "six rows"
    assert _asks("acb", "acB16b", (3, 3208, 1350), "bf16") == "", "rows that stay as they are"
    assert _asks("ba", "ab", (24, 286269), "f32") == "twice", "lanes of both digits of a run"


@pytest.mark.parametrize(
    ("layouts", "dims", "dtypes", "ahead"),
    [
        ("oihw OIhw4i16o4i", (2048, 1024, 3, 3), "f32 s8", 4 * 72),
        ("nchw nhwc", (128, 64, 56, 56), "f32 s8", 32),
        ("ab ba", (4099, 4099), "f32 f32", 39),
    ],
)
def test_what_begins_inside_a_line_is_asked_for_farther_ahead(
    layouts: str, dims: tuple[int, ...], dtypes: str, ahead: int
) -> None:
    """16 KiB, also of rows that are converted into a buffer: pieces of 288 bytes, two of which are neighbours."""
    source, destination = map(layoutc.desc, layouts.split(), (dims, dims), dtypes.split())
    copy = choose_plan(source, destination, replace(AVX512, shuffles="single")).copies[0]
    assert copy.prefetch == ahead


def test_what_is_asked_for_twice_lies_at_least_8_kib_ahead() -> None:
    """Macro tiles of 8 by 64 elements of 8 bytes are 4 KiB; the last byte of a line straddles what lies two on."""
    source, destination = (layoutc.desc(name, (123, 23530), "f64") for name in ("ba", "ab"))
    near = replace(AVX512, shuffles="any")
    (copy,) = choose_plan(source, destination, near).copies
    assert (copy.asks, copy.macro, copy.prefetch) == ("twice", (8, 64), 64 * 123 + 7)  # along the loop of most turns
    (copy,) = choose_plan(source, destination, replace(near, l2=64 << 10)).copies
    assert (copy.asks, copy.macro, copy.prefetch) == ("twice", (8, 64), 2 * 8 + 7)


def _asked(kernel: layoutc.Kernel, counters: Mapping[str, Sequence[int]]) -> set[int]:
    """Where in the source the lines that leave a buffer ask for what lies ahead, in all turns of their loops."""
    named = re.findall(r"const int64_t (later\d*|row_2|at_2) = (.*);", kernel.c_source)
    asked = set[int]()
    for turn in product(*counters.values()):
        values: dict[str, Any] = {"min_signed": min, **dict(zip(counters, turn, strict=True))}
        for name, text in named:
            values[name] = eval(text.replace("/", "//"), values)
        asked.add(values["row_2"] + values.get("at_2", 0))
    return asked


def test_what_leaves_a_buffer_asks_for_each_line_of_the_next_macro_tile() -> None:
    """Each of 3 parts is 65 rows of 2 lines, 200 bytes apart."""
    source = layoutc.desc("abc", (3, 65, 128), "s8", strides=(13000, 200, 1))
    line = (
        "copy 0 -> 0: 3x(13000, 8320) 128x(1, 65) 65x(200, 1), elements of 1, vectors of 64, any shuffles, "
        "tile 1x16x64, lanes 1:16 -> 2:64, macro 1x128x65, outer 0 1 2, inner 0 1 2, staged stores, "
        "prefetch 13000 twice"
    )
    assert plan_lines(parse_plan(("threads 1", line)))[1] == line
    kernel = layoutc.Kernel(source, layoutc.desc("acb", (3, 65, 128), "s8"), "c", plan=("threads 1", line))
    assert "prefetch(src + (row_2 + at_2), 13000);" in kernel.c_source
    lines = {13000 * i0 + 200 * row + at for i0 in range(3) for row in range(65) for at in (0, 64)}
    assert _asked(kernel, {"i0": range(3), "k": range(0, 8320, 64)}) == lines


def test_macro_tiles_that_take_parts_of_lines_in_turn_ask_for_some_each() -> None:
    """Of 64 rows of 3 lines, 16 bytes of each row; four macro tiles later the next line of all rows is there."""
    source, destination = (layoutc.desc(name, (64, 192), "s8") for name in ("ab", "ba"))
    line = (
        "copy 0 -> 0: 192x(1, 64) 64x(192, 1), elements of 1, vectors of 64, any shuffles, tile 16x64, "
        "lanes 0:16 -> 1:64, macro 16x64, outer 1 0, inner 1 0, staged stores, side by side, prefetch 80 twice"
    )
    kernel = layoutc.Kernel(source, destination, "c", plan=("threads 1", line))
    assert "__builtin_prefetch(src + row_2, 0, 2);" in kernel.c_source
    for first in (0, 4):
        asked = [_asked(kernel, {"i0": [i0], "k": range(0, 1024, 64)}) for i0 in range(first, first + 4)]
        assert [len(places) for places in asked] == [16] * 4
        assert {place // 64 for places in asked for place in places} == {3 * row + first // 4 + 1 for row in range(64)}
    assert all(place < 64 * 192 for place in _asked(kernel, {"i0": range(12), "k": range(0, 1024, 64)}))


@pytest.mark.parametrize(
    ("words", "becomes"),
    [("staged stores, side by side", "normal stores"), (", prefetch", ", staged loads, prefetch")],
)
def test_only_lines_out_of_a_buffer_ask_twice(words: str, becomes: str) -> None:
    source, destination = (layoutc.desc(name, (128, 256, 28, 28), "s8") for name in ("nhwc", "nchw"))
    threads, copy = plan_lines(choose_plan(source, destination, AVX512))
    assert copy.endswith(" twice")
    with pytest.raises(LayoutcError, match="ask again where runs are loaded straight"):
        parse_plan((threads, copy.replace(words, becomes)))


def test_zeros_ask_for_nothing_twice() -> None:
    """They have digits without a source, of which a line that leaves the buffer would ask for."""
    line = (
        "fill -> 0: 94x(1, 1), elements of 8, vectors of 16, any shuffles, tile 16, lanes - -> 0:2, macro 94, outer 0, "
        "inner 0, staged stores"
    )
    assert parse_plan(("threads 1", line))
    with pytest.raises(LayoutcError, match="ask again where runs are loaded straight"):
        parse_plan(("threads 1", f"{line}, prefetch 64 twice"))


def test_tiles_ask_for_nothing_where_the_next_macro_tile_has_the_same_rows() -> None:
    """Along an axis whose steps are the same elements of the source nothing lies ahead."""
    source = layoutc.desc("memref<3x4096x4096xi8, strided<[0, 4096, 1]>>")
    plan = choose_plan(source, layoutc.desc("acb", source.dims, "s8"), replace(AVX512, llc=0))
    (copy,) = plan.copies
    assert (copy.load, copy.prefetch) == ("staged", 0)
    assert parse_plan(plan_lines(plan)) == plan


@pytest.mark.parametrize(
    ("source", "destination", "dims", "element", "load", "macro"),
    [
        ("ab", "ba", (8192, 8192), "s8", "staged", (128, 128)),
        ("ab", "ba", (4096, 4096), "bf16", "staged", (128, 64)),
        ("ncdhw", "ndhwc", (16, 32, 25, 32, 32), "bf16", "normal", (1, 256, 32)),  # 16 rows share a set
    ],
)
def test_where_the_last_cache_is_near_more_rows_are_gathered_if_a_set_holds_less_than_half_of_them(
    source: str, destination: str, dims: tuple[int, ...], element: str, load: Load, macro: tuple[int, ...]
) -> None:
    read, written = (layoutc.desc(name, dims, element) for name in (source, destination))
    (copy,) = choose_plan(read, written, replace(AVX512, shuffles="any", l1=48 << 10)).copies
    assert (copy.load, copy.store, copy.macro) == (load, "nontemporal", macro)


@pytest.mark.parametrize(
    ("pixels", "macro", "beside"),
    [
        ((28, 28), (1, 64, 784), True),
        ((29, 27), (1, 64, 783), True),
        ((45, 45), (1, 64, 2025), True),
        ((46, 46), (1, 64, 512), False),  # macro tiles would have more than 128 KiB
    ],
)
def test_rows_that_become_runs_of_whole_lines_are_not_cut(
    pixels: tuple[int, int], macro: tuple[int, ...], beside: bool
) -> None:
    """The first cache does not hold a line of each pixel; of 64 and more channels all is one run of whole lines."""
    source, destination = (layoutc.desc(name, (128, 256, *pixels), "s8") for name in ("nhwc", "nchw"))
    (copy,) = choose_plan(source, destination, AVX512).copies
    assert (copy.store, copy.macro, copy.side_by_side) == ("staged", macro, beside)


@pytest.mark.parametrize(
    ("rows", "columns", "macro"),
    [
        (251, 1400, 251),
        (256, 1400, 64),  # rows are whole lines
        (259, 1400, 128),  # rows are long, and stores straddle lines
        (251, 2100, 64),  # both sides do not fit the second cache
    ],
)
def test_short_rows_that_straddle_lines_are_whole_in_macro_tiles(rows: int, columns: int, macro: int) -> None:
    source, destination = (layoutc.desc(name, (rows, columns), "s8") for name in ("ab", "ba"))
    (copy,) = choose_plan(source, destination, AVX512).copies
    assert [steps for digit, steps in zip(copy.copy.digits, copy.macro, strict=True) if digit.dst == 1] == [macro]


@pytest.mark.parametrize(
    ("rows", "columns", "element", "waits", "macro"),
    [
        (340, 608, "s8", False, 340),
        (340, 608, "s8", True, 340),
        (480, 520, "s8", False, 64),  # lines of the source fill more than half of the first cache
        (250, 500, "bf16", False, 250),
        (263, 500, "bf16", False, 64),  # rows are long
    ],
)
def test_rows_of_up_to_8_lines_are_whole_in_macro_tiles(
    rows: int, columns: int, element: str, waits: bool, macro: int
) -> None:
    source, destination = (layoutc.desc(name, (rows, columns), element) for name in ("ab", "ba"))
    (copy,) = choose_plan(source, destination, replace(AVX512, l1=48 << 10, waits_for_lines=waits)).copies
    assert [steps for digit, steps in zip(copy.copy.digits, copy.macro, strict=True) if digit.dst == 1] == [macro]


@pytest.mark.parametrize(("waits", "along"), [(False, True), (True, False)])
def test_macro_tiles_of_bytes_are_along_rows_where_no_stores_wait(waits: bool, along: bool) -> None:
    source, destination = (layoutc.desc(name, (513, 513), "s8") for name in ("ab", "ba"))
    (copy,) = choose_plan(source, destination, replace(AVX512, l1=48 << 10, waits_for_lines=waits)).copies
    assert copy.store == "normal"
    assert (513 in copy.macro) == along


@pytest.mark.parametrize(
    ("dims", "element", "tile", "inner"),
    [
        ((513, 513), "f64", (2, 8), (0, 1)),  # rows of both sides share sets
        ((2049, 258), "f32", (8, 16), (0, 1)),  # rows of the destination do
        ((1026, 3072), "bf16", (16, 16), (1, 0)),  # more rows of the source do
        ((1000, 904), "f32", (16, 16), (0, 1)),  # rows do not
        ((512, 544), "f64", (8, 8), (0, 1)),
    ],
)
def test_tiles_have_few_rows_of_the_side_that_shares_sets_and_go_along_it(
    dims: tuple[int, int], element: str, tile: tuple[int, int], inner: tuple[int, int]
) -> None:
    source, destination = (layoutc.desc(name, dims, element) for name in ("ab", "ba"))
    target = replace(AVX512, shuffles="any", l1=48 << 10, waits_for_lines=False)
    plan = choose_plan(source, destination, target)
    (copy,) = plan.copies
    assert parse_plan(plan_lines(plan)) == plan
    assert (copy.load, copy.store, copy.tile, copy.inner_order) == ("normal", "normal", tile, inner)


@pytest.mark.parametrize(
    ("rows", "columns", "element", "store"),
    [
        (1024, 640, "f32", "aligned"),
        (1040, 640, "f32", "normal"),
        (1024, 64, "f32", "normal"),  # tiles are of few rows
        (1025, 40, "bf16", "aligned"),
        (1025, 2048, "bf16", "normal"),  # rows of the source evict each other too, and are gathered
    ],
)
def test_rows_of_a_tile_that_evict_each_other_leave_a_buffer(
    rows: int, columns: int, element: str, store: Store
) -> None:
    source, destination = (layoutc.desc(name, (rows, columns), element) for name in ("ab", "ba"))
    target = replace(AVX512, l1=48 << 10, waits_for_lines=False)
    (copy,) = choose_plan(source, destination, target).copies
    assert copy.store == store
    (copy,) = choose_plan(source, destination, replace(target, waits_for_lines=True)).copies
    assert copy.store == "normal"


@pytest.mark.parametrize(
    ("rows", "columns", "element", "along"),
    [
        (257, 257, "f32", True),
        (513, 900, "bf16", True),
        (400, 400, "f32", False),  # rows do not evict each other
        (256, 257, "f32", False),  # stores are whole lines
        (257, 257, "s8", False),  # rows are short
    ],
)
def test_macro_tiles_are_along_rows_that_evict_each_other_and_straddle_lines(
    rows: int, columns: int, element: str, along: bool
) -> None:
    source, destination = (layoutc.desc(name, (rows, columns), element) for name in ("ab", "ba"))
    (copy,) = choose_plan(source, destination, replace(AVX512, l2=5 << 19, llc_is_far=True)).copies
    assert copy.store == "normal" and copy.fetches
    assert (copy.macro == (16, rows)) == along


@pytest.mark.parametrize(
    ("rows", "columns", "store"), [(1000, 900, "staged"), (1000, 600, "normal"), (200, 5000, "normal")]
)
def test_threads_stream_as_early_as_one_where_long_rows_straddle_lines(rows: int, columns: int, store: Store) -> None:
    source, destination = (layoutc.desc(name, (rows, columns), "f32") for name in ("ab", "ba"))
    target = replace(AVX512, l2=5 << 19, llc_is_far=True)
    (copy,) = choose_plan(source, destination, target, threads=2).copies
    assert copy.store == store


@pytest.mark.parametrize(
    ("order", "dims", "types", "store"),
    [
        ("ab", (1, 64 * 32 + 5), ("f32", "bf16"), "nontemporal"),
        ("ab", (1, 63 * 32 + 5), ("f32", "bf16"), "staged"),
        ("ba", (7, 64 * 8 + 3), ("f64", "f64"), "nontemporal"),
        ("ba", (7, 63 * 8 + 3), ("f64", "f64"), "staged"),
        # The rows of the destination, which begin inside of lines then, are many.
        ("ba", (64 * 16 + 4, 7), ("f32", "f32"), "staged"),
    ],
)
def test_the_last_of_many_tiles_may_begin_inside_a_line(
    order: str, dims: tuple[int, int], types: tuple[str, str], store: str
) -> None:
    sides = layoutc.desc("ab", dims, types[0]), layoutc.desc(order, dims, types[1])
    (copy,) = choose_plan(*sides, replace(AVX512, llc=0), 1).copies
    assert copy.store == store


def test_long_rows_that_come_from_a_near_cache_are_stored_straight() -> None:
    source, destination = (layoutc.desc(name, (1000, 600), "f32") for name in ("ab", "ba"))
    (copy,) = choose_plan(source, destination, AVX512).copies
    assert copy.store == "normal"


@pytest.mark.parametrize(
    ("channels", "pixels", "is_far", "element", "store"),
    [
        (512, 49, True, "f32", "staged"),  # 64 rows are stored for 49
        (512, 64, True, "f32", "nontemporal"),
        (512, 49, False, "f32", "nontemporal"),
        (32, 38, False, "s8", "staged"),  # 64 for 38
    ],
)
def test_lines_that_tiles_would_store_twice_leave_a_buffer_past_the_caches(
    channels: int, pixels: int, is_far: bool, element: str, store: Store
) -> None:
    source, destination = (layoutc.desc(name, (8192, channels, pixels), element) for name in ("abc", "acb"))
    target = replace(AVX512, shuffles="any", llc_is_far=is_far)
    (copy,) = choose_plan(source, destination, target).copies
    assert copy.store == store


@pytest.mark.parametrize(
    ("tags", "dims", "near", "far"),
    [
        (("nchw", "nhwc"), (8, 256, 28, 28), (1, 64, 256), (1, 208, 128)),  # rows share few sets
        (("nchw", "nhwc"), (8, 192, 28, 28), (1, 64, 192), (1, 400, 64)),
        (("nhwc", "nchw"), (8, 100, 56, 56), (1, 64, 256), (1, 100, 256)),
    ],
)
def test_runs_are_even_past_the_caches_where_the_last_one_is_near(
    tags: tuple[str, str], dims: tuple[int, ...], near: tuple[int, ...], far: tuple[int, ...]
) -> None:
    """Those of 1 byte an element."""
    source, destination = (desc(tag, dims, "s8") for tag in tags)
    for is_far, macro in ((False, near), (True, far)):
        (copy,) = choose_plan(source, destination, replace(AVX512, shuffles="any", llc=0, llc_is_far=is_far)).copies
        assert (copy.store, copy.macro) == ("nontemporal", macro)


def test_places_that_differ_by_how_digits_carry_are_counted_one_by_one() -> None:
    """512 steps on, 56 of 76 carry into the slowest digit: a period is asked for."""
    source, destination = (layoutc.desc(f"onednn:{tag}", (64, 4, 55, 19, 71), "s8") for tag in ("becda", "aecbd"))
    (copy,) = choose_plan(source, destination, AVX512).copies
    assert (copy.macro, copy.prefetch) == ((64, 512), 7 * 1216)


@pytest.mark.parametrize(("is_far", "macro", "ahead"), [(False, (52, 64), 64 * 100 + 3), (True, (64, 64), 64 + 15)])
def test_where_the_last_cache_is_near_loads_ask_along_the_loop_of_most_turns(
    is_far: bool, macro: tuple[int, int], ahead: int
) -> None:
    """
    Of 100 channels a macro tile has 52, or 64: in the last one those beside them are none of the next one's. Pixels go
    on in the next image.
    """
    source, destination = (layoutc.desc(name, (128, 100, 56, 56), "f32") for name in ("nhwc", "nchw"))
    (copy,) = choose_plan(source, destination, replace(AVX512, llc_is_far=is_far)).copies
    assert (copy.macro, copy.outer_order, copy.prefetch) == ((1, *macro), (0, 2, 1), ahead)


@pytest.mark.parametrize(
    ("read", "written", "dims", "ahead"),
    [
        ("nchw", "nChw16c", (64, 64, 56, 56), 16 * 3136 + 31),  # 7 turns along pixels, then the next 16 channels
        ("nChw16c", "nchw", (64, 64, 56, 56), 448 * 16),  # what follows the last turn is the next block
        ("onednn:abcd", "onednn:acbd", (64, 197, 16, 64), 4 * 256),  # the other heads are in the same rows
    ],
)
def test_loads_ask_along_no_loop_that_goes_on_where_another_ends(
    read: str, written: str, dims: tuple[int, ...], ahead: int
) -> None:
    (copy,) = choose_plan(desc(read, dims, "bf16"), desc(written, dims, "bf16"), AVX512).copies
    assert copy.store == "nontemporal" and copy.prefetch == ahead


@pytest.mark.parametrize(("dims", "streams"), [((4096, 4096), True), ((4000, 4000), False), ((2048, 2048), False)])
def test_threads_stream_as_early_as_one_where_rows_evict_each_other(dims: tuple[int, int], streams: bool) -> None:
    source, destination = (layoutc.desc(name, dims, "s8") for name in ("ab", "ba"))
    (copy,) = choose_plan(source, destination, AVX512, threads=2).copies
    assert copy.store == ("nontemporal" if streams else "normal")


@pytest.mark.parametrize(
    ("names", "dims", "threads"),
    [
        (("ab", "ba"), (128, 128), 1),
        (("ab", "ba"), (128, 256), 2),
        (("nchw", "nChw16c"), (1, 17, 36, 36), 1),
        (("nchw", "nChw16c"), (1, 17, 56, 56), 2),
    ],
)
def test_threads_start_where_each_copy_gains(names: tuple[str, str], dims: tuple[int, ...], threads: int) -> None:
    source, destination = (layoutc.desc(name, dims, "f32") for name in names)
    assert choose_plan(source, destination, AVX512, threads=2).threads == threads


def test_a_tail_keeps_its_lanes_where_copies_run_together() -> None:
    source = layoutc.desc("cab", (12, 13, 199), "bf16")
    destination = layoutc.desc("Abc8a", (12, 13, 199), "bf16")
    read, written, expected = buffers(source, destination)
    plan = choose_plan(source, destination, replace(TARGETS["avx2"], l2=1 << 9))
    assert any(isinstance(part, Together) for part in plan.parts)
    run_plan(plan, read, written)
    np.testing.assert_array_equal(written, expected)


STAGED = [
    ("nChw16c", "nhwc", (3, 17, 30, 29), 1),
    ("nChw16c", "nhwc", (2, 40, 20, 29), 1),  # 32 channels and 8, in wider elements
    ("nhwc", "nChw16c", (2, 17, 30, 29), 1),  # whole blocks need no buffer, one channel and zeros do
    ("aBcd12b", "aBcd16b", (2, 100, 9, 29), 3),  # a buffer for each of three blocks
    ("nChw16c", "nwhc", (2, 19, 31, 23), 1),  # loops over rows and columns
]
"""what is written together: source, destination, dims, how many buffers at least a turn has"""


def staged_plan(source: str, destination: str, dims: tuple[int, ...], element: str, target: str) -> Plan:
    """The plan of a machine whose caches these do not fit, and that does not merge registers, as no box would do."""
    pair = layoutc.desc(source, dims, element), layoutc.desc(destination, dims, element)
    small = replace(TARGETS[target], l2=1 << 14, llc=1 << 12, shuffles="unpack", halves_boxes=False)
    return choose_plan(*pair, small)


@pytest.mark.parametrize("element", ["s8", "bf16", "f32"])
@pytest.mark.parametrize(("source", "destination", "dims", "least"), STAGED)
def test_copies_fill_lines_together(
    source: str, destination: str, dims: tuple[int, ...], least: int, element: str
) -> None:
    pair = layoutc.desc(source, dims, element), layoutc.desc(destination, dims, element)
    read, written, expected = buffers(*pair)
    plan = staged_plan(source, destination, dims, element, "avx512")
    staged = [part for part in plan.parts if isinstance(part, Together) and part.store == "staged"]
    assert max(len(unions(part)) for part in staged) >= least
    assert plan_lines(plan)[1].endswith("in bytes, staged stores")
    run_plan(plan, read, written)
    np.testing.assert_array_equal(written, expected)
    assert parse_plan(plan_lines(plan)) == plan
    check_covers(plan, strided_copies(*pair), pair[0].element_type.bits // 8)


ROWS = [
    ((2, 6, 32, 4, 56), (384, 6912)),
    ((1, 6, 64, 3, 56), (1152, 6912)),  # a run is several steps of a loop
]
"""dims of what is written together in rows that lie apart, and how much a run and a turn have"""


@pytest.mark.parametrize(("dims", "bytes_of"), ROWS)
def test_copies_fill_lines_of_several_rows_together(dims: tuple[int, ...], bytes_of: tuple[int, int]) -> None:
    """Copies that are transposed have rows of the destination in a turn, here with a digit that carries."""
    src, dst = desc("eadcb", dims, "s8"), desc("DbcEa64e6d", dims, "s8")
    plan = choose_plan(src, dst, replace(TARGETS["avx512"], shuffles="any", l2=1 << 17, llc=1 << 12))
    staged = [part for part in plan.parts if isinstance(part, Together) and part.store == "staged"]
    assert [(union.plan.run, prod(union.plan.macro)) for part in staged for union in unions(part)] == [bytes_of]
    read, written, expected = buffers(src, dst)
    run_plan(plan, read, written)
    np.testing.assert_array_equal(written, expected)
    assert parse_plan(plan_lines(plan)) == plan
    written[:] = POISON
    layoutc.Kernel(src, dst, "interpret", plan=tuple(plan_lines(plan)))(read, written)
    np.testing.assert_array_equal(written, expected)


def test_loops_inside_of_a_run_are_done_in_each_step() -> None:
    """Two columns of a block lie between those of others: all of both is a run, a part of one is none."""
    dims, destination = (48, 7, 2, 26, 30, 2), "(a, b, c, d, e, f) -> (e, c, d, a floordiv 5, f, a mod 5, b)"
    src, dst = desc("dbecaf", dims, "s8"), desc(destination, dims, "s8")
    plan = choose_plan(src, dst, replace(TARGETS["avx512"], shuffles="any", l2=1 << 18, llc=1 << 12))
    assert plan_lines(plan)[1] == "together: 26x(40320, 700) by 9, 60x(96, 18200) by 1, in bytes, staged stores"
    read, written, expected = buffers(src, dst)
    run_plan(plan, read, written)
    np.testing.assert_array_equal(written, expected)


def test_registers_are_no_longer_than_runs() -> None:
    """In a buffer runs are lines apart: a register that goes on from one to the next would leave a gap."""
    lines = [
        "threads 1",
        "together: 10x(256, 128) by {}, in bytes, staged stores",
        "  copy 0 -> 0: {}x(256, 128) 128x(1, 1), elements of 1, vectors of 64, any shuffles, tile {}x128, merged "
        "lanes 1:128 -> 1:128 0:{}, macro {}x128, outer 0 1, inner 0 1, normal stores",
    ]
    assert parse_plan([line.format(*[5] * 4) for line in lines])
    with pytest.raises(LayoutcError, match="store registers that are longer than its runs"):
        parse_plan([line.format(*[2] * 4) for line in lines])


def test_zeros_of_a_whole_loop_are_one_run() -> None:
    """What is left of the fill in a step of the loops is one element: no row by itself."""
    lines = [
        "threads 1",
        "together: 38x(153600, 153600) by 1, 48x(8, 8) by 48, in bytes, staged stores",
        "  fill -> 9648: 48x(1, 1), elements of 8, vectors of 64, any shuffles, tile 16, lanes - -> 0:8, macro 48, "
        "outer 0, inner 0, normal stores",
    ]
    assert plan_lines(parse_plan(lines)) == lines


def test_turns_leave_copies_their_lanes() -> None:
    """Rows of the source, and with them the channel of 16, would go element by element if a turn were one pixel."""
    plan = staged_plan("nchw", "AcdB4a16b", (5, 17, 15, 21), "f32", "avx512")
    assert all(copy.target_lanes for copy in plan.copies if not all(digit.is_whole for digit in copy.copy.digits))
    lines = plan_lines(plan)
    assert not any(line.endswith("staged stores") for line in lines)


def test_copies_that_leave_gaps_share_no_buffer() -> None:
    lines = plan_lines(staged_plan("nChw16c", "nhwc", (3, 17, 30, 29), "f32", "avx512"))
    assert lines[1].startswith("together: 3x(111360, 59160) by 1, 870x(64, 68) by 30, in bytes")
    edits = {
        "copy 0 -> 0": ("copy 0 -> 1", "write 68 of 64 bytes, expected all"),
        "copy 13920 -> 16": ("copy 13920 -> 17", "runs of 128 bytes, got 16 elements"),
        "(64, 68) by 30": ("(64, 72) by 30", "runs of 2040 bytes, 72 bytes apart"),
        "by 30": ("by 2", "runs of 2040 bytes, 68 bytes apart"),
        "inner 0, normal stores": ("inner 0, staged stores", "staged stores need"),
    }
    for text, (becomes, message) in edits.items():
        assert any(text in line for line in lines)
        with pytest.raises(LayoutcError, match=message):
            parse_plan([line.replace(text, becomes) for line in lines])


def test_shared_loops_take_several_turns() -> None:
    lines = plan_lines(staged_plan("nChw16c", "nhwc", (1, 17, 30, 29), "f32", "avx512"))
    with pytest.raises(LayoutcError, match="have one turn"):
        parse_plan([lines[0], "together: 870x(64, 68) by 870, in bytes", *lines[2:]])


def test_rows_are_gathered_only_along_the_lanes() -> None:
    """Two digits of an overlapping source are contiguous; the rows of one are not those of the other."""
    line = (
        "copy 0 -> 0: 60x(1, 1848) 56x(1, 3) 3x(3, 1), elements of 4, vectors of 16, unpack shuffles, tile 1x4x3, "
        "lanes 1:4 -> 2:3 1:4, macro 5x45x3, outer 0 1 2, inner 0 1 2, normal stores"
    )
    assert parse_plan(["threads 1", line]).copies[0].source_run_digits == (0,)
    with pytest.raises(LayoutcError, match="staged loads gather runs of other digits"):
        parse_plan(["threads 1", f"{line}, staged loads"])


@pytest.mark.parametrize(
    ("source", "destination", "dims"), [("ab", "bA8a", (3 << 20, 17)), ("ab", "aB4b", (5, 3 << 20))]
)
def test_of_a_long_digit_only_the_end_is_loaded_in_part(source: str, destination: str, dims: tuple[int, int]) -> None:
    """Else a macro tile, which has all of such a digit, and its buffer, would be as long."""
    src, dst = (layoutc.desc(name, (dims[0] - 1, dims[1] - 1), "s8") for name in (source, destination))
    for target in ("avx512", "avx2", "sse2"):
        kernel = layoutc.Kernel(src, dst, target=target)
        assert kernel.c_source
        plan = choose_plan(src, dst, TARGETS[target])
        assert all(digit.is_whole or digit.extent <= 256 for copy in plan.copies for digit in copy.copy.digits)


@pytest.mark.parametrize(
    ("source", "destination", "dims", "element", "alignment", "llc"),
    [
        ("ab", "AB16b32a2b", (5, 4), "s8", 64, 32 << 20),
        (
            "decba",
            "affine:(a, b, c, d, e) -> (d floordiv 7, b, c, a, e floordiv 64, e mod 64, d mod 7)",
            (6, 24, 1, 73, 4),
            "f64",
            64,
            0,
        ),
        ("ab", "affine:(a, b) -> (b, a floordiv 98304, (a floordiv 2048) mod 48, a mod 2048)", (56, 49), "f32", 1, 0),
    ],
    ids=["pairs of an odd axis", "turns of an odd axis", "padding of megabytes"],
)
def test_every_plan_is_one_of_its_reorder(
    source: str, destination: str, dims: tuple[int, ...], element: str, alignment: int, llc: int
) -> None:
    sides = layoutc.desc(source, dims, element), layoutc.desc(destination, dims, element)
    for name in ("avx512", "sse2"):
        plan = choose_plan(*sides, replace(machine(name, alignment), llc=llc))
        assert read_plan(plan_lines(plan), *sides) == plan


def test_macro_tiles_follow_the_lines_of_the_source() -> None:
    """Lines of 48 elements hold the next ones' elements too."""
    target, dims = replace(machine("avx512"), llc_is_far=True), (352, 28, 28, 4, 48)
    sides = layoutc.desc("onednn:abcde", dims, "f32"), layoutc.desc("onednn:edcba", dims, "f32")
    (plan,) = choose_plan(*sides, target).copies
    steps = [
        plan.copy.digits[g].offset("src", plan.macro[g]) for g in plan.outer_order if plan.macro[g] < plan.extents[g]
    ]
    assert plan.source_run * plan.widths.src < 512
    near = [step for step in steps if step <= PAGE]
    assert near and steps[-len(near) :] == sorted(near, reverse=True)


@pytest.mark.parametrize(
    ("dims", "dtype", "is_far", "order"),
    [
        ((51, 255, 3037), "s8", False, (1, 0, 2)),
        ((51, 255, 3037), "s8", True, (1, 2, 0)),
        ((2048, 16, 64), "bf16", False, (0, 1, 2)),  # rows of 2 KiB lie next to each other
    ],
)
def test_rows_are_read_in_their_order_where_the_last_cache_is_near(
    dims: tuple[int, ...], dtype: str, is_far: bool, order: tuple[int, ...]
) -> None:
    source, destination = desc("abc", dims, dtype), desc("bac", dims, dtype)
    (copy,) = choose_plan(source, destination, replace(AVX512, llc=0, llc_is_far=is_far)).copies
    assert copy.source_lanes == copy.target_lanes and copy.store != "normal"
    assert copy.outer_order == order


def test_rows_that_are_joined_to_far_more_than_the_first_cache_holds_may_share_its_sets() -> None:
    """246 rows, 8 of which are one of 3936 bytes: all of these, of half as many bytes of the source."""
    source, destination = (desc(tag, (198, 8, 8, 246, 8), "bf16") for tag in ("cdeba", "ceabd"))
    (copy,) = choose_plan(source, destination, replace(AVX512, l2=2 << 20, llc=64 << 20, llc_is_far=True)).copies
    assert copy.store == "staged" and copy.macro[2:] == (32, 8, 246)


@pytest.mark.parametrize(
    ("dims", "read", "written", "macro"),
    [
        ((28, 28, 352, 4, 48), "abcde", "bdaec", (1, 1, 1, 16, 352)),  # 48 rows in tiles of 16, not of 32 and 32
        ((608, 96), "ab", "ba", (96, 608)),  # one run of the source
    ],
)
def test_macro_tiles_that_whole_lines_leave_do_not_overlap_by_far(
    dims: tuple[int, ...], read: str, written: str, macro: tuple[int, ...]
) -> None:
    source, destination = (desc(f"onednn:{tag}", dims, "s8") for tag in (read, written))
    (copy,) = choose_plan(source, destination, replace(AVX512, l1=48 << 10, llc=16 << 10, shuffles="any")).copies
    assert copy.store == "staged" and copy.macro == macro


@pytest.mark.parametrize(("pitch", "lines"), [(32, 2), (33, 1)])
def test_the_last_load_of_a_row_asks_for_the_line_in_which_it_ends(pitch: int, lines: int) -> None:
    """It begins 44 bytes on, in the line that the first one asks for, if rows of 27 channels begin with lines."""
    source = layoutc.desc("ab", (400000, 27), "f32", strides=(pitch, 1))
    line = (
        f"copy 0 -> 0: 400000x({pitch}, 27) 27x(1, 1), elements of 4, vectors of 64, any shuffles, tile 1x27, merged "
        "lanes 1:27 -> 1:27, macro 32x27, outer 0 1, inner 0 1, staged stores, side by side, prefetch 2048"
    )
    text = layoutc.Kernel(source, layoutc.desc("ab", (400000, 27), "f32"), "c", plan=("threads 1", line)).c_source
    asked = re.findall(r"prefetch\(src \+ \(?src_offset(?: \+ (\d+)\))?, (\d+)\)", text)
    assert {(4 * int(start or 0) + int(ahead) - 8192) // 64 for start, ahead in asked} == set(range(lines))


@given(st.lists(st.tuples(st.integers(1, 6), st.integers(0, 50)), min_size=1, max_size=4), st.integers(1, 300))
def test_places_of_a_stride_that_carries_are_its_offsets(steps: list[tuple[int, int]], count: int) -> None:
    stride = Carry(tuple(steps))
    assert stride.places(count) == [stride.at(value) for value in range(count)]


@pytest.mark.parametrize(
    ("tags", "channels", "element", "shuffles", "apart"),
    [
        ("nhwc nchw", 17, "s8", "any", True),
        ("nhwc nchw", 24, "s8", "any", False),  # each merge would have lanes of its own, in memory
        ("nhwc nchw", 24, "s8", "single", True),
        ("nhwc nchw", 24, "f32", "any", True),  # of words a merge is one instruction
        ("nchw nhwc", 12, "bf16", "any", True),
        ("nchw nhwc", 17, "bf16", "any", False),
    ],
)
def test_few_channels_of_narrow_elements_are_taken_apart_where_merges_are_several_instructions(
    tags: str, channels: int, element: str, shuffles: Shuffles, apart: bool
) -> None:
    source, destination = (layoutc.desc(tag, (1, channels, 112, 112), element) for tag in tags.split())
    (copy,) = choose_plan(source, destination, replace(AVX512, shuffles=shuffles)).copies
    assert copy.has_channels == apart


@pytest.mark.parametrize(
    ("tags", "dims", "merges"),
    [
        ("abc acb", (20, 43, 784), {"any": True, "single": False}),  # lanes of 32 would move 21 of 43 twice
        ("abc acb", (20, 62, 784), {"any": False, "single": False}),
        ("abcde eadcb", (14, 22, 14, 4, 24), {"any": False, "single": True}),  # a digit that carries has long lanes
    ],
)
def test_boxes_of_bytes_are_taken_by_other_shares_where_merges_are_several_instructions(
    tags: str, dims: tuple[int, ...], merges: dict[Shuffles, bool]
) -> None:
    source, destination = (layoutc.desc(f"onednn:{tag}", dims, "s8") for tag in tags.split())
    targets: dict[Shuffles, Machine] = {shuffles: replace(AVX512, shuffles=shuffles) for shuffles in merges}
    found = {shuffles: choose_plan(source, destination, target).copies for shuffles, target in targets.items()}
    assert {shuffles: any(copy.merges for copy in copies) for shuffles, copies in found.items()} == merges


@pytest.mark.parametrize(
    ("element", "is_far", "bytes"), [("f32", True, 256), ("f32", False, 64), ("f64", True, 256), ("bf16", True, 64)]
)
def test_macro_tiles_are_four_lines_wide_where_rows_share_few_sets_of_the_first_cache(
    element: str, is_far: bool, bytes: int
) -> None:
    """Of 4 bytes and more, where the last cache is far; else a line: rows are 1 KiB apart, or twice or half as far."""
    source, destination = (layoutc.desc(name, (64, 197, 16, 64), element) for name in ("abcd", "cadb"))
    target = replace(AVX512, shuffles="any", l1=48 << 10, l2=2 << 20, llc=64 << 20, llc_is_far=is_far)
    (copy,) = choose_plan(source, destination, target).copies
    assert (copy.store, copy.source_run * copy.widths.src) == ("staged", bytes)
