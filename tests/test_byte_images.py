"""Reorders of elements that share bytes by way of images, in which each has a byte."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from dataclasses import replace
from math import prod

import numpy as np
import pytest

import layoutc
from layoutc import reference
from layoutc.conversion import NO_ATTRIBUTES, Conversion
from layoutc.descriptor import MemoryDesc
from layoutc.errors import LayoutcError
from layoutc.kernel import Kernel
from layoutc.kernel_options import Executor
from layoutc.param import Param
from layoutc.planning.choose import choose_plan
from layoutc.planning.copies.copy_digits import CopyDigit, StridedCopy
from layoutc.planning.copies.strided_copy import NotStridedError, count_segments, strided_copies
from layoutc.planning.explain import explain_plan
from layoutc.planning.machine import Machine, machine
from layoutc.planning.plan_text import plan_lines
from layoutc.planning.plans.plan import Plan
from layoutc.planning.plans.turns import SharedLoop, Through
from layoutc.planning.through import byte_images
from layoutc.transforms.plan_reorders import read_plan_of
from tests.descriptors import sides
from tests.random_conversions import arguments_of, random_codes

ANY = replace(machine("avx512"), shuffles="any")
DIMS = (2, 14, 9, 7)
SCALES = Conversion(dst_scale=Param(axes=(1,)), src_zero_point=Param(values=(3,)))
CASES = {
    "rows of two copies": ("nChw8c->nhwc", DIMS, "s8->u2"),
    "rows of two copies on each side": ("nChw8c->nhwc", DIMS, "s4->u2"),
    "two copies that move": ("nChw8c->nhwc", (2, 15, 9, 7), "u4->u4"),
    "two copies out of wide elements": ("nChw8c->nhwc", DIMS, "f32->s4"),
    "two copies into wide elements": ("nChw8c->nhwc", (2, 15, 9, 7), "s4->f32"),
    "blocks that do not nest": ("bAc8a->ABc5b6a4b", (48, 25, 20), "s8->s4"),
    "blocks of one element in two": ("cdBa2b->bcda", (128, 1, 9, 16), "u2->u2"),
    "spans of blocks in part": ("aedCb12c->edaCb8c", (4, 3, 32, 5, 6), "f4_e2m1->u2"),
    "odd rows and a few columns": ("aeCdb16c->abdce", (5, 1, 102, 25, 95), "u2->u2"),
    "converted before blocks": ("Ab12a->Ab5a", (131, 6), "s32->f4_e2m1"),
    "converted behind blocks": ("Ab12a->Ab5a", (131, 4), "u4->f32"),
    "converted behind blocks in bytes": ("aBc12b->aBc5b", (3, 131, 6), "s4->s8"),
    "converted before too many segments": ("Ba3b->Ba16b32b", (6, 1540), "f32->s4"),
    "to f8": ("nChw8c->nhcw", (2, 15, 9, 7), "f4_e2m1->f8_e4m3"),
    "from truth": ("nChw8c->nhwc", DIMS, "boolean->u4"),
}
APART = (*(name for name in CASES if name.startswith("converted")),)
"""cases with blocks that do not nest, in which many copies would go between an image and what has none"""


def by_images(plan: Plan) -> list[Through]:
    return [part for part in plan.parts if isinstance(part, Through) and part.between]


def check(
    name: str, conversion: Conversion, target: Machine, threads: int, executor: Executor, built: str = "avx512"
) -> None:
    source, destination = sides(*CASES[name])
    plan = choose_plan(source, destination, target, threads, conversion, goes_through=True)
    assert by_images(plan) or threads > 1  # which share no byte: some go straight
    lines = tuple(plan_lines(plan))
    assert read_plan_of(lines, source, destination, conversion) == plan
    kernel = Kernel(source, destination, executor, conversion=conversion, target=built, threads=threads, plan=lines)
    read = random_codes("images", source)
    arguments = arguments_of(conversion, source.dims)
    made, expected = (np.full(destination.size_bytes, 0xA5, np.uint8) for _ in range(2))
    kernel(read, made, **{name: bytes(values) for name, values in arguments.items()})
    reference.reorder(source, destination, read, expected, conversion, arguments)
    np.testing.assert_array_equal(made, expected)


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("target", ["any", "sse2"])
@pytest.mark.parametrize("name", CASES)
def test_reorders_by_way_of_images_are_by_definition(
    name: str, target: str, threads: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(byte_images, "TURNS", (500, 64))
    check(name, NO_ATTRIBUTES, ANY if target == "any" else machine(target), threads, "c")


@pytest.mark.parametrize(
    "name", ["rows of two copies", "two copies into wide elements", "spans of blocks in part", *APART]
)
def test_kernels_by_way_of_images_are_interpreted(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(byte_images, "TURNS", (500, 64))
    check(name, NO_ATTRIBUTES, ANY, 1, "interpret")


@pytest.mark.parametrize(
    "name", ["rows of two copies", "two copies out of wide elements", "spans of blocks in part", *APART]
)
def test_conversions_with_attributes_are_between_images(name: str) -> None:
    """Zero in the padding stays zero, whatever the zero point."""
    check(name, SCALES, ANY, 1, "c")
    check(name, Conversion(src_zero_point=Param(values=(3,))), ANY, 1, "c")


@pytest.mark.parametrize("name", APART)
def test_what_would_be_many_copies_is_converted_in_a_buffer_without_blocks(name: str) -> None:
    """Bytes are moved between it and the image, and as few copies convert as the other side has blocks for."""
    parts = by_images(choose_plan(*sides(*CASES[name]), ANY))
    assert parts
    for part in parts:
        converting = [half for half in (part.into, part.out_of) if not any(copy.moves_rows for copy in half)]
        assert len(converting) == 1
        assert not any(copy.widths.converts for copy in part.between)
        assert len(part.copies) < 10


def test_turns_have_parts_of_short_axes_where_all_of_them_have_no_room() -> None:
    """Where copies are far fewer so, but not where the turns of five axes have many."""
    for layouts, dims, types in (
        ("ABC8a8b8c->CBA6a6b6c", (90, 80, 100), "s4->s8"),
        ("ABC8a8b8c->CBA6a6b6c", (90, 80, 100), "f32->s4"),
        ("CADb6c2a6d->ABCD12b12d8c3a", (32, 33, 33, 17), "u8->u4"),
    ):
        source, destination = sides(layouts, dims, types)
        plan = choose_plan(source, destination, ANY)
        assert by_images(plan)
        assert 3 * len(plan.copies) <= count_segments(source, destination)
        lines = tuple(plan_lines(plan))
        assert read_plan_of(lines, source, destination, NO_ATTRIBUTES) == plan
        read, made, expected = random_codes("images", source), *np.zeros((2, destination.size_bytes), np.uint8)
        Kernel(source, destination, plan=lines)(read, made)
        reference.reorder(source, destination, read, expected)
        np.testing.assert_array_equal(made, expected)
    many = sides("aBcD3b3d->ABCd16b16a32c", (17, 64, 8, 32), "f4_e2m1->f4_e2m1")
    assert not by_images(choose_plan(*many, ANY))


def test_rows_that_are_straight_or_one_copy_go_without() -> None:
    for layouts, dims, types in (
        ("nChw8c->nhwc", (2, 16, 9, 7), "s8->u2"),
        ("Abdc32a->bcad", (26, 64, 22, 18), "s4->s4"),
        ("nhwc->nChw8c", (2, 3, 9, 7), "s8->s4"),
        ("ab->ba", (333, 77), "u4->u4"),
    ):
        assert not by_images(choose_plan(*sides(layouts, dims, types), ANY))


def random_layout(draw: random.Random) -> str:
    """Of three axes, some of them in blocks, in any order."""
    blocks = {axis: draw.choice((2, 3, 4, 5, 8, 16)) for axis in "abc" if draw.random() < 0.6}
    terms = [f"{axis} floordiv {blocks[axis]}" if axis in blocks else axis for axis in "abc"]
    terms += (f"{axis} mod {block}" for axis, block in blocks.items())
    draw.shuffle(terms)
    return f"affine:(a, b, c) -> ({', '.join(terms)})"


def random_pairs(count: int) -> Iterator[tuple[MemoryDesc, MemoryDesc]]:
    for number in range(count):
        draw = random.Random(f"images {number}")
        dims = tuple(draw.choice((1, 2, 3, 5, 7, 9, 11, 14, 17)) for _ in range(3))
        types = [draw.choice(("u4", "u2", "s4", "f4_e2m1")), draw.choice(("u4", "u2", "s8", "f8_e4m3", "f32"))]
        draw.shuffle(types)
        source, destination = (layoutc.desc(random_layout(draw), dims, type) for type in types)
        yield source, destination


def test_random_reorders_by_way_of_images_are_by_definition(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows of copies lie between each other's, and behind them."""
    monkeypatch.setattr(byte_images, "TURNS", (300, 64))
    several = 0
    for source, destination in random_pairs(400):
        plan = choose_plan(source, destination, ANY)
        if prod(source.dims) > 500 or not by_images(plan):
            continue
        lines = tuple(plan_lines(plan))
        assert read_plan_of(lines, source, destination, NO_ATTRIBUTES) == plan
        kernel = Kernel(source, destination, "interpret", target="avx512", plan=lines)
        read = random_codes(f"{source} {destination}", source)
        made, expected = (np.full(destination.size_bytes, 0xA5, np.uint8) for _ in range(2))
        kernel(read, made)
        reference.reorder(source, destination, read, expected)
        assert np.array_equal(made, expected), (source, destination)
        several += any(len(part.into) > 1 for part in by_images(plan))
    assert several > 10


def test_many_copies_have_a_plan() -> None:
    """Straight they would be too many for their elements."""
    source, destination = sides("AB5a7b->AB8a6b", (40, 42), "u4->u4")
    with pytest.raises(NotStridedError):
        strided_copies(source, destination)
    assert by_images(choose_plan(source, destination, ANY))


def test_sums_go_straight() -> None:
    source, destination = sides(*CASES["rows of two copies"])
    assert not by_images(choose_plan(source, destination, ANY, 1, Conversion(sum=1.0)))


@pytest.mark.parametrize(
    ("layouts", "dims", "types", "llc", "is_worth_it"),
    [
        ("nChw8c->nhwc", (1, 3, 112, 112), "s4->s8", 32 << 20, True),
        ("nChw8c->nhwc", (1, 3, 112, 112), "u4->f32", 32 << 20, False),
        ("nhwc->nChw16c", (1, 3, 112, 112), "s4->s8", 32 << 20, True),
        ("nhwc->nChw16c", (1, 3, 112, 112), "f32->s4", 32 << 20, False),
        ("ab->ba", (256, 512), "s4->f32", 32 << 20, False),
        ("ba->BA16a64b", (4096, 4096), "s4->bf16", 32 << 20, False),  # whole lines past the caches
    ],
)
def test_images_are_worth_it_where_they_take_fewer_instructions(
    layouts: str, dims: tuple[int, ...], types: str, llc: int, is_worth_it: bool
) -> None:
    plan = choose_plan(*sides(layouts, dims, types), replace(machine("avx512"), shuffles="single", llc=llc))
    assert bool(by_images(plan)) == is_worth_it


def test_copies_out_of_memory_ask_for_the_next_turn() -> None:
    """Past the caches; what comes out of an image is in them."""
    source, destination = sides("DBca12d2b8d->cdba", (28, 8, 4, 36585), "bf16->u4")
    plans = [choose_plan(source, destination, replace(ANY, llc=llc), goes_through=True) for llc in (0, 32 << 30)]
    assert [any(copy.prefetch for turn in by_images(plan) for copy in turn.between) for plan in plans] == [True, False]


def test_images_are_explained() -> None:
    text = "\n".join(explain_plan(*sides(*CASES["rows of two copies on each side"]), ANY, 1))
    assert re.search("by way of images in which each element has a byte, in 0.[0-9]+ of the instructions", text)
    assert "tiles: none: whole rows are put together, by vectors of bytes" in text
    between = r"out of a buffer of \d+ bytes .* and into a buffer of .*, where each element has a byte"
    assert re.search(f"shared loops: one turn, {between}", text)
    assert "stores: normal, into the buffer" in text and "stores: by whole bytes, through the caches" in text
    assert "past the caches by whole" not in text and "each 2 bytes that stay neighbours" in text


def test_edited_rows_are_checked() -> None:
    source, destination = sides("nChw8c->nhwc", (1, 14, 9, 7), "s8->u2")
    lines = plan_lines(choose_plan(source, destination, ANY))
    assert lines[-1].startswith("  out of it, copy 64 -> 0: 882x(1, 1), elements of 1 to 1/4, ")
    for old, new in (("packed stores", "normal stores"), ("macro 882", "macro 881"), ("out of it", "between")):
        assert old in lines[-1]
        with pytest.raises(LayoutcError, match=r"line \d: "):
            read_plan_of([*lines[:-1], lines[-1].replace(old, new)], source, destination, NO_ATTRIBUTES)


def test_rows_by_themselves_are_refused() -> None:
    """Without an image there is no place for single bytes."""
    source, destination = layoutc.desc("ab", (5, 37), "u4"), layoutc.desc("ab", (5, 37), "u8")
    head, line = plan_lines(choose_plan(source, destination, ANY))
    edited = re.sub(r"tile \d+, lanes 0:\d+ -> 0:\d+, macro \d+", "tile 1, lanes - -> -, macro 185", line)
    assert "unpacked loads" in edited != line
    with pytest.raises(LayoutcError, match="line 2: rows without lanes go into an image or out of one, expected"):
        read_plan_of([head, edited], source, destination, NO_ATTRIBUTES)


def test_stores_from_image_to_image_are_normal() -> None:
    """Also where the caches are so small that rows of memory would evict each other."""
    source, destination = layoutc.desc("abC24c", (16, 24, 1), "s4"), layoutc.desc("BCA8b6a24c", (16, 24, 1), "s4")
    for target in (ANY, replace(ANY, l1=8 << 10, l2=32 << 10, llc=1 << 10)):
        plan = choose_plan(source, destination, target)
        (part,) = by_images(plan)
        assert {copy.store for copy in part.between} == {"normal"}
    lines = [re.sub(r"(  between.*)normal stores", r"\1aligned stores", line) for line in plan_lines(plan)]
    assert lines != list(plan_lines(plan))
    with pytest.raises(LayoutcError, match="copies from one image to another have normal stores, got aligned"):
        read_plan_of(lines, source, destination, NO_ATTRIBUTES)


def test_turns_between_each_others_bytes_do_not_write_apart() -> None:
    """Elements 0, 3 and 6 of one turn and 4, 7 and 10 of the next: two elements share a byte."""
    (part,) = by_images(choose_plan(*sides("nChw8c->nhwc", DIMS, "s8->u4"), ANY))
    (row,) = part.out_of
    alone = {"tile": (1,), "macro": (3,), "outer_order": (0,), "inner_order": (0,)}
    apart, between = (replace(row, copy=StridedCopy(64, 0, (CopyDigit(3, 1, step, 3),)), **alone) for step in (1, 3))
    loops = (SharedLoop(40, 1, 1, 4),)
    assert Through(loops, (), (apart,), part.between).writes_apart
    assert not Through(loops, (), (between,), part.between).writes_apart
