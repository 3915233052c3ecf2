"""
Strict interpreter of IR: lowered, or at any stage before, where reorders are what their definition says.

`run` executes a function of a module on NumPy buffers. Access out of bounds, a load of an undefined element, a
second store to write-once memory and a store to read-only memory are InterpreterErrors that name the op, the
memref, the offset and the iteration.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from itertools import combinations
from typing import Any, cast

import numpy as np
from xdsl.dialects import func, memref
from xdsl.dialects.builtin import ModuleOp
from xdsl.interpreter import Interpreter
from xdsl.ir import Attribute, Operation
from xdsl.traits import SymbolTable
from xdsl.utils.exceptions import DiagnosticException

from layoutc.checks import a_class, instance, shown
from layoutc.dialects.memory import is_memref
from layoutc.dialects.ops import ReorderOp
from layoutc.errors import InterpreterError
from layoutc.interpreter.control import ControlFunctions
from layoutc.interpreter.functions import MemoryFunctions, PureFunctions
from layoutc.interpreter.iterations import Iterations
from layoutc.interpreter.memory import Buffer, MemRef
from layoutc.interpreter.reorders import ReorderFunctions
from layoutc.interpreter.values import Array, Fault, OutOfOrder, from_python, value_dtype
from layoutc.walk import of_kind, ops_of

__all__ = ["Buffer", "run"]

INTEGERS, NUMBERS = "biu", "biufV"
"""kinds of NumPy types; the last one is that of bf16"""


def run(
    module: ModuleOp,
    function_name: str,
    *args: Buffer | Array | float,
    write_once: Collection[int] = (),
    defined: Mapping[int, Array | bool] | None = None,
    rewrite_same: bool = False,
    sequential: bool = False,
) -> tuple[Any, ...]:
    """
    Run a function of a module and return its results: NumPy scalars, or the Buffer of a memref.

    A memref takes a Buffer, or a C-contiguous array (of any dtype of the element's width) whose memory is then used
    in place; arrays that are read-only stay so. `write_once` are the positions of array arguments of which each
    element may be stored only once, `defined` which elements of an array argument may be loaded (default: all).
    No iteration of an scf.parallel may store to an element that another one stores to or loads. With `rewrite_same`,
    storing the value that an element has got already counts as no store: in write-once memory, and among the
    iterations of an scf.parallel. `sequential` runs every loop one iteration after another, which gives the same
    results more slowly, and is done where there are reorders.

    Raises InterpreterError for ops that have no interpretation (before anything is written), for arguments that do
    not fit the function, and for what the IR must not do.
    """
    instance("module", module, ModuleOp)
    instance("function name", function_name, str)
    try:
        function = _function(module, function_name)
        ops = _ops(module, function, {function_name})
        values = tuple(_arguments(function, args, write_once, defined or {}))
        _check_overlap(values)
        in_order = sequential or bool(of_kind(ops, ReorderOp))
        saved = [] if in_order or not _has_scratch(ops) else _saved(values)
        results = _run(module, function, values, saved, rewrite_same, in_order)
    except Fault as fault:
        raise InterpreterError(str(fault)) from None
    except DiagnosticException as error:
        raise InterpreterError(_root(error)) from error
    return tuple(value.buffer if isinstance(value, MemRef) else value[()] for value in results)


def _run(
    module: ModuleOp,
    function: func.FuncOp,
    values: tuple[Any, ...],
    saved: list[tuple[Buffer, Buffer]],
    rewrite_same: bool,
    sequential: bool,
) -> tuple[Any, ...]:
    """Run loops at once where that can be; in order after all, if it turns out to make a difference."""
    try:
        return _interpret(module, function, values, rewrite_same, sequential)
    except OutOfOrder:
        for buffer, before in saved:
            buffer.restore(before)
        return _interpret(module, function, values, rewrite_same, sequential=True)


def _interpret(
    module: ModuleOp, function: func.FuncOp, values: tuple[Any, ...], rewrite_same: bool, sequential: bool
) -> tuple[Any, ...]:
    iterations = Iterations(rewrite_same)
    interpreter = Interpreter(module, index_bitwidth=64)
    functions = PureFunctions(), MemoryFunctions(iterations), ControlFunctions(iterations, sequential)
    for implementations in (*functions, ReorderFunctions(iterations)):
        interpreter.register_implementations(implementations)
    with np.errstate(all="ignore"):
        return interpreter.call_op(function, values)


def _has_scratch(ops: list[Operation]) -> bool:
    """Whether a loop, or anything in it, allocates on the stack."""
    return any(not isinstance(op.parent_op(), func.FuncOp) for op in of_kind(ops, memref.AllocaOp))


def _saved(values: tuple[Any, ...]) -> list[tuple[Buffer, Buffer]]:
    return [(value.buffer, value.buffer.saved()) for value in values if isinstance(value, MemRef)]


def _function(module: ModuleOp, name: str) -> func.FuncOp:
    found = SymbolTable.lookup_symbol(module, name)
    if not isinstance(found, func.FuncOp):
        raise Fault(f"no function @{name} in the module")
    if not found.body.blocks:
        raise Fault(f"function @{name} has no body")
    return found


INTERPRETED: frozenset[type[Operation]] = frozenset(
    op_type
    for functions in (PureFunctions, MemoryFunctions, ControlFunctions, ReorderFunctions)
    for op_type, _ in functions._impls()  # pyright: ignore[reportPrivateUsage]
)


def _ops(module: ModuleOp, function: func.FuncOp, seen: set[str]) -> list[Operation]:
    """All that is in this function and in those that it calls; a Fault for an op without interpretation."""
    found = ops_of(function)[1:]
    for op in tuple(found):
        if type(op) not in INTERPRETED:
            raise Fault(f"no interpretation for '{op.name}'")
        if isinstance(op, func.CallOp) and (name := op.callee.string_value()) not in seen:
            seen.add(name)
            found += _ops(module, _function(module, name), seen)
    return found


def _arguments(
    function: func.FuncOp, args: tuple[Any, ...], write_once: Collection[int], defined: Mapping[int, Array | bool]
) -> Iterator[Any]:
    types = function.function_type.inputs.data
    if len(args) != len(types):
        raise Fault(f"@{function.sym_name.data} got {len(args)} arguments, expected {len(types)}")
    for position, (type, arg) in enumerate(zip(types, args, strict=True)):
        try:
            yield _argument(type, arg, position in write_once, defined.get(position, True))
        except Fault as fault:
            raise Fault(f"argument {position} of @{function.sym_name.data}: {fault}") from None


def _argument(type: Attribute, arg: Any, write_once: bool, defined: Array | bool) -> MemRef | Array:
    if not is_memref(type):
        dtype = value_dtype(type)
        if isinstance(arg, Buffer) or np.ndim(arg):
            raise Fault(f"got a buffer, expected a value of type {type}")
        kinds = INTEGERS if dtype.kind in INTEGERS else NUMBERS
        if not isinstance(arg, int) and np.asarray(arg).dtype.kind not in kinds:
            raise Fault(f"got {shown(repr(arg))}, expected a value of type {type}")
        return from_python(arg, dtype)
    if isinstance(arg, Buffer):
        return MemRef.typed(arg, type)
    if not isinstance(arg, np.ndarray):
        raise Fault(f"got {a_class(arg.__class__)}, expected a buffer for {type}")
    return MemRef.typed(Buffer.of(cast(Array, arg), defined, write_once), type)


def _check_overlap(values: tuple[Any, ...]) -> None:
    """Fault if write-once memory is also reached as another buffer."""
    buffers = [(position, value.buffer) for position, value in enumerate(values) if isinstance(value, MemRef)]
    for (i, one), (j, other) in combinations(buffers, 2):
        separate = one is other or (one.written is None and other.written is None)
        if not separate and np.may_share_memory(one.data, other.data):
            raise Fault(f"arguments {i} and {j} overlap in memory")


def _root(error: BaseException) -> str:
    """The first line of the error that xDSL wrapped."""
    while error.__cause__ is not None:
        error = error.__cause__
    return (str(error) or error.__class__.__name__).splitlines()[0]
