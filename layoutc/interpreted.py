"""A reorder run by the strict interpreter: which of its memory may be read, and which is written once."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from layoutc import interpreter, reference
from layoutc.conversion import Conversion
from layoutc.descriptor import MemoryDesc
from layoutc.element_type import ElementType
from layoutc.errors import InterpreterError
from layoutc.walk import of_kind, ops_of

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp

Bytes = NDArray[Any]
Mask = NDArray[np.bool_]


def interpreted(
    module: ModuleOp, name: str, source: MemoryDesc, destination: MemoryDesc, conversion: Conversion, is_plain: bool
) -> Callable[..., None]:
    """
    A function of the bytes of source, destination, and each argument of the conversion, that runs lowered IR.

    What the source has besides its elements counts as undefined, and so does all of the destination that is not
    read by right: the old elements of a sum, and bytes that are written in part.
    """

    @cache
    def masks() -> tuple[Mask, Mask, Mask]:
        # Not before the first call: memory may not be enough for so many elements.
        readable = in_memory(_elements(source), source.element_type)
        own = in_memory(_elements(destination, with_padding=True), destination.element_type)
        return readable, _read_before(destination, conversion, is_plain), own

    by_elements = not is_plain and destination.element_type.bits < 8 and _loads_destination(module, name)
    starts = () if conversion.compensation is None else conversion.compensation.offsets_bytes(destination)
    sums = list(pairwise(starts))
    first = 2 + len(conversion.arguments)
    written = range(first, first + len(sums))

    def run(read: Bytes, out: Bytes, *arguments: Bytes) -> None:
        types = (param.type for param in conversion.arguments.values())
        readable, before, own = masks()
        if by_elements:
            before = np.ones_like(before)
        # Bytes of strides that interleave are put together element by element.
        is_once = destination.element_type.bits >= 8 or not before.all()
        data = as_elements(out[: destination.size_bytes], destination.element_type)
        # With a sum, the plain nest loads the old elements of a byte before it knows whether it has any.
        loadable = before if conversion.sum else before & own
        result = interpreter.Buffer.of(data, loadable, is_once)
        if np.may_share_memory(read, out):
            read = read.copy()  # strides that interleave: to the interpreter, memory that is written is read by nobody
        buffers = (
            as_elements(read, source.element_type),
            result,
            *(as_elements(argument, type) for argument, type in zip(arguments, types, strict=True)),
            *(out[start:stop].view(np.uint32) for start, stop in sums),
        )
        # The last tile of a row may start earlier, and write the same once more.
        interpreter.run(
            module,
            name,
            *buffers,
            write_once=written,
            defined={0: readable, **dict.fromkeys(written, False)},
            rewrite_same=not is_plain,
        )
        if (stray := np.flatnonzero(result.defined & ~loadable & ~own)).size:
            raise InterpreterError(f"element {stray[0]} of @{name}'s destination is written, which is none of its own")

    return run


def _loads_destination(module: ModuleOp, name: str) -> bool:
    """Whether a planned reorder puts elements into their bytes one by one, as rows begin or end inside of them."""
    from xdsl.dialects import func, memref

    function = next(op for op in of_kind(module.ops, func.FuncOp) if op.sym_name.data == name)
    destination = function.body.block.args[1]
    return any(op.memref is destination for op in of_kind(ops_of(function), memref.LoadOp))


def as_elements(data: Bytes, type: ElementType) -> Bytes:
    """Bytes as unsigned integers of an element type's width; bytes where elements share them."""
    return data.reshape(-1).view(f"u{max(1, type.bits // 8)}")


def in_memory(elements: Mask, type: ElementType) -> Mask:
    """What holds of elements, of the memory that they lie in: a byte is as good as any element in it."""
    per_byte = max(1, 8 // type.bits)
    padded = np.zeros(-(-elements.size // per_byte) * per_byte, np.bool_)
    padded[: elements.size] = elements
    return np.logical_or.reduce(padded.reshape(-1, per_byte), axis=1)


def _elements(desc: MemoryDesc, *, with_padding: bool = False) -> Mask:
    """Which elements of a buffer are data, and not padding (but for that of blocks), border or gap."""
    found = np.zeros(desc.span, np.bool_)
    found[reference.offsets(desc)] = True
    if with_padding:
        found[reference.padding_offsets(desc)] = True
    return found


def _read_before(desc: MemoryDesc, conversion: Conversion, is_plain: bool) -> Mask:
    """What of the destination may be read before it is written."""
    type = desc.element_type
    old: Mask = np.zeros(1, np.bool_)
    if conversion.sum:
        old = in_memory(_elements(desc), type)
    if type.bits >= 8:
        return np.broadcast_to(old, (desc.span,))
    kept = np.ones(desc.size_bytes * (8 // type.bits), np.bool_)
    kept[reference.offsets(desc)] = False
    # The plain nest reads the old elements of a byte before it knows which of them are padding.
    kept[reference.padding_offsets(desc)] = is_plain and bool(conversion.sum)
    return np.asarray(np.maximum(in_memory(kept, type), old))
