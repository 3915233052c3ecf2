"""The elements of a memory descriptor in the order in which they lie in memory, one line each."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from heapq import heappop, heappush
from itertools import islice
from math import prod

from layoutc.descriptor import MemoryDesc

WHOLE_LISTING = 256
"""positions up to which a listing is shown whole when nobody says how many lines"""
SHORT_LISTING = 16


@dataclass(frozen=True)
class Place:
    """
    One position of the physical shape.

    `offset` is in elements. `index` has a value per axis, below 0 or past the dims in border and block
    padding; `digits` has a value per physical axis.
    """

    offset: int
    index: tuple[int, ...]
    digits: tuple[int, ...]


def line_count(desc: MemoryDesc, lines: int | None) -> int:
    """How many places to list: `lines`, but not more than there are; for None all up to 256, else 16."""
    positions = prod(desc.physical_shape)
    if lines is None:
        lines = positions if positions <= WHOLE_LISTING else SHORT_LISTING
    return min(lines, positions)


def places(desc: MemoryDesc, count: int) -> Iterator[Place]:
    """The first `count` places by increasing offset, block padding and border included."""
    return (_place(desc, position) for position in islice(_by_offset(desc), count))


def last_place(desc: MemoryDesc) -> Place:
    """The place with the largest offset."""
    return _place(desc, tuple(n - 1 for n in desc.physical_shape))


def listing(desc: MemoryDesc, lines: int | None = None) -> Iterator[str]:
    """The memory order, one line per place; `...` and the last one where `lines` leaves some out."""
    count = line_count(desc, lines)
    yield from (place_text(desc, place) for place in places(desc, count))
    if count < prod(desc.physical_shape):
        yield "..."
        yield place_text(desc, last_place(desc))


def place_text(desc: MemoryDesc, place: Place) -> str:
    """`i = 17 => [b=0; f=1; y=0; x=1] == [b=0; fs=0; y=0; x=1; fsv=1];`, the second half for blocked layouts only."""
    text = f"i = {place.offset} => {_assignments(desc.layout.axis_names, place.index)}"
    if desc.inner_blocks:
        text += f" == {_assignments(desc.layout.digit_names, place.digits)}"
    return text + ";"


def _assignments(names: Sequence[str], values: Sequence[int]) -> str:
    return f"[{'; '.join(f'{name}={value}' for name, value in zip(names, values, strict=True))}]"


def _place(desc: MemoryDesc, position: tuple[int, ...]) -> Place:
    index = tuple(c - below for c, below in zip(desc.axis_coordinates(position), desc.lows, strict=True))
    return Place(desc.base_offset + _distance(desc, position), index, position)


def _distance(desc: MemoryDesc, position: Sequence[int]) -> int:
    return sum(p * stride for p, stride in zip(position, desc.strides, strict=True))


def _by_offset(desc: MemoryDesc) -> Iterator[tuple[int, ...]]:
    """
    Every position by increasing offset, at once for any size and any strides.

    A position is reached from the one whose last non-zero entry is one less, so from a smaller offset, and once.
    """
    shape = desc.physical_shape
    waiting = [(0, (0,) * len(shape))]
    while waiting:
        _, position = heappop(waiting)
        yield position
        last = max((axis for axis, value in enumerate(position) if value), default=0)
        for axis in range(last, len(shape)):
            if position[axis] + 1 < shape[axis]:
                following = (*position[:axis], position[axis] + 1, *position[axis + 1 :])
                heappush(waiting, (_distance(desc, following), following))
