"""C expressions for affine maps: `n * 480 + c / 8 * 160 + c % 8`."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import reduce
from typing import cast

from xdsl.dialects import affine
from xdsl.ir.affine import (
    AffineBinaryOpExpr,
    AffineBinaryOpKind,
    AffineConstantExpr,
    AffineDimExpr,
    AffineExpr,
    AffineSymExpr,
)

from layoutc.once import once
from layoutc.targets.errors import EmissionError
from layoutc.targets.spelling.c_context import Site
from layoutc.targets.words.bounds import Interval, affine_interval
from layoutc.targets.words.c_expressions import Expression, binary, integer, unary, wide
from layoutc.targets.words.c_types import INDEX

Kind = AffineBinaryOpKind
HELPERS = {Kind.FloorDiv: "floor_div", Kind.Mod: "floor_mod", Kind.CeilDiv: "ceil_div"}


def spell_apply(site: Site) -> Expression:
    """affine.apply, with the operands that are constants put into the map."""
    return _spell_results(site)[0]


def spell_min(site: Site) -> Expression:
    """affine.min: the least of the map's results."""
    return reduce(lambda least, result: site.helper("min_signed", least, result), _spell_results(site))


def _spell_results(site: Site) -> list[Expression]:
    assert isinstance(site.op, affine.ApplyOp | affine.MinOp)
    map = site.op.map.data
    _check_divisors(map.results)
    printer = _AffinePrinter(map.num_dims, site)
    return [printer.spell(printer.substituted(result)) for result in map.results]


def used_operands(op: affine.ApplyOp | affine.MinOp) -> list[int]:
    """The operands that the map looks at."""
    dims = op.map.data.num_dims
    exprs = _parts(op.map.data.results)
    positions = {cast("AffineDimExpr", e).position for e in exprs if e.__class__ is AffineDimExpr}
    symbols = {dims + cast("AffineSymExpr", e).position for e in exprs if e.__class__ is AffineSymExpr}
    return sorted(positions | symbols)


def _parts(exprs: Iterable[AffineExpr]) -> list[AffineExpr]:
    """Expressions and all that they are made of; the generators of `dfs`, one within the other, take times as long."""
    found = [*exprs]
    for part in found:
        if part.__class__ is AffineBinaryOpExpr:
            pair = cast("AffineBinaryOpExpr", part)
            found += (pair.lhs, pair.rhs)
    return found


def _check_divisors(exprs: Iterable[AffineExpr]) -> None:
    for part in _parts(exprs):
        if part.__class__ is AffineBinaryOpExpr and (part := cast("AffineBinaryOpExpr", part)).kind in HELPERS:
            divisor = part.rhs.value if isinstance(part.rhs, AffineConstantExpr) else None
            if divisor is None or divisor <= 0:
                raise EmissionError(f"affine expression {part} divides by {part.rhs}, expected a positive constant")


@dataclass(frozen=True)
class _AffinePrinter:
    num_dims: int
    site: Site

    def substituted(self, expr: AffineExpr) -> AffineExpr:
        """The expression with literal operands in place of dims and symbols, and folded."""
        if all(operand.literal is None for operand in self.site.operands):
            return expr
        dims, symbols = self.site.operands[: self.num_dims], self.site.operands[self.num_dims :]
        return expr.replace_dims_and_symbols(
            [_constant_or(o, AffineExpr.dimension(i)) for i, o in enumerate(dims)],
            [_constant_or(o, AffineExpr.symbol(i)) for i, o in enumerate(symbols)],
        )

    @once
    def intervals(self) -> tuple[list[Interval], list[Interval]]:
        """Those of the dims, and of the symbols."""
        found = [self.site.bounds[operand] for operand in self.site.op.operands]
        return found[: self.num_dims], found[self.num_dims :]

    def spell(self, expr: AffineExpr) -> Expression:
        match expr:
            case AffineBinaryOpExpr(kind=Kind.Add):
                return self._sum(_terms(expr))
            case AffineBinaryOpExpr(kind=Kind.Mul):
                return self._product(expr)
            case AffineBinaryOpExpr():
                return self._quotient(expr)
            case AffineDimExpr():
                return self.site.operands[expr.position]
            case AffineConstantExpr():
                return integer(expr.value, INDEX)
            case AffineSymExpr():
                return self.site.operands[self.num_dims + expr.position]
            case _:
                raise AssertionError(expr)

    def _sum(self, terms: list[AffineExpr]) -> Expression:
        """The terms in their order, negative ones subtracted; one that is not negative comes first, if any."""
        first = next((i for i, term in enumerate(terms) if _negated(term) is None), 0)
        total = self.spell(terms[first])
        for term in terms[:first] + terms[first + 1 :]:
            negated = _negated(term)
            operator, shown = ("+", term) if negated is None else ("-", negated)
            total = binary(operator, total, self.spell(shown))
        return total

    def _product(self, expr: AffineBinaryOpExpr) -> Expression:
        lhs, rhs = self.spell(expr.lhs), self.spell(expr.rhs)
        if rhs.literal == -1:
            return unary("-", lhs)
        return binary("*", wide(lhs, INDEX) if rhs.literal is not None else lhs, rhs)

    def _quotient(self, expr: AffineBinaryOpExpr) -> Expression:
        """C truncates and affine maps floor: the same where the dividend cannot be negative."""
        lhs, rhs = self.spell(expr.lhs), self.spell(expr.rhs)
        if not affine_interval(expr.lhs, *self.intervals).is_natural:
            return self.site.helper(HELPERS[expr.kind], lhs, rhs)
        if expr.kind is Kind.CeilDiv:
            assert rhs.literal is not None
            return binary("/", binary("+", lhs, integer(rhs.literal - 1, INDEX)), rhs)
        return binary("/" if expr.kind is Kind.FloorDiv else "%", lhs, rhs)


def _constant_or(operand: Expression, expr: AffineExpr) -> AffineExpr:
    return expr if operand.literal is None else AffineExpr.constant(operand.literal)


def _terms(expr: AffineExpr) -> list[AffineExpr]:
    """The terms of a sum, from left to right."""
    terms: list[AffineExpr] = []
    pending = [expr]
    while pending:
        part = pending.pop()
        if isinstance(part, AffineBinaryOpExpr) and part.kind is Kind.Add:
            pending += (part.rhs, part.lhs)
        else:
            terms.append(part)
    return terms


def _negated(expr: AffineExpr) -> AffineExpr | None:
    """The negation of a term that carries a minus sign, None for other terms."""
    match expr:
        case AffineConstantExpr() if expr.value < 0:
            return AffineExpr.constant(-expr.value)
        case AffineBinaryOpExpr(kind=Kind.Mul, rhs=AffineConstantExpr(value=factor)) if factor < 0:
            return expr.lhs * -factor
        case _:
            return None
