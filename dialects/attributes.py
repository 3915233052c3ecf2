"""`#layout.tag` and `#layout.map`: a memory layout by a notation's name, and as an affine map of digits."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING, Self

from xdsl.dialects.builtin import AffineMapAttr, ArrayAttr, IntAttr, MemRefLayoutAttr, StringAttr
from xdsl.ir import Attribute, ParametrizedAttribute
from xdsl.ir.affine import AffineMap
from xdsl.irdl import irdl_attr_definition
from xdsl.parser import AttrParser
from xdsl.printer import Printer
from xdsl.utils.exceptions import ParseError, VerifyException

from layoutc import notations
from layoutc.affine_digits import parser_fault, physical_map, read_map
from layoutc.affine_text import map_text
from layoutc.descriptor import MemoryDesc
from layoutc.element_type import ElementType
from layoutc.errors import LayoutcError, NotationError
from layoutc.notations.reading import NO_OPTIONS, Options, Reading

Ints = tuple[int, ...]


OPTIONS = tuple(Options.__dataclass_fields__)


def _parse_options(parser: AttrParser) -> Options:
    """What may follow the name or the map: `strides = [...], offset = 3, low = [...], high = [...], align = [...]`."""
    values: dict[str, Ints | int] = {}
    while parser.parse_optional_punctuation(",") is not None:
        position = parser.pos
        name = parser.parse_keyword_in(OPTIONS, ": an option of a layout")
        if name in values:
            parser.raise_error(f"option {name} is given twice", position, end_of_text(parser, position))
        parser.parse_punctuation("=")
        values[name] = _parse_size(parser) if name == "offset" else _parse_sizes(parser)
    return Options(**values)  # pyright: ignore[reportArgumentType]


def _print_options(printer: Printer, options: Options) -> None:
    for name in OPTIONS:
        value: Ints | int = getattr(options, name)
        if value not in ((), 0):
            printer.print_string(f", {name} = {value if isinstance(value, int) else list(value)}")


def end_of_text(parser: AttrParser, start: int) -> int:
    """Where the text from `start` up to the next token ends, without the blanks and comments before that."""
    content = parser.lexer.input.content
    assert isinstance(content, str)
    text = re.sub(r"(\s|//[^\n]*(?=\n))*\Z", "", content[start : parser.pos])
    return start + max(len(text), 1)


def _parse_size(parser: AttrParser) -> int:
    return parser.parse_integer(allow_boolean=False, allow_negative=False, context_msg=": a size in elements")


def _parse_sizes(parser: AttrParser) -> Ints:
    return tuple(parser.parse_comma_separated_list(parser.Delimiter.SQUARE, lambda: _parse_size(parser)))


class LayoutAttr(MemRefLayoutAttr, ParametrizedAttribute, ABC):
    """What both attributes share: options, and the memory descriptor that they give for a shape."""

    if TYPE_CHECKING:
        # A parameter of each attribute itself: xDSL leaves inherited ones out of equality.
        options: ArrayAttr[ArrayAttr[IntAttr] | IntAttr]

    @property
    def option_values(self) -> Options:
        """The options as plain tuples."""
        values = (tuple(v.data for v in o) if isinstance(o, ArrayAttr) else o.data for o in self.options)
        return Options(*values)  # pyright: ignore[reportArgumentType]

    @property
    @abstractmethod
    def reading(self) -> Reading:
        """What the attribute says where no memref has a shape; raises LayoutcError if it says something twice."""

    @abstractmethod
    def descriptor(self, shape: Sequence[int], element_type: ElementType) -> MemoryDesc:
        """The memory descriptor of a memref or tensor of this shape; raises LayoutcError if it does not fit."""


def _encode(options: Options) -> ArrayAttr[ArrayAttr[IntAttr] | IntAttr]:
    values = (getattr(options, name) for name in OPTIONS)
    return ArrayAttr(IntAttr(v) if isinstance(v, int) else ArrayAttr(map(IntAttr, v)) for v in values)


@irdl_attr_definition
class TagAttr(LayoutAttr):
    """
    A layout by its name in some notation: `#layout.tag<"nChw8c">`, `#layout.tag<"openvino:bfyx">`.

    A text that no notation reads is an error: at its column where it is parsed, a VerifyException elsewhere.
    """

    name = "layout.tag"
    tag: StringAttr
    options: ArrayAttr[ArrayAttr[IntAttr] | IntAttr]

    def __init__(self, tag: str, options: Options = NO_OPTIONS):
        super().__init__(StringAttr(tag), _encode(options))

    def verify(self) -> None:
        try:
            notations.read(self.tag.data)
        except NotationError as error:
            raise VerifyException(error.line) from None
        except LayoutcError as error:
            raise VerifyException(error.message) from None

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> list[Attribute]:
        with parser.in_angle_brackets():
            start = parser.pos
            tag = parser.parse_str_literal(": a layout's name")
            try:
                notations.read(tag)
            except NotationError as error:
                column = start + 1 + error.column
                parser.raise_error(error.message, column, column + 1)
            except LayoutcError as error:
                parser.raise_error(str(error), start, end_of_text(parser, start))
            return [StringAttr(tag), _encode(_parse_options(parser))]

    def print_parameters(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            printer.print_string_literal(self.tag.data)
            _print_options(printer, self.option_values)

    @property
    def reading(self) -> Reading:
        return notations.read(self.tag.data).given(self.option_values)

    def descriptor(self, shape: Sequence[int], element_type: ElementType) -> MemoryDesc:
        return self.reading.bind(shape, element_type)

    def get_affine_map(self) -> AffineMap:
        """The map to a physical index, one result per digit; flattened axes need a shape and are refused."""
        layout = notations.parse(self.tag.data)
        if any(len(group.axes) > 1 for group in layout.groups):
            raise LayoutcError(f"{self.tag.data} flattens axes: its map depends on the shape")
        return physical_map(layout, (1,) * layout.rank)


@irdl_attr_definition
class MapAttr(LayoutAttr):
    """
    A layout as the affine map from a logical index to a physical index, slowest axis first.

    Each result is a digit: `d1`, `d1 floordiv 8`, `d1 mod 8`, `(d1 floordiv 4) mod 4`, or one of flattened
    axes `(d2 * 5 + d3) floordiv 4`. A map that does not read as digits is refused with the reason.
    """

    name = "layout.map"
    map: AffineMapAttr
    options: ArrayAttr[ArrayAttr[IntAttr] | IntAttr]

    def __init__(self, map: AffineMap, options: Options = NO_OPTIONS):
        super().__init__(AffineMapAttr(map), _encode(options))

    @classmethod
    def of(cls, desc: MemoryDesc) -> Self:
        """The attribute of a descriptor; its shape and element type are the memref's."""
        options = Options(desc.own_strides, desc.base_offset, desc.low, desc.high, desc.layout.align)
        return cls(physical_map(desc.layout, desc.extents), options)

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> list[Attribute]:
        with parser.in_angle_brackets():
            start = parser.pos
            try:
                map = parser.parse_affine_map()
                read_map(map, None)
            except ParseError:
                raise
            except LayoutcError as error:
                parser.raise_error(error.message, start, end_of_text(parser, start))
            except Exception as error:
                message = parser_fault(error)
                if message is None:
                    raise
                parser.raise_error(message, start, start + 1)
            return [AffineMapAttr(map), _encode(_parse_options(parser))]

    def print_parameters(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            printer.print_string(map_text(self.map.data))
            _print_options(printer, self.option_values)

    @property
    def reading(self) -> Reading:
        options = self.option_values
        return read_map(self.map.data, None, physical=bool(options.strides)).given(options)

    def descriptor(self, shape: Sequence[int], element_type: ElementType) -> MemoryDesc:
        return map_descriptor(self.map.data, shape, element_type, self.option_values)

    def get_affine_map(self) -> AffineMap:
        """The map to a physical index, one result per digit (one result in all if the map is an offset map)."""
        return self.map.data


def map_descriptor(
    map: AffineMap, shape: Sequence[int], element_type: ElementType, options: Options = NO_OPTIONS
) -> MemoryDesc:
    """The memory descriptor that an affine map gives a memref of this shape; raises LayoutcError with the reason."""
    reading = read_map(map, shape, physical=bool(options.strides))
    return reading.bind(shape, element_type, options)
