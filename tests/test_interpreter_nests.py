"""Whole reorders in the interpreter, and proof that running a nest at once changes nothing."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir.affine import AffineExpr, AffineMap

from layoutc.descriptor import MemoryDesc
from layoutc.element_type import element_type
from layoutc.errors import InterpreterError
from layoutc.interpreter import Buffer, run
from layoutc.layout import Digit, Layout
from layoutc.reference import reorder
from tests.descriptors import PAIRS
from tests.interpreting import function, loop
from tests.strategies import many

POISON = 0xA5


def lowered(src: MemoryDesc, dst: MemoryDesc) -> ModuleOp:
    """The loop nest over the logical index, and one per box of block padding."""
    a, b = (f"memref<{side.span}x{side.element_type.mlir}>" for side in (src, dst))
    zero = "0" if src.element_type.mlir.startswith("i") else "0.0"
    copy = nest(
        "n",
        [range(dim) for dim in dst.dims],
        lambda index: (
            f"""
          %src_offset = affine.apply affine_map<{src.offset_map()}> ({index})
          %v = memref.load %src[%src_offset] : {a}
          %dst_offset = affine.apply affine_map<{dst.offset_map()}> ({index})
          memref.store %v, %dst[%dst_offset] : {b}
        """
        ),
    )
    fills = [fill(f"p{number}_", dst, box, b) for number, box in enumerate(dst.padding_boxes)]
    constant = f"%zero = arith.constant {zero} : {src.element_type.mlir}\n"
    return function(f"%src : {a}, %dst : {b}", constant + copy + "".join(fills))


def fill(name: str, desc: MemoryDesc, box: tuple[range | None, ...], type: str) -> str:
    """Zero over a box: one loop per group with a range, one per axis of the other groups."""
    spans: list[range] = []
    coordinates: list[Any] = []
    for group, span in zip(desc.layout.groups, box, strict=True):
        first = len(spans)
        spans += [range(desc.dims[axis]) for axis in group.axes] if span is None else [span]
        dims = {axis: AffineExpr.dimension(first + place) for place, axis in enumerate(group.axes)}
        whole = [dims.get(axis, AffineExpr.constant(0)) for axis in range(desc.rank)]
        coordinates.append(AffineExpr.dimension(first) if span else desc.group_coordinate(group, whole))
    offset = desc.coordinate_offset(coordinates)
    map = AffineMap(len(spans), 0, (AffineExpr.constant(offset) if isinstance(offset, int) else offset,))
    store = f"%{name}o = affine.apply affine_map<{map}> ({{}})\nmemref.store %zero, %dst[%{name}o] : {type}"
    return nest(name, spans, store.format)


def nest(name: str, spans: list[range], body: Callable[[str], str]) -> str:
    """A loop per span around the body, which gets the list of indices."""
    indices = [f"%{name}{axis}" for axis in range(len(spans))]
    text = body(", ".join(indices))
    for index in reversed(indices):
        text = f"scf.for {index} = {index}_low to {index}_high step %c1 {{\n{text}\n}}"
    bounds = zip(indices, spans, strict=True)
    return (
        "".join(
            f"{index}_low = arith.constant {span.start} : index\n{index}_high = arith.constant {span.stop} : index\n"
            for index, span in bounds
        )
        + f"{text}\n"
    )


@pytest.mark.parametrize("type", ["s8", "f16", "f64"])
@pytest.mark.parametrize("name", PAIRS)
def test_pair_agrees_with_the_reference(name: str, type: str) -> None:
    """Every pair of the shared list: all elements once, all padding once, nothing else."""
    src, dst = (replace(side, element_type=element_type(type)) for side in PAIRS[name])
    dtype = np.dtype(f"u{src.element_type.bits // 8}")
    source = (np.arange(1, src.span + 1, dtype=np.uint64) * 0x9E3779B97F4A7C15).astype(dtype)
    got, want = (np.full(dst.span, POISON, dtype) for _ in range(2))
    run(lowered(src, dst), "f", source, got, write_once=[1], defined={1: False})
    reorder(src, dst, source, want)
    np.testing.assert_array_equal(got, want)


def test_a_reorder_runs_in_order_too() -> None:
    src, dst = PAIRS["borders next to a tail"]
    source = np.arange(1, src.span + 1, dtype=np.float32)
    got, want = (np.full(dst.span, -1, np.float32) for _ in range(2))
    run(lowered(src, dst), "f", source, got, write_once=[1], defined={1: False}, sequential=True)
    reorder(src, dst, source, want)
    np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize("dims", [(1 << 20,), (2, 1 << 19), (1 << 19, 2), (3, 700_001)])
def test_nests_of_millions_run_in_pieces(dims: tuple[int, ...]) -> None:
    """More points than run at once: by pieces of the outermost loop, or of an inner one."""
    rows, columns = (1, *dims)[-2:]
    src = MemoryDesc((rows, columns), element_type("f32"), Layout.row_major(2))
    dst = MemoryDesc((rows, columns), element_type("f32"), Layout(2, (Digit((1,)), Digit((0,)))))
    source, got = np.arange(src.span, dtype=np.float32), np.zeros(dst.span, np.float32)
    module, start = lowered(src, dst), time.process_time()
    run(module, "f", source, got, write_once=[1])
    assert time.process_time() - start < 2
    np.testing.assert_array_equal(got.reshape(columns, rows), source.reshape(rows, columns).T)


# --- at once or in order ---------------------------------------------------------------------------------------

SIZE = 40


@st.composite
def offsets(draw: st.DrawFn, indices: tuple[str, ...]) -> str:
    """An offset of the enclosing loops' indices, mostly within a buffer."""
    terms = [str(draw(st.integers(0, 5)))]
    for number in range(len(indices)):
        factor, divisor = draw(st.sampled_from((1, 3, 9, 0))), draw(st.integers(1, 3))
        terms.append(draw(st.sampled_from((f"d{number} * {factor}", f"(d{number} floordiv {divisor}) * {factor}"))))
    dims = ", ".join(f"d{number}" for number in range(len(indices)))
    return f"affine.apply affine_map<({dims}) -> ({' + '.join(terms)})> ({', '.join(indices)})"


@st.composite
def moves(draw: st.DrawFn, indices: tuple[str, ...], label: str) -> str:
    """A load, and a store of the loaded value or of its sum with a sum of indices."""
    source, target = draw(st.sampled_from("aabc")), draw(st.sampled_from("bccc"))
    text = f"%from{label} = {draw(offsets(indices))}\n%to{label} = {draw(offsets(indices))}\n"
    place = draw(st.sampled_from(("from", "to")))
    text += f"%v{label} = memref.load %{source}[%{place}{label}] : memref<{SIZE}xi32>\n"
    text += f"%k{label} = arith.index_cast %to{label} : index to i32\n"
    text += f"%w{label} = arith.addi %v{label}, %k{label} : i32\n"
    return text + f"memref.store %{draw(st.sampled_from('vwk'))}{label}, %{target}[%to{label}] : memref<{SIZE}xi32>\n"


@st.composite
def bodies(draw: st.DrawFn, indices: tuple[str, ...] = (), label: str = "") -> str:
    """One to three statements: moves, and up to three levels of loops."""
    text = ""
    for number in range(draw(st.integers(1, 3 if len(indices) < 2 else 2))):
        inner = f"{label}_{number}"
        if len(indices) < 3 and draw(st.booleans() if indices else st.just(True)):
            body = draw(bodies((*indices, f"%i{inner}"), inner))
            text += loop(f"i{inner}", draw(st.sampled_from((3, 2, 1, 0))), body) + "\n"
        else:
            text += draw(moves(indices, inner))
    return text


@st.composite
def programs(draw: st.DrawFn) -> tuple[str, list[int], list[bool]]:
    return (
        draw(bodies()),
        draw(st.sampled_from(([], [2], [1, 2]))),
        draw(st.lists(st.sampled_from((True, True, False)), min_size=3, max_size=3)),
    )


def outcome(module: ModuleOp, write_once: list[int], defined: list[bool], sequential: bool) -> Any:
    """What the buffers hold afterwards and which elements are defined, or that the run was refused."""
    arrays = [np.arange(100 * b, 100 * b + SIZE, dtype=np.int32) for b in range(3)]
    buffers = [Buffer.of(array, defined[b], b in write_once) for b, array in enumerate(arrays)]
    try:
        run(module, "f", *buffers, sequential=sequential)
    except InterpreterError:
        return "refused"
    return [(array.tolist(), buffer.defined.tolist()) for array, buffer in zip(arrays, buffers, strict=True)]


@many(150)
@given(programs())
def test_at_once_is_as_in_order(program: tuple[str, list[int], list[bool]]) -> None:
    """Random nests over three buffers give the same memory, or are refused, either way."""
    body, write_once, defined = program
    module = function(", ".join(f"%{name} : memref<{SIZE}xi32>" for name in "abc"), body)
    assert outcome(module, write_once, defined, False) == outcome(module, write_once, defined, True)
