"""
Threads in the second cache: each writes rows of the destination that no other one writes beside.

A line that two threads write goes from one's cache to the other's and back. So does the line behind the last one that a
thread writes of a row, as a processor fetches ahead of what is stored into.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from math import prod
from typing import TypeGuard

from layoutc.planning.copies.runs import contiguous
from layoutc.planning.machine import LINE, Machine
from layoutc.planning.moves.macro_tiles import loop_order
from layoutc.planning.plans.plan import CopyPlan, Plan, PlanPart
from layoutc.planning.reasons import because

MANY_BORDERS = 10
"""places where a thread's part of the destination ends and the next one's begins, above which that is worth avoiding"""
FEWER_BORDERS = 4
"""times as few are what other loops have to leave"""
WHOLE_ROWS = 64 << 10
"""bytes of the rows of a tile, up to which a macro tile has all of them"""
SMALL_PIECE = 32 << 10
"""bytes of one of several copies, up to which a thread moves them sooner than another one starts"""


def with_rows_of_threads(plan: Plan, destination_bytes: int, target: Machine) -> Plan:
    """
    The plan, whose threads have few lines of the destination beside each other if the second cache holds it.

    Of two threads one is left where that cannot be, and elements are moved as they are. Not for a plan that adds to
    what the destination holds: its macro tiles write nothing twice.
    """
    if plan.threads == 1 or destination_bytes >= target.l2:
        return plan
    parts = tuple(_way(part, plan) if _is_plain(part) else part for part in plan.parts)
    places = [borders(part, 2) for part in parts if plan.threads == 2 and _is_plain(part)]
    if max(places, default=0) > MANY_BORDERS and not any(copy.widths.converts for copy in plan.copies):
        because("threads", f"one, as two would write beside each other in {max(places)} places")
        return replace(plan, threads=1)
    return replace(plan, parts=parts)


def _is_plain(part: PlanPart) -> TypeGuard[CopyPlan]:
    """Whether it is a copy whose tiles store straight into the destination, and no macro tiles into one byte."""
    if not isinstance(part, CopyPlan):
        return False
    return part.store == "normal" and bool(part.target_lanes) and part.widths.dst_per_byte == 1


def _way(copy: CopyPlan, plan: Plan) -> CopyPlan:
    """A copy of a plan with the loops that suit its threads."""
    is_small = len(plan.copies) > 1 and copy.copy.elements * copy.widths.dst <= SMALL_PIECE
    if is_small and copy.load == "normal" and _runs(copy) <= MANY_BORDERS and copy.macro != copy.extents:
        words = "all of it, for one thread, as it is done sooner than another one starts"
        return copy.because("macro tiles", words, macro=copy.extents)
    before = borders(copy, plan.threads)
    if before <= MANY_BORDERS:
        return copy
    for words, found in (("rows", _rows(copy)), ("bands", _bands(copy, plan.threads))):
        if found is not None and borders(found, plan.threads) * FEWER_BORDERS <= before:
            found = found.because("outer loops", "along the destination, whose rows threads share")
            why = f"{words} of the destination, so that threads do not write beside each other"
            return found.because("macro tiles", why)
    return copy


def _runs(plan: CopyPlan) -> int:
    """How many pieces of the destination, each without a gap, the copy writes."""
    run = prod(digit.extent for _, digit in contiguous(plan.copy, "dst"))
    return plan.copy.elements // run


def _rows(plan: CopyPlan) -> CopyPlan | None:
    """The plan with macro tiles of one tile, but as long as rows of the destination are, in their order."""
    if plan.load != "normal":
        return None
    macro, order = list(plan.least_macro), loop_order(plan.copy.digits, "dst")
    for position, digit in contiguous(plan.copy, "dst"):
        longer = prod(macro) // macro[position] * digit.extent
        if longer * plan.widths.dst > WHOLE_ROWS:
            break
        macro[position] = digit.extent
    return replace(plan, macro=tuple(macro), outer_order=order, inner_order=order)


def _bands(plan: CopyPlan, threads: int) -> CopyPlan | None:
    """The plan in the order of the destination, whose slowest digit has as many macro tiles for each thread."""
    order = loop_order(plan.copy.digits, "dst")
    slowest = order[0]
    if not plan.copy.digits[slowest].is_whole:
        return None
    tile, extent = plan.tile[slowest], plan.extents[slowest]
    of_each = -(-extent // (tile * threads))
    turns = -(-of_each * tile // plan.macro[slowest])
    steps = min(-(-of_each // turns) * tile, extent)
    macro = tuple(steps if g == slowest else size for g, size in enumerate(plan.macro))
    return replace(plan, macro=macro, outer_order=order, inner_order=order)


def borders(plan: CopyPlan, threads: int) -> int:
    """
    Lines of the destination, about, beside which another thread writes, or into them.

    Turns of the loops over macro tiles are shared in order, as many for each thread. Where a share ends within a loop,
    it ends within all that a step of the loops around it writes, each row by itself.
    """
    loops = [(g, -(-plan.extents[g] // plan.macro[g])) for g in plan.outer_order if plan.macro[g] < plan.extents[g]]
    turns = prod(count for _, count in loops)
    return sum(_borders_at(plan, loops, end) for end in _ends(turns, threads))


def _ends(turns: int, threads: int) -> Iterator[int]:
    """The turns before which the share of a thread ends, but the last one's; the first ones have one more."""
    each, more = divmod(turns, threads)
    return (ends for n in range(1, threads) if 0 < (ends := n * each + min(n, more)) < turns)


def _borders_at(plan: CopyPlan, loops: list[tuple[int, int]], turn: int) -> int:
    steps: list[int] = []
    for _, count in reversed(loops):
        turn, step = divmod(turn, count)
        steps.insert(0, step)
    found, sizes = 0, list(plan.extents)
    for number, (position, count) in enumerate(loops):
        is_cut = any(steps[number:]) and (steps[number] > 0 or number > 0)
        if is_cut:
            found += _rows_cut(plan, sizes, position) * _lines_twice(plan, position, steps[number] == count - 1)
        sizes[position] = plan.macro[position]
    return found


def _rows_cut(plan: CopyPlan, sizes: list[int], position: int) -> int:
    """
    How many rows of lines a cut along a digit goes through, if so many steps of each are there.

    Of a digit that is several in one, those steps are cut that come last in its order.
    """
    digits, found = plan.copy.digits, 1
    *inner, (_, cut) = digits[position].all_steps("dst")
    for g, digit in enumerate(digits):
        left = sizes[g]
        for extent, step in inner if g == position else digit.all_steps("dst"):
            if step > cut and step * plan.widths.dst >= LINE:
                found *= min(extent, left)
            left = max(left // extent, 1)
    return found


def _lines_twice(plan: CopyPlan, position: int, is_last: bool) -> int:
    """Lines that both threads write of a row: those of a last tile that starts earlier, if a thread starts with it."""
    tile, macro, extent = plan.tile[position], plan.macro[position], plan.extents[position]
    left = extent % macro or macro
    again = (tile - left) * plan.copy.digits[position].all_steps("dst")[-1][1] if is_last and left < tile else 0
    return 1 + again * plan.widths.dst // LINE
