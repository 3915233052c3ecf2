"""Between the Inference Engine's blocking descriptors and layoutc's model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from layoutc.checks import as_annotated
from layoutc.descriptor import MemoryDesc
from layoutc.errors import LayoutcError
from layoutc.layout import MAX_RANK
from layoutc.layout import Layout as MemoryLayout
from layoutc.notations.inference_engine_blocking import BlockingDesc
from layoutc.notations.inference_engine_common import DEFAULT_RELEASE
from layoutc.notations.reading import Piece, Reading, nested_digits, pieces_of
from layoutc.strides import dense_strides


class OrderError(LayoutcError):
    """An order that is not one of the axes 0..rank - 1."""


@dataclass(frozen=True)
class Blocks:
    """
    Blocked dims with their axes and strides, slowest first, as a BlockingDesc holds them.

    Its dim offsets are left out: `offset` already counts them, so they move no element.
    """

    shape: tuple[int, ...]
    order: tuple[int, ...]
    strides: tuple[int, ...]
    offset: int

    @classmethod
    def of(cls, blocking: BlockingDesc, dims: Sequence[int] = ()) -> Blocks:
        """
        The blocks of a descriptor. An axis of `dims` that its order does not name has the same elements everywhere.
        """
        missing = tuple(axis for axis in range(len(dims)) if axis not in blocking.order)
        return cls(
            tuple(dims[axis] for axis in missing) + blocking.blocked_dims,
            missing + blocking.order,
            (0,) * len(missing) + blocking.strides,
            blocking.offset,
        )

    def reading(self, axis_names: tuple[str, ...] = ()) -> Reading:
        """What the blocks say of a layout and dims. Raises LayoutcError for what no layout can be."""
        layout = _layout(self.shape, self.order, axis_names)
        dims = tuple(
            prod(extent for extent, of in zip(self.shape, self.order, strict=True) if of == axis)
            for axis in range(layout.rank)
        )
        strides = self.strides if self.strides != dense_strides(self.shape) else ()
        return Reading(layout, dims, strides, self.offset, self.shape)


def _layout(shape: tuple[int, ...], order: tuple[int, ...], axis_names: tuple[str, ...]) -> MemoryLayout:
    if 0 in shape:
        raise LayoutcError(f"blocked dims {shape} hold 0, expected 1 or more")
    rank = max(order, default=-1) + 1
    if rank > MAX_RANK:
        raise OrderError(f"axis {rank - 1} is outside 0..{MAX_RANK - 1}")
    missing = set(range(rank)) - set(order)
    if missing:
        raise OrderError(f"axis {min(missing)} is missing from the order, which has axis {rank - 1}")
    seen: set[int] = set()
    pieces: list[Piece] = []
    for axis, extent in zip(order, shape, strict=True):
        pieces.append(((axis,), extent if axis in seen else None))
        seen.add(axis)
    return MemoryLayout(rank, nested_digits(pieces), axis_names=axis_names)


@as_annotated
def blocking_desc(desc: MemoryDesc, release: str = DEFAULT_RELEASE) -> BlockingDesc:
    """
    The blocking descriptor of a memory descriptor.

    Raises LayoutcError for what none can express: a border, flattened axes, blocks that do not nest, and, from 2022
    on, broadcasts and overlaps.
    """
    if desc.low or desc.high:
        raise LayoutcError("a BlockingDesc has no border")
    if any(len(digit.axes) > 1 for digit in desc.layout.digits):
        raise LayoutcError(f"a BlockingDesc has no flattened axes, got {desc.layout}")
    if pieces_of(desc.layout) is None:
        raise LayoutcError(f"a BlockingDesc nests blocks, the most significant first, got {desc.layout}")
    order = tuple(digit.axes[0] for digit in desc.layout.digits)
    return BlockingDesc(desc.physical_shape, order, desc.base_offset, None, desc.own_strides or None, release=release)
