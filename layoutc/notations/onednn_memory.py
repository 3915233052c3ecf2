"""
Between oneDNN's descriptor and layoutc's MemoryDesc.

What a part of a tensor does not own of its blocks is a border there: never read as data, never written.
"""

from __future__ import annotations

from layoutc.checks import instance
from layoutc.descriptor import MemoryDesc
from layoutc.errors import LayoutcError
from layoutc.layout import Layout
from layoutc.notations.onednn_desc import Desc, check_desc
from layoutc.notations.onednn_tags import format
from layoutc.notations.reading import Piece, nested_digits
from layoutc.strides import dense_strides


def from_memory_desc(desc: MemoryDesc) -> Desc:
    """
    The same memory as oneDNN describes it.

    Raises LayoutcError for what oneDNN has no words for: alignment, flattened axes, swizzled or spread blocks, a
    border that does not begin and end at a block.
    """
    instance("desc", desc, MemoryDesc, "layoutc.desc makes one")
    format(desc.layout)
    rank, blocks = desc.rank, desc.inner_blocks
    if desc.strides[rank:] != dense_strides([size for _, size in blocks]):
        raise LayoutcError(
            f"oneDNN's blocks are dense, got strides {desc.strides[rank:]} of blocks {desc.inner_blocks}"
        )
    strides = [0] * rank
    for digit, stride in zip(desc.layout.digits[:rank], desc.strides, strict=False):
        strides[digit.axes[0]] = stride
    real = [(axis, size) for axis, size in blocks if size > 1]
    sizes, axes = tuple(size for _, size in real), tuple(axis for axis, _ in real)
    whole = Desc(desc.dims, desc.element_type, tuple(strides), sizes, axes)
    padded, skipped = zip(*(_owned(desc, whole, axis) for axis in range(rank)), strict=True)
    offset0 = desc.base_offset + sum(n * s for n, s in zip(skipped, strides, strict=True))
    return Desc(desc.dims, desc.element_type, tuple(strides), sizes, axes, padded, offset0)


def _owned(desc: MemoryDesc, whole: Desc, axis: int) -> tuple[int, int]:
    """The padded dim of an axis, and the blocks of border before it."""
    block, dim = whole.blocks[axis], desc.dims[axis]
    low, high = desc.low[axis] if desc.low else 0, desc.high[axis] if desc.high else 0
    if low % block:
        raise LayoutcError(f"the border of {low} before axis {axis} is not a multiple of oneDNN's block {block}")
    if not high:
        return whole.padded_dims[axis], low // block
    if desc.extents[axis] % block or (dim % block and dim > block):
        raise LayoutcError(f"the border of {high} after the {dim} of axis {axis} does not fit oneDNN's block {block}")
    return dim, low // block


def memory_desc(desc: Desc) -> MemoryDesc:
    """
    The same memory as layoutc describes it; the lanes of a block that the descriptor does not own become a border.

    Raises LayoutcError for zero dims, for dims or strides that are known at run time only, and for padding
    that ends neither with the dim nor with a block.
    """
    check_desc(desc)
    if desc.is_runtime:
        raise LayoutcError(f"a memory descriptor needs all dims and strides, {desc} has some at run time only")
    if 0 in desc.dims:
        raise LayoutcError(f"a memory descriptor has dims of 1 or more, got {desc.dims}")
    high = tuple(_border(desc, axis) for axis in range(desc.ndims))
    counts = [-(-(n + border) // b) for n, border, b in zip(desc.dims, high, desc.blocks, strict=True)]
    order = outer_order(desc.strides, counts)
    strides = (*(desc.strides[axis] for axis in order), *dense_strides(desc.inner_blks))
    dense = dense_strides([*(counts[axis] for axis in order), *desc.inner_blks])
    if all(desc.is_unit(axis) or a == b for axis, a, b in zip(order, strides, dense, strict=False)):
        strides = dense  # only those differ that do not matter
    return MemoryDesc(desc.dims, desc.element_type, layout_of(desc, order), strides, desc.offset0, high=high)


def _border(desc: Desc, axis: int) -> int:
    """The lanes of an axis's last block that the descriptor does not own."""
    dim, padded, block = desc.dims[axis], desc.padded_dims[axis], desc.blocks[axis]
    if padded == -(-dim // block) * block:
        return 0
    if padded == dim:
        return -dim % block
    raise LayoutcError(
        f"axis {desc.letters[axis]} owns {padded} of {dim} in blocks of {block}, expected {dim} or all of a block"
    )


def outer_order(strides: tuple[int, ...], counts: list[int] | tuple[int, ...]) -> list[int]:
    """
    The axes from the slowest to the fastest; of equal strides those of extent 1 are the faster ones.

    A dense tensor has axes with equal strides only where all but the slowest of them are 1 long.
    """
    return sorted(range(len(strides)), key=lambda axis: (-strides[axis], counts[axis] <= 1, axis))


def layout_of(desc: Desc, order: list[int]) -> Layout:
    """The layout with these outer axes and the descriptor's blocks."""
    pieces: list[Piece] = [((axis,), None) for axis in order]
    pieces += [((axis,), size) for axis, size in zip(desc.inner_idxs, desc.inner_blks, strict=True)]
    return Layout(desc.ndims, nested_digits(pieces), axis_names=tuple(desc.letters))
