"""Macro tiles: what threads share, and what stays in the first cache; how they grow, and the order of loops."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from math import gcd, lcm, prod

from layoutc.planning.copies.copy_digits import CopyDigit, SideName, StridedCopy
from layoutc.planning.copies.runs import across_gaps, chain_of, contiguous
from layoutc.planning.machine import LINE, PAGE, Machine
from layoutc.planning.moves.cache_sets import holds_lines
from layoutc.planning.moves.macro_shapes import ROW_APART, ROWS_APART, MacroShape
from layoutc.planning.moves.next_tile import asking_ahead, outer_loops
from layoutc.planning.plans.plan import CopyPlan


def loop_order(digits: Sequence[CopyDigit], side: SideName) -> tuple[int, ...]:
    """Positions of the digits, the largest stride of one side outermost."""

    def key(position: int) -> tuple[int, int]:
        stride = digits[position].stride(side)
        largest = stride if isinstance(stride, int) else max(step for _, step in stride.steps)
        return -largest, digits[position].extent

    return tuple(sorted(range(len(digits)), key=key))


def _inner_order(digits: Sequence[CopyDigit], side: SideName) -> tuple[int, ...]:
    """The same, but where a digit carries is counted out once for all tiles inside of its loop."""
    return tuple(sorted(loop_order(digits, side), key=lambda i: not digits[i].carries))


def with_macro(plan: CopyPlan, shape: MacroShape) -> CopyPlan:
    """The plan with macro tiles that keep runs of some length on both sides and fit the first cache."""
    macro = list(plan.macro)
    _grow(plan, macro, "dst", shape.target_run, shape.budget, shape.overlaps)
    _grow(plan, macro, "src", shape.source_run, shape.budget)
    _grow(plan, macro, "dst", shape.most, shape.most, shape.overlaps)
    grown = list(macro)
    if shape.overlaps:
        _divide(plan, macro, shape.target_run)
    why = shape.reason + ("" if macro == grown else "; then made smaller, to overlap less")
    order = _inner_order(plan.copy.digits, shape.inner)
    plan = plan.because("macro tiles", why, macro=tuple(macro), inner_order=order)
    return asking_ahead(plan) if shape.prefetch else plan


SHORT_ROW, JOINED, JOINED_ROWS = 768, 128 << 10, 4
"""bytes of a row; bytes of a macro tile of rows that are one run, in the second cache if need be; how many at least"""
WHOLE_ROW = 2 << 10
"""
bytes of a row that is not cut where the last cache is near, if the first one holds the lines it comes from, or rows
become runs of whole lines
"""


def with_joined_rows(plan: CopyPlan, target: Machine) -> CopyPlan:
    """
    The plan with macro tiles that have more short rows of the destination, where these are one run together.

    What a row leaves of a line goes through the caches, and waits for memory. Macro tiles with a few rows write one of
    them twice, those with all rows of a digit none. Nor do those with all of a row that they would have a part of.
    """
    for position, digit in contiguous(plan.copy, "dst"):
        if plan.macro[position] == digit.extent:
            continue
        is_cut, tile = position in plan.run_digits, plan.tile[position]
        row = plan.run // plan.macro[position] * digit.extent if is_cut else plan.run
        is_short = row * plan.widths.dst < SHORT_ROW
        if not is_short and (target.llc_is_far or not is_cut or row * plan.widths.dst >= WHOLE_ROW):
            break
        rows = digit.extent if is_cut else JOINED_ROWS * plan.steps_of_a_line(row)
        others = prod(plan.macro) // plan.macro[position] * max(plan.widths.src, plan.widths.dst)
        steps = [digit.extent, min(-(-rows // tile) * tile, digit.extent)]
        fitting = next((n for n in steps if n * others <= JOINED), None)
        if fitting is None:
            break
        macro = tuple(fitting if g == position else n for g, n in enumerate(plan.macro))
        why = f"grown by short rows of the destination, {fitting} steps of which are one run"
        joined = plan.because("macro tiles", why, macro=macro)
        if not is_short and not (joined.keeps_lines or holds_lines(joined, target)):
            break
        plan = joined
    return asking_ahead(plan)


def by_source_lines(plan: CopyPlan, target: Machine) -> CopyPlan:
    """
    The plan with its loops over macro tiles in the order of the source, and macro tiles that ask for the next one.

    They do past the caches, and where elements are converted, which are stored through the caches.
    """
    plan = in_source_order(plan, target)
    asks = plan.prefetch or plan.store != "normal" or plan.widths.converts
    return asking_ahead(plan) if asks else plan


def in_source_order(plan: CopyPlan, target: Machine) -> CopyPlan:
    """
    The plan with its loops over macro tiles that step within a page of the source inside of the others.

    What a macro tile leaves of a line, or of a page, is taken soon. Rows that stay as they are come in the order of the
    source.
    """
    if _reads_rows(plan, target):
        if plan.store == "nontemporal" and _has_long_rows(plan):
            plan = with_macro(replace(plan, macro=plan.least_macro), ROWS_APART)
        order, why = loop_order(plan.copy.digits, "src"), "in the order of the source, whose rows are read as they lie"
    else:
        order = _source_line_order(plan)
        why = "those within a page of the source are inside"
    changes = outer_loops(plan, order) != outer_loops(plan, plan.outer_order)
    return plan.because("outer loops", why, outer_order=order) if changes else plan


def _reads_rows(plan: CopyPlan, target: Machine) -> bool:
    """Whether rows go past the caches as they lie."""
    is_row = plan.keeps_rows
    if plan.widths.converts:
        is_row = len(plan.lane_digits) == 1 and plan.load == "normal" and _has_long_rows(plan)
    carries = any(digit.carries for digit in plan.copy.digits)
    return bool(plan.lane_digits) and is_row and plan.store != "normal" and not (carries or target.llc_is_far)


def _has_long_rows(plan: CopyPlan) -> bool:
    """Whether what is read and stored of a row is several lines, which are worth a page of their own on a side."""
    row, widths = plan.copy.digits[plan.target_lanes[0].digit], plan.widths
    return row.extent * (widths.src / widths.src_per_byte + widths.dst / widths.dst_per_byte) >= ROW_APART


def steps_along_rows(plan: CopyPlan) -> bool:
    """Whether the loop over macro tiles that is inside of the others then goes along a digit that does not carry."""
    loops = outer_loops(plan, _source_line_order(plan))
    return bool(loops) and isinstance(plan.copy.digits[loops[-1]].stride("src"), int)


def _source_line_order(plan: CopyPlan) -> tuple[int, ...]:
    """The loops over macro tiles, those that step within a page of the source inside."""
    digits, loops = plan.copy.digits, outer_loops(plan, plan.outer_order)
    steps = {position: digits[position].offset("src", plan.macro[position]) * plan.widths.src for position in loops}
    near = sorted((g for g, step in steps.items() if step <= PAGE), key=lambda g: -steps[g])
    return (*(g for g in plan.outer_order if g not in near), *near)


def _grow(plan: CopyPlan, macro: list[int], side: SideName, run: int, budget: int, overlaps: bool = False) -> None:
    """Doubles the macro tile along the contiguous digits of a side, to a run of `run` bytes within the budget."""
    width = plan.widths.of(side)
    for position, stride in _near_digits(plan.copy, side):
        digit, length = plan.copy.digits[position], stride * width
        while length * macro[position] < run and macro[position] < digit.extent:
            larger = min(2 * macro[position], digit.extent)
            if prod(macro) // macro[position] * larger * max(plan.widths.src, plan.widths.dst) > budget:
                break
            macro[position] = larger
        if macro[position] < digit.extent:
            extent, tile = digit.extent, plan.tile[position]
            line = min(-(-LINE // length), macro[position] - 1) if overlaps else 0
            steps = lcm(tile, LINE // gcd(LINE, length))
            of_lines = [*macro[:position], _balance(macro[position], extent, steps), *macro[position + 1 :]]
            if overlaps and steps <= macro[position] and replace(plan, macro=tuple(of_lines)).keeps_lines:
                macro[:] = of_lines
            else:
                macro[position] = _balance(macro[position], extent, tile, line)
            return
        if side == "src" and not digit.is_whole:
            # Runs of pixels that are loaded in part took 1.2 times as long in DRAM where they are longer than a line.
            run = min(run, LINE)


def _near_digits(copy: StridedCopy, side: SideName) -> Iterator[tuple[int, int]]:
    """The digits of runs on a side, and of rows that lie a little apart, and how many elements are between steps."""
    found, reach = list[int](), 1
    for position, stride in chain_of(copy, side):
        yield position, stride
        found.append(position)
        reach = stride * copy.digits[position].steps(side, stride)
    if found:
        yield from across_gaps(copy, side, found, reach)


MOST_OVERLAPPING = 1.125
"""times the elements that macro tiles move which overlap, where smaller ones overlap less"""


def _divide(plan: CopyPlan, macro: list[int], run: int) -> None:
    """
    Makes macro tiles smaller, by half at most, where they overlap by far more than smaller ones do.

    Runs of the destination are not cut, or remain `run` bytes of whole lines.
    """
    run_digits = replace(plan, macro=tuple(macro)).run_digits
    for position, (digit, size, tile) in enumerate(zip(plan.copy.digits, macro, plan.tile, strict=True)):
        sizes = range(size, max(size // 2, tile) - 1, -tile)
        moved = {each: -(-digit.extent // each) * each for each in sizes}
        least = min(sizes, key=lambda each: moved[each])
        if moved[size] <= MOST_OVERLAPPING * moved[least]:
            continue
        divided = replace(plan, macro=(*macro[:position], least, *macro[position + 1 :]))
        if position not in run_digits or (divided.keeps_lines and divided.run * plan.widths.dst >= run):
            macro[position] = least


def _balance(macro: int, extent: int, tile: int, overlap: int = 0) -> int:
    """As many macro tiles as before, of equal size: 100 in steps of 64 becomes 100 in steps of 52."""
    count = -(-(extent - overlap) // (macro - overlap))
    even = -(-(extent - overlap) // count) + overlap
    return min(extent, -(-even // tile) * tile)
