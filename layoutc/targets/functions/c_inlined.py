"""
Functions that stand for their text: macros, as vectors that are handed to functions depend on the processor.

```mlir
func.func private @twice(%x : vector<16xf32>) -> vector<16xf32> attributes {layout.inlined} {
  %sum = arith.addf %x, %x : vector<16xf32>
  func.return %sum : vector<16xf32>
}
```
becomes
```c
#define twice(x) \\
  __extension__ ({ \\
    const f32x16 x_in = (x); \\
    const f32x16 sum_in = x_in + x_in; \\
    sum_in; \\
  })
```
What such a function gives is stored, and goes into no sum. One of bytes is two macros: a table, and its arithmetic.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from xdsl.dialects import func
from xdsl.ir import Operation

from layoutc.discardable import INLINED
from layoutc.targets.errors import EmissionError
from layoutc.targets.helpers.c_byte_tables import BYTES, LOOKED_UP, looked_up, shortest, table_text
from layoutc.targets.helpers.c_word_tables import WORDS_OF, words_held, words_looked_up
from layoutc.targets.patterns.byte_functions import byte_table
from layoutc.targets.spelling.c_floats import is_fusible
from layoutc.targets.spelling.c_names import IN_MACRO, Names
from layoutc.targets.words.c_text import INDENT
from layoutc.targets.words.c_types import type_name
from layoutc.walk import of_kind

ZERO = "zero"
"""a macro's last parameter, where it needs a zero that the compiler does not know"""


class LocalNames(Names):
    """Those in a macro, which no text that it is given has; without their end, they are its parameters."""

    def __init__(self, taken: frozenset[str], end: str) -> None:
        super().__init__(taken)
        self.end = end

    def _is_free(self, name: str) -> bool:
        return name != ZERO and super()._is_free(name)

    def fresh(self, hint: str | None, *defaults: str) -> str:
        return super().fresh(hint, *defaults) + self.end


def is_inlined(function: func.FuncOp) -> bool:
    """Whether a function is a macro."""
    return INLINED in function.attributes


def end_of_names(
    name: str,
    functions: Mapping[str, func.FuncOp],
    calls: Mapping[str, Sequence[func.CallOp]],
    callers: tuple[str, ...] = (),
) -> str:
    """What names end in, in a macro: more than in those that it calls, whose variables would hide its own."""
    if name in callers:
        raise EmissionError(f"function {name!r} is inlined into itself")
    called = {call.callee.string_value() for call in calls[name]}
    macros = [callee for callee in called if is_inlined(functions[callee])]
    return IN_MACRO + max((end_of_names(m, functions, calls, (*callers, name)) for m in macros), key=len, default="")


def fusing(functions: Mapping[str, func.FuncOp], ops: Mapping[str, Sequence[Operation]]) -> frozenset[str]:
    """The names of the macros that need a zero."""
    return frozenset(
        name for name, function in functions.items() if is_inlined(function) and any(map(is_fusible, ops[name]))
    )


def needs_zero(ops: Sequence[Operation], fusing: frozenset[str]) -> bool:
    """Whether any of these calls is of a macro that needs a zero."""
    return bool(fusing) and any(call.callee.string_value() in fusing for call in of_kind(ops, func.CallOp))


@dataclass(frozen=True)
class Macro:
    """A function as a macro: its arguments' names inside, their end, and its statements, which may need a zero."""

    function: func.FuncOp
    name: str
    inside: Sequence[str]
    end: str
    body: Sequence[str]
    has_zero: bool

    def text(self) -> str:
        taken = [local.removesuffix(self.end) for local in self.inside]
        types = (type_name(argument.type) for argument in self.function.body.block.args)
        held = [f"{INDENT}const {t} {a} = ({b});" for t, a, b in zip(types, self.inside, taken, strict=True)]
        head = f"#define {self.name}({', '.join((*taken, *([ZERO] if self.has_zero else [])))})"
        lines = (head, f"{INDENT}__extension__ ({{", *(INDENT + line for line in (*held, *self.body)), f"{INDENT}}})")
        return " \\\n".join(lines)


def macro_with_table(computed: Macro, tables: dict[bytes, str], name: str) -> str:
    """A macro that is looked up if it is one of bytes: in one of the tables there are, or one more of that name."""
    table = byte_table(computed.function, LOOKED_UP)
    if table is None:
        return computed.text()
    type: Any = computed.function.function_type.outputs.data[0]
    lanes, is_word = type.get_shape()[0], len(table) > BYTES
    if is_word and lanes not in WORDS_OF:
        return computed.text()
    held = words_held(table) if is_word else shortest(table)
    above = [] if held in tables else [table_text(name, held)]
    given = computed.inside[0], lanes, type_name(type), tables.setdefault(held, name)
    ways = words_looked_up(*given, table) if is_word else looked_up(*given, held)
    starts = ("#if", *["#elif"] * (len(ways) - 1))
    texts = [
        f"{start} {condition}\n{_looking_up(computed, statements)}"
        for start, (condition, statements) in zip(starts, ways, strict=True)
    ]
    others = f"#else\n{computed.text()}\n#endif"
    return "\n\n".join((*above, "\n".join((*texts, others))))


def _looking_up(computed: Macro, statements: Sequence[str]) -> str:
    """A macro with other statements, which need no zero."""
    unused = [f"(void)({ZERO});"] if computed.has_zero else []
    body = [INDENT + line for line in (*unused, *statements)]
    return replace(computed, body=body).text()
