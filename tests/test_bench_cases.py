"""The benchmarks' cases: all executors agree on each at reduced size, and compilers take them as they are."""

from __future__ import annotations

import shutil
from functools import cache

import numpy as np
import pytest

from benchmarks.cases import named_cases
from layoutc import interpreter, reference
from layoutc.pipeline import lower
from tests.bench_kernels import COMPILERS, MACHINE, compiled, in_batches, reduced, whole
from tests.kernel_batches import POISON, failures, planned
from tests.random_kernels import runnable, toolchain
from tests.random_reorders import PlannedKernel

CASES = {case.name: case for case in named_cases()}
EVERY = 23
"""Of the kernels in full, one of so many is compiled; a number that divides no list of types."""
MOST_BYTES = 16_000
"""of a kernel's code: several times the largest, and far below one whose shuffles were taken apart"""


@cache
def reduced_kernels() -> dict[str, list[PlannedKernel]]:
    return {name: reduced(case) for name, case in CASES.items()}


def interpreted(kernel: PlannedKernel) -> tuple[np.ndarray, np.ndarray]:
    """What the strict interpreter and the reference write."""
    source, destination = kernel.source, kernel.destination
    module = planned(kernel, "reorder")
    lower(module)
    read = np.random.default_rng(0).integers(0, 256, source.size_bytes, np.uint8)
    written, expected = (np.full(destination.size_bytes, POISON, np.uint8) for _ in range(2))
    readable = np.zeros(source.span, np.bool_)
    readable[reference.offsets(source)] = True
    buffers = reference.storage("source", source, read), reference.storage("destination", destination, written)
    strict = {"write_once": (1,), "defined": {0: readable, 1: False}}
    interpreter.run(module, "reorder", *buffers, **strict, rewrite_same=kernel.plan is not None)
    reference.reorder(source, destination, read, expected)
    return written, expected


@pytest.mark.parametrize("name", CASES)
def test_interpreter_and_reference_agree(name: str) -> None:
    for kernel in reduced_kernels()[name]:
        np.testing.assert_array_equal(*interpreted(kernel), str(kernel))


@pytest.mark.skipif(shutil.which("gcc") is None, reason="no gcc")
@pytest.mark.parametrize("target", MACHINE)
def test_c_and_reference_agree(target: str) -> None:
    """The same kernels, between guard pages."""
    if target not in runnable((target,), "gcc"):
        pytest.skip(f"this processor does not run {target}")
    kernels = [kernel for found in reduced_kernels().values() for kernel in found if kernel.target == target]
    assert kernels
    assert failures(kernels, toolchain(target)) == []


def test_reduced_cases_keep_their_structure() -> None:
    """Most have tiles of registers, and all kinds of stores occur."""
    plans = [kernel.plan for found in reduced_kernels().values() for kernel in found if kernel.plan is not None]
    assert len(plans) >= 300
    assert sum(all(copy.target_lanes for copy in plan.copies) for plan in plans) > 0.9 * len(plans)
    copies = [copy for plan in plans for copy in plan.copies]
    assert {copy.store for copy in copies} == {"normal", "nontemporal", "staged"}


@pytest.mark.parametrize("target", MACHINE)
@pytest.mark.parametrize("compiler", COMPILERS)
def test_compilers_take_whole_kernels(compiler: str, target: str) -> None:
    """Without a warning, and without taking shuffles apart."""
    command = COMPILERS[compiler][target][0]
    if shutil.which(command) is None:
        pytest.skip(f"no {command}")
    (batch,) = in_batches(whole(CASES.values(), target)[::EVERY])
    assert max(made.text_bytes for made in compiled(batch, compiler)) < MOST_BYTES
