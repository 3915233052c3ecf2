"""`layout.reorder` before it is lowered: straight from the definition, with every element of memory checked."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from xdsl.interpreter import Interpreter, InterpreterFunctions, PythonValues, impl, register_impls
from xdsl.ir import SSAValue

from layoutc import reference
from layoutc.descriptor import MemoryDesc
from layoutc.dialects.ops import ReorderOp
from layoutc.errors import LayoutcError
from layoutc.interpreter.access import Access
from layoutc.interpreter.iterations import Iterations
from layoutc.interpreter.memory import MemRef
from layoutc.interpreter.values import Array, Fault


@register_impls
@dataclass
class ReorderFunctions(InterpreterFunctions):
    """
    Reorders of memrefs, which run one after the other.

    Of the source its elements are loaded, and of the destination, if there is a sum. Stored are its elements and its
    block padding; where they share bytes these stay what they are for all others in them.
    """

    iterations: Iterations

    @impl(ReorderOp)
    def reorder(self, interpreter: Interpreter, op: ReorderOp, args: PythonValues) -> PythonValues:
        if op.destination is None:
            raise Fault(f"{op.name}: no interpretation for tensors: bufferize them first")
        source, destination, *others = map(_flat, args)
        params = dict(zip(op.conversion.arguments, others, strict=False))
        src, dst, conversion = op.source_desc, op.target_desc, op.conversion
        own = np.concatenate([_places(dst, reference.offsets(dst)), _places(dst, reference.padding_offsets(dst))])
        self._load(op, op.source, source, _places(src, reference.offsets(src)))
        if conversion.sum:
            self._load(op, op.destination, destination, _places(dst, reference.offsets(dst)))
        for value, memory in zip(op.arguments, params.values(), strict=False):
            self._load(op, value, memory, np.arange(memory.room))
        data = np.zeros(conversion.destination_bytes(dst), np.uint8)
        data[: dst.size_bytes] = _bytes(destination)
        try:
            arguments = {name: _bytes(memory) for name, memory in params.items()}
            reference.reorder(src, dst, _bytes(source), data, conversion, arguments)
        except LayoutcError as error:
            raise Fault(f"{op.name}: {error}") from None
        self._store(op, op.destination, destination, np.unique(own), data[: dst.size_bytes])
        starts = () if conversion.compensation is None else conversion.compensation.offsets_bytes(dst)
        for value, memory, start in zip(op.arguments[len(params) :], others[len(params) :], starts, strict=False):
            size = memory.room * memory.dtype.itemsize
            self._store(op, value, memory, np.arange(memory.room), data[start : start + size])
        return ()

    def _load(self, op: ReorderOp, value: SSAValue, memory: MemRef, places: Array) -> None:
        Access(op, value, memory, [places], self.iterations, places.shape).load()

    def _store(self, op: ReorderOp, value: SSAValue, memory: MemRef, places: Array, data: Array) -> None:
        values = data.view(memory.buffer.data.dtype)[places]
        Access(op, value, memory, [places], self.iterations, places.shape).store(values.view(memory.dtype))


def _flat(memory: MemRef) -> MemRef:
    """All of the memory that a memref is a view of, element by element."""
    return replace(memory, shape=(memory.room,), strides=(1,), offset=0)


def _bytes(memory: MemRef) -> Array:
    """What the memory holds."""
    start = int(memory.base)
    return memory.buffer.data[start : start + memory.room].view(np.uint8)


def _places(desc: MemoryDesc, offsets: Array) -> Array:
    """Where elements lie in memory: those that share bytes in the same one."""
    per_byte = max(1, 8 // desc.element_type.bits)
    return np.unique(offsets // per_byte)
