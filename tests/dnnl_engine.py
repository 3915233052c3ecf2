"""oneDNN's reorder primitive, executed on the CPU through ctypes, for the tests that ask the real library."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tests.libdnnl import Answer, Dims, Handle, Library, prefix

CPU, IN_ORDER = 1, 1
ARGUMENTS = {"src": 1, "dst": 17}
SCALES, ZERO_POINTS = 4096, 8192


class Argument(ctypes.Structure):
    """dnnl_exec_arg_t"""

    _fields_ = (("index", ctypes.c_int), ("memory", Handle))


class RefusedError(Exception):
    """The library returned another status than success."""


@dataclass(frozen=True)
class Values:
    """A scale or a zero point: bit d of the mask says one value per index (or group) along dim d."""

    mask: int
    count: int
    data: np.ndarray[Any, Any]
    data_type: str
    groups: tuple[int, ...] = ()


@dataclass(frozen=True)
class Attributes:
    """What a reorder may be given; scales and zero points by side, `src` or `dst`."""

    scales: Mapping[str, Values] = field(default_factory=dict[str, Values])
    zero_points: Mapping[str, Values] = field(default_factory=dict[str, Values])
    sum: float = 0.0


class Engine:
    """The CPU engine of a library, with one stream. Its SYCL runtime needs a driver that the package brings along."""

    def __init__(self, library: Library):
        os.environ.setdefault("OCL_ICD_FILENAMES", str(prefix() / "lib" / "libintelocl.so"))
        self.library = library
        self.engine = self._made("dnnl_engine_create", CPU, ctypes.c_size_t(0))
        self.stream = self._made("dnnl_stream_create", self.engine, IN_ORDER)

    def reorder(
        self,
        source: Answer,
        destination: Answer,
        read: np.ndarray[Any, Any],
        written: np.ndarray[Any, Any],
        attributes: Attributes = Attributes(),
    ) -> str:
        """Executes a reorder and returns the implementation's name. Raises RefusedError."""
        attr = self._attr(attributes)
        sides = (source.handle, self.engine, destination.handle, self.engine, attr)
        wanted = self._made("dnnl_reorder_primitive_desc_create", *sides)
        primitive = self._made("dnnl_primitive_create", wanted)
        buffers = [(ARGUMENTS["src"], source, read), (ARGUMENTS["dst"], destination, written)]
        for base, given in ((SCALES, attributes.scales), (ZERO_POINTS, attributes.zero_points)):
            for side, values in given.items():
                desc = self.library.with_strides((values.count,), values.data_type, (1,))
                buffers.append((base | ARGUMENTS[side], desc, values.data))
        memories = [self._memory(desc, data) for _, desc, data in buffers]
        arguments = (Argument * len(buffers))(
            *(Argument(index, memory) for (index, _, _), memory in zip(buffers, memories, strict=True))
        )
        self._call("dnnl_primitive_execute", primitive, self.stream, len(buffers), ctypes.byref(arguments))
        self._call("dnnl_stream_wait", self.stream)
        name = self._name(wanted)
        for memory in memories:
            self._call("dnnl_memory_destroy", memory)
        self._call("dnnl_primitive_destroy", primitive)
        self._call("dnnl_primitive_desc_destroy", wanted)
        self._call("dnnl_primitive_attr_destroy", attr)
        return name

    def _attr(self, attributes: Attributes) -> Any:
        attr = self._made("dnnl_primitive_attr_create")
        for name in ("scales", "zero_points"):
            for side, values in getattr(attributes, name).items():
                groups = Dims(*values.groups) if values.groups else None
                data_type = self.library.types[values.data_type]
                what = (attr, ARGUMENTS[side], values.mask, len(values.groups), groups, data_type)
                self._call(f"dnnl_primitive_attr_set_{name}", *what)
        if attributes.sum:
            post_ops = self._made("dnnl_post_ops_create")
            undefined = self.library.types["data_type_undef"]
            self._call("dnnl_post_ops_append_sum", post_ops, ctypes.c_float(attributes.sum), 0, undefined)
            self._call("dnnl_primitive_attr_set_post_ops", attr, post_ops)
            self._call("dnnl_post_ops_destroy", post_ops)
        return attr

    def _memory(self, desc: Answer, data: np.ndarray[Any, Any]) -> Any:
        return self._made("dnnl_memory_create", desc.handle, self.engine, Handle(data.ctypes.data))

    def _name(self, primitive_desc: Any) -> str:
        text = ctypes.c_char_p()
        what = self.library.query_values["impl_info_str"]
        self._call("dnnl_primitive_desc_query", primitive_desc, what, 0, ctypes.byref(text))
        return (text.value or b"").decode()

    def _made(self, function: str, *arguments: Any) -> Any:
        handle = Handle()
        self._call(function, ctypes.byref(handle), *arguments)
        return handle

    def _call(self, function: str, *arguments: Any) -> None:
        status = self.library.c[function](*arguments)
        if status != 0:
            raise RefusedError(f"{function} returned {status}")
