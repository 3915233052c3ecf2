"""
A compiled function as a call on buffer objects, checked with as little Python as that takes.

CPython's own buffer protocol gives address, size, contiguity and leave to write in one step, and holds the memory
while the function runs. NumPy's attributes say the same, and take ten times as long.
"""

from __future__ import annotations

import builtins
import ctypes
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import cache
from typing import Any, Literal, NamedTuple

from layoutc.buffers import Address, lent_bytes
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


class Argument(NamedTuple):
    """A scale or zero point that is given with a call, as an array: its name, the array's type, shape and bytes."""

    name: str
    dtype: Any
    shape: tuple[int, ...]
    size_bytes: int
    alignment: int


class Learnt(dict[Any, bool]):
    """The answers of a function, each asked for once; what is asked for most often need not be looked up."""

    def __init__(self, ask: Callable[[Any], bool], usual: object = None) -> None:
        super().__init__()
        self.ask, self.usual = ask, usual if usual is not None and ask(usual) else None

    def __missing__(self, key: Any) -> bool:
        answer = self[key] = self.ask(key)
        return answer


ANY = Learnt(lambda _: True)
"""for arrays whose type is compared before"""


class Side(NamedTuple):
    """Source or destination of a call: its bytes, what its address is a multiple of, and which types it may be of."""

    size_bytes: int
    alignment: int
    takes: Learnt


def checked_call(
    function: Callable[..., None],
    sides: tuple[Side, Side],
    otherwise: Callable[..., None],
    arguments: Sequence[Argument] = (),
    behind: Sequence[int] = (),
) -> Callable[..., None]:
    """
    `function(source address, destination address, *arguments, *behind)` as a call on buffers.

    They must be C-contiguous arrays of a type that their side takes, bytes, or `Address`es, of exactly its size, at
    multiples of its alignment, apart from each other, and the second writable; the arguments, which have keywords,
    arrays of their type and shape. `behind` says how many bytes behind the destination's beginning further
    addresses are. For all other objects `otherwise` is called: it says what is wrong, or finds another way to their
    memory.
    """
    (source_bytes, source_alignment, source_takes), (destination_bytes, destination_alignment, takes) = sides
    free: list[tuple[View, View, list[View]]] = []  # views that no call is using: they are dearer to make than to keep

    def call(source: Any, destination: Any, **params: Any) -> None:
        try:
            views = free.pop()
        except IndexError:
            views = View(), View(), [View() for _ in arguments]
        read, written, of_arguments = views
        try:
            start, length = _span(source, read, READ, source_takes)
            to, room = _span(destination, written, WRITE, takes)
            if (
                length == source_bytes
                and room == destination_bytes
                and (start >= to + room or to >= start + length)
                and not (start % source_alignment or to % destination_alignment)
                and len(params) == len(arguments)
            ):
                if not arguments:
                    function(start, to, *[to + distance for distance in behind]) if behind else function(start, to)
                    return
                given = _given(params, arguments, of_arguments, to, room)
                if given is not None:
                    function(start, to, *given, *[to + distance for distance in behind])
                    return
        except (AttributeError, KeyError, RuntimeError, TypeError, ValueError, builtins.BufferError):
            pass
        finally:
            _release(written)
            _release(read)
            for view in of_arguments:
                _release(view)
            free.append(views)
        if (arrays := _lent(source, destination)) is None:
            otherwise(source, destination, **params)
        else:
            call(*arrays, **params)

    return call


def _span(obj: Any, view: View, access: int, takes: Learnt) -> tuple[int, int]:
    """
    Address and bytes of a buffer, which its view holds from then on.

    Raises what Python does for an object that is none, or may be none.
    """
    kind = obj.__class__
    if kind is Address:
        if access == WRITE and not obj.writable:
            raise TypeError
        return obj.address, obj.size_bytes
    if kind is not bytearray and kind is not bytes:
        type, family = obj.dtype, _family(kind)
        if (type is not takes.usual and not takes[type]) or family == "masked":
            raise TypeError
        if family == "torch":
            return _pointed(obj)
    _get(obj, view, access)
    return view.buf, view.len


@cache
def _family(kind: type) -> Literal["torch", "masked", "plain"]:
    """What objects of a class are: tensors of torch, arrays with a mask as those of numpy.ma, or others."""
    if (kind.__module__, kind.__qualname__) == ("torch", "Tensor"):
        return "torch"
    return "masked" if hasattr(kind, "mask") else "plain"


def _pointed(tensor: Any) -> tuple[int, int]:
    """The memory of a tensor of torch that DLPack lends as it is, which takes five times as long to ask."""
    if not (tensor.is_cpu and tensor.is_contiguous()) or tensor.requires_grad or tensor.is_neg() or tensor.is_conj():
        raise TypeError
    return tensor.data_ptr(), tensor.nbytes


def _given(
    params: Mapping[str, Any], arguments: Sequence[Argument], views: Sequence[View], to: int, room: int
) -> list[int] | None:
    """Where the arguments are, in their order; None if one is no array of its type and shape, or in the destination."""
    found: list[int] = []
    for argument, view in zip(arguments, views, strict=True):
        array = params[argument.name]
        if array.dtype != argument.dtype or array.shape != argument.shape:
            return None
        start, length = _span(array, view, READ, ANY)
        is_apart = start >= to + room or to >= start + length
        if length != argument.size_bytes or start % argument.alignment or not is_apart:
            return None
        found.append(start)
    return found


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
    return lent_bytes("a tensor", tensor)
