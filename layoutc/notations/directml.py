"""
DirectML's tensors: sizes and strides, `{2,3},{5,1}` or `sizes={2,3} strides={5,1}` or sizes alone, and the labels
that its pages use for orders of axes, `HW`, `WHD`, `NHWC`. Logical axes are always in the order N, C, D, H, W.

`BufferTensorDesc` and `calc_buffer_tensor_size` are DirectML's own descriptor, with its rules.
"""

from __future__ import annotations

from functools import cache

from layoutc.checks import as_annotated
from layoutc.descriptor import MemoryDesc
from layoutc.errors import LayoutcError
from layoutc.layout import Layout
from layoutc.notations.directml_desc import BufferTensorDesc
from layoutc.notations.directml_labels import (
    ALPHABET,
    KNOWN_LABELS,
    axes_of_rank,
    interleaved_channel_strides,
)
from layoutc.notations.directml_memory import strides_of
from layoutc.notations.directml_types import (
    MAX_DIMENSIONS,
    DataType,
    Flags,
    calc_buffer_tensor_size,
    checked_sizes,
    checked_strides,
    last_element,
)
from layoutc.notations.reading import Reading, planar, planar_order
from layoutc.notations.scanner import Scanner, near_index, near_match
from layoutc.strides import dense_strides

__all__ = [
    "NAME",
    "BufferTensorDesc",
    "DataType",
    "Flags",
    "calc_buffer_tensor_size",
    "format",
    "format_desc",
    "from_memory_desc",
    "interleaved_channel_strides",
    "parse",
    "read",
]

NAME = "directml"

from_memory_desc = BufferTensorDesc.from_memory_desc


@as_annotated
def read(text: str) -> Reading:
    """What sizes, strides or a label say. Raises NotationError, with the column, for other texts."""
    scanner = Scanner(text)
    scanner.skip_space()
    if text[scanner.position : scanner.position + 1] == "{" or text.startswith("sizes", scanner.position):
        scanner.is_meant = True
        return _read_sizes(scanner)
    if text.startswith("strides", scanner.position):
        scanner.is_meant = True
        scanner.fail("sizes stand before strides, as in sizes={2,3}, strides={5,1}")
    return Reading(_read_label(text))


@as_annotated
def parse(text: str) -> Layout:
    """The layout of a label, or of sizes without strides."""
    return read(text).layout_alone(text)


@as_annotated
def format(layout: Layout) -> str:
    """The label; LayoutcError for blocks, and for ranks past 5, which have no label."""
    order = planar_order(layout)
    if order is None:
        raise LayoutcError(f"DirectML has one stride per axis, no blocks or padding, got {layout}")
    letters = _label_letters(layout)
    if letters is None:
        raise LayoutcError(f"DirectML labels axes N C D H W, got {layout}; with dims, see sizes and strides")
    return "".join(letters[axis].upper() for axis in order)


@as_annotated
def format_desc(desc: MemoryDesc) -> str:
    """Sizes and strides of a descriptor; LayoutcError for blocks, border or a base offset."""
    strides = strides_of(desc)
    sizes, steps = (",".join(map(str, values)) for values in (desc.dims, strides))
    return f"{{{sizes}}}" if strides == dense_strides(desc.dims) else f"{{{sizes}}},{{{steps}}}"


def _label_letters(layout: Layout) -> str | None:
    """A letter per logical axis: the layout's own if they are DirectML's, in its order."""
    own = "".join(layout.axis_names)
    if own and "".join(c for c in ALPHABET.lower() if c in own) == own:
        return own
    return axes_of_rank(layout.rank) or None


def _read_label(text: str) -> Layout:
    scanner = Scanner(text)
    near = near_match(text, _near_labels())
    for column, letter in enumerate(text):
        if letter not in ALPHABET:
            expected = "expected sizes such as {2,3}, or a label" if column == 0 else "a label"
            scanner.fail(f"{expected} of the axes {' '.join(ALPHABET)}", column, near)
        if letter in text[:column]:
            scanner.fail(f"axis {letter!r} appears twice", column, near)
    if not text:
        scanner.fail("expected sizes such as {2,3}, or a label such as NCHW")
    return planar(text, ALPHABET)


@cache
def _near_labels() -> dict[str, list[str]]:
    return near_index(KNOWN_LABELS)


def _read_sizes(scanner: Scanner) -> Reading:
    named = scanner.take("sizes")
    if named:
        scanner.expect("=")
    scanner.skip_space()
    at = scanner.position
    sizes = scanner.integers("{", "}", "a size")
    if not 1 <= len(sizes) <= MAX_DIMENSIONS:
        scanner.fail(f"got {len(sizes)} sizes, expected 1 to {MAX_DIMENSIONS}", at)
    if 0 in sizes:
        scanner.fail("a size is 0, expected 1 or more", at)
    strides = _read_strides(scanner, named, len(sizes))
    scanner.expect_end()
    try:
        last_element(checked_sizes(sizes), checked_strides(strides, len(sizes)) if strides else None)
    except LayoutcError as error:
        scanner.fail(str(error), at)
    return Reading(Layout.row_major(len(sizes)), sizes, strides)


def _read_strides(scanner: Scanner, named: bool, rank: int) -> tuple[int, ...]:
    scanner.take(",")
    scanner.skip_space()
    if scanner.at_end:
        return ()
    if named:
        scanner.expect("strides")
        scanner.expect("=")
        scanner.skip_space()
    at = scanner.position
    strides = scanner.integers("{", "}", "a stride")
    if len(strides) != rank:
        scanner.fail(f"got {len(strides)} strides, expected {rank}, one per size", at)
    return strides
