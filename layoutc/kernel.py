"""Kernel: one reorder, compiled once and called on buffers."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from layoutc.checks import instance
from layoutc.conversion import NO_ATTRIBUTES, Conversion, label
from layoutc.descriptor import MemoryDesc
from layoutc.errors import LayoutcError
from layoutc.kernel_options import Executor, check_executor, check_name, check_plan_options, plan_lines_of
from layoutc.once import once
from layoutc.planning.machine import ALIGNMENT, PLAIN, check_alignment, machine

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from xdsl.dialects.builtin import ModuleOp

Bytes: TypeAlias = "NDArray[Any]"
Run: TypeAlias = "Callable[..., None]"
"""takes the bytes of source and destination, and those of each argument of the conversion, in its order"""


@dataclass(frozen=True)
class Kernel:
    """
    A reorder from `source` to `destination`, run by one executor.

    Calling it takes two C-contiguous buffers of exactly `source_bytes` and `destination_bytes`, or arrays with the
    strides of the descriptors, with no byte of an element in common; the second is written. All executors write the
    same bytes. `name` is that of its C function. `conversion` says what becomes of the values; its open parameters are
    keyword arguments of the call.

    `target` is what the loops are planned and compiled for: `native`, `avx512`, `avx2`, `sse2`, `neon`, `generic`,
    or `plain` for the textbook loop nest. `threads` share large reorders. `plan`, the lines of a plan as docs/plans.md
    has them, stands in for what the planner would choose; one that is not of this reorder is a LayoutcError.

    `alignment` is what the destination's address is taken to be a multiple of, in bytes. Where it is not, as in most
    arrays that NumPy makes, a call runs another kernel, whose plan does not need that, and which the first such call
    compiles; the C function itself is right at any address, and slower there.
    """

    source: MemoryDesc
    destination: MemoryDesc
    executor: Executor = "c"
    name: str = "reorder"
    target: str = "native"
    threads: int = 1
    conversion: Conversion = NO_ATTRIBUTES
    plan: tuple[str, ...] = ()
    alignment: int = ALIGNMENT

    def __post_init__(self) -> None:
        for side in ("source", "destination"):
            instance(side, getattr(self, side), MemoryDesc, "layoutc.desc makes one of a text and dims")
        instance("conversion", self.conversion, Conversion)
        self.conversion.check(self.source, self.destination)
        check_executor(self.executor)
        check_name(self.name)
        object.__setattr__(self, "threads", check_plan_options(self.target, self.threads))
        object.__setattr__(self, "alignment", check_alignment(self.alignment))
        object.__setattr__(self, "plan", plan_lines_of(self.plan))
        if self.plan:
            from layoutc.transforms.plan_reorders import read_plan_of

            read_plan_of(self.plan, self.source, self.destination, self.conversion)

    def __repr__(self) -> str:
        conversion = f", {self.conversion}" if self.conversion.has_attributes else ""
        how = f"{self.executor}, {self.target}, {self.threads} thread{'s' * (self.threads > 1)}"
        return f"<layoutc.Kernel {self.name}: {self.source} into {self.destination}{conversion}; {how}>"

    @property
    def source_bytes(self) -> int:
        """What the buffer of the source has."""
        return self.source.size_bytes

    @property
    def destination_bytes(self) -> int:
        """What the buffer of the destination has, with the compensation behind the data."""
        return self.conversion.destination_bytes(self.destination)

    def __call__(self, source: Any, destination: Any, **params: Any) -> None:
        """
        Reorders the bytes of `source` into `destination`.

        Each is a NumPy array, any object with the buffer protocol, a tensor of the CPU that is lent through DLPack
        (torch, also bf16 and f8), or a `layoutc.Address`; nothing is copied. An array or tensor that is not
        C-contiguous is one whose memory, as `from_array` and `from_dlpack` describe it, is that of the descriptor.
        Elements are of the descriptor's type where they say theirs; bytes (uint8, int8, void) hold any, 4-bit ones
        packed, and integers of its width what NumPy has no word for, as uint16 bf16.
        `params` are the values of the scales and zero points that `conversion` leaves open: a buffer of their bytes
        (4-bit ones packed), an array in the shape of the parameter or flat, or plain numbers. Memory of their type is
        taken unread, NaN and 0 too; numbers that are converted to it must be finite.
        Raises BufferError for a buffer of another size, type or strides, a read-only destination, or overlapping
        buffers, and LayoutcError where an executor that counts every element out has no memory for that.
        """
        try:
            self._run(source, destination, **params)
        except MemoryError:
            raise LayoutcError(f"not enough memory to run dims {self.source.dims} by {self.executor}") from None

    def prepare(self) -> Kernel:
        """This kernel, ready to run: C is compiled now, and not in the first call."""
        _ = self._run
        return self

    def ir(self, stage: str = "lower-reorders") -> str:
        """The text of the module after a stage, one of `layoutc.pipeline.STAGES`."""
        return str(self._module(stage)) + "\n"

    def plan_lines(self) -> tuple[str, ...]:
        """
        The lines of the plan: those that were given, or the planner's choice, which another kernel takes as its `plan`
        once they are edited (docs/plans.md has their words). None for a textbook loop nest.
        """
        from layoutc.planning.choose import choose_plan
        from layoutc.planning.copies.strided_copy import NotStridedError
        from layoutc.planning.plan_text import plan_lines

        if self.plan or self.target == PLAIN:
            return self.plan
        target = machine(self.target, self.alignment)
        try:
            plan = choose_plan(self.source, self.destination, target, self.threads, self.conversion)
        except NotStridedError:
            return ()
        return tuple(plan_lines(plan))

    def explain(self) -> str:
        """Why the loops are as they are, in plain words: the planner's decisions, and the rules that made them."""
        from layoutc.planning.copies.strided_copy import NotStridedError
        from layoutc.planning.explain import explain_plan

        if self.target == PLAIN:
            return "the textbook loop nest, as the target plain asks for it\n"
        asked = self.source, self.destination, machine(self.target, self.alignment), self.threads, self.conversion
        try:
            lines = explain_plan(*asked)
            is_given = self.plan and self.plan != replace(self, plan=()).plan_lines()
        except NotStridedError as error:
            lines, is_given = [f"the textbook loop nest: {error}"], self.plan
        if is_given:
            lines = ["a plan that was given, not chosen (docs/plans.md has its words):", *self.plan]
        return "\n".join(lines) + "\n"

    @once
    def c_source(self) -> str:
        """The C file of the kernel: one function `void name(const T *source, T *destination)`."""
        from layoutc.garbage import without_collections
        from layoutc.targets.c import emit_c

        with without_collections():
            return emit_c(self._module("lower-reorders"))

    def __getstate__(self) -> dict[str, Any]:
        # What was compiled belongs to this process.
        return {field.name: getattr(self, field.name) for field in fields(self)}

    def _module(self, stage: str) -> ModuleOp:
        from layoutc.pipeline import lower, reorder_module

        module = reorder_module(self.source, self.destination, self.name, self.conversion, self.plan)
        lower(module, stage, target=self.target, threads=self.threads, alignment=self.alignment, is_ours=True)
        return module

    @once
    def _run(self) -> Callable[..., None]:
        """The call on any buffers and arguments."""
        _ = self._on_bytes
        params = self.conversion.arguments
        if self.executor != "c" or any(param.type.bits < 8 for param in params.values()):
            return self._on_buffers
        from layoutc.exports import Argument, Learnt, Side, checked_call
        from layoutc.views import is_plain

        dims = self.source.dims
        arguments = [
            Argument(name, param.type.numpy, param.shape(dims), param.size_bytes(dims), param.type.bits // 8)
            for name, param in params.items()
        ]
        types = self.source.element_type, self.destination.element_type
        source, destination = (Learnt(partial(is_plain, element=element), element.numpy) for element in types)
        sides = (
            Side(self.source_bytes, self._alignments[0], source),
            Side(self.destination_bytes, self._alignments[1], destination),
        )
        return checked_call(self._function, sides, self._on_buffers, arguments, self._sums)

    def _on_buffers(self, source: Any, destination: Any, **params: Any) -> None:
        """The call on any buffers and arguments: finds the bytes of all, or says what is wrong."""
        from layoutc.buffers import check_disjoint
        from layoutc.views import bytes_of, check_apart

        alignments = self._alignments
        read = bytes_of("source", source, self.source, self.source_bytes, alignment=alignments[0])
        written = bytes_of(
            "destination", destination, self.destination, self.destination_bytes, writable=True, alignment=alignments[1]
        )
        check_apart(self.source, read, self.destination, written)
        arguments = self._arguments(params)
        for name, argument in arguments.items():
            check_disjoint(argument, written, label(name))
        self._on_bytes(read, written, *arguments.values())

    def _arguments(self, params: dict[str, Any]) -> dict[str, Bytes]:
        if not params and not self.conversion.arguments:
            return {}
        from layoutc.numeric.arguments import argument_bytes

        return argument_bytes(self.conversion, self.source.dims, params)

    @once
    def _alignments(self) -> tuple[int, int]:
        """Of source and destination: C may take an address for granted that fits the element."""
        bits = (self.source.element_type.bits, self.destination.element_type.bits)
        least = 4 if self.conversion.compensation else 1
        return (max(bits[0] // 8, 1), max(bits[1] // 8, least)) if self.executor == "c" else (1, 1)

    @once
    def _on_bytes(self) -> Run:
        return {"c": self._compiled, "interpret": self._interpreted, "reference": self._by_definition}[self.executor]()

    def _compiled(self) -> Run:
        from layoutc.buffers import address_of

        function = self._function

        def run(source: Bytes, destination: Bytes, *arguments: Bytes) -> None:
            sums = (destination[start:] for start in self._sums)
            function(*map(address_of, (source, destination, *arguments, *sums)))

        return run

    @once
    def _sums(self) -> tuple[int, ...]:
        """Where in the destination the sums of a compensation start, in bytes."""
        compensation = self.conversion.compensation
        return () if compensation is None else compensation.offsets_bytes(self.destination)[:-1]

    @once
    def _function(self) -> Callable[..., None]:
        """The compiled function, on addresses."""
        from layoutc.runtime import load

        count = 2 + len(self.conversion.arguments) + len(self._sums)
        function = load(self.shared_object(), self.name, (ctypes.c_void_p,) * count)
        if self.threads > 1:
            from layoutc.after_fork import on_threads

            function = on_threads(function)
        if not self._may_stream:
            return function

        def call(source: int, destination: int, *others: int) -> None:
            run = self._at_any_address if destination % self.alignment else function
            run(source, destination, *others)

        return call

    @property
    def _may_stream(self) -> bool:
        """Whether the planner may write past the caches, which is what asks for aligned destinations."""
        if self.plan or self.target == PLAIN:
            return False
        return self.destination_bytes >= machine(self.target).streamed_early

    @once
    def _at_any_address(self) -> Callable[..., None]:
        """The compiled function for destinations that are not aligned."""
        return replace(self, alignment=1)._function

    def shared_object(self) -> Path:
        """The compiled C file, from the cache if it is there. Raises CompilerError."""
        from layoutc.compiler import TARGETS, find_compiler
        from layoutc.runtime import build

        return build(self.c_source, find_compiler(self.target if self.target in TARGETS else "native"))

    def _interpreted(self) -> Run:
        from layoutc.interpreted import interpreted

        module = self._module("lower-reorders")
        sides = self.source, self.destination
        return interpreted(module, self.name, *sides, self.conversion, is_plain=self.target == PLAIN)

    def _by_definition(self) -> Run:
        from layoutc import reference

        def run(source: Bytes, destination: Bytes, *arguments: Bytes) -> None:
            given = dict(zip(self.conversion.arguments, arguments, strict=True))
            reference.reorder(self.source, self.destination, source, destination, self.conversion, given)

        return run
