"""Planning the copies of elements that are converted, or that share bytes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from math import inf, prod

from layoutc.planning.conversions.byte_boxes import byte_box, gathered_cost
from layoutc.planning.conversions.even_copies import even_copies, with_even_macro
from layoutc.planning.conversions.gathered_rows import is_transposed
from layoutc.planning.conversions.merged_conversions import converts_few, merged_plan, takes_less
from layoutc.planning.conversions.params_outside import with_params_outside
from layoutc.planning.conversions.row_conversions import Converting, row_by_row
from layoutc.planning.conversions.shared_bytes import (
    can_be_buffered,
    fits_macro,
    in_two,
    macro_apart,
    with_buffers,
    with_even_buffers,
    with_macro_along,
)
from layoutc.planning.conversions.zeros_apart import box_suits
from layoutc.planning.copies.copy_digits import SIDES, SideName, StridedCopy, cut_after, without_partial
from layoutc.planning.copies.promotion import in_bytes
from layoutc.planning.copies.widths import Widths
from layoutc.planning.machine import Machine, of_registers
from layoutc.planning.moves.boxes import BOX_GAIN, tile_cost
from layoutc.planning.moves.cache_sets import pages
from layoutc.planning.moves.element_tiles import has_few_lanes, with_element_tile
from layoutc.planning.moves.far_parts import with_far_parts
from layoutc.planning.moves.lane_tiles import with_lanes
from layoutc.planning.moves.macro_tiles import by_source_lines
from layoutc.planning.moves.plan_copy import (
    instructions_each,
    needs_box,
    pieces,
    plan_copy,
    plan_moved,
    without_lanes,
)
from layoutc.planning.plans.plan import CopyPlan, is_power_of_two
from layoutc.planning.reasons import arrange_copies, because, forget_copies, next_copy
from layoutc.planning.tiles.lanes import TILE_REGISTERS, choose_lanes, fused, lane_count, tile_of
from layoutc.planning.tiles.param_loads import loads_each, param_loads

FEW_LANES = 4
"""A vector that has a quarter of its lanes, or fewer, takes as long as a whole one: rows fill theirs."""
MORE_LANES = 2
"""times the lanes that a tile converts at once must be in a row that is shorter than a register"""
STREAMED_VECTORS, SCATTERED_PAGES = 32, 192
"""
Of registers that a tile converts itself past the caches, where the last one is near; of pages that its macro tile
writes to at most, as a buffer has longer parts of rows
"""
GATHERING = 0.1
"""instructions that gather an element: its share of a load, of a store, and of a loop"""
MANY_LOADS = 4
"""times as many loads that a register's parameters take on the usual side: elements are converted on the other then"""
ELEMENTS = 64
"""steps of each digit of a macro tile that goes element by element, so that its rows stay in the first cache"""


def converting_plans(copies: Iterable[StridedCopy], how: Converting) -> Iterator[CopyPlan]:
    """The copies, each by itself; what is padding becomes zero, and no converted zero."""
    for copy in copies:
        if any(digit.is_uneven for digit in copy.digits) and all(digit.is_whole for digit in copy.digits):
            box = merged_plan(copy, how.widths, how.target, how.streams)
            assert box is not None, "what is joined has a box"
            yield box
        elif (boxed := _byte_box(copy, how)) is not None:
            yield from _box_apart(copy, boxed, how)
        elif (padded := _padded_plan(copy, how)) is not None:
            yield padded
        else:
            yield from _plans(copy, how)


def _byte_box(copy: StridedCopy, how: Converting) -> CopyPlan | None:
    """
    The plan of a copy of elements that share bytes as a box between buffers, where these gain by it.

    Whole lines that go past the caches gain more: with a box a transpose of s4 to s8 took 3.4 times as long.
    """
    if not how.widths.are_packed or how.adds or (how.moves and in_bytes(copy, how.widths.dst_per_byte)):
        return None
    limit = inf
    if _first_partial(copy) is None and not copy.is_fill:
        gathered = None if how.moves else _gathered_plan(copy, how)
        plan = gathered or plan_copy(copy, how.widths, how.target, how.streams, converted=how.widths.dst)
        forget_copies(1)
        if plan.store in ("nontemporal", "staged") and not has_few_lanes(plan):
            return None
        limit = limit if gathered is None else gathered_cost(gathered, how.target)
    box = byte_box(copy, how.widths, how.target, how.moves, limit)
    return by_source_lines(box, how.target) if box and how.streams else box


def _plans(copy: StridedCopy, how: Converting) -> Iterator[CopyPlan]:
    """The plan of a copy, or plans of its parts."""
    partial = _first_partial(copy) if how.adds else _apart(copy, how)
    whole = in_bytes(copy, how.widths.dst_per_byte) if how.moves or copy.is_fill else None
    if partial is not None:
        yield from converting_plans(without_partial(copy, partial), how)
    elif whole is not None:
        for piece in pieces(whole, how.widths.dst, how.target):
            yield plan_moved(*piece, how.target, how.streams)
    elif how.adds and not copy.is_fill:
        yield from (_adding_plan(part, how) for part in even_copies(copy))
    elif (gathered := (_gathered_lines if how.moves else _gathered_plan)(copy, how)) is not None:
        yield from _gathered_apart(copy, gathered, how)
    elif not how.widths.are_packed:
        yield _straight_plan(copy, how)
    else:
        packed = _packed_plans(copy, how)
        keeps = how.moves or (how.threads > 1 and how.widths.dst_per_byte > 1)
        yield from packed if keeps else map(with_element_tile, packed)


def _apart(copy: StridedCopy, how: Converting) -> int | None:
    """A digit that is loaded in part, whose zeros cannot be in the tiles of what is loaded."""
    if how.widths.dst_per_byte > 1 and how.widths.converted_at == "src":
        # Zeros are none of the values that are converted, as those are narrowed first; the next copy has half a byte.
        return without_lanes(copy, how.widths, how.target)
    return _first_partial(copy)


def _first_partial(copy: StridedCopy) -> int | None:
    """The first digit that is loaded in part."""
    return next((i for i, digit in enumerate(copy.digits) if not digit.is_whole), None)


def _packed_plans(copy: StridedCopy, how: Converting) -> Iterator[CopyPlan]:
    """The plan of a copy of elements that share bytes, or plans of its parts."""
    plan = plan_copy(copy, how.widths, how.target, how.streams, converted=how.widths.dst)
    if plan.target_lanes and can_be_buffered(plan):
        plan = _in_order(plan, how)
        yield from _apart_plans(copy, with_buffers(plan), how)
        return
    forget_copies(1)
    partial = _first_partial(copy)
    if partial is not None:
        yield from converting_plans(without_partial(copy, partial), replace(how, adds=False, moves=False))
        return
    yield _plan_elements(copy, how)


def _apart_plans(copy: StridedCopy, plan: CopyPlan, how: Converting) -> Iterator[CopyPlan]:
    """The plan with macro tiles that threads can share; another one of the steps that these leave over."""
    found = macro_apart(plan) if how.threads > 1 else None
    if found is None:
        yield plan
        return
    digit, macro = found
    whole, widths = digit.extent // macro * macro, plan.widths
    if whole == digit.extent:
        yield with_macro_along(plan, digit, macro)
        return
    forget_copies(1)
    first, rest = cut_after(copy, copy.digits.index(digit), whole)
    plan = with_buffers(plan_copy(first, widths, how.target, how.streams, widths.dst))
    yield with_macro_along(plan, replace(digit, extent=whole, loaded=whole), macro)
    if without_lanes(rest, widths, how.target) is None:
        yield with_buffers(plan_copy(rest, widths, how.target, how.streams, widths.dst))
    else:
        yield from converting_plans((rest,), replace(how, threads=1))


def _box_apart(copy: StridedCopy, plan: CopyPlan, how: Converting) -> Iterator[CopyPlan]:
    """The same of a box; where what threads share is none, the copy has the plan that it has without boxes."""
    found = in_two(copy, plan, how.threads)
    if found is None:
        yield plan
        return
    digit, macro, first, rest = found
    if rest:
        forget_copies(1)
        shared = _byte_box(first, how)
        if shared is None or not fits_macro(shared, digit, macro):
            forget_copies(int(shared is not None))
            yield from _plans(copy, how)
            return
        plan = shared
    yield with_macro_along(plan, digit, macro)
    yield from converting_plans(rest, replace(how, threads=1))


def _gathered_plan(copy: StridedCopy, how: Converting) -> CopyPlan | None:
    """
    The plan of a copy whose tiles take rows that were converted into a buffer; none where that does not pay.

    A tile converts a few registers as fast, if they are not mostly empty, and rows that are short fill none. So it
    does many that become wider, in the caches, and more that are full, where it waits for memory. What is converted
    before can have other tiles, boxes among them.
    """
    vectors, lanes = _conversions(copy, how)
    whole = how.target.vector // max(how.widths.src, how.widths.dst)
    pays = (vectors > TILE_REGISTERS and not _widens_in_caches(how)) or lanes * FEW_LANES <= whole
    if pays and vectors <= STREAMED_VECTORS and lanes == whole and _waits_for_memory(copy, how):
        return None
    if not pays and not _has_better_tiles(copy, how):
        return None
    return row_by_row(copy, how, is_transposed, min(MORE_LANES * lanes, whole))


def _waits_for_memory(copy: StridedCopy, how: Converting) -> bool:
    """Whether tiles that convert wait for what they read past the caches, more than for places to store it to."""
    if not how.streams or how.target.llc_is_far:
        return False
    straight = _straight_plan(copy, how)
    forget_copies(1)
    return pages(straight, "dst") <= SCATTERED_PAGES


def _gathered_lines(copy: StridedCopy, how: Converting) -> CopyPlan | None:
    """The same of elements that share bytes and are moved as they are, where whole lines of them go past the caches."""
    gathered = _gathered_plan(copy, how) if how.streams else None
    if gathered is not None and gathered.store != "nontemporal":
        forget_copies(1)
        return None
    return gathered


def _widens_in_caches(how: Converting) -> bool:
    """Whether elements are moved before they are wide, and each register is stored as soon as it is converted."""
    return how.widths.converted_at == "dst" and how.widths.src < how.widths.dst and not how.streams


def _straight_plan(copy: StridedCopy, how: Converting) -> CopyPlan:
    """The plan of a copy whose tiles convert: in lanes, in a box, or, where these are few, element by element."""
    widths = replace(how.widths, converted=_cheaper_side(copy, how))
    plan = plan_copy(copy, widths, how.target, how.streams, how.widths.dst)
    if (merged := merged_plan(copy, how.widths, how.target, how.streams)) is not None:
        is_box = converts_few(plan) or takes_less(merged, plan, how.copies)
        arrange_copies(2, [int(is_box)])
        if is_box:
            return merged
    return with_element_tile(_in_order(plan, how))


def _in_order(plan: CopyPlan, how: Converting) -> CopyPlan:
    """The plan with its macro tiles, and the loops in them, as suits what is converted as it lies."""
    plan = with_far_parts(plan, how.target)
    return plan if how.kept is None else with_params_outside(plan, how.kept)


def _gathered_apart(copy: StridedCopy, plan: CopyPlan, how: Converting) -> Iterator[CopyPlan]:
    """The plan; or, of several threads, with macro tiles that write no byte together, and a plan of what is left."""
    found = in_two(copy, plan, how.threads)
    if found is None:
        yield plan
        return
    digit, macro, first, rest = found
    if rest:
        forget_copies(1)
        plan = _gathered_plan(first, how) or plan
    if plan.copy.elements == first.elements:
        yield with_macro_along(plan, digit, macro)
        yield from converting_plans(rest, replace(how, threads=1, adds=False, moves=False))
    else:
        yield plan


def has_padded_tile(copy: StridedCopy, widths: Widths, target: Machine) -> bool:
    """Whether tiles hold both what a copy converts into a buffer, and the zeros beside it."""
    by_registers = of_registers(target.vector, target.shuffles)
    plan = _padded_plan(copy, Converting(widths, by_registers, streams=False, threads=1, adds=False, moves=False))
    if plan is not None:
        forget_copies(1)
    return plan is not None


def _padded_plan(copy: StridedCopy, how: Converting) -> CopyPlan | None:
    """
    The plan of a copy that is loaded in part, in tiles that hold both what was converted into a buffer, and zeros.

    None if there are no such tiles, or elements share bytes, stay what they are, or are added to others.
    """
    widths = how.widths
    moved = Widths(widths.dst, widths.dst)
    if how.adds or how.moves or copy.is_fill or (partial := _first_partial(copy)) is None or widths.are_packed:
        return None
    if needs_box(copy, moved, how.target) and not box_suits(copy, partial, moved.dst, how.target):
        return None
    whole = how.target.vector // max(widths.src, widths.dst)

    def planned(how: Converting) -> CopyPlan | None:
        return row_by_row(copy, how, lambda plan: bool(plan.target_lanes), whole)

    # Whether the copy is one or several follows from the registers alone: who reads the plan has other caches.
    by_registers = replace(how, target=of_registers(how.target.vector, how.target.shuffles), streams=False)
    if planned(by_registers) is None:
        return None
    forget_copies(1)
    return planned(how) or planned(by_registers)


def _conversions(copy: StridedCopy, how: Converting) -> tuple[int, int]:
    """How many vectors a tile converts, each or of each channel, and the lanes of each."""
    one, widths = fused(copy, how.widths, how.target), how.widths
    lanes = choose_lanes(one, widths, how.target)
    tile = prod(tile_of(one, *lanes))
    at_once = lane_count(lanes[0] if widths.converted_at == "src" else lanes[1])
    at_once = min(at_once, how.target.vector // max(widths.src, widths.dst))
    odd = [part.extent for parts in lanes for part in parts if not is_power_of_two(part.extent)]
    return odd[0] if odd else tile // at_once, at_once


def _has_better_tiles(copy: StridedCopy, how: Converting) -> bool:
    """Whether what is converted before needs far fewer instructions in its tiles, with those that gather it."""
    one, widths = fused(copy, how.widths, how.target), how.widths
    straight = with_lanes(one, widths, how.target, *choose_lanes(one, widths, how.target), converted=widths.dst)
    return instructions_each(copy, widths.dst, how.target) + GATHERING < BOX_GAIN * tile_cost(straight)


def _adding_plan(copy: StridedCopy, how: Converting) -> CopyPlan:
    """The plan of a copy that adds to what the destination holds, in tiles that divide it."""
    how = replace(how, widths=replace(how.widths, converted="dst"))
    plan = plan_copy(copy, how.widths, how.target, False, how.widths.dst, is_even=True)
    if not can_be_buffered(plan):
        forget_copies(1)
        plan = with_even_macro(_plan_elements(copy, how))
    plan = with_element_tile(plan, is_even=True)
    because("stores", "through the caches and nothing twice, as what the destination holds counts")
    return with_even_buffers(plan)


def _plan_elements(copy: StridedCopy, how: Converting) -> CopyPlan:
    """The plan of a copy that goes element by element, as a side has no contiguous ones."""
    next_copy()
    because("tiles", "element by element, as a side has too few contiguous elements")
    plan = with_lanes(copy, how.widths, how.target, (), (), converted=how.widths.dst)
    return replace(plan, macro=tuple(min(digit.extent, ELEMENTS) for digit in copy.digits))


def _cheaper_side(copy: StridedCopy, how: Converting) -> SideName | None:
    """
    Where elements are converted, if not on the usual side: where their parameters take fewer loads.

    Of elements of one width all registers of a tile count; others stay where they are narrower but for many loads.
    """
    if not copy.params:
        return None
    copy = fused(copy, how.widths, how.target)
    lanes = choose_lanes(copy, how.widths, how.target)
    if how.widths.src == how.widths.dst:
        tile = tile_of(copy, *lanes)
        loaded, stored = (param_loads(copy, tile, parts) for parts in lanes)
        return "dst" if stored < loaded else None
    each = dict(zip(SIDES, (loads_each(copy, parts) for parts in lanes), strict=True))
    usual = how.widths.converted_at
    other = "src" if usual == "dst" else "dst"
    return other if each[usual] > MANY_LOADS * each[other] else None
