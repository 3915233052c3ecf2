"""
layoutc: a compiler for tensor memory layouts.

`desc` reads a layout in any notation, `compile` makes a kernel that reorders between two of them, `reorder` does
it on a NumPy array, `translate` names a layout in another notation; `from_array` describes an array's memory, and
`view` shows a buffer as an array. The names are loaded when they are first used:
importing layoutc imports neither xDSL nor NumPy, and needs no C compiler.
"""

from __future__ import annotations

import os.path as _path
from importlib import import_module
from typing import TYPE_CHECKING, Any

# `layoutc.dialects` lies at the top of the checkout; a symlink stands for it here, except where a copy lost it.
if not _path.isdir(_path.join(__path__[0], "dialects")):
    __path__.append(_path.dirname(__path__[0]))

if TYPE_CHECKING:
    from layoutc.arrays import reorder
    from layoutc.buffers import Address
    from layoutc.builds import compile, compile_all
    from layoutc.compensation import Compensation
    from layoutc.conversion import Conversion
    from layoutc.descriptor import MemoryDesc
    from layoutc.element_type import ElementType
    from layoutc.errors import (
        BufferError,
        CompilerError,
        InterpreterError,
        LayoutcError,
        NotationError,
        PlanError,
    )
    from layoutc.kernel import Kernel
    from layoutc.layout import Digit, Layout
    from layoutc.notations import desc, names, parse, translate
    from layoutc.param import Param
    from layoutc.views import from_array, from_dlpack, from_strides, logical_strides, view

_HOMES = {
    "arrays": ("reorder",),
    "buffers": ("Address",),
    "compensation": ("Compensation",),
    "conversion": ("Conversion",),
    "builds": ("compile", "compile_all"),
    "descriptor": ("MemoryDesc",),
    "element_type": ("ElementType",),
    "errors": ("BufferError", "CompilerError", "InterpreterError", "LayoutcError", "NotationError", "PlanError"),
    "kernel": ("Kernel",),
    "layout": ("Digit", "Layout"),
    "notations": ("desc", "names", "parse", "translate"),
    "param": ("Param",),
    "views": ("from_array", "from_dlpack", "from_strides", "logical_strides", "view"),
}
_HOME_OF = {name: module for module, names in _HOMES.items() for name in names}

__all__ = [
    "Address",
    "BufferError",
    "Compensation",
    "CompilerError",
    "Conversion",
    "Digit",
    "ElementType",
    "InterpreterError",
    "Kernel",
    "Layout",
    "LayoutcError",
    "MemoryDesc",
    "NotationError",
    "Param",
    "PlanError",
    "compile",
    "compile_all",
    "desc",
    "from_array",
    "from_dlpack",
    "from_strides",
    "logical_strides",
    "names",
    "parse",
    "reorder",
    "translate",
    "view",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME_OF:
        raise AttributeError(f"module 'layoutc' has no attribute {name!r}")
    return getattr(import_module(f"layoutc.{_HOME_OF[name]}"), name)


def __dir__() -> list[str]:
    return sorted(__all__)
