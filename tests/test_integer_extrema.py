"""The lesser and the greater of two integers, lane by lane: of every width, sign and register, in every build."""

from __future__ import annotations

import ctypes
from pathlib import Path

import numpy as np
import pytest

from layoutc.targets.helpers.c_lane_helpers import lane_helpers
from layoutc.targets.helpers.c_vector_helpers import vector_prelude
from layoutc.targets.words.c_vector_types import VectorType
from tests.c_programs import compiled, compiler_named

BUILDS = [(), ("-msse4.1",), ("-march=x86-64-v3",), ("-march=native",)]
TYPES = [
    VectorType(kind, bits, 8 * size // bits) for size in (8, 16, 32, 64) for bits in (8, 16, 32, 64) for kind in "iu"
]
NAMES = {"min": np.minimum, "max": np.maximum}


@pytest.mark.parametrize("compiler", ["gcc", "clang"])
@pytest.mark.parametrize("flags", BUILDS, ids=lambda flags: "".join(flags) or "baseline")
def test_extrema(compiler: str, flags: tuple[str, ...], tmp_path: Path) -> None:
    path = compiler_named(compiler)
    if path is None:
        pytest.skip(f"{compiler} is not here")
    helpers = {f"{name}_{type}" for name in NAMES for type in TYPES if type.lanes > 1}
    types = {str(type) for type in TYPES}
    functions = [
        f"void of_{helper}(const {type} *a, const {type} *b, {type} *c) {{ *c = {helper}(*a, *b); }}"
        for helper in sorted(helpers)
        for type in [helper.partition("_")[2]]
    ]
    text = "\n".join(["#include <stdint.h>", *vector_prelude(types | helpers), *functions])
    assert lane_helpers(helpers)
    library = compiled(text, path, tmp_path, *flags, "-Wno-psabi", "-Wconversion")
    random = np.random.default_rng(0)
    memory = np.zeros(4 * 64, np.uint8)
    start = -memory.ctypes.data % 64
    for helper in helpers:
        name, _, named = helper.partition("_")
        type = VectorType.named(named)
        a, b, c = (memory[start + 64 * n : start + 64 * n + type.bytes] for n in range(3))
        a[:], b[:] = (random.integers(0, 256, type.bytes) for _ in range(2))
        library(f"of_{helper}", [ctypes.c_void_p] * 3)(*(ctypes.c_void_p(each.ctypes.data) for each in (a, b, c)))
        dtype = np.dtype(f"{type.kind}{type.bits // 8}")
        np.testing.assert_array_equal(c.view(dtype), NAMES[name](a.view(dtype), b.view(dtype)))
