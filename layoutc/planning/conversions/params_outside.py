"""Loops over rows that are converted as they lie, inside of those along a row: parameters of its lanes are kept."""

from __future__ import annotations

from layoutc.planning.machine import Machine
from layoutc.planning.moves.staged_stores import MIN_STAGED_RUN
from layoutc.planning.plans.plan import CopyPlan, Store

ROWS = 32
"""of a macro tile that are converted by the same parameters, one after the other, so that loading these is little"""

LEAST_ROWS = 8
"""
of fewer, of which rows are long that tiles do not divide, each parameter serves too few; past the second cache also the
most, up to twice as many, as more rows at a time are more than a processor follows
"""

KEEPING: tuple[Store, ...] = "normal", "staged"
"""stores by which tiles may follow each other along any digit of a macro tile, whose lines leave a buffer"""


def with_params_outside(plan: CopyPlan, kept: int, target: Machine) -> CopyPlan:
    """
    The plan with the loop over rows of the same parameters inside of the one along their lanes.

    What is made of the list of parameters that is `kept` is made once for all rows of a macro tile then, of which there
    are more, and shorter ones.
    """
    digits, loops = plan.copy.digits, [g for g in plan.inner_order if plan.macro[g] > plan.tile[g]]
    stays = {part.digit for part in plan.source_lanes} == {part.digit for part in plan.target_lanes}
    if plan.store not in KEEPING or not stays or not loops or any(digit.carries for digit in digits):
        return plan
    if not digits[loops[-1]].params[kept]:
        return plan
    rows = [g for g in plan.inner_order if digits[g].extent > plan.tile[g] and not any(digits[g].params)]
    if not rows:
        return plan
    row, lanes, macro = rows[-1], loops[-1], [*plan.macro]
    most = ROWS if _moved_bytes(plan) <= target.l2 else LEAST_ROWS
    shortest = MIN_STAGED_RUN // plan.widths.dst if plan.store == "staged" else 0
    while macro[row] < min(most, digits[row].extent) and macro[lanes] % (2 * plan.tile[lanes]) == 0:
        if macro[lanes] // 2 < shortest:
            return plan
        macro[row], macro[lanes] = min(2 * macro[row], digits[row].extent), macro[lanes] // 2
    if macro[row] < min(LEAST_ROWS, digits[row].extent):
        return plan
    order = (*(g for g in plan.inner_order if g not in rows), *rows)
    why = f"with {macro[row]} rows of the same parameters, along which the loop inside goes"
    return plan.because("macro tiles", why, macro=tuple(macro), inner_order=order)


def _moved_bytes(plan: CopyPlan) -> int:
    """Bytes of all elements on both sides."""
    elements, widths = plan.copy.elements, plan.widths
    return elements * widths.src // widths.src_per_byte + elements * widths.dst // widths.dst_per_byte
