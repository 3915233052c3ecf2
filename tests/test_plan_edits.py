"""Plans that were edited by hand: what does not fit is an error, and all else is still the reorder."""

from __future__ import annotations

import random
import re
import shutil
from collections.abc import Iterator
from dataclasses import replace

import pytest
from xdsl.utils.exceptions import PassFailedException

from layoutc import desc
from layoutc.errors import LayoutcError
from layoutc.planning.choose import choose_plan
from layoutc.planning.machine import TARGETS
from layoutc.planning.plan_text import parse_plan, plan_lines
from tests.descriptors import PAIRS, pair
from tests.kernel_batches import c_text, failures
from tests.random_kernels import runnable, toolchain
from tests.random_reorders import PlannedKernel, random_kernel

EDITS = {
    "elements of 4": (
        "elements of 3",
        "got elements of 3 and vectors of 64 bytes, expected elements of 1, 2, 4 or 8 and ",
    ),
    "vectors of 64": ("vectors of 8", "got elements of 4 and vectors of 8 bytes, expected "),
    "lanes 0:16": ("lanes 2:16", "lanes 2:16 are not in a tile of 16x16"),
    "-> 1:16": ("-> 1:32", "lanes 1:32 are not in a tile of 16x16"),
    "lanes 0:16 ->": ("lanes 1:16 ->", "lanes 1:16 are 80 elements apart, expected 1"),
    "-> 1:16,": ("-> 1:8 0:2,", "lanes 1:8 do not end the lanes, expected all 48"),
    "lanes 0:16 -> 1:16": ("lanes - -> 1:16", "got lanes of loads or of stores alone, expected both or neither"),
    "16x16, lanes 0:16 -> 1:16": ("16x16, lanes - -> -", "got tile 16x16 without lanes, expected at most 1 in all"),
    "tile 16x16": ("tile 32x48", "got tile 32x48, expected powers of two"),
    "vectors of 64, any": ("vectors of 16, any", "a vector of 16 bytes has 4 lanes, got more"),
    "normal stores": (
        "normal stores, prefetch 9999999999999999",
        "got prefetch 9999999999999999, expected at most 2^40",
    ),
}
"""of the transpose of 48 x 80 f32: text, what it becomes, the error"""


def transpose() -> list[str]:
    machine = replace(TARGETS["avx512"], shuffles="any")
    return plan_lines(choose_plan(*pair((48, 80), "ab", "ba"), machine))


@pytest.mark.parametrize("text", EDITS)
def test_parts_that_do_not_fit_are_named(text: str) -> None:
    head, line = transpose()
    becomes, message = EDITS[text]
    assert text in line
    with pytest.raises(LayoutcError, match=re.escape(message)):
        parse_plan([head, line.replace(text, becomes)])


def test_channels_that_do_not_fit_are_named() -> None:
    head, line = plan_lines(choose_plan(*pair((3, 640), "ab", "ba"), TARGETS["avx2"]))
    assert ", tile 8x3, lanes 0:8 -> 1:3 0:8," in line
    for becomes in (
        "tile 8x3, lanes 1:3 0:8 -> 1:3 0:8",
        "tile 8x3, lanes 0:4 -> 1:3 0:4",
        "tile 4x3, lanes 0:4 -> 1:3",
    ):
        with pytest.raises(LayoutcError):
            parse_plan([head, line.replace("tile 8x3, lanes 0:8 -> 1:3 0:8", becomes)])


def test_buffers_that_do_not_fit_the_stack_are_refused() -> None:
    """A macro tile may be the whole copy, but not in a buffer."""
    head, line = plan_lines(choose_plan(*pair((520, 1040), "ab", "ba"), TARGETS["avx2"]))
    edited = re.sub(r"macro \d+x\d+", "macro 1040x520", line)
    assert edited != line and edited.endswith("normal stores")
    parse_plan([head, edited])
    with pytest.raises(LayoutcError, match="staged loads need a buffer of 2163264 bytes, expected at most 1048576"):
        parse_plan([head, edited + ", staged loads"])


def test_both_widths_of_a_conversion_are_checked() -> None:
    source, destination = desc("ab", (33, 40), "f32"), desc("ba", (33, 40), "s8")
    head, line = plan_lines(choose_plan(source, destination, TARGETS["avx512"]))
    assert "elements of 4 to 1" in line and line.endswith("staged loads")
    with pytest.raises(LayoutcError, match="is no copy of a plan"):
        parse_plan([head, line.replace("4 to 1", "4 to 0")])
    for width in (3, 16, 1000, 2**31):
        for becomes in (f"4 to {width}", f"{width} to 1", f"{width} to 1 when stored"):
            with pytest.raises(LayoutcError, match=f"got elements of {width} and vectors of 64 bytes, expected"):
                parse_plan([head, line.replace("4 to 1", becomes)])


# --- any number changed ----------------------------------------------------------------------------------------------


def changed(count: int, target: str) -> Iterator[PlannedKernel]:
    """Random kernels with one number of their plan changed, those that are still plans."""
    for number in range(count):
        draw = random.Random(f"changed {number}")
        kernel = random_kernel(0, number, (target,))
        if kernel.plan is None:
            continue
        lines = plan_lines(kernel.plan)
        at = draw.randrange(len(lines))
        place = draw.choice(list(re.finditer(r"\d+", lines[at])))
        value = int(place[0])
        other = draw.choice((value + 1, max(0, value - 1), 2 * value, value // 2, 0, 1, 3, 8, 16))
        lines[at] = lines[at][: place.start()] + str(other) + lines[at][place.end() :]
        try:
            kernel = replace(kernel, plan=parse_plan(lines))
            c_text([kernel])
        except (LayoutcError, PassFailedException):
            continue
        yield kernel


@pytest.mark.skipif(shutil.which("gcc") is None, reason="no gcc")
@pytest.mark.parametrize("target", ["avx2"])
def test_changed_plans_are_refused_or_right(target: str) -> None:
    if target not in runnable((target,), "gcc"):
        pytest.skip(f"this processor does not run {target}")
    kernels = list(changed(150, target))
    assert len(kernels) > 30
    assert failures(kernels, toolchain(target)) == []


def test_plans_of_the_planner_pass() -> None:
    for source, destination in PAIRS.values():
        for target in TARGETS.values():
            try:
                plan = choose_plan(source, destination, target)
            except LayoutcError:
                continue
            assert parse_plan(plan_lines(plan)) == plan
