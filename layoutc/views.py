"""Strided memory: the descriptors of arrays and tensors, and the arrays that show buffers of descriptors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING, Any, cast

from layoutc.buffers import address_of, bytes_at, check_array, check_disjoint
from layoutc.checks import instance, integers
from layoutc.deferred import Deferred
from layoutc.descriptor import MemoryDesc
from layoutc.element_type import ElementType, TypeName, check_whole_bytes
from layoutc.element_type import element_type as type_named
from layoutc.errors import BufferError, LayoutcError
from layoutc.layout import AxisGroup, Layout

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
else:
    np, npt = Deferred("numpy"), Deferred("numpy.typing")

Ints = tuple[int, ...]
MAX_WORK = 100_000
"""steps, some milliseconds, in which NumPy finds out whether arrays share memory; beyond that they are taken to"""
BYTES = ("u8", "s8")
"""types whose arrays may be the bytes of any elements"""
WIDTHS = (1, 2, 4, 8)
"""bytes of NumPy's unsigned integers"""

# --- descriptors of memory -----------------------------------------------------------------------------------------


def stored_type(array: npt.NDArray[Any], named: TypeName | None = None) -> ElementType:
    """
    The element type that an array holds, or the one that is named, if the array's elements can be of that.

    Elements below a byte are stored in one. Raises LayoutcError for NumPy types that layoutc has no word for, such as
    complex64, and for a name that contradicts the array's type.
    """
    own = _type_of(array.dtype)
    found = own if named is None else type_named(named)
    if found is None:
        raise LayoutcError(_no_element_type(array.dtype))
    if max(found.bits, 8) != array.itemsize * 8:
        raise LayoutcError(
            f"element type {found} has {found.bits} bits, the array's {array.dtype} {array.itemsize * 8}"
        )
    if not holds(array.dtype, found):
        raise LayoutcError(f"element type {found} contradicts the array's {array.dtype}")
    return found


def holds(dtype: np.dtype[Any], element: ElementType) -> bool:
    """
    Whether an array of a NumPy type can have such elements, whose width it has.

    Void says nothing of what it holds, and integers serve for what NumPy itself has no word for, such as bf16.
    """
    serves = dtype.kind in "ui" and not _is_of_ml_dtypes(dtype) and _is_of_ml_dtypes(element.numpy)
    return serves or _is_void(dtype) or _type_of(dtype) == element


def serves(dtype: Any, element: ElementType) -> bool:
    """
    Whether an array or a tensor of this type (NumPy's or torch's) may be a buffer of such elements.

    Bytes and void do not say what they hold; integers may stand for what NumPy has no word for, and each element of an
    array has bytes of its own, which those below a byte have not.
    """
    try:
        named = type_named(dtype)
    except LayoutcError:
        return isinstance(dtype, np.dtype) and _is_void(cast("np.dtype[Any]", dtype))
    stands_in = named.numpy.kind in "iu" and named.bits == element.bits and _is_of_ml_dtypes(element.numpy)
    return named.name in BYTES or (element.bits >= 8 and (named == element or stands_in))


def is_plain(dtype: Any, element: ElementType) -> bool:
    """Whether memory of this type is taken as a buffer of such elements without another look at it."""
    is_known = type(dtype).__module__ == "torch"
    if isinstance(dtype, np.dtype):
        is_known = dtype.isnative and not dtype.hasobject
    return is_known and serves(dtype, element)


def _type_of(dtype: np.dtype[Any]) -> ElementType | None:
    try:
        return type_named(dtype.newbyteorder("="))
    except LayoutcError:
        return None


def _is_void(dtype: np.dtype[Any]) -> bool:
    """Whether a type is void alone: those of ml_dtypes and records are of that kind too."""
    return dtype.kind == "V" and not _is_of_ml_dtypes(dtype) and dtype.names is None


def _is_of_ml_dtypes(dtype: np.dtype[Any]) -> bool:
    """Whether another package has registered a type."""
    return dtype.isbuiltin == 2


def _no_element_type(dtype: np.dtype[Any]) -> str:
    if _is_void(dtype):
        like = {1: "f8_e4m3 or s4", 2: "bf16"}.get(dtype.itemsize, "f32")
        return f"NumPy type {dtype} does not say what its elements are, expected the name of a type too, as {like}"
    or_else = f" or its bits as uint{dtype.itemsize * 8}" if dtype.itemsize in WIDTHS else ""
    return f"NumPy type {dtype} is no element type, expected one{or_else}"


def from_strides(
    shape: Sequence[int], strides: Sequence[int], element_type: TypeName = "f32", *, in_bytes: bool = False
) -> MemoryDesc:
    """
    The descriptor of strided memory, one stride per axis, in elements or in bytes; 0 broadcasts.

    Raises LayoutcError for negative strides and for bytes that are no whole elements.
    """
    dims, found = integers("dims", shape, 1), type_named(element_type)
    given = integers("strides", strides, -(2**63 - 1))
    if len(given) != len(dims):
        raise LayoutcError(f"got {len(given)} strides, expected {len(dims)}")
    if in_bytes:
        given = _in_elements(given, found)
    for axis, (dim, stride) in enumerate(zip(dims, given, strict=True)):
        if stride < 0 and dim > 1:
            raise LayoutcError(f"stride {stride} of axis {axis} is negative, expected 0 or more")
    # The stride of an axis of one element says nothing.
    return MemoryDesc(dims, found, Layout.row_major(len(dims)), tuple(map(abs, given)))


def _in_elements(strides: tuple[int, ...], elements: ElementType) -> tuple[int, ...]:
    check_whole_bytes(elements)
    width = elements.bits // 8
    for axis, stride in enumerate(strides):
        if stride % width:
            raise LayoutcError(f"stride of {stride} bytes of axis {axis} is no multiple of the {width} of {elements}")
    return tuple(stride // width for stride in strides)


def from_array(array: npt.NDArray[Any], element_type: TypeName | None = None) -> MemoryDesc:
    """
    The descriptor of the memory that an array looks at, from its first element on: dims and element strides.

    Raises LayoutcError for negative strides, arrays without elements, and types that layoutc has no word for.
    """

    check_array("array", array, "layoutc.from_dlpack takes tensors")
    if not array.dtype.isnative:
        raise LayoutcError(f"array of {array.dtype} is not in this machine's byte order")
    return from_strides(array.shape, array.strides, stored_type(array, element_type), in_bytes=True)


def from_dlpack(tensor: Any) -> MemoryDesc:
    """
    The descriptor of a tensor of any library that speaks DLPack, in memory of the CPU: dims and element strides.

    Raises LayoutcError with the reason for any other object.
    """
    from layoutc.dlpack import lend

    lent = lend("the tensor", tensor)
    return from_strides(lent.shape, lent.strides, lent.element_type)


def bytes_of(
    name: str, obj: object, desc: MemoryDesc, size_bytes: int, *, writable: bool = False, alignment: int
) -> npt.NDArray[np.uint8]:
    """
    The bytes of a buffer object as `as_buffer` has them, or of an array or tensor with the strides of `desc`.

    Raises BufferError, also for elements of another type, and where strides are not those of `desc`.
    """
    from layoutc.buffers import StridedError, as_buffer

    try:
        check = _type_check(name, desc.element_type)
        return as_buffer(name, obj, size_bytes, writable=writable, alignment=alignment, check=check)
    except StridedError:
        strided = _strided_bytes(name, obj, desc)
        return as_buffer(name, strided, size_bytes, writable=writable, alignment=alignment)


def _type_check(name: str, element: ElementType) -> Callable[[Any], None]:
    """What raises BufferError for the type of an array that is no buffer of such elements."""

    def check(dtype: Any) -> None:
        if not serves(dtype, element):
            raise BufferError(f"{name} is an array of {dtype}, expected {_expected(element)}")

    return check


def _expected(element: ElementType) -> str:
    packed = f"the packed bytes of {element}, {8 // element.bits} in each" if element.bits < 8 else ""
    return packed or f"{element}, or its bytes as uint8"


@lru_cache(maxsize=256)
def _of_strides(shape: Ints, strides: Ints, element_type: ElementType, in_bytes: bool) -> MemoryDesc:
    """`from_strides`, which calls on arrays alike need not ask again."""
    return from_strides(shape, strides, element_type, in_bytes=in_bytes)


def _strided_bytes(name: str, obj: object, desc: MemoryDesc) -> npt.NDArray[np.uint8]:
    """What an array or a tensor looks at, from its first element to its last."""
    import numpy as np

    from layoutc.dlpack import lend

    try:
        if isinstance(obj, np.ndarray):
            array = cast("npt.NDArray[Any]", obj)
            found = _of_strides(array.shape, array.strides, stored_type(array, desc.element_type), in_bytes=True)
            memory = address_of(array), array.flags.writeable, array
        elif hasattr(obj, "__dlpack__"):
            lent = lend(name, obj)
            found = _of_strides(lent.shape, lent.strides, lent.element_type, in_bytes=False)
            memory = lent.address, lent.writable, lent
        else:
            raise LayoutcError(f"expected memory of {desc}")
        if not found.same_memory(desc):
            raise LayoutcError(f"got memory of {found}, expected of {desc}")
    except LayoutcError as error:
        raise BufferError(f"{name} is not C-contiguous: {error}") from None
    address, writable, owner = memory
    return bytes_at(address, desc.size_bytes, writable, owner)


# --- strides and views of descriptors ------------------------------------------------------------------------------


def logical_strides(desc: MemoryDesc, *, in_bytes: bool = False) -> tuple[int, ...]:
    """
    The stride of each logical axis, in elements or in bytes.

    Raises LayoutcError for an axis whose blocks leave it without a single stride.
    """
    instance("desc", desc, MemoryDesc)
    strides = [0] * desc.rank
    for group in desc.layout.groups:
        stride = _group_stride(desc, group)
        for axis in reversed(group.axes):
            strides[axis] = stride
            stride *= desc.extents[axis]
    if in_bytes:
        check_whole_bytes(desc.element_type)
        strides = [stride * desc.element_type.bits // 8 for stride in strides]
    return tuple(strides)


def _group_stride(desc: MemoryDesc, group: AxisGroup) -> int:
    """The stride of a group's coordinate, whose digits must follow each other in memory."""
    digits = [(desc.physical_shape[p], desc.strides[p]) for p in group.positions]
    used = [digit for digit in digits if digit[0] > 1] or digits[:1]
    for (extent, inner), (_, outer) in pairwise(used):
        if outer != extent * inner:
            name = desc.layout.axis_name(group.axes)
            raise LayoutcError(f"axis {name} has no single stride: blocks of {extent} lie {outer} elements apart")
    return used[0][1]


def view(desc: MemoryDesc, buffer: Any) -> npt.NDArray[Any]:
    """
    The buffer of a descriptor as an array in logical order, of shape `dims`, without copying.

    `buffer` is any C-contiguous buffer object of exactly `size_bytes`, of elements of the descriptor's type or of
    bytes; the array can be written to if it can. Raises LayoutcError for blocked descriptors and for element types
    under 8 bits, BufferError for the buffer.
    """
    import numpy as np

    from layoutc.buffers import as_buffer

    strides = logical_strides(desc, in_bytes=True)
    check = _type_check("buffer", desc.element_type)
    memory = as_buffer("buffer", buffer, desc.size_bytes, writable=False, check=check)
    first = desc.offset(*(0,) * desc.rank) * desc.element_type.bits // 8
    return np.ndarray(desc.dims, desc.element_type.numpy, memory, first, strides)


def check_apart(
    source: MemoryDesc, read: npt.NDArray[np.uint8], destination: MemoryDesc, written: npt.NDArray[np.uint8]
) -> None:
    """
    Raises BufferError if a reorder may write to what it reads.

    Strided buffers may interleave, as the even and odd columns of one array do; all others lie apart as a whole.
    """
    try:
        check_disjoint(read, written)
    except BufferError:
        if not _interleave(source, read, destination, written):
            raise


def _interleave(
    source: MemoryDesc, read: npt.NDArray[np.uint8], destination: MemoryDesc, written: npt.NDArray[np.uint8]
) -> bool:
    """Whether two buffers have single strides, and no byte of an element in common."""
    import numpy as np

    if destination.padding_elements:
        return False
    try:
        views = view(source, read), view(destination, written)
    except LayoutcError:
        return False
    # NumPy's stubs know two of its amounts of work alone.
    return not np.may_share_memory(*views, max_work=MAX_WORK)  # pyright: ignore[reportArgumentType]
