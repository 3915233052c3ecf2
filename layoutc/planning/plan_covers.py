"""What a plan must do: the copies of its reorder, in any order."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product, zip_longest

from layoutc.errors import LayoutcError, PlanError
from layoutc.planning.conversions.even_copies import rejoined
from layoutc.planning.copies.copy_digits import StridedCopy, merged, unfused, without_partial
from layoutc.planning.copies.promotion import promotions
from layoutc.planning.plan_text import loops_text, widths_text
from layoutc.planning.plans.copy_text import copy_text
from layoutc.planning.plans.plan import CopyPlan, Plan
from layoutc.planning.plans.turns import SharedLoop, Through
from layoutc.planning.through.through import Detour
from layoutc.planning.together.turn_copies import restored

AsWritten = tuple[StridedCopy, str]
"""a copy, and the bytes of its elements on both sides as a plan has them: `4`, `4 to 1`"""


def check_covers(plan: Plan, copies: Sequence[StridedCopy], element_bytes: int) -> None:
    """
    Raises PlanError unless the plan's copies are these copies of a reorder, in any order.

    A copy may stand with wider elements, or cut into what is loaded and what is zero.
    """
    waiting = dict(enumerate(_restored(plan)))
    _check_copies(plan, waiting, len(waiting), copies, element_bytes)


def check_buffered(plan: Plan, detour: Detour, element_bytes: int) -> None:
    """Raises PlanError unless the plan is this reorder through a buffer: its turns in their order, and its fills."""
    number = 0
    turns = _checked_turns(plan, [turn.loops for turn in detour.turns])
    for part, turn in zip(turns, detour.turns, strict=True):
        for got, expected in ((part.into, turn.into), (part.out_of, turn.out_of)):
            sized = ((unfused(copy.copy), widths_text(copy)) for copy in got)
            _check_copies(plan, dict(enumerate(sized, number)), number + len(got), expected, element_bytes)
            number += len(got)
    fills = Plan(plan.parts[len(turns) :], plan.threads)
    _check_copies(plan, dict(enumerate(_restored(fills), number)), len(plan.copies), detour.fills, element_bytes)


def _checked_turns(plan: Plan, expected: Sequence[tuple[SharedLoop, ...]]) -> list[Through]:
    """The turns of a plan through a buffer. Raises PlanError unless they are in these loops."""
    number = 0
    turns = [part for part in plan.parts if isinstance(part, Through)]
    for part, loops in zip_longest(turns, expected):
        if part is None or part.loops != loops:
            found = None if part is None else part.loops
            texts = ("no more turns" if one is None else f"'{loops_text(one)}'" for one in (found, loops))
            line = line_of(plan, number) - (part is not None)
            raise PlanError(line, "", None, "got {}, expected {} for this reorder".format(*texts))
        number += len(part.copies)
    return turns


def _check_copies(
    plan: Plan, waiting: dict[int, AsWritten], count: int, copies: Sequence[StridedCopy], element_bytes: int
) -> None:
    """Raises PlanError unless some copies of a plan, by their numbers up to `count`, are these, in any order."""
    missing: list[list[list[AsWritten]]] = []
    for copy in copies:
        variants = list(_variants(copy, element_bytes))
        taken = next((v for v in variants if all(part in waiting.values() for part in v)), None)
        if taken is None:
            missing.append(variants)
        for part in taken or ():
            del waiting[next(number for number, other in waiting.items() if other == part)]
    if waiting or missing:
        number, got = next(iter(waiting.items()), (count, None))
        variants = missing[0] if missing else []
        # Of all that could stand there, what has elements as wide as what does.
        fitting = [first for first, *_ in variants if got and first[1] == got[1]]
        raise misfit(plan, number, got, next(iter((*fitting, *(first for first, *_ in variants))), None))


def _restored(plan: Plan, first: int = 0) -> list[AsWritten]:
    """The copies of a plan from the part `first` on as those of its reorder."""
    found: list[AsWritten] = []
    before = len(Plan(plan.parts[:first]).copies)
    for part in plan.parts[first:]:
        loops, copies = ((), (part,)) if isinstance(part, CopyPlan) else (part.loops, part.copies)
        for copy in copies:
            try:
                found.append((restored(unfused(copy.copy), copy.widths, loops), widths_text(copy)))
            except LayoutcError as error:
                raise PlanError(line_of(plan, before + len(found)), "", None, str(error)) from None
    return found


def _variants(copy: StridedCopy, element_bytes: int) -> Iterator[list[AsWritten]]:
    """The ways in which a copy may stand in a plan."""
    for wide, size in promotions(copy, element_bytes):
        yield [(wide, str(size))]
        for position, digit in enumerate(wide.digits):
            if not digit.is_whole and not digit.is_uneven:
                loaded, empty = (list(_variants(part, size)) for part in without_partial(wide, position))
                yield from ([*one, *other] for one in loaded for other in empty)


def check_same(plan: Plan, chosen: Plan) -> None:
    """
    Raises PlanError unless the plan has the copies of a chosen one that converts: these stand in no other way.

    Where a copy is cut in two so that threads can share it follows from the caches; both may be cut elsewhere.
    """
    wanted = [part for part in chosen.parts if isinstance(part, Through)]
    turns = _checked_turns(plan, [part.loops for part in wanted])
    number = 0
    for got, expected in zip(turns, wanted, strict=True):
        for half in ((got.into, expected.into), (got.between, expected.between), (got.out_of, expected.out_of)):
            _check_half(plan, number, *(_restored(Plan(copies)) for copies in half))
            number += len(half[0])
    _check_half(plan, number, *(_restored(one, len(turns)) for one in (plan, chosen)))


def _check_half(plan: Plan, number: int, copies: Sequence[AsWritten], chosen: Sequence[AsWritten]) -> None:
    """Raises PlanError unless these copies of a plan, the first of which has this number, are the chosen ones."""
    given, asked = ([(merged(copy), widths) for copy, widths in each] for each in (copies, chosen))
    ways = product((given, _rejoined(given)), (asked, _rejoined(asked)))
    if not any(_without(one, other) == _without(other, one) == [] for one, other in ways):
        place, got = next(iter(_without(given, asked)), (len(given), None))
        _, expected = next(iter(_without(asked, given)), (0, None))
        raise misfit(plan, number + place, got, expected)


def _without(copies: Sequence[AsWritten], others: Sequence[AsWritten]) -> list[tuple[int, AsWritten]]:
    """The copies, with their numbers, that are not among the others."""
    waiting, found = list(others), list[tuple[int, AsWritten]]()
    for number, copy in enumerate(copies):
        if copy in waiting:
            waiting.remove(copy)
        else:
            found.append((number, copy))
    return found


def _rejoined(copies: Sequence[AsWritten]) -> list[AsWritten]:
    """The copies, of which those that follow one another along a digit are one."""
    found: list[AsWritten] = []
    for copy, widths in copies:
        found.append((copy, widths))
        while len(found) > 1 and found[-2][1] == widths and (whole := rejoined(found[-2][0], found[-1][0])):
            found[-2:] = [(whole, widths)]
    return found


def misfit(plan: Plan, number: int, got: AsWritten | None, expected: AsWritten | None) -> PlanError:
    """The error of a plan whose copy `number` (from 0) is not the reorder's; None stands for the end of either."""
    texts = (f"'{copy_text(one[0])}, elements of {one[1]}'" if one else "no more copies" for one in (got, expected))
    return PlanError(line_of(plan, number), "", None, "got {}, expected {} for this reorder".format(*texts))


def line_of(plan: Plan, number: int) -> int:
    """The line (from 1) of the copy `number` (from 0), or the one behind the last."""
    line = 2
    for part in plan.parts:
        copies = 1
        if not isinstance(part, CopyPlan):
            copies = len(part.copies)
            line += 1
        if number < copies:
            break
        number -= copies
        line += copies
    return line + number
