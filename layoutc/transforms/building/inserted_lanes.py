"""
A register put together from pieces of memory: the first one everywhere, and each other one inserted at its lanes.

    %r = vector.shuffle %a, %a [0, 1, 0, 1, 0, 1, 0, 1] {layout.inserted} : vector<2xi64>, vector<2xi64>
    %both = vector.shuffle %r, %b [0, 1, 8, 9, 4, 5, 6, 7] {layout.inserted} : vector<8xi64>, vector<2xi64>
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from xdsl.builder import Builder
from xdsl.dialects.builtin import UnitAttr
from xdsl.ir import Attribute, SSAValue

from layoutc.transforms.building.creation import inserted
from layoutc.transforms.building.vector_ops import INSERTED, shuffle

UNIT = UnitAttr()


def put_together(builder: Builder, pieces: Sequence[SSAValue], lanes: int, element: Attribute) -> SSAValue:
    """So many lanes of these elements; where there are too few pieces the first one lies again."""
    type: Any = pieces[0].type
    (piece,) = type.get_shape()
    value = _inserted(builder, pieces[0], pieces[0], [*range(piece)] * (lanes // piece), element)
    for number, other in enumerate(pieces[1:], 1):
        mask = list(range(lanes))
        mask[number * piece : (number + 1) * piece] = range(lanes, lanes + piece)
        value = _inserted(builder, value, other, mask, element)
    return value


def _inserted(builder: Builder, a: SSAValue, b: SSAValue, mask: Sequence[int], element: Attribute) -> SSAValue:
    op = shuffle(a, b, mask, element, "r")
    op.attributes[INSERTED] = UNIT
    return inserted(builder, op)
