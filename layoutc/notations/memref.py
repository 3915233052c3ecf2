"""
MLIR's memref types: `memref<2x17xf32, #layout.tag<"aB8b">>`, `memref<2x3xf32, strided<[5, 1], offset: 3>>`.

A type says everything: dims, element type, layout, strides, base offset and border. The attributes that stand for
layouts in one are read alone too, `#layout.tag<"aB8b">` and `#layout.map<(d0, d1) -> (d1, d0)>`. Reading takes xDSL's
parser, writing does not.
"""

from __future__ import annotations

import re

from layoutc.affine_text import digit_texts
from layoutc.checks import as_annotated
from layoutc.descriptor import MemoryDesc
from layoutc.errors import LayoutcError
from layoutc.layout import Layout, generic_names
from layoutc.notations.reading import Reading
from layoutc.notations.scanner import Scanner

NAME = "memref"
MAX_LENGTH = 4_000

_START, _LAYOUT = "memref<", "#layout."
_STRINGS = re.compile(r'[^"]*(?:"[^"\\\n\v\f]*"[^"]*)*')


@as_annotated
def read(text: str) -> Reading:
    """What a memref type, or a layout of one, says. Raises NotationError, with the column, for a text that is none."""
    scanner = Scanner(text)
    is_layout = text.startswith(_LAYOUT)
    scanner.is_meant = is_layout or text.startswith(_START)
    if not scanner.is_meant:
        scanner.fail(f"expected {_START}...>")
    if len(text) > MAX_LENGTH:
        scanner.fail(f"a memref type has at most {MAX_LENGTH} characters, got {len(text)}")
    # xDSL's lexer takes time exponential in the length of a string that is not closed.
    if not _STRINGS.fullmatch(text):
        scanner.fail("a string is not closed, or holds a backslash or a line break", text.index('"'))
    from layoutc.dialects.memref_text import TypeTextError, read_layout, read_memref

    try:
        return read_layout(text) if is_layout else _reading(read_memref(text))
    except TypeTextError as error:
        scanner.fail(error.message, error.column)
    except LayoutcError as error:
        scanner.fail(error.message, 0)


def _reading(desc: MemoryDesc) -> Reading:
    return Reading(
        desc.layout,
        desc.dims,
        desc.own_strides,
        desc.base_offset,
        low=desc.low,
        high=desc.high,
        element_type=desc.element_type,
    )


@as_annotated
def parse(text: str) -> Layout:
    """The layout of a type, or of a layout alone, that has no strides of its own."""
    return read(text).layout_alone(text)


@as_annotated
def format(layout: Layout) -> str:
    """A memref type has dims: always a LayoutcError."""
    raise LayoutcError(f"a memref type needs dims, got the layout {layout} alone")


@as_annotated
def format_desc(desc: MemoryDesc) -> str:
    """The memref type: without a layout if it is row-major, `strided` if only strides differ, else `#layout.map`."""
    shape = "".join(f"{dim}x" for dim in desc.dims) + desc.element_type.mlir
    layout = _layout_text(desc)
    return f"memref<{shape}, {layout}>" if layout else f"memref<{shape}>"


def _layout_text(desc: MemoryDesc) -> str:
    plain = desc.layout == Layout.row_major(desc.rank) and not desc.low and not desc.high
    if plain and desc.is_dense:
        return ""
    if plain:
        offset = f", offset: {desc.base_offset}" if desc.base_offset else ""
        return f"strided<{list(desc.strides)}{offset}>"
    options = (
        ("strides", desc.own_strides),
        ("offset", desc.base_offset),
        ("low", desc.low),
        ("high", desc.high),
        ("align", desc.layout.align),
    )
    given = "".join(f", {name} = {list(v) if isinstance(v, tuple) else v}" for name, v in options if v)
    return f"#layout.map<{_physical_map(desc)}{given}>"


def _physical_map(desc: MemoryDesc) -> str:
    return f"({', '.join(generic_names(desc.rank))}) -> ({', '.join(map(str, digit_texts(desc)))})"
