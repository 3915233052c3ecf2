"""
The body of a tile without lanes, for digits without a contiguous run on one of the sides: one element, or several.

Several are loaded one by one, converted in the lanes of vectors that fill a register at most, and stored one by one:

    %a = memref.load %src[%i] : memref<9xf32>
    %b = memref.load %src[%j] : memref<9xf32>
    %first = vector.insert %a, %zeros[0] : f32 into vector<2xf32>
    %lanes = vector.insert %b, %first[1] : f32 into vector<2xf32>
    ...
    %c = vector.extract %value[0] : i8 from vector<2xi8>
    memref.store %c, %dst[%k] : memref<9xi8>
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import product
from operator import mul
from typing import TYPE_CHECKING, Any, cast

from xdsl.builder import Builder
from xdsl.dialects import vector
from xdsl.dialects.builtin import MemRefType, VectorType
from xdsl.ir import Attribute, Operation, SSAValue

from layoutc.planning.copies.copy_digits import SideName
from layoutc.transforms.building import vector_ops
from layoutc.transforms.building.creation import created, insert, inserted
from layoutc.transforms.building.lanes import Lanes
from layoutc.transforms.building.loop_nest import first_inserted
from layoutc.transforms.building.vector_ops import vector_type, zeros
from layoutc.transforms.planned.step_table import Place
from layoutc.transforms.values.lane_params import PieceParams
from layoutc.transforms.values.shared_bytes import load_part, store_part

if TYPE_CHECKING:
    from layoutc.transforms.planned.tiled_nest import TiledCopy


Step = tuple[int, ...]
"""of an element of a tile along each digit"""


def _lanes(elements: Sequence[object]) -> int | None:
    """Lanes of the vector that elements are converted in; none of one by itself."""
    return None if len(elements) == 1 else 1 << (len(elements) - 1).bit_length()


class ElementBody:
    """The elements of a tile of the plan."""

    def __init__(self, copy: TiledCopy):
        self.copy = copy
        self.type = VectorType(copy.memory.element, [copy.ratio]) if copy.ratio > 1 else None
        """an element of the plan may be several of the memory"""
        self.zero: SSAValue | None = copy.memory.zero
        steps, at_once = list(self._steps()), max(1, copy.plan.vector_bytes // copy.memory.widest_bytes)
        self.groups = [steps[start : start + at_once] for start in range(0, len(steps), at_once)]
        """the steps of elements that are converted at once"""
        self.empty: dict[tuple[Attribute, int], SSAValue] = {}
        """vectors that so many elements of a type are put into"""

    def prepare(self) -> None:
        """Zeros ahead of the loops: of a fill, and in lanes that nothing is put into."""
        if self.copy.plan.copy.is_fill and self.type is not None:
            self.zero = zeros(self.copy.nest, self.type)
        memory = self.copy.memory
        for count in {count for steps in self.groups if (count := _lanes(steps)) is not None}:
            for side in (memory.source, memory.target) if memory.adds else (memory.source,):
                element = cast("MemRefType[Any]", side.type).element_type
                self.empty[element, count] = zeros(self.copy.nest, vector_type(element, count))

    def build(self, builder: Builder, src: Place | None, dst: Place) -> Operation:
        """Loads and stores, or the store of a zero; returns the first operation."""
        lanes, value = Lanes(builder, self.copy.nest), self.zero
        first = first_inserted(builder)
        if src is None:
            assert value is not None
            self._store(lanes, value, dst.offset)
        else:
            for steps in self.groups:
                self._convert(lanes, steps, src, dst)
        return first()

    def _convert(self, lanes: Lanes, steps: Sequence[Step], src: Place, dst: Place) -> None:
        """Elements of a tile, in the lanes of a vector if there are several."""
        memory, count = self.copy.memory, _lanes(steps)
        loaded = [self._load(lanes, offset) for offset in self._offsets(lanes, steps, src, "src")]
        offsets = self._offsets(lanes, steps, dst, "dst")
        old = self._together(lanes, [self._old(lanes, offset) for offset in offsets]) if memory.adds else None
        params = PieceParams(self.copy.param_sites, self._distances(steps))
        value = memory.convert(replace(lanes, count=count), self._together(lanes, loaded), params, old)
        for number, offset in enumerate(offsets):
            part = value if count is None else self._lane(lanes, value, number)
            self._store(lanes, part, offset)

    def _steps(self) -> Iterator[Step]:
        """Where the elements of a tile are along each digit, in the order of the loops."""
        order, tile = self.copy.plan.inner_order, self.copy.plan.tile
        for place in product(*(range(tile[digit]) for digit in order)):
            yield tuple(place[order.index(digit)] for digit in range(len(tile)))

    def _offsets(self, lanes: Lanes, steps: Sequence[Step], place: Place, side: SideName) -> list[SSAValue]:
        """Where elements of a tile are."""
        strides = [0 if digit.carries else digit.of(side) for digit in self.copy.plan.copy.digits]
        distances = (sum(map(mul, step, strides)) for step in steps)
        nest, builder, name = self.copy.nest, lanes.builder, f"{side}_offset"
        return [vector_ops.further_on(nest, builder, place.offset, distance, name) for distance in distances]

    def _distances(self, steps: Sequence[Step]) -> list[tuple[int, ...]]:
        """How far the parameters of lanes are from those of the first element; of a lane without an element none."""
        copy, left_over = self.copy.plan.copy, (0,) * ((_lanes(steps) or 1) - len(steps))
        every = ([digit.params[number] for digit in copy.digits] for number in range(len(copy.params)))
        return [(*(sum(map(mul, step, strides)) for step in steps), *left_over) for strides in every]

    def _together(self, lanes: Lanes, values: Sequence[SSAValue]) -> SSAValue:
        """Values in the lanes of a vector; those that are left over are zero."""
        if (count := _lanes(values)) is None:
            return values[0]
        made = self.empty[values[0].type, count]
        for number, value in enumerate(values):
            made = inserted(lanes.builder, vector_ops.with_lane(made, value, number))
        return made

    def _lane(self, lanes: Lanes, value: SSAValue, number: int) -> SSAValue:
        element = cast("MemRefType[Any]", self.copy.memory.target.type).element_type
        return inserted(lanes.builder, vector_ops.lane(value, element, number))

    def _load(self, lanes: Lanes, offset: SSAValue) -> SSAValue:
        memory, share = self.copy.memory.source, self.copy.plan.widths.src_per_byte
        if share > 1:
            return load_part(lanes, memory, share, offset, "value")
        if self.type is None:
            return lanes.insert(vector_ops.element(memory, offset), "value")
        return lanes.insert(created(vector.LoadOp, (memory, offset), self.type), "value")

    def _old(self, lanes: Lanes, offset: SSAValue) -> SSAValue:
        memory, share = self.copy.memory.target, self.copy.plan.widths.dst_per_byte
        if share > 1:
            return load_part(lanes, memory, share, offset, "old")
        return lanes.insert(vector_ops.element(memory, offset), "old")

    def _store(self, lanes: Lanes, value: SSAValue, offset: SSAValue) -> None:
        memory, share = self.copy.memory.target, self.copy.plan.widths.dst_per_byte
        if share > 1:
            store_part(lanes, value, memory, share, offset)
        elif self.type is None:
            insert(lanes.builder, vector_ops.put(value, memory, offset))
        else:
            insert(lanes.builder, vector_ops.store(value, memory, offset))
