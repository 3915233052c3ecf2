"""
`plan-reorders`: attaches to every reorder the decisions about how it runs fast.

Before:
```mlir
layout.reorder %src into %dst : memref<64x64xf32> into memref<64x64xf32, #layout.map<(d0, d1) -> (d1, d0)>>
```
After `plan-reorders{target=avx512 threads=2}`:
```mlir
layout.reorder %src into %dst plan ["threads 1",
  "copy 0 -> 0: 64x(1, 64) 64x(64, 1), elements of 4, vectors of 64, tile 16x16, lanes 0:16 -> 1:16, ..."]
  : memref<64x64xf32> into memref<64x64xf32, #layout.map<(d0, d1) -> (d1, d0)>>
```
A reorder that converts has `elements of 4 to 1`: they are widened last, and narrowed first.

Requires: no `#layout.tag` (`resolve-layouts`), reorders in the memref form. Leaves: a plan on each reorder that has
a form as strided copies; the others are lowered by the plain plan. A plan that is there
already is kept: it may have been edited, and `lower-reorders` checks it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Self
from weakref import WeakKeyDictionary

from xdsl.context import Context
from xdsl.dialects.builtin import ArrayAttr, ModuleOp, StringAttr
from xdsl.ir import Attribute
from xdsl.passes import ModulePass
from xdsl.pattern_rewriter import PatternRewriter, PatternRewriteWalker, RewritePattern, op_type_rewrite_pattern
from xdsl.utils.arg_spec import ArgSpec

from layoutc import tuned
from layoutc.checks import integer
from layoutc.conversion import NO_ATTRIBUTES, Conversion
from layoutc.descriptor import MemoryDesc
from layoutc.dialects.conversion_attr import ConversionAttr
from layoutc.dialects.ops import ReorderOp
from layoutc.errors import LayoutcError, PlanError
from layoutc.planning.choose import choose_plan, copies_of
from layoutc.planning.conversions.reorder import Reorder
from layoutc.planning.copies.copy_digits import SIDES, unfused
from layoutc.planning.copies.strided_copy import NotStridedError
from layoutc.planning.machine import ALIGNMENT, machine, of_registers
from layoutc.planning.plan_checks import check_adds
from layoutc.planning.plan_covers import check_buffered, check_covers, check_same
from layoutc.planning.plan_text import THROUGH, parse_plan, plan_lines
from layoutc.planning.plans.plan import MAX_THREADS, Plan
from layoutc.planning.plans.turns import Through
from layoutc.planning.through.through import through_buffers

_chosen: WeakKeyDictionary[ReorderOp, tuple[tuple[Attribute, ...], Plan]] = WeakKeyDictionary()
"""of reorders whose plan the planner wrote: all that decides it, and the plan, which need not be read from the text"""


def _facts(op: ReorderOp) -> tuple[Attribute, ...]:
    """All that decides what the plan of a reorder is."""
    assert op.plan is not None
    return op.plan, op.source.type, op.target_type, ConversionAttr(op.conversion)


def plan_of(op: ReorderOp) -> Plan | None:
    """
    The plan of a reorder, if it has one.

    Raises LayoutcError for text that is no plan, or not one of this reorder.
    """
    if op.plan is None:
        return None
    written, plan = _chosen.get(op, (None, None))
    if plan is not None and written == _facts(op):
        return plan
    return read_plan_of([line.data for line in op.plan], op.source_desc, op.target_desc, op.conversion)


def read_plan_of(lines: Sequence[str], source: MemoryDesc, target: MemoryDesc, conversion: Conversion) -> Plan:
    """The plan of these lines for a reorder that may convert. Raises LayoutcError as `read_plan` does."""
    if conversion.arithmetic(source.element_type, target.element_type) == "move":
        return read_plan(lines, source, target, conversion)
    return read_converting_plan(lines, source, target, conversion)


def read_converting_plan(
    lines: Sequence[str], source: MemoryDesc, target: MemoryDesc, conversion: Conversion = NO_ATTRIBUTES
) -> Plan:
    """
    The plan of these lines for a reorder that converts, or whose elements share bytes.

    Raises LayoutcError as `read_plan` does.
    """
    plan = parse_plan(lines)
    # What is copied, apart from how, follows from the registers alone.
    registers = machine("generic")
    for copy in plan.copies[:1]:
        registers = of_registers(copy.vector_bytes, copy.shuffles)
    through = [part for part in plan.parts if isinstance(part, Through)]
    converts_early = any(copy.widths.converts for part in through for copy in part.into)
    goes_through = bool(through) and ("src" if converts_early else "dst")
    try:
        check_same(plan, choose_plan(source, target, registers, plan.threads, conversion, goes_through))
    except PlanError:
        if conversion.compensation is None:
            raise
        # Its sums run along with copies where that gains: in the caches, or past them.
        past = replace(registers, llc=1)
        check_same(plan, choose_plan(source, target, past, plan.threads, conversion, goes_through))
    if conversion.sum:
        check_adds(plan)
    return plan


def read_plan(
    lines: Sequence[str], source: MemoryDesc, target: MemoryDesc, conversion: Conversion = NO_ATTRIBUTES
) -> Plan:
    """The plan of these lines. Raises LayoutcError for text that is no plan, or not one of this reorder."""
    if any(line.startswith(THROUGH) for line in lines):
        read = _read_buffered if target.element_type.bits >= 8 else read_converting_plan
        return read(lines, source, target)
    plan = parse_plan(lines)
    with_rows = any(digit.swaps_rows for each in plan.copies for digit in each.copy.digits)
    copies, widths = copies_of(Reorder(source, target), with_rows=with_rows)
    if widths.are_packed:
        return read_converting_plan(lines, source, target)
    if not any(copy.copy.params for copy in plan.copies):
        conversion = NO_ATTRIBUTES  # sums follow the copies
    reorder = Reorder(source, target, conversion)
    copies, _ = copies_of(reorder, with_rows=with_rows)
    try:
        check_covers(plan, copies, widths.dst)
    except PlanError as error:
        # All of a short axis in one digit, which wider elements may make even.
        joined, _ = copies_of(reorder, joins="all")
        if joined == copies:
            raise
        try:
            check_covers(plan, [unfused(copy) for copy in joined], widths.dst)
        except PlanError as other:
            raise max(error, other, key=lambda misfit: misfit.line) from None
    return plan


def _read_buffered(lines: Sequence[str], source: MemoryDesc, target: MemoryDesc) -> Plan:
    """A plan through a buffer in the order of a side. Raises LayoutcError as `read_plan` does."""
    plan, element = parse_plan(lines), target.element_type.bits // 8
    found = [buffered for side in SIDES if (buffered := through_buffers(source, target, side))]
    if not found:
        raise LayoutcError("the blocks of this reorder have no buffer between them")
    misfits: list[PlanError] = []
    for buffered in found:
        try:
            check_buffered(plan, buffered, element)
            return plan
        except PlanError as error:
            misfits.append(error)
    raise max(misfits, key=lambda misfit: misfit.line)


def tuned_plan(file: Path, reorder: Reorder, target: str, threads: int) -> tuple[str, ...] | None:
    """
    The lines of the plan that a file of tuned plans has for a reorder, if it has one.

    Raises LayoutcError for a plan that does not fit the reorder, or is for wider registers than the target has.
    """
    asked = reorder.source, reorder.destination, reorder.conversion
    lines = tuned.find(file, *asked, target, threads)
    if lines is None:
        return None
    try:
        plan = read_plan_of(lines, *asked)
        widest = max((copy.vector_bytes for copy in plan.copies), default=0)
        if widest > machine(target).vector:
            raise LayoutcError(f"has registers of {widest} bytes, {target} has {machine(target).vector}")
        if plan.threads > threads:
            raise LayoutcError(f"has {plan.threads} threads, expected at most {threads}")
    except LayoutcError as error:
        raise LayoutcError(f"tuned plans {file}: the plan of {reorder}: {error}; tune it again") from None
    return lines


@dataclass(frozen=True)
class AttachPlan(RewritePattern):
    """The planner's choice for one reorder."""

    target: str
    threads: int
    alignment: int
    tuned: Path | None

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: ReorderOp, rewriter: PatternRewriter) -> None:
        if op.destination is None or op.plan is not None:
            return
        reorder = Reorder(op.source_desc, op.target_desc, op.conversion)
        lines = chosen = None
        if self.tuned:
            lines = tuned_plan(self.tuned, reorder, self.target, self.threads)
        if not lines:
            try:
                target = machine(self.target, self.alignment)
                chosen = choose_plan(reorder.source, reorder.destination, target, self.threads, reorder.conversion)
                lines = plan_lines(chosen)
            except NotStridedError:
                return
        op.plan = ArrayAttr(map(StringAttr, lines))
        if chosen is not None:
            _chosen[op] = _facts(op), chosen
        rewriter.notify_op_modified(op)


@dataclass(frozen=True)
class PlanReordersPass(ModulePass):
    """
    Attaches plans for a target (`native`, `avx512`, `avx2`, `sse2`, `neon`, `generic`) and a number of threads.

    `alignment` is what the destination's address is a multiple of, in bytes; one that is not costs time, no more.

    Those that the file `tuned`, which `layoutc tune` writes, has for a reorder come before the planner's choice.
    """

    name = "plan-reorders"

    target: str = "native"
    threads: int = 1
    alignment: int = ALIGNMENT
    tuned: str = ""

    @classmethod
    def from_spec(cls, spec: ArgSpec) -> Self:
        """The pass with the options of a pipeline. Raises LayoutcError that names the one that is wrong."""
        kinds: dict[str, type] = {field.name: str if field.type == "str" else int for field in fields(cls)}
        for name, values in spec.normalize_parameter_names().parameters.items():
            if name not in kinds:
                raise LayoutcError(f"{cls.name} has no option {name!r}, expected one of {' '.join(kinds)}")
            if [type(value) for value in values] != [kinds[name]]:
                got = ",".join(map(repr, values)) or "nothing"
                expected = "a number" if kinds[name] is int else "a text"
                raise LayoutcError(f"option {name} of {cls.name} is {got}, expected {expected}")
        return super().from_spec(spec)

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        integer("the number of threads", self.threads, 1, MAX_THREADS)
        machine(self.target, self.alignment)
        if self.tuned:
            tuned.read(Path(self.tuned))  # said here also where no reorder asks for it
        pattern = AttachPlan(self.target, self.threads, self.alignment, Path(self.tuned) if self.tuned else None)
        PatternRewriteWalker(pattern, apply_recursively=False).rewrite_module(op)
