"""
oneDNN's reorder primitive, from the onednn-devel package through ctypes.

The package's library submits work through SYCL, which costs some microseconds for each call; calls are put into the
stream together and waited for once. It uses as many threads as the process has CPUs.
"""

from __future__ import annotations

import ctypes
import os
import sys
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any

from benchmarks.copies import address_of
from benchmarks.peers.work import Prepared, Work
from layoutc import notations
from layoutc.descriptor import MemoryDesc
from layoutc.errors import LayoutcError

LIBRARIES = Path(sys.prefix) / "lib"
HANDLE = ctypes.c_void_p
DIMS = ctypes.c_int64 * 12
# Values of the library's enums, which its ABI fixes.
CPU, IN_ORDER, ARG_FROM, ARG_TO = 1, 1, 1, 17
DATA_TYPES = {"f16": 1, "bf16": 2, "f32": 3, "s32": 4, "s8": 5, "u8": 6}


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
    if source.element_type.name not in DATA_TYPES:
        return None
    here = session()
    try:
        sides = memory_desc(here, source), memory_desc(here, destination)
        wanted = here.make("dnnl_reorder_primitive_desc_create", sides[0], here.engine, sides[1], here.engine, None)
        primitive = here.make("dnnl_primitive_create", wanted)
        memories = (memory(here, sides[0], work.source.address), memory(here, sides[1], work.destination.address))
    except LayoutcError:
        return None
    arguments = (Argument * 2)(Argument(ARG_FROM, memories[0]), Argument(ARG_TO, memories[1]))
    calls = (address_of(here.library[name]) for name in ("dnnl_primitive_execute", "dnnl_stream_wait"))
    seconds = partial(work.copies.timer("time_primitive"), *calls, primitive, here.stream, 2, ctypes.byref(arguments))
    return Prepared(seconds)


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
