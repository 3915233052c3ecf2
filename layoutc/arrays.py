"""The NumPy front end: arrays as buffers of memory descriptors."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from math import prod
from typing import TYPE_CHECKING, Any, Unpack

from layoutc import notations
from layoutc.buffers import address_of, check_array
from layoutc.builds import compile
from layoutc.checks import integers
from layoutc.conversion import Attributes, Conversion, conversion_of
from layoutc.deferred import Deferred
from layoutc.descriptor import MemoryDesc
from layoutc.element_type import ElementType, TypeName
from layoutc.element_type import element_type as type_named
from layoutc.errors import BufferError, LayoutcError
from layoutc.kernel import Kernel
from layoutc.kernel_options import Executor, check_executor, check_plan_options
from layoutc.layout import Layout
from layoutc.planning.machine import LINE, PLAIN
from layoutc.views import holds, stored_type

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
else:
    np, npt = Deferred("numpy"), Deferred("numpy.typing")


def reorder(
    array: npt.NDArray[Any],
    source: str | Layout | MemoryDesc,
    destination: str | Layout | MemoryDesc,
    dims: Sequence[int] | None = None,
    *,
    dtype: TypeName | None = None,
    to_dtype: TypeName | None = None,
    out: npt.NDArray[Any] | None = None,
    executor: Executor | None = None,
    threads: int = 1,
    **attributes: Unpack[Attributes],
) -> npt.NDArray[Any]:
    """
    The tensor in `array`, stored as `source` says, as a new array stored as `destination` says.

    The array has the physical shape of `source` (that of `nhwc` is N, H, W, C), or one axis with all elements of its
    buffer, which it must have where that has gaps, a border or an offset. Its shape gives the dims where neither
    `dims` nor the text does; then no axis of a blocked source has a tail. `dtype` says what the elements are
    where NumPy has no word for it: bf16 may be stored as uint16, or as the 2-byte void that `np.load` makes of it; it
    must not contradict what NumPy says.
    The result has the destination's physical shape, or one axis under the same condition.

    The values are converted to `to_dtype` (default: what the destination says, or as they are) with `attributes`, the
    fields of `layoutc.Conversion`.
    `out` is written to and returned instead of a new array; `sum` needs it. Types below a byte have one element
    per byte in arrays, as ml_dtypes has them. With `compensation` the result is all of the buffer, as int8.
    Raises LayoutcError.
    """
    import numpy as np

    from layoutc.numeric.arithmetic import constant_bytes

    check_array("array", array)
    src = source_desc(array, source, dims, dtype)
    dst = _destination_desc(src, destination, to_dtype)
    if executor is not None:
        check_executor(executor)
    threads = check_plan_options(PLAIN, threads)
    conversion = conversion_of(reorder, attributes)
    if conversion.sum and out is None:
        raise LayoutcError("sum adds to what the destination holds, got no out")
    conversion.check(src, dst)
    stored = array.dtype.newbyteorder("=") if dst.element_type == src.element_type else dst.element_type.numpy
    result = _result(dst, conversion, stored) if out is None else _checked_out(out, dst, conversion, stored)
    _check_codes(array, src.element_type)
    read, written = _buffer(np.require(array, array.dtype.newbyteorder("="), ["C", "A"]), src), _buffer(result, dst)
    shared, constants = conversion.opened()
    values = {name: constant_bytes(param).tobytes() for name, param in constants.items()}
    _kernel(src, dst, executor, threads, shared)(read, written, **values)
    if written is not result:
        from layoutc.numeric.packing import unpacked

        result[...] = unpacked(written, dst.element_type.bits, result.size).view(result.dtype).reshape(result.shape)
    return result


def _destination_desc(src: MemoryDesc, destination: str | Layout | MemoryDesc, to_dtype: TypeName | None) -> MemoryDesc:
    wanted = None if to_dtype is None else type_named(to_dtype)
    if not isinstance(destination, MemoryDesc):
        return notations.destination(destination, src, wanted)
    if wanted not in (None, destination.element_type):
        raise LayoutcError(f"element type {wanted} contradicts the destination, {destination}")
    return destination


def _shape(desc: MemoryDesc, conversion: Conversion) -> tuple[int, ...]:
    if conversion.compensation is not None:
        return (conversion.destination_bytes(desc),)
    return desc.physical_shape if desc.is_dense else (desc.span,)


def _result(desc: MemoryDesc, conversion: Conversion, dtype: np.dtype[Any]) -> npt.NDArray[Any]:
    """Zeros from a cache line on: only whole lines can be written past the caches."""
    import numpy as np

    shape = _shape(desc, conversion)
    size = prod(shape) * dtype.itemsize
    try:
        memory = np.zeros(size + LINE, np.uint8)
    except (MemoryError, ValueError):  # NumPy's error for more than it can count
        raise LayoutcError(f"not enough memory for the {size} bytes of {desc}") from None
    start = -address_of(memory) % LINE
    return memory[start : start + size].view(dtype).reshape(shape)


def _checked_out(
    out: npt.NDArray[Any], desc: MemoryDesc, conversion: Conversion, dtype: np.dtype[Any]
) -> npt.NDArray[Any]:
    """Raises BufferError, which says "out", unless the reorder can write to the array as it is."""

    check_array("out", out)
    shape = _shape(desc, conversion)
    fits = out.dtype == dtype or (
        out.dtype.kind in "Vu" and out.itemsize == dtype.itemsize and holds(out.dtype, desc.element_type)
    )
    if out.shape not in (shape, (prod(shape),)) or not fits:
        raise BufferError(f"out has shape {out.shape} and type {out.dtype}, expected {shape} and {dtype}")
    if not out.flags.c_contiguous:
        raise BufferError("out is not C-contiguous")
    if not out.flags.writeable:
        raise BufferError("out is read-only, expected an array to write to")
    return out


def _buffer(array: npt.NDArray[Any], desc: MemoryDesc) -> npt.NDArray[Any]:
    """The buffer of an array: itself, or a packed copy where elements are below a byte."""
    if desc.element_type.bits >= 8:
        return array
    import numpy as np

    from layoutc.numeric.packing import packed

    return packed(array.reshape(-1).view(np.uint8), desc.element_type.bits)


def _check_codes(array: npt.NDArray[Any], element: ElementType) -> None:
    """Raises BufferError for NumPy's own integers that an element below a byte has no code for."""
    if element.bits >= 8 or array.dtype.kind not in "ui" or array.size == 0:
        return
    is_signed = array.dtype.kind == "i"
    has_sign = is_signed and element.is_integer and element.integer_range[0] < 0
    least, most = -(1 << element.bits - 1) if is_signed else 0, (1 << element.bits - has_sign) - 1
    found = int(array.min()), int(array.max())
    if found[0] < least or found[1] > most:
        raise BufferError(f"array has values from {found[0]} to {found[1]}, expected {least} to {most} for {element}")


@lru_cache(maxsize=256)
def _kernel(
    source: MemoryDesc, destination: MemoryDesc, executor: Executor | None, threads: int, conversion: Conversion
) -> Kernel:
    return compile(source, destination, executor=executor, threads=threads, **conversion.attributes)


def source_desc(
    array: npt.NDArray[Any],
    source: str | Layout | MemoryDesc,
    dims: Sequence[int] | None,
    element_type: TypeName | None,
) -> MemoryDesc:
    """
    The descriptor of an array that is stored as `source` says; block padding counts as data without `dims`.

    Raises BufferError for an array that cannot be the buffer of that, and LayoutcError for what is no layout.
    """
    if isinstance(source, MemoryDesc):
        desc, stored = source, stored_type(array, element_type or source.element_type)
        if (dims is not None and integers("dims", dims) != desc.dims) or stored != desc.element_type:
            raise LayoutcError(f"dims {dims} or element type {stored} contradict the source, {desc}")
    else:
        if dims is None and notations.reading_of(source).dims is None:
            dims = dims_of_physical_shape(source, array.shape)
        desc = notations.desc(source, dims, stored_type(array, element_type))
    check_shape(array, desc)
    return desc


def check_shape(array: npt.NDArray[Any], desc: MemoryDesc) -> None:
    """Raises BufferError unless the array has the physical shape, or one axis with all elements of the buffer."""
    shapes = [*([desc.physical_shape] if desc.is_dense else []), (desc.span,)]
    if array.shape not in shapes:
        expected = " or ".join(map(str, dict.fromkeys(shapes)))
        raise BufferError(f"the array has shape {array.shape}, expected {expected} for {desc}")


def dims_of_physical_shape(text: str | Layout, shape: Sequence[int]) -> tuple[int, ...]:
    """The dims of a buffer that has this physical shape, if no axis has a tail; BufferError if it gives none."""
    layout = notations.parse(text)
    if len(shape) != len(layout.digits) or any(len(digit.axes) > 1 for digit in layout.digits):
        why = f"got {len(shape)} axes, expected {len(layout.digits)}, or one and dims"
        reason = why if len(shape) not in (1, len(layout.digits)) else "give dims"
        raise BufferError(f"array of shape {tuple(shape)} does not give the dims of {layout}: {reason}")
    dims = [1] * layout.rank
    for digit, extent in zip(layout.digits, shape, strict=True):
        if digit.modulus is not None and extent != digit.modulus:
            raise BufferError(
                f"array of shape {tuple(shape)} does not fit {layout}: got {extent}, expected {digit.modulus}"
            )
        dims[digit.axes[0]] *= extent
    return tuple(dims)
