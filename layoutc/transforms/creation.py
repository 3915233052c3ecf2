"""
How the ops of loop nests come to be: without the questions that xDSL asks of all ops.

Constructors ask whether an op is right, at ten times the price of what is here, and it is right by construction;
`create` sets what only ops with successors have, and looks for defaults of properties.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeVar

from xdsl.builder import Builder
from xdsl.dialects.builtin import UNKNOWN_LOC
from xdsl.ir import Attribute, Operation, OpResult, SSAValue, SSAValues

Kind = TypeVar("Kind", bound=Operation)

NOTHING: Mapping[str, Attribute] = {}


def created(
    kind: type[Kind],
    operands: Sequence[SSAValue],
    type: Attribute | None = None,
    properties: Mapping[str, Attribute] = NOTHING,
) -> Kind:
    """An op without regions, and with one result of a type, if any. It has the properties that are given, no others."""
    op = kind.__new__(kind)
    op.operands = operands
    op.results = SSAValues(() if type is None else (OpResult(type, op, 0),))
    op.properties = {**properties}
    op.attributes = {}
    op.location = UNKNOWN_LOC
    op.regions = ()
    return op


def inserted(builder: Builder, op: Operation) -> SSAValue:
    """The result of an op that is put where a builder stands, as `Builder.insert` puts it, in half the time."""
    place = builder.insertion_point
    if place.insert_before is None:
        place.block.add_op(op)
    else:
        place.block.insert_op_before(op, place.insert_before)
    return op.results[0]
