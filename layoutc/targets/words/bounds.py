"""Interval analysis: between which two numbers an integer of the IR always lies."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any, cast

from xdsl.dialects import affine, arith, memref, scf
from xdsl.dialects.builtin import IndexType, IntegerAttr, IntegerType, UnrealizedConversionCastOp
from xdsl.ir import Attribute, BlockArgument, Operation, OpResult, SSAValue
from xdsl.ir.affine import (
    AffineBinaryOpExpr,
    AffineBinaryOpKind,
    AffineConstantExpr,
    AffineDimExpr,
    AffineExpr,
    AffineSymExpr,
)

from layoutc.targets.words.c_types import is_boolean, is_unsigned, width


@dataclass(frozen=True, slots=True)
class Interval:
    """The integers from `low` to `high`, both included."""

    low: int
    high: int

    def __add__(self, other: Interval) -> Interval:
        return Interval(self.low + other.low, self.high + other.high)

    def __sub__(self, other: Interval) -> Interval:
        return Interval(self.low - other.high, self.high - other.low)

    def __mul__(self, other: Interval) -> Interval:
        return _hull([a * b for a in (self.low, self.high) for b in (other.low, other.high)])

    def __floordiv__(self, other: Interval) -> Interval:
        """The quotient by positive divisors."""
        return _hull([a // b for a in (self.low, self.high) for b in (other.low, other.high)])

    def __mod__(self, other: Interval) -> Interval:
        """The floor remainder by positive divisors."""
        inside = self.low >= 0 and self.high < other.low
        return self if inside else Interval(0, other.high - 1)

    def __or__(self, other: Interval) -> Interval:
        return _hull([self.low, self.high, other.low, other.high])

    def __contains__(self, other: Interval) -> bool:
        return self.low <= other.low and other.high <= self.high

    def clipped(self, limits: Interval) -> Interval:
        """What is left inside the limits: the numbers of an index, which does not overflow."""
        low, high = max(self.low, limits.low), min(self.high, limits.high)
        return Interval(low, high) if low <= high else limits

    @property
    def is_natural(self) -> bool:
        """No negative number is in it."""
        return self.low >= 0


def _hull(numbers: Sequence[int]) -> Interval:
    return Interval(min(numbers), max(numbers))


INDEX_RANGE = Interval(-(1 << 63), (1 << 63) - 1)
ADDRESSES = Interval(0, (1 << 63) - 1)
"""the upper half belongs to the operating system"""
UNBOUNDED = Interval(-(1 << 64), 1 << 64)


def type_range(type: Attribute) -> Interval:
    """Every number of an integer type; signless integers are taken as signed, i1 as 0 and 1; no bound for the rest."""
    if isinstance(type, IndexType):
        return INDEX_RANGE
    if not isinstance(type, IntegerType):
        return UNBOUNDED
    type = cast(Attribute, type)
    bits = width(type)
    if is_boolean(type) or is_unsigned(type):
        return Interval(0, (1 << bits) - 1)
    return Interval(-(1 << (bits - 1)), (1 << (bits - 1)) - 1)


def affine_interval(expr: AffineExpr, dims: Sequence[Interval], symbols: Sequence[Interval]) -> Interval:
    """The values of an affine expression over a box of dims and symbols."""
    match expr:
        case AffineConstantExpr():
            return Interval(expr.value, expr.value)
        case AffineDimExpr():
            return dims[expr.position]
        case AffineSymExpr():
            return symbols[expr.position]
        case AffineBinaryOpExpr():
            lhs, rhs = (affine_interval(e, dims, symbols) for e in (expr.lhs, expr.rhs))
            return _AFFINE[expr.kind](lhs, rhs)
        case _:
            raise AssertionError(expr)


def _ceil_div(lhs: Interval, rhs: Interval) -> Interval:
    return _hull([-(-a // b) for a in (lhs.low, lhs.high) for b in (rhs.low, rhs.high)])


_AFFINE: dict[AffineBinaryOpKind, Callable[[Interval, Interval], Interval]] = {
    AffineBinaryOpKind.Add: Interval.__add__,
    AffineBinaryOpKind.Mul: Interval.__mul__,
    AffineBinaryOpKind.FloorDiv: Interval.__floordiv__,
    AffineBinaryOpKind.Mod: Interval.__mod__,
    AffineBinaryOpKind.CeilDiv: _ceil_div,
}

Rule = Callable[[Interval, Interval], "Interval | None"]


def _natural(rule: Callable[[Interval, Interval], Interval]) -> Rule:
    """A rule of division, good for dividends from 0 and divisors from 1."""
    return lambda lhs, rhs: rule(lhs, rhs) if lhs.is_natural and rhs.low > 0 else None


def _positive_divisor(rule: Callable[[Interval, Interval], Interval]) -> Rule:
    return lambda lhs, rhs: rule(lhs, rhs) if rhs.low > 0 else None


def _minimum(lhs: Interval, rhs: Interval) -> Interval:
    return Interval(min(lhs.low, rhs.low), min(lhs.high, rhs.high))


def _maximum(lhs: Interval, rhs: Interval) -> Interval:
    return Interval(max(lhs.low, rhs.low), max(lhs.high, rhs.high))


def _and(lhs: Interval, rhs: Interval) -> Interval | None:
    highs = [side.high for side in (lhs, rhs) if side.is_natural]
    return Interval(0, min(highs)) if highs else None


RULES: dict[type[Operation], Rule] = {
    arith.AddiOp: Interval.__add__,
    arith.SubiOp: Interval.__sub__,
    arith.MuliOp: Interval.__mul__,
    arith.DivSIOp: _natural(Interval.__floordiv__),
    arith.DivUIOp: _natural(Interval.__floordiv__),
    arith.RemSIOp: _natural(Interval.__mod__),
    arith.RemUIOp: _natural(Interval.__mod__),
    arith.FloorDivSIOp: _positive_divisor(Interval.__floordiv__),
    arith.CeilDivSIOp: _positive_divisor(_ceil_div),
    arith.MinSIOp: _minimum,
    arith.MaxSIOp: _maximum,
    arith.AndIOp: _and,
}


class Bounds:
    """The interval of a value; what it is computed of is bounded first, and each value once."""

    def __init__(self) -> None:
        self._known: dict[SSAValue, Interval] = {}

    def __getitem__(self, value: SSAValue) -> Interval:
        if (known := self._known.get(value)) is not None:
            return known
        waiting = [value]
        # No recursion: what a value is computed of may go back through thousands of ops.
        while waiting:
            needed = [other for other in _bounding(waiting[-1]) if other not in self._known]
            if not needed:
                bounded = waiting.pop()
                self._known[bounded] = self._bounded(bounded)
            waiting += needed
        return self._known[value]

    def _bounded(self, value: SSAValue) -> Interval:
        if isinstance(value, BlockArgument):
            return self._loop_index(value) or type_range(value.type)
        limits = type_range(value.type)
        found = self.computed(value.op) if isinstance(value, OpResult) else None
        if found is None or found in limits:
            return found or limits
        return found.clipped(limits) if isinstance(value.type, IndexType) else limits

    def computed(self, op: Operation) -> Interval | None:
        """The exact result of an op, before it is cut to its type; None where nothing is known."""
        if (rule := RULES.get(op.__class__)) is not None:
            return rule(self[op.operands[0]], self[op.operands[1]])
        compute = COMPUTED.get(op.__class__)
        return None if compute is None else compute(self, op)

    def constant(self, op: arith.ConstantOp) -> Interval | None:
        value = op.value
        return Interval(value.value.data, value.value.data) if isinstance(value, IntegerAttr) else None

    def applied(self, op: affine.ApplyOp | affine.MinOp) -> Interval:
        """The only result of a map, or the least."""
        operands = [self[operand] for operand in op.operands]
        dims = op.map.data.num_dims
        results = (affine_interval(expr, operands[:dims], operands[dims:]) for expr in op.map.data.results)
        return reduce(_minimum, results)

    def selected(self, op: arith.SelectOp) -> Interval:
        return self[op.lhs] | self[op.rhs]

    def sign_extended(self, op: arith.ExtSIOp) -> Interval:
        return Interval(-1, 0) if is_boolean(op.input.type) else self[op.input]

    def same_number(self, op: Operation) -> Interval | None:
        """What the result type can hold, and was not negative, stays as it is."""
        if len(op.operands) != 1:
            return None
        source = self[op.operands[0]]
        return source if source.is_natural or isinstance(op, arith.IndexCastOp) else None

    def _loop_index(self, index: BlockArgument) -> Interval | None:
        bounds = _loop_bounds(index)
        if not bounds:
            return None
        low, high = self[bounds[0]].low, self[bounds[1]].high - 1
        return Interval(low, max(low, high))


def _bounding(value: SSAValue) -> Sequence[SSAValue]:
    """The values whose intervals bound that of a value."""
    if isinstance(value, BlockArgument):
        return _loop_bounds(value)
    if isinstance(value, OpResult) and (value.op.__class__ in RULES or value.op.__class__ in COMPUTED):
        return value.op.operands
    return ()


def _loop_bounds(index: BlockArgument) -> tuple[SSAValue, ...]:
    """The first number of a loop's index and the one behind its last; nothing for other arguments of blocks."""
    match index.block.parent_op():
        case scf.ForOp() as loop if index.index == 0:
            return loop.operands[0], loop.operands[1]
        case scf.ParallelOp() as loop:
            return loop.lowerBound[index.index], loop.upperBound[index.index]
        case _:
            return ()


COMPUTED: dict[type[Operation], Callable[[Bounds, Any], Interval | None]] = {
    arith.ConstantOp: Bounds.constant,
    affine.ApplyOp: Bounds.applied,
    affine.MinOp: Bounds.applied,
    memref.ExtractAlignedPointerAsIndexOp: lambda _bounds, _op: ADDRESSES,
    arith.SelectOp: Bounds.selected,
    arith.ExtSIOp: Bounds.sign_extended,
    **dict.fromkeys((arith.IndexCastOp, arith.ExtUIOp, arith.TruncIOp, UnrealizedConversionCastOp), Bounds.same_number),
}
"""the ops whose results are bounded otherwise"""
