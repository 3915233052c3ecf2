"""DirectML's `DML_BUFFER_TENSOR_DESC`: data type, sizes and strides of one tensor in a buffer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import prod

from layoutc.checks import instance
from layoutc.descriptor import MemoryDesc
from layoutc.element_type import ElementType
from layoutc.errors import LayoutcError
from layoutc.layout import Layout
from layoutc.notations.directml_labels import (
    axes_of_rank,
    fitting_labels,
    interleaved_channel_strides,
    label_order,
    packed_strides,
)
from layoutc.notations.directml_memory import strides_of
from layoutc.notations.directml_types import (
    MAX_DIMENSIONS,
    MAX_ELEMENTS,
    MINIMUM_BUFFER_TENSOR_ALIGNMENT,
    DataType,
    Flags,
    calc_buffer_tensor_size,
    checked_alignment,
    checked_sizes,
    checked_strides,
    checked_total,
    flags_of,
    last_element,
    unsigned,
)
from layoutc.once import once
from layoutc.strides import are_distinct, dense_strides

COUNTED_SPAN = 2**22
"""elements up to which the distinct offsets of interleaved strides are counted"""


@dataclass(frozen=True, init=False)
class BufferTensorDesc:
    """
    A tensor in a buffer: sizes in the fixed order N, C, (D,) H, W whatever the memory layout, and strides in elements.

    Strides of None are packed in that order; 0 broadcasts an axis, larger ones leave padding. Elements of 4 bits are
    counted, not bytes. `total_tensor_size_in_bytes` is by default what `calc_buffer_tensor_size` says.

    Raises LayoutcError with the rule for what DirectML refuses, and for more than 2^32 - 1 elements.
    """

    data_type: DataType
    sizes: tuple[int, ...]
    strides: tuple[int, ...] | None
    flags: Flags
    total_tensor_size_in_bytes: int
    guaranteed_base_offset_alignment: int

    def __init__(
        self,
        data_type: DataType | ElementType | str | int,
        sizes: Sequence[int],
        strides: Sequence[int] | None = None,
        *,
        flags: Flags | str | int = Flags.NONE,
        total_tensor_size_in_bytes: int | None = None,
        guaranteed_base_offset_alignment: int = 0,
    ):
        kind, shape = DataType.of(data_type), checked_sizes(sizes)
        put = object.__setattr__
        put(self, "data_type", kind)
        put(self, "sizes", shape)
        put(self, "strides", None if strides is None else checked_strides(strides, len(shape)))
        put(self, "flags", flags_of(flags))
        if kind is DataType.UNKNOWN:
            raise LayoutcError("data type UNKNOWN is not valid for a tensor")
        least = calc_buffer_tensor_size(kind, shape, self.strides)
        total = least if total_tensor_size_in_bytes is None else total_tensor_size_in_bytes
        put(self, "total_tensor_size_in_bytes", checked_total(total, least, kind))
        put(self, "guaranteed_base_offset_alignment", checked_alignment(guaranteed_base_offset_alignment, kind))

    @classmethod
    def of_label(
        cls, label: str, data_type: DataType | ElementType | str | int, sizes: Sequence[int]
    ) -> BufferTensorDesc:
        """The packed tensor whose axes lie in the label's order, `NHWC`; sizes are in the fixed order all the same."""
        shape = checked_sizes(sizes)
        return cls(data_type, shape, packed_strides(shape, label_order(label, len(shape))))

    @classmethod
    def interleaved_channel(
        cls, data_type: DataType | ElementType | str | int, sizes: Sequence[int]
    ) -> BufferTensorDesc:
        """The tensor that DirectMLX's policy `InterleavedChannel` makes: NWC, NHWC, NDHWC."""
        shape = checked_sizes(sizes)
        return cls(data_type, shape, interleaved_channel_strides(shape))

    # --- offsets and sizes -------------------------------------------------------------------------------------

    @property
    def rank(self) -> int:
        """DirectML's DimensionCount."""
        return len(self.sizes)

    @property
    def effective_strides(self) -> tuple[int, ...]:
        """The strides, the packed ones where there are none."""
        return dense_strides(self.sizes) if self.strides is None else self.strides

    def offset(self, *index: int) -> int:
        """The dot product of index and strides, in elements. Raises LayoutcError for an index outside of the sizes."""
        index = unsigned("index", index, 0)
        if len(index) != self.rank or not all(i < n for i, n in zip(index, self.sizes, strict=True)):
            raise LayoutcError(f"index {index} lies outside of sizes {self.sizes}")
        return sum(i * stride for i, stride in zip(index, self.effective_strides, strict=True))

    @property
    def elements(self) -> int:
        """Logical elements."""
        return prod(self.sizes)

    @property
    def index_of_last_element(self) -> int:
        """The largest offset."""
        return last_element(self.sizes, self.strides)

    @property
    def physical_elements(self) -> int:
        """Elements from the first to the last in the buffer."""
        return self.index_of_last_element + 1

    @once
    def distinct_elements(self) -> int:
        """
        Different offsets that the tensor has.

        Raises LayoutcError where strides interleave so much, over so large a span, that they are not counted.
        """
        shape, strides = self._moving
        if not self.is_overlapping:
            return prod(shape)
        if self.physical_elements > COUNTED_SPAN:
            raise LayoutcError(f"strides {self.strides} overlap over {self.physical_elements} elements, not counted")
        return _offsets(shape, strides).bit_count()

    @property
    def _moving(self) -> tuple[list[int], list[int]]:
        """Sizes and strides of the axes along which the offset changes."""
        moving = [(n, s) for n, s in zip(self.sizes, self.effective_strides, strict=True) if n > 1 and s]
        return [n for n, _ in moving], [s for _, s in moving]

    # --- what the strides are ----------------------------------------------------------------------------------

    @property
    def is_packed(self) -> bool:
        """Whether the buffer has as many elements as the tensor, each with an offset of its own."""
        return self.physical_elements == self.elements == self.distinct_elements

    @property
    def is_broadcast(self) -> bool:
        """Whether an axis of more than one element has stride 0."""
        return any(n > 1 and not s for n, s in zip(self.sizes, self.effective_strides, strict=True))

    @property
    def is_padded(self) -> bool:
        """Whether the buffer has elements, before the last, that are none of the tensor's."""
        return self.physical_elements > self.distinct_elements

    @property
    def is_overlapping(self) -> bool:
        """Whether two indices that differ in more than broadcast axes share an element."""
        return not are_distinct(*self._moving)

    @property
    def kinds(self) -> tuple[str, ...]:
        """Which of packed, broadcast, padded, overlapping it is."""
        return tuple(name for name in ("packed", "broadcast", "padded", "overlapping") if getattr(self, f"is_{name}"))

    @property
    def labels(self) -> tuple[str, ...]:
        """All labels that fit the order of the strides; several where sizes are 1; none from 6 axes on."""
        return tuple(fitting_labels(self.sizes, self.effective_strides))

    @property
    def label(self) -> str:
        """The first of `labels`, which is the axes' own order where that fits. Raises LayoutcError without one."""
        for label in fitting_labels(self.sizes, self.effective_strides):
            return label
        raise LayoutcError(f"DirectML labels 1 to 5 axes, got {self.rank}")

    def check_output(self) -> None:
        """
        Raises LayoutcError unless an operator may write this tensor.

        DirectML's own rule is that only inputs are OWNED_BY_DML; that offsets must differ is layoutc's: its pages do
        not say what a broadcast output would hold.
        """
        if self.flags & Flags.OWNED_BY_DML:
            raise LayoutcError("flag OWNED_BY_DML is for inputs, got an output")
        if not are_distinct(self.sizes, self.effective_strides):
            raise LayoutcError(f"strides {self.strides} put two elements of an output at one offset")

    def check_binding(self, base_offset: int, size: int) -> None:
        """
        Raises LayoutcError unless a buffer range, in bytes, may be bound for this tensor.

        It holds `total_tensor_size_in_bytes`, in whole groups of 4, and starts at a multiple of 16 or, where that is
        more, of `guaranteed_base_offset_alignment`.
        """
        base_offset, size = unsigned("binding", (base_offset, size), 0, 2**64)
        multiple = max(MINIMUM_BUFFER_TENSOR_ALIGNMENT, self.guaranteed_base_offset_alignment)
        if base_offset % multiple:
            raise LayoutcError(f"base offset {base_offset} is no multiple of {multiple}")
        if size < self.total_tensor_size_in_bytes or size % 4:
            least = f"{self.total_tensor_size_in_bytes} or more"
            raise LayoutcError(f"a range of {size} bytes is bound, expected {least}, a multiple of 4")

    # --- other descriptors -------------------------------------------------------------------------------------

    def with_rank(self, rank: int) -> BufferTensorDesc:
        """
        The same tensor with leading sizes of 1 put before, or taken away.

        Raises LayoutcError for ranks outside of 1..8 and where a size to take away is not 1.
        """
        if not 1 <= unsigned("rank", (rank,), 0)[0] <= MAX_DIMENSIONS:
            raise LayoutcError(f"rank {rank} is outside 1..{MAX_DIMENSIONS}")
        more, fewer = max(0, rank - self.rank), max(0, self.rank - rank)
        if any(n != 1 for n in self.sizes[:fewer]):
            raise LayoutcError(f"sizes {self.sizes} have no {fewer} leading ones to take away")
        sizes, strides = (1,) * more + self.sizes[fewer:], self.strides
        if strides is not None:
            # No second element lies along an axis of size 1: any stride will do, and the packed one is usual.
            strides = (min(self.sizes[0] * strides[0], MAX_ELEMENTS),) * more + strides[fewer:]
        return BufferTensorDesc(
            self.data_type,
            sizes,
            strides,
            flags=self.flags,
            total_tensor_size_in_bytes=self.total_tensor_size_in_bytes,
            guaranteed_base_offset_alignment=self.guaranteed_base_offset_alignment,
        )

    def memory_desc(self) -> MemoryDesc:
        """The memory descriptor; its `size_bytes` ends at the last element, without the rounding to 4 bytes."""
        letters = axes_of_rank(self.rank).lower()
        layout = replace(Layout.row_major(self.rank), axis_names=tuple(letters))
        return MemoryDesc(self.sizes, self.data_type.element_type, layout, self.strides or ())

    @classmethod
    def from_memory_desc(
        cls,
        desc: MemoryDesc,
        *,
        flags: Flags | str | int = Flags.NONE,
        guaranteed_base_offset_alignment: int = 0,
    ) -> BufferTensorDesc:
        """
        The tensor of the same memory: blocks will do where, for these dims, one stride per axis finds each element.

        Raises LayoutcError for what DirectML cannot express, saying what that is.
        """
        instance("desc", desc, MemoryDesc, "layoutc.desc makes one")
        if desc.element_type.directml is None:
            raise LayoutcError(f"DirectML has no data type for elements of {desc.element_type}")
        strides = strides_of(desc)
        return cls(
            desc.element_type,
            desc.dims,
            None if strides == dense_strides(desc.dims) else strides,
            flags=flags,
            guaranteed_base_offset_alignment=guaranteed_base_offset_alignment,
        )


def _offsets(shape: Sequence[int], strides: Sequence[int]) -> int:
    """The offsets as bits of an integer: each axis repeats those before it, doubling as it goes."""
    found = 1
    for count, stride in zip(shape, strides, strict=True):
        done = 1
        while done < count:
            more = min(done, count - done)
            found |= found << (more * stride)
            done += more
    return found
