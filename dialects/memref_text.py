"""Memref types as texts outside of any module: what they say about memory."""

from __future__ import annotations

import re
from contextlib import suppress
from functools import cache

from xdsl.context import Context
from xdsl.dialects.builtin import Builtin
from xdsl.parser import Parser
from xdsl.utils.exceptions import ParseError

from layoutc.affine_digits import parser_fault
from layoutc.descriptor import MemoryDesc
from layoutc.dialects.layout import Layout
from layoutc.dialects.memory import is_memref, memory_desc
from layoutc.element_type import element_type
from layoutc.errors import LayoutcError

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
    try:
        parser = Parser(_context(), text)
        type = parser.parse_type()
        rest = parser._current_token  # pyright: ignore[reportPrivateUsage] no public way to ask for the end
        if rest.kind.name != "EOF":
            raise ParseError(rest.span, "expected the end of the type")
    except ParseError as error:
        column = min(error.span.start, len(text))
        message = error.msg.splitlines()[0].removesuffix(".")
        if message == NO_ELEMENT_TYPE:
            message = _no_element_type(text[column:])
        raise TypeTextError(message[:1].lower() + message[1:], column) from None
    except LayoutcError:
        raise
    except Exception as error:
        raise TypeTextError(parser_fault(error) or f"not read as a type: {error}", 0) from None
    if not is_memref(type):
        raise TypeTextError("expected a memref type", 0)
    return memory_desc(type)


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
