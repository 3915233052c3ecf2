"""SplitDesc: one tensor whose memory follows one map up to an index of an axis, and another map from there on."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, combinations, product
from math import prod

from layoutc.descriptor import MemoryDesc
from layoutc.element_type import ElementType
from layoutc.errors import LayoutcError
from layoutc.once import once
from layoutc.strides import position_of


@dataclass(frozen=True)
class SplitDesc:
    """
    A tensor cut along `axis` into `parts`, each with a map of its own, which share one buffer.

    The parts hold consecutive ranges of the axis; their dims are equal in all others. No single offset map says this.
    Raises LayoutcError for parts that are not pieces of one tensor.
    """

    axis: int
    parts: tuple[MemoryDesc, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "parts", tuple(self.parts))
        if len(self.parts) < 2:
            raise LayoutcError(f"got {len(self.parts)} parts, expected two or more")
        first = self.parts[0]
        if not 0 <= self.axis < first.rank:
            raise LayoutcError(f"axis {self.axis} is outside of rank {first.rank}")
        for part in self.parts:
            if part.element_type != first.element_type:
                raise LayoutcError(f"parts hold {first.element_type} and {part.element_type}")
            if self._others(part.dims) != self._others(first.dims):
                raise LayoutcError(f"parts of dims {first.dims} and {part.dims} differ outside of axis {self.axis}")
            if part.low or part.high:
                raise LayoutcError("a part has a border")

    def _others(self, sizes: Sequence[int]) -> tuple[int, ...]:
        return (*sizes[: self.axis], *sizes[self.axis + 1 :])

    @once
    def starts(self) -> tuple[int, ...]:
        """The index along the axis where each part begins, and where the last one ends."""
        return (0, *accumulate(part.dims[self.axis] for part in self.parts))

    @once
    def dims(self) -> tuple[int, ...]:
        """The logical sizes of the whole tensor."""
        dims = list(self.parts[0].dims)
        dims[self.axis] = self.starts[-1]
        return tuple(dims)

    @property
    def rank(self) -> int:
        """Number of logical axes."""
        return self.parts[0].rank

    @property
    def element_type(self) -> ElementType:
        """The type of one element."""
        return self.parts[0].element_type

    @property
    def elements(self) -> int:
        """Number of logical elements."""
        return prod(self.dims)

    @once
    def span(self) -> int:
        """Elements from the start of the buffer to the last position of any part, block padding included."""
        return max(part.span for part in self.parts)

    @property
    def size_bytes(self) -> int:
        """Bytes that a buffer of this descriptor must have."""
        return self.element_type.size_bytes(self.span)

    def part_of(self, *index: int) -> tuple[MemoryDesc, tuple[int, ...]]:
        """The part that holds a logical index, and the index in it. LayoutcError for an index outside of dims."""
        if len(index) != self.rank or not all(0 <= i < n for i, n in zip(index, self.dims, strict=True)):
            raise LayoutcError(f"index {tuple(index)} lies outside of dims {self.dims}")
        number = sum(index[self.axis] >= stop for stop in self.starts[1:])
        return self.parts[number], self._moved(index, -self.starts[number])

    def _moved(self, index: Sequence[int], by: int) -> tuple[int, ...]:
        return (*index[: self.axis], index[self.axis] + by, *index[self.axis + 1 :])

    def offset(self, *index: int) -> int:
        """Offset in elements of the element at a logical index. LayoutcError for an index outside of dims."""
        part, local = self.part_of(*index)
        return part.offset(*local)

    def index_of(self, offset: int) -> tuple[int, ...] | None:
        """The logical index at an offset in elements; None for padding and gaps."""
        for part, start in zip(self.parts, self.starts, strict=False):
            local = part.index_of(offset)
            if local is not None:
                return self._moved(local, start)
        return None

    def padding_offsets(self) -> Iterator[int]:
        """The offsets of all block padding, part by part: positions of a part that hold no element of any."""
        for part in self.parts:
            for position in product(*map(range, part.physical_shape)):
                if part.logical_index(position) is None:
                    offset = part.base_offset + sum(p * s for p, s in zip(position, part.strides, strict=True))
                    if self.index_of(offset) is None:
                        yield offset

    @once
    def is_injective(self) -> bool:
        """Whether no two positions, of one part or of two, share an element of the buffer."""
        return all(part.is_injective for part in self.parts) and all(
            are_disjoint(one, other) for one, other in combinations(self.parts, 2)
        )

    def __str__(self) -> str:
        name = self.parts[0].layout.axis_names[self.axis]
        ranges = zip(self.starts, self.starts[1:], self.parts, strict=False)
        return "; ".join(f"{name} in [{start}, {stop}): {part}" for start, stop, part in ranges)


def are_disjoint(one: MemoryDesc, other: MemoryDesc) -> bool:
    """
    Whether no position of one shares an element of the buffer with a position of the other, padding included.

    Two positions p and q meet where p . strides + (last - q) . strides is a certain sum: all axes then have a
    positive sign, and those of equal stride are one axis.
    """
    extents: dict[int, int] = {}
    for desc in (one, other):
        for extent, stride in zip(desc.physical_shape, desc.strides, strict=True):
            if stride:
                extents[stride] = extents.get(stride, 1) + extent - 1
    reach = replace(other, base_offset=0).span - 1
    meeting = other.base_offset - one.base_offset + reach
    return position_of(tuple(extents.values()), tuple(extents), meeting) is None
