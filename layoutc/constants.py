"""The values of constants, in the order in which memory of a memref type has them."""

from __future__ import annotations

from typing import Any

import numpy as np
from xdsl.dialects.builtin import BytesAttr, DenseIntOrFPElementsAttr, MemRefType, TensorType

from layoutc import reference
from layoutc.descriptor import MemoryDesc
from layoutc.dialects.memory import flat_type, memory_desc
from layoutc.errors import LayoutcError
from layoutc.layout import Layout
from layoutc.numeric.packing import packed


def values_in_memory(values: DenseIntOrFPElementsAttr, type: MemRefType[Any]) -> DenseIntOrFPElementsAttr:
    """
    The values of a memref, given in the order of its indices, as its flat buffer has them; what is no element is 0.

    Raises LayoutcError for values of another shape or element type, and where elements share memory.
    """
    expected = TensorType(type.element_type, type.shape)
    if values.type != expected:
        raise LayoutcError(f"got values of {values.type}, expected of {expected}")
    desc, flat = memory_desc(type), flat_type(type)
    if not desc.is_injective:
        raise LayoutcError(f"elements of {type} share memory, expected a place for each")
    dense = MemoryDesc(desc.dims, desc.element_type, Layout.row_major(desc.rank))
    codes, memory = np.frombuffer(values.data.data, np.uint8), np.zeros(desc.size_bytes, np.uint8)
    bits = desc.element_type.bits
    reference.reorder(dense, desc, codes if bits >= 8 else packed(codes, bits), memory)
    return DenseIntOrFPElementsAttr(TensorType(flat.element_type, flat.shape), BytesAttr(memory.tobytes()))
