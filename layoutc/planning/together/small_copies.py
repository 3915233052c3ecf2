"""Copies that are nearly nothing of their reorder, as tails of tails are: they are not worth the text of tiles."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from layoutc.planning.conversions.converting import Converting
from layoutc.planning.copies.copy_digits import Sized, StridedCopy, merged, unfused, without_partial
from layoutc.planning.copies.widths import Widths
from layoutc.planning.machine import Machine
from layoutc.planning.moves.plan_copy import pieces, plan_moved, plan_small
from layoutc.planning.plans.plan import CopyPlan
from layoutc.planning.plans.turns import Together

SMALL_COPY = 1 << 10
"""times that a copy is smaller than all together which moves its elements one by one"""
MOST_PARTS = 3
"""of a small copy, what it loads and fills of the rest: threads start for each"""


def most_small(moved: Sequence[Sized]) -> int:
    """Bytes that a small copy of these writes at most."""
    return sum(copy.elements * size for copy, size in moved) // SMALL_COPY


def plans_alone(sized: Sized, target: Machine, streams: bool, most: int) -> Iterator[CopyPlan]:
    """The plan of a copy that runs by itself; plans of its parts, if it is small and zero in places."""
    copy, size = sized
    copy = merged(copy) if copy.is_fill else copy  # where no loops are shared it is one run
    parts: list[Sized] = []
    if copy.elements * size <= most and all(digit.is_whole or not digit.is_uneven for digit in copy.digits):
        parts = list(_parts(copy, size, target))
    is_small = 0 < len(parts) <= MOST_PARTS
    for part, element in parts if is_small else [(copy, size)]:
        if is_small and not part.is_fill:
            yield plan_small(part, Widths(element, element), target)
        else:
            yield plan_moved(part, element, target, streams)


def _parts(copy: StridedCopy, size: int, target: Machine) -> Iterator[Sized]:
    """What a copy loads, and fills of the rest."""
    partial = None if copy.is_fill else copy.first_partial
    if partial is None:
        yield copy, size
        return
    loaded, rest = without_partial(copy, partial)
    yield from _parts(loaded, size, target)
    yield from pieces(rest, size, target)


def with_small_conversions(
    parts: Sequence[CopyPlan | Together], how: Converting, elements: int
) -> tuple[CopyPlan | Together, ...]:
    """
    The copies of a reorder that converts so many elements; those that are small and run alone go element by element.

    They stay the copies that they are: who reads the plan finds the same ones.
    """
    if how.adds:
        return tuple(parts)

    def planned(part: CopyPlan | Together) -> CopyPlan | Together:
        if isinstance(part, Together) or part.copy.elements * SMALL_COPY > elements or not _goes_by_elements(part):
            return part
        return plan_small(unfused(part.copy), how.widths, how.target)

    return tuple(map(planned, parts))


def _goes_by_elements(plan: CopyPlan) -> bool:
    """Whether elements are converted in tiles that could go without."""
    return bool(plan.widths.converts and plan.target_lanes and plan.copy.is_whole)
