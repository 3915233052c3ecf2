"""Macros for lanes, each by itself: of every width, sign and size of a vector, in every build."""

from __future__ import annotations

import ctypes
from collections.abc import Mapping, Sequence
from functools import cache
from itertools import product, zip_longest
from pathlib import Path

import numpy as np
import pytest

from layoutc.targets.helpers.c_number_helpers import is_by_parts
from layoutc.targets.helpers.c_vector_helpers import vector_prelude
from layoutc.targets.words.c_vector_types import VectorType
from tests.c_programs import compiled, compiler_named

BUILDS = [
    pytest.param(compiler, flags, id=f"{compiler}{''.join(flags)}")
    for compiler in ("gcc", "clang")
    for flags in ((), ("-msse4.1",), ("-march=x86-64-v3",), ("-march=native",))
]
BITS, SIZES = (8, 16, 32, 64), (2, 4, 8, 16, 32, 64)
HEADERS = "#include <stdint.h>\n#ifdef __F16C__\n#include <immintrin.h>\n#endif"
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
        text = "\n".join([HEADERS, *vector_prelude(words), *functions])
        self.library = cache(compiled(text, path, folder, *flags, "-Wno-psabi", "-Wconversion"))
        self.random = np.random.default_rng(0)

    def run(self, name: str, *values: np.ndarray) -> list[np.ndarray]:
        """Operands, which are random bits unless they are given, and the result."""
        types = self.calls[name]
        memory = np.zeros(64 * (len(types) + 1), np.uint8)
        start = -memory.ctypes.data % 64
        places = [memory[start + 64 * n :][: type.bytes] for n, type in enumerate(types)]
        bits = [value.view(np.uint8) for value in values]
        for place, given in zip_longest(places[:-1], bits):
            place[:] = self.random.integers(0, 256, place.size) if given is None else given
        function = self.library(f"of_{name}", (ctypes.c_void_p,) * len(types))
        function(*(ctypes.c_void_p(place.ctypes.data) for place in places))
        return [place.view(f"{type.kind}{type.bits // 8}") for place, type in zip(places, types, strict=True)]

    def run_along(self, name: str, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Vector by vector, as many as are whole: all that was given to a macro of one operand, and all results."""
        lanes = self.calls[name][0].lanes
        ran = [self.run(name, values[start : start + lanes]) for start in range(0, len(values) - lanes + 1, lanes)]
        given, results = zip(*ran, strict=True)
        return np.concatenate(given), np.concatenate(results)


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


@pytest.mark.parametrize(("compiler", "flags"), BUILDS)
def test_numbers_of_64_bits(compiler: str, flags: tuple[str, ...], tmp_path: Path) -> None:
    types = [*vectors("i"), *vectors("u"), *(type for type in vectors("f") if type.bits > 16)]
    pairs = [pair for pair in product(types, repeat=2) if pair[0].lanes == pair[1].lanes and is_by_parts(*pair)]
    macros = Macros(compiler, flags, tmp_path, {f"number_{a}_as_{b}": [a, b] for a, b in pairs})
    for (source, target), name in zip(pairs, macros.calls, strict=True):
        integers = target if source.kind == "f" else source
        numbers = numbers_of_64_bits(integers.kind)
        if source.kind == "f":
            numbers = as_floats_within(numbers, f"f{source.bits // 8}", integers.kind)
        given, result = macros.run_along(name, numbers)
        wrong = (result != given.astype(result.dtype)).nonzero()[0][: source.lanes]
        assert not wrong.size, f"{name} of {given[wrong]} is {result[wrong]}"


def numbers_of_64_bits(kind: str) -> np.ndarray:
    """Integers of every size, and those beside the numbers of f64 and f32 and beside what lies between two of these."""
    random = np.random.default_rng(1)
    powers = np.left_shift(np.uint64(1), np.arange(64, dtype=np.uint64))
    ones = powers - np.uint64(1)
    halves = [power | power >> np.uint64(places) for power in powers for places in (23, 24, 25, 52, 53, 54)]
    middles = np.array(halves, np.uint64)
    random_ones = random.integers(0, 2**64, 512, np.uint64) >> random.integers(0, 64, 512, np.uint64)
    beside = [each + np.array(step, np.int64).view(np.uint64) for each in (powers, middles) for step in (-1, 1)]
    found = np.concatenate((powers, ones, middles, *beside, random_ones, np.zeros(4, np.uint64)))
    return found if kind == "u" else np.concatenate((found, np.uint64(0) - found)).view(np.int64)


def as_floats_within(numbers: np.ndarray, type: str, kind: str) -> np.ndarray:
    """As floats that are numbers of that kind again, and some with fractions."""
    floats = numbers.astype(type)
    floats = np.concatenate((floats, floats / np.dtype(type).type(4096), -np.zeros(4, type)))
    least, most = (0.0, 2.0**64) if kind == "u" else (-(2.0**63), 2.0**63)
    return floats[(floats >= least) & (floats < most)]


@pytest.mark.parametrize(("compiler", "flags"), BUILDS)
def test_f16(compiler: str, flags: tuple[str, ...], tmp_path: Path) -> None:
    pairs = {lanes: (VectorType("u", 16, lanes), VectorType("f", 32, lanes)) for lanes in (4, 8, 16)}
    calls = {f"{name}_f16_{f32}": pair for f16, f32 in pairs.values() for name, pair in _both_ways(f16, f32).items()}
    macros, codes = Macros(compiler, flags, tmp_path, calls), np.arange(0, 2**16, 5, dtype=np.uint16)
    for _, f32 in pairs.values():
        given, numbers = macros.run_along(f"widen_f16_{f32}", codes)
        number = given.view(np.float16).astype(np.float32)
        quiet = np.where(np.isnan(number), 1 << 22, 0)
        np.testing.assert_array_equal(numbers.view(np.uint32), number.view(np.uint32) | quiet)
        beside, back = macros.run_along(f"narrow_f16_{f32}", np.nextafter(numbers, np.float32(0)))
        np.testing.assert_array_equal(back, beside.astype(np.float16).view(np.uint16))


def _both_ways(f16: VectorType, f32: VectorType) -> dict[str, list[VectorType]]:
    return {"widen": [f16, f32], "narrow": [f32, f16]}
