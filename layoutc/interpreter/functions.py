"""What each op of lowered IR does: xDSL's interpreter functions over NumPy values."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TypeVar

import numpy as np
from xdsl.dialects import affine, builtin, func, memref, scf
from xdsl.interpreter import (
    Interpreter,
    InterpreterFunctions,
    PythonValues,
    ReturnedValues,
    impl,
    impl_callable,
    impl_terminator,
    register_impls,
)
from xdsl.ir import Operation
from xdsl.ir.affine import AffineBinaryOpExpr, AffineBinaryOpKind, AffineConstantExpr

from layoutc.interpreter.access import Access
from layoutc.interpreter.arithmetic import ARITHMETIC, PureOp, reinterpret
from layoutc.interpreter.iterations import Iterations
from layoutc.interpreter.memory import Buffer, MemRef, shape_of
from layoutc.interpreter.nests import BULK_POINTS, Nest, nest_of
from layoutc.interpreter.values import Array, Fault

FunctionsT = TypeVar("FunctionsT", bound=type[InterpreterFunctions])


def apply_map(op: affine.ApplyOp, args: tuple[Array, ...]) -> Array:
    """affine.apply with floor semantics, as NumPy's // and % have them."""
    map = op.map.data
    for expr in map.results[0].dfs():
        match expr:
            case AffineBinaryOpExpr(kind=AffineBinaryOpKind.Add | AffineBinaryOpKind.Mul):
                pass
            case AffineBinaryOpExpr(rhs=AffineConstantExpr(value=value)) if value <= 0:
                raise Fault(f"affine.apply: {map} divides by {value}")
            case _:
                pass
    (result,) = map.eval(args[: map.num_dims], args[map.num_dims :])  # pyright: ignore[reportArgumentType]
    return np.asarray(result, np.int64)


PURE: dict[type[Operation], PureOp] = {**ARITHMETIC, affine.ApplyOp: apply_map}
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


@register_impls
@_with_pure_ops
class PureFunctions(InterpreterFunctions):
    """The table of pure ops."""


@register_impls
@dataclass
class MemoryFunctions(InterpreterFunctions):
    """memref: loads and stores are checked; fresh memory is undefined."""

    iterations: Iterations

    @impl(memref.LoadOp)
    def load(self, interpreter: Interpreter, op: memref.LoadOp, args: PythonValues) -> PythonValues:
        source, *indices = args
        return (Access(op, op.memref, source, indices, self.iterations, self.iterations.shape).load(),)

    @impl(memref.StoreOp)
    def store(self, interpreter: Interpreter, op: memref.StoreOp, args: PythonValues) -> PythonValues:
        value, destination, *indices = args
        Access(op, op.memref, destination, indices, self.iterations, self.iterations.shape).store(value)
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
        return (_fresh(op),)

    @impl(memref.AllocaOp)
    def alloca(self, interpreter: Interpreter, op: memref.AllocaOp, args: PythonValues) -> PythonValues:
        return (_fresh(op),)

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
        return (MemRef(source.buffer, source.dtype, tuple(sizes), tuple(strides), offset),)

    @impl(builtin.UnrealizedConversionCastOp)
    def cast(
        self, interpreter: Interpreter, op: builtin.UnrealizedConversionCastOp, args: PythonValues
    ) -> PythonValues:
        """The same storage by another type."""
        if len(args) != 1 or len(op.outputs) != 1:
            raise Fault(f"{op.name}: got {len(args)} values for {len(op.outputs)}, expected one for one")
        if isinstance(args[0], MemRef):
            return (MemRef.typed(args[0].buffer, op.outputs[0].type),)
        return (reinterpret(op, args),)


def _fresh(op: memref.AllocOp | memref.AllocaOp) -> MemRef:
    dtype, shape, strides, offset = shape_of(op.memref.type)
    span = MemRef(Buffer.poisoned(0, dtype), dtype, shape, strides, offset).span
    return MemRef(Buffer.poisoned(span, dtype), dtype, shape, strides, offset)


@register_impls
@dataclass
class ControlFunctions(InterpreterFunctions):
    """scf and func. Loop nests whose iterations do not depend on each other run at once, unless `sequential`."""

    iterations: Iterations
    sequential: bool = False
    nests: dict[scf.ForOp, Nest | None] = field(default_factory=dict[scf.ForOp, "Nest | None"])

    @impl(scf.ForOp)
    def run_for(self, interpreter: Interpreter, op: scf.ForOp, args: PythonValues) -> PythonValues:
        lower, upper, step, *carried = args
        if step <= 0:
            raise Fault(f"scf.for: step {step} of %{op.body.block.args[0].name_hint or 'i'} is not positive")
        steps, dtype = range(int(lower), int(upper), int(step)), lower.dtype
        if self.iterations.shape:
            return self._run_all(interpreter, op, steps, dtype)
        chunk = 0 if self.sequential or not steps else self._chunk(interpreter, op)
        if not chunk:
            return self._run_in_order(interpreter, op, steps, dtype, carried)
        for start in range(0, len(steps), chunk):
            with self.iterations.nest(self._nest(op).depth):  # pyright: ignore[reportOptionalMemberAccess]
                self._run_all(interpreter, op, steps[start : start + chunk], dtype)
        return ()

    def _nest(self, op: scf.ForOp) -> Nest | None:
        if op not in self.nests:
            self.nests[op] = nest_of(op, PURE.keys() | {builtin.UnrealizedConversionCastOp})
        return self.nests[op]

    def _chunk(self, interpreter: Interpreter, op: scf.ForOp) -> int:
        """How many iterations of this loop run at once; 0 if one must run after another."""

        def value_of(value: Any) -> Any:
            return interpreter.get_values((value,))[0]

        nest = self._nest(op)
        if nest is None or not nest.is_independent(value_of):
            return 0
        return BULK_POINTS // max(1, nest.inner_points(value_of))

    def _run_in_order(
        self, interpreter: Interpreter, op: scf.ForOp, steps: range, dtype: Any, carried: list[Any]
    ) -> PythonValues:
        state = tuple(carried)
        for step in steps:
            value = np.asarray(step, dtype)
            with self.iterations.one(op, value):
                state = interpreter.run_ssacfg_region(op.body, (value, *state), "scf.for")
        return state

    def _run_all(self, interpreter: Interpreter, op: scf.ForOp, steps: range, dtype: Any) -> PythonValues:
        if steps:
            values: Array = np.arange(steps.start, steps.stop, steps.step).astype(dtype)
            with self.iterations.all(op, values) as spread:
                interpreter.run_ssacfg_region(op.body, (spread,), "scf.for")
        return ()

    @impl(scf.IfOp)
    def run_if(self, interpreter: Interpreter, op: scf.IfOp, args: PythonValues) -> PythonValues:
        return interpreter.run_ssacfg_region(op.true_region if args[0] else op.false_region, (), "scf.if")

    @impl_terminator(scf.YieldOp)
    def run_yield(self, interpreter: Interpreter, op: scf.YieldOp, args: PythonValues) -> Any:
        return ReturnedValues(args), ()

    @impl_terminator(func.ReturnOp)
    def run_return(self, interpreter: Interpreter, op: func.ReturnOp, args: PythonValues) -> Any:
        return ReturnedValues(args), ()

    @impl(func.CallOp)
    def run_call(self, interpreter: Interpreter, op: func.CallOp, args: PythonValues) -> PythonValues:
        return interpreter.call_op(op.callee, args)

    @impl_callable(func.FuncOp)
    def run_function(self, interpreter: Interpreter, op: func.FuncOp, args: PythonValues) -> PythonValues:
        return interpreter.run_ssacfg_region(op.body, args, op.sym_name.data)
