"""
The sums of a compensation: a nest over the axes that it keeps, and in it one over the others that adds weights up.

They are added up from the destination, after all of it is written. Sums of block padding are zero.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.builder import Builder
from xdsl.dialects import memref, scf
from xdsl.dialects.builtin import StringAttr, i32
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.ir.affine import AffineExpr
from xdsl.rewriter import InsertPoint

from layoutc.discardable import COMMENT
from layoutc.transforms.building.lanes import Lanes
from layoutc.transforms.building.loop_nest import INDEX, Buffer, Loop, NestBuilder
from layoutc.transforms.values.element_access import Conversions, element_offset, offset_value


def build_weight_sums(nest: NestBuilder, conversions: Conversions, names: Sequence[str]) -> None:
    """All parts of the compensation, if there is one."""
    compensation = conversions.conversion.compensation
    if compensation is None:
        return
    for (factor, axes), sums in zip(compensation.parts, conversions.sums, strict=True):
        _Sums(nest, conversions.target, sums, axes, factor, names).build()


class _Sums:
    """One part: `factor` times the sum of the weights over all axes but `axes`."""

    def __init__(
        self, nest: NestBuilder, target: Buffer, sums: Buffer, axes: Sequence[int], factor: int, names: Sequence[str]
    ):
        self.nest, self.target, self.sums, self.factor = nest, target, sums, factor
        self.axes, self.others = axes, [axis for axis in range(target.desc.rank) if axis not in axes]
        self.names = names

    def build(self) -> None:
        """Zeros for block padding, then the sums."""
        dims = [self.target.desc.dims[axis] for axis in self.axes]
        for place, (dim, padded) in enumerate(zip(dims, self.sums.desc.dims, strict=True)):
            if padded > dim:
                self._fill(place, range(dim, padded))
        loops = [self._loop(axis) for axis in (*self.axes, *self.others)]
        outermost = self.nest.nest(loops[: len(self.axes)], self._sum)
        text = f"{self.factor} times the sums of the weights over all axes but {', '.join(self._own_names())}"
        outermost.attributes[COMMENT] = StringAttr(text)

    def _own_names(self) -> list[str]:
        return [self.names[axis] for axis in self.axes]

    def _loop(self, axis: int) -> Loop:
        return Loop(self.names[axis], range(self.target.desc.dims[axis]))

    def _fill(self, place: int, tail: range) -> None:
        """The sums of one axis's block padding; of the axes before it those inside of the dims, of the rest all."""
        extents = [
            *(range(self.target.desc.dims[axis]) for axis in self.axes[:place]),
            tail,
            *(range(padded) for padded in self.sums.desc.dims[place + 1 :]),
        ]
        loops = [Loop(name, extent) for name, extent in zip(self._own_names(), extents, strict=True)]

        def body(inner: Builder, counters: Sequence[SSAValue]) -> Operation:
            lanes = Lanes(inner, self.nest)
            return self._store(lanes, lanes.constant(0, i32), counters)

        self.nest.nest(loops, body).attributes[COMMENT] = StringAttr("no weights in the block padding")

    def _sum(self, inner: Builder, counters: Sequence[SSAValue]) -> Operation:
        lanes = Lanes(inner, self.nest)
        index = dict(zip(self.axes, counters, strict=True))
        total, first = self._added(lanes, self.others, index, lanes.constant(0, i32))
        self._store(lanes, lanes.mul(total, self.factor, "sum"), counters)
        return first

    def _added(
        self, lanes: Lanes, others: Sequence[int], index: dict[int, SSAValue], total: SSAValue
    ) -> tuple[SSAValue, Operation]:
        """The total with all weights of the other axes added: one loop per axis, which carries it."""
        if not others:
            return self._with_weight(lanes, index, total)
        loop = self._loop(others[0])
        start, stop, step = (self.nest.constant(bound) for bound in (0, loop.values.stop, 1))
        block = Block(arg_types=[INDEX, i32])
        counter, carried = block.args
        counter.name_hint, carried.name_hint = loop.name, "total"
        inside = lanes.at(Builder(InsertPoint.at_end(block)))
        result, _ = self._added(inside, others[1:], {**index, others[0]: counter}, carried)
        inside.builder.insert(scf.YieldOp(result))
        made = lanes.builder.insert(scf.ForOp(start, stop, step, [total], Region(block)))
        made.results[0].name_hint = "total"
        return made.results[0], made

    def _with_weight(self, lanes: Lanes, index: dict[int, SSAValue], total: SSAValue) -> tuple[SSAValue, Operation]:
        dims = [AffineExpr.dimension(axis) for axis in range(self.target.desc.rank)]
        counters = [index[axis] for axis in range(self.target.desc.rank)]
        offset = offset_value(lanes, element_offset(self.target.desc, dims), counters, "dst_offset")
        load = lanes.builder.insert(memref.LoadOp.get(self.target.memory, [offset]))
        load.res.name_hint = "weight"
        return lanes.add(total, lanes.widen(load.res, 32, is_signed=True), "total"), load

    def _store(self, lanes: Lanes, value: SSAValue, counters: Sequence[SSAValue]) -> Operation:
        dims = [AffineExpr.dimension(place) for place in range(len(self.axes))]
        offset = offset_value(lanes, element_offset(self.sums.desc, dims), counters, "sum_offset")
        return lanes.builder.insert(memref.StoreOp.get(value, self.sums.memory, [offset]))
