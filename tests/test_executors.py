"""Executors agree byte for byte: over the shared list of descriptors, over element sizes, and over random ones."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from hypothesis import given

import layoutc
from layoutc.descriptor import MemoryDesc
from layoutc.element_type import element_type
from layoutc.kernel_options import Executor
from layoutc.runtime import find_compiler
from tests.descriptors import PAIRS
from tests.strategies import many, reorders

ELEMENT_TYPES = ("u8", "bf16", "f32", "f64")
TARGETS = ("plain", "avx512", "avx2", "sse2")
"""what is planned for; the C of all of them is compiled for this machine"""
needs_compiler = pytest.mark.skipif(find_compiler() is None, reason="no C compiler")
POISON = 0xCD


def run(source: MemoryDesc, destination: MemoryDesc, executor: Executor, target: str = "native") -> bytes:
    """What an executor makes of distinct source elements and a poisoned destination."""
    random = np.random.default_rng(0)
    read = random.integers(0, 256, source.size_bytes, np.uint8)
    written = np.full(destination.size_bytes, POISON, np.uint8)
    before = read.copy()
    layoutc.compile(source, destination, executor=executor, target=target)(read, written)
    np.testing.assert_array_equal(read, before, "the source was written")
    return written.tobytes()


@cache
def by_definition(source: MemoryDesc, destination: MemoryDesc) -> bytes:
    return run(source, destination, "reference")


def typed(name: str, element: str) -> tuple[MemoryDesc, MemoryDesc]:
    """A pair of the shared list with other elements."""
    source, destination = (replace(d, element_type=element_type(element)) for d in PAIRS[name])
    return source, destination


def test_the_list_is_long_enough() -> None:
    assert len(PAIRS) >= 60


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("name", PAIRS)
def test_interpreter_agrees_with_reference(name: str, target: str) -> None:
    for element in ELEMENT_TYPES if target == "plain" else ("u8", "f32"):
        pair = typed(name, element)
        assert run(*pair, "interpret", target) == by_definition(*pair), element


@needs_compiler
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("element", ELEMENT_TYPES)
def test_c_agrees_with_reference(element: str, target: str) -> None:
    """One shared object for the whole list: a function per pair."""
    from xdsl.dialects.builtin import ModuleOp

    from layoutc.pipeline import lower, reorder_module
    from layoutc.runtime import build, load
    from layoutc.targets.c import emit_c

    pairs = [typed(name, element) for name in PAIRS]
    module = ModuleOp([])
    for number, pair in enumerate(pairs):
        for op in list(reorder_module(*pair, name=f"reorder_{number}").ops):
            op.detach()
            module.body.block.add_op(op)
    lower(module, target=target, threads=2)
    library = build(emit_c(module))
    import ctypes

    for number, (name, pair) in enumerate(zip(PAIRS, pairs, strict=True)):
        source, destination = pair
        function = load(library, f"reorder_{number}", (ctypes.c_void_p, ctypes.c_void_p))
        read = np.random.default_rng(0).integers(0, 256, source.size_bytes, np.uint8)
        written = np.full(destination.size_bytes, POISON, np.uint8)
        function(read.ctypes.data, written.ctypes.data)
        assert written.tobytes() == by_definition(*pair), name


@needs_compiler
@pytest.mark.parametrize("name", ["nchw to nChw8c", "6 to 16", "border of the destination", "rank 0"])
def test_kernels_of_all_executors_agree(name: str) -> None:
    pair = PAIRS[name]
    assert run(*pair, "c") == run(*pair, "interpret") == by_definition(*pair)


@many(150)
@given(reorders())
def test_interpreter_agrees_on_random_reorders(pair: tuple[MemoryDesc, MemoryDesc]) -> None:
    for target in ("plain", "avx2"):
        assert run(*pair, "interpret", target) == run(*pair, "reference")


@needs_compiler
@many(25)
@given(reorders())
def test_c_agrees_on_random_reorders(pair: tuple[MemoryDesc, MemoryDesc]) -> None:
    assert run(*pair, "c") == run(*pair, "reference")
