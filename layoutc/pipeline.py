"""The stages from a reorder to loops, in order, and what IR may remain after each."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from xdsl.context import Context
from xdsl.dialects import affine, arith, builtin, func, math, memref, scf, vector
from xdsl.dialects.builtin import FunctionType, ModuleOp
from xdsl.ir import Attribute, Block, Operation, Region
from xdsl.passes import ModulePass
from xdsl.transforms.canonicalize import CanonicalizePass

from layoutc.conversion import NO_ATTRIBUTES, Conversion
from layoutc.descriptor import MemoryDesc
from layoutc.dialects import layout
from layoutc.dialects.attributes import LayoutAttr, TagAttr
from layoutc.dialects.memory import is_shaped, layout_of, memref_type
from layoutc.dialects.ops import ReorderOp
from layoutc.dialects.reorder_faults import argument_descs
from layoutc.errors import LayoutcError
from layoutc.garbage import without_collections
from layoutc.layout import common_axis_names
from layoutc.planning.machine import ALIGNMENT, PLAIN
from layoutc.transforms.convert_types import defined_values, with_shapes
from layoutc.transforms.lower_reorders import LowerReordersPass
from layoutc.transforms.plan_reorders import PlanReordersPass
from layoutc.transforms.resolve_layouts import ResolveLayoutsPass
from layoutc.walk import ops_of


@dataclass(frozen=True)
class Stage:
    """A pass, and the checks that its output passes."""

    name: str
    module_pass: ModulePass | None = None
    forbidden_layouts: tuple[type[Attribute], ...] = ()
    forbidden_ops: tuple[type[Operation], ...] = ()
    leaves_ours: bool = False
    """whether it has nothing to do in a module out of `reorder_module`"""

    def run(self, context: Context, module: ModuleOp, *, is_ours: bool = False) -> None:
        """Applies the pass and checks that nothing forbidden remains, but in a module out of `reorder_module`."""
        if self.module_pass is not None:
            self.module_pass.apply(context, module)
        if is_ours or not self.forbidden_layouts:
            return
        ops = ops_of(module)
        if remaining := [op for op in ops if op.__class__ in self.forbidden_ops]:
            raise LayoutcError(f"{remaining[0].name} remains after {self.name}")
        for op in with_shapes(ops):
            for value in defined_values(op):
                if is_shaped(type := value.type) and isinstance(layout_of(type), self.forbidden_layouts):
                    raise LayoutcError(f"{type} remains after {self.name}")


def stages(target: str = PLAIN, threads: int = 1, alignment: int = ALIGNMENT) -> tuple[Stage, ...]:
    """
    The stages in order. With the target `plain` reorders are not planned, and lower to the textbook loop nest.
    """
    plan = None if target == PLAIN else PlanReordersPass(target, threads, alignment)
    return (
        Stage("source"),
        # Names first: all that follows compares and composes digits.
        Stage("resolve-layouts", ResolveLayoutsPass(), (TagAttr,), leaves_ours=True),
        # Before planning, while a chain of reorders is still a chain: what remains is worth a plan.
        Stage("canonicalize", CanonicalizePass(), (TagAttr,), leaves_ours=True),
        Stage("plan-reorders", plan, (TagAttr,)),
        Stage("lower-reorders", LowerReordersPass(), (LayoutAttr,), (ReorderOp,)),
    )


STAGES = stages()


def make_context() -> Context:
    """A context with the dialects of every stage."""
    context = Context()
    for dialect in (
        builtin.Builtin,
        func.Func,
        arith.Arith,
        math.Math,
        affine.Affine,
        memref.MemRef,
        scf.Scf,
        vector.Vector,
        layout.Layout,
    ):
        context.load_dialect(dialect)
    return context


@cache
def _context() -> Context:
    """One context for all: passes only look into it."""
    return make_context()


def lower(
    module: ModuleOp,
    until: str = STAGES[-1].name,
    after: Callable[[Stage, ModuleOp], Any] | None = None,
    *,
    target: str = PLAIN,
    threads: int = 1,
    alignment: int = ALIGNMENT,
    is_ours: bool = False,
) -> None:
    """
    Runs the stages on a module in place, up to and including the one named `until`.

    `target`, `threads` and `alignment` are what reorders are planned for (see `PlanReordersPass`).
    A module that `is_ours`, out of `reorder_module`, is neither verified nor checked after each stage, nor made
    canonical, which it is.
    `after` is called with each stage and the module behind it. Raises LayoutcError for an unknown stage.
    """
    names = [stage.name for stage in STAGES]
    if until not in names:
        raise LayoutcError(f"unknown stage {until!r}, expected one of {' '.join(names)}")
    context = _context()
    # What comes in may be anybody's; what `reorder_module` and the passes make is verified by the tests alone.
    if not is_ours:
        module.verify()
    for stage in stages(target, threads, alignment)[: names.index(until) + 1]:
        if not (is_ours and stage.leaves_ours):
            with without_collections():
                stage.run(context, module, is_ours=is_ours)
        if after is not None:
            after(stage, module)


def reorder_module(
    source: MemoryDesc,
    target: MemoryDesc,
    name: str = "reorder",
    conversion: Conversion = NO_ATTRIBUTES,
    plan: Sequence[str] = (),
) -> ModuleOp:
    """
    A module with one function that reorders its first memref into its second, by the plan of these lines if any.

    The others hold the parameters of the conversion that are given at run time, then the sums of its compensation.
    """
    further = argument_descs(conversion, target)
    types = [memref_type(desc) for desc in (source, target, *further.values())]
    block = Block(arg_types=types)
    for arg, hint in zip(block.args, ("src", "dst", *further), strict=True):
        arg.name_hint = hint
    src, dst, *arguments = block.args
    names = common_axis_names(source.layout, target.layout)
    block.add_op(ReorderOp(src, dst, axes=names, plan=plan, conversion=conversion, arguments=arguments))
    block.add_op(func.ReturnOp())
    return ModuleOp([func.FuncOp(name, FunctionType.from_lists(types, ()), Region(block))])
