"""Macros for lanes of integers, each by itself: of every width, sign and size of a vector, in every build."""

from __future__ import annotations

import ctypes
from collections.abc import Mapping, Sequence
from itertools import product
from pathlib import Path

import numpy as np
import pytest

from layoutc.targets.helpers.c_vector_helpers import vector_prelude
from layoutc.targets.words.c_vector_types import VectorType
from tests.c_programs import compiled, compiler_named

BUILDS = [
    pytest.param(compiler, flags, id=f"{compiler}{''.join(flags)}")
    for compiler in ("gcc", "clang")
    for flags in ((), ("-msse4.1",), ("-march=x86-64-v3",), ("-march=native",))
]
BITS, SIZES = (8, 16, 32, 64), (2, 4, 8, 16, 32, 64)
EXTREMA = {"min": np.minimum, "max": np.maximum}


class Macros:
    """Functions of vectors in memory, each of which calls one macro."""

    def __init__(self, compiler: str, flags: Sequence[str], folder: Path, calls: Mapping[str, Sequence[VectorType]]):
        """Macros by their names, with the types of their operands and, last, of their result."""
        path = compiler_named(compiler)
        if path is None:
            pytest.skip(f"{compiler} is not here")
        self.calls = calls
        words = {*calls, *(str(type) for types in calls.values() for type in types)}
        functions = [_function(name, *types) for name, types in calls.items()]
        text = "\n".join(["#include <stdint.h>", *vector_prelude(words), *functions])
        self.library = compiled(text, path, folder, *flags, "-Wno-psabi", "-Wconversion")
        self.random = np.random.default_rng(0)

    def run(self, name: str) -> list[np.ndarray]:
        """Random operands, and the result."""
        types = self.calls[name]
        memory = np.zeros(64 * (len(types) + 1), np.uint8)
        start = -memory.ctypes.data % 64
        places = [memory[start + 64 * n :][: type.bytes] for n, type in enumerate(types)]
        for place in places[:-1]:
            place[:] = self.random.integers(0, 256, place.size)
        function = self.library(f"of_{name}", [ctypes.c_void_p] * len(types))
        function(*(ctypes.c_void_p(place.ctypes.data) for place in places))
        return [place.view(f"{type.kind}{type.bits // 8}") for place, type in zip(places, types, strict=True)]


def _function(name: str, *types: VectorType) -> str:
    *given, result = types
    parameters = ", ".join(f"const {type} *x{n}" for n, type in enumerate(given))
    operands = ", ".join(f"*x{n}" for n in range(len(given)))
    return f"void of_{name}({parameters}, {result} *to) {{ *to = {name}({operands}); }}"


def vectors(kind: str) -> list[VectorType]:
    found = [VectorType(kind, bits, 8 * size // bits) for size, bits in product(SIZES, BITS)]
    return [type for type in found if type.lanes > 1]


@pytest.mark.parametrize(("compiler", "flags"), BUILDS)
def test_extrema(compiler: str, flags: tuple[str, ...], tmp_path: Path) -> None:
    types = [*vectors("i"), *vectors("u")]
    macros = Macros(compiler, flags, tmp_path, {f"{name}_{type}": [type] * 3 for name in EXTREMA for type in types})
    for name in macros.calls:
        a, b, result = macros.run(name)
        np.testing.assert_array_equal(result, EXTREMA[name[:3]](a, b))


@pytest.mark.parametrize(("compiler", "flags"), BUILDS)
def test_wider_and_narrower(compiler: str, flags: tuple[str, ...], tmp_path: Path) -> None:
    calls = {
        f"resize_{source}_{target}": [source, target]
        for kind in "iu"
        for source, target in product(vectors(kind), repeat=2)
        if source.lanes == target.lanes and source.bits != target.bits
    }
    macros = Macros(compiler, flags, tmp_path, calls)
    for name in calls:
        given, result = macros.run(name)
        np.testing.assert_array_equal(result, given.astype(result.dtype))
