"""Memref types, and the attributes that are their layouts, as texts outside of any module: what they say."""

from __future__ import annotations

import re
from collections.abc import Callable
from contextlib import suppress
from functools import cache

from xdsl.context import Context
from xdsl.dialects.builtin import Builtin
from xdsl.ir import Attribute
from xdsl.parser import Parser
from xdsl.utils.exceptions import ParseError

from layoutc.affine_digits import parser_fault
from layoutc.descriptor import MemoryDesc
from layoutc.dialects.attributes import LayoutAttr
from layoutc.dialects.layout import Layout
from layoutc.dialects.memory import is_memref, memory_desc
from layoutc.element_type import element_type
from layoutc.errors import LayoutcError
from layoutc.notations.reading import Reading

NO_ELEMENT_TYPE = "Expected shape type"
"""what xDSL's parser says of a memref without one"""


class TypeTextError(LayoutcError):
    """A text that is no type; `column` is the place of the fault."""

    def __init__(self, message: str, column: int):
        self.column = column
        super().__init__(message)


def read_memref(text: str) -> MemoryDesc:
    """
    The memory descriptor of a memref type, `memref<2x17xf32, #layout.tag<"aB8b">>`.

    Raises TypeTextError for a text that is no type, LayoutcError for one that describes no memory.
    """
    type = _parsed(text, Parser.parse_type, "a type")
    if not is_memref(type):
        raise TypeTextError("expected a memref type", 0)
    return memory_desc(type)


def read_layout(text: str) -> Reading:
    """
    What a layout attribute says, `#layout.tag<"aB8b", offset = 3>`, without the shape of a memref around it.

    Raises TypeTextError for a text that is none, LayoutcError for one that says something twice.
    """
    attribute = _parsed(text, Parser.parse_attribute, "an attribute")
    if not isinstance(attribute, LayoutAttr):
        raise TypeTextError("expected #layout.tag<...> or #layout.map<...>", 0)
    return attribute.reading


def _parsed(text: str, parse: Callable[[Parser], Attribute], what: str) -> Attribute:
    try:
        parser = Parser(_context(), text)
        found = parse(parser)
        rest = parser._current_token  # pyright: ignore[reportPrivateUsage] no public way to ask for the end
        if rest.kind.name != "EOF":
            raise ParseError(rest.span, f"expected the end of {what}")
        return found
    except ParseError as error:
        column = min(error.span.start, len(text))
        message = error.msg.splitlines()[0].removesuffix(".")
        if message == NO_ELEMENT_TYPE:
            message = _no_element_type(text[column:])
        raise TypeTextError(message[:1].lower() + message[1:], column) from None
    except LayoutcError:
        raise
    except Exception as error:
        raise TypeTextError(parser_fault(error) or f"not read as {what}: {error}", 0) from None


def _no_element_type(rest: str) -> str:
    """What is wrong with a text where the element type of a memref is expected: it may be another system's word."""
    word = re.split(r"\W", rest, maxsplit=1)[0][:40]
    meant = ""
    with suppress(LayoutcError):
        meant = f"; did you mean {element_type(word).mlir}"
    return f"expected an element type of MLIR, as f32 or i8, got {repr(word) if word else 'none'}{meant}"


@cache
def _context() -> Context:
    context = Context()
    context.load_dialect(Builtin)
    context.load_dialect(Layout)
    return context
