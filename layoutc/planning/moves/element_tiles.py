"""Tiles of copies without lanes: elements that are loaded and stored one by one, and converted at once."""

from __future__ import annotations

from dataclasses import replace
from math import prod

from layoutc.planning.moves.macro_shapes import NORMAL
from layoutc.planning.moves.macro_tiles import with_macro
from layoutc.planning.plans.plan import CONVERTED_LANE, ELEMENT_TILE, CopyPlan
from layoutc.planning.tiles.lanes import converted_lanes

LEAST = 256
"""elements of a copy that is worth the text of so many loads and stores"""
REGISTER_PER_LANE, HALF_LANES = 16, 2
"""
Bytes of a register for each lane of a vector that is converted for the price of a full one, a quarter of those, and
lanes that are few in any register that has twice as many.
"""


def with_element_tile(plan: CopyPlan, *, is_even: bool = False, turns: int = 1) -> CopyPlan:
    """
    The plan of a copy without lanes, or with few, with tiles of elements that are converted in a vector of many.

    Converted one by one, as compilers put it, most elements wait for a branch that was not foreseen. The tiles divide
    the copy if `is_even`, which runs in so many turns.
    """
    if not has_few_lanes(plan, turns):
        return plan
    if plan.stages_stores:
        plan = with_macro(replace(plan, store="normal", side_by_side=False), NORMAL)
    tile, room = [1] * len(plan.tile), ELEMENT_TILE
    for position in reversed(plan.inner_order):
        digit = plan.copy.digits[position]
        if not digit.carries:
            tile[position] = _part(digit.extent, room, is_even)
            room //= tile[position]
    if prod(tile) < 2 * converted_lanes(plan):
        return plan
    if plan.target_lanes:
        plan = plan.because("loads", "straight").because("stores", "normal, through the caches")
    macro = tuple(max(t, m // t * t) for t, m in zip(tile, plan.macro, strict=True))
    plan = replace(plan, source_lanes=(), target_lanes=(), load="normal", store="normal", prefetch=0, asks="")
    why = f"{prod(tile)} elements, loaded and stored one by one, as a side has too few contiguous ones"
    return plan.because("tiles", why, tile=tuple(tile), macro=macro)


def has_few_lanes(plan: CopyPlan, turns: int = 1) -> bool:
    """Whether many elements are converted on their way between the memories, few of them at once, or each by itself."""
    if not plan.widths.converts or plan.copy.is_fill or plan.gathers_converted:
        return False
    if plan.copy.elements * turns < LEAST:
        return False
    is_whole = plan.copy.is_whole
    lanes, half = converted_lanes(plan), plan.vector_bytes // max(CONVERTED_LANE, plan.widths.src, plan.widths.dst) // 2
    return is_whole and lanes <= max(plan.vector_bytes // REGISTER_PER_LANE, min(HALF_LANES, half))


def _part(extent: int, room: int, is_even: bool) -> int:
    """All of a digit, or a power of two of its steps."""
    if extent <= room:
        return extent
    most = 1 << (room.bit_length() - 1)
    return min(most, extent & -extent) if is_even else most
