"""How C spells scf.for and scf.if: values that leave them are variables of C."""

from __future__ import annotations

import re
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from xdsl.dialects import scf
from xdsl.ir import Block, Operation, SSAValue

from layoutc.targets.errors import no_spelling
from layoutc.targets.words.c_expressions import Expression
from layoutc.targets.words.c_text import INDENT
from layoutc.targets.words.c_types import scalar_name, type_name

if TYPE_CHECKING:
    from layoutc.targets.functions.c_function import FunctionPrinter

LoopBounds = tuple[Expression, Expression, Expression]
"""where a loop begins, where it ends, and its step"""
LOOP_NAMES = ("i", "j", "k", "l", "m", "n")


def print_for(printer: FunctionPrinter, op: scf.ForOp) -> None:
    low, high, step, *initial = [printer.take(value) for value in op.operands]
    printer.settle_reads()
    body = op.body.block
    index, *carried = body.args
    for argument, result, start in zip(carried, op.results, initial, strict=True):
        printer.values[result] = Expression(_carried(printer, argument, result, start))
        printer.values[argument] = printer.values[result]
    with loop(printer, op, index, (low, high, step)):
        printer.block(body)
    _mention_unused(printer, op.results, carried)


@contextmanager
def loop(printer: FunctionPrinter, op: Operation, index: SSAValue, bounds: LoopBounds) -> Generator[None, None, None]:
    """`for (...) {`, what is printed inside, and `}`."""
    low, high, step = bounds
    if step.literal is not None and step.literal <= 0:
        raise no_spelling(op, f"with step {step.literal}, expected a positive one")
    with printer.nested():
        name = printer.names.fresh(index.name_hint, *LOOP_NAMES)
        printer.values[index] = Expression(name)
        advance = f"{name}++" if step.literal == 1 else f"{name} += {step.text}"
        head = f"for ({scalar_name(index.type)} {name} = {low.text}; {name} < {high.at_least(11)}; {advance}) {{"
        printer.lines.append(INDENT * (printer.depth - 1) + head)
        yield
    printer.line("}")


def _carried(printer: FunctionPrinter, argument: SSAValue, result: SSAValue, start: Expression) -> str:
    """The variable of a value that goes from turn to turn, and out of the loop."""
    name = printer.names.fresh(argument.name_hint or result.name_hint, "carried")
    printer.line(f"{type_name(result.type)} {name} = {start.text};")
    return name


def print_if(printer: FunctionPrinter, op: scf.IfOp) -> None:
    condition = printer.take(op.cond)
    printer.settle_reads()
    for result in op.output:
        name = printer.names.fresh(result.name_hint, "chosen")
        printer.line(f"{type_name(result.type)} {name};")
        printer.values[result] = Expression(name)
    printer.line(f"if ({condition.text}) {{")
    _branch(printer, op.true_region.block)
    if op.false_region.blocks and (op.output or not _is_empty(op.false_region.block)):
        printer.line("} else {")
        _branch(printer, op.false_region.block)
    printer.line("}")
    _mention_unused(printer, op.output)


def _branch(printer: FunctionPrinter, block: Block) -> None:
    with printer.nested():
        printer.block(block)


def _mention_unused(printer: FunctionPrinter, results: Sequence[SSAValue], inside: Sequence[SSAValue] = ()) -> None:
    """Variables that are set and never read are warnings."""
    for position, result in enumerate(results):
        uses = [*result.uses, *(inside[position].uses if inside else ())]
        if not any(id(use.operation) in printer.live for use in uses):
            printer.line(f"(void){printer.values[result].text};")


def print_yield(printer: FunctionPrinter, op: scf.YieldOp) -> None:
    """Assign to the variables of the parent's results, all at once."""
    parent = op.parent_op()
    if not isinstance(parent, scf.ForOp | scf.IfOp):
        raise no_spelling(op)
    moves = [
        (printer.values[result].text, printer.take(value), value)
        for result, value in zip(parent.results, op.arguments, strict=True)
    ]
    assigned: set[str] = set()
    for position, (name, expression, value) in enumerate(moves):
        if assigned & set(re.findall(r"\w+", expression.text)):
            moves[position] = (name, _before(printer, expression, value), value)
        assigned.add(name)
    for name, expression, _ in moves:
        if name != expression.text:
            printer.line(f"{name} = {expression.text};")


def _before(printer: FunctionPrinter, expression: Expression, value: SSAValue) -> Expression:
    """A copy of an expression whose variables are about to change."""
    name = printer.names.fresh(value.name_hint, "value")
    printer.line(f"const {type_name(value.type)} {name} = {expression.text};")
    return Expression(name)


def _is_empty(block: Block) -> bool:
    return len(block.ops) <= 1
