"""Destinations that do not start at a cache line: whole lines leave a buffer, wherever they are."""

from __future__ import annotations

import ctypes
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from xdsl.dialects.builtin import ArrayAttr, ModuleOp, StringAttr

from layoutc import interpreter, reference
from layoutc.compiler import find_compiler
from layoutc.descriptor import MemoryDesc
from layoutc.dialects.ops import ReorderOp
from layoutc.errors import LayoutcError
from layoutc.kernel import Kernel
from layoutc.notations import desc
from layoutc.pipeline import lower, reorder_module
from layoutc.planning.choose import choose_plan
from layoutc.planning.machine import LINE, TARGETS, machine
from layoutc.planning.plan_text import plan_lines
from layoutc.runtime import build, load
from layoutc.targets.c import emit_c

PAIRS = {
    "rows": (desc("ab", (65, 300), "s16"), desc("ba", (65, 300), "s16")),
    "chunks": (desc("nchw", (2, 5, 12, 20), "f32"), desc("nhwc", (2, 5, 12, 20), "f32")),
}


def staged(source: MemoryDesc, destination: MemoryDesc) -> ModuleOp:
    """The reorder, lowered by a plan for tensors that no cache holds."""
    plan = choose_plan(source, destination, replace(TARGETS["avx2"], llc=0))
    assert {copy.store for copy in plan.copies} == {"staged"}
    module = reorder_module(source, destination)
    for op in module.walk():
        if isinstance(op, ReorderOp):
            op.plan = ArrayAttr(map(StringAttr, plan_lines(plan)))
    lower(module)
    return module


def at(address: int, size: int) -> np.ndarray:
    """Poisoned bytes that start so many bytes behind a cache line."""
    memory = np.full(size + 2 * LINE, 0xA5, np.uint8)
    start = -memory.ctypes.data % LINE + address
    return memory[start : start + size]


@pytest.mark.skipif(find_compiler() is None, reason="no C compiler is here")
@pytest.mark.parametrize("name", PAIRS)
def test_every_line_is_written_past_the_caches(name: str) -> None:
    """Counted by a helper that notes each non-temporal store that cannot be one."""
    source, destination = PAIRS[name]
    answer = "  return (uintptr_t)address % size == 0;\n"
    text = emit_c(staged(source, destination))
    assert answer in text
    counted = "  asked++;\n  refused += (uintptr_t)address % size != 0;\n" + answer
    path = build("int asked, refused;\n" + text.replace(answer, counted))
    run = load(path, "reorder", (ctypes.c_void_p, ctypes.c_void_p))
    read = np.random.default_rng(0).integers(0, 256, source.size_bytes, np.uint8)
    expected = at(0, destination.size_bytes)
    reference.reorder(source, destination, read, expected)
    width = destination.element_type.bits // 8
    for address in range(0, LINE, width):
        written = at(address, destination.size_bytes)
        run(read.ctypes.data, written.ctypes.data)
        np.testing.assert_array_equal(written, expected)
    asked, refused = (ctypes.c_int.in_dll(ctypes.CDLL(str(path)), symbol).value for symbol in ("asked", "refused"))
    assert asked > LINE // width * destination.size_bytes // LINE
    assert refused == 0


@pytest.mark.parametrize("address", [0, 4, 16, 60])
def test_interpreted_code_asks_for_the_address_too(address: int) -> None:
    source, destination = PAIRS["chunks"]
    read = np.random.default_rng(0).random(source.span, np.float32)
    written = at(address, destination.size_bytes).view(np.float32)
    expected = np.zeros_like(written)
    reference.reorder(source, destination, read, expected)
    module = staged(source, destination)
    interpreter.run(module, "reorder", read, written, write_once=(1,), defined={1: False}, rewrite_same=True)
    np.testing.assert_array_equal(written, expected)


@pytest.mark.parametrize(
    ("alignment", "store"), [(4096, "nontemporal"), (64, "nontemporal"), (32, "staged"), (1, "staged")]
)
def test_stores_need_no_buffer_only_where_destinations_start_at_a_line(alignment: int, store: str) -> None:
    target = replace(machine("avx512", alignment), llc=0)
    plan = choose_plan(desc("ab", (1024, 1100), "f32"), desc("ba", (1024, 1100), "f32"), target)
    assert {copy.store for copy in plan.copies} == {store}


@pytest.mark.skipif(find_compiler() is None, reason="no C compiler is here")
@pytest.mark.parametrize("threads", [1, 3])
def test_a_call_runs_the_kernel_for_the_destinations_address(threads: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """As most arrays of NumPy start within a line; on a machine whose caches hold nothing."""
    monkeypatch.setattr("layoutc.kernel.machine", lambda *names: replace(machine(*names), llc=0))
    kernel = Kernel(desc("ab", (600, 1000), "f32"), desc("ba", (600, 1000), "f32"), "c", threads=threads)
    read = np.random.default_rng(0).random((600, 1000), np.float32)
    built: list[int] = []
    make = Kernel.shared_object
    monkeypatch.setattr(Kernel, "shared_object", lambda self: built.append(self.alignment) or make(self))
    for address, expected in ((0, [64]), (16, [64, 1]), (4, [64, 1]), (0, [64, 1])):
        written = at(address, kernel.destination_bytes)
        kernel(read, written)
        np.testing.assert_array_equal(written.view(np.float32).reshape(1000, 600), read.T)
        assert built == expected


def test_a_given_plan_runs_at_any_address(monkeypatch: pytest.MonkeyPatch) -> None:
    source, destination = desc("ab", (600, 1000), "f32"), desc("ba", (600, 1000), "f32")
    lines = tuple(plan_lines(choose_plan(source, destination, machine("generic"))))
    kernel = Kernel(source, destination, "c", plan=lines)
    monkeypatch.setattr(Kernel, "_at_any_address", None)
    monkeypatch.setattr("layoutc.kernel.machine", lambda *names: replace(machine(*names), llc=0))
    read, written = np.ones((600, 1000), np.float32), at(16, destination.size_bytes)
    kernel(read, written)
    assert (written.view(np.float32) == 1).all()


@pytest.mark.parametrize("alignment", [0, -64, 48, 8192, True, 64.0, "64"])
def test_an_alignment_that_is_none(alignment: object) -> None:
    wrong: Any = {"alignment": alignment}
    with pytest.raises(LayoutcError, match=rf"^got an alignment of {alignment!r} bytes, expected a power of two up to"):
        Kernel(*PAIRS["rows"], **wrong)
