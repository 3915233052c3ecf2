"""
Copies that run together: macro tile by macro tile, as they share cache lines.

A tail, or blocks that do not divide each other, cut a reorder into copies that write, or read, the same lines: 16
channels of 17, and the last one. One after the other they would move those lines through memory again. Digits that
all of them have become loops around them, and each copies what is left.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from math import gcd, prod

from layoutc.errors import LayoutcError
from layoutc.planning.copy_digits import SIDES, CopyDigit, SideName, StridedCopy, contiguous, falling
from layoutc.planning.plan import LINE
from layoutc.planning.turns import SharedLoop

Sized = tuple[StridedCopy, int]
"""a copy, and the bytes of its elements"""

NEAR = 4096
"""bytes within which copies that begin so close have lines, and pages, in common"""
TURN_LINES = 4
"""times its bytes that the source's lines of a macro tile may have: half of the second cache"""
MOST_TWICE = 1.1
"""times what turns copy in all, as the last one begins earlier, where they begin at whole lines"""
GROWN_RUN, SOURCE_RUN = 512, 256
"""bytes of a run of the destination, past which those of the source come first, up to so many"""
MOST_GROWN = 3
"""times as long a run is still not cut there"""
MIN_STEP = 64
"""steps of the fastest shared digit, and of those that lanes are made of, that go into a macro tile"""


def groups(copies: Sequence[Sized], budget: int) -> list[tuple[tuple[SharedLoop, ...], list[Sized]]]:
    """
    The copies in their order, those together that share loops; no loops for one that runs alone.

    Together they move about `budget` bytes in a macro tile. Others may stand between those of a group.
    """
    found: list[list[Sized]] = []
    for copy in copies:
        group = next(
            (group for group in reversed(found) if _near(group, copy) and _loops([*group, copy], budget)), None
        )
        if group is None:
            found.append([copy])
        else:
            group.append(copy)
    return [(_loops(group, budget) if len(group) > 1 else (), group) for group in found]


def _near(group: Sequence[Sized], copy: Sized) -> bool:
    return any(_share_lines(other, copy, side) for other in group for side in SIDES)


def _share_lines(one: Sized, other: Sized, side: SideName) -> bool:
    """Whether two copies begin close to each other on a side, and have parts of the same lines there."""
    if side == "src" and (one[0].is_fill or other[0].is_fill):
        return False
    begins = [getattr(copy, side) * size for copy, size in (one, other)]
    return abs(begins[0] - begins[1]) < NEAR and not any(_has_lines(*sized, side) for sized in (one, other))


def _has_lines(copy: StridedCopy, size: int, side: SideName) -> bool:
    """
    Whether a copy shares no lines on a side.

    Lines that are copied as they are count as shared: loops around such copies follow the pages that they share.
    """
    is_straight = any(digit.src == digit.dst == 1 and digit.extent * size % LINE == 0 for digit in copy.digits)
    return not is_straight and _has_whole_lines(copy, size, side)


def _has_whole_lines(copy: StridedCopy, size: int, side: SideName) -> bool:
    """Whether all of the lines that a copy has a part of on a side, of a buffer that begins at one, are its own."""
    run, found = size, set[int]()
    for position, digit in contiguous(copy, side):
        run *= digit.loaded if side == "src" else digit.extent
        found.add(position)
    apart = [step for i, d in enumerate(copy.digits) if i not in found for _, step in d.all_steps(side)]
    return all(step % LINE == 0 for step in (run, *(step * size for step in (getattr(copy, side), *apart))))


def _loops(group: Sequence[Sized], budget: int) -> tuple[SharedLoop, ...]:
    """Loops over the digits that all copies have, slowest first; none if what is left is too much for a macro tile."""
    copy, size = next((sized for sized in group if not sized[0].is_fill), group[0])
    found = (SharedLoop(d.extent, 1, d.src * size, d.dst * size) for d in copy.digits if d.is_whole)
    shared = [loop for loop in found if all(_step(loop, *other) in other[0].digits for other in group)]
    left = sum(copy.elements * size for copy, size in group) // prod(loop.extent for loop in shared)
    if left > budget:
        return ()
    shared.sort(key=lambda loop: (size not in (loop.src, loop.dst), loop.dst))  # first what lanes are made of
    lines = max(_source_lines(reduced(*sized, shared), sized[1]) for sized in group)
    steps = dict.fromkeys(shared, 1)
    for loop, wanted in grown(shared, size):
        is_contiguous, in_a_line = size in (loop.src, loop.dst), _in_a_line(loop)
        others = [(other, n) for other, n in steps.items() if other != loop]
        turn_lines = lines * prod(-(-n // _in_a_line(other)) for other, n in others)
        most = TURN_LINES * budget * in_a_line // turn_lines
        step = max(min(budget // (left * prod(n for _, n in others)), most, wanted), steps[loop])
        step = max(step, MIN_STEP if is_contiguous or loop == shared[0] else 1)
        unit = LINE // (size if is_contiguous else gcd(loop.dst, LINE))  # whole lines
        steps[loop] = even_step(loop.extent, min(step, loop.extent), unit)
    turns = [replace(loop, step=steps[loop]) for loop in sorted(shared, key=lambda loop: -loop.dst)]
    return page_by_page(turns) if any(loop.step < loop.extent for loop in turns) else ()


def grown(loops: Sequence[SharedLoop], size: int) -> Iterator[tuple[SharedLoop, int]]:
    """Loops, and how far they grow: to runs of the destination, to those of the source, and as far as they can."""
    for loop in loops:
        if size == loop.src:
            yield loop, loop.extent
        elif loop.dst < GROWN_RUN:
            is_long = loop.extent * loop.dst > MOST_GROWN * GROWN_RUN
            yield loop, GROWN_RUN // loop.dst if is_long else loop.extent
    for loop in loops:
        if 0 < loop.src < LINE and loop.dst >= GROWN_RUN:
            yield loop, SOURCE_RUN // loop.src
    yield from ((loop, loop.extent) for loop in loops)


def _in_a_line(loop: SharedLoop) -> int:
    """How many steps of a loop lie in a line of the source."""
    return max(LINE // max(loop.src, 1), 1)


def even_step(extent: int, step: int, unit: int) -> int:
    """As many turns as with `step`, of equal size, a multiple of `unit` if that is little more."""
    turns = -(-extent // step)
    even = -(-extent // turns)
    rounded = min(-(-even // unit) * unit, step)
    return rounded if turns * rounded <= MOST_TWICE * extent else even


def _source_lines(copy: StridedCopy, size: int) -> int:
    """About how many bytes of lines of the source a copy has a part of; a fill counts its destination."""
    steps = [(extent, stride * size) for digit in copy.digits for extent, stride in digit.all_steps("src")]
    span = size + sum((extent - 1) * stride for extent, stride in steps if stride < LINE)
    return -(-span // LINE) * LINE * prod(extent for extent, stride in steps if stride >= LINE)


def page_by_page(loops: Sequence[SharedLoop]) -> tuple[SharedLoop, ...]:
    """Steps that share lines, or pages, of the source follow one another, or each would read these lines again."""
    whole = [loop for loop in loops if loop.step == loop.extent]
    near = [loop for loop in loops if loop not in whole and 0 < loop.src * loop.step < NEAR]
    near.sort(key=lambda loop: -loop.src)
    return (*(loop for loop in loops if loop not in (*near, *whole)), *near, *whole)


def _line_by_line(loops: Sequence[SharedLoop]) -> tuple[SharedLoop, ...]:
    """Single steps that share lines of the source follow one another, or each would read these lines again."""
    near = [loop for loop in loops if loop.step == 1 and 0 < loop.src < LINE]
    return (*(loop for loop in loops if loop not in near), *near)


def _step(loop: SharedLoop, copy: StridedCopy, size: int, extent: int | None = None) -> CopyDigit:
    """The digit of a copy that a loop takes steps of; a fill counts its destination on both sides."""
    extent = loop.extent if extent is None else extent
    return CopyDigit(extent, (loop.dst if copy.is_fill else loop.src) // size, loop.dst // size, extent)


def reduced(copy: StridedCopy, size: int, loops: Sequence[SharedLoop]) -> StridedCopy:
    """What a copy does in one macro tile of the loops."""
    steps = {_step(loop, copy, size): _step(loop, copy, size, loop.step) for loop in loops}
    digits = (steps.get(digit, digit) for digit in copy.digits)
    return replace(copy, digits=tuple(digit for digit in digits if digit.extent > 1))


def of_one_step(copy: StridedCopy, size: int, loops: Sequence[SharedLoop]) -> StridedCopy:
    """What a copy that was `reduced` does in one step of all loops."""
    parts = [_step(loop, copy, size, loop.step) for loop in loops]
    return replace(copy, digits=tuple(digit for digit in copy.digits if digit not in parts))


def with_runs(loops: Sequence[SharedLoop], group: Sequence[Sized], budget: int) -> tuple[SharedLoop, ...]:
    """The loops with turns of about `budget` bytes, which are steps that follow one another in the destination."""
    left = sum(copy.elements * size for copy, size in group) // prod(loop.extent for loop in loops)
    turns: list[SharedLoop] = []
    for loop in sorted(loops, key=lambda loop: loop.dst):
        follows = not turns or loop.dst == turns[0].dst * turns[0].extent
        turns_of_loop = -(-loop.extent // max(budget // left, 1)) if follows else loop.extent
        step = -(-loop.extent // turns_of_loop)
        # Turns overlap by a line, so that a run that goes on in the next one has more than two of its steps.
        step = min(max(step, 2 * -(-LINE // left) + 1), loop.extent) if step > 1 else 1
        turns.insert(0, replace(loop, step=step))
        left *= step
    return _line_by_line(turns)


def restored(copy: StridedCopy, size: int, loops: Sequence[SharedLoop]) -> StridedCopy:
    """
    The copy that `reduced` was given, with its digits by falling stride of the destination.

    Raises LayoutcError if the copy has not the digits of the loops.
    """
    digits = list(copy.digits)
    for loop in loops:
        part = _step(loop, copy, size, loop.step)
        if (loop.step > 1 and part not in digits) or loop.dst % size or (loop.src % size and not copy.is_fill):
            raise LayoutcError(f"a copy has no digit {part.extent}x({part.src}, {part.dst}) of the loops around it")
        if loop.step > 1:
            digits.remove(part)
        digits.append(_step(loop, copy, size))
    digits.sort(key=falling)
    return replace(copy, digits=tuple(digits))
