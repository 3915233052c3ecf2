"""
The Inference Engine's layouts: names of its `Layout` enum (`NCHW`, `GOIDHW`) and blocking descriptors
`BlockingDesc({1,4,20,20,8}, {0,1,2,3,1}[, offset[, {dim offsets}[, {strides}]]])`.

In an order, the last occurrence of an axis is its least significant digit. Dim offsets say where a region starts in the
tensor it was cut from; they are already part of the offset, so they move no element.
"""

from __future__ import annotations

from functools import cache
from math import prod

from layoutc.descriptor import MemoryDesc
from layoutc.errors import LayoutcError
from layoutc.layout import MAX_RANK, Layout
from layoutc.notations.reading import Piece, Reading, nested_digits, pieces_of, planar, planar_order
from layoutc.notations.scanner import MeantError, Scanner, near_index, near_match
from layoutc.strides import dense_strides

NAME = "ie"
DATA_LAYOUTS = ("NCHW", "NHWC", "NCDHW", "NDHWC", "C", "CHW", "HWC", "HW", "NC", "CN")
WEIGHTS_LAYOUTS = ("OIHW", "GOIHW", "OIDHW", "GOIDHW")
WITHOUT_ORDER = {
    "ANY": "describes no memory",
    "BLOCKED": "needs its blocked dims and order, as BlockingDesc({..}, {..})",
}

_BLOCKING = "BlockingDesc"


def read(text: str) -> Reading:
    """What a name or a blocking descriptor says. Raises NotationError, with the column, for other texts."""
    if text.lstrip().startswith(_BLOCKING):
        return _read_blocking(Scanner(text))
    if text in WITHOUT_ORDER:
        raise MeantError(text, 0, f"layout {text} {WITHOUT_ORDER[text]}")
    if text in _layouts():
        return Reading(_layouts()[text])
    expected = f"expected one of {' '.join(_layouts())}, or {_BLOCKING}({{..}}, {{..}})"
    return Scanner(text).fail(expected, 0, near_match(text, _near_names()))


def parse(text: str) -> Layout:
    """The layout of a name, or of a blocking descriptor without strides and offset."""
    return read(text).layout_alone(text)


def format(layout: Layout) -> str:
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


def format_desc(desc: MemoryDesc) -> str:
    """The blocking descriptor of a memory descriptor; LayoutcError for what it cannot express."""
    if desc.low or desc.high:
        raise LayoutcError("a BlockingDesc has no border")
    if any(len(digit.axes) > 1 for digit in desc.layout.digits):
        raise LayoutcError(f"a BlockingDesc has no flattened axes, got {desc.layout}")
    if pieces_of(desc.layout) is None:
        raise LayoutcError(f"a BlockingDesc nests blocks, the most significant first, got {desc.layout}")
    parts = [desc.physical_shape, [digit.axes[0] for digit in desc.layout.digits]]
    strided = desc.strides != dense_strides(desc.physical_shape)
    tail = f", {desc.base_offset}" if desc.base_offset or strided else ""
    if strided:
        tail += f", {_braces([0] * len(desc.strides))}, {_braces(desc.strides)}"
    return f"{_BLOCKING}({', '.join(map(_braces, parts))}{tail})"


@cache
def _layouts() -> dict[str, Layout]:
    named = {name: planar(name, "NCDHW") for name in DATA_LAYOUTS}
    named.update((name, planar(name, "GOIDHW")) for name in WEIGHTS_LAYOUTS)
    return {**named, "SCALAR": Layout(0, ())}


@cache
def _near_names() -> dict[str, str]:
    return near_index((*_layouts(), *WITHOUT_ORDER))


def _braces(values: object) -> str:
    return "{" + ",".join(map(str, values)) + "}"  # pyright: ignore[reportArgumentType]


def _read_blocking(scanner: Scanner) -> Reading:
    scanner.is_meant = scanner.take(_BLOCKING)
    scanner.expect("(")
    shape = scanner.integers("{", "}", "a blocked dim")
    scanner.expect(",")
    scanner.skip_space()
    order_at = scanner.position
    order = scanner.integers("{", "}", "an axis")
    offset = scanner.integer("an offset") if scanner.take(",") else 0
    starts = _optional_list(scanner, len(shape), "dim offset")
    strides = _optional_list(scanner, len(shape), "stride")
    scanner.expect(")")
    scanner.expect_end()
    layout = _blocked_layout(scanner, shape, order, order_at)
    packed = strides or dense_strides(shape)
    skipped = sum(start * stride for start, stride in zip(starts, packed, strict=False))
    if skipped > offset:
        scanner.fail(f"dim offsets put the first element at {skipped}, the offset says {offset}", 0)
    dims = tuple(prod(n for n, axis in zip(shape, order, strict=True) if axis == a) for a in range(layout.rank))
    given = strides if strides != dense_strides(shape) else ()
    return Reading(layout, dims, given, offset, shape)


def _optional_list(scanner: Scanner, length: int, what: str) -> tuple[int, ...]:
    if not scanner.take(","):
        return ()
    scanner.skip_space()
    at = scanner.position
    values = scanner.integers("{", "}", f"a {what}")
    if len(values) != length:
        scanner.fail(f"got {len(values)} {what}s, expected {length}, one per blocked dim", at)
    return values


def _blocked_layout(scanner: Scanner, shape: tuple[int, ...], order: tuple[int, ...], at: int) -> Layout:
    if len(order) != len(shape):
        scanner.fail(f"got {len(order)} axes in the order, expected {len(shape)}, one per blocked dim", at)
    if 0 in shape:
        scanner.fail("blocked dims hold 0", scanner.text.index("{"))
    rank = max(order, default=-1) + 1
    if rank > MAX_RANK:
        scanner.fail(f"axis {rank - 1} is outside 0..{MAX_RANK - 1}", at)
    missing = set(range(rank)) - set(order)
    if missing:
        scanner.fail(f"axis {min(missing)} is missing from the order", at)
    seen: set[int] = set()
    pieces: list[Piece] = []
    for axis, size in zip(order, shape, strict=True):
        pieces.append(((axis,), size if axis in seen else None))
        seen.add(axis)
    try:
        return Layout(rank, nested_digits(pieces))
    except LayoutcError as error:
        scanner.fail(str(error), scanner.text.index("{"))
