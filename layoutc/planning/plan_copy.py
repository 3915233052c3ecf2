"""Planning one copy: its lanes, tiles, macro tiles, loop orders and stores, by rules that benchmarks/ justifies."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from layoutc.planning.boxes import with_box
from layoutc.planning.copy_digits import StridedCopy, without_partial
from layoutc.planning.lanes import choose_lanes, fused, tile_of
from layoutc.planning.machine import Machine
from layoutc.planning.macro_tiles import NORMAL, STAGED_CHUNKS, STAGED_ROWS, loop_order, with_macro
from layoutc.planning.plan import CopyPlan, Part, Widths
from layoutc.planning.promotion import promoted
from layoutc.planning.reasons import because, next_copy
from layoutc.planning.stores import cached, rows_collide, streamed
from layoutc.planning.together import Sized
from layoutc.planning.whole_lines import stores_whole_lines

BUFFERED = "into a buffer on the stack that copies in the same loops fill; it leaves past the caches by whole lines"
MIN_STAGED_RUN = 256


def plan_copy(
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
    plan = with_lanes(copy, widths, target, source_lanes, target_lanes, converted)
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
    why = "tiles store parts of lines" if target.aligns_lines else "tiles may straddle lines where destinations start"
    because("stores", f"past the caches by whole lines, out of a buffer on the stack: {why}")
    staged = with_macro(plan, STAGED_ROWS)
    if len(staged.run_digits) > 1:
        staged = with_macro(plan, STAGED_CHUNKS)
    if staged.run * widths.src < MIN_STAGED_RUN:
        because("stores", f"through the caches, as runs of {staged.run * widths.src} bytes have too few whole lines")
        return with_macro(plan, NORMAL)
    staged = replace(staged, store="staged")
    return replace(staged, load="staged") if rows_collide(staged, target) else staged


def with_lanes(
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


def plan_moved(copy: StridedCopy, element: int, target: Machine, streams: bool, buffered: bool = False) -> CopyPlan:
    """The plan of a copy of elements of so many bytes, which are moved as they are."""
    return plan_copy(copy, Widths(element, element), target, streams, converted=0, buffered=buffered)


def pieces(copy: StridedCopy, element: int, target: Machine) -> Iterator[Sized]:
    """The copy, or its parts where one tile cannot hold both what is loaded and what is zero; in wide elements."""
    copy, element = promoted(copy, element)
    apart = without_lanes(copy, Widths(element, element), target)
    if apart is not None:
        for part in without_partial(copy, apart):
            yield from pieces(part, element, target)
    else:
        yield copy, element


def without_lanes(copy: StridedCopy, widths: Widths, target: Machine) -> int | None:
    """A digit that is loaded in part and that no lanes are made of, in which zeros would be."""
    stored = {part.digit for part in choose_lanes(copy, widths, target)[1]}
    return next((i for i, d in enumerate(copy.digits) if not d.is_whole and i not in stored), None)
