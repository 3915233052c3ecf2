"""The body of a tile without lanes: one element, for digits without a contiguous run on one of the sides."""

from __future__ import annotations

from typing import TYPE_CHECKING

from xdsl.builder import Builder
from xdsl.dialects import memref, vector
from xdsl.dialects.builtin import VectorType
from xdsl.ir import Operation, SSAValue

from layoutc.transforms.lane_params import PieceParams
from layoutc.transforms.lanes import Lanes
from layoutc.transforms.shared_bytes import load_part, store_part
from layoutc.transforms.step_table import Place
from layoutc.transforms.vector_ops import zeros

if TYPE_CHECKING:
    from layoutc.transforms.tiled_nest import TiledCopy


class ElementBody:
    """One element of the plan."""

    def __init__(self, copy: TiledCopy):
        self.copy = copy
        self.type = VectorType(copy.memory.element, [copy.ratio]) if copy.ratio > 1 else None
        """an element of the plan may be several of the memory"""
        self.zero: SSAValue | None = copy.memory.zero

    def prepare(self) -> None:
        """The zero of a fill, ahead of the loops."""
        if self.copy.plan.copy.is_fill and self.type is not None:
            self.zero = zeros(self.copy.nest, self.type)

    def build(self, builder: Builder, src: Place | None, dst: Place) -> Operation:
        """A load and a store, or the store of a zero; returns the first operation."""
        lanes, value = Lanes(builder, self.copy.nest), self.zero
        place = builder.insertion_point
        before = place.insert_before.prev_op if place.insert_before is not None else place.block.last_op
        if src is not None:
            params = PieceParams(self.copy.param_sites, [(0,)] * len(self.copy.plan.copy.params))
            memory, loaded = self.copy.memory, self._load(lanes, src.offset)
            old = self._old(lanes, dst.offset) if memory.adds else None
            value = memory.convert(builder, loaded, None, params, old)
        assert value is not None
        self._store(lanes, value, dst.offset)
        first = before.next_op if before is not None else place.block.first_op
        assert first is not None
        return first

    def _load(self, lanes: Lanes, offset: SSAValue) -> SSAValue:
        memory, share = self.copy.memory.source, self.copy.plan.widths.src_per_byte
        if share > 1:
            return load_part(lanes, memory, share, offset, "value")
        if self.type is None:
            return lanes.insert(memref.LoadOp.get(memory, [offset]), "value")
        return lanes.insert(vector.LoadOp(memory, [offset], self.type), "value")

    def _old(self, lanes: Lanes, offset: SSAValue) -> SSAValue:
        memory, share = self.copy.memory.target, self.copy.plan.widths.dst_per_byte
        if share > 1:
            return load_part(lanes, memory, share, offset, "old")
        return lanes.insert(memref.LoadOp.get(memory, [offset]), "old")

    def _store(self, lanes: Lanes, value: SSAValue, offset: SSAValue) -> None:
        memory, share = self.copy.memory.target, self.copy.plan.widths.dst_per_byte
        if share > 1:
            store_part(lanes, value, memory, share, offset)
        elif self.type is None:
            lanes.builder.insert(memref.StoreOp.get(value, memory, [offset]))
        else:
            lanes.builder.insert(vector.StoreOp(value, memory, [offset]))
