"""Conversions in the vectors of planned reorders: the same bytes as by definition."""

from __future__ import annotations

import ctypes
import re
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from math import prod
from pathlib import Path

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp

from layoutc import desc, reference
from layoutc.conversion import NO_ATTRIBUTES, Conversion
from layoutc.descriptor import MemoryDesc
from layoutc.dialects.ops import ReorderOp
from layoutc.element_type import ELEMENT_TYPES, element_type
from layoutc.errors import LayoutcError
from layoutc.interpreted import interpreted
from layoutc.kernel import Kernel
from layoutc.param import Param
from layoutc.pipeline import lower, reorder_module
from layoutc.planning.choose import choose_plan
from layoutc.planning.conversions.gathered_rows import row_cycle
from layoutc.planning.machine import machine
from layoutc.planning.moves.far_parts import FAR_PARTS
from layoutc.planning.plan_text import parse_plan, plan_lines
from layoutc.planning.plans.plan import Plan
from layoutc.planning.tiles.joined_lines import side_by_side
from layoutc.planning.tiles.lanes import lane_count
from layoutc.planning.tiles.tile import Piece
from layoutc.targets.c import emit_c
from layoutc.transforms.plan_reorders import read_converting_plan
from tests import descriptors
from tests.c_programs import compiled, compiler_named
from tests.conversions import in_memory, interesting_codes
from tests.descriptors import layout

POISON = 0xA5
TARGETS = ("avx512", "sse2")
NAMES = [type.name for type in ELEMENT_TYPES]
PAIRS = [
    *(("f32", name) for name in NAMES if name != "f32"),
    *((name, "f32") for name in NAMES if name != "f32"),
    *(("f64", "bf16"), ("s64", "u16"), ("u8", "f16"), ("s8", "f8_e5m2"), ("bf16", "e8m0"), ("u64", "s8")),
]
SHAPES = {
    "contiguous": ("a", "a", (1000,)),
    "transposed": ("ab", "ba", (37, 50)),
    "tailed": ("abcd", "aBcd16b", (2, 35, 3, 11)),
    "channels": ("acdb", "abcd", (2, 3, 5, 33)),
    "pixels": ("acdb", "acdb", (2, 3, 5, 33)),
    "planes": ("abcd", "acdb", (2, 3, 5, 33)),
    "filters": ("abcd", "ABcd4b16a4b", (40, 16, 3, 3)),
    "even": ("ab", "ba", (36, 50)),
    "odd": ("ab", "ab", (3, 77)),
    "odd in blocks": ("abc", "aBc16b", (3, 35, 7)),
    "odd planes": ("abcd", "acdb", (2, 17, 5, 13)),
    "four of six": ("cbda", "bCDa6d6c", (1, 2, 10, 83)),
    "padded pixels": ("acdb", "aBcd16b", (2, 3, 5, 33)),
    "padded twice": ("ab", "AB24a16b", (77, 50)),
    "one of four": ("acdB4b", "abcd", (2, 1, 19, 17)),
    "shorter blocks": ("Ab16a", "bA8a", (64, 48)),
}
PACKED = [
    *(("s4", "s4"), ("u2", "u2"), ("s8", "u2"), ("u2", "u4"), ("u4", "u2"), ("f4_e2m1", "bf16")),
    *(("boolean", "boolean"), ("boolean", "s4"), ("u4", "boolean"), ("f64", "s4"), ("u2", "s64"), ("s4", "u8")),
]
POINTS = Conversion(dst_zero_point=Param(axes=(0, 1), dtype="f32"))
PACKED_POINTS = Conversion(dst_zero_point=Param(axes=(1, 2), dtype="u4"))
SCALED = Conversion(src_scale=0.75, dst_scale=0.3, dst_zero_point=Param(5, dtype="f32"))


def scales(count: int, axes: Sequence[int], groups: Sequence[int] = (), dtype: str = "f32") -> Param:
    return Param([(i % 13 - 6.5) / 3 for i in range(count)], axes, groups, dtype)


def points(count: int, axes: Sequence[int], groups: Sequence[int] = ()) -> Param:
    return Param([i * 7 % 23 - 11 for i in range(count)], axes, groups)


BY_INDEX = [
    ("contiguous", ("f32", "s8"), Conversion(dst_scale=scales(125, [0], [8]), dst_zero_point=points(40, [0], [25]))),
    ("contiguous", ("s8", "s8"), Conversion(src_zero_point=points(1000, [0]))),
    ("transposed", ("f32", "s8"), Conversion(dst_scale=scales(37, [0], dtype="f16"), reciprocal=True)),
    ("transposed", ("s8", "f32"), Conversion(src_scale=scales(370, [0, 1], [1, 5]), src_zero_point=points(50, [1]))),
    ("transposed", ("f32", "f32"), Conversion(src_scale=scales(50, [1]), dst_scale=scales(37, [0]))),
    ("transposed", ("s32", "u8"), Conversion(src_zero_point=points(37, [0]), dst_zero_point=points(25, [1], [2]))),
    ("tailed", ("f32", "s8"), Conversion(dst_scale=scales(35, [1]), dst_zero_point=-3)),
    ("tailed", ("f32", "bf16"), Conversion(src_scale=scales(2 * 5 * 3, [0, 1, 2], [1, 7, 1]))),
    ("tailed", ("u8", "f32"), Conversion(src_scale=scales(7 * 11, [1, 3], [5, 1]), src_zero_point=points(2, [0]))),
    ("channels", ("u8", "f32"), Conversion(src_scale=scales(3, [1]), src_zero_point=points(3, [1]))),
    ("planes", ("u8", "f16"), Conversion(src_scale=scales(3, [1]), dst_scale=scales(33, [3]))),
    ("planes", ("f32", "s8"), Conversion(dst_scale=scales(9, [1, 3], [1, 11]), dst_zero_point=points(3, [1]))),
    ("filters", ("f32", "s8"), Conversion(dst_scale=scales(40, [0]))),
    ("contiguous", ("f32", "s8"), Conversion(dst_scale=scales(125, [0], [8]), sum=0.5)),
    ("transposed", ("f32", "s8"), Conversion(dst_scale=scales(50, [1]), sum=-1.5)),
    ("transposed", ("u8", "f32"), Conversion(src_zero_point=points(37, [0]), sum=2.0)),
    ("tailed", ("f32", "bf16"), Conversion(src_scale=scales(35, [1]), sum=0.25)),
    ("channels", ("u8", "f32"), Conversion(src_scale=scales(3, [1]), sum=0.75)),
    ("filters", ("f32", "s8"), Conversion(dst_scale=scales(40, [0]), sum=0.75)),
    ("pixels", ("u8", "f32"), Conversion(src_scale=scales(3, [1]), src_zero_point=points(3, [1]))),
    ("pixels", ("f32", "s8"), Conversion(dst_scale=scales(3, [1]))),
    ("pixels", ("bf16", "f32"), Conversion(src_scale=scales(3, [1]), sum=1.0)),
    ("filters", ("s8", "f32"), Conversion(src_scale=scales(80, [0, 1], [2, 4]))),
    ("padded pixels", ("u8", "f32"), Conversion(src_scale=scales(3, [1]), src_zero_point=points(3, [1]))),
    ("padded pixels", ("f32", "s8"), Conversion(dst_scale=scales(3, [1]), dst_zero_point=points(33, [3]))),
    ("padded pixels", ("u4", "bf16"), Conversion(src_zero_point=points(3, [1]))),
    ("four of six", ("u16", "u2"), Conversion(src_scale=scales(83, [3]))),
    ("even", ("u4", "f32"), Conversion(src_scale=scales(18 * 50, [0, 1], [2, 1]), src_zero_point=points(50, [1]))),
    *(("padded twice", ("f64", "s4"), Conversion(src_scale=scales(77, [0]))) for _ in TARGETS),
    *(("padded twice", ("u8", "u4"), Conversion(src_scale=scales(77 * 50, [0, 1]))) for _ in TARGETS),
    # A tile of 16 rows may have fewer columns, and not fewer rows, as the next column is 16 elements further on.
    *(("shorter blocks", ("s8", "s8"), Conversion(src_scale=scales(64 * 48, [0, 1]))) for _ in TARGETS),
    ("transposed", ("f32", "s8"), Conversion(dst_scale=scales(50, [1]), dst_zero_point=points(37, [0]))),
]
"""parameters of any axes and groups, also such that cut blocks"""
CASES = [("transposed", pair, NO_ATTRIBUTES) for pair in PAIRS]
CASES += [(shape, pair, NO_ATTRIBUTES) for number, shape in enumerate(SHAPES) for pair in PAIRS[number::7]]
CASES += [("tailed", pair, SCALED) for pair in PAIRS[::6]]
CASES += BY_INDEX
CASES += [(shape, pair, NO_ATTRIBUTES) for number, shape in enumerate(SHAPES) for pair in PACKED[number % 3 :: 3]]
CASES += [("even", pair, SCALED) for pair in PACKED[::4]]
CASES += [
    ("odd planes", ("s8", "u4"), Conversion(dst_scale=scales(17, [1]), sum=0.5)),
    ("transposed", ("u2", "s4"), Conversion(sum=1.5)),
    ("tailed", ("f32", "s4"), Conversion(src_scale=scales(35, [1]), sum=0.75)),
    ("odd in blocks", ("s4", "f32"), Conversion(src_zero_point=points(35, [1]), sum=2.0)),
]


def sides(number: int) -> tuple[MemoryDesc, MemoryDesc]:
    shape, (source, destination), _ = CASES[number]
    tag, to_tag, dims = SHAPES[shape]
    return MemoryDesc(dims, element_type(source), layout(tag)), MemoryDesc(
        dims, element_type(destination), layout(to_tag)
    )


@cache
def module(target: str) -> ModuleOp:
    """All cases, each a function; every one has a plan."""
    made = ModuleOp([])
    for number, (_, _, conversion) in enumerate(CASES):
        for op in list(reorder_module(*sides(number), f"reorder_{number}", conversion).ops):
            op.detach()
            made.body.block.add_op(op)
    lower(made, "plan-reorders", target=target)
    assert all(op.plan is not None for op in made.walk() if isinstance(op, ReorderOp))
    lower(made, target=target)
    made.verify()
    return made


@cache
def read(number: int) -> np.ndarray:
    source, _ = sides(number)
    codes = interesting_codes(source.element_type)
    return in_memory(np.random.default_rng(number).choice(codes, source.span).astype(codes.dtype), source.element_type)


@cache
def expected(number: int) -> np.ndarray:
    source, destination = sides(number)
    written = np.full(destination.size_bytes, POISON, np.uint8)
    reference.reorder(source, destination, read(number), written, CASES[number][2])
    return written


@pytest.mark.parametrize("target", TARGETS)
def test_interpreter_agrees_with_reference(target: str) -> None:
    """Every second case for each: C runs all of them."""
    for number, case in list(enumerate(CASES))[TARGETS.index(target) :: len(TARGETS)]:
        source, destination = sides(number)
        written = np.full(destination.size_bytes, POISON, np.uint8)
        interpreted(module(target), f"reorder_{number}", source, destination, case[2], is_plain=False)(
            read(number), written
        )
        np.testing.assert_array_equal(written, expected(number), str(case))


@pytest.mark.parametrize(
    ("target", "compiler", "flags"),
    [
        ("avx512", "gcc", ("-O1", "-march=native")),
        ("avx2", "clang", ("-O2", "-march=native", "-ffp-contract=fast")),
        ("sse2", "gcc", ("-O1",)),
    ],
)
def test_c_agrees_with_reference(target: str, compiler: str, flags: tuple[str, ...], tmp_path: Path) -> None:
    path = compiler_named(compiler)
    if path is None:
        pytest.skip(f"no {compiler}")
    load = compiled(emit_c(module(target)), path, tmp_path, *flags)
    for number, case in enumerate(CASES):
        written = np.full(sides(number)[1].size_bytes, POISON, np.uint8)
        load(f"reorder_{number}", (ctypes.c_void_p,) * 2)(read(number).ctypes.data, written.ctypes.data)
        np.testing.assert_array_equal(written, expected(number), str(case))


def test_a_plan_that_converts_is_explained() -> None:
    """What it converts, and that nothing is added twice."""
    source, destination = sides(CASES.index(("transposed", ("f32", "s8"), NO_ATTRIBUTES)))
    assert "1850 elements, converted from 32 to 8 bits" in Kernel(source, destination, "reference").explain()
    scales = Conversion(src_scale=Param(axes=0), dst_scale=Param(axes=(0, 1)), dst_zero_point=Param(axes=1))
    lines = Kernel(source, destination, "reference", target="avx512", conversion=scales).explain().splitlines()
    assert "  conversion: as rows are gathered on the stack" in lines
    assert "  src scale: one value in all lanes, others along digit 1" in lines
    assert "  dst scale: a vector of values, others along digit 0 and digit 1" in lines
    assert "  dst zero point: a vector of values, others along digit 0" in lines
    blocks = Kernel(*sides(CASES.index(BY_INDEX[6])), "reference", target="avx512", conversion=BY_INDEX[6][2])
    assert "  conversion: as elements are loaded" in blocks.explain().splitlines()
    adding = Kernel(source, destination, "reference", conversion=Conversion(sum=0.5)).explain()
    assert "nothing twice, as what the destination holds counts" in adding


def test_an_edited_plan_is_checked() -> None:
    """It must copy what the planner's copies, from the same types."""
    source, destination = sides(CASES.index(("transposed", ("f32", "s8"), NO_ATTRIBUTES)))
    made = reorder_module(source, destination)
    lower(made, "plan-reorders", target="avx2")
    (op,) = (op for op in made.walk() if isinstance(op, ReorderOp))
    assert op.plan is not None
    changes = (("elements of 4 to 1", "elements of 4 to 2"), ("37x", "36x"), ("4 to 1", "4 to 1 when stored"))
    for old, new in changes:
        lines = [line.data.replace(old, new) for line in op.plan]
        assert lines != [line.data for line in op.plan], old
        with pytest.raises(LayoutcError):
            read_converting_plan(lines, source, destination, NO_ATTRIBUTES)


@pytest.mark.parametrize(
    ("source", "destination", "conversion"),
    [
        (
            desc("nChw16c", (2, 17, 5, 4), "f32"),
            desc("nhwc", (2, 17, 5, 4), "s8"),
            Conversion(dst_scale=scales(17, [1])),
        ),
        (desc("nchw", (2, 17, 5, 4), "u4"), desc("nChw8c", (2, 17, 5, 4), "s8"), NO_ATTRIBUTES),
    ],
)
def test_rows_are_gathered_for_lanes(source: MemoryDesc, destination: MemoryDesc, conversion: Conversion) -> None:
    """A copy that goes element by element may have no rows at all."""
    lines = plan_lines(choose_plan(source, destination, machine("avx512"), 1, conversion))
    staged = [f"{line}, staged loads" if "lanes - -> -" in line else line for line in lines]
    assert staged != lines
    with pytest.raises(LayoutcError, match="a copy without lanes has normal stores and normal loads"):
        read_converting_plan(staged, source, destination, conversion)


def test_staged_loads_convert() -> None:
    """A plan that said otherwise would be another one than its text says."""
    source, destination = desc("oihw", (32, 32, 3, 3), "f32"), desc("OIhw4i16o4i", (32, 32, 3, 3), "s8")
    (copy,) = choose_plan(source, destination, machine("avx512")).copies
    assert copy.gathers_converted and copy.widths.at == "src"
    with pytest.raises(LayoutcError, match="staged loads are converted when loaded, got no side"):
        replace(copy, widths=replace(copy.widths, at=None))
    lines = [line.replace("4 to 1,", "4 to 1 when stored,") for line in plan_lines(Plan((copy,)))]
    with pytest.raises(LayoutcError, match="staged loads are converted when loaded, got 'when stored'"):
        parse_plan(lines)


@pytest.mark.parametrize("llc", [0, 1 << 40])
def test_a_plan_for_other_caches_is_read(llc: int) -> None:
    """Who reads it does not know them: where they are small, rows are put together that are too short elsewhere."""
    source = desc("abc", (41, 4, 71), "u8", strides=(72, 2952, 1))
    destination = desc("Bca5b", (41, 4, 71), "u16")
    plan = choose_plan(source, destination, replace(machine("avx512"), shuffles="any", llc=llc))
    assert read_converting_plan(plan_lines(plan), source, destination) == plan


def test_threads_share_a_copy_that_is_cut_where_other_caches_ask_for_it() -> None:
    """Elements that share bytes: 175 rows on one machine, 165 and 10 on one that goes past its caches."""
    source = desc("abcde", (175, 18, 3, 3, 1), "s8", strides=(18, 25488, 1, 3186, 1))
    destination = desc("abcdE4e", (175, 18, 3, 3, 1), "f4_e2m1", strides=(4536, 252, 84, 7, 4, 1))
    plans = [choose_plan(source, destination, replace(machine("avx512"), llc=llc), 2) for llc in (1 << 10, 1 << 25)]
    assert {len(plan.copies) for plan in plans} == {1, 2}
    for plan in plans:
        assert read_converting_plan(plan_lines(plan), source, destination) == plan
    whole, rest = plan_lines(plans[0]), plan_lines(plans[1])[2:]
    with pytest.raises(LayoutcError, match=r"175x.*, expected .* 165x.* for this reorder"):
        read_converting_plan([*whole, *rest], source, destination)


def test_pieces_are_a_line_only_where_they_follow_one_another() -> None:
    """Rows of 36 elements, of which a register has 32, are as many in 128 elements as fill them."""
    apart, together = ([Piece(row * step) for row in range(4)] for step in (36, 32))
    assert side_by_side(together, 32, 128) == [[0, 1, 2, 3]]
    assert side_by_side(apart, 32, 128) == [[0], [1], [2], [3]]


def test_rows_that_overlap_are_not_merged_where_they_were_converted_apart() -> None:
    """Rows of the source that begin 2 elements further on, each with a scale of its own, are rows of a buffer."""
    source = desc("abcd", (5, 8, 4, 12), "s8", strides=(4, 2, 4, 1))
    destination = desc("cdab", (5, 8, 4, 12), "f64", strides=(3240, 270, 54, 6))
    conversion = Conversion(dst_scale=Param(axes=(1,)))
    plan = choose_plan(source, destination, replace(machine("avx512"), shuffles="any"), 1, conversion)
    assert read_converting_plan(plan_lines(plan), source, destination, conversion) == plan
    values, scales = np.arange(source.size_bytes, dtype=np.int8), np.arange(1, 9, dtype=np.float32)
    got, expected = (np.zeros(destination.size_bytes, np.uint8) for _ in range(2))
    kernel = Kernel(source, destination, executor="interpret", plan=tuple(plan_lines(plan)), conversion=conversion)
    kernel(values, got, dst_scale=scales)
    replace(kernel, executor="reference", plan=())(values, expected, dst_scale=scales)
    np.testing.assert_array_equal(got, expected)


def test_an_element_that_becomes_several_by_the_same_parameters_is_converted_once() -> None:
    """What the planner makes can be read; only elements with parameters of their own are converted each."""
    source = desc("dabec", (13, 1, 6, 17, 11), "u8", strides=(0, 66, 66, 6, 1))
    destination = desc("caebD32d", (13, 1, 6, 17, 11), "s64")
    conversion = Conversion(dst_zero_point=Param(dtype="s32", axes=(0, 1), groups=(13, 1)))
    plan = choose_plan(source, destination, machine("avx512"), 1, conversion)
    assert any(copy.merges and copy.widths.converted_at == "src" for copy in plan.copies)
    assert read_converting_plan(plan_lines(plan), source, destination, conversion) == plan


def test_elements_of_a_source_that_overlaps_itself_keep_their_own_parameters() -> None:
    """An element that is several of the destination, with a scale of each, is converted once for each."""
    source = desc("affine:(a, b, c) -> (a, b, c floordiv 6, c mod 6)", (76, 4, 86), "f16", strides=(3, 1, 0, 3))
    destination = desc("affine:(a, b, c) -> (a, b, c floordiv 6, c mod 6)", (76, 4, 86), "f32")
    conversion = Conversion(src_scale=Param(axes=(0, 1), groups=(2, 2)))
    values = np.random.default_rng(1).integers(0, 60, source.size_bytes // 2).astype(np.float16)
    got, expected = (np.zeros(destination.size_bytes, np.uint8) for _ in range(2))
    kernel = Kernel(source, destination, executor="interpret", target="avx512", conversion=conversion)
    for each, written in ((kernel, got), (replace(kernel, executor="reference"), expected)):
        each(values, written, src_scale=np.arange(1, 77, dtype=np.float32).reshape(38, 2))
    np.testing.assert_array_equal(got, expected)


@pytest.mark.parametrize("store", ["aligned", "staged"])
def test_a_buffer_of_whole_lines_does_not_hold_what_a_sum_adds(store: str) -> None:
    pair, conversion = (desc("ab", (64, 64), "f32"), desc("ba", (64, 64), "f32")), Conversion(sum=0.5)
    lines = plan_lines(choose_plan(*pair, machine("avx512"), 1, conversion))
    assert read_converting_plan(lines, *pair, conversion).copies[0].store == "normal"
    edited = [line.replace("normal stores", f"{store} stores") for line in lines]
    with pytest.raises(LayoutcError, match=f"copies that add to what the destination holds have no {store} stores"):
        read_converting_plan(edited, *pair, conversion)


def test_an_edited_plan_keeps_its_parameters() -> None:
    """Where the scales of elements are is part of the copy, and checked with it; when elements convert is free."""
    source, destination, conversion = *sides(CASES.index(BY_INDEX[6])), BY_INDEX[6][2]
    plan = choose_plan(source, destination, machine("avx2"), 1, conversion)
    lines = plan_lines(plan)
    assert read_converting_plan(lines, source, destination, conversion) == plan
    _, _, tail = lines
    assert tail.startswith(
        "copy 1056 -> 1056 with 32: 2x(1155, 1584, 0) 33x(1, 16, 0) 16x(33, 1, 1)/3, elements of 4 to 1"
    )
    for old, new in (("with 32", "with 31"), ("16x(33, 1, 1)", "16x(33, 1, 0)"), (" with 32", ""), (", 0)", ")")):
        assert old in tail
        with pytest.raises(LayoutcError):
            read_converting_plan([line.replace(old, new) for line in lines], source, destination, conversion)


@pytest.mark.parametrize("target", TARGETS)
def test_many_elements_are_converted_at_once(target: str) -> None:
    """Of every copy that goes straight and is loaded whole, also where elements go one by one, or few lie together."""
    for number, (_, _, conversion) in enumerate(CASES):
        source, destination = sides(number)
        if conversion.arithmetic(source.element_type, destination.element_type) == "move":
            continue
        for copy in choose_plan(source, destination, machine(target), 1, conversion, goes_through=False).copies:
            is_loaded = copy.widths.converts and all(digit.is_whole for digit in copy.copy.digits)
            if copy.copy.elements >= 256 and is_loaded and not (copy.gathers_converted or copy.moves_rows):
                lanes = copy.source_lanes if copy.widths.converted_at == "src" else copy.target_lanes
                at_once = prod(part.extent for part in lanes) if lanes else prod(copy.tile)
                assert at_once > copy.vector_bytes // 16, (CASES[number], copy)


def test_tiles_of_many_copies_convert_few_vectors(monkeypatch: pytest.MonkeyPatch) -> None:
    """The text of 17 copies whose tiles have 64 vectors took 15 s to compile; lists that are long make as many."""
    monkeypatch.setattr("layoutc.planning.conversions.spread_params.MAX_SPREAD", 0)
    source, destination = (
        MemoryDesc((1, 196, 234, 28), element_type(t), layout(tag))
        for t, tag in (("f32", "bcDa5d"), ("f8_e5m2", "dCba16c"))
    )
    scales = Conversion(src_scale=Param(axes=2, groups=117), dst_scale=Param(axes=(0, 3), groups=(1, 2)))
    copies = [
        copy for copy in choose_plan(source, destination, machine("avx512"), 1, scales).copies if copy.source_lanes
    ]
    assert len(copies) == 16
    assert (
        max(prod(copy.tile) // prod(part.extent for part in copy.source_lanes) for copy in copies if not copy.merges)
        == 8
    )


@pytest.mark.parametrize(
    ("types", "tags", "dims", "conversion", "most"),
    [
        # 31 channels of 64 numbers of 8 bytes each were 248 vectors: text that took 6 s to compile.
        (("s64", "f8_e4m3"), ("abc", "acb"), (3, 31, 414), Conversion(), 100_000),
        # Each of 16 lanes loaded a zero point of its own, 1024 in a tile: gcc took more than half an hour.
        (("s8", "bf16"), ("ab", "Ab16a"), (48, 288), POINTS, 100_000),
        # Values that share bytes, and of which every other row begins inside of one, are taken out one by one.
        (("f8_e4m3", "f8_e4m3"), ("abc", "acb"), (2, 23, 443), PACKED_POINTS, 300_000),
    ],
    ids=["channels", "parameters of their own", "parameters that share bytes"],
)
def test_no_tile_has_much_text(
    types: tuple[str, str], tags: tuple[str, str], dims: tuple[int, ...], conversion: Conversion, most: int
) -> None:
    """Compilers take more than proportionally longer for what is in one loop."""
    source, destination = (
        MemoryDesc(dims, element_type(type), layout(tag)) for type, tag in zip(types, tags, strict=True)
    )
    assert len(Kernel(source, destination, target="avx512", conversion=conversion).c_source) < most


def test_channels_of_a_shorter_tile_are_read_back() -> None:
    """4 columns of s8 are 4 bytes, and fill a register of 16 as they are converted."""
    source, destination = (
        MemoryDesc((1, 27, 923), element_type(type), layout(tag)) for type, tag in (("u4", "acb"), ("s8", "abc"))
    )
    own = Conversion(src_zero_point=Param(dtype="s32"), dst_zero_point=Param(axes=(1, 2), dtype="s32"))
    plan = choose_plan(source, destination, replace(machine("neon"), llc=1 << 10), 1, own)
    assert plan.copies[0].target_lanes[-1].extent == 4
    assert parse_plan(plan_lines(plan)) == plan
    with pytest.raises(LayoutcError, match=r"2, in registers of 8 bytes, expected a power of two that fills 16 to 16"):
        parse_plan([line.replace("27x4", "27x2").replace("1:4", "1:2") for line in plan_lines(plan)])


def test_tiles_that_became_shorter_do_not_ask_for_lines_in_turn() -> None:
    """Four tiles of 16 steps of 4 rows ask for a line in turn; of 8 steps eight would, which are more than the rows."""
    source, destination = (
        MemoryDesc((2, 12, 954), element_type(type), layout(tag))
        for type, tag in (("f8_e5m2", "abc"), ("f8_e4m3", "acb"))
    )
    small = replace(machine("generic"), l2=512, llc=1 << 10, waits_for_lines=False)
    plan = choose_plan(source, destination, small, 1, Conversion(sum=0.5))
    copy = next(copy for copy in plan.copies if copy.tile == (1, 8, 4) and copy.prefetch)
    assert copy.asks == "" and parse_plan(plan_lines(plan)) == plan


def test_elements_are_converted_where_their_parameters_are_side_by_side() -> None:
    """A register of 64 columns has a load of its scales, and one of 23 channels and some columns a load for each."""
    scales = Conversion(dst_scale=Param(axes=(1, 2), dtype="f32"))
    source, destination = (MemoryDesc((2, 23, 443), element_type("s8"), layout(tag)) for tag in ("abc", "acb"))
    (copy,) = choose_plan(source, destination, machine("avx512"), 1, scales).copies
    assert (copy.widths.converted_at, len(copy.source_lanes)) == ("src", 1)


def test_what_is_padded_is_one_copy() -> None:
    """Pixels are converted with the scales of a few of them; what is loaded in part and its zeros are in one tile."""
    scales = Conversion(src_scale=Param(axes=1))
    source, destination = (
        MemoryDesc((4, 3, 32, 32), element_type(t), layout(tag)) for t, tag in (("u8", "acdb"), ("f32", "aBcd16b"))
    )
    plan = choose_plan(source, destination, machine("avx512"), 1, scales)
    (copy,) = plan.copies
    assert (row_cycle(copy), copy.load, copy.gathers_converted) == (3, "staged", True)
    assert copy.copy.elements == destination.span


def test_what_is_padded_is_one_copy_where_elements_of_the_source_share_bytes() -> None:
    """Half lines of what is loaded and of zeros are stored together, as whole lines past the caches."""
    dims = (138, 14, 229, 24)
    source, destination = desc("dabc", dims, "s4"), desc("Dbca8d2d", dims, "f32")
    whole, padded = choose_plan(source, destination, machine("avx512")).copies
    assert (padded.load, padded.store, padded.gathers_converted) == ("staged", "nontemporal", True)
    assert whole.copy.elements + padded.copy.elements == destination.span


def test_rows_that_are_converted_first_are_read_line_after_line() -> None:
    """What a macro tile leaves of the lines and pages of a row is taken by the next ones, not by another pass."""
    source, destination = desc("acb", (96, 170, 3169), "s32"), desc("bca", (96, 170, 3169), "s4")
    (copy,) = choose_plan(source, destination, machine("avx512")).copies
    assert copy.gathers_converted
    inner = copy.outer_order[-1]
    assert copy.copy.digits[inner].src == 1
    assert copy.macro[inner] < copy.copy.digits[inner].extent


def test_what_is_padded_is_apart_where_the_caches_hold_it() -> None:
    """Registers of 64 elements of a row are unpacked by one load, and would be converted row by row into a buffer."""
    source, destination = desc("acbd", (14, 2, 57, 60), "s4"), desc("abdC24c", (14, 2, 57, 60), "f32")
    loaded, zeros = choose_plan(source, destination, machine("avx512")).copies
    assert (loaded.load, zeros.copy.is_fill) == ("normal", True)


@pytest.mark.parametrize("llc", [1 << 20, 1 << 30])
def test_the_copies_of_what_is_packed_and_padded_follow_from_the_reorder(llc: int) -> None:
    """Who reads a plan has other caches than who wrote it, and finds the same copies."""
    for dims in ((138, 14, 229, 24), (13, 4, 22, 24)):
        source, destination = desc("dabc", dims, "s4"), desc("Dbca8d2d", dims, "f32")
        plan = choose_plan(source, destination, replace(machine("avx512"), llc=llc))
        assert read_converting_plan(list(plan_lines(plan)), source, destination) == plan


@pytest.mark.parametrize(
    ("target", "source", "destination"),
    [
        ("avx2", desc("abcdefhg", (6, 7, 2, 2, 5, 5, 3, 4)), desc("abcdefgh", (6, 7, 2, 2, 5, 5, 3, 4), "s4")),
        ("avx512", desc("abc", (40, 40, 4), "f64"), desc("Bac4b", (40, 40, 4), "f32")),
    ],
    ids=["parts of registers", "a box"],
)
def test_rows_are_converted_first_where_tiles_would_convert_slowly(
    target: str, source: MemoryDesc, destination: MemoryDesc
) -> None:
    """Where tiles would convert a few elements at a time, or, past the caches, what is converted has better ones."""
    (copy,) = choose_plan(source, destination, replace(machine(target), llc=0)).copies
    assert copy.gathers_converted


def test_in_the_caches_rows_are_not_converted_first_for_better_tiles_alone() -> None:
    source, destination = desc("abc", (40, 40, 4), "f64"), desc("Bac4b", (40, 40, 4), "f32")
    past, within = (choose_plan(source, destination, replace(machine("avx512"), llc=llc)) for llc in (0, 32 << 20))
    assert [copy.gathers_converted for plan in (past, within) for copy in plan.copies] == [True, False]


@pytest.mark.parametrize(
    ("sides", "types", "lanes"),
    [
        (("acdb", "abcd"), ("u8", "f32"), ((3, 64), (16,))),
        (("acdb", "abcd"), ("u8", "bf16"), ((3, 64), (32,))),
        (("abcd", "acdb"), ("f32", "u8"), ((16,), (3, 64))),
        (("abcd", "acdb"), ("u8", "f32"), ((16,), (3, 16))),
    ],
)
def test_a_few_channels_fill_registers_with_what_is_moved(
    sides: tuple[str, str], types: tuple[str, str], lanes: tuple[tuple[int, ...], ...]
) -> None:
    """The side on which they lie together has whole registers, where it is the narrow one; the other has parts."""
    source, destination = (
        MemoryDesc((2, 3, 16, 24), element_type(type), layout(tag)) for type, tag in zip(types, sides, strict=True)
    )
    how = Conversion(src_scale=scales(3, [1]), src_zero_point=points(3, [1])) if types[1] != "u8" else Conversion()
    (copy,) = (plan := choose_plan(source, destination, replace(machine("avx512"), shuffles="any"), 1, how)).copies
    assert tuple(tuple(part.extent for part in parts) for parts in (copy.source_lanes, copy.target_lanes)) == lanes
    kernel = Kernel(source, destination, "interpret", conversion=how, plan=tuple(plan_lines(plan)))
    read = (np.arange(kernel.source_bytes) * 37 % 251).astype(np.uint8)
    written, expected = (np.full(kernel.destination_bytes, POISON, np.uint8) for _ in range(2))
    kernel(read, written)
    reference.reorder(source, destination, read, expected, how)
    np.testing.assert_array_equal(written, expected)


@pytest.mark.parametrize(("type", "to_type", "is_first"), [("bf16", "f32", False), ("f32", "s8", True)])
@pytest.mark.parametrize("is_far", [False, True])
def test_elements_are_transposed_while_they_are_narrow(type: str, to_type: str, is_first: bool, is_far: bool) -> None:
    """No rows are converted first that become wider; past the caches they are read row by row if L3 is far."""
    found = replace(machine("avx512"), llc_is_far=is_far)
    small, large = (
        choose_plan(desc("ab", dims, type), desc("ba", dims, to_type), found, goes_through=False).copies[0]
        for dims in ((256, 256), (8192, 8192))
    )
    assert (small.gathers_converted, large.gathers_converted) == (is_first, is_first or is_far)


@pytest.mark.parametrize(
    ("type", "to_type", "how", "inner"),
    [
        ("f32", "s8", Conversion(dst_scale=Param(axes=1)), "1 0"),
        ("u8", "bf16", Conversion(src_scale=Param(axes=1)), "1 0"),
        ("u8", "f32", Conversion(src_scale=Param(axes=1)), "0 1"),
        ("u8", "f32", Conversion(src_scale=Param(axes=1), src_zero_point=Param(axes=1, dtype="u4")), "1 0"),
        ("u8", "f32", Conversion(src_scale=Param(axes=1), src_zero_point=Param(axes=1, dtype="u8")), "1 0"),
        ("u8", "f32", Conversion(src_scale=Param(axes=1), src_zero_point=Param(axes=1, dtype="s32")), "0 1"),
        ("f32", "bf16", Conversion(src_scale=Param(axes=1)), "0 1"),
    ],
)
def test_what_is_made_of_parameters_is_kept_for_many_rows(type: str, to_type: str, how: Conversion, inner: str) -> None:
    """Fewer where the second cache does not hold both sides."""
    for rows, is_held in ((256, True), (1024, False)):
        dims = (rows, 512)
        plan = choose_plan(desc("ab", dims, type), desc("ab", dims, to_type), machine("avx512"), 1, how)
        assert f"inner {inner}, normal" in plan_lines(plan)[1]
        kept = plan.copies[0].macro[0]
        assert inner == "0 1" or (kept == 32 if is_held else 8 <= kept < 32)


def test_boxes_of_rows_that_overlap_are_such_as_are_read_back() -> None:
    """Without masks rows are half a register of the source at least."""
    scales, zero_points = (
        Param(axes=(0, 1, 2, 3), groups=(1, 2, 2, 1), dtype="bf16"),
        Param(axes=(0, 3), groups=(1, 4), dtype="s32"),
    )
    source = replace(desc("abcd", (2, 8, 8, 4), "f8_e5m2"), strides=(3, 4, 3, 0), base_offset=3)
    destination = replace(desc("abcd", (2, 8, 8, 4), "bf16"), strides=(344, 35, 4, 1), base_offset=3)
    how = Conversion(src_scale=scales, src_zero_point=zero_points)
    plan = choose_plan(source, destination, machine("avx2"), 1, how)
    assert parse_plan(plan_lines(plan)) == plan


@pytest.mark.parametrize(
    ("target", "rows", "type", "is_kept"),
    [
        ("avx2", 256, "u4", True),
        ("sse2", 256, "f16", True),
        ("sse2", 8192, "u4", True),
        ("avx2", 8192, "u4", False),
        ("sse2", 256, "s32", False),
    ],
)
def test_parameters_that_become_wider_are_kept_by_all_registers(
    target: str, rows: int, type: str, is_kept: bool
) -> None:
    """By small ones past the caches too."""
    param = Param(axes=(0, 1), groups=(64, 1), dtype=type)
    conversion = Conversion(src_scale=param) if type == "f16" else Conversion(src_zero_point=param)
    sides = desc("ab", (rows, 4096), "u8"), desc("ab", (rows, 4096), "f32")
    (line,) = plan_lines(choose_plan(*sides, machine(target), 1, conversion))[1:]
    assert ("inner 0 2 1, " in line) == is_kept


@pytest.mark.parametrize(("columns", "lanes"), [(512, "0:16 -> 1:16"), (500, "0:64 -> 1:16")])
def test_tiles_have_fewer_rows_where_these_evict_each_other(columns: int, lanes: str) -> None:
    # In the destination 64 rows that are 2 KiB apart share two of the 64 sets of the first cache.
    dims = (columns, 512)
    wide = replace(machine("avx512"), shuffles="any")
    plan = choose_plan(desc("ab", dims, "s8"), desc("ba", dims, "f32"), wide)
    assert f"lanes {lanes}, " in plan_lines(plan)[1]


@pytest.mark.parametrize(("type", "to_type"), [("f32", "bf16"), ("f32", "s8"), ("f16", "f8_e4m3")])
def test_short_rows_are_merged_before_they_are_converted(type: str, to_type: str) -> None:
    """Rows of 3 that are stored 4 apart: of their pieces whole registers are made, each lane with its scale."""
    dims = (64, 7, 3, 3)
    source, destination = desc("abcd", dims, type, strides=(84, 12, 4, 1)), desc("cdba", dims, to_type)
    scales = Conversion(dst_scale=Param(np.linspace(0.5, 2, 64), axes=0))
    plan = choose_plan(source, destination, replace(machine("avx512"), shuffles="any"), 1, scales, goes_through=False)
    (copy,) = plan.copies
    assert (copy.merges, copy.widths.converted_at) == (True, "dst")
    kernel = Kernel(source, destination, "interpret", conversion=scales, plan=tuple(plan_lines(plan)))
    read = (np.arange(kernel.source_bytes) * 37 % 251).astype(np.uint8)
    written, expected = (np.full(kernel.destination_bytes, POISON, np.uint8) for _ in range(2))
    kernel(read, written)
    reference.reorder(source, destination, read, expected, scales)
    np.testing.assert_array_equal(written, expected)


@pytest.mark.parametrize(
    ("rows", "columns", "type", "row", "ahead"),
    [(8192, 4096, "f32", 256, 4 * 4096), (8192, 4112, "f32", 32, 32), (384, 24517, "bf16", 64, 64 + 31)],
    ids=["rows evict each other", "they do not", "the next macro tile goes on in them"],
)
def test_rows_that_become_bytes_are_longer_where_short_ones_wait(
    rows: int, columns: int, type: str, row: int, ahead: int
) -> None:
    """And they ask for what lies 4 KiB of such rows further on, which is there when it is needed."""
    target = replace(machine("avx512"), llc_is_far=True, l1=48 << 10)
    (copy,) = choose_plan(desc("ab", (rows, columns), type), desc("ba", (rows, columns), "s8"), target, 1).copies
    assert (copy.load, copy.store) == ("staged", "nontemporal")
    assert (copy.macro[0], copy.prefetch) == (row, ahead)


def test_rows_that_become_bytes_leave_room_in_a_small_first_cache() -> None:
    """Longer ones would fill 32 KiB with the buffer alone."""
    target = replace(machine("avx512"), llc_is_far=True, l1=32 << 10)
    (copy,) = choose_plan(desc("ab", (8192, 4096), "f32"), desc("ba", (8192, 4096), "s8"), target, 1).copies
    assert (copy.load, copy.macro[0]) == ("staged", 32)


@pytest.mark.parametrize(("types", "lanes"), [(("bf16", "u2"), 32), (("u16", "s32"), 32)])
def test_rows_that_are_converted_ask_for_the_last_byte_of_a_whole_register(types: tuple[str, str], lanes: int) -> None:
    """They are loaded by registers, not by the lanes of tiles: what straddles lines would be half a line short."""
    source, destination = desc("ab", (40000, 912), types[0]), desc("ba", (40000, 912), types[1])
    (copy,) = choose_plan(source, destination, replace(machine("avx512"), llc_is_far=True), 1).copies
    digit = next(g for g, digit in enumerate(copy.copy.digits) if digit.src == 1)
    assert copy.load == "staged" and lane_count(copy.source_lanes) < lanes
    assert copy.prefetch % copy.macro[digit] == lanes - 1


@pytest.mark.parametrize(("rows", "step", "ahead"), [(297, 15, 31), (304, 16, 16)])
def test_macro_tiles_that_overlap_inside_lines_ask_for_the_last_line_of_the_next(
    rows: int, step: int, ahead: int
) -> None:
    """Of 16 columns of 297 bytes each the next ones share a line, so that they begin with the last column."""
    sides = desc("ab", (rows, 25760), "u32"), desc("ba", (rows, 25760), "s8")
    (copy,) = choose_plan(*sides, replace(machine("avx512"), llc=0, llc_is_far=True)).copies
    assert (copy.store, copy.macro[0], copy.macro_step(0), copy.prefetch) == ("staged", 16, step, ahead)


@pytest.mark.parametrize(("to", "bytes"), [("s8", 16 << 10), ("bf16", 16 << 10), ("f32", 4 << 10)])
def test_what_becomes_narrower_lies_farther_ahead_where_it_begins_inside_a_line(to: str, bytes: int) -> None:
    source, destination = desc("Abc24a", (1200, 14, 1268), "s32"), desc("cba", (1200, 14, 1268), to)
    (copy,) = choose_plan(source, destination, machine("avx512"), 1).copies
    macro_tiles = -(-bytes // (prod(copy.macro) * 4))
    assert copy.store == "staged" and copy.prefetch == 24 * macro_tiles


@pytest.mark.parametrize(("rows", "to", "macro_tiles"), [(4096, "s8", 1), (11234, "s4", 2)])
def test_what_will_share_bytes_lies_farther_ahead_wherever_it_begins(rows: int, to: str, macro_tiles: int) -> None:
    source, destination = desc("ab", (rows, 9344), "bf16"), desc("ba", (rows, 9344), to)
    (copy,) = choose_plan(source, destination, machine("avx512"), 1).copies
    assert (copy.load, copy.macro, copy.prefetch) == ("staged", (64, 64), macro_tiles * 64)


@pytest.mark.parametrize(
    ("target", "dims", "types"), [("avx512", (64, 4096), "s16->u8"), ("sse2", (44, 4096), "f32->u8")]
)
def test_rows_that_are_converted_ask_ahead_themselves(target: str, dims: tuple[int, int], types: str) -> None:
    """Where the tiles of rows that are moved as they are would ask for the next ones: where the last cache is near."""
    type, to_type = types.split("->")
    plan = choose_plan(desc("ab", dims, type), desc("ba", dims, to_type), replace(machine(target), llc=0))
    assert plan.copies[0].gathers_converted and plan.copies[0].prefetch
    assert parse_plan(plan_lines(plan)) == plan


@pytest.mark.parametrize(
    ("tags", "dims", "types", "is_far", "gathers"),
    [
        ("nchw nhwc", (64, 64, 56, 56), "bf16 f32", False, False),  # a pixel's channels are few lines
        ("nchw nhwc", (64, 64, 56, 56), "f32 bf16", False, False),
        ("nchw nhwc", (64, 64, 56, 56), "f16 bf16", False, False),
        ("nchw nhwc", (64, 64, 56, 56), "s8 u8", False, False),
        ("nchw nhwc", (64, 64, 56, 56), "f32 s8", False, True),
        ("nchw nhwc", (64, 64, 56, 56), "u4 s8", False, True),  # bytes of registers, half of one in memory
        ("nchw nhwc", (64, 64, 56, 56), "f32 bf16", True, True),
        ("nchw nhwc", (64, 64, 56, 56), "f16 bf16", True, True),
        ("ab ba", (4096, 4096), "bf16 f32", False, False),
        ("ab ba", (4096, 4096), "bf16 f32", True, True),
        ("ab ba", (4096, 4096), "f16 bf16", False, True),
        ("ab ba", (4096, 4096), "f32 bf16", False, False),
        ("ba BA16a64b", (11008, 1536), "f16 bf16", False, False),
        ("ba BA16a64b", (4096, 4096), "f16 bf16", False, True),  # rows of the source evict each other
        ("oihw OIhw8i16o2i", (1024, 1008, 3, 3), "f32 bf16", False, True),  # 8 of 9 places: most lines twice
        ("nchw nhwc", (64, 36, 112, 112), "f32 bf16", False, False),  # 32 of 36 channels: out of a buffer, once
        ("oihw OIhw8i16o2i", (1024, 1024, 4, 2), "f32 bf16", False, False),
    ],
)
def test_past_the_caches_tiles_convert_themselves(
    tags: str, dims: tuple[int, ...], types: str, is_far: bool, gathers: bool
) -> None:
    """Full registers, to as wide elements or to 2 bytes, if no lines are stored twice and no rows evict each other."""
    (tag, to_tag), (type, to_type) = tags.split(), types.split()
    found = replace(machine("avx512"), llc=0, llc_is_far=is_far)
    plan = choose_plan(desc(tag, dims, type), desc(to_tag, dims, to_type), found)
    assert [copy.gathers_converted for copy in plan.copies] == [gathers]


@pytest.mark.parametrize(
    ("tags", "dims", "types", "is_far", "macro"),
    [
        ("nchw nhwc", (64, 64, 56, 56), "f32 bf16", False, (1, 64, 64)),
        ("nchw nhwc", (64, 64, 56, 56), "bf16 f32", False, (1, 64, 64)),
        ("nchw nhwc", (64, 64, 56, 56), "s32 f32", False, (1, 64, 64)),
        ("ab ba", (4096, 4096), "f32 bf16", False, (32, 128)),
        ("nchw nhwc", (128, 512, 14, 14), "f32 bf16", False, (1, 32, 128)),
        ("ba BA16a64b", (4096, 4096), "f32 f16", False, (1, 64, 64)),
        ("ab Ba8b", (4096, 4096), "f32 bf16", False, (8, 64, 8)),
        ("ab Ba8b", (4096, 4096), "f32 bf16", True, (32, 32, 8)),  # one line
        ("aB64b Ba4b", (4096, 4096), "s8 s4", False, (256, 32, 4)),  # which share bytes
        ("ab BA16a64b4a", (4096, 11008), "s8 s8", False, (4, 16, 64, 4)),  # moved, by loads of whole lines
        ("ab BA16a64b4a", (4096, 11008), "s8 s8", True, (16, 8, 64, 4)),
    ],
)
def test_past_the_caches_macro_tiles_have_a_few_lines_of_rows_on_both_sides(
    tags: str, dims: tuple[int, ...], types: str, is_far: bool, macro: tuple[int, ...]
) -> None:
    """Of what tiles convert, or load by whole lines, where the last cache is near."""
    (tag, to_tag), (type, to_type) = tags.split(), types.split()
    found = replace(machine("avx512"), llc=0, llc_is_far=is_far)
    (copy,) = choose_plan(desc(tag, dims, type), desc(to_tag, dims, to_type), found).copies
    assert copy.load == "normal" and copy.macro == macro


@pytest.mark.parametrize(
    ("tags", "dims", "types", "gathers", "gathers_far", "lanes"),
    [
        ("nchw nhwc", (64, 64, 56, 56), "s8 f32", False, True, "1:16 -> 2:16"),  # a register once they are wide
        ("nchw nhwc", (64, 64, 56, 56), "s16 s64", False, True, "1:8 -> 2:8"),
        ("ab ba", (3001, 5003), "s8 f32", False, False, "0:16 -> 1:16"),  # lines are put together in a buffer
        ("ab ba", (4096, 4096), "s8 f32", False, True, "0:64 -> 1:16"),  # rows evict each other: whole lines of them
        ("ab ba", (4096, 4096), "s8 bf16", True, True, "0:8 -> 1:32"),
        (
            "ab ba",
            (4096, 4096),
            "s4 f32",
            True,
            True,
            "0:8 -> 1:16",
        ),  # 64 are half a line, and evict each other
        ("ab ba", (4000, 4000), "s4 f32", False, True, "0:16 -> 1:16"),
        ("aB12b ab", (58272, 14), "bf16 u32", False, False, "1:14 -> 1:14 0:2"),  # a box, 14 of 16 lanes full
        ("aB12b ab", (58272, 14), "u4 f32", True, True, "1:14 -> 1:14 0:2"),  # no box of half bytes, and no transpose
        ("ba Ab5a", (1070535, 28), "f8_e4m3 f16", True, True, "2:5 0:2 -> 2:5 1:28 0:2"),  # 10 of 32 lanes
    ],
)
def test_past_near_caches_tiles_widen_elements_themselves(
    tags: str, dims: tuple[int, ...], types: str, gathers: bool, gathers_far: bool, lanes: str
) -> None:
    """
    Where they fill lines, or are boxes with full registers; those of 4 bytes and more from few elements of a row.

    Where the last cache is far, if they put lines together in a buffer.
    """
    (tag, to_tag), (type, to_type) = tags.split(), types.split()
    sides = desc(tag, dims, type), desc(to_tag, dims, to_type)
    near, far = (replace(machine("avx512"), llc=0, llc_is_far=is_far) for is_far in (False, True))
    plan = choose_plan(*sides, near)
    assert plan.copies[0].gathers_converted == gathers and f"lanes {lanes}, " in "\n".join(plan_lines(plan))
    assert choose_plan(*sides, far).copies[0].gathers_converted == gathers_far
    assert parse_plan(plan_lines(plan)) == plan


@pytest.mark.parametrize(
    ("tags", "dims", "types", "is_far", "lanes"),
    [
        ("nchw nhwc", (64, 64, 56, 56), "f32 f64", False, "1:8 -> 2:8"),
        ("nchw nhwc", (64, 64, 56, 56), "f32 f64", True, "1:8 -> 2:8"),
        ("ab ba", (5001, 3003), "u2 f32", True, "0:64 -> 1:16"),
        ("ab ab", (3008, 5056), "f4_e2m1 f32", False, "0:64 -> 0:16"),  # as they lie
        ("ab ba", (5001, 3003), "u2 f32", False, "0:16 -> 1:16"),  # in a buffer
    ],
)
def test_tiles_that_widen_to_4_bytes_and_more_load_few_of_a_row(
    tags: str, dims: tuple[int, ...], types: str, is_far: bool, lanes: str
) -> None:
    """A register of them, past the caches, if they are transposed; where the last one is far, of whole bytes."""
    (tag, to_tag), (type, to_type) = tags.split(), types.split()
    plan = choose_plan(
        desc(tag, dims, type), desc(to_tag, dims, to_type), replace(machine("avx512"), llc=0, llc_is_far=is_far)
    )
    assert not plan.copies[0].gathers_converted and f"lanes {lanes}, " in plan_lines(plan)[1]


@pytest.mark.parametrize(
    ("tags", "dims", "types", "gathers", "gathers_far"),
    [
        ("ab ba", (3001, 5003), "f32 s8", False, False),
        ("ab ba", (3001, 8003), "bf16 f8_e4m3", False, False),
        ("nchw nhwc", (32, 100, 65, 121), "f32 s8", False, True),
        ("ab ba", (3008, 5003), "f32 s8", True, True),  # whole lines go straight
        ("nhwc nchw", (32, 100, 65, 121), "f32 s8", True, True),  # rows of 400 bytes
        ("ab ba", (3001, 5003), "s8 f32", False, False),  # elements become wider
        ("ab ba", (3001, 5003), "f64 s8", False, True),
    ],
)
def test_tiles_convert_to_single_bytes_that_they_put_together_to_lines(
    tags: str, dims: tuple[int, ...], types: str, gathers: bool, gathers_far: bool
) -> None:
    """Out of long rows, where the last cache is near; where it is far, out of rows as long as would be gathered."""
    (tag, to_tag), (type, to_type) = tags.split(), types.split()
    sides = desc(tag, dims, type), desc(to_tag, dims, to_type)
    near, far = (replace(machine("avx512"), llc=0, llc_is_far=is_far) for is_far in (False, True))
    plan = choose_plan(*sides, near)
    assert plan.copies[0].gathers_converted == gathers and parse_plan(plan_lines(plan)) == plan
    assert choose_plan(*sides, far).copies[0].gathers_converted == gathers_far


@pytest.mark.parametrize(("types", "lanes"), [("f64 f32", 8), ("f64 bf16", 8), ("f32 bf16", 8)])
def test_half_lines_of_8_bytes_are_too_few_elements_to_convert(types: str, lanes: int) -> None:
    """Others are loaded by half lines; whole lines of 8 bytes have as many elements as half ones of 4, and no box."""
    type, to_type = types.split()
    found = replace(machine("avx512"), llc=0, llc_is_far=False, shuffles="words")
    (copy,) = choose_plan(desc("ab", (3001, 5003), type), desc("ba", (3001, 5003), to_type), found).copies
    assert copy.store == "staged" and not copy.merges and [part.extent for part in copy.source_lanes] == [lanes]


def test_half_lines_fit_registers_of_what_is_moved() -> None:
    """Elements that are converted where they are stored are 4 bytes wide until then; half a line of bytes is 32."""
    both = Conversion(dst_scale=Param(axes=(0, 1)))
    found = replace(machine("avx512"), llc=0, llc_is_far=False)
    plan = choose_plan(desc("ba", (3001, 5003), "f32"), desc("ab", (3001, 5003), "s8"), found, conversion=both)
    assert parse_plan(plan_lines(plan)) == plan and plan.copies[0].target_lanes


@pytest.mark.parametrize("is_far", [False, True])
@pytest.mark.parametrize("type", ["f32", "s32", "f16"])
def test_in_the_caches_tiles_convert_full_registers_themselves(type: str, is_far: bool) -> None:
    dims, found = (1, 64, 28, 56), replace(machine("avx512"), llc_is_far=is_far)
    (copy,) = choose_plan(desc("nchw", dims, type), desc("nhwc", dims, "bf16"), found, goes_through=False).copies
    assert copy.is_plain and not copy.gathers_converted


def test_in_the_caches_elements_of_a_byte_leave_a_buffer() -> None:
    sides = desc("ab", (192, 320), "bf16"), desc("ba", (192, 320), "s8")
    (copy,) = choose_plan(*sides, machine("avx512"), goes_through=False).copies
    assert copy.gathers_converted


def test_padding_that_is_too_large_for_a_buffer_is_stored_without_one() -> None:
    """Five rows of a block of 24576: a macro tile of all of them, as of what is loaded in part, would be 1.5 MB."""
    destination = (
        "affine:(a, b, c) -> (c, a floordiv 24576, b, (a floordiv 384) mod 64, (a floordiv 32) mod 12, a mod 32)"
    )
    pair = desc("aBc8b", (5, 4, 1), "s64"), desc(destination, (5, 4, 1), "s32")
    plan = choose_plan(*pair, machine("avx2"))
    assert read_converting_plan(plan_lines(plan), *pair, NO_ATTRIBUTES) == plan


def test_a_second_cache_of_a_few_lines_has_one_set() -> None:
    target = replace(machine("avx512"), l1=512, l2=512, llc=0)
    (copy,) = choose_plan(desc("ab", (192, 96), "f32"), desc("ba", (192, 96), "s8"), target, 1).copies
    assert copy.load == "staged"


@pytest.mark.parametrize(
    ("target", "batch", "conversion", "macro"),
    [
        ("avx512", 1, Conversion(dst_scale=Param(axes=1)), 784),
        ("avx512", 128, Conversion(dst_scale=Param(axes=1)), 64),
        ("far", 128, Conversion(dst_scale=Param(axes=1)), 128),
        ("avx512", 1, Conversion(dst_scale=Param(axes=1), reciprocal=True), 32),
        ("avx512", 128, Conversion(dst_scale=Param(axes=1), reciprocal=True), 32),
        ("avx512", 1, Conversion(src_scale=Param(axes=1)), 32),
        ("avx512", 1, Conversion(dst_scale=Param(axes=(2, 3))), 32),
        ("avx2", 1, Conversion(dst_scale=Param(axes=1)), 32),
    ],
    ids=str,
)
def test_rows_that_are_divided_by_one_number_are_longer(
    target: str, batch: int, conversion: Conversion, macro: int
) -> None:
    """Where products with its reciprocal make the quotients, in the caches and past them."""
    dims = (batch, 64, 56, 56)
    found = replace(machine("avx512"), llc_is_far=True) if target == "far" else machine(target)
    plan = choose_plan(desc("abcd", dims, "f32"), desc("acdb", dims, "s8"), found, 1, conversion, goes_through=False)
    (copy,) = plan.copies
    assert copy.load == "staged"
    assert copy.macro[next(g for g, digit in enumerate(copy.copy.digits) if digit.src == 1)] == macro


@pytest.mark.parametrize(
    ("tags", "dims", "types", "conversion", "loads"),
    [
        ("cEdab3e DebcA5d2a", (2, 32, 28, 15, 4), "s8->u32", Conversion(dst_scale=scales(4, [4])), "load_first_i8x16"),
        (
            "cEdab3e DebcA5d2a",
            (2, 32, 28, 15, 4),
            "bf16->f32",
            Conversion(src_scale=scales(4, [4])),
            "load_first_u16x16",
        ),
        ("BCA4b16c5a bca", (511, 9, 16), "e8m0->f16", Conversion(src_scale=scales(511, [0])), "load_u8x16 " * 2),
    ],
    ids=["nine", "nine of bf16", "twenty"],
)
def test_short_rows_fill_registers_whatever_their_parameters_are(
    tags: str, dims: tuple[int, ...], types: str, conversion: Conversion, loads: str
) -> None:
    """Not pairs, or fours, that begin again with their parameters, as those of rows of 9 after 3, of 20 after 5."""
    (tag, to_tag), (type, to_type) = tags.split(), types.split("->")
    sides = desc(tag, dims, type), desc(to_tag, dims, to_type)
    lines = tuple(plan_lines(choose_plan(*sides, replace(machine("avx512"), llc=0, llc_is_far=True), 1, conversion)))
    kernel = Kernel(*sides, "c", conversion=conversion, target="avx512", plan=lines)
    rows = kernel.c_source[kernel.c_source.index("// copy 0") :]
    assert re.findall(r"load_(?:first_)?[iu]\d+x\d+", rows)[: len(loads.split())] == loads.split()
    values = in_memory(np.resize(interesting_codes(sides[0].element_type), sides[0].span), sides[0].element_type)
    got, want = (np.full(sides[1].size_bytes, POISON, np.uint8) for _ in range(2))
    kernel(values, got)
    reference.reorder(*sides, values, want, conversion)
    np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize(
    ("tags", "dims", "types", "is_far", "piece"),
    [
        ("cdba cabd", (58, 8, 224, 299), "f32->s8", False, 128),
        ("cdba cabd", (58, 8, 224, 299), "s8->f64", True, 8),
        ("ab ba", (104713, 500), "bf16->s8", False, 32),  # the first cache holds the lines until the next macro tile
    ],
)
def test_rows_that_become_narrower_are_two_lines_where_a_buffer_is_left_by_whole_ones(
    tags: str, dims: tuple[int, ...], types: str, is_far: bool, piece: int
) -> None:
    (tag, to_tag), (type, to_type) = tags.split(), types.split("->")
    found = replace(machine("avx512"), llc=0, llc_is_far=is_far)
    (copy,) = choose_plan(desc(tag, dims, type), desc(to_tag, dims, to_type), found).copies
    assert (copy.load, copy.store) == ("staged", "staged")
    assert copy.source_run * copy.widths.src == piece


@pytest.mark.parametrize(
    ("tags", "dims", "types", "elements"),
    [
        ("dbac caDb5d", (28, 22932, 14, 4), "s8->e8m0", 56),  # 14 of a row go on in rows of the next digit
        ("cadb cbda", (56, 24, 259, 40), "u2->f32", 96),  # all of a row, and three more
    ],
)
def test_rows_that_leave_a_buffer_are_as_long_as_is_worth_a_load_whatever_digits_they_have(
    tags: str, dims: tuple[int, ...], types: str, elements: int
) -> None:
    (tag, to_tag), (type, to_type) = tags.split(), types.split("->")
    found = replace(machine("avx512"), llc=0, shuffles="single")
    (copy,) = choose_plan(desc(tag, dims, type), desc(to_tag, dims, to_type), found).copies
    assert (copy.load, copy.store, copy.source_run) == ("staged", "staged", elements)


@pytest.mark.parametrize(
    ("tags", "dims", "is_far", "store"),
    [
        ("dabc cbad", (96, 49, 299, 34), True, "staged"),  # runs of 480 bytes, of 512 without the source's buffer
        ("bac cab", (128, 512, 299), False, "normal"),  # macro tiles of a tile, as buffers of more are too large
    ],
)
def test_macro_tiles_that_buffers_change_are_side_by_side_only_if_their_runs_are_whole_lines(
    tags: str, dims: tuple[int, ...], is_far: bool, store: str
) -> None:
    """And only if they still leave a buffer: other plans cannot be read back."""
    tag, to_tag = tags.split()
    source, destination = desc(tag, dims, "u4"), desc(to_tag, dims, "s8")
    plan = choose_plan(source, destination, replace(machine("sse2"), llc=0, llc_is_far=is_far))
    (copy,) = plan.copies
    assert (copy.load, copy.store, copy.side_by_side) == ("unpacked", store, False)
    assert read_converting_plan(plan_lines(plan), source, destination) == plan


@pytest.mark.parametrize(
    ("dims", "types", "is_far", "order"),
    [
        ((51, 255, 3072), "bf16->s8", False, (1, 0, 2)),
        ((51, 255, 3072), "bf16->s8", True, (0, 1, 2)),
        ((51, 255, 3037), "bf16->s8", False, (1, 0, 2)),
        ((256, 2048, 64), "u8->s8", False, (1, 2, 0)),  # rows are a line on either side
    ],
)
def test_rows_that_are_converted_are_read_in_their_order(
    dims: tuple[int, ...], types: str, is_far: bool, order: tuple[int, ...]
) -> None:
    """Where they lie pages apart; where their lines go past the caches straight, macro tiles are along the source."""
    type, to_type = types.split("->")
    source, destination = desc("abc", dims, type), desc("bac", dims, to_type)
    (copy,) = choose_plan(source, destination, replace(machine("avx512"), llc=0, llc_is_far=is_far)).copies
    assert copy.store == ("staged" if dims[2] % 64 else "nontemporal")
    assert copy.outer_order == order


@pytest.mark.parametrize(("axis", "bytes", "merges"), [(3, True, True), (3, False, False), (24, True, False)])
def test_rows_of_few_elements_are_merged_while_they_are_narrow(axis: int, bytes: bool, merges: bool) -> None:
    """Where shuffles take single bytes."""
    target, dims = replace(machine("avx512"), shuffles="any" if bytes else "words"), (axis, 113, 186, 224)
    plan = choose_plan(desc("Adbc48a", dims, "u8"), desc("bcda", dims, "f16"), target)
    (copy,) = plan.copies
    assert (copy.load == "staged") == (axis == 24)
    assert (copy.merges and copy.widths.converted_at == "dst") == merges
    assert parse_plan(plan_lines(plan)) == plan


@pytest.mark.parametrize(
    ("source", "destination", "dims", "types", "is_box"),
    [
        ("cdaeb", "ceabd", (14, 12, 14, 4, 8), ("f32", "u32"), True),
        ("Ba32b4b", "aB16b", (8, 4096), ("bf16", "f16"), False),
        ("dbcea", "edbac", (14, 56, 8, 32, 8), ("f32", "f8_e5m2"), True),
        ("dbcea", "edbac", (14, 112, 8, 256, 8), ("f32", "f8_e5m2"), False),
    ],
    ids=["rows of 12", "rows that stay as they are", "in the caches", "narrower past them"],
)
def test_elements_are_converted_in_boxes_that_take_less(
    source: str, destination: str, dims: tuple[int, ...], types: tuple[str, str], is_box: bool
) -> None:
    """Rows of 12 by eights that overlap were more vectors, and stores, than as they are in 16 lanes."""
    target = replace(machine("avx512"), shuffles="single")
    plan = choose_plan(desc(source, dims, types[0]), desc(destination, dims, types[1]), target)
    assert any(copy.merges for copy in plan.copies) == is_box
    assert parse_plan(plan_lines(plan)) == plan


@pytest.mark.parametrize(("source", "fills"), [("ab", 1), ("ba", 0)], ids=["rows", "columns"])
def test_zeros_beside_rows_that_fill_registers_are_apart(source: str, fills: int) -> None:
    """A box of 49 rows and 15 of zeros had 16 elements of each; rows that are transposed have no better tiles."""
    dims, target = (49, 12345), replace(machine("avx512"), shuffles="single")
    destination = desc("(a, b) -> (a floordiv 64, a mod 64, b)", dims, "s8")
    plan = choose_plan(desc(source, dims, "s32"), destination, target)
    assert sum(copy.copy.is_fill for copy in plan.copies) == fills
    assert parse_plan(plan_lines(plan)) == plan


@pytest.mark.parametrize("stores", ["normal", "aligned", "staged"])
def test_rows_are_converted_on_their_way_into_a_buffer(stores: str) -> None:
    """By vectors along each row, also where their lanes have parameters of their own; tiles then move bytes."""
    number = CASES.index(BY_INDEX[-1])
    source, destination, conversion = *sides(number), BY_INDEX[-1][2]
    head, line = plan_lines(choose_plan(source, destination, machine("avx512"), 1, conversion))
    assert "elements of 4 to 1, " in line and line.endswith("normal stores, staged loads")
    edited = head, line.replace("normal stores", f"{stores} stores").replace("macro 50x37", "macro 40x37")
    kernel = Kernel(source, destination, "interpret", target="avx512", conversion=conversion, plan=edited)
    written = np.full(destination.size_bytes, POISON, np.uint8)
    kernel(read(number), written)
    np.testing.assert_array_equal(written, expected(number))


@pytest.mark.parametrize("when", ["loaded", "stored"])
def test_elements_are_converted_on_either_side(when: str) -> None:
    number = CASES.index(BY_INDEX[4])
    source, destination, conversion = *sides(number), BY_INDEX[4][2]
    lines = plan_lines(choose_plan(source, destination, machine("avx2"), 1, conversion))
    edited = tuple(re.sub("4 to 4( when [a-z]*)?", f"4 to 4 when {when}", line) for line in lines)
    kernel = Kernel(source, destination, "interpret", target="avx2", conversion=conversion, plan=edited)
    written = np.full(destination.size_bytes, POISON, np.uint8)
    kernel(read(number), written)
    np.testing.assert_array_equal(written, expected(number))


@pytest.mark.parametrize("compiler", ["gcc", "clang"])
@pytest.mark.parametrize("instruction", ["vcvtneps2bf16", "vcvtne2ps2bf16"])
@pytest.mark.parametrize("conversion", [NO_ATTRIBUTES, Conversion(src_scale=Param(2.0))], ids=["direct", "scaled"])
def test_bf16_is_rounded_by_definition_where_there_is_an_instruction(
    compiler: str, instruction: str, conversion: Conversion, tmp_path: Path
) -> None:
    """Which makes zero of subnormals; beside other numbers, and in vectors of none. A register, or two at once."""
    path = compiler_named(compiler)
    if path is None:
        pytest.skip(f"no {compiler}")
    low = np.array([0, 1, 0x7FFF, 0x8000, 0x8001, 0xFFFF, 0x1234, 0xC000], np.uint32)
    values = (np.arange(1 << 16, dtype=np.uint32)[:, None] << 16 | low).reshape(-1)
    values = np.concatenate((values, np.random.default_rng(3).permutation(values)))
    dims, strides = (values.size // 16, 16), {"vcvtneps2bf16": (32, 1), "vcvtne2ps2bf16": (16, 1)}[instruction]
    source = MemoryDesc(dims, element_type("f32"), layout("ab"))
    destination = MemoryDesc(dims, element_type("bf16"), layout("ab"), strides=strides)
    want, got = (np.zeros(destination.size_bytes // 2, np.uint16) for _ in range(2))
    reference.reorder(source, destination, values.view(np.uint8), want.view(np.uint8), conversion)
    text = Kernel(source, destination, "c", target="avx512", conversion=conversion).c_source
    assert instruction in text
    function = compiled(text, path, tmp_path, "-O1", "-march=native")("reorder", (ctypes.c_void_p,) * 2)
    function(values.ctypes.data, got.ctypes.data)
    np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize(
    ("tag", "type", "stores"),
    [("BA16a64b", "s4", "normal stores, prefetch 64"), ("ba", "bf16", "staged stores, side by side, prefetch 72")],
)
def test_short_runs_past_the_caches_ask_ahead(tag: str, type: str, stores: str) -> None:
    """Where elements are converted, and a tile stores parts of lines: those leave a buffer if no byte is shared."""
    plan = choose_plan(desc("ab", (4096, 4096), "f32"), desc(tag, (4096, 4096), type), machine("avx2"))
    (line,) = [line for line in plan_lines(plan) if line.startswith("copy")]
    assert f", {stores}" in line


@pytest.mark.parametrize(
    ("source", "destination", "dims", "types", "parts"),
    [
        ("ab", "ab", (64, 256), "f32->s8", True),
        ("nchw", "nchw", (8, 3, 16, 64), "f32->s4", True),
        ("ab", "ab", (63, 255), "f32->s8", False),
        ("abc", "bac", (8, 8, 1024), "f32->s8", False),
        ("ab", "ba", (256, 256), "f32->s8", False),
    ],
)
def test_past_the_caches_far_parts_are_read_side_by_side(
    source: str, destination: str, dims: tuple[int, ...], types: str, parts: bool
) -> None:
    """
    Where both sides have one order, and a quarter begins with a line, if the last cache is far; the plan is one of its
    reorder still.
    """
    type, to_type = types.split("->")
    sides = desc(source, dims, type), desc(destination, dims, to_type)
    near = replace(machine("avx512"), l2=0, llc=0)
    assert choose_plan(*sides, near).copies[0].copy.digits[0].extent != FAR_PARTS
    plan = choose_plan(*sides, replace(near, llc_is_far=True))
    assert (plan.copies[0].copy.digits[0].extent == FAR_PARTS == plan.copies[0].macro[0]) == parts
    lines = plan_lines(plan)
    assert read_converting_plan(lines, *sides) == plan
    values = np.resize(interesting_codes(sides[0].element_type), sides[0].size_bytes // 4).view(np.uint8)
    got, want = np.zeros(sides[1].size_bytes, np.uint8), np.zeros(sides[1].size_bytes, np.uint8)
    Kernel(*sides, "interpret", target="avx512", plan=tuple(lines))(values, got)
    reference.reorder(*sides, values, want)
    np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize(
    ("source", "destination", "dims", "types"),
    [
        ("ab", "ba", (97, 141), "s32->f32"),
        ("ab", "ba", (97, 333), "f64->f32"),
        ("aB16b", "ab", (17, 517), "f32->s32"),
        ("ba", "ba", (37, 77), "s8->s32"),
        ("ab", "ba", (97, 141), "s32->bf16"),
        ("ab", "ba", (97, 142), "u4->f32"),
    ],
)
@pytest.mark.parametrize("target", TARGETS)
def test_past_the_caches_tiles_that_convert_leave_a_buffer_by_whole_lines(
    source: str, destination: str, dims: tuple[int, ...], types: str, target: str
) -> None:
    """Where they store parts of lines; the plan is one of its reorder still."""
    type, to_type = types.split("->")
    sides = desc(source, dims, type), desc(destination, dims, to_type)
    plan = choose_plan(*sides, replace(machine(target), llc=0))
    assert plan.copies[0].store == "staged"
    lines = plan_lines(plan)
    assert read_converting_plan(lines, *sides) == plan
    codes = np.resize(interesting_codes(sides[0].element_type), sides[0].span)
    values = in_memory(codes, sides[0].element_type)
    got, want = (np.full(sides[1].size_bytes, POISON, np.uint8) for _ in range(2))
    Kernel(*sides, "interpret", target=target, plan=tuple(lines))(values, got)
    reference.reorder(*sides, values, want)
    np.testing.assert_array_equal(got, want)


def test_what_threads_leave_over_is_cut_where_lanes_hold_no_zeros() -> None:
    """Two threads share macro tiles; the steps behind them are too few for lanes with the zeros of a padded block."""
    sides = ("bcad", "f32"), ("Badc6b", "u2")
    source, destination = (desc(name, (88, 112, 128, 1), element) for name, element in sides)
    conversion = Conversion(dst_scale=Param(axes=(2,)), dst_zero_point=Param(3))
    plan = choose_plan(source, destination, machine("neon"), 2, conversion)
    assert read_converting_plan(plan_lines(plan), source, destination, conversion) == plan
    assert any(not digit.is_whole for copy in plan.copies for digit in copy.copy.digits)


@pytest.mark.parametrize(("is_far", "ahead"), [(False, 17 * 3136 + 15), (True, 128)])
def test_rows_that_are_converted_into_a_buffer_ask_along_the_loop_of_most_turns(is_far: bool, ahead: int) -> None:
    """The last of 17 channels has a block of its own, whose pixels are 25 macro tiles: of images there are 128."""
    source, destination = desc("nchw", (128, 17, 56, 56), "f32"), desc("nChw16c", (128, 17, 56, 56), "bf16")
    copies = choose_plan(source, destination, replace(machine("avx512"), llc_is_far=is_far)).copies
    (tail,) = (copy for copy in copies if copy.load == "staged")
    assert tail.prefetch == ahead


@pytest.mark.parametrize("target", ["sse2", "neon", "avx2"])
def test_rows_are_not_made_shorter_where_a_digit_is_loaded_in_part(target: str) -> None:
    """One macro tile has all of such a digit: of 16 channels in blocks of 4, of which the last has one."""
    source, destination = desc("bCa4c", (10977, 49, 17), "f16"), desc("cAb16a", (10977, 49, 17), "s32")
    plan = choose_plan(source, destination, machine(target))
    assert parse_plan(plan_lines(plan)) == plan


def test_elements_that_lie_together_are_stored_at_once_and_taken_out_of_bytes_at_once() -> None:
    """13 elements of a row of the destination, each in a line of the source, at one place of their bytes."""
    module = reorder_module(*descriptors.sides("aBCd4c16b4c->abcd", (4, 48, 13, 13), "s4->f16"))
    lower(module, target="avx512")
    ops = [op for op in module.walk() if op.name in ("vector.store", "memref.store", "arith.index_cast")]
    by_elements = ops[next(number for number, op in enumerate(ops) if op.name == "arith.index_cast") :]
    assert [op.name for op in by_elements] == ["arith.index_cast", "vector.store", "vector.store", "memref.store"]
    lengths = [op.operands[0].type.get_shape() for op in by_elements[1:3]]  # pyright: ignore
    assert lengths == [(8,), (4,)]


@pytest.mark.parametrize(("to_type", "beside"), [("f32", "ones"), ("e8m0", "zeros")])
def test_lanes_beside_what_is_loaded_of_e8m0_are_no_subnormals_where_they_are_converted(
    to_type: str, beside: str
) -> None:
    """Its zero bits are 2^-127; 5059 us became 633. What is moved as it is has zeros, which may become padding."""
    source, destination = desc("BacD8b8d", (5, 16, 3, 14), "e8m0"), desc("cbad", (5, 16, 3, 14), to_type)
    scale = Conversion(src_scale=Param(axes=1)) if to_type == "f32" else Conversion()
    text = Kernel(source, destination, "reference", target="avx512", conversion=scale).ir()
    (constant,) = {line.split()[5] for line in text.splitlines() if "vector.maskedload" in line and "f8E8M0FNU" in line}
    made = next(line for line in text.splitlines() if line.split()[:1] == [constant])
    assert f"vector.bitcast %{beside}" in made
