"""Boxes of rows that are short in the source: registers are merged, and converted where elements are narrower."""

from __future__ import annotations

from dataclasses import replace
from math import prod

from layoutc.planning.conversions.plan_cost import CONVERTED, box_instructions, conversion_cost
from layoutc.planning.copies.copy_digits import SideName, StridedCopy
from layoutc.planning.copies.widths import Widths
from layoutc.planning.machine import Machine, has_boxes, has_masks
from layoutc.planning.moves.boxes import BOX_GAIN, TILE, best_box, boxed, tile_cost, waste
from layoutc.planning.moves.plan_copy import stored
from layoutc.planning.plans.plan import CopyPlan
from layoutc.planning.tiles.lanes import converted_lanes
from layoutc.planning.tiles.merged_tile import converts_twice, count_pieces, has_whole_rows

FEW_CONVERTED = 16
"""A plan whose vectors convert but one element for so many of their bytes is worth a box."""
LEAST_FILLED = 0.25
"""of the lanes that are converted hold an element"""
LEAST_UNMASKED = 8
"""elements in a register of a box without masks"""
MOST_CONVERTED = 256
"""vectors that the boxes of all copies convert: each of them is text"""


def merged_plan(copy: StridedCopy, widths: Widths, target: Machine, streams: bool) -> CopyPlan | None:
    """
    The plan of a copy as a box that is converted when it is stored, or, where elements become wider, when it is loaded;
    None where there is none, or few lanes are filled.

    So a register that is merged is one load and one store.
    """
    plan = _box_of(copy, widths, target)
    if plan is None:
        return None
    when = "loaded, and merged then" if plan.widths.at == "src" else "stored, once they are merged"
    box = plan.because("tiles", f"a box, whose registers are converted as they are {when}")
    return stored(box, target, streams)


def has_box(copy: StridedCopy, widths: Widths, target: Machine) -> bool:
    """Whether a copy has such a plan."""
    return _box_of(copy, widths, target) is not None


def _box_of(copy: StridedCopy, widths: Widths, target: Machine) -> CopyPlan | None:
    """Its box, with macro tiles of one tile."""
    widens = widths.dst > widths.src
    held = max(widths.src, widths.dst)
    if widths.are_packed or copy.is_fill:
        return None
    if target.vector // held < LEAST_UNMASKED and not has_masks(target.vector, target.shuffles):
        return None
    if not copy.is_whole or best_box(copy, held, target) is None:
        return None
    box = boxed(copy, held, target)
    sides: tuple[SideName, ...] = ("src", "dst") if widens else ("dst",)
    for at in sides:
        plan = replace(box, widths=replace(widths, at=at))
        if converts_twice(plan) or not has_boxes(target.vector, target.shuffles, plan.widths.moved):
            continue
        is_whole = has_masks(target.vector, target.shuffles) or has_whole_rows(plan)
        if is_whole and filled(plan) >= LEAST_FILLED:
            return plan
    return None


def filled(plan: CopyPlan) -> float:
    """The share of the lanes that a box converts which hold an element."""
    lanes = plan.vector_bytes // plan.widths.moved
    return prod(plan.tile) / (lanes * count_pieces(plan, plan.widths.converted_at))


def converts_few(plan: CopyPlan) -> bool:
    """Whether the vectors of a plan convert few elements at once."""
    return not plan.target_lanes or converted_lanes(plan) <= plan.vector_bytes // FEW_CONVERTED


def takes_less(merged: CopyPlan, plan: CopyPlan, copies: int) -> bool:
    """
    Whether a box takes far fewer instructions than the lanes of a plan, with those that convert; of so many copies.

    Loops around tiles do not count: longer tiles of rows that stay as they are wait for more of a row. Past the caches
    elements that become narrower are read, more than stored, and rows for whole lines follow the source without a box.
    """
    if merged.store == "staged" and merged.widths.dst < merged.widths.src:
        return False
    if not has_masks(merged.vector_bytes, merged.shuffles):
        return False
    moved, vectors = box_instructions(merged)
    cost = (moved + CONVERTED * vectors) / prod(merged.tile) * waste(merged.copy, merged.tile)
    lanes = tile_cost(plan) + conversion_cost(plan) - TILE / prod(plan.tile) * waste(plan.copy, plan.tile)
    return vectors * copies <= MOST_CONVERTED and cost < BOX_GAIN * lanes
