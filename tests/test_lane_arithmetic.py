"""Arithmetic on scalars and on vectors alike: the interpreter and both C compilers agree bit by bit."""

from __future__ import annotations

import ctypes
import re
from functools import cache
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp

from layoutc.interpreter import run
from tests.c_programs import compiled, compiler_named, emitted, parsed

INTEGERS = ("i8", "i16", "i32", "i64")
FLOATS = ("f32", "f64")
BYTES = {"i1": 1, "i8": 1, "i16": 2, "f16": 2, "i32": 4, "f32": 4, "i64": 8, "f64": 8}
LANES = (8,)
COUNT = 1024
BUILDS = {
    "gcc": (("-O2",), ("-O3", "-march=native", "-ffp-contract=fast")),
    "clang": (("-O1", "-march=x86-64-v3"), ("-O3", "-march=native", "-ffp-contract=fast")),
}
CASES = [(name, flags) for name, builds in BUILDS.items() for flags in builds]

BINARY = {
    **{f"arith.{op} %x, %y : T": INTEGERS for op in ("addi", "subi", "muli", "andi", "ori", "xori")},
    **{f"arith.{op} %x, %y : T": INTEGERS for op in ("minsi", "maxsi", "minui", "maxui")},
    **{f"arith.{op} %x, %y : T": FLOATS for op in ("addf", "subf", "mulf", "divf")},
    "%0 = arith.mulf %x, %y : T; arith.addf %0, %x : T": FLOATS,
    "%0 = arith.mulf %x, %y : T; %1 = arith.negf %0 : T; arith.subf %1, %x : T": FLOATS,
    "math.roundeven %x : T": FLOATS,
    "arith.negf %x : T": FLOATS,
}
SHIFTS = {f"%0 = arith.constant SPLAT(5) : T; arith.{op} %x, %0 : T": INTEGERS for op in ("shli", "shrui", "shrsi")}
CHOICES = {
    **{
        f"%0 = arith.cmpf {p}, %x, %y : T; arith.select %0, %x, %y : CHOICE": FLOATS
        for p in ("oeq", "ogt", "oge", "olt", "ole", "une", "ugt", "uge", "ult", "ule")
    },
    **{
        f"%0 = arith.cmpi {p}, %x, %y : T; arith.select %0, %x, %y : CHOICE": INTEGERS
        for p in ("eq", "ne", "slt", "sle", "sgt", "sge", "ult", "ule", "ugt", "uge")
    },
    "%0 = arith.cmpf uno, %x, %x : T; arith.select %0, %y, %x : CHOICE": FLOATS,
    "%0 = arith.cmpf ord, %x, %x : T; arith.select %0, %y, %x : CHOICE": FLOATS,
    "%0 = arith.cmpi slt, %x, %y : T; %1 = arith.cmpi ult, %x, %y : T; %2 = arith.xori %0, %1 : M; "
    "arith.select %2, %x, %y : CHOICE": INTEGERS,
}
CASTS = {
    **{
        f"arith.{op} %x : i{a} to i{b}": ()
        for op in ("extsi", "extui")
        for a, b in product((8, 16, 32, 64), repeat=2)
        if a < b
    },
    **{f"arith.trunci %x : i{a} to i{b}": () for a, b in product((8, 16, 32, 64), repeat=2) if a > b},
    **{f"arith.{op} %x : i{a} to {f}": () for op in ("sitofp", "uitofp") for a, f in product((8, 16, 32, 64), FLOATS)},
    **{
        f"arith.bitcast %x : {a} to {b}": ()
        for a, b in (("i32", "f32"), ("f32", "i32"), ("i64", "f64"), ("f16", "i16"))
    },
    "arith.extf %x : f32 to f64": (),
    "arith.truncf %x : f64 to f32": (),
    "arith.extf %x : f16 to f32": (),
    "arith.truncf %x : f32 to f16": (),
    "%0 = arith.cmpf olt, %x, %y : f32; arith.extui %0 : i1 to i32": (),
    "%0 = arith.cmpf olt, %x, %y : f64; arith.extsi %0 : i1 to i16": (),
    **{
        f"%l = arith.constant SPLAT(-100.0) : {f}; %h = arith.constant SPLAT(100.0) : {f}; "
        f"%a = arith.cmpf ogt, %x, %l : {f}; %b = arith.select %a, %x, %l : CHOICE; "
        f"%c = arith.cmpf olt, %b, %h : {f}; %d = arith.select %c, %b, %h : CHOICE; arith.fptosi %d : {f} to i{n}": ()
        for f, n in product(FLOATS, (8, 16, 32, 64))
    },
    **{
        f"%l = arith.constant SPLAT(0.0) : {f}; %h = arith.constant SPLAT(250.0) : {f}; "
        f"%a = arith.cmpf ogt, %x, %l : {f}; %b = arith.select %a, %x, %l : CHOICE; "
        f"%c = arith.cmpf olt, %b, %h : {f}; %d = arith.select %c, %b, %h : CHOICE; arith.fptoui %d : {f} to i{n}": ()
        for f, n in product(FLOATS, (8, 16, 32, 64))
    },
}


def bodies() -> list[tuple[str, str, str]]:
    """(ops on elements, the type of %x and %y, the type of the result)"""
    found = [(ops, type, type) for ops, types in {**BINARY, **SHIFTS, **CHOICES}.items() for type in types]
    for ops in CASTS:
        last = ops.split(";")[-1]
        source, result = re.findall(r": (\w+) to (\w+)$", last)[0]
        first = re.search(r"(%x, %y|%x, %l) : (\w+)", ops)
        found.append((ops, first[2] if first else source, result))
    return found


BODIES = bodies()


def spelled(ops: str, type: str, lanes: int | None) -> str:
    """The ops on scalars, or on vectors of so many lanes."""
    text = ops.replace(" T", f" {type}").replace(" M", " i1")
    mask = "" if lanes is None else "i1, "
    text = text.replace("CHOICE", f"{mask}{type}")
    text = re.sub(r"SPLAT\((.*?)\)", r"\1" if lanes is None else r"dense<\1>", text)
    if lanes is not None:
        text = re.sub(r"\b([if]\d+)\b", rf"vector<{lanes}x\1>", text)
    *before, last = text.split("; ")
    return "\n".join((*before, f"%r = {last}"))


def function(number: int, lanes: int | None) -> str:
    """A function @op_`number`_`lanes` that applies ops to all elements."""
    ops, source, result = BODIES[number]
    access = "memref" if lanes is None else "vector"
    types = [
        f"memref<{COUNT}x{t}>" + ("" if lanes is None else f", vector<{lanes}x{t}>") for t in (source, source, result)
    ]
    memrefs = [type.split(",")[0] for type in types]
    return f"""func.func @op_{number}_{lanes or 1}(%one: {memrefs[0]}, %two: {memrefs[1]}, %out: {memrefs[2]}) {{
      %c0 = arith.constant 0 : index
      %end = arith.constant {COUNT} : index
      %step = arith.constant {lanes or 1} : index
      scf.for %i = %c0 to %end step %step {{
        %x = {access}.load %one[%i] : {types[0]}
        %y = {access}.load %two[%i] : {types[1]}
        {spelled(ops, source, lanes)}
        {access}.store %r, %out[%i] : {types[2]}
      }}
      func.return
    }}"""


FUNCTIONS = [(number, lanes) for number in range(len(BODIES)) for lanes in (None, *LANES)]
TEXT = "\n".join(function(*case) for case in FUNCTIONS)


def values(type: str, seed: int) -> np.ndarray:
    """Bits: the special values of floats against each other, and random ones."""
    found = np.random.default_rng(seed).integers(0, 256, COUNT * BYTES[type], np.uint8).view(f"u{BYTES[type]}")
    if type in FLOATS:
        numbers = np.array(
            [0, 0.5, 1, 1.5, 2.5, 126.5, 1e-40, 3.4e38, np.inf, np.nan, 8388607.5, 16777217], f"f{BYTES[type]}"
        )
        numbers = np.concatenate([numbers, -numbers])
        special = numbers.view(found.dtype)
        chosen = np.tile(special, len(special)) if seed else np.repeat(special, len(special))
        found[: len(chosen)] = chosen
        # what is neither huge nor tiny, so that products and sums meet
        middle = np.random.default_rng(seed).normal(size=COUNT // 2).astype(numbers.dtype)
        found[COUNT // 2 :] = middle.view(found.dtype)
    if type == "f16":
        found[:] = np.arange(COUNT) * 64 + seed * 7
    return found


def interpreted(module: ModuleOp, number: int, lanes: int | None) -> np.ndarray:
    _, source, result = BODIES[number]
    out = np.zeros(COUNT, f"u{BYTES[result]}")
    run(module, f"op_{number}_{lanes or 1}", values(source, 0), values(source, 1), out)
    return out


@pytest.fixture(scope="module")
def expected() -> dict[int, np.ndarray]:
    """What the interpreter makes of scalars, which it also makes of vectors."""
    module, found = parsed(TEXT), {}
    for number, lanes in FUNCTIONS:
        got = interpreted(module, number, lanes)
        np.testing.assert_array_equal(got, found.setdefault(number, got), str(BODIES[number]))
    return found


@cache
def c_text() -> str:
    """The C that all of them compile."""
    return emitted(TEXT)


@pytest.mark.parametrize(("name", "flags"), CASES, ids=[" ".join((name, *flags)) for name, flags in CASES])
def test_c_agrees_with_interpreter(
    name: str, flags: tuple[str, ...], expected: dict[int, np.ndarray], tmp_path: Path
) -> None:
    compiler = compiler_named(name)
    if compiler is None:
        pytest.skip(f"no {name}")
    load = compiled(c_text(), compiler, tmp_path, *flags)
    for number, lanes in FUNCTIONS:
        ops, source, result = BODIES[number]
        out = np.zeros(COUNT, f"u{BYTES[result]}")
        arguments = values(source, 0), values(source, 1), out
        load(f"op_{number}_{lanes or 1}", (ctypes.c_void_p,) * 3)(*(a.ctypes.data for a in arguments))
        same = is_same(out, expected[number], result)
        assert same.all(), (lanes, ops, source, *(hex(a[same.argmin()]) for a in (*arguments, expected[number])))


def is_same(got: np.ndarray, expected: np.ndarray, type: str) -> np.ndarray:
    """Equal bits; which NaN comes out of arithmetic is the processor's choice."""
    if type not in FLOATS:
        return got == expected
    numbers = [bits.view(f"f{BYTES[type]}") for bits in (got, expected)]
    return (got == expected) | (np.isnan(numbers[0]) & np.isnan(numbers[1]))
