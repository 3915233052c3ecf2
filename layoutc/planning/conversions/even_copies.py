"""
Copies that store nothing twice, as what the destination holds counts (`sum`).

Elsewhere the last tile of a digit starts earlier, and stores some elements again. Here a digit is cut into what whole
registers hold, and the rest; lanes are powers of two that divide its extent, on every machine.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from layoutc.planning.copies.copy_digits import SIDES, CopyDigit, StridedCopy, cut_after, merged
from layoutc.planning.copies.runs import contiguous
from layoutc.planning.plans.plan import CopyPlan

CUTS = (64, 8)
"""multiples that a digit of lanes is cut at: the most lanes of a register, and as few as are worth a copy"""


def even_copies(copy: StridedCopy) -> Iterator[StridedCopy]:
    """The copy, cut along the digits that lanes are made of."""
    place = None if copy.is_fill else next(_places(copy), None)
    if place is None:
        yield copy
    else:
        for part in cut_after(copy, *place):
            yield from even_copies(part)


def _places(copy: StridedCopy) -> Iterator[tuple[int, int]]:
    """Digits, and the steps that they are cut after."""
    for side in SIDES:
        lanes = 1
        for position, digit in contiguous(copy, side):
            steps = next((digit.extent // cut * cut for cut in CUTS if digit.extent >= cut), 0)
            if 0 < steps < digit.extent:
                yield position, steps
            lanes *= digit.extent
            if lanes >= CUTS[0] or digit.extent & (digit.extent - 1):
                break


def rejoined(first: StridedCopy, rest: StridedCopy) -> StridedCopy | None:
    """The copy that was `cut_after` into these along some digit, if there is one."""
    for position, digit in enumerate(first.digits):
        # Of one step there is no digit left.
        steps = next((other.extent for other in rest.digits if _is_along(other, digit)), 1)
        longer = replace(digit, extent=digit.extent + steps, loaded=digit.extent + steps)
        whole = replace(first, digits=(*first.digits[:position], longer, *first.digits[position + 1 :]))
        if digit.is_whole and not digit.carries and cut_after(whole, position, digit.extent) == (first, rest):
            return merged(whole)
    return None


def _is_along(digit: CopyDigit, other: CopyDigit) -> bool:
    """Whether the steps of both are the same."""
    return replace(digit, extent=other.extent, loaded=other.loaded) == other


def with_even_macro(plan: CopyPlan) -> CopyPlan:
    """The plan with macro tiles that divide the copy."""
    sizes = zip(plan.extents, plan.tile, plan.macro, strict=True)
    return replace(plan, macro=tuple(_even(extent, tile, macro) for extent, tile, macro in sizes))


def _even(extent: int, tile: int, most: int) -> int:
    """The largest multiple of a tile up to `most` that divides the extent, as the tile does."""
    return next(size for size in range(most // tile * tile, 0, -tile) if extent % size == 0)


def is_even(plan: CopyPlan) -> bool:
    """Whether no element is stored twice."""
    sizes = zip(plan.extents, plan.macro, plan.tile, strict=True)
    return all(extent % macro == 0 and macro % tile == 0 for extent, macro, tile in sizes)
