"""How C spells scf.parallel: as OpenMP's loops, which a compiler without it takes for plain ones."""

from __future__ import annotations

from contextlib import ExitStack
from typing import TYPE_CHECKING

from xdsl.dialects import scf, vector
from xdsl.dialects.builtin import IntegerAttr

from layoutc.discardable import THREADS
from layoutc.targets.errors import no_spelling
from layoutc.targets.functions.c_control import LoopBounds, loop
from layoutc.targets.functions.c_vector_memory import streams
from layoutc.walk import of_kind, ops_of

if TYPE_CHECKING:
    from layoutc.targets.functions.c_function import FunctionPrinter


def print_parallel(printer: FunctionPrinter, op: scf.ParallelOp) -> None:
    """The loops of all indices, shared by threads; a thread that stores past the caches ends with a fence."""
    if op.initVals or not op.lowerBound:
        raise no_spelling(op, "with reductions" if op.initVals else "without an index")
    bounds = zip(op.lowerBound, op.upperBound, op.step, strict=True)
    taken = [(printer.take(low), printer.take(high), printer.take(step)) for low, high, step in bounds]
    printer.settle_reads()
    if not any(map(streams, of_kind(ops_of(op), vector.StoreOp))):
        printer.line(_pragma("parallel for", _collapse(op), _threads(op)))
        _print_loops(printer, op, taken)
        return
    printer.line(_pragma("parallel", _threads(op)))
    printer.line("{")
    with printer.nested():
        printer.line(_pragma("for", _collapse(op), "nowait"))
        _print_loops(printer, op, taken)
        printer.fence()
    printer.line("}")


def print_reduce(printer: FunctionPrinter, op: scf.ReduceOp) -> None:
    """The end of a body in which nothing is reduced: nothing to say."""


def _print_loops(printer: FunctionPrinter, op: scf.ParallelOp, bounds: list[LoopBounds]) -> None:
    with ExitStack() as stack:
        for index, bound in zip(op.body.block.args, bounds, strict=True):
            stack.enter_context(loop(printer, op, index, bound))
        printer.block(op.body.block)


def _collapse(op: scf.ParallelOp) -> str:
    count = len(op.lowerBound)
    return f"collapse({count})" if count > 1 else ""


def _threads(op: scf.ParallelOp) -> str:
    match op.attributes.get(THREADS):
        case IntegerAttr(value=threads) if threads.data > 0:
            return f"num_threads({threads.data})"
        case None:
            return ""
        case other:
            raise no_spelling(op, f"with {THREADS} = {other}, expected a positive integer")


def _pragma(directive: str, *clauses: str) -> str:
    return " ".join(filter(None, ("#pragma omp", directive, *clauses)))
