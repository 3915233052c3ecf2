"""Planning one copy: its lanes, tiles, macro tiles, loop orders and stores, by rules that benchmarks/ justifies."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import lru_cache
from math import inf

from layoutc.planning.copies.copy_digits import Sized, StridedCopy, without_partial
from layoutc.planning.copies.promotion import promoted
from layoutc.planning.copies.widths import Widths
from layoutc.planning.machine import Machine, has_masks
from layoutc.planning.moves.boxes import BOX_GAIN, best_box, boxed, tile_cost, waste, with_box
from layoutc.planning.moves.element_macros import with_element_macro
from layoutc.planning.moves.half_lines import with_half_lines
from layoutc.planning.moves.half_registers import half_registers, suits_half_registers
from layoutc.planning.moves.lane_tiles import with_lanes
from layoutc.planning.moves.longer_tiles import with_longer_tile
from layoutc.planning.moves.macro_shapes import NORMAL, STAGED_ROWS
from layoutc.planning.moves.macro_tiles import SHORT_ROW, by_source_lines, with_joined_rows, with_macro
from layoutc.planning.moves.near_stores import with_near_stores
from layoutc.planning.moves.next_tile import along_most_turns
from layoutc.planning.moves.staged_stores import MIN_STAGED_RUN, has_staged_runs, with_staged_stores
from layoutc.planning.moves.stores import cached
from layoutc.planning.moves.streamed_stores import streamed, with_fewer_widened
from layoutc.planning.moves.whole_lines import stores_whole_lines
from layoutc.planning.plans.macro_buffers import MAX_STAGE_BYTES
from layoutc.planning.plans.plan import CopyPlan
from layoutc.planning.tiles.joined_lines import with_joined_lines
from layoutc.planning.tiles.lanes import PIECE_BYTES, TILE_REGISTERS, choose_lanes, fused, lane_count
from layoutc.planning.tiles.padded import padded_lanes, with_padded_tile

INTO_SHARED_BUFFER = (
    "into a buffer on the stack that copies in the same loops fill; it leaves past the caches by whole lines"
)

SWAPPED_REGISTERS = 2 * TILE_REGISTERS
"""registers of a tile that steps swap in, if these store whole lines past the caches"""
MOST_STORED_TWICE, MOST_STORED_TWICE_NEAR = 1.2, 1.5
"""times the lines of the destination that tiles store past the caches: there each store of a line is one of memory"""


def plan_moved(copy: StridedCopy, element: int, target: Machine, streams: bool, buffered: bool = False) -> CopyPlan:
    """The plan of a copy of elements of so many bytes, which are moved as they are; `buffered` as in `plan_copy`."""
    plan = plan_copy(copy, element, target, streams, buffered)
    return with_near_stores(with_half_lines(plan, target))


def plan_copy(copy: StridedCopy, element: int, target: Machine, streams: bool, buffered: bool = False) -> CopyPlan:
    """
    The same, by tiles that load straight from the source, or what was converted into a buffer.

    It is `buffered` if it writes, with others, to a buffer what it cannot stream by itself.
    """
    plan = _tiled(copy, element, target)
    if streams and not buffered:
        plan = _with_longer_runs(_with_whole_lines(plan, target), copy, target)
    narrow = half_registers(plan, target) if not streams else None
    if narrow is not None and not needs_box(copy, plan.widths, narrow):
        half = with_box(_by_lanes(copy, plan.widths, narrow), copy, narrow)
        if suits_half_registers(half, plan):
            why = f"by registers of {narrow.vector} bytes, as wider ones are moved in halves"
            plan, target = half.because("rows", why), narrow
    return stored(plan, target, streams, buffered)


def plan_converted(
    copy: StridedCopy, widths: Widths, target: Machine, streams: bool, *, is_even: bool = False
) -> CopyPlan:
    """The plan of a copy whose tiles convert elements, or take them out of bytes; if `is_even` these divide it."""
    lanes = copy if is_even else fused(copy, widths, target)
    plan = with_lanes(lanes, widths, target, *choose_lanes(lanes, widths, target, is_even))
    return stored(plan, target, streams)


def plan_small(copy: StridedCopy, widths: Widths, target: Machine) -> CopyPlan:
    """The plan of a copy of whole digits whose time is none of the reorder's."""
    why = "element by element, as it is so little of the reorder that tiles are not worth their text"
    return with_element_macro(with_lanes(copy, widths, target, (), ()).because("tiles", why), target)


def stored(plan: CopyPlan, target: Machine, streams: bool, buffered: bool = False) -> CopyPlan:
    """The plan of some tiles with loads, stores and macro tiles that suit these, and loops that suit its source."""
    planned = _stored(plan, target, streams, buffered)
    if planned.fits_stack:
        return along_most_turns(by_source_lines(planned, target), target) if streams and not buffered else planned
    why = f"through the caches, as macro tiles need buffers of more than {MAX_STAGE_BYTES} bytes"
    return with_macro(plan, NORMAL).because("stores", why)


def _stored(plan: CopyPlan, target: Machine, streams: bool, buffered: bool) -> CopyPlan:
    """The plan with loads and stores that suit its tiles, and macro tiles that suit those."""
    if not plan.target_lanes:
        plan = plan.because("tiles", "element by element, as a side has too few contiguous elements")
        plan = plan.because("stores", INTO_SHARED_BUFFER) if buffered else plan
        return with_element_macro(plan, target)
    if not streams and not buffered:
        return with_macro(plan, NORMAL) if plan.pads_elements else cached(plan, target)
    if plan.pads_elements:
        why = INTO_SHARED_BUFFER if buffered else "normal, through the caches, as elements are loaded one by one"
        return with_macro(plan, NORMAL).because("stores", why)
    lines = with_joined_lines(plan)
    goes_straight = streams and target.streams_whole_lines and stores_whole_lines(lines, target)
    keeps_tiles = buffered or plan.widths.converts
    if goes_straight and (keeps_tiles or not (stores_lines_twice(lines, target) and has_staged_runs(lines))):
        why = "straight past the caches, as each is a whole cache line where the destination starts at one"
        return streamed(lines.because("stores", why, store="nontemporal"), target)
    if buffered:
        return with_macro(plan, NORMAL).because("stores", INTO_SHARED_BUFFER)
    if plan.widths.dst_per_byte > 1:
        return cached(plan.because("stores", "through the caches, as tiles that convert store parts of lines"), target)
    return with_staged_stores(with_fewer_widened(plan, target), target)


def stores_lines_twice(plan: CopyPlan, target: Machine) -> bool:
    """Whether many lines of what is copied are stored again by last tiles, which begin earlier."""
    most = MOST_STORED_TWICE if target.llc_is_far else MOST_STORED_TWICE_NEAR
    return waste(plan.copy, plan.tile) > most and not plan.copy.is_fill


def _tiled(copy: StridedCopy, element: int, target: Machine) -> CopyPlan:
    """The plan of a move with lanes, or a box, and macro tiles of one tile."""
    widths = Widths(element, element)
    if padded := padded_lanes(copy, element, target):
        return with_padded_tile(with_lanes(copy, widths, target, (), padded))
    if needs_box(copy, widths, target):
        return boxed(copy, element, target)
    return with_box(_by_lanes(copy, widths, target), copy, target)


def _by_lanes(copy: StridedCopy, widths: Widths, target: Machine) -> CopyPlan:
    """The same with lanes."""
    lanes = fused(copy, widths, target)
    plan = with_lanes(lanes, widths, target, *choose_lanes(lanes, widths, target))
    return with_longer_tile(plan)


def _with_whole_lines(plan: CopyPlan, target: Machine) -> CopyPlan:
    """
    The plan, or one of more registers if these store whole lines, where steps swap the elements of their bytes.

    A tile has all of these steps, and in as many registers as usual parts of lines.
    """
    if plan.copy.swapping is None or not plan.is_plain or stores_whole_lines(plan, target):
        return plan
    lanes = choose_lanes(plan.copy, plan.widths, target, registers=SWAPPED_REGISTERS)
    wide = with_lanes(plan.copy, plan.widths, target, *lanes)
    return wide if stores_whole_lines(wide, target) else plan


def _with_longer_runs(plan: CopyPlan, copy: StridedCopy, target: Machine) -> CopyPlan:
    """The plan, or one without digits that it counts as one, a box or of lanes, if runs of the destination go on so."""
    if plan.copy.digits == copy.digits or stores_whole_lines(plan, target):
        return plan
    if not (is_long := has_staged_runs(plan)) and best_box(copy, plan.widths.src, target) is not None:
        box = boxed(copy, plan.widths.src, target)
        if has_staged_runs(box):
            return box
    apart = with_lanes(copy, plan.widths, target, *choose_lanes(copy, plan.widths, target))
    is_filled = apart.source_lanes and lane_count(apart.target_lanes) >= lane_count(plan.target_lanes)
    has_pieces = not is_long or lane_count(apart.source_lanes) * plan.widths.src >= PIECE_BYTES
    run = _run(plan, target)
    is_longer = run < SHORT_ROW and _run(apart, target) >= max(2 * run, MIN_STAGED_RUN)
    return apart if is_filled and has_pieces and is_longer else plan


def _run(plan: CopyPlan, target: Machine) -> int:
    """Bytes of a run of the destination that a macro tile has."""
    rows = with_joined_rows(with_macro(plan, STAGED_ROWS), target)
    return rows.run * plan.widths.dst


def pieces(copy: StridedCopy, element: int, target: Machine) -> Iterator[Sized]:
    """The copy, or its parts where one tile cannot hold both what is loaded and what is zero; in wide elements."""
    copy, element = promoted(copy, element)
    apart = _in_part(copy, element, target)
    if apart is None:
        yield copy, element
        return
    parts = all_pieces(without_partial(copy, apart), element, target)
    box, gain = best_box(copy, element, target), 1.0 if has_masks(target.vector, target.shuffles) else BOX_GAIN
    most = gain * instructions(parts, target)
    yield from parts if box is None or box[0] * copy.elements > most else [(copy, element)]


def all_pieces(copies: Iterable[StridedCopy], element: int, target: Machine) -> list[Sized]:
    """Those of several copies."""
    return [piece for copy in copies for piece in pieces(copy, element, target)]


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
    if target.streams_whole_lines or copy.is_whole:
        return None
    lanes = choose_lanes(copy, Widths(element, element), target)[1]
    if not lanes:
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
    cost = tile_cost(_by_lanes(copy, Widths(element, element), target))
    return min(cost, box[0]) if box else cost


def needs_box(copy: StridedCopy, widths: Widths, target: Machine) -> bool:
    """Whether a copy has no lanes, nor can go element by element."""
    is_cut = any((digit.is_uneven and not digit.is_whole) or digit.swaps_rows for digit in copy.digits)
    return is_cut or without_lanes(copy, widths, target) is not None


def without_lanes(copy: StridedCopy, widths: Widths, target: Machine) -> int | None:
    """A digit that is loaded in part and that no lanes are made of, in which zeros would be."""
    in_part = [i for i, digit in enumerate(copy.digits) if not digit.is_whole]
    stored = {part.digit for part in choose_lanes(copy, widths, target)[1]} if in_part else ()
    return next((i for i in in_part if i not in stored), None)
