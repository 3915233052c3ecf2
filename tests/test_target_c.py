"""What the C target prints, compiled and run, against the same arithmetic in Python."""

from __future__ import annotations

import ctypes
import math
import struct
from collections.abc import Callable
from itertools import product
from pathlib import Path

import numpy as np
import pytest

import layoutc
from layoutc.conversion import Conversion
from layoutc.errors import LayoutcError
from layoutc.targets.c import emit_c
from tests.c_programs import COMPILERS, ELEMENTS, compiled, compiler_named, emitted, parsed


@pytest.fixture(params=COMPILERS)
def compiler(request: pytest.FixtureRequest) -> str:
    path = compiler_named(request.param)
    if path is None:
        pytest.skip(f"{request.param} is not here")
    return path


C_TYPES = {
    "i8": ctypes.c_int8,
    "i16": ctypes.c_int16,
    "i32": ctypes.c_int32,
    "i64": ctypes.c_int64,
    "index": ctypes.c_int64,
    "f32": ctypes.c_float,
    "f64": ctypes.c_double,
    "i1": ctypes.c_bool,
}
BITS = {"i8": 8, "i16": 16, "i32": 32, "i64": 64, "index": 64}


def signed(value: int, bits: int) -> int:
    value %= 1 << bits
    return value - (1 << bits) if value >> (bits - 1) else value


def natural(value: int, bits: int) -> int:
    return value % (1 << bits)


def truncated(a: int, b: int) -> int:
    return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


SIGNED: dict[str, Callable[[int, int], int]] = {
    "addi": lambda a, b: a + b,
    "subi": lambda a, b: a - b,
    "muli": lambda a, b: a * b,
    "divsi": truncated,
    "remsi": lambda a, b: a - truncated(a, b) * b,
    "floordivsi": lambda a, b: a // b,
    "ceildivsi": lambda a, b: -(-a // b),
    "minsi": min,
    "maxsi": max,
    "andi": lambda a, b: a & b,
    "ori": lambda a, b: a | b,
    "xori": lambda a, b: a ^ b,
}
UNSIGNED: dict[str, Callable[[int, int], int]] = {
    "divui": lambda a, b: a // b,
    "remui": lambda a, b: a % b,
    "ceildivui": lambda a, b: -(-a // b),
    "minui": min,
    "maxui": max,
}
SHIFTS = ("shli", "shrsi", "shrui")
DIVISIONS = {"divsi", "remsi", "floordivsi", "ceildivsi", "divui", "remui", "ceildivui"}
CMPI = {"eq": "__eq__", "ne": "__ne__", "lt": "__lt__", "le": "__le__", "gt": "__gt__", "ge": "__ge__"}


def edge_values(bits: int) -> list[int]:
    top = 1 << (bits - 1)
    return [-top, -top + 1, -8, -7, -1, 0, 1, 5, 8, top - 2, top - 1]


def integer_cases(bits: int) -> dict[str, tuple[str, Callable[[int, int], int | None]]]:
    """Name, body, and what it gives; None where the IR leaves it undefined."""
    cases: dict[str, tuple[str, Callable[[int, int], int | None]]] = {}

    def defined(op: str, rule: Callable[[int, int], int], of: Callable[[int, int], int]) -> Callable[..., int | None]:
        def evaluate(a: int, b: int) -> int | None:
            if op in DIVISIONS and (b == 0 or (of is signed and a == -(1 << (bits - 1)) and b == -1)):
                return None
            return signed(rule(of(a, bits), of(b, bits)), bits)

        return evaluate

    for names, of in ((SIGNED, signed), (UNSIGNED, natural)):
        for op, rule in names.items():
            cases[op] = (f"%r = arith.{op} %a, %b : TYPE", defined(op, rule, of))
    rules = {"shli": lambda a, b: a << b, "shrsi": lambda a, b: a >> b, "shrui": lambda a, b: natural(a, bits) >> b}
    for op in SHIFTS:
        rule = rules[op]
        cases[op] = (
            f"%r = arith.{op} %a, %b : TYPE",
            lambda a, b, rule=rule: signed(rule(a, b), bits) if 0 <= b < bits else None,
        )
    for relation, method in CMPI.items():
        for prefix, of in (("", signed),) if relation in ("eq", "ne") else (("s", signed), ("u", natural)):
            cases[f"cmpi_{prefix}{relation}"] = (
                f"%c = arith.cmpi {prefix}{relation}, %a, %b : TYPE\n    %r = arith.select %c, %a, %b : TYPE",
                lambda a, b, of=of, method=method: a if getattr(of(a, bits), method)(of(b, bits)) else b,
            )
    return cases


@pytest.mark.parametrize("type", BITS)
def test_integer_arithmetic_agrees_with_python(type: str, compiler: str, tmp_path: Path) -> None:
    cases = integer_cases(BITS[type])
    functions = [
        f"  func.func @f_{name}(%a : TYPE, %b : TYPE) -> TYPE {{\n    {body}\n    func.return %r : TYPE\n  }}"
        for name, (body, _) in cases.items()
    ]
    program = compiled(emitted("\n".join(functions).replace("TYPE", type)), compiler, tmp_path)
    checked = 0
    # Offsets are taken not to overflow, so indices stay small.
    values = [-70, -8, -7, -1, 0, 1, 7, 64] if type == "index" else edge_values(BITS[type])
    for name, (_, expected) in cases.items():
        function = program(f"f_{name}", [C_TYPES[type]] * 2, C_TYPES[type])
        for a, b in product(values, values):
            want = expected(a, b)
            if want is not None:
                assert function(a, b) == want, (name, a, b)
                checked += 1
    assert checked > 1000


@pytest.mark.parametrize("type", ["i8", "i16", "i32", "i64"])
def test_constants_on_either_side(type: str, compiler: str, tmp_path: Path) -> None:
    """Literals are ints in C, and what is computed with them must still have the width of the type."""
    bits = BITS[type]
    cases = integer_cases(bits)
    functions: list[str] = []
    expectations: dict[str, int] = {}
    values = edge_values(bits)
    pairs = [*zip(values, reversed(values), strict=True), (1 << (bits // 2 - 2), (1 << (bits // 2 - 1)) - 1)]
    for name, (body, expected) in cases.items():
        for position, (a, b) in enumerate(pairs):
            want = expected(a, b)
            if want is not None:
                expectations[f"f_{name}_at{position}"] = want
                functions.append(
                    f"  func.func @f_{name}_at{position}() -> TYPE {{\n    %a = arith.constant {a} : TYPE\n"
                    f"    %b = arith.constant {b} : TYPE\n    {body}\n    func.return %r : TYPE\n  }}"
                )
    program = compiled(emitted("\n".join(functions).replace("TYPE", type)), compiler, tmp_path)
    assert {name: program(name, [], C_TYPES[type])() for name in expectations} == expectations


CASTS: dict[str, tuple[str, str, Callable[[int], float]]] = {
    "extsi": ("i8", "i32", lambda a: a),
    "extui": ("i8", "i32", lambda a: a % 256),
    "trunci": ("i64", "i16", lambda a: signed(a, 16)),
    "index_cast": ("index", "i32", lambda a: signed(a, 32)),
    "sitofp": ("i64", "f64", float),
    "uitofp": ("i64", "f64", lambda a: float(a % 2**64)),
}


@pytest.mark.parametrize("op", CASTS)
def test_casts_agree_with_python(op: str, compiler: str, tmp_path: Path) -> None:
    source, target, expected = CASTS[op]
    text = f"""
    func.func @f(%a : {source}) -> {target} {{
      %r = arith.{op} %a : {source} to {target}
      func.return %r : {target}
    }}"""
    function = compiled(emitted(text), compiler, tmp_path)("f", [C_TYPES[source]], C_TYPES[target])
    for value in edge_values(BITS[source]):
        assert function(value) == expected(value)


def test_booleans_of_integers_take_the_low_bit(compiler: str, tmp_path: Path) -> None:
    text = """
    func.func @low(%a : i32) -> i1 {
      %r = arith.trunci %a : i32 to i1
      func.return %r : i1
    }
    func.func @spread(%a : i1) -> i32 {
      %r = arith.extsi %a : i1 to i32
      func.return %r : i32
    }"""
    program = compiled(emitted(text), compiler, tmp_path)
    low, spread = program("low", [ctypes.c_int32], ctypes.c_bool), program("spread", [ctypes.c_bool], ctypes.c_int32)
    assert [low(value) for value in (0, 1, 2, 3, -1)] == [False, True, False, True, True]
    assert [spread(value) for value in (False, True)] == [0, -1]


FLOATS = [0.0, -0.0, 1.0, -1.5, 3e38, 1e-45, math.inf, -math.inf, math.nan]


def bits32(value: float) -> bytes:
    return b"nan" if math.isnan(value) else struct.pack("f", value)


def extremum(a: float, b: float, sign: int, nan_wins: bool) -> float:
    if math.isnan(a) or math.isnan(b):
        other = b if math.isnan(a) else a
        return math.nan if nan_wins else other
    return max(a, b, key=lambda x: (sign * x, sign * math.copysign(1.0, x)))


FLOAT_OPS: dict[str, Callable[[float, float], float]] = {
    "addf": lambda a, b: float(np.float32(a) + np.float32(b)),
    "subf": lambda a, b: float(np.float32(a) - np.float32(b)),
    "mulf": lambda a, b: float(np.float32(a) * np.float32(b)),
    "divf": lambda a, b: float(np.float32(a) / np.float32(b)),
    "minimumf": lambda a, b: extremum(a, b, -1, nan_wins=True),
    "maximumf": lambda a, b: extremum(a, b, 1, nan_wins=True),
    "minnumf": lambda a, b: extremum(a, b, -1, nan_wins=False),
    "maxnumf": lambda a, b: extremum(a, b, 1, nan_wins=False),
}


def test_float_arithmetic_agrees_with_numpy(compiler: str, tmp_path: Path) -> None:
    text = "\n".join(
        f"func.func @{op}(%a : f32, %b : f32) -> f32 {{\n  %r = arith.{op} %a, %b : f32\n  func.return %r : f32\n}}"
        for op in FLOAT_OPS
    )
    program = compiled(emitted(text), compiler, tmp_path)
    for op, expected in FLOAT_OPS.items():
        function = program(op, [ctypes.c_float] * 2, ctypes.c_float)
        with np.errstate(all="ignore"):
            for a, b in product([float(np.float32(x)) for x in FLOATS], repeat=2):
                assert bits32(function(a, b)) == bits32(expected(a, b)), (op, a, b)


def test_float_comparisons_know_unordered(compiler: str, tmp_path: Path) -> None:
    relations = {"eq": "__eq__", "gt": "__gt__", "ge": "__ge__", "lt": "__lt__", "le": "__le__", "ne": "__ne__"}
    predicates = [f"{kind}{relation}" for kind in "ou" for relation in relations] + ["ord", "uno", "true", "false"]
    text = "\n".join(
        f"func.func @is_{p}(%a : f64, %b : f64) -> i1 {{\n %r = arith.cmpf {p}, %a, %b : f64\n func.return %r : i1\n}}"
        for p in predicates
    )
    program = compiled(emitted(text), compiler, tmp_path)
    for predicate, (a, b) in product(predicates, product(FLOATS, repeat=2)):
        unordered = math.isnan(a) or math.isnan(b)
        simple = {"ord": not unordered, "uno": unordered, "true": True, "false": False}
        if predicate in simple:
            expected = simple[predicate]
        elif unordered:
            expected = predicate.startswith("u")
        else:
            expected = getattr(a, relations[predicate[1:]])(b)
        function = program(f"is_{predicate}", [ctypes.c_double] * 2, ctypes.c_bool)
        assert function(a, b) == expected, (predicate, a, b)


@pytest.mark.parametrize("value", [0.1, 1e-45, 3.4028234663852886e38, 16777217.0, 1 / 3, -0.0, 1e22])
def test_float_literals_are_exact(value: float, compiler: str, tmp_path: Path) -> None:
    text = "\n".join(
        f"func.func @{t}() -> {t} {{\n  %r = arith.constant {value:.30e} : {t}\n  func.return %r : {t}\n}}"
        for t in ("f32", "f64")
    )
    program = compiled(emitted(text), compiler, tmp_path)
    assert struct.pack("d", program("f64", [], ctypes.c_double)()) == struct.pack("d", value)
    assert struct.pack("f", program("f32", [], ctypes.c_float)()) == struct.pack("f", value)


MAPS: dict[str, Callable[[int, int], int]] = {
    "d0 floordiv 3 + d1 mod 5": lambda a, b: a // 3 + b % 5,
    "(d0 - d1) mod 7": lambda a, b: (a - b) % 7,
    "(d0 + d1) ceildiv 4 * 2 - d1": lambda a, b: -(-(a + b) // 4) * 2 - b,
    "((d0 floordiv 2) mod 3 - d1) floordiv 5 - (d0 mod 2 - 1) * 3": lambda a, b: (
        (a // 2 % 3 - b) // 5 - (a % 2 - 1) * 3
    ),
    "5 - d0 * 3 - (d1 - d0)": lambda a, b: 5 - a * 3 - (b - a),
}


def test_affine_maps_floor(compiler: str, tmp_path: Path) -> None:
    """The same maps on arguments of unknown sign, and in loops whose bounds show that nothing is negative."""
    functions = [
        f"""
      func.func @any{i}(%a : index, %b : index) -> index {{
        %r = affine.apply affine_map<(d0, d1) -> ({m})> (%a, %b)
        func.return %r : index
      }}
      func.func @loop{i}(%out : memref<8x8xi64>) {{
        %c0 = arith.constant 0 : index
        %c1 = arith.constant 1 : index
        %c8 = arith.constant 8 : index
        scf.for %a = %c0 to %c8 step %c1 {{
          scf.for %b = %c0 to %c8 step %c1 {{
            %0 = affine.apply affine_map<(d0, d1) -> ({m})> (%a, %b)
            %1 = arith.index_cast %0 : index to i64
            memref.store %1, %out[%a, %b] : memref<8x8xi64>
          }}
        }}
        func.return
      }}"""
        for i, m in enumerate(MAPS)
    ]
    program = compiled(emitted("\n".join(functions)), compiler, tmp_path)
    for i, expected in enumerate(MAPS.values()):
        function = program(f"any{i}", [ctypes.c_int64] * 2, ctypes.c_int64)
        for a, b in product(range(-9, 10), repeat=2):
            assert function(a, b) == expected(a, b), (i, a, b)
        table = np.full((8, 8), -99, np.int64)
        program(f"loop{i}", [ctypes.c_void_p])(table.ctypes.data)
        np.testing.assert_array_equal(table, [[expected(a, b) for b in range(8)] for a in range(8)])


def test_every_element_type_moves_bit_by_bit(compiler: str, tmp_path: Path) -> None:
    """Signalling NaNs among them, which arithmetic would make quiet."""
    count = 4096
    text = "\n".join(
        f"""
      func.func @reverse_{t}(%src : memref<{count}x{t}>, %dst : memref<{count}x{t}>) {{
        %c0 = arith.constant 0 : index
        %c1 = arith.constant 1 : index
        %n = arith.constant {count} : index
        scf.for %i = %c0 to %n step %c1 {{
          %to = affine.apply affine_map<(d0) -> ({count - 1} - d0)> (%i)
          %value = memref.load %src[%i] : memref<{count}x{t}>
          memref.store %value, %dst[%to] : memref<{count}x{t}>
        }}
        func.return
      }}"""
        for t in ELEMENTS
    )
    program = compiled(emitted(text), compiler, tmp_path)
    for t, size in ELEMENTS.items():
        source = np.random.default_rng(1).integers(0, 256, count * size, dtype=np.uint8)
        if t in ("f32", "f64"):
            special = [0x7F800001, 0xFFBFFFFF] if t == "f32" else [0x7FF0000000000001, 0xFFF7FFFFFFFFFFFF]
            source.view(f"u{size}")[:2] = special
        target = np.zeros_like(source)
        program(f"reverse_{t}", [ctypes.c_void_p] * 2)(source.ctypes.data, target.ctypes.data)
        np.testing.assert_array_equal(target.view(f"u{size}"), source.view(f"u{size}")[::-1])


def test_twelve_nested_loops(compiler: str, tmp_path: Path) -> None:
    loops = "\n".join(f"scf.for %d{axis} = %c0 to %c2 step %c1 {{" for axis in range(12))
    dims = ", ".join(f"d{axis}" for axis in range(12))
    total = " + ".join(f"d{axis} * {2**axis}" for axis in range(12))
    text = f"""
    func.func @f(%src : memref<4096xi16>, %dst : memref<{"2x" * 12}i16>) {{
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c2 = arith.constant 2 : index
      {loops}
        %offset = affine.apply affine_map<({dims}) -> ({total})> ({dims.replace("d", "%d")})
        %value = memref.load %src[%offset] : memref<4096xi16>
        memref.store %value, %dst[{dims.replace("d", "%d")}] : memref<{"2x" * 12}i16>
      {"}" * 12}
      func.return
    }}"""
    program = compiled(emitted(text), compiler, tmp_path)
    source = np.arange(4096, dtype=np.int16)
    target = np.zeros((2,) * 12, np.int16)
    program("f", [ctypes.c_void_p] * 2)(source.ctypes.data, target.ctypes.data)
    np.testing.assert_array_equal(target, source.reshape((2,) * 12).transpose())


HARD_NAMES = [
    "int",
    "for",
    "int64_t",
    "NULL",
    "linux",
    "bool",
    "floor_div",
    "restrict",
    "INT64_MIN",
    "malloc",
    "x.y",
    "_",
    "class",
]


def test_no_name_is_one_of_c(compiler: str, tmp_path: Path) -> None:
    """Arguments, constants of the body and loop indices, called as C calls its own things."""
    arguments = ", ".join(f"%{name} : index" for name in HARD_NAMES)
    sums = "\n".join(f"%sum{i} = arith.addi %{name}, %{name} : index" for i, name in enumerate(HARD_NAMES))
    total = "\n".join(
        f"%{name}_9 = arith.addi %sum{i}, %{'zero' if i == 0 else HARD_NAMES[i - 1] + '_9'} : index"
        for i, name in enumerate(HARD_NAMES)
    )
    text = f"""
    func.func @f({arguments}) -> index {{
      %zero = arith.constant 0 : index
      {sums}
      {total}
      func.return %{HARD_NAMES[-1]}_9 : index
    }}"""
    function = compiled(emitted(text), compiler, tmp_path)("f", [ctypes.c_int64] * len(HARD_NAMES), ctypes.c_int64)
    values = [3**i for i in range(len(HARD_NAMES))]
    assert function(*values) == 2 * sum(values)


def test_calls_allocations_and_branches(compiler: str, tmp_path: Path) -> None:
    """Sum of the positive elements, by way of a heap buffer and a private function."""
    text = """
    func.func private @positive(%x : f64) -> f64 {
      %zero = arith.constant 0.0 : f64
      %is_positive = arith.cmpf ogt, %x, %zero : f64
      %kept = scf.if %is_positive -> (f64) {
        scf.yield %x : f64
      } else {
        scf.yield %zero : f64
      }
      func.return %kept : f64
    }
    func.func @sum(%values : memref<3x4xf64>) -> f64 {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c12 = arith.constant 12 : index
      %zero = arith.constant 0.0 : f64
      %flat = memref.reinterpret_cast %values to offset: [0], sizes: [12], strides: [1]
        : memref<3x4xf64> to memref<12xf64>
      %kept = memref.alloc() {alignment = 64 : i64} : memref<12xf64>
      scf.for %i = %c0 to %c12 step %c1 {
        %x = memref.load %flat[%i] : memref<12xf64>
        %p = func.call @positive(%x) : (f64) -> f64
        memref.store %p, %kept[%i] : memref<12xf64>
      }
      %total = scf.for %i = %c0 to %c12 step %c1 iter_args(%sum = %zero) -> (f64) {
        %x = memref.load %kept[%i] : memref<12xf64>
        %0 = arith.addf %sum, %x : f64
        scf.yield %0 : f64
      }
      memref.dealloc %kept : memref<12xf64>
      func.return %total : f64
    }"""
    function = compiled(emitted(text), compiler, tmp_path)("sum", [ctypes.c_void_p], ctypes.c_double)
    values = np.arange(-5.0, 7.0)
    assert function(values.ctypes.data) == 21.0


def test_buffers_that_nothing_uses_are_not_defined(compiler: str, tmp_path: Path) -> None:
    """Warnings are errors here."""
    text = emitted("""
    func.func @f(%x : f64) -> f64 {
      %a = memref.alloc() : memref<12xf64>
      %b = memref.alloca() : memref<12xf64>
      func.return %x : f64
    }""")
    assert "alloc" not in text and "buffer" not in text
    assert compiled(text, compiler, tmp_path)("f", [ctypes.c_double], ctypes.c_double)(2.5) == 2.5


@pytest.mark.parametrize("made", ["alloc", "alloca"])
def test_buffers_with_strides_have_room_for_their_last_element(made: str, compiler: str, tmp_path: Path) -> None:
    """Of 3x5 columns 4 apart, two elements on: the last one lies 20 behind the start."""
    type = "memref<3x5xf32, strided<[1, 4], offset: 2>>"
    text = f"""
    func.func @f(%read : memref<3x5xf32>, %written : memref<3x5xf32>) {{
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c3 = arith.constant 3 : index
      %c5 = arith.constant 5 : index
      %columns = memref.{made}() : {type}
      scf.for %i = %c0 to %c3 step %c1 {{
        scf.for %j = %c0 to %c5 step %c1 {{
          %x = memref.load %read[%i, %j] : memref<3x5xf32>
          memref.store %x, %columns[%i, %j] : {type}
        }}
      }}
      scf.for %i = %c0 to %c3 step %c1 {{
        scf.for %j = %c0 to %c5 step %c1 {{
          %x = memref.load %columns[%i, %j] : {type}
          memref.store %x, %written[%i, %j] : memref<3x5xf32>
        }}
      }}
      {f"memref.dealloc %columns : {type}" if made == "alloc" else ""}
      func.return
    }}"""
    source = emitted(text)
    assert "21 * sizeof(float)" in source or "[21];" in source
    values, copied = np.arange(15, dtype=np.float32), np.zeros(15, np.float32)
    compiled(source, compiler, tmp_path)("f", [ctypes.c_void_p] * 2, None)(values.ctypes.data, copied.ctypes.data)
    np.testing.assert_array_equal(copied, values)


def test_unused_things_do_not_warn(compiler: str, tmp_path: Path) -> None:
    text = """
    func.func @f(%unused : memref<4xf32>, %n : index, %x : i32) -> i1 {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %dead = arith.addi %n, %n : index
      %dead_load = memref.load %unused[%c0] : memref<4xf32>
      %looped = scf.for %i = %c0 to %n step %c1 iter_args(%acc = %c0) -> (index) {
        scf.yield %i : index
      }
      %map = affine.apply affine_map<(d0, d1) -> (d1)> (%dead, %c1)
      %chosen = scf.if %same -> (i32) {
        scf.yield %x : i32
      } else {
        scf.yield %y : i32
      }
      %hold = arith.cmpi uge, %y, %zero : i32
      func.return %hold : i1
    }""".replace(
        "%chosen = scf.if",
        "%zero = arith.constant 0 : i32\n %y = arith.xori %x, %x : i32\n"
        "%same = arith.cmpi eq, %y, %y : i32\n %chosen = scf.if",
    )
    function = compiled(emitted(text), compiler, tmp_path)(
        "f", [ctypes.c_void_p, ctypes.c_int64, ctypes.c_int32], ctypes.c_bool
    )
    assert function(None, 3, 5) is True


COMMENTS = ["*/ int x; /*", "back\\", "back\\\\  ", "??/", "tri ??/\\", "\\\nnext", "a\r\nb\u2028c\x00\x0b", "‮ bidi"]


def test_comments_cannot_leave_their_line(compiler: str, tmp_path: Path) -> None:
    module = parsed("func.func @f() -> i32 {\n  %r = arith.constant 7 : i32\n  func.return %r : i32\n}")
    from xdsl.dialects.builtin import StringAttr

    for number, comment in enumerate(COMMENTS):
        next(iter(module.ops)).attributes["layout.comment"] = StringAttr(comment)
        folder = tmp_path / str(number)
        folder.mkdir()
        assert compiled(emit_c(module), compiler, folder)("f", [], ctypes.c_int32)() == 7


REFUSED = {
    "'memref.dim'": "%0 = memref.dim %m, %i : memref<4xf32>",
    "'arith.addf' on bf16": "%0 = arith.addf %h, %h : bf16\n memref.store %0, %hs[%i] : memref<1xbf16>",
    "'arith.extf' on bf16": "%0 = arith.extf %h : bf16 to f32\n memref.store %0, %m[%i] : memref<4xf32>",
    "type i4": "%0 = arith.constant 1 : i4\n %1 = arith.addi %0, %0 : i4\n %2 = arith.extsi %1 : i4 to i32\n"
    " memref.store %2, %ints[%i] : memref<1xi32>",
    "with step 0": "%0 = arith.constant 0 : index\n scf.for %k = %i to %i step %0 {\n }",
    "by zero": "%0 = arith.constant 0 : i32\n %1 = arith.divsi %0, %0 : i32\n"
    " memref.store %1, %ints[%i] : memref<1xi32>",
    "past the width": "%0 = arith.constant 32 : i32\n %1 = arith.shli %0, %0 : i32\n"
    " memref.store %1, %ints[%i] : memref<1xi32>",
    "divides by 0": "%0 = affine.apply affine_map<(d0) -> (d0 floordiv 0)> (%i)\n"
    " %1 = memref.alloca() : memref<1xf32>\n memref.store %f, %1[%0] : memref<1xf32>",
    "dynamic shape": "%0 = memref.alloc(%i) : memref<?xf32>",
    "a layout that C cannot index": "%0 = memref.alloca() : memref<4x4xf32, affine_map<(d0, d1) -> (d1, d0)>>\n"
    " memref.store %f, %0[%i, %i] : memref<4x4xf32, affine_map<(d0, d1) -> (d1, d0)>>",
    "of 'missing'": "func.call @missing() : () -> ()",
    "dynamic offsets": "%0 = memref.reinterpret_cast %m to offset: [%i], sizes: [1], strides: [1] : memref<4xf32>"
    " to memref<1xf32, strided<[1], offset: ?>>\n %1 = memref.load %0[%i] : memref<1xf32, strided<[1], offset: ?>>\n"
    " memref.store %1, %m[%i] : memref<4xf32>",
}


@pytest.mark.parametrize("message", REFUSED)
def test_what_c_has_no_words_for_is_an_error(message: str) -> None:
    text = f"""
    func.func @f(%m : memref<4xf32>, %hs : memref<1xbf16>, %ints : memref<1xi32>, %i : index, %h : bf16, %f : f32) {{
      {REFUSED[message]}
      func.return
    }}"""
    with pytest.raises(LayoutcError, match=message):
        emit_c(parsed(text, verify=False))


@pytest.mark.parametrize("element", ["i4", "ui2", "f4E2M1FN", "f80", "vector<4xf32>", "complex<f32>", "i128"])
def test_element_types_without_a_spelling(element: str) -> None:
    with pytest.raises(LayoutcError, match="no C spelling for type"):
        emit_c(parsed(f"func.func @f(%m : memref<4x{element}>) {{\n  func.return\n}}"))


def test_a_function_that_returns_memory_is_named() -> None:
    text = "func.func @pack(%m : memref<12xf32>) -> memref<12xf32> {\n  func.return %m : memref<12xf32>\n}"
    with pytest.raises(LayoutcError) as error:
        emit_c(parsed(text))
    expected = "which no C function can, expected a memref parameter to write to"
    assert str(error.value) == f"function 'pack' returns memref<12xf32>, {expected}"


def test_only_what_computes_with_floats_refuses_fast_math(compiler: str, tmp_path: Path) -> None:
    flags = ["-ffast-math", "-ffinite-math-only"]
    if "clang" not in compiler:
        flags += ["-Ofast", "-funsafe-math-optimizations", "-fno-signed-zeros"]
    for target in ("avx512", "generic", "plain"):
        source = layoutc.desc("nhwc", (2, 19, 9, 7), "f32")
        moved, converted = (layoutc.desc("nChw8c", (2, 19, 9, 7), type) for type in ("f32", "s8"))
        for flag in flags:
            compiled(layoutc.Kernel(source, moved, target=target).c_source, compiler, tmp_path, flag)
            with pytest.raises(AssertionError, match="build it without -ffast-math"):
                compiled(layoutc.Kernel(source, converted, target=target).c_source, compiler, tmp_path, flag)
        compiled(layoutc.Kernel(source, converted, target=target).c_source, compiler, tmp_path)


@pytest.mark.parametrize(
    "name", ["for", "main", "exp", "signal", "number_of_f4_e2m1", '"two words"', '"1st"', "_Reserved", '"quo\\22te"']
)
def test_function_names_that_c_has_taken(name: str) -> None:
    with pytest.raises(LayoutcError, match="function name"):
        emit_c(parsed(f"func.func @{name}() {{\n  func.return\n}}"))


def test_a_private_function_may_be_renamed(compiler: str, tmp_path: Path) -> None:
    text = """
    func.func private @exp(%x : i32) -> i32 {
      func.return %x : i32
    }
    func.func @f(%exp : i32) -> i32 {
      %r = func.call @exp(%exp) : (i32) -> i32
      func.return %r : i32
    }"""
    assert compiled(emitted(text), compiler, tmp_path)("f", [ctypes.c_int32], ctypes.c_int32)(41) == 41


def test_unstructured_control_flow_is_an_error() -> None:
    text = "func.func @f() {\n  cf.br ^end\n^end:\n  func.return\n}"
    with pytest.raises(LayoutcError, match="has 2 blocks"):
        emit_c(parsed(text))


def test_many_constants_stand_in_lines_of_their_own() -> None:
    """Not below the bracket, where the half of the text was blanks."""
    values = tuple(n / 7 for n in range(1, 513))
    sides = layoutc.desc("ab", (2, 512), "u8"), layoutc.desc("ab", (2, 512), "f32")
    lines = layoutc.Kernel(*sides, conversion=Conversion(src_scale=layoutc.Param(values, 1))).c_source.splitlines()
    first = lines.index("static const float reorder_src_scale[512] = {") + 1
    rows = lines[first : lines.index("};", first)]
    assert rows[0].startswith("  0.14285715f, 0.2857143f, ")
    assert all(90 < len(row) <= 110 for row in rows[:-1])
