"""The plan in the text of a reorder: its lines, each with where it stands, so that errors are at their place."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from xdsl.parser import Parser

from layoutc.dialects.attributes import end_of_text
from layoutc.errors import LayoutcError, PlanError

if TYPE_CHECKING:
    from layoutc.dialects.ops import ReorderOp

Line = tuple[int, str, int]
"""a text, with where its string starts and ends"""


def parse_plan_lines(parser: Parser) -> list[Line]:
    """The lines of a plan, with where they start and end; an error of their text is at its place."""
    if parser.parse_optional_keyword("plan") is None:
        return []
    from layoutc.planning.plan_text import parse_plan

    first = parser.pos
    lines = parser.parse_comma_separated_list(parser.Delimiter.SQUARE, lambda: _parse_line(parser))
    try:
        parse_plan([text for _, text, _ in lines])
    except PlanError as error:
        # Of a plan without lines its brackets are at fault.
        start, _, end = lines[error.line - 1] if lines else (first, "", first + 2)
        if error.column is not None:
            start = min(start + 1 + error.column, end - 1)
            end = start + 1
        parser.raise_error(error.message, start, end)
    return list(lines)


def check_plan_lines(parser: Parser, op: ReorderOp, lines: Sequence[Line]) -> None:
    """Raises ParseError for a plan that is not one of its reorder, at the line at fault, or the last."""
    from layoutc.transforms.plan_reorders import plan_of

    try:
        plan_of(op)
    except PlanError as error:
        start, _, end = lines[min(error.line, len(lines)) - 1]
        parser.raise_error(error.message, start, end)
    except LayoutcError as error:
        parser.raise_error(str(error), lines[0][0], lines[-1][2])


def _parse_line(parser: Parser) -> Line:
    """A string, with where it starts and ends."""
    start = parser.pos
    text = parser.parse_str_literal()
    return start, text, end_of_text(parser, start)
