"""Vectors in the strict interpreter: bits, lanes, masks, each lane checked."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest

from layoutc.errors import InterpreterError
from layoutc.interpreter import Buffer, run
from tests.interpreting import f32, function, loop, refused

TYPES = {"i8": 1, "ui16": 2, "bf16": 2, "f16": 2, "f32": 4, "i64": 8, "f64": 8, "f8E4M3FN": 1, "i1": 1}
COPY4 = """
%v = vector.load %src[%i] : memref<9xf32>, vector<4xf32>
vector.store %v, %dst[%i] : memref<9xf32>, vector<4xf32>
"""
NINE = "%src : memref<9xf32>, %dst : memref<9xf32>"


@pytest.mark.parametrize("sequential", [False, True])
@pytest.mark.parametrize("type", TYPES)
def test_lanes_move_bit_by_bit(type: str, sequential: bool) -> None:
    """In a loop of 4 iterations, each of which swaps halves of 4 lanes by a shuffle of two loads."""
    body = f"""
    %o = affine.apply affine_map<(d0) -> (d0 * 4)> (%i)
    %p = affine.apply affine_map<(d0) -> (d0 * 4 + 2)> (%i)
    %low = vector.load %src[%o] : memref<16x{type}>, vector<2x{type}>
    %high = vector.load %src[%p] : memref<16x{type}>, vector<2x{type}>
    %v = vector.shuffle %low, %high [2, 3, 1, 0] : vector<2x{type}>, vector<2x{type}>
    vector.store %v, %dst[%o] : memref<16x{type}>, vector<4x{type}>
    """
    module = function(f"%src : memref<16x{type}>, %dst : memref<16x{type}>", loop("i", 4, body))
    source = np.random.default_rng(7).integers(0, 256, 16 * TYPES[type], np.uint8).view(f"u{TYPES[type]}")
    if type == "i1":
        source &= 1
    if type == "f32":
        source[:2] = [0x7F800001, 0xFFBFFFFF]
    target = np.zeros_like(source)
    run(module, "f", source, target, write_once=[1], defined={1: False}, sequential=sequential)
    np.testing.assert_array_equal(target.reshape(4, 4), source.reshape(4, 4)[:, [2, 3, 1, 0]])


def test_vectors_lie_along_the_last_axis() -> None:
    """Of a memref with strides: here columns 1 to 3 of each row of five."""
    type = "memref<3x4xf32, strided<[5, 1], offset: 1>>"
    body = f"""
    %v = vector.load %src[%i, %c1] : {type}, vector<3xf32>
    vector.store %v, %dst[%i, %c0] : memref<3x3xf32>, vector<3xf32>
    """
    module = function(f"%src : {type}, %dst : memref<3x3xf32>", loop("i", 3, body))
    source, target = np.arange(15, dtype=np.float32), np.zeros(9, np.float32)
    run(module, "f", source, target)
    assert target.tolist() == [2, 3, 4, 7, 8, 9, 12, 13, 14]


def result(type: str, body: str, size: int, dtype: Any, *args: Any, arguments: str = "") -> Any:
    """What a body stores of its vector %r."""
    memref = f"memref<{size}x{type}>"
    module = function(
        f"%dst : {memref}{arguments}", f"{body}\nvector.store %r, %dst[%c0] : {memref}, vector<{size}x{type}>"
    )
    target = np.zeros(size, dtype)
    run(module, "f", target, *args, defined={0: False})
    return target.tolist()


def test_values_of_vectors() -> None:
    assert result("i32", "%r = arith.constant dense<[1, -2]> : vector<2xi32>", 2, np.int32) == [1, -2]
    assert result("bf16", "%r = arith.constant dense<1.0> : vector<2xbf16>", 2, np.uint16) == [0x3F80] * 2
    assert (
        result("f32", "%r = vector.broadcast %x : f32 to vector<3xf32>", 3, np.float32, 2.5, arguments=", %x : f32")
        == [2.5] * 3
    )
    words = "%k = arith.constant dense<[1, 256]> : vector<2xi16>\n"
    assert result("i8", words + "%r = vector.bitcast %k : vector<2xi16> to vector<4xi8>", 4, np.int8) == [1, 0, 0, 1]
    assert result("i32", words + "%r = vector.bitcast %k : vector<2xi16> to vector<1xi32>", 1, np.int32) == [
        256 << 16 | 1
    ]
    lanes = words + "%e = vector.extract %k[1] : i16 from vector<2xi16>\n"
    assert result("i16", lanes + "%r = vector.insert %e, %k [0] : i16 into vector<2xi16>", 2, np.int16) == [256, 256]
    mask = "%r = vector.create_mask %n : vector<4xi1>"
    for n in (-1, 0, 3, 9):
        expected = [lane < n for lane in range(4)]
        assert result("i1", mask, 4, np.bool_, n, arguments=", %n : index") == expected
    assert result("i16", words + "%r = arith.addi %k, %k : vector<2xi16>", 2, np.int16) == [2, 512]
    choice = words + "%z = arith.constant dense<0> : vector<2xi16>\n%r = arith.select %c, %k, %z : vector<2xi16>"
    assert result("i16", choice, 2, np.int16, 1, arguments=", %c : i1") == [1, 256]


def test_values_per_iteration() -> None:
    """A vector of each iteration, from scalars of each iteration, without and with a bitcast between."""
    body = """
    %k = arith.index_cast %i : index to i16
    %l = arith.index_cast %j : index to i16
    %a = vector.broadcast %k : i16 to vector<2xi16>
    %b = vector.insert %l, %a [1] : i16 into vector<2xi16>
    %w = vector.bitcast %b : vector<2xi16> to vector<1xi32>
    %v = vector.bitcast %w : vector<1xi32> to vector<2xi16>
    %o = affine.apply affine_map<(d0, d1) -> (d0 * 6 + d1 * 2)> (%i, %j)
    vector.store %v, %dst[%o] : memref<12xi16>, vector<2xi16>
    """
    for sequential in (False, True):
        target = np.zeros(12, np.int16)
        module = function("%dst : memref<12xi16>", loop("i", 2, loop("j", 3, body)))
        run(module, "f", target, sequential=sequential, write_once=[0])
        assert target.tolist() == [x for i, j in product(range(2), range(3)) for x in (i, j)]


def test_affine_min() -> None:
    module = function(
        "%a : index, %b : index", "%r = affine.min affine_map<(d0)[s0] -> (d0 - 1, s0)> (%a)[%b]", "index", "%r"
    )
    assert [run(module, "f", a, b)[0] for a, b in ((3, 9), (12, 9), (-5, 0))] == [2, 9, -6]
    module = function("%a : index", "%r = affine.min affine_map<(d0) -> (d0, d0 mod 0)> (%a)", "index", "%r")
    with pytest.raises(InterpreterError, match=r"^affine.min: .* divides by 0$"):
        run(module, "f", 1)


# --- what is refused -----------------------------------------------------------------------------------------------


def test_a_lane_out_of_bounds() -> None:
    module = function(NINE, loop("i", 7, COPY4))
    refused("vector.load: %src[9] is outside of 9 elements at i = 6", module, f32(*range(9)), f32(*range(9)))


def test_a_lane_past_its_row() -> None:
    """Row 0 from column 2 on has two elements, though the memory goes on."""
    module = function("%m : memref<2x4xf32>", "%v = vector.load %m[%c0, %c2] : memref<2x4xf32>, vector<4xf32>")
    refused("vector.load: %m[0, 4] (offset 4) is outside of 2x4 elements", module, f32(*range(8)))


def test_a_store_whose_last_lane_is_out_of_bounds() -> None:
    body = "%v = arith.constant dense<0.0> : vector<4xf32>\nvector.store %v, %dst[%c6] : memref<9xf32>, vector<4xf32>"
    refused("vector.store: %dst[9] is outside of 9 elements", function(NINE, body), f32(*range(9)), f32(*range(9)))


def test_an_undefined_lane() -> None:
    defined = np.ones(9, np.bool_)
    defined[5] = False
    module = function(NINE, loop("i", 4, COPY4))
    refused("vector.load: %src[5] is undefined at i = 2", module, f32(*range(9)), f32(*range(9)), defined={0: defined})


def test_a_lane_that_is_written_twice() -> None:
    module = function(NINE, loop("i", 2, COPY4))
    refused(
        "vector.store: %dst[1] is written a second time at i = 1",
        module,
        f32(*range(9)),
        f32(*range(9)),
        write_once=[1],
    )


def test_rewriting_the_same_value_may_be_allowed() -> None:
    """Overlapping tiles write the same; another value is refused all the same, by one op or by another one."""
    target = f32(*[-1] * 9)
    for sequential in (False, True):
        module = function(NINE, loop("i", 6, COPY4))
        run(module, "f", f32(*range(9)), target, write_once=[1], rewrite_same=True, sequential=sequential)
        assert target.tolist() == list(range(9))
    shifted = COPY4.replace("%src[%i]", "%src[%c0]")
    refused(
        "vector.store: %dst[1] is written a second time at i = 1",
        function(NINE, loop("i", 2, shifted)),
        f32(*range(9)),
        f32(*range(9)),
        write_once=[1],
        rewrite_same=True,
    )
    twice = loop("i", 1, COPY4) + loop("i", 1, shifted.replace("%c0", "%c1"))
    refused(
        "vector.store: %dst[0] is written a second time at i = 0",
        function(NINE, twice),
        f32(*range(9)),
        f32(*range(9)),
        write_once=[1],
        rewrite_same=True,
    )


def test_a_load_of_what_is_rewritten_runs_in_order() -> None:
    """Each iteration reads what the one before it left, and writes the same again."""
    body = """
    %v = memref.load %m[%c0] : memref<1xi32>
    memref.store %k, %m[%c0] : memref<1xi32>
    memref.store %v, %seen[%i] : memref<3xi32>
    """
    module = function("%m : memref<1xi32>, %seen : memref<3xi32>, %k : i32", loop("i", 3, body))
    for sequential in (False, True):
        memory, seen = np.array([5], np.int32), np.zeros(3, np.int32)
        run(module, "f", memory, seen, 7, write_once=[0], rewrite_same=True, sequential=sequential)
        assert (memory.tolist(), seen.tolist()) == ([7], [5, 7, 7])


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("%r = vector.shuffle %v, %v [0, -1] : vector<4xf32>, vector<4xf32>", "vector.shuffle: lane 1 is undefined"),
        (
            '%r = "vector.fma"(%v, %v, %v) : (vector<4xf32>, vector<4xf32>, vector<4xf32>) -> vector<4xf32>',
            "no interpretation for 'vector.fma'",
        ),
        (
            "%r = arith.constant dense<0.0> : vector<2x2xf32>\n"
            "vector.store %r, %dst[%c0] : memref<9xf32>, vector<2x2xf32>",
            "no interpretation for vector<2x2xf32>, expected a vector of one axis and fixed size",
        ),
        (
            "%r = vector.broadcast %v : vector<4xf32> to vector<2x4xf32>",
            "vector.broadcast: no interpretation from vector<4xf32> to vector<2x4xf32>",
        ),
        ("%r = vector.extract %v[4] : f32 from vector<4xf32>", "vector.extract: lane 4 is outside of 4 lanes"),
        (
            "%r = vector.extract %v[%c0] : f32 from vector<4xf32>",
            "vector.extract: no interpretation without one constant position",
        ),
    ],
)
def test_what_has_no_meaning(body: str, message: str) -> None:
    load = "%v = vector.load %src[%c0] : memref<9xf32>, vector<4xf32>\n"
    refused(message, function(NINE, load + body), f32(*range(9)), f32(*range(9)))


# --- masks, branches -----------------------------------------------------------------------------------------------

MASKED = """
%z = arith.constant dense<-1.0> : vector<4xf32>
%n = affine.apply affine_map<(d0) -> (9 - d0 * 4)> (%i)
%o = affine.apply affine_map<(d0) -> (d0 * 4)> (%i)
%mask = vector.create_mask %n : vector<4xi1>
%v = vector.maskedload %src[%o], %mask, %z : memref<9xf32>, vector<4xi1>, vector<4xf32> into vector<4xf32>
vector.maskedstore %dst[%o], %mask, %v : memref<9xf32>, vector<4xi1>, vector<4xf32>
vector.store %v, %all[%o] : memref<16xf32>, vector<4xf32>
"""


def test_masked_lanes_are_neither_read_nor_written() -> None:
    """The tail of 9 in steps of 4, and a whole iteration past the end."""
    module = function(NINE + ", %all : memref<16xf32>", loop("i", 4, MASKED))
    for sequential in (False, True):
        target, everything = np.zeros(9, np.float32), np.zeros(16, np.float32)
        run(module, "f", f32(*range(9)), target, everything, write_once=[1], defined={1: False}, sequential=sequential)
        assert target.tolist() == list(range(9))
        assert everything.tolist() == [*range(9), *[-1] * 7]


def test_a_mask_does_not_hide_what_is_on() -> None:
    module = function(NINE + ", %all : memref<16xf32>", loop("i", 4, MASKED.replace("9 - d0", "10 - d0")))
    refused(
        "vector.maskedload: %src[9] is outside of 9 elements at i = 2",
        module,
        f32(*range(9)),
        f32(*range(9)),
        f32(*range(16)),
    )


BRANCHES = """
%in = arith.cmpi ult, %i, %c3 : index
scf.if %in {
  %odd = arith.cmpi eq, %j, %c1 : index
  scf.if %odd {
    %o = affine.apply affine_map<(d0, d1) -> (d0 * 3 + d1)> (%i, %j)
    %q = arith.divui %o, %c2 : index
    %v = memref.load %src[%q] : memref<9xf32>
    memref.store %v, %dst[%o] : memref<9xf32>
  } else {
    scf.for %k = %c0 to %c1 step %c1 {
      %o = affine.apply affine_map<(d0, d1) -> (d0 * 3 + d1)> (%i, %j)
      %v = memref.load %src[%o] : memref<9xf32>
      memref.store %v, %dst[%o] : memref<9xf32>
    }
  }
}
"""


def test_branches_of_iterations_that_run_at_once() -> None:
    """Only the iterations of a branch load, store, and are checked; the rest would be out of bounds."""
    module = function(NINE, loop("i", 5, loop("j", 3, BRANCHES)))
    results: list[list[float]] = []
    for sequential in (False, True):
        target = np.zeros(9, np.float32)
        run(module, "f", f32(*range(9)), target, write_once=[1], defined={1: False}, sequential=sequential)
        results.append(target.tolist())
    assert results == [[0, 0, 2, 3, 2, 5, 6, 3, 8]] * 2
    refused(
        "memref.load: %src[9] is outside of 9 elements at i = 3, j = 0, k = 0",
        function(NINE, loop("i", 5, loop("j", 1, BRANCHES.replace("%c3", "%c4")))),
        f32(*range(9)),
        f32(*range(9)),
    )


def test_a_division_in_a_branch_is_not_made_elsewhere() -> None:
    body = """
    %some = arith.cmpi ne, %i, %c0 : index
    scf.if %some {
      %q = arith.divui %c6, %i : index
      %v = arith.index_cast %q : index to i32
      memref.store %v, %dst[%i] : memref<4xi32>
    }
    """
    target = np.zeros(4, np.int32)
    run(function("%dst : memref<4xi32>", loop("i", 4, body)), "f", target)
    assert target.tolist() == [0, 6, 3, 2]


def test_an_empty_buffer_under_a_mask() -> None:
    body = """
    %mask = vector.create_mask %c0 : vector<4xi1>
    %z = arith.constant dense<1.0> : vector<4xf32>
    %v = vector.maskedload %m[%c0], %mask, %z : memref<0xf32>, vector<4xi1>, vector<4xf32> into vector<4xf32>
    vector.maskedstore %m[%c0], %mask, %v : memref<0xf32>, vector<4xi1>, vector<4xf32>
    """
    run(function("%m : memref<0xf32>", body), "f", Buffer.of(f32()))
