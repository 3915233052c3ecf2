"""Plans in words: what is said is what was decided."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

import layoutc
from benchmarks.cases import conversion_cases
from benchmarks.machine import Machine
from benchmarks.random_cases import random_case, random_conversion
from benchmarks.tasks import all_tasks
from layoutc.compensation import Compensation
from layoutc.conversion import Conversion
from layoutc.notations import desc
from layoutc.param import Param
from layoutc.planning.choose import choose_plan
from layoutc.planning.copies.strided_copy import NotStridedError
from layoutc.planning.explain import explain_plan
from layoutc.planning.machine import TARGETS, machine
from layoutc.planning.plan_text import plan_lines
from layoutc.planning.plans.plan import CopyPlan, PlanPart
from layoutc.planning.plans.turns import Through
from layoutc.planning.reasons import because, listening
from tests.descriptors import PAIRS

TOPICS = ("digit 0:", "tiles:", "macro tiles:", "loops over macro tiles:", "loops over tiles:", "stores:")
STORES = {
    "normal": ("normal, through", "through the caches, as "),
    "nontemporal": ("straight past",),
    "staged": ("past the caches by whole lines",),
    "aligned": ("through the caches by whole lines",),
    "packed": ("into a buffer with a byte for each element",),
}
LOADS = {"normal": ("straight",), "staged": ("gathered", "row"), "unpacked": ("straight", "out")}
MACHINE = Machine("some processor", 2, 32 << 10, 1 << 20, 32 << 20, "", "", "", "", {})
DRAWN = {random_case: (6, 10, 108, 137), random_conversion: (4, 15, 28, 36, 43, 48, 51, 55, 58, 66, 81, 101, 130)}
"""reorders whose copies stand in all places"""


@pytest.mark.parametrize("llc", [0, 32 << 20])
@pytest.mark.parametrize("name", PAIRS)
def test_every_copy_is_explained_as_it_is_planned(name: str, llc: int) -> None:
    for target in TARGETS.values():
        machine = replace(target, llc=llc)
        try:
            plan = choose_plan(*PAIRS[name], machine)
        except NotStridedError:
            return
        head, *copies = "\n".join(explain_plan(*PAIRS[name], machine, 1)).split("\n\n")
        assert ("past them" in head) == (llc == 0)
        for copy, text in zip(plan.copies, copies, strict=True):
            lines = [line.strip() for line in text.splitlines()]
            topics = TOPICS if copy.copy.digits else TOPICS[1:]
            assert all(any(line.startswith(topic) for line in lines) for topic in topics)
            (stores,) = (line.removeprefix("stores: ") for line in lines if line.startswith("stores: "))
            assert stores.startswith(STORES[copy.store])
            assert any(line.startswith("loads: gathered") for line in lines) == (copy.load == "staged")
            assert (re.search(" zeros? of ", lines[0]) is not None) == copy.copy.is_fill
            assert ("tiles: element by element" in text) == (not copy.target_lanes)
            assert any(line.startswith("prefetch: ") for line in lines) == bool(copy.prefetch)


@pytest.mark.parametrize("place", ["avx512", "avx2", "generic"])
def test_what_is_said_of_loads_and_stores_is_so(place: str) -> None:
    """Of copies in turns too: into a buffer, out of it, and between images; of elements that share bytes."""
    machine, roles = TARGETS[place], set[str]()
    drawn = [make(610000, number) for make, numbers in DRAWN.items() for number in numbers]
    for task in all_tasks([*drawn, *conversion_cases()[::3]], ["l2", "dram"], MACHINE):
        sides = task.source_desc, task.destination_desc
        plan = choose_plan(*sides, machine, 1, task.conversion)
        texts = "\n".join(explain_plan(*sides, machine, 1, task.conversion)).split("\n\n")[1:]
        parts = [
            (part, copy) for part in plan.parts for copy in ([part] if isinstance(part, CopyPlan) else part.copies)
        ]
        for (part, copy), text in zip(parts, texts, strict=True):
            role = role_of(part, copy)
            roles.add(role)
            said = re.search(r"^  stores: (.*)$", text, re.MULTILINE)
            assert said is not None and said[1].startswith(stores_of(role, copy)), (task, text)
            loads = re.search(r"^  loads: (\w+)", text, re.MULTILINE)
            assert copy.copy.is_fill or (loads is not None and loads[1] in LOADS[copy.load]), (task, text)
    assert roles == {"alone", "together", "staged", "into", "between", "between and out", "out of"}


def role_of(part: PlanPart, copy: CopyPlan) -> str:
    """Where a copy stands among those that share its loops."""
    if not isinstance(part, Through):
        return "alone" if isinstance(part, CopyPlan) else part.store.replace("normal", "together")
    if any(copy is other for other in part.between):
        return "between" if part.out_of else "between and out"
    return "into" if any(copy is other for other in part.into) else "out of"


def stores_of(role: str, copy: CopyPlan) -> tuple[str, ...]:
    """How the words begin that say where a copy stores."""
    if role in ("into", "between"):
        return ("normal, into the buffer",)
    if role == "staged":
        return ("into a buffer on the stack that copies in the same loops fill", "straight past")
    if copy.moves_rows:
        return ("by whole bytes, through the caches",)
    return STORES[copy.store]


def test_what_goes_into_a_buffer_is_told_in_the_words_of_the_source() -> None:
    """Elements that are converted out of the buffer are not those of the destination before."""
    source, destination = desc("Abc32a", (960, 40, 8), "u8"), desc("Abc5a", (960, 40, 8), "f32")
    text = "\n".join(explain_plan(source, destination, TARGETS["avx512"], 1))
    assert "of u8 that stay neighbours" in text and "of f32 that stay neighbours" not in text


def test_detours_that_are_not_taken_are_not_told() -> None:
    """Threads that would write into one byte share copies that go straight."""
    source, destination = (desc(name, (16, 30, 101, 103), type) for name, type in (("nChw8c", "s8"), ("nhwc", "u2")))
    one, two = ("\n".join(explain_plan(source, destination, TARGETS["avx512"], threads)) for threads in (1, 2))
    assert "elements that share bytes: by way of images" in one and "by way of images" not in two


def test_macro_tiles_are_those_of_the_way_that_was_taken() -> None:
    """Of tiles of fewer rows, whose lines would evict each other, the loops follow the side along which they go."""
    machine = replace(TARGETS["avx512"], waits_for_lines=False, l1=48 << 10, llc=64 << 20)
    source, destination = (desc(name, (4096, 808), "bf16") for name in ("ab", "ba"))
    text = "\n".join(explain_plan(source, destination, machine, 1))
    assert "8 of the destination, along which tiles go" in text
    assert "16384 bytes; the loops inside follow the destination" in text


def test_who_asks_for_what_comes_next_is_said() -> None:
    machine = replace(TARGETS["avx512"], llc=0)
    for dims, layouts, words in (
        ((128, 256, 28, 28), ("nhwc", "nchw"), "further on; each line that leaves the buffer for its share of that"),
        ((15, 15, 112, 15, 5, 32), ("abcdef", "beafdc"), "for its share of what comes 4 macro tiles later"),
    ):
        source, destination = (desc(name, dims, "s8") for name in layouts)
        assert words in "\n".join(explain_plan(source, destination, machine, 1))


def explained(source: str, destination: str, dims: tuple[int, ...], dtype: str = "f32", **options: object) -> str:
    pair = (desc(name, dims, dtype) for name in (source, destination))
    return layoutc.Kernel(*pair, **{"target": "avx512", **options}).explain()  # pyright: ignore[reportArgumentType]


def test_words_of_each_rule() -> None:
    assert "threads: as many as were asked for, 2\n" in explained("ab", "ba", (1024, 1024), threads=2)
    assert "threads: one, as more take" in explained("ab", "ba", (64, 64), threads=2)
    assert "through them, until both buffers fill" in explained("ab", "ba", (2000, 2000), threads=2)
    assert "past them, as in them rows would evict" in explained("ab", "ba", (2048, 2048), threads=2)
    assert "past them, as the destination fills a quarter" in explained("ab", "ba", (2048, 2048))
    assert "loads: gathered on the stack first, as " in explained("ab", "ba", (4096, 4096), "s8")
    assert "each 2 of bf16 that stay neighbours" in explained("abc", "bac", (6, 6, 34), "bf16")
    assert "as they are: both sides are contiguous" in explained("abc", "bac", (6, 6, 64))
    assert "all of an axis or a period of it" in explained("nhwc", "nChw16c", (1, 17, 5, 4))
    assert "the last 7 are padding" in explained("nchw", "nChw8c", (1, 17, 5, 4))


def test_reorders_without_a_plan() -> None:
    assert explained("ab", "ba", (4, 4), target="plain") == "the textbook loop nest, as the target plain asks for it\n"
    assert "a border" in layoutc.Kernel(*PAIRS["low border of flattened axes beside tails"]).explain()


def test_nobody_hears_what_is_said_outside() -> None:
    because("caches", "before")
    with listening() as outer:
        because("caches", "1")
        with listening() as inner:
            because("caches", "2")
            because("caches", "3")
        because("threads", "4")
    because("caches", "after")
    assert inner == {"caches": "3"}
    assert outer == {"caches": "1", "threads": "4"}


def test_what_was_tried_leaves_no_words_behind() -> None:
    """Macro tiles of narrower and shorter runs were tried after those that the plan has."""
    text = explained("ab", "ba", (4104, 4104), "f64", target="avx2")
    assert "runs of 1 bytes in the source and 512 in the destination" in text
    assert "macro tiles: 4x128 = 512" in text


@pytest.mark.parametrize(("to", "words"), [("ABcd4b16a4b", "as tiles store weights"), ("cdba", "at the end")])
def test_where_sums_are_added_up_is_said(to: str, words: str) -> None:
    source, destination = (layoutc.desc(tag, (64, 64, 8, 8), "s8") for tag in ("abcd", to))
    conversion = Conversion(dst_scale=Param(axes=1), compensation=Compensation(s8s8=(0,)))
    for one in (conversion, replace(conversion, dst_scale=None)):
        lines = explain_plan(source, destination, TARGETS["avx512"], 1, one)
        assert any(line.startswith("sums: ") and line.endswith(words) for line in lines)


def test_the_planners_own_plan_is_explained_if_it_was_given() -> None:
    """As a file of tuned plans gives it, where no other one was faster."""
    pair = layoutc.desc("nchw", (1, 64, 28, 28), "f32"), layoutc.desc("nhwc", (1, 64, 28, 28), "f32")
    chosen = tuple(plan_lines(choose_plan(*pair, machine("avx512"))))
    kernel = layoutc.Kernel(*pair, target="avx512")
    assert kernel.plan_lines() == chosen
    assert replace(kernel, plan=chosen).explain() == kernel.explain()
    other = tuple(line.replace("outer 0 1", "outer 1 0") for line in chosen)
    text = replace(kernel, plan=other).explain()
    assert text.startswith("a plan that was given, not chosen") and other[-1] in text
    assert replace(kernel, plan=other).plan_lines() == other


def test_textbook_loops_have_no_plan() -> None:
    pair = layoutc.desc("nchw", (1, 64, 28, 28), "f32"), layoutc.desc("nhwc", (1, 64, 28, 28), "f32")
    assert layoutc.Kernel(*pair, target="plain").plan_lines() == ()
    assert layoutc.Kernel(*PAIRS["low border of flattened axes beside tails"]).plan_lines() == ()


def test_loads_are_said_to_ask_along_a_loop_only_where_the_plan_does() -> None:
    """Rows that are converted into a buffer ask for others than moves of them would."""
    source, destination = desc("dcba", (174, 256, 17, 36), "s16"), desc("Dacb24d", (174, 256, 17, 36), "s8")
    lines = explain_plan(source, destination, replace(TARGETS["avx512"], shuffles="single", l2=1 << 20), 1)
    said = [line for line in lines if "prefetch" in line]
    assert said and not any("along digit" in line for line in said)
