"""
How the ops of loop nests come to be: without the questions that xDSL asks of all ops.

Constructors ask whether an op is right, at ten times the price of what is here, and it is right by construction;
`create` sets what only ops with successors have, and looks for defaults of properties. A setter first takes back what
was set before, and inserting goes up to the module, lest an op come to stand inside of itself: nothing was set before,
and a new op without regions holds none. So xDSL's own fields are set here, and nowhere else.
"""
# pyright: reportPrivateUsage=false

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeVar

from xdsl.builder import Builder
from xdsl.dialects.builtin import UNKNOWN_LOC
from xdsl.ir import Attribute, Block, Operation, OpResult, SSAValue, SSAValues, Use

Kind = TypeVar("Kind", bound=Operation)

NOTHING: Mapping[str, Attribute] = {}


def created(
    kind: type[Kind],
    operands: Sequence[SSAValue],
    type: Attribute | None = None,
    properties: Mapping[str, Attribute] = NOTHING,
    name: str | None = None,
) -> Kind:
    """
    An op without regions, and with one result of a type, if any. It has the properties that are given, no others.

    `name` is the result's, a word without a number behind it.
    """
    op = kind.__new__(kind)
    op._operands = SSAValues(operands)
    uses: list[Use] = []
    for number, operand in enumerate(operands):
        first = operand.first_use
        operand.first_use = use = Use(op, number, None, first)
        if first is not None:
            first._prev_use = use
        uses.append(use)
    op._operand_uses = tuple(uses)
    if type is not None:
        result = OpResult(type, op, 0)
        result._name = name
        op.results = SSAValues((result,))
    op.properties = {**properties}
    op.attributes = {}
    op.location = UNKNOWN_LOC
    return op


def give_name(value: SSAValue, name: str | None) -> None:
    """Names a value, of which a few words are asked for by the hundred."""
    if name not in _NAMES:
        value.name_hint = name
        _NAMES[name] = value.name_hint
    value._name = _NAMES[name]


_NAMES: dict[str | None, str | None] = {None: None}
"""what is left of a name without a number behind it"""


def inserted(builder: Builder, op: Operation) -> SSAValue:
    """The result of an op without regions that is put where a builder stands."""
    insert(builder, op)
    (result,) = op.results
    return result


def insert(builder: Builder, op: Operation) -> None:
    """Puts a new op without regions where a builder stands, as `Builder.insert` does."""
    place = builder.insertion_point
    put(op, place.block, place.insert_before)


def put(op: Operation, block: Block, behind: Operation | None) -> None:
    """Puts a new op without regions into a block, ahead of another one, or at the end."""
    ahead = block._last_op if behind is None else behind._prev_op
    op.parent, op._prev_op, op._next_op = block, ahead, behind
    if ahead is None:
        block._first_op = op
    else:
        ahead._next_op = op
    if behind is None:
        block._last_op = op
    else:
        behind._prev_op = op
