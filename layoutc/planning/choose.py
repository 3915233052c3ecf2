"""Choosing a plan: which lanes, tiles, macro tiles, loop orders and stores, by rules that benchmarks/ justifies."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from math import prod

from layoutc.conversion import NO_ATTRIBUTES, Conversion
from layoutc.descriptor import MemoryDesc
from layoutc.errors import LayoutcError
from layoutc.planning.cache_sets import l1_ways, most_in_a_set
from layoutc.planning.copy_digits import SIDES, SideName, StridedCopy, without_partial
from layoutc.planning.even_copies import even_copies, with_even_macro
from layoutc.planning.lanes import PIECE_BYTES, choose_lanes, fused, lane_count, tile_of
from layoutc.planning.machine import Machine, machine
from layoutc.planning.macro_tiles import (
    ALIGNED,
    NORMAL,
    NORMAL_BY_SOURCE,
    STAGED_CHUNKS,
    STAGED_ROWS,
    STREAMED,
    STREAMED_COLLIDING,
    STREAMED_COPY,
    STREAMED_SMALL,
    loop_order,
    with_macro,
)
from layoutc.planning.plan import CopyPlan, Part, Plan, SharedLoop, Together, Widths
from layoutc.planning.promotion import promoted
from layoutc.planning.reasons import because, forget_copies, next_copy
from layoutc.planning.strided_copy import strided_copies
from layoutc.planning.together import Sized, groups, reduced, with_runs
from layoutc.planning.unions import unions
from layoutc.planning.whole_lines import stores_whole_lines

BUFFERED = "into a buffer on the stack that copies in the same loops fill; it leaves past the caches by whole lines"
PARALLEL_BYTES = 512 << 10
"""a destination below this is done before a second thread has started"""
MIN_STAGED_RUN = 256
MIN_ALIGNED_RUN = 512
"""in the caches: 0.6 to 0.8 of the time of normal stores where rows of 513 and 257 elements are transposed"""
STAGED_TURN = 2 << 10
"""bytes that copies which run together write in a turn: with 24 KiB they took 1.5 times as long"""
COLLIDING_ROWS = 6


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
    widths = Widths(source.element_type.bits // 8, destination.element_type.bits // 8)
    if threads > 1 and destination.size_bytes < PARALLEL_BYTES:
        because("threads", f"one, as less than {PARALLEL_BYTES} bytes are written before a second one has started")
        threads = 1
    streams = _streams(source.size_bytes, destination.size_bytes, target, threads)
    if conversion.arithmetic(source.element_type, destination.element_type) != "move":
        copies = strided_copies(source, destination, conversion.groupings)
        return Plan(tuple(_converting_plans(copies, bool(conversion.sum), widths, target, streams)), threads)
    pieces = [piece for copy in strided_copies(source, destination) for piece in _pieces(copy, widths.dst, target)]
    if destination.size_bytes < target.l2:
        return Plan(tuple(_plan_copy(*piece, target, streams) for piece in pieces), threads)
    parts: list[CopyPlan | Together] = []
    for loops, group in groups(pieces, target.l2 // 8):
        inner = [(reduced(copy, size, loops), size) for copy, size in group]
        if any(_without_lanes(*piece, target) is not None for piece in inner):
            loops = ()
        staged = _staged_together(loops, group, target) if loops and streams else None
        if staged is not None:
            parts.append(staged)
            continue
        planned = tuple(_plan_copy(*piece, target, streams) for piece in (inner if loops else group))
        parts += [Together(loops, planned)] if loops else planned
    return Plan(tuple(parts), threads)


def _streams(source_bytes: int, destination_bytes: int, target: Machine, threads: int) -> bool:
    """
    Whether the destination is written past the caches.

    One thread gains from it long before both buffers fill the last cache; several fill that together, and lose by
    going past it until it is full.
    """
    if threads == 1:
        streams, limit = destination_bytes >= target.llc // 4, "the destination fills a quarter of the last one"
    else:
        streams = 2 * (source_bytes + destination_bytes) > 3 * target.llc
        limit = "both buffers fill one and a half times the last one"
    because("caches", f"past them, as {limit}" if streams else f"through them, until {limit}")
    return streams


def _converting_plans(
    copies: Sequence[StridedCopy], adds: bool, widths: Widths, target: Machine, streams: bool
) -> Iterator[CopyPlan]:
    """
    Copies of elements that are converted, each by itself: what is padding becomes zero, and no converted zero.

    Where they add to what the destination holds, nothing is stored twice.
    """
    for copy in copies:
        partial = next((i for i, digit in enumerate(copy.digits) if not digit.is_whole), None)
        if partial is not None:
            yield from _converting_plans(without_partial(copy, partial), adds, widths, target, streams)
        elif copy.is_fill:
            yield _plan_copy(*promoted(copy, widths.dst), target, streams)
        elif adds:
            yield from (_adding_plan(part, widths, target) for part in even_copies(copy))
        else:
            at = _cheaper_side(copy, widths, target)
            yield _plan_copy(copy, widths.src, target, streams, replace(widths, converted=at))


def _adding_plan(copy: StridedCopy, widths: Widths, target: Machine) -> CopyPlan:
    """The plan of a copy that adds to what the destination holds, in tiles that divide it."""
    plan = _plan_copy(copy, widths.src, target, False, replace(widths, converted="dst"), is_even=True)
    because("stores", "through the caches and nothing twice, as what the destination holds counts")
    return with_even_macro(plan)


def _cheaper_side(copy: StridedCopy, widths: Widths, target: Machine) -> SideName | None:
    """Where elements of one width on both sides are converted: where fewer registers have parameters of their own."""
    if widths.src != widths.dst or not copy.params:
        return None
    copy = fused(copy, widths, target)
    lanes = choose_lanes(copy, widths, target)
    tile = tile_of(copy, *lanes)
    loaded, stored = (_with_own_params(copy, tile, parts) for parts in lanes)
    return "dst" if stored < loaded else None


def _with_own_params(copy: StridedCopy, tile: Sequence[int], lanes: Sequence[Part]) -> int:
    """How many registers of a tile have other parameters than the ones before."""
    along = {part.digit: part.extent for part in lanes}
    digits = enumerate(zip(copy.digits, tile, strict=True))
    return prod(size // along.get(g, 1) for g, (digit, size) in digits if any(digit.params))


def _staged_together(loops: Sequence[SharedLoop], group: Sequence[Sized], target: Machine) -> Together | None:
    """Copies that fill whole lines together, out of buffers that they share; none if they do not."""
    turns = with_runs(loops, group, STAGED_TURN)
    inner = [(reduced(copy, size, turns), size) for copy, size in group]
    if not all(_keeps_lanes(*alone, *turn, target) for alone, turn in zip(group, inner, strict=True)):
        return None
    # Otherwise what is a whole line in the first turn is none in the others.
    streams = all(loop.dst % target.line == 0 for loop in turns)
    planned = tuple(_plan_copy(*piece, target, streams, buffered=True) for piece in inner)
    try:
        part = Together(turns, planned, "staged")
        runs = [union.plan.run * union.plan.element_bytes for union in unions(part)]
    except LayoutcError:
        part, runs = None, []
    if not runs or min(runs) < MIN_STAGED_RUN:
        forget_copies(len(planned))
        return None
    return part


def _keeps_lanes(alone: StridedCopy, size: int, turn: StridedCopy, _: int, target: Machine) -> bool:
    """Whether a copy has lanes of 16 bytes in a turn, or as many as alone."""
    widths = Widths(size, size)
    before, after = (choose_lanes(fused(copy, widths, target), widths, target) for copy in (alone, turn))
    sides = zip(before, after, strict=True)
    return all(min(lane_count(a) * size, PIECE_BYTES) <= lane_count(b) * size for a, b in sides)


def _pieces(copy: StridedCopy, element: int, target: Machine) -> Iterator[Sized]:
    """The copy, or its parts where one tile cannot hold both what is loaded and what is zero; in wide elements."""
    copy, element = promoted(copy, element)
    apart = _without_lanes(copy, element, target)
    if apart is not None:
        for part in without_partial(copy, apart):
            yield from _pieces(part, element, target)
    else:
        yield copy, element


def _without_lanes(copy: StridedCopy, element: int, target: Machine) -> int | None:
    """A digit that is loaded in part and that no lanes are made of, in which zeros would be."""
    stored = {part.digit for part in choose_lanes(copy, Widths(element, element), target)[1]}
    return next((i for i, d in enumerate(copy.digits) if not d.is_whole and i not in stored), None)


def _plan_copy(
    copy: StridedCopy,
    element: int,
    target: Machine,
    streams: bool,
    converted: Widths | None = None,
    buffered: bool = False,
    is_even: bool = False,
) -> CopyPlan:
    """
    The plan of a copy.

    It is `buffered` if it writes, with others, to a buffer what it cannot stream by itself, and `is_even` if its tiles
    must divide it.
    """
    next_copy()
    widths = converted or Widths(element, element)
    copy = copy if is_even else fused(copy, widths, target)
    source_lanes, target_lanes = choose_lanes(copy, widths, target, is_even)
    tile = tile_of(copy, source_lanes, target_lanes)
    plan = CopyPlan(
        copy,
        element,
        target.vector,
        target.shuffles,
        tile,
        source_lanes,
        target_lanes,
        macro=tuple(t if d.is_whole else d.extent for t, d in zip(tile, copy.digits, strict=True)),
        outer_order=loop_order(copy.digits, "dst"),
        inner_order=loop_order(copy.digits, "dst"),
        converted_bytes=converted.dst if converted else 0,
        converted_at=converted and converted.converted,
    )
    if not target_lanes:
        because("tiles", "element by element, as a side has too few contiguous elements")
        macro = tuple(1 if i == plan.outer_order[0] else d.extent for i, d in enumerate(copy.digits))
        if buffered:
            because("stores", BUFFERED)
        return replace(plan, macro=macro)
    if not streams and not buffered:
        because("stores", "normal, through the caches")
        return _cached(plan, target)
    if streams and target.streams_whole_lines and stores_whole_lines(plan, target):
        because("stores", "straight past the caches, as each is a whole cache line where the destination starts at one")
        return _streamed(replace(plan, store="nontemporal"), target)
    if buffered:
        because("stores", BUFFERED)
        return with_macro(plan, NORMAL)
    if converted:
        because("stores", "through the caches, as tiles that convert store parts of lines")
        return _cached(plan, target)
    because("stores", "past the caches by whole lines, out of a buffer on the stack: tiles store parts of lines")
    staged = with_macro(plan, STAGED_ROWS)
    if len(staged.run_digits) > 1:
        staged = with_macro(plan, STAGED_CHUNKS)
    if staged.run * element < MIN_STAGED_RUN:
        because("stores", f"through the caches, as runs of {staged.run * element} bytes have too few whole lines")
        return with_macro(plan, NORMAL)
    staged = replace(staged, store="staged")
    return replace(staged, load="staged") if _rows_collide(staged, target) else staged


# --- stores ----------------------------------------------------------------------------------------------------------


def _cached(plan: CopyPlan, target: Machine) -> CopyPlan:
    """The plan of a copy that stays in the caches; its inner loops follow the rows that would evict each other."""
    cached = with_macro(plan, NORMAL)
    if plan.copy.is_fill or plan.converted_bytes:
        return cached
    loaded, stored = (most_in_a_set(cached, side, cached.macro, target) for side in SIDES)
    if stored > l1_ways(target) and _is_better_aligned(plan, target):
        because("stores", "through the caches by whole lines, out of a buffer: rows of parts would evict each other")
        return replace(with_macro(plan, ALIGNED), store="aligned")
    if lane_count(plan.source_lanes) * plan.element_bytes >= target.line:
        return cached
    return with_macro(plan, NORMAL_BY_SOURCE) if loaded > l1_ways(target) >= stored else cached


def _is_better_aligned(plan: CopyPlan, target: Machine) -> bool:
    """Whether stores straddle the lines of long runs, which a buffer would leave by whole ones."""
    run = with_macro(plan, ALIGNED).run * plan.element_bytes
    return target.streams_whole_lines and run >= MIN_ALIGNED_RUN and not stores_whole_lines(plan, target)


def _streamed(plan: CopyPlan, target: Machine) -> CopyPlan:
    """The plan of a copy whose tiles are stored past the caches, with macro tiles that suit its elements."""
    if plan.source_lanes == plan.target_lanes:
        return with_macro(plan, STREAMED_COPY)
    if plan.widths.moved not in STREAMED_COLLIDING:
        return with_macro(plan, STREAMED)
    if plan.converted_bytes:
        return with_macro(plan, STREAMED_SMALL)
    colliding = with_macro(plan, STREAMED_COLLIDING[plan.element_bytes])
    if _rows_collide(colliding, target):
        return replace(colliding, load="staged")
    return with_macro(plan, STREAMED_SMALL)


def _rows_collide(plan: CopyPlan, target: Machine) -> bool:
    """Whether a tile takes parts of lines of more rows than a set of the first cache holds."""
    piece = lane_count(plan.source_lanes) * plan.element_bytes
    if piece >= target.line or plan.source_run * plan.element_bytes < target.line or not plan.gathers_lanes:
        return False
    most = most_in_a_set(plan, "src", plan.tile, target, plan.source_run_digits)
    if most > COLLIDING_ROWS:
        because(
            "loads",
            f"gathered on the stack first, as {most} rows of a tile share one set of the first cache",
        )
    return most > COLLIDING_ROWS
