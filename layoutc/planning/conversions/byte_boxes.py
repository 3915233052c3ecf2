"""
Boxes of elements that share bytes: macro tiles of both sides lie in buffers in which each has a byte.

Rows of 3, 14 or 35 elements of 4 bits begin anywhere in a byte, and fill no register. In buffers of bytes a box takes
what is contiguous, with the zeros beside it, wherever it begins.
"""

from __future__ import annotations

from dataclasses import replace
from math import prod

from layoutc.planning.conversions.gathered_rows import gathers_bytes, row_digits
from layoutc.planning.conversions.shared_bytes import begins_with_bytes, in_byte_buffers
from layoutc.planning.copies.copy_digits import SIDES, SideName, StridedCopy, contiguous, without_partial
from layoutc.planning.copies.promotion import in_bytes
from layoutc.planning.copies.widths import Widths
from layoutc.planning.machine import Machine, merges_registers
from layoutc.planning.moves.boxes import BOX_GAIN, ELEMENT, best_box, boxed, tile_cost
from layoutc.planning.moves.lane_tiles import with_lanes
from layoutc.planning.moves.plan_copy import without_lanes
from layoutc.planning.plans.plan import ELEMENT_TILE, CopyPlan
from layoutc.planning.plans.row_spans import row_span
from layoutc.planning.reasons import because, next_copy
from layoutc.planning.tiles.lanes import choose_lanes, converted_lanes, fused
from layoutc.planning.tiles.merged_tile import converts_twice, count_pieces
from layoutc.planning.tiles.tile import TileProgram

LEAST_ROW = 16
"""elements of a row that is converted on its way into a buffer"""
PIECE = 4.0
"""instructions that take elements of a load apart, or put those of a store together"""
BUFFER = 0.2
"""the same for each element of long rows that go through a buffer of bytes, with those that load and store it"""
ROW = 12.0
"""instructions of a row: of its loop, and to find where it begins and ends"""
SHARED = 3.0
"""the same of an element that is put into a byte by itself"""
CONVERSION = 4.0
"""instructions that convert a register, about"""


def byte_box(copy: StridedCopy, widths: Widths, target: Machine, moves: bool, limit: float) -> CopyPlan | None:
    """
    The plan of a copy of elements that share bytes as a box between buffers; None where lanes do as well.

    `limit` are the instructions for each element of what else it may be.
    """
    if copy.is_fill or any(digit.is_uneven for digit in copy.digits):
        return None
    before = None if moves else _converted_before(copy, widths, target)
    plans = [plan for plan in (before, _converted_inside(copy, widths, target)) if plan is not None]
    plan = min(plans, key=lambda plan: _box_cost(plan, target, moves), default=None)
    limit = BOX_GAIN * min(limit, _straight_cost(copy, widths, target, moves))
    if plan is None or _box_cost(plan, target, moves) > limit:
        return None
    next_copy()
    because("tiles", "a box between buffers in which elements that share bytes have one each")
    return plan


def gathered_cost(plan: CopyPlan, target: Machine) -> float:
    """About how many instructions an element takes whose rows are converted into a buffer."""
    box = best_box(plan.copy, plan.widths.dst, target, over_gaps=False) if plan.merges else None
    cost = _gathering_cost(plan) + (tile_cost(plan.gathered) if box is None else box[0])
    return cost + (_buffer_cost(plan, "dst") if plan.store == "packed" else 0)


def _gathering_cost(plan: CopyPlan) -> float:
    """The same on its way into that buffer, by vectors along a row."""
    row = prod(plan.loaded_steps(g) for g in row_digits(plan))
    lanes = min(plan.vector_bytes // max(plan.widths.src, plan.widths.dst), 1 << row.bit_length() - 1)
    vector = CONVERSION + (PIECE if plan.widths.src_per_byte > 1 and gathers_bytes(plan) else 0)
    return BUFFER + (vector * -(-row // lanes) + ROW) / row


def _buffer_cost(plan: CopyPlan, side: SideName) -> float:
    """About how many instructions an element takes that goes through a buffer of bytes."""
    run = 1
    for _, digit in contiguous(plan.copy, side):
        run *= digit.loaded if side == "src" else digit.extent
    can_be_held = side == "src" and plan.gathers_lanes and bool(plan.source_run_digits)
    span = row_span(replace(plan, load="unpacked")) if can_be_held else None
    if span is not None:
        run *= span.at_once
    return BUFFER + (ROW if side == "src" else 2 * ROW) / run


def _straight_cost(copy: StridedCopy, widths: Widths, target: Machine, moves: bool) -> float:
    """About how many instructions an element takes by lanes, or by itself, and what is zero by fills."""
    keeps_zeros = widths.dst_per_byte > 1 and widths.converted_at == "src"
    in_part = (g for g, digit in enumerate(copy.digits) if not digit.is_whole)
    partial = without_lanes(copy, widths, target) if keeps_zeros else next(in_part, None)
    if partial is not None:
        parts = without_partial(copy, partial)
        return sum(part.elements * _straight_cost(part, widths, target, moves) for part in parts) / copy.elements
    if copy.is_fill and in_bytes(copy, widths.dst_per_byte) is not None:
        return 1 / ROW
    one = copy if copy.is_fill else fused(copy, widths, target)
    plan = with_lanes(one, widths, target, *choose_lanes(one, widths, target), converted=widths.dst)
    alone = ELEMENT + SHARED * (widths.dst_per_byte > 1) + (0.0 if moves else CONVERSION / ELEMENT_TILE)
    if not plan.target_lanes:
        return alone
    cost = tile_cost(plan)
    counts: tuple[int, int] = (0, 1)
    if not copy.is_fill:
        program = TileProgram(plan)
        counts = prod(program.load_counts), prod(program.store_counts)
        at_once = min(converted_lanes(plan), plan.vector_bytes // max(widths.src, widths.dst))
        cost += 0.0 if moves else CONVERSION / at_once
    for side, count in zip(SIDES, counts, strict=True):
        if widths.per_byte(side) > 1 and count:
            cost += PIECE * count / prod(plan.tile) if begins_with_bytes(plan, side) else _buffer_cost(plan, side)
    return min(cost, alone)


def _box_cost(plan: CopyPlan, target: Machine, moves: bool) -> float:
    """The same of a box."""
    widths = plan.widths
    found = best_box(
        plan.copy, widths.dst if plan.gathers_converted else max(widths.src, widths.dst), target, over_gaps=False
    )
    assert found is not None, "the plan is a box"
    cost = found[0] + (_buffer_cost(plan, "dst") if plan.store == "packed" else 0)
    if plan.gathers_converted:
        return cost + _gathering_cost(plan) + (0 if gathers_bytes(plan) else _buffer_cost(plan, "src"))
    cost += _buffer_cost(plan, "src") if plan.load == "unpacked" else 0
    return cost if moves else cost + CONVERSION * count_pieces(plan, "dst") / prod(plan.tile)


def _converted_inside(copy: StridedCopy, widths: Widths, target: Machine) -> CopyPlan | None:
    """A box that is converted when it is stored, or loaded where registers of such narrow elements are not merged."""
    held = max(widths.src, widths.dst)
    is_late = merges_registers(target.vector, target.shuffles, widths.src)
    is_early = widths.dst > widths.src and all(digit.is_whole for digit in copy.digits)
    if best_box(copy, held, target, over_gaps=False) is None or not (is_late or is_early):
        return None
    box = replace(boxed(copy, held, target, over_gaps=False), element_bytes=widths.src, converted_bytes=widths.dst)
    box = replace(box, converted_at="dst" if is_late else "src")
    if converts_twice(box):
        return None
    return in_byte_buffers(replace(box, per_byte=(widths.src_per_byte, widths.dst_per_byte)))


def _converted_before(copy: StridedCopy, widths: Widths, target: Machine) -> CopyPlan | None:
    """A box of what long rows have become on their way into a buffer."""
    if best_box(copy, widths.dst, target, over_gaps=False) is None:
        return None
    box = replace(
        boxed(copy, widths.dst, target, over_gaps=False), element_bytes=widths.src, converted_bytes=widths.dst
    )
    box = replace(box, per_byte=(widths.src_per_byte, widths.dst_per_byte))
    plan = in_byte_buffers(replace(box, load="staged") if box.gathers_lanes else box)
    if plan is None or plan.load != "staged" or not plan.source_run_digits or converts_twice(plan):
        return None
    return plan if prod(plan.loaded_steps(g) for g in row_digits(plan)) >= LEAST_ROW else None
