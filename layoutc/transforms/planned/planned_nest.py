"""A planned reorder as IR: its copies, one after the other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from xdsl.dialects.builtin import StringAttr
from xdsl.ir import Operation

from layoutc.dialects.memory import mlir_element_type
from layoutc.discardable import COMMENT
from layoutc.memref_prefetch import PrefetchOp
from layoutc.planning.plan_text import plan_lines
from layoutc.planning.plans.plan import Plan
from layoutc.planning.plans.turns import Through, Together
from layoutc.transforms.building.loop_nest import NestBuilder
from layoutc.transforms.plain.plain_nest import build_zero, comment
from layoutc.transforms.planned.buffered_copy import tiled_copy
from layoutc.transforms.planned.copy_memory import Memory
from layoutc.transforms.planned.through_nest import build_through
from layoutc.transforms.planned.together_nest import TogetherNest
from layoutc.transforms.sums.running_sums import RunningSums
from layoutc.transforms.values.element_access import Conversions
from layoutc.transforms.values.register_conversion import RegisterConversion, in_bytes


def build_planned_nest(
    nest: NestBuilder,
    plan: Plan,
    conversions: Conversions,
    axis_names: Sequence[str],
    sums: RunningSums | None = None,
) -> None:
    """The copies of a plan, one after the other, with the conversion that goes with them, and running sums, if any."""
    source, target = conversions.source, conversions.target
    read, written = in_bytes(nest, source), in_bytes(nest, target)
    needs_zero = any(copy.copy.is_fill and not copy.target_lanes for copy in plan.copies)
    zero = build_zero(nest, written) if needs_zero else None
    element = written.desc.element_type
    memory = Memory(read.memory, written.memory, mlir_element_type(element), element.bits // 8, zero, sums=sums)
    if conversions.converts:
        vector_bytes = max(copy.vector_bytes for copy in plan.copies)
        conversions = replace(conversions, vector_bytes=vector_bytes)
        conversion = RegisterConversion(nest, conversions, vector_bytes, plan.copies[0].shuffles)
        fills_early = needs_zero and any(isinstance(part, Through) and part.moves_between for part in plan.parts)
        loaded_zero = build_zero(nest, read) if fills_early else None
        memory = replace(memory, conversion=conversion, loaded_zero=loaded_zero)
    made: list[Operation] = []
    for part in plan.parts:
        if isinstance(part, Together):
            # Turns of elements that share bytes begin and end inside of bytes.
            is_packed = any(copy.widths.dst_per_byte > 1 for copy in part.copies)
            first, copies = TogetherNest(nest, part, memory).build(1 if is_packed else plan.threads)
            made += (first, *copies)
        elif isinstance(part, Through):
            made += build_through(nest, part, memory, plan.threads if part.writes_apart else 1)
        else:
            # Elements that are put into a byte one by one leave no byte to two threads.
            threads = plan.threads if part.target_lanes or part.widths.dst_per_byte == 1 else 1
            made.append(tiled_copy(nest, part, memory, threads).build())
    _, *lines = plan_lines(plan)
    for number, (first, line) in enumerate(zip(made, lines, strict=True)):
        text = comment(source.desc, target.desc, axis_names, line) if number == 0 else StringAttr(line.strip())
        _read_by_mlir(first).attributes[COMMENT] = text


def _read_by_mlir(first: Operation) -> Operation:
    """The first op of a copy that may have attributes: MLIR's parser takes none of `memref.prefetch`."""
    while isinstance(first, PrefetchOp) and first.next_op is not None:
        first = first.next_op
    return first
