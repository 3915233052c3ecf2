"""Plans of elements that share bytes, whose rows begin or end inside of one."""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
import pytest

import layoutc
from layoutc import reference
from layoutc.conversion import NO_ATTRIBUTES, Conversion
from layoutc.descriptor import MemoryDesc
from layoutc.element_type import element_type
from layoutc.errors import LayoutcError
from layoutc.planning.choose import choose_plan
from layoutc.planning.conversions.shared_bytes import MOST_BUFFERED, digits_apart
from layoutc.planning.explain import explain_plan
from layoutc.planning.machine import TARGETS
from layoutc.planning.plan_text import parse_plan, plan_lines
from layoutc.planning.plans.plan import CopyPlan
from layoutc.transforms.plan_reorders import read_plan_of
from tests.descriptors import layout

SMALL = 1 << 16
"""bytes of a last cache that these destinations go past, where what becomes wider is converted first"""

LARGE = {
    "odd rows": ("ab", "ba", (1025, 2051)),
    "odd planes": ("abcd", "acdb", (32, 17, 55, 55)),
    "odd rows in blocks": ("ab", "Ba8b", (1025, 2051)),
    "odd both": ("abc", "cab", (63, 129, 257)),
}
"""what several threads share"""


def sides(name: str, type: str) -> tuple[MemoryDesc, MemoryDesc]:
    source, destination, dims = LARGE[name]
    return tuple(MemoryDesc(dims, element_type(type), layout(tag)) for tag in (source, destination))  # type: ignore[return-value]


def plans(name: str, type: str, threads: int) -> tuple[CopyPlan, ...]:
    return choose_plan(*sides(name, type), TARGETS["avx512"], threads).copies


def bytes_of(plan: CopyPlan, positions: tuple[int, ...]) -> set[int]:
    """The bytes that the macro tiles at these positions of some digits write, by the elements of their corners."""
    apart = dict(zip(digits_apart(plan), positions, strict=True))
    offsets = np.zeros(1, np.int64) + plan.copy.dst
    for number, digit in enumerate(plan.copy.digits):
        start, count = (apart[number], plan.macro[number]) if number in apart else (0, digit.extent)
        steps = start + np.arange(count)
        offsets = (offsets[:, None] + steps * digit.dst).reshape(-1)
    return set(np.unique(offsets // plan.widths.dst_per_byte).tolist())


@pytest.mark.parametrize(("name", "type"), list(product(LARGE, ("s4", "u2"))))
def test_threads_share_no_byte(name: str, type: str) -> None:
    """What one macro tile reads and writes again, to keep the other elements of a byte, no other thread writes."""
    shared = [plan for plan in plans(name, type, 2) if plan.store == "packed" and digits_apart(plan)]
    assert shared or "blocks" in name or sides(name, type)[1].size_bytes < 1 << 19
    for plan in shared:
        starts = [range(0, plan.extents[g], plan.macro[g])[:3] for g in digits_apart(plan)]
        seen: set[int] = set()
        for positions in product(*starts):
            written = bytes_of(plan, positions)
            assert written.isdisjoint(seen)
            seen |= written


def test_short_rows_take_small_buffers() -> None:
    source = MemoryDesc((640, 1200, 3), element_type("u2"), layout("abc"), (8193, 6, 1), base_offset=1)
    (plan,) = choose_plan(source, MemoryDesc(source.dims, source.element_type, layout("cba")), TARGETS["sse2"]).copies
    assert plan.load == "unpacked" and plan.buffer_bytes("src") <= MOST_BUFFERED


def test_rows_that_are_taken_apart_go_past_the_caches_where_the_plan_says_so() -> None:
    """What tiles are loaded from says nothing of how they are stored."""
    source = MemoryDesc((4096, 4096), element_type("s4"), layout("ab"), base_offset=1)
    destination = MemoryDesc((4096, 4096), element_type("s8"), layout("AB16b16a"))
    (plan,) = choose_plan(source, destination, TARGETS["avx512"]).copies
    assert (plan.load, plan.store) == ("unpacked", "nontemporal")
    assert "stream_i8x64(dst" in layoutc.Kernel(source, destination, target="avx512").c_source


@pytest.mark.parametrize("type", ["u4", "f16"])
def test_rows_that_are_taken_apart_ask_ahead(type: str) -> None:
    """For what the plan says, in bytes."""
    source = MemoryDesc((6001, 6001), element_type("u4"), layout("ab"))
    destination = MemoryDesc(source.dims, element_type(type), layout("ba"))
    kernel = layoutc.Kernel(source, destination, target="avx512")
    (plan,) = choose_plan(source, destination, TARGETS["avx512"]).copies
    assert plan.prefetch
    assert re.search(rf"prefetch\(src \+ .*, {plan.prefetch // 2}\)", kernel.c_source)


def test_buffers_are_explained() -> None:
    lines = explain_plan(*sides("odd rows", "s4"), TARGETS["avx512"], 1)
    assert f"copy 1 of 1: {1025 * 2051} elements of 4 bits" in lines and "conversion" not in "".join(lines)
    assert "  loads: out of a buffer with a byte for each element, as rows begin or end inside of a byte" in lines
    assert "  stores: into a buffer with a byte for each element, as rows begin or end inside of a byte" in lines


EDITS = {
    ", unpacked loads": ("", "lanes of the source begin or end inside of a byte"),
    "packed stores": ("normal stores", "lanes of the destination begin or end inside of a byte"),
    "packed stores, unpacked loads": (
        "staged stores, unpacked loads",
        "what shares bytes is not staged",
    ),
    "elements of 1/2 to 1/2": ("elements of 1 to 1/2", "unpacked loads are of lanes of elements that share bytes"),
    "macro 240x256": ("macro 2050x1025", "unpacked loads need a buffer of "),
}
"""of the first copy: text, what it becomes, the error"""


@pytest.mark.parametrize("text", EDITS)
def test_buffers_that_do_not_fit_are_named(text: str) -> None:
    (line,) = plan_lines(choose_plan(*sides("odd rows", "s4"), TARGETS["avx512"]))[1:]
    becomes, message = EDITS[text]
    assert text in line
    with pytest.raises(LayoutcError, match=re.escape(message)):
        parse_plan(["threads 1", line.replace(text, becomes)])


def test_all_of_a_short_axis_is_counted_in_bytes() -> None:
    """Not in elements, of which two share one: 20 in blocks of 8 become 5 steps of 2 bytes in one tile."""
    dims, s4 = (1, 20, 5, 17), element_type("s4")
    source, destination = MemoryDesc(dims, s4, layout("Bcda8b")), MemoryDesc(dims, s4, layout("cadb"))
    (plan,) = choose_plan(source, destination, replace(TARGETS["avx512"], shuffles="any")).copies
    assert plan.copy.elements * plan.widths.src == destination.size_bytes


@pytest.mark.parametrize("to_type", ["u2", "u8", "f64"])
@pytest.mark.parametrize("sum", [None, 0.5])
def test_rows_of_an_overlapping_source_go_through_a_buffer(to_type: str, sum: float | None) -> None:
    """Three of its axes are contiguous: lanes are of the one that rows are of."""
    dims = (5, 11, 16, 4)
    source = layoutc.desc("(a, b, c, d) -> (b, d, c, a)", dims, "u2", strides=(5, 1, 1, 1), offset=1)
    destination = layoutc.desc("(a, b, c, d) -> (d, b, c, a)", dims, to_type)
    conversion = Conversion(sum=sum or 0.0)
    plan = choose_plan(source, destination, TARGETS["avx2"], 1, conversion)
    assert any(copy.load == "unpacked" for copy in plan.copies)
    codes = np.arange(source.size_bytes, dtype=np.uint8) * 37
    got, wanted = (np.arange(destination.size_bytes, dtype=np.uint8) for _ in range(2))
    layoutc.Kernel(source, destination, "interpret", conversion=conversion, plan=tuple(plan_lines(plan)))(codes, got)
    reference.reorder(source, destination, codes, wanted, conversion)
    np.testing.assert_array_equal(got, wanted)


@pytest.mark.parametrize("sum", [0.0, 1.0])
def test_lanes_that_lie_apart_in_rows_of_an_overlapping_source_are_elements(sum: float) -> None:
    """A buffer has rows along a digit of stride 1, lanes are of another: an error of the planner before."""
    source = layoutc.desc("abc", (27, 27, 10), "u2", strides=(1, 1, 4))
    destination = layoutc.desc("cab", (27, 27, 10), "s8")
    codes = (np.arange(source.size_bytes) * 37 % 251).astype(np.uint8)
    for target in ("avx512", "sse2"):
        kernel = layoutc.Kernel(source, destination, "interpret", target=target, conversion=Conversion(sum=sum))
        found, expected = (np.ones(destination.size_bytes, np.uint8) for _ in range(2))
        kernel(codes, found)
        reference.reorder(source, destination, codes, expected, kernel.conversion)
        assert (found == expected).all()


@pytest.mark.parametrize(("type", "to_type"), [("s64", "u2"), ("u2", "s64")])
def test_registers_of_channels_begin_with_bytes(type: str, to_type: str) -> None:
    """Two elements of 2 bits fill a register as wide as two of 64, and half a byte."""
    for name, dims in product(("ab", "ba"), ((10, 64), (6, 64))):
        sides = layoutc.desc(name, dims, type), layoutc.desc(name[::-1], dims, to_type)
        kernel = layoutc.Kernel(*sides, "interpret", target="neon")
        assert "vector<0x" not in kernel.ir()
        read = (np.arange(kernel.source_bytes) * 37 % 256).astype(np.uint8)
        written, expected = (np.full(kernel.destination_bytes, 0xA5, np.uint8) for _ in range(2))
        kernel(read, written)
        reference.reorder(*sides, read, expected)
        np.testing.assert_array_equal(written, expected)


@pytest.mark.parametrize(("type", "to_type"), [("u2", "f4_e2m1"), ("s4", "f64"), ("f32", "s4"), ("f4_e2m1", "u4")])
def test_rows_inside_of_bytes_are_converted_first(type: str, to_type: str) -> None:
    """By vectors along each row, out of a buffer of bytes, into one of bytes, or both."""
    sides = layoutc.desc("ab", (131, 149), type), layoutc.desc("ba", (131, 149), to_type)
    scales = Conversion(src_scale=layoutc.Param(np.linspace(0.5, 2, 131), axes=0))
    target = TARGETS["avx512"] if to_type != "f64" else replace(TARGETS["avx512"], llc=SMALL, llc_is_far=True)
    plan = choose_plan(*sides, target, 1, scales)
    assert all(copy.gathers_converted for copy in plan.copies)
    assert all((copy.store == "packed") == (to_type != "f64") for copy in plan.copies)
    kernel = layoutc.Kernel(*sides, "interpret", conversion=scales, plan=tuple(plan_lines(plan)))
    read = (np.arange(kernel.source_bytes) * 37 % 251).astype(np.uint8)
    written, expected = (np.full(kernel.destination_bytes, 0xA5, np.uint8) for _ in range(2))
    kernel(read, written)
    reference.reorder(*sides, read, expected, scales)
    np.testing.assert_array_equal(written, expected)


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize(("type", "tags"), [("s4", ("abc", "acb")), ("u2", ("ab", "ba")), ("f4_e2m1", ("ab", "ba"))])
def test_lines_of_moved_elements_are_gathered_past_the_caches(type: str, tags: tuple[str, str], threads: int) -> None:
    """Each row is taken apart once, by whole registers, into a buffer of bytes, as it begins or ends inside of one."""
    dims = (2, 256, 63)[-len(tags[0]) :]
    sides = layoutc.desc(tags[0], dims, type), layoutc.desc(tags[1], dims, type)
    plan = choose_plan(*sides, replace(TARGETS["avx512"], llc=0), threads)
    assert {(copy.load, copy.store) for copy in plan.copies} == {("staged", "nontemporal")}
    kernel = layoutc.Kernel(*sides, "interpret", plan=tuple(plan_lines(plan)), threads=threads)
    read = (np.arange(kernel.source_bytes) * 37 % 251).astype(np.uint8)
    written, expected = (np.full(kernel.destination_bytes, 0xA5, np.uint8) for _ in range(2))
    kernel(read, written)
    reference.reorder(*sides, read, expected)
    np.testing.assert_array_equal(written, expected)


def test_macro_tiles_that_overlap_by_a_line_begin_with_bytes() -> None:
    """Steps of 15 columns of 64 in the destination, a line less than a macro tile of 16: every other one is odd."""
    source, destination = layoutc.desc("ab", (64, 300), "s4"), layoutc.desc("ba", (64, 300), "s32")
    head, line = plan_lines(choose_plan(source, destination, replace(TARGETS["avx2"], llc=SMALL, llc_is_far=True)))
    line = re.sub(r"\w+ stores(, side by side)?", "staged stores, staged loads", line)
    staged = re.sub(r"tile .*, macro [0-9x]+", "tile 8x8, lanes 0:8 -> 1:8, macro 16x64", line)
    assert "macro 16x64, " in staged and "staged stores, staged loads" in staged
    kernel = layoutc.Kernel(source, destination, "interpret", plan=(head, staged))
    assert parse_plan((head, staged)).copies[0].macro_step(0) == 15
    read = (np.arange(kernel.source_bytes) * 37 % 251).astype(np.uint8)
    written, expected = (np.full(kernel.destination_bytes, 0xA5, np.uint8) for _ in range(2))
    kernel(read, written)
    reference.reorder(source, destination, read, expected)
    np.testing.assert_array_equal(written, expected)


@pytest.mark.parametrize(("type", "to_type", "element"), [("s4", "f32", 4), ("u2", "f64", 8), ("s4", "s8", 1)])
def test_buffers_of_what_is_converted_are_counted_as_wide_as_it_is(type: str, to_type: str, element: int) -> None:
    source, destination = layoutc.desc("ab", (128, 256), type), layoutc.desc("ba", (128, 256), to_type)
    target = replace(TARGETS["avx512"], llc=SMALL, llc_is_far=True)
    (plan,) = (chosen := choose_plan(source, destination, target)).copies
    assert plan.gathers_converted
    kernel = layoutc.Kernel(source, destination, "interpret", plan=tuple(plan_lines(chosen)))
    (elements, *_) = re.findall(r"memref\.alloca\(\).*memref<(\d+)x", kernel.ir())
    assert plan.buffer_bytes("src") == int(elements) * element


@pytest.mark.parametrize(
    ("source", "destination", "dims", "type", "to_type"),
    [
        ("ab", "ab", (96, 256), "f32", "s4"),
        ("ab", "ba", (256, 96), "f32", "u2"),
        ("ab", "BA16a64b", (64, 128), "f32", "s4"),
        ("ab", "ba", (256, 97), "u2", "u2"),
        ("ab", "BA8a16b", (64, 48), "s8", "u4"),
    ],
)
def test_registers_are_whole_lines_together(
    source: str, destination: str, dims: tuple[int, ...], type: str, to_type: str
) -> None:
    """A register of elements that share bytes fills half a line, or a quarter; past the caches go whole ones."""
    sides = layoutc.desc(source, dims, type), layoutc.desc(destination, dims, to_type)
    plan = choose_plan(*sides, replace(TARGETS["avx512"], llc=0))
    (copy,) = plan.copies
    assert copy.store == "nontemporal"
    kernel = layoutc.Kernel(*sides, "interpret", target="avx512", plan=tuple(plan_lines(plan)))
    stored = [line for line in kernel.ir("lower-reorders").splitlines() if "vector.store" in line and "ui8" not in line]
    streams = [line for line in stored if "nontemporal" in line]
    assert streams and all("vector<64xi8>" in line for line in streams)
    values = np.random.default_rng(3).integers(0, 4, sides[0].size_bytes, np.uint8)
    got, want = np.zeros(sides[1].size_bytes, np.uint8), np.zeros(sides[1].size_bytes, np.uint8)
    kernel(values, got)
    reference.reorder(*sides, values, want)
    np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize(("type", "row"), [("u2", 64), ("u4", 32), ("s8", 8)])
def test_rows_that_leave_by_whole_lines_take_16_bytes_of_the_source(type: str, row: int) -> None:
    """One tile of each row is 8 elements, which are few bytes where they share these; there more are taken."""
    sides = layoutc.desc("ba", (3743, 2878), type), layoutc.desc("ab", (3743, 2878), "s64")
    target = replace(TARGETS["avx512"], llc_is_far=True)
    (copy,) = choose_plan(*sides, target).copies
    assert (copy.load, copy.store, copy.macro[0]) == ("staged", "staged", row)
    (reason,) = [line for line in explain_plan(*sides, target, 1) if line.startswith("  macro tiles: ")]
    assert (f"{row} elements of each row of the source" in reason) == (type != "s8")


@pytest.mark.parametrize("dims", [(4, 5, 64, 12), (4, 5, 71, 12)])
@pytest.mark.parametrize(("type", "to_type"), [("u4", "s64"), ("s8", "f64"), ("s8", "u2")])
def test_rows_along_digits_that_carry_are_looked_up(dims: tuple[int, ...], type: str, to_type: str) -> None:
    """Counted out, they took longer than what is done to a row; those inside of bytes are counted out still."""
    sides = layoutc.desc("badc", dims, type), layoutc.desc("cdab", dims, to_type)
    plan = choose_plan(*sides, replace(TARGETS["avx512"], llc=0, llc_is_far=True), goes_through=False)
    kernel = layoutc.Kernel(*sides, "interpret", target="avx512", plan=tuple(plan_lines(plan)))
    (copy,) = plan.copies
    assert copy.load == "staged" and any(digit.carries for digit in copy.copy.digits)
    assert ("%steps" in kernel.ir("lower-reorders")) == (type != "u4" or dims[2] % 2 == 0)
    values = np.random.default_rng(3).integers(0, 4, sides[0].size_bytes, np.uint8)
    got, want = np.zeros(sides[1].size_bytes, np.uint8), np.zeros(sides[1].size_bytes, np.uint8)
    kernel(values, got)
    reference.reorder(*sides, values, want)
    np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize("target", ["generic", "avx2"])
def test_short_rows_that_need_large_buffers_leave_none_by_whole_lines(target: str) -> None:
    """Of macro tiles that are a tile, runs of 16 bytes are left, of which 256 were to leave a buffer together."""
    source = layoutc.desc("onednn:dcaEb5e", (4, 44, 128, 2, 4), "u2")
    destination = layoutc.desc("onednn:ebadc", source.dims, "s8")
    plan = choose_plan(source, destination, replace(TARGETS[target], llc=0), goes_through=False)
    assert [(copy.load, copy.store) for copy in plan.copies] == [("unpacked", "normal")]
    assert parse_plan(plan_lines(plan)) == plan


@pytest.mark.parametrize(("type", "to_type"), [("u2", "u4"), ("u4", "u2"), ("u2", "s8")])
def test_threads_share_steps_that_begin_with_bytes_of_both_sides(type: str, to_type: str) -> None:
    """Of an odd number of elements two threads have whole bytes; the rest is a copy of its own."""
    source, destination = layoutc.desc("a", (999_999,), type), layoutc.desc("a", (999_999,), to_type)
    plan = choose_plan(source, destination, TARGETS["avx512"], 2)
    assert read_plan_of(plan_lines(plan), source, destination, NO_ATTRIBUTES) == plan
    read = np.resize(np.arange(251, dtype=np.uint8), source.size_bytes)
    made, expected = (np.zeros(destination.size_bytes, np.uint8) for _ in range(2))
    layoutc.Kernel(source, destination, target="avx512", threads=2, plan=tuple(plan_lines(plan)))(read, made)
    reference.reorder(source, destination, read, expected)
    np.testing.assert_array_equal(made, expected)


@pytest.mark.parametrize("type", ["s4", "u2"])
@pytest.mark.parametrize("target", ["plain", "avx512"])
@pytest.mark.parametrize("more", [{"strides": (64, 1)}, {"low": (1, 9), "high": (1, 8)}], ids=["gaps", "border"])
def test_bytes_that_hold_none_of_the_elements_are_not_touched(more: dict[str, Any], target: str, type: str) -> None:
    """Others may be writing to them, and what was read there would be written back over that."""
    source = layoutc.desc("ab", (3, 17), type)
    kernel = layoutc.compile(source, layoutc.desc("ab", (3, 17), type, **more), executor="interpret", target=target)
    kernel(bytes(kernel.source_bytes), bytearray(kernel.destination_bytes))
