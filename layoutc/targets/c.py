"""
The target `c`: a module of structured IR as one standalone C11 file.

```mlir
func.func @copy(%src : memref<8xf32>, %dst : memref<8xf32>) {
  scf.for %i = %c0 to %c8 step %c1 {
    %value = memref.load %src[%i] : memref<8xf32>
    memref.store %value, %dst[%i] : memref<8xf32>
  }
  func.return
}
```
becomes
```c
void copy(const float *restrict src, float *restrict dst) {
  for (int64_t i = 0; i < 8; i++) {
    dst[i] = src[i];
  }
}
```
*Requires*: func; scf.for, scf.if, scf.parallel; arith, affine.apply and affine.min; memref on static row-major or
strided memrefs; vector on vectors of one axis, which are GNU C's. An scf.parallel says in `layout.threads` how many
threads it wants, and a vector.load in `layout.prefetch` how many elements further on to ask for. A private function on
vectors with `layout.inlined` is a macro (`c_inlined`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import IO

from xdsl.context import Context as XdslContext
from xdsl.dialects import func, memref
from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.ir import Attribute, SSAValue
from xdsl.utils.target import Target

from layoutc.targets.errors import EmissionError, emitting, no_spelling
from layoutc.targets.functions.c_function import CFile, FunctionPrinter
from layoutc.targets.functions.c_inlined import LocalNames, Macro, end_of_names, fusing, is_inlined, macro_with_table
from layoutc.targets.functions.effects import Effects
from layoutc.targets.helpers.c_byte_tables import byte_tables_prelude
from layoutc.targets.helpers.c_helpers import prelude, without_comments
from layoutc.targets.helpers.c_saturated import saturated_prelude
from layoutc.targets.helpers.c_word_tables import word_tables_prelude
from layoutc.targets.patterns.c_float_numbers import float_numbers_prelude
from layoutc.targets.patterns.c_low_bytes import low_bytes_prelude
from layoutc.targets.patterns.narrow_parts import narrow_parts_prelude
from layoutc.targets.patterns.signed_bytes import signed_bytes_prelude
from layoutc.targets.patterns.wide_parts import wide_parts_prelude
from layoutc.targets.spelling.c_arith import FLOAT_SPELLINGS
from layoutc.targets.spelling.c_memory import constant_array, parameter
from layoutc.targets.spelling.c_names import LIBRARY, Names, is_identifier
from layoutc.targets.spelling.c_shuffles import Shuffles
from layoutc.targets.words.c_comments import comment_lines
from layoutc.targets.words.c_covered import covering_prelude
from layoutc.targets.words.c_joined import joining_prelude
from layoutc.targets.words.c_own_names import forgotten, own_functions
from layoutc.targets.words.c_text import INDENT, MAX_WIDTH, words
from layoutc.targets.words.c_types import is_memref, scalar_name
from layoutc.walk import of_kind

PRELUDES = (
    joining_prelude,
    covering_prelude,
    low_bytes_prelude,
    signed_bytes_prelude,
    wide_parts_prelude,
    narrow_parts_prelude,
    saturated_prelude,
    float_numbers_prelude,
    byte_tables_prelude,
    word_tables_prelude,
)
"""the macros above code that uses them"""


@dataclass(frozen=True)
class CTarget(Target):
    """C11 text, clean under -Wall -Wextra -Werror, that needs nothing but the standard headers."""

    name = "c"

    def emit(self, ctx: XdslContext, module: ModuleOp, output: IO[str]) -> None:
        output.write(emit_c(module))


def emit_c(module: ModuleOp) -> str:
    """
    The C text of a module of functions.

    Private functions are static; those that nobody calls are left out. Raises EmissionError, naming the op,
    for what C has no spelling for.
    """
    return ModulePrinter.of(module).text()


class ModulePrinter:
    """Prints what a module holds: names, effects and constant arrays are those of all of it."""

    @classmethod
    def of(cls, module: ModuleOp) -> ModulePrinter:
        """Raises EmissionError for what is neither a function nor a constant, and for names that C cannot have."""
        for op in module.ops:
            if not isinstance(op, func.FuncOp | memref.GlobalOp):
                raise no_spelling(op, "within a module" if isinstance(op, ModuleOp) else "")
        return cls(Effects.of(module), [op for op in module.ops if isinstance(op, memref.GlobalOp)])

    def __init__(self, effects: Effects, arrays: Sequence[memref.GlobalOp]) -> None:
        self.effects, self.arrays = effects, arrays
        self.tables: dict[bytes, str] = {}
        self.names = _function_names(effects)
        self._name_arrays()
        taken = Names(frozenset((*self.names.values(), *LIBRARY)))
        inlined = [name for name, function in effects.functions.items() if is_inlined(function)]
        self.table_names = {name: taken.fresh(f"{self.names[name]}_table") for name in inlined}
        self.taken = frozenset((*self.names.values(), *self.table_names.values()))
        shuffles = Shuffles(op for name in effects.functions for op in effects.ops[name])
        self.file = CFile(self.names, fusing(effects.functions, effects.ops), shuffles)

    def text(self) -> str:
        functions = [f for f in self.effects.functions.values() if not f.is_declaration]
        macros = [self._macro(f) for f in functions if is_inlined(f)]
        definitions = [self._definition(f) for f in functions if not is_inlined(f)]
        arrays = ["\n".join(constant_array(op, self.names[op.sym_name.data])) for op in self._used_arrays()]
        prototypes = [self.signature(f)[0] + ";" for f in self._needing_prototypes()]
        code = "\n\n".join(arrays + (["\n".join(prototypes)] if prototypes else []) + definitions)
        own = "\n\n".join((*self.file.shuffles.definitions(), *macros))
        # Finding the words of a large file takes long: once for all that ask.
        said = without_comments(f"{own}\n{code}")
        used = words(said)
        helpers = [text for prelude_of in PRELUDES for text in prelude_of(used)]
        used_above, has_pragmas = used | words("\n".join(helpers)), "#pragma omp" in said
        above = prelude(used_above, self.file.helpers, has_pragmas=has_pragmas, has_floats=self._has_floats())
        file = next((f.sym_name.data for f in functions if not is_local(f)), "own")
        own = own_functions("\n\n".join(filter(None, (above, *helpers, own))), file, used)
        return "\n\n".join(filter(None, (own, code, forgotten(own)))) + "\n"

    def _has_floats(self) -> bool:
        """Whether floats are computed, and not only moved."""
        ops = (op for function in self.effects.functions for op in self.effects.ops[function])
        return any(op.__class__ in FLOAT_SPELLINGS for op in ops)

    def _name_arrays(self) -> None:
        """C names for constant arrays, which only this file knows."""
        taken = Names(frozenset((*self.names.values(), *LIBRARY)))
        for op in self.arrays:
            name = op.sym_name.data
            if name in self.names:
                raise EmissionError(f"symbol {name!r} is defined twice")
            self.names[name] = taken.fresh(name, "values")

    def _used_arrays(self) -> list[memref.GlobalOp]:
        ops = (op for function in self.effects.functions for op in self.effects.ops[function])
        used = {op.name_.string_value() for op in of_kind(ops, memref.GetGlobalOp)}
        return [op for op in self.arrays if op.sym_name.data in used]

    def _needing_prototypes(self) -> list[func.FuncOp]:
        """External functions, and those that are called above their definition."""
        called: set[str] = set()
        found: list[func.FuncOp] = []
        for name, function in self.effects.functions.items():
            if function.is_declaration or (name in called and not is_inlined(function)):
                found.append(function)
            called.update(call.callee.string_value() for call in self.effects.calls[name])
        return found

    def _definition(self, function: func.FuncOp) -> str:
        if (count := len(function.body.blocks)) != 1:
            name = function.sym_name.data
            raise EmissionError(f"function {name!r} has {count} blocks, expected structured control flow in one")
        signature, names = self.signature(function)
        taken = Names(self.taken)
        taken.take(names)
        body = self._body(function, names, taken)
        return "\n".join((*comment_lines(function), f"{signature} {{", *body, "}"))

    def _macro(self, function: func.FuncOp) -> str:
        name = function.sym_name.data
        end = end_of_names(name, self.effects.functions, self.effects.calls)
        taken = LocalNames(self.taken, end)
        names = [taken.fresh(a.name_hint, f"arg{i}") for i, a in enumerate(function.body.block.args)]
        body = self._body(function, names, taken)
        computed = Macro(function, self.names[name], names, end, body, name in self.file.fusing)
        return macro_with_table(computed, self.tables, self.table_names[name])

    def _body(self, function: func.FuncOp, names: Sequence[str], taken: Names) -> list[str]:
        ops = self.effects.ops[function.sym_name.data]
        printer = FunctionPrinter(function, ops, taken, self.file)
        with emitting(function.sym_name.data):
            return printer.body(names)

    def signature(self, function: func.FuncOp) -> tuple[str, list[str]]:
        """A function's head, and the names of its parameters."""
        name = function.sym_name.data
        types = function.function_type.inputs.data
        scope = Names(self.taken)
        arguments: Sequence[SSAValue | None] = [None] * len(types)
        if not function.is_declaration:
            arguments = function.body.block.args
        names = [scope.fresh(a.name_hint if a else None, f"arg{i}") for i, a in enumerate(arguments)]
        with emitting(name):
            parameters = [self._parameter(name, i, *pair) for i, pair in enumerate(zip(types, names, strict=True))]
        head = f"{'static ' if is_local(function) else ''}{_result(function)} {self.names[name]}"
        joined = f"{head}({', '.join(parameters) or 'void'})"
        if len(joined) > MAX_WIDTH:
            joined = f"{head}(\n{INDENT}" + f",\n{INDENT}".join(parameters) + ")"
        return joined, names

    def _parameter(self, function: str, position: int, type: Attribute, name: str) -> str:
        if not is_memref(type):
            return f"{scalar_name(type)} {name}"
        is_const = (function, position) not in self.effects.written
        return parameter(type, name, is_const, may_overlap=function in self.effects.overlapping)


def _result(function: func.FuncOp) -> str:
    name, results = function.sym_name.data, function.function_type.outputs.data
    if len(results) > 1:
        raise EmissionError(f"function {name!r} has {len(results)} results, expected one at most")
    if results and is_memref(results[0]):
        raise EmissionError(
            f"function {name!r} returns {results[0]}, which no C function can, expected a memref parameter to write to"
        )
    return scalar_name(results[0]) if results else "void"


def is_local(function: func.FuncOp) -> bool:
    """Whether no other file may call a function, which is static then."""
    return not function.is_declaration and function.sym_visibility == StringAttr("private")


def _function_names(effects: Effects) -> dict[str, str]:
    """The C name of every function: its own, which only a private one may lose."""
    functions = effects.functions.values()
    is_private = {f.sym_name.data: is_local(f) for f in functions}
    for function in functions:
        _check_name(function, is_private[function.sym_name.data])
    names = {name: name for name, private in is_private.items() if not private}
    chosen = Names(frozenset((*names.values(), *LIBRARY)))
    for name, private in is_private.items():
        names[name] = chosen.fresh(name, "function") if private else name
    return names


def _check_name(function: func.FuncOp, is_private: bool) -> None:
    name = function.sym_name.data
    if is_private:
        return
    if not is_identifier(name):
        raise EmissionError(f"function name {name!r} cannot be a name in C")
    if name in LIBRARY and not function.is_declaration:
        raise EmissionError(f"function name {name!r} is one of the C library's")
