"""The ops in a piece of IR and around an op, and what is asked of ops often."""

# pyright: reportPrivateUsage=false

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, TypeVar, cast

from xdsl.dialects import arith
from xdsl.dialects.builtin import IntegerAttr
from xdsl.ir import Operation, SSAValue

Kind = TypeVar("Kind", bound=Operation)


def ops_of(op: Operation) -> list[Operation]:
    """
    An op and all that are inside of it, in the order of the text, as `op.walk()` has them.

    Its generators, one within the other, hand each op on as often as it is deep, which takes four times as long.
    """
    found = [op]
    for region in op.regions:
        for block in region.blocks:
            inner = block.first_op
            while inner is not None:
                if inner.regions:
                    found += ops_of(inner)
                else:
                    found.append(inner)
                inner = inner.next_op
    return found


def parents(op: Operation) -> Iterator[Operation]:
    """The ops around an op, from the inside out."""
    while (parent := op.parent_op()) is not None:
        yield parent
        op = parent


def of_kind(ops: Iterable[Operation], kind: type[Kind]) -> list[Kind]:
    """Those of some ops that are of one class; `isinstance` asks the metaclass, which takes ten times as long."""
    return [cast("Kind", op) for op in ops if op.__class__ is kind]


def name_of(op: Operation) -> str:
    """The name of an op; one of an unknown dialect carries its own as an attribute."""
    return getattr(getattr(op, "op_name", None), "data", op.name)


def operands(op: Operation) -> Sequence[SSAValue]:
    """The operands of an op; `op.operands` makes a view at each question, which takes longer than to look at one."""
    return op._operands


def relation(op: Operation) -> str:
    """The word that a comparison is by: `olt`; `op.predicate` looks its number up by name each time."""
    words = arith.CMPF_COMPARISON_OPERATIONS if op.__class__ is arith.CmpfOp else arith.CMPI_COMPARISON_OPERATIONS
    return words[cast("IntegerAttr[Any]", op.properties["predicate"]).value.data]
