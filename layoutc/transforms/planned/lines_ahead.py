"""Lines of the source that the next macro tile loads, and the share of them that each turn of a loop asks for."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from xdsl.ir import SSAValue
from xdsl.ir.affine import AffineExpr

from layoutc.planning.copies.copy_digits import Stride
from layoutc.planning.plans.plan import LINE, CopyPlan
from layoutc.transforms.building.creation import inserted
from layoutc.transforms.building.vector_ops import load, sum_of, vector_type
from layoutc.transforms.planned.copy_memory import Memory
from layoutc.transforms.values.tile_loops import Steps, Term, TileLoops


def numbered(loops: Sequence[Steps], terms: Sequence[Term]) -> AffineExpr:
    """Which turn of some loops, counted through, terms are of."""
    number = AffineExpr.constant(0)
    for steps, term in zip(loops, terms, strict=True):
        number = number * steps.count + steps.number(term.position)
    return number


class LinesAhead:
    """
    The lines of a macro tile's runs in the source, as far ahead as the plan asks for them.

    The runs go along the digit `row`, `rows` are loops over the others, `source` is what is loaded from, and `ratio`
    the elements of the memory in one of the plan.
    """

    def __init__(self, plan: CopyPlan, memory: Memory, source: SSAValue, rows: Sequence[Steps], row: int, ratio: int):
        self.plan, self.source, self.ratio = plan, source, ratio
        self.one = vector_type(memory.converted_from or memory.element, 1)
        line = LINE * ratio // plan.element_bytes
        lines = -(-plan.source_run * ratio // line)
        self.lines = [*rows, Steps.of(row, line, lines * line)]
        self.count = prod(loop.count for loop in self.lines)
        self.is_all = plan.asks == "by tiles"
        """whether nobody else asks for these lines"""

    def share(self, turns: int) -> int:
        """How many lines each of so many turns asks for."""
        return -(-self.count // turns) if self.is_all else max(round(self.count / turns), 1)

    def ask(
        self, loops: TileLoops, outer: Sequence[Term], strides: Sequence[Stride], number: AffineExpr, turns: int
    ) -> None:
        """
        Asks for a turn's share of the lines: by its number, the next ones of all.

        The outer terms are of loops over digits that have these strides in the source.
        """
        share = self.share(turns)
        left = number * share
        if share > 1:
            left = left + loops.serial([Steps.of(0, 1, share)])[0].position
        terms: list[Term] = []
        for steps in reversed(self.lines):
            terms.insert(0, Term(steps.digit, left % steps.count * steps.step))
            left = left // steps.count
        along: list[Stride] = [1 if g == terms[-1].digit else stride for g, stride in enumerate(strides)]
        row = loops.offset((*outer, *terms[:-1]), strides, self.plan.copy.src * self.ratio, "row")
        at = loops.offset(terms[-1:], along, 0, "at")
        here = inserted(loops.builder, sum_of(row, at))
        loops.builder.insert(load(self.source, here, self.one, self.plan.prefetch * self.ratio))
