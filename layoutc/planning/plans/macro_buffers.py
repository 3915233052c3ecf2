"""
Buffers on the stack that macro tiles go through: how a side lies in one.

The source's is filled before tiles are loaded from it; that of the destination leaves by whole lines, or whole bytes.
Runs of contiguous elements stay runs. Elements that share bytes of memory have one each there.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from layoutc.planning.copies.copy_digits import SideName
from layoutc.planning.machine import LINE
from layoutc.planning.plans.row_spans import row_span

if TYPE_CHECKING:
    from layoutc.planning.plans.plan import CopyPlan

MAX_STAGE_BYTES = 1 << 20
"""of a buffer on the stack"""


@dataclass(frozen=True, slots=True)
class MacroBuffer:
    """Elements of so many bytes; `strides` are how many of them lie between the steps of each digit."""

    strides: tuple[int, ...]
    elements: int
    width: int

    @property
    def bytes(self) -> int:
        """Bytes of all elements."""
        return self.elements * self.width


def macro_buffer(plan: CopyPlan, side: SideName) -> MacroBuffer:
    """The buffer that a macro tile has on a side on which it has one."""
    if side == "dst":
        return (
            _of_runs(plan, side, plan.memory_run_digits(side), plan.memory_run(side))
            if plan.store == "packed"
            else _of_runs(plan, side, plan.run_digits, plan.run)
        )
    span = row_span(plan)
    if span is None:
        return _of_runs(plan, side, plan.source_run_digits, plan.source_run)
    run = span.step * (span.rows - 1) + plan.vector_bytes
    return _of_runs(plan, side, (*plan.source_run_digits, span.digit), run)


def _of_runs(plan: CopyPlan, side: SideName, run_digits: Sequence[int], run: int) -> MacroBuffer:
    """
    Runs one after the other, an odd number of lines apart.

    A register is a small piece of many runs: a power of two apart, they would evict each other from the first
    cache (f64 transposes with 16-byte registers took 2.4 times as long).

    Around a run of elements that share bytes is room for their neighbours in its first byte and its last; short
    ones share lines.
    """
    shares = plan.widths.per_byte(side) > 1 and not (side == "src" and plan.gathers_converted)
    width = 1 if shares else plan.widths.dst if side == "dst" else plan.widths.moved
    line = LINE // width
    if shares:
        run += 2 * (plan.widths.per_byte(side) - 1)
        line = min(line, 1 << (run - 1).bit_length())
    strides = [digit.of(side) for digit in plan.copy.digits]
    stride = (-(-run // line) | 1) * line
    for position in sorted(range(len(strides)), key=lambda g: strides[g]):
        if position not in run_digits:
            strides[position] = stride
            stride *= plan.macro[position]
    return MacroBuffer(tuple(strides), stride, width)
