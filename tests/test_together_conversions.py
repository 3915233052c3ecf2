"""Copies that convert and run together, as they share cache lines: when, their text, and the same bytes as apart."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import layoutc
from layoutc import reference
from layoutc.conversion import NO_ATTRIBUTES, Conversion
from layoutc.descriptor import MemoryDesc
from layoutc.errors import LayoutcError, PlanError
from layoutc.kernel import Kernel
from layoutc.kernel_options import Executor
from layoutc.param import Param
from layoutc.planning.choose import choose_plan
from layoutc.planning.copies.copy_digits import CopyDigit, StridedCopy
from layoutc.planning.copies.widths import Widths
from layoutc.planning.explain import explain_plan
from layoutc.planning.machine import TARGETS, Machine
from layoutc.planning.machine import machine as machine_of
from layoutc.planning.plan_text import parse_plan, plan_lines
from layoutc.planning.plans.plan import CopyPlan, Plan
from layoutc.planning.plans.turns import Together
from layoutc.planning.together.together import groups
from layoutc.planning.together.unions import unions
from layoutc.transforms.plan_reorders import read_converting_plan
from tests.descriptors import sides
from tests.random_conversions import arguments_of, random_codes

SERVER = replace(TARGETS["avx512"], shuffles="any")
TINY = replace(SERVER, llc=0, l2=1 << 12)
NATIVE = replace(machine_of("native"), llc=0, l2=1 << 12)
TINY_AVX2 = replace(TARGETS["avx2"], llc=0, l2=1 << 12)
Sides = tuple[MemoryDesc, MemoryDesc]

CASES = [
    ("nChw16c->nhwc", (2, 17, 12, 13), "f32->s8", Conversion(dst_scale=Param(axes=1))),
    ("nChw16c->nhwc", (2, 17, 12, 13), "f32->s8", Conversion(dst_scale=Param(axes=(0, 2, 3)), dst_zero_point=3)),
    (
        "nChw8c->nhwc",
        (2, 20, 12, 13),
        "s8->f32",
        Conversion(src_scale=Param(axes=(1, 3)), src_zero_point=Param(axes=0)),
    ),
    ("abc->aBc12b", (8, 31, 40), "f32->s8", Conversion(dst_scale=Param(axes=2))),
    ("acb->aCb5c", (8, 31, 99), "f32->u8", Conversion(dst_scale=0.1, dst_zero_point=3)),
    ("Ab8a->bA5a", (99, 300), "f32->f16", NO_ATTRIBUTES),
    ("nhwc->nChw16c", (2, 17, 12, 13), "f32->bf16", NO_ATTRIBUTES),
    ("nChw48c->nChw32c", (2, 100, 12, 13), "f32->s4", Conversion(dst_scale=Param(axes=3))),
    ("nChw16c->nhwc", (2, 98, 12, 13), "s4->f32", Conversion(src_scale=Param(axes=2))),
    ("aBCd8b4c->abcd", (2, 32, 13, 13), "bf16->f32", Conversion(src_scale=Param(axes=1))),
    ("aBCd4c16b4c->abcd", (2, 32, 13, 13), "s4->f16", NO_ATTRIBUTES),
    ("abcd->aBdc8b", (8, 30, 7, 7), "f32->bf16", NO_ATTRIBUTES),
    ("BcdA16a32b2a->aBdc48b", (32, 96, 2, 3), "f32->f16", NO_ATTRIBUTES),
]


def typed(codes: NDArray[np.uint8], param: Param, dims: tuple[int, ...]) -> NDArray[Any]:
    return codes.view(param.type.numpy).reshape(param.shape(dims))


def together(plan: Plan) -> list[Together]:
    return [part for part in plan.parts if isinstance(part, Together)]


@pytest.mark.parametrize(
    ("executor", "target", "machine"),
    [("c", "native", NATIVE), ("interpret", "avx512", TINY), ("interpret", "avx2", TINY_AVX2)],
    ids=["c", "avx512", "avx2"],
)
@pytest.mark.parametrize(("layouts", "dims", "types", "conversion"), CASES)
def test_copies_that_run_together_write_the_same_bytes(
    executor: Executor,
    target: str,
    machine: Machine,
    layouts: str,
    dims: tuple[int, ...],
    types: str,
    conversion: Conversion,
) -> None:
    source, destination = sides(layouts, dims, types)
    for threads in (1, 2):
        lines = tuple(plan_lines(choose_plan(source, destination, machine, threads, conversion)))
        kernel = Kernel(
            source, destination, executor, conversion=conversion, target=target, threads=threads, plan=lines
        )
        codes, arguments = random_codes(f"{layouts} {types}", source), arguments_of(conversion, dims)
        got, expected = (np.full(destination.size_bytes, 0x25, np.uint8) for _ in range(2))
        reference.reorder(source, destination, codes, expected, conversion, arguments)
        kernel(codes, got, **{name: typed(value, conversion.params[name], dims) for name, value in arguments.items()})
        np.testing.assert_array_equal(got, expected)


def test_most_cases_run_together() -> None:
    """With AVX-512 a box holds 17 channels and zeros: there is one copy."""
    for machine, missing in ((TINY, {"nhwc->nChw16c"}), (TINY_AVX2, set[str]())):
        apart = [
            layouts
            for layouts, dims, types, conversion in CASES
            if not together(choose_plan(*sides(layouts, dims, types), machine, 1, conversion, goes_through=False))
        ]
        assert set(apart) == missing


def test_steps_of_shared_loops_are_bytes_of_both_sides_and_parameters() -> None:
    """Of 16 channels and one more, f32 to s8, a row of pixels is 64 bytes and 17, and so many scales further on."""
    pair, conversion = sides("nChw16c->nhwc", (2, 17, 12, 13), "f32->s8"), Conversion(dst_scale=Param(axes=(0, 2, 3)))
    plan = choose_plan(*pair, TINY, 1, conversion)
    (part,) = together(plan)
    assert [(loop.extent, loop.src, loop.dst, loop.params) for loop in part.loops] == [
        (2, 64 * 2 * 156, 17 * 156, (156,)),
        (156, 64, 17, (1,)),
    ]
    lines = plan_lines(plan)
    assert lines[1] == "together: 2x(19968, 2652, 156) by 1, 156x(64, 17, 1) by 52, in bytes"
    assert parse_plan(lines) == plan == read_converting_plan(lines, *pair, conversion)
    for wrong in ("(64, 17, 2)", "(64, 17)", "(64, 18, 1)"):
        with pytest.raises(PlanError, match=r"a copy has no digit|expected 'copy"):
            read_converting_plan([line.replace("(64, 17, 1)", wrong) for line in lines], *pair, conversion)


def test_copies_are_those_of_the_reorder_in_any_order() -> None:
    case = sides("nChw16c->nhwc", (2, 17, 12, 13), "f32->s8")
    head, loops, *copies = plan_lines(choose_plan(*case, TINY))
    assert loops.startswith("together") and len(copies) == 2
    read_converting_plan([head, loops, *copies[::-1]], *case)
    with pytest.raises(PlanError, match="got no more copies, expected 'copy"):
        read_converting_plan([head, loops, copies[0]], *case)
    with pytest.raises(PlanError, match=r"got 'copy .*, expected no more copies"):
        read_converting_plan([head, loops, *copies, copies[0]], *case)


def test_the_explanation_names_the_shared_loops_of_each_copy() -> None:
    """What was planned for the copies apart is not told."""
    lines = explain_plan(*sides("nChw16c->nhwc", (2, 17, 12, 13), "f32->s8"), TINY, 1)
    assert sum(line.startswith("  shared loops: 2 turns of 1 by 3 turns of 52") for line in lines) == 2


def test_fills_share_loops_with_the_copies_beside_them() -> None:
    """Zeros beside 4 of 5 elements are one digit of all rows alone; in the loops they have those of the copy."""
    source, destination = sides("acb->aCb5c", (8, 31, 99), "f32->u8")
    (part,) = together(choose_plan(source, destination, TINY_AVX2))
    assert [copy.copy.is_fill for copy in part.copies] == [False, False, True]


def test_what_the_destination_holds_counts_once() -> None:
    """The last turn of a loop begins earlier, and would add to some elements twice."""
    pair = sides("nChw16c->nhwc", (2, 17, 12, 13), "f32->s8")
    assert not together(choose_plan(*pair, TINY, 1, Conversion(sum=0.5)))
    with pytest.raises(LayoutcError, match=r"copies that add to what .* have no shared loops|expected 'copy"):
        read_converting_plan(plan_lines(choose_plan(*pair, TINY)), *pair, Conversion(sum=0.5))


def test_threads_share_no_bytes() -> None:
    pair = sides("nChw16c->nhwc", (2, 98, 72, 91), "f32->s4")
    assert together(choose_plan(*pair, TINY_AVX2, 1))
    apart = choose_plan(*pair, TINY_AVX2, 2)
    assert apart.threads == 2 and not together(apart)
    _, *lines = plan_lines(choose_plan(*pair, TINY_AVX2, 1))
    text = Kernel(*pair, target="avx2", threads=2, plan=("threads 2", *lines)).c_source
    assert "together" in text and "thread" not in text


def test_they_leave_a_buffer_by_whole_lines_past_the_caches() -> None:
    """Rows of 13 of which one copy writes 12; in turns that cut no line of the source, of one run each, or of two."""
    for layouts, dims, types, rows in (
        ("aBCd4c16b4c->abcd", (128, 768, 13, 13), "s4->f16", 1),
        ("BcdA16a32b2a->aBdc48b", (1024, 528, 5, 5), "f32->f16", 2),
    ):
        pair = sides(layouts, dims, types)
        first, *_ = parts = together(choose_plan(*pair, SERVER))
        assert {part.store for part in parts} == {"staged"}
        assert all(loop.step == loop.extent for loop in first.loops if loop.src < 64)
        held = {union.plan.buffer_bytes("dst") // (union.plan.run * union.plan.widths.src) for union in unions(first)}
        assert held == {rows}
        in_caches = choose_plan(*pair, replace(SERVER, llc=1 << 40))
        assert {part.store for part in together(in_caches)} == {"normal"}


def test_turns_of_one_long_run_leave_no_buffer(monkeypatch: pytest.MonkeyPatch) -> None:
    pair = sides("aBCd4c16b4c->abcd", (128, 768, 13, 13), "s4->f16")
    monkeypatch.setattr("layoutc.planning.together.together_conversions.MOST_CONVERTED_TURN", 4 << 10)
    assert {part.store for part in together(choose_plan(*pair, SERVER))} == {"normal"}


def test_copies_that_share_few_lines_run_alone() -> None:
    """Of 1473 bytes of a row of the source the last 9 are a copy of their own."""
    assert not together(choose_plan(*sides("ba->Ab12a", (1473, 13625), "u8->bf16"), SERVER))


def test_copies_that_need_no_buffer_for_whole_lines_run_alone() -> None:
    """Turns end inside of lines of the destination: each copy would put them together in a buffer."""
    pair = sides("DcBA3b8a4d->dabc", (75, 192, 12, 74), "u8->f32")
    conversion = Conversion(src_scale=Param(axes=3), src_zero_point=3)
    plan = choose_plan(*pair, replace(SERVER, l2=2 << 20), 1, conversion, goes_through=False)
    assert [part.store for part in plan.parts if isinstance(part, CopyPlan)] == ["nontemporal"] * 2
    assert all(copy.store == "staged" for part in together(plan) for copy in part.copies)


def test_steps_of_less_than_a_byte_are_counted_as_one() -> None:
    """Two elements of 2 bits in each step of all loops."""
    digits = CopyDigit(58, 292, 32, 58), CopyDigit(73, 4, 1856, 73)
    copies = [(StridedCopy(at, at, digits), Widths(1, 1, 4, 4, converts=True)) for at in (0, 1)]
    ((loops, group),) = groups(copies, 512)
    assert group == copies
    assert {loop.extent for loop in loops} == {58, 73}


def test_what_shares_bytes_leaves_no_shared_buffer() -> None:
    """Its spans are of bytes, and turns of 96 would leave a buffer of 192."""
    how = "elements of 4 to 1/2, vectors of 64, any shuffles, tile 8, lanes 0:8 -> 0:8, macro {}, outer 0, inner 0, "
    copies = [f"  copy {at} -> {at}: {n}x(1, 1), {how.format(n)}normal stores" for at, n in ((0, 128), (128, 64))]
    loop = "together: 8x(1024, 96) by 1, in bytes"
    assert len(parse_plan(["threads 1", loop, *copies]).copies) == 2
    with pytest.raises(PlanError, match="line 2: what shares bytes is not staged"):
        parse_plan(["threads 1", f"{loop}, staged stores", *copies])


def test_elements_that_share_bytes_are_moved_one_by_one_in_turns() -> None:
    """Only what is converted has tiles of elements: a plan that had them for bytes was not read back."""
    dims = 10, 2, 121
    blocks = "affine:(a, b, c) -> (b floordiv 8, a, c, b mod 8)", "affine:(a, b, c) -> (a, b floordiv 16, c, b mod 16)"
    strides = (9700, 970, 8, 1), (1952, 1936, 16, 1)
    source, destination = (
        layoutc.desc(layout, dims, "f4_e2m1", strides=apart) for layout, apart in zip(blocks, strides, strict=True)
    )
    plan = choose_plan(source, destination, replace(TARGETS["sse2"], l2=1 << 12))
    assert any(isinstance(part, Together) for part in plan.parts)
    assert parse_plan(plan_lines(plan)) == plan
