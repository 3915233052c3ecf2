"""Kernel: one reorder, compiled once and called on buffers."""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable
from dataclasses import dataclass, fields
from functools import cache, cached_property, partial
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from layoutc.checks import instance
from layoutc.descriptor import MemoryDesc, check_reorder
from layoutc.element_type import check_whole_bytes
from layoutc.errors import LayoutcError
from layoutc.planning.machine import PLAIN, machine
from layoutc.planning.plan import MAX_THREADS

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray
    from xdsl.dialects.builtin import ModuleOp

Executor = Literal["c", "interpret", "reference"]
EXECUTORS: tuple[Executor, ...] = ("c", "interpret", "reference")
LINKED = frozenset(("_init", "_fini", "_start"))
"""what the linker puts into every object or program under these names"""
Bytes: TypeAlias = "NDArray[Any]"
Run: TypeAlias = "Callable[[Bytes, Bytes], None]"


@dataclass(frozen=True)
class Kernel:
    """
    A reorder from `source` to `destination`, run by one executor.

    Calling it takes two C-contiguous buffers of exactly `size_bytes` of the descriptors, which must not
    overlap; the second is written. All executors write the same bytes. `name` is that of its C function.

    `target` is what the loops are planned and compiled for: `native`, `avx512`, `avx2`, `sse2`, `neon`, `generic`,
    or `plain` for the textbook loop nest. `threads` share large reorders.
    """

    source: MemoryDesc
    destination: MemoryDesc
    executor: Executor = "c"
    name: str = "reorder"
    target: str = "native"
    threads: int = 1

    def __post_init__(self) -> None:
        for side in ("source", "destination"):
            instance(side, getattr(self, side), MemoryDesc, "layoutc.desc makes one of a text and dims")
        check_reorder(self.source, self.destination)
        if self.executor not in EXECUTORS:
            raise LayoutcError(f"unknown executor {self.executor!r}, expected one of {' '.join(EXECUTORS)}")
        check_name(self.name)
        check_plan_options(self.target, self.threads)
        check_whole_bytes(self.source.element_type)

    def __call__(self, source: Any, destination: Any) -> None:
        """
        Reorders the bytes of `source` into `destination`.

        Each is a NumPy array, any object with the buffer protocol, a tensor of the CPU that is lent through DLPack
        (torch, also bf16 and f8), or a `layoutc.Address`; nothing is copied.
        Raises BufferError for a buffer of another size, a read-only destination, or overlapping buffers, and
        LayoutcError where an executor that counts every element out has no memory for that.
        """
        try:
            self._run(source, destination)
        except MemoryError:
            raise LayoutcError(f"not enough memory to run dims {self.source.dims} by {self.executor}") from None

    def prepare(self) -> Kernel:
        """This kernel, ready to run: C is compiled now, and not in the first call."""
        _ = self._run
        return self

    def ir(self, stage: str = "lower-reorders") -> str:
        """The text of the module after a stage, one of `layoutc.pipeline.STAGES`."""
        return str(self._module(stage)) + "\n"

    @cached_property
    def c_source(self) -> str:
        """The C file of the kernel: one function `void name(const T *source, T *destination)`."""
        from layoutc.targets.c import emit_c

        return emit_c(self._module("lower-reorders"))

    def __getstate__(self) -> dict[str, Any]:
        # What was compiled belongs to this process.
        return {field.name: getattr(self, field.name) for field in fields(self)}

    def _module(self, stage: str) -> ModuleOp:
        from layoutc.pipeline import lower, reorder_module

        module = reorder_module(self.source, self.destination, self.name)
        lower(module, stage, target=self.target, threads=self.threads)
        return module

    @cached_property
    def _run(self) -> Callable[[Any, Any], None]:
        if self.executor == "c":
            return self._compiled()
        return self._on_arrays(self._interpreted() if self.executor == "interpret" else self._by_definition())

    def _on_arrays(self, run: Run, alignment: int = 1) -> Callable[[Any, Any], None]:
        """A function on arrays of bytes as one on any buffers."""
        from layoutc.buffers import as_buffer, check_disjoint

        sizes = self.source.size_bytes, self.destination.size_bytes

        def call(source: Any, destination: Any) -> None:
            read = as_buffer("source", source, sizes[0], writable=False, alignment=alignment)
            written = as_buffer("destination", destination, sizes[1], writable=True, alignment=alignment)
            check_disjoint(read, written)
            run(read, written)

        return call

    def _compiled(self) -> Callable[[Any, Any], None]:
        from layoutc.buffers import address_of
        from layoutc.exports import checked_call
        from layoutc.runtime import load

        function = load(self.shared_object(), self.name, (ctypes.c_void_p, ctypes.c_void_p))
        # C may take an address for granted that fits the element.
        alignment = self.source.element_type.bits // 8
        any_buffers = self._on_arrays(lambda source, to: function(address_of(source), address_of(to)), alignment)
        return checked_call(function, self.source.size_bytes, self.destination.size_bytes, alignment, any_buffers)

    def shared_object(self) -> Path:
        """The compiled C file, from the cache if it is there. Raises CompilerError."""
        from layoutc.compiler import TARGETS, find_compiler
        from layoutc.runtime import build

        return build(self.c_source, find_compiler(self.target if self.target in TARGETS else "native"))

    def _interpreted(self) -> Run:
        from layoutc import interpreter, reference

        module = self._module("lower-reorders")

        def run(source: Bytes, destination: Bytes) -> None:
            buffers = (
                reference.storage("source", self.source, source),
                reference.storage("destination", self.destination, destination),
            )
            # The last tile of a row may start earlier, and write the same once more.
            again = self.target != PLAIN
            interpreter.run(
                module, self.name, *buffers, write_once=(1,), defined={0: self._readable, 1: False}, rewrite_same=again
            )

        return run

    @cached_property
    def _readable(self) -> NDArray[Any]:
        """Which elements of the source's buffer are data, and not padding, border or gap."""
        import numpy as np

        from layoutc import reference

        readable = np.zeros(self.source.span, np.bool_)
        readable[reference.offsets(self.source)] = True
        return readable

    def _by_definition(self) -> Run:
        from layoutc import reference

        return partial(reference.reorder, self.source, self.destination)


def check_name(name: object) -> None:
    """Raises LayoutcError unless a C function may have this name."""
    from layoutc.targets.c_names import LIBRARY, is_identifier

    instance("the name of a function", name, str)
    if not is_identifier(str(name)) or name in LIBRARY or name in LINKED:
        raise LayoutcError(f"{str(name)[:40]!r} cannot be the name of a C function")


def check_plan_options(target: object, threads: object) -> None:
    """Raises LayoutcError for a target that nothing is planned for, or a number of threads that is none."""
    instance("target", target, str)
    if target != PLAIN:
        machine(str(target))
    if isinstance(threads, bool) or not isinstance(threads, int) or not 1 <= threads <= MAX_THREADS:
        raise LayoutcError(f"got {threads!r} threads, expected 1 to {MAX_THREADS}")


def compile(
    source: MemoryDesc,
    destination: MemoryDesc,
    *,
    executor: Executor | None = None,
    name: str = "reorder",
    target: str = "native",
    threads: int = 1,
) -> Kernel:
    """
    A kernel that reorders from one descriptor to another; the C executor is built here, not in the first call.

    Without `executor` it is C, or the reference where no compiler is found (which a line on stderr says once).
    `target` and `threads` are as in `Kernel`.
    Raises LayoutcError for descriptors that do not fit each other and for a name that C cannot have, CompilerError
    if the compiler fails.
    """
    return Kernel(source, destination, executor or default_executor(), name, target, threads).prepare()


@cache
def default_executor() -> Executor:
    """`c` where a C compiler is found, else `reference`, said once."""
    from layoutc.runtime import find_compiler

    if find_compiler() is not None:
        return "c"
    print("layoutc: no C compiler found, the reference executor serves", file=sys.stderr)
    return "reference"
