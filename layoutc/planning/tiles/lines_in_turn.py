"""
Lines that several tiles take parts of, and which of them each asks for.

A load that takes 16 bytes of a line asks for the same line as three others. Where tiles ask, each does so for a part of
its rows: of four tiles that follow one another along a line, for a quarter.
"""

from __future__ import annotations

from itertools import product
from math import prod
from typing import NamedTuple

from layoutc.planning.machine import LINE
from layoutc.planning.plans.plan import CopyPlan


class LinesInTurn(NamedTuple):
    """
    `turns` tiles along `digit`, each of `extent` steps, take parts of the same lines.

    Each asks where its lines begin: the first, `rows` elements of the plan from it, each later one, which itself begins
    `before` further on in them, in rows `step` further on.
    """

    digit: int
    extent: int
    turns: int
    before: int
    step: int
    rows: tuple[int, ...]


def lines_in_turn(plan: CopyPlan) -> LinesInTurn | None:
    """What tiles ask for in turn; None if none take parts of the same lines, or their rows are no multiple of them."""
    is_plain = plan.widths.src_per_byte == 1 and plan.copy.is_whole
    if not plan.source_lanes or plan.merges or not is_plain:
        return None
    lanes = [part.digit for part in plan.source_lanes]
    turns = LINE // (prod(plan.tile[g] for g in lanes) * plan.widths.src)
    along = plan.copy.digits[lanes[-1]]
    others = [g for g, steps in enumerate(plan.tile) if steps > 1 and g not in lanes]
    strides = [(stride, plan.tile[g]) for g in others if isinstance(stride := plan.copy.digits[g].stride("src"), int)]
    if turns < 2 or along.extent < turns * plan.tile[lanes[-1]] or not strides or len(strides) < len(others):
        return None
    *near, (far, rows) = sorted(strides)
    if rows % turns:
        return None
    starts = product(*([stride * step for step in range(steps)] for stride, steps in (*near, (far, rows // turns))))
    before = along.offset("src", plan.tile[lanes[-1]])
    return LinesInTurn(lanes[-1], plan.tile[lanes[-1]], turns, before, far * rows // turns, tuple(map(sum, starts)))
