"""Which loads end a row: they begin in a line that the one before asks for, and ask for that in which they end."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from layoutc.planning.conversions.short_loads import has_short_loads
from layoutc.planning.machine import LINE
from layoutc.planning.plans.plan import CopyPlan
from layoutc.planning.tiles.tile import Register, pieces_of


def begin_earlier(plan: CopyPlan, loads: Sequence[Register], lanes: int) -> set[int]:
    """Where those begin that overlap the one before, of rows that are moved as they are and begin with lines."""
    if not plan.prefetch or not plan.keeps_rows or not _begin_with_lines(plan):
        return set()
    begins = sorted(piece.offset for piece in pieces_of(loads))
    return {begin for before, begin in pairwise(begins) if before < begin < before + lanes}


def asked_before(plan: CopyPlan, loads: Sequence[Register]) -> set[int]:
    """Where short loads begin of what an earlier one asks for, as the first of as many bytes as a register has."""
    found, asked = set[int](), None
    if plan.prefetch and has_short_loads(plan):
        for begin in sorted(piece.offset for piece in pieces_of(loads)):
            if asked is None or begin >= asked + plan.vector_bytes // plan.widths.src:
                asked = begin
            elif begin > asked:
                found.add(begin)
    return found


def _begin_with_lines(plan: CopyPlan) -> bool:
    """Whether rows that are loaded begin with lines of the source, if that does."""
    along, line = {part.digit for part in plan.source_lanes}, LINE // plan.widths.src
    starts = [plan.copy.src]
    for position, digit in enumerate(plan.copy.digits):
        starts += [step for _, step in digit.all_steps("src") if position not in along]
    return not any(start % line for start in starts)
