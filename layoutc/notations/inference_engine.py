"""
The Inference Engine's layouts: names of its `Layout` enum (`NCHW`, `GOIDHW`) and blocking descriptors
`BlockingDesc({1,4,20,20,8}, {0,1,2,3,1}[, offset[, {dim offsets}[, {strides}]]])`, or of
dims in logical order `BlockingDesc({1,25,20,20}, NHWC)`.

In an order, the last occurrence of an axis is its least significant digit. Dim offsets say where a region starts in the
tensor it was cut from; they are already part of the offset, so they move no element.

`BlockingDesc`, `TensorDesc`, `make_roi_desc` and `layout_by_dims` are the library's own descriptors, with its answers.
"""

from __future__ import annotations

from functools import cache
from operator import mul

from layoutc.checks import as_annotated
from layoutc.descriptor import MemoryDesc
from layoutc.errors import LayoutcError
from layoutc.layout import Layout as MemoryLayout
from layoutc.notations.inference_engine_blocking import BlockingDesc
from layoutc.notations.inference_engine_common import InferenceEngineError
from layoutc.notations.inference_engine_layouts import Layout, layout_by_dims, layout_by_rank
from layoutc.notations.inference_engine_memory import Blocks, OrderError, blocking_desc
from layoutc.notations.inference_engine_precision import Precision
from layoutc.notations.inference_engine_roi import ROI, make_roi_desc
from layoutc.notations.inference_engine_tensor import TensorDesc
from layoutc.notations.reading import Reading, planar, planar_order
from layoutc.notations.scanner import MeantError, Scanner, near_index, near_match

__all__ = [
    "NAME",
    "ROI",
    "BlockingDesc",
    "InferenceEngineError",
    "Layout",
    "Precision",
    "TensorDesc",
    "format",
    "format_desc",
    "from_memory_desc",
    "layout_by_dims",
    "layout_by_rank",
    "make_roi_desc",
    "parse",
    "read",
]

NAME = "ie"
DATA_LAYOUTS = ("NCHW", "NHWC", "NCDHW", "NDHWC", "C", "CHW", "HWC", "HW", "NC", "CN")
WEIGHTS_LAYOUTS = ("OIHW", "GOIHW", "OIDHW", "GOIDHW")
WITHOUT_ORDER = {
    "ANY": "describes no memory",
    "BLOCKED": "needs its blocked dims and order, as BlockingDesc({..}, {..})",
}

from_memory_desc = TensorDesc.from_memory_desc

_BLOCKING = "BlockingDesc"


@as_annotated
def read(text: str) -> Reading:
    """What a name or a blocking descriptor says. Raises NotationError, with the column, for other texts."""
    scanner = Scanner(text)
    if scanner.take(_BLOCKING):
        return _read_blocking(scanner)
    if text.upper() in WITHOUT_ORDER:
        raise MeantError(text, 0, f"layout {text.upper()} {WITHOUT_ORDER[text.upper()]}")
    if text in _layouts():
        return Reading(_layouts()[text])
    expected = f"expected one of {' '.join(_layouts())}, or {_BLOCKING}({{..}}, {{..}})"
    name, bracket, _ = text.partition("(")
    return Scanner(text).fail(expected, 0, near_match(name, _near_names(has_dims=bool(bracket))))


@as_annotated
def parse(text: str) -> MemoryLayout:
    """The layout of a name, or of a blocking descriptor without strides and offset."""
    return read(text).layout_alone(text)


@as_annotated
def format(layout: MemoryLayout) -> str:
    """The name in the `Layout` enum; LayoutcError for a layout that only a BlockingDesc with dims expresses."""
    letters = set(layout.axis_names)
    first = WEIGHTS_LAYOUTS if letters & {"o", "i"} else DATA_LAYOUTS
    names = [name for name in (*first, *_layouts()) if _layouts()[name] == layout]
    exact = [name for name in names if set(name.lower()) == letters]
    if names:
        return (exact or names)[0]
    only = "only a BlockingDesc with dims does"
    if planar_order(layout) is None:
        raise LayoutcError(f"the Inference Engine's layout names express no blocks, {only}, got {layout}")
    raise LayoutcError(f"the Inference Engine names no layout {layout}, {only}")


@as_annotated
def format_desc(desc: MemoryDesc) -> str:
    """The blocking descriptor of a memory descriptor; LayoutcError for what it cannot express."""
    return str(blocking_desc(desc))


@cache
def _layouts() -> dict[str, MemoryLayout]:
    named = {name: planar(name, "NCDHW") for name in DATA_LAYOUTS}
    named.update((name, planar(name, "GOIDHW")) for name in WEIGHTS_LAYOUTS)
    return {**named, "SCALAR": MemoryLayout(0, ())}


@cache
def _near_names(has_dims: bool) -> dict[str, list[str]]:
    return near_index((_BLOCKING,) if has_dims else tuple(_layouts()))


def _read_blocking(scanner: Scanner) -> Reading:
    scanner.is_meant = True
    scanner.expect("(")
    scanner.skip_space()
    shape_at = scanner.position
    shape = scanner.integers("{", "}", "a blocked dim")
    scanner.expect(",")
    scanner.skip_space()
    order_at = scanner.position
    scanner.take("Layout::")
    if name := scanner.word():
        return _read_dims(scanner, shape, name, order_at)
    order = scanner.integers("{", "}", "an axis")
    if len(order) != len(shape):
        scanner.fail(f"got {len(order)} axes in the order, expected {len(shape)}, one per blocked dim", order_at)
    offset = scanner.integer("an offset") if scanner.take(",") else 0
    starts = _optional_list(scanner, len(shape), "dim offset")
    strides = _optional_list(scanner, len(shape), "stride")
    scanner.expect(")")
    scanner.expect_end()
    try:
        blocking = BlockingDesc(shape, order, offset, starts, strides)
        reading = Blocks.of(blocking).reading()
    except LayoutcError as error:
        scanner.fail(str(error), order_at if isinstance(error, OrderError) else shape_at)
    skipped = sum(map(mul, blocking.dim_offsets, blocking.strides))
    if skipped > offset:
        scanner.fail(f"dim offsets put the first element at {skipped}, the offset says {offset}", 0)
    return reading


def _read_dims(scanner: Scanner, dims: tuple[int, ...], name: str, at: int) -> Reading:
    """Dims with the name of a layout, which permutes them."""
    scanner.expect(")")
    scanner.expect_end()
    try:
        blocking = BlockingDesc(dims, name)
        layout = Blocks.of(blocking).reading().layout
    except LayoutcError as error:
        scanner.fail(str(error), at)
    if not blocking.blocked_dims:
        scanner.fail(f"layout {name} of dims {dims} describes no memory", at)
    return Reading(layout, dims)


def _optional_list(scanner: Scanner, length: int, what: str) -> tuple[int, ...] | None:
    if not scanner.take(","):
        return None
    scanner.skip_space()
    at = scanner.position
    values = scanner.integers("{", "}", f"a {what}")
    if len(values) != length:
        scanner.fail(f"got {len(values)} {what}s, expected {length}, one per blocked dim", at)
    return values
