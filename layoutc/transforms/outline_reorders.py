"""
`outline-reorders`: reorders of a module that are equal become calls of one private function.

Before:
```mlir
func.func @pack(%a: memref<2x17xf32>, %x: memref<2x17xf32, #blocked>, %b: memref<2x17xf32>, ...) {
  layout.reorder %a into %x : memref<2x17xf32> into memref<2x17xf32, #blocked>
  layout.reorder %b into %y : memref<2x17xf32> into memref<2x17xf32, #blocked>
```
After:
```mlir
func.func private @reorder(%src: memref<2x17xf32>, %dst: memref<2x17xf32, #blocked>) {
  layout.reorder %src into %dst : memref<2x17xf32> into memref<2x17xf32, #blocked>
  func.return
}
func.func @pack(%a: memref<2x17xf32>, %x: memref<2x17xf32, #blocked>, %b: memref<2x17xf32>, ...) {
  func.call @reorder(%a, %x) : (memref<2x17xf32>, memref<2x17xf32, #blocked>) -> ()
  func.call @reorder(%b, %y) : (memref<2x17xf32>, memref<2x17xf32, #blocked>) -> ()
```
Requires: nothing; of use before `plan-reorders`, which then plans each reorder once, and behind `resolve-layouts` and
`canonicalize`, which make more of them equal. Leaves: reorders of tensors, and those that no other one is equal to,
as they are; equal are those with the same types and attributes.
"""

from __future__ import annotations

from collections.abc import Hashable

from xdsl.builder import Builder
from xdsl.context import Context
from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Region
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint, Rewriter

from layoutc.dialects.ops import ReorderOp
from layoutc.transforms.values.element_access import free_name
from layoutc.walk import of_kind, ops_of


def outlined(op: ReorderOp, name: str) -> func.FuncOp:
    """A private function of the operands of a reorder that does what it does, and nothing else."""
    types = [operand.type for operand in op.operands]
    block = Block(arg_types=types)
    for argument, hint in zip(block.args, ("src", "dst", *op.conversion.arguments), strict=False):
        argument.name_hint = hint
    reorder = op.clone()
    reorder.operands = block.args  # each its own: one memref may stand for several operands of this reorder alone
    block.add_ops((reorder, func.ReturnOp()))
    return func.FuncOp(name, (types, ()), Region(block), "private")


class OutlineReordersPass(ModulePass):
    """Makes one private function of all reorders that are equal, and calls of these."""

    name = "outline-reorders"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        equal: dict[Hashable, list[tuple[func.FuncOp, ReorderOp]]] = {}
        for function in of_kind(op.ops, func.FuncOp):
            for reorder in of_kind(ops_of(function), ReorderOp):
                if reorder.destination is not None:
                    equal.setdefault(_kind(reorder), []).append((function, reorder))
        for group in equal.values():
            if len(group) > 1:
                _outline(group)


def _kind(op: ReorderOp) -> Hashable:
    """What equal reorders have in common: all but their memory."""
    attributes = frozenset(op.properties.items()), frozenset(op.attributes.items())
    return tuple(operand.type for operand in op.operands), attributes


def _outline(group: list[tuple[func.FuncOp, ReorderOp]]) -> None:
    first, example = group[0]
    made = outlined(example, free_name(first, "reorder"))
    # Ahead of whoever calls it: C then needs no prototype.
    Builder(InsertPoint.before(first)).insert(made)
    for _, op in group:
        Rewriter.replace_op(op, func.CallOp(made.sym_name.data, op.operands, ()))
