"""oneDNN's own memory descriptors through ctypes, for the tests that ask the real library. They need no engine."""

from __future__ import annotations

import ctypes
import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

MAX_NDIMS = 12
Dims = ctypes.c_int64 * MAX_NDIMS
Permutation = ctypes.c_int * MAX_NDIMS
Handle = ctypes.c_void_p

STATUS = {0: "success", 1: "out_of_memory", 2: "invalid_arguments", 3: "unimplemented"}
KINDS = {0: "undef", 1: "any", 2: "blocked"}
QUERIES = {
    "strides": "strides",
    "ndims_s32": "ndims",
    "dims": "dims",
    "data_type": "data_type",
    "submemory_offset_s64": "offset0",
    "padded_dims": "padded_dims",
    "padded_offsets": "padded_offsets",
    "format_kind": "format_kind",
    "inner_nblks_s32": "inner_nblks",
    "inner_blks": "inner_blks",
    "inner_idxs": "inner_idxs",
}


def prefix() -> Path:
    """Where pip puts the library and its headers."""
    return Path(sys.prefix)


def is_installed() -> bool:
    """Whether the onednn-devel package is in this environment."""
    return (prefix() / "lib" / "libdnnl.so").exists() and (prefix() / "include" / "oneapi" / "dnnl").is_dir()


def load(path: Path) -> ctypes.CDLL:
    """A library and, before it, those beside it that the loader does not find by itself."""
    while True:
        try:
            return ctypes.CDLL(str(path), mode=ctypes.RTLD_GLOBAL)
        except OSError as error:
            needed = path.parent / str(error).partition(":")[0]
            if needed == path or not needed.exists():
                raise
            load(needed)


def enum_values(type_name: str) -> dict[str, int]:
    """The constants of an enum, as the installed header has them: name without `dnnl_` -> value."""
    folder = prefix() / "include" / "oneapi" / "dnnl"
    text = "".join((folder / name).read_text() for name in ("dnnl_common_types.h", "dnnl_types.h"))
    (body,) = re.findall(r"typedef enum \{((?:(?!typedef enum)[\s\S])*?)\} " + type_name + ";", text)
    values: dict[str, int] = {}
    value = -1
    for name, given in re.findall(r"^\s*dnnl_(\w+)(?: = (\w+))?,", body, re.MULTILINE):
        value = value + 1 if not given else values[given[5:]] if given.startswith("dnnl_") else int(given, 0)
        values[name] = value
    return values


@dataclass
class Answer:
    """What a call returned: a status, and a handle if it is `success`."""

    library: Library
    status: str
    handle: Any

    def __del__(self) -> None:
        if self.handle:
            self.library.c.dnnl_memory_desc_destroy(self.handle)

    @cached_property
    def size(self) -> int:
        return self.library.c.dnnl_memory_desc_get_size(self.handle)

    def queries(self) -> dict[str, Any]:
        """All that `dnnl_memory_desc_query` tells."""
        counts = {"inner_blks": self._number("inner_nblks_s32"), "inner_idxs": self._number("inner_nblks_s32")}
        found: dict[str, Any] = {}
        for query, name in QUERIES.items():
            if query.endswith(("_s32", "_s64", "_type", "_kind")):
                found[name] = self._number(query)
            else:
                found[name] = self._list(query, counts.get(name, self._number("ndims_s32")))
        found["data_type"] = self.library.type_names[found["data_type"]]
        found["format_kind"] = KINDS[found["format_kind"]]
        return found

    def _number(self, query: str) -> int:
        number = ctypes.c_int64() if query.endswith("_s64") else ctypes.c_int32()
        self._query(query, number)
        return number.value

    def _list(self, query: str, count: int) -> tuple[int, ...]:
        values = ctypes.POINTER(ctypes.c_int64)()
        self._query(query, values)
        return tuple(values[:count])

    def _query(self, query: str, result: Any) -> None:
        what = self.library.query_values[query]
        assert self.library.c.dnnl_memory_desc_query(self.handle, what, ctypes.byref(result)) == 0, query


class Library:
    """The calls on memory descriptors. Dims, strides and offsets are sequences of at most 12."""

    def __init__(self) -> None:
        self.c = load(prefix() / "lib" / "libdnnl.so")
        self.c.dnnl_memory_desc_get_size.restype = ctypes.c_size_t
        self.c.dnnl_memory_desc_get_size.argtypes = [Handle]
        self.c.dnnl_memory_desc_destroy.argtypes = [Handle]
        self.tags = enum_values("dnnl_format_tag_t")
        self.query_values = {name.removeprefix("query_"): n for name, n in enum_values("dnnl_query_t").items()}
        self.types = enum_values("dnnl_data_type_t")
        self.type_names = {value: name for name, value in self.types.items()}

    def with_tag(self, dims: Sequence[int], data_type: str, tag: str) -> Answer:
        """dnnl_memory_desc_create_with_tag for a tag of the enum, else the entry that takes a tag as text."""
        arguments = (len(dims), Dims(*dims), self.types[data_type])
        if tag in self.tags:
            return self._made(self.c.dnnl_memory_desc_create_with_tag, *arguments, self.tags[tag])
        return self._made(self.c.dnnl_memory_desc_create_with_string_tag, *arguments, tag.encode())

    def with_strides(self, dims: Sequence[int], data_type: str, strides: Sequence[int] | None) -> Answer:
        given = None if strides is None else Dims(*strides)
        call = self.c.dnnl_memory_desc_create_with_strides
        return self._made(call, len(dims), Dims(*dims), self.types[data_type], given)

    def submemory(self, parent: Answer, dims: Sequence[int], offsets: Sequence[int]) -> Answer:
        return self._made(self.c.dnnl_memory_desc_create_submemory, parent.handle, Dims(*dims), Dims(*offsets))

    def reshape(self, parent: Answer, dims: Sequence[int]) -> Answer:
        return self._made(self.c.dnnl_memory_desc_reshape, parent.handle, len(dims), Dims(*dims))

    def permute_axes(self, parent: Answer, permutation: Sequence[int]) -> Answer:
        return self._made(self.c.dnnl_memory_desc_permute_axes, parent.handle, Permutation(*permutation))

    def equal(self, one: Answer, other: Answer) -> bool:
        return bool(self.c.dnnl_memory_desc_equal(one.handle, other.handle))

    def _made(self, call: Any, *arguments: Any) -> Answer:
        handle = Handle()
        status = call(ctypes.byref(handle), *arguments)
        return Answer(self, STATUS[status], handle if status == 0 else None)
