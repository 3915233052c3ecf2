"""How C spells the ops of `vector` on values: GNU vectors of one axis, whose bits move as they are."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, cast

from xdsl.dialects import arith, vector
from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, IntegerType
from xdsl.ir import Attribute, Operation, SSAValue

from layoutc.targets.errors import no_spelling
from layoutc.targets.patterns.lane_lists import LANES, LaneList, is_listed_as_floats
from layoutc.targets.spelling.c_context import Site, Spelling
from layoutc.targets.spelling.c_lane_types import typed
from layoutc.targets.words.c_expressions import (
    ATOM,
    Expression,
    call,
    element,
    integer,
    literal,
)
from layoutc.targets.words.c_expressions import cast as spell_cast
from layoutc.targets.words.c_joined import is_joining
from layoutc.targets.words.c_types import (
    INDEX,
    is_boolean,
    is_vector,
    type_name,
    vector_name,
)
from layoutc.targets.words.c_vector_types import VectorType
from layoutc.targets.words.vectors import lane_type, lanes_in
from layoutc.walk import operands

if TYPE_CHECKING:
    from layoutc.targets.functions.c_function import FunctionPrinter


def _spell_shuffle(site: Site) -> Expression:
    op = cast("vector.ShuffleOp", site.op)
    types = [operand.type for operand in operands(op)]
    if types[0] is not types[1] and types[0] != types[1] and not is_joining(op):
        raise no_spelling(op, f"of {types[0]} and {types[1]}, expected vectors of one type")
    first, second = site.operands
    return Expression(site.shuffles.call(op, first.text, second.text), reads=first.reads or second.reads)


def _spell_bitcast(site: Site) -> Expression:
    source, target = (vector_name(typed(value)) for value in (operands(site.op)[0], site.op.results[0]))
    return site.operands[0] if source == target else spell_cast(target, site.operands[0])


def _spell_broadcast(site: Site) -> Expression:
    source, target = site.op.operands[0].type, typed(site.op.results[0])
    if source == target:
        return site.operands[0]
    if is_vector(source):
        raise no_spelling(site.op, f"from {source} to {target}")
    return call(f"broadcast_{vector_name(target)}", *site.operands)


def _spell_extract(site: Site) -> Expression:
    op = site.op
    assert isinstance(op, vector.ExtractOp)
    return element(Expression(site.operands[0].at_least(ATOM)), _position(op))


def _position(op: vector.ExtractOp) -> Expression:
    """The lane that is meant."""
    if len(positions := op.static_position.get_values()) != 1 or op.dynamic_position:
        raise no_spelling(op, "without one constant position")
    return integer(positions[0], INDEX)


VECTOR_SPELLINGS: dict[type[Operation], Spelling] = {
    vector.ShuffleOp: _spell_shuffle,
    vector.BitcastOp: _spell_bitcast,
    vector.BroadcastOp: _spell_broadcast,
    vector.ExtractOp: _spell_extract,
}
"""the spelling of each op on vectors without side effects"""


def print_constant(printer: FunctionPrinter, op: arith.ConstantOp) -> None:
    """A constant vector: zeros, and booleans, which may be masks, where they are used, a variable for others."""
    assert isinstance(op.value, DenseIntOrFPElementsAttr)
    type, lanes = typed(op.results[0]), _lanes(op.value)
    # All zero bits; -0.0 has another.
    if set(lanes) <= {"0", "0.0f", "0.0"}:
        printer.values[op.result] = Expression(f"({vector_name(type)}){{0}}")
    elif is_boolean(type.element_type):
        printer.values[op.result] = Expression(f"(({vector_name(type)}){{{', '.join(lanes)}}})")
    else:
        printer.declare(op.result, f"{{{', '.join(lanes)}}}")


def _lanes(values: DenseIntOrFPElementsAttr) -> list[str]:
    type = cast(Attribute, values.get_element_type())
    return [literal(value, type).text for value in cast("Sequence[int | float]", values.get_values())]


def _type_of_its_cast(value: SSAValue) -> Attribute | None:
    """
    The type that the one use of a value gives its lanes, if it changes but their sign.

    gcc 12 breaks down where a part is taken of a list of lanes that was cast.
    """
    user = value.get_user_of_unique_use()
    if not isinstance(user, vector.BitcastOp):
        return None
    lanes = [lane_type(each.type) for each in (value, user.result)]
    are_integers = all(isinstance(lane, IntegerType) for lane in lanes)
    return user.result.type if are_integers and lanes_in(user.result) == lanes_in(value) else None


def _list(type: VectorType, lanes: Sequence[str]) -> str:
    """A vector of these lanes."""
    if is_listed_as_floats(type):
        return call(f"{LANES}_{type}", *map(Expression, lanes)).text
    return f"{{{', '.join(lanes)}}}"


def print_insert(printer: FunctionPrinter, op: vector.InsertOp) -> None:
    """A list of lanes, or a copy of a vector some of whose lanes are then set."""
    if not isinstance(found := printer.patterns.get(id(op)), LaneList):
        raise no_spelling(op, "without one constant position")
    lanes = {number: printer.take(value).text for number, value in found.lanes.items()}
    if found.others is None:
        type = _type_of_its_cast(op.result) or typed(op.result)
        named = VectorType.named(type_name(type))
        listed = [lanes.get(number, "0") for number in range(named.lanes)]
        printer.declare(op.result, _list(named, listed), cast=type)
        return
    name = printer.declare(op.result, printer.take(found.others).text, qualifier="")
    for number, text in lanes.items():
        printer.line(f"{name}[{number}] = {text};")
