"""Reading and writing .npy files so that bad ones are refused and a failure leaves no half-written one."""

from __future__ import annotations

from math import prod
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.lib import format as npy

from layoutc.errors import LayoutcError
from layoutc.tools.files import replaced

Array = np.ndarray[Any, np.dtype[Any]]

HEADER_READERS = {(1, 0): npy.read_array_header_1_0, (2, 0): npy.read_array_header_2_0}


def read_npy(path: Path) -> Array:
    """
    The array in a .npy file, C-contiguous, in this machine's byte order.

    Raises LayoutcError for a file that is none, is cut short or holds objects or records, and OSError.
    """
    with path.open("rb") as file:
        shape, is_fortran, dtype = _read_header(file, path)
        if dtype.hasobject or dtype.fields is not None or dtype.subdtype is not None:
            raise LayoutcError(f"{path}: elements of NumPy type {dtype} are not plain numbers")
        data = file.read()
    expected = prod(shape) * dtype.itemsize
    if len(data) < expected:
        raise LayoutcError(f"{path}: got {len(data)} bytes of data, expected {expected} for {dtype} of shape {shape}")
    elements = np.frombuffer(data, dtype, count=prod(shape))
    array = elements.reshape(shape[::-1]).T if is_fortran else elements.reshape(shape)
    return np.require(array, dtype.newbyteorder("="), "C")


def _read_header(file: IO[bytes], path: Path) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
    try:
        version = npy.read_magic(file)
        read = HEADER_READERS.get(version)
        header = read and read(file)
    except OSError:
        raise
    except Exception:
        # NumPy evaluates the header as Python text: what it raises for a damaged one has no common class.
        raise LayoutcError(f"{path}: not a .npy file, or its header is damaged") from None
    if header is None:
        raise LayoutcError(f"{path}: .npy version {version} is not supported, expected (1, 0) or (2, 0)")
    if min(header[0], default=0) < 0:
        raise LayoutcError(f"{path}: shape {header[0]} has negative extents")
    return header


def write_npy(path: Path, array: Array) -> None:
    """Write a .npy file, or leave what is there untouched. Raises OSError and LayoutcError."""
    with replaced(path) as file:
        npy.write_array(file, array, allow_pickle=False)
