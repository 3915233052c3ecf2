"""Interval analysis: between which two numbers an integer of the IR always lies."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import cast

from xdsl.dialects import affine, arith, memref, scf
from xdsl.dialects.builtin import IndexType, IntegerAttr, IntegerType, UnrealizedConversionCastOp
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.ir.affine import (
    AffineBinaryOpExpr,
    AffineBinaryOpKind,
    AffineConstantExpr,
    AffineDimExpr,
    AffineExpr,
    AffineSymExpr,
)

from layoutc.targets.c_types import is_boolean, is_unsigned, width


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

SAME_NUMBER = (arith.IndexCastOp, arith.ExtUIOp, arith.TruncIOp, UnrealizedConversionCastOp)
"""ops that keep a number which their result type can hold, and was not negative"""


class Bounds:
    """The interval of every value seen so far; `visit` ops in the order of the text."""

    def __init__(self) -> None:
        self._known: dict[SSAValue, Interval] = {}

    def __getitem__(self, value: SSAValue) -> Interval:
        return self._known.get(value) or type_range(value.type)

    def visit(self, op: Operation) -> None:
        """Bound the results of an op, and the loop index of a loop."""
        if isinstance(op, scf.ForOp):
            low, high, *_ = op.operands
            self._known[op.body.block.args[0]] = self._loop_index(low, high)
        elif isinstance(op, scf.ParallelOp):
            for index, low, high in zip(op.body.block.args, op.lowerBound, op.upperBound, strict=True):
                self._known[index] = self._loop_index(low, high)
        elif len(op.results) == 1:
            found = self.computed(op)
            if found is not None and found in type_range(op.results[0].type):
                self._known[op.results[0]] = found
            elif found is not None and isinstance(op.results[0].type, IndexType):
                self._known[op.results[0]] = found.clipped(type_range(op.results[0].type))

    def computed(self, op: Operation) -> Interval | None:
        """The exact results of an op, before they are cut to its type; None where nothing is known."""
        match op:
            case arith.ConstantOp():
                value = op.value
                return Interval(value.value.data, value.value.data) if isinstance(value, IntegerAttr) else None
            case affine.ApplyOp():
                operands = [self[operand] for operand in op.mapOperands]
                dims = op.map.data.num_dims
                return affine_interval(op.map.data.results[0], operands[:dims], operands[dims:])
            case affine.MinOp():
                return self._affine_minimum(op)
            case memref.ExtractAlignedPointerAsIndexOp():
                return ADDRESSES
            case arith.SelectOp():
                return self[op.lhs] | self[op.rhs]
            case arith.ExtSIOp():
                return Interval(-1, 0) if is_boolean(op.input.type) else self[op.input]
            case _ if isinstance(op, SAME_NUMBER) and len(op.operands) == 1:
                source = self[op.operands[0]]
                return source if source.is_natural or isinstance(op, arith.IndexCastOp) else None
            case _:
                rule = RULES.get(op.__class__)
                return rule(self[op.operands[0]], self[op.operands[1]]) if rule else None

    def _affine_minimum(self, op: affine.MinOp) -> Interval:
        operands = [self[operand] for operand in op.operands]
        dims = op.map.data.num_dims
        results = (affine_interval(expr, operands[:dims], operands[dims:]) for expr in op.map.data.results)
        return reduce(_minimum, results)

    def _loop_index(self, lower_bound: SSAValue, upper_bound: SSAValue) -> Interval:
        low, high = self[lower_bound].low, self[upper_bound].high - 1
        return Interval(low, max(low, high))
