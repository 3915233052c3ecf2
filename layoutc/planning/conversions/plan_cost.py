"""About how many instructions a plan takes, with those that convert: what plans of other kinds are compared by."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from functools import lru_cache
from math import prod

from layoutc.planning.conversions.gathered_rows import gathers_bytes, row_digits
from layoutc.planning.conversions.short_loads import has_short_loads
from layoutc.planning.copies.copy_digits import SIDES, SideName
from layoutc.planning.copies.runs import contiguous
from layoutc.planning.copies.widths import Widths
from layoutc.planning.moves.boxes import LOAD, SHORT, TILE, tile_cost, waste
from layoutc.planning.plans.plan import ELEMENT_TILE, CopyPlan
from layoutc.planning.plans.row_spans import row_span
from layoutc.planning.plans.turns import Through
from layoutc.planning.tiles.lanes import converted_lanes
from layoutc.planning.tiles.merged_tile import MergedTile
from layoutc.planning.tiles.tile import TileProgram

CONVERTED = 6.0
"""instructions that convert a vector, about"""
COMPUTED = 4
"""bytes of an f32, which most elements are on their way; others have one, or none as they stay what they are"""
ROW = 12.0
"""of a row that is converted by itself, or taken apart: of its loop, and to find where it begins and ends"""
FILLED = 2.0
"""of a register of zeros that is stored"""
ALONE = 4.0
"""of an element that is loaded and stored by itself"""
PIECE = 4.0
"""of what takes elements of a load apart that share bytes, or puts those of a store together"""
SHARED = 8.0
"""of an element that is put into a byte by itself"""
SHARED_BY_CODES = 2
"""elements of a byte that short loads take apart for nothing"""
TAKEN_APART = 0.2
"""of an element of a long row that goes through a buffer in which each has a byte, with its load and store there"""


def parts_cost(parts: Iterable[CopyPlan | Through], computed: int = COMPUTED, threads: int = 1) -> float:
    """
    Those of all copies, in all of their turns, of elements that have so many bytes while they are converted.

    Of several threads some wait where turns are few: that costs as much as if they did the same.
    """
    return sum(
        plan_cost(part, computed) if isinstance(part, CopyPlan) else _turns_cost(part, computed, threads)
        for part in parts
    )


def _turns_cost(through: Through, computed: int, threads: int) -> float:
    """Those of all turns; where bytes are moved from image to image, rows convert them."""
    turn = sum(plan_cost(plan, computed) for plan in through.copies)
    if through.converts_rows:
        turn += sum(CONVERTED * computed / plan.vector_bytes * plan.copy.elements for plan in through.between)
    turns = prod(-(-loop.extent // loop.step) for loop in through.loops)
    waiting = -turns % threads / turns
    return turn * prod(loop.extent / loop.step for loop in through.loops) * (1 + waiting)


def plan_cost(plan: CopyPlan, computed: int = COMPUTED) -> float:
    """Those of all elements of a copy."""
    return each_cost(plan, computed) * prod(digit.extent for digit in plan.copy.digits)


def each_cost(plan: CopyPlan, computed: int = COMPUTED) -> float:
    """Those of an element."""
    if plan.gathers_converted:
        return row_cost(plan, computed) + each_cost(plan.gathered)
    return _tile_cost(plan, computed) + sum(_shared_cost(plan, side) for side in SIDES)


def _tile_cost(plan: CopyPlan, computed: int) -> float:
    """The same as if no elements shared bytes."""
    copy, converted = plan.copy, CONVERTED if plan.widths.converts and computed else 0.0
    if plan.moves_rows:
        return 0.0
    if copy.is_fill and plan.widths.dst_per_byte == 1:
        return FILLED * plan.widths.dst / plan.vector_bytes
    if not plan.target_lanes:
        return ALONE + converted / ELEMENT_TILE
    if plan.merges:
        moved, vectors = box_instructions(plan, computed)
        return (moved + TILE + converted * vectors) / prod(plan.tile) * waste(copy, plan.tile)
    return tile_cost(plan) + (conversion_cost(plan, computed) if converted and not copy.is_fill else 0)


def least_cost(widths: Widths, computed: int, vector: int) -> float:
    """Those of an element that goes by way of buffers, at the least: another plan is worth making if they are few."""
    sides = sum(widths.per_byte(side) > 1 for side in SIDES)
    return sides * TAKEN_APART + CONVERTED * computed / vector


def _shared_cost(plan: CopyPlan, side: SideName) -> float:
    """Those that take an element out of a byte that others share, or put it there."""
    if plan.widths.per_byte(side) == 1 or (plan.copy.is_fill and side == "src"):
        return 0.0
    if side == "src" and plan.widths.src_per_byte == SHARED_BY_CODES and has_short_loads(plan):
        return 0.0
    if plan.has_byte_buffer(side):
        return _buffer_cost(plan, side)
    if not plan.target_lanes:
        return SHARED * (side == "dst")
    program = TileProgram(plan)
    return PIECE * prod(program.load_counts if side == "src" else program.store_counts) / prod(plan.tile)


def _buffer_cost(plan: CopyPlan, side: SideName) -> float:
    """Those of an element of a row that is taken apart in a buffer, or put together out of it."""
    along = contiguous(plan.copy, side)
    run = prod(digit.loaded if side == "src" else digit.extent for _, digit in along)
    span = row_span(plan) if side == "src" else None
    at_once = 1 if span is None else span.at_once
    return TAKEN_APART + ROW * (1 if side == "src" else 2) / (run * at_once)


def row_cost(plan: CopyPlan, computed: int = COMPUTED) -> float:
    """Those of an element that is converted on its way into a buffer, by vectors along a row."""
    row = prod(plan.loaded_steps(g) for g in row_digits(plan))
    lanes = plan.vector_bytes // max(plan.widths.src, plan.widths.dst)
    vector, apart = CONVERTED * parts_converted(plan, lanes, computed), 0.0
    if plan.widths.src_per_byte > 1:
        if gathers_bytes(plan):
            vector += PIECE
        else:
            apart = _buffer_cost(replace(plan, load="unpacked"), "src")
    return (vector * -(-row // lanes) + ROW) / row + apart


def conversion_cost(plan: CopyPlan, computed: int = COMPUTED) -> float:
    """Those that convert an element in a tile with lanes."""
    lanes = converted_lanes(plan)
    return CONVERTED * parts_converted(plan, lanes, computed) / lanes * waste(plan.copy, plan.tile)


@lru_cache(maxsize=256)
def box_instructions(plan: CopyPlan, computed: int = COMPUTED) -> tuple[float, int]:
    """Those that move the elements of a box, about, and how many vectors it converts."""
    tile = MergedTile(plan)
    converts_loads = plan.widths.converted_at == "src"
    converted, lanes = (tile.held, tile.lanes) if converts_loads else (tile.wanted, tile.store_piece)
    short = sum(piece.mask > 0 for piece, _ in tile.wanted)
    moved = LOAD * len(tile.held) + tile.merges + len(tile.wanted) + SHORT * short
    return moved, len(converted) * parts_converted(plan, lanes, computed)


def parts_converted(plan: CopyPlan, lanes: int, computed: int = COMPUTED) -> int:
    """How many vectors so many lanes are while they are converted; none if nothing is computed."""
    widest = max(plan.widths.src, plan.widths.dst, computed) if computed else 0
    return -(-lanes * widest // plan.vector_bytes)
