"""About how many instructions a plan takes, with those that convert: what plans of other kinds are compared by."""

from __future__ import annotations

from math import prod

from layoutc.planning.conversions.gathered_rows import row_digits
from layoutc.planning.moves.boxes import LOAD, SHORT, TILE, tile_cost, waste
from layoutc.planning.plans.plan import ELEMENT_TILE, CopyPlan
from layoutc.planning.tiles.lanes import converted_lanes
from layoutc.planning.tiles.merged_tile import MergedTile

CONVERTED = 6.0
"""instructions that convert a vector, about"""
COMPUTED = 4
"""bytes of an f32, which most elements are on their way"""
ROW = 6.0
"""of a row that is converted by itself: of its loop, and of what is loaded for it"""
FILLED = 2.0
"""of a register of zeros that is stored"""
ALONE = 4.0
"""of an element that is loaded and stored by itself"""


def plan_cost(plan: CopyPlan) -> float:
    """Those of all elements of a copy."""
    return each_cost(plan) * prod(digit.extent for digit in plan.copy.digits)


def each_cost(plan: CopyPlan) -> float:
    """Those of an element."""
    copy, converts = plan.copy, bool(plan.converted_bytes)
    if copy.is_fill:
        return FILLED * plan.widths.dst / plan.vector_bytes
    if not plan.target_lanes:
        return ALONE + converts * CONVERTED / ELEMENT_TILE
    if plan.gathers_converted:
        return row_cost(plan) + each_cost(plan.gathered)
    if plan.merges:
        moved, vectors = box_instructions(plan)
        return (moved + TILE + converts * CONVERTED * vectors) / prod(plan.tile) * waste(copy, plan.tile)
    return tile_cost(plan) + (conversion_cost(plan) if converts else 0)


def row_cost(plan: CopyPlan) -> float:
    """Those of an element that is converted on its way into a buffer, by vectors along a row."""
    row = prod(plan.loaded_steps(g) for g in row_digits(plan))
    lanes = plan.vector_bytes // max(plan.widths.src, plan.widths.dst)
    return (CONVERTED * parts_converted(plan, lanes) * -(-row // lanes) + ROW) / row


def conversion_cost(plan: CopyPlan) -> float:
    """Those that convert an element in a tile with lanes."""
    lanes = converted_lanes(plan)
    return CONVERTED * parts_converted(plan, lanes) / lanes * waste(plan.copy, plan.tile)


def box_instructions(plan: CopyPlan) -> tuple[float, int]:
    """Those that move the elements of a box, about, and how many vectors it converts."""
    tile = MergedTile(plan)
    converts_loads = plan.widths.converted_at == "src"
    converted, lanes = (tile.held, tile.lanes) if converts_loads else (tile.wanted, tile.store_piece)
    short = sum(piece.mask > 0 for piece, _ in tile.wanted)
    moved = LOAD * len(tile.held) + len(tile.network.steps) + len(tile.wanted) + SHORT * short
    return moved, len(converted) * parts_converted(plan, lanes)


def parts_converted(plan: CopyPlan, lanes: int) -> int:
    """How many vectors so many lanes are while they are converted."""
    widest = max(plan.widths.src, plan.widths.dst, COMPUTED)
    return -(-lanes * widest // plan.vector_bytes)
