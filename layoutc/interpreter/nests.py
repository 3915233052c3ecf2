"""Which loop nests may run at once: where it cannot be told from running one iteration after another."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Set
from dataclasses import dataclass
from itertools import takewhile
from math import prod

import numpy as np
from xdsl.dialects import arith, func, memref, scf
from xdsl.dialects.builtin import IntegerAttr
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.traits import SymbolTable

from layoutc.dialects.memory import is_memref
from layoutc.interpreter.memory import Buffer
from layoutc.interpreter.memref_ops import CASTS, LOADS, STORES, AccessOp, accessed, buffer_of, is_inside, root
from layoutc.interpreter.values import is_vector
from layoutc.memref_prefetch import PrefetchOp
from layoutc.walk import parents

BULK_POINTS = 1 << 20
"""iterations that run at once at most, so that their values stay within some 100 MB"""

Loop = scf.ForOp | scf.ParallelOp
ValueOf = Callable[[SSAValue], object]

MAY_FAULT = (
    *(arith.DivSIOp, arith.DivUIOp, arith.FloorDivSIOp, arith.CeilDivSIOp, arith.CeilDivUIOp, arith.RemSIOp),
    *(arith.RemUIOp, arith.ShLIOp, arith.ShRUIOp, arith.ShRSIOp, arith.FPToSIOp, arith.FPToUIOp),
)
"""pure ops that some values have no result of"""


@dataclass(frozen=True, eq=False)
class Nest:
    """A loop of pure ops, loads, stores, scratch memory, branches and such loops, all bounds known before it starts."""

    op: Loop
    depth: int
    accesses: tuple[AccessOp, ...]

    def cost(self, value_of: ValueOf) -> int:
        """Iterations that are alive at once for one iteration of the outermost loop, big ones counted as several."""
        return _cost(self.op.body.block, value_of)

    def is_independent(self, value_of: ValueOf, rewrite_same: bool) -> bool:
        """
        Whether the order of iterations cannot matter: no element is reached by two of them, once stored.

        `rewrite_same` says that write-once memory may be given the same value again.
        """
        return all(
            self._may_reorder(store, other, value_of, rewrite_same)
            for store in self.accesses
            if isinstance(store, STORES)
            for other in self.accesses
            if other is not store
        )

    def _may_reorder(self, store: AccessOp, other: AccessOp, value_of: ValueOf, rewrite_same: bool) -> bool:
        """Whether an access may come before or after the store of any other iteration without a difference."""
        stored, reached = (root(accessed(op)[0]) for op in (store, other))
        if any(is_inside(memory, self.op) for memory in (stored, reached)):
            # Two stores to scratch memory are watched while they run.
            return stored is not reached or isinstance(other, STORES) or not _in_one_loop(store, other, stored)
        return _may_share(store, buffer_of(value_of(stored)), other, buffer_of(value_of(reached)), rewrite_same)


def nest_of(op: Loop, pure: Set[type[Operation]]) -> Nest | None:
    """The loop as a nest, or None where it must run one iteration after another."""
    inside = list(op.body.walk())
    if not all(_is_plain(inner, pure, op) for inner in inside) or (isinstance(op, scf.ForOp) and op.iter_args):
        return None
    accesses = tuple(inner for inner in inside if isinstance(inner, LOADS + STORES))
    return Nest(op, 1 + _depth(op.body.block), accesses)


def constant_value(value: SSAValue) -> int | None:
    """The integer that an arith.constant defines."""
    match value.owner:
        case arith.ConstantOp(value=IntegerAttr(value=number)):
            return number.data
        case _:
            return None


def _is_plain(op: Operation, pure: Set[type[Operation]], nest: Loop) -> bool:
    match op:
        case scf.ForOp():
            return not op.iter_args and all(
                constant_value(bound) is not None or not is_inside(bound, nest) for bound in (op.lb, op.ub, op.step)
            )
        case scf.IfOp():
            return not op.output
        case memref.AllocaOp():
            return not op.dynamic_sizes
        case _ if isinstance(op, LOADS + STORES):
            memory = root(accessed(op)[0])
            return not is_inside(memory, nest) or isinstance(memory.owner, memref.AllocaOp)
        case func.CallOp():
            inside = _called(op)
            return all(type(inner) in pure for inner in inside) and not (
                _in_branch(op, nest) and any(isinstance(inner, MAY_FAULT) for inner in inside)
            )
        case _ if isinstance(op, MAY_FAULT) and _in_branch(op, nest):
            # Iterations that are not in the branch calculate too.
            return len(op.operands) == 2 and (constant_value(op.operands[1]) or 0) > 0
        case _:
            return isinstance(op, (scf.YieldOp, scf.ReduceOp, PrefetchOp, *CASTS)) or type(op) in pure


def _called(op: func.CallOp) -> list[Operation]:
    """The ops of a function but its end, or the call itself where there is none to look into."""
    function = SymbolTable.lookup_symbol(op, op.callee)
    if not isinstance(function, func.FuncOp) or function.is_declaration or len(function.body.blocks) != 1:
        return [op]
    return [inner for inner in function.body.walk() if not isinstance(inner, func.ReturnOp)]


def _in_branch(op: Operation, nest: Loop) -> bool:
    return any(isinstance(parent, scf.IfOp) for parent in _parents(op, nest))


def _parents(op: Operation, last: Operation | None) -> Iterator[Operation]:
    """The ops around an op, from the inside out, up to `last`."""
    return takewhile(lambda parent: parent is not last, parents(op))


def _in_one_loop(store: AccessOp, other: AccessOp, memory: SSAValue) -> bool:
    """Whether a loop inside of the scope of scratch memory has both accesses: else the text orders them."""
    assert isinstance(memory.owner, Operation)
    scope = memory.owner.parent_op()
    loops = {parent for parent in _parents(store, scope) if isinstance(parent, scf.ForOp)}
    return not loops.isdisjoint(_parents(other, scope))


def _inner_blocks(block: Block) -> Iterator[Block]:
    """A block, and those of the branches in it."""
    yield block
    for op in block.ops:
        if isinstance(op, scf.IfOp):
            for region in op.regions:
                for branch in region.blocks:
                    yield from _inner_blocks(branch)


def _inner_loops(block: Block) -> list[scf.ForOp]:
    return [op for inner in _inner_blocks(block) for op in inner.ops if isinstance(op, scf.ForOp)]


def _depth(block: Block) -> int:
    return max((1 + _depth(loop.body.block) for loop in _inner_loops(block)), default=0)


def _cost(block: Block, value_of: ValueOf) -> int:
    own = max(1, sum(_size(value.type) for inner in _inner_blocks(block) for op in inner.ops for value in op.results))
    inner = (_trips(loop, value_of) * _cost(loop.body.block, value_of) for loop in _inner_loops(block))
    return max(own, *inner, 1)


def _size(type: Attribute) -> int:
    """How much room a value takes, in numbers of 8 bytes: only vectors and scratch memory take much."""
    if is_vector(type):
        return prod(type.get_shape()) // 2
    return prod(type.get_shape()) // 2 if is_memref(type) else 0


def _trips(op: scf.ForOp, value_of: ValueOf) -> int:
    bounds = (constant_value(bound) for bound in (op.lb, op.ub, op.step))
    known = (b if b is not None else value_of(v) for b, v in zip(bounds, (op.lb, op.ub, op.step), strict=True))
    lower, upper, step = (int(np.asarray(b)) for b in known)
    return len(range(lower, upper, max(step, 1)))


def _may_share(store: AccessOp, stored: Buffer, other: AccessOp, reached: Buffer, rewrite_same: bool) -> bool:
    if stored is not reached:
        return not np.may_share_memory(stored.data, reached.data)
    if stored.written is None:
        return False
    # In write-once memory a second store is an error in any order, and so is a second iteration that comes
    # to an element by the same memref and indices, be it only to read it.
    return isinstance(other, STORES) or (not rewrite_same and _place(other) == _place(store))


def _place(op: AccessOp) -> tuple[SSAValue, ...]:
    base, indices = accessed(op)
    return (base, *indices)
