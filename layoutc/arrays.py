"""The NumPy front end: arrays as buffers of memory descriptors, and descriptors of arrays."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from itertools import pairwise
from math import prod
from typing import TYPE_CHECKING, Any, Unpack

from layoutc import notations
from layoutc.buffers import address_of, check_array
from layoutc.builds import compile
from layoutc.checks import instance, integers
from layoutc.conversion import Attributes, Conversion, conversion_of
from layoutc.descriptor import MemoryDesc
from layoutc.element_type import ElementType, check_whole_bytes
from layoutc.element_type import element_type as type_named
from layoutc.errors import LayoutcError
from layoutc.kernel import Executor, Kernel
from layoutc.layout import AxisGroup, Layout
from layoutc.planning.plan import LINE

if TYPE_CHECKING:
    import numpy as np

    Array = np.ndarray[Any, np.dtype[Any]]

# --- reorder -----------------------------------------------------------------------------------------------------


def reorder(
    array: Array,
    source: str | MemoryDesc,
    destination: str | MemoryDesc,
    dims: Sequence[int] | None = None,
    *,
    element_type: str | ElementType | None = None,
    to_dtype: str | ElementType | None = None,
    out: Array | None = None,
    executor: Executor | None = None,
    threads: int = 1,
    **attributes: Unpack[Attributes],
) -> Array:
    """
    The tensor in `array`, stored as `source` says, as a new array stored as `destination` says.

    The array has the physical shape of `source` (that of `nhwc` is N, H, W, C), or one axis with all elements of its
    buffer, which it must have where that has gaps, a border or an offset. Its shape gives the dims where neither
    `dims` nor the text does; then no axis of a blocked source has a tail. `element_type` says what the elements are
    where NumPy has no word for it: bf16 may be stored as uint16, or as the 2-byte void that `np.load` makes of it.
    The result has the destination's physical shape, or one axis under the same condition.

    The values are converted to `to_dtype` (default: as they are) with `attributes`, the fields of `layoutc.Conversion`.
    `out` is written to and returned instead of a new array; `sum` needs it. Types below a byte have one element
    per byte in arrays, as ml_dtypes has them. With `compensation` the result is all of the buffer, as int8.
    Raises LayoutcError.
    """
    import numpy as np

    from layoutc.numeric.arithmetic import constant_bytes

    check_array("array", array)
    src = source_desc(array, source, dims, element_type)
    dst = _destination_desc(src, destination, to_dtype)
    conversion = conversion_of(reorder, attributes)
    if conversion.sum and out is None:
        raise LayoutcError("sum adds to what the destination holds, got no out")
    dtype = array.dtype.newbyteorder("=") if dst.element_type == src.element_type else dst.element_type.numpy
    result = _result(dst, conversion, dtype) if out is None else _checked_out(out, dst, conversion, dtype)
    conversion.check(src, dst)
    _check_codes(array, src.element_type)
    read, written = _buffer(np.ascontiguousarray(array, array.dtype.newbyteorder("=")), src), _buffer(result, dst)
    shared, constants = conversion.opened()
    values = {name: constant_bytes(param).tobytes() for name, param in constants.items()}
    _kernel(src, dst, executor, threads, shared)(read, written, **values)
    if written is not result:
        from layoutc.numeric.packing import unpacked

        result[...] = unpacked(written, dst.element_type.bits, result.size).view(result.dtype).reshape(result.shape)
    return result


def _destination_desc(src: MemoryDesc, destination: str | MemoryDesc, to_dtype: str | ElementType | None) -> MemoryDesc:
    wanted = None if to_dtype is None else type_named(to_dtype)
    if not isinstance(destination, MemoryDesc):
        return notations.desc(destination, src.dims, wanted or src.element_type)
    if wanted not in (None, destination.element_type):
        raise LayoutcError(f"element type {wanted} contradicts the destination, {destination}")
    return destination


def _shape(desc: MemoryDesc, conversion: Conversion) -> tuple[int, ...]:
    if conversion.compensation is not None:
        return (conversion.destination_bytes(desc),)
    return desc.physical_shape if desc.is_dense else (desc.span,)


def _result(desc: MemoryDesc, conversion: Conversion, dtype: np.dtype[Any]) -> Array:
    """Zeros from a cache line on: only whole lines can be written past the caches."""
    import numpy as np

    shape = _shape(desc, conversion)
    size = prod(shape) * dtype.itemsize
    memory = np.zeros(size + LINE, np.uint8)
    start = -address_of(memory) % LINE
    return memory[start : start + size].view(dtype).reshape(shape)


def _checked_out(out: Array, desc: MemoryDesc, conversion: Conversion, dtype: np.dtype[Any]) -> Array:
    """Raises LayoutcError unless the reorder can write to the array as it is."""

    check_array("out", out)
    shape = _shape(desc, conversion)
    # What has no word for its elements may hold any of that width.
    fits = out.dtype == dtype or (out.dtype.kind in "Vu" and out.itemsize == dtype.itemsize)
    if out.shape not in (shape, (prod(shape),)) or not fits:
        raise LayoutcError(f"out has shape {out.shape} and type {out.dtype}, expected {shape} and {dtype}")
    if not out.flags.c_contiguous or not out.flags.writeable:
        raise LayoutcError("out is read-only or not C-contiguous")
    return out


def _buffer(array: Array, desc: MemoryDesc) -> Array:
    """The buffer of an array: itself, or a packed copy where elements are below a byte."""
    if desc.element_type.bits >= 8:
        return array
    import numpy as np

    from layoutc.numeric.packing import packed

    return packed(array.reshape(-1).view(np.uint8), desc.element_type.bits)


def _check_codes(array: Array, element: ElementType) -> None:
    """Raises LayoutcError for NumPy's own integers that an element below a byte has no code for."""
    if element.bits >= 8 or array.dtype.kind not in "ui" or array.size == 0:
        return
    is_signed = array.dtype.kind == "i"
    has_sign = is_signed and element.is_integer and element.integer_range[0] < 0
    least, most = -(1 << element.bits - 1) if is_signed else 0, (1 << element.bits - has_sign) - 1
    found = int(array.min()), int(array.max())
    if found[0] < least or found[1] > most:
        raise LayoutcError(f"array has values from {found[0]} to {found[1]}, expected {least} to {most} for {element}")


@lru_cache(maxsize=256)
def _kernel(
    source: MemoryDesc, destination: MemoryDesc, executor: Executor | None, threads: int, conversion: Conversion
) -> Kernel:
    return compile(source, destination, executor=executor, threads=threads, **conversion.attributes)


def stored_type(array: Array, named: str | ElementType | None = None) -> ElementType:
    """
    The element type that an array holds, or the one that is named, if the array's elements are as wide.

    Elements below a byte are stored in one. Raises LayoutcError for NumPy types that layoutc has no word for, such as
    complex64.
    """
    try:
        found = type_named(named or array.dtype.newbyteorder("="))
    except LayoutcError:
        if named is not None:
            raise
        raise LayoutcError(_no_element_type(array.dtype)) from None
    if max(found.bits, 8) != array.itemsize * 8:
        raise LayoutcError(
            f"element type {found} has {found.bits} bits, the array's {array.dtype} {array.itemsize * 8}"
        )
    return found


def _no_element_type(dtype: np.dtype[Any]) -> str:
    if dtype.kind == "V" and dtype.names is None:
        like = {1: "f8_e4m3 or s4", 2: "bf16"}.get(dtype.itemsize, "f32")
        return f"NumPy type {dtype} does not say what its elements are, expected the name of a type too, as {like}"
    return f"NumPy type {dtype} is no element type, expected one or the name of what it holds"


def source_desc(
    array: Array, source: str | MemoryDesc, dims: Sequence[int] | None, element_type: str | ElementType | None
) -> MemoryDesc:
    """
    The descriptor of an array that is stored as `source` says; block padding counts as data without `dims`.

    Raises LayoutcError for an array that cannot be the buffer of that.
    """
    if isinstance(source, MemoryDesc):
        desc, stored = source, stored_type(array, element_type or source.element_type)
        if (dims is not None and tuple(dims) != desc.dims) or stored != desc.element_type:
            raise LayoutcError(f"dims {dims} or element type {stored} contradict the source, {desc}")
    else:
        if dims is None and notations.read(notations.checked_text(source)).dims is None:
            dims = dims_of_physical_shape(source, array.shape)
        desc = notations.desc(source, dims, stored_type(array, element_type))
    check_shape(array, desc)
    return desc


def check_shape(array: Array, desc: MemoryDesc) -> None:
    """Raises LayoutcError unless the array has the physical shape, or one axis with all elements of the buffer."""
    shapes = [*([desc.physical_shape] if desc.is_dense else []), (desc.span,)]
    if array.shape not in shapes:
        expected = " or ".join(map(str, dict.fromkeys(shapes)))
        raise LayoutcError(f"the array has shape {array.shape}, expected {expected} for {desc}")


def dims_of_physical_shape(text: str, shape: Sequence[int]) -> tuple[int, ...]:
    """The dims of a buffer that has this physical shape, if no axis has a tail."""
    layout = notations.parse(text)
    if len(shape) != len(layout.digits) or any(len(digit.axes) > 1 for digit in layout.digits):
        raise LayoutcError(f"array of shape {tuple(shape)} does not give the dims of {layout}: give dims")
    dims = [1] * layout.rank
    for digit, extent in zip(layout.digits, shape, strict=True):
        if digit.modulus is not None and extent != digit.modulus:
            raise LayoutcError(
                f"array of shape {tuple(shape)} does not fit {layout}: got {extent}, expected {digit.modulus}"
            )
        dims[digit.axes[0]] *= extent
    return tuple(dims)


# --- descriptors from arrays and strides ---------------------------------------------------------------------------


def from_strides(
    shape: Sequence[int], strides: Sequence[int], element_type: str | ElementType = "f32", *, in_bytes: bool = False
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


def from_array(array: Array, element_type: str | ElementType | None = None) -> MemoryDesc:
    """
    The descriptor of the memory that an array looks at, from its first element on: dims and element strides.

    Raises LayoutcError for negative strides, arrays without elements, and types that layoutc has no word for.
    """

    check_array("array", array)
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


def view(desc: MemoryDesc, buffer: Any) -> Array:
    """
    The buffer of a descriptor as an array in logical order, of shape `dims`, without copying.

    `buffer` is any C-contiguous buffer object of exactly `size_bytes`; the array can be written to if it can.
    Raises LayoutcError for blocked descriptors and for element types under 8 bits, BufferError for the buffer.
    """
    import numpy as np

    from layoutc.buffers import as_buffer

    strides = logical_strides(desc, in_bytes=True)
    memory = as_buffer("buffer", buffer, desc.size_bytes, writable=False)
    first = desc.offset(*(0,) * desc.rank) * desc.element_type.bits // 8
    return np.ndarray(desc.dims, desc.element_type.numpy, memory, first, strides)
