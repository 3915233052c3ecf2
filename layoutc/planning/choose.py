"""Choosing a plan: which copies, how each runs, and which run together, by rules that benchmarks/ justifies."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import gcd

from layoutc.conversion import NO_ATTRIBUTES, Conversion
from layoutc.descriptor import MemoryDesc
from layoutc.errors import LayoutcError
from layoutc.planning.axis_copies import Joins
from layoutc.planning.boxes import ELEMENT, best_box, loads_over_gaps
from layoutc.planning.copy_digits import StridedCopy
from layoutc.planning.lanes import PIECE_BYTES, choose_lanes, fused, lane_count
from layoutc.planning.machine import FAR_STREAMED, FAR_STREAMED_SHARED, Machine, machine, merges_registers
from layoutc.planning.merged_conversions import has_box
from layoutc.planning.padded import padded_lanes
from layoutc.planning.plan import LINE, CopyPlan, Plan
from layoutc.planning.plan_conversions import Converting, converting_plans
from layoutc.planning.plan_copy import instructions, needs_box, pieces, plan_moved
from layoutc.planning.plan_through import best_buffer, plan_through
from layoutc.planning.promotion import MAX_ELEMENT_BYTES, in_bytes
from layoutc.planning.reasons import because, forget_copies
from layoutc.planning.running_sums import with_running_sums
from layoutc.planning.shorter_tiles import with_shorter_tiles
from layoutc.planning.spread_params import as_spread
from layoutc.planning.staged_stores import MIN_STAGED_RUN
from layoutc.planning.stores import evict_each_other
from layoutc.planning.strided_copy import NotStridedError, strided_copies
from layoutc.planning.together import NEAR, Sized, groups, reduced, with_runs
from layoutc.planning.turns import SharedLoop, Together
from layoutc.planning.unions import unions
from layoutc.planning.widths import Widths

PARALLEL_BYTES = 128 << 10
"""what a copy writes, below which threads that wait for work take as long to start as they gain"""
FEW_COPIES = 4
"""as many as are counted: threads start with each, and gain more of what fills the second cache"""
JOIN_GAIN = 0.8
"""Boxes have all of short axes if they need less than this share of the instructions."""
TURN_PART = 8
"""copies that run together move an eighth of the second cache in a turn"""
L1_TURN_PART = 4
"""a quarter of the first cache, where the second one holds the destination"""
LONG_RUN = 1 << 10
"""bytes of a run, of which a turn may have a part"""
STAGED_TURN = 2 << 10
"""bytes that copies which run together write in a turn: with 24 KiB they took 1.5 times as long"""


def choose_plan(
    source: MemoryDesc,
    destination: MemoryDesc,
    target: Machine | None = None,
    threads: int = 1,
    conversion: Conversion = NO_ATTRIBUTES,
) -> Plan:
    """
    The plan of a reorder on a machine (default: this one), which moves elements as they are or converts each.

    Raises NotStridedError if the reorder has no form as strided copies.
    """
    target = target or machine()
    if conversion.compensation is not None:
        found = _with_running_sums(source, destination, target, threads, conversion)
        if found is not None:
            return found
        conversion = replace(conversion, compensation=None)
    return _plan(source, destination, target, threads, conversion)


def _with_running_sums(
    source: MemoryDesc, destination: MemoryDesc, target: Machine, threads: int, conversion: Conversion
) -> Plan | None:
    """The plan whose tiles add up the sums of a compensation, if they can."""
    try:
        plan = _plan(source, destination, target, threads, conversion)
    except NotStridedError:
        return None
    found = with_running_sums(plan, as_spread(source, destination, conversion), destination)
    if found is None:
        forget_copies(len(plan.copies))
    return found


def _plan(source: MemoryDesc, destination: MemoryDesc, target: Machine, threads: int, conversion: Conversion) -> Plan:
    """The plan of copies that, with a compensation, say which sums their elements go into."""
    moves = conversion.arithmetic(source.element_type, destination.element_type) == "move"
    buffered = best_buffer(source, destination, target) if moves and destination.element_type.bits >= 8 else None
    if buffered is not None:
        threads = _worth(threads, destination, len(buffered.halves))
        streams = _streams(source.size_bytes, destination.size_bytes, target, threads)
        return Plan(plan_through(buffered, destination.element_type.bits // 8, target, streams), threads)
    copies, widths = copies_of(source, destination, conversion)
    threads = _worth(threads, destination, len(copies))
    streams = _streams(source.size_bytes, destination.size_bytes, target, threads)
    if not moves or widths.are_packed:
        adds = bool(conversion.sum)
        if len(copies) > 1 and not moves and not adds:
            copies = _joined_conversions(source, destination, copies, conversion, widths, target)
        how = Converting(widths, target, streams, threads, adds, moves)
        return Plan(with_shorter_tiles(converting_plans(copies, how)), threads)
    moved = [piece for copy in copies for piece in pieces(copy, widths.dst, target)]
    if len(copies) > 1:
        moved = _joined(source, destination, moved, conversion, widths.dst, target)
    if threads > 1 and not streams and _streams_early(moved, destination.size_bytes, target):
        because("caches", "past them, as in them rows would evict each other or leave a buffer; one thread goes too")
        streams = True
    if destination.size_bytes < target.l2:
        return Plan(_parts_in_cache(moved, target, streams), threads)
    return Plan(_parts(moved, target, streams), threads)


def _parts_in_cache(moved: Sequence[Sized], target: Machine, streams: bool) -> tuple[CopyPlan | Together, ...]:
    """
    The copies of a reorder that the second cache holds, those together that share lines of the first one.

    That pays where lines are what a copy waits for, not shuffles, and the first one holds a turn.
    """
    parts: list[CopyPlan | Together] = []
    for loops, group in groups(moved, target.l1 // L1_TURN_PART):
        turns = [(reduced(copy, size, loops), size) for copy, size in group]
        if loops and sum(copy.elements * size for copy, size in turns) <= target.l1 // 2:
            alone = [plan_moved(*sized, target, streams) for sized in group]
            forget_copies(len(alone))
            together = tuple(plan_moved(*sized, target, streams) for sized in turns)
            if all(_moves_alike(*pair) for pair in zip(alone, together, strict=True)):
                parts.append(Together(loops, together))
                continue
            forget_copies(len(together))
        parts += [plan_moved(*sized, target, streams) for sized in group]
    return tuple(parts)


def _moves_alike(alone: CopyPlan, turn: CopyPlan) -> bool:
    """Whether a copy and a turn of it have the same tiles, of rows that stay rows, and runs as long, or long ones."""
    tiles = [([part.extent for part in p.target_lanes], [n for n in p.tile if n > 1]) for p in (alone, turn)]
    stays = all(p.copy.is_fill or p.source_lanes == p.target_lanes for p in (alone, turn))
    return stays and tiles[0] == tiles[1] and turn.run >= min(alone.run, LONG_RUN // turn.element_bytes)


def _worth(threads: int, destination: MemoryDesc, copies: int) -> int:
    """As many threads as gain more than they take to start."""
    least = PARALLEL_BYTES * min(copies, FEW_COPIES)
    if threads == 1 or destination.size_bytes >= least:
        return threads
    because("threads", f"one, as more take as long to start as they gain where less than {least} bytes are written")
    return 1


def _parts(moved: Sequence[Sized], target: Machine, streams: bool) -> tuple[CopyPlan | Together, ...]:
    """The copies of a reorder that does not fit the second cache, those together that share lines."""
    budget = target.l2 // TURN_PART
    parts: list[CopyPlan | Together] = []
    left = list(moved)
    found = tried = groups(moved, budget)
    for loops, group in found if streams else ():
        staged = _staged_together(loops, group, target) if loops else None
        if staged is not None:
            parts.append(staged)
            left = [sized for sized in left if sized not in group]
    if len(left) < len(moved):
        found = groups(left, budget)
    for loops, group in found:
        inner = [(reduced(copy, size, loops), size) for copy, size in group]
        if any(not _is_tiled(*sized, target) for sized in inner):
            loops = ()
        is_new = loops and streams and (loops, group) not in tried
        staged = _staged_together(loops, group, target) if is_new else None
        if staged is not None:
            parts.append(staged)
            continue
        # What is a whole line in the first turn need be none in the others.
        turns = [loop.dst for loop in loops if loop.step < loop.extent]
        of_turn = replace(target, alignment=gcd(target.alignment, *turns))
        planned = tuple(plan_moved(*piece, of_turn, streams) for piece in (inner if loops else group))
        if loops and streams and _largest(planned).store == "normal" and not _is_cached(group, target):
            forget_copies(len(planned))
            loops, planned = (), tuple(plan_moved(*piece, target, streams) for piece in group)
        parts += [Together(loops, planned)] if loops else planned
    return tuple(parts)


def _largest(plans: Sequence[CopyPlan]) -> CopyPlan:
    return max(plans, key=lambda plan: plan.copy.elements * plan.element_bytes)


def _is_cached(copies: Sequence[Sized], target: Machine) -> bool:
    """Whether the largest of several copies would be stored through the caches, where others go past them."""
    plan = plan_moved(*max(copies, key=lambda sized: sized[0].elements * sized[1]), target, streams=True)
    forget_copies(1)
    return plan.store == "normal"


def _is_tiled(copy: StridedCopy, size: int, target: Machine) -> bool:
    """Whether a copy that is loaded in part has a tile for it."""
    has_tile = best_box(copy, size, target) is not None or bool(padded_lanes(copy, size, target))
    return has_tile or not needs_box(copy, Widths(size, size), target)


def _joined(
    source: MemoryDesc,
    destination: MemoryDesc,
    apart: list[Sized],
    conversion: Conversion,
    element: int,
    target: Machine,
) -> list[Sized]:
    """The copies with segments of short axes joined, if boxes of whole axes take fewer instructions."""
    if not merges_registers(target.vector, target.shuffles, MAX_ELEMENT_BYTES):
        return apart
    copies, widths = copies_of(source, destination, conversion, joins="all")
    is_more = len(copies) > len(apart)  # than what steps leave
    if widths.are_packed or is_more or not any(digit.is_uneven for copy in copies for digit in copy.digits):
        return apart
    joined = [piece for copy in copies for piece in pieces(copy, element, target)]
    over_gaps = [sized for sized in apart if loads_over_gaps(sized[0])]
    # They load lines that others have loaded once more, and gain nothing.
    alone = ELEMENT * sum(copy.elements for copy, _ in over_gaps)
    cost = alone + instructions((sized for sized in apart if sized not in over_gaps), target)
    return joined if instructions(joined, target) < JOIN_GAIN * cost else apart


def _joined_conversions(
    source: MemoryDesc,
    destination: MemoryDesc,
    apart: Sequence[StridedCopy],
    conversion: Conversion,
    widths: Widths,
    target: Machine,
) -> Sequence[StridedCopy]:
    """
    The copies with segments of short axes joined, if boxes of whole axes convert them in fewer instructions.

    Where a box cannot have all of two axes, one alone may be joined.
    """
    held = max(widths.src, widths.dst)
    for along in (None, *range(destination.rank)):
        joined, _ = copies_of(source, destination, conversion, "whole", along)
        uneven = [copy for copy in joined if any(digit.is_uneven for digit in copy.digits)]
        if not uneven and along is None:
            break
        if uneven and all(has_box(copy, widths, target) for copy in uneven):
            cost, before = (instructions(((copy, held) for copy in copies), target) for copies in (joined, apart))
            return joined if cost < JOIN_GAIN * before else apart
    return apart


def copies_of(
    source: MemoryDesc,
    destination: MemoryDesc,
    conversion: Conversion,
    joins: Joins = "none",
    along: int | None = None,
) -> tuple[tuple[StridedCopy, ...], Widths]:
    """
    The strided copies of a reorder, and the widths of their elements; moves of elements that share bytes as moves of
    bytes, where all of them are. Raises NotStridedError if there are none.
    """
    moves = conversion.arithmetic(source.element_type, destination.element_type) == "move"
    bits = source.element_type.bits, destination.element_type.bits
    groupings = as_spread(source, destination, conversion).groupings
    copies = strided_copies(source, destination, groupings, joins, along, steps=moves and min(bits) >= 8)
    src, dst = (max(width // 8, 1) for width in bits)
    widths = Widths(src, dst, None, *(max(8 // width, 1) for width in bits))
    if widths.are_packed and moves:
        moved = tuple(in_bytes(copy, widths.dst_per_byte) for copy in copies)
        whole = tuple(copy for copy in moved if copy is not None)
        if len(whole) == len(moved):
            return whole, Widths(1, 1)
    return copies, widths


def _streams(source_bytes: int, destination_bytes: int, target: Machine, threads: int) -> bool:
    """
    Whether the destination is written past the caches.

    One thread gains from it long before both buffers fill the last cache; several, which have all of that, gain
    where both fill it. A last cache that is far is as slow as memory: what fills the second ones of all threads gains.
    """
    if target.llc_is_far:
        least = FAR_STREAMED if threads == 1 else FAR_STREAMED_SHARED
        streams = destination_bytes >= target.streamed * threads * least / FAR_STREAMED
        limit = f"the destination is {least:g} times as large as what its threads have of the second one"
    elif threads == 1:
        streams, limit = destination_bytes >= target.streamed, "the destination fills a quarter of the last one"
    else:
        streams = source_bytes + destination_bytes > target.llc
        limit = "both buffers fill the last one"
    because("caches", f"past them, as {limit}" if streams else f"through them, until {limit}")
    return streams


def _streams_early(copies: Sequence[Sized], destination_bytes: int, target: Machine) -> bool:
    """Whether several threads gain as early as one, as rows in the caches would evict each other, or leave a buffer."""
    if destination_bytes < target.streamed:
        return False
    plans = [plan_moved(*copy, target, streams=False) for copy in copies]
    forget_copies(len(plans))
    return any(plan.store == "aligned" or evict_each_other(plan, target) for plan in plans)


def _staged_together(loops: Sequence[SharedLoop], group: Sequence[Sized], target: Machine) -> Together | None:
    """Copies that fill whole lines together, out of buffers that they share; none if they do not."""
    turns = with_runs(loops, group, STAGED_TURN)
    inner = [(reduced(copy, size, turns), size) for copy, size in group]
    if not all(_keeps_lanes(*alone, *turn, target) for alone, turn in zip(group, inner, strict=True)):
        return None
    if not all(_is_tiled(*sized, target) for sized in inner):
        return None
    # Otherwise what is a whole line in the first turn is none in the others.
    streams = all(loop.dst % target.line == 0 for loop in turns)
    planned = tuple(_asking_ahead(plan_moved(*piece, target, streams, buffered=True), turns) for piece in inner)
    try:
        part = Together(turns, planned, "staged")
        runs = [union.plan.run * union.plan.element_bytes for union in unions(part)]
    except LayoutcError:
        part, runs = None, []
    if not runs or min(runs) < MIN_STAGED_RUN:
        forget_copies(len(planned))
        return None
    return part


def _asking_ahead(plan: CopyPlan, turns: Sequence[SharedLoop]) -> CopyPlan:
    """The plan, which asks for what it loads in the next turn, or in one that is a line or more further on."""
    steps = [loop.step * loop.src for loop in reversed(turns) if loop.step < loop.extent]
    if not any(steps) or plan.copy.is_fill or not plan.target_lanes:
        return plan
    ahead = steps[0]
    if ahead < LINE:
        ahead = next((step for step in steps if LINE <= step < NEAR), ahead * -(-LINE // max(ahead, 1)))
    return replace(plan, prefetch=ahead // plan.element_bytes)


def _keeps_lanes(alone: StridedCopy, size: int, turn: StridedCopy, _: int, target: Machine) -> bool:
    """Whether a copy has lanes of 16 bytes in a turn, or as many as alone."""
    widths = Widths(size, size)
    before, after = (choose_lanes(fused(copy, widths, target), widths, target) for copy in (alone, turn))
    sides = zip(before, after, strict=True)
    return all(min(lane_count(a) * size, PIECE_BYTES) <= lane_count(b) * size for a, b in sides)
