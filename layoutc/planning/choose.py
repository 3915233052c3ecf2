"""Choosing a plan: which lanes, tiles, macro tiles, loop orders and stores, by rules that benchmarks/ justifies."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from math import prod

from layoutc.conversion import NO_ATTRIBUTES, Conversion
from layoutc.descriptor import MemoryDesc
from layoutc.errors import LayoutcError
from layoutc.planning.boxes import with_box
from layoutc.planning.copy_digits import SideName, StridedCopy, without_partial
from layoutc.planning.even_copies import even_copies, with_even_macro
from layoutc.planning.lanes import PIECE_BYTES, choose_lanes, fused, lane_count, tile_of
from layoutc.planning.machine import Machine, machine
from layoutc.planning.macro_tiles import (
    NORMAL,
    STAGED_CHUNKS,
    STAGED_ROWS,
    loop_order,
    with_macro,
)
from layoutc.planning.plan import CopyPlan, Part, Plan, SharedLoop, Together, Widths
from layoutc.planning.promotion import in_bytes, promoted
from layoutc.planning.reasons import because, forget_copies, next_copy
from layoutc.planning.shared_bytes import cut_at_bytes, first_inside_a_byte
from layoutc.planning.stores import cached, rows_collide, streamed
from layoutc.planning.strided_copy import strided_copies
from layoutc.planning.together import Sized, groups, reduced, with_runs
from layoutc.planning.unions import unions
from layoutc.planning.whole_lines import stores_whole_lines

BUFFERED = "into a buffer on the stack that copies in the same loops fill; it leaves past the caches by whole lines"
PARALLEL_BYTES = 512 << 10
"""a destination below this is done before a second thread has started"""
MIN_STAGED_RUN = 256
ELEMENTS = 64
"""steps of each digit of a macro tile that goes element by element, so that its rows stay in the first cache"""
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
    copies, widths = copies_of(source, destination, conversion)
    if threads > 1 and destination.size_bytes < PARALLEL_BYTES:
        because("threads", f"one, as less than {PARALLEL_BYTES} bytes are written before a second one has started")
        threads = 1
    streams = _streams(source.size_bytes, destination.size_bytes, target, threads)
    moves = conversion.arithmetic(source.element_type, destination.element_type) == "move"
    if not moves or widths.are_packed:
        adds = bool(conversion.sum)
        return Plan(tuple(_converting_plans(copies, adds, widths, target, streams, moves=moves)), threads)
    pieces = [piece for copy in copies for piece in _pieces(copy, widths.dst, target)]
    if destination.size_bytes < target.l2:
        return Plan(tuple(_plan_moved(*piece, target, streams) for piece in pieces), threads)
    parts: list[CopyPlan | Together] = []
    for loops, group in groups(pieces, target.l2 // 8):
        inner = [(reduced(copy, size, loops), size) for copy, size in group]
        if any(_without_lanes(copy, Widths(size, size), target) is not None for copy, size in inner):
            loops = ()
        staged = _staged_together(loops, group, target) if loops and streams else None
        if staged is not None:
            parts.append(staged)
            continue
        planned = tuple(_plan_moved(*piece, target, streams) for piece in (inner if loops else group))
        parts += [Together(loops, planned)] if loops else planned
    return Plan(tuple(parts), threads)


def copies_of(
    source: MemoryDesc, destination: MemoryDesc, conversion: Conversion
) -> tuple[tuple[StridedCopy, ...], Widths]:
    """
    The strided copies of a reorder, and the widths of their elements; moves of elements that share bytes as moves of
    bytes, where all of them are. Raises NotStridedError if there are none.
    """
    moves = conversion.arithmetic(source.element_type, destination.element_type) == "move"
    copies = strided_copies(source, destination, () if moves else conversion.groupings)
    bits = source.element_type.bits, destination.element_type.bits
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
    copies: Sequence[StridedCopy], adds: bool, widths: Widths, target: Machine, streams: bool, *, moves: bool
) -> Iterator[CopyPlan]:
    """
    Copies of elements that are converted, or that share bytes, each by itself.

    What is padding becomes zero, and no converted zero. Where they add to what the destination holds, nothing is
    stored twice.
    """
    for copy in copies:
        partial = _apart(copy, widths, target)
        whole = in_bytes(copy, widths.dst_per_byte) if moves or copy.is_fill else None
        if partial is not None:
            parts = without_partial(copy, partial)
            yield from _converting_plans(parts, adds, widths, target, streams, moves=moves)
        elif whole is not None:
            for piece in _pieces(whole, widths.dst, target):
                yield _plan_moved(*piece, target, streams)
        elif adds:
            yield from (_adding_plan(part, widths, target) for part in even_copies(copy))
        elif not widths.are_packed:
            at = _cheaper_side(copy, widths, target)
            yield _plan_copy(copy, replace(widths, converted=at), target, streams, converted=widths.dst)
        else:
            yield from _packed_plans(copy, widths, target, streams)


def _apart(copy: StridedCopy, widths: Widths, target: Machine) -> int | None:
    """A digit that is loaded in part, whose zeros cannot be in the tiles of what is loaded."""
    if widths.dst_per_byte > 1 and widths.converted_at == "src":
        # Zeros are none of the values that are converted, as those are narrowed first; the next copy has half a byte.
        return _without_lanes(copy, widths, target)
    return _first_partial(copy)


def _first_partial(copy: StridedCopy) -> int | None:
    """The first digit that is loaded in part."""
    return next((i for i, digit in enumerate(copy.digits) if not digit.is_whole), None)


def _packed_plans(copy: StridedCopy, widths: Widths, target: Machine, streams: bool) -> Iterator[CopyPlan]:
    """The plan of a copy of elements that share bytes, or several where its rows begin or end inside of a byte."""
    plan = _plan_copy(copy, widths, target, streams, converted=widths.dst)
    if plan.target_lanes and first_inside_a_byte(plan) is None:
        yield plan
        return
    forget_copies(1)
    partial = _first_partial(copy)
    if partial is not None:
        yield from _converting_plans(without_partial(copy, partial), False, widths, target, streams, moves=False)
        return
    for part in cut_at_bytes(copy, widths):
        plan = _plan_copy(part.copy, widths, target, streams, widths.dst) if part.is_whole else None
        if plan is not None and first_inside_a_byte(plan) is None:
            yield plan
            continue
        if plan is not None:
            forget_copies(1)
        yield _plan_elements(part.copy, widths, target)


def _adding_plan(copy: StridedCopy, widths: Widths, target: Machine) -> CopyPlan:
    """The plan of a copy that adds to what the destination holds, in tiles that divide it."""
    plan = _plan_copy(copy, replace(widths, converted="dst"), target, False, widths.dst, is_even=True)
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
    planned = tuple(_plan_moved(*piece, target, streams, buffered=True) for piece in inner)
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
    apart = _without_lanes(copy, Widths(element, element), target)
    if apart is not None:
        for part in without_partial(copy, apart):
            yield from _pieces(part, element, target)
    else:
        yield copy, element


def _without_lanes(copy: StridedCopy, widths: Widths, target: Machine) -> int | None:
    """A digit that is loaded in part and that no lanes are made of, in which zeros would be."""
    stored = {part.digit for part in choose_lanes(copy, widths, target)[1]}
    return next((i for i, d in enumerate(copy.digits) if not d.is_whole and i not in stored), None)


def _plan_moved(copy: StridedCopy, element: int, target: Machine, streams: bool, buffered: bool = False) -> CopyPlan:
    """The plan of a copy of elements of so many bytes, which are moved as they are."""
    return _plan_copy(copy, Widths(element, element), target, streams, converted=0, buffered=buffered)


def _plan_elements(copy: StridedCopy, widths: Widths, target: Machine) -> CopyPlan:
    """The plan of a copy that goes element by element, as its rows begin or end inside of a byte."""
    next_copy()
    because("tiles", "element by element, as rows begin or end inside of a byte")
    plan = _with_lanes(copy, widths, target, (), (), converted=widths.dst)
    return replace(plan, macro=tuple(min(digit.extent, ELEMENTS) for digit in copy.digits))


def _with_lanes(
    copy: StridedCopy,
    widths: Widths,
    target: Machine,
    source_lanes: tuple[Part, ...],
    target_lanes: tuple[Part, ...],
    converted: int,
) -> CopyPlan:
    """A plan with these lanes, and macro tiles of one tile."""
    tile = tile_of(copy, source_lanes, target_lanes)
    return CopyPlan(
        copy,
        widths.src,
        target.vector,
        target.shuffles,
        tile,
        source_lanes,
        target_lanes,
        macro=tuple(t if d.is_whole else d.extent for t, d in zip(tile, copy.digits, strict=True)),
        outer_order=loop_order(copy.digits, "dst"),
        inner_order=loop_order(copy.digits, "dst"),
        converted_bytes=converted,
        converted_at=widths.converted,
        per_byte=(widths.src_per_byte, widths.dst_per_byte),
    )


def _plan_copy(
    copy: StridedCopy,
    widths: Widths,
    target: Machine,
    streams: bool,
    converted: int,
    buffered: bool = False,
    is_even: bool = False,
) -> CopyPlan:
    """
    The plan of a copy.

    It is `buffered` if it writes, with others, to a buffer what it cannot stream by itself, and `is_even` if its tiles
    must divide it.
    """
    next_copy()
    alone, copy = copy, copy if is_even else fused(copy, widths, target)
    source_lanes, target_lanes = choose_lanes(copy, widths, target, is_even)
    plan = _with_lanes(copy, widths, target, source_lanes, target_lanes, converted)
    plan = plan if is_even else with_box(plan, alone, target)
    if not plan.target_lanes:
        because("tiles", "element by element, as a side has too few contiguous elements")
        macro = tuple(1 if i == plan.outer_order[0] else d.extent for i, d in enumerate(copy.digits))
        if buffered:
            because("stores", BUFFERED)
        return replace(plan, macro=macro)
    if not streams and not buffered:
        because("stores", "normal, through the caches")
        return cached(plan, target)
    if streams and target.streams_whole_lines and stores_whole_lines(plan, target):
        because("stores", "straight past the caches, as each is a whole cache line where the destination starts at one")
        return streamed(replace(plan, store="nontemporal"), target)
    if buffered:
        because("stores", BUFFERED)
        return with_macro(plan, NORMAL)
    if converted:
        because("stores", "through the caches, as tiles that convert store parts of lines")
        return cached(plan, target)
    because("stores", "past the caches by whole lines, out of a buffer on the stack: tiles store parts of lines")
    staged = with_macro(plan, STAGED_ROWS)
    if len(staged.run_digits) > 1:
        staged = with_macro(plan, STAGED_CHUNKS)
    if staged.run * widths.src < MIN_STAGED_RUN:
        because("stores", f"through the caches, as runs of {staged.run * widths.src} bytes have too few whole lines")
        return with_macro(plan, NORMAL)
    staged = replace(staged, store="staged")
    return replace(staged, load="staged") if rows_collide(staged, target) else staged
