"""Where the text of an op stands, for errors about it that are found once it has been read."""

from __future__ import annotations

from xdsl.dialects.builtin import FileLineColLoc, IntAttr, StringAttr
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation
from xdsl.parser import Parser
from xdsl.utils.lexer import Span

from layoutc.walk import parents


def place_of(parser: Parser, start: int) -> FileLineColLoc:
    """The file, line and column of a position in the text that is read."""
    place = Span(start, start, parser.lexer.input).get_location()
    return FileLineColLoc(StringAttr(place.file), IntAttr(place.line), IntAttr(place.col))


def moved_down(place: FileLineColLoc, lines: int) -> FileLineColLoc:
    """A place in a part of a file, which so many lines stand above, as one in the file."""
    return FileLineColLoc(place.filename, IntAttr(place.line.data + lines), place.column)


def with_place(op: Operation, message: str) -> str:
    """A message about an op, behind its place, `pack.mlir:2:24: ...`, or its function, `function 'f': ...`."""
    place = op.location
    if not isinstance(place, FileLineColLoc):
        return f"function {name!r}: {message}" if (name := _function_of(op)) else message
    return f"{place.filename.data}:{place.line.data}:{place.column.data}: {message}"


def _function_of(op: Operation) -> str | None:
    """The name of the function that an op is, or stands in."""
    return next((outer.sym_name.data for outer in (op, *parents(op)) if isinstance(outer, FuncOp)), None)
