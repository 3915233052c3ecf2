"""
oneDNN's reorder primitive, from the onednn-devel package through ctypes.

The package's library submits work through SYCL, which costs some microseconds for each call; calls are put into the
stream together and waited for once. It uses as many threads as the process has CPUs.
"""

from __future__ import annotations

import ctypes
import os
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, partial
from math import prod
from pathlib import Path
from typing import Any

from benchmarks.copies import address_of
from benchmarks.peers.work import Prepared, Work
from layoutc import notations
from layoutc.descriptor import MemoryDesc
from layoutc.errors import LayoutcError
from layoutc.param import Param

LIBRARIES = Path(sys.prefix) / "lib"
HANDLE = ctypes.c_void_p
DIMS = ctypes.c_int64 * 12
# Values of the library's enums, which its ABI fixes.
CPU, IN_ORDER, ARG_FROM, ARG_TO = 1, 1, 1, 17
ARG_SCALES, ARG_ZERO_POINTS = 4096, 8192
TYPES = ["f16", "bf16", "f32", "s32", "s8", "u8", "f64", "boolean", "f8_e5m2", "f8_e4m3", "s4", "u4", "e8m0", "f4_e2m1"]
DATA_TYPES = {name: value for value, name in enumerate(TYPES, 1)}


class Argument(ctypes.Structure):
    """dnnl_exec_arg_t"""

    _fields_ = (("index", ctypes.c_int), ("memory", HANDLE))


class RefusedError(LayoutcError):
    """oneDNN returned another status than success."""


@dataclass(frozen=True)
class Session:
    """The library with an engine and a stream, which live as long as the process."""

    library: Any
    engine: HANDLE
    stream: HANDLE

    def make(self, function: str, *arguments: Any) -> HANDLE:
        """The handle that a creating function writes to its first argument."""
        return made(self.library, function, *arguments)


def is_available() -> bool:
    return (LIBRARIES / "libdnnl.so").exists() and (LIBRARIES / "libintelocl.so").exists()


def prepare(work: Work) -> Prepared | None:
    source, destination = work.task.source_desc, work.task.destination_desc
    # Only its own primitives can ask for compensation.
    if not {source.element_type.name, destination.element_type.name} <= set(DATA_TYPES) or (
        work.task.conversion.compensation
    ):
        return None
    here = session()
    try:
        sides = memory_desc(here, source), memory_desc(here, destination)
        engines = sides[0], here.engine, sides[1], here.engine
        wanted = here.make("dnnl_reorder_primitive_desc_create", *engines, attributes(here, work))
        primitive = here.make("dnnl_primitive_create", wanted)
        memories = [
            Argument(ARG_FROM, memory(here, sides[0], work.source.address)),
            Argument(ARG_TO, memory(here, sides[1], work.destination.address)),
            *parameters(here, work),
        ]
    except LayoutcError:
        return None
    count = len(memories)
    arguments = (Argument * count)(*memories)
    calls = (address_of(here.library[name]) for name in ("dnnl_primitive_execute", "dnnl_stream_wait"))
    timer = work.copies.timer("time_primitive")
    return Prepared(partial(timer, *calls, primitive, here.stream, count, ctypes.byref(arguments)))


def attributes(here: Session, work: Work) -> HANDLE | None:
    """The library's attributes for scales and zero points; None where there are none."""
    given = work.task.conversion.params
    if not given:
        return None
    handle = here.make("dnnl_primitive_attr_create")
    for name, param in given.items():
        kind = "scales" if name.endswith("scale") else "zero_points"
        groups = groups_of(param, work.task.source_desc.rank)
        mask = sum(1 << axis for axis in param.axes)
        sizes = DIMS(*groups) if groups else None
        what = side_of(name), mask, len(groups), sizes, DATA_TYPES[param.type.name]
        status = here.library[f"dnnl_primitive_attr_set_{kind}"](handle, *what)
        if status != 0:
            raise RefusedError(f"{name} was refused: {status}")
    return handle


def side_of(name: str) -> int:
    """The argument that a scale or zero point belongs to."""
    return ARG_FROM if name.startswith("src") else ARG_TO


def groups_of(param: Param, rank: int) -> tuple[int, ...]:
    """Sizes of groups, which the library has along the last two dims. RefusedError for others."""
    if all(group == 1 for group in param.groups):
        return ()
    if param.axes != (rank - 2, rank - 1):
        raise RefusedError(f"groups along axes {param.axes}")
    return param.groups


def parameters(here: Session, work: Work) -> Iterator[Argument]:
    """The values of scales and zero points, which the library takes as memory."""
    for name, param in work.task.conversion.params.items():
        kind = ARG_SCALES if name.endswith("scale") else ARG_ZERO_POINTS
        count = prod(param.shape(work.task.dims))
        start = 1, DIMS(count), DATA_TYPES[param.type.name]
        desc = here.make("dnnl_memory_desc_create_with_strides", *start, DIMS(1))
        yield Argument(kind | side_of(name), memory(here, desc, work.parameters[name].ctypes.data))


@cache
def session() -> Session:
    """Loads the library; its SYCL runtime finds the CPU through a driver that comes in the same package."""
    os.environ.setdefault("OCL_ICD_FILENAMES", str(LIBRARIES / "libintelocl.so"))
    library = loaded(LIBRARIES / "libdnnl.so")
    engine = made(library, "dnnl_engine_create", CPU, ctypes.c_size_t(0))
    return Session(library, engine, made(library, "dnnl_stream_create", engine, IN_ORDER))


def loaded(path: Path) -> ctypes.CDLL:
    """A library and, before it, those beside it that the loader does not find by itself."""
    while True:
        try:
            return ctypes.CDLL(str(path), mode=ctypes.RTLD_GLOBAL)
        except OSError as error:
            needed = path.parent / str(error).partition(":")[0]
            if needed == path or not needed.exists():
                raise
            loaded(needed)


def made(library: Any, function: str, *arguments: Any) -> HANDLE:
    handle = HANDLE()
    status = library[function](ctypes.byref(handle), *arguments)
    if status != 0:
        raise RefusedError(f"{function} returned {status}")
    return handle


def memory_desc(here: Session, desc: MemoryDesc) -> HANDLE:
    """The library's descriptor: by strides if nothing is blocked, else by the tag. LayoutcError if there is none."""
    start = (len(desc.dims), DIMS(*desc.dims), DATA_TYPES[desc.element_type.name])
    digits = desc.layout.digits
    if desc.base_offset == 0 and len(digits) == desc.rank and not (desc.layout.align or desc.low or desc.high):
        by_axis = {digit.axes[0]: stride for digit, stride in zip(digits, desc.strides, strict=True)}
        strides = DIMS(*(by_axis[axis] for axis in range(desc.rank)))
        return here.make("dnnl_memory_desc_create_with_strides", *start, strides)
    tag = notations.notation("onednn").format_desc(desc)
    return here.make("dnnl_memory_desc_create_with_string_tag", *start, tag.encode())


def memory(here: Session, desc: HANDLE, address: int) -> HANDLE:
    return here.make("dnnl_memory_create", desc, here.engine, HANDLE(address))
