"""
Canonicalization of `layout.reorder`, run by the stock pass `canonicalize`.

Before:
```mlir
%b = layout.reorder %a : tensor<2x17xf32> to tensor<2x17xf32, #blocked>
%c = layout.reorder %b : tensor<2x17xf32, #blocked> to tensor<2x17xf32>
```
After: every use of `%c` is a use of `%a`; neither reorder is left. In the memref form a chain through a
buffer that only the chain uses becomes one reorder, where its two ends cannot be the same memory; a copy into
somebody's buffer always stays.
"""

from __future__ import annotations

from xdsl.dialects import func, memref
from xdsl.dialects.builtin import UnrealizedConversionCastOp
from xdsl.ir import Block, Operation, SSAValue
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern, op_type_rewrite_pattern
from xdsl.traits import MemoryEffectKind, get_effects

from layoutc.conversion import NO_ATTRIBUTES
from layoutc.dialects.ops import ReorderOp

VIEWS = (
    *(memref.CastOp, memref.ReinterpretCastOp, memref.MemorySpaceCastOp, memref.SubviewOp, memref.ViewOp),
    *(memref.ExpandShapeOp, memref.CollapseShapeOp, UnrealizedConversionCastOp),
)
"""ops whose result is the memory of their first operand"""


class DropIdentity(RewritePattern):
    """The value form between two names of the same memory is its operand (cast, where the types differ)."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: ReorderOp, rewriter: PatternRewriter) -> None:
        if op.result is None:
            return
        if not op.moves_bits:
            return
        if op.source.type == op.result.type:
            rewriter.replace(op, [], [op.source])
        elif op.source_desc.same_memory(op.target_desc):
            cast, _ = UnrealizedConversionCastOp.cast_one(op.source, op.result.type)
            rewriter.replace(op, cast)


class BypassMiddle(RewritePattern):
    """`a -> b -> c` reads `a` directly where `b` still holds what the first reorder wrote."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: ReorderOp, rewriter: PatternRewriter) -> None:
        first = _writer(op)
        if first is None or (op.destination is not None and not _are_distinct(first.source, op.destination)):
            return
        # Two conversions are not one: the first has rounded.
        if not (first.moves_bits or (op.moves_bits and first.conversion == NO_ATTRIBUTES)):
            return
        op.operands[0] = first.source
        op.plan = None  # it was one of the reorder from the middle
        if op.axes is None:
            op.axes = first.axes
        rewriter.notify_op_modified(op)


def _writer(op: ReorderOp) -> ReorderOp | None:
    """The reorder that made this one's source, if its own source is unchanged since."""
    if op.destination is None:
        owner = op.source.owner
        return owner if isinstance(owner, ReorderOp) else None
    before = op.prev_op
    while before is not None:
        if isinstance(before, ReorderOp) and before.destination is op.source:
            return before
        if not _only_reads(before):
            return None
        before = before.prev_op
    return None


def _are_distinct(one: SSAValue, other: SSAValue) -> bool:
    """
    Whether two memrefs are certainly not the same memory, not even in part.

    That neither overlaps a buffer between them says nothing about them. Two arguments, or two globals, may be one
    buffer by two names; an allocation of this function is none of them, and no other allocation.
    """
    roots = [_root(one), _root(other)]
    if roots[0] is roots[1]:
        return False
    return any(map(_is_allocation, roots)) and all(_is_allocation(r) or _is_from_outside(r) for r in roots)


def _root(memory: SSAValue) -> SSAValue:
    """The memref that a chain of casts and views looks at."""
    while isinstance(view := memory.owner, VIEWS):
        if isinstance(view, UnrealizedConversionCastOp) and len(view.inputs) != 1:
            break
        memory = view.operands[0]
    return memory


def _is_allocation(memory: SSAValue) -> bool:
    return isinstance(memory.owner, memref.AllocOp | memref.AllocaOp)


def _is_from_outside(memory: SSAValue) -> bool:
    """An argument of the function, or a global: there before the function allocated anything."""
    owner = memory.owner
    if isinstance(owner, Block):
        return isinstance(owner.parent_op(), func.FuncOp) and owner.prev_block is None
    return isinstance(owner, memref.GetGlobalOp)


def _only_reads(op: Operation) -> bool:
    """Whether an op writes and frees nothing (allocating is harmless)."""
    effects = get_effects(op)
    harmless = (MemoryEffectKind.READ, MemoryEffectKind.ALLOC)
    return effects is not None and all(effect.kind in harmless for effect in effects)


class DropDeadReorder(RewritePattern):
    """A reorder into a fresh buffer that nothing reads goes, and the buffer with it."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: ReorderOp, rewriter: PatternRewriter) -> None:
        if op.destination is None or not isinstance(alloc := op.destination.owner, memref.AllocOp | memref.AllocaOp):
            return
        users = [use.operation for use in op.destination.uses]
        if all(_only_discards(user, op.destination) for user in users):
            for user in users:
                rewriter.erase(user)
            rewriter.erase(alloc)


def _only_discards(user: Operation, buffer: SSAValue) -> bool:
    if isinstance(user, ReorderOp):
        writes_sums = user.conversion.compensation is not None
        return user.destination is buffer and user.source is not buffer and not writes_sums
    return isinstance(user, memref.DeallocOp)
