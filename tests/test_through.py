"""Blocks that do not divide each other go through a buffer, where they would be many copies."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import layoutc
from layoutc import reference
from layoutc.conversion import Conversion
from layoutc.descriptor import MemoryDesc
from layoutc.errors import LayoutcError, PlanError
from layoutc.kernel import Kernel
from layoutc.kernel_options import Executor
from layoutc.param import Param
from layoutc.planning.alternatives import choose_plans
from layoutc.planning.choose import choose_plan
from layoutc.planning.copies.copy_digits import SIDES
from layoutc.planning.copies.strided_copy import count_segments
from layoutc.planning.explain import explain_plan
from layoutc.planning.machine import LINE, TARGETS
from layoutc.planning.plan_text import parse_plan, plan_lines
from layoutc.planning.plans.plan import Plan
from layoutc.planning.plans.turns import SharedLoop, Through
from layoutc.planning.through.through import through_buffers
from layoutc.planning.through.turn_lines import MOST_TRIED, lines_of, tried
from layoutc.transforms.plan_reorders import read_plan, read_plan_of
from tests.conversions import interesting_codes
from tests.random_conversions import arguments_of
from tests.test_planning import buffers, run_plan

PERIODS = "(a, b, c) -> ((a floordiv 160) mod 4, a floordiv 640, a mod 5, (a floordiv 5) mod 32, b, c)"
PADDED = "(a, b) -> (a floordiv 480, (a floordiv 48) mod 10, b, a mod 48)"
BUFFERED = {
    "rows": ("Ab32a", "Ab5a", (333, 3)),
    "a tail, which another axis has too": ("AB48a16b", "Ab7a", (700, 19)),
    "two axes": ("AB36a5b", "BA5a36b", (185, 190)),
    "blocks of periods": ("bAc32a", PERIODS, (850, 2, 3)),
    "blocks of blocks, and padding behind the last period": ("Ab7a", PADDED, (1030, 3)),
    "an axis that is less than a period": ("Acb48a", "bAc7a", (199, 2, 5)),
    "a short axis with a tail": ("AbC7a16c", "bAC5a20c", (271, 2, 37)),
    "one turn of one byte": ("Ab24a", "Ab7a", (297, 7)),
}
"""with more segments than so few elements are worth, some of them"""


def sides(name: str, element_type: str = "f32") -> tuple[MemoryDesc, MemoryDesc]:
    source, destination, dims = BUFFERED[name]
    return layoutc.desc(source, dims, element_type), layoutc.desc(destination, dims, element_type)


def is_through(plan: Plan) -> bool:
    return any(isinstance(part, Through) for part in plan.parts)


def test_copies_into_a_buffer_ask_for_what_the_next_turn_takes_unless_the_caches_hold_it() -> None:
    """A turn has 5 channels of 8 a, of which the next turn's lie behind these, 160 bytes on."""
    large, small = (
        choose_plan(layoutc.desc("Abc8a", dims), layoutc.desc("BAC12a12b5c", dims), TARGETS["avx512"]).parts
        for dims in [(256, 210, 96), (64, 30, 96)]
    )
    part = next(part for part in large if isinstance(part, Through))
    assert (part.loops[1].src, part.into[0].prefetch, part.into[0].widths.src) == (160, 20, 8)
    assert [copy.prefetch for part in small if isinstance(part, Through) for copy in part.into] == [0, 0]
    pair = layoutc.desc("CDab3c24c32d", (96, 36, 255, 56), "s8"), layoutc.desc("aCdB32c3c8b", (96, 36, 255, 56), "s8")
    (part,) = (part for part in choose_plan(*pair, TARGETS["avx512"]).parts if isinstance(part, Through))
    assert part.buffer_bytes > TARGETS["avx512"].l2 // 4
    assert all(copy.prefetch < part.loops[0].src for copy in part.into)


@pytest.mark.parametrize(("element_type", "target"), [("s8", "avx512"), ("f32", "avx512"), ("f32", "sse2")])
@pytest.mark.parametrize("name", BUFFERED)
def test_plans_through_a_buffer_are_the_reorder_and_can_be_read(name: str, element_type: str, target: str) -> None:
    source, destination = sides(name, element_type)
    plan = choose_plan(source, destination, TARGETS[target])
    assert is_through(plan)
    assert len(plan.copies) < count_segments(source, destination)
    assert read_plan(plan_lines(plan), source, destination) == plan
    read, written, expected = buffers(source, destination)
    run_plan(plan, read, written)
    np.testing.assert_array_equal(written, expected)


@pytest.mark.parametrize("executor", ["interpret", "c"])
@pytest.mark.parametrize("name", ["a tail, which another axis has too", "two axes"])
def test_kernels_through_a_buffer_are_the_reorder(name: str, executor: Executor) -> None:
    source, destination = sides(name, "bf16")
    read, written, expected = buffers(source, destination)
    layoutc.compile(source, destination, executor=executor)(read, written)
    np.testing.assert_array_equal(written, expected)


CONVERTED = {
    "narrowed on the way in": ("f32", "s8", Conversion(dst_scale=0.0236)),
    "widened on the way out": ("s8", "f32", Conversion(src_scale=0.5, src_zero_point=3)),
    "of one width": ("bf16", "f16", Conversion()),
    "from truth": ("boolean", "f64", Conversion()),
    "by scales of an axis": ("f32", "s8", Conversion(dst_scale=Param(axes=0), dst_zero_point=Param(axes=(0, 1)))),
    "by scales of another": ("u8", "f32", Conversion(src_scale=Param(axes=1), src_zero_point=Param(axes=0))),
}


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("target", ["avx512", "sse2"])
@pytest.mark.parametrize("how", CONVERTED)
@pytest.mark.parametrize("name", BUFFERED)
def test_conversions_through_a_buffer_are_by_definition(name: str, how: str, target: str, threads: int) -> None:
    from_type, to_type, conversion = CONVERTED[how]
    read = layoutc.desc(BUFFERED[name][0], BUFFERED[name][2], from_type)
    written = layoutc.desc(BUFFERED[name][1], BUFFERED[name][2], to_type)
    plan = choose_plan(read, written, TARGETS[target], threads, conversion)
    assert is_through(plan)
    lines = plan_lines(plan)
    assert read_plan_of(lines, read, written, conversion) == plan
    source = np.resize(interesting_codes(read.element_type).view(np.uint8), read.size_bytes)
    made = np.full(written.size_bytes, 0xA5, np.uint8)
    arguments = arguments_of(conversion, read.dims)
    kernel = Kernel(read, written, conversion=conversion, threads=threads, plan=tuple(lines))
    kernel(source, made, **{name: bytes(values) for name, values in arguments.items()})
    expected = np.full(written.size_bytes, 0xA5, np.uint8)
    reference.reorder(read, written, source, expected, conversion, arguments)
    np.testing.assert_array_equal(made, expected)


def test_a_conversion_through_the_buffer_of_another_reorder_is_an_error_at_its_line() -> None:
    source, destination = layoutc.desc("Ab32a", (960, 40), "f32"), layoutc.desc("Ab5a", (960, 40), "s8")
    lines = plan_lines(choose_plan(source, destination, TARGETS["avx2"]))
    assert "elements of 4 to 1, " in lines[2] and "elements of 1, " in lines[3]
    for wrong, message in (
        (lines[:3], "line 4: got no more copies, expected 'copy 0 -> 0: "),
        (
            [*lines[:2], lines[2].replace("(32, ", "(64, "), lines[3]],
            "line 3: got 'copy .*', expected 'copy .*, elements of 4 to 1'",
        ),
        ([lines[0], lines[1].replace("6x", "7x"), *lines[2:]], "line 2: got '7x.*', expected '6x"),
        (lines[:1], "line 2: got no more turns, expected '6x"),
        ([*lines, *lines[1:]], "line 5: got '6x.*', expected no more turns"),
    ):
        with pytest.raises(PlanError, match=message):
            read_plan_of(wrong, source, destination, Conversion())


@pytest.mark.parametrize(
    "conversion",
    [Conversion(sum=1.0), Conversion(src_scale=Param(axes=0, groups=160))],
    ids=["a sum", "groups of an axis"],
)
def test_conversions_that_go_straight(conversion: Conversion) -> None:
    source, destination = layoutc.desc("Ab32a", (960, 40), "s8"), layoutc.desc("Ab5a", (960, 40), "f32")
    assert not is_through(choose_plan(source, destination, conversion=conversion))


def test_turns_that_share_lines_of_the_source_follow_each_other() -> None:
    """A step has 8 bytes of each line, a turn a whole one; the next one is turned to before other rows."""
    destination = "(a, b, c, d) -> (d mod 3, d floordiv 3, a mod 32, b, a floordiv 32, c)"
    dims = (816, 144, 16, 96)
    plan = choose_plan(layoutc.desc("cAbD16a8d", dims, "s8"), layoutc.desc(destination, dims, "s8"), TARGETS["avx512"])
    for part in plan.parts:
        assert isinstance(part, Through)
        *_, within = (loop for loop in part.loops if loop.step < loop.extent)
        assert (within.extent, within.step, within.src) == (16, 8, 8)


def test_turns_have_all_steps_that_fill_a_line_of_the_destination() -> None:
    """Of a line a step has 16 bytes, and the next one 16 of the others: a turn has both, and part of a third axis."""
    dims = (49, 96, 49, 42)
    source, destination = layoutc.desc("CbAd3c6a", dims, "bf16"), layoutc.desc("CaBD8c2b8d", dims, "bf16")
    plan = choose_plan(source, destination, TARGETS["avx512"])
    for part in plan.parts:
        assert isinstance(part, Through)
        assert [loop.step for loop in part.loops if loop.dst < LINE] == [2]
    assert read_plan(plan_lines(plan), source, destination) == plan


def test_turns_have_all_of_an_axis_whose_rest_shares_lines_with_its_periods() -> None:
    """Rows of the destination have 65 elements of 13 periods, and 5 of what is left of a last one."""
    destination = "affine:(a, b, c) -> (a, b, c mod 8, c floordiv 8)"
    source = "affine:(a, b, c) -> (b, c floordiv 5, a floordiv 8, a mod 8, c mod 5)"
    sides = [layoutc.desc(layout, (64, 16, 557), "f32") for layout in (source, destination)]
    plan = choose_plan(sides[0], sides[1], TARGETS["avx512"])
    (turns,) = plan.parts
    assert isinstance(turns, Through)
    assert [loop.extent for loop in turns.loops] == [16, 64]


def test_turns_have_a_part_of_a_short_axis_where_all_of_it_is_too_large() -> None:
    """A period of 1536 times 197 is more than a turn has."""
    source, destination = (layoutc.desc(layout, (197, 1700), "bf16") for layout in ("Ba64b8b", "AB32a3b4a"))
    plan = choose_plan(source, destination, TARGETS["avx512"])
    assert is_through(plan)
    assert any(loop.step < loop.extent for part in plan.parts if isinstance(part, Through) for loop in part.loops)
    read, written, expected = buffers(source, destination)
    layoutc.compile(source, destination)(read, written)
    np.testing.assert_array_equal(written, expected)


@pytest.mark.parametrize("types", [("f32", "s8"), ("s8", "f32"), ("f32", "f32")])
def test_conversions_have_parts_of_short_axes_where_all_of_them_have_no_room(types: tuple[str, str]) -> None:
    """As moves have, of blocks that cut a period of each axis: 546 copies would go straight."""
    source, destination = (
        layoutc.desc("ABC3a5b7c", (100,) * 3, types[0]),
        layoutc.desc("CBA2a3b5c", (100,) * 3, types[1]),
    )
    assert count_segments(source, destination) > 500
    plan = choose_plan(source, destination, TARGETS["avx512"])
    assert is_through(plan)
    lines = tuple(plan_lines(plan))
    assert read_plan_of(lines, source, destination, Conversion()) == plan
    read, written, expected = buffers(source, destination)
    Kernel(source, destination, plan=lines)(read, written)
    np.testing.assert_array_equal(written, expected)


@pytest.mark.parametrize("executor", ["interpret", "c"])
def test_turns_have_a_part_of_an_axis_that_ends_in_a_block(executor: Executor) -> None:
    """A period of 6144 times the 103 of 128 that are loaded is more than a turn has."""
    source, destination = (layoutc.desc(layout, (6200, 103), "bf16") for layout in ("Ab2048a", "BA128b6a"))
    plan = choose_plan(source, destination, TARGETS["avx512"])
    assert is_through(plan)
    turns = [part for part in plan.parts if isinstance(part, Through)]
    loaded = [[digit.loaded for copy in turn.out_of for digit in copy.copy.digits] for turn in turns]
    assert any(39 in each for each in loaded), "behind 64 of 103, a turn has the rest"
    assert read_plan(plan_lines(plan), source, destination) == plan
    read, written, expected = buffers(source, destination)
    layoutc.compile(source, destination, executor=executor)(read, written)
    np.testing.assert_array_equal(written, expected)


@pytest.mark.parametrize(
    ("places", "lines"),
    [
        ("1x1", 1),
        ("64x1", 1),
        ("16x1 4x16", 1),
        ("16x1 4x128", 4),
        ("64x1 4x96", 4 * 1.5),
        ("8x1 16x4096", 16),
        ("8x1 3x24 5x4096", 5),
    ],
)
def test_lines_that_elements_have_a_part_of(places: str, lines: float) -> None:
    """Runs a multiple of a line apart begin at one; others straddle lines."""
    steps = [tuple(map(int, place.split("x"))) for place in places.split()]
    assert lines_of(tuple((extent, stride) for extent, stride in steps), 1) == lines * LINE


@pytest.mark.parametrize("extents", [(16,) * 8, (2,) * 24])
def test_of_many_loops_few_turns_are_tried(extents: tuple[int, ...]) -> None:
    """All of ten axes took 16 seconds; where even 1 and 2 steps of each are too many, the first ones are tried."""
    loops = [SharedLoop(extent, 1, LINE, LINE) for extent in extents]
    steps = tried(loops, 1)
    assert 1 < len(steps) <= MOST_TRIED
    assert any(step == extent for each in steps for step, extent in zip(each, extents, strict=True))


def test_each_thread_has_a_buffer_of_its_own() -> None:
    source, destination = (layoutc.desc(tag, (2000, 90), "f32") for tag in ("Ab32a", "Ab5a"))
    read, written, expected = buffers(source, destination)
    kernel = layoutc.Kernel(source, destination, threads=2)
    parallel, _, inside = kernel.ir("lower-reorders").partition("scf.parallel")
    assert "%apart = memref.alloca" in inside and "%apart" not in parallel
    layoutc.compile(source, destination, threads=2)(read, written)
    np.testing.assert_array_equal(written, expected)


def test_one_axis_of_many_segments_has_little_text() -> None:
    """Straight it would be a copy for each of 36 segments."""
    source, destination = (layoutc.desc(tag, (20000, 400), "f32") for tag in ("Ab32a", "Ab5a"))
    assert count_segments(source, destination) == 36
    plan = choose_plan(source, destination, TARGETS["avx512"])
    (turns,) = plan.parts
    assert isinstance(turns, Through) and len(plan.copies) == 2
    assert turns.buffer_bytes <= 1 << 17


def test_what_leaves_the_buffer_asks_for_nothing_ahead() -> None:
    """The buffer is in the caches; what goes into it comes from memory."""
    source, destination = (layoutc.desc(tag, (53533, 4, 32), "f32") for tag in ("Abc32a", "Acb5a"))
    plan = choose_plan(source, destination, TARGETS["avx512"])
    assert is_through(plan)
    turns = [part for part in plan.parts if isinstance(part, Through)]
    assert not any(copy.prefetch for part in turns for copy in part.out_of)
    assert "prefetch(apart" not in Kernel(source, destination, target="avx512").c_source


def test_few_segments_go_straight() -> None:
    source, destination = (layoutc.desc(tag, (9600, 40), "f32") for tag in ("Ab48a", "Ab32a"))
    assert not is_through(choose_plan(source, destination))


@pytest.mark.parametrize("name", ["blocks that nest", "a border", "a period that is larger than a buffer may be"])
def test_what_has_no_buffer(name: str) -> None:
    src, dst, dims, low = {
        "blocks that nest": ("Ab8a", "Ab4a", (640, 8), (0, 0)),
        "a border": ("Ab12a", "Ab5a", (640, 8), (1, 0)),
        "a period that is larger than a buffer may be": ("ABc130a9b", "ABc131a8b", (34060, 18, 2), (0, 0, 0)),
    }[name]
    source, destination = layoutc.desc(src, dims, "f64", low=low), layoutc.desc(dst, dims, "f64")
    assert [through_buffers(source, destination, side) for side in SIDES] == [None, None]


def test_a_plan_through_a_buffer_of_another_reorder_is_an_error_at_its_line() -> None:
    source, destination = (layoutc.desc(tag, (960, 40), "f32") for tag in ("Ab32a", "Ab5a"))
    lines = plan_lines(choose_plan(source, destination, TARGETS["avx2"]))
    assert [line.split(",")[0] for line in lines[2:]] == ["  into it", "  out of it"]
    for wrong, message in (
        ([*lines[:2], lines[3]], "line 3: got 'copy .*', expected 'copy .*|line 3: got no more copies"),
        (lines[:2], "line 2: no copy runs in these loops"),
        (lines[:3], "line 4: got no more copies, expected 'copy 0 -> 0: "),
        ([*lines, lines[3]], "line 5: got 'copy 0 -> 0: .*', expected no more copies"),
        ([*lines, lines[2]], "line 5, column 3: expected 'out of it, '"),
        ([lines[0], lines[1].replace("6x", "5x"), *lines[2:]], "line 2: got '5x.*', expected '6x"),
        ([*lines, *lines[1:]], "line 5: got '6x.*', expected no more turns"),
    ):
        with pytest.raises(PlanError, match=message):
            read_plan(wrong, source, destination)
    with pytest.raises(LayoutcError, match="have no buffer between them"):
        read_plan(lines, layoutc.desc("Ab10a", (960, 40), "f32"), destination)
    with pytest.raises(PlanError, match="line 2: copies into a buffer have normal stores, got nontemporal"):
        parse_plan([*lines[:2], lines[2].replace("normal stores", "nontemporal stores"), lines[3]])
    with pytest.raises(PlanError, match=r"line 2: copies go through a buffer of .* bytes, expected at most 1048576"):
        parse_plan([*lines[:2], lines[2].replace("-> 0", "-> 1000000"), lines[3]])


def test_what_leaves_the_buffer_can_be_tuned() -> None:
    source, destination = (layoutc.desc(tag, (960, 400), "f32") for tag in ("Ab32a", "Ab5a"))
    plans = list(choose_plans(source, destination, TARGETS["avx512"]))
    assert len(plans) > 1
    for plan in plans:
        assert read_plan(plan_lines(plan), source, destination) == plan


def test_an_explanation_says_that_blocks_go_through_a_buffer() -> None:
    source, destination = (layoutc.desc(tag, (960, 40), "f32") for tag in ("Ab32a", "Ab5a"))
    text = "\n".join(explain_plan(source, destination, TARGETS["avx512"], 1))
    assert "blocks that do not divide each other: through a buffer, by 2 copies, as straight they would be 36" in text
    assert "out of a buffer of" in text


def test_turns_whose_runs_would_be_whole_lines_fit_the_stack() -> None:
    """One step has 272,000 bytes: 64 of them, for whole lines, would be a buffer of 17 MB."""
    source, destination = (
        layoutc.desc(layout, (3870, 164, 55), "u8")
        for layout in (
            "affine:(a, b, c) -> (b mod 16, c mod 4, b floordiv 16, a mod 24, a floordiv 24, c floordiv 4)",
            "affine:(a, b, c) -> (c, a mod 16, b, a floordiv 16)",
        )
    )
    plan = choose_plan(source, destination, replace(TARGETS["avx512"], shuffles="any"))
    assert any(isinstance(part, Through) for part in plan.parts)
    assert parse_plan(plan_lines(plan)) == plan
