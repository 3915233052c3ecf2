"""The strict interpreter: what it refuses, and what it does with arguments, control and bits."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from layoutc.element_type import element_type
from layoutc.errors import InterpreterError, LayoutcError
from layoutc.interpreter import Buffer, run
from tests.interpreting import COPY, TWO, f32, function, loop, parse, refused

# --- strictness ------------------------------------------------------------------------------------------------


def test_a_copy_writes_in_place() -> None:
    """Arrays are used as they are, and every element arrives."""
    destination = f32(0, 0, 0, 0)
    assert run(function(TWO, loop("i", 4, COPY)), "f", f32(1, 2, 3, 4), destination) == ()
    assert destination.tolist() == [1, 2, 3, 4]


def test_a_load_out_of_bounds() -> None:
    refused(
        "memref.load: %src[4] is outside of 4 elements at i = 4",
        function(TWO, loop("i", 5, COPY)),
        f32(1, 2, 3, 4),
        f32(0, 0, 0, 0),
    )


def test_a_store_out_of_bounds_below_zero() -> None:
    body = """
    %o = affine.apply affine_map<(d0, d1) -> (d0 * 2 + d1 - 1)> (%i, %j)
    memref.store %x, %dst[%o] : memref<4xf32>
    """
    module = function("%x : f32, %dst : memref<4xf32>", loop("i", 2, loop("j", 2, body)))
    refused("memref.store: %dst[-1] is outside of 4 elements at i = 0, j = 0", module, 1.0, f32(0, 0, 0, 0))


def test_an_index_out_of_bounds_whose_offset_is_not() -> None:
    """Row 0, column 5 of 4x4 is element 1 of row 1, but no element of row 0."""
    body = "%v = memref.load %m[%c0, %c5] : memref<4x4xf32>"
    module = function("%m : memref<4x4xf32>", body)
    refused("memref.load: %m[0, 5] (offset 5) is outside of 4x4 elements", module, np.zeros(16, np.float32))


def test_a_view_that_reaches_past_its_buffer() -> None:
    body = """
    %view = memref.reinterpret_cast %m to offset: [1], sizes: [3], strides: [2]
      : memref<4xf32> to memref<3xf32, strided<[2], offset: 1>>
    """ + loop("i", 3, "%v = memref.load %view[%i] : memref<3xf32, strided<[2], offset: 1>>")
    refused(
        "memref.load: %view[2] (offset 5) is outside of 4 elements of memory at i = 2",
        function("%m : memref<4xf32>", body),
        f32(0, 1, 2, 3),
    )


def test_a_load_of_an_undefined_element_of_an_argument() -> None:
    source, mask = f32(1, 2, 3, 4), np.array([True, True, False, True])
    module = function(TWO, loop("i", 4, COPY))
    refused("memref.load: %src[2] is undefined at i = 2", module, source, f32(0, 0, 0, 0), defined={0: mask})


@pytest.mark.parametrize("op", ["alloc", "alloca"])
def test_fresh_memory_is_undefined(op: str) -> None:
    """A loop fills all but the last element of a temporary; another one reads them all."""
    body = f"%tmp = memref.{op}() : memref<4xf32>\n"
    body += loop("i", 3, COPY.replace("%dst", "%tmp")) + loop("i", 4, COPY.replace("%src", "%tmp"))
    module = function(TWO, body)
    refused("memref.load: %tmp[3] is undefined at i = 3", module, f32(1, 2, 3, 4), f32(0, 0, 0, 0))


def test_a_second_write_within_a_nest() -> None:
    """Every row writes the same elements."""
    module = function(TWO, loop("row", 2, loop("i", 3, COPY)))
    refused(
        "memref.store: %dst[0] is written a second time at row = 1, i = 0",
        module,
        f32(1, 2, 3, 4),
        f32(0, 0, 0, 0),
        write_once=[1],
    )


def test_a_second_write_by_the_next_nest() -> None:
    """Copy of all, then a fill of the last element."""
    body = loop("i", 4, COPY) + "memref.store %v, %dst[%c3] : memref<4xf32>".replace("%v", "%x")
    module = function(f"{TWO}, %x : f32", body)
    args = f32(1, 2, 3, 4), f32(0, 0, 0, 0), 0.0
    refused("memref.store: %dst[3] is written a second time", module, *args, write_once=[1])


def test_a_second_write_by_another_store_of_the_body() -> None:
    body = loop("i", 4, COPY + "memref.store %v, %dst[%c2] : memref<4xf32>")
    args = f32(1, 2, 3, 4), f32(0, 0, 0, 0)
    for sequential in (False, True):
        with pytest.raises(InterpreterError, match=r"^memref.store: %dst\[\d\] is written a second time at i = "):
            run(function(TWO, body), "f", *args, write_once=[1], sequential=sequential)


def test_a_second_write_across_iterations_of_a_loop_that_runs_in_order() -> None:
    """The outer loop carries a value, so that only the inner one runs at once."""
    body = f"""
    %last = scf.for %row = %c0 to %c2 step %c1 iter_args(%seen = %c0) -> (index) {{
      {loop("i", 3, COPY)}
      scf.yield %row : index
    }}
    """
    args = f32(1, 2, 3, 4), f32(0, 0, 0, 0)
    refused(
        "memref.store: %dst[0] is written a second time at row = 1, i = 0", function(TWO, body), *args, write_once=[1]
    )


def test_a_second_write_through_a_view_and_a_call() -> None:
    """Views and callees share the buffer and what is known of it."""
    module = parse("""
    func.func @set(%to : memref<2x2xf32>, %x : f32) {
      %c0 = arith.constant 0 : index
      memref.store %x, %to[%c0, %c0] : memref<2x2xf32>
      func.return
    }
    func.func @f(%m : memref<2x2xf32>, %x : f32) {
      %c0 = arith.constant 0 : index
      func.call @set(%m, %x) : (memref<2x2xf32>, f32) -> ()
      %flat = memref.reinterpret_cast %m to offset: [0], sizes: [4], strides: [1] : memref<2x2xf32> to memref<4xf32>
      memref.store %x, %flat[%c0] : memref<4xf32>
      func.return
    }
    """)
    args = np.zeros(4, np.float32), 1.0
    refused("memref.store: %flat[0] is written a second time", module, *args, write_once=[0])


def test_a_store_to_read_only_memory() -> None:
    destination = f32(0, 0, 0, 0)
    destination.flags.writeable = False
    module = function(TWO, loop("i", 4, COPY))
    refused("memref.store: %dst[0] is read-only at i = 0", module, f32(1, 2, 3, 4), destination)


def test_use_after_dealloc() -> None:
    body = """
    %tmp = memref.alloc() : memref<4xf32>
    memref.dealloc %tmp : memref<4xf32>
    """
    args = f32(1, 2, 3, 4), f32(0, 0, 0, 0)
    used = function(TWO, body + loop("i", 4, COPY.replace("%dst", "%tmp")))
    refused("memref.store: %tmp[0] is deallocated at i = 0", used, *args)
    twice = function(TWO, body + "memref.dealloc %tmp : memref<4xf32>")
    refused("memref.dealloc: %tmp is deallocated a second time", twice, *args)


def test_write_once_memory_may_be_read_before_it_is_written() -> None:
    """dst = dst + src is not a second write, at once or in order."""
    sum_into = COPY.replace("memref.store", "%old = memref.load %dst[%i] : memref<4xf32>\nmemref.store").replace(
        "memref.store %v", "%s = arith.addf %old, %v : f32\nmemref.store %s"
    )
    for sequential in (False, True):
        destination = f32(10, 20, 30, 40)
        module = function(TWO, loop("i", 4, sum_into))
        run(module, "f", f32(1, 2, 3, 4), destination, write_once=[1], sequential=sequential)
        assert destination.tolist() == [11, 22, 33, 44]


def test_write_once_memory_that_feeds_the_next_iteration() -> None:
    """Each element is written once, from the one before: the loop runs in order."""
    body = """
    %next = arith.addi %i, %c1 : index
    %v = memref.load %m[%i] : memref<5xindex>
    %w = arith.addi %v, %c3 : index
    memref.store %w, %m[%next] : memref<5xindex>
    """
    buffer = np.zeros(5, np.int64)
    run(function("%m : memref<5xindex>", loop("i", 4, body)), "f", buffer, write_once=[0])
    assert buffer.tolist() == [0, 3, 6, 9, 12]


def test_a_store_after_an_inner_loop_happens_once_per_outer_iteration() -> None:
    """The inner loop's extent ends with it."""
    body = f"""
    {loop("j", 3, "%v = memref.load %src[%j] : memref<4xf32>")}
    memref.store %x, %dst[%i] : memref<4xf32>
    """
    destination = f32(0, 0, 0, 0)
    module = function(f"{TWO}, %x : f32", loop("i", 4, body))
    run(module, "f", f32(1, 2, 3, 4), destination, 7.0, write_once=[1])
    assert destination.tolist() == [7, 7, 7, 7]


# --- arguments -------------------------------------------------------------------------------------------------


def test_an_op_without_interpretation_is_refused_before_anything_is_written() -> None:
    body = "memref.store %x, %m[%c0] : memref<4xf32>\n%n = memref.dim %m, %c0 : memref<4xf32>"
    untouched = f32(5, 5, 5, 5)
    with pytest.raises(InterpreterError, match=r"^no interpretation for 'memref.dim'$"):
        run(function("%x : f32, %m : memref<4xf32>", body), "f", 1.0, untouched)
    assert untouched.tolist() == [5, 5, 5, 5]


def test_arguments_that_do_not_fit() -> None:
    """Number, size, width, kind, layout, overlap."""
    module, x = function(TWO, ""), f32(0, 0, 0, 0)
    where = "argument 1 of @f:"
    refused("@f got 1 arguments, expected 2", module, x)
    refused(f"{where} 3 elements, expected 4 for memref<4xf32>", module, x, x[:3])
    refused(f"{where} elements of 8 bytes, expected 4 for memref<4xf32>", module, x, x.astype(np.float64))
    refused(f"{where} got a float, expected a buffer for memref<4xf32>", module, x, 1.0)
    refused(f"{where} the array is not contiguous", module, x, np.broadcast_to(np.float32(0), 4))
    refused("argument 0 of @f: got a buffer, expected a value of type f32", function("%x : f32", ""), x)
    for type, value in (("index", 1.5), ("i8", "1"), ("f32", None), ("f32", "1"), ("f32", 1j)):
        message = f"argument 0 of @f: got {value!r}, expected a value of type {type}"
        refused(message, function(f"%x : {type}", ""), value)
    numbers: dict[str, Any] = {"index": np.uint8(1), "i1": np.True_, "bf16": np.float16(1), "f32": True}
    for type, value in numbers.items():
        run(function(f"%x : {type}", ""), "f", value)
    with pytest.raises(LayoutcError, match=r"^module is a str, expected a ModuleOp$"):
        run("f", "f")  # pyright: ignore[reportArgumentType]
    with pytest.raises(InterpreterError, match=r"^arguments 0 and 1 overlap in memory$"):
        run(module, "f", x, x, write_once=[1])
    with pytest.raises(InterpreterError, match=r"^no function @g in the module$"):
        run(module, "g")
    packed = function("%m : memref<4xi4>", "")
    refused("argument 0 of @f: elements of 4 bytes, expected 1 for memref<4xi4>", packed, x)


def test_a_buffer_keeps_what_is_known_between_runs() -> None:
    """Defined by one run, it can be read by the next; written once, it cannot be written again."""
    buffer = Buffer.of(f32(0, 0, 0, 0), defined=False, write_once=True)
    module, source = function(TWO, loop("i", 4, COPY)), f32(1, 2, 3, 4)
    run(module, "f", source, buffer)
    assert buffer.defined.all()
    run(module, "f", buffer, source)
    with pytest.raises(InterpreterError, match="written a second time"):
        run(module, "f", source, buffer)


def test_a_step_that_is_not_positive() -> None:
    body = "scf.for %i = %c0 to %c4 step %c0 {\n}"
    refused("scf.for: step 0 of %i is not positive", function("", body))


# --- control ---------------------------------------------------------------------------------------------------


def test_iter_args_if_and_call() -> None:
    """The sum of the even numbers below 9, by way of a callee."""
    module = parse("""
    func.func @even(%n : index) -> (i1) {
      %c2 = arith.constant 2 : index
      %c0 = arith.constant 0 : index
      %rest = arith.remsi %n, %c2 : index
      %is = arith.cmpi eq, %rest, %c0 : index
      func.return %is : i1
    }
    func.func @f(%n : index) -> (index) {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %sum = scf.for %i = %c0 to %n step %c1 iter_args(%before = %c0) -> (index) {
        %is = func.call @even(%i) : (index) -> i1
        %after = scf.if %is -> (index) {
          %more = arith.addi %before, %i : index
          scf.yield %more : index
        } else {
          scf.yield %before : index
        }
        scf.yield %after : index
      }
      func.return %sum : index
    }
    """)
    assert run(module, "f", 9) == (20,)


def test_a_loop_with_iter_args_inside_of_a_loop() -> None:
    """Sums of rows: the inner loop carries its sum, so that neither runs at once."""
    body = """
    %total = scf.for %j = %c0 to %c3 step %c1 iter_args(%sum = %x) -> (f32) {
      %v = memref.load %m[%i, %j] : memref<2x3xf32>
      %more = arith.addf %sum, %v : f32
      scf.yield %more : f32
    }
    memref.store %total, %dst[%i] : memref<2xf32>
    """
    sums = f32(0, 0)
    run(
        function("%m : memref<2x3xf32>, %dst : memref<2xf32>, %x : f32", loop("i", 2, body)),
        "f",
        f32(1, 2, 3, 10, 20, 30),
        sums,
        0.5,
    )
    assert sums.tolist() == [6.5, 60.5]


def test_the_last_store_of_a_nest_stays() -> None:
    """Ordinary memory may be written again: the value is that of the last iteration."""
    body = """
    %v = memref.load %src[%i] : memref<4xf32>
    %o = affine.apply affine_map<(d0) -> (d0 floordiv 2)> (%i)
    memref.store %v, %dst[%o] : memref<4xf32>
    """
    for sequential in (False, True):
        destination = f32(0, 0, 0, 0)
        run(function(TWO, loop("i", 4, body)), "f", f32(1, 2, 3, 4), destination, sequential=sequential)
        assert destination.tolist() == [2, 4, 0, 0]


def test_a_loop_that_reads_what_it_wrote_runs_in_order() -> None:
    """A running sum depends on the iteration before."""
    body = """
    %next = arith.addi %i, %c1 : index
    %a = memref.load %m[%i] : memref<5xf32>
    %b = memref.load %m[%next] : memref<5xf32>
    %s = arith.addf %a, %b : f32
    memref.store %s, %m[%next] : memref<5xf32>
    """
    buffer = f32(1, 1, 1, 1, 1)
    run(function("%m : memref<5xf32>", loop("i", 4, body)), "f", buffer)
    assert buffer.tolist() == [1, 2, 3, 4, 5]


def test_arrays_that_overlap_run_in_order() -> None:
    """Two arguments over one piece of memory, shifted by one element."""
    memory = f32(1, 2, 3, 4, 5)
    run(function(TWO, loop("i", 4, COPY)), "f", memory[:4], memory[1:])
    assert memory.tolist() == [1, 1, 1, 1, 1]


def test_memref_copy_and_casts() -> None:
    """A copy from a strided view, and the same storage by another type."""
    body = """
    %t = memref.reinterpret_cast %src to offset: [0], sizes: [2, 2], strides: [1, 2]
      : memref<4xf32> to memref<2x2xf32, strided<[1, 2]>>
    %to = builtin.unrealized_conversion_cast %dst : memref<4xf32> to memref<2x2xf32>
    "memref.copy"(%t, %to) : (memref<2x2xf32, strided<[1, 2]>>, memref<2x2xf32>) -> ()
    """
    destination = f32(0, 0, 0, 0)
    run(function(TWO, body), "f", f32(1, 2, 3, 4), destination)
    assert destination.tolist() == [1, 3, 2, 4]


# --- moving bits -----------------------------------------------------------------------------------------------

EVERY_BIT = ["f64", "f32", "f16", "bf16", "f8E4M3FN", "f8E5M2", "f8E8M0FNU", "i64", "i16", "i8", "ui32", "ui8"]


@pytest.mark.parametrize("sequential", [False, True])
@pytest.mark.parametrize("type", EVERY_BIT)
def test_bits_survive(type: str, sequential: bool) -> None:
    """Signalling NaNs, negative zeros and denormals are moved as they are."""
    width = element_type(type).bits // 8
    patterns = np.frombuffer(
        b"".join(bits.to_bytes(8, "little")[8 - width :] for bits in NAN_BITS), dtype=f"u{width}"
    ).copy()
    args = f"%src : memref<6x{type}>, %dst : memref<6x{type}>"
    body = COPY.replace("4xf32", f"6x{type}")
    result = np.zeros(6, patterns.dtype)
    run(function(args, loop("i", 6, body)), "f", patterns, result, sequential=sequential)
    assert result.tolist() == patterns.tolist()


NAN_BITS = (
    0x7FF0000000000001,
    0x7F80000100000000,
    0x7F81000000000000 | 0x7C01 << 32,
    0xFFF7FFFFFFFFFFFF,
    0x8000000000000000,
    0x0000000000000001,
)


def test_zeros_of_unsigned_and_f8() -> None:
    """Spelled with casts, since arith has no constants of such types."""
    for type, op in (("ui8", "builtin.unrealized_conversion_cast"), ("f8E5M2", "arith.bitcast")):
        body = f"%z = arith.constant 0 : i8\n%zero = {op} %z : i8 to {type}\n"
        body += loop("i", 4, f"memref.store %zero, %m[%i] : memref<4x{type}>")
        buffer = np.full(4, 0xA5, np.uint8)
        run(function(f"%m : memref<4x{type}>", body), "f", buffer)
        assert buffer.tolist() == [0, 0, 0, 0]
