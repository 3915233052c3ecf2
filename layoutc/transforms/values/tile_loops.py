"""The loops around a tile: named counters, where the last step starts earlier if it does not fit."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

from xdsl.builder import Builder
from xdsl.dialects import affine, scf
from xdsl.dialects.builtin import AffineMapAttr, IntegerAttr, i64
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.ir.affine import (
    AffineBinaryOpExpr,
    AffineBinaryOpKind,
    AffineConstantExpr,
    AffineExpr,
    AffineMap,
)
from xdsl.rewriter import InsertPoint

from layoutc.discardable import THREADS
from layoutc.planning.copies.copy_digits import Carry, Stride
from layoutc.transforms.building.creation import created
from layoutc.transforms.building.loop_nest import INDEX, NestBuilder, apply, open_loop


@dataclass(frozen=True)
class Steps:
    """
    Starts of pieces of `size` in a digit's `extent`, `step` apart but for the last, which ends where it ends.

    One that `is_cut` starts a step behind the one before, and has less.
    """

    digit: int
    size: int
    extent: int
    step: int
    is_cut: bool = False

    @classmethod
    def of(cls, digit: int, size: int, extent: int, step: int | None = None) -> Steps:
        """Pieces side by side, unless `step` says otherwise."""
        return cls(digit, size, extent, step or size)

    @property
    def count(self) -> int:
        """Number of pieces."""
        return -(-(self.extent - self.size) // self.step) + 1

    @property
    def is_even(self) -> bool:
        """Whether the last piece is a whole step behind the one before."""
        return (self.count - 1) * self.step + self.size == self.extent

    def number(self, position: AffineExpr) -> AffineExpr:
        """Which of the pieces starts at a position."""
        if self.step == 1:
            return position
        if isinstance(position, AffineBinaryOpExpr) and position.rhs == AffineExpr.constant(self.step):
            return position.lhs
        return position.ceil_div(self.step)


@dataclass(frozen=True)
class Term:
    """What a counter adds to the position of a digit."""

    digit: int
    position: AffineExpr


class TileLoops:
    """Loops from the outside in: where to insert, and what their counters add to the positions of the digits."""

    def __init__(self, nest: NestBuilder):
        self.nest = nest
        self.builder = Builder(InsertPoint.before(nest.before))
        self.outermost: Operation | None = None
        self.counters: list[SSAValue] = []
        self.entered: list[tuple[Operation, Sequence[int], int]] = []
        """the loops, the digits that they run along, and how many counters there are ahead of each"""

    def inside(self, digits: int = 0) -> TileLoops:
        """Further loops at the place where these have led to, over so many digits that are numbered before theirs."""
        loops = TileLoops(self.nest)
        loops.builder, loops.counters = self.builder, list(self.counters)
        loops.entered = [(op, [digits + digit for digit in along], count) for op, along, count in self.entered]
        return loops

    def parallel(self, loops: Sequence[Steps], threads: int) -> list[Term]:
        """One loop over all of these, shared by threads."""
        block = Block([scf.ReduceOp()], arg_types=[INDEX] * len(loops))
        ends = [self.nest.constant(loop.count) for loop in loops]
        zeros, ones = ([self.nest.constant(value)] * len(loops) for value in (0, 1))
        op = scf.ParallelOp(zeros, ends, ones, Region(block))
        op.attributes[THREADS] = IntegerAttr(threads, i64)
        self._enter(self.builder.insert(op), Builder(InsertPoint.at_start(block)), [loop.digit for loop in loops])
        return [self._term(loop, counter) for loop, counter in zip(loops, block.args, strict=True)]

    def serial(self, loops: Sequence[Steps]) -> list[Term]:
        """A loop for each of these, the first outermost."""
        terms: list[Term] = []
        for loop in loops:
            terms.append(self._term(loop, self._serial(loop.digit, self.nest.constant(loop.count))))
        return terms

    def of_new_tiles(
        self, loops: Sequence[Steps], overlapping: Sequence[tuple[Steps, Steps]], terms: Sequence[Term]
    ) -> list[Term]:
        """
        A loop for each of these, by tiles or less, without tiles that the macro tile before has moved.

        `overlapping` are loops over macro tiles, with those over their tiles, whose last one starts earlier; the terms
        are theirs.
        """
        found: list[Term] = []
        for loop in loops:
            start = None
            for macro_tiles, tiles in overlapping:
                if loop.digit == tiles.digit:
                    # A remainder, which is seen to be no less than 0: how far the next step is.
                    moved = self.position(terms, loop.digit) * (macro_tiles.step - 1) % macro_tiles.step
                    steps = moved // tiles.size * (tiles.size // loop.size)
                    start = apply(self.builder, steps, self.counters, "first")
            found.append(self._term(loop, self._serial(loop.digit, self.nest.constant(loop.count), start)))
        return found

    def _serial(self, digit: int, end: SSAValue, start: SSAValue | None = None) -> SSAValue:
        bounds = (self.nest.constant(0) if start is None else start, end, self.nest.constant(1))
        loop = open_loop(self.builder, bounds, f"i{digit}")
        self._enter(loop.op, loop.builder, [digit])
        return loop.counter

    def tiles(self, terms: Sequence[Term], macro_tiles: Sequence[Steps], tiles: Sequence[Steps]) -> list[Term]:
        """A loop for each of these, inside of loops over macro tiles that `terms` are of."""
        found = list(terms)
        cut = {loop.digit: loop.extent for loop in macro_tiles if loop.is_cut}
        for loop in tiles:
            if loop.digit not in cut:
                found += self.serial([loop])
                continue
            macro_tile = next(term for term in found if term.digit == loop.digit)
            found[found.index(macro_tile)] = self._cut(loop, cut[loop.digit], macro_tile.position)
        return found

    def _cut(self, loop: Steps, extent: int, start: AffineExpr) -> Term:
        """A loop over the tiles of a macro tile that begin inside of the extent; the last one ends where that ends."""
        end = self._least((AffineExpr.constant(loop.count), (start * -1 + extent).ceil_div(loop.size)), "end")
        self.counters.append(self._serial(loop.digit, end))
        position = start + AffineExpr.dimension(len(self.counters) - 1) * loop.size
        if extent % loop.size:
            last = AffineExpr.constant(extent - loop.size)
            self.counters.append(self._least((position, last), f"start{loop.digit}"))
            position = AffineExpr.dimension(len(self.counters) - 1)
        return Term(loop.digit, position)

    def _least(self, values: Sequence[AffineExpr], name: str) -> SSAValue:
        map = AffineMapAttr(AffineMap(len(self.counters), 0, tuple(values)))
        op = created(affine.MinOp, self.counters, INDEX, {"map": map})
        self.builder.insert(op)
        op.result.name_hint = name
        return op.result

    def carrying(
        self,
        loop: Steps,
        values: Sequence[SSAValue],
        body: Callable[[TileLoops, Term, Sequence[SSAValue]], Sequence[SSAValue]],
    ) -> list[SSAValue]:
        """A loop that hands values from turn to turn: what the last turn makes of them."""
        block = Block(arg_types=[INDEX, *(value.type for value in values)])
        inside = self.inside()
        inside.builder = Builder(InsertPoint.at_end(block))
        term = inside._term(loop, block.args[0])
        for carried in block.args[1:]:
            carried.name_hint = "total"
        inside.builder.insert(scf.YieldOp(*body(inside, term, block.args[1:])))
        start, end, one = (self.nest.constant(value) for value in (0, loop.count, 1))
        op = self.builder.insert(scf.ForOp(start, end, one, values, Region(block)))
        self.outermost = self.outermost or op
        return list(op.results)

    def inside_of(self, digits: Collection[int]) -> tuple[Builder, Sequence[SSAValue]]:
        """A place inside of the loops along some digits and ahead of all further ones, and the counters there."""
        needed = [number for number, (_, along, _) in enumerate(self.entered, 1) if not set(along).isdisjoint(digits)]
        number = max(needed, default=0)
        if number == len(self.entered):
            return self.builder, self.counters
        next_loop, _, count = self.entered[number]
        return Builder(InsertPoint.before(next_loop)), self.counters[:count]

    def _enter(self, op: Operation, inside: Builder, digits: Sequence[int]) -> None:
        self.entered.append((op, digits, len(self.counters)))
        self.outermost = self.outermost or op
        self.builder = inside

    def _term(self, loop: Steps, counter: SSAValue) -> Term:
        counter.name_hint = f"i{loop.digit}"
        start = AffineExpr.dimension(0) * loop.step
        if loop.is_even or loop.is_cut:
            self.counters.append(counter)
            return Term(loop.digit, AffineExpr.dimension(len(self.counters) - 1) * loop.step)
        map = AffineMapAttr(AffineMap(1, 0, (start, AffineExpr.constant(loop.extent - loop.size))))
        op = created(affine.MinOp, (counter,), INDEX, {"map": map})
        self.builder.insert(op)
        op.result.name_hint = f"start{loop.digit}"
        self.counters.append(op.result)
        return Term(loop.digit, AffineExpr.dimension(len(self.counters) - 1))

    def further(self, loops: Sequence[Steps], terms: Sequence[Term], turns: int) -> list[Term]:
        """Where these terms of loops are so many turns later, or in the last turn; as values that are known here."""
        last = AffineExpr.constant(prod(steps.count for steps in loops) - 1)
        self.counters.append(self._least((numbered(loops, terms) + turns, last), "later"))
        left: AffineExpr = AffineExpr.dimension(len(self.counters) - 1)
        found = list[Term]()
        for steps in reversed(loops):
            at = (left % steps.count if len(found) + 1 < len(loops) else left) * steps.step
            left = left // steps.count
            self.counters.append(
                self._least((at, AffineExpr.constant(steps.extent - steps.size)), f"later{steps.digit}")
            )
            found.append(Term(steps.digit, AffineExpr.dimension(len(self.counters) - 1)))
        return found

    def offset(
        self, terms: Sequence[Term], strides: Sequence[Stride], base: int, name: str, share: int = 1
    ) -> SSAValue:
        """
        The sum of the terms' positions x strides and a base.

        `share` elements have an offset together.
        """
        total = self.sum_of(terms, strides)
        if total is None:
            return self.nest.constant(base // share)
        total = total + base if base else total
        return apply(self.builder, exact_quotient(total, share) or total // share, self.counters, name)

    @classmethod
    def sum_of(cls, terms: Sequence[Term], strides: Sequence[Stride]) -> Any:
        """The sum of the terms' positions x strides; None if there is none."""
        total: Any = None
        for term in terms:
            stride = strides[term.digit]
            if isinstance(stride, int) and stride:
                part = term.position * stride if stride != 1 else term.position
                total = part if total is None else total + part
        for digit, stride in enumerate(strides):
            if isinstance(stride, Carry) and any(term.digit == digit for term in terms):
                part = stride.at(cls.position(terms, digit))
                total = part if total is None else total + part
        return total

    @staticmethod
    def position(terms: Sequence[Term], digit: int) -> AffineExpr:
        """Where a digit stands."""
        positions = [term.position for term in terms if term.digit == digit]
        return sum(positions[1:], start=positions[0]) if positions else AffineExpr.constant(0)


def numbered(loops: Sequence[Steps], terms: Sequence[Term]) -> AffineExpr:
    """Which turn of some loops, counted through, terms are of."""
    number = AffineExpr.constant(0)
    for steps, term in zip(loops, terms, strict=True):
        number = number * steps.count + steps.number(term.position)
    return number


def exact_quotient(expr: AffineExpr, divisor: int) -> AffineExpr | None:
    """An expression divided by a number, if each of its terms shows that it is a multiple."""
    if divisor == 1:
        return expr
    match expr:
        case AffineConstantExpr(value=value):
            return None if value % divisor else AffineExpr.constant(value // divisor)
        case AffineBinaryOpExpr(kind=AffineBinaryOpKind.Add, lhs=lhs, rhs=rhs):
            parts = exact_quotient(lhs, divisor), exact_quotient(rhs, divisor)
            return None if parts[0] is None or parts[1] is None else parts[0] + parts[1]
        case AffineBinaryOpExpr(kind=AffineBinaryOpKind.Mul, lhs=lhs, rhs=AffineConstantExpr(value=value)):
            if value % divisor == 0:
                return lhs * (value // divisor) if value != divisor else lhs
            part = exact_quotient(lhs, divisor)
            return None if part is None else part * value
        case _:
            return None
