"""Conversions of bytes to bytes and words: what is looked up is what the arithmetic gives, for every byte."""

from __future__ import annotations

import ctypes
from pathlib import Path

import numpy as np
import pytest
from xdsl.dialects import func

import layoutc
from layoutc.conversion import Conversion
from layoutc.descriptor import MemoryDesc
from layoutc.element_type import element_type
from layoutc.errors import LayoutcError
from layoutc.numeric.arithmetic import converted
from layoutc.param import Param
from layoutc.pipeline import lower, reorder_module
from layoutc.targets.helpers.c_byte_tables import by_rows, byte_tables_prelude, table_text
from layoutc.targets.helpers.c_helpers import prelude
from layoutc.targets.patterns.byte_functions import byte_table
from layoutc.targets.words.c_text import words
from tests.c_programs import compiled, compiler_named, parsed

TYPES = ("f8_e4m3", "f8_e5m2", "e8m0", "f4_e2m1", "s8", "s4", "u8", "u4", "u2", "boolean")
WORDS = ("f16", "bf16", "s16", "u16")
CONVERSIONS = (
    Conversion(),
    Conversion(src_scale=0.37),
    Conversion(src_scale=2.5, dst_scale=0.13),
    Conversion(src_zero_point=3, dst_scale=7.0, dst_zero_point=-2),
    Conversion(src_zero_point=5, dst_zero_point=9),
)
LANES = (16, 32, 64)
NATIVE = Path("/proc/cpuinfo").read_text() if Path("/proc/cpuinfo").exists() else ""
BUILDS = [
    ("gcc", ("-O2", "-march=x86-64-v4", "-mavx512vbmi")),
    ("clang", ("-O2", "-march=x86-64-v4", "-mavx512vbmi")),
    ("gcc", ("-O2", "-march=x86-64-v4")),
    ("gcc", ("-O2", "-march=x86-64-v3")),
    ("clang", ("-O2", "-march=x86-64-v3")),
]
IDS = ["gcc", "clang", "computed", "rows by gcc", "rows by clang"]
NEEDED = {"-mavx512vbmi": "avx512vbmi", "-march=x86-64-v4": "avx512bw", "-march=x86-64-v3": "avx2"}


@pytest.mark.parametrize("source", TYPES)
@pytest.mark.parametrize("conversion", CONVERSIONS, ids=range(len(CONVERSIONS)))
def test_a_table_is_what_the_definition_says_of_every_byte(source: str, conversion: Conversion) -> None:
    type, found = element_type(source), 0
    codes = np.arange(256, dtype=np.uint8) & (1 << type.bits) - 1
    for destination in map(element_type, (*TYPES, *WORDS)):
        sides = layoutc.desc("ab", (64, 64), source), layoutc.desc("ab", (64, 64), destination)
        try:
            module = reorder_module(*sides, conversion=conversion)
        except LayoutcError:
            continue  # no zero points of these
        lower(module, target="avx512")
        functions = [op for op in module.ops if isinstance(op, func.FuncOp) and "layout.inlined" in op.attributes]
        if not functions:
            continue  # a few ops
        tables = [byte_table(function, LANES) for function in functions]
        expected = converted(codes, type, destination, conversion)
        for table in tables:
            assert table is not None
            width = np.dtype(np.uint8 if destination.bits <= 8 else np.uint16)
            given = np.frombuffer(table, width) & (1 << destination.bits) - 1
            np.testing.assert_array_equal(given, expected.view(width))
            found += 1
    # Without attributes booleans are a few ops for all others.
    as_bits = source == "boolean" and conversion == Conversion()
    assert found == 0 if as_bits else found > 2


Case = tuple[str, str, tuple[int, ...], str, str, Conversion]
CASES: list[Case] = [
    ("ab", "ab", (16, 64), "s8", "f8_e4m3", Conversion()),
    ("ab", "ab", (33, 70), "f8_e5m2", "f8_e4m3", Conversion()),
    ("ab", "ba", (64, 37), "u8", "s8", Conversion(src_scale=0.5, src_zero_point=128, dst_scale=0.3, dst_zero_point=3)),
    ("ab", "aB16b", (33, 70), "s8", "f8_e5m2", Conversion()),
    ("ab", "ba", (48, 64), "e8m0", "f4_e2m1", Conversion()),
    ("ab", "ab", (16, 128), "u2", "f4_e2m1", Conversion()),
    ("abcd", "acdb", (2, 32, 7, 9), "boolean", "s8", Conversion(dst_scale=0.0236)),
    ("cbda", "DCBa8b4c12d", (28, 19, 26, 16), "s8", "f8_e5m2", Conversion()),
]
OF_WORDS: list[Case] = [
    ("ab", "ab", (33, 70), "s4", "f16", Conversion()),
    ("ab", "aB16b", (33, 70), "u4", "bf16", Conversion(src_zero_point=7, src_scale=0.5)),
    ("ba", "ab", (64, 37), "u2", "f16", Conversion()),
    ("abcd", "acdb", (2, 32, 7, 9), "f4_e2m1", "bf16", Conversion(src_scale=0.37)),
    ("ab", "ba", (64, 48), "s4", "s16", Conversion(src_scale=7.3)),
    ("ab", "ab", (9, 200), "f8_e4m3", "f16", Conversion()),
    ("ab", "ba", (64, 50), "f8_e5m2", "bf16", Conversion()),
    ("ab", "ab", (16, 128), "s8", "f16", Conversion()),
    ("ab", "Ab16a", (40, 33), "u8", "u16", Conversion(src_scale=0.37)),
    ("ab", "ba", (48, 64), "e8m0", "s16", Conversion()),
]


@pytest.mark.parametrize(("compiler", "flags"), BUILDS, ids=IDS)
@pytest.mark.parametrize("case", range(len(CASES)))
def test_what_is_looked_up_is_what_the_reference_gives(
    case: int, compiler: str, flags: tuple[str, ...], tmp_path: Path
) -> None:
    _check_looked_up(CASES[case], compiler, flags, tmp_path)


@pytest.mark.parametrize(
    ("compiler", "flags"), [*BUILDS[:3], ("clang", BUILDS[2][1])], ids=[*IDS[:3], "computed by clang"]
)
@pytest.mark.parametrize("case", range(len(OF_WORDS)))
def test_words_that_are_looked_up_are_what_the_reference_gives(
    case: int, compiler: str, flags: tuple[str, ...], tmp_path: Path
) -> None:
    """The last two builds look those of few codes up, and compute others."""
    bits = element_type(OF_WORDS[case][3]).bits
    text = layoutc.Kernel(*sides_of(OF_WORDS[case]), target="avx512", conversion=OF_WORDS[case][5]).c_source
    assert ("word_of_" in text, "beside_" in text) == (bits <= 4, bits > 4)
    _check_looked_up(OF_WORDS[case], compiler, flags, tmp_path)


@pytest.mark.parametrize(("compiler", "flags"), BUILDS[3:], ids=IDS[3:])
@pytest.mark.parametrize("case", [case for case in OF_WORDS if element_type(case[3]).bits <= 4])
def test_words_of_few_codes_are_looked_up_in_rows(
    case: Case, compiler: str, flags: tuple[str, ...], tmp_path: Path
) -> None:
    text = layoutc.Kernel(*sides_of(case), target="avx2", conversion=case[5]).c_source
    assert "(u16x16)word_in_row_16(" in text or "(i16x16)word_in_row_16(" in text
    _check_looked_up(case, compiler, flags, tmp_path)


def test_rows_are_not_looked_up_for_words_of_many_codes() -> None:
    """Two tables of 16 rows take longer than the arithmetic."""
    sides = layoutc.desc("ab", (64, 64), "u8"), layoutc.desc("ab", (64, 64), "u16")
    assert "_table[" not in layoutc.Kernel(*sides, target="avx2", conversion=Conversion(src_scale=0.37)).c_source


def sides_of(case: Case) -> tuple[MemoryDesc, MemoryDesc]:
    source, destination, dims, type, to_type, _ = case
    return layoutc.desc(source, dims, type), layoutc.desc(destination, dims, to_type)


def _check_looked_up(
    case: Case,
    compiler: str,
    flags: tuple[str, ...],
    tmp_path: Path,
) -> None:
    conversion = case[5]
    sides = sides_of(case)
    target = "avx2" if "-march=x86-64-v3" in flags else "avx512"
    kernel = layoutc.Kernel(*sides, target=target, conversion=conversion)
    assert "_table[" in kernel.c_source
    if (path := compiler_named(compiler)) is None:
        pytest.skip(f"no {compiler}")
    function = compiled(kernel.c_source, path, tmp_path, *flags)("reorder", [ctypes.c_void_p] * 2)
    if NEEDED[flags[-1]] not in NATIVE.split():
        pytest.skip("no such processor")
    x = np.random.default_rng(5).integers(0, 256, kernel.source_bytes).astype(np.uint8)
    x[: min(256, len(x))] = np.arange(256, dtype=np.uint8)[: len(x)]
    expected, got = np.full((2, kernel.destination_bytes), 0xA5, np.uint8)
    layoutc.Kernel(*sides, "reference", conversion=conversion)(x, expected)
    function(*(ctypes.c_void_p(array.ctypes.data) for array in (x, got)))
    np.testing.assert_array_equal(got, expected)


@pytest.mark.parametrize(
    ("target", "conversion", "to_type"),
    [
        ("sse2", Conversion(), "f8_e4m3"),
        ("avx512", Conversion(src_scale=Param(axes=(0,))), "f8_e4m3"),
        ("avx512", Conversion(sum=0.5), "f8_e4m3"),
        ("avx512", Conversion(), "bf16"),
        ("avx512", Conversion(src_scale=0.37), "bf16"),
        ("avx512", Conversion(), "s16"),
        ("avx512", Conversion(), "f32"),
        ("avx512", Conversion(src_scale=Param()), "f16"),
        ("avx2", Conversion(), "f16"),
        ("avx512", Conversion(), "u8"),
    ],
)
def test_only_long_functions_of_one_byte_are_looked_up(target: str, conversion: Conversion, to_type: str) -> None:
    sides = layoutc.desc("ab", (64, 64), "s8"), layoutc.desc("ab", (64, 64), to_type)
    assert "_table[" not in layoutc.Kernel(*sides, target=target, conversion=conversion).c_source


def table_of(body: str, lanes: int = 16, given: str = "i8", result: str = "i8") -> bytes | None:
    text = f"""
func.func private @f(%x : vector<{lanes}x{given}>) -> vector<{lanes}x{result}> attributes {{layout.inlined}} {{
  {body}
}}"""
    (function,) = parsed(text).ops
    assert isinstance(function, func.FuncOp)
    return byte_table(function, LANES)


EVERY = ", ".join(map(str, range(16)))
MOVED = ", ".join(map(str, (1, 0, *range(2, 16))))
RETURN = "func.return %y : vector<16xi8>"


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (
            """%wide = arith.extui %x : vector<16xi8> to vector<16xi16>
               %sum = arith.addi %wide, %wide : vector<16xi16>
               %y = arith.trunci %sum : vector<16xi16> to vector<16xi8>""",
            [2 * byte % 256 for byte in range(256)],
        ),
        (
            """%c = arith.constant dense<7> : vector<16xi8>
               %y = arith.andi %x, %c : vector<16xi8>""",
            [byte & 7 for byte in range(256)],
        ),
        (
            """%one = arith.constant 1 : i8
               %all = vector.broadcast %one : i8 to vector<16xi8>
               %y = arith.xori %x, %all : vector<16xi8>""",
            [byte ^ 1 for byte in range(256)],
        ),
        (f"%y = vector.shuffle %x, %x [{EVERY}] : vector<16xi8>, vector<16xi8>", list(range(256))),
        (
            """%wide = arith.extui %x : vector<16xi8> to vector<16xi16>
               %bytes = vector.bitcast %wide : vector<16xi16> to vector<32xi8>
               %y = vector.shuffle %bytes, %bytes [0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30]
                 : vector<32xi8>, vector<32xi8>""",
            list(range(256)),
        ),
        (f"%y = vector.shuffle %x, %x [{MOVED}] : vector<16xi8>, vector<16xi8>", None),
        (
            """%pairs = vector.bitcast %x : vector<16xi8> to vector<8xi16>
               %sum = arith.addi %pairs, %pairs : vector<8xi16>
               %y = vector.bitcast %sum : vector<8xi16> to vector<16xi8>""",
            None,
        ),
        (
            f"""%c = arith.constant dense<[{EVERY}]> : vector<16xi8>
               %y = arith.addi %x, %c : vector<16xi8>""",
            None,
        ),
        (
            """%last = vector.extract %x[15] : i8 from vector<16xi8>
               %all = vector.broadcast %last : i8 to vector<16xi8>
               %y = arith.addi %x, %all : vector<16xi8>""",
            None,
        ),
    ],
)
def test_functions_by_lanes_have_tables(body: str, expected: list[int] | None) -> None:
    found = table_of(f"{body}\n  {RETURN}")
    assert found == (None if expected is None else bytes(expected))


def test_functions_of_other_vectors_have_none() -> None:
    assert table_of("func.return %x : vector<16xi16>", given="i16", result="i16") is None
    assert table_of("func.return %x : vector<8xi8>", lanes=8) is None


@pytest.mark.parametrize("size", [16, 32, 64, 128, 256])
@pytest.mark.parametrize("folded", ["", "by sign", "by negatives"])
@pytest.mark.parametrize("compiler", ["gcc", "clang"])
def test_a_table_is_looked_up_row_by_row(size: int, folded: str, compiler: str, tmp_path: Path) -> None:
    """Of every size, with rows that are alike; and with bits that change in all of a half."""
    if (path := compiler_named(compiler)) is None or "avx2" not in NATIVE.split():
        pytest.skip("no such compiler or processor")
    random = np.random.default_rng(size)
    rows = random.integers(0, 256, (size // 16, 16)).astype(np.uint8)
    rows[1:][random.random(size // 16 - 1) < 0.4] = rows[0]
    table = np.tile(rows.ravel(), 256 // size)
    if folded == "by sign":
        table[128:] = table[:128] ^ 0x41
    elif folded:
        table[129:] = table[127:0:-1] ^ 0xC1
    if size == 256:
        text = "".join(by_rows("given", 16, "u8x16", "table", table.tobytes()))
        assert (", table, 15," in text) is (not folded)
    texts = [table_text("table", table.tobytes())]
    for lanes in (16, 32):
        statements = "\n".join(by_rows("given", lanes, f"u8x{lanes}", "table", table.tobytes()))
        texts.append(f"void of_{lanes}(const u8x{lanes} *x, u8x{lanes} *y) {{ const u8x{lanes} given = *x;\n")
        texts[-1] += statements.rsplit("\n", 1)[0] + f"\n*y = {statements.rsplit(chr(10), 1)[1]} }}"
    used = words("\n".join(texts))
    helpers = byte_tables_prelude(used)
    above = prelude(used | words("\n".join(helpers)), (), has_pragmas=False, has_floats=False)
    library = compiled("\n".join((above, *helpers, *texts)), path, tmp_path, "-O2", "-march=x86-64-v3")
    codes, found = np.arange(256, dtype=np.uint8), np.zeros((8, 32), np.uint8)
    for lanes in (16, 32):
        for part, to in zip(codes.reshape(-1, lanes), found.reshape(-1, lanes), strict=True):
            given, result = aligned(lanes), aligned(lanes)
            given[:] = part
            library(f"of_{lanes}", [ctypes.c_void_p] * 2)(*(ctypes.c_void_p(a.ctypes.data) for a in (given, result)))
            to[:] = result
        np.testing.assert_array_equal(found.ravel(), table)


def aligned(size: int) -> np.ndarray:
    room = np.zeros(2 * size, np.uint8)
    return room[-room.ctypes.data % size :][:size]
