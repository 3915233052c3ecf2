"""How C spells buffers: their declarations, and the elements in them."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import Any, cast

from xdsl.dialects import arith, memref, vector
from xdsl.dialects.builtin import (
    DenseIntOrFPElementsAttr,
    MemRefType,
    UnrealizedConversionCastOp,
)
from xdsl.ir import Attribute, Operation

from layoutc.targets.errors import EmissionError, no_spelling
from layoutc.targets.words.c_expressions import (
    Expression,
    address,
    binary,
    call,
    element,
    integer,
    literal,
)
from layoutc.targets.words.c_text import INDENT, MAX_WIDTH, wrapped
from layoutc.targets.words.c_types import INDEX, element_count, element_name, strides_and_offset, width

READS: frozenset[type[Operation]] = frozenset(
    (
        arith.ConstantOp,
        memref.LoadOp,
        memref.ReinterpretCastOp,
        memref.CastOp,
        memref.GetGlobalOp,
        memref.AllocaOp,
        memref.ExtractAlignedPointerAsIndexOp,
        vector.LoadOp,
        vector.MaskedLoadOp,
        vector.CreateMaskOp,
        vector.InsertOp,
    )
)
"""ops besides those of arithmetic that may be left out where nobody uses their result"""

MALLOC_ALIGNMENT = 16


def element_at(type: MemRefType[Any], pointer: Expression, indices: Sequence[Expression]) -> Expression:
    """`pointer[h * 5 + w]`: the element of a memref at these indices."""
    return element(pointer, offset_of(type, indices))


def address_at(type: MemRefType[Any], pointer: Expression, indices: Sequence[Expression]) -> Expression:
    """`pointer + (h * 5 + w)`: where the element of a memref at these indices is."""
    return address(pointer, offset_of(type, indices))


def offset_of(type: MemRefType[Any], indices: Sequence[Expression]) -> Expression:
    """`h * 5 + w`: the offset of the element at these indices."""
    strides, offset = strides_and_offset(type)
    if strides == (1,) and not offset and indices[0].literal is None:
        return indices[0]
    if len(strides) != len(indices):
        raise EmissionError(f"{len(indices)} indices into {type}, expected {len(strides)}")
    terms = [_scaled(i, stride) for i, stride in zip(indices, strides, strict=True) if stride != 0 and i.literal != 0]
    constant = offset + sum(term.literal for term in terms if term.literal is not None)
    terms = [term for term in terms if term.literal is None]
    if constant or not terms:
        terms.append(integer(constant, INDEX))
    return reduce(_plus, terms)


def _plus(lhs: Expression, rhs: Expression) -> Expression:
    if rhs.literal is not None and rhs.literal < 0:
        return binary("-", lhs, integer(-rhs.literal, INDEX))
    return binary("+", lhs, rhs)


def _scaled(index: Expression, stride: int) -> Expression:
    if index.literal is not None:
        return integer(index.literal * stride, INDEX)
    return index if stride == 1 else binary("*", index, integer(stride, INDEX))


def parameter(type: MemRefType[Any], name: str, is_const: bool, may_overlap: bool) -> str:
    """`const float *restrict src`"""
    qualifiers = "*" if may_overlap else "*restrict "
    return f"{'const ' if is_const else ''}{element_name(type)} {qualifiers}{name}"


def local_array(op: memref.AllocaOp, name: str) -> str:
    """The declaration of a stack buffer."""
    type, size = _room(op)
    alignment = op.alignment.value.data if op.alignment else 0
    prefix = f"_Alignas({alignment}) " if alignment > width(type.element_type) // 8 else ""
    return f"{prefix}{element_name(type)} {name}[{size}]"


def heap_buffer(op: memref.AllocOp, name: str) -> str:
    """The declaration of a heap buffer; running out of memory ends the program."""
    type, size = _room(op)
    alignment = op.alignment.value.data if op.alignment else 0
    element_type = element_name(type)
    if alignment <= MALLOC_ALIGNMENT:
        memory = call("malloc", Expression(f"{size} * sizeof({element_type})"))
    else:
        size_bytes = size * max(1, width(type.element_type) // 8)
        rounded = -(-size_bytes // alignment) * alignment
        memory = call("aligned_alloc", Expression(str(alignment)), Expression(str(rounded)))
    return f"{element_type} *const {name} = {call('allocated', memory).text}"


def whole_copy(op: memref.CopyOp, source: Expression, destination: Expression) -> str:
    """memref.copy of memrefs whose elements lie one after another: memcpy."""
    types = [cast("MemRefType[Any]", value.type) for value in op.operands]
    row_major = [strides_and_offset(MemRefType(type.element_type, type.shape))[0] for type in types]
    places = [strides_and_offset(type) for type in types]
    if [strides for strides, _ in places] != row_major:
        raise no_spelling(op, f"from {types[0]} to {types[1]}, expected row-major memrefs")
    size = f"{element_count(types[0])} * sizeof({element_name(types[0])})"
    from_, to = (
        address(pointer, integer(offset, INDEX))
        for pointer, (_, offset) in zip((source, destination), places, strict=True)
    )
    return call("memcpy", to, from_, Expression(size)).text


def _room(op: memref.AllocOp | memref.AllocaOp) -> tuple[MemRefType[Any], int]:
    """The type of a buffer, and how many elements an array for it has."""
    type = cast(MemRefType[Any], op.memref.type)
    strides, offset = strides_and_offset(type)
    if min(strides, default=0) < 0 or offset < 0:
        raise no_spelling(op, f"of {type}, expected strides and an offset that are not negative")
    return type, max(1, span(type))


def span(type: MemRefType[Any]) -> int:
    """Elements from the start of a memref's buffer to the last one there. Raises EmissionError if it is dynamic."""
    strides, offset = strides_and_offset(type)
    if not element_count(type):
        return 0
    return offset + sum((n - 1) * max(stride, 0) for n, stride in zip(type.get_shape(), strides, strict=True)) + 1


def check_alias(op: memref.ReinterpretCastOp | memref.CastOp | UnrealizedConversionCastOp) -> None:
    """
    Raises EmissionError unless the result's type alone says where its elements are.

    The offset of a reinterpret_cast counts from the start of the buffer, and stands in the result's type:
    in C the result is the same pointer.
    """
    if len(op.operands) != 1:
        raise no_spelling(op, "with dynamic offsets, sizes or strides")
    source, result = (cast(MemRefType[Any], value.type) for value in (op.operands[0], op.results[0]))
    if element_name(source) != element_name(result):
        raise no_spelling(op, f"from {source} to {result}")
    strides, offset = strides_and_offset(result)
    if isinstance(op, memref.ReinterpretCastOp):
        stated = (op.static_strides.get_values(), *op.static_offsets.get_values())
        if stated != (strides, offset):
            raise no_spelling(op, f"whose offset and strides differ from its result {result}")


def constant_array(op: memref.GlobalOp, name: str) -> list[str]:
    """`static const float scales[2] = {0.5f, 0.25f};`: a memref.global of known values, many in lines of their own."""
    values = op.initial_value
    if not isinstance(values, DenseIntOrFPElementsAttr) or op.constant is None:
        raise no_spelling(op, "without constant values")
    type, element = op.type, cast(Attribute, values.get_element_type())
    numbers = cast("Sequence[int | float]", values.get_values())
    is_row_major = strides_and_offset(type) == strides_and_offset(MemRefType(element, type.shape))
    if type.element_type != element or not is_row_major or element_count(type) != len(numbers):
        raise no_spelling(op, f"of {type} with values of {values.type}, expected row-major ones")
    lanes = ", ".join(literal(value, element).text for value in numbers)
    head = f"static const {element_name(type)} {name}[{len(numbers)}] = {{"
    if len(head) + len(lanes) <= MAX_WIDTH:
        return [f"{head}{lanes}}};"]
    return [head, *wrapped(INDENT + lanes), "};"]
