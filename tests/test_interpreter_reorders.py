"""Reorders that the strict interpreter runs before they are lowered: every stage gives what the last one does."""

from __future__ import annotations

import re

import numpy as np
import pytest
from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp
from xdsl.parser import Parser

import layoutc
from layoutc.dialects.memory import is_memref, memory_desc
from layoutc.errors import InterpreterError
from layoutc.interpreter import Buffer, run
from layoutc.pipeline import STAGES, lower, make_context

BEFORE = [stage.name for stage in STAGES if stage.name != "lower-reorders"]
SOURCES = {
    "a chain": """
    func.func @f(%a: memref<2x17x5x4xf32>, %b: memref<2x17x5x4xf32, #layout.tag<"nhwc">>) {
      %t = memref.alloc() : memref<2x17x5x4xf32, #layout.tag<"nChw8c">>
      layout.reorder %a into %t : memref<2x17x5x4xf32> into memref<2x17x5x4xf32, #layout.tag<"nChw8c">>
      layout.reorder %t into %b
        : memref<2x17x5x4xf32, #layout.tag<"nChw8c">> into memref<2x17x5x4xf32, #layout.tag<"nhwc">>
      memref.dealloc %t : memref<2x17x5x4xf32, #layout.tag<"nChw8c">>
      func.return
    }""",
    "layouts of MLIR's own": """
    func.func @f(%a: memref<3x5xf32, strided<[7, 1], offset: 2>>, %b: memref<3x5xf32, affine_map<(i, j) -> (j, i)>>) {
      layout.reorder %a into %b
        : memref<3x5xf32, strided<[7, 1], offset: 2>> into memref<3x5xf32, affine_map<(i, j) -> (j, i)>>
      func.return
    }""",
    "a sum, scaled by arguments": """
    func.func @f(%a: memref<6x5xf32>, %b: memref<6x5xi8, #layout.tag<"Ab4a">>, %s: memref<5xf32>) {
      layout.reorder %a into %b with (dst_scale = %s axes [1], sum = 0.5)
        : memref<6x5xf32> into memref<6x5xi8, #layout.tag<"Ab4a">>, memref<5xf32>
      func.return
    }""",
    "sums of a compensation": """
    func.func @f(%a: memref<6x5xi8>, %b: memref<6x5xi8, #layout.tag<"bA4a">>, %sums: memref<8xi32>) {
      layout.reorder %a into %b with (s8s8 = [0]) sums (%sums)
        : memref<6x5xi8> into memref<6x5xi8, #layout.tag<"bA4a">>, memref<8xi32>
      func.return
    }""",
    "elements that share bytes": """
    func.func @f(%a: memref<4x7xi8>, %b: memref<4x7xi4, #layout.tag<"bA2a">>) {
      layout.reorder %a into %b : memref<4x7xi8> into memref<4x7xi4, #layout.tag<"bA2a">>
      func.return
    }""",
    "an odd count of elements that share bytes, allocated": """
    func.func @f(%a: memref<3x5xi4>, %b: memref<3x5xi4>) {
      %t = memref.alloc() : memref<3x5xi4, #layout.tag<"ba">>
      layout.reorder %a into %t : memref<3x5xi4> into memref<3x5xi4, #layout.tag<"ba">>
      layout.reorder %t into %b : memref<3x5xi4, #layout.tag<"ba">> into memref<3x5xi4>
      func.return
    }""",
    "elements that share bytes with gaps, allocated": """
    func.func @f(%a: memref<4x6xi4>, %b: memref<4x6xi4>) {
      %t = memref.alloca() : memref<4x6xi4, strided<[7, 1]>>
      layout.reorder %a into %t : memref<4x6xi4> into memref<4x6xi4, strided<[7, 1]>>
      layout.reorder %t into %b : memref<4x6xi4, strided<[7, 1]>> into memref<4x6xi4>
      func.return
    }""",
    "in a loop": """
    func.func @f(%a: memref<6x5xf32>, %b: memref<6x5xf32, #layout.tag<"ba">>) {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c3 = arith.constant 3 : index
      scf.for %i = %c0 to %c3 step %c1 {
        layout.reorder %a into %b : memref<6x5xf32> into memref<6x5xf32, #layout.tag<"ba">>
      }
      func.return
    }""",
    "loads and stores": """
    func.func @f(%a: memref<2x9xf32, #layout.tag<"aB4b">>, %b: memref<9x2xf32, #layout.tag<"ba">>) {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c2 = arith.constant 2 : index
      %c9 = arith.constant 9 : index
      scf.for %i = %c0 to %c2 step %c1 {
        scf.for %j = %c0 to %c9 step %c1 {
          %x = memref.load %a[%i, %j] : memref<2x9xf32, #layout.tag<"aB4b">>
          memref.store %x, %b[%j, %i] : memref<9x2xf32, #layout.tag<"ba">>
        }
      }
      func.return
    }""",
}


def parsed(text: str) -> ModuleOp:
    return Parser(make_context(), text).parse_module()


def memory(module: ModuleOp) -> list[np.ndarray]:
    """Random memory for each argument of @f, of bytes where elements share them."""
    (function,) = (op for op in module.walk() if isinstance(op, func.FuncOp))
    random, found = np.random.default_rng(0), list[np.ndarray]()
    for type in function.function_type.inputs:
        assert is_memref(type)
        desc = memory_desc(type)
        numpy = desc.element_type.numpy if desc.element_type.bits >= 8 else np.dtype(np.uint8)
        found.append(random.integers(0, 8, desc.size_bytes // numpy.itemsize).astype(numpy))
    return found


@pytest.mark.parametrize("stage", BEFORE)
@pytest.mark.parametrize("name", SOURCES)
def test_every_stage_gives_what_lowered_loops_do(name: str, stage: str) -> None:
    module = parsed(SOURCES[name])
    given = memory(module)
    lowered, early = module.clone(), module
    lower(lowered)
    lower(early, stage)
    expected, got = ([array.copy() for array in given] for _ in range(2))
    run(lowered, "f", *expected)
    run(early, "f", *got)
    assert any((one != other).any() for one, other in zip(given, expected, strict=True))
    for one, other in zip(got, expected, strict=True):
        np.testing.assert_array_equal(one, other)


MATRIX = SOURCES["in a loop"]


def refused(message: str, module: ModuleOp, *args: np.ndarray | Buffer, **options: object) -> None:
    with pytest.raises(InterpreterError, match=f"^{re.escape(message)}"):
        run(module, "f", *args, **options)  # pyright: ignore[reportArgumentType]


def test_what_a_reorder_reads_must_be_defined() -> None:
    defined = np.ones(30, np.bool_)
    defined[7] = False
    refused(
        "layout.reorder: %a[7] is undefined",
        parsed(MATRIX),
        np.zeros(30, np.float32),
        np.zeros(30, np.float32),
        defined={0: defined},
    )


def test_a_sum_reads_the_destination() -> None:
    arguments = memory(parsed(SOURCES["a sum, scaled by arguments"]))
    refused(
        "layout.reorder: %b[0] is undefined",
        parsed(SOURCES["a sum, scaled by arguments"]),
        *arguments,
        defined={1: False},
    )


def test_padding_of_the_source_may_be_undefined_and_that_of_the_destination_is_zero() -> None:
    text = """
    func.func @f(%a: memref<5xf32, #layout.tag<"A4a">>, %b: memref<5xf32, #layout.tag<"A8a">>) {
      layout.reorder %a into %b : memref<5xf32, #layout.tag<"A4a">> into memref<5xf32, #layout.tag<"A8a">>
      func.return
    }"""
    written = np.full(8, 7, np.float32)
    run(parsed(text), "f", np.arange(8, dtype=np.float32), written, defined={0: np.arange(8) < 5})
    assert written.tolist() == [0, 1, 2, 3, 4, 0, 0, 0]


def test_memory_is_written_once_and_not_where_it_is_read_only() -> None:
    read, written = np.zeros(30, np.float32), np.zeros(30, np.float32)
    refused("layout.reorder: %b[0] is written a second time", parsed(MATRIX), read, written, write_once=[1])
    written.flags.writeable = False
    refused("layout.reorder: %b[0] is read-only", parsed(MATRIX), read, written)


def test_memory_has_the_size_that_the_layout_needs() -> None:
    text = SOURCES["a chain"]
    refused("argument 0 of @f: 679 elements, expected 680", parsed(text), np.zeros(679, np.float32), np.zeros(680))


def test_an_index_outside_of_a_layout() -> None:
    text = (
        SOURCES["loads and stores"]
        .replace("%c9 step", "%c10 step")
        .replace("%c9 = arith.constant 9", "%c10 = arith.constant 10")
    )
    read = np.zeros(layoutc.desc("aB4b", (2, 9), "f32").size_bytes // 4, np.float32)
    refused("memref.load: %a has an index outside of (2, 9)", parsed(text), read, np.zeros(18, np.float32))


def test_tensors_have_no_memory_yet() -> None:
    text = """
    func.func @f(%t: tensor<2xf32>) {
      %r = layout.reorder %t : tensor<2xf32> to tensor<2xf32, #layout.tag<"A4a">>
      func.return
    }"""
    refused("argument 0 of @f: no interpretation for values of type tensor<2xf32>", parsed(text), np.zeros(2))


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (
            '%x = vector.load %m[%c0, %c0] : memref<2x8xf32, #layout.tag<"ba">>, vector<4xf32>',
            "vector.load: no interpretation for a memref with a layout that is lowered",
        ),
        (
            "%x = memref.load %p[%c0] : memref<4xi4>",
            "memref.load of memref<4xi4>: elements that share bytes are only reordered",
        ),
    ],
)
def test_what_only_lowering_could_make_sense_of_is_refused(body: str, message: str) -> None:
    text = f"""
    func.func @f(%m: memref<2x8xf32, #layout.tag<"ba">>, %p: memref<4xi4>) {{
      %c0 = arith.constant 0 : index
      {body}
      func.return
    }}"""
    refused(message, parsed(text), np.zeros(16, np.float32), np.zeros(2, np.uint8))
