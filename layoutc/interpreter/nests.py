"""Which loop nests may run at once: where it cannot be told from running one iteration after another."""

from __future__ import annotations

from collections.abc import Callable, Set
from dataclasses import dataclass

import numpy as np
from xdsl.dialects import arith, memref, scf
from xdsl.dialects.builtin import IntegerAttr
from xdsl.ir import Operation, SSAValue

from layoutc.interpreter.memory import Buffer, MemRef

ACCESSES = (memref.LoadOp, memref.StoreOp)
BULK_POINTS = 1 << 20
"""iterations that run at once at most, so that their values stay within some 100 MB"""

ValueOf = Callable[[SSAValue], object]


@dataclass(frozen=True, eq=False)
class Nest:
    """A loop of pure ops, loads, stores and such loops, all bounds and memrefs known before it starts."""

    op: scf.ForOp
    depth: int
    accesses: tuple[memref.LoadOp | memref.StoreOp, ...]

    def inner_points(self, value_of: ValueOf) -> int:
        """Iterations of the deepest body for one iteration of the outermost loop."""
        return points_of(self.op, value_of)

    def is_independent(self, value_of: ValueOf) -> bool:
        """Whether the order of iterations cannot matter: no element is reached by two of them, once stored."""
        buffers = [(op, _buffer(value_of(op.memref))) for op in self.accesses]
        stores = [(op, buffer) for op, buffer in buffers if isinstance(op, memref.StoreOp)]
        return all(
            _may_share(store, stored, op, buffer)
            for store, stored in stores
            for op, buffer in buffers
            if op is not store
        )


def nest_of(op: scf.ForOp, pure: Set[type[Operation]]) -> Nest | None:
    """The loop as a nest, or None where it must run one iteration after another."""
    inside = [op, *op.body.block.walk()]
    defined = {value for inner in inside if inner is not op for value in inner.results}
    defined |= {arg for inner in inside for region in inner.regions for block in region.blocks for arg in block.args}
    if not all(_is_plain(inner, pure, defined, outermost=inner is op) for inner in inside):
        return None
    accesses = tuple(inner for inner in inside if isinstance(inner, ACCESSES))
    return Nest(op, _depth(op), accesses)


def constant_value(value: SSAValue) -> int | None:
    """The integer that an arith.constant defines."""
    match value.owner:
        case arith.ConstantOp(value=IntegerAttr(value=number)):
            return number.data
        case _:
            return None


def points_of(op: scf.ForOp, value_of: ValueOf) -> int:
    loops = [inner for inner in op.body.block.ops if isinstance(inner, scf.ForOp)]
    return max((_trips(inner, value_of) * points_of(inner, value_of) for inner in loops), default=1)


def _trips(op: scf.ForOp, value_of: ValueOf) -> int:
    bounds = (constant_value(bound) for bound in (op.lb, op.ub, op.step))
    known = (b if b is not None else value_of(v) for b, v in zip(bounds, (op.lb, op.ub, op.step), strict=True))
    lower, upper, step = (int(np.asarray(b)) for b in known)
    return len(range(lower, upper, max(step, 1)))


def _is_plain(op: Operation, pure: Set[type[Operation]], defined: Set[SSAValue], outermost: bool) -> bool:
    match op:
        case scf.ForOp():
            bounds = (op.lb, op.ub, op.step)
            known = outermost or all(b not in defined or constant_value(b) is not None for b in bounds)
            return known and not op.iter_args
        case memref.LoadOp() | memref.StoreOp():
            return op.memref not in defined
        case _:
            return isinstance(op, scf.YieldOp) or type(op) in pure


def _depth(op: scf.ForOp) -> int:
    return 1 + max((_depth(inner) for inner in op.body.block.ops if isinstance(inner, scf.ForOp)), default=0)


def _buffer(value: object) -> Buffer:
    assert isinstance(value, MemRef)
    return value.buffer


def _may_share(store: memref.StoreOp, stored: Buffer, other: memref.LoadOp | memref.StoreOp, reached: Buffer) -> bool:
    """Whether an access may come before or after the store of any other iteration without a difference."""
    if stored is not reached:
        return not np.may_share_memory(stored.data, reached.data)
    if stored.written is None:
        return False
    # In write-once memory a second store is an error in any order, and so is a second iteration that comes
    # to an element by the same memref and indices, be it only to read it.
    return isinstance(other, memref.StoreOp) or (other.memref, *other.indices) == (store.memref, *store.indices)
