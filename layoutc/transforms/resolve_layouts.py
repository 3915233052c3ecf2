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
Requires: nothing. Leaves: no `#layout.tag`, in no type. The letters of the names stay behind as `axes`.
"""

from __future__ import annotations

from xdsl.context import Context
from xdsl.dialects.builtin import ArrayAttr, MemRefType, ModuleOp, StringAttr, TensorType
from xdsl.ir import Attribute
from xdsl.passes import ModulePass
from xdsl.pattern_rewriter import (
    PatternRewriter,
    PatternRewriteWalker,
    RewritePattern,
    op_type_rewrite_pattern,
)

from layoutc.dialects.attributes import MapAttr, TagAttr
from layoutc.dialects.memory import is_memref, is_shaped, layout_of, memory_desc
from layoutc.dialects.ops import ReorderOp
from layoutc.layout import common_axis_names, generic_names
from layoutc.transforms.convert_types import convert_types


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
    if not is_shaped(type) or not isinstance(layout_of(type), TagAttr):
        return type
    layout = MapAttr.of(memory_desc(type))
    if is_memref(type):
        return MemRefType(type.element_type, type.shape, layout, type.memory_space)
    return TensorType(type.element_type, type.get_shape(), layout)


class ResolveLayoutsPass(ModulePass):
    """Turns every `#layout.tag` into a `#layout.map`."""

    name = "resolve-layouts"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        PatternRewriteWalker(NameAxes(), apply_recursively=False).rewrite_module(op)
        convert_types(op, resolved)
