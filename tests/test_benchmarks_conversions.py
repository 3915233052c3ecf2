"""The benchmarks of reorders that convert: cases, data, checks, and what peers make of them; no timing is looked at."""

from __future__ import annotations

import json

import numpy as np
import pytest

from benchmarks import checking, checking_values
from benchmarks.buffers import Buffer
from benchmarks.cases import CONVERT, SIZES, Case, conversion_cases, named_cases
from benchmarks.measure import Options, measure, prepared_work
from benchmarks.peers import Work, peer
from benchmarks.placement import Placement
from benchmarks.tasks import Task, all_tasks
from layoutc import reference
from tests.test_benchmarks import MACHINE, Idle, needs_compiler, tiny

CONVERSIONS = conversion_cases()


def converting(source: str, destination: str, dims: tuple[int, ...], types: str, attributes: str = "") -> Task:
    sides = Placement.parse(source), Placement.parse(destination)
    return Task(f"{CONVERT}a case", "l2", types, dims, *sides, attributes)


def test_conversions_bind_in_every_size_and_survive_json() -> None:
    tasks = all_tasks(CONVERSIONS, SIZES, MACHINE)
    for found in tasks:
        found.conversion.check(found.source_desc, found.destination_desc)
        assert Task.from_json(json.loads(json.dumps(found.to_json()))) == found
    assert len({(found.name, found.element_type, found.size) for found in tasks}) == len(tasks) > 150
    assert not {case.name for case in CONVERSIONS} & {case.name for case in named_cases()}
    given = [found.conversion for found in tasks if found.size == "l2"]
    assert {name for conversion in given for name in conversion.arguments} >= {"src_scale", "dst_scale"}
    assert any(conversion.compensation for conversion in given) and any(conversion.reciprocal for conversion in given)


def test_a_copy_moves_half_of_the_bytes_of_both_sides_of_a_conversion() -> None:
    weights = converting("ab", "ab", (64, 32), "s4->f32", "--src-scale argument@axis=0,1@groups=32,1@dtype=f16")
    assert weights.moved_bytes == (64 * 32 // 2 + 64 * 32 * 4 + 2 * 32 * 2) // 2
    padded = converting("ab", "aB16b", (8, 17), "s8", "--compensation s8s8=0/asymmetric=1")
    assert padded.destination_bytes == 8 * 32 + 8 * 4 + 32 * 4
    assert padded.moved_bytes == (8 * 17 + 8 * 32 + 8 * 4 + 32 * 4) // 2


@pytest.mark.parametrize("case", CONVERSIONS, ids=lambda case: case.name)
def test_drawn_values_are_spread_over_the_range_of_the_other_type(case: Case) -> None:
    for types in case.types:
        found = tiny(case, types)
        work, written = right_conversion(found)
        codes = checking_values.codes_of(found.destination_desc, written.bytes)
        assert len(np.unique(codes)) > min(10, 2**found.destination_desc.element_type.bits // 2)
        assert checking_values.is_right(found, work.source.bytes, written, work.arguments)


def test_scales_of_powers_of_two_are_drawn() -> None:
    found = converting("ab", "ab", (8, 64), "f4_e2m1->f32", "--src-scale argument@axis=0,1@groups=1,32@dtype=e8m0")
    work, written = right_conversion(found)
    assert len(np.unique(work.arguments["src_scale"])) > 1
    assert checking_values.is_right(found, work.source.bytes, written, work.arguments)


def right_conversion(found: Task) -> tuple[Work, Buffer]:
    """The buffers of a task, with what the reference writes."""
    work = prepared_work(found, Options(1))
    sides, buffers = (found.source_desc, found.destination_desc), (work.source.bytes, work.destination.bytes)
    reference.reorder(*sides, *buffers, found.conversion, work.arguments)
    return work, work.destination


SUMS = converting("ab", "aB16b", (24, 17), "f32->s8", "--dst-scale argument@axis=0 --compensation s8s8=0")
GROUPS = converting("ab", "ba", (96, 6), "u4->bf16", "--src-scale argument@axis=0,1@groups=32,2")
PACKED = converting("ab", "aB4b", (30, 17), "f32->s4", "--dst-scale argument@axis=1")
GAPS = converting("ab gaps 3,0", "Ba4b gaps 8,0,0", (30, 17), "s8->u2", "--dst-scale 0.0236")


@pytest.mark.parametrize("found", [SUMS, GROUPS, PACKED, GAPS], ids=lambda found: found.element_type)
@pytest.mark.parametrize("small", [0, 1 << 20])
def test_a_wrong_byte_of_a_conversion_is_seen(found: Task, small: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checking, "SMALL", small)
    monkeypatch.setattr(checking, "BLOCK", 100)
    work, written = right_conversion(found)
    assert checking_values.is_right(found, work.source.bytes, written, work.arguments)
    for place in range(0, written.bytes.size + 1, 7):
        written.memory[place] ^= 1
        assert not checking_values.is_right(found, work.source.bytes, written, work.arguments), place
        written.memory[place] ^= 1


def test_slabs_cut_no_group() -> None:
    found = converting("ab", "ab", (4096, 3), "s4->f32", "--src-scale argument@axis=0,1@groups=32,1")
    parts = list(checking_values.slabs(found))
    assert parts[0].start == 0 and parts[-1].stop == 4096
    assert all(part.start % 32 == 0 for part in parts)


def test_numpy_converts_where_there_are_no_attributes() -> None:
    found = converting("nchw", "nChw16c", (2, 17, 5, 4), "f32->f8_e5m2")
    work = prepared_work(found, Options(1))
    prepared = peer("numpy").prepare(work)
    assert prepared is not None
    prepared.seconds(1)
    assert checking_values.is_right(found, work.source.bytes, work.destination, {})
    assert peer("numpy").prepare(prepared_work(SUMS, Options(1))) is None
    assert peer("numpy").prepare(prepared_work(GROUPS, Options(1))) is None


@needs_compiler
@pytest.mark.parametrize("found", [SUMS, GROUPS, PACKED, GAPS], ids=lambda found: found.element_type)
def test_layoutc_converts_as_the_definition_says(found: Task) -> None:
    measured = measure(found, {"layoutc": peer("layoutc")}, Options(1, repeats=1))
    assert measured.wrong == [] and "python_call_us" in measured.facts


@pytest.mark.skipif(not peer("onednn").is_available(), reason="no onednn-devel")
def test_onednn_is_given_the_same_attributes() -> None:
    found = converting("nchw", "nhwc", (2, 24, 5, 4), "f32->s8", "--dst-scale argument@axis=1")
    asymmetric = converting("ab", "ab", (5, 16), "u8->f32", "--src-zero-point 127 --src-scale 0.5")
    groups = converting("ab", "ab", (64, 6), "s4->f32", "--src-scale argument@axis=0,1@groups=32,1")
    for one in (found, asymmetric, groups):
        work = prepared_work(one, Options(1))
        prepared = peer("onednn").prepare(work)
        assert prepared is not None
        prepared.seconds(1)
        # It may multiply with the reciprocal of a scale: a value at a tie then goes to the other side.
        _, expected = right_conversion(one)
        assert (work.destination.bytes != expected.bytes).mean() < 0.01
    assert peer("onednn").prepare(prepared_work(SUMS, Options(1))) is None


def test_a_library_that_converts_otherwise_is_named_and_timed() -> None:
    found = measure(GROUPS, {"idle": Idle()}, Options(1, repeats=2))
    assert (found.wrong, found.differing) == ([], ["idle"])
    assert found.to_json()["differing"] == ["idle"] and found.samples.keys() == {"idle"}
