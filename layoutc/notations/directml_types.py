"""DirectML's data types, flags and limits, and the size of a buffer tensor."""

from __future__ import annotations

from collections.abc import Sequence
from enum import IntEnum, IntFlag
from math import prod
from operator import index

from layoutc.element_type import ELEMENT_TYPES, ElementType
from layoutc.errors import LayoutcError

# The constants of DirectML.h, without their prefix DML_; the count without a 1 was the limit before version 0x3000.
TENSOR_DIMENSION_COUNT_MAX = 5
TENSOR_DIMENSION_COUNT_MAX1 = 8
MINIMUM_BUFFER_TENSOR_ALIGNMENT = 16
TEMPORARY_BUFFER_ALIGNMENT = 256
PERSISTENT_BUFFER_ALIGNMENT = 256

MAX_DIMENSIONS = TENSOR_DIMENSION_COUNT_MAX1
MAX_ELEMENTS = 2**32 - 1


class DataType(IntEnum):
    """`DML_TENSOR_DATA_TYPE`: the names without their prefix, and the values."""

    UNKNOWN = 0
    FLOAT32 = 1
    FLOAT16 = 2
    UINT32 = 3
    UINT16 = 4
    UINT8 = 5
    INT32 = 6
    INT16 = 7
    INT8 = 8
    FLOAT64 = 9
    UINT64 = 10
    INT64 = 11
    UINT4 = 12
    INT4 = 13

    @classmethod
    def of(cls, data_type: DataType | ElementType | str | int) -> DataType:
        """The member of a name, DirectML's (`FLOAT32`) or layoutc's (`f32`), of a value, or of an element type."""
        name = data_type.name if isinstance(data_type, ElementType) else data_type
        try:
            if isinstance(name, str):
                return cls[_DIRECTML_NAMES.get(name) or name.removeprefix("DML_TENSOR_DATA_TYPE_")]
            return cls(name)
        except (KeyError, ValueError):
            known = " ".join(cls.__members__)
            raise LayoutcError(f"DirectML has no data type {shown(name)}, expected one of {known}") from None

    @property
    def bits(self) -> int:
        """Bits of one element; 0 for UNKNOWN."""
        return int("".join(filter(str.isdigit, self.name)) or 0)

    @property
    def element_type(self) -> ElementType:
        """layoutc's element type. Raises LayoutcError for UNKNOWN."""
        for element_type in ELEMENT_TYPES:
            if element_type.directml == self.name:
                return element_type
        raise LayoutcError(f"data type {self.name} is no element type of layoutc")


_DIRECTML_NAMES = {element_type.name: element_type.directml for element_type in ELEMENT_TYPES}


class Flags(IntFlag):
    """`DML_TENSOR_FLAGS`."""

    NONE = 0
    OWNED_BY_DML = 1


def flags_of(flags: Flags | str | int) -> Flags:
    """The flags of a name or a number. Raises LayoutcError for others."""
    known = {"NONE": Flags.NONE, "OWNED_BY_DML": Flags.OWNED_BY_DML}
    found = known.get(flags.removeprefix("DML_TENSOR_FLAG_")) if isinstance(flags, str) else flags
    if not isinstance(found, int) or found not in (0, 1):
        raise LayoutcError(f"unknown flags {shown(flags)}, expected NONE or OWNED_BY_DML")
    return Flags(found)


def calc_buffer_tensor_size(
    data_type: DataType | ElementType | str | int, sizes: Sequence[int], strides: Sequence[int] | None = None
) -> int:
    """
    `DMLCalcBufferTensorSize`: bytes up to the last element, rounded up to 4; 0 for UNKNOWN.

    The gap behind the last row of padded rows is not counted. Raises LayoutcError for sizes and strides that DirectML
    refuses, and where the published helper would wrap at 32 bits.
    """
    shape = checked_sizes(sizes)
    steps = None if strides is None else checked_strides(strides, len(shape))
    bits = DataType.of(data_type).bits * last_element(shape, steps) + DataType.of(data_type).bits
    return -(-bits // 32) * 4


def last_element(sizes: Sequence[int], strides: Sequence[int] | None) -> int:
    """The largest offset, in elements. Raises LayoutcError where that makes more than 2^32 - 1 elements."""
    if strides is None:
        last = prod(sizes) - 1
    else:
        last = sum((size - 1) * stride for size, stride in zip(sizes, strides, strict=True))
    if last >= MAX_ELEMENTS:
        raise LayoutcError(f"the tensor spans {last + 1} elements, expected at most 2^32 - 1")
    return last


def checked_sizes(sizes: Sequence[int]) -> tuple[int, ...]:
    """1 to 8 sizes of 1 or more below 2^32. Raises LayoutcError for others."""
    checked = unsigned("sizes", sizes, 1)
    if not 1 <= len(checked) <= MAX_DIMENSIONS:
        raise LayoutcError(f"got {len(checked)} sizes, expected 1 to {MAX_DIMENSIONS}")
    return checked


def checked_strides(strides: Sequence[int], rank: int) -> tuple[int, ...]:
    """One stride per size, of 0 or more below 2^32. Raises LayoutcError for others."""
    checked = unsigned("strides", strides, 0)
    if len(checked) != rank:
        raise LayoutcError(f"got {len(checked)} strides, expected {rank}, one per size")
    return checked


def checked_total(total: int, least: int, data_type: DataType) -> int:
    """A total size in bytes of at least `least`. Raises LayoutcError for less, and for more than 2^32 - 1 elements."""
    total = unsigned("total tensor size", (total,), 0, 2**64)[0]
    if total < least:
        raise LayoutcError(f"total tensor size of {total} bytes is below the {least} that sizes and strides imply")
    most = -(-MAX_ELEMENTS * data_type.bits // 32) * 4
    if total > most:
        raise LayoutcError(f"total tensor size of {total} bytes holds more than 2^32 - 1 elements")
    return total


def checked_alignment(alignment: int, data_type: DataType) -> int:
    """0, or a power of two of at least an element's size. Raises LayoutcError for others."""
    alignment = unsigned("base offset alignment", (alignment,), 0)[0]
    if alignment & (alignment - 1):
        raise LayoutcError(f"base offset alignment {alignment} is no power of two")
    if alignment and alignment * 8 < data_type.bits:
        raise LayoutcError(
            f"base offset alignment {alignment} is below the element size of {data_type.bits // 8} bytes"
        )
    return alignment


def unsigned(what: str, values: Sequence[int], least: int, below: int = 2**32) -> tuple[int, ...]:
    """The values as plain ints. Raises LayoutcError unless they are unsigned integers in that range."""
    try:
        checked = tuple(map(index, values))
    except TypeError:
        raise LayoutcError(f"{what} {shown(values)} are not integers") from None
    for value in checked:
        if not least <= value < below:
            bits = below.bit_length() - 1
            raise LayoutcError(f"{what} {shown(checked)} hold {shown(value)}, expected {least} or more below 2^{bits}")
    return checked


def shown(value: object) -> str:
    """The value for a message, cut where it is long."""
    if isinstance(value, int) and value.bit_length() > 200:
        return f"an integer of {value.bit_length()} bits"
    text = str(value)
    return text if len(text) <= 80 else text[:77] + "..."
