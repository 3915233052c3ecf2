"""The block padding of a memory descriptor as boxes of coordinates, which a reorder fills with zeros."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from math import prod
from typing import TYPE_CHECKING

from layoutc.errors import LayoutcError
from layoutc.layout import AxisGroup

if TYPE_CHECKING:
    from layoutc.descriptor import MemoryDesc

MAX_BOXES = 1024
"""boxes of block padding, each of which becomes a loop nest"""

Box = tuple[range | None, ...]
"""One entry per axis group: a range of its (flattened) coordinates, or None for all its logical indices."""


def padding_boxes(desc: MemoryDesc) -> Iterator[Box]:
    """
    The block padding as disjoint boxes; LayoutcError for more than `MAX_BOXES`.

    Block padding is where some group's coordinate is past its last data or border element, and every
    other group's is either that too or a logical index: a border's own padding belongs to the border.
    """
    tails = [_tail(desc, group) for group in desc.layout.groups]
    spans = [_with_tail(desc, g, t) for g, t in zip(desc.layout.groups, tails, strict=True)]
    # A border above keeps indices and tail apart, in two ranges; no loop nest leaves out what lies between.
    count = sum(prod(map(len, spans[k + 1 :])) for k, tail in enumerate(tails) if tail)
    if count > MAX_BOXES:
        raise LayoutcError(
            f"block padding is {count} boxes, expected at most {MAX_BOXES}: "
            f"{sum(len(span) > 1 for span in spans)} axes have a border between their last index and their padding"
        )
    for k, tail in enumerate(tails):
        if tail:
            yield from ((None,) * k + (tail, *rest) for rest in product(*spans[k + 1 :]))


def padding_elements(desc: MemoryDesc) -> int:
    """How many positions of the physical shape are block padding."""
    data = [prod(desc.dims[axis] for axis in group.axes) for group in desc.layout.groups]
    tails = [_tail(desc, group) for group in desc.layout.groups]
    # len() of a range stops at 2^63.
    return prod(n + t.stop - t.start for n, t in zip(data, tails, strict=True)) - prod(data)


def _tail(desc: MemoryDesc, group: AxisGroup) -> range:
    """The coordinates of a group that are block padding."""
    extent = prod(desc.extents[axis] for axis in group.axes)
    return range(extent, desc.layout.padded(group, extent))


def _with_tail(desc: MemoryDesc, group: AxisGroup, tail: range) -> tuple[range | None, ...]:
    """A group's logical indices and its tail, as one range where they touch."""
    if not tail:
        return (None,)
    low = sum(desc.lows[axis] for axis in group.axes)
    high = sum(desc.highs[axis] for axis in group.axes)
    if high or (low and len(group.axes) > 1):
        return (None, tail)
    return (range(low, tail.stop),)
