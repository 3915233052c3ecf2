"""Kernel: one reorder, compiled once and called on buffers."""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, cached_property, partial
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from layoutc import notations
from layoutc.descriptor import MemoryDesc, check_reorder
from layoutc.element_type import ElementType
from layoutc.errors import LayoutcError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from xdsl.dialects.builtin import ModuleOp

Executor = Literal["c", "interpret", "reference"]
EXECUTORS: tuple[Executor, ...] = ("c", "interpret", "reference")
Bytes: TypeAlias = "NDArray[Any]"
Run: TypeAlias = "Callable[[Bytes, Bytes], None]"


@dataclass(frozen=True)
class Kernel:
    """
    A reorder from `source` to `destination`, run by one executor.

    Calling it takes two C-contiguous buffers of exactly `size_bytes` of the descriptors, which must not
    overlap; the second is written. All executors write the same bytes.
    """

    source: MemoryDesc
    destination: MemoryDesc
    executor: Executor = "c"
    name: str = "reorder"

    def __post_init__(self) -> None:
        check_reorder(self.source, self.destination)
        if self.executor not in EXECUTORS:
            raise LayoutcError(f"unknown executor {self.executor!r}, expected one of {' '.join(EXECUTORS)}")
        if self.source.element_type.bits < 8:
            raise LayoutcError(f"element type {self.source.element_type} is packed below a byte: not supported yet")

    def __call__(self, source: Any, destination: Any) -> None:
        """
        Reorders the bytes of `source` into `destination`.

        Raises BufferError for a buffer of another size, a read-only destination, or overlapping buffers.
        """
        from layoutc.buffers import as_buffer, check_disjoint

        # C may take an address for granted that fits the element.
        alignment = self.source.element_type.bits // 8 if self.executor == "c" else 1
        read = as_buffer("source", source, self.source.size_bytes, writable=False, alignment=alignment)
        written = as_buffer("destination", destination, self.destination.size_bytes, writable=True, alignment=alignment)
        check_disjoint(read, written)
        self._run(read, written)

    def ir(self, stage: str = "lower-reorders") -> str:
        """The text of the module after a stage: source, resolve-layouts, canonicalize or lower-reorders."""
        return str(self._module(stage)) + "\n"

    @cached_property
    def c_source(self) -> str:
        """The C file of the kernel: one function `void name(const T *source, T *destination)`."""
        from layoutc.targets.c import emit_c

        return emit_c(self._module("lower-reorders"))

    def _module(self, stage: str) -> ModuleOp:
        from layoutc.pipeline import lower, reorder_module

        module = reorder_module(self.source, self.destination, self.name)
        lower(module, stage)
        return module

    @cached_property
    def _run(self) -> Run:
        return {"c": self._compiled, "interpret": self._interpreted, "reference": self._by_definition}[self.executor]()

    def _compiled(self) -> Run:
        from layoutc.runtime import build, load

        function = load(build(self.c_source), self.name, (ctypes.c_void_p, ctypes.c_void_p))
        return lambda source, destination: function(source.ctypes.data, destination.ctypes.data)

    def _interpreted(self) -> Run:
        import numpy as np

        from layoutc import interpreter, reference

        module = self._module("lower-reorders")
        readable = np.zeros(self.source.span, np.bool_)
        readable[reference.offsets(self.source)] = True

        def run(source: Bytes, destination: Bytes) -> None:
            buffers = (
                reference.storage("source", self.source, source),
                reference.storage("destination", self.destination, destination),
            )
            interpreter.run(module, self.name, *buffers, write_once=(1,), defined={0: readable, 1: False})

        return run

    def _by_definition(self) -> Run:
        from layoutc import reference

        return partial(reference.reorder, self.source, self.destination)


def compile(
    source: MemoryDesc, destination: MemoryDesc, *, executor: Executor | None = None, name: str = "reorder"
) -> Kernel:
    """
    A kernel that reorders from one descriptor to another; the C executor is built here, not in the first call.

    Without `executor` it is C, or the reference where no compiler is found (which a line on stderr says once).
    Raises LayoutcError for descriptors that do not fit each other, CompilerError if the compiler fails.
    """
    kernel = Kernel(source, destination, executor or default_executor(), name)
    _ = kernel._run  # pyright: ignore[reportPrivateUsage]
    return kernel


@cache
def default_executor() -> Executor:
    """`c` where a C compiler is found, else `reference`, said once."""
    from layoutc.runtime import find_compiler

    if find_compiler() is not None:
        return "c"
    print("layoutc: no C compiler found, the reference executor serves", file=sys.stderr)
    return "reference"


@cache
def _kernel(source: MemoryDesc, destination: MemoryDesc, executor: Executor | None) -> Kernel:
    return compile(source, destination, executor=executor)


def reorder(
    array: np.ndarray[Any, Any],
    source: str | MemoryDesc,
    destination: str | MemoryDesc,
    dims: Sequence[int] | None = None,
    *,
    element_type: str | ElementType | None = None,
    executor: Executor | None = None,
) -> np.ndarray[Any, Any]:
    """
    The tensor in `array`, stored as `source` says, as a new array stored as `destination` says.

    The array's elements, in C order, are the buffer of `source`. For an unblocked source its shape gives the
    dims (the array of `nhwc` has shape N, H, W, C); for a blocked one `dims` does, or else no axis has a tail.
    The result has the destination's physical shape, or one axis if that has gaps, a border or an offset.
    """
    import numpy as np

    element_type = element_type or str(array.dtype)
    src = source if isinstance(source, MemoryDesc) else _array_desc(source, array, dims, element_type)
    dst = destination if isinstance(destination, MemoryDesc) else notations.desc(destination, src.dims, element_type)
    if array.nbytes != src.size_bytes:
        raise LayoutcError(f"array of shape {array.shape} has {array.nbytes} bytes, {src} has {src.size_bytes}")
    flat = np.zeros(dst.size_bytes // array.itemsize, array.dtype)
    _kernel(src, dst, executor)(np.ascontiguousarray(array), flat)
    return flat.reshape(dst.physical_shape) if dst.is_dense else flat


def _array_desc(
    text: str, array: np.ndarray[Any, Any], dims: Sequence[int] | None, element_type: str | ElementType
) -> MemoryDesc:
    """The descriptor of an array that is stored as `text` says."""
    if dims is None:
        dims = dims_of_physical_shape(text, array.shape)
    return notations.desc(text, tuple(dims), element_type)


def dims_of_physical_shape(text: str, shape: Sequence[int]) -> tuple[int, ...]:
    """The dims of a buffer that has this physical shape, if no axis has a tail."""
    layout = notations.parse(text)
    if len(shape) != len(layout.digits) or any(len(digit.axes) > 1 for digit in layout.digits):
        raise LayoutcError(f"array of shape {tuple(shape)} does not give the dims of {layout}: give dims")
    dims = [1] * layout.rank
    for digit, extent in zip(layout.digits, shape, strict=True):
        if digit.modulus is not None and extent != digit.modulus:
            raise LayoutcError(
                f"array of shape {tuple(shape)} does not fit {layout}: got {extent}, expected {digit.modulus}"
            )
        dims[digit.axes[0]] *= extent
    return tuple(dims)
