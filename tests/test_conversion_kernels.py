"""Every pair of element types, by every executor: the same bytes on all interesting values."""

from __future__ import annotations

import ctypes
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from xdsl.dialects import arith
from xdsl.dialects.builtin import ModuleOp
from xdsl.parser import Parser
from xdsl.transforms.canonicalize import CanonicalizePass

import layoutc
from layoutc import reference
from layoutc.conversion import NO_ATTRIBUTES, Conversion
from layoutc.descriptor import MemoryDesc
from layoutc.element_type import ElementType
from layoutc.interpreted import interpreted
from layoutc.pipeline import lower, make_context, reorder_module
from layoutc.targets.c import emit_c
from layoutc.walk import of_kind, operands, ops_of
from tests.c_programs import compiled, compiler_named
from tests.conversions import ALL, PAIRS, in_memory, interesting_codes
from tests.descriptors import layout

POISON = 0xA5
BUILDS = (
    ("gcc", ("-O2",)),
    ("gcc", ("-O3", "-march=native", "-ffp-contract=fast")),
    ("clang", ("-O2", "-march=native")),
)
SMALL = {"plain": ("ab", "ab"), "transposed": ("ab", "ba"), "blocked": ("ab", "aB4b"), "tailed": ("ba", "AB4a2b")}
SMALL_DIMS = {"plain": (3, 5), "transposed": (3, 5), "blocked": (3, 8), "tailed": (5, 3)}


def sides(kind: str, source: ElementType, destination: ElementType) -> tuple[MemoryDesc, MemoryDesc]:
    """The descriptors of one kind of reorder: `values` has a place for each interesting code."""
    if kind == "values":
        dims = (len(interesting_codes(source)),)
        return MemoryDesc(dims, source, layout("a")), MemoryDesc(dims, destination, layout("a"))
    tags, dims = SMALL[kind], SMALL_DIMS[kind]
    return MemoryDesc(dims, source, layout(tags[0])), MemoryDesc(dims, destination, layout(tags[1]))


def source_bytes(kind: str, source: ElementType, destination: ElementType) -> np.ndarray:
    if kind == "values":
        return in_memory(interesting_codes(source), source)
    codes = interesting_codes(source)
    size = sides(kind, source, destination)[0].elements
    return in_memory(np.random.default_rng(2).choice(codes, size), source)


@cache
def by_definition(kind: str, source: ElementType, destination: ElementType) -> np.ndarray:
    src, dst = sides(kind, source, destination)
    written = np.full(dst.size_bytes, POISON, np.uint8)
    reference.reorder(src, dst, source_bytes(kind, source, destination), written)
    return written


KINDS = ("values", *SMALL)


def module_of(kind: str, source: str, build: int | None = None) -> ModuleOp:
    """A function from one type to each of the others, lowered; those for one of the builds."""
    module = ModuleOp([])
    for pair in PAIRS:
        if pair[0].name == source and (build is None or is_built(build, kind, pair)):
            for op in list(reorder_module(*sides(kind, *pair), name=f"{kind}_{pair[0]}_{pair[1]}").ops):
                op.detach()
                module.body.block.add_op(op)
    lower(module)
    return module


@pytest.mark.parametrize("source", ALL)
def test_interpreter_agrees_with_reference(source: str) -> None:
    for kind in KINDS:
        module = module_of(kind, source)
        for pair in PAIRS:
            if pair[0].name != source:
                continue
            src, dst = sides(kind, *pair)
            written = np.full(dst.size_bytes, POISON, np.uint8)
            run = interpreted(module, f"{kind}_{pair[0]}_{pair[1]}", src, dst, NO_ATTRIBUTES, is_plain=True)
            run(source_bytes(kind, *pair), written)
            check(kind, pair, written)


def is_built(build: int, kind: str, pair: tuple[ElementType, ElementType]) -> bool:
    """All values are for every build; a small reorder, where the same is converted in other loops, for one of them."""
    return kind == "values" or (KINDS.index(kind) + PAIRS.index(pair)) % len(BUILDS) == build


def program(build: int, source: str) -> str:
    """One C file with the reorders from a type that are for a build."""
    module = ModuleOp([])
    for kind in KINDS:
        for op in list(module_of(kind, source, build).ops):
            op.detach()
            module.body.block.add_op(op)
    return emit_c(module)


@pytest.mark.parametrize(("compiler", "flags"), BUILDS, ids=[" ".join((name, *flags)) for name, flags in BUILDS])
@pytest.mark.parametrize("source", ALL)
def test_c_agrees_with_reference(source: str, compiler: str, flags: tuple[str, ...], tmp_path: Path) -> None:
    path = compiler_named(compiler)
    if path is None:
        pytest.skip(f"no {compiler}")
    build = BUILDS.index((compiler, flags))
    load = compiled(program(build, source), path, tmp_path, *flags)
    for kind in KINDS:
        for pair in PAIRS:
            if pair[0].name != source or not is_built(build, kind, pair):
                continue
            written = np.full(sides(kind, *pair)[1].size_bytes, POISON, np.uint8)
            read = source_bytes(kind, *pair)
            load(f"{kind}_{pair[0]}_{pair[1]}", (ctypes.c_void_p,) * 2)(read.ctypes.data, written.ctypes.data)
            check(kind, pair, written)


def check(kind: str, pair: tuple[ElementType, ElementType], written: np.ndarray) -> None:
    expected = by_definition(kind, *pair)
    if (written == expected).all():
        return
    source, destination = pair
    first = int((written != expected).argmax())
    place = first * 8 // destination.bits
    codes = interesting_codes(source)
    code = f"{codes[min(place, len(codes) - 1)]:#x}" if kind == "values" else "?"
    width = max(1, destination.bits // 8)
    start = first // width * width
    got, want = (data[start : start + width][::-1].tobytes().hex() for data in (written, expected))
    raise AssertionError(f"{kind} {source} -> {destination}: code {code} became {got}, expected {want}")


@pytest.mark.parametrize(("source", "destination"), [("s32", "bf16"), ("u32", "bf16"), ("u32", "e8m0"), ("f64", "f16")])
def test_one_rounding_to_odd_comes_first_in_vectors_as_wide_as_what_is_rounded(source: str, destination: str) -> None:
    """An integer of 32 bits needs no f64, and an f64 becomes the f32 that processors round to f16."""
    read, written = (layoutc.desc("ab", (64, 64), name) for name in (source, destination))
    text = layoutc.Kernel(read, written, "c", target="avx512").ir("lower-reorders")
    assert "odd" in text
    assert ("xf64" in text) == (source == "f64")
    assert "arith.shrui" not in text or destination != "f16", "the f16 is not made of bits"


@pytest.mark.parametrize(
    ("source", "destination", "widest"),
    [
        ("f16", "f8_e5m2", "32xi16"),
        ("f8_e5m2", "f16", "32xi16"),
        ("bf16", "e8m0", "32xi16"),
        ("e8m0", "bf16", "32xi16"),
        ("bf16", "boolean", "32xi16"),
        ("boolean", "f16", "32xi16"),
        ("boolean", "f32", "16xi32"),
    ],
)
def test_what_is_made_of_bits_alone_takes_lanes_of_the_wider_side(source: str, destination: str, widest: str) -> None:
    """No f32 is between formats with the same exponents, nor beside a boolean."""
    read, written = (layoutc.desc("ab", (64, 64), name) for name in (source, destination))
    text = layoutc.Kernel(read, written, "c", target="avx512").ir("lower-reorders")
    assert f"vector<{widest}>" in text
    assert "arith.extf" not in text and "arith.truncf" not in text


def test_what_is_made_of_bits_alone_goes_by_f32_with_a_scale() -> None:
    read, written = (layoutc.desc("ab", (64, 64), name) for name in ("f8_e5m2", "f16"))
    kernel = layoutc.Kernel(read, written, "c", target="avx512", conversion=Conversion(src_scale=0.3))
    assert "arith.mulf" in kernel.ir("lower-reorders")


@pytest.mark.parametrize("target", ["avx512", "sse2", "plain"])
def test_what_is_always_true_is_compared_with_nothing(target: str, tmp_path: Path) -> None:
    """No e8m0 is zero: xDSL folds no comparison of vectors with themselves, and compilers warn of it."""
    read, written = (layoutc.desc(n, (3, 18, 5), t) for n, t in (("abc", "e8m0"), ("aBc8b", "boolean")))
    kernel = layoutc.Kernel(read, written, "c", target=target)
    context = make_context()
    module = Parser(context, kernel.ir("lower-reorders")).parse_module()
    CanonicalizePass().apply(context, module)
    module.verify()
    compared = of_kind(ops_of(module), arith.CmpiOp)
    assert not any(lhs is rhs for lhs, rhs in map(operands, compared))
    gcc = compiler_named("gcc")
    if gcc is not None:
        compiled(emit_c(module), gcc, tmp_path)
        compiled(kernel.c_source, gcc, tmp_path)
