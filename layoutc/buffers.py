"""The memory behind Python objects, as bytes that a kernel can be given, or an error that says why not."""

from __future__ import annotations

import builtins
import sys
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

from layoutc.checks import a_class, instance, integer
from layoutc.errors import BufferError, LayoutcError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

TENSOR = "numpy.from_dlpack makes one of a tensor of NumPy's types; kernels of layoutc.compile take any as it is"
NATIVE = "expected this machine's byte order"
FOREIGN = {"little": (">", "!"), "big": ("<",)}[sys.byteorder]
"""how formats of the buffer protocol begin whose numbers are in the other byte order"""
NUMBERS = frozenset("hHiIlLqQefd")
"""formats of numbers of more than a byte, which are letters of NumPy's types too"""


class StridedError(BufferError):
    """A buffer that is not C-contiguous."""


@dataclass(frozen=True, slots=True)
class Address:
    """
    Memory at an address, as a buffer: `size_bytes` bytes from `address` on, no destination if not `writable`.

    Nothing can check that they are there: whoever makes an Address keeps them allocated while it is used. A kernel
    checks size, alignment and overlap as of any buffer. Raises LayoutcError for an address of 0 or past 2^63, and
    for a size that leads past that.
    """

    address: int
    size_bytes: int
    writable: bool = True

    def __post_init__(self) -> None:
        # A number of NumPy would wrap around, and is no address to others.
        object.__setattr__(self, "address", integer("address", self.address, 1))
        object.__setattr__(self, "size_bytes", integer("size in bytes", self.size_bytes))
        integer("the end of the memory", self.address + self.size_bytes)
        instance("writable", self.writable, bool)


def as_buffer(
    name: str,
    obj: object,
    size_bytes: int,
    *,
    writable: bool,
    alignment: int = 1,
    check: Callable[[np.dtype[Any]], None] | None = None,
) -> NDArray[np.uint8]:
    """
    The bytes of a C-contiguous buffer object, as an array that shares and keeps its memory.

    `obj` is anything with the buffer protocol (bytes, bytearray, memoryview, array), a NumPy array, a tensor that is
    lent through DLPack, or an Address, of exactly `size_bytes` bytes; errors call it `name`. `check` raises for a NumPy
    type that the elements must not have; what does not say theirs is an array of bytes. Raises BufferError for
    any other object, numbers in another byte order, another size, a read-only object where `writable` is asked for,
    one that is not contiguous (StridedError), an address not a multiple of `alignment`.
    """
    array = _as_array(name, obj)
    if array.dtype.hasobject:
        raise BufferError(f"{name} holds Python objects, expected numbers")
    if not array.dtype.isnative:
        raise BufferError(f"{name} is an array of {array.dtype}, {NATIVE}")
    if check is not None:
        check(array.dtype)
    if not array.flags.c_contiguous:
        raise StridedError(f"{name} is not C-contiguous")
    if array.nbytes != size_bytes:
        raise BufferError(f"{name} has {array.nbytes} bytes, expected {size_bytes}")
    if writable and not array.flags.writeable:
        raise BufferError(f"{name} is read-only, expected a buffer to write to")
    if address_of(array) % alignment:
        raise BufferError(f"{name} lies at address {address_of(array):#x}, expected a multiple of {alignment}")
    return array.reshape(-1).view("u1")


def check_array(name: str, obj: object, of_tensor: str = TENSOR) -> None:
    """Raises LayoutcError unless an object is a NumPy array without a mask; `of_tensor` is a hint for one of DLPack."""
    import numpy as np

    instance(name, obj, np.ndarray, of_tensor if hasattr(obj, "__dlpack__") else "")
    check_unmasked(name, cast("NDArray[Any]", obj))


def check_unmasked(name: str, array: NDArray[Any]) -> None:
    """Raises BufferError for an array of numpy.ma: its mask is no part of a buffer."""
    masked: Any = sys.modules.get("numpy.ma")
    if masked is not None and isinstance(array, masked.MaskedArray):
        raise BufferError(f"{name} is a masked array, expected one without a mask: fill it, or take its data")


def check_disjoint(source: NDArray[Any], destination: NDArray[Any], name: str = "source") -> None:
    """Raises BufferError if two contiguous arrays share memory; `name` is what the first one is."""
    start = max(address_of(source), address_of(destination))
    stop = min(address_of(source) + source.nbytes, address_of(destination) + destination.nbytes)
    if stop > start:
        raise BufferError(f"{name} and destination overlap in {stop - start} bytes")


def address_of(array: NDArray[Any]) -> int:
    """Where the first element of an array lies."""
    return array.__array_interface__["data"][0]


def _as_array(name: str, obj: Any) -> NDArray[Any]:
    numpy: Any = sys.modules.get("numpy")
    if numpy is not None and isinstance(obj, numpy.ndarray):
        check_unmasked(name, obj)
        return numpy.asarray(obj)  # a np.matrix has two axes whatever is done to it
    if isinstance(obj, Address):
        return bytes_at(obj.address, obj.size_bytes, obj.writable, obj)
    try:
        view = memoryview(obj)
    except (TypeError, ValueError, builtins.BufferError) as error:
        if hasattr(obj, "__dlpack__"):
            return lent_bytes(name, obj)
        raise BufferError(f"{name} is {_kind(obj)}") from error
    if not view.c_contiguous:
        raise StridedError(f"{name} is not C-contiguous")
    if view.itemsize > 1 and view.format[:1] in FOREIGN:
        raise BufferError(f"{name} is a memoryview of format {view.format!r}, {NATIVE}")
    import numpy

    # An empty view cannot be cast to bytes.
    array = numpy.asarray(view.cast("B") if view.nbytes else bytearray())
    return array.view(view.format) if view.format in NUMBERS else array


def _kind(obj: object) -> str:
    hint = "; layoutc.Address(pointer, size_bytes) is memory at an address" if isinstance(obj, int) else ""
    return f"{a_class(type(obj))}, expected bytes, a memoryview, a NumPy array or a tensor with __dlpack__{hint}"


def lent_bytes(name: str, tensor: Any) -> NDArray[Any]:
    """
    The memory of a tensor that is lent through DLPack, contiguous: its elements, or bytes where NumPy has no such type.

    Raises BufferError with the reason.
    """
    from layoutc.dlpack import lend

    lent = lend(name, tensor)
    if not lent.is_contiguous:
        raise StridedError(f"{name} is not C-contiguous")
    found = bytes_at(lent.address, lent.size_bytes, lent.writable, lent)
    with suppress(LayoutcError):
        if (element := lent.element_type).bits >= 8:
            return found.view(element.numpy)
    return found


def bytes_at(address: int, size_bytes: int, writable: bool, owner: object) -> NDArray[Any]:
    """Memory as an array that keeps its owner."""
    import numpy as np

    if size_bytes == 0:
        return np.empty(0, np.uint8)
    return np.asarray(_Owned(address, size_bytes, writable, owner))


class _Owned:
    """What NumPy asks for an array, and keeps as its base."""

    def __init__(self, address: int, size_bytes: int, writable: bool, owner: object) -> None:
        self.owner = owner
        self.__array_interface__ = {
            "version": 3,
            "shape": (size_bytes,),
            "typestr": "|u1",
            "data": (address, not writable),
        }
