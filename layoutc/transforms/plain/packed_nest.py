"""
Writing elements that share bytes: a nest over the bytes of the destination.

Each byte gathers its elements by the inverse of the layout and is stored once, so that no order of bytes matters, and
threads may share them. Bits that belong to nobody, and borders, stay as they are.

Strides that interleave have no such inverse: there each element is put into its byte by itself, in order.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from xdsl.builder import Builder
from xdsl.dialects import arith, memref, scf
from xdsl.dialects.builtin import IntegerAttr, StringAttr, i8
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.ir.affine import AffineExpr
from xdsl.rewriter import InsertPoint

from layoutc.descriptor import MemoryDesc
from layoutc.discardable import COMMENT
from layoutc.layout import AxisGroup
from layoutc.transforms.building.lanes import Lanes
from layoutc.transforms.building.loop_nest import Loop, NestBuilder, apply
from layoutc.transforms.plain.element_nest import build_element_nest
from layoutc.transforms.plain.plain_nest import IndexSpace, comment
from layoutc.transforms.values.element_access import Conversions, element_offset, offset_value
from layoutc.transforms.values.shared_bytes import store_part

Condition = SSAValue | None
"""None where it always holds"""


def build_packed_nest(nest: NestBuilder, conversions: Conversions, names: Sequence[str]) -> None:
    """All bytes of the destination, or all elements where strides interleave."""
    desc = conversions.target.desc
    if not _nests(desc):
        _build_in_order(nest, conversions, names)
        return
    per_byte = 8 // desc.element_type.bits
    bytes = Loop("byte", range(desc.base_offset // per_byte, (desc.span - 1) // per_byte + 1))

    def body(inner: Builder, counters: Sequence[SSAValue]) -> Operation:
        return _Byte(Lanes(inner, nest), conversions, counters[0]).build()

    outermost = nest.nest([bytes], body)
    lines = [f"with {conversions.conversion}"] if conversions.conversion.has_attributes else []
    outermost.attributes[COMMENT] = comment(conversions.source.desc, desc, names, *lines, "loop byte")


def _sorted_axes(desc: MemoryDesc) -> list[int]:
    """The physical axes that are longer than 1, largest stride first."""
    axes = (axis for axis, extent in enumerate(desc.physical_shape) if extent > 1)
    return sorted(axes, key=lambda axis: -desc.strides[axis])


def _nests(desc: MemoryDesc) -> bool:
    """Whether each stride is past all that the smaller ones reach, so that an offset says its digits by division."""
    reach = 0
    for axis in reversed(_sorted_axes(desc)):
        if desc.strides[axis] <= reach:
            return False
        reach += desc.strides[axis] * (desc.physical_shape[axis] - 1)
    return True


@dataclass
class _Byte:
    """One byte of the destination."""

    lanes: Lanes
    conversions: Conversions
    byte: SSAValue

    @property
    def desc(self) -> MemoryDesc:
        return self.conversions.target.desc

    @property
    def bits(self) -> int:
        return self.desc.element_type.bits

    def build(self) -> Operation:
        """Gathers all elements of the byte, then stores it; returns the first op."""
        lanes, memory = self.lanes, self.conversions.target.memory
        old = None
        if self.conversions.conversion.sum:
            old = lanes.insert(memref.LoadOp.get(memory, [self.byte]), "old")
        total: SSAValue | None = None
        kept: SSAValue | None = None
        for slot in range(8 // self.bits):
            part, keep = self._slot(slot, old)
            total = part if total is None else lanes.or_(total, part, "packed")
            if keep is not None:
                kept = keep if kept is None else lanes.or_(kept, keep, "kept")
        assert total is not None
        self._store(total, kept)
        first = lanes.builder.insertion_point.block.first_op
        assert first is not None
        return first

    def _slot(self, slot: int, old: SSAValue | None) -> tuple[SSAValue, SSAValue | None]:
        """The bits of one element in their place, and the mask of them where they must stay."""
        lanes, shift = self.lanes, slot * self.bits
        place = _Place(lanes, self.desc, self.byte, slot)
        index = [place.clamped(axis) for axis in range(self.desc.rank)]
        dims = [AffineExpr.dimension(axis) for axis in range(self.desc.rank)]
        offset = offset_value(lanes, element_offset(self.conversions.source.desc, dims), index, "src_offset")
        before = None
        if old is not None:
            before = lanes.and_(lanes.shr(old, shift), (1 << self.bits) - 1, "before")
        value = self.conversions.value(lanes, dims, index, offset, before)
        code = lanes.and_(value, (1 << self.bits) - 1, "code")
        if place.is_data is not None:
            code = lanes.select(place.is_data, code, lanes.like(0, code), "code")
        code = lanes.shl(code, shift, "part") if shift else code
        written = place.is_written
        if written is None:
            return code, None
        mask = lanes.constant(((1 << self.bits) - 1) << shift, i8)
        return code, lanes.select(written, 0, mask, "keep")

    def _store(self, value: SSAValue, kept: SSAValue | None) -> None:
        lanes, memory = self.lanes, self.conversions.target.memory
        if kept is None:
            lanes.builder.insert(memref.StoreOp.get(value, memory, [self.byte]))
            return
        if _has_foreign_bytes(self.desc):
            (lanes,) = _if(lanes, lanes.compare("ne", kept, -1, "is_ours"), 1)
        whole, part = _if(lanes, lanes.compare("eq", kept, 0, "is_whole"), 2)
        whole.builder.insert(memref.StoreOp.get(value, memory, [self.byte]))
        before = part.insert(memref.LoadOp.get(memory, [self.byte]), "before")
        merged = part.or_(part.and_(before, kept), value, "merged")
        part.builder.insert(memref.StoreOp.get(merged, memory, [self.byte]))


def _has_foreign_bytes(desc: MemoryDesc) -> bool:
    """Whether bytes of gaps or borders may lie between ours: others may be writing to them."""
    return desc.span - desc.base_offset != prod(desc.physical_shape) or any((*desc.low, *desc.high))


def _if(lanes: Lanes, condition: SSAValue, count: int) -> list[Lanes]:
    """Where to build what is done under a condition, and of two places, what is done else."""
    regions = [Region(Block([scf.YieldOp()])) for _ in range(count)]
    lanes.builder.insert(scf.IfOp(condition, [], regions[0], regions[1] if count == 2 else None))
    return [lanes.at(Builder(InsertPoint.at_start(region.block))) for region in regions]


class _Place:
    """What lies at one place of a byte: an element, block padding, or nothing that is ours."""

    def __init__(self, lanes: Lanes, desc: MemoryDesc, byte: SSAValue, slot: int):
        self.lanes, self.desc = lanes, desc
        per_byte = 8 // desc.element_type.bits
        offset = AffineExpr.dimension(0) * per_byte + (slot - desc.base_offset)
        self.offset = apply(lanes.builder, offset, [byte], "offset")
        self.digits: dict[int, SSAValue] = {}
        ends = desc.base_offset // per_byte, (desc.span - 1) // per_byte
        low, high = (end * per_byte + slot - desc.base_offset for end in ends)
        self.is_inside = self._take_apart(low, high)
        self.axes: dict[int, SSAValue] = {}
        self.coordinates: dict[tuple[int, ...], SSAValue] = {}
        logical = [self._read_group(group) for group in desc.layout.groups]
        self.is_data = self._all([self.is_inside, *logical])
        self.is_written = self._written(logical)

    # --- digits ------------------------------------------------------------------------------------------------------

    def _take_apart(self, low: int, high: int) -> Condition:
        """The digits of the offset, which lies from `low` to `high`; the condition is that a position has it."""
        desc, builder, d0 = self.desc, self.lanes.builder, AffineExpr.dimension(0)
        conditions: list[Condition] = [self._compare("sge", self.offset, 0)] if low < 0 else []
        rest = self.offset
        for axis in _sorted_axes(desc):
            stride, extent = desc.strides[axis], desc.physical_shape[axis]
            self.digits[axis] = apply(builder, d0 // stride, [rest], f"digit{axis}") if stride > 1 else rest
            if high // stride >= extent:
                conditions.append(self._compare("slt", self.digits[axis], extent))
            rest = apply(builder, d0 % stride, [rest], "rest") if stride > 1 else rest
            high = min(high, stride - 1)
        if high > 0:
            conditions.append(self._compare("eq", rest, 0))
        return self._all(conditions)

    # --- coordinates -------------------------------------------------------------------------------------------------

    def _read_group(self, group: AxisGroup) -> Condition:
        """The index of each axis of a group; the condition is that they lie in the dims."""
        desc, builder, d0 = self.desc, self.lanes.builder, AffineExpr.dimension(0)
        rest = self.coordinates[group.axes] = self._coordinate(group)
        limit = desc.layout.padded(group, prod(desc.extents[axis] for axis in group.axes))
        conditions: list[Condition] = []
        for axis in reversed(group.axes):
            own, extent, low = rest, desc.extents[axis], desc.lows[axis]
            if axis != group.axes[0]:
                own = apply(builder, d0 % extent, [rest], "coordinate")
                rest = apply(builder, d0 // extent, [rest], "rest")
                limit = -(-limit // extent)
            self.axes[axis] = apply(builder, d0 - low, [own], "index") if low else own
            if low:
                conditions.append(self._compare("sge", self.axes[axis], 0))
            if low + desc.dims[axis] < (limit if axis == group.axes[0] else extent):
                conditions.append(self._compare("slt", self.axes[axis], desc.dims[axis]))
        return self._all(conditions)

    def _coordinate(self, group: AxisGroup) -> SSAValue:
        """The digits of a group put together."""
        terms = [(self.desc.layout.digits[p].divisor, self.digits[p]) for p in group.positions if p in self.digits]
        if not terms:
            return self._index(0)
        expr: AffineExpr | None = None
        for number, (divisor, _) in enumerate(terms):
            term = AffineExpr.dimension(number)
            term = term * divisor if divisor > 1 else term
            expr = term if expr is None else expr + term
        assert expr is not None
        return apply(self.lanes.builder, expr, [value for _, value in terms], "coordinate")

    def _written(self, logical: Sequence[Condition]) -> Condition:
        """An element, or block padding: each group is either inside of the dims or in its tail."""
        conditions = [self.is_inside]
        for group, inside in zip(self.desc.layout.groups, logical, strict=True):
            extent = prod(self.desc.extents[axis] for axis in group.axes)
            has_tail = self.desc.layout.padded(group, extent) > extent
            has_border = any(self.desc.lows[axis] or self.desc.highs[axis] for axis in group.axes)
            if inside is None or not has_border:
                continue
            if has_tail:
                inside = self.lanes.or_(inside, self._compare("sge", self.coordinates[group.axes], extent))
            conditions.append(inside)
        return self._all(conditions)

    # --- conditions --------------------------------------------------------------------------------------------------

    def clamped(self, axis: int) -> SSAValue:
        """The index along an axis: 0 where there is no element."""
        index = self.axes[axis]
        if self.is_data is None:
            return index
        return self.lanes.select(self.is_data, index, self._index(0), index.name_hint)

    def _index(self, value: int) -> SSAValue:
        return self.lanes.nest.element(IntegerAttr.from_index_int_value(value))

    def _compare(self, predicate: str, value: SSAValue, number: int) -> SSAValue:
        return self.lanes.insert(arith.CmpiOp(value, self._index(number), predicate))

    def _all(self, conditions: Sequence[Condition]) -> Condition:
        found: Condition = None
        for condition in conditions:
            if condition is not None:
                found = condition if found is None else self.lanes.and_(found, condition)
        return found


# --- strides that interleave ---------------------------------------------------------------------------------------


def _build_in_order(nest: NestBuilder, conversions: Conversions, names: Sequence[str]) -> None:
    """Each element by itself, put into its byte."""
    build_element_nest(nest, conversions, names)
    target = conversions.target
    for box in target.desc.padding_boxes:
        padding = IndexSpace(target.desc, box, names)

        def fill(inner: Builder, counters: Sequence[SSAValue], padding: IndexSpace = padding) -> Operation:
            lanes = Lanes(inner, nest)
            offset = offset_value(lanes, target.desc.coordinate_offset(padding.coordinates), counters, "dst_offset")
            return store_part(lanes, lanes.constant(0, i8), target.memory, 8 // target.desc.element_type.bits, offset)

        nest.nest(padding.loops, fill).attributes[COMMENT] = StringAttr("zero the block padding")
