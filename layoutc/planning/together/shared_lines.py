"""
Copies that fill whole lines of the destination together, out of buffers that they share.

A turn writes one run, or runs of several rows that lie apart: such as the pixels that 64 channels and a last one fill.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import prod

from layoutc.errors import LayoutcError
from layoutc.planning.copies.copy_digits import Sized, StridedCopy, without_partial
from layoutc.planning.copies.runs import contiguous
from layoutc.planning.copies.widths import Widths
from layoutc.planning.machine import LINE, Machine
from layoutc.planning.moves.boxes import best_box
from layoutc.planning.moves.plan_copy import needs_box, plan_moved
from layoutc.planning.moves.staged_stores import MIN_STAGED_RUN
from layoutc.planning.plans.macro_buffers import MAX_STAGE_BYTES
from layoutc.planning.plans.plan import CopyPlan
from layoutc.planning.plans.turns import SharedLoop, Together
from layoutc.planning.tiles.lanes import PIECE_BYTES, choose_lanes, fused, lane_count
from layoutc.planning.tiles.padded import padded_lanes
from layoutc.planning.together.next_turn import for_next_turn
from layoutc.planning.together.together import Measured, alike, moved_groups, with_runs
from layoutc.planning.together.turn_copies import reduced
from layoutc.planning.together.unions import unions

ROWS_TURN_PART = 16
"""copies that write several rows out of a buffer move a sixteenth of the second cache in a turn"""
ROWS_PART = 4
"""a quarter of it holds their buffer, in which rows are lines apart"""
LONG_ROW, LONG_STAGED_RUN = 1 << 10, 2 << 10
"""bytes of a row of the source, and of a run that leaves a buffer, from which on copies gain nothing by rows"""
STAGED_TURN = 2 << 10
"""bytes that copies which run together write in a turn: with 24 KiB they took 1.5 times as long"""
RUNS_TURN = 8 << 10
"""bytes where all of some loops is in each step of a turn, of which the next one has a line, or a step, once more"""
LONG_TURN, MOST_LONG_TURN = 72 << 10, 96 << 10
"""bytes of turns that are long enough for lanes, and the most that turns of one line of the source write"""


def turn_of(copy: StridedCopy, size: int, loops: Sequence[SharedLoop]) -> Sized:
    """What a copy does in one turn of the loops."""
    return reduced(copy, Widths(size, size), loops), size


def largest_of(plans: Sequence[CopyPlan]) -> CopyPlan:
    """The copy that writes the most bytes."""
    return max(plans, key=lambda plan: plan.copy.elements * plan.widths.dst)


def is_tiled(copy: StridedCopy, size: int, target: Machine) -> bool:
    """Whether a copy that is loaded in part has a tile for it."""
    has_tile = best_box(copy, size, target) is not None or bool(padded_lanes(copy, size, target))
    return has_tile or not needs_box(copy, Widths(size, size), target)


def staged_together(loops: Sequence[SharedLoop], group: Sequence[Sized], target: Machine) -> Together | None:
    """
    Copies that fill whole lines together, out of buffers that they share; none if they do not.

    Where short turns have no lanes, longer ones may.
    """
    part = _with_buffers(with_runs(loops, group, STAGED_TURN), group, target)
    return part or _in_long_turns(loops, group, target)


def _in_long_turns(loops: Sequence[SharedLoop], group: Sequence[Sized], target: Machine) -> Together | None:
    """Such copies with turns of whole lines of the source, where they would store parts of lines by themselves."""
    group = [part for sized in group for part in _apart_from_zeros(*sized, target)]
    turns = with_runs(loops, group, LONG_TURN, has_lines=True)
    moved = sum(turn.elements * size for turn, size in (turn_of(*sized, turns) for sized in group))
    if _cut_lines(turns) or moved > MOST_LONG_TURN:
        return None
    part = _with_buffers(turns, group, target)
    if part is None:
        return None
    pairs = ((plan_moved(*sized, target, streams=True), turn) for sized, turn in zip(group, part.copies, strict=True))
    is_better_alone = any(copy.store == "nontemporal" or (turn.merges and not copy.merges) for copy, turn in pairs)
    return None if is_better_alone else part


def _cut_lines(turns: Sequence[SharedLoop]) -> bool:
    """Whether a turn has less than a line of what goes on in the next one."""
    return any(0 < loop.src * loop.step < LINE and loop.step < loop.extent for loop in turns)


def staged_rows(
    loops: Sequence[SharedLoop], group: Sequence[Sized], together: Sequence[CopyPlan], target: Machine
) -> Together | None:
    """
    Such copies in place of these, which store parts of lines: in turns of one run, or of runs of rows that lie apart.

    Not where the largest stores whole lines, or all but those at the ends of long runs, nor where it leaves single
    elements to others, or loads long rows: then a buffer that only the second cache holds gains nothing.
    """
    largest = largest_of(together)
    has_single = any(not copy.target_lanes for copy in together)
    row = prod(largest.copy.digits[g].loaded for g, _ in contiguous(largest.copy, "src"))
    is_long = row * largest.widths.src >= LONG_ROW or largest.run * largest.widths.src >= LONG_STAGED_RUN
    if largest.store == "nontemporal" or (largest.stages_stores and (has_single or is_long)):
        return None
    return _in_whole_runs(loops, group, target) or _in_rows(loops, group, target)


def _in_whole_runs(loops: Sequence[SharedLoop], group: Sequence[Sized], target: Machine) -> Together | None:
    """Such copies that do all steps of loops that lie inside of what a step of the others writes, as two columns do."""
    outer = around_runs(loops, [(copy, Widths(size, size)) for copy, size in group])
    turns = with_runs(outer, group, RUNS_TURN)
    if len(outer) == len(loops) or _cut_lines(turns):
        return None
    return _with_buffers(turns, group, target, most=2 * RUNS_TURN)


def around_runs(loops: Sequence[SharedLoop], group: Sequence[Measured]) -> list[SharedLoop]:
    """Those of the loops that lie around all that copies write in one step of them."""
    single = [replace(loop, step=1) for loop in loops]
    steps = [digit.dst * each[1].dst for each in group for digit in reduced(*each, single).digits]
    return [loop for loop in loops if loop.dst > max(steps, default=0)]


def _in_rows(loops: Sequence[SharedLoop], group: Sequence[Sized], target: Machine) -> Together | None:
    """Such copies in turns of several runs, which are of equal size though they may overlap by a line."""
    shorter = moved_groups(group, target.l2 // ROWS_TURN_PART)
    if len(shorter) == 1 and shorter[0][0]:
        loops = shorter[0][0]
    turns = [loop for loop in loops if loop.step < loop.extent]
    most = target.l2 // ROWS_PART
    part = _with_buffers(turns, group, target, has_rows=True, most=most)
    if part is None or (even := _even_turns(part)) == turns:
        return part
    return _with_buffers(even, group, target, has_rows=True, most=most)


def _even_turns(part: Together) -> list[SharedLoop]:
    """The loops, of which that in which runs end has turns of equal size with the line that two of them have."""
    found = list(part.loops)
    for union in unions(part):
        last = union.plan.run_digits[-1]
        if last < len(found) and (loop := found[last]).step < loop.extent:
            overlap = loop.step - union.plan.macro_step(last)
            turns = -(-(loop.extent - overlap) // (loop.step - overlap))
            found[last] = replace(loop, step=-(-(loop.extent - overlap) // turns) + overlap)
    return found


def _apart_from_zeros(copy: StridedCopy, size: int, target: Machine) -> list[Sized]:
    """A copy, or what it loads and the zeros beside that, where both are an odd number and make short lanes."""
    partial, widths = copy.first_partial, Widths(size, size)
    if partial is None or lane_count(choose_lanes(copy, widths, target)[1]) * size >= PIECE_BYTES:
        return [(copy, size)]
    return [(part, size) for part, _ in alike([(part, widths) for part in without_partial(copy, partial)])]


def _with_buffers(
    turns: Sequence[SharedLoop],
    group: Sequence[Sized],
    target: Machine,
    *,
    has_rows: bool = False,
    most: int = MAX_STAGE_BYTES,
) -> Together | None:
    """Copies that run in such turns, whose buffers have one run or, with rows, several, and at most so many bytes."""
    inner = [turn_of(*sized, turns) for sized in group]
    if not all(_keeps_lanes(*alone, turn, target) for alone, (turn, _) in zip(group, inner, strict=True)):
        return None
    if not all(is_tiled(*sized, target) for sized in inner):
        return None
    # Otherwise what is a whole line in the first turn is none in the others.
    streams = all(loop.dst % LINE == 0 for loop in turns)
    moved = sum(copy.elements * size for copy, size in inner)
    planned = (plan_moved(*piece, target, streams, buffered=True) for piece in inner)
    asking = [for_next_turn(plan, turns, moved, target) for plan in planned]
    return out_of_buffers(turns, asking, has_rows=has_rows, most=most)


def out_of_buffers(
    turns: Sequence[SharedLoop], copies: Sequence[CopyPlan], *, has_rows: bool = False, most: int = MAX_STAGE_BYTES
) -> Together | None:
    """Copies that share buffers in such turns, if these have one run or, with rows, several, which are long enough."""
    try:
        part = Together(tuple(turns), tuple(copies), "staged")
        made = unions(part)
        fits = sum(union.plan.buffer_bytes("dst") for union in made) <= most
        fits &= has_rows or all(union.plan.run == prod(union.plan.macro) for union in made)
        runs = [union.plan.run * union.plan.widths.src for union in made] if fits else []
    except LayoutcError:
        return None
    return part if min(runs, default=0) >= MIN_STAGED_RUN else None


def _keeps_lanes(alone: StridedCopy, size: int, turn: StridedCopy, target: Machine) -> bool:
    """Whether a copy has lanes of 16 bytes in a turn, or as many as alone."""
    widths = Widths(size, size)
    before, after = (choose_lanes(fused(copy, widths, target), widths, target) for copy in (alone, turn))
    sides = zip(before, after, strict=True)
    return all(min(lane_count(a) * size, PIECE_BYTES) <= lane_count(b) * size for a, b in sides)
