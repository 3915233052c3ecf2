"""
A planned copy through a buffer: macro tiles are put together in the first cache, and leave it by whole lines.

Runs of the destination need not start at a line. Each macro tile writes the lines that start in its part of a run,
past the caches; only the ends of a whole row are written element by element.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from xdsl.builder import Builder
from xdsl.dialects import arith, memref, scf, vector
from xdsl.dialects.builtin import BoolAttr, IndexType, VectorType
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.ir.affine import AffineExpr
from xdsl.rewriter import InsertPoint

from layoutc.planning.plan import LINE, CopyPlan
from layoutc.transforms.loop_nest import NestBuilder, apply
from layoutc.transforms.tile_loops import Steps, Term, TileLoops
from layoutc.transforms.tiled_nest import Memory, TiledCopy, VectorBody


class StagedCopy(TiledCopy):
    """A copy whose tiles are stored to a buffer, and the copy out of the buffer behind each macro tile."""

    def __init__(self, nest: NestBuilder, plan: CopyPlan, memory: Memory, threads: int):
        super().__init__(nest, plan, memory, threads)
        strides = plan.stage_strides
        digits = (replace(d, dst=stride) for d, stride in zip(plan.copy.digits, strides, strict=True))
        staged = replace(plan, store="normal", copy=replace(plan.copy, dst=0, digits=tuple(digits)))
        self.body = VectorBody(self, staged)
        self.stage_strides = [stride * self.ratio for stride in strides]
        self.line = LINE // memory.element_bytes
        """elements of the memory in a line"""
        self.runs = [
            Steps.of(g, 1, plan.macro[g]) for g in plan.outer_order if g not in plan.run_digits and plan.macro[g] > 1
        ]

    def build(self) -> Operation:
        self.prepare()
        elements = self.plan.stage_elements * self.ratio
        alloca = memref.AllocaOp.get(self.memory.element, LINE, [elements])
        alloca.results[0].name_hint = "stage"
        is_shared = self.threads > 1 and bool(self.outer)
        if not is_shared:
            self.nest.insert(alloca)
        outer = self.open_outer()
        if is_shared:
            self.loops.builder.insert(alloca)
        self.target = alloca.results[0]
        out = TileLoops(self.nest)
        out.builder, out.counters = self.loops.builder, list(self.loops.counters)
        inner = self.loops.serial(self.inner)
        stage_offset = self.loops.offset(inner, self.stage_strides, 0, "stage_offset")
        self.body.build(self.loops.builder, self.source((*outer, *inner)), stage_offset)
        self._copy_out(out, outer)
        return self.loops.outermost or alloca

    def prepare(self) -> None:
        super().prepare()
        last = self.plan.run_digits[-1]
        vectors = range(0, self.line, self._lanes)
        self.loops.constants(self.runs)
        for value in (0, 1, self.line, *vectors, self.plan.extents[last] - self.plan.macro[last]):
            self.nest.constant(value)

    @property
    def _lanes(self) -> int:
        return min(self.plan.vector_bytes, LINE) // self.memory.element_bytes

    # --- the copy out ----------------------------------------------------------------------------------------------

    def _copy_out(self, loops: TileLoops, outer: Sequence[Term]) -> None:
        """Each run: the head of a row, whole lines, the tail of a row."""
        runs = loops.serial(self.runs)
        builder, line, length = loops.builder, self.line, self.plan.run * self.ratio
        row = loops.offset((*outer, *runs), self.dst_strides, self.plan.copy.dst * self.ratio, "row")
        stage = loops.offset(runs, self.stage_strides, 0, "stage_row")
        d0 = AffineExpr.dimension(0)
        lines = apply(builder, d0.ceil_div(line) * line, [row], "lines")
        end = apply(builder, d0 + length, [row], "end")
        whole_end = apply(builder, ((d0 + length) // line) * line, [row], "lines_end")
        last = self.plan.run_digits[-1]
        start, stop, lines_end = row, end, whole_end
        terms = [term for term in outer if term.digit == last]
        if terms:
            step = self.plan.macro_step(last) * self.plan.run // self.plan.macro[last] * self.ratio
            owned = apply(builder, (d0 + step).ceil_div(line) * line, [row], "owned_end")
            position = loops.offset(terms, [1] * len(self.plan.macro), 0, "position")
            start = self._where(builder, position, 0, row, lines, "start")
            limit = self.plan.extents[last] - self.plan.macro[last]
            lines_end = self._where(builder, position, limit, whole_end, owned, "lines_end")
            stop = self._where(builder, position, limit, end, owned, "stop")
        self._elements(builder, start, lines, row, stage)
        self._lines(builder, lines, lines_end, row, stage)
        self._elements(builder, lines_end, stop, row, stage)

    def _where(
        self, builder: Builder, position: SSAValue, value: int, yes: SSAValue, no: SSAValue, name: str
    ) -> SSAValue:
        """One of two values, whether or not the macro tile is the first (the last) of its row."""
        condition = builder.insert(arith.CmpiOp(position, self.nest.constants[value], "eq")).result
        result = builder.insert(arith.SelectOp(condition, yes, no)).result
        result.name_hint = name
        return result

    def _elements(self, builder: Builder, start: SSAValue, stop: SSAValue, row: SSAValue, stage: SSAValue) -> None:
        inner, at, offset = self._loop(builder, start, stop, 1, row, stage)
        value = inner.insert(memref.LoadOp.get(self.target, [offset])).res
        inner.insert(memref.StoreOp.get(value, self.memory.target, [at]))

    def _lines(self, builder: Builder, start: SSAValue, stop: SSAValue, row: SSAValue, stage: SSAValue) -> None:
        inner, at, offset = self._loop(builder, start, stop, self.line, row, stage)
        type = VectorType(self.memory.element, [self._lanes])
        loaded: list[SSAValue] = []
        for first in range(0, self.line, self._lanes):
            load = inner.insert(vector.LoadOp(self.target, [self._at(inner, offset, first)], type))
            load.result.name_hint = "r"
            loaded.append(load.result)
        for number, value in enumerate(loaded):
            index = self._at(inner, at, number * self._lanes)
            inner.insert(vector.StoreOp(value, self.memory.target, [index], BoolAttr.from_bool(True)))

    def _loop(
        self, builder: Builder, start: SSAValue, stop: SSAValue, step: int, row: SSAValue, stage: SSAValue
    ) -> tuple[Builder, SSAValue, SSAValue]:
        """A loop over destination offsets, and the offset in the buffer."""
        block = Block([scf.YieldOp()], arg_types=[IndexType()])
        block.args[0].name_hint = "at"
        builder.insert(scf.ForOp(start, stop, self.nest.constants[step], [], Region(block)))
        inner = Builder(InsertPoint.at_start(block))
        at, first, base = (AffineExpr.dimension(i) for i in range(3))
        return inner, block.args[0], apply(inner, at - first + base, [block.args[0], row, stage], "from")

    def _at(self, builder: Builder, offset: SSAValue, distance: int) -> SSAValue:
        return builder.insert(arith.AddiOp(offset, self.nest.constants[distance])).result if distance else offset


def build_copy(nest: NestBuilder, plan: CopyPlan, memory: Memory, threads: int) -> Operation:
    """One planned copy, through a buffer or straight; returns the outermost operation."""
    kind = StagedCopy if plan.store == "staged" else TiledCopy
    return kind(nest, plan, memory, threads).build()
