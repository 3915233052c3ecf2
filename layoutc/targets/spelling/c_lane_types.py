"""Vectors as C names them, and operands read as lanes of another kind."""

from __future__ import annotations

from typing import Any, cast

from xdsl.dialects.builtin import IntegerType, VectorType
from xdsl.ir import Attribute, SSAValue

from layoutc.targets.errors import no_spelling
from layoutc.targets.spelling.c_context import Site
from layoutc.targets.words.c_expressions import Expression, call
from layoutc.targets.words.c_expressions import cast as spell_cast
from layoutc.targets.words.c_types import is_boolean, is_float, lane_count, vector_name, width
from layoutc.walk import operands


def typed(value: SSAValue) -> VectorType[Any]:
    """The type of a value that is a vector."""
    return cast("VectorType[Any]", value.type)


def lane_name(kind: str, bits: int, lanes: int) -> str:
    """`i32x8`: lanes of a kind (i, u, f)."""
    return f"{kind}{bits}x{lanes}"


def lanes_of(site: Site) -> int:
    """How many lanes the result of an op has."""
    return lane_count(typed(site.op.results[0]))


def element_of(value: SSAValue) -> Attribute:
    """The type of the lanes of a value."""
    return cast(Attribute, typed(value).element_type)


def result_name(site: Site) -> str:
    """The C type of the result of an op."""
    return vector_name(typed(site.op.results[0]))


def all_read_as(kind: str, site: Site) -> list[Expression]:
    """The operands of an op read as lanes of another kind."""
    return [read_as(kind, *each) for each in zip(site.operands, operands(site.op), strict=True)]


def read_as(kind: str, operand: Expression, value: SSAValue) -> Expression:
    """An operand read as lanes of another kind (i, u, f) and the same width."""
    name = lane_name(kind, width(element_of(value)), lane_count(typed(value)))
    return operand if name == vector_name(typed(value)) else spell_cast(name, operand)


def check_number(site: Site) -> None:
    """Raises EmissionError unless the first operand of an op has lanes that are numbers."""
    element = element_of(operands(site.op)[0])
    if is_boolean(element) or not (is_float(element) or isinstance(element, IntegerType)):
        raise no_spelling(site.op, f"on {operands(site.op)[0].type}")


def resized_lanes(operand: Expression, source: str, target: str) -> Expression:
    """Lanes of integers as wider or narrower ones."""
    return call(f"resize_{source}_{target}", operand)
