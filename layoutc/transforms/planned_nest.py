"""A planned reorder as IR: its copies, one after the other."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import StringAttr

from layoutc.dialects.memory import mlir_element_type
from layoutc.planning.plan import Plan
from layoutc.planning.plan_text import plan_lines
from layoutc.transforms.loop_nest import NestBuilder
from layoutc.transforms.plain_nest import COMMENT, Buffer, build_zero, comment
from layoutc.transforms.staged_nest import build_copy
from layoutc.transforms.tiled_nest import Memory


def build_planned_nest(
    nest: NestBuilder, plan: Plan, source: Buffer, target: Buffer, axis_names: Sequence[str]
) -> None:
    """The copies of a plan, one after the other."""
    needs_zero = any(copy.copy.is_fill and not copy.target_lanes for copy in plan.copies)
    zero = build_zero(nest, target) if needs_zero else None
    element = target.desc.element_type
    memory = Memory(source.memory, target.memory, mlir_element_type(element), element.bits // 8, zero)
    _, *lines = plan_lines(plan)
    for number, (copy, line) in enumerate(zip(plan.copies, lines, strict=True)):
        first = build_copy(nest, copy, memory, plan.threads)
        text = comment(source.desc, target.desc, axis_names, line) if number == 0 else StringAttr(line)
        first.attributes[COMMENT] = text
