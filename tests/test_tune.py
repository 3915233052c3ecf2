"""Tuning: other plans for a reorder, the file of those that won, and its use."""

from __future__ import annotations

import json
import os
import random
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import layoutc
import layoutc.tools.tune
import layoutc.tune
from layoutc import tuned
from layoutc.compensation import Compensation
from layoutc.compiler import find_compiler
from layoutc.conversion import NO_ATTRIBUTES, Conversion
from layoutc.descriptor import MemoryDesc
from layoutc.notations import desc
from layoutc.param import Param
from layoutc.planning.alternatives import choose_plans
from layoutc.planning.choose import choose_plan
from layoutc.planning.copies.strided_copy import NotStridedError
from layoutc.planning.machine import TARGETS
from layoutc.planning.neighbours import neighbours
from layoutc.planning.plan_checks import check_adds
from layoutc.planning.plan_text import parse_plan, plan_lines
from layoutc.planning.plans.turns import Through, Together
from layoutc.tools.layoutc import main
from layoutc.tools.layoutc_opt import main as opt
from layoutc.tools.tune import keep
from layoutc.transforms.plan_reorders import read_plan, read_plan_of
from tests.descriptors import PAIRS
from tests.kernel_batches import failures
from tests.random_kernels import runnable, toolchain
from tests.random_reorders import PlannedKernel
from tests.test_planning import buffers, run_plan

needs_compiler = pytest.mark.skipif(find_compiler() is None, reason="no C compiler is here")
PAIR = desc("ab", (65, 300), "f32"), desc("ba", (65, 300), "f32")
AVX2 = TARGETS["avx2"]


@pytest.mark.parametrize("llc", [0, 32 << 20])
@pytest.mark.parametrize("name", PAIRS)
def test_every_alternative_is_the_reorder(name: str, llc: int) -> None:
    machine = replace(TARGETS["avx512"], llc=llc)
    try:
        plans = list(choose_plans(*PAIRS[name], machine))
    except NotStridedError:
        return
    assert plans[0] == choose_plan(*PAIRS[name], machine)
    assert len(set(plans)) == len(plans)
    for plan in plans:
        assert parse_plan(plan_lines(plan)) == plan
    for plan in plans[1:4]:
        read, written, expected = buffers(*PAIRS[name])
        run_plan(plan, read, written)
        np.testing.assert_array_equal(written, expected)


def test_alternatives_have_other_stores_orders_and_macro_tiles() -> None:
    copies = [plan.copies[0] for plan in choose_plans(*PAIR, TARGETS["avx512"])]
    assert {copy.store for copy in copies} >= {"normal", "staged"}
    assert {copy.load for copy in copies} == {"normal", "staged"}
    assert len({copy.macro for copy in copies}) > 2
    assert len({copy.outer_order for copy in copies}) == 2


@pytest.mark.parametrize("name", PAIRS)
def test_every_neighbour_is_the_reorder(name: str) -> None:
    machine = replace(TARGETS["avx512"], llc=0)
    try:
        plan = choose_plan(*PAIRS[name], machine)
    except NotStridedError:
        return
    near = list(neighbours(plan))
    assert plan not in near
    for other in near:
        assert parse_plan(plan_lines(other)) == other
        assert read_plan(plan_lines(other), *PAIRS[name]) == other
    for other in random.Random(name).sample(near, min(len(near), 4)):
        read, written, expected = buffers(*PAIRS[name])
        run_plan(other, read, written)
        np.testing.assert_array_equal(written, expected)


@pytest.mark.parametrize(
    ("layouts", "dims", "name", "kind"),
    [
        ("aDbc5d cbaD24d", (1, 674, 128, 75), "f32", Together),  # what fills a buffer together has runs of lines
        ("Ab32a Ab5a", (4000, 400), "f64", Through),  # what goes into a buffer is not stored past the caches
    ],
)
def test_neighbours_fit_the_copies_that_they_run_with(
    layouts: str, dims: tuple[int, ...], name: str, kind: type[Together | Through]
) -> None:
    source, destination = (desc(layout, dims, name) for layout in layouts.split())
    plan = choose_plan(source, destination, TARGETS["avx512"])
    assert isinstance(plan.parts[0], kind)
    near = list(neighbours(plan))
    assert near and all(read_plan(plan_lines(other), source, destination) == other for other in near)


CONVERTING = {
    "narrowed": (desc("ab", (65, 77), "f32"), desc("ba", (65, 77), "s8"), Conversion()),
    "widened": (desc("nchw", (1, 35, 5, 7), "s8"), desc("nChw16c", (1, 35, 5, 7), "f32"), Conversion()),
    "a scale for each channel": (
        desc("nhwc", (1, 35, 5, 7), "f32"),
        desc("nchw", (1, 35, 5, 7), "s8"),
        Conversion(dst_scale=Param(axes=1), dst_zero_point=3),
    ),
    "groups of elements that share bytes": (
        desc("ab", (64, 96), "s4"),
        desc("ba", (64, 96), "f32"),
        Conversion(src_scale=Param(axes=(0, 1), groups=(1, 32)), src_zero_point=Param(axes=0, dtype="s4")),
    ),
    "images of bytes": (desc("nChw8c", (1, 14, 28, 28), "s4"), desc("nhwc", (1, 14, 28, 28), "u2"), Conversion()),
    "a sum": (desc("ab", (48, 96), "f32"), desc("ba", (48, 96), "s8"), Conversion(dst_scale=0.3, sum=0.5)),
    "a sum of rows": (desc("abc", (3, 48, 64), "bf16"), desc("bac", (3, 48, 64), "f32"), Conversion(sum=2)),
    "sums of weights": (
        desc("ab", (64, 64), "f32"),
        desc("BA16a64b4a", (64, 64), "s8"),
        Conversion(dst_scale=0.3, compensation=Compensation((0,))),
    ),
    "through a buffer": (desc("Ab32a", (480, 100), "f32"), desc("Ab5a", (480, 100), "bf16"), Conversion()),
}


@pytest.mark.skipif(shutil.which("gcc") is None, reason="no gcc")
@pytest.mark.parametrize("target", ["avx512", "sse2"])
def test_every_neighbour_of_a_plan_that_converts_is_the_reorder(target: str) -> None:
    draw, kernels = random.Random(target), list[PlannedKernel]()
    for number, (name, reorder) in enumerate(CONVERTING.items()):
        source, destination, conversion = reorder
        plan = draw.choice(list(choose_plans(source, destination, TARGETS[target], 1, conversion)))
        near = list(neighbours(plan, conversion))
        assert near and plan not in near, name
        for other in draw.sample(near, min(len(near), 12)):
            assert read_plan_of(plan_lines(other), *reorder) == other, name
            kernels.append(PlannedKernel(number, source, destination, target, other, conversion))
    if target in runnable((target,), "gcc"):
        assert failures(draw.sample(kernels, 30), toolchain(target)) == []


def test_neighbours_of_a_plan_that_converts_do_so_elsewhere() -> None:
    source, destination, conversion = CONVERTING["widened"]
    plan = choose_plan(source, destination, TARGETS["avx512"], 1, conversion)
    copy = max(plan.copies, key=lambda copy: copy.copy.elements)
    found = {(other.load, other.widths.converted_at) for near in neighbours(plan) for other in near.copies}
    assert found > {(copy.load, copy.widths.converted_at)}


def test_neighbours_of_a_sum_store_nothing_twice() -> None:
    """The first of these that would is one of those without a sum."""
    source, destination, _ = CONVERTING["a sum"]
    plan = choose_plan(source, destination, TARGETS["avx512"], 1, Conversion(sum=0.5))
    adding, others = set(neighbours(plan, Conversion(sum=0.5))), set(neighbours(plan))
    assert adding and adding < others
    for other in adding:
        check_adds(other)
    for other in others - adding:
        with pytest.raises(layoutc.LayoutcError):
            check_adds(other)


def test_neighbours_change_one_decision_each() -> None:
    fields = {"macro", "inner_order", "outer_order", "load", "store", "side_by_side", "fetches", "asks", "source_lanes"}
    found = set[str]()
    for dims in ((4097, 4096), (512, 1024)):
        plan = choose_plan(desc("ab", dims, "f32"), desc("ba", dims, "f32"), TARGETS["avx512"])
        for other in neighbours(plan):
            changed = {name for name in fields if getattr(other.copies[0], name) != getattr(plan.copies[0], name)}
            assert len(changed - {"macro", "side_by_side"}) <= 1
            found |= changed
    assert found == fields


def test_alternatives_of_a_transpose_through_the_caches_have_other_tiles() -> None:
    """One that goes past them has those of the planner's choice."""
    small, large = (
        [plan.copies[0] for plan in choose_plans(desc("ab", dims, "f32"), desc("ba", dims, "f32"), AVX2)]
        for dims in ((257, 257), (4097, 4096))
    )
    assert len({copy.tile for copy in small}) > 3
    assert {copy.store for copy in small if copy.tile != small[0].tile} == {"normal"}
    assert len({copy.tile for copy in large if copy.store == "nontemporal"}) <= 1


# --- files ---------------------------------------------------------------------------------------------------------


def other_plan() -> tuple[str, ...]:
    """Not the planner's first choice."""
    return tuple(plan_lines(next(islice(choose_plans(*PAIR, AVX2), 1, None))))


def written(
    path: Path,
    plan: Any,
    pair: tuple[MemoryDesc, MemoryDesc] = PAIR,
    target: str = "avx2",
    conversion: Conversion = NO_ATTRIBUTES,
) -> Path:
    entry = tuned.key_of(*pair, conversion, target, 1)._asdict()
    path.write_text(tuned.text([{**entry, "plan": ["no plan"]}, {**entry, "plan": plan}]))
    return path


def compiled(pair: tuple[MemoryDesc, MemoryDesc] = PAIR, **options: Any) -> layoutc.Kernel:
    given: dict[str, Any] = {"executor": "reference", "target": "avx2", **options}
    return layoutc.compile(*pair, **given)


def test_alternatives_through_the_caches_ask_for_their_lines() -> None:
    """The planner's own choice goes past a last cache of 4 MiB, and asks for none."""
    source, destination = (layoutc.desc(tag, (2000, 2040), "f32") for tag in ("ab", "ba"))
    chosen, *others = choose_plans(source, destination, replace(TARGETS["avx512"], llc=4 << 20))
    assert not any(copy.fetches for copy in chosen.copies)
    assert any(copy.fetches for plan in others for copy in plan.copies)


def test_a_tuned_plan_comes_before_the_planners(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plan, file = other_plan(), written(tmp_path / "tuned.json", other_plan())
    kernel = compiled(tuned=file)
    assert kernel.plan == plan
    assert all(line in kernel.ir("plan-reorders") for line in plan)
    assert plan[1] in kernel.explain()
    assert compiled().plan == ()
    monkeypatch.setenv("LAYOUTC_TUNED", str(file))
    assert compiled().plan == plan
    others: list[dict[str, Any]] = [{"threads": 2}, {"target": "sse2"}, {"target": "plain"}, {"pair": PAIR[::-1]}]
    assert {compiled(**options).plan for options in others} == {()}


def test_an_entry_without_a_conversion_is_one_of_a_move(tmp_path: Path) -> None:
    """As files had them before."""
    file = written(tmp_path / "tuned.json", other_plan())
    data = json.loads(file.read_text())
    for entry in data["plans"]:
        del entry["conversion"]
    file.write_text(json.dumps(data))
    assert compiled(tuned=file).plan == other_plan()


SCALED = Conversion(dst_scale=Param(axes=1), dst_zero_point=3)
TO_S8 = PAIR[0], desc("ba", (65, 300), "s8")


def test_a_tuned_plan_is_one_of_its_conversion(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """With arguments and constants as it has them; so it is for the pass."""
    plan = tuple(plan_lines(next(neighbours(choose_plan(*TO_S8, AVX2, 1, SCALED), SCALED))))
    file = written(tmp_path / "tuned.json", plan, TO_S8, conversion=SCALED)
    assert json.loads(file.read_text())["plans"][0]["conversion"] == (
        "#layout.conversion<dst_scale = ? axes [1], dst_zero_point = 3>"
    )
    assert compiled(TO_S8, tuned=file, **SCALED.attributes).plan == plan
    others = ({}, {"dst_scale": Param(axes=1)}, {"dst_scale": 0.5, "dst_zero_point": 3})
    others += ({"dst_scale": Param([0.5] * 300, axes=1), "dst_zero_point": 3},)
    assert {compiled(TO_S8, tuned=file, **attributes).plan for attributes in others} == {()}
    source = tmp_path / "in.mlir"
    for conversion, expected in ((SCALED, True), (NO_ATTRIBUTES, False)):
        source.write_text(layoutc.Kernel(*TO_S8, "reference", conversion=conversion).ir("resolve-layouts"))
        assert opt([str(source), "-p", f'plan-reorders{{target=avx2 tuned="{file}"}}']) in (0, None)
        assert (plan[1] in capsys.readouterr().out) == expected


@needs_compiler
@pytest.mark.parametrize("executor", ["c", "interpret"])
def test_kernels_run_by_the_plan_that_they_are_given(executor: str, tmp_path: Path) -> None:
    kernel = compiled(executor=executor, tuned=written(tmp_path / "tuned.json", other_plan()))
    x, y = np.random.default_rng(0).random((65, 300), np.float32), np.zeros((300, 65), np.float32)
    kernel(x, y)
    np.testing.assert_array_equal(y, x.T)


def test_the_pass_takes_a_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    plan, file = other_plan(), written(tmp_path / "tuned.json", other_plan())
    source = tmp_path / "in.mlir"
    source.write_text(layoutc.Kernel(*PAIR, "reference").ir("resolve-layouts"))
    assert opt([str(source), "-p", f'plan-reorders{{target=avx2 tuned="{file}"}}']) in (0, None)
    assert plan[1] in capsys.readouterr().out


WIDE = plan_lines(choose_plan(*PAIR, TARGETS["avx512"]))
MISFITS = {
    "line 2, column 1: expected 'copy', 'fill', 'together' or 'through a buffer', got 'nonsense'": [
        "threads 1",
        "nonsense",
    ],
    "line 1, column 1: expected 'threads', got the end of the line": [],
    "line 2: got 'copy 0 -> 0: .*', expected 'copy 0 -> 0: .* for this reorder": plan_lines(
        choose_plan(PAIR[0], desc("ab", (65, 300), "f32"), AVX2)
    ),
    "has registers of 64 bytes, avx2 has 32": WIDE,
    "has 2 threads, expected at most 1": ["threads 2", *other_plan()[1:]],
}


@pytest.mark.parametrize("message", MISFITS)
def test_a_tuned_plan_that_does_not_fit(message: str, tmp_path: Path) -> None:
    file = written(tmp_path / "tuned.json", MISFITS[message])
    with pytest.raises(layoutc.LayoutcError, match=f"tuned plans {file}: the plan of 65x300xf32.*{message}"):
        compiled(tuned=file)


ENTRY = {"source": "a", "destination": "b", "target": "native", "threads": 1, "plan": []}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (None, "no such file or directory"),
        ("{", "not a JSON file"),
        ("[" * 100_000, "not a JSON file"),
        ("[]", "expected an object with 'layoutc tuned plans': 1"),
        ('{"layoutc tuned plans": 2, "plans": []}', "expected an object with 'layoutc tuned plans': 1"),
        ('{"layoutc tuned plans": 1}', "expected 'plans'"),
        ('{"layoutc tuned plans": 1, "plans": [3]}', "expected 'plans'"),
        ('{"layoutc tuned plans": 1, "plans": [{"source": 1}]}', "expected 'plans'"),
        (tuned.text([{**ENTRY, "conversion": 1}]), "expected 'plans'"),
    ],
)
def test_what_is_no_file_of_tuned_plans(text: str | None, message: str, tmp_path: Path) -> None:
    file = tmp_path / "tuned.json"
    if text is not None:
        file.write_text(text)
    with pytest.raises(layoutc.LayoutcError, match=message):
        compiled(tuned=file)
    converted = desc("ab", (65, 300), "f16")
    with pytest.raises(layoutc.LayoutcError, match=message):
        layoutc.compile(PAIR[0], converted, executor="reference", tuned=file)


def test_a_given_plan_of_a_reorder_that_converts() -> None:
    sides = PAIR[0], desc("ab", (65, 300), "f16")
    lines = tuple(plan_lines(choose_plan(*sides, AVX2)))
    kernel = layoutc.Kernel(*sides, executor="reference", target="avx2", plan=lines)
    assert kernel.c_source == layoutc.Kernel(*sides, executor="reference", target="avx2").c_source
    with pytest.raises(
        layoutc.LayoutcError, match=r"got '.*, elements of 4 to 2', expected '.*, elements of 4' for this"
    ):
        layoutc.Kernel(*PAIR, plan=lines)


def test_a_given_plan_that_converts_what_the_reorder_moves() -> None:
    """The copies are the same."""
    source, moved, converted = (desc(tag, (64, 64), t) for tag, t in (("ab", "f32"), ("ba", "f32"), ("ba", "s8")))
    lines = tuple(plan_lines(choose_plan(source, converted, AVX2, goes_through=False)))
    with pytest.raises(layoutc.LayoutcError, match=r"got '.* 4 to 1', expected '.*, elements of 4' for this"):
        layoutc.Kernel(source, moved, plan=lines)


def test_a_given_plan_of_another_reorder() -> None:
    with pytest.raises(layoutc.LayoutcError, match=r"line 2: got 'copy .*', expected 'copy 0 -> 0: .*' for this"):
        layoutc.Kernel(PAIR[0], PAIR[0], plan=other_plan())


# --- tuning --------------------------------------------------------------------------------------------------------


@pytest.fixture
def times(monkeypatch: pytest.MonkeyPatch) -> dict[tuple[str, ...], float]:
    """Seconds of a call by plan; 1 if there are none."""
    found: dict[tuple[str, ...], float] = {}
    monkeypatch.setattr(layoutc.tune, "_sample", lambda kernel, *_: found.get(kernel.plan, 1.0))
    return found


@needs_compiler
@pytest.mark.parametrize(("seconds", "warms"), [(5e-3, True), (20e-3, False)])
def test_a_short_sample_begins_with_what_its_own_kernel_left_in_the_caches(
    seconds: float, warms: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    called: list[tuple[str, ...]] = []

    def sample(kernel: layoutc.Kernel, *_: object) -> float:
        called.append(kernel.plan)
        return seconds

    monkeypatch.setattr(layoutc.tune, "_sample", sample)
    found = layoutc.tune.tune(*PAIR, target="avx2", tries=2, rounds=3)
    plans = [candidate.kernel.plan for candidate in found.candidates]
    assert len(set(plans)) == 2
    sampled = called[2:]  # once each, to know how long a call takes
    assert len(sampled) == 2 * 3 * (2 if warms else 1)
    assert not warms or sampled[::2] == sampled[1::2]


@needs_compiler
def test_the_fastest_wins_if_it_is_faster_by_more_than_noise(times: dict[tuple[str, ...], float]) -> None:
    first, second = (tuple(plan_lines(plan)) for plan in islice(choose_plans(*PAIR, AVX2), 2))
    found = layoutc.tune.tune(*PAIR, target="avx2", tries=3, rounds=2)
    assert (found.best.kernel.plan, len(found.candidates)) == (first, 3)
    times[second] = 0.99
    assert layoutc.tune.tune(*PAIR, target="avx2", tries=3, rounds=2).best.kernel.plan == first
    times[second] = 0.5
    found = layoutc.tune.tune(*PAIR, target="avx2", tries=3, rounds=2)
    assert found.entry["plan"] == list(second)
    assert (found.entry["microseconds"], found.entry["planner_microseconds"]) == (5e5, 1e6)


@needs_compiler
def test_tuning_goes_on_near_the_fastest(times: dict[tuple[str, ...], float], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(layoutc.tune, "PLANNED", 1)
    first = choose_plan(*PAIR, AVX2)
    near = set(neighbours(first))
    step = min(near, key=plan_lines)
    last = min((plan for plan in neighbours(step) if plan not in near | {first}), key=plan_lines)
    times |= {tuple(plan_lines(step)): 0.5, tuple(plan_lines(last)): 0.2}
    found = layoutc.tune.tune(*PAIR, target="avx2", tries=100, rounds=2)
    assert found.entry["plan"] == plan_lines(last)
    assert found.entry["tried"] == len({candidate.kernel.plan for candidate in found.candidates}) > len(near)
    few = layoutc.tune.tune(*PAIR, target="avx2", tries=5, rounds=2)
    assert few.entry["tried"] == 5
    assert few.best.kernel.plan != tuple(plan_lines(last))
    times[tuple(plan_lines(step))] = 0.98  # that may be noise
    found = layoutc.tune.tune(*PAIR, target="avx2", tries=100, rounds=2)
    assert (found.entry["plan"], found.entry["tried"]) == (plan_lines(first), 1 + len(near))


@needs_compiler
def test_a_plan_with_a_wrong_result_is_out(
    times: dict[tuple[str, ...], float], monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = (tuple(plan_lines(plan)) for plan in islice(choose_plans(*PAIR, AVX2), 2))
    times[second] = 0.1
    call, wrong = layoutc.Kernel.__call__, [second]

    def broken(self: layoutc.Kernel, source: Any, destination: Any) -> None:
        call(self, source, destination)
        if self.plan in wrong:
            destination[100] ^= 1

    monkeypatch.setattr(layoutc.Kernel, "__call__", broken)
    assert layoutc.tune.tune(*PAIR, target="avx2", tries=2, rounds=2).best.kernel.plan == first
    wrong[:] = [first]
    with pytest.raises(layoutc.LayoutcError, match="the planner's choice gives a wrong result"):
        layoutc.tune.tune(*PAIR, target="avx2", tries=2, rounds=2)


@needs_compiler
def test_other_plans_that_do_not_fit_are_left_out() -> None:
    """Rows that begin inside of a byte need the buffers that they have."""
    sides = desc("ab", (3, 3), "s4"), desc("ba", (3, 3), "s4")
    found = layoutc.tune.tune(*sides, target="sse2", tries=30, rounds=1)
    assert 1 <= len(found.candidates) < 30 and all(candidate.is_right for candidate in found.candidates)


@needs_compiler
@pytest.mark.parametrize("name", CONVERTING)
def test_reorders_that_convert_are_tuned(name: str, times: dict[tuple[str, ...], float], tmp_path: Path) -> None:
    """Each plan is right, also one of a sum, which adds to what the one before has written."""
    source, destination, conversion = CONVERTING[name]
    found = layoutc.tune.tune(source, destination, target="sse2", tries=4, rounds=1, **conversion.attributes)
    assert len(found.candidates) == 4
    last = found.candidates[-1].kernel
    times[last.plan] = 0.5
    found = layoutc.tune.tune(source, destination, target="sse2", tries=4, rounds=1, **conversion.attributes)
    assert found.entry["plan"] == list(last.plan)
    (tmp_path / "tuned.json").write_text(tuned.text([found.entry]))
    pair, attributes = (source, destination), conversion.attributes
    assert compiled(pair, target="sse2", tuned=tmp_path / "tuned.json", **attributes).plan == last.plan


@needs_compiler
def test_tuning_converts_numbers_that_tensors_have() -> None:
    """Of random bits a tenth would be huge, tiny, or none: kernels compute such vectors a second time."""
    kernel = layoutc.compile(desc("ab", (100, 30), "f32"), desc("ba", (100, 30), "bf16"))
    numbers = layoutc.tune.Bench(kernel, rounds=1).read.view(np.float32)
    assert np.unique(numbers).size > 2900
    assert 0.9 < numbers.std() < 1.1 and np.abs(numbers).min() > 1e-7 and np.abs(numbers).max() < 7


@needs_compiler
@pytest.mark.parametrize("type", ["f32", "s8", "s4"])
def test_tuning_sees_rows_in_each_others_place(type: str) -> None:
    """Numbers that come again after a power of two would be the same in all rows of one."""
    kernel = layoutc.compile(desc("ab", (4, 1 << 17), type), desc("ba", (4, 1 << 17), type))
    rows = layoutc.tune.Bench(kernel, rounds=1).read.reshape(4, -1)
    assert np.unique(rows, axis=0).shape == rows.shape


def test_attributes_are_those_of_compile() -> None:
    options: dict[str, Any] = {"scale": 3}
    with pytest.raises(
        TypeError, match=r"tune\(\) got an unexpected keyword scale, expected one of target .* src_scale"
    ):
        layoutc.tune.tune(*PAIR, **options)


def test_reorders_without_plans_are_not_tuned() -> None:
    with pytest.raises(layoutc.LayoutcError, match=r"nothing to tune: .*border"):
        layoutc.tune.tune(*PAIRS["low border of flattened axes beside tails"])


@needs_compiler
def test_the_command_adds_to_its_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file, listed = tmp_path / "tuned.json", tmp_path / "list"
    quick = ("--tries", "2", "--rounds", "2", "-o", str(file))
    assert main(["tune", "--from", "ab", "--to", "ba", "--dims", "8,8", *quick]) == 0
    assert "us, the planner's choice" in capsys.readouterr().err
    first = json.loads(file.read_text())["plans"][0]
    elsewhere = {**first, "machine": {**first["machine"], "processor": "another"}}
    file.write_text(tuned.text([elsewhere]))
    listed.write_text("\ufeff# two\nab ba 8,9\n\nnchw nhwc 1,3,4,5 s8 # pixels\n")
    assert main(["tune", "--list", str(listed), *quick]) == 0
    data = json.loads(file.read_text())
    assert [entry["source"] for entry in data["plans"]] == ["memref<8x8xf32>", "memref<8x9xf32>", "memref<1x3x4x5xi8>"]
    processors = [entry["machine"]["processor"] for entry in data["plans"]]
    assert processors[0] == "another" and processors[1] == processors[2] == first["machine"]["processor"]
    kernel = layoutc.compile(desc("ab", (8, 8)), desc("ba", (8, 8)), executor="reference", tuned=file)
    assert list(kernel.plan) == data["plans"][0]["plan"]
    assert main(["compile", "--from", "ab", "--to", "ba", "--dims", "8,8", "--tuned", str(file), "--explain"]) == 0
    assert capsys.readouterr().out == kernel.explain()


@needs_compiler
def test_what_has_no_plans_is_passed_over_in_a_list(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file, listed = tmp_path / "tuned.json", tmp_path / "list"
    key = tuned.key_of(*PAIRS["low border of flattened axes beside tails"], NO_ATTRIBUTES, "avx2", 1)
    untunable = f"'{key.source}' '{key.destination}' 5,2,3,3\n"
    quick = ("--tries", "2", "--rounds", "2", "-o", str(file))
    listed.write_text(f"ab ba 8,9\n{untunable}ab ba 9,8\n")
    assert main(["tune", "--list", str(listed), *quick]) == 0
    _, passed, _ = capsys.readouterr().err.splitlines()
    assert "low (0, 0, 2, 0): nothing to tune: flattened axes" in passed
    assert len(json.loads(file.read_text())["plans"]) == 2
    listed.write_text("ab ba 8,9\nab 'ba 8,9\n")
    assert main(["tune", "--list", str(listed), *quick]) == 1
    assert f"{listed}, line 2: no closing quotation, expected FROM TO DIMS" in capsys.readouterr().err
    listed.write_text(2 * untunable)
    assert main(["tune", "--list", str(listed), *quick]) == 1
    assert f"{listed}: nothing to tune, as all" in capsys.readouterr().err


@needs_compiler
def test_the_command_tunes_conversions(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file, listed = tmp_path / "tuned.json", tmp_path / "list"
    quick = ("--tries", "2", "--rounds", "2", "-o", str(file))
    scaled = ("--dst-scale", "argument@axis=1", "--dst-zero-point", "3")
    one = ("--from", "ab", "--to", "ba", "--dims", "8,9", "--to-dtype", "s8", *scaled)
    assert main(["tune", *one, *quick]) == 0
    assert "with dst scale argument of axes [1] f32, dst zero point 3 s32: " in capsys.readouterr().err
    listed.write_text("ab ba 8,9 f32->bf16\nab ba 8,8 ->u8\n")
    assert main(["tune", "--list", str(listed), *quick]) == 0
    entries = json.loads(file.read_text())["plans"]
    assert [(entry["destination"].split(",")[0], entry["conversion"]) for entry in entries] == [
        ("memref<8x9xi8", "#layout.conversion<dst_scale = ? axes [1], dst_zero_point = 3>"),
        ("memref<8x9xbf16", ""),
        ("memref<8x8xui8", ""),
    ]
    assert main(["compile", *one, "--tuned", str(file), "--emit", "ir", "--stage", "plan-reorders"]) == 0
    assert entries[0]["plan"][1] in capsys.readouterr().out


@needs_compiler
def test_dashes_are_stdin_and_one_text_on_stdout() -> None:
    command = [sys.executable, "-m", "layoutc", "tune", "--list", "-", "-o", "-", "--tries", "1", "--rounds", "1"]
    done = subprocess.run(command, input="ab ba 8,8\nab ba 8,9\n", capture_output=True, text=True, check=True)
    assert [entry["source"] for entry in json.loads(done.stdout)["plans"]] == ["memref<8x8xf32>", "memref<8x9xf32>"]


@pytest.mark.parametrize(
    ("arguments", "status", "message"),
    [
        (["--from", "ab", "--dims", "8,8"], 2, "expected either --from and --to, or --list"),
        (["--from", "ab", "--to", "ba", "--list", "list"], 2, "expected either --from and --to, or --list"),
        (["--from", "ab", "--to", "ba", "--dims", "8,8", "--target", "plain"], 1, "the target plain has no plans"),
        (["--from", "ab", "--to", "ba", "--dims", "8,8", "--tries", "0"], 1, "error: --tries: 0 is not in the range"),
        (["--from", "ab", "--to", "ba", "--dims", "8,8", "--threads", "0"], 1, "threads is 0, expected 1 to"),
        (["--from", "ab", "--list", "list"], 2, "expected either --from and --to, or --list"),
        (["--list", "list", "--to", "ba"], 2, "expected either --from and --to, or --list"),
        (["--list", "none"], 1, "none: no reorders, expected FROM TO DIMS [TYPE[->TYPE]] on each line"),
        (["--list", "bad", "--dtype", "s8"], 2, "--dims, --dtype and --to-dtype go with --from and --to"),
        (["--list", "bad", "--to-dtype", "s8"], 2, "--dims, --dtype and --to-dtype go with --from and --to"),
        (["--list", "absent"], 1, "absent: no such file"),
        (["--list", "bad"], 1, "bad, line 2: got 2 words, expected FROM TO DIMS [TYPE[->TYPE]]"),
        (["--list", "arrow"], 1, "arrow, line 1: got 'f32->', expected a type behind ->"),
        (["--from", "ab", "--to", "ba", "--dims", "8,8", "--src-scale", "argument@axis=2"], 1, "of axis 2"),
        (["--list", "worse"], 1, "worse, line 1: "),
        (["--list", "two", "--src-scale", "argument@axis=2"], 1, "two, line 2: src scale has a value"),
    ],
)
def test_bad_calls(
    arguments: list[str],
    status: int,
    message: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("bad").write_text("ab ba 8,8\nab ba\n")
    Path("list").write_text("ab ba 8,8\n")
    Path("none").write_text("# ab ba 8,8\n\n")
    Path("arrow").write_text("ab ba 8,8 f32->\n")
    Path("worse").write_text("ab nChwq 8,8\n")
    Path("two").write_text("abc bac 8,8,8\nab ba 8,8\n")
    assert main(["tune", *arguments, "-o", "tuned.json"]) == status
    assert message in capsys.readouterr().err
    assert not Path("tuned.json").exists()


def test_a_file_that_cannot_be_written_is_said_before_the_work(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(layoutc.tools.tune, "tune", None)
    assert main(["tune", "--from", "ab", "--to", "ba", "--dims", "8,8", "-o", str(tmp_path / "none" / "file")]) == 1
    assert "none/file: no such file or directory" in capsys.readouterr().err


def test_a_file_that_is_something_else_is_left_alone(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "notes").write_text("mine")
    assert main(["tune", "--from", "ab", "--to", "ba", "--dims", "8,8", "-o", str(tmp_path / "notes")]) == 1
    assert "not a JSON file" in capsys.readouterr().err
    assert (tmp_path / "notes").read_text() == "mine"


def test_a_file_that_was_replaced_is_read_again(tmp_path: Path) -> None:
    """Also where the new one is as large, and two came within a tick of the clock."""
    file, other = tmp_path / "tuned.json", tmp_path / "other.json"
    for path, target in ((file, "avx2"), (other, "neon")):
        path.write_text(tuned.text([{**ENTRY, "target": target}]))
        os.utime(path, ns=(0, 0))
    assert [key.target for key in tuned.read(file)] == ["avx2"]
    other.replace(file)
    assert [key.target for key in tuned.read(file)] == ["neon"]


def test_what_several_processes_find_at_once_is_all_kept(tmp_path: Path) -> None:
    file = tmp_path / "tuned.json"
    threads = range(1, 25)
    entries: list[dict[str, Any]] = [{**ENTRY, "threads": number} for number in threads]
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(partial(keep, file), entries))
    assert sorted(entry["threads"] for entry in tuned.read(file).values()) == list(threads)


@needs_compiler
def test_an_empty_file_is_written_to(tmp_path: Path) -> None:
    (tmp_path / "tuned.json").touch()
    assert main(["tune", "--from", "ab", "--to", "ba", "--dims", "8,8", "-o", str(tmp_path / "tuned.json")]) == 0
    assert len(tuned.read(tmp_path / "tuned.json")) == 1


def test_targets_that_cannot_be_tuned_are_not_offered(capsys: pytest.CaptureFixture[str]) -> None:
    assert (main(["tune", "--help"]), main(["compile", "--help"])) == (0, 0)
    tune, compile = capsys.readouterr().out.split("Usage: ")[1:]
    assert "native, avx512, avx2" in tune and "plain" not in tune and "plain" in compile
