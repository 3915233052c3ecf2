"""
What copies that run together write: whole runs of the destination, each put together in a buffer of its own.

16 channels of 17 and the last one leave gaps, each by itself; together they write rows of 17, one after the other.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from layoutc.errors import LayoutcError
from layoutc.planning.copy_digits import CopyDigit, StridedCopy
from layoutc.planning.plan import CopyPlan
from layoutc.planning.together import of_one_step
from layoutc.planning.turns import SharedLoop, Together


@dataclass(frozen=True)
class Union:
    """Copies (their numbers) that write one run in a turn, and that run as a staged copy of zeros: it loads nothing."""

    members: tuple[int, ...]
    plan: CopyPlan


@dataclass(frozen=True, slots=True)
class Span:
    """The bytes from the first to the last that copies write in one step of all loops, and how many these are."""

    members: tuple[int, ...]
    begin: int
    end: int
    written: int


def unions(part: Together) -> tuple[Union, ...]:
    """
    What the copies write that have no non-temporal stores, in the order of the destination.

    Raises LayoutcError if it is not, in each turn, runs of contiguous bytes that a buffer can hold.
    """
    found: list[Span] = []
    for number, copy in enumerate(part.copies):
        if copy.stages_stores:
            raise LayoutcError(f"copies that share a buffer have normal or nontemporal stores, got {copy.store}")
        if copy.store == "normal":
            found.append(_span(number, copy, part.loops))
    found.sort(key=lambda span: span.begin)
    return tuple(_union(part, span) for span in _joined(found))


def shared_step(loop: int, made: Sequence[Union]) -> int:
    """How far turns are apart along a loop: by a line less where runs end, so that each line is stored whole."""
    return min(union.plan.macro_step(loop) for union in made)


def _span(number: int, copy: CopyPlan, loops: Sequence[SharedLoop]) -> Span:
    size = copy.widths.dst
    step = of_one_step(copy.copy, copy.widths, loops)
    last = step.dst + sum(digit.offset("dst", digit.extent - 1) for digit in step.digits)
    return Span((number,), step.dst * size, (last + 1) * size, step.elements * size)


def _joined(spans: Sequence[Span]) -> list[Span]:
    """Those together that lie side by side, or in each other's gaps."""
    found: list[Span] = []
    for span in spans:
        if found and span.begin <= found[-1].end:
            last = found.pop()
            members, written = (*last.members, *span.members), last.written + span.written
            span = Span(members, last.begin, max(last.end, span.end), written)
        found.append(span)
    return found


def _union(part: Together, span: Span) -> Union:
    if span.written != span.end - span.begin:
        raise LayoutcError(
            f"copies that share a buffer write {span.written} of {span.end - span.begin} bytes, expected all"
        )
    first = part.copies[span.members[0]]
    widths = [part.copies[number].widths.dst for number in span.members]
    if span.begin % max(widths):
        raise LayoutcError(f"a shared buffer begins at byte {span.begin}, expected a multiple of {max(widths)}")
    size = min(widths)
    run = CopyDigit(span.written // size, 1, 1, span.written // size)
    digits = (*(CopyDigit(loop.extent, loop.dst // size, loop.dst // size, loop.extent) for loop in part.loops), run)
    order = tuple(range(len(digits)))
    plan = CopyPlan(
        StridedCopy(span.begin // size, span.begin // size, digits, is_fill=True),
        size,
        first.vector_bytes,
        first.shuffles,
        tile=(1,) * len(digits),
        source_lanes=(),
        target_lanes=(),
        macro=(*(loop.step for loop in part.loops), run.extent),
        outer_order=order,
        inner_order=order,
        store="staged",
    )
    if plan.run != prod(plan.macro):
        raise LayoutcError(
            f"copies that share a buffer write runs of {plan.run * size} bytes in a turn of {prod(plan.macro) * size}, "
            "expected one run"
        )
    return Union(span.members, plan)
