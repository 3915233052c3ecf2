"""Copies that fill lines together, run against the reference: wherever lines start, with one thread and with more."""

from __future__ import annotations

import shutil
from dataclasses import replace
from itertools import product

import pytest

import layoutc
from tests.kernel_batches import failures
from tests.random_kernels import runnable, toolchain
from tests.random_reorders import PlannedKernel
from tests.test_planning import STAGED, staged_plan


@pytest.mark.skipif(shutil.which("gcc") is None, reason="no gcc")
@pytest.mark.parametrize("target", ["avx512", "sse2"])
def test_shared_buffers_leave_whole_lines(target: str) -> None:
    if target not in runnable((target,), "gcc"):
        pytest.skip(f"this processor does not run {target}")
    kernels: list[PlannedKernel] = []
    for (source, destination, dims, _), element, threads in product(STAGED, ("s8", "bf16", "f64"), (1, 3)):
        plan = replace(staged_plan(source, destination, dims, element, target), threads=threads)
        descs = layoutc.desc(source, dims, element), layoutc.desc(destination, dims, element)
        kernels.append(PlannedKernel(len(kernels), *descs, target, plan))
    assert failures(kernels, toolchain(target)) == []
