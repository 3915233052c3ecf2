"""Reorders of elements that share bytes by way of images, in which each has a byte."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import layoutc
from layoutc import reference
from layoutc.conversion import NO_ATTRIBUTES, Conversion
from layoutc.descriptor import MemoryDesc
from layoutc.errors import LayoutcError
from layoutc.kernel import Executor, Kernel
from layoutc.param import Param
from layoutc.planning import byte_images
from layoutc.planning.choose import choose_plan
from layoutc.planning.explain import explain_plan
from layoutc.planning.machine import Machine, machine
from layoutc.planning.plan import Plan
from layoutc.planning.plan_text import plan_lines
from layoutc.planning.strided_copy import NotStridedError, strided_copies
from layoutc.planning.turns import Through
from layoutc.transforms.plan_reorders import read_plan_of
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
    "to f8": ("nChw8c->nhcw", (2, 15, 9, 7), "f4_e2m1->f8_e4m3"),
    "from truth": ("nChw8c->nhwc", DIMS, "boolean->u4"),
}


def sides(layouts: str, dims: tuple[int, ...], types: str) -> tuple[MemoryDesc, MemoryDesc]:
    (layout, to_layout), (type, to_type) = layouts.split("->"), types.split("->")
    return layoutc.desc(layout, dims, type), layoutc.desc(to_layout, dims, to_type)


def by_images(plan: Plan) -> list[Through]:
    return [part for part in plan.parts if isinstance(part, Through) and part.between]


def check(
    name: str, conversion: Conversion, target: Machine, threads: int, executor: Executor, built: str = "avx512"
) -> None:
    source, destination = sides(*CASES[name])
    plan = choose_plan(source, destination, target, threads, conversion)
    # Narrow registers take no rows apart together, and threads share no byte: some go straight there.
    assert by_images(plan) or target is not ANY or threads > 1
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


@pytest.mark.parametrize("name", ["rows of two copies", "two copies into wide elements", "spans of blocks in part"])
def test_kernels_by_way_of_images_are_interpreted(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(byte_images, "TURNS", (500, 64))
    check(name, NO_ATTRIBUTES, ANY, 1, "interpret")


@pytest.mark.parametrize("name", ["rows of two copies", "two copies out of wide elements", "spans of blocks in part"])
def test_conversions_with_attributes_are_between_images(name: str) -> None:
    """Zero in the padding stays zero, whatever the zero point."""
    check(name, SCALES, ANY, 1, "c")
    check(name, Conversion(src_zero_point=Param(values=(3,))), ANY, 1, "c")


def test_rows_that_are_straight_or_one_copy_go_without() -> None:
    for layouts, dims, types in (
        ("nChw8c->nhwc", (2, 16, 9, 7), "s8->u2"),
        ("Abdc32a->bcad", (26, 64, 22, 18), "s4->s4"),
        ("nhwc->nChw8c", (2, 3, 9, 7), "s8->s4"),
        ("ab->ba", (333, 77), "u4->u4"),
    ):
        assert not by_images(choose_plan(*sides(layouts, dims, types), ANY))


def test_many_copies_have_a_plan() -> None:
    """Straight they would be too many for their elements."""
    source, destination = sides("AB5a7b->AB8a6b", (40, 42), "u4->u4")
    with pytest.raises(NotStridedError):
        strided_copies(source, destination)
    assert by_images(choose_plan(source, destination, ANY))


def test_sums_go_straight() -> None:
    source, destination = sides(*CASES["rows of two copies"])
    assert not by_images(choose_plan(source, destination, ANY, 1, Conversion(sum=1.0)))


def test_images_are_explained() -> None:
    text = "\n".join(explain_plan(*sides(*CASES["rows of two copies on each side"]), ANY, 1))
    assert "by way of images in which each element has a byte, as " in text
    assert "tiles: none: whole rows are put together, by vectors of bytes" in text
    assert ", between images in which each element has a byte" in text


def test_edited_rows_are_checked() -> None:
    source, destination = sides("nChw8c->nhwc", (1, 14, 9, 7), "s8->u2")
    lines = plan_lines(choose_plan(source, destination, ANY))
    assert lines[-1].startswith("  out of it, copy 64 -> 0: 882x(1, 1), elements of 1 to 1/4, ")
    for old, new in (("packed stores", "normal stores"), ("macro 882", "macro 881"), ("out of it", "between")):
        assert old in lines[-1]
        with pytest.raises(LayoutcError, match=r"line \d: "):
            read_plan_of([*lines[:-1], lines[-1].replace(old, new)], source, destination, NO_ATTRIBUTES)
