"""How C spells the ops of `memref`: buffers that are made, seen otherwise and copied, and elements in them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from xdsl.dialects import memref
from xdsl.dialects.builtin import UnrealizedConversionCastOp
from xdsl.ir import Operation, SSAValue
from xdsl.traits import SymbolTable

from layoutc.memref_prefetch import PrefetchOp
from layoutc.targets.errors import no_spelling
from layoutc.targets.spelling.c_memory import address_at, check_alias, element_at, heap_buffer, local_array, whole_copy
from layoutc.targets.words.c_expressions import Expression, cast
from layoutc.targets.words.c_types import is_memref

if TYPE_CHECKING:
    from layoutc.targets.functions.c_function import FunctionPrinter


def _print_load(printer: FunctionPrinter, op: memref.LoadOp) -> None:
    printer.define(op, _element(printer, op.memref, op.indices))


def _print_store(printer: FunctionPrinter, op: memref.StoreOp) -> None:
    value = printer.take(op.value)
    target = _element(printer, op.memref, op.indices)
    printer.settle_reads()
    printer.line(f"{target.text} = {value.text};")


def _element(printer: FunctionPrinter, buffer: SSAValue, indices: Sequence[SSAValue]) -> Expression:
    type = buffer.type
    assert is_memref(type)
    return element_at(type, printer.take(buffer), [printer.take(index) for index in indices])


def _print_alloca(printer: FunctionPrinter, op: memref.AllocaOp) -> None:
    name = printer.names.fresh(op.memref.name_hint, "buffer")
    _print_buffer(printer, op, name, local_array(op, name))


def _print_buffer(printer: FunctionPrinter, op: memref.AllocaOp | memref.AllocOp, name: str, text: str) -> None:
    """The definition of a buffer; of one that nothing uses there is none, which compilers would warn of."""
    if op.memref.uses:
        printer.line(f"{text};")
        printer.values[op.memref] = Expression(name)


def _print_alloc(printer: FunctionPrinter, op: memref.AllocOp) -> None:
    name = printer.names.fresh(op.memref.name_hint, "buffer")
    text = heap_buffer(op, name)
    if op.memref.uses:
        printer.file.helpers.add("allocated")
    _print_buffer(printer, op, name, text)


def _print_dealloc(printer: FunctionPrinter, op: memref.DeallocOp) -> None:
    printer.settle_reads()
    printer.line(f"free({printer.take(op.memref).text});")


def _print_copy(printer: FunctionPrinter, op: memref.CopyOp) -> None:
    text = whole_copy(op, printer.take(op.source), printer.take(op.destination))
    printer.settle_reads()
    printer.line(f"{text};")


def print_alias(
    printer: FunctionPrinter, op: memref.ReinterpretCastOp | memref.CastOp | UnrealizedConversionCastOp
) -> None:
    """The same pointer: the type of the result says the rest."""
    check_alias(op)
    printer.values[op.results[0]] = printer.values[op.operands[0]]


def _print_address(printer: FunctionPrinter, op: memref.ExtractAlignedPointerAsIndexOp) -> None:
    pointer = cast("uintptr_t", printer.take(op.source))
    printer.define(op, cast("int64_t", pointer))


def _print_global(printer: FunctionPrinter, op: memref.GetGlobalOp) -> None:
    """The name of an array that stands ahead of all functions."""
    found, name = SymbolTable.lookup_symbol(op, op.name_), op.name_.string_value()
    if not isinstance(found, memref.GlobalOp):
        raise no_spelling(op, f"of {name!r}, which the module does not have")
    if found.type != op.memref.type:
        raise no_spelling(op, f"of {name!r} as {op.memref.type}, expected {found.type}")
    printer.values[op.memref] = Expression(printer.file.names[name])


def _print_prefetch(printer: FunctionPrinter, op: PrefetchOp) -> None:
    """Asks for a line of data, which C compilers have a builtin for."""
    if not op.is_data.value.data:
        raise no_spelling(op, "of instructions")
    type = op.memref.type
    assert is_memref(type)
    address = address_at(type, printer.take(op.memref), [printer.take(index) for index in op.indices])
    printer.line(f"__builtin_prefetch({address.text}, {int(bool(op.is_write.value.data))}, {op.locality.value.data});")


BUFFER_STATEMENTS: dict[type[Operation], Callable[[FunctionPrinter, Any], None]] = {
    memref.LoadOp: _print_load,
    memref.StoreOp: _print_store,
    memref.AllocaOp: _print_alloca,
    memref.AllocOp: _print_alloc,
    memref.DeallocOp: _print_dealloc,
    memref.CopyOp: _print_copy,
    memref.ReinterpretCastOp: print_alias,
    memref.CastOp: print_alias,
    memref.ExtractAlignedPointerAsIndexOp: _print_address,
    memref.GetGlobalOp: _print_global,
    PrefetchOp: _print_prefetch,
}
"""how each op on buffers is printed"""
