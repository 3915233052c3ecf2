"""oneDNN's own memory descriptors through ctypes, for the tests that ask the real library."""

from __future__ import annotations

import ctypes
import sys
from pathlib import Path

MAX_NDIMS = 12
Dims = ctypes.c_int64 * MAX_NDIMS

STATUS = {0: "success", 1: "out_of_memory", 2: "invalid_arguments", 3: "unimplemented"}
TYPES = {
    name: value
    for value, name in enumerate(
        [
            "f16",
            "bf16",
            "f32",
            "s32",
            "s8",
            "u8",
            "f64",
            "boolean",
            "f8_e5m2",
            "f8_e4m3",
            "s4",
            "u4",
            "e8m0",
            "f4_e2m1",
            "f4_e3m0",
            "s64",
        ],
        start=1,
    )
}
STRIDES, NDIMS, DIMS, TYPE, OFFSET0, PADDED_DIMS, PADDED_OFFSETS, KIND, NBLKS, BLKS, IDXS = range(11)


def find() -> ctypes.CDLL | None:
    """The library of the onednn-devel package in this environment, or None."""
    for path in (Path(sys.prefix) / "lib" / "libdnnl.so", Path(sys.prefix) / "Library" / "bin" / "dnnl.dll"):
        if path.exists():
            return ctypes.CDLL(str(path))
    return None


class Library:
    """The calls that need no engine. Each returns a status name or a handle."""

    def __init__(self, library: ctypes.CDLL):
        self.c = library
        library.dnnl_memory_desc_get_size.restype = ctypes.c_size_t
