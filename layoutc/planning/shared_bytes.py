"""
Copies of elements that share bytes: which load and store whole bytes, and how others are cut so that most of them do.

A row of 4095 elements of 4 bits ends inside of a byte, in which the next row begins. Of every other row the first
element is copied by itself, of the others the last; what is between begins and ends with a byte.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from math import gcd, prod

from layoutc.planning.copy_digits import SIDES, Carry, CopyDigit, SideName, StridedCopy
from layoutc.planning.plan import CopyPlan, Widths

MIN_RUN = 16
"""elements of a row, below which too little is left between its ends"""
MAX_CUTS = 32
"""copies that one is cut into"""
Shares = Mapping[SideName, int]
"""elements that share a byte, for each side where some do"""


def first_inside_a_byte(plan: CopyPlan) -> SideName | None:
    """The side on which loads or stores of some tile begin or end inside of a byte, if there is one."""
    if not plan.target_lanes:
        return None
    return next((side for side in SIDES if not _begins_with_bytes(plan, side)), None)


def _begins_with_bytes(plan: CopyPlan, side: SideName) -> bool:
    """Whether each piece of memory that a tile takes begins with a byte, and ends with one."""
    per_byte = plan.widths.per_byte(side)
    if per_byte == 1 or (plan.copy.is_fill and side == "src"):
        return True
    lanes = {part.digit: part.extent for part in (plan.source_lanes if side == "src" else plan.target_lanes)}
    places = [prod(lanes.values()), plan.copy.src if side == "src" else plan.copy.dst]
    for position, digit in enumerate(plan.copy.digits):
        piece = lanes.get(position, 1)
        if piece < digit.extent:
            # Pieces begin at multiples of their extent, or where the last one does that starts earlier.
            places += (n * step for n in (piece, plan.macro[position], digit.extent) for step in _steps(digit, side))
    return all(place % per_byte == 0 for place in places)


def _steps(digit: CopyDigit, side: SideName) -> Sequence[int]:
    stride = digit.stride(side)
    return [step for _, step in stride.steps] if isinstance(stride, Carry) else [stride]


# --- cutting -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Cut:
    """A part of a copy: whether it begins and ends with bytes on all sides, or goes element by element."""

    copy: StridedCopy
    is_whole: bool


def cut_at_bytes(copy: StridedCopy, widths: Widths) -> list[Cut]:
    """The copy as parts that begin and end with bytes, and the elements between them; by itself if there are many."""
    parts: list[Cut] = []
    for part in _cut(copy, widths):
        parts.append(part)
        if len(parts) > MAX_CUTS:
            return [Cut(copy, is_whole=False)]
    return parts


def _cut(copy: StridedCopy, widths: Widths) -> Iterator[Cut]:
    sides: tuple[SideName, ...] = ("dst",) if copy.is_fill else SIDES
    shares: Shares = {side: share for side in sides if (share := widths.per_byte(side)) > 1}
    runs: Mapping[SideName, int | None] = {side: _run(copy, side) for side in SIDES}
    uneven = next(_uneven(copy, shares, runs), None)
    if any(runs[side] is None for side in shares) or (uneven and uneven[0] in runs.values()):
        # Of a run on the other side each phase would have every other element.
        yield Cut(copy, is_whole=False)
    elif uneven is not None:
        position, step = uneven
        for phase in range(min(step, copy.digits[position].extent)):
            yield from _cut(_phase(copy, position, step, phase), widths)
    else:
        yield from _cut_ends(copy, widths, shares, runs)


def _uneven(copy: StridedCopy, shares: Shares, runs: Mapping[SideName, int | None]) -> Iterator[tuple[int, int]]:
    """The digits whose steps begin inside of a byte, and after how many steps they begin with one again."""
    for (side, share), (position, digit) in product(shares.items(), enumerate(copy.digits)):
        step = share // gcd(share, _stride(digit, side))
        if position != runs[side] and step > 1:
            yield position, step


def _cut_ends(copy: StridedCopy, widths: Widths, shares: Shares, runs: Mapping[SideName, int | None]) -> Iterator[Cut]:
    """Cuts the first run off that does not begin and end with bytes, then others."""
    for position in sorted({run for side in shares if (run := runs[side]) is not None}):
        parts = _trimmed(copy, position, {side: share for side, share in shares.items() if runs[side] == position})
        if len(parts) > 1 or not parts[0].is_whole:
            for part in parts:
                yield from _cut(part.copy, widths) if part.is_whole else [part]
            return
    yield Cut(copy, is_whole=True)


def _run(copy: StridedCopy, side: SideName) -> int | None:
    """The digit of the contiguous elements of a side, if it is long enough."""
    found = (i for i, d in enumerate(copy.digits) if _stride(d, side) == 1 and d.is_whole and d.extent >= MIN_RUN)
    return next(found, None)


def _stride(digit: CopyDigit, side: SideName) -> int:
    return digit.src if side == "src" else digit.dst


def _trimmed(copy: StridedCopy, position: int, shares: Shares) -> list[Cut]:
    """A copy without the elements of a run before the first byte, and behind the last; with them as further copies."""
    extent, most = copy.digits[position].extent, max(shares.values())
    starts = {side: copy.src if side == "src" else copy.dst for side in shares}
    for head in range(most):
        if all((starts[side] + head) % share == 0 for side, share in shares.items()):
            stop = head + (extent - head) // most * most
            edges = ((0, head, False), (head, stop, True), (stop, extent, False))
            return [Cut(_part(copy, position, start, end), is_whole) for start, end, is_whole in edges if start < end]
    return [Cut(copy, is_whole=False)]


def _part(copy: StridedCopy, position: int, start: int, stop: int) -> StridedCopy:
    """The steps from `start` to `stop` of a digit."""
    return _every(copy, position, start, 1, stop - start)


def _phase(copy: StridedCopy, position: int, step: int, phase: int) -> StridedCopy:
    """Every so many steps of a digit, from the one numbered `phase` on."""
    return _every(copy, position, phase, step, -(-(copy.digits[position].extent - phase) // step))


def _every(copy: StridedCopy, position: int, start: int, step: int, count: int) -> StridedCopy:
    digit = copy.digits[position]
    params = tuple(stride * step for stride in digit.params)
    taken = replace(digit, extent=count, loaded=count, src=digit.src * step, dst=digit.dst * step, params=params)
    before, after = copy.digits[:position], copy.digits[position + 1 :]
    digits = (*before, *([taken] if count > 1 else []), *after)
    places = zip(copy.params, digit.params, strict=True)
    at = tuple(place + start * stride for place, stride in places)
    return replace(copy, src=copy.src + start * digit.src, dst=copy.dst + start * digit.dst, digits=digits, params=at)
