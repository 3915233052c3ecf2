"""
The body of a tile without lanes, for digits without a contiguous run on one of the sides: one element, or several.

Several are loaded one by one, converted in the lanes of vectors that fill a register at most, and stored one by one, or
at once those that lie together in the destination:

    %a = memref.load %src[%i] : memref<9xf32>
    %b = memref.load %src[%j] : memref<9xf32>
    %first = vector.insert %a, %zeros[0] : f32 into vector<4xf32>
    %lanes = vector.insert %b, %first[1] : f32 into vector<4xf32>
    ...
    %part = vector.shuffle %value, %value[0, 1] : vector<4xi8>, vector<4xi8>
    vector.store %part, %dst[%k] : memref<9xi8>, vector<2xi8>
    %c = vector.extract %value[2] : i8 from vector<4xi8>
    memref.store %c, %dst[%l] : memref<9xi8>
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

from layoutc.planning.copies.copy_digits import SIDES, SideName
from layoutc.transforms.building import vector_ops
from layoutc.transforms.building.creation import created, insert, inserted
from layoutc.transforms.building.lanes import Lanes
from layoutc.transforms.building.loop_nest import first_inserted
from layoutc.transforms.building.vector_ops import vector_type, zeros
from layoutc.transforms.planned.step_table import Place
from layoutc.transforms.values.lane_params import PieceParams
from layoutc.transforms.values.shared_bytes import load_part, parts_at, place_of, store_part
from layoutc.transforms.values.swapped_bytes import all_swapped

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
            build = self._convert if self.copy.plan.copy.swapping is None else self._swap
            for steps in self.groups:
                build(lanes, steps, src, dst)
        return first()

    def _convert(self, lanes: Lanes, steps: Sequence[Step], src: Place, dst: Place) -> None:
        """Elements of a tile, in the lanes of a vector if there are several."""
        memory, count = self.copy.memory, _lanes(steps)
        vectors, apart = replace(lanes, count=count), self._distances(steps, "dst")
        loaded = self._loaded(vectors, self._distances(steps, "src"), src)
        runs = [(0, 1)] if count is None else list(self._runs(apart))
        stored = range(len(steps)) if memory.adds else [first for first, _ in runs]
        offsets = {number: self._further(lanes, dst.offset, apart[number]) for number in stored}
        old = self._together(lanes, [self._old(lanes, offsets[number]) for number in stored]) if memory.adds else None
        params = PieceParams(self.copy.param_sites, self._param_distances(steps))
        value = memory.convert(vectors, loaded, params, old)
        for first, size in runs:
            part = value if count is None else self._part(lanes, value, first, size)
            self._store(lanes, part, offsets[first], is_lane=size == 1)

    def _swap(self, lanes: Lanes, steps: Sequence[Step], src: Place, dst: Place) -> None:
        """The steps of a tile that swap the elements of their bytes."""
        ratio = self.copy.ratio
        loaded, stored = (
            [self._further(lanes, place.offset, apart * ratio) for apart in self._distances(steps, side)]
            for side, place in zip(SIDES, (src, dst), strict=True)
        )
        in_bytes = replace(lanes, count=None if self.type is None else ratio)
        values = all_swapped(in_bytes, [self._load(lanes, offset) for offset in loaded])
        for value, offset in zip(values, stored, strict=True):
            self._store(lanes, value, offset)

    def _steps(self) -> Iterator[Step]:
        """Where the elements of a tile are along each digit: those that lie together in the destination in turn."""
        digits, tile = self.copy.plan.copy.digits, self.copy.plan.tile
        order = sorted(self.copy.plan.inner_order, key=lambda g: tile[g] > 1 and digits[g].stride("dst") == 1)
        for place in product(*(range(tile[digit]) for digit in order)):
            yield tuple(place[order.index(digit)] for digit in range(len(tile)))

    def _distances(self, steps: Sequence[Step], side: SideName) -> list[int]:
        """How far the elements of a tile are from its first one."""
        strides = [0 if digit.carries else digit.of(side) for digit in self.copy.plan.copy.digits]
        return [sum(map(mul, step, strides)) for step in steps]

    def _offsets(self, lanes: Lanes, distances: Sequence[int], place: Place) -> list[SSAValue]:
        """Where elements of a tile are."""
        return [self._further(lanes, place.offset, distance) for distance in distances]

    def _further(self, lanes: Lanes, at: SSAValue, distance: int) -> SSAValue:
        return vector_ops.further_on(self.copy.nest, lanes.builder, at, distance, at.name_hint)

    def _runs(self, distances: Sequence[int]) -> Iterator[tuple[int, int]]:
        """The lanes that are stored at once: the first one, and how many, a power of two."""
        first = 0
        while first < len(distances):
            size = 1
            while self._lie_together(distances[first : first + 2 * size], 2 * size):
                size *= 2
            yield first, size
            first += size

    def _lie_together(self, distances: Sequence[int], count: int) -> bool:
        """Whether so many elements of the destination, which share no bytes, lie one behind the other."""
        is_run = list(distances) == list(range(distances[0], distances[0] + count))
        return is_run and self.copy.plan.widths.dst_per_byte == 1 and self.type is None

    def _param_distances(self, steps: Sequence[Step]) -> list[tuple[int, ...]]:
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

    def _part(self, lanes: Lanes, value: SSAValue, first: int, size: int) -> SSAValue:
        """So many lanes of a vector; one of them is a scalar."""
        type = cast("VectorType[Any]", value.type)
        element = type.element_type
        if size == 1:
            return inserted(lanes.builder, vector_ops.lane(value, element, first))
        if size == type.get_shape()[0]:
            return value
        mask = range(first, first + size)
        return inserted(lanes.builder, vector_ops.shuffle(value, value, mask, element, "part"))

    def _loaded(self, lanes: Lanes, distances: Sequence[int], place: Place) -> SSAValue:
        """Elements in the lanes of a vector: those at the same place of their bytes are taken out of these at once."""
        memory, share, one = self.copy.memory.source, self.copy.plan.widths.src_per_byte, replace(lanes, count=None)
        if share > 1 and lanes.count is not None and not any(distance % share for distance in distances):
            at, shift = place_of(one, share, place.offset)
            offsets = (self._further(lanes, at, distance // share) for distance in distances)
            bytes = [one.insert(vector_ops.element(memory, offset), "byte") for offset in offsets]
            return parts_at(lanes, self._together(lanes, bytes), share, shift)
        return self._together(lanes, [self._load(one, offset) for offset in self._offsets(one, distances, place)])

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

    def _store(self, lanes: Lanes, value: SSAValue, offset: SSAValue, is_lane: bool = True) -> None:
        memory, share = self.copy.memory.target, self.copy.plan.widths.dst_per_byte
        if share > 1:
            store_part(lanes, value, memory, share, offset)
        elif self.type is None and is_lane:
            insert(lanes.builder, vector_ops.put(value, memory, offset))
        else:
            insert(lanes.builder, vector_ops.store(value, memory, offset))
