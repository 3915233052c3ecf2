"""
`#layout.conversion`: what a reorder does to the values, as text.

```mlir
#layout.conversion<src_scale = 0.5, dst_scale = [0.1, 0.2] axes [1], dst_zero_point = 3 : s8, sum = 1.0, reciprocal>
```
A parameter whose values are given at run time is `?` here, and the operand that has them in the op.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from xdsl.ir import Data
from xdsl.irdl import irdl_attr_definition
from xdsl.parser import AttrParser
from xdsl.printer import Printer

from layoutc.compensation import Compensation
from layoutc.conversion import PARAMS, Conversion
from layoutc.element_type import ElementType, element_type
from layoutc.errors import LayoutcError
from layoutc.param import Param, stored

Ints = tuple[int, ...]
Value = Callable[[], None]
SUMS = ("s8s8", "asymmetric")
WORDS = (*PARAMS, "sum", "reciprocal", *SUMS)
HEXADECIMAL = re.compile(r"-?\s*0x", re.IGNORECASE)


@irdl_attr_definition
class ConversionAttr(Data[Conversion]):
    """The attributes of a reorder (`layoutc.conversion.Conversion`)."""

    name = "layout.conversion"

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> Conversion:
        def unknown() -> None:
            parser.parse_punctuation("?")

        start = parser.pos
        with parser.in_angle_brackets():
            conversion, words = parse_conversion(parser, unknown, start)
        # The operands of the generic form are in this order, and nothing else says which is which.
        if words != (expected := words_with_memory(conversion)):
            parser.raise_error(f"got {', '.join(words)}, expected the order {', '.join(expected)}", start, parser.pos)
        return conversion

    def print_parameter(self, printer: Printer) -> None:
        unknown = [lambda: printer.print_string("?")] * len(self.data.arguments)
        with printer.in_angle_brackets():
            print_conversion(printer, self.data, unknown)


def words_with_memory(conversion: Conversion) -> list[str]:
    """The words whose values have memory, in the order of a reorder's arguments."""
    sums = conversion.compensation.names if conversion.compensation else ()
    return [*conversion.arguments, *sums]


# --- reading -------------------------------------------------------------------------------------------------------


def parse_conversion(parser: AttrParser, argument: Value, start: int) -> tuple[Conversion, list[str]]:
    """
    The items of a conversion; `argument` reads what stands for values that are given at run time.

    Beside it the words that have memory, as the text has them: those of such values, then those of sums.
    """
    items: dict[str, object] = {}
    while True:
        position = parser.pos
        word = parser.parse_keyword_in(WORDS, ": an attribute of a conversion")
        if word in items:
            parser.raise_error(f"{word} is given twice", position, parser.pos)
        if word == "reciprocal":
            items[word] = True
        else:
            parser.parse_punctuation("=")
            try:
                items[word] = _parse_item(parser, word, argument)
            except LayoutcError as error:
                parser.raise_error(str(error), position, parser.pos)
        if parser.parse_optional_punctuation(",") is None:
            break
    with_memory = [word for word, item in items.items() if isinstance(item, Param) and not item.is_constant]
    sums = {word: items.pop(word) for word in tuple(items) if word in SUMS}
    try:
        found = Conversion(**items, compensation=Compensation(**sums) if sums else None)  # pyright: ignore[reportArgumentType]
    except LayoutcError as error:
        parser.raise_error(str(error), start, parser.pos)
    return found, [*with_memory, *sums]


def _parse_item(parser: AttrParser, word: str, argument: Value) -> object:
    if word == "sum":
        return float(_parse_number(parser))
    return _parse_axes(parser) if word in SUMS else _parse_param(parser, word, argument)


def _parse_param(parser: AttrParser, word: str, argument: Value) -> Param:
    values: Sequence[int | float] | None
    values = parser.parse_optional_comma_separated_list(parser.Delimiter.SQUARE, lambda: _parse_number(parser))
    if values is None:
        single = _parse_optional_number(parser)
        values = None if single is None else [single]
    if values is None:
        argument()
    axes = _parse_axes(parser) if parser.parse_optional_keyword("axes") else ()
    groups = _parse_axes(parser) if parser.parse_optional_keyword("groups") else ()
    type = _default_type(word)
    if parser.parse_optional_punctuation(":") is not None:
        type = element_type(parser.parse_identifier(": an element type"))
    return Param(values, axes, groups, type)


def _parse_number(parser: AttrParser) -> int | float:
    return parser.expect(lambda: _parse_optional_number(parser), "expected a number")


def _parse_optional_number(parser: AttrParser) -> int | float | None:
    """A number in decimal digits: 0x3F800000 would be 1.0 to MLIR where a float is meant, and 1065353216 to xDSL."""
    start = parser.pos
    found = parser.parse_optional_number()
    if found is not None and HEXADECIMAL.match(parser.lexer.input.slice(start, parser.pos)):
        parser.raise_error("expected a number in decimal digits", start, parser.pos)
    return found


def _parse_axes(parser: AttrParser) -> Ints:
    return tuple(
        parser.parse_comma_separated_list(
            parser.Delimiter.SQUARE, lambda: parser.parse_integer(allow_boolean=False, allow_negative=False)
        )
    )


def _default_type(word: str) -> ElementType:
    return element_type("f32" if word.endswith("scale") else "s32")


# --- writing -------------------------------------------------------------------------------------------------------


def print_conversion(printer: Printer, conversion: Conversion, arguments: Sequence[Value]) -> None:
    """The items of a conversion; each of `arguments` prints what stands for values that are given at run time."""
    items: list[Value] = []
    rest = iter(arguments)
    for word, param in conversion.params.items():
        items.append(_param_printer(printer, word, param, next(rest) if not param.is_constant else None))
    if conversion.sum:
        items.append(lambda: printer.print_string(f"sum = {_shortest(conversion.sum, element_type('f32'))}"))
    if conversion.reciprocal:
        items.append(lambda: printer.print_string("reciprocal"))
    if conversion.compensation is not None:
        for word in SUMS:
            if (axes := getattr(conversion.compensation, word)) is not None:
                items.append(_text_printer(printer, f"{word} = {list(axes)}"))
    printer.print_list(items, lambda item: item())


def _text_printer(printer: Printer, text: str) -> Value:
    return lambda: printer.print_string(text)


def _param_printer(printer: Printer, word: str, param: Param, argument: Value | None) -> Value:
    def write() -> None:
        printer.print_string(f"{word} = ")
        if param.values is not None:
            texts = [_shortest(value, param.type) for value in param.values]
            printer.print_string(texts[0] if len(texts) == 1 else f"[{', '.join(texts)}]")
        elif argument is not None:
            argument()
        if param.axes:
            printer.print_string(f" axes {list(param.axes)}")
        if any(group > 1 for group in param.groups):
            printer.print_string(f" groups {list(param.groups)}")
        if param.type != _default_type(word):
            printer.print_string(f" : {param.type}")

    return write


def _shortest(value: float, type: ElementType) -> str:
    """The shortest decimal that the element type holds as this number."""
    if isinstance(value, int):
        return str(value)
    texts = (f"{value:.{digits}g}" for digits in range(1, 18))
    text = next((text for text in texts if _is_stored(float(text), value, type)), repr(value))
    return text.replace("e", ".0e") if "e" in text and "." not in text else text


def _is_stored(rounded: float, value: float, type: ElementType) -> bool:
    """Whether the type holds a number of few digits, if at all, as the value."""
    try:
        return stored(rounded, type) == value
    except LayoutcError:
        return False
