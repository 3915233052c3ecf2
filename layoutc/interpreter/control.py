"""What scf and func do: loops in order or at once, branches, calls."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from math import prod
from typing import Any

import numpy as np
from xdsl.dialects import func, scf
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
from xdsl.ir import SSAValue

from layoutc.interpreter.functions import PURE
from layoutc.interpreter.iterations import Iterations, loop_names
from layoutc.interpreter.nests import BULK_POINTS, Loop, Nest, nest_of
from layoutc.interpreter.parallel import Region, watched_buffers
from layoutc.interpreter.values import Array, Fault


@register_impls
@dataclass
class ControlFunctions(InterpreterFunctions):
    """scf and func. Loop nests whose iterations do not depend on each other run at once, unless `sequential`."""

    iterations: Iterations
    sequential: bool = False
    nests: dict[Loop, Nest | None] = field(default_factory=dict[Loop, "Nest | None"])

    @impl(scf.ForOp)
    def run_for(self, interpreter: Interpreter, op: scf.ForOp, args: PythonValues) -> PythonValues:
        lower, upper, step, *carried = args
        steps, dtype = _steps(op, op.body.block.args[0], lower, upper, step), lower.dtype
        if self.iterations.shape:
            self._run_all(interpreter, op, [_numbers(steps, dtype)])
            return ()
        chunk = self._chunk(interpreter, op) if steps else 0
        if not chunk:
            return self._run_in_order(interpreter, op, steps, dtype, carried)
        for start in range(0, len(steps), chunk):
            with self._nest(op):
                self._run_all(interpreter, op, [_numbers(steps[start : start + chunk], dtype)])
        return ()

    @impl(scf.ParallelOp)
    def run_parallel(self, interpreter: Interpreter, op: scf.ParallelOp, args: PythonValues) -> PythonValues:
        """All indices are one loop over their combinations, the last index fastest."""
        if op.initVals or self.iterations.region is not None:
            reason = "with reductions" if op.initVals else "inside of another one"
            raise Fault(f"scf.parallel: no interpretation {reason}")
        count, indices = len(op.lowerBound), op.body.block.args
        bounds = zip(indices, args[:count], args[count : 2 * count], args[2 * count :], strict=True)
        spans = [_steps(op, *bound) for bound in bounds]
        total = prod(map(len, spans))
        self.iterations.region = Region(watched_buffers(op, _value_of(interpreter)))
        chunk = self._chunk(interpreter, op) if total else 0
        for start in range(0, total, chunk or 1):
            points = np.arange(start, min(start + (chunk or 1), total))
            self._run_points(interpreter, op, spans, points, at_once=bool(chunk))
        self.iterations.region = None
        return ()

    def _run_points(
        self, interpreter: Interpreter, op: scf.ParallelOp, spans: list[range], points: Array, at_once: bool
    ) -> None:
        """Iterations of an scf.parallel by their numbers: many at once, or a single one."""
        assert self.iterations.region is not None
        places = np.unravel_index(points, [len(span) for span in spans])
        values = [span.start + place.astype(np.int64) * span.step for span, place in zip(spans, places, strict=True)]
        if not at_once:
            self.iterations.region.point = points[0]
            self._run_one(interpreter, op, [value[0] for value in values])
            return
        with self._nest(op):
            self.iterations.region.point = self.iterations.spread(points, 0)
            self._run_all(interpreter, op, values)

    @impl(scf.IfOp)
    def run_if(self, interpreter: Interpreter, op: scf.IfOp, args: PythonValues) -> PythonValues:
        if not self.iterations.shape:
            return interpreter.run_ssacfg_region(op.true_region if args[0] else op.false_region, (), "scf.if")
        for region, condition in ((op.true_region, args[0]), (op.false_region, ~args[0])):
            with self.iterations.where(condition) as is_taken:
                if is_taken and region.blocks:
                    interpreter.run_ssacfg_region(region, (), "scf.if")
        return ()

    # --- one after another, or at once -----------------------------------------------------------------------------

    def _run_in_order(
        self, interpreter: Interpreter, op: scf.ForOp, steps: range, dtype: Any, carried: list[Any]
    ) -> PythonValues:
        state = tuple(carried)
        for step in steps:
            state = self._run_one(interpreter, op, [np.asarray(step, dtype)], *state)
        return state

    def _run_one(self, interpreter: Interpreter, op: Loop, values: Sequence[Array], *carried: Any) -> PythonValues:
        with self.iterations.one(loop_names(op, len(self.iterations.loops)), values):
            return interpreter.run_ssacfg_region(op.body, (*values, *carried), op.name)

    def _chunk(self, interpreter: Interpreter, op: Loop) -> int:
        """How many iterations of this loop run at once; 0 if one must run after another."""
        if self.sequential:
            return 0
        if op not in self.nests:
            self.nests[op] = nest_of(op, PURE.keys())
        nest, value_of = self.nests[op], _value_of(interpreter)
        if nest is None or not nest.is_independent(value_of, self.iterations.rewrite_same):
            return 0
        return BULK_POINTS // nest.cost(value_of)

    @contextmanager
    def _nest(self, op: Loop) -> Generator[None]:
        nest = self.nests[op]
        assert nest is not None
        with self.iterations.nest(nest.depth):
            yield

    def _run_all(self, interpreter: Interpreter, op: Loop, values: Sequence[Array]) -> None:
        if values[0].size:
            with self.iterations.all(loop_names(op, len(self.iterations.loops)), values) as spread:
                interpreter.run_ssacfg_region(op.body, spread, op.name)

    # --- the ends of blocks, calls ---------------------------------------------------------------------------------

    @impl_terminator(scf.YieldOp)
    def run_yield(self, interpreter: Interpreter, op: scf.YieldOp, args: PythonValues) -> Any:
        return ReturnedValues(args), ()

    @impl_terminator(scf.ReduceOp)
    def run_reduce(self, interpreter: Interpreter, op: scf.ReduceOp, args: PythonValues) -> Any:
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


def _steps(op: Loop, index: SSAValue, lower: Array, upper: Array, step: Array) -> range:
    if step <= 0:
        raise Fault(f"{op.name}: step {step} of %{index.name_hint or 'i'} is not positive")
    return range(int(lower), int(upper), int(step))


def _numbers(steps: range, dtype: np.dtype[Any]) -> Array:
    return np.arange(steps.start, steps.stop, steps.step).astype(dtype)


def _value_of(interpreter: Interpreter) -> Callable[[SSAValue], object]:
    return lambda value: interpreter.get_values((value,))[0]
