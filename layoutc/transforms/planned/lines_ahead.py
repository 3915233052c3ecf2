"""Lines of the source that the next macro tile loads, and the share of them that each turn of a loop asks for."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from xdsl.ir import SSAValue
from xdsl.ir.affine import AffineExpr

from layoutc.planning.copies.copy_digits import Stride
from layoutc.planning.machine import LINE
from layoutc.planning.plans.plan import CopyPlan
from layoutc.planning.tiles.lines_in_turn import lines_in_turn
from layoutc.transforms.building.creation import inserted
from layoutc.transforms.building.loop_nest import apply
from layoutc.transforms.building.vector_ops import fetch, load, sum_of, vector_type
from layoutc.transforms.planned.copy_memory import Memory
from layoutc.transforms.planned.step_table import Place
from layoutc.transforms.planned.tile_site import further
from layoutc.transforms.values.tile_loops import Steps, Term, TileLoops, numbered


class LinesAhead:
    """
    The lines of a macro tile's runs in the source, as far ahead as the plan asks for them.

    `outer` are the loops over macro tiles; the runs go along the digit `row`, `rows` are loops over the others.
    `source` is what is loaded from.
    """

    def __init__(
        self,
        plan: CopyPlan,
        memory: Memory,
        source: SSAValue,
        outer: Sequence[Steps],
        rows: Sequence[Steps],
        row: int,
    ):
        self.plan, self.source, self.outer = plan, source, outer
        self.ratio = ratio = memory.ratio(plan)
        self.one = vector_type(memory.source_element, 1)
        line = LINE * ratio // plan.widths.src
        lines = -(-plan.source_run * ratio // line)
        self.lines = [*rows, Steps.of(row, line, lines * line)]
        self.part: AffineExpr | None = None
        """which part of the lines is asked for, where macro tiles do so in turn"""
        self.count = prod(loop.count for loop in self.lines)
        self.is_all = plan.asks == "by tiles"
        """whether nobody else asks for these lines"""

    def take_turns(self, loops: TileLoops, outer: Sequence[Term]) -> list[Term]:
        """
        Has macro tiles that take parts of the same lines each ask for some: of those that as many turns later take
        further ones. Returns the terms of that macro tile, in place of these.
        """
        parts = self.plan.macro_tiles_of_a_line
        over = [next(term for term in outer if term.digit == steps.digit) for steps in self.outer]
        others = [term for term in outer if all(term.digit != steps.digit for steps in self.outer)]
        self.part, self.count = numbered(self.outer, over) % parts, self.count // parts
        return [*others, *loops.further(self.outer, over, parts)]

    def ask(
        self, loops: TileLoops, outer: Sequence[Term], strides: Sequence[Stride], number: AffineExpr, turns: int
    ) -> None:
        """
        Asks for a turn's share of the lines: by its number, the next ones of all.

        The outer terms are of loops over digits that have these strides in the source.
        """
        share = -(-self.count // turns) if self.is_all else max(round(self.count / turns), 1)
        left = number * share
        if share > 1:
            left = left + loops.serial([Steps.of(0, 1, share)])[0].position
        if self.part is not None:
            left = left + self.part * (turns * share)
        *rows, along = self.lines
        at = None
        if along.count > 1:
            at = apply(loops.builder, left % along.count * along.step, loops.counters, "at")
            left = left // along.count
        terms = list(outer)
        for steps in reversed(rows):
            terms.append(Term(steps.digit, left % steps.count))
            left = left // steps.count
        here = loops.offset(terms, strides, self.plan.copy.src * self.ratio, "row")
        if at is not None:
            here = inserted(loops.builder, sum_of(here, at))
        if self.part is None:
            loops.builder.insert(load(self.source, here, self.one, self.plan.prefetch * self.ratio))
        else:
            loops.builder.insert(fetch(self.source, here))


def ask_in_turn(plan: CopyPlan, memory: Memory, loops: TileLoops, terms: Sequence[Term], tile: SSAValue) -> None:
    """A tile that is loaded from there asks for its share of the lines that it, and others, take parts of."""
    lines, ratio = lines_in_turn(plan), memory.ratio(plan)
    assert lines is not None, "plans whose tiles ask are checked"
    turn = TileLoops.position(terms, lines.digit) // lines.extent % lines.turns
    later = apply(loops.builder, turn * ((lines.step - lines.before) * ratio), loops.counters, "later")
    first = Place(inserted(loops.builder, sum_of(tile, later)))
    one = vector_type(memory.source_element, 1)
    for row in lines.rows:
        place = further(loops.builder, loops.nest, first, 0, row * ratio)
        loops.builder.insert(load(memory.source, place, one, plan.prefetch * ratio))
