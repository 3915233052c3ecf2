"""
Desc: a oneDNN memory descriptor as the library holds it, with its queries, its size and its equality.

Beside layoutc's MemoryDesc it can say what that one cannot: zero dims, dims and strides that are known at run time
only, and padded dims that end inside of a block, so that the block's other lanes belong to another tensor.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from operator import index
from typing import NoReturn

from layoutc.checks import instance
from layoutc.element_type import ElementType, element_type
from layoutc.errors import LayoutcError
from layoutc.layout import MAX_RANK
from layoutc.notations.onednn_tags import ALPHABET
from layoutc.once import once

RUNTIME_DIM = -(2**63)
"""a dim or stride that is known at run time only, DNNL_RUNTIME_DIM_VAL"""
RUNTIME_SIZE = 2**63
"""what get_size answers then, DNNL_RUNTIME_SIZE_VAL"""


class StatusError(LayoutcError):
    """What oneDNN refuses: `status` is the name of the status that its call returns."""

    def __init__(self, status: str, message: str):
        self.status = status
        super().__init__(f"{status}: {message}")


def invalid_arguments(message: str) -> NoReturn:
    """Raises the refusal that oneDNN calls so."""
    raise StatusError("invalid_arguments", message)


def unimplemented(message: str) -> NoReturn:
    """Raises the refusal that oneDNN calls so."""
    raise StatusError("unimplemented", message)


@dataclass(frozen=True, eq=False)
class Desc:
    """
    A blocked memory descriptor, its fields as oneDNN's queries give them.

    `strides` are in elements, per logical axis, between its outermost blocks; `inner_blks` and `inner_idxs` are the
    blocks, outermost first; `padded_dims` are what the descriptor owns of each axis. `offset0` is in elements.
    oneDNN's own calls are `create_with_tag`, `create_with_strides`, `submemory`, `permute_axes`, `reshape`.

    Equality is oneDNN's: strides of axes that are 1 long do not matter.
    """

    dims: tuple[int, ...]
    element_type: ElementType
    strides: tuple[int, ...]
    inner_blks: tuple[int, ...] = ()
    inner_idxs: tuple[int, ...] = ()
    padded_dims: tuple[int, ...] = ()
    offset0: int = 0

    def __post_init__(self) -> None:
        put = object.__setattr__
        put(self, "element_type", element_type(self.element_type))
        if not 1 <= len(self.dims) <= MAX_RANK:
            raise LayoutcError(f"oneDNN describes 1 to {MAX_RANK} dims, got {len(self.dims)}")
        if len(self.inner_blks) != len(self.inner_idxs) or any(not 0 <= i < self.ndims for i in self.inner_idxs):
            raise LayoutcError(
                f"blocks {self.inner_blks} have axes {self.inner_idxs}, expected one of 0..{self.ndims - 1} each"
            )
        if not self.padded_dims:
            put(self, "padded_dims", rounded_up(self.dims, self.blocks))
        for name in ("strides", "padded_dims"):
            if len(getattr(self, name)) != self.ndims:
                raise LayoutcError(f"got {len(getattr(self, name))} {name}, expected {self.ndims}, one per axis")

    # --- queries ---------------------------------------------------------------------------------------------------

    @property
    def ndims(self) -> int:
        """Number of axes."""
        return len(self.dims)

    @property
    def data_type(self) -> str:
        """oneDNN's name of the element type."""
        return self.element_type.onednn or self.element_type.name

    @property
    def format_kind(self) -> str:
        """Always `blocked`: the other kinds do not say where an element is."""
        return "blocked"

    @property
    def inner_nblks(self) -> int:
        """Number of blocks."""
        return len(self.inner_blks)

    @property
    def padded_offsets(self) -> tuple[int, ...]:
        """Zeros: no call of oneDNN makes others."""
        return (0,) * self.ndims

    @once
    def blocks(self) -> tuple[int, ...]:
        """The whole block of each axis: the product of its blocks."""
        return axis_blocks(len(self.dims), self.inner_blks, self.inner_idxs)

    @once
    def counts(self) -> tuple[int, ...]:
        """Whole blocks along each axis."""
        return tuple(padded // block for padded, block in zip(self.padded_dims, self.blocks, strict=True))

    @property
    def is_runtime(self) -> bool:
        """Whether a dim or a stride is known at run time only."""
        return RUNTIME_DIM in (*self.dims, *self.strides)

    def is_unit(self, axis: int) -> bool:
        """Whether an axis is 1 long without padding, so that its stride does not matter."""
        return self.dims[axis] == self.padded_dims[axis] == 1

    @property
    def letters(self) -> str:
        """The letters of the axes in canonical tags."""
        return ALPHABET[: self.ndims]

    # --- sizes and offsets -----------------------------------------------------------------------------------------

    def get_size(self) -> int:
        """
        Bytes as `dnnl_memory_desc_get_size` counts them: the largest count x stride of an axis.

        It is not the span: rows with a pitch count in full, the last one too, and `offset0` is left out.
        0 where a dim is 0, 2^63 where a dim or stride is known at run time only.
        """
        if 0 in self.dims:
            return 0
        if self.is_runtime:
            return RUNTIME_SIZE
        elements = self.size_elements
        return self.element_type.size_bytes(prod(self.inner_blks) if elements == 1 else elements)

    @property
    def size_elements(self) -> int:
        """The largest count x stride of an axis; the stride of an axis of one block counts as 1."""
        return max(n * (1 if n == 1 else stride) for n, stride in zip(self.counts, self.strides, strict=True))

    def offset(self, *position: int) -> int:
        """
        Offset in elements of the element at a logical index.

        Raises LayoutcError for an index outside of dims, and where a dim or stride is known at run time only.
        """
        if self.is_runtime:
            raise LayoutcError(f"offsets need all dims and strides, {self} has some at run time only")
        position = integers("index", position)
        if len(position) != self.ndims or not all(0 <= i < n for i, n in zip(position, self.dims, strict=True)):
            raise LayoutcError(f"index {position} lies outside of dims {self.dims}")
        rest, offset, stride = list(position), self.offset0, 1
        for block, axis in zip(reversed(self.inner_blks), reversed(self.inner_idxs), strict=True):
            rest[axis], lane = divmod(rest[axis], block)
            offset += lane * stride
            stride *= block
        return offset + sum(i * s for i, s in zip(rest, self.strides, strict=True))

    # --- equality --------------------------------------------------------------------------------------------------

    @property
    def _key(self) -> tuple[object, ...]:
        strides = tuple(0 if self.is_unit(axis) else stride for axis, stride in enumerate(self.strides))
        memory = (strides, self.inner_blks, self.inner_idxs, self.padded_dims, self.offset0)
        return (self.dims, self.element_type.name, *memory)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Desc) and self._key == other._key

    def __hash__(self) -> int:
        return hash(self._key)

    def __str__(self) -> str:
        dims = "x".join("*" if dim == RUNTIME_DIM else str(dim) for dim in self.dims)
        blocks = "".join(f"{size}{ALPHABET[axis]}" for size, axis in zip(self.inner_blks, self.inner_idxs, strict=True))
        strides = ", ".join("*" if stride == RUNTIME_DIM else str(stride) for stride in self.strides)
        parts = [f"{dims}x{self.data_type}", f"strides ({strides})"]
        if blocks:
            parts.append(f"blocks {blocks}")
        if self.padded_dims != self.dims:
            parts.append(f"padded {self.padded_dims}")
        return ", ".join([*parts, f"offset {self.offset0}"] if self.offset0 else parts)


def axis_blocks(ndims: int, sizes: Sequence[int], axes: Sequence[int]) -> tuple[int, ...]:
    """The product of the blocks of each axis."""
    blocks = [1] * ndims
    for size, axis in zip(sizes, axes, strict=True):
        blocks[axis] *= size
    return tuple(blocks)


def rounded_up(dims: Sequence[int], blocks: Sequence[int]) -> tuple[int, ...]:
    """Each dim rounded up to its block; one that is known at run time only stays so."""
    pairs = zip(dims, blocks, strict=True)
    return tuple(dim if dim == RUNTIME_DIM else -(-dim // block) * block for dim, block in pairs)


def check_desc(desc: object) -> None:
    """Raises LayoutcError for what is none of oneDNN's descriptors, as a MemoryDesc is none."""
    instance("desc", desc, Desc, "onednn.create_with_tag and onednn.from_memory_desc make one")


def integers(name: str, values: Sequence[int], count: int | None = None) -> tuple[int, ...]:
    """The values as ints of 64 bits, `count` of them if that is given."""
    try:
        checked = tuple(map(index, values))
    except TypeError:
        raise LayoutcError(f"{name} {str(values)[:80]} are not integers") from None
    if count is not None and len(checked) != count:
        raise LayoutcError(f"got {len(checked)} {name}, expected {count}, one per axis")
    if any(not -(2**63) <= value < 2**63 for value in checked):
        raise LayoutcError(f"{name} {str(checked)[:80]} do not fit in 64 bits")
    return checked
