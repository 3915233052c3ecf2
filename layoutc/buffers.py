"""The memory behind Python objects, as bytes that a kernel can be given, or an error that says why not."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from layoutc.errors import BufferError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


def as_buffer(name: str, obj: object, size_bytes: int, *, writable: bool, alignment: int = 1) -> NDArray[np.uint8]:
    """
    The bytes of a C-contiguous buffer object, as an array that shares and keeps its memory.

    `obj` is anything with the buffer protocol (bytes, bytearray, memoryview, array) or a NumPy array, of exactly
    `size_bytes` bytes; errors call it `name`. Raises BufferError for any other object, another size, a read-only
    object where `writable` is asked for, one that is not contiguous, an address not a multiple of `alignment`.
    """
    array = _as_array(name, obj)
    if array.dtype.hasobject:
        raise BufferError(f"{name} holds Python objects, expected numbers")
    if not array.flags.c_contiguous:
        raise BufferError(f"{name} is not C-contiguous")
    if array.nbytes != size_bytes:
        raise BufferError(f"{name} has {array.nbytes} bytes, expected {size_bytes}")
    if writable and not array.flags.writeable:
        raise BufferError(f"{name} is read-only, expected a buffer to write to")
    if address_of(array) % alignment:
        raise BufferError(f"{name} lies at address {address_of(array):#x}, expected a multiple of {alignment}")
    return array.reshape(-1).view("u1")


def check_disjoint(source: NDArray[Any], destination: NDArray[Any]) -> None:
    """Raises BufferError if two contiguous arrays share memory."""
    start = max(address_of(source), address_of(destination))
    stop = min(address_of(source) + source.nbytes, address_of(destination) + destination.nbytes)
    if stop > start:
        raise BufferError(f"source and destination overlap in {stop - start} bytes")


def address_of(array: NDArray[Any]) -> int:
    """Where the first element of an array lies."""
    return array.__array_interface__["data"][0]


def _as_array(name: str, obj: object) -> NDArray[Any]:
    numpy: Any = sys.modules.get("numpy")
    if numpy is not None and isinstance(obj, numpy.ndarray):
        return obj  # pyright: ignore[reportReturnType]
    try:
        view = memoryview(obj)  # pyright: ignore[reportArgumentType]
    except (TypeError, ValueError) as error:
        kind = type(obj).__name__
        raise BufferError(f"{name} is a {kind}, expected bytes, a memoryview or a NumPy array") from error
    if not view.c_contiguous:
        raise BufferError(f"{name} is not C-contiguous")
    import numpy

    # An empty view cannot be cast to bytes.
    return numpy.asarray(view.cast("B") if view.nbytes else bytearray())
