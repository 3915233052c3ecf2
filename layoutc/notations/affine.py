"""
MLIR's layouts: `affine_map<(d0, d1) -> (d0, d1 floordiv 8, d1 mod 8)>`, the same without the wrapping and with any axis
names, and `strided<[5, 1], offset: 3>`.

Several results are physical axes, slowest first; one result is an offset in elements.
"""

from __future__ import annotations

import re
from dataclasses import replace
from math import prod

from layoutc.affine_text import digit_texts, offset_text, strided_sum
from layoutc.checks import as_annotated
from layoutc.descriptor import MemoryDesc
from layoutc.errors import LayoutcError, NotationError
from layoutc.layout import AxisGroup, Layout, generic_names
from layoutc.notations.reading import Reading, planar_order
from layoutc.notations.scanner import MeantError, Scanner

NAME = "affine"
MAX_LENGTH = 4_000

_STARTS = ("affine_map<", "strided<", "(")
_DIMS = re.compile(r"\s*\(([^()]*)\)")
_DEFAULT_NAME = re.compile(r"d[0-9]+")


@as_annotated
def read(text: str) -> Reading:
    """What a map or strides say. Raises NotationError, with the column, for texts that do not read as digits."""
    scanner = Scanner(text)
    scanner.skip_space()
    scanner.is_meant = text.startswith(_STARTS, scanner.position)
    if not scanner.is_meant:
        scanner.fail("expected affine_map<(d0, ...) -> (...)> or strided<[...]>")
    if len(text) > MAX_LENGTH:
        scanner.fail(f"a map has at most {MAX_LENGTH} characters, got {len(text)}")
    if '"' in text:
        # xDSL's lexer takes time exponential in the length of a string that is not closed.
        scanner.fail("a map has no quotes", text.index('"'))
    if scanner.take("strided<"):
        return _read_strided(scanner)
    if scanner.take("affine_map<"):
        closing = text.rfind(">")
        if closing < scanner.position or text[closing - 1 : closing] == "-" or text[closing + 1 :].strip():
            scanner.fail("expected '>' at the end", len(text))
        return _read_map(text, scanner.position, closing)
    return _read_map(text, 0, len(text))


@as_annotated
def parse(text: str) -> Layout:
    """The layout of a map with several results."""
    return read(text).layout_alone(text)


@as_annotated
def format(layout: Layout) -> str:
    """The map to the physical index in MLIR's words; LayoutcError for alignment, and flattened axes without dims."""
    if layout.align:
        raise LayoutcError(f"an affine map has no alignment, got {layout.align}")
    if any(len(digit.axes) > 1 for digit in layout.digits):
        raise LayoutcError(f"an affine map of flattened axes needs dims, got {layout}")
    if len(layout.digits) == 1 and planar_order(layout) is None:
        raise LayoutcError(f"an affine map with one result is an offset, got {layout}")
    return f"affine_map<{replace(layout, axis_names=())}>"


@as_annotated
def format_desc(desc: MemoryDesc) -> str:
    """
    The map from a logical index to an offset in elements, one result; where that leaves out block padding, as of a
    block that no index leaves, the map to the physical index, or where this has no strides an offset of all digits.

    LayoutcError for a border, and padding by alignment.
    """
    if desc.low or desc.high:
        raise LayoutcError(f"an affine map has no border, got {desc}")
    return f"affine_map<({', '.join(generic_names(desc.rank))}) -> ({_results(desc)})>"


def _results(desc: MemoryDesc) -> str:
    if all(_is_padded_alike(desc, group) for group in desc.layout.groups):
        return offset_text(desc, generic_names(desc.rank))
    if replace(desc.layout, align=()).physical_shape(desc.extents) != desc.physical_shape:
        raise LayoutcError(f"an affine map has no alignment, got {desc.layout.align}")
    if desc.is_dense and len(desc.layout.digits) > 1:
        return ", ".join(map(str, digit_texts(desc)))
    return strided_sum(desc)


def _is_padded_alike(desc: MemoryDesc, group: AxisGroup) -> bool:
    """Whether the digits that an offset map has of a group pad it as all of them do."""
    extent = prod(desc.extents[axis] for axis in group.axes)
    padded, block = desc.layout.padded(group, extent), 1
    for position in group.positions:
        digit = desc.layout.digits[position]
        if desc.physical_shape[position] > 1 and desc.strides[position]:
            top = digit.divisor * (digit.modulus or padded)
            block = max(block, top if top < padded else digit.divisor)
    return -(-extent // block) * block == padded


def _read_map(text: str, start: int, stop: int) -> Reading:
    from layoutc.affine_digits import MapError, parse_map, read_map

    try:
        names = _axis_names(text, start)
        return read_map(parse_map(text, start, stop), None, names)
    except NotationError as error:
        raise MeantError(text, error.column, error.message) from None
    except MapError as error:
        raise MeantError(text, _result_column(text[:stop], error.result), str(error)) from None


def _axis_names(text: str, start: int) -> tuple[str, ...]:
    """The names between the first parentheses; none if they are d0, d1, ..."""
    found = _DIMS.match(text, start)
    names = [name.strip() for name in found[1].split(",")] if found else []
    for number, name in enumerate(names):
        if name and name in names[:number]:
            at = start + [found.start() for found in re.finditer(r"[^\s(,)]+", text[start:])][number]
            raise NotationError(text, at, f"axis {name!r} appears twice")
    if all(name and not _DEFAULT_NAME.fullmatch(name) for name in names):
        return tuple(names)
    return ()


def _result_column(text: str, result: int) -> int:
    """The column at which a result begins."""
    column = text.find("(", text.find("->")) + 1
    depth = 0
    while result and column < len(text):
        depth += {"(": 1, ")": -1}.get(text[column], 0)
        result -= text[column] == "," and depth == 0
        column += 1
    return column + len(text[column:]) - len(text[column:].lstrip())


def _read_strided(scanner: Scanner) -> Reading:
    scanner.skip_space()
    at = scanner.position
    dynamic = scanner.text.find("?", at)
    if dynamic >= 0:
        scanner.fail("a dynamic stride or offset has no value, expected a number", dynamic)
    strides = scanner.integers("[", "]", "a stride of 0 or more")
    offset = 0
    if scanner.take(","):
        scanner.expect("offset")
        scanner.expect(":")
        offset = scanner.integer("an offset of 0 or more")
    scanner.expect(">")
    scanner.expect_end()
    try:
        return Reading(Layout.row_major(len(strides)), None, strides, offset)
    except LayoutcError as error:
        scanner.fail(str(error), at)
