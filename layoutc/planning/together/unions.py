"""
What copies that run together write: whole runs of the destination, each put together in a buffer of its own.

16 channels of 17 and the last one leave gaps, each by itself; together they write rows of 17, one after the other. A
turn may have several such runs, of rows that lie apart: in the buffer they follow one another.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from layoutc.errors import LayoutcError
from layoutc.planning.copies.copy_digits import Carry, CopyDigit, SideName, StridedCopy
from layoutc.planning.copies.widths import Widths
from layoutc.planning.plans.plan import CopyPlan
from layoutc.planning.plans.turns import Together
from layoutc.planning.together.turn_copies import of_one_step


@dataclass(frozen=True)
class Union:
    """Copies (their numbers) that write runs in a turn, and these runs as a staged copy of zeros: it loads nothing."""

    members: tuple[int, ...]
    plan: CopyPlan

    def inside(self, plan: CopyPlan) -> CopyPlan:
        """
        A member as it stores into the buffer, where runs follow one another.

        Raises LayoutcError if registers go on from one run to the next.
        """
        begin = self.plan.copy.dst * self.plan.widths.src // plan.widths.dst
        digits = tuple(self._in_buffer(digit, plan.widths.dst) for digit in plan.copy.digits)
        if any(digits[part.digit] != plan.copy.digits[part.digit] for part in plan.target_lanes):
            raise LayoutcError("copies that share a buffer store registers that are longer than its runs")
        return replace(plan, copy=replace(plan.copy, dst=plan.copy.dst - begin, digits=digits))

    def _in_buffer(self, digit: CopyDigit, size: int) -> CopyDigit:
        def moved(carry: Carry) -> Carry:
            return Carry(tuple((extent, self._distance(step, size)) for extent, step in carry.steps))

        carries: tuple[tuple[SideName, Carry], ...] = tuple(
            (side, moved(carry) if side == "dst" else carry) for side, carry in digit.carries
        )
        return replace(digit, dst=self._distance(digit.dst, size), carries=carries)

    def _distance(self, step: int, size: int) -> int:
        """So many elements of such a size apart in the destination: how many they are apart in the buffer."""
        strides = self.plan.store_buffer.strides
        unit, digits = self.plan.widths.src, self.plan.copy.digits
        apart_in = [g for g, steps in enumerate(self.plan.macro) if steps > 1 and g not in self.plan.run_digits]
        rows = [(digits[g].dst * unit, strides[g] * unit) for g in apart_in]
        apart, inside = max((row for row in rows if row[0] <= step * size), default=(size, size))
        if step * size % apart:
            raise LayoutcError(f"steps of {step * size} bytes are no whole runs, which lie {apart} bytes apart")
        return step * size // apart * inside // size


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

    Raises LayoutcError if it is not, in each turn, runs of contiguous bytes that a buffer can hold, all alike.
    """
    found: list[tuple[int, StridedCopy, int]] = []
    for number, copy in enumerate(part.copies):
        if copy.stages_stores:
            raise LayoutcError(f"copies that share a buffer have normal or nontemporal stores, got {copy.store}")
        if copy.store == "normal":
            apart = replace(copy.copy, digits=tuple(each for digit in copy.copy.digits for each in digit.parts))
            found.append((number, of_one_step(apart, copy.widths, part.loops), copy.widths.dst))
    rows = _rows(found)
    spans = sorted((_span(number, _without(copy, rows, size), size) for number, copy, size in found), key=_begin)
    return tuple(_union(part, span, rows) for span in _joined(spans))


def shared_step(loop: int, made: Sequence[Union]) -> int:
    """How far turns are apart along a loop: by a line less where runs end, so that each line is stored whole."""
    return min(union.plan.macro_step(loop) for union in made)


def _rows(copies: Sequence[tuple[int, StridedCopy, int]]) -> list[tuple[int, int]]:
    """Digits that all copies have (steps, and bytes from one to the next) around all that they write in a step."""
    all_digits = [{(digit.extent, digit.dst * size) for digit in copy.digits} for _, copy, size in copies]
    found: list[tuple[int, int]] = []
    for row in sorted(set[tuple[int, int]].intersection(*all_digits), key=lambda row: -row[1]) if all_digits else ():
        if _bytes_of(copies, [*found, row]) > row[1]:
            break
        found.append(row)
    # Those that follow one another are one run.
    while found and _bytes_of(copies, found) == found[-1][1]:
        found.pop()
    return found


def _bytes_of(copies: Sequence[tuple[int, StridedCopy, int]], rows: Sequence[tuple[int, int]]) -> int:
    """The bytes from the first to the last that copies write in a step of these rows."""
    spans = [_span(number, _without(copy, rows, size), size) for number, copy, size in copies]
    return max(span.end for span in spans) - min(span.begin for span in spans)


def _without(copy: StridedCopy, rows: Sequence[tuple[int, int]], size: int) -> StridedCopy:
    return replace(copy, digits=tuple(digit for digit in copy.digits if (digit.extent, digit.dst * size) not in rows))


def _span(number: int, step: StridedCopy, size: int) -> Span:
    """What a copy writes in one step."""
    last = step.dst + sum(digit.offset("dst", digit.extent - 1) for digit in step.digits)
    return Span((number,), step.dst * size, (last + 1) * size, step.elements * size)


def _begin(span: Span) -> int:
    return span.begin


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


def _union(part: Together, span: Span, rows: Sequence[tuple[int, int]]) -> Union:
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
    around = [(loop.extent, loop.dst) for loop in part.loops] + list(rows)
    digits = (*(CopyDigit(extent, step // size, step // size, extent) for extent, step in around), run)
    order = tuple(range(len(digits)))
    plan = CopyPlan(
        StridedCopy(span.begin // size, span.begin // size, digits, is_fill=True),
        Widths(size, size),
        first.vector_bytes,
        first.shuffles,
        tile=(1,) * len(digits),
        source_lanes=(),
        target_lanes=(),
        macro=(*(loop.step for loop in part.loops), *(extent for extent, _ in rows), run.extent),
        outer_order=order,
        inner_order=order,
        store="staged",
    )
    near = [d.dst for g, d in enumerate(digits) if g not in plan.run_digits and plan.macro[g] > 1 and d.dst < plan.run]
    if near:
        raise LayoutcError(
            f"copies that share a buffer write runs of {plan.run * size} bytes, {near[0] * size} bytes apart in a turn"
        )
    union = Union(span.members, plan)
    for number in span.members:
        union.inside(part.copies[number])
    return union
