"""What the C target prints for vectors, parallel loops and streaming stores, compiled and run."""

from __future__ import annotations

import ctypes
import itertools
import re
import shutil
import subprocess
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import layoutc
from layoutc.errors import LayoutcError
from layoutc.targets.c import emit_c
from layoutc.targets.spelling.c_names import is_identifier
from layoutc.targets.words.c_text import wrapped
from tests.c_programs import COMPILERS, ELEMENTS, compiled, compiler_named, emitted, parsed
from tests.interpreting import parallel

Array = NDArray[Any]

ARCHITECTURES = ("", "-march=x86-64-v3", "-march=native")
POINTER, INDEX = ctypes.c_void_p, ctypes.c_int64


@pytest.fixture(params=COMPILERS)
def compiler(request: pytest.FixtureRequest) -> str:
    path = compiler_named(request.param)
    if path is None:
        pytest.skip(f"{request.param} is not here")
    return path


def flags_of(compiler: str) -> list[tuple[str, ...]]:
    """Flags to try: every processor that the compiler knows and this machine has, with and without OpenMP."""
    from layoutc.compiler import Compiler

    known = Compiler((compiler,))
    native = Path("/proc/cpuinfo").read_text() if Path("/proc/cpuinfo").exists() else ""
    wanted = [(), ("-O0",), ("-fopenmp",), *((flag,) for flag in ARCHITECTURES if flag)]
    has_avx2 = "avx2" in native
    return [flags for flags in wanted if known.accepts(flags) and (has_avx2 or flags != ("-march=x86-64-v3",))]


def programs(text: str, compiler: str, folder: Path) -> Iterator[Any]:
    """The same IR compiled with all flags."""
    c_text = emitted(text)
    for flags in flags_of(compiler):
        yield compiled(c_text, compiler, folder, *flags)


def constants(*numbers: int) -> str:
    return "\n".join(f"%c{n} = arith.constant {n} : index" for n in sorted({0, 1, *numbers}))


def pointer(array: Array) -> int:
    return array.ctypes.data


def guarded(elements: int, dtype: Any, shift: int = 0) -> tuple[Array, Array]:
    """Memory with a canary on both sides, and the part between them, `shift` elements past a multiple of 64 bytes."""
    dtype = np.dtype(dtype)
    room = np.full(elements * dtype.itemsize + 256, 0xA5, np.uint8)
    start = -pointer(room) % 64 + 64 + shift * dtype.itemsize
    return room, room[start : start + elements * dtype.itemsize].view(dtype)


def assert_untouched_outside(room: Array, part: Array) -> None:
    start = pointer(part) - pointer(room)
    outside = np.concatenate([room[:start], room[start + part.nbytes :]])
    np.testing.assert_array_equal(outside, 0xA5)


# --- lanes ---------------------------------------------------------------------------------------------------------

LANES = {**ELEMENTS, "i1": 1}


def zipped_backwards(lanes: int) -> list[int]:
    """The last lanes of two vectors in turn, the second vector's first."""
    return [2 * lanes - 1 - i // 2 - i % 2 * lanes for i in range(lanes)]


def test_lanes_of_every_type_move_bit_by_bit(compiler: str, tmp_path: Path) -> None:
    """Each vector width and element type, from and to odd offsets; signalling NaNs among the bits."""
    cases = [(t, size, width // size) for t, size in LANES.items() for width in (8, 16, 32, 64)]
    text = "\n".join(
        f"""
      func.func @reverse_{t}_{lanes}(%src : memref<{2 * lanes + 3}x{t}>, %dst : memref<{2 * lanes + 3}x{t}>) {{
        {constants(1, 3, lanes)}
        %next = arith.addi %c3, %c{lanes} : index
        %low = vector.load %src[%c3] : memref<{2 * lanes + 3}x{t}>, vector<{lanes}x{t}>
        %high = vector.load %src[%next] : memref<{2 * lanes + 3}x{t}>, vector<{lanes}x{t}>
        %zipped = vector.shuffle %low, %high {zipped_backwards(lanes)} : vector<{lanes}x{t}>, vector<{lanes}x{t}>
        vector.store %zipped, %dst[%c1] : memref<{2 * lanes + 3}x{t}>, vector<{lanes}x{t}>
        func.return
      }}"""
        for t, _, lanes in cases
    )
    for program in programs(text, compiler, tmp_path):
        for t, size, lanes in cases:
            source = np.random.default_rng(lanes).integers(0, 256, (2 * lanes + 3) * size, np.uint8).view(f"u{size}")
            if t in ("f32", "f64"):
                source[3:5] = [0x7F800001, 0xFFBFFFFF] if t == "f32" else [0x7FF0000000000001, 0xFFF7FFFFFFFFFFFF]
            room, target = guarded(2 * lanes + 3, source.dtype)
            expected = target.copy()
            expected[1 : 1 + lanes] = source[3:][zipped_backwards(lanes)]
            program(f"reverse_{t}_{lanes}", [POINTER] * 2)(pointer(source), pointer(target))
            np.testing.assert_array_equal(target, expected, f"{t} {lanes}")
            assert_untouched_outside(room, target)


def test_lanes_that_move_together_move_as_wider_ones(compiler: str, tmp_path: Path) -> None:
    """Unpacked singly, in twos, fours and eights; two registers end to end; singly by one lane is none of them."""
    masks = {
        f"unpack_{size}": [v for n in range(0, 32, size) for first in (n, n + 64) for v in range(first, first + size)]
        for size in (1, 2, 4, 8)
    }
    masks |= {"concat": [*range(128)], "shifted": [*range(1, 65)]}
    text = "\n".join(
        f"""
      func.func @{name}(%src : memref<128xi8>, %dst : memref<128xi8>) {{
        {constants(64)}
        %low = vector.load %src[%c0] : memref<128xi8>, vector<64xi8>
        %high = vector.load %src[%c64] : memref<128xi8>, vector<64xi8>
        %moved = vector.shuffle %low, %high {mask} : vector<64xi8>, vector<64xi8>
        vector.store %moved, %dst[%c0] : memref<128xi8>, vector<{len(mask)}xi8>
        func.return
      }}"""
        for name, mask in masks.items()
    )
    shuffled = re.findall(r"shufflevector\((?:\((\w+)\))?\(?a", emitted(text))
    assert shuffled == ["u16x32", "u32x16", "u64x8", "u64x8"], "lanes that move singly have no macro"
    for program in programs(text, compiler, tmp_path):
        for name, mask in masks.items():
            source, target = np.arange(128, dtype=np.uint8), np.zeros(128, np.uint8)
            program(name, [POINTER] * 2)(pointer(source), pointer(target))
            np.testing.assert_array_equal(target[: len(mask)], source[mask], name)


def test_pairs_of_doubles_take_lanes_of_other_pairs(compiler: str, tmp_path: Path) -> None:
    """What stays in its pair of lanes but for one lane: gcc 12 has that one stay, too."""
    masks = [[0, 1, *pair, 4, 5, 6, 7] for pair in itertools.product(range(2, 8), repeat=2)]
    text = "\n".join(
        f"""
      func.func @pick_{number}(%src : memref<8xf64>, %dst : memref<8xf64>) {{
        {constants()}
        %a = vector.load %src[%c0] : memref<8xf64>, vector<8xf64>
        %picked = vector.shuffle %a, %a {mask} : vector<8xf64>, vector<8xf64>
        vector.store %picked, %dst[%c0] : memref<8xf64>, vector<8xf64>
        func.return
      }}"""
        for number, mask in enumerate(masks)
    )
    source, target = np.arange(8.0), np.zeros(8)
    for program in programs(text, compiler, tmp_path):
        for number, mask in enumerate(masks):
            program(f"pick_{number}", [POINTER] * 2)(pointer(source), pointer(target))
            assert target.tolist() == mask


def test_bitcast_is_of_bytes_in_memory_order(compiler: str, tmp_path: Path) -> None:
    text = f"""
    func.func @f(%src : memref<8xbf16>, %dst : memref<4xi32>, %bytes : memref<16xui8>) {{
      {constants()}
      %pairs = vector.load %src[%c0] : memref<8xbf16>, vector<8xbf16>
      %words = vector.bitcast %pairs : vector<8xbf16> to vector<4xi32>
      %swapped = vector.shuffle %words, %words [1, 0, 3, 2] : vector<4xi32>, vector<4xi32>
      vector.store %swapped, %dst[%c0] : memref<4xi32>, vector<4xi32>
      %parts = vector.bitcast %swapped : vector<4xi32> to vector<16xui8>
      vector.store %parts, %bytes[%c0] : memref<16xui8>, vector<16xui8>
      func.return
    }}"""
    for program in programs(text, compiler, tmp_path):
        source, words, parts = np.arange(8, dtype=np.uint16), np.zeros(4, np.int32), np.zeros(16, np.uint8)
        program("f", [POINTER] * 3)(pointer(source), pointer(words), pointer(parts))
        expected = source.view(np.int32)[[1, 0, 3, 2]]
        np.testing.assert_array_equal(words, expected)
        np.testing.assert_array_equal(parts, expected.view(np.uint8))


CONSTANTS = {
    "zeros": ("vector<4xi32>", "dense<0>", np.zeros(4, np.int32)),
    "minus_zeros": ("vector<4xf32>", "dense<-0.0>", np.full(4, -0.0, np.float32)),
    "ones": ("vector<2xf64>", "dense<1.5>", np.full(2, 1.5)),
    "least": ("vector<2xi64>", "dense<[-9223372036854775808, 7]>", np.array([-(2**63), 7])),
    "halves": ("vector<8xf16>", "dense<1.0>", np.full(8, 0x3C00, np.uint16)),
    "brains": ("vector<8xbf16>", "dense<0.0>", np.zeros(8, np.uint16)),
    "bytes": ("vector<16xui8>", f"dense<{list(range(240, 256))}>", np.arange(240, 256, dtype=np.uint8)),
    "flags": ("vector<16xi1>", f"dense<[{', '.join(['true', 'false'] * 8)}]>", np.tile([1, 0], 8).astype(np.uint8)),
}


def test_constants_broadcasts_and_single_lanes(compiler: str, tmp_path: Path) -> None:
    text = "\n".join(
        f"""
    func.func @{name}(%dst : memref<{type[7:-1]}>) {{
      {constants()}
      %lanes = arith.constant {value} : {type}
      vector.store %lanes, %dst[%c0] : memref<{type[7:-1]}>, {type}
      func.return
    }}"""
        for name, (type, value, _) in CONSTANTS.items()
    )
    text += f"""
    func.func @lanes(%x : f32, %dst : memref<8xf32>) -> f32 {{
      {constants(4)}
      %all = vector.broadcast %x : f32 to vector<4xf32>
      %zero = arith.constant 0.0 : f32
      %some = vector.insert %zero, %all [2] : f32 into vector<4xf32>
      vector.store %all, %dst[%c0] : memref<8xf32>, vector<4xf32>
      vector.store %some, %dst[%c4] : memref<8xf32>, vector<4xf32>
      %lane = vector.extract %some[1] : f32 from vector<4xf32>
      func.return %lane : f32
    }}"""
    for program in programs(text, compiler, tmp_path):
        for name, (_, _, expected) in CONSTANTS.items():
            room, target = guarded(expected.size, expected.dtype)
            program(name, [POINTER])(pointer(target))
            assert target.tobytes() == expected.tobytes(), name
            assert_untouched_outside(room, target)
        target = np.zeros(8, np.float32)
        assert program("lanes", [ctypes.c_float, POINTER], ctypes.c_float)(2.5, pointer(target)) == 2.5
        assert target.tolist() == [2.5] * 6 + [0, 2.5]


@pytest.mark.parametrize("on", [(True,) * 8, (False,) * 8, (True, False, False, True) * 2])
def test_lanes_are_chosen_by_masks_that_are_known(on: tuple[bool, ...], compiler: str, tmp_path: Path) -> None:
    text = f"""
    func.func @f(%src : memref<8xi32>, %dst : memref<24xi32>) {{
      {constants(8, 16)}
      %mask = arith.constant dense<{[*on]}> : vector<8xi1>
      %value = vector.load %src[%c0] : memref<8xi32>, vector<8xi32>
      %other = arith.addi %value, %value : vector<8xi32>
      %chosen = arith.select %mask, %value, %other : vector<8xi1>, vector<8xi32>
      vector.store %chosen, %dst[%c0] : memref<24xi32>, vector<8xi32>
      %wide = arith.extui %mask : vector<8xi1> to vector<8xi32>
      vector.store %wide, %dst[%c8] : memref<24xi32>, vector<8xi32>
      %odd = arith.cmpi slt, %value, %other : vector<8xi32>
      %both = arith.xori %mask, %odd : vector<8xi1>
      %turned = arith.select %both, %value, %other : vector<8xi1>, vector<8xi32>
      vector.store %turned, %dst[%c16] : memref<24xi32>, vector<8xi32>
      func.return
    }}""".replace("True", "true").replace("False", "false")
    source = np.arange(1, 9, dtype=np.int32)
    expected = [np.where(on, source, 2 * source), on, np.where(on, 2 * source, source)]
    for program in programs(text, compiler, tmp_path):
        target = np.zeros(24, np.int32)
        program("f", [POINTER] * 2)(pointer(source), pointer(target))
        np.testing.assert_array_equal(target, np.concatenate(expected))


@pytest.mark.parametrize("type", ["i8", "bf16", "f32", "i64"])
@pytest.mark.parametrize("width", [16, 64])
def test_masks_touch_the_first_lanes_only(type: str, width: int, compiler: str, tmp_path: Path) -> None:
    """Any count, also one that is past both ends; what is not loaded comes from the other vector."""
    size = LANES[type]
    lanes = width // size
    vector, memref, mask = f"vector<{lanes}x{type}>", f"memref<{lanes}x{type}>", f"vector<{lanes}xi1>"
    some = ", ".join("true" if lane < 3 % lanes else "false" for lane in range(lanes))
    text = f"""
    func.func @counted(%src : {memref}, %other : {memref}, %dst : {memref}, %n : index, %m : index) {{
      {constants()}
      %rest = vector.load %other[%c0] : {memref}, {vector}
      %loaded = vector.create_mask %n : {mask}
      %stored = vector.create_mask %m : {mask}
      %value = vector.maskedload %src[%c0], %loaded, %rest : {memref}, {mask}, {vector} into {vector}
      vector.maskedstore %dst[%c0], %stored, %value : {memref}, {mask}, {vector}
      func.return
    }}
    func.func @constant(%src : {memref}, %dst : {memref}) {{
      {constants()}
      %mask = arith.constant dense<[{some}]> : {mask}
      %zero = arith.constant dense<0{"" if type.startswith("i") else ".0"}> : {vector}
      %value = vector.maskedload %src[%c0], %mask, %zero : {memref}, {mask}, {vector} into {vector}
      vector.maskedstore %dst[%c0], %mask, %value : {memref}, {mask}, {vector}
      func.return
    }}"""
    source, other = (np.arange(start, start + lanes).astype(f"u{size}") for start in (1, 101))
    for program in programs(text, compiler, tmp_path):
        for n, m in product((-1, 0, 1, lanes - 1, lanes, lanes + 5), repeat=2):
            room, target = guarded(lanes, source.dtype)
            expected = target.copy()
            value = np.where(np.arange(lanes) < n, source, other)
            expected[: max(m, 0)] = value[: max(m, 0)]
            program("counted", [POINTER] * 3 + [INDEX] * 2)(pointer(source), pointer(other), pointer(target), n, m)
            np.testing.assert_array_equal(target, expected, f"{n} {m}")
            assert_untouched_outside(room, target)
        room, target = guarded(lanes, source.dtype)
        expected = target.copy()
        expected[: 3 % lanes] = source[: 3 % lanes]
        program("constant", [POINTER] * 2)(pointer(source), pointer(target))
        np.testing.assert_array_equal(target, expected)
        assert_untouched_outside(room, target)


# --- streaming -----------------------------------------------------------------------------------------------------


def streaming(lanes: int, count: int) -> str:
    """A copy by non-temporal stores; `odd` writes from an offset that only its caller knows."""
    size, vector = lanes * count, f"vector<{lanes}xf32>"
    return f"""
    func.func @even(%src : memref<{size}xf32>, %dst : memref<{size}xf32>) {{
      {constants(lanes, size)}
      scf.for %i = %c0 to %c{size} step %c{lanes} {{
        %value = vector.load %src[%i] {{layout.prefetch = 1000000 : i64}} : memref<{size}xf32>, {vector}
        vector.store %value, %dst[%i] {{nontemporal = true}} : memref<{size}xf32>, {vector}
      }}
      func.return
    }}
    func.func @odd(%src : memref<{size}xf32>, %dst : memref<?xf32>, %start : index) {{
      {constants(lanes, size)}
      scf.for %i = %c0 to %c{size} step %c{lanes} {{
        %to = arith.addi %i, %start : index
        %value = vector.load %src[%i] : memref<{size}xf32>, {vector}
        vector.store %value, %dst[%to] {{nontemporal = true}} : memref<?xf32>, {vector}
      }}
      func.return
    }}"""


@pytest.mark.parametrize("lanes", [2, 4, 8, 16, 32])
def test_streams_to_any_address(lanes: int, compiler: str, tmp_path: Path) -> None:
    """Aligned buffers and those that malloc gives, offsets that fit and others; narrow and wide vectors."""
    source = np.arange(lanes * 5, dtype=np.float32)
    for program in programs(streaming(lanes, 5), compiler, tmp_path):
        for shift in (*range(5), 8, 12):
            room, target = guarded(source.size, np.float32, shift)
            program("even", [POINTER] * 2)(pointer(source), pointer(target))
            np.testing.assert_array_equal(target, source)
            assert_untouched_outside(room, target)
            room, target = guarded(source.size, np.float32, shift)
            program("odd", [POINTER, POINTER, INDEX])(
                pointer(source), pointer(room), (pointer(target) - pointer(room)) // 4
            )
            np.testing.assert_array_equal(target, source)
            assert_untouched_outside(room, target)


@pytest.mark.parametrize(("lanes", "march"), [(4, "x86-64"), (8, "x86-64-v3"), (16, "x86-64-v4")])
def test_streams_are_non_temporal_and_fenced(lanes: int, march: str, compiler: str, tmp_path: Path) -> None:
    """Whole registers go past the caches; a fence stands before each return."""
    (tmp_path / "f.c").write_text(emitted(streaming(lanes, 5)))
    command = [compiler, "-O2", "-std=gnu11", f"-march={march}", "-S", "-o", "-", tmp_path / "f.c"]
    done = subprocess.run(command, capture_output=True, text=True)
    if "unrecognized" in done.stderr or "unknown target CPU" in done.stderr:
        pytest.skip(f"no {march} here")
    assert len(re.findall(r"\tv?movnt(dq|ps|pd)\s", done.stdout)) >= 2
    assert done.stdout.count("\tsfence") == len(re.findall(r"\tretq?\b", done.stdout)) >= 2
    assert "\tprefetcht1" in done.stdout


def test_the_start_of_a_buffer_is_asked_once_if_that_is_enough() -> None:
    even, odd = emitted(streaming(16, 4)).split("void odd")
    assert "const bool dst_is_aligned = is_aligned(dst, 64);" in even
    assert "stream_f32x16(dst + i, value, dst_is_aligned);" in even
    assert "dst_is_aligned" not in odd
    assert "stream_f32x16(dst + to, value, is_aligned(dst + to, 64));" in odd


MULTIPLES = {
    "d0": 4,
    "d0 * 4": 16,
    "d0 * 4 + 8": 8,
    "d0 * 3 + d1": 1,
    "d0 * 6 + d1 * 4": 4,
    "(d0 * 8) floordiv 4": 8,
    "(d0 * 6) floordiv 5": 1,
    "(d0 * 8) mod 12": 4,
    "d0 * 5 mod 7 * 16": 16,
    "0": 32,
}


@pytest.mark.parametrize("expr", MULTIPLES)
def test_known_multiples_hold(expr: str) -> None:
    """What the analysis finds for %a, a multiple of 4, and any %b is as much as it should, and true of numbers."""
    from layoutc.targets.words.multiples import Divisors

    map = f"affine_map<(d0, d1) -> ({expr})>"
    text = f"""
    func.func @f(%n : index, %b : index) {{
      {constants(4)}
      scf.for %a = %c0 to %n step %c4 {{
        %r = affine.apply {map} (%a, %b)
      }}
      func.return
    }}"""
    (op,) = (op for op in parsed(text).walk() if op.name == "affine.apply")
    divisor = Divisors()[op.results[0]]
    found = next(size for size in (32, 16, 8, 4, 2, 1) if divisor % size == 0)
    assert found == MULTIPLES[expr]
    for a, b in product(range(0, 100, 4), range(20)):
        (value,) = op.map.data.eval([a, b], [])  # pyright: ignore[reportAttributeAccessIssue]
        assert value % found == 0


def test_lists_of_integers_keep_all_bits(compiler: str, tmp_path: Path) -> None:
    """As floats, which gcc puts together in vector registers: bits of signalling NaNs, and zeros elsewhere."""
    cases = [(bits, lanes) for bits in (32, 64) for lanes in (2, 4, 8, 16) if bits * lanes <= 512]
    text = "\n".join(list_of_every_third(bits, lanes, lanes - 1) for bits, lanes in cases)
    for program in programs(text, compiler, tmp_path):
        for bits, lanes in cases:
            signalling = {32: 0x7F800001, 64: 0x7FF0000000000001}[bits]
            source = (np.arange(3 * lanes) + signalling).astype(f"u{bits // 8}")
            room, target = guarded(lanes, source.dtype)
            program(f"list_{bits}_{lanes}", [POINTER] * 2)(pointer(source), pointer(target))
            np.testing.assert_array_equal(target, [*source[::3][: lanes - 1], 0])
            assert_untouched_outside(room, target)


def test_lists_of_wide_integers_alone_have_a_macro() -> None:
    """Of floats, and of narrower integers, compilers make vectors by themselves."""
    texts = {bits: emitted(list_of_every_third(bits, 4, 4)) for bits in (8, 16, 32, 64)}
    assert [f"= lanes_i{bits}x4(" in text for bits, text in texts.items()] == [False, False, True, True]
    assert "#if defined(__i386__) && !defined(__SSE2__)" in texts[32], "x87 would change signalling NaNs"


def list_of_every_third(bits: int, lanes: int, count: int) -> str:
    """Lanes that are loaded one by one, and zeros behind them."""
    type = f"vector<{lanes}xi{bits}>"
    ops = [f"%v0 = arith.constant dense<0> : {type}"]
    for lane in range(count):
        ops.append(f"%e{lane} = memref.load %src[%c{3 * lane}] : memref<{3 * lanes}xi{bits}>")
        ops.append(f"%v{lane + 1} = vector.insert %e{lane}, %v{lane} [{lane}] : i{bits} into {type}")
    body = "\n".join(ops)
    return f"""
    func.func @list_{bits}_{lanes}(%src : memref<{3 * lanes}xi{bits}>, %dst : memref<{lanes}xi{bits}>) {{
      {constants(*range(0, 3 * count, 3))}
      {body}
      vector.store %v{count}, %dst[%c0] : memref<{lanes}xi{bits}>, {type}
      func.return
    }}"""


# --- loops, buffers ------------------------------------------------------------------------------------------------


def transposition(rows: int, columns: int, attributes: str = "", streams: bool = False) -> str:
    """4x4 tiles by way of a buffer of each tile's own."""
    nontemporal = "{nontemporal = true}" if streams else ""
    loads = "\n".join(
        f"""
        %from{r} = affine.apply affine_map<(d0, d1) -> (d0 * {4 * columns} + d1 * 4 + {r * columns})> (%i, %j)
        %row{r} = vector.load %src[%from{r}] : memref<{rows * columns}xf32>, vector<4xf32>
        %at{r} = arith.constant {4 * r} : index
        vector.store %row{r}, %tile[%at{r}] : memref<16xf32>, vector<4xf32>"""
        for r in range(4)
    )
    stores = f"""
        scf.for %c = %c0 to %c4 step %c1 {{
          %e0 = memref.load %tile[%c] : memref<16xf32>
          %first = vector.broadcast %e0 : f32 to vector<4xf32>
          %p1 = affine.apply affine_map<(d0) -> (d0 + 4)> (%c)
          %e1 = memref.load %tile[%p1] : memref<16xf32>
          %second = vector.insert %e1, %first [1] : f32 into vector<4xf32>
          %p2 = affine.apply affine_map<(d0) -> (d0 + 8)> (%c)
          %e2 = memref.load %tile[%p2] : memref<16xf32>
          %third = vector.insert %e2, %second [2] : f32 into vector<4xf32>
          %p3 = affine.apply affine_map<(d0) -> (d0 + 12)> (%c)
          %e3 = memref.load %tile[%p3] : memref<16xf32>
          %column = vector.insert %e3, %third [3] : f32 into vector<4xf32>
          %to = affine.apply affine_map<(d0, d1, d2) -> (d1 * {4 * rows} + d2 * {rows} + d0 * 4)> (%i, %j, %c)
          vector.store %column, %dst[%to] {nontemporal} : memref<{rows * columns}xf32>, vector<4xf32>
        }}"""
    alloca = "%tile = memref.alloca() {alignment = 64 : i64} : memref<16xf32>"
    body = parallel({"i": rows // 4, "j": columns // 4}, f"{alloca}\n{loads}\n{stores}", attributes)
    return f"""
    func.func @transpose(%src : memref<{rows * columns}xf32>, %dst : memref<{rows * columns}xf32>) {{
      {constants(4, rows // 4, columns // 4)}
      {body}
      func.return
    }}"""


@pytest.mark.parametrize("streams", [False, True])
def test_parallel_loops_with_a_buffer_each(streams: bool, compiler: str, tmp_path: Path) -> None:
    rows, columns = 40, 24
    source = np.arange(rows * columns, dtype=np.float32)
    for program in programs(transposition(rows, columns, "layout.threads = 2 : i64", streams), compiler, tmp_path):
        room, target = guarded(source.size, np.float32)
        program("transpose", [POINTER] * 2)(pointer(source), pointer(target))
        np.testing.assert_array_equal(target.reshape(columns, rows), source.reshape(rows, columns).T)
        assert_untouched_outside(room, target)


@pytest.mark.parametrize("threads", [1, 3])
def test_threads_are_as_many_as_asked_for(threads: int, tmp_path: Path) -> None:
    """Each iteration asks OpenMP for the number of its thread's team."""
    gcc = compiler_named("gcc")
    if gcc is None:
        pytest.skip("no gcc")
    body = "%t = func.call @omp_get_num_threads() : () -> i32\nmemref.store %t, %dst[%i] : memref<6xi32>"
    text = f"""
    func.func private @omp_get_num_threads() -> i32
    func.func @f(%dst : memref<6xi32>) {{
      {constants(6)}
      {parallel({"i": 6}, body, f"layout.threads = {threads} : i32")}
      func.return
    }}"""
    target = np.zeros(6, np.int32)
    compiled(emitted(text), gcc, tmp_path, "-fopenmp")("f", [POINTER])(pointer(target))
    assert target.tolist() == [threads] * 6


def test_affine_min_and_memref_copy(compiler: str, tmp_path: Path) -> None:
    text = f"""
    func.func @least(%a : index, %b : index) -> index {{
      %r = affine.min affine_map<(d0)[s0] -> (d0 * 2 - 1, s0, 40)> (%a)[%b]
      func.return %r : index
    }}
    func.func @move(%src : memref<2x3xi16>, %dst : memref<2x3xi16, strided<[3, 1], offset: 1>>) {{
      "memref.copy"(%src, %dst) : (memref<2x3xi16>, memref<2x3xi16, strided<[3, 1], offset: 1>>) -> ()
      func.return
    }}
    func.func @is_first_row(%i : index) -> index {{
      {constants(3)}
      %r = affine.min affine_map<(d0) -> (d0 floordiv 3, 1)> (%i)
      func.return %r : index
    }}"""
    for program in programs(text, compiler, tmp_path):
        least = program("least", [INDEX] * 2, INDEX)
        assert [least(a, b) for a, b in ((3, 9), (-2, 9), (30, 100), (30, -7))] == [5, -5, 40, -7]
        source, target = np.arange(6, dtype=np.int16), np.zeros(8, np.int16)
        program("move", [POINTER] * 2)(pointer(source), pointer(target))
        assert target.tolist() == [0, 0, 1, 2, 3, 4, 5, 0]
        first = program("is_first_row", [INDEX], INDEX)
        assert [first(i) for i in (-4, -1, 0, 2, 3, 9)] == [-2, -1, 0, 0, 1, 1]


# --- text ----------------------------------------------------------------------------------------------------------


def test_names_of_vectors_are_reserved(compiler: str, tmp_path: Path) -> None:
    names = [
        "f32x4",
        "load_f32x4",
        "bytes_16",
        "stream_16",
        "stream_f32x4",
        "prefetch",
        "is_aligned",
        "f32x4_unaligned",
    ]
    arguments = ", ".join(f"%{name} : index" for name in names)
    sums = "\n".join(f"%s{i + 1} = arith.addi %s{i}, %{name} : index" for i, name in enumerate(names))
    text = f"""
    func.func @f(%m : memref<16xf32>, {arguments}) -> index {{
      %s0 = arith.constant 0 : index
      {sums}
      %value = vector.load %m[%s0] {{layout.prefetch = 4 : i64}} : memref<16xf32>, vector<4xf32>
      vector.store %value, %m[%s0] {{nontemporal = true}} : memref<16xf32>, vector<4xf32>
      func.return %s{len(names)} : index
    }}"""
    memory = np.arange(16, dtype=np.float32)
    for program in programs(text, compiler, tmp_path):
        assert program("f", [POINTER] + [INDEX] * len(names), INDEX)(pointer(memory), *range(1, 9)) == sum(range(1, 9))


@pytest.mark.parametrize(
    ("dims", "source", "destination", "types"),
    [
        ((14, 14, 22, 4, 12), "abcde", "bdaec", ("s8", "s8")),
        ((3, 24, 24), "abc", "acb", ("bf16", "bf16")),
        ((8, 64, 64), "abc", "acb", ("f8_e4m3", "f32")),
        ((8, 64, 64), "abc", "aCb16c", ("f32", "bf16")),
        ((8, 64, 64), "abc", "abc", ("f4_e2m1", "f32")),
    ],
)
def test_names_that_a_file_defines_are_reserved(
    dims: tuple[int, ...], source: str, destination: str, types: tuple[str, str]
) -> None:
    """A kernel of one of these names would be taken for the macro."""
    sides = layoutc.desc(source, dims, types[0]), layoutc.desc(destination, dims, types[1])
    text = layoutc.Kernel(*sides, target="avx512").c_source
    names = re.findall(r"^ *#define (\w+)\(|^typedef \w+ (\w+) ", text, re.MULTILINE)
    defined = {name for pair in names for name in pair if name and not name.startswith("reorder_")}
    assert defined
    assert [name for name in sorted(defined) if is_identifier(name)] == []


def test_no_line_is_wide() -> None:
    """Masks of 64 lanes, and lines that cannot be broken."""
    lanes = ", ".join(str(127 - lane) for lane in range(64))
    text = f"""
    func.func @f(%m : memref<128xi8>) {{
      {constants(64)}
      %a = vector.load %m[%c0] : memref<128xi8>, vector<64xi8>
      %b = vector.load %m[%c64] : memref<128xi8>, vector<64xi8>
      %t = vector.shuffle %a, %b [{lanes}] : vector<64xi8>, vector<64xi8>
      %k = arith.constant dense<[{lanes}]> : vector<64xi8>
      vector.store %t, %m[%c0] : memref<128xi8>, vector<64xi8>
      vector.store %k, %m[%c64] : memref<128xi8>, vector<64xi8>
      func.return
    }}"""
    lines = emitted(text).splitlines()
    assert max(map(len, lines)) <= 110
    first = next(i for i, line in enumerate(lines) if "shufflevector" in line)
    assert lines[first + 1].index("1") == lines[first].index("(a") + 1
    assert wrapped("x" * 200) == ["x" * 200]
    assert wrapped("f(" + ", ".join(["ab"] * 6) + ")", 14) == ["f(ab, ab, ab,", "  ab, ab, ab)"]
    # A table of 2^20 scales: each line costs what it holds, not what is left.
    table = wrapped("  table[] = {" + ", ".join(["0.5f"] * (1 << 20)) + "};")
    assert {len(line) for line in table[:-1]} == {108}
    assert "".join(line.lstrip() for line in table).count("0.5f,") == (1 << 20) - 1


DEAD = """
%dead = vector.load %m[%i] {layout.prefetch = 4 : i64} : memref<16xf32>, vector<4xf32>
%deader = vector.shuffle %dead, %dead [0, 1] : vector<4xf32>, vector<4xf32>
%mask = vector.create_mask %i : vector<4xi1>
%ones = arith.constant dense<1.0> : vector<4xf32>
"""


def test_what_nobody_uses_is_left_out() -> None:
    text = f"func.func @f(%m : memref<16xf32>, %i : index) {{\n{DEAD}\nfunc.return\n}}"
    written = emitted(text)
    assert "x4" not in written
    assert written.count("prefetch(m + i, 16)") == 1


REFUSED = {
    "vector<3xf32>, expected a vector": "%0 = vector.load %m[%i] : memref<16xf32>, vector<3xf32>\n"
    "vector.store %0, %m[%i] : memref<16xf32>, vector<3xf32>",
    "vector<2x2xf32>, expected a vector": "%0 = arith.constant dense<0.0> : vector<2x2xf32>\n"
    "vector.store %0, %m[%i] : memref<16xf32>, vector<2x2xf32>",
    r"vector<\[4\]xf32>, expected a vector": "%0 = vector.load %m[%i] : memref<16xf32>, vector<[4]xf32>\n"
    "vector.store %0, %m[%i] : memref<16xf32>, vector<[4]xf32>",
    "expected vectors of one type": "%0 = vector.load %m[%i] : memref<16xf32>, vector<4xf32>\n"
    "%1 = vector.load %m[%i] : memref<16xf32>, vector<8xf32>\n"
    "%2 = vector.shuffle %0, %1 [0, 4] : vector<4xf32>, vector<8xf32>\n"
    "vector.store %2, %m[%i] : memref<16xf32>, vector<2xf32>",
    "under this mask": "%0 = arith.constant dense<0.0> : vector<2xf32>\n%1 = arith.cmpf oeq, %0, %0 : vector<2xf32>\n"
    "vector.maskedstore %m[%i], %1, %0 : memref<16xf32>, vector<2xi1>, vector<2xf32>",
    "an innermost axis of stride 1": "%0 = arith.constant dense<0.0> : vector<2xf32>\n"
    "vector.store %0, %wide[%i] : memref<8xf32, strided<[2]>>, vector<2xf32>",
    "expected row-major memrefs": '"memref.copy"(%wide, %wide) : (memref<8xf32, strided<[2]>>, '
    "memref<8xf32, strided<[2]>>) -> ()",
    "'arith.addf' on vector<4xf16>": "%0 = arith.constant dense<0.0> : vector<4xf16>\n"
    "%1 = arith.addf %0, %0 : vector<4xf16>\nvector.store %1, %n[%i] : memref<16xf16>, vector<4xf16>",
    "no C spelling for type vector<4xi32>": "%0 = arith.constant dense<1> : vector<4xi32>\n"
    "%1 = arith.divsi %0, %0 : vector<4xi32>\n%2 = arith.bitcast %1 : vector<4xi32> to vector<4xf32>\n"
    "vector.store %2, %m[%i] : memref<16xf32>, vector<4xf32>",
    "'vector.fma'": "%0 = arith.constant dense<0.0> : vector<4xf32>\n"
    '%1 = "vector.fma"(%0, %0, %0) : (vector<4xf32>, vector<4xf32>, vector<4xf32>) -> vector<4xf32>\n'
    "vector.store %1, %m[%i] : memref<16xf32>, vector<4xf32>",
    "layout.threads = 0": parallel({"k": 1}, "", "layout.threads = 0 : i32"),
    'layout.threads = "two"': parallel({"k": 1}, "", 'layout.threads = "two"'),
    "with step 0": '"scf.parallel"(%c0, %c1, %c0) <{operandSegmentSizes = array<i32: 1, 1, 1, 0>}> ({\n'
    "^bb0(%k : index):\nscf.reduce\n}) : (index, index, index) -> ()",
}


@pytest.mark.parametrize("message", REFUSED)
def test_what_c_has_no_words_for_is_an_error(message: str) -> None:
    text = f"""
    func.func @f(%m : memref<16xf32>, %n : memref<16xf16>, %wide : memref<8xf32, strided<[2]>>, %i : index) {{
      {constants()}
      {REFUSED[message]}
      func.return
    }}"""
    with pytest.raises(LayoutcError, match=message):
        emit_c(parsed(text))


def test_mlir_opt_takes_the_ops(tmp_path: Path) -> None:
    tool = shutil.which("mlir-opt-22") or shutil.which("mlir-opt")
    if tool is None:
        pytest.skip("no mlir-opt")
    (tmp_path / "f.mlir").write_text(str(parsed(transposition(8, 8, "layout.threads = 2 : i64", True))))
    command = [tool, "--allow-unregistered-dialect", tmp_path / "f.mlir"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "nontemporal = true" in done.stdout


def test_lanes_have_what_memory_was_when_they_were_loaded(compiler: str, tmp_path: Path) -> None:
    """Lanes that are set one after the other are a list at the last of them; stores come in between."""
    text = f"""
    func.func @f(%m : memref<8xf32>, %dst : memref<4xf32>, %x : f32) {{
      {constants(1, 2)}
      %zeros = arith.constant dense<0.0> : vector<4xf32>
      %a = memref.load %m[%c0] : memref<8xf32>
      %one = vector.insert %a, %zeros [0] : f32 into vector<4xf32>
      scf.for %i = %c0 to %c2 step %c1 {{
        memref.store %x, %m[%i] : memref<8xf32>
      }}
      %b = memref.load %m[%c2] : memref<8xf32>
      %two = vector.insert %b, %one [2] : f32 into vector<4xf32>
      memref.store %x, %m[%c2] : memref<8xf32>
      %three = vector.insert %x, %two [0] : f32 into vector<4xf32>
      %four = vector.insert %a, %three [3] : f32 into vector<4xf32>
      vector.store %four, %dst[%c0] : memref<4xf32>, vector<4xf32>
      func.return
    }}"""
    for program in programs(text, compiler, tmp_path):
        memory, target = np.arange(1, 9, dtype=np.float32), np.zeros(4, np.float32)
        program("f", [POINTER, POINTER, ctypes.c_float])(pointer(memory), pointer(target), 9)
        assert target.tolist() == [9, 0, 3, 1]
        assert memory.tolist() == [9, 9, 9, 4, 5, 6, 7, 8]


def test_parts_of_lists_that_are_cast(compiler: str, tmp_path: Path) -> None:
    """gcc 12 broke down."""
    rows, numbers = 3, range(12)
    named = ["zeros", *(f"v{n}" for n in numbers)]
    lines = [f"%x{n} = memref.load %source[%i, %c{n}] : memref<{rows}x12xi8>" for n in numbers]
    lines += [f"%{named[n + 1]} = vector.insert %x{n}, %{named[n]}[{n}] : i8 into vector<16xi8>" for n in numbers]
    constants = "\n".join(f"%c{n} = arith.constant {n} : index" for n in numbers)
    body = "\n".join(lines)
    text = emitted(f"""func.func @f(%source : memref<{rows}x12xi8>, %target : memref<{rows}x4xui8>) {{
      {constants}
      %zeros = arith.constant dense<0> : vector<16xi8>
      scf.for %i = %c0 to %c{rows} step %c1 {{
        {body}
        %cast = vector.bitcast %v11 : vector<16xi8> to vector<16xui8>
        %part = vector.shuffle %cast, %cast [8, 9, 10, 11] : vector<16xui8>, vector<16xui8>
        vector.store %part, %target[%i, %c0] : memref<{rows}x4xui8>, vector<4xui8>
      }}
      func.return
    }}""")
    source, target = np.arange(12 * rows, dtype=np.int8) - 20, np.zeros((rows, 4), np.uint8)
    function = compiled(text, compiler, tmp_path, "-O2")("f", [POINTER] * 2)
    function(source.ctypes.data, target.ctypes.data)
    np.testing.assert_array_equal(target, source.view(np.uint8).reshape(rows, 12)[:, 8:])


def test_lists_that_become_bits(compiler: str, tmp_path: Path) -> None:
    """Floats that are cast to integers stay floats in their list, else C would make numbers of them."""
    text = emitted("""func.func @f(%source : memref<2xf32>, %target : memref<2xi32>) {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %a = memref.load %source[%c0] : memref<2xf32>
      %b = memref.load %source[%c1] : memref<2xf32>
      %zeros = arith.constant dense<0.0> : vector<2xf32>
      %one = vector.insert %a, %zeros[0] : f32 into vector<2xf32>
      %both = vector.insert %b, %one[1] : f32 into vector<2xf32>
      %bits = vector.bitcast %both : vector<2xf32> to vector<2xi32>
      vector.store %bits, %target[%c0] : memref<2xi32>, vector<2xi32>
      func.return
    }""")
    source, target = np.array([1.5, -3e9], np.float32), np.zeros(2, np.int32)
    compiled(text, compiler, tmp_path, "-O2")("f", [POINTER] * 2)(source.ctypes.data, target.ctypes.data)
    np.testing.assert_array_equal(target, source.view(np.int32))
