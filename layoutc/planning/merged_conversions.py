"""Boxes of rows that are short in the source: registers are merged as they were loaded, and converted when stored."""

from __future__ import annotations

from dataclasses import replace
from math import prod

from layoutc.planning.boxes import best_box, boxed
from layoutc.planning.copy_digits import StridedCopy
from layoutc.planning.lanes import converted_lanes
from layoutc.planning.machine import Machine
from layoutc.planning.macro_tiles import NORMAL, STREAMED, with_macro
from layoutc.planning.merged_tile import MergedTile
from layoutc.planning.plan import CopyPlan
from layoutc.planning.reasons import because, next_copy
from layoutc.planning.widths import Widths

FEW_CONVERTED = 4
"""A plan whose vectors convert so few elements at once is worth a box."""
LEAST_FILLED = 0.25
"""of the lanes that are converted hold an element"""


def merged_plan(copy: StridedCopy, widths: Widths, target: Machine, streams: bool) -> CopyPlan | None:
    """
    The plan of a copy as a box that is converted when it is stored; None where there is none, or few lanes are filled.

    Elements do not become wider, so that a register that was merged is one store.
    """
    if widths.are_packed or widths.dst > widths.src or copy.is_fill or any(d.is_uneven for d in copy.digits):
        return None
    if not all(digit.is_whole for digit in copy.digits) or best_box(copy, widths.src, target) is None:
        return None
    plan = replace(boxed(copy, widths.src, target), converted_bytes=widths.dst, converted_at="dst")
    program = MergedTile(plan)
    if prod(plan.tile) < LEAST_FILLED * program.lanes * len(program.wanted):
        return None
    next_copy()
    because("tiles", "a box, whose registers are merged as they are loaded, and converted when stored")
    because("stores", "through the caches, as tiles that convert store parts of lines")
    return with_macro(plan, STREAMED if streams else NORMAL)


def converts_few(plan: CopyPlan) -> bool:
    """Whether the vectors of a plan convert few elements at once."""
    return not plan.gathers_converted and (not plan.target_lanes or converted_lanes(plan) <= FEW_CONVERTED)
