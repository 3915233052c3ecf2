"""
Boxes of elements that share bytes: macro tiles of both sides lie in buffers in which each has a byte.

Rows of 3, 14 or 35 elements of 4 bits begin anywhere in a byte, and fill no register. In buffers of bytes a box takes
what is contiguous, with the zeros beside it, wherever it begins.
"""

from __future__ import annotations

from dataclasses import replace
from math import prod

from layoutc.planning.conversions.gathered_rows import row_digits
from layoutc.planning.conversions.plan_cost import each_cost
from layoutc.planning.conversions.shared_bytes import in_byte_buffers
from layoutc.planning.copies.copy_digits import StridedCopy
from layoutc.planning.copies.widths import Widths
from layoutc.planning.machine import Machine, merges_registers
from layoutc.planning.moves.boxes import best_box, boxed
from layoutc.planning.plans.plan import CopyPlan
from layoutc.planning.tiles.merged_tile import converts_twice

LEAST_ROW = 16
"""elements of a row that is converted on its way into a buffer"""


def byte_box(copy: StridedCopy, widths: Widths, target: Machine, computed: int) -> CopyPlan | None:
    """The best plan of a copy of elements that share bytes as a box between buffers; None if it has none."""
    if copy.is_fill or copy.is_uneven:
        return None
    before = None if not computed else _converted_before(copy, widths, target)
    plans = [plan for plan in (before, _converted_inside(copy, widths, target)) if plan is not None]
    box = min(plans, key=lambda plan: each_cost(plan, computed), default=None)
    why = "a box between buffers in which elements that share bytes have one each"
    return box and box.because("tiles", why)


def _converted_inside(copy: StridedCopy, widths: Widths, target: Machine) -> CopyPlan | None:
    """A box that is converted when it is stored, or loaded where registers of such narrow elements are not merged."""
    held = max(widths.src, widths.dst)
    is_late = merges_registers(target.vector, target.shuffles, widths.src)
    is_early = widths.dst > widths.src and copy.is_whole
    if best_box(copy, held, target, over_gaps=False) is None or not (is_late or is_early):
        return None
    box = boxed(copy, held, target, over_gaps=False)
    box = replace(box, widths=replace(widths, at="dst" if is_late else "src"))
    return None if converts_twice(box) else in_byte_buffers(box)


def _converted_before(copy: StridedCopy, widths: Widths, target: Machine) -> CopyPlan | None:
    """A box of what long rows have become on their way into a buffer."""
    if best_box(copy, widths.dst, target, over_gaps=False) is None:
        return None
    box = boxed(copy, widths.dst, target, over_gaps=False)
    if not box.gathers_lanes:
        return None
    plan = in_byte_buffers(replace(box, load="staged", widths=replace(widths, at="src")))
    if plan is None or not plan.source_run_digits or converts_twice(plan):
        return None
    return plan if prod(plan.loaded_steps(g) for g in row_digits(plan)) >= LEAST_ROW else None
