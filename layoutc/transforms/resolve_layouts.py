"""
`resolve-layouts`: every layout that goes by a name becomes an affine map.

Before:
```mlir
layout.reorder %src into %dst : memref<2x17x5x4xf32> into memref<2x17x5x4xf32, #layout.tag<"nChw8c">>
```
After:
```mlir
layout.reorder %src into %dst axes ["n", "c", "h", "w"] : memref<2x17x5x4xf32>
  into memref<2x17x5x4xf32, #layout.map<(d0, d1, d2, d3) -> (d0, d1 floordiv 8, d2, d3, d1 mod 8)>>
```
Requires: nothing. Leaves: no `#layout.tag`, in no type of a value, a function or any attribute; a layout that does
not fit the type that has it is an error. The letters of the names stay behind as `axes`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import lru_cache
from operator import is_

from xdsl.context import Context
from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, MemRefType, ModuleOp, StringAttr, TensorType
from xdsl.ir import Attribute, Operation, ParametrizedAttribute
from xdsl.passes import ModulePass
from xdsl.pattern_rewriter import (
    PatternRewriter,
    PatternRewriteWalker,
    RewritePattern,
    op_type_rewrite_pattern,
)
from xdsl.utils.exceptions import VerifyException

from layoutc.dialects.attributes import LayoutAttr, MapAttr, TagAttr
from layoutc.dialects.memory import DynamicShapeError, ShapedType, is_memref, is_shaped, layout_of, memory_desc
from layoutc.dialects.ops import ReorderOp
from layoutc.dialects.places import with_place
from layoutc.errors import LayoutcError
from layoutc.layout import common_axis_names, generic_names
from layoutc.transforms.convert_types import convert_types, defined_values
from layoutc.walk import name_of, ops_of


def check_layouts(ops: Iterable[Operation]) -> None:
    """Raises VerifyException, naming op and type, for a `layout` attribute that does not fit the shape that has it."""
    for op in ops:
        for attribute in _attributes(op):
            if (fault := _misfit(attribute)) is not None:
                raise VerifyException(with_place(op, f"{name_of(op)}: {fault}"))


def _attributes(op: Operation) -> Iterator[Attribute]:
    """All that an op holds: properties, attributes, and the types of its results and block arguments."""
    yield from (*op.properties.values(), *op.attributes.values())
    yield from (value.type for value in defined_values(op))


@lru_cache(maxsize=4096)
def _misfit(attribute: Attribute) -> str | None:
    """The first type in an attribute whose layout does not fit it, and why; None if all do."""
    match attribute:
        case MemRefType() | TensorType():
            return _why_misfit(attribute)
        case ParametrizedAttribute(parameters=inner) | ArrayAttr(data=inner):
            return next(filter(None, map(_misfit, inner)), None)
        case DictionaryAttr(data=entries):
            return next(filter(None, map(_misfit, entries.values())), None)
        case _:
            return None


def _why_misfit(type: ShapedType) -> str | None:
    """Why a type has no memory, with its name; None if its layout is not ours, or fits."""
    if not isinstance(layout_of(type), LayoutAttr):
        return None
    try:
        memory_desc(type)
    except DynamicShapeError as error:
        return error.message
    except LayoutcError as error:
        return f"{type}: {error.message}"
    return None


class NameAxes(RewritePattern):
    """Keeps the letters of the names, which the maps no longer have."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: ReorderOp, rewriter: PatternRewriter) -> None:
        if op.axes is not None:
            return
        names = common_axis_names(op.source_desc.layout, op.target_desc.layout)
        if names != generic_names(len(names)):
            op.axes = ArrayAttr(map(StringAttr, names))
            rewriter.notify_op_modified(op)


def resolved(type: Attribute) -> Attribute:
    """The type with its `#layout.tag`, if it has one, as a `#layout.map`."""
    return _resolved_tag(type) if is_shaped(type) and isinstance(layout_of(type), TagAttr) else type


@lru_cache(maxsize=4096)
def _resolved_tag(type: ShapedType) -> Attribute:
    layout = MapAttr.of(memory_desc(type))
    if is_memref(type):
        return MemRefType(type.element_type, type.shape, layout, type.memory_space)
    return TensorType(type.element_type, type.get_shape(), layout)


@lru_cache(maxsize=4096)
def resolved_inside(attribute: Attribute) -> Attribute:
    """The attribute with every type in it resolved; itself where there is none to resolve."""
    match attribute:
        case MemRefType() | TensorType():
            return resolved(attribute)
        case ParametrizedAttribute(parameters=old):
            new = [resolved_inside(parameter) for parameter in old]
            return attribute if all(map(is_, new, old)) else type(attribute).new(new)
        case ArrayAttr(data=items):
            new = [resolved_inside(item) for item in items]
            return attribute if all(map(is_, new, items)) else ArrayAttr(new)
        case DictionaryAttr(data=entries):
            named = {name: resolved_inside(entry) for name, entry in entries.items()}
            return attribute if all(map(is_, named.values(), entries.values())) else DictionaryAttr(named)
        case _:
            return attribute


class ResolveLayoutsPass(ModulePass):
    """Turns every `#layout.tag` into a `#layout.map`; refuses layouts that do not fit the types that have them."""

    name = "resolve-layouts"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        check_layouts(ops_of(op))
        PatternRewriteWalker(NameAxes(), apply_recursively=False).rewrite_module(op)
        ops = ops_of(op)
        for inner in ops:
            for holder in (inner.properties, inner.attributes):
                holder |= {name: resolved_inside(attribute) for name, attribute in holder.items()}
        convert_types(ops, resolved)
