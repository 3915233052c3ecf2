"""What the functions of a module do with the memrefs that they are given, across calls."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import cast

from xdsl.dialects import func, memref, vector
from xdsl.dialects.builtin import ModuleOp, UnrealizedConversionCastOp
from xdsl.ir import BlockArgument, Operation, SSAValue

from layoutc.targets.errors import no_spelling
from layoutc.targets.words.c_types import is_memref
from layoutc.walk import of_kind, ops_of

ALIASES = (memref.ReinterpretCastOp, memref.CastOp, UnrealizedConversionCastOp)
"""ops whose result is the buffer of their first operand, where that is one"""
WRITTEN: dict[type[Operation], int] = {
    memref.StoreOp: 1,
    memref.DeallocOp: 0,
    memref.CopyOp: 1,
    vector.StoreOp: 1,
    vector.MaskedStoreOp: 0,
}
"""ops that write to a memref, and which of their operands it is; freeing it counts, C frees no const"""


def root(value: SSAValue) -> SSAValue:
    """The value that brought the buffer: an argument, or the result of an allocation."""
    while (owner := value.owner).__class__ in ALIASES:
        value = cast("Operation", owner).operands[0]
    return value


@dataclass(frozen=True)
class Effects:
    """Facts about the functions of a module that C wants in their signatures."""

    functions: dict[str, func.FuncOp]
    """by name, those that are public, and those that they call"""
    ops: dict[str, list[Operation]]
    """by the name of their function, in the order of the text"""
    calls: dict[str, list[func.CallOp]]
    """by the name of the function that calls"""
    written: frozenset[tuple[str, int]]
    """(function, argument) whose buffer may be written to"""
    overlapping: frozenset[str]
    """functions that may be given one buffer twice"""

    @classmethod
    def of(cls, module: ModuleOp) -> Effects:
        """Follow the calls of a module. Raises EmissionError for a call of what it does not define."""
        functions = {f.sym_name.data: f for f in module.ops if isinstance(f, func.FuncOp)}
        # Walking is most of the work of a small function: once for all that ask.
        ops = {name: ops_of(function) for name, function in functions.items()}
        calls = {name: of_kind(inside, func.CallOp) for name, inside in ops.items()}
        functions = _reachable(functions, calls)
        calls = {name: calls[name] for name in functions}
        return cls(functions, ops, calls, _written(functions, ops, calls), _overlapping(calls))


def _reachable(functions: dict[str, func.FuncOp], calls: dict[str, list[func.CallOp]]) -> dict[str, func.FuncOp]:
    names = [name for name, f in functions.items() if f.sym_visibility is None or f.sym_visibility.data != "private"]
    found = set(names)
    while names:
        for call in calls[names.pop()]:
            callee = call.callee.string_value()
            if callee not in functions:
                raise no_spelling(call, f"of {callee!r}, which the module does not have")
            if callee not in found:
                found.add(callee)
                names.append(callee)
    return {name: f for name, f in functions.items() if name in found}


def _written(
    functions: dict[str, func.FuncOp], ops: dict[str, list[Operation]], calls: dict[str, list[func.CallOp]]
) -> frozenset[tuple[str, int]]:
    written: set[tuple[str, int]] = set()
    for name, function in functions.items():
        if function.is_declaration:
            # Nobody knows what it does.
            written.update((name, i) for i in range(len(function.function_type.inputs.data)))
        else:
            _add(written, function, [op.operands[WRITTEN[op.__class__]] for op in ops[name] if op.__class__ in WRITTEN])
    before = -1
    while before != len(written):
        before = len(written)
        for name, inside in calls.items():
            for call in inside:
                callee = call.callee.string_value()
                passed = (a for i, a in enumerate(call.arguments) if (callee, i) in written)
                _add(written, functions[name], passed)
    return frozenset(written)


def _add(written: set[tuple[str, int]], function: func.FuncOp, values: Iterable[SSAValue]) -> None:
    for argument in map(root, values):
        if isinstance(argument, BlockArgument) and argument.block is function.body.blocks.first:
            written.add((function.sym_name.data, argument.index))


def _overlapping(calls: dict[str, list[func.CallOp]]) -> frozenset[str]:
    found: set[str] = set()
    before = -1
    while before != len(found):
        before = len(found)
        for name, inside in calls.items():
            for call in inside:
                buffers = [root(a) for a in call.arguments if is_memref(a.type)]
                if len(set(buffers)) < len(buffers) or (name in found and len(buffers) > 1):
                    found.add(call.callee.string_value())
    return frozenset(found)
