"""scf.parallel and memory of each iteration's own in the strict interpreter."""

from __future__ import annotations

import re
import time
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from layoutc.errors import InterpreterError
from layoutc.interpreter import run
from tests.interpreting import f32, function, loop, parallel, parse, refused
from tests.strategies import many

TWO = "%src : memref<9xi32>, %dst : memref<9xi32>"


def i32(*values: int) -> np.ndarray:
    return np.array(values, np.int32)


NINE = i32(*range(9))


def copy(source: str = "%o", target: str = "%o", map: str = "d0") -> str:
    return f"""
    %o = affine.apply affine_map<(d0) -> ({map})> (%i)
    %v = memref.load %src[{source}] : memref<9xi32>
    memref.store %v, %dst[{target}] : memref<9xi32>
    """


@pytest.mark.parametrize("sequential", [False, True])
def test_indices_count_with_the_last_one_fastest(sequential: bool) -> None:
    body = """
    %o = affine.apply affine_map<(d0, d1) -> (d0 * 3 + d1)> (%i, %j)
    %k = affine.apply affine_map<(d0, d1) -> (d0 * 10 + d1)> (%i, %j)
    %v = arith.index_cast %k : index to i32
    memref.store %v, %dst[%o] : memref<9xi32>
    """
    target = i32(*[-1] * 9)
    module = function("%dst : memref<9xi32>", parallel({"i": 3, "j": 3}, body))
    run(module, "f", target, write_once=[0], sequential=sequential)
    assert target.tolist() == [0, 1, 2, 10, 11, 12, 20, 21, 22]


def test_two_iterations_that_store_to_one_element() -> None:
    """Though the memory is not write-once, and whichever of the iterations and ops do it."""
    refused(
        "memref.store: %dst[0] is stored by another iteration of the scf.parallel at i = 1",
        function(TWO, parallel({"i": 9}, copy("%i", map="d0 floordiv 2"))),
        NINE,
        NINE.copy(),
    )
    refused(
        "memref.store: %dst[0] is stored by another iteration of the scf.parallel at i = 8",
        function(TWO, parallel({"i": 9}, copy("%i", map="d0 mod 8"))),
        NINE,
        NINE.copy(),
    )
    two_stores = (
        copy() + "%p = affine.apply affine_map<(d0) -> (8 - d0)> (%i)\nmemref.store %v, %dst[%p] : memref<9xi32>"
    )
    with pytest.raises(InterpreterError, match=r"^memref.store: %dst\[\d\] is stored by another iteration"):
        run(function(TWO, parallel({"i": 9}, two_stores)), "f", NINE, NINE.copy())


def test_an_iteration_may_store_twice_itself() -> None:
    body = copy() + "memref.store %v, %dst[%o] : memref<9xi32>"
    for sequential in (False, True):
        target = i32(*[-1] * 9)
        run(function(TWO, parallel({"i": 9}, body)), "f", NINE, target, sequential=sequential)
        assert target.tolist() == NINE.tolist()


def test_the_same_value_from_two_iterations_may_be_allowed() -> None:
    """As tiles that overlap write it."""
    module = function(TWO, parallel({"i": 9}, copy(map="d0 mod 8")))
    for sequential in (False, True):
        target = i32(*[-1] * 9)
        run(module, "f", NINE, target, rewrite_same=True, sequential=sequential)
        assert target.tolist() == [*range(8), -1]
    refused(
        "memref.store: %dst[0] is stored by another iteration of the scf.parallel at i = 8",
        function(TWO, parallel({"i": 9}, copy("%i", map="d0 mod 8"))),
        NINE,
        NINE.copy(),
        rewrite_same=True,
    )


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("d0 floordiv 2", "memref.load: %m[0] is stored by another iteration of the scf.parallel at i = 1"),
        ("(d0 + 1) mod 9", "memref.store: %m[1] is loaded by another iteration of the scf.parallel at i = 1"),
        ("d0 * 0 + 4", "memref.store: %m[4] is loaded by another iteration of the scf.parallel at i = 4"),
    ],
)
def test_an_iteration_that_loads_what_another_one_stores(source: str, message: str) -> None:
    """Whether it comes before or after it."""
    body = f"""
    %o = affine.apply affine_map<(d0) -> ({source})> (%i)
    %v = memref.load %m[%o] : memref<9xi32>
    memref.store %v, %m[%i] : memref<9xi32>
    """
    refused(message, function("%m : memref<9xi32>", parallel({"i": 9}, body)), NINE.copy())


def test_an_iteration_may_load_what_it_stored() -> None:
    body = f"""
    {copy()}
    %w = memref.load %dst[%o] : memref<9xi32>
    %x = arith.addi %w, %w : i32
    memref.store %x, %dst[%o] : memref<9xi32>
    """
    for sequential in (False, True):
        target = i32(*[-1] * 9)
        run(function(TWO, parallel({"i": 9}, body)), "f", NINE, target, sequential=sequential)
        assert target.tolist() == (2 * NINE).tolist()


@pytest.mark.parametrize("values", [[0, 1, 1, 1], [0, 1, 0, 0], [0, 0, 0, 1], [0, 0, 1, 0], [1, 1, 0, 0]])
@pytest.mark.parametrize("sequential", [False, True])
def test_several_values_are_never_the_same(values: list[int], sequential: bool) -> None:
    """Two iterations store two values each to one element: all four must be the same."""
    body = """
    %o = affine.apply affine_map<(d0, d1) -> (d0 * 2 + d1)> (%i, %j)
    %v = memref.load %src[%o] : memref<9xi32>
    memref.store %v, %dst[%c0] : memref<9xi32>
    """
    module = function(TWO, parallel({"i": 2}, loop("j", 2, body)))
    with pytest.raises(InterpreterError, match="is stored by another iteration"):
        run(module, "f", i32(*values, *[0] * 5), NINE.copy(), rewrite_same=True, sequential=sequential)
    run(module, "f", i32(*[7] * 9), NINE.copy(), rewrite_same=True, sequential=sequential)


def test_one_parallel_loop_after_another_starts_anew() -> None:
    module = function(TWO, parallel({"i": 9}, copy()) + parallel({"i": 9}, copy(map="8 - d0")))
    target = i32(*[-1] * 9)
    run(module, "f", NINE, target)
    assert target.tolist() == NINE.tolist()


def test_races_through_views_and_calls() -> None:
    view = """
    %view = memref.reinterpret_cast %dst to offset: [0], sizes: [3, 3], strides: [3, 1]
      : memref<9xi32> to memref<3x3xi32>
    """
    inside = "%row = arith.divui %i, %c3 : index\nmemref.store %c, %view[%row, %c0] : memref<3x3xi32>"
    module = function("%dst : memref<9xi32>, %c : i32", parallel({"i": 4}, view + inside))
    with pytest.raises(InterpreterError, match=r"^memref.store: %view\[0, 0\] .*is stored by another iteration"):
        run(module, "f", NINE.copy(), 1)
    module = parse(f"""
    func.func private @set(%m : memref<9xi32>, %c : i32) {{
      %c0 = arith.constant 0 : index
      memref.store %c, %m[%c0] : memref<9xi32>
      func.return
    }}
    func.func @f(%dst : memref<9xi32>, %c : i32) {{
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c2 = arith.constant 2 : index
      {parallel({"i": 2}, "func.call @set(%dst, %c) : (memref<9xi32>, i32) -> ()")}
      func.return
    }}""")
    with pytest.raises(InterpreterError, match=r"^memref.store: %m\[0\] is stored by another iteration"):
        run(module, "f", NINE.copy(), 1)


def test_what_a_parallel_loop_has_no_interpretation_for() -> None:
    nested = parallel({"i": 2}, parallel({"j": 2}, ""))
    refused("scf.parallel: no interpretation inside of another one", function("", nested))
    zero_step = parallel({"i": 2}, "").replace("%c1)", "%c0)", 1)
    refused("scf.parallel: step 0 of %i is not positive", function("", zero_step))
    none = parallel({"i": 0, "j": 3}, "memref.store %x, %m[%c9] : memref<1xf32>")
    run(function("%m : memref<1xf32>, %x : f32", none), "f", f32(0), 1.0)


# --- memory of an iteration's own ----------------------------------------------------------------------------------


def staged(rows: int, columns: int) -> Any:
    """A transposition of 4x4 tiles by way of a buffer of each tile's own."""
    size = rows * columns
    loads = f"""
    scf.for %r = %c0 to %c4 step %c1 {{
      %from = affine.apply affine_map<(d0, d1, d2) -> (d0 * {4 * columns} + d2 * {columns} + d1 * 4)> (%i, %j, %r)
      %row = vector.load %src[%from] : memref<{size}xf32>, vector<4xf32>
      vector.store %row, %tile[%r, %c0] : memref<4x4xf32>, vector<4xf32>
    }}"""
    stores = f"""
    scf.for %r = %c0 to %c4 step %c1 {{
      scf.for %c = %c0 to %c4 step %c1 {{
        %e = memref.load %tile[%r, %c] : memref<4x4xf32>
        %to = affine.apply affine_map<(a, b, c, d) -> (b * {4 * rows} + d * {rows} + a * 4 + c)> (%i, %j, %r, %c)
        memref.store %e, %dst[%to] : memref<{size}xf32>
      }}
    }}"""
    body = "%tile = memref.alloca() {alignment = 64 : i64} : memref<4x4xf32>\n" + loads + stores
    extents = f"%rows = arith.constant {rows // 4} : index\n%columns = arith.constant {columns // 4} : index\n"
    text = parallel({"i": 8, "j": 9}, body).replace("%c8", "%rows").replace("%c9", "%columns")
    return function(f"%src : memref<{size}xf32>, %dst : memref<{size}xf32>", extents + text)


@pytest.mark.parametrize("sequential", [False, True])
def test_staging_in_memory_of_each_iteration(sequential: bool) -> None:
    source, target = np.arange(12 * 20, dtype=np.float32), np.zeros(12 * 20, np.float32)
    run(staged(12, 20), "f", source, target, write_once=[1], defined={1: False}, sequential=sequential)
    np.testing.assert_array_equal(target.reshape(20, 12), source.reshape(12, 20).T)


def test_staging_is_fast() -> None:
    source, target = np.arange(1 << 20, dtype=np.float32), np.zeros(1 << 20, np.float32)
    module, start = staged(1 << 10, 1 << 10), time.process_time()
    run(module, "f", source, target, write_once=[1])
    assert time.process_time() - start < 3
    np.testing.assert_array_equal(target.reshape(1 << 10, -1), source.reshape(1 << 10, -1).T)


def test_memory_is_undefined_again_in_each_iteration() -> None:
    body = """
    %own = memref.alloca() : memref<2xi32>
    %first = arith.cmpi eq, %i, %c0 : index
    scf.if %first {
      memref.store %k, %own[%c1] : memref<2xi32>
    }
    %v = memref.load %own[%c1] : memref<2xi32>
    """
    for text in (parallel({"i": 3}, body), loop("i", 3, body)):
        refused("memref.load: %own[1] is undefined at i = 1", function("%k : i32", text), 7)


def test_a_view_of_own_memory_ends_where_that_does() -> None:
    """The memory of the next iteration follows, when many run at once."""
    body = """
    %own = memref.alloca() : memref<2xi32>
    memref.store %k, %own[%c0] : memref<2xi32>
    memref.store %k, %own[%c1] : memref<2xi32>
    %view = memref.reinterpret_cast %own to offset: [0], sizes: [2], strides: [2]
      : memref<2xi32> to memref<2xi32, strided<[2]>>
    %v = memref.load %view[%c1] : memref<2xi32, strided<[2]>>
    """
    message = "memref.load: %view[1] (offset 2) is outside of 2 elements of memory at i = 0"
    refused(message, function("%k : i32", parallel({"i": 3}, body)), 7)


def test_own_memory_that_is_written_again_is_written_in_order() -> None:
    """The stores of two ops cross: the last one in the order of the iterations stays."""
    body = f"""
    %own = memref.alloca() : memref<9xi32>
    {
        loop(
            "j",
            4,
            '''
      %k = arith.index_cast %j : index to i32
      %next = affine.apply affine_map<(d0) -> (d0 + 1)> (%j)
      memref.store %k, %own[%j] : memref<9xi32>
      memref.store %k, %own[%next] : memref<9xi32>
    ''',
        )
    }
    {
        loop(
            "j",
            5,
            '''
      %v = memref.load %own[%j] : memref<9xi32>
      %o = affine.apply affine_map<(d0, d1) -> (d0 * 5 + d1)> (%i, %j)
      memref.store %v, %dst[%o] : memref<10xi32>
    ''',
        )
    }
    """
    for sequential in (False, True):
        target = np.zeros(10, np.int32)
        module = function("%dst : memref<10xi32>", parallel({"i": 2}, body))
        run(module, "f", target, write_once=[0], defined={0: False}, sequential=sequential)
        assert target.tolist() == [0, 1, 2, 3, 3] * 2


def test_own_memory_that_carries_values_along_a_loop() -> None:
    body = f"""
    %own = memref.alloca() : memref<9xi32>
    memref.store %k, %own[%c0] : memref<9xi32>
    {
        loop(
            "j",
            4,
            '''
      %v = memref.load %own[%j] : memref<9xi32>
      %w = arith.addi %v, %v : i32
      %next = affine.apply affine_map<(d0) -> (d0 + 1)> (%j)
      memref.store %w, %own[%next] : memref<9xi32>
    ''',
        )
    }
    %last = memref.load %own[%c4] : memref<9xi32>
    memref.store %last, %dst[%i] : memref<2xi32>
    """
    for sequential in (False, True):
        target = i32(0, 0)
        module = function("%dst : memref<2xi32>, %k : i32", parallel({"i": 2}, body))
        run(module, "f", target, 3, write_once=[0], sequential=sequential)
        assert target.tolist() == [48, 48]


# --- at once or in order -------------------------------------------------------------------------------------------


KINDS = {
    "fill": "memref.store %x, %own[%o] : memref<6xi32>",
    "fill some": "%in = arith.cmpi ult, %o, %c3 : index\nscf.if %in {\nmemref.store %x, %own[%o] : memref<6xi32>\n}",
    "read": "%y = memref.load %own[%o] : memref<6xi32>\nmemref.store %y, %a[%p] : memref<12xi32>",
    "write": "memref.store %x, %b[%p] : memref<12xi32>",
}


@st.composite
def statements(draw: st.DrawFn, label: str, index: str) -> str:
    """Something that is done with the own memory, or with a buffer, at offsets of both loops."""

    def offset(size: int) -> str:
        of_inner, of_outer, start = (draw(st.integers(0, 3)) for _ in range(3))
        map = f"affine_map<(d0, d1) -> ((d0 * {of_inner} + d1 * {of_outer} + {start}) mod {size})>"
        return f"affine.apply {map} (%{index}, %i)"

    value = draw(st.sampled_from((index, "i", "o", "p")))
    text = f"%o = {offset(6)}\n%p = {offset(12)}\n%x = arith.index_cast %{value} : index to i32\n"
    text += draw(st.sampled_from(list(KINDS.values())))
    return re.sub(r"%(o|p|x|y|in)\b", rf"%\1{label}", text)


@st.composite
def programs(draw: st.DrawFn) -> str:
    """Iterations that fill memory of their own, in loops and outside of them, and copy some of it to two buffers."""
    body = "%own = memref.alloca() : memref<6xi32>\n"
    for number in range(draw(st.integers(1, 4))):
        in_loop, count = draw(st.booleans()), draw(st.integers(1, 2))
        inner = "\n".join(draw(statements(f"_{number}_{n}_", "j" if in_loop else "c2")) for n in range(count))
        body += (loop("j", draw(st.integers(1, 6)), inner) if in_loop else inner) + "\n"
    return parallel({"i": 3}, body) if draw(st.booleans()) else loop("i", 3, body)


def outcome(text: str, rewrite_same: bool, write_once: list[int], sequential: bool) -> Any:
    arrays = [np.zeros(12, np.int32), np.zeros(12, np.int32)]
    module = function("%a : memref<12xi32>, %b : memref<12xi32>", text)
    try:
        run(module, "f", *arrays, write_once=write_once, rewrite_same=rewrite_same, sequential=sequential)
    except InterpreterError:
        return "refused"
    return [array.tolist() for array in arrays]


@many(200)
@given(programs(), st.booleans(), st.sampled_from([[], [0, 1]]))
def test_at_once_is_as_in_order(text: str, rewrite_same: bool, write_once: list[int]) -> None:
    """Random iterations give the same memory, or are refused, either way."""
    at_once, in_order = (outcome(text, rewrite_same, write_once, sequential) for sequential in (False, True))
    assert at_once == in_order
