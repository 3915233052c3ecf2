"""
The target `c-header`: what other files, of C or C++, may call of the file that the target `c` makes of a module.

```mlir
func.func @copy(%src : memref<8xf32>, %dst : memref<8xf32>) {
```
becomes
```c
/* The buffers of a call must not overlap, and have so many bytes. */
#define COPY_SRC_BYTES 32
#define COPY_DST_BYTES 32
void copy(const float *src, float *dst);
```
*Requires*: what the target `c` does. Private functions, which are static, and declarations have no place in it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import IO

from xdsl.context import Context as XdslContext
from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp
from xdsl.utils.target import Target

from layoutc.targets.c import ModulePrinter, is_local
from layoutc.targets.errors import EmissionError, emitting
from layoutc.targets.spelling.c_memory import span
from layoutc.targets.spelling.c_names import Names
from layoutc.targets.words.c_text import words
from layoutc.targets.words.c_types import is_memref, is_static, width

FRAME = """\
#ifndef {guard}_H
#define {guard}_H

{includes}
{above}
#ifdef __cplusplus
extern "C" {{
#endif

{declarations}

#ifdef __cplusplus
}}
#endif

#endif
"""


@dataclass(frozen=True)
class CHeaderTarget(Target):
    """A header with the prototypes of a module's functions, and the bytes that their buffers must have."""

    name = "c-header"

    def emit(self, ctx: XdslContext, module: ModuleOp, output: IO[str]) -> None:
        output.write(emit_header(module))


def emit_header(module: ModuleOp) -> str:
    """
    The header of the C text of a module, whose include guard is called as its first function.

    Raises EmissionError if it has none that is exported, and for what C has no spelling for.
    """
    printer, names = ModulePrinter.of(module), Names()
    functions = [op for op in printer.effects.functions.values() if not (op.is_declaration or is_local(op))]
    if not functions:
        raise EmissionError("the module has no function that other files may call, expected one that is not private")
    signatures = [printer.signature(function) for function in functions]
    sizes = [line for f, (_, own) in zip(functions, signatures, strict=True) for line in _sizes(f, own, names)]
    prototypes = [declaration(head) for head, _ in signatures]
    above = (
        "\n".join(("/* The buffers of a call must not overlap, and have so many bytes. */", *sizes)) if sizes else ""
    )
    return framed(functions[0].sym_name.data, above, prototypes)


def framed(name: str, above: str, declarations: Sequence[str]) -> str:
    """A header for C and C++ with an include guard of this name; `above` stands ahead of its declarations."""
    text = "\n".join(declarations)
    includes = ["<stdint.h>", *(["<stdbool.h>"] if "bool" in words(text) else [])]
    lines = "\n".join(f"#include {name}" for name in includes)
    return FRAME.format(guard=name.upper(), includes=lines, above=above and f"\n{above}\n", declarations=text)


def declaration(head: str) -> str:
    """
    The prototype of a function that has this head.

    `restrict` is left out: C++ does not know it, and to C it makes no difference in a declaration.
    """
    return re.sub(r"\brestrict ", "", head) + ";"


def _sizes(function: func.FuncOp, names: Sequence[str], taken: Names) -> list[str]:
    """The bytes of each buffer whose size is known."""
    name, found = function.sym_name.data, list[str]()
    for type, argument in zip(function.function_type.inputs.data, names, strict=True):
        if is_memref(type) and is_static(type):
            with emitting(name):
                size = span(type) * max(8, width(type.element_type)) // 8
            found.append(f"#define {taken.fresh(f'{name}_{argument}_BYTES'.upper())} {size}")
    return found
