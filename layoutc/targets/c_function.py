"""One function of the IR as C text: scopes, statements, and which expressions become variables."""

from __future__ import annotations

import re
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from typing import Any

from xdsl.dialects import arith, func, memref, scf
from xdsl.ir import Block, Operation, SSAValue

from layoutc.targets.bounds import Bounds
from layoutc.targets.c_arith import SPELLINGS, spell_constant
from layoutc.targets.c_comments import comment_lines
from layoutc.targets.c_context import Site
from layoutc.targets.c_expressions import Expression, call
from layoutc.targets.c_memory import check_alias, element_at, heap_buffer, local_array
from layoutc.targets.c_names import Names
from layoutc.targets.c_types import is_memref, scalar_name
from layoutc.targets.errors import no_spelling
from layoutc.targets.liveness import live_ops

INDENT = "  "
MAX_FOLDED = 80
"""characters; a longer expression gets a variable of its own"""

LOOP_NAMES = ("i", "j", "k", "l", "m", "n")


class FunctionPrinter:
    """
    Prints the body of one function.

    `values` has the text of every value; those in `pending` are expressions that their one use takes up.
    """

    def __init__(self, function: func.FuncOp, function_names: dict[str, str], helpers: set[str]) -> None:
        self.function = function
        self.function_names = function_names
        self.names = Names(function_names.values())
        self.bounds, self.helpers = Bounds(), helpers
        self.live = live_ops(function)
        self.values: dict[SSAValue, Expression] = {}
        self.pending: dict[SSAValue, Expression] = {}
        self.lines: list[str] = []
        self.depth = 1

    # --- text ----------------------------------------------------------------------------------------------------

    def line(self, text: str) -> None:
        self.lines.append(INDENT * self.depth + text)

    @contextmanager
    def nested(self) -> Generator[None, None, None]:
        self.depth += 1
        with self.names.scope():
            yield
        self.depth -= 1

    def body(self, arguments: Sequence[str]) -> list[str]:
        """The lines between the braces, given the names of the arguments."""
        for argument, name in zip(self.function.body.block.args, arguments, strict=True):
            self.values[argument] = Expression(name)
        self.block(self.function.body.block)
        text = "\n".join(self.lines)
        unused = [name for name in arguments if not re.search(rf"\b{name}\b", text)]
        return [f"{INDENT}(void){name};" for name in unused] + self.lines

    # --- values --------------------------------------------------------------------------------------------------

    def take(self, value: SSAValue) -> Expression:
        """The text of a value, for its use."""
        return self.pending.pop(value, None) or self.values[value]

    def declare(self, value: SSAValue, text: str, qualifier: str = "const ") -> str:
        """A variable for a value; its name."""
        name = self.names.fresh(value.name_hint, "value")
        self.line(f"{qualifier}{scalar_name(value.type)} {name} = {text};")
        self.values[value] = Expression(name)
        return name

    def define(self, op: Operation, expression: Expression, changes: bool = True) -> None:
        """The result of an op without side effects: a literal, a part of its one use, or a variable."""
        value = op.results[0]
        scalar_name(value.type)
        if expression.literal is not None or expression.is_name:
            self.values[value] = expression
        elif self.is_folded(op, expression, changes):
            self.pending[value] = expression
        else:
            self.declare(value, expression.text)

    def is_folded(self, op: Operation, expression: Expression, changes: bool) -> bool:
        """
        Whether the one use of an op takes its text up. A load is folded whatever its name, other ops
        if they have none, or do nothing in C; nothing that is read again on every turn of a loop.
        """
        use = op.results[0].get_user_of_unique_use()
        if use is None or use.parent is not op.parent or len(expression.text) > MAX_FOLDED:
            return False
        if isinstance(use, scf.ForOp) and op.results[0] in (use.lb, use.ub, use.step):
            return False
        return op.results[0].name_hint is None or isinstance(op, memref.LoadOp) or not changes

    def settle_reads(self) -> None:
        """Before memory may change: expressions that read it and are not used yet become variables."""
        for value in [value for value, expression in self.pending.items() if expression.reads]:
            self.declare(value, self.pending.pop(value).text)

    # --- ops -----------------------------------------------------------------------------------------------------

    def block(self, block: Block) -> None:
        for op in block.ops:
            if op in self.live:
                self.operation(op)
                self.bounds.visit(op)

    def operation(self, op: Operation) -> None:
        for line in comment_lines(op):
            self.line(line)
        if (statement := STATEMENTS.get(op.__class__)) is not None:
            statement(self, op)
        elif (spelling := SPELLINGS.get(op.__class__)) is not None:
            for value in op.operands:
                scalar_name(value.type)
            operands = [self.take(value) for value in op.operands]
            expression = spelling(Site(op, operands, self.bounds, self.helpers))
            self.define(op, expression, changes=all(expression is not operand for operand in operands))
        else:
            raise no_spelling(op)

    def constant(self, op: arith.ConstantOp) -> None:
        self.values[op.result] = spell_constant(op)

    def alias(self, op: memref.ReinterpretCastOp | memref.CastOp) -> None:
        check_alias(op)
        self.values[op.results[0]] = self.values[op.operands[0]]

    def element(self, buffer: SSAValue, indices: Sequence[SSAValue]) -> Expression:
        type = buffer.type
        assert is_memref(type)
        return element_at(type, self.take(buffer), [self.take(index) for index in indices])

    def load(self, op: memref.LoadOp) -> None:
        self.define(op, self.element(op.memref, op.indices))

    def store(self, op: memref.StoreOp) -> None:
        value = self.take(op.value)
        target = self.element(op.memref, op.indices)
        self.settle_reads()
        self.line(f"{target.text} = {value.text};")

    def alloca(self, op: memref.AllocaOp) -> None:
        name = self.names.fresh(op.memref.name_hint, "buffer")
        self.line(f"{local_array(op, name)};")
        self.values[op.memref] = Expression(name)

    def alloc(self, op: memref.AllocOp) -> None:
        name = self.names.fresh(op.memref.name_hint, "buffer")
        self.helpers.add("allocated")
        self.line(f"{heap_buffer(op, name)};")
        self.values[op.memref] = Expression(name)

    def dealloc(self, op: memref.DeallocOp) -> None:
        self.settle_reads()
        self.line(f"free({self.take(op.memref).text});")

    def call(self, op: func.CallOp) -> None:
        if len(op.res) > 1:
            raise no_spelling(op, f"with {len(op.res)} results, expected one at most")
        called = call(self.function_names[op.callee.string_value()], *(self.take(value) for value in op.arguments))
        self.settle_reads()
        if op.res and any(use.operation in self.live for use in op.res[0].uses):
            self.declare(op.res[0], called.text)
        else:
            self.line(f"{called.text};")

    def return_(self, op: func.ReturnOp) -> None:
        for value in op.arguments:
            self.line(f"return {self.take(value).text};")

    # --- structured control flow ---------------------------------------------------------------------------------

    def for_(self, op: scf.ForOp) -> None:
        low, high, step = (self.take(value) for value in (op.lb, op.ub, op.step))
        if step.literal is not None and step.literal <= 0:
            raise no_spelling(op, f"with step {step.literal}, expected a positive one")
        initial = [self.take(value) for value in op.iter_args]
        self.settle_reads()
        index, *carried = op.body.block.args
        for argument, result, start in zip(carried, op.res, initial, strict=True):
            self.values[result] = Expression(self._carried(argument, result, start))
            self.values[argument] = self.values[result]
        with self.nested():
            name = self.names.fresh(index.name_hint, *LOOP_NAMES)
            self.values[index] = Expression(name)
            self.bounds.visit(op)
            advance = f"{name}++" if step.literal == 1 else f"{name} += {step.text}"
            type = scalar_name(index.type)
            head = f"for ({type} {name} = {low.text}; {name} < {high.at_least(11)}; {advance}) {{"
            self.lines.append(INDENT * (self.depth - 1) + head)
            self.block(op.body.block)
        self.line("}")
        self._mention_unused(op.res, carried)

    def _carried(self, argument: SSAValue, result: SSAValue, start: Expression) -> str:
        """The variable of a value that goes from turn to turn, and out of the loop."""
        name = self.names.fresh(argument.name_hint or result.name_hint, "carried")
        self.line(f"{scalar_name(result.type)} {name} = {start.text};")
        return name

    def if_(self, op: scf.IfOp) -> None:
        condition = self.take(op.cond)
        self.settle_reads()
        for result in op.output:
            name = self.names.fresh(result.name_hint, "chosen")
            self.line(f"{scalar_name(result.type)} {name};")
            self.values[result] = Expression(name)
        self.line(f"if ({condition.text}) {{")
        self._branch(op.true_region.block)
        if op.false_region.blocks and (op.output or not _is_empty(op.false_region.block)):
            self.line("} else {")
            self._branch(op.false_region.block)
        self.line("}")
        self._mention_unused(op.output)

    def _branch(self, block: Block) -> None:
        with self.nested():
            self.block(block)

    def _mention_unused(self, results: Sequence[SSAValue], inside: Sequence[SSAValue] = ()) -> None:
        """Variables that are set and never read are warnings."""
        for position, result in enumerate(results):
            uses = [*result.uses, *(inside[position].uses if inside else ())]
            if not any(use.operation in self.live for use in uses):
                self.line(f"(void){self.values[result].text};")

    def yield_(self, op: scf.YieldOp) -> None:
        """Assign to the variables of the parent's results, all at once."""
        parent = op.parent_op()
        if not isinstance(parent, scf.ForOp | scf.IfOp):
            raise no_spelling(op)
        moves = [
            (self.values[result].text, self.take(value), value)
            for result, value in zip(parent.results, op.arguments, strict=True)
        ]
        assigned: set[str] = set()
        for position, (name, expression, value) in enumerate(moves):
            if assigned & set(re.findall(r"\w+", expression.text)):
                moves[position] = (name, self._before(expression, value), value)
            assigned.add(name)
        for name, expression, _ in moves:
            if name != expression.text:
                self.line(f"{name} = {expression.text};")

    def _before(self, expression: Expression, value: SSAValue) -> Expression:
        """A copy of an expression whose variables are about to change."""
        name = self.names.fresh(value.name_hint, "value")
        self.line(f"const {scalar_name(value.type)} {name} = {expression.text};")
        return Expression(name)


def _is_empty(block: Block) -> bool:
    return len(block.ops) <= 1


STATEMENTS: dict[type[Operation], Callable[[FunctionPrinter, Any], None]] = {
    arith.ConstantOp: FunctionPrinter.constant,
    memref.LoadOp: FunctionPrinter.load,
    memref.StoreOp: FunctionPrinter.store,
    memref.AllocOp: FunctionPrinter.alloc,
    memref.AllocaOp: FunctionPrinter.alloca,
    memref.DeallocOp: FunctionPrinter.dealloc,
    memref.ReinterpretCastOp: FunctionPrinter.alias,
    memref.CastOp: FunctionPrinter.alias,
    scf.ForOp: FunctionPrinter.for_,
    scf.IfOp: FunctionPrinter.if_,
    scf.YieldOp: FunctionPrinter.yield_,
    func.CallOp: FunctionPrinter.call,
    func.ReturnOp: FunctionPrinter.return_,
}
