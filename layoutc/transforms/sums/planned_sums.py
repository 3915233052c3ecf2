"""The sums of a compensation in a planned reorder: along with its copies, or behind them."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import contextmanager

from xdsl.dialects.builtin import StringAttr
from xdsl.ir import SSAValue

from layoutc.discardable import COMMENT
from layoutc.planning.conversions.reorder import Reorder
from layoutc.planning.conversions.running_sums import sum_number
from layoutc.planning.conversions.weight_sums import plan_weight_sums
from layoutc.planning.copies.strided_copy import NotStridedError
from layoutc.planning.plans.plan import Plan
from layoutc.transforms.building.loop_nest import NestBuilder
from layoutc.transforms.plain.plain_nest import loop_names
from layoutc.transforms.plain.weight_sums import build_weight_sums
from layoutc.transforms.sums.running_sums import RunningSums, build_scaled_sums, build_totals
from layoutc.transforms.sums.vector_sums import VectorSums
from layoutc.transforms.values.element_access import Conversions


@contextmanager
def building_sums(
    nest: NestBuilder, plan: Plan, conversions: Conversions, axis_names: Sequence[str]
) -> Generator[RunningSums | None, None, None]:
    """Builds what sums take before the copies, which are built inside of the block, and behind them."""
    conversion, target = conversions.conversion, conversions.target.desc
    number = sum_number(plan, Reorder(conversions.source.desc, target, conversion).seen, target)
    if number is not None:
        sums = build_totals(nest, conversions, number, axis_names)
        yield sums
        build_scaled_sums(nest, conversions, sums.totals)
    else:
        yield None
        if conversion.compensation is not None:
            _build_sums_behind(nest, plan, conversions, axis_names)


def _build_sums_behind(nest: NestBuilder, plan: Plan, conversions: Conversions, axis_names: Sequence[str]) -> None:
    """The sums behind a plan's copies, by registers as wide as theirs."""
    compensation, weights = conversions.conversion.compensation, conversions.target
    assert compensation is not None
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
