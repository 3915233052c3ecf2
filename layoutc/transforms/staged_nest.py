"""
A planned copy through a buffer: macro tiles are put together in the first cache, and leave it by whole lines.

Neither the destination nor its runs need start at a line: where lines start is asked of the pointer. Each macro tile
writes the lines that start in its part of a run, past the caches; only the ends of a whole row are written element by
element.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from xdsl.builder import Builder
from xdsl.dialects import arith, memref, scf
from xdsl.dialects.builtin import IndexType
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.ir.affine import AffineExpr
from xdsl.rewriter import InsertPoint

from layoutc.planning.plan import LINE, CopyPlan, Together
from layoutc.planning.strided_copy import CopyDigit, SideName, Stride, StridedCopy
from layoutc.transforms.loop_nest import NestBuilder, apply
from layoutc.transforms.step_table import Place
from layoutc.transforms.tile_body import Memory, VectorBody
from layoutc.transforms.tile_loops import Steps, Term, TileLoops
from layoutc.transforms.tiled_nest import Around, TiledCopy
from layoutc.transforms.vector_ops import load, store, sum_of, vector_type


class StagedCopy(TiledCopy):
    """A copy whose tiles are loaded from a buffer, stored to a buffer, or both."""

    def __init__(self, nest: NestBuilder, plan: CopyPlan, memory: Memory, threads: int):
        super().__init__(nest, plan, memory, threads)
        self.stages_loads, self.stages_stores = plan.load == "staged", plan.stages_stores
        self.line = LINE // memory.element_bytes
        """elements of the memory in a line"""
        plain = replace(plan, store="normal") if self.stages_stores else plan
        if self.stages_loads:
            strides, self.load_elements = plan.load_stage
            plain = replace(plain, load="normal", prefetch=0, copy=_with_strides(plain, "src", strides))
            self.load_strides = [stride * self.ratio for stride in strides]
        if self.stages_stores:
            strides, self.store_elements = plan.store_stage
            plain = replace(plain, copy=_with_strides(plain, "dst", strides))
            self.store_strides = [stride * self.ratio for stride in strides]
        self.touched = [self.src_strides] * (not self.stages_loads) + [self.dst_strides] * (not self.stages_stores)
        self.body = VectorBody(self, plain)

    def build(self) -> Operation:
        is_shared = self.around is not None or (self.threads > 1 and bool(self.outer))
        first = None if is_shared else self._stages(self.nest.insert)
        outer = self.open_outer()
        if is_shared:
            first = self._stages(self.loops.builder.insert)
        if self.stages_loads:
            self._copy_in(self.loops.inside(), outer)
        out = self.loops.inside()
        inner = self.loops.serial(self.inner)
        terms = (*outer, *inner)
        src = self._in_stage(inner, self.load_strides, "load_offset") if self.stages_loads else self.source(terms)
        dst = (
            self._in_stage(inner, self.store_strides, "store_offset") if self.stages_stores else self.destination(terms)
        )
        self.body.build(self.loops.builder, src, dst)
        if self.stages_stores:
            self._copy_out(out, outer)
        operation = self.loops.outermost or first
        assert operation is not None
        return operation

    def _stages(self, insert: Callable[[Operation], Operation]) -> Operation:
        """The buffers, on the stack: of the function, or of each thread."""
        made: list[Operation] = []
        for is_staged, name in ((self.stages_loads, "load_stage"), (self.stages_stores, "store_stage")):
            if is_staged:
                elements = (self.load_elements if name == "load_stage" else self.store_elements) * self.ratio
                made.append(insert(memref.AllocaOp.get(self.memory.element, LINE, [elements])))
                made[-1].results[0].name_hint = name
                if name == "load_stage":
                    self.tile_source = made[-1].results[0]
                else:
                    self.target = made[-1].results[0]
        return made[0]

    def _in_stage(self, inner: Sequence[Term], strides: Sequence[int], name: str) -> Place:
        return Place(self.loops.offset(inner, strides, 0, name))

    def prepare(self) -> None:
        super().prepare()
        constants = [0, 1]
        if self.stages_stores:
            last = self.plan.run_digits[-1]
            constants += (self.line, *range(0, self.line, self._lanes), self.plan.run * self.ratio)
            constants.append(self.plan.extents[last] - self.plan.macro[last])
            self.loops.constants(self._runs(self.plan.run_digits, self.plan.macro))
        if self.stages_loads:
            self.loops.constants((*self._source_runs(), self._along_run()))
        for value in constants:
            self.nest.constant(value)
        if self.stages_stores:
            address = self.nest.insert(memref.ExtractAlignedPointerAsIndexOp.get(self.memory.target)).results[0]
            elements = AffineExpr.dimension(0) % LINE // self.memory.element_bytes
            self.begin = apply(Builder(InsertPoint.before(self.nest.before)), elements, [address], "begin")
            """how many elements of its first line lie before the destination"""

    def _runs(self, run_digits: Sequence[int], steps: Sequence[int]) -> list[Steps]:
        """Loops over the runs of a macro tile, which has so many steps of each digit."""
        return [Steps.of(g, 1, steps[g]) for g in self.plan.outer_order if g not in run_digits and steps[g] > 1]

    # --- the copy in -----------------------------------------------------------------------------------------------

    def _source_runs(self) -> list[Steps]:
        """Loops over the runs that are in the source: what is not there is not read."""
        steps = [self.plan.loaded_steps(position) for position in range(len(self.plan.macro))]
        return self._runs(self.plan.source_run_digits, steps)

    def _along_run(self) -> Steps:
        """Vectors along a run of the source; its digits move as one, by the stride of the fastest."""
        length = self.plan.source_run * self.ratio
        lanes = min(self.plan.vector_bytes // self.memory.element_bytes, 1 << (length.bit_length() - 1))
        return Steps.of(self.plan.source_run_digits[0], lanes, length)

    def _copy_in(self, loops: TileLoops, outer: Sequence[Term]) -> None:
        runs = loops.serial(self._source_runs())
        along = loops.serial([self._along_run()])
        single: list[Stride] = [1 if g == along[0].digit else stride for g, stride in enumerate(self.src_strides)]
        base = self.plan.copy.src * self.ratio
        # Steps along a run count elements of the memory; all other counters count values of their digit.
        row = loops.offset((*outer, *runs), self.src_strides, base, "row")
        into = loops.offset(runs, self.load_strides, 0, "into_row")
        at = loops.offset(along, single, 0, "at")
        builder, lanes = loops.builder, self._along_run().size
        here, there = (builder.insert(sum_of(start, at)).result for start in (row, into))
        type = vector_type(self.memory.element, lanes)
        value = builder.insert(load(self.memory.source, here, type, self.plan.prefetch * self.ratio)).result
        builder.insert(store(value, self.tile_source, there))

    @property
    def _lanes(self) -> int:
        return min(self.plan.vector_bytes, LINE) // self.memory.element_bytes

    # --- the copy out ----------------------------------------------------------------------------------------------

    def _copy_out(self, loops: TileLoops, outer: Sequence[Term]) -> None:
        """Each run: the head of a row, whole lines, the tail of a row."""
        runs = loops.serial(self._runs(self.plan.run_digits, self.plan.macro))
        builder, line, length = loops.builder, self.line, self.plan.run * self.ratio
        row = loops.offset((*outer, *runs), self.dst_strides, self.plan.copy.dst * self.ratio, "row")
        stage = loops.offset(runs, self.store_strides, 0, "stage_row")
        place = builder.insert(sum_of(row, self.begin)).result
        place.name_hint = "place"
        d0 = AffineExpr.dimension(0)
        # Everything below counts from the start of the run.
        lines = apply(builder, self._to_line(d0), [place], "lines")
        lines_end = apply(builder, AffineExpr.constant(length) - (d0 + length) % line, [place], "lines_end")
        start, stop = self.nest.constants[0], self.nest.constants[length]
        last = self.plan.run_digits[-1]
        terms = [term for term in outer if term.digit == last]
        if terms:
            step = self.plan.macro_step(last) * self.plan.run // self.plan.macro[last] * self.ratio
            owned = apply(builder, self._to_line(d0 + step) + step, [place], "owned_end")
            position = loops.offset(terms, [1] * len(self.plan.macro), 0, "position")
            limit = self.plan.extents[last] - self.plan.macro[last]
            start = self._where(builder, position, 0, start, lines, "start")
            lines_end = self._where(builder, position, limit, lines_end, owned, "lines_end")
            stop = self._where(builder, position, limit, stop, owned, "stop")
        if self.plan.store == "aligned":
            # A line from the very start, and one up to the very end: the lines between write some of them again.
            self._lines(builder, start, lines, row, stage)
            ends = builder.insert(arith.CmpiOp(lines_end, stop, "slt")).result
            tail = apply(builder, d0 - line, [stop], "tail")
            tail = builder.insert(arith.SelectOp(ends, tail, stop)).result
            self._lines(builder, tail, stop, row, stage)
        else:
            self._elements(builder, start, lines, row, stage)
            self._elements(builder, lines_end, stop, row, stage)
        self._lines(builder, lines, lines_end, row, stage)

    def _to_line(self, place: AffineExpr) -> AffineExpr:
        """How far the next line is; as a remainder, in which C compilers see that it is less than a line."""
        return place * (self.line - 1) % self.line

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
        type = vector_type(self.memory.element, self._lanes)
        loaded: list[SSAValue] = []
        for number in range(0, self.line, self._lanes):
            loaded.append(inner.insert(load(self.target, self._at(inner, offset, number), type)).result)
        for number, value in enumerate(loaded):
            index = self._at(inner, at, number * self._lanes)
            inner.insert(store(value, self.memory.target, index, streams=self.plan.store == "staged"))

    def _loop(
        self, builder: Builder, start: SSAValue, stop: SSAValue, step: int, row: SSAValue, stage: SSAValue
    ) -> tuple[Builder, SSAValue, SSAValue]:
        """A loop along a run: the offsets in the destination and in the buffer."""
        block = Block([scf.YieldOp()], arg_types=[IndexType()])
        block.args[0].name_hint = "k"
        builder.insert(scf.ForOp(start, stop, self.nest.constants[step], [], Region(block)))
        inner = Builder(InsertPoint.at_start(block))
        at, offset = (inner.insert(sum_of(base, block.args[0])).result for base in (row, stage))
        at.name_hint, offset.name_hint = "at", "stage_at"
        return inner, at, offset

    def _at(self, builder: Builder, offset: SSAValue, distance: int) -> SSAValue:
        return builder.insert(sum_of(offset, self.nest.constants[distance])).result if distance else offset


def _with_strides(plan: CopyPlan, side: SideName, strides: Sequence[int]) -> StridedCopy:
    """The copy as its tiles see it: one side is a buffer, in which nothing carries."""
    digits: list[CopyDigit] = []
    for digit, stride in zip(plan.copy.digits, strides, strict=True):
        carries = tuple((name, carry) for name, carry in digit.carries if name != side)
        moved = replace(digit, src=stride) if side == "src" else replace(digit, dst=stride)
        digits.append(replace(moved, carries=carries))
    base = replace(plan.copy, src=0) if side == "src" else replace(plan.copy, dst=0)
    return replace(base, digits=tuple(digits))


def tiled_copy(nest: NestBuilder, plan: CopyPlan, memory: Memory, threads: int) -> TiledCopy:
    """One planned copy, through a buffer or straight, with its constants made."""
    kind = StagedCopy if plan.stages_stores or plan.load == "staged" else TiledCopy
    copy = kind(nest, plan, memory, threads)
    copy.prepare()
    return copy


def build_together(
    nest: NestBuilder, together: Together, memory: Memory, threads: int
) -> tuple[Operation, list[Operation]]:
    """Copies in the loops that they share; returns the outermost of these, and that of each copy."""
    copies = [tiled_copy(nest, plan, memory, 1) for plan in together.copies]
    loops = TileLoops(nest)
    steps = [Steps.of(number, loop.step, loop.extent) for number, loop in enumerate(together.loops)]
    moving = [step for step in steps if step.size < step.extent]
    loops.constants(moving)
    terms = loops.parallel(moving, threads) if threads > 1 else loops.serial(moving)
    src, dst = ([getattr(loop, side) // memory.element_bytes for loop in together.loops] for side in ("src", "dst"))
    made: list[Operation] = []
    for copy in copies:
        copy.put_inside(Around(loops, terms, src, dst))
        made.append(copy.build())
    assert loops.outermost is not None, "a loop of one turn is none"
    return loops.outermost, made
