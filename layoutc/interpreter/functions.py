"""What pure ops and those on memory do: xDSL's interpreter functions over NumPy values."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import reduce
from math import prod
from typing import TypeVar, cast

import numpy as np
from xdsl.dialects import affine, builtin, memref, vector
from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, NoneAttr
from xdsl.interpreter import Interpreter, InterpreterFunctions, PythonValues, impl, register_impls
from xdsl.ir import Attribute, Operation
from xdsl.ir.affine import AffineBinaryOpExpr, AffineBinaryOpKind, AffineConstantExpr
from xdsl.traits import SymbolTable

from layoutc.constants import values_in_memory
from layoutc.dialects.memory import is_memref, is_packed, memory_desc
from layoutc.errors import LayoutcError
from layoutc.interpreter.access import Access
from layoutc.interpreter.arithmetic import ARITHMETIC, PureOp, reinterpret
from layoutc.interpreter.iterations import Iterations
from layoutc.interpreter.memory import Buffer, MemRef, is_flat, shape_of
from layoutc.interpreter.values import Array, Fault, from_python, value_dtype
from layoutc.interpreter.vectors import VECTORS, lanes_of
from layoutc.memref_prefetch import PrefetchOp

VectorAccessOp = vector.LoadOp | vector.StoreOp | vector.MaskedLoadOp | vector.MaskedStoreOp
FunctionsT = TypeVar("FunctionsT", bound=type[InterpreterFunctions])


def apply_map(op: affine.ApplyOp, args: tuple[Array, ...]) -> Array:
    """affine.apply with floor semantics, as NumPy's // and % have them."""
    return _results_of_map(op, args)[0]


def least_of_map(op: affine.MinOp, args: tuple[Array, ...]) -> Array:
    """affine.min: the least of the map's results."""
    return reduce(np.minimum, _results_of_map(op, args))


def _results_of_map(op: affine.ApplyOp | affine.MinOp, args: tuple[Array, ...]) -> list[Array]:
    map = op.map.data
    for expr in (expr for result in map.results for expr in result.dfs()):
        match expr:
            case AffineBinaryOpExpr(kind=AffineBinaryOpKind.Add | AffineBinaryOpKind.Mul):
                pass
            case AffineBinaryOpExpr(rhs=AffineConstantExpr(value=value)) if value <= 0:
                raise Fault(f"{op.name}: {map} divides by {value}")
            case _:
                pass
    results = map.eval(args[: map.num_dims], args[map.num_dims :])  # pyright: ignore[reportArgumentType]
    return [np.asarray(result, np.int64) for result in results]


PURE: dict[type[Operation], PureOp] = {**ARITHMETIC, affine.ApplyOp: apply_map, affine.MinOp: least_of_map, **VECTORS}
"""Ops without side effects; they run on values of one iteration and of many alike."""


def _pure_impl(function: PureOp) -> Callable[..., PythonValues]:
    def run(_self: InterpreterFunctions, _: Interpreter, op: Operation, args: PythonValues) -> PythonValues:
        return (np.asarray(function(op, args)),)

    return run


def _with_pure_ops(functions: FunctionsT) -> FunctionsT:
    """Add a method for every op of the table."""
    for op_type, function in PURE.items():
        setattr(functions, op_type.name, impl(op_type)(_pure_impl(function)))
    return functions


def _constant(values: DenseIntOrFPElementsAttr, op: memref.GlobalOp) -> Array:
    """The memory of a memref.global, filled with its values."""
    if not isinstance(op.type.layout, NoneAttr) or is_packed(op.type):
        try:
            values = values_in_memory(values, op.type)
        except LayoutcError as error:
            raise Fault(f"memref.global @{op.sym_name.data}: {error}") from None
    dtype = value_dtype(cast(Attribute, values.get_element_type()))
    numbers = cast("Sequence[float]", values.get_values())
    return np.array([from_python(number, dtype) for number in numbers], dtype)


@register_impls
@_with_pure_ops
class PureFunctions(InterpreterFunctions):
    """The table of pure ops."""


def _in_flat_memory(op: memref.LoadOp | memref.StoreOp, indices: list[Array]) -> list[Array]:
    """The indices of an element, or its offset where a memref has a layout that is lowered."""
    type = op.memref.type
    assert is_memref(type)
    if not is_flat(type):
        return indices
    if is_packed(type):
        raise Fault(f"{op.name} of {type}: elements that share bytes are only reordered")
    desc = memory_desc(type)
    for index, size in zip(indices, desc.dims, strict=True):
        if ((index < 0) | (index >= size)).any():
            raise Fault(f"{op.name}: %{op.memref.name_hint or 'memref'} has an index outside of {desc.dims}")
    return [np.asarray(desc.offset_map().eval(indices, [])[0], np.int64)]  # pyright: ignore[reportArgumentType]


@register_impls
@dataclass
class MemoryFunctions(InterpreterFunctions):
    """memref: loads and stores are checked; fresh memory is undefined."""

    iterations: Iterations

    @impl(memref.LoadOp)
    def load(self, interpreter: Interpreter, op: memref.LoadOp, args: PythonValues) -> PythonValues:
        source, *indices = args
        indices = _in_flat_memory(op, indices)
        return (Access(op, op.memref, source, indices, self.iterations, self.iterations.shape).load(),)

    @impl(vector.LoadOp)
    def vector_load(self, interpreter: Interpreter, op: vector.LoadOp, args: PythonValues) -> PythonValues:
        source, *indices = args
        return (self._of_lanes(op, source, indices, op.result.type).load(),)

    @impl(vector.MaskedLoadOp)
    def masked_load(self, interpreter: Interpreter, op: vector.MaskedLoadOp, args: PythonValues) -> PythonValues:
        source, *indices, mask, otherwise = args
        loaded = self._of_lanes(op, source, indices, op.result.type, mask).load()
        return (np.where(mask, loaded, otherwise),)

    @impl(vector.StoreOp)
    def vector_store(self, interpreter: Interpreter, op: vector.StoreOp, args: PythonValues) -> PythonValues:
        value, destination, *indices = args
        self._of_lanes(op, destination, indices, op.vector.type).store(value)
        return ()

    @impl(vector.MaskedStoreOp)
    def masked_store(self, interpreter: Interpreter, op: vector.MaskedStoreOp, args: PythonValues) -> PythonValues:
        destination, *indices, mask, value = args
        self._of_lanes(op, destination, indices, op.value_to_store.type, mask).store(value)
        return ()

    def _of_lanes(
        self, op: VectorAccessOp, memref: MemRef, indices: list[Array], type: Attribute, mask: Array | None = None
    ) -> Access:
        """As many elements from the indices on, along the memref's last axis, as a vector has lanes."""
        if not indices:
            raise Fault(f"{op.name}: no interpretation for a memref without axes")
        lanes, (*outer, last) = lanes_of(type), (index[..., None] for index in indices)
        places, shape = [*outer, last + np.arange(lanes)], (*self.iterations.shape, lanes)
        return Access(op, op.base, memref, places, self.iterations, shape, mask)

    @impl(memref.StoreOp)
    def store(self, interpreter: Interpreter, op: memref.StoreOp, args: PythonValues) -> PythonValues:
        value, destination, *indices = args
        indices = _in_flat_memory(op, indices)
        Access(op, op.memref, destination, indices, self.iterations, self.iterations.shape).store(value)
        return ()

    @impl(PrefetchOp)
    def prefetch(self, interpreter: Interpreter, op: PrefetchOp, args: PythonValues) -> PythonValues:
        return ()

    @impl(memref.CopyOp)
    def copy(self, interpreter: Interpreter, op: memref.CopyOp, args: PythonValues) -> PythonValues:
        source, destination = args
        indices = np.ogrid[tuple(slice(0, n) for n in source.shape)]
        values = Access(op, op.source, source, indices, self.iterations, source.shape).load()
        Access(op, op.destination, destination, indices, self.iterations, source.shape).store(values)
        return ()

    @impl(memref.AllocOp)
    def alloc(self, interpreter: Interpreter, op: memref.AllocOp, args: PythonValues) -> PythonValues:
        return (self._fresh(op),)

    @impl(memref.AllocaOp)
    def alloca(self, interpreter: Interpreter, op: memref.AllocaOp, args: PythonValues) -> PythonValues:
        return (self._fresh(op),)

    def _fresh(self, op: memref.AllocOp | memref.AllocaOp) -> MemRef:
        """Undefined memory, for each of the iterations that run at once a part of its own."""
        dtype, shape, strides, offset = shape_of(op.memref.type)
        span = MemRef(Buffer.poisoned(0, dtype), dtype, shape, strides, offset).span
        around = self.iterations.shape
        buffer = Buffer.poisoned(span * prod(around), dtype)
        buffer.private, buffer.scratch = self.iterations.region is not None, bool(around)
        base = np.arange(prod(around)).reshape(around) * span if around else 0
        return MemRef(buffer, dtype, shape, strides, offset, base, span)

    @impl(memref.ExtractAlignedPointerAsIndexOp)
    def address(
        self, interpreter: Interpreter, op: memref.ExtractAlignedPointerAsIndexOp, args: PythonValues
    ) -> PythonValues:
        """Where the memory really lies, so that code which asks for that runs as it would in C."""
        return (np.asarray(args[0].buffer.data.ctypes.data, np.int64),)

    @impl(memref.GetGlobalOp)
    def get_global(self, interpreter: Interpreter, op: memref.GetGlobalOp, args: PythonValues) -> PythonValues:
        """Read-only memory with the values of a constant."""
        name = op.name_.string_value()
        found = SymbolTable.lookup_symbol(interpreter.module, name)
        if not isinstance(found, memref.GlobalOp) or found.type != op.memref.type:
            raise Fault(f"memref.get_global: no memref.global @{name} of {op.memref.type} in the module")
        if not isinstance(found.initial_value, DenseIntOrFPElementsAttr) or found.constant is None:
            raise Fault(f"memref.get_global: no interpretation for @{name}, which has no constant values")
        data = _constant(found.initial_value, found)
        data.flags.writeable = False
        return (MemRef.typed(Buffer.of(data), found.type),)

    @impl(memref.DeallocOp)
    def dealloc(self, interpreter: Interpreter, op: memref.DeallocOp, args: PythonValues) -> PythonValues:
        (old,) = args
        if old.buffer.freed:
            raise Fault(f"memref.dealloc: %{op.memref.name_hint or 'memref'} is deallocated a second time")
        old.buffer.freed = True
        return ()

    @impl(memref.ReinterpretCastOp)
    def reinterpret_cast(
        self, interpreter: Interpreter, op: memref.ReinterpretCastOp, args: PythonValues
    ) -> PythonValues:
        source, *dynamic = args
        if dynamic:
            raise Fault("memref.reinterpret_cast: no interpretation for dynamic offsets, sizes or strides")
        sizes, strides = op.static_sizes.get_values(), op.static_strides.get_values()
        (offset,) = op.static_offsets.get_values()
        view = MemRef(source.buffer, source.dtype, tuple(sizes), tuple(strides), offset, source.base, source.part)
        return (view,)

    @impl(builtin.UnrealizedConversionCastOp)
    def cast(
        self, interpreter: Interpreter, op: builtin.UnrealizedConversionCastOp, args: PythonValues
    ) -> PythonValues:
        """The same storage by another type."""
        if len(args) != 1 or len(op.outputs) != 1:
            raise Fault(f"{op.name}: got {len(args)} values for {len(op.outputs)}, expected one for one")
        if isinstance(args[0], MemRef):
            return (args[0].as_type(op.outputs[0].type),)
        return (reinterpret(op, args),)
