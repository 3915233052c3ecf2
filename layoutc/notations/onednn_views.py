"""
What oneDNN makes of an existing descriptor, over the same memory: a part of it, other axes, another order of axes.

The rules and the refusals are oneDNN's; `StatusError.status` is the status that its call returns.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from math import prod
from typing import NoReturn

from layoutc.notations.onednn_create import checked_dims
from layoutc.notations.onednn_desc import RUNTIME_DIM, Desc, check_desc, integers, invalid_arguments, unimplemented


def submemory(parent: Desc, dims: Sequence[int], offsets: Sequence[int]) -> Desc:
    """
    The part of a tensor that begins at `offsets` and is `dims` long, as `dnnl_memory_desc_create_submemory` has it.

    A part begins at a block and ends at one, at the end of the tensor, or inside of its only block, whose other
    lanes it then does not own. Raises StatusError for what oneDNN refuses.
    """
    check_desc(parent)
    dims, offsets = integers("dims", dims, parent.ndims), integers("offsets", offsets, parent.ndims)
    if parent.is_runtime or RUNTIME_DIM in (*dims, *offsets):
        unimplemented("a submemory needs all dims, strides and offsets, some are known at run time only")
    padded, offset0 = list(dims), parent.offset0
    for axis, (dim, offset, whole) in enumerate(zip(dims, offsets, parent.dims, strict=True)):
        letter = parent.letters[axis]
        if dim < 0 or offset < 0 or offset + dim > whole:
            invalid_arguments(f"axis {letter} is {whole} long, got {dim} at {offset}")
    for axis, (dim, offset, whole) in enumerate(zip(dims, offsets, parent.dims, strict=True)):
        letter, block = parent.letters[axis], parent.blocks[axis]
        if offset % block:
            unimplemented(f"offset {offset} of axis {letter} is not a multiple of its block {block}")
        if offset + dim == whole:
            padded[axis] = parent.padded_dims[axis] - offset
        elif dim % block and dim > block:
            unimplemented(f"{dim} of axis {letter} at {offset} end inside of a block of {block}")
        offset0 += offset // block * parent.strides[axis]
    return replace(parent, dims=dims, padded_dims=tuple(padded), offset0=offset0)


def permute_axes(desc: Desc, permutation: Sequence[int]) -> Desc:
    """
    The same memory with axis i renamed to axis `permutation[i]`, as `dnnl_memory_desc_permute_axes` has it.

    Raises StatusError for what oneDNN refuses.
    """
    check_desc(desc)
    permutation = integers("axes of the permutation", permutation, desc.ndims)
    if desc.is_runtime:
        invalid_arguments("axes are permuted of known dims and strides, some are known at run time only")
    if sorted(permutation) != list(range(desc.ndims)):
        invalid_arguments(f"{permutation} is no permutation of the axes 0..{desc.ndims - 1}")
    sources = [permutation.index(axis) for axis in range(desc.ndims)]
    return replace(
        desc,
        dims=tuple(desc.dims[axis] for axis in sources),
        strides=tuple(desc.strides[axis] for axis in sources),
        padded_dims=tuple(desc.padded_dims[axis] for axis in sources),
        inner_idxs=tuple(permutation[axis] for axis in desc.inner_idxs),
    )


def reshape(desc: Desc, dims: Sequence[int]) -> Desc:
    """
    The same memory with other axes, as `dnnl_memory_desc_reshape` has it.

    Axes of 1 come and go, an axis of the same length stays as it is, blocks and padding included; others are split
    or joined if they are neither blocked nor padded and follow each other without gaps. No element changes its place.
    Raises StatusError for what oneDNN refuses.
    """
    check_desc(desc)
    dims = checked_dims(dims)
    if desc.is_runtime or RUNTIME_DIM in dims:
        invalid_arguments("a reshape needs all dims and strides, some are known at run time only")
    if prod(dim or 1 for dim in dims) != prod(dim or 1 for dim in desc.dims):
        invalid_arguments(f"dims {dims} do not hold the elements of dims {desc.dims}")
    return _Reshape(desc, dims).result()


@dataclass
class _Reshape:
    """Matches axes from the last to the first, in the smallest groups of equally many elements."""

    desc: Desc
    dims: tuple[int, ...]
    strides: dict[int, int] = field(default_factory=dict[int, int])
    padded: dict[int, int] = field(default_factory=dict[int, int])
    kept: dict[int, int] = field(default_factory=dict[int, int])
    """axes that stay as they are: old -> new"""

    def result(self) -> Desc:
        old, new = self.desc.ndims, len(self.dims)
        while old or new:
            old, new = self._step(old, new)
        axes = range(len(self.dims))
        return replace(
            self.desc,
            dims=self.dims,
            strides=tuple(self.strides[axis] for axis in axes),
            padded_dims=tuple(self.padded[axis] for axis in axes),
            inner_idxs=tuple(self.kept[axis] for axis in self.desc.inner_idxs),
        )

    def _step(self, old: int, new: int) -> tuple[int, int]:
        """Handles the axes just before `old` and `new`; returns what is left before them."""
        source = self.desc.dims[old - 1] if old else None
        target = self.dims[new - 1] if new else None
        if source == 1 and self._can_drop(old - 1):
            return old - 1, new
        if source == 1 and target != 1:
            invalid_arguments(f"axis {self.desc.letters[old - 1]} is padded or a part of a block and cannot be dropped")
        if target == 1 and source != 1:
            self._put(new - 1, self._stride_left_of(old), 1)
            return old, new - 1
        first_old, first_new = self._group(old, new)
        if old - first_old == new - first_new == 1:
            self.kept[first_old] = first_new
            self._put(first_new, self.desc.strides[first_old], self.desc.padded_dims[first_old])
        else:
            self._rearrange(range(first_old, old), range(first_new, new))
        return first_old, first_new

    def _can_drop(self, axis: int) -> bool:
        """One lane of a block cannot: the block would be left without its axis. oneDNN forgets to check that."""
        return self.desc.padded_dims[axis] == 1 and self.desc.blocks[axis] == 1

    def _put(self, axis: int, stride: int, padded: int) -> None:
        self.strides[axis], self.padded[axis] = stride, padded

    def _stride_left_of(self, axis: int) -> int:
        """The stride of a new axis of 1 before the old one `axis`."""
        if axis == self.desc.ndims:
            return prod(self.desc.inner_blks)
        return self.desc.strides[axis] * self.desc.dims[axis] // self.desc.blocks[axis]

    def _group(self, old: int, new: int) -> tuple[int, int]:
        """Where the smallest groups of equally many elements, ending before `old` and `new`, begin."""
        old, new = old - 1, new - 1
        if old < 0 or new < 0:
            self._refuse_grouping()
        volume, wanted = self.desc.dims[old], self.dims[new]
        while volume != wanted:
            if volume < wanted:
                old -= 1
                volume *= self.desc.dims[old] if old >= 0 else 0
            else:
                new -= 1
                wanted *= self.dims[new] if new >= 0 else 0
            if not volume or not wanted:
                self._refuse_grouping()
        return old, new

    def _refuse_grouping(self) -> NoReturn:
        invalid_arguments(f"axes of dims {self.desc.dims} do not split or join into those of {self.dims}")

    def _rearrange(self, old: range, new: range) -> None:
        """Puts the new axes over the memory of the old ones, which must be dense and in order."""
        for axis in old:
            letter = self.desc.letters[axis]
            if self.desc.blocks[axis] > 1 or self.desc.padded_dims[axis] != self.desc.dims[axis]:
                invalid_arguments(f"axis {letter} is blocked or padded and cannot be split or joined")
            if axis > old.start and self.desc.dims[axis] * self.desc.strides[axis] != self.desc.strides[axis - 1]:
                before = self.desc.letters[axis - 1]
                invalid_arguments(f"axes {before} and {letter} do not follow each other in memory and cannot be joined")
        stride = self.desc.strides[old[-1]]
        for axis in reversed(new):
            self._put(axis, stride, self.dims[axis])
            stride *= self.dims[axis]
