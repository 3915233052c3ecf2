"""What copies must be like whose rows are converted on their way into a buffer."""

from __future__ import annotations

from dataclasses import replace
from math import prod

from layoutc.planning.conversions.shared_bytes import first_inside_a_byte
from layoutc.planning.copies.copy_digits import continues_params
from layoutc.planning.plans.plan import CopyPlan, Part

MAX_CYCLE = 31
"""elements of a row after which parameters may begin again: as many vectors of them are held"""


def row_digits(plan: CopyPlan) -> tuple[int, ...]:
    """
    The digits of a run of the source that are gathered as one.

    Their parameters are as far apart as they are, or repeat: those of a few channels, by pixels.
    """
    return plan.source_run_digits if row_cycle(plan) else _row(plan)


def row_cycle(plan: CopyPlan) -> int:
    """Elements of a row that is gathered after which its parameters begin again; 0 if they never do."""
    row = _row(plan)
    elements = prod(map(plan.loaded_steps, row))
    others = [plan.copy.digits[g] for g in plan.source_run_digits[len(row) :]]
    repeats = bool(others) and not any(step for digit in others for step in digit.params)
    return elements if repeats and elements <= MAX_CYCLE else 0


def _row(plan: CopyPlan) -> tuple[int, ...]:
    """The digits of a run of the source whose parameters are as far apart as they are."""
    first, *others = plan.source_run_digits
    found = [first]
    for position in others:
        before = plan.copy.digits[found[-1]]
        if not (before.is_whole and continues_params(plan.copy.digits[position], before)):
            break
        found.append(position)
    return tuple(found)


def gathers_bytes(plan: CopyPlan) -> bool:
    """Whether rows that are gathered begin and end with bytes; others are first taken apart in a buffer of bytes."""
    share = plan.widths.src_per_byte
    if share == 1:
        return True
    if prod(plan.loaded_steps(position) for position in row_digits(plan)) % share:
        return False
    widths, lanes = replace(plan.widths, at="src", dst_per_byte=1), (Part(row_digits(plan)[0], share),)
    return first_inside_a_byte(replace(plan, load="normal", widths=widths, source_lanes=lanes)) is None


def taken_apart(plan: CopyPlan) -> CopyPlan:
    """The plan of a copy whose rows do not begin with bytes, as the buffer sees it in which each element has one."""
    widths = replace(plan.widths, dst=plan.widths.src, converts=False)
    return replace(plan, load="unpacked", store="normal", widths=widths)


def is_transposed(plan: CopyPlan) -> bool:
    """Whether a network of registers, or a box, transposes."""
    return (plan.merges or plan.is_plain) and plan.transposes
