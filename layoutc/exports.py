"""
A compiled function as a call on buffer objects, checked with as little Python as that takes.

CPython's own buffer protocol gives address, size, contiguity and leave to write in one step, and holds the memory
while the function runs. NumPy's attributes say the same, and take ten times as long.
"""

from __future__ import annotations

import builtins
import ctypes
import sys
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from layoutc.errors import LayoutcError


class View(ctypes.Structure):
    """`Py_buffer` of Python's stable ABI."""

    _fields_ = (
        ("buf", ctypes.c_size_t),
        ("obj", ctypes.c_void_p),
        ("len", ctypes.c_ssize_t),
        ("itemsize", ctypes.c_ssize_t),
        ("readonly", ctypes.c_int),
        ("ndim", ctypes.c_int),
        ("format", ctypes.c_char_p),
        ("shape", ctypes.c_void_p),
        ("strides", ctypes.c_void_p),
        ("suboffsets", ctypes.c_void_p),
        ("internal", ctypes.c_void_p),
    )


READ, WRITE = 0, 1
"""PyBUF_SIMPLE and PyBUF_WRITABLE: bytes one after another"""

_python = ctypes.PyDLL(None)
_get: Callable[[object, View, int], int] = _python.PyObject_GetBuffer
_get.argtypes = (ctypes.py_object, ctypes.POINTER(View), ctypes.c_int)  # pyright: ignore[reportFunctionMemberAccess]
_release: Callable[[View], None] = _python.PyBuffer_Release
_release.argtypes = (ctypes.POINTER(View),)  # pyright: ignore[reportFunctionMemberAccess]
_release.restype = None  # pyright: ignore[reportFunctionMemberAccess]

_free: list[tuple[View, View]] = []
"""views that no call is using: they are dearer to make than to keep"""


def checked_call(
    function: Callable[[int, int], None],
    source_bytes: int,
    destination_bytes: int,
    alignments: tuple[int, int],
    otherwise: Callable[[Any, Any], None],
) -> Callable[[Any, Any], None]:
    """
    `function(source address, destination address)` as a call on two arrays.

    They must be C-contiguous arrays of numbers in this machine's byte order, of exactly these sizes, at multiples of
    its alignment each, apart from each other, and the second writable. For all other objects `otherwise` is called: it
    says what is wrong, or finds another way to their memory.
    """

    source_alignment, destination_alignment = alignments

    def call(source: Any, destination: Any) -> None:
        try:
            views = _free.pop()
        except IndexError:
            views = View(), View()
        read, written = views
        try:
            read_type, written_type = source.dtype, destination.dtype
            of_numbers = not (read_type.hasobject or written_type.hasobject)
            of_ours = read_type.isnative and written_type.isnative
            if of_numbers and of_ours and not (hasattr(source, "mask") or hasattr(destination, "mask")):
                _get(source, read, READ)
                _get(destination, written, WRITE)
                start, to = read.buf, written.buf
                if (
                    read.len == source_bytes
                    and written.len == destination_bytes
                    and (start >= to + destination_bytes or to >= start + source_bytes)
                    and not (start % source_alignment or to % destination_alignment)
                ):
                    function(start, to)
                    return
        except (AttributeError, TypeError, ValueError, builtins.BufferError):
            pass
        finally:
            _release(written)
            _release(read)
            _free.append(views)
        if (arrays := _lent(source, destination)) is None:
            otherwise(source, destination)
        else:
            call(*arrays)

    return call


def _lent(*objects: Any) -> list[Any] | None:
    """The objects as arrays, if some are tensors that lend their memory through DLPack; else none."""
    numpy: Any = sys.modules.get("numpy")
    if numpy is None or not any(hasattr(obj, "__dlpack__") and not isinstance(obj, numpy.ndarray) for obj in objects):
        return None
    try:
        return [obj if isinstance(obj, numpy.ndarray) else _array(numpy, obj) for obj in objects]
    except LayoutcError:  # whoever looks at the tensor again says what is wrong
        return None


def _array(numpy: Any, tensor: Any) -> Any:
    """NumPy reads a tensor in half the time, but not one of a type that it lacks."""
    if not (callable(is_neg := getattr(tensor, "is_neg", None)) and is_neg()):  # torch lends it without its sign
        with suppress(Exception):  # each library has errors of its own
            return numpy.from_dlpack(tensor, copy=False)
    from layoutc.buffers import lent_bytes

    return lent_bytes("a tensor", tensor)
