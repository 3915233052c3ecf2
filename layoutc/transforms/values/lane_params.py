"""
The parameters of the lanes of a vector, loaded ahead of all loops that they do not depend on.

One value for all lanes is a scalar in all of them, values side by side are a vector load, and others are put together
from these: one value per pair of lanes is half a vector whose lanes are doubled.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from xdsl.builder import Builder
from xdsl.dialects.builtin import i8
from xdsl.ir import SSAValue
from xdsl.ir.affine import AffineExpr

from layoutc.dialects.memory import mlir_element_type
from layoutc.planning.copies.copy_digits import StridedCopy
from layoutc.transforms.building.creation import inserted
from layoutc.transforms.building.lanes import Lanes
from layoutc.transforms.building.loop_nest import Buffer, NestBuilder
from layoutc.transforms.building.vector_ops import load, shuffle, vector_type
from layoutc.transforms.values.element_access import Conversions, load_element, offset_value, to_register
from layoutc.transforms.values.shared_bytes import unpacked
from layoutc.transforms.values.tile_loops import Term, TileLoops, exact_quotient

Distances = tuple[int, ...]
"""of the value of each lane from that of the first element of a tile"""


@dataclass(frozen=True)
class ParamSite:
    """
    Where the values of a tile are loaded that one grouping of elements has, and how far in their list they are.

    It lies ahead of the loops that they do not depend on; `loaded` is what was loaded there already.
    """

    builder: Builder
    offset: AffineExpr | int
    counters: Sequence[SSAValue]
    loaded: dict[tuple[str, Distances], SSAValue] = field(default_factory=dict[tuple[str, Distances], SSAValue])


def param_sites(
    copy: StridedCopy, loops: TileLoops, terms: Sequence[Term], shared: Sequence[Sequence[int]] = ()
) -> list[ParamSite]:
    """
    Where the parameters inside of loops are loaded, for each grouping; and at last those that all elements share.

    Behind the digits of the copy come the loops that it shares with others, whose steps have so many values each.
    """
    bases = (*copy.params, 0)
    every_step = (*(digit.params for digit in copy.digits), *shared)
    steps = [[params[n] for params in every_step] for n in range(len(copy.params))]
    every = zip((*steps, [0] * len(every_step)), bases, strict=True)
    return [_param_site(loops, terms, *one) for one in every]


def _param_site(loops: TileLoops, terms: Sequence[Term], steps: Sequence[int], base: int) -> ParamSite:
    used = [term for term in terms if steps[term.digit]]
    total = TileLoops.sum_of(used, steps)
    builder, counters = loops.inside_of([term.digit for term in used])
    return ParamSite(builder, base if total is None else total + base, counters)


@dataclass(frozen=True)
class PieceParams:
    """
    Where the parameters of a piece of a tile are: the sites of the tile, and the distances of the piece's lanes.

    There is one of each per grouping of the conversion, and a site more, of those that all elements share.
    """

    sites: Sequence[ParamSite]
    distances: Sequence[Distances]

    def part(self, start: int, count: int | None) -> PieceParams:
        """Those of some lanes that follow one another; of a scalar (None) the same."""
        if count is None:
            return self
        return PieceParams(self.sites, [lanes[start : start + count] for lanes in self.distances])

    def value(self, nest: NestBuilder, conversions: Conversions, name: str, count: int | None) -> SSAValue:
        """One parameter in all lanes of the piece; a scalar where there are none (`count`)."""
        param = conversions.conversion.params[name]
        if param.axes:
            number = conversions.conversion.groupings.index(param.grouping)
            site, distances = self.sites[number], self.distances[number]
        else:
            site, distances = self.sites[-1], (0,) * (count or 1)
        key = (name, distances)
        if key not in site.loaded:
            site.loaded[key] = _Loader(nest, conversions, name, site).lanes(distances, count is None)
        return site.loaded[key]


class _Loader:
    """Loads of one parameter at a site."""

    def __init__(self, nest: NestBuilder, conversions: Conversions, name: str, site: ParamSite):
        self.nest, self.conversions, self.name, self.site = nest, conversions, name, site
        self.memory: Buffer = conversions.memories[name]
        self.per_byte = max(1, 8 // self.memory.desc.element_type.bits)

    def lanes(self, distances: Distances, is_scalar: bool = False) -> SSAValue:
        """Values at these distances."""
        count, first = len(distances), distances[0]
        if is_scalar:
            return self._scalar(first)
        if distances == (first,) * count:
            return self._at(count).spread(self._scalar(first))
        if distances == tuple(range(first, first + count)) and (place := self._place(first, count)) is not None:
            return self._vector(place, count)
        return self._shuffled(distances)

    def _shuffled(self, distances: Distances) -> SSAValue:
        """Values that are put together from vectors of fewer, or of one value."""
        half = len(distances) // 2
        low, high = distances[:half], distances[half:]
        if half == 1:
            a, b = (self.lanes((distance, distance)) for distance in distances)
            return self._shuffle(a, b, (0, 2))
        if low == high:
            part = self.lanes(low)
            return self._shuffle(part, part, (*range(half), *range(half)))
        if distances[::2] == distances[1::2]:
            part = self.lanes(distances[::2])
            return self._shuffle(part, part, tuple(lane // 2 for lane in range(2 * half)))
        return self._shuffle(self.lanes(low), self.lanes(high), tuple(range(2 * half)))

    def _shuffle(self, a: SSAValue, b: SSAValue, mask: Sequence[int]) -> SSAValue:
        element = self._at(len(mask)).element(a)
        return inserted(self.site.builder, shuffle(a, b, mask, element, self.name))

    def _scalar(self, distance: int) -> SSAValue:
        lanes, type = self._at(None), self.memory.desc.element_type
        loaded = load_element(lanes, self.memory.memory, type, self._index(self.site.offset + distance), self.name)
        return self.conversions.as_operand(lanes, loaded, self.name)

    def _place(self, distance: int, count: int) -> AffineExpr | int | None:
        """Where values side by side begin in memory; of those that share bytes none, where it is inside of one."""
        place = self.site.offset + distance
        if self.per_byte == 1 or count % self.per_byte:
            return place if self.per_byte == 1 else None
        if isinstance(place, int):
            return None if place % self.per_byte else place // self.per_byte
        return exact_quotient(place, self.per_byte)

    def _vector(self, place: AffineExpr | int, count: int) -> SSAValue:
        lanes, type, stored = self._at(count), self.memory.desc.element_type, count // self.per_byte
        element = mlir_element_type(type) if self.per_byte == 1 else i8
        value = lanes.insert(load(self.memory.memory, self._index(place), vector_type(element, stored)), self.name)
        if self.per_byte > 1:
            value = unpacked(self._at(stored), value, self.per_byte)
        return self.conversions.as_operand(lanes, to_register(lanes, value, type), self.name)

    def _at(self, count: int | None) -> Lanes:
        return Lanes(self.site.builder, self.nest, count)

    def _index(self, place: AffineExpr | int) -> SSAValue:
        return offset_value(self._at(None), place, self.site.counters, f"{self.name}_offset")
