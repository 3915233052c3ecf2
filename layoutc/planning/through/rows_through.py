"""
Conversions through a buffer: rows are converted as they lie on one side, and what is moved then has one width.

A tile that converts has many vectors that are not full where its rows are short or odd, or where zeros are beside them.
As they lie on the side where elements are wider, rows follow one another, and are converted by whole registers into
the buffer, or out of it; or as they lie in the source, so that what is wide already is moved beside zeros. In the
caches both halves of a turn may take fewer instructions than such tiles.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from layoutc.planning.conversions.converting import Converting
from layoutc.planning.conversions.plan_conversions import pass_caches
from layoutc.planning.conversions.plan_cost import COMPUTED, CONVERTED, parts_converted, parts_cost
from layoutc.planning.conversions.reorder import Reorder
from layoutc.planning.copies.copy_digits import SideName
from layoutc.planning.copies.strided_copy import NotStridedError
from layoutc.planning.machine import LINE, Machine
from layoutc.planning.moves.boxes import BOX_GAIN
from layoutc.planning.plans.plan import CopyPlan
from layoutc.planning.plans.turns import Through
from layoutc.planning.reasons import because
from layoutc.planning.through.plan_through import plan_through
from layoutc.planning.through.through import through_buffers
from layoutc.planning.tiles.lanes import converted_lanes

MOVED = 2.5
"""instructions that load a register, put it in order and store it, at the least"""
HOPEFUL, LONG_HOPEFUL = 0.55, 0.65
"""of the instructions of a plan are what full registers take at the least, if another plan is worth making"""
LONG_GAIN = 0.9
"""Rows whose conversion is long are converted as they lie if both halves of a turn need less than this share."""
OVERLAPPED = 0.5
"""of the instructions of such a conversion count: what moves registers waits meanwhile"""
MOST_SHORT = 0.125
"""of elements that become wider may fill no registers, at the ends of rows"""
MOST_PASSING = 0.97
"""of elements that become wider have copies that go past the caches as they should, and are not worth a buffer"""


def rows_through(
    reorder: Reorder, straight: Sequence[CopyPlan], how: Converting
) -> tuple[CopyPlan | Through, ...] | None:
    """
    The plans of a conversion by rows through a buffer; None where copies that go `straight` do as well.

    Past the caches they do, as they wait for memory, but for what becomes wider where not all write whole lines. It is
    as it is known that it `goes_through` one, if there is a way.
    """
    if how.goes_through is False or how.widths.are_packed or how.moves or how.adds:
        return None
    if reorder.conversion.compensation is not None:
        return None
    if how.streams and how.goes_through is None and (how.widths.dst <= how.widths.src or _stores_lines(straight)):
        return None
    sides, best = _sides(reorder, how), None
    if how.goes_through is not None:
        known = how.widths.converted_at if how.goes_through is True else how.goes_through
        best = _parts(reorder, how, known) if known in sides else None
    else:
        found = (_parts_for_less(reorder, straight, how, side) for side in sides)
        best = min(filter(None, found), key=lambda parts: parts_cost(parts, COMPUTED, how.threads), default=None)
    if best is not None:
        because("rows", "converted as they lie, through a buffer, as tiles take more instructions")
    return best


def _sides(reorder: Reorder, how: Converting) -> list[SideName]:
    """
    As rows of which sides elements may be converted: of the wider one, if what is moved is narrower than what is
    computed, as else tiles convert as many vectors as they move; of the source too, if zeros come between them later.
    """
    usual, destination = how.widths.converted_at, reorder.destination
    sides: list[SideName] = [usual] if how.widths.moved < COMPUTED else []
    widens_beside_zeros = how.widths.dst > how.widths.src and destination.padded_dims != destination.extents
    return [*sides, "src"] if widens_beside_zeros else sides


def _parts(reorder: Reorder, how: Converting, at: SideName) -> tuple[CopyPlan | Through, ...] | None:
    """The plans by rows of a side; None if there is no such way."""
    try:
        sides = reorder.source, reorder.destination
        buffered = through_buffers(*sides, at, reorder.seen.groupings, has_blocks=False, at=at)
    except NotStridedError:
        return None
    return buffered and plan_through(buffered, replace(how, widths=replace(how.widths, at=at)))


def _parts_for_less(
    reorder: Reorder, straight: Sequence[CopyPlan], how: Converting, at: SideName
) -> tuple[CopyPlan | Through, ...] | None:
    """The same, if that takes far fewer instructions than copies that go straight, and needs no other buffer."""
    hopeful, ways = _terms(reorder, how.target)
    if _least(straight, how, replace(how.widths, at=at).moved) > hopeful * parts_cost(straight):
        return None
    parts = _parts(reorder, how, at)
    if parts is None or not _converts_rows(parts):
        return None
    return parts if any(_takes_less(parts, straight, how.threads, *way) for way in ways) else None


def _terms(reorder: Reorder, target: Machine) -> tuple[float, Sequence[tuple[float, float]]]:
    """
    How much of the instructions of a plan full registers may take for another one to be worth making; and which part of
    those that convert count, and the share of all that rows take then at most, any of these.
    """
    format, widths = reorder.source.element_type.float_format, reorder.widths
    is_long = widths.dst == 1 or (widths.src == 1 and format is not None and format.fraction_bits > 0)
    is_small, makes_bf16 = target.vector < LINE, reorder.destination.element_type.name == "bf16"
    is_slow = (is_small and widths.src == 1) or (makes_bf16 and (is_small or target.shuffles == "words"))
    ways = [(1.0, 1.0 if is_slow else BOX_GAIN), *([(OVERLAPPED, LONG_GAIN)] if is_long else [])]
    return LONG_HOPEFUL if is_long or is_slow else HOPEFUL, ways


def _converts_rows(parts: Sequence[CopyPlan | Through]) -> bool:
    """Whether what is converted is so as it lies, by way of no buffer more, and what becomes wider fills registers."""
    plans = [copy for part in parts for copy in ((part,) if isinstance(part, CopyPlan) else part.copies)]
    widened = [plan for plan in plans if plan.widths.converts and plan.widths.converted_at == "dst"]
    short = sum(plan.copy.elements for plan in widened if _converts_few(plan))
    is_short = short > MOST_SHORT * sum(plan.copy.elements for plan in widened)
    return not is_short and not any(plan.gathers_converted for plan in plans)


def _converts_few(plan: CopyPlan) -> bool:
    """Whether rows fill no register of what is computed: beside zeros they may be of two elements."""
    return not plan.target_lanes or converted_lanes(plan) < plan.vector_bytes // max(COMPUTED, plan.widths.dst)


def _takes_less(
    parts: Sequence[CopyPlan | Through], straight: Sequence[CopyPlan], threads: int, converting: float, gain: float
) -> bool:
    """
    Whether turns, by so many threads, take less than a share of the instructions of copies that go straight, of which
    a part of those that convert count.
    """
    moved, every = ([parts_cost(each, size, threads) for each in (parts, straight)] for size in (0, COMPUTED))
    through, there = (some + converting * (all - some) for some, all in zip(moved, every, strict=True))
    return through <= gain * there


def _stores_lines(straight: Sequence[CopyPlan]) -> bool:
    """Whether copies that go past the caches by whole lines, as they should, have most elements that are there."""
    there = [plan for plan in straight if not plan.copy.is_fill]
    passing = sum(plan.copy.elements for plan in there if pass_caches([plan]))
    return passing > MOST_PASSING * sum(plan.copy.elements for plan in there)


def _least(straight: Sequence[CopyPlan], how: Converting, moved: int) -> float:
    """Those that whole registers take at least, which are converted, and moved with so many bytes of each element."""
    widths, vector = how.widths, how.target.vector
    lanes = vector // max(widths.src, widths.dst)
    each = CONVERTED * parts_converted(straight[0], lanes) / lanes + MOVED * moved / vector
    return each * sum(plan.copy.elements for plan in straight if not plan.copy.is_fill)
