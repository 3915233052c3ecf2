"""Macro tiles of copies that go element by element: they follow the lines of both sides."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import prod

from layoutc.planning.copies.copy_digits import SIDES, CopyDigit, SideName
from layoutc.planning.machine import LINE, PAGE, Machine
from layoutc.planning.plans.plan import CopyPlan

ELEMENT_PART = 0.5
"""of the second cache, what lines of a macro tile take on both sides at most, to be held"""
MOST_PAGES = 512
"""that lines of a macro tile are in: processors know where 1500 to 2000 are without looking into memory"""
STORED_LINES = 2
"""times what a line of the source costs, one of the destination does: it is loaded and stored"""


def with_element_macro(plan: CopyPlan, target: Machine) -> CopyPlan:
    """
    The plan with macro tiles of all but the slowest digit, where the second cache holds their lines, in few pages.

    Others grow along the digit by which each element costs the least lines, on whichever side, while the first holds
    them.
    """
    digits = enumerate(plan.copy.digits)
    macro = [plan.tile[g] if g == plan.outer_order[0] else digit.extent for g, digit in digits]
    held = sum(_lines(plan, side, macro) for side in SIDES) * LINE <= ELEMENT_PART * target.l2
    held = held and sum(_rows(plan, side, macro, PAGE)[0] for side in SIDES) <= MOST_PAGES
    if not held and not plan.copy.is_fill:
        why = f"grown by the nearest elements of both sides, to {target.l1} bytes of lines"
        return plan.because("macro tiles", why, macro=tuple(_grown(plan, target.l1 / LINE)))
    return replace(plan, macro=tuple(macro))


def _grown(plan: CopyPlan, budget: float) -> list[int]:
    """Macro tiles that are doubled along one digit after the other."""
    macro, cost = [*plan.tile], _cost(plan, plan.tile)
    while True:
        tried: list[tuple[float, list[int]]] = []
        for position, extent in enumerate(plan.extents):
            larger = [min(2 * n, extent) if g == position else n for g, n in enumerate(macro)]
            if larger != macro and sum(_lines(plan, side, larger) for side in SIDES) <= budget:
                tried.append((_cost(plan, larger), larger))
        if not tried or (best := min(tried))[0] >= cost:
            return macro
        cost, macro = best


def _cost(plan: CopyPlan, macro: Sequence[int]) -> float:
    """Lines that a macro tile has for each of its elements."""
    lines = _lines(plan, "src", macro) + STORED_LINES * _lines(plan, "dst", macro)
    return lines / prod(macro)


def _lines(plan: CopyPlan, side: SideName, macro: Sequence[int]) -> float:
    """About how many lines a macro tile has on a side, of runs of elements that are less than a line apart."""
    runs, reach = _rows(plan, side, macro, LINE)
    return runs * (1 + (reach - plan.widths.of(side)) / LINE)


def _rows(plan: CopyPlan, side: SideName, macro: Sequence[int], apart: int) -> tuple[int, int]:
    """How many rows of a macro tile lie more than so many bytes apart on a side, and the bytes of one."""
    width = plan.widths.of(side)
    steps = sorted(step for digit, n in zip(plan.copy.digits, macro, strict=True) for step in _strides(digit, side, n))
    reach, rows = width, 1
    for stride, count in steps:
        if stride * width <= reach + apart:
            reach += (count - 1) * stride * width
        else:
            rows *= count
    return rows, reach


def _strides(digit: CopyDigit, side: SideName, count: int) -> list[tuple[int, int]]:
    """The strides of so many steps of a digit, and how many have each."""
    found: list[tuple[int, int]] = []
    for extent, stride in digit.all_steps(side):
        found.append((stride, min(extent, count)))
        count = -(-count // extent)
    return found
