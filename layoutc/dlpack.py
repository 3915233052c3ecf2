"""
Tensors of other libraries, whose memory is lent through DLPack without a copy.

The structures are those of `dlpack.h`, version 1.3. NumPy reads them too, but not the types that it lacks, such as
bf16.
"""

from __future__ import annotations

import builtins
import ctypes
from dataclasses import dataclass
from math import prod
from typing import Any

from layoutc.checks import a_class
from layoutc.element_type import ElementType, element_type
from layoutc.errors import BufferError, LayoutcError

HOST = (1, 3, 11)
"""devices whose memory the processor reads: the CPU, and host memory that is pinned for CUDA or ROCm"""
DEVICES = {2: "CUDA", 4: "OpenCL", 7: "Vulkan", 8: "Metal", 10: "ROCm", 13: "CUDA managed", 14: "oneAPI"}
READ_ONLY, IS_COPIED = 1, 2
"""flags of a capsule"""
KINDS = {0: "s", 1: "u", 2: "f", 4: "bf"}
"""type codes of numbers whose width stands beside; the others have one width"""
TYPES = {(6, 8): "boolean", (10, 8): "f8_e4m3", (12, 8): "f8_e5m2", (14, 8): "e8m0", (17, 4): "f4_e2m1"}


class _Tensor(ctypes.Structure):
    _fields_ = (
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int32),
        ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    )


class Versioned(ctypes.Structure):
    _fields_ = (
        ("major", ctypes.c_uint32),
        ("minor", ctypes.c_uint32),
        ("manager", ctypes.c_void_p),
        ("deleter", ctypes.c_void_p),
        ("flags", ctypes.c_uint64),
        ("tensor", _Tensor),
    )


_python = ctypes.PyDLL(None)
_is_valid, pointer = _python.PyCapsule_IsValid, _python.PyCapsule_GetPointer
_is_valid.argtypes = pointer.argtypes = (ctypes.py_object, ctypes.c_char_p)
pointer.restype = ctypes.c_void_p


@dataclass(frozen=True)
class Lent:
    """Memory of a tensor while `capsule` is kept. Shape and strides count elements of `bits` bits."""

    address: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    code: int
    bits: int
    writable: bool
    capsule: object

    @property
    def size_bytes(self) -> int:
        """Bytes of the elements, without gaps; packed where they are narrower than a byte."""
        return (prod(self.shape) * self.bits + 7) // 8

    @property
    def is_contiguous(self) -> bool:
        """Whether the elements lie one after another, the last axis fastest."""
        expected = 1
        for extent, stride in zip(reversed(self.shape), reversed(self.strides), strict=True):
            if extent != 1 and stride != expected:
                return 0 in self.shape
            expected *= extent
        return True

    @property
    def element_type(self) -> ElementType:
        """The type of an element. Raises LayoutcError for one that layoutc has no word for."""
        name = TYPES.get((self.code, self.bits)) or f"{KINDS.get(self.code, '?')}{self.bits}"
        try:
            return element_type(name)
        except LayoutcError:
            raise LayoutcError(f"DLPack type {self.code} of {self.bits} bits is no element type") from None


def lend(name: str, tensor: Any) -> Lent:
    """
    The memory of a tensor that has `__dlpack__`; errors call it `name`.

    Raises BufferError, with the reason of its library, where that does not lend it, for memory of a device that is
    not the CPU, and for memory that holds the negatives of a tensor's values.
    """
    # torch lends such a view as if there were no sign.
    if callable(is_neg := getattr(tensor, "is_neg", None)) and is_neg():
        raise BufferError(f"{name} is a negated view, expected memory of its own values, as resolve_neg() gives")
    try:
        kind, number = map(int, tensor.__dlpack_device__())
        capsule = _capsule(tensor) if kind in HOST else None
    # Each library has errors of its own for tensors that it does not lend.
    except (AttributeError, TypeError, ValueError, RuntimeError, builtins.BufferError) as error:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise BufferError(f"{name}, {a_class(tensor.__class__)}, is not read through DLPack: {reason}") from None
    if capsule is None:
        device = f"{DEVICES.get(kind, f'type {kind}')} device {number}"
        raise BufferError(f"{name} is on {device}, expected memory of the CPU")
    return _read(name, capsule)


def _capsule(tensor: Any) -> object:
    try:
        return tensor.__dlpack__(max_version=(1, 0), copy=False)
    except TypeError:
        # A library from before version 1 knows no such arguments.
        return tensor.__dlpack__()


def _read(name: str, capsule: object) -> Lent:
    flags = 0
    if _is_valid(capsule, b"dltensor_versioned"):
        versioned = Versioned.from_address(pointer(capsule, b"dltensor_versioned"))
        if versioned.major != 1:
            raise BufferError(f"{name} is lent by version {versioned.major} of DLPack, expected 1")
        tensor, flags = versioned.tensor, versioned.flags
    elif _is_valid(capsule, b"dltensor"):
        tensor = _Tensor.from_address(pointer(capsule, b"dltensor"))
    else:
        raise BufferError(f"{name} gave {a_class(type(capsule))}, expected a DLPack capsule")
    shape = tuple(tensor.shape[: tensor.ndim])
    if not tensor.data and prod(shape):
        raise BufferError(f"{name} is lent without memory, expected that of {prod(shape)} elements")
    # What is written into a copy is lost.
    writable = not flags & (READ_ONLY | IS_COPIED)
    address, bits = (tensor.data or 0) + tensor.byte_offset, tensor.bits * tensor.lanes
    return Lent(address, shape, _strides(tensor, shape), tensor.code, bits, writable, capsule)


def _strides(tensor: _Tensor, shape: tuple[int, ...]) -> tuple[int, ...]:
    """Row-major where none are given, which old versions allow."""
    if tensor.strides:
        return tuple(tensor.strides[: tensor.ndim])
    return tuple(prod(shape[axis + 1 :]) for axis in range(len(shape)))
