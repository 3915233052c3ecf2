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
from layoutc.targets.words.c_vector_types import VectorType as Lanes
from layoutc.walk import operands


def typed(value: SSAValue) -> VectorType[Any]:
    """The type of a value that is a vector."""
    return cast("VectorType[Any]", value.type)


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


def as_lanes(kind: str, value: SSAValue) -> Lanes:
    """The type of as many lanes of another kind (i, u, f) and the same width."""
    return Lanes(kind, width(element_of(value)), lane_count(typed(value)))


def read_as(kind: str, operand: Expression, value: SSAValue) -> Expression:
    """An operand read as such lanes."""
    name = str(as_lanes(kind, value))
    return operand if name == vector_name(typed(value)) else spell_cast(name, operand)


def as_result(found: Expression, lanes: Lanes, site: Site) -> Expression:
    """What has lanes of some type, as what an op gives."""
    return found if str(lanes) == result_name(site) else spell_cast(result_name(site), found)


def check_number(site: Site) -> None:
    """Raises EmissionError unless the first operand of an op has lanes that are numbers."""
    element = element_of(operands(site.op)[0])
    if is_boolean(element) or not (is_float(element) or isinstance(element, IntegerType)):
        raise no_spelling(site.op, f"on {operands(site.op)[0].type}")


def resized_lanes(operand: Expression, source: Lanes, target: Lanes) -> Expression:
    """Lanes of integers as wider or narrower ones."""
    return call(f"resize_{source}_{target}", operand)
