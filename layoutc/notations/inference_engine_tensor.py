"""The Inference Engine's `TensorDesc`: precision, dims, layout and blocking of one tensor, as its library works."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from math import prod

from layoutc.checks import instance
from layoutc.descriptor import MemoryDesc
from layoutc.element_type import ElementType
from layoutc.errors import LayoutcError
from layoutc.notations.inference_engine_blocking import BlockingDesc
from layoutc.notations.inference_engine_common import (
    DEFAULT_RELEASE,
    InferenceEngineError,
    is_checked,
    size,
    sizes,
)
from layoutc.notations.inference_engine_layouts import Layout, layout_by_order
from layoutc.notations.inference_engine_memory import Blocks, blocking_desc
from layoutc.notations.inference_engine_precision import Precision


@dataclass(frozen=True, init=False)
class TensorDesc:
    """
    Precision, logical dims, layout and blocking descriptor.

    Made from a BlockingDesc, it finds the layout as the library does: by the order, where each axis is one blocked dim,
    else BLOCKED; SCALAR without dims. Made from a layout or its name, it finds the blocking.

    Immutable: `set_dims`, `set_layout` and `reshape` return a new descriptor. `release` is that of the blocking unless
    given, decides how they work, and is not compared. Raises InferenceEngineError with the library's text for what
    the library of that release refuses, LayoutcError for where the library would read out of bounds.
    """

    precision: Precision
    dims: tuple[int, ...]
    layout: Layout
    blocking: BlockingDesc
    release: str = field(compare=False, repr=False)

    def __init__(
        self,
        precision: Precision | ElementType | str,
        dims: Sequence[int],
        blocking_or_layout: BlockingDesc | Layout | str,
        *,
        release: str | None = None,
    ):
        dims = sizes("dims", dims)
        if isinstance(blocking_or_layout, BlockingDesc):
            release = release or blocking_or_layout.release
            self._set(precision, dims, _layout_of(dims, blocking_or_layout), blocking_or_layout, release)
        else:
            layout, release = Layout.of(blocking_or_layout), release or DEFAULT_RELEASE
            self._set(precision, dims, layout, BlockingDesc(dims, layout, release=release), release)

    def _set(
        self,
        precision: Precision | ElementType | str,
        dims: tuple[int, ...],
        layout: Layout,
        blocking: BlockingDesc,
        release: str,
    ) -> None:
        is_checked(release)
        values = (Precision.of(precision), dims, layout, blocking, release)
        for name, value in zip(("precision", "dims", "layout", "blocking", "release"), values, strict=True):
            object.__setattr__(self, name, value)

    def _changed(self, dims: tuple[int, ...], layout: Layout, blocking: BlockingDesc) -> TensorDesc:
        """One with these parts as they are: the library's own changes leave them unchecked."""
        changed = object.__new__(TensorDesc)
        changed._set(self.precision, dims, layout, blocking, self.release)
        return changed

    def _blocking(self, dims: Sequence[int], order: Sequence[int] | Layout) -> BlockingDesc:
        return BlockingDesc(dims, order, release=self.release)

    # --- changes -----------------------------------------------------------------------------------------------

    def set_dims(self, dims: Sequence[int]) -> TensorDesc:
        """
        The descriptor with other dims.

        A BLOCKED one keeps its blocked dims up to 2021; from 2022 on these dims in its order become the blocked dims.
        """
        dims = sizes("dims", dims)
        if self.layout is Layout.BLOCKED:
            return self._changed(dims, self.layout, self._reblocked(dims))
        if self.layout is not Layout.SCALAR:
            return self._changed(dims, self.layout, self._blocking(dims, self.layout))
        if dims not in ((), (1,)):
            raise InferenceEngineError("Cannot set dimensions for SCALAR layout!")
        return self._changed(self.dims, self.layout, self._blocking(dims, self.layout))

    def _reblocked(self, dims: tuple[int, ...]) -> BlockingDesc:
        shape, order = self.blocking.blocked_dims, self.blocking.order
        if is_checked(self.release):
            # Blocked dims of (0,) stand for a dynamic shape, whose order means nothing.
            shape, order = dims, () if shape == (0,) else order
        shape = shape or dims
        return self._blocking(shape, order or tuple(range(len(shape))))

    def set_layout(self, layout: Layout | str) -> TensorDesc:
        """The descriptor with another layout; a blocking that is not the old layout's own is kept as it is."""
        layout = Layout.of(layout)
        if layout.rank not in (None, len(self.dims)):
            printed = layout.printed(self.release)
            raise InferenceEngineError(f"Size of dims({len(self.dims)}) and format({printed}) are inconsistent.")
        is_default = self.blocking == self._blocking(self.dims, self.layout)
        blocking = self._blocking(self.dims, layout) if is_default else self.blocking
        return self._changed(self.dims, layout, blocking)

    def reshape(self, dims: Sequence[int], layout_or_blocking: Layout | str | BlockingDesc = Layout.ANY) -> TensorDesc:
        """
        The descriptor with other dims, and a layout (ANY keeps the present one) or a blocking of its own.

        As in the library the number of elements may change, and offset and strides are dropped.
        """
        dims = sizes("dims", dims)
        if isinstance(layout_or_blocking, BlockingDesc):
            return self._changed(dims, Layout.BLOCKED, layout_or_blocking)
        if any(self.blocking.dim_offsets):
            raise InferenceEngineError("Cannot reshape a non-packaged blob!")
        layout = Layout.of(layout_or_blocking) or self.layout
        return self._changed(dims, layout, self._blocking(dims, layout))

    # --- offsets and sizes -------------------------------------------------------------------------------------

    def offset(self, index: int | Sequence[int]) -> int:
        """
        What the library answers for an index, or for its position in row-major order of the dims, in elements.

        Coordinates wrap around at the blocked dims, and dim offsets count again though the offset of a region of
        interest has them already; `memory_desc().offset(*index)` is the true place.
        """
        if self.layout is Layout.ANY:
            raise InferenceEngineError("Cannot calculate offset for any format!")
        if not isinstance(index, Iterable):
            index = self._index_of(size("linear index", index))
        rest = list(sizes("index", index))
        if self.layout is Layout.SCALAR:
            return self.blocking.offset
        self._check_index(rest)
        return self.blocking.offset + self._shifts(rest)

    def _shifts(self, rest: list[int]) -> int:
        """The sum over all blocked dims, the least significant part of an axis, which is its last, taken first."""
        blocking, total = self.blocking, 0
        # Without an order, which counts, there may be dim offsets.
        parts = zip(blocking.order, blocking.blocked_dims, blocking.dim_offsets, blocking.strides, strict=False)
        for axis, extent, start, stride in reversed(list(parts)):
            rest[axis], shift = divmod(rest[axis], extent)
            total += (shift + start) * stride
        return total

    def _check_index(self, index: Sequence[int]) -> None:
        blocking = self.blocking
        if not len(blocking.blocked_dims) == len(blocking.strides) == len(blocking.order):
            raise InferenceEngineError("Cannot calculate offset. Incorrect primitive descriptor!")
        if len(index) <= max(blocking.order, default=-1):
            raise LayoutcError(f"index has {len(index)} coordinates, the order {blocking.order} names more axes")
        if 0 in blocking.blocked_dims:
            raise LayoutcError(f"blocked dims {blocking.blocked_dims} hold 0, expected 1 or more")

    def _index_of(self, linear: int) -> list[int]:
        if 0 in self.dims:
            raise LayoutcError(f"dims {self.dims} hold 0, expected 1 or more")
        index: list[int] = []
        for dim in reversed(self.dims):
            linear, coordinate = divmod(linear, dim)
            index.insert(0, coordinate)
        return index

    @property
    def size(self) -> int:
        """`Blob::size()`: the product of the dims, whatever the blocked buffer needs; 1 for SCALAR, else 0 of none."""
        if self.layout is Layout.SCALAR:
            return 1
        return prod(self.dims) if self.dims else 0

    @property
    def byte_size(self) -> int:
        """`Blob::byteSize()`: whole bytes per element of `size`. `memory_desc().size_bytes` is what a buffer needs."""
        return self.size * self.precision.size

    # --- layoutc's model ---------------------------------------------------------------------------------------

    def memory_desc(self) -> MemoryDesc:
        """
        The memory descriptor: an element lies at `offset` plus its shifts times strides, dim offsets not counted again.

        Raises LayoutcError for ANY, for a precision that layoutc lacks, and for blocked dims that do not hold the dims.
        """
        element_type = self.precision.element_type
        if self.layout is Layout.ANY:
            raise LayoutcError("layout ANY describes no memory")
        if self.layout is Layout.SCALAR and any(dim != 1 for dim in self.dims):
            raise LayoutcError(f"layout SCALAR has one place for all elements of dims {self.dims}")
        past = [axis for axis in self.blocking.order if axis >= len(self.dims)]
        if past and self.blocking.blocked_dims:
            raise LayoutcError(f"the order names axis {past[0]}, dims {self.dims} have rank {len(self.dims)}")
        return Blocks.of(self._placed(), self.dims).reading(self._axis_names()).bind(self.dims, element_type)

    def _placed(self) -> BlockingDesc:
        """The blocking without an order that orders nothing."""
        blocking = self.blocking
        return blocking if blocking.blocked_dims else BlockingDesc((), (), blocking.offset)

    def _axis_names(self) -> tuple[str, ...]:
        """The letters of a layout that has them, in logical order."""
        letters = dict(zip(self.layout.order, self.layout.name.lower(), strict=False))
        return tuple(letters[axis] for axis in sorted(letters)) if len(letters) == len(self.dims) else ()

    @classmethod
    def from_memory_desc(cls, desc: MemoryDesc, *, release: str = DEFAULT_RELEASE) -> TensorDesc:
        """
        The tensor descriptor of the same memory.

        Raises LayoutcError for what the Inference Engine cannot express: other element types, borders, flattened axes,
        blocks that do not nest, and, from 2022 on, broadcasts and overlaps.
        """
        instance("desc", desc, MemoryDesc, "layoutc.desc makes one")
        if desc.element_type.inference_engine is None:
            raise LayoutcError(f"the Inference Engine has no precision for elements of {desc.element_type}")
        return cls(desc.element_type, desc.dims, blocking_desc(desc, release))


def _layout_of(dims: tuple[int, ...], blocking: BlockingDesc) -> Layout:
    """What the library takes a blocking for."""
    if not dims or not blocking.blocked_dims:
        return Layout.SCALAR
    if len(dims) != max(blocking.order) + 1:
        raise InferenceEngineError("Cannot create TensorDesc! Blocked dims are inconsistent with original dims.")
    return layout_by_order(blocking.order) if len(dims) == len(blocking.order) else Layout.BLOCKED
