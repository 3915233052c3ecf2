"""What is wrong with the types of a reorder, and which memory its arguments have."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import Attribute

from layoutc.conversion import NO_ATTRIBUTES, PARAM_TYPES, Conversion
from layoutc.descriptor import MemoryDesc
from layoutc.dialects.memory import is_memref, is_shaped, memory_desc
from layoutc.element_type import element_type
from layoutc.errors import LayoutcError
from layoutc.layout import Layout


def find_argument_fault(
    conversion: Conversion, target: MemoryDesc, types: Sequence[Attribute]
) -> tuple[int, str] | None:
    """What is wrong with the arguments of a conversion: (2 for the first, 3 for the second.., the reason)."""
    expected = argument_descs(conversion, target)
    if len(types) != len(expected):
        return 1, f"got {len(types)} arguments, expected {len(expected)}: {', '.join(expected) or 'none'}"
    for position, ((name, desc), type) in enumerate(zip(expected.items(), types, strict=True)):
        wanted = f"expected {desc.elements} of {desc.element_type} in row-major order"
        if not is_memref(type):
            return 2 + position, f"{name}: got {type}, {wanted}"
        try:
            found = memory_desc(type)
        except LayoutcError as error:
            return 2 + position, f"{name}: {error.message}"
        if found.element_type != desc.element_type and found.element_type.name in PARAM_TYPES.get(name, ()):
            wanted += f"; in the conversion, `: {found.element_type}` behind a parameter is its type"
        is_dense = found.layout == Layout.row_major(found.rank) and found.is_dense
        if is_dense and found.elements == desc.elements and not _lie_as(found.dims, desc.dims):
            return 2 + position, f"{name}: got shape {found.dims}, expected {desc.dims}"
        if not is_dense or (found.elements, found.element_type) != (desc.elements, desc.element_type):
            return 2 + position, f"{name}: got {type}, {wanted}"
    return None


def _lie_as(dims: Sequence[int], expected: Sequence[int]) -> bool:
    """Whether as many values are flat, or lie along the same axes, beside which axes of 1 do no harm."""
    return len(dims) == 1 or [n for n in dims if n > 1] == [n for n in expected if n > 1]


def argument_descs(conversion: Conversion, target: MemoryDesc) -> dict[str, MemoryDesc]:
    """The memory of each argument of a reorder: parameters that are given at run time, then sums of a compensation."""
    shapes = {name: (param.shape(target.dims), param.type) for name, param in conversion.arguments.items()}
    if conversion.compensation is not None:
        for number, (_, axes) in enumerate(conversion.compensation.parts):
            shapes[f"sums_{number}"] = (tuple(target.padded_dims[axis] for axis in axes), element_type("s32"))
    return {name: MemoryDesc(shape, type, Layout.row_major(len(shape))) for name, (shape, type) in shapes.items()}


def find_fault(source: Attribute, target: Attribute, conversion: Conversion = NO_ATTRIBUTES) -> tuple[int, str] | None:
    """What is wrong with reordering one type into another: (0 for the source or 1 for the target, the reason)."""
    descs: list[MemoryDesc] = []
    for position, type in enumerate((source, target)):
        if not is_shaped(type):
            return position, f"got {type}, expected a memref or a tensor"
        try:
            descs.append(memory_desc(type))
        except LayoutcError as error:
            return position, error.message
    try:
        conversion.check(*descs)
    except LayoutcError as error:
        return 1, str(error)
    return None
