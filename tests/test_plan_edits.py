"""Plans that were edited by hand: what does not fit is an error, and all else is still the reorder."""

from __future__ import annotations

import pickle
import random
import re
import shutil
from collections.abc import Iterator
from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from xdsl.utils.exceptions import PassFailedException

import layoutc
from layoutc import desc
from layoutc.conversion import Conversion
from layoutc.errors import LayoutcError, PlanError
from layoutc.planning.choose import choose_plan
from layoutc.planning.copies.strided_copy import NotStridedError
from layoutc.planning.machine import TARGETS
from layoutc.planning.plan_text import parse_plan, plan_lines
from layoutc.transforms.plan_reorders import read_plan, read_plan_of
from tests.descriptors import PAIRS, pair
from tests.kernel_batches import c_text, failures
from tests.random_kernels import runnable, toolchain
from tests.random_reorders import MACHINES, NO_CACHE, PlannedKernel, random_kernel

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


def test_lanes_of_no_digit_are_named_before_what_follows_from_lanes() -> None:
    """What tiles ask for ahead of loads is counted in lanes."""
    head, line = transpose()
    edited = line.replace("lanes 0:16", "lanes 2:16") + ", prefetch 64 by tiles"
    with pytest.raises(LayoutcError, match="lanes 2:16 are not in a tile of 16x16"):
        parse_plan([head, edited])


WORDS = {
    "threads 1": ("thread 1", "thread", "expected 'threads', got 'thread'"),
    "1\n": ("0\n", "0", "expected a number of threads from 1 to 1024, got '0'"),
    "copy": ("move", "move", "expected 'copy', 'fill', 'together' or 'through a buffer', got 'move'"),
    "copy 0 ->": ("  copy 0 ->", "  copy", "expected 'copy', 'fill', 'together' or 'through a buffer', got ' '"),
    "48x(80, 1)": ("48x(80,1)", ",1)", "expected ', ', got ',1),'"),
    "48x(80, 1),": ("48x(80, 1)\t,", "\t,", "expected a blank and a digit, or ', elements of', got '\\t,'"),
    "80x(1, 48)": ("80(1, 48)", "(1, 48)", "expected 'x(', got '(1,'"),
    "80x(1, 48) ": ("80x(1, 48, 3) ", ", 3)", "expected ')', got ', 3)'"),
    "any": ("some", "some", "expected 'single shuffles', 'any shuffles',"),
    "tile": ("tiles", "tiles", "expected 'tile ', got 'tiles'"),
    "lanes 0:16": ("lanes 0 16", " 16 ->", "expected ':', got ' 16'"),
    "macro": ("makro", "makro", "expected 'macro', got 'makro'"),
    "normal stores": (
        "normal stores\r",
        "\r",
        "expected ', side by side', ', staged loads', ', unpacked loads', ', prefetch', ', fetched lines' or the",
    ),
    "vectors of 64": (f"vectors of {10**30}", "1000", "expected a number of at most 19 digits"),
    "normal": ("", " stores", "expected 'normal stores', 'nontemporal stores',"),
}
"""of the same plan: text, what it becomes, where the error is, and what it says"""


@pytest.mark.parametrize("text", WORDS)
def test_words_that_no_plan_has_are_errors_at_their_place(text: str) -> None:
    becomes, place, message = WORDS[text]
    lines = "\n".join(transpose())
    assert text in lines
    edited = lines.replace(text, becomes, 1)
    with pytest.raises(PlanError, match=re.escape(message)) as raised:
        parse_plan(edited.split("\n"))
    error = raised.value
    line, column = edited[: edited.index(place)].count("\n"), edited.index(place)
    column -= line * (len("threads 1") + 1)
    assert (error.line, error.column) == (line + 1, column)
    reason, quoted, caret = str(error).split("\n")
    assert reason.startswith(f"line {line + 1}, column {column + 1}: expected ")
    assert quoted[caret.index("^") :][:1] == place[0].replace("\t", " ").replace("\r", " ")
    assert str(pickle.loads(pickle.dumps(error))) == str(error)
    assert isinstance(error, layoutc.PlanError) and isinstance(error, layoutc.LayoutcError)


@pytest.mark.parametrize(
    ("tail", "message"),
    [
        (", prefetch", "expected a blank and elements ahead, got the end of the line"),
        (", prefetch64", "expected a blank and elements ahead, got '64'"),
        (", prefetch x", "expected elements ahead, got 'x'"),
        (", prefetch 0", "expected one element ahead or more, got '0'"),
        (", prefetch 64, side by side", "expected ' by tiles', ' twice', ', fetched lines' or the end of the line"),
        (", staged loads, side by side", "expected ', prefetch', ', fetched lines' or the end of the line"),
        (", fetched lines, prefetch 64", "expected the end of the line, got ', prefetch'"),
    ],
)
def test_words_behind_the_stores_have_an_order(tail: str, message: str) -> None:
    """What is expected is what may still follow."""
    head, line = transpose()
    with pytest.raises(PlanError, match=re.escape(message)):
        parse_plan([head, re.sub("stores.*", f"stores{tail}", line)])


def test_a_plan_of_another_reorder_is_an_error_that_names_the_copies() -> None:
    """In lines of copies that run together too."""
    source, destination = (desc(tag, (2, 17, 7, 9), "f32") for tag in ("nChw16c", "nhwc"))
    lines = plan_lines(choose_plan(source, destination, replace(TARGETS["avx2"], l2=1 << 11)))
    assert [line.split(" ")[0] for line in lines[:2]] == ["threads", "together:"] and len(lines) == 4
    for wrong, line, message in (
        ([*lines, lines[3].strip()], 5, "got 'copy 1008 -> 16: .*', expected no more copies for this reorder"),
        (lines[:3], 4, "got no more copies, expected 'copy 1008 -> 16: .*, elements of 4' for this reorder"),
        (lines[:2], 2, "no copy runs in these loops: expected lines below that begin with 2 blanks"),
        (transpose(), 2, "got 'copy 0 -> 0: .*', expected 'copy 0 -> 0: "),
    ):
        with pytest.raises(PlanError, match=f"line {line}: {message}"):
            read_plan(wrong, source, destination)
    read_plan([*lines[:2], lines[3], lines[2]], source, destination)


def test_a_converting_plan_of_another_reorder_is_an_error_that_names_the_copies() -> None:
    source, destination = desc("ab", (33, 40), "f32"), desc("ba", (33, 40), "s8")
    head, line = plan_lines(choose_plan(source, destination, TARGETS["avx512"]))
    for wrong, place, message in (
        ([head, line.replace("4 to 1", "4 to 2")], 2, "got 'copy 0 -> 0: .*4 to 2', expected 'copy 0 -> 0: .*4 to 1'"),
        ([head], 2, "got no more copies, expected 'copy 0 -> 0: "),
        ([head, line, line], 3, "got 'copy 0 -> 0: .*', expected no more copies"),
        ([head, "together: 33x(4, 4) by 1, in bytes", f"  {line}"], 3, "got 'copy 0 -> 0: .*', expected 'copy"),
    ):
        with pytest.raises(PlanError, match=f"line {place}: {message}"):
            read_plan_of(wrong, source, destination, Conversion())


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
    assert edited != line and "normal stores" in edited
    parse_plan([head, edited])
    with pytest.raises(LayoutcError, match="staged loads need a buffer of 2163264 bytes, expected at most 1048576"):
        parse_plan([head, re.sub("(normal stores).*", r"\1, staged loads", edited)])


def test_both_widths_of_a_conversion_are_checked() -> None:
    source, destination = desc("ab", (33, 40), "f32"), desc("ba", (33, 40), "s8")
    head, line = plan_lines(choose_plan(source, destination, TARGETS["avx512"]))
    assert "elements of 4 to 1" in line and line.endswith("staged loads")
    with pytest.raises(LayoutcError, match="line 2, column 54: expected the bytes of an element, from 1, got '0,'"):
        parse_plan([head, line.replace("4 to 1", "4 to 0")])
    for width in (3, 16, 1000, 2**31):
        straight = line.removesuffix(", staged loads").replace("4 to 1", f"{width} to 1 when stored")
        staged = (line.replace("4 to 1", becomes) for becomes in (f"4 to {width}", f"{width} to 1"))
        for edited in (*staged, straight):
            with pytest.raises(LayoutcError, match=f"got elements of {width} and vectors of 64 bytes, expected"):
                parse_plan([head, edited])


# --- any number changed ----------------------------------------------------------------------------------------------


def changed(count: int, target: str) -> Iterator[PlannedKernel]:
    """Random kernels with one number of their plan changed, those that are still plans."""
    for number in range(count):
        draw = random.Random(f"changed {number}")
        kernel = random_kernel(0, number, (target,))
        if kernel.plan is None:
            continue
        lines = plan_lines(kernel.plan)
        at = draw.choice([n for n, line in enumerate(lines) if re.search(r"\d", line)])
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


@pytest.mark.parametrize("number", range(20))
def test_what_is_planned_for_other_caches_can_be_read(number: int) -> None:
    """Who reads a plan does not know the caches, nor threads but by its first line."""
    kernel = random_kernel(9, number, tuple(MACHINES))
    target, sides = MACHINES[kernel.target], (kernel.source, kernel.destination)
    for llc, threads in product((NO_CACHE, 1 << 40), (1, 3)):
        try:
            plan = choose_plan(*sides, replace(target, llc=llc), threads, kernel.conversion)
        except NotStridedError:
            continue
        assert read_plan_of(plan_lines(plan), *sides, kernel.conversion) == plan


def test_channels_that_leave_a_buffer_are_runs_of_it() -> None:
    """Two rows of 17 lie apart in the buffer, where a register would have parts of both."""
    line = (
        "copy 0 -> 0: 2x(4, 68) 4x(1, 17) 17x(8, 1), elements of 2 to 8, vectors of 16, any shuffles, tile 1x2x17, "
        "lanes 1:2 -> 2:17 1:2, macro 1x{}x17, outer 0 1 2, inner 2 1 0, staged stores"
    )
    assert parse_plan(["threads 1", line.format(4)]).copies[0].run == 68
    with pytest.raises(PlanError, match="line 2: staged stores keep runs of other digits than those of their lanes"):
        parse_plan(["threads 1", line.format(2)])


@pytest.mark.parametrize("element", ["u2", "u4"])
def test_zeros_between_images_are_of_the_elements_there(element: str) -> None:
    """Rows of 2-bit elements go into an image; what leaves the other is stored by rows, or element by element."""
    source, destination = desc("aB16b", (14, 38), "u2"), desc("Ab5a", (14, 38), element)
    lines = plan_lines(choose_plan(source, destination, TARGETS["sse2"]))
    assert any(line.startswith("  between, fill") for line in lines) and lines[-1].endswith("packed stores")
    edited = tuple(line.replace("packed stores", "normal stores") for line in lines)
    given = np.random.default_rng(5).integers(0, 256, source.size_bytes, np.uint8)
    expected, got = (np.full(destination.size_bytes, 0xAA, np.uint8) for _ in range(2))
    layoutc.Kernel(source, destination, "reference")(given, expected)
    layoutc.Kernel(source, destination, "interpret", plan=edited)(given, got)
    np.testing.assert_array_equal(got, expected)


def test_what_moves_converts_neither_when_loaded_nor_when_stored() -> None:
    """Registers of 32 elements of 4 bits, of which a store takes 16, are cut all the same."""
    source, destination = desc("ab", (16, 8), "u4", strides=(0, 1)), desc("ba", (16, 8), "u4", strides=(18, 1))
    lines = plan_lines(choose_plan(source, destination, TARGETS["avx2"]))
    assert "lanes 0:8 -> 1:16" in lines[1]
    given = np.random.default_rng(5).integers(0, 256, source.size_bytes, np.uint8)
    for when in ("loaded", "stored"):
        edited = tuple(line.replace("elements of 1/2 to 1/2", f"elements of 1/2 to 1/2 when {when}") for line in lines)
        expected, got = (np.full(destination.size_bytes, 0xAA, np.uint8) for _ in range(2))
        kernel = layoutc.Kernel(source, destination, executor="interpret", target="avx2", plan=edited)
        kernel(given, got)
        replace(kernel, executor="reference", plan=())(given, expected)
        np.testing.assert_array_equal(got, expected)


def test_a_fill_converts_nothing() -> None:
    line = (
        "fill -> 0: 8x(16, 16) 16x(1, 1), elements of 2 to 1/2{}, vectors of 32, any shuffles, tile 1x16, "
        "lanes - -> 1:16, macro 8x16, outer 0 1, inner 0 1, normal stores"
    )
    assert parse_plan(["threads 1", line.format("")]).copies[0].copy.is_fill
    for when in ("loaded", "stored"):
        with pytest.raises(PlanError, match="line 2: a fill converts nothing, neither when loaded nor when stored"):
            parse_plan(["threads 1", line.format(f" when {when}")])
