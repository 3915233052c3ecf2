"""
Where a tile is built: at a place in the text, of memory on both sides, with parameters that are loaded ahead.

Tiles that are alike along a digit share one body, in a loop. Inside of it each place is so many steps further on.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import cast

from xdsl.builder import Builder
from xdsl.dialects import arith
from xdsl.dialects.builtin import IntegerAttr
from xdsl.ir import SSAValue
from xdsl.ir.affine import AffineExpr
from xdsl.rewriter import InsertPoint

from layoutc.planning.copies.copy_digits import CopyDigit
from layoutc.transforms.building import vector_ops
from layoutc.transforms.building.creation import inserted
from layoutc.transforms.building.loop_nest import NestBuilder, apply, open_loop
from layoutc.transforms.planned.step_table import Place
from layoutc.transforms.values.lane_params import ParamSite

D0, D1 = AffineExpr.dimension(0), AffineExpr.dimension(1)


@dataclass(frozen=True)
class TileSite:
    """What a tile is loaded from (None: it is a fill), and stored to; `params` has a site per grouping, if any."""

    builder: Builder
    src: Place | None
    dst: Place
    params: Sequence[ParamSite]

    def further(self, digit: CopyDigit, steps: int, counter: SSAValue | None = None) -> TileSite:
        """With the parameters of so many steps of a digit further on, or that many times the counter of a loop."""
        params = list(self.params)
        for number, step in enumerate(digit.params if params else ()):
            if distance := step * steps:
                params[number] = self._moved_params(params[number], distance, counter)
        return replace(self, params=params)

    def _moved_params(self, site: ParamSite, distance: int, counter: SSAValue | None) -> ParamSite:
        if counter is None:
            return ParamSite(site.builder, site.offset + distance, site.counters)
        offset = AffineExpr.dimension(len(site.counters)) * distance + site.offset
        return ParamSite(self.builder, offset, (*site.counters, counter))

    def inside(self, nest: NestBuilder, digit: CopyDigit, run: range, src_step: int, dst_step: int) -> TileSite:
        """In a loop over the tiles of a run along a digit, which are so many elements of memory apart."""
        bounds = [nest.constant(value) for value in (0, len(run), 1)]
        loop, builder, counter = open_loop(self.builder, bounds, "tile")
        ahead = Builder(InsertPoint.before(loop))
        params = [replace(site, builder=ahead) if site.builder is self.builder else site for site in self.params]
        src = None if self.src is None else _moved(builder, self.src, src_step, counter)
        dst = _moved(builder, self.dst, dst_step, counter)
        return TileSite(builder, src, dst, params).further(digit, run.step, counter)


def _moved(builder: Builder, place: Place, step: int, counter: SSAValue) -> Place:
    """A place so many times `step` further on."""
    if not step:
        return place
    name = place.offset.name_hint or "offset"
    if (value := constant_offset(place.offset)) is not None:
        return replace(place, offset=apply(builder, D0 * step + value, [counter], name))
    return replace(place, offset=apply(builder, D0 + D1 * step, [place.offset, counter], name))


def constant_offset(offset: SSAValue) -> int | None:
    """The value of an offset that is made ahead of all loops."""
    owner = offset.owner
    if owner.__class__ is not arith.ConstantOp:
        return None
    value = cast("arith.ConstantOp", owner).properties["value"]
    return value.value.data if isinstance(value, IntegerAttr) else None


def further(builder: Builder, nest: NestBuilder, place: Place, step: int, distance: int) -> SSAValue:
    """The offset so many elements of memory behind a place, or behind where a step of its digit that carries lies."""
    offset = place.offset
    if place.steps is not None:
        offset = inserted(builder, vector_ops.sum_of(offset, _step(builder, nest, place, step)))
    if distance and (value := constant_offset(offset)) is not None:
        return nest.constant(value + distance)
    return vector_ops.further_on(nest, builder, offset, distance)


def _step(builder: Builder, nest: NestBuilder, place: Place, step: int) -> SSAValue:
    """How far a step is from the start of its period."""
    assert place.steps is not None and place.first is not None
    at = vector_ops.further_on(nest, builder, place.first, step)
    return inserted(builder, vector_ops.element(place.steps, at))
