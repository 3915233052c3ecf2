"""Divisibility analysis: which number always divides an index of the IR."""

from __future__ import annotations

from math import gcd

from xdsl.dialects import affine, arith, scf
from xdsl.dialects.builtin import IntegerAttr
from xdsl.ir import BlockArgument, Operation, SSAValue
from xdsl.ir.affine import (
    AffineBinaryOpExpr,
    AffineBinaryOpKind,
    AffineConstantExpr,
    AffineDimExpr,
    AffineExpr,
    AffineSymExpr,
)

SUMS = (arith.AddiOp, arith.SubiOp, arith.MinSIOp, arith.MaxSIOp, arith.MinUIOp, arith.MaxUIOp)
"""ops whose result is divided by what divides both operands"""


class Divisors:
    """The greatest number that is known to divide an index; 0, which all numbers divide, has 0."""

    def __init__(self) -> None:
        self._known: dict[SSAValue, int] = {}

    def __getitem__(self, value: SSAValue) -> int:
        if (known := self._known.get(value)) is None:
            known = self._known[value] = self._found(value)
        return known

    def _found(self, value: SSAValue) -> int:
        if isinstance(value, BlockArgument):
            return self._loop_index(value, value.block.parent_op())
        match value.owner:
            case arith.ConstantOp(value=IntegerAttr(value=number)):
                return abs(number.data)
            case affine.ApplyOp() | affine.MinOp() as op:
                operands = [self[operand] for operand in op.operands]
                dims, symbols = operands[: op.map.data.num_dims], operands[op.map.data.num_dims :]
                return gcd(*(_affine(expr, dims, symbols) for expr in op.map.data.results))
            case arith.MuliOp() as op:
                return self[op.lhs] * self[op.rhs]
            case arith.SelectOp() as op:
                return gcd(self[op.lhs], self[op.rhs])
            case op if isinstance(op, SUMS):
                return gcd(*(self[operand] for operand in op.operands))
            case _:
                return 1

    def _loop_index(self, index: BlockArgument, loop: Operation | None) -> int:
        match loop:
            case scf.ForOp() if index.index == 0:
                return gcd(self[loop.lb], self[loop.step])
            case scf.ParallelOp():
                return gcd(self[loop.lowerBound[index.index]], self[loop.step[index.index]])
            case _:
                return 1


def _affine(expr: AffineExpr, dims: list[int], symbols: list[int]) -> int:
    match expr:
        case AffineConstantExpr():
            return abs(expr.value)
        case AffineDimExpr():
            return dims[expr.position]
        case AffineSymExpr():
            return symbols[expr.position]
        case AffineBinaryOpExpr():
            lhs, rhs = (_affine(side, dims, symbols) for side in (expr.lhs, expr.rhs))
            return _binary(expr, lhs, rhs)
        case _:
            raise AssertionError(expr)


def _binary(expr: AffineBinaryOpExpr, lhs: int, rhs: int) -> int:
    match expr.kind:
        case AffineBinaryOpKind.Mul:
            return lhs * rhs
        case AffineBinaryOpKind.Add | AffineBinaryOpKind.Mod:
            return gcd(lhs, rhs)
        case AffineBinaryOpKind.FloorDiv | AffineBinaryOpKind.CeilDiv:
            divides = isinstance(expr.rhs, AffineConstantExpr) and rhs and lhs % rhs == 0
            return lhs // rhs if divides else 1
