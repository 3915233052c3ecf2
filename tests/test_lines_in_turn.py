"""Lines that several tiles take parts of, and ask for in turn."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from itertools import product

import numpy as np
import pytest

import layoutc
from layoutc import reference
from layoutc.errors import LayoutcError
from layoutc.kernel import Kernel
from layoutc.kernel_options import Executor
from layoutc.planning.choose import choose_plan
from layoutc.planning.explain import explain_plan
from layoutc.planning.machine import TARGETS
from layoutc.planning.plan_text import parse_plan, plan_lines
from layoutc.planning.plans.plan import CopyPlan
from layoutc.planning.tiles.lines_in_turn import lines_in_turn

SMALL = replace(TARGETS["avx512"], l2=4 << 10, shuffles="single", waits_for_lines=False)
"""a machine whose second cache does not hold these few bytes, and whose last one does"""
CASES = {
    "a matrix": ("ab", "ba", (193, 270), "s8"),
    "pixels to channels": ("abc", "acb", (3, 64, 300), "u8"),
    "channels to pixels": ("abc", "acb", (2, 300, 96), "s8"),
    "rows of two digits": ("bac", "cAb8a", (40, 8, 206), "s8"),
    "rows that carry": ("aB100b", "ba", (70, 290), "s8"),
}
"""which tiles ask for lines of, four of a line and more"""


def sides(name: str) -> tuple[layoutc.MemoryDesc, layoutc.MemoryDesc]:
    source, destination, dims, element_type = CASES[name]
    return layoutc.desc(source, dims, element_type), layoutc.desc(destination, dims, element_type)


def planned(name: str) -> list[CopyPlan]:
    """The copies whose tiles ask in turn."""
    copies = choose_plan(*sides(name), SMALL).copies
    return [copy for copy in copies if copy.asks == "by tiles" and copy.load == "normal"]


@pytest.mark.parametrize("name", CASES)
def test_each_line_of_a_tile_is_asked_for_by_one_of_those_that_share_it(name: str) -> None:
    """Where it begins, in every row of a tile, which are told by its digits, not by their strides."""
    copies = planned(name)
    assert copies
    for copy in copies:
        lines = lines_in_turn(copy)
        assert lines is not None and lines.turns >= 4
        along = {part.digit for part in copy.source_lanes}
        others = [g for g in range(len(copy.tile)) if g not in along]
        steps = product(*(range(copy.tile[g]) for g in others))
        rows = [sum(copy.copy.digits[g].offset("src", n) for g, n in zip(others, at, strict=True)) for at in steps]
        step = copy.copy.digits[lines.digit].offset("src", lines.extent)
        asked = Counter(
            turn * step + turn * (lines.step - lines.before) + row for turn in range(lines.turns) for row in lines.rows
        )
        assert asked == Counter(rows)
        assert lines.turns * step * copy.widths.src == 64


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("executor", ["interpret", "c"])
@pytest.mark.parametrize("name", CASES)
def test_tiles_that_ask_move_the_same_bytes(name: str, executor: Executor, threads: int) -> None:
    assert planned(name)
    lines = plan_lines(choose_plan(*sides(name), SMALL, threads))
    assert parse_plan(lines) == choose_plan(*sides(name), SMALL, threads)
    check(*sides(name), lines, executor, threads)


@pytest.mark.parametrize("executor", ["interpret", "c"])
@pytest.mark.parametrize("types", [("u8", "s32"), ("s8", "f32"), ("f32", "f64")])
def test_tiles_that_convert_may_ask(types: tuple[str, str], executor: Executor) -> None:
    source, destination = layoutc.desc("ab", (68, 300), types[0]), layoutc.desc("ba", (68, 300), types[1])
    head, line = plan_lines(choose_plan(source, destination, SMALL))
    tile = re.search(r"tile \d+x(\d+), lanes 0:\d+ ", line)
    assert tile is not None and ", prefetch" not in line.partition("normal stores")[0]
    line = line.replace(tile[0], f"tile 4x{tile[1]}, lanes 0:4 ").partition(", prefetch")[0] + ", prefetch 64 by tiles"
    check(source, destination, [head, line], executor)


def check(
    source: layoutc.MemoryDesc,
    destination: layoutc.MemoryDesc,
    lines: Sequence[str],
    executor: Executor,
    threads: int = 1,
) -> None:
    """Whether a plan writes what the reference does."""
    kernel = Kernel(source, destination, executor, plan=tuple(lines), threads=threads)
    read = np.random.default_rng(0).integers(0, 256, source.size_bytes, np.uint8)
    got, expected = (np.full(destination.size_bytes, 0xA5, np.uint8) for _ in range(2))
    reference.reorder(source, destination, read, expected)
    kernel(read, got)
    np.testing.assert_array_equal(got, expected)


def test_a_tile_asks_for_a_quarter_of_its_rows() -> None:
    """Of 64 rows of 16 bytes, 16 lines, and no load asks for any."""
    source, destination = sides("a matrix")
    lines = tuple(plan_lines(choose_plan(source, destination, SMALL)))
    text = Kernel(source, destination, "c", target="avx512", plan=lines).c_source
    (copy,) = planned("a matrix")
    found = lines_in_turn(copy)
    assert found is not None
    asked = text.count(" prefetch(src")
    assert asked == len(found.rows) == copy.tile[1] // found.turns
    loads = tuple(line.replace(" by tiles", "") for line in lines)
    assert Kernel(source, destination, "c", target="avx512", plan=loads).c_source.count(" prefetch(src") == 4 * asked


def test_explain_says_who_asks() -> None:
    explained = explain_plan(*sides("a matrix"), SMALL, 1)
    assert any("prefetch: each tile asks for its share" in line for line in explained)


REFUSED = {
    "loads of whole lines": ("lanes 0:16 -> 1:64", "lanes 0:64 -> 1:64", "tile 16x64", "tile 64x64"),
    "fewer rows than tiles": ("lanes 0:16 -> 1:64", "lanes 0:16 -> 1:2", "tile 16x64", "tile 16x2"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_tiles_that_cannot_ask_are_refused(name: str) -> None:
    source, destination = layoutc.desc("ab", (256, 512), "s8"), layoutc.desc("ba", (256, 512), "s8")
    head, line = plan_lines(choose_plan(source, destination, SMALL))
    assert "tile 16x64, lanes 0:16 -> 1:64" in line and line.endswith(" by tiles")
    changes = REFUSED[name]
    for old, new in zip(changes[::2], changes[1::2], strict=True):
        line = line.replace(old, new)
    with pytest.raises(LayoutcError, match=r"line 2: tiles ask for what lies ahead"):
        parse_plan([head, line])
