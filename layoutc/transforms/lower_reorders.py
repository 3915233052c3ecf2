"""
`lower-reorders`: every reorder becomes loops, and every memref with a layout a flat buffer.

Before:
```mlir
#blocked = #layout.map<(d0, d1) -> (d0, d1 floordiv 8, d1 mod 8)>
func.func @reorder(%src: memref<2x17xf32>, %dst: memref<2x17xf32, #blocked>) {
  layout.reorder %src into %dst axes ["n", "c"] : memref<2x17xf32> into memref<2x17xf32, #blocked>
```
After:
```mlir
func.func @reorder(%src: memref<2x17xf32>, %dst: memref<48xf32>) {
  %src_flat = memref.reinterpret_cast %src to offset: [0], sizes: [34], strides: [1]
    : memref<2x17xf32> to memref<34xf32>
  scf.for %n = %c0 to %c2 step %c1 {
    scf.for %c = %c0 to %c17 step %c1 {
      %src_offset = affine.apply affine_map<(d0, d1) -> (d0 * 17 + d1)> (%n, %c)
      %value = memref.load %src_flat[%src_offset] : memref<34xf32>
      %dst_offset = affine.apply affine_map<(d0, d1) -> (d0 * 24 + (d1 floordiv 8) * 8 + d1 mod 8)> (%n, %c)
      memref.store %value, %dst[%dst_offset] : memref<48xf32>
    }
  }
  ... and a nest that stores zero for c in 17..24
```
Requires: no `#layout.tag` (`resolve-layouts`), reorders in the memref form. Leaves: upstream ops only; no
attribute of the dialect `layout` in any type. Loads and stores through a memref with a layout go through its
offset map, and the values of a memref.global are put where the map says; any other op that looks into such a memref is
an error. In new memory, bytes that elements fill in part
get zeros first: stores of elements keep the other bits.
"""

from __future__ import annotations

from xdsl.builder import Builder
from xdsl.context import Context
from xdsl.dialects import affine, func, memref, scf
from xdsl.dialects.builtin import (
    AffineMapAttr,
    DenseIntOrFPElementsAttr,
    IntegerAttr,
    IntegerType,
    MemRefType,
    ModuleOp,
    Signedness,
    UnrealizedConversionCastOp,
)
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.pattern_rewriter import (
    GreedyRewritePatternApplier,
    PatternRewriter,
    PatternRewriteWalker,
    RewritePattern,
    op_type_rewrite_pattern,
)
from xdsl.rewriter import InsertPoint
from xdsl.traits import SymbolTable
from xdsl.utils.exceptions import PassFailedException

from layoutc.dialects.attributes import LayoutAttr
from layoutc.dialects.memory import (
    ShapedType,
    flat_type,
    has_layout,
    is_memref,
    is_packed,
    is_shaped,
    layout_of,
    memory_desc,
)
from layoutc.dialects.ops import ReorderOp
from layoutc.dialects.places import with_place
from layoutc.dialects.reorder_faults import argument_descs
from layoutc.errors import LayoutcError
from layoutc.transforms.building.loop_nest import Buffer, Loop, NestBuilder
from layoutc.transforms.convert_types import convert_types, defined_values, with_shapes
from layoutc.transforms.plain.converting_nest import build_converting_nest
from layoutc.transforms.plain.plain_nest import build_plain_nest
from layoutc.transforms.plan_reorders import plan_of
from layoutc.transforms.planned.planned_nest import build_planned_nest
from layoutc.transforms.sums.planned_sums import building_sums
from layoutc.transforms.values.element_access import Conversions
from layoutc.transforms.values.spread_params import spread
from layoutc.walk import name_of, of_kind, ops_of

TRANSPARENT_OPS = (
    *(memref.AllocOp, memref.AllocaOp, memref.DeallocOp, memref.GetGlobalOp),
    *(func.FuncOp, func.CallOp, func.ReturnOp),
    *(scf.ForOp, scf.IfOp, scf.YieldOp, scf.WhileOp, scf.ConditionOp),
    *(ModuleOp, UnrealizedConversionCastOp),
)
"""ops that hand a memref on without looking at its shape"""


def flat_view(value: SSAValue, builder: Builder) -> SSAValue:
    """A memref as a flat buffer: converted later if it has a layout, reinterpreted if it has none of ours."""
    assert is_memref(value.type)
    flat = flat_type(value.type)
    if value.type == flat:
        return value
    if has_layout(value.type):
        op = builder.insert(UnrealizedConversionCastOp.cast_one(value, flat)[0])
    else:
        op = builder.insert(memref.ReinterpretCastOp.from_dynamic(value, [0], list(flat.get_shape()), [1], flat))
        op.result.name_hint = f"{value.name_hint or 'memory'}_flat"
    return op.results[0]


def signless_view(value: SSAValue, builder: Builder) -> SSAValue:
    """A memref as a flat buffer of what arith computes with: signed integers are signless ones there."""
    flat = flat_view(value, builder)
    assert is_memref(flat.type)
    element: Attribute = flat.type.element_type
    if not isinstance(element, IntegerType) or element != IntegerType(element.bitwidth, Signedness.SIGNED):
        return flat
    signless = MemRefType(IntegerType(element.bitwidth), flat.type.shape, memory_space=flat.type.memory_space)
    return builder.insert(UnrealizedConversionCastOp.cast_one(flat, signless)[0]).results[0]


class LowerReorder(RewritePattern):
    """`layout.reorder` to loops."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: ReorderOp, rewriter: PatternRewriter) -> None:
        if op.destination is None:
            message = "layout.reorder on tensors has no buffers yet: bufferize it first"
            raise PassFailedException(with_place(op, message))
        builder = Builder(InsertPoint.before(op))
        source = Buffer(signless_view(op.source, builder), op.source_desc)
        target = Buffer(signless_view(op.destination, builder), op.target_desc)
        descs = argument_descs(op.conversion, op.target_desc).values()
        arguments = [Buffer(signless_view(a, builder), desc) for a, desc in zip(op.arguments, descs, strict=True)]
        try:
            plan = plan_of(op)
        except LayoutcError as error:
            message = f"plan of {op.source_desc} into {op.target_desc}: {error}"
            raise PassFailedException(with_place(op, message)) from error
        nest = NestBuilder(op)
        if plan is not None:
            conversions = Conversions.of(nest, op.conversion, source, target, arguments)
            as_planned = spread(nest, conversions)
            with building_sums(nest, plan, conversions, op.axis_names) as sums:
                build_planned_nest(nest, plan, as_planned, op.axis_names, sums)
        elif op.moves_bits and op.target_desc.element_type.bits >= 8:
            build_plain_nest(nest, source, target, op.axis_names)
        else:
            build_converting_nest(nest, Conversions.of(nest, op.conversion, source, target, arguments), op.axis_names)
        rewriter.erase(op)


class LowerAccess(RewritePattern):
    """`memref.load` and `memref.store` through the offset map."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: memref.LoadOp | memref.StoreOp, rewriter: PatternRewriter) -> None:
        if not has_layout(op.memref.type):
            return
        if is_packed(op.memref.type):
            message = f"{op.name} of {op.memref.type}: elements that share bytes are only reordered"
            raise PassFailedException(with_place(op, message))
        offset = affine.ApplyOp(op.indices, AffineMapAttr(memory_desc(op.memref.type).offset_map()))
        offset.result.name_hint = "offset"
        rewriter.insert(offset)
        view = flat_view(op.memref, Builder(InsertPoint.before(op)))
        if isinstance(op, memref.LoadOp):
            rewriter.replace(op, memref.LoadOp.get(view, [offset]))
        else:
            rewriter.replace(op, memref.StoreOp.get(op.value, view, [offset]))


def define_shared_bytes(op: memref.AllocOp | memref.AllocaOp) -> None:
    """
    Zeros into new memory, where bytes have more bits than those of its elements.

    Stores of elements keep the other bits of their bytes, so these are loaded, which nobody has written. Elements and
    padding that fill their memory leave such bits in the last byte alone; gaps leave them anywhere.
    """
    if not has_layout(op.memref.type) or not is_packed(op.memref.type):
        return
    desc, behind = memory_desc(op.memref.type), op.next_op
    assert behind is not None
    written = desc.elements + desc.padding_elements
    if written * desc.element_type.bits == 8 * desc.size_bytes:
        return
    view, nest = flat_view(op.memref, Builder(InsertPoint.before(behind))), NestBuilder(behind)
    zero = nest.element(IntegerAttr(0, 8))
    loops = [] if written == desc.span else [Loop("byte", range(desc.size_bytes))]
    last = [] if loops else [nest.constant(desc.size_bytes - 1)]
    nest.nest(loops, lambda builder, at: builder.insert(memref.StoreOp.get(zero, view, [*at, *last])))


def flattened(type: Attribute) -> Attribute:
    """A memref with a layout as a flat buffer, any other type as it is."""
    return flat_type(type) if has_layout(type) else type


def check_global(op: memref.GetGlobalOp) -> None:
    """Refuses other memory than that of the memref.global: once both are flat, nobody could tell."""
    found, name = SymbolTable.lookup_symbol(op, op.name_), op.name_.string_value()
    if isinstance(found, memref.GlobalOp) and found.type != op.memref.type:
        message = f"memref.get_global @{name}: got {op.memref.type}, expected {found.type}"
        raise PassFailedException(with_place(op, message))


def flatten_global(op: memref.GlobalOp) -> None:
    """A memref.global with a layout as a flat one, its values in the order of memory."""
    if not has_layout(op.type):
        return
    if isinstance(op.initial_value, DenseIntOrFPElementsAttr):
        from layoutc.constants import values_in_memory

        try:
            op.initial_value = values_in_memory(op.initial_value, op.type)
        except LayoutcError as error:
            raise PassFailedException(with_place(op, f"memref.global @{op.sym_name.data}: {error}")) from None
    op.type = flat_type(op.type)


def drop_cast(op: Operation) -> None:
    """Erases a cast between equal types, which is all that is left of `flat_view`."""
    if [v.type for v in op.operands] == [v.type for v in op.results]:
        for old, new in zip(op.results, op.operands, strict=True):
            old.replace_all_uses_with(new)
        op.detach()
        op.erase()


def check_flattens(op: Operation) -> None:
    """Refuses what looks into a memref with a layout in a way that has no flat form: an op, or one of its users."""
    for value in defined_values(op):
        if is_shaped(type := value.type) and has_any_layout(type):
            for user in (op, *(use.operation for use in value.uses)):
                _refuse(user, type)
    for attributes in (op.properties, op.attributes):
        for attribute in attributes.values():
            if is_shaped(attribute) and has_any_layout(attribute):
                _refuse(op, attribute)


def has_any_layout(type: ShapedType) -> bool:
    """Whether a type carries a layout that C cannot index, or one of ours on a tensor."""
    return has_layout(type) or isinstance(layout_of(type), LayoutAttr)


def _refuse(op: Operation, type: ShapedType) -> None:
    if op.__class__ in TRANSPARENT_OPS:
        return
    reason = "only loads, stores, allocations, calls and reorders of a memref with a layout can be lowered"
    if not has_layout(type):
        reason = "bufferize tensors with a layout first"
    raise PassFailedException(with_place(op, f"{name_of(op)} uses {type}: {reason}"))


class LowerReordersPass(ModulePass):
    """Lowers reorders to loops over flat buffers."""

    name = "lower-reorders"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        ops = ops_of(op)
        for inner in of_kind(ops, memref.GetGlobalOp):
            check_global(inner)
        for inner in ops:
            if isinstance(inner, memref.AllocOp | memref.AllocaOp):
                define_shared_bytes(inner)
            elif isinstance(inner, memref.GlobalOp):
                flatten_global(inner)
        lower = GreedyRewritePatternApplier([LowerReorder(), LowerAccess()])
        PatternRewriteWalker(lower, apply_recursively=False).rewrite_module(op)
        ops = ops_of(op)
        shaped = with_shapes(ops)
        for inner in shaped:
            check_flattens(inner)
        convert_types(shaped, flattened)
        for inner in ops:
            if inner.__class__ is UnrealizedConversionCastOp:
                drop_cast(inner)
