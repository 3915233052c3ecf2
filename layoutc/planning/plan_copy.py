"""Planning one copy: its lanes, tiles, macro tiles, loop orders and stores, by rules that benchmarks/ justifies."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import lru_cache
from math import inf, prod

from layoutc.planning.boxes import best_box, boxed, tile_cost, waste, with_box
from layoutc.planning.cache_sets import overflow_sets, share_sets
from layoutc.planning.copy_digits import SIDES, StridedCopy, contiguous, without_partial
from layoutc.planning.element_macros import with_element_macro
from layoutc.planning.joined_lines import with_joined_lines
from layoutc.planning.lanes import PIECE_BYTES, choose_lanes, fused, lane_count, tile_of
from layoutc.planning.longer_tiles import with_longer_tile
from layoutc.planning.machine import Machine
from layoutc.planning.macro_tiles import (
    LINE_CHUNKS,
    LINE_ROWS,
    NORMAL,
    STAGED_CHUNKS,
    STAGED_ROWS,
    STREAMED,
    MacroShape,
    by_source_lines,
    loop_order,
    with_joined_rows,
    with_macro,
)
from layoutc.planning.padded import padded_lanes, with_padded_tile
from layoutc.planning.plan import MAX_STAGE_BYTES, CopyPlan, Part
from layoutc.planning.promotion import promoted
from layoutc.planning.reasons import because, next_copy
from layoutc.planning.stores import cached, rows_collide, streamed, with_gathered_rows
from layoutc.planning.together import Sized
from layoutc.planning.whole_lines import stores_whole_lines
from layoutc.planning.widths import Widths

BUFFERED = "into a buffer on the stack that copies in the same loops fill; it leaves past the caches by whole lines"
MIN_STAGED_RUN = 256
MOST_WASTE = 1.125
"""times what tiles move twice, as the last ones begin earlier, where they load whole lines"""


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
    plan = _tiled(copy, widths, target, converted, is_even)
    if streams and not (buffered or converted):
        plan = _with_longer_runs(plan, copy, target)
    planned = _stored(plan, target, streams, converted, buffered)
    if max(map(planned.buffer_bytes, SIDES)) <= MAX_STAGE_BYTES:
        return by_source_lines(planned, target) if streams and not buffered else planned
    because("loads", "straight")
    because("stores", f"through the caches, as macro tiles need buffers of more than {MAX_STAGE_BYTES} bytes")
    return with_macro(plan, NORMAL)


def _stored(plan: CopyPlan, target: Machine, streams: bool, converted: int, buffered: bool) -> CopyPlan:
    """The plan with loads and stores that suit its tiles, and macro tiles that suit those."""
    if not plan.target_lanes:
        because("tiles", "element by element, as a side has too few contiguous elements")
        if buffered:
            because("stores", BUFFERED)
        return with_element_macro(plan, target)
    if not streams and not buffered:
        because("stores", "normal, through the caches")
        return with_macro(plan, NORMAL) if plan.pads_elements else cached(plan, target)
    if plan.pads_elements:
        because("stores", BUFFERED if buffered else "normal, through the caches, as elements are loaded one by one")
        return with_macro(plan, NORMAL)
    if streams and target.streams_whole_lines and stores_whole_lines(lines := with_joined_lines(plan, target), target):
        because("stores", "straight past the caches, as each is a whole cache line where the destination starts at one")
        return streamed(replace(lines, store="nontemporal"), target)
    if buffered:
        because("stores", BUFFERED)
        return with_macro(plan, NORMAL)
    if converted:
        because("stores", "through the caches, as tiles that convert store parts of lines")
        return cached(plan, target)
    return _staged(plan, target)


def _tiled(copy: StridedCopy, widths: Widths, target: Machine, converted: int, is_even: bool) -> CopyPlan:
    """The plan with lanes, or a box, and macro tiles of one tile."""
    if not converted and (padded := padded_lanes(copy, widths.dst, target)):
        return with_padded_tile(with_lanes(copy, widths, target, (), padded, converted))
    if needs_box(copy, widths, target) and not converted:
        return boxed(copy, widths.dst, target)
    lanes = copy if is_even else fused(copy, widths, target)
    plan = with_lanes(lanes, widths, target, *choose_lanes(lanes, widths, target, is_even), converted)
    return plan if is_even else with_box(with_longer_tile(plan), copy, target)


def _with_longer_runs(plan: CopyPlan, copy: StridedCopy, target: Machine) -> CopyPlan:
    """The plan, or a box of the digits that it counts as one, if runs of the destination go on along these."""
    found = best_box(copy, plan.element_bytes, target) if plan.copy.digits != copy.digits else None
    if found is None or stores_whole_lines(plan, target) or _has_runs(plan):
        return plan
    box = boxed(copy, plan.element_bytes, target)
    return box if _has_runs(box) else plan


def _has_runs(plan: CopyPlan) -> bool:
    """Whether a macro tile has runs that leave a buffer by whole lines."""
    rows = with_macro(plan, STAGED_ROWS)
    together = not plan.merges or all(part.digit in rows.run_digits for part in plan.target_lanes)
    return together and rows.run * plan.widths.src >= MIN_STAGED_RUN


def _staged(plan: CopyPlan, target: Machine) -> CopyPlan:
    """The plan of a copy that goes past the caches out of a buffer, if its runs are long enough."""
    why = "tiles store parts of lines" if target.aligns_lines else "tiles may straddle lines where destinations start"
    because("stores", f"past the caches by whole lines, out of a buffer on the stack: {why}")
    staged = _with_runs(plan, target)
    if staged.run * plan.widths.src < MIN_STAGED_RUN:
        because(
            "stores", f"through the caches, as runs of {staged.run * plan.widths.src} bytes have too few whole lines"
        )
        return with_macro(plan, STREAMED)
    if plan.merges and any(part.digit not in staged.run_digits for part in plan.target_lanes):
        because("stores", "through the caches, as what a tile stores together would lie apart in a buffer")
        return with_macro(plan, STREAMED)
    joined = with_joined_rows(replace(staged, store="staged"))
    if joined.macro != staged.macro:
        return joined
    return with_gathered_rows(joined, target) if rows_collide(joined, target) else joined


def _with_runs(plan: CopyPlan, target: Machine) -> CopyPlan:
    """The plan with macro tiles whose runs are put together in a buffer, and loads of whole lines where they help."""
    rows = with_macro(plan, STAGED_ROWS)
    shape = STAGED_CHUNKS if len(rows.run_digits) > 1 else STAGED_ROWS
    if rows_collide(with_macro(plan, shape), target) or (shape is STAGED_ROWS and plan.element_bytes > 1):
        by_lines = _by_lines(plan, target)
        if by_lines is not plan:
            is_cut = any(rows.macro[g] < plan.copy.digits[g].extent for g in rows.run_digits)
            plan, shape = by_lines, LINE_CHUNKS if shape is STAGED_CHUNKS else LINE_ROWS if is_cut else shape
    staged = with_macro(plan, shape)
    if not rows_collide(staged, target):
        staged = _one_tile_wide(plan, shape, staged, target)
    if staged.run * plan.widths.src >= MIN_STAGED_RUN:
        return staged
    return with_macro(plan, replace(shape, budget=2 * shape.budget))


LONG_ROW = 256
"""bytes of the source that lie together, below which macro tiles take all of them"""
LONG_RUN = 4 << 10
"""bytes of a run of the destination that macro tiles do not shorten it to less than"""


def _one_tile_wide(plan: CopyPlan, shape: MacroShape, staged: CopyPlan, target: Machine) -> CopyPlan:
    """
    Macro tiles that take one tile of each row of the source, where rows are long: those to the right follow.

    They take a line of each row where the first cache does not hold one of all rows until then.
    """
    if _row(staged) * plan.widths.src < LONG_ROW:
        return staged
    narrow = with_macro(plan, replace(shape, source_run=1))
    if narrow.run < staged.run and narrow.run * plan.widths.dst < LONG_RUN:
        return staged
    joined, joined_narrow = (prod(with_joined_rows(each).macro) for each in (staged, narrow))
    # What the next macro tile takes of a line is there then only if rows do not evict each other.
    if joined_narrow > joined or share_sets(narrow, target):
        return staged
    return with_macro(plan, replace(shape, source_run=target.line)) if overflow_sets(narrow, target) else narrow


def _row(plan: CopyPlan) -> int:
    """Elements of the source that lie together, but for those of other rows that are in one run of the destination."""
    row, is_across = 1, False
    for position, digit in contiguous(plan.copy, "src"):
        if is_across and position in plan.run_digits:
            break
        is_across = is_across or position not in plan.run_digits
        row *= digit.extent
    return row


def _by_lines(plan: CopyPlan, target: Machine) -> CopyPlan:
    """The plan with loads of whole lines: its stores, which a buffer takes in any size, are cut down first."""
    if plan.merges or not plan.source_lanes:
        return plan
    lanes = choose_lanes(plan.copy, plan.widths, target, whole="src")
    found = with_lanes(plan.copy, plan.widths, target, *lanes, converted=0)
    if found.tile == plan.tile or lane_count(found.source_lanes) * plan.element_bytes < target.line:
        return plan
    if waste(plan.copy, found.tile) > MOST_WASTE * waste(plan.copy, plan.tile):
        return plan
    because("loads", "straight, of whole lines: the buffer that stores fill takes less")
    return found


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
    apart = _in_part(copy, element, target)
    if apart is None:
        yield copy, element
        return
    parts = [piece for part in without_partial(copy, apart) for piece in pieces(part, element, target)]
    box = best_box(copy, element, target)
    yield from parts if box is None or box[0] * copy.elements > instructions(parts, target) else [(copy, element)]


def _in_part(copy: StridedCopy, element: int, target: Machine) -> int | None:
    """A digit that is loaded in part, and may have to be cut there."""
    uneven = [digit for digit in copy.digits if digit.is_uneven]
    if padded_lanes(copy, element, target) or (uneven and best_box(copy, element, target) is not None):
        return None
    if not all(digit.is_whole for digit in uneven):
        return next((g for g, digit in enumerate(copy.digits) if not (digit.is_whole or digit.is_uneven)), None)
    found = without_lanes(copy, Widths(element, element), target)
    return _mostly_zero(copy, element, target) if found is None else found


def _mostly_zero(copy: StridedCopy, element: int, target: Machine) -> int | None:
    """A digit that lanes take a part of, of which all tiles but the first are zero: a fill has longer stores."""
    lanes = choose_lanes(copy, Widths(element, element), target)[1]
    if not lanes or target.streams_whole_lines:
        return None
    *inner, last = lanes
    digit = copy.digits[last.digit]
    is_cut = not digit.is_whole and digit.loaded <= last.extent < digit.extent
    return last.digit if is_cut and lane_count(inner) * element >= PIECE_BYTES else None


def instructions(copies: Iterable[Sized], target: Machine) -> float:
    """About how many instructions copies take, by lanes or boxes; inf if one has neither."""
    return sum(copy.elements * instructions_each(*sized, target) for sized in copies for copy in sized[:1])


@lru_cache(maxsize=256)
def instructions_each(copy: StridedCopy, element: int, target: Machine) -> float:
    """The same for each element."""
    box = best_box(copy, element, target)
    if needs_box(copy, Widths(element, element), target):
        return box[0] if box else inf
    widths = Widths(element, element)
    lanes = fused(copy, widths, target)
    plan = with_lanes(lanes, widths, target, *choose_lanes(lanes, widths, target), converted=0)
    cost = tile_cost(with_longer_tile(plan))
    return min(cost, box[0]) if box else cost


def needs_box(copy: StridedCopy, widths: Widths, target: Machine) -> bool:
    """Whether a copy has no lanes, nor can go element by element."""
    is_cut = any(digit.is_uneven and not digit.is_whole for digit in copy.digits)
    return is_cut or without_lanes(copy, widths, target) is not None


def without_lanes(copy: StridedCopy, widths: Widths, target: Machine) -> int | None:
    """A digit that is loaded in part and that no lanes are made of, in which zeros would be."""
    stored = {part.digit for part in choose_lanes(copy, widths, target)[1]}
    return next((i for i, d in enumerate(copy.digits) if not d.is_whole and i not in stored), None)
