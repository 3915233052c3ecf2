"""What lies ahead of a macro tile: the next one, and how far on in the source it is asked for."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from layoutc.planning.copies.copy_digits import Carry, CopyDigit, SideName
from layoutc.planning.copies.runs import chain_of
from layoutc.planning.machine import LINE, PAGE, Machine
from layoutc.planning.plans.plan import CopyPlan
from layoutc.planning.tiles.lanes import lane_count

LEAST_AHEAD, LEAST_AHEAD_MOVED = 4 << 10, 8 << 10
"""
bytes of macro tiles between a load and what it asks for: what is nearer does not come in time. Elements that are moved
as they are take less
"""
LEAST_AHEAD_UNEVEN = 16 << 10
"""
the same where the next macro tile begins inside a line that this one has a part of, or at another place in one, of what
is moved and not asked for twice, of what becomes narrower, and of rows that are converted into a buffer; and wherever
it begins, of elements that will share bytes
"""
STRIPS = 8
"""rows of a macro tile from which on the next tiles along them are asked for: fewer the processor follows by itself"""
STRIP_AHEAD = 2 * LINE
"""bytes of a row that these tiles are ahead at least"""
FEW_ROWS, MANY_ROWS = 4, 32
"""
rows of a macro tile in the source, up to which these are asked for twice if they go on, and from which on wherever the
next ones lie
"""
ROWS_OF_A_PAGE = 3
"""rows of a macro tile in each page it has, from which on those of half a line and less are asked for twice"""
MOST_CARRYING = 0.5
"""of the places in a macro tile, that the next one may lie elsewhere from: then a whole period on is asked for"""
HELD_AHEAD = 1 / 4
"""of the second cache, that macro tiles fill at most which pass until what is asked for: it is not there any longer"""


def asking_ahead(plan: CopyPlan) -> CopyPlan:
    """The plan that asks for the next macro tile; where there is none, or it is this one again, tiles ask for none."""
    ahead, asks = next_macro_tile(plan), plan.asks
    if not ahead:
        asks = ""
    elif asks != "by tiles":
        asks = "twice" if _is_asked_twice(plan) else ""
    if (ahead, asks) == (plan.prefetch, plan.asks):
        return plan
    return plan.because("prefetch", "for what comes next", prefetch=ahead, asks=asks)


def along_most_turns(plan: CopyPlan, target: Machine) -> CopyPlan:
    """
    The plan that asks for what the loop of most turns comes to, of those inside of which few bytes pass, if the last
    cache is near.

    In the last turn of a loop the next macro tile lies elsewhere: of a loop of two turns every other one. Not so where
    the loop around it goes on where this one ends: the turns of that one count as this one's.
    """
    digits, loops = plan.copy.digits, outer_loops(plan, plan.outer_order)
    if target.llc_is_far or not plan.prefetch or not loops:
        return plan
    passing, most, found = prod(plan.macro) * plan.widths.src, 0, loops[-1]
    for position in reversed(loops):
        digit = digits[position]
        if isinstance(digit.stride("src"), Carry) or passing > HELD_AHEAD * target.l2:
            break
        turns = _steps_on(plan, position)
        if turns > most:
            most, found = turns, position
        passing *= -(-digit.extent // plan.macro[position])
    if found == loops[-1]:
        return plan
    why = f"along digit {found}, whose loop has the most steps"
    ahead = digits[found].offset("src", plan.macro[found])
    return plan.because("prefetch", why, prefetch=ahead + _last_loaded(plan))


def _is_asked_twice(plan: CopyPlan) -> bool:
    """
    Whether the lines that leave a buffer ask for what lies ahead as well, of which loads ask for each by itself.

    Nothing else is read meanwhile, and a few rows that go on wait for it most. Of more of them within a page, or of
    boxes, and of those that are copied as they are, the processor knows itself what comes next. Where digits carry it
    takes too long to say, and so it does where several macro tiles take a line of each row in turn, and rows lie in
    pages of their own.
    """
    is_moved = plan.store == "staged" and plan.load == "normal" and not plan.widths.converts
    if not is_moved or plan.keeps_rows or any(digit.carries for digit in plan.copy.digits):
        return False
    rows, loop = prod(plan.macro) // plan.source_run, outer_loops(plan, plan.outer_order)[-1]
    if plan.macro_tiles_of_a_line == 1 and rows <= FEW_ROWS and goes_on(plan, loop):
        return True
    if plan.merges:
        return False
    if plan.macro_tiles_of_a_line == 1:
        return rows >= MANY_ROWS
    return goes_on(plan, loop) and rows >= ROWS_OF_A_PAGE * _pages(plan)


def _pages(plan: CopyPlan) -> int:
    """About how many pages the source rows of a macro tile lie in."""
    pages, reach = 1, 0
    for digit, steps in zip(plan.copy.digits, plan.macro, strict=True):
        step = digit.offset("src", 1) * plan.widths.src
        if step < PAGE:
            reach += (steps - 1) * step
        else:
            pages *= steps
    return pages * max(-(-reach // PAGE), 1)


def outer_loops(plan: CopyPlan, order: Sequence[int]) -> list[int]:
    """The digits of which a macro tile has a part, and over which there are loops."""
    return [g for g in order if plan.macro[g] < plan.copy.digits[g].extent]


def next_macro_tile(plan: CopyPlan) -> int:
    """How far ahead of a load is what it asks for, in elements: a later macro tile or tile; 0 if there is none."""
    digits = plan.copy.digits
    loops = outer_loops(plan, plan.outer_order)
    if not loops or plan.copy.is_fill:
        return 0
    digit, step = digits[loops[-1]], plan.macro[loops[-1]]
    if _carrying(digit, step) > MOST_CARRYING:
        step = _next_period(digit, step)
    ahead = _tiles_ahead(plan, loops[-1]) or digit.offset("src", step) * _turns_ahead(plan, loops[-1], step)
    # What straddles lines mostly begins in one that is there, as what lies before it was loaded, and ends in another.
    if straddles_lines(plan) or _steps_inside_lines(plan, loops[-1]):
        return ahead + _last_loaded(plan)
    if not goes_on(plan, loops[-1]):
        return ahead
    loaded, line = _loaded_at_once(plan), LINE // plan.widths.src
    # The first part of a line waits for the second cache: a line ahead is asked for with the last part of another one.
    return ahead + loaded if plan.stages_stores and loaded < line and ahead % line == 0 else ahead


def _steps_inside_lines(plan: CopyPlan, position: int) -> bool:
    """Whether macro tiles that overlap along a digit begin inside lines, where those beside each other would not."""
    step, stride = plan.macro_step(position), plan.copy.digits[position].stride("src")
    return step < plan.macro[position] and isinstance(stride, int) and step * stride * plan.widths.src % LINE > 0


def _tiles_ahead(plan: CopyPlan, position: int) -> int:
    """
    How far ahead the tiles are that come in time, where tiles follow one another along the rows of the source; else 0.

    A whole macro tile would be too far: what many long rows ask for fills the caches before it is needed.
    """
    digit, tile = plan.copy.digits[position], plan.tile[position]
    inside = [g for g in plan.inner_order if plan.tile[g] < plan.macro[g]]
    strip = prod(plan.macro) // plan.macro[position] * tile * plan.widths.src
    is_strip = "staged" not in (plan.load, plan.store) and inside[:1] == [position] and goes_on(plan, position)
    least = LEAST_AHEAD_MOVED if _moves(plan) else LEAST_AHEAD
    if not is_strip or strip >= least or prod(plan.macro) < STRIPS * plan.source_run:
        return 0
    ahead = digit.offset("src", tile) * -(-least // strip)
    is_near = ahead * plan.widths.src >= STRIP_AHEAD and ahead < digit.offset("src", plan.macro[position])
    return ahead if is_near else 0


def _last_loaded(plan: CopyPlan) -> int:
    """The last element of a load, or of the first line that it takes."""
    return min(_loaded_at_once(plan), LINE // plan.widths.src) - 1


def _loaded_at_once(plan: CopyPlan) -> int:
    """Elements of a load: of a tile, or of a row that is gathered in a buffer, by whole registers."""
    if plan.load == "normal":
        return lane_count(plan.source_lanes)
    row = 1 << (plan.source_run.bit_length() - 1)
    return min(plan.vector_bytes // plan.widths.src, row)


def goes_on(plan: CopyPlan, position: int) -> bool:
    """Whether what lies ahead along a digit is in the same run of the source, of which others may carry on."""
    if not isinstance(plan.copy.digits[position].stride("src"), int):
        return False
    for found, _ in chain_of(plan.copy, "src"):
        if found == position or plan.macro[found] < plan.copy.digits[found].extent:
            return found == position
    return False


def _turns_ahead(plan: CopyPlan, position: int, step: int) -> int:
    """Of how many macro tiles the next one is that comes in time; at most half of a loop, but for steps in a line."""
    stride = plan.copy.digits[position].stride("src")
    if not isinstance(stride, int) or not stride:
        return 1
    line = LINE // plan.widths.src
    least = _least_ahead(plan, stride * step % line == 0)
    turns = max(-(-least // (prod(plan.macro) * plan.widths.src)), -(-line // (stride * step)))
    return turns if turns <= _steps_on(plan, position) // 2 or stride * step < line else 1


def _least_ahead(plan: CopyPlan, is_even: bool) -> int:
    """Bytes of macro tiles between a load and what it asks for, at least; `is_even` if the next one is lines on."""
    if _moves(plan):
        return LEAST_AHEAD_MOVED if is_even or _is_asked_twice(plan) else LEAST_AHEAD_UNEVEN
    if plan.widths.narrows:
        is_far = not is_even or plan.widths.dst_per_byte > 1
    else:
        is_far = not is_even and plan.gathers_converted and not plan.widths.are_packed
    return LEAST_AHEAD_UNEVEN if is_far else LEAST_AHEAD


def _moves(plan: CopyPlan) -> bool:
    """Whether elements of whole bytes stay what they are."""
    return not (plan.widths.converts or plan.widths.are_packed)


def _steps_on(plan: CopyPlan, position: int) -> int:
    """How many macro tiles lie one after another along a digit, the loops around it that go on from its end counted."""
    digits, loops = plan.copy.digits, outer_loops(plan, plan.outer_order)
    digit, around = digits[position], loops[: loops.index(position)]
    steps, end = -(-digit.extent // plan.macro[position]), digit.offset("src", digit.extent)
    while around and digits[around[-1]].offset("src", plan.macro[around[-1]]) == end:
        passed = around.pop()
        steps *= -(-digits[passed].extent // plan.macro[passed])
        end = digits[passed].offset("src", digits[passed].extent)
    return steps


def _carrying(digit: CopyDigit, step: int) -> float:
    """Of how many steps of a digit that is several in one the faster ones carry, and the next macro tile lies apart."""
    stride = digit.stride("src")
    if isinstance(stride, int):
        return 0.0
    places = stride.places(stride.period + step)
    return sum(there - here != places[step] for here, there in zip(places, places[step:], strict=False)) / stride.period


def _next_period(digit: CopyDigit, step: int) -> int:
    """The first steps from so many on behind which all faster ones are as they were."""
    stride = digit.stride("src")
    return step if isinstance(stride, int) else -(-step // stride.period) * stride.period


def straddles_lines(plan: CopyPlan, side: SideName = "src") -> bool:
    """Whether runs of a side begin anywhere in a line."""
    line = LINE // plan.widths.of(side)
    run = plan.memory_run_digits(side)
    others = [digit for g, digit in enumerate(plan.copy.digits) if g not in run]
    strides = [step for digit in others for _, step in digit.all_steps(side)]
    return any(step % line for step in (plan.copy.of(side), *strides))
