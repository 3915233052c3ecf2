"""One function of the IR as C text: scopes, statements, and which expressions become variables."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from xdsl.dialects import arith, func, memref, scf, vector
from xdsl.dialects.builtin import IndexType, UnrealizedConversionCastOp
from xdsl.ir import Attribute, Block, Operation, SSAValue

from layoutc.discardable import COMMENT
from layoutc.targets.errors import no_spelling
from layoutc.targets.functions.c_buffers import BUFFER_STATEMENTS, print_alias
from layoutc.targets.functions.c_control import print_for, print_if, print_yield
from layoutc.targets.functions.c_inlined import ZERO, is_inlined, needs_zero
from layoutc.targets.functions.c_parallel import print_parallel, print_reduce
from layoutc.targets.functions.c_vector_memory import VECTOR_MEMORY_STATEMENTS, aligned_buffers, streams
from layoutc.targets.functions.c_vectors import VECTOR_SPELLINGS, print_constant, print_insert
from layoutc.targets.functions.liveness import MENTIONS_LESS, live_ops
from layoutc.targets.spelling.c_arith import SPELLINGS, spell_constant
from layoutc.targets.spelling.c_context import Site, Spelling
from layoutc.targets.spelling.c_floats import is_fusible
from layoutc.targets.spelling.c_integers import index_sum
from layoutc.targets.spelling.c_lanes import LANE_SPELLINGS
from layoutc.targets.spelling.c_names import Names
from layoutc.targets.spelling.c_patterns import spell_pattern
from layoutc.targets.spelling.c_shuffles import Shuffles
from layoutc.targets.words.bounds import Bounds
from layoutc.targets.words.c_comments import comment_lines
from layoutc.targets.words.c_expressions import Expression, call
from layoutc.targets.words.c_text import INDENT, MAX_WIDTH, mentions, wrapped
from layoutc.targets.words.c_types import is_memref, is_vector, mask_name, scalar_name, type_name
from layoutc.targets.words.multiples import Divisors
from layoutc.walk import of_kind, operands, parents

MAX_FOLDED = 80
"""characters; a longer expression gets a variable of its own"""
LOOPS = (scf.ForOp, scf.ParallelOp)
UNMENTIONED = Expression("")
"""stands for an operand that the text of an op leaves out"""


@dataclass
class CFile:
    """What the functions of a file share: names by symbol, macros that need a zero, shuffles, helpers so far."""

    names: dict[str, str]
    fusing: frozenset[str]
    shuffles: Shuffles
    helpers: set[str] = field(default_factory=set[str])


class FunctionPrinter:
    """
    Prints the body of one function, whose ops come in the order of the text.

    `values` has the text of every value; those in `pending` are expressions that their one use takes up.
    """

    def __init__(self, function: func.FuncOp, ops: Sequence[Operation], names: Names, file: CFile) -> None:
        self.function, self.ops, self.names, self.file = function, ops, names, file
        self.bounds, self.divisors = Bounds(), Divisors()
        self.live, self.mentioned, self.patterns = live_ops(ops)
        self.values: dict[SSAValue, Expression] = {}
        self.pending: dict[SSAValue, Expression] = {}
        self.aligned_buffers: dict[SSAValue, str] = {}
        self.zero = ""
        self.lines: list[str] = []
        self.depth = 1

    # --- text ----------------------------------------------------------------------------------------------------

    def line(self, text: str) -> None:
        self.lines.append(INDENT * self.depth + text)

    def long_line(self, text: str) -> None:
        """A statement that is broken where it is too wide."""
        line = INDENT * self.depth + text
        if len(line) <= MAX_WIDTH:
            self.lines.append(line)
        else:
            self.lines += wrapped(line)

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
        for buffer, size in aligned_buffers(self.function.body.block.args, self.ops, self.divisors).items():
            self.ask_alignment(buffer, size)
        if is_inlined(self.function):
            self.zero = ZERO
        elif any(is_fusible(op) and id(op) in self.live for op in self.ops) or needs_zero(self.ops, self.file.fusing):
            self.zero = self.names.fresh("zero")
            self.line(f"const int64_t {self.zero} = {self.helper('opaque_zero').text};")
        self.block(self.function.body.block)
        text = "\n".join(self.lines)
        unused = [name for name in arguments if not mentions(text, name)]
        return [f"{INDENT}(void){name};" for name in unused] + self.lines

    def ask_alignment(self, buffer: SSAValue, size: int) -> None:
        """A variable that says whether a buffer starts at a multiple of so many bytes."""
        pointer = self.values[buffer]
        name = self.names.fresh(f"{pointer.text}_is_aligned")
        asked = self.helper("is_aligned", pointer, Expression(str(size)))
        self.line(f"const bool {name} = {asked.text};")
        self.aligned_buffers[buffer] = name

    # --- values --------------------------------------------------------------------------------------------------

    def take(self, value: SSAValue) -> Expression:
        """The text of a value, for its use."""
        return self.pending.pop(value, None) or self.values[value]

    def is_live(self, value: SSAValue) -> bool:
        """Whether a value has a text: not if all that use it leave it out, as affine.apply may."""
        return id(value.owner) in self.live or isinstance(value.owner, Block)

    def declare(
        self, value: SSAValue, text: str, qualifier: str = "const ", mask_bits: int = 0, cast: Attribute | None = None
    ) -> str:
        """A variable for a value, which may be a mask, or of the type that it is cast to; its name."""
        name = self.names.fresh(value.name_hint, "value")
        type = mask_name(value.type, mask_bits) if mask_bits else type_name(cast or value.type)
        self.long_line(f"{qualifier}{type} {name} = {text};")
        self.values[value] = Expression(name, mask_bits=mask_bits)
        return name

    def define(self, op: Operation, expression: Expression, changes: bool = True) -> None:
        """The result of an op without side effects: a literal, a part of its one use, or a variable."""
        (value,) = op.results
        type_name(value.type)
        if expression.literal is not None or expression.is_name:
            self.values[value] = expression
        elif self.is_folded(op, value, expression, changes):
            self.pending[value] = expression
        else:
            self.declare(value, expression.text, mask_bits=expression.mask_bits)

    def is_folded(self, op: Operation, value: SSAValue, expression: Expression, changes: bool) -> bool:
        """
        Whether the one use of an op takes its text up. A load is folded whatever its name, other ops
        if they have none, or do nothing in C; nothing that is read again on every turn of a loop.
        """
        if changes and value.name_hint is not None and op.__class__ is not memref.LoadOp:
            return False
        use = value.get_user_of_unique_use()
        if use is None or use.parent is not op.parent or len(expression.text) > MAX_FOLDED:
            return False
        return use.__class__ not in LOOPS or value in getattr(use, "iter_args", ())

    def helper(self, name: str, *arguments: Expression) -> Expression:
        """A call of a helper, which the file gets for it."""
        self.file.helpers.add(name)
        return call(name, *arguments)

    def settle_reads(self) -> None:
        """Before memory may change: expressions that read it and are not used yet become variables."""
        for value in [value for value, expression in self.pending.items() if expression.reads]:
            expression = self.pending.pop(value)
            self.declare(value, expression.text, mask_bits=expression.mask_bits)

    # --- ops -----------------------------------------------------------------------------------------------------

    def block(self, block: Block) -> None:
        op, live = block.first_op, self.live
        while op is not None:
            if id(op) in live:
                self.operation(op)
            op = op.next_op

    def operation(self, op: Operation) -> None:
        if COMMENT in op.attributes:
            for line in comment_lines(op):
                self.line(line)
        if (statement := STATEMENTS.get(op.__class__)) is not None:
            statement(self, op)
        elif (spelling := LANE_SPELLINGS.get(op.__class__)) is not None and is_vector(op.results[0].type):
            self.spelled(op, spelling)
        elif (spelling := SPELLINGS.get(op.__class__)) is not None:
            self.scalars(op, spelling)
        elif (spelling := VECTOR_SPELLINGS.get(op.__class__)) is not None:
            self.spelled(op, spelling)
        else:
            raise no_spelling(op)

    def spelled(self, op: Operation, spelling: Spelling) -> None:
        found = self.patterns.get(id(op))
        if op.__class__ in MENTIONS_LESS:
            taken = [self.take(value) if self.is_live(value) else UNMENTIONED for value in operands(op)]
        else:
            taken = [self.take(value) for value in (operands(op) if found is None else found.operands)]
        site = Site(op, taken, self.bounds, self.file.helpers, self.file.shuffles, self.zero)
        expression = spelling(site) if found is None else spell_pattern(site, found)
        self.define(op, expression, changes=not any(expression is operand for operand in taken))

    def constant(self, op: arith.ConstantOp) -> None:
        (value,) = op.results
        if is_vector(value.type):
            print_constant(self, op)
        else:
            self.values[value] = spell_constant(op)

    def cast(self, op: UnrealizedConversionCastOp) -> None:
        """Of a value, or of a buffer: booleans as bytes."""
        if is_memref(op.results[0].type) and len(op.operands) == 1 and is_memref(op.operands[0].type):
            print_alias(self, op)
        else:
            self.scalars(op, SPELLINGS[UnrealizedConversionCastOp])

    def addition(self, op: arith.AddiOp) -> None:
        """Of indices, which offsets are made of by the hundred; of others as arithmetic is spelt."""
        (result,), (lhs, rhs) = op.results, operands(op)
        if result.type.__class__ is IndexType:
            self.define(op, index_sum(self.take(lhs), self.take(rhs)))
        elif is_vector(result.type):
            self.spelled(op, LANE_SPELLINGS[arith.AddiOp])
        else:
            self.scalars(op, SPELLINGS[arith.AddiOp])

    def scalars(self, op: Operation, spelling: Spelling) -> None:
        for value in (*operands(op), *op.results):
            scalar_name(value.type)
        self.spelled(op, spelling)

    def call(self, op: func.CallOp) -> None:
        if len(op.res) > 1:
            raise no_spelling(op, f"with {len(op.res)} results, expected one at most")
        callee = op.callee.string_value()
        given = [self.take(value) for value in op.arguments]
        if callee in self.file.fusing:
            given.append(Expression(self.zero))
        called = call(self.file.names[callee], *given)
        self.settle_reads()
        if op.res and any(id(use.operation) in self.live for use in op.res[0].uses):
            self.declare(op.res[0], called.text)
        else:
            self.line(f"{called.text};")

    def fence(self) -> None:
        """Non-temporal stores come before what follows."""
        self.line(f"{self.helper('stream_fence').text};")

    def return_(self, op: func.ReturnOp) -> None:
        if any(streams(inner) and not is_in_parallel(inner) for inner in of_kind(self.ops, vector.StoreOp)):
            self.fence()
        for value in op.arguments:
            word = "" if is_inlined(self.function) else "return "
            self.line(f"{word}{self.take(value).text};")


def is_in_parallel(op: Operation) -> bool:
    """Whether an op is inside of an scf.parallel of its function."""
    return any(isinstance(parent, scf.ParallelOp) for parent in parents(op))


STATEMENTS: dict[type[Operation], Callable[[FunctionPrinter, Any], None]] = {
    **BUFFER_STATEMENTS,
    **VECTOR_MEMORY_STATEMENTS,
    vector.InsertOp: print_insert,
    arith.ConstantOp: FunctionPrinter.constant,
    arith.AddiOp: FunctionPrinter.addition,
    UnrealizedConversionCastOp: FunctionPrinter.cast,
    scf.ForOp: print_for,
    scf.IfOp: print_if,
    scf.YieldOp: print_yield,
    scf.ParallelOp: print_parallel,
    scf.ReduceOp: print_reduce,
    func.CallOp: FunctionPrinter.call,
    func.ReturnOp: FunctionPrinter.return_,
}
