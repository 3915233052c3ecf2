"""Tiles that ask for the lines that they store into, and the op that they ask with."""

import ctypes
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import layoutc
from layoutc import reference
from layoutc.errors import LayoutcError
from layoutc.planning.choose import choose_plan
from layoutc.planning.machine import TARGETS
from layoutc.planning.moves.fetched_lines import with_fetched_lines
from layoutc.planning.plan_text import parse_plan, plan_lines
from layoutc.planning.plans.plan import Plan
from layoutc.planning.plans.turns import SharedLoop, Together
from layoutc.targets.errors import EmissionError
from layoutc.transforms.lower_reorders import LowerReordersPass  # noqa: F401  all ops are known
from tests.c_programs import compiled, compiler_named, emitted, parsed

MACHINE = replace(TARGETS["avx512"], shuffles="any", l1=48 << 10, l2=2 << 20)
TEXT = """
func.func @f(%m: memref<8x64xf32>, %i: index) {
  memref.prefetch %m[%i, %i], write, locality<3>, data : memref<8x64xf32>
  memref.prefetch %m[%i, %i], read, locality<0>, CACHE : memref<8x64xf32>
  func.return
}
"""


def planned(source: str, destination: str, dims: tuple[int, ...], dtype: str, to: str = "") -> Plan:
    pair = layoutc.desc(source, dims, dtype), layoutc.desc(destination, dims, to or dtype)
    return choose_plan(*pair, MACHINE)


def test_tiles_ask_for_lines_that_the_first_cache_does_not_hold() -> None:
    """Of 40 KiB on both sides it holds all; what goes past the caches is not asked for."""
    for dims, asks in (((250, 500), True), ((64, 80), False), ((2048, 2048), False)):
        (copy,) = planned("ab", "ba", dims, "f32").copies
        assert copy.fetches == asks


def test_what_becomes_narrower_asks_for_nothing() -> None:
    for source, destination in (("bf16", "f32"), ("f32", "bf16"), ("f32", "s32"), ("s8", "s4"), ("u8", "u2")):
        (copy,) = planned("ab", "ba", (512, 640), source, destination).copies
        assert copy.fetches == (destination in ("f32", "s32"))


def test_packed_elements_ask_for_the_last_byte_of_what_a_tile_stores() -> None:
    """A tile of 64 rows of s4 stores 32 bytes of each column; rows of 1023 begin inside of bytes, and swap none."""
    pair = layoutc.desc("ab", (512, 1023), "s4"), layoutc.desc("ba", (512, 1023), "s4")
    lines = tuple(plan_lines(choose_plan(*pair, MACHINE)))
    text = layoutc.Kernel(*pair, plan=lines, target="avx512").c_source
    first, *_ = re.findall(r"__builtin_prefetch\(dst \+ \(dst_offset \+ (\d+)\), 1, 3\);", text)
    assert int(first) == 31


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ("locality<7>", "got locality 7 of i32, expected 0 to 3"),
        ("%m[%i]", "got 1 indices, expected one for each of 2 dimensions"),
    ],
)
def test_ops_that_ask_for_nothing_that_there_is(change: str, message: str) -> None:
    text = TEXT.replace("CACHE", "data")
    text = text.replace("locality<0>", change) if "locality" in change else text.replace("%m[%i, %i]", change, 1)
    with pytest.raises(Exception, match=message):
        parsed(text).verify()


def test_copies_that_run_together_ask_unless_they_share_a_buffer() -> None:
    alone = planned("nChw16c", "nhwc", (2, 17, 56, 56), "f32")
    assert any(copy.fetches for copy in alone.copies if copy.target_lanes)
    shared = Together((SharedLoop(2, 1, 0, 0),), tuple(replace(copy, fetches=False) for copy in alone.copies), "staged")
    assert with_fetched_lines(Plan((shared,)), 1 << 20, MACHINE) == Plan((shared,))


def test_the_last_element_of_each_line_is_asked_for_before_the_first_load() -> None:
    """A row that a tile stores by several registers is asked for line by line."""
    for dims, destination, ends in (
        ((250, 500, 1), "bac", [15 + 250 * row for row in range(16)]),
        ((30, 40, 80), "bac", [15, 31, 47, 63, 79]),
    ):
        pair = layoutc.desc("abc", dims, "f32"), layoutc.desc(destination, dims, "f32")
        lines = tuple(plan_lines(choose_plan(*pair, MACHINE)))
        text = layoutc.Kernel(*pair, plan=lines, target="avx512").c_source
        found = re.findall(r"__builtin_prefetch\(dst \+ \(dst_offset \+ (\d+)\), 1, 3\);", text)
        assert list(map(int, found)) == ends
        assert text.rindex("__builtin_prefetch") < text.index("(src + ")


def test_the_text_of_a_copy_is_at_no_op_that_asks() -> None:
    """MLIR reads no attributes of `memref.prefetch`."""
    pair = layoutc.desc("ab", (4, 5), "f32"), layoutc.desc("ba", (4, 5), "f32")
    *head, line = plan_lines(choose_plan(*pair, MACHINE))
    kernel = layoutc.Kernel(*pair, plan=(*head, f"{line}, fetched lines"), target="avx512")
    asking = [text for text in kernel.ir().splitlines() if "memref.prefetch" in text]
    assert len(asking) == 2 and all("write, locality<3>, data : memref" in text for text in asking)
    assert f"// {line}, fetched lines\n" in kernel.c_source


def test_only_lanes_that_are_stored_into_lines_ask_for_them() -> None:
    head, line = plan_lines(planned("ab", "ba", (250, 500), "f32"))
    assert line.endswith("normal stores, fetched lines")
    assert parse_plan([head, line]).copies[0].fetches
    for stores in ("aligned", "staged", "nontemporal"):
        with pytest.raises(LayoutcError, match="lines are fetched for lanes"):
            parse_plan([head, line.replace("normal", stores)])


def test_the_op_is_read_printed_and_spelled() -> None:
    module = parsed(TEXT.replace("CACHE", "data"))
    assert str(parsed(str(module))) == str(module)
    text = emitted(TEXT.replace("CACHE", "data"))
    assert "  __builtin_prefetch(m + (i * 64 + i), 1, 3);\n  __builtin_prefetch(m + (i * 64 + i), 0, 0);\n" in text
    with pytest.raises(EmissionError, match=r"memref\.prefetch.*of instructions"):
        emitted(TEXT.replace("CACHE", "instr"))


CUT = "macro 8x256, outer 0 1, inner 0 1, staged stores"
WHOLE = "macro 8x700, outer 0 1, inner 0 1, staged stores"
BESIDE = "macro 8x700, outer 0 1, inner 0 1, staged stores, side by side"


@pytest.mark.parametrize(
    ("how", "expected"),
    [
        (CUT, [700 * row + at for row in range(40) for at in (0, 699)]),
        (WHOLE, [0, 27999]),  # all rows are one run
        (BESIDE, []),
    ],
)
def test_lines_in_which_rows_begin_and_end_are_asked_for_before_parts_of_them_are_stored(
    how: str, expected: list[int], tmp_path: Path
) -> None:
    """Of 40 rows of 700 bytes, once each, though macro tiles have parts of rows."""
    assert places_asked_for(700, how, 0, tmp_path) == expected


def places_asked_for(rows: int, how: str, into: int, folder: Path) -> list[int]:
    """
    Where in the destination a transpose of so many rows of 40 bytes asks for lines, and that it is right.

    The destination begins `into` bytes behind a line.
    """
    if (compiler := compiler_named("gcc") or compiler_named("clang")) is None:
        pytest.skip("no C compiler")
    pair = [layoutc.desc(name, (rows, 40), "s8") for name in ("ab", "ba")]
    line = f"copy 0 -> 0: 40x(1, {rows}) {rows}x(40, 1), elements of 1, vectors of 16, any shuffles, tile 8x16, "
    line += f"lanes 0:8 -> 1:16, {how}"
    text = layoutc.Kernel(pair[0], pair[1], "c", target="sse2", plan=("threads 1", line)).c_source
    asked = re.sub(r"__builtin_prefetch\(dst \+ (.*), 1, 3\);", r"note(\1);", text)
    counting = "#include <stdint.h>\nint64_t places[999], count;\nvoid note(int64_t at);\n"
    counting += "void note(int64_t at) { places[count++] = at; }\nint64_t *noted(void);\n"
    counting += "int64_t *noted(void) { return places; }\nint64_t many(void);\nint64_t many(void) { return count; }\n"
    declared = "void reorder(const int8_t *restrict src, int8_t *restrict dst);\n"
    symbol = compiled(counting + declared + asked, compiler, folder)
    source, memory = np.arange(40 * rows).astype(np.int8).reshape(rows, 40), np.zeros(40 * rows + 128, np.int8)
    start = -memory.ctypes.data % 64 + into
    destination = memory[start : start + 40 * rows].reshape(40, rows)
    symbol("reorder", (ctypes.c_void_p, ctypes.c_void_p))(source.ctypes.data, destination.ctypes.data)
    assert (destination == source.T).all()
    count = symbol("many", (), ctypes.c_int64)()
    return sorted(symbol("noted", (), ctypes.POINTER(ctypes.c_int64))()[:count])


@pytest.mark.parametrize(("into", "expected"), [(0, []), (8, [0, 28159])])
def test_runs_of_whole_lines_have_such_ends_where_the_destination_begins_inside_of_one(
    into: int, expected: list[int], tmp_path: Path
) -> None:
    """40 rows of 11 lines are one run, of which macro tiles have 8 rows."""
    asked = places_asked_for(704, WHOLE.replace("700", "704"), into, tmp_path)
    assert asked == expected


@pytest.mark.parametrize(("ahead", "length", "asks"), [(True, 64, True), (False, 64, False), (True, 333, False)])
def test_rows_that_begin_inside_of_bytes_ask_for_the_lines_of_these(ahead: bool, length: int, asks: bool) -> None:
    """If they are short, and what they come from is asked for ahead: `length` is that of a row in a macro tile."""
    pair = layoutc.desc("ab", (333, 50), "f32"), layoutc.desc("ba", (333, 50), "s4")
    line = "copy 0 -> 0: 50x(1, 333) 333x(50, 1), elements of 4 to 1/2, vectors of 64, any shuffles, tile 16x16, "
    line += f"lanes 0:16 -> 1:16, macro 16x{length}, outer 0 1, inner 0 1, packed stores"
    kernel = layoutc.Kernel(*pair, "interpret", plan=("threads 1", line + ", prefetch 4096" * ahead), target="avx512")
    asked = re.findall(r"__builtin_prefetch\(dst \+ (row_\w+), 0, 2\);", kernel.c_source)
    assert asked == ["row_start", "row_end"] * asks
    source = np.random.default_rng(0).normal(size=333 * 50).astype(np.float32)
    found, expected = np.full((2, kernel.destination_bytes), 0xA5, np.uint8)
    kernel(source, found)
    reference.reorder(*pair, source.view(np.uint8), expected)
    np.testing.assert_array_equal(found, expected)
