"""A planned reorder as IR: its copies, one after the other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from xdsl.builder import Builder
from xdsl.dialects.builtin import StringAttr
from xdsl.ir import Operation, SSAValue

from layoutc.dialects.memory import mlir_element_type
from layoutc.planning.plan import Plan, Together
from layoutc.planning.plan_text import plan_lines
from layoutc.planning.strided_copy import NotStridedError
from layoutc.planning.weight_sums import plan_weight_sums
from layoutc.transforms.element_access import Conversions, from_register, to_register
from layoutc.transforms.lane_params import PieceParams
from layoutc.transforms.lanes import Lanes
from layoutc.transforms.loop_nest import NestBuilder
from layoutc.transforms.plain_nest import COMMENT, Buffer, build_zero, comment, loop_names
from layoutc.transforms.staged_nest import tiled_copy
from layoutc.transforms.tile_body import Memory
from layoutc.transforms.together_nest import build_together
from layoutc.transforms.vector_sums import VectorSums
from layoutc.transforms.weight_sums import build_weight_sums


def build_planned_nest(
    nest: NestBuilder,
    plan: Plan,
    source: Buffer,
    target: Buffer,
    axis_names: Sequence[str],
    conversions: Conversions | None = None,
) -> None:
    """The copies of a plan, one after the other, with the conversion that goes with them, if any."""
    needs_zero = any(copy.copy.is_fill and not copy.target_lanes for copy in plan.copies)
    zero = build_zero(nest, target) if needs_zero else None
    element = target.desc.element_type
    memory = Memory(source.memory, target.memory, mlir_element_type(element), element.bits // 8, zero)
    if conversions is not None:
        read = mlir_element_type(source.desc.element_type)
        convert = partial(convert_loaded, nest, conversions)
        memory = replace(memory, converted_from=read, convert=convert, adds=bool(conversions.conversion.sum))
    made: list[Operation] = []
    for part in plan.parts:
        if isinstance(part, Together):
            first, copies = build_together(nest, part, memory, plan.threads)
            made += (first, *copies)
        else:
            made.append(tiled_copy(nest, part, memory, plan.threads).build())
    _, *lines = plan_lines(plan)
    for number, (first, line) in enumerate(zip(made, lines, strict=True)):
        text = comment(source.desc, target.desc, axis_names, line) if number == 0 else StringAttr(line.strip())
        first.attributes[COMMENT] = text


def build_planned_sums(nest: NestBuilder, plan: Plan, conversions: Conversions, axis_names: Sequence[str]) -> None:
    """The sums of a compensation, if there is one, after a plan's copies: by registers as wide as theirs."""
    compensation, weights = conversions.conversion.compensation, conversions.target
    if compensation is None:
        return
    vector_bytes = max(copy.vector_bytes for copy in plan.copies)
    by_axes: dict[tuple[int, ...], list[tuple[int, SSAValue]]] = {}
    for (factor, axes), sums in zip(compensation.parts, conversions.sums, strict=True):
        by_axes.setdefault(axes, []).append((factor, sums.memory))
    try:
        planned = [plan_weight_sums(weights.desc, axes, vector_bytes) for axes in by_axes]
    except NotStridedError:
        build_weight_sums(nest, conversions, loop_names(axis_names))
        return
    for sums, (axes, parts) in zip(planned, by_axes.items(), strict=True):
        outermost = VectorSums(nest, sums, weights.memory, parts, plan.threads).build()
        if outermost is not None:
            factors = " and ".join(f"{factor}" for factor, _ in parts)
            others = ", ".join(axis_names[axis] for axis in axes)
            text = f"{factors} times the sums of the weights over all axes but {others}"
            outermost.attributes[COMMENT] = StringAttr(text)


def convert_loaded(
    nest: NestBuilder,
    conversions: Conversions,
    builder: Builder,
    loaded: SSAValue,
    count: int | None,
    params: PieceParams,
    old: SSAValue | None,
) -> SSAValue:
    """What is stored for a value that was loaded, or for the lanes of a vector."""
    lanes = Lanes(builder, nest, count)
    value = to_register(lanes, loaded, conversions.source.desc.element_type)
    before = None if old is None else to_register(lanes, old, conversions.target.desc.element_type)
    result = conversions.converted_with(lanes, value, lambda name: params.value(nest, conversions, name, count), before)
    return from_register(lanes, result, conversions.target.desc.element_type)
