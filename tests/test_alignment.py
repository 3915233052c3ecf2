"""Destinations that do not start at a cache line: staged stores find the lines, wherever they are."""

from __future__ import annotations

import ctypes
from dataclasses import replace

import numpy as np
import pytest
from xdsl.dialects.builtin import ArrayAttr, ModuleOp, StringAttr

from layoutc import interpreter, reference
from layoutc.compiler import find_compiler
from layoutc.descriptor import MemoryDesc
from layoutc.dialects.ops import ReorderOp
from layoutc.notations import desc
from layoutc.pipeline import lower, reorder_module
from layoutc.planning.choose import choose_plan
from layoutc.planning.machine import TARGETS
from layoutc.planning.plan import LINE
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
