"""How C spells scf.parallel: as OpenMP's, which a compiler without it takes for plain loops."""

from __future__ import annotations

from typing import TYPE_CHECKING

from xdsl.dialects import func, scf
from xdsl.dialects.builtin import IntegerAttr
from xdsl.ir import Operation

from layoutc.targets.c_vectors import streams
from layoutc.targets.errors import no_spelling

if TYPE_CHECKING:
    from layoutc.targets.c_function import FunctionPrinter

THREADS = "layout.threads"
"""on an scf.parallel: how many threads share its iterations; without it, as many as OpenMP has"""


def print_parallel(printer: FunctionPrinter, op: scf.ParallelOp) -> None:
    """
    The loops of all indices, shared by threads. Each thread that stores past the caches ends with a fence.
    """
    if op.initVals or not op.lowerBound:
        raise no_spelling(op, "with reductions" if op.initVals else "without an index")
    bounds = [[printer.take(value) for value in values] for values in (op.lowerBound, op.upperBound, op.step)]
    printer.settle_reads()
    clauses = _collapse(op), _threads(op)
    if not streams_inside(op):
        printer.lines.append(_pragma("parallel for", *clauses))
        _print_loops(printer, op, bounds)
        return
    printer.lines += [_pragma("parallel", clauses[1]), ]


def _pragma(directive: str, *clauses: str) -> str:
    return " ".join(filter(None, ("#pragma omp", directive, *clauses)))
