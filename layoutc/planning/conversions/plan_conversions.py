"""Planning the copies of elements that are converted, or that share bytes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import lru_cache
from math import prod

from layoutc.planning.conversions.byte_boxes import byte_box
from layoutc.planning.conversions.converting import Converting
from layoutc.planning.conversions.even_copies import even_copies, with_even_macro
from layoutc.planning.conversions.merged_conversions import merged_plan
from layoutc.planning.conversions.padded_conversions import padded_plan
from layoutc.planning.conversions.plan_cost import least_cost, parts_cost, plan_cost
from layoutc.planning.conversions.shared_bytes import (
    can_be_buffered,
    fits_macro,
    in_two,
    with_buffers,
    with_even_buffers,
    with_macro_along,
)
from layoutc.planning.conversions.short_loads import with_short_loads
from layoutc.planning.conversions.tile_conversions import gathered_lines, gathered_plan, in_order, straight_plan
from layoutc.planning.copies.copy_digits import StridedCopy, without_partial
from layoutc.planning.copies.promotion import as_bytes
from layoutc.planning.moves.boxes import BOX_GAIN
from layoutc.planning.moves.element_tiles import has_few_lanes, with_element_tile
from layoutc.planning.moves.lane_tiles import with_lanes
from layoutc.planning.moves.macro_tiles import by_source_lines
from layoutc.planning.moves.plan_copy import pieces, plan_converted, plan_moved, without_lanes
from layoutc.planning.plans.plan import CopyPlan

ELEMENTS = 64
"""steps of each digit of a macro tile that goes element by element, so that its rows stay in the first cache"""


def converting_plans(copies: Iterable[StridedCopy], how: Converting) -> Iterator[CopyPlan]:
    """The copies, each by itself; what is padding becomes zero, and no converted zero."""
    for copy in copies:
        if copy.is_uneven and copy.is_whole:
            box = merged_plan(copy, how.widths, how.target, how.streams)
            assert box is not None, "what is joined has a box"
            yield box
        elif (padded := padded_plan(copy, how)) is not None:
            yield padded
        else:
            yield from (with_short_loads(plan) if how.loads_few else plan for plan in _plans_or_box(copy, how))


def _plans_or_box(copy: StridedCopy, how: Converting) -> Sequence[CopyPlan]:
    """
    The plans of a copy; or a box between buffers in which elements that share bytes have one each, where it gains.

    Whole lines that go past the caches gain more: with a box a transpose of s4 to s8 took 3.4 times as long.
    """
    partial = copy.first_partial is not None
    plans = [] if partial else [*_plans(copy, how)]
    if not (parts_are_a_box(copy, how.by_registers) if partial else _box_suits(copy, plans, how)):
        return [*_plans(copy, how)] if partial else plans
    box = _byte_box(copy, how)
    assert box is not None, "it suits"
    return [*_box_apart(copy, box, how)]


def _box_suits(copy: StridedCopy, plans: Sequence[CopyPlan], how: Converting) -> bool:
    """Whether a box takes far fewer instructions than these plans, which write no whole lines past the caches."""
    most = BOX_GAIN * parts_cost(plans, how.computed) if how.widths.are_packed else 0.0
    least = least_cost(how.widths, how.computed, how.target.vector) * prod(digit.loaded for digit in copy.digits)
    if least > most or pass_caches(plans):
        return False
    box = _byte_box(copy, how)
    return box is not None and plan_cost(box, how.computed) <= most


@lru_cache(maxsize=256)
def parts_are_a_box(copy: StridedCopy, how: Converting) -> bool:
    """Whether what would be several copies, as some digit is loaded in part, is one box instead."""
    return how.widths.are_packed and _box_suits(copy, [*_plans(copy, how)], how)


def pass_caches(plans: Iterable[CopyPlan]) -> bool:
    """Whether some plan writes whole lines past the caches, and converts as many elements at once as it should."""
    return any(plan.store in ("nontemporal", "staged") and not has_few_lanes(plan) for plan in plans)


def _byte_box(copy: StridedCopy, how: Converting) -> CopyPlan | None:
    """The plan of a copy as such a box, if it has one, and does not add, nor move whole bytes."""
    if not how.widths.are_packed or how.adds or (how.moves and as_bytes(copy, how.widths.dst_per_byte)):
        return None
    box = byte_box(copy, how.widths, how.target, how.computed)
    return by_source_lines(box, how.target) if box and how.streams else box


def _plans(copy: StridedCopy, how: Converting) -> Iterator[CopyPlan]:
    """The plan of a copy, or plans of its parts."""
    partial = copy.first_partial if how.adds else _apart(copy, how)
    whole = as_bytes(copy, how.widths.dst_per_byte) if how.moves or copy.is_fill else None
    if partial is not None:
        yield from converting_plans(without_partial(copy, partial), how)
    elif whole is not None:
        for piece in pieces(whole, how.widths.dst, how.target):
            yield plan_moved(*piece, how.target, how.streams)
    elif how.adds and not copy.is_fill:
        yield from (_adding_plan(part, how) for part in even_copies(copy))
    elif (gathered := (gathered_lines if how.moves else gathered_plan)(copy, how)) is not None:
        yield from _gathered_apart(copy, gathered, how)
    elif not how.widths.are_packed:
        yield straight_plan(copy, how)
    else:
        packed = _packed_plans(copy, how)
        keeps = how.moves or (how.threads > 1 and how.widths.dst_per_byte > 1)
        yield from packed if keeps else map(with_element_tile, packed)


def _apart(copy: StridedCopy, how: Converting) -> int | None:
    """A digit that is loaded in part, whose zeros cannot be in the tiles of what is loaded."""
    if how.widths.dst_per_byte > 1:
        # Zeros are none of the values that are converted, as those are narrowed first; the next copy has half a byte.
        return without_lanes(copy, how.widths, how.target)
    return copy.first_partial


def _packed_plans(copy: StridedCopy, how: Converting) -> Iterator[CopyPlan]:
    """The plan of a copy of elements that share bytes, or plans of its parts."""
    plan = plan_converted(copy, how.widths, how.target, how.streams)
    if plan.target_lanes and can_be_buffered(plan):
        plan = in_order(plan, how)
        yield from _apart_plans(copy, with_buffers(plan), how)
        return
    partial = copy.first_partial
    if partial is not None:
        yield from converting_plans(without_partial(copy, partial), replace(how, adds=False, moves=False))
        return
    yield _plan_elements(copy, how)


def _apart_plans(copy: StridedCopy, plan: CopyPlan, how: Converting) -> Iterator[CopyPlan]:
    """The plan with macro tiles that threads can share; another one of the steps that these leave over."""
    found, widths = in_two(copy, plan, how.threads), plan.widths
    if found is None:
        yield plan
        return
    digit, macro, first, rest = found
    if rest:
        plan = with_buffers(plan_converted(first, widths, how.target, how.streams))
    yield with_macro_along(plan, digit, macro)
    for part in rest:
        if without_lanes(part, widths, how.target) is None:
            yield with_buffers(plan_converted(part, widths, how.target, how.streams))
        else:
            yield from converting_plans((part,), replace(how, threads=1))


def _box_apart(copy: StridedCopy, plan: CopyPlan, how: Converting) -> Iterator[CopyPlan]:
    """The same of a box; where what threads share is none, the copy has the plans that it has without boxes."""
    yield from _in_two(copy, plan, how, lambda first: _byte_box(first, how)) or _plans(copy, how)


def _gathered_apart(copy: StridedCopy, plan: CopyPlan, how: Converting) -> Iterator[CopyPlan]:
    """The same of rows that are converted into a buffer; where what threads share has none, the plan of all."""
    yield from _in_two(copy, plan, replace(how, adds=False, moves=False), lambda first: gathered_plan(first, how)) or (
        plan,
    )


def _in_two(
    copy: StridedCopy, plan: CopyPlan, how: Converting, planned: Callable[[StridedCopy], CopyPlan | None]
) -> Sequence[CopyPlan]:
    """
    The plan; or, of several threads, one with macro tiles that write no byte together, and plans of what is left.

    Nothing where what threads share, `planned` by itself, has no such plan.
    """
    found = in_two(copy, plan, how.threads)
    if found is None:
        return (plan,)
    digit, macro, first, rest = found
    shared = planned(first) if rest else plan
    if shared is None or not fits_macro(shared, digit, macro):
        return ()
    return (with_macro_along(shared, digit, macro), *converting_plans(rest, replace(how, threads=1)))


def _adding_plan(copy: StridedCopy, how: Converting) -> CopyPlan:
    """The plan of a copy that adds to what the destination holds, in tiles that divide it."""
    how = replace(how, widths=replace(how.widths, at="dst"))
    plan = plan_converted(copy, how.widths, how.target, False, is_even=True)
    if not can_be_buffered(plan):
        plan = with_even_macro(_plan_elements(copy, how))
    why = "through the caches and nothing twice, as what the destination holds counts"
    return with_even_buffers(with_element_tile(plan, is_even=True).because("stores", why))


def _plan_elements(copy: StridedCopy, how: Converting) -> CopyPlan:
    """The plan of a copy that goes element by element, as a side has no contiguous ones."""
    plan = with_lanes(copy, how.widths, how.target, (), ())
    macro = tuple(min(digit.extent, ELEMENTS) for digit in copy.digits)
    return plan.because("tiles", "element by element, as a side has too few contiguous elements", macro=macro)
