"""Reading and writing .npy files so that bad ones are refused and a failure leaves no half-written one."""

from __future__ import annotations

import re
from io import BytesIO
from math import prod
from pathlib import Path
from typing import IO, Any

import numpy as np
from ml_dtypes import float8_e5m2
from numpy.lib import format as npy

from layoutc.checks import shown
from layoutc.errors import LayoutcError
from layoutc.tools.files import of_input, replaced

Array = np.ndarray[Any, np.dtype[Any]]

MAX_RANK = 24
"""physical axes: every axis of rank 12 blocked once; more are given as a flat array"""
LONG_HEADER = 4, npy.read_array_header_2_0
HEADER_READERS = {(1, 0): (2, npy.read_array_header_1_0), (2, 0): LONG_HEADER, (3, 0): LONG_HEADER}
"""by version: bytes of the header's length, and what reads both; only names of fields differ between the last two"""
F8_E5M2 = re.compile(rb"'descr': '[<>=|]f1'")
"""how `np.save` calls float8_e5m2 of ml_dtypes, a name that it does not read back"""
ZIP = b"PK\x03\x04"
"""how an .npz file begins, which is a zip archive of .npy files"""


def read_npy(path: Path) -> Array:
    """
    The array in a .npy file (`-` is stdin), C-contiguous, in this machine's byte order.

    Raises LayoutcError for a file that is none, is cut short or goes on after its data, holds no elements, or
    objects or records, and OSError.
    """
    with of_input(path).open("rb") as file:
        shape, is_fortran, dtype = _read_header(file, path)
        data = file.read()
    expected = prod(shape) * dtype.itemsize
    if len(data) != expected:
        raise LayoutcError(f"{path}: got {len(data)} bytes of data, expected {expected} for {dtype} of shape {shape}")
    elements = np.frombuffer(data, dtype)
    array = elements.reshape(shape[::-1]).T if is_fortran else elements.reshape(shape)
    return np.require(array, dtype.newbyteorder("="), "C")


def _read_header(file: IO[bytes], path: Path) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
    magic = file.read(npy.MAGIC_LEN)
    if magic.startswith(ZIP):
        raise LayoutcError(f"{path}: an .npz archive, expected one of the .npy files that `unzip` takes out of it")
    try:
        version = npy.read_magic(BytesIO(magic))
        header = None
        if version in HEADER_READERS:
            width, read = HEADER_READERS[version]
            length = file.read(width)
            text = file.read(int.from_bytes(length, "little"))
            shape, is_fortran, dtype = read(BytesIO(length + F8_E5M2.sub(b"'descr': '|V1'", text)))
            header = shape, is_fortran, np.dtype(float8_e5m2) if F8_E5M2.search(text) else dtype
    except OSError:
        raise
    except Exception:
        # NumPy evaluates the header as Python text: what it raises for a damaged one has no common class.
        raise LayoutcError(f"{path}: not a .npy file, or its header is damaged") from None
    if header is None:
        raise LayoutcError(f"{path}: .npy version {version} is not supported, expected (1, 0), (2, 0) or (3, 0)")
    _check_header(path, *header)
    return header


def _check_header(path: Path, shape: tuple[Any, ...], is_fortran: object, dtype: np.dtype[Any]) -> None:
    """NumPy lets pass what is equal to a number, such as True, and shapes and types that no array can have."""
    if not all(type(extent) is int for extent in shape) or type(is_fortran) is not bool:
        raise LayoutcError(f"{path}: not a .npy file, or its header is damaged")
    if len(shape) > MAX_RANK or min(shape, default=1) < 1:
        raise LayoutcError(f"{path}: shape {shown(shape)}, expected up to {MAX_RANK} extents of 1 or more")
    if dtype.hasobject or dtype.fields is not None or dtype.subdtype is not None or not dtype.itemsize:
        raise LayoutcError(f"{path}: elements of NumPy type {dtype} are not plain numbers")


def write_npy(path: Path, array: Array) -> None:
    """
    Write a C-contiguous array as a .npy file, or leave what is there untouched. Raises OSError and LayoutcError.

    NumPy has no name in files for the types of ml_dtypes: as `np.save` does, they are written as void of their width.
    """
    if array.dtype.isbuiltin == 2:  # a type that another package has registered
        array = array.view(f"V{array.itemsize}")
    with replaced(path) as file:
        npy.write_array_header_1_0(file, npy.header_data_from_array_1_0(array))
        # NumPy would ask the file for its position, which a pipe has none of.
        file.write(array.reshape(-1).view(np.uint8).data)
