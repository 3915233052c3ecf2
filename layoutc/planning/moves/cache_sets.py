"""Which rows of a tile share a set of the first cache: those that are large powers of two apart evict each other."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import lru_cache
from math import prod

from layoutc.planning.copies.copy_digits import SIDES, SideName
from layoutc.planning.copies.runs import contiguous
from layoutc.planning.machine import LINE, PAGE, Machine
from layoutc.planning.plans.plan import CopyPlan

L1_SETS = 64
"""on x86 and most others a page's worth of lines, as the cache is looked up while the address is translated"""


L2_WAYS = 16
"""lines of one set of the second cache, of the server processors of Intel that this was measured on; others have 8"""


def l1_ways(target: Machine) -> int:
    """How many lines of one set the first cache holds."""
    return target.l1 // (L1_SETS * LINE)


def fits_second_cache(plan: CopyPlan, target: Machine) -> bool:
    """Whether that holds both sides."""
    return 2 * plan.copy.elements * plan.widths.src <= target.l2


def waits_in_second_cache(plan: CopyPlan, target: Machine) -> bool:
    """Whether stores wait for lines, and the second cache holds both sides: what comes again is near."""
    return target.waits_for_lines and fits_second_cache(plan, target)


@lru_cache(maxsize=256)
def most_in_a_set(
    plan: CopyPlan,
    side: SideName,
    steps: tuple[int, ...],
    run_digits: tuple[int, ...] = (),
    width: int = 0,
    sets: int = L1_SETS,
) -> int:
    """
    The most rows that share one of so many sets, of `steps` steps of each digit; one of stride 1 runs along the row.

    An element has `width` bytes there, by default as many as in the source.
    """
    run_digits = run_digits or tuple(g for g, digit in enumerate(plan.copy.digits) if digit.stride(side) == 1)
    rows = [0]
    for position, digit in enumerate(plan.copy.digits):
        if position not in run_digits:
            places = digit.places(side, steps[position])
            rows = [row + place for row in rows for place in places]
    lines = {row * (width or plan.widths.src) // LINE for row in rows}
    return max(Counter(line % sets for line in lines).values())


def fill_second_sets(plan: CopyPlan, target: Machine) -> bool:
    """Whether a line of each source row of a macro tile, and the next one, are more than their sets of L2 hold."""
    sets = max(target.l2 // (L2_WAYS * LINE), 1)
    return 2 * most_in_a_set(plan, "src", plan.macro, plan.source_run_digits, sets=sets) > L2_WAYS


@lru_cache(maxsize=256)
def share_evicted(plan: CopyPlan, side: SideName, target: Machine) -> float:
    """
    What share of the lines of a side is evicted before the next tile that takes a part of them.

    Where more lines share a set than it holds, as many are left as it does.
    """
    steps = _steps_between(plan, side)
    lines = {each: _lines(plan, each, steps) for each in SIDES}
    sets = Counter(line % L1_SETS for found in lines.values() for line in found)
    left = sum(min(1, l1_ways(target) / sets[line % L1_SETS]) for line in lines[side])
    return 1 - left / len(lines[side])


def _steps_between(plan: CopyPlan, side: SideName) -> tuple[int, ...]:
    """Of each digit those that pass between two tiles side by side in a row of a side, or in a macro tile."""
    loops = [position for position in plan.inner_order if plan.macro[position] > plan.tile[position]]
    width = plan.widths.of(side)
    near = (g for g, digit in contiguous(plan.copy, side) if digit.offset(side, plan.tile[g]) * width <= LINE)
    row = next((position for position in near if position in loops), None)
    if row is None:
        return plan.macro
    inside = loops[loops.index(row) + 1 :]
    return tuple(plan.macro[g] if g in inside else size for g, size in enumerate(plan.tile))


def stored_sets(plan: CopyPlan) -> int:
    """How many sets the lines lie in that a macro tile stores."""
    return len({line % L1_SETS for line in _lines(plan, "dst", plan.macro)})


def share_without_room(plan: CopyPlan, target: Machine) -> float:
    """What share of the lines that a macro tile has on both sides finds no room in their sets beside the others."""
    lines = [_lines(plan, side, plan.macro) for side in SIDES]
    sets = Counter(line % L1_SETS for found in lines for line in found)
    return sum(max(0, count - l1_ways(target)) for count in sets.values()) / sum(map(len, lines))


def pages(plan: CopyPlan, side: SideName) -> int:
    """How many pages the lines lie in that a macro tile has on a side."""
    return len({line * LINE // PAGE for line in _lines(plan, side, plan.macro)})


def _lines(plan: CopyPlan, side: SideName, steps: Sequence[int]) -> set[int]:
    """The lines of so many steps of each digit on a side, if both begin at a page."""
    rows, run = [0], 1
    for position, digit in enumerate(plan.copy.digits):
        if digit.stride(side) == 1:
            run = steps[position]
        else:
            places = digit.places(side, steps[position])
            rows = [row + place for row in rows for place in places]
    width, last = plan.widths.of(side), run * plan.widths.of(side) - 1
    # Place by place, as rows are thousands, and each has a few lines.
    places = (*range(0, last, LINE), last)
    return {(row * width + place) // LINE for place in places for row in rows}


COLLIDING_ROWS = 6
"""as many rows in a set leave no room in it for the next line of each, and for what is stored"""


UNEVEN = 1.5
"""times the even share of rows in a set, where some sets have none"""


def share_sets(plan: CopyPlan, target: Machine) -> bool:
    """
    Whether the source rows of a macro tile share few sets: too many one, and twice as many as their even share.

    Not those of which the first cache could not hold half, wherever they lie.
    """
    most, even = _rows_in_a_set(plan)
    return even <= 2 * l1_ways(target) and most > max(COLLIDING_ROWS, 2 * even)


def source_bytes(plan: CopyPlan) -> int:
    """Bytes of the lines of the source that a macro tile has, if its rows begin at one."""
    line = LINE // plan.widths.src
    return prod(plan.macro) // plan.source_run * -(-plan.source_run // line) * LINE


HELD_BY_L1 = 0.7
"""of the first cache, that lines of the source may fill beside a buffer"""


def holds_lines(plan: CopyPlan, target: Machine) -> bool:
    """Whether the first cache holds the lines of the source that a macro tile has, which do not share few sets."""
    return source_bytes(plan) <= HELD_BY_L1 * target.l1 and not share_sets(plan, target)


def overflow_sets(plan: CopyPlan, target: Machine) -> bool:
    """Whether they share fewer sets than there are, and some do not hold a line of each."""
    most, even = _rows_in_a_set(plan)
    return most > max(l1_ways(target), UNEVEN * even)


def share_stored_sets(plan: CopyPlan) -> bool:
    """Whether the rows of the destination that a macro tile has share fewer sets than there are."""
    rows = prod(n for n, digit in zip(plan.macro, plan.copy.digits, strict=True) if digit.stride("dst") != 1)
    return most_in_a_set(plan, "dst", plan.macro) > UNEVEN * max(rows / L1_SETS, 1)


def _rows_in_a_set(plan: CopyPlan) -> tuple[int, float]:
    """The most source rows of a macro tile that share one set, and how many would if all sets had as many."""
    rows = prod(steps for position, steps in enumerate(plan.macro) if position not in plan.source_run_digits)
    return most_in_a_set(plan, "src", plan.macro, plan.source_run_digits), rows / L1_SETS
