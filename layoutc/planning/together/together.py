"""
Copies that run together: macro tile by macro tile, as they share cache lines.

A tail, or blocks that do not divide each other, cut a reorder into copies that write, or read, the same lines: 16
channels of 17, and the last one. One after the other they would move those lines through memory again. Digits that
all of them have become loops around them, and each copies what is left.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from math import prod

from layoutc.planning.copies.copy_digits import SIDES, CopyDigit, SideName, Sized, StridedCopy
from layoutc.planning.copies.runs import contiguous
from layoutc.planning.copies.widths import Widths
from layoutc.planning.machine import LINE
from layoutc.planning.plans.turns import SharedLoop
from layoutc.planning.together.turn_copies import loop_of, reduced, step_of

Measured = tuple[StridedCopy, Widths]
"""a copy, and the bytes of its elements on both sides"""

NEAR = 4096
"""bytes within which copies that begin so close have lines, and pages, in common"""
TURN_LINES = 4
"""times its bytes that the source's lines of a macro tile may have: half of the second cache"""
GROWN_RUN, SOURCE_RUN = 512, 256
"""bytes of a run of the destination, past which those of the source come first, up to so many"""
MOST_GROWN = 3
"""times as long a run is still not cut there"""
FEW_LINES = 4 * LINE
"""bytes of the source from a turn to the next one, which shares a line"""
MIN_STEP = 64
"""steps of the fastest shared digit, and of those that lanes are made of, that go into a macro tile"""


def moved_groups(copies: Sequence[Sized], budget: int) -> list[tuple[tuple[SharedLoop, ...], list[Sized]]]:
    """The `groups` of copies that move elements as they are."""
    found = groups(alike([(copy, Widths(size, size)) for copy, size in copies]), budget)
    return [(loops, [(copy, widths.dst) for copy, widths in group]) for loops, group in found]


def groups(copies: Sequence[Measured], budget: int) -> list[tuple[tuple[SharedLoop, ...], list[Measured]]]:
    """
    The copies in their order, those together that share loops; no loops for one that runs alone.

    Together they move about `budget` bytes in a macro tile. Others may stand between those of a group.
    """
    found: list[list[Measured]] = []
    for copy in copies:
        group = next(
            (group for group in reversed(found) if _near(group, copy) and _loops([*group, copy], budget)), None
        )
        if group is None:
            found.append([copy])
        else:
            group.append(copy)
    return [(_loops(group, budget) if len(group) > 1 else (), group) for group in found]


def alike(copies: Sequence[Measured]) -> list[Measured]:
    """The copies; fills with digits that have the strides of the others, which may share loops with them."""
    steps = [(widths, digit.dst) for copy, widths in copies if not copy.is_fill for digit in copy.digits]
    strides = sorted({stride for widths, step in steps if (stride := widths.bytes("dst", step)) is not None})
    return [_split(*each, strides) if each[0].is_fill else each for each in copies]


def _split(copy: StridedCopy, widths: Widths, strides: Sequence[int]) -> Measured:
    """A fill with digits that have such strides; its runs are not cut."""
    digits = list(copy.digits)
    for stride in strides:
        apart = widths.elements("dst", stride) or 0
        for position, digit in enumerate(digits):
            inner = apart // digit.dst
            is_even = apart % digit.dst == digit.extent % max(inner, 1) == 0
            if not digit.carries and digit.dst > 1 and 1 < inner < digit.extent and is_even:
                steps, slow = digit.extent // inner, inner * digit.dst
                fast = replace(digit, extent=inner, loaded=inner)
                digits[position : position + 1] = [CopyDigit(steps, slow, slow, steps, params=digit.params), fast]
                break
    return replace(copy, digits=tuple(digits)), widths


def _near(group: Sequence[Measured], copy: Measured) -> bool:
    return any(_share_lines(other, copy, side) for other in group for side in SIDES)


def _share_lines(one: Measured, other: Measured, side: SideName) -> bool:
    """Whether two copies begin close to each other on a side, and have parts of the same lines there."""
    if side == "src" and (one[0].is_fill or other[0].is_fill):
        return False
    begins = [_bytes(copy.of(side), widths, side) for copy, widths in (one, other)]
    return abs(begins[0] - begins[1]) < NEAR and not any(_has_lines(*each, side) for each in (one, other))


def _bytes(elements: int, widths: Widths, side: SideName) -> int:
    """So many elements of a side in bytes, the one that they end in left out."""
    return elements * widths.of(side) // widths.per_byte(side)


def _has_lines(copy: StridedCopy, widths: Widths, side: SideName) -> bool:
    """
    Whether a copy shares no lines on a side.

    Lines that are copied as they are count as shared: loops around such copies follow the pages that they share.
    """
    rows = (digit.extent for digit in copy.digits if digit.src == digit.dst == 1)
    is_straight = any((widths.bytes(side, row) or 1) % LINE == 0 for row in rows)
    return not is_straight and _has_whole_lines(copy, widths, side)


def _has_whole_lines(copy: StridedCopy, widths: Widths, side: SideName) -> bool:
    """Whether all of the lines that a copy has a part of on a side, of a buffer that begins at one, are its own."""
    run, found = 1, set[int]()
    for position, digit in contiguous(copy, side):
        run *= digit.loaded if side == "src" else digit.extent
        found.add(position)
    apart = [step for i, d in enumerate(copy.digits) if i not in found for _, step in d.all_steps(side)]
    return all((widths.bytes(side, step) or 1) % LINE == 0 for step in (run, copy.of(side), *apart) if step)


def _loops(group: Sequence[Measured], budget: int) -> tuple[SharedLoop, ...]:
    """Loops over the digits that all copies have, slowest first; none if what is left is too much for a macro tile."""
    copy, widths = next((each for each in group if not each[0].is_fill), group[0])
    found = [loop for digit in copy.digits if digit.is_whole and (loop := loop_of(digit, widths)) is not None]
    shared = [loop for loop in found if all(step_of(loop, *other) in other[0].digits for other in group)]
    left = max(sum(map(_moved_bytes, group)) // prod(loop.extent for loop in shared), 1)  # of elements that share bytes
    if left > budget:
        return ()
    shared.sort(key=lambda loop: (not _are_neighbours(loop, widths), loop.dst))  # first what lanes are made of
    lines = max(line_bytes(reduced(*each, shared), each[1], "src") for each in group)
    steps = dict.fromkeys(shared, 1)
    for loop, wanted in grown(shared, widths.src):
        is_contiguous, in_a_line = _are_neighbours(loop, widths), _in_a_line(loop)
        others = [(other, n) for other, n in steps.items() if other != loop]
        turn_lines = lines * prod(-(-n // _in_a_line(other)) for other, n in others)
        most = TURN_LINES * budget * in_a_line // turn_lines
        if loop.dst >= LINE and any(other.dst < LINE and n < other.extent for other, n in others):
            most = min(most, budget // LINE)  # the others come back to the lines of the destination
        step = max(min(budget // (left * prod(n for _, n in others)), most, wanted), steps[loop])
        step = max(step, MIN_STEP if is_contiguous else _least_steps(loop, shared))
        steps[loop] = even_step(loop.extent, min(step, loop.extent))
    turns = [replace(loop, step=steps[loop]) for loop in sorted(shared, key=lambda loop: -loop.dst)]
    return page_by_page(turns) if any(loop.step < loop.extent for loop in turns) else ()


def _least_steps(loop: SharedLoop, shared: Sequence[SharedLoop]) -> int:
    """
    How many steps of a loop a turn has at least: many of the fastest one, of which lanes are made.

    Where several steps of another one share a line of the source no more than a run needs: all of such a line is worth
    more, as the next turn would read it again.
    """
    if loop != shared[0]:
        return 1
    shares = any(other.src > 0 and _in_a_line(other) > 1 for other in shared if other != loop)
    return min(MIN_STEP, max(GROWN_RUN // loop.dst, 1)) if shares else MIN_STEP


def _are_neighbours(loop: SharedLoop, widths: Widths) -> bool:
    """Whether the steps of a loop are neighbours on a side."""
    return loop.src == widths.src or loop.dst == widths.dst


def _moved_bytes(each: Measured) -> int:
    """Bytes of a copy on its wider side."""
    copy, widths = each
    return max(_bytes(copy.elements, widths, side) for side in SIDES)


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


def even_step(extent: int, step: int) -> int:
    """As many turns as with `step`, of equal size."""
    return -(-extent // -(-extent // step))


def line_bytes(copy: StridedCopy, widths: Widths, side: SideName, line: int = LINE) -> int:
    """About how many bytes of lines of a side, or of pages, a copy has a part of; a fill counts its destination."""
    digits = [step for digit in copy.digits for step in digit.all_steps(side)]
    steps = [(extent, _bytes(stride, widths, side)) for extent, stride in digits]
    span = widths.of(side) + sum((extent - 1) * stride for extent, stride in steps if stride < line)
    return -(-span // line) * line * prod(extent for extent, stride in steps if stride >= line)


def page_by_page(loops: Sequence[SharedLoop]) -> tuple[SharedLoop, ...]:
    """Steps that share lines, or pages, of the source follow one another, or each would read these lines again."""
    whole = [loop for loop in loops if loop.step == loop.extent]
    near = [loop for loop in loops if loop not in whole and 0 < loop.src * loop.step < NEAR]
    near.sort(key=lambda loop: -loop.src)
    return (*(loop for loop in loops if loop not in (*near, *whole)), *near, *whole)


def _line_by_line(loops: Sequence[SharedLoop]) -> tuple[SharedLoop, ...]:
    """Turns that share lines of the source follow one another, or each would read these lines again."""
    steps = [(loop, loop.src * loop.step) for loop in loops if loop.step < loop.extent]
    near = [loop for loop, step in steps if 0 < step < FEW_LINES and step % LINE]
    near.sort(key=lambda loop: -loop.src)
    return (*(loop for loop in loops if loop not in near), *near)


def with_runs(
    loops: Sequence[SharedLoop], group: Sequence[Sized], budget: int, has_lines: bool = False
) -> tuple[SharedLoop, ...]:
    """The loops with turns of about `budget` bytes, which are steps that follow one another in the destination."""
    count = prod(loop.extent for loop in loops)
    left = max(sum(copy.elements * size for copy, size in group) // count, 1)
    turns: list[SharedLoop] = []
    for loop in sorted(loops, key=lambda loop: loop.dst):
        follows = not turns or loop.dst == turns[0].dst * turns[0].extent
        turns_of_loop = -(-loop.extent // max(budget // left, 1)) if follows else loop.extent
        step = -(-loop.extent // turns_of_loop)
        # Turns overlap by a line, so that a run that goes on in the next one has more than two of its steps.
        overlap = -(-LINE // left)
        step = min(max(step, 2 * overlap + 1), loop.extent) if step > 1 else 1
        if follows and has_lines and 0 < loop.src < LINE:
            unit = LINE // loop.src
            step = min(max((step - overlap) // unit, 1) * unit + overlap, loop.extent)
        turns.insert(0, replace(loop, step=step))
        left *= step
    return _line_by_line(turns)
