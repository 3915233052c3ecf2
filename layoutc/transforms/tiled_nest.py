"""
A planned copy as IR: macro tiles, tiles, and in each tile loads, shuffles and stores of whole registers.

Requires a plan (`planning.plan.CopyPlan`). Leaves scf, affine, arith, memref and vector ops on flat buffers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

from xdsl.builder import Builder
from xdsl.dialects import affine, arith, memref, scf, vector
from xdsl.dialects.builtin import (
    AffineMapAttr,
    BoolAttr,
    DenseArrayBase,
    DenseIntOrFPElementsAttr,
    IndexType,
    IntegerAttr,
    IntegerType,
    StringAttr,
    VectorType,
    i64,
)
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.ir.affine import AffineExpr, AffineMap
from xdsl.rewriter import InsertPoint

from layoutc.dialects.memory import mlir_element_type
from layoutc.planning.plan import CopyPlan, Plan
from layoutc.planning.plan_text import plan_lines
from layoutc.planning.tile import Register, TileProgram
from layoutc.transforms.loop_nest import NestBuilder, apply
from layoutc.transforms.plain_nest import COMMENT, Buffer, build_zero, comment

THREADS = "layout.threads"
"""discardable attribute of scf.parallel: how many threads share it"""


@dataclass(frozen=True)
class Memory:
    """Both flat buffers, the type and width of their elements, and a zero of that type."""

    source: SSAValue
    target: SSAValue
    element: Attribute
    element_bytes: int
    zero: SSAValue | None


def build_planned_nest(
    nest: NestBuilder, plan: Plan, source: Buffer, target: Buffer, axis_names: Sequence[str]
) -> None:
    """The copies of a plan, one after the other."""
    needs_zero = any(copy.copy.is_fill and not copy.target_lanes for copy in plan.copies)
    zero = build_zero(nest, target) if needs_zero else None
    element = target.desc.element_type
    memory = Memory(source.memory, target.memory, mlir_element_type(element), element.bits // 8, zero)
    _, *lines = plan_lines(plan)
    for number, (copy, line) in enumerate(zip(plan.copies, lines, strict=True)):
        first = TiledCopy(nest, copy, memory, plan.threads).build()
        text = comment(source.desc, target.desc, axis_names, line) if number == 0 else StringAttr(line)
        first.attributes[COMMENT] = text


class TiledCopy:
    """The loops around the tiles: counters of macro tiles and of tiles, and each digit's position in their terms."""

    def __init__(self, nest: NestBuilder, plan: CopyPlan, memory: Memory, threads: int):
        self.nest, self.plan, self.memory, self.threads = nest, plan, memory, threads
        self.digits = plan.copy.digits
        self.ratio = plan.element_bytes // memory.element_bytes
        self.counters: list[SSAValue] = []
        self.terms: list[tuple[int, AffineExpr]] = []
        """(digit, what a counter adds to its position)"""
        self.outermost: Operation | None = None
        self.builder = Builder(InsertPoint.before(nest.before))

    def build(self) -> Operation:
        """Builds it all; returns the outermost operation."""
        plan, digits = self.plan, self.digits
        outer = [(g, plan.macro[g], digits[g].extent) for g in plan.outer_order if plan.macro[g] < digits[g].extent]
        inner = [(g, plan.tile[g], plan.macro[g]) for g in plan.inner_order if digits[g].is_whole]
        inner = [loop for loop in inner if loop[1] < loop[2]]
        body = ScalarBody(self) if not plan.target_lanes else VectorBody(self)
        # Constants stand ahead of the loops that use them.
        for value in (0, 1, plan.copy.src * self.ratio, plan.copy.dst * self.ratio, *body.constants()):
            self.nest.constant(value)
        for _, step, extent in (*outer, *inner):
            self.nest.constant(-(-extent // step))
        body.prepare()
        if self.threads > 1 and outer:
            self._parallel(outer)
        else:
            inner = [*outer, *inner]
        for g, step, extent in inner:
            self._for(g, step, extent)
        first = body.build(self.builder)
        return self.outermost or first

    def _parallel(self, loops: Sequence[tuple[int, int, int]]) -> None:
        block = Block([scf.ReduceOp()], arg_types=[IndexType()] * len(loops))
        ends = [self.nest.constant(-(-extent // step)) for _, step, extent in loops]
        zeros, ones = ([self.nest.constant(value)] * len(loops) for value in (0, 1))
        op = scf.ParallelOp(zeros, ends, ones, Region(block))
        op.attributes[THREADS] = IntegerAttr(self.threads, i64)
        self._enter(op, block)
        for (g, step, extent), counter in zip(loops, block.args, strict=True):
            self._advance(g, step, extent, counter)

    def _for(self, g: int, step: int, extent: int) -> None:
        block = Block([scf.YieldOp()], arg_types=[IndexType()])
        start, end, one = (self.nest.constant(value) for value in (0, -(-extent // step), 1))
        self._enter(scf.ForOp(start, end, one, [], Region(block)), block)
        self._advance(g, step, extent, block.args[0])

    def _enter(self, op: Operation, block: Block) -> None:
        self.builder.insert(op)
        self.outermost = self.outermost or op
        self.builder = Builder(InsertPoint.at_start(block))

    def _advance(self, g: int, step: int, extent: int, counter: SSAValue) -> None:
        """Adds a counter's steps to a digit's position; a last step that does not fit starts earlier."""
        counter.name_hint = f"i{g}"
        if extent % step == 0:
            self.counters.append(counter)
            self.terms.append((g, AffineExpr.dimension(len(self.counters) - 1) * step))
            return
        starts = (AffineExpr.dimension(0) * step, AffineExpr.constant(extent - step))
        start = self.builder.insert(affine.MinOp([counter], AffineMapAttr(AffineMap(1, 0, starts)))).result
        start.name_hint = f"start{g}"
        self.counters.append(start)
        self.terms.append((g, AffineExpr.dimension(len(self.counters) - 1)))

    def offset(self, side: str, name: str) -> SSAValue:
        """The offset in a buffer of the first element of the tile."""
        total: Any = None
        for g, position in self.terms:
            stride = getattr(self.digits[g], side) * self.ratio
            if stride:
                term = position * stride if stride != 1 else position
                total = term if total is None else total + term
        base = getattr(self.plan.copy, side) * self.ratio
        if total is None:
            return self.nest.constants[base]
        return apply(self.builder, total + base if base else total, self.counters, name)


class ScalarBody:
    """One element: for digits without a contiguous run on one of the sides."""

    def __init__(self, copy: TiledCopy):
        self.copy = copy

    def constants(self) -> Sequence[int]:
        """Index constants of the body."""
        return ()

    def prepare(self) -> None:
        """Nothing ahead of the loops."""

    def build(self, builder: Builder) -> Operation:
        """A load and a store, or the store of a zero."""
        memory = self.copy.memory
        value, first = memory.zero, None
        if not self.copy.plan.copy.is_fill:
            first = builder.insert(memref.LoadOp.get(memory.source, [self.copy.offset("src", "src_offset")]))
            value = first.res
            value.name_hint = "value"
        assert value is not None
        store = builder.insert(memref.StoreOp.get(value, memory.target, [self.copy.offset("dst", "dst_offset")]))
        return first or store


class VectorBody:
    """A tile: loads, the shuffle network, stores."""

    def __init__(self, copy: TiledCopy):
        self.copy = copy
        plan = copy.plan
        self.program = TileProgram(plan)
        self.is_fill = plan.copy.is_fill
        partial = [not d.is_whole for d in copy.digits]
        starts = [range(0, d.extent, t) if p else (0,) for d, t, p in zip(copy.digits, plan.tile, partial, strict=True)]
        self.starts = list(product(*starts))
        """of the digits that are loaded in part, each tile is written out by itself"""
        self.loads = [[] if self.is_fill else self.program.loads(starts) for starts in self.starts]
        self.stores = self.program.stores()
        width = IntegerType(8 * plan.element_bytes)
        is_direct = copy.ratio == 1 and str(copy.memory.element) in (
            "f64",
            "f32",
            "f16",
            "bf16",
            "i64",
            "i32",
            "i16",
            "i8",
        )
        self.lane_type: Attribute = copy.memory.element if is_direct else width
        self.zero: SSAValue | None = None

    def constants(self) -> list[int]:
        """Offsets of the pieces from the tile's first element."""
        found = {0}
        for starts, registers in zip(self.starts, self.loads, strict=True):
            found |= {
                self._static(starts, "src") + p * self.copy.ratio for r in registers for p in r.pieces if p is not None
            }
            found |= {
                self._static(starts, "dst") + p * self.copy.ratio
                for r in self.stores
                for p in r.pieces
                if p is not None
            }
        return sorted(found)

    def prepare(self) -> None:
        """The register of zeros, if any piece is zero."""
        if self.is_fill or any(piece is None for tile in self.loads for register in tile for piece in register.pieces):
            self.zero = self._zeros()

    def build(self, builder: Builder) -> Operation:
        """All tiles that are written out by themselves."""
        self.builder = builder
        before = builder.insertion_point
        self.src = None if self.is_fill else self.copy.offset("src", "src_offset")
        self.dst = self.copy.offset("dst", "dst_offset")
        for starts, registers in zip(self.starts, self.loads, strict=True):
            self._tile(starts, registers)
        first = before.block.first_op
        assert first is not None
        return first

    def _tile(self, starts: Sequence[int], registers: Sequence[Register]) -> None:
        if self.is_fill:
            assert self.zero is not None
            results = [self.zero] * len(self.stores)
        else:
            values = [self._load(register, self._static(starts, "src")) for register in registers]
            for step in self.program.network.steps:
                second = values[step.first if step.second is None else step.second]
                values.append(self._shuffle(values[step.first], second, step.mask, "t"))
            results = [values[output] for output in self.program.network.outputs]
        for register, value in zip(self.stores, results, strict=True):
            self._store(register, value, self._static(starts, "dst"))

    def _static(self, starts: Sequence[int], side: str) -> int:
        """How far a tile that is written out by itself lies from the first one, in elements of memory."""
        return sum(s * getattr(d, side) for s, d in zip(starts, self.copy.digits, strict=True)) * self.copy.ratio

    # --- loads and stores ----------------------------------------------------------------------------------------

    def _load(self, register: Register, base: int) -> SSAValue:
        """A register, put together from its pieces."""
        parts = [self._load_piece(piece, base) for piece in register.pieces]
        lanes = self.program.load_piece
        while len(parts) > 1:
            lanes *= 2
            parts = [self._shuffle(a, b, range(lanes), "r") for a, b in zip(parts[::2], parts[1::2], strict=True)]
        return parts[0]

    def _load_piece(self, piece: int | None, base: int) -> SSAValue:
        lanes = self.program.load_piece
        if piece is None:
            assert self.zero is not None
            if lanes == self.program.lanes:
                return self.zero
            return self._shuffle(self.zero, self.zero, range(lanes), "zero")
        assert self.src is not None
        index = self._at(self.src, base + piece * self.copy.ratio)
        memory_type = VectorType(self.copy.memory.element, [lanes * self.copy.ratio])
        loaded = self.builder.insert(vector.LoadOp(self.copy.memory.source, [index], memory_type)).result
        loaded.name_hint = "r"
        return self._cast(loaded, VectorType(self.lane_type, [lanes]))

    def _store(self, register: Register, value: SSAValue, base: int) -> None:
        lanes = self.program.store_piece
        for number, piece in enumerate(register.pieces):
            assert piece is not None
            part = value
            if len(register.pieces) > 1:
                part = self._shuffle(value, value, range(number * lanes, (number + 1) * lanes), "part")
            index = self._at(self.dst, base + piece * self.copy.ratio)
            stored = self._cast(part, VectorType(self.copy.memory.element, [lanes * self.copy.ratio]))
            streams = BoolAttr.from_bool(True) if self.copy.plan.store == "nontemporal" else None
            self.builder.insert(vector.StoreOp(stored, self.copy.memory.target, [index], streams))

    def _at(self, offset: SSAValue, distance: int) -> SSAValue:
        if distance == 0:
            return offset
        return self.builder.insert(arith.AddiOp(offset, self.copy.nest.constants[distance])).result

    def _shuffle(self, a: SSAValue, b: SSAValue, mask: Sequence[int], name: str) -> SSAValue:
        if a is b is self.zero and len(mask) == self.program.lanes:
            return a
        result = VectorType(self.lane_type, [len(mask)])
        op = self.builder.insert(vector.ShuffleOp(a, b, DenseArrayBase.from_list(i64, list(mask)), result_type=result))
        op.result.name_hint = name
        return op.result

    def _cast(self, value: SSAValue, type: Attribute) -> SSAValue:
        if value.type == type:
            return value
        op = self.builder.insert(vector.BitcastOp(value, type))
        op.result.name_hint = value.name_hint
        return op.result

    def _zeros(self) -> SSAValue:
        """A register of zeros, ahead of the loops."""
        type = VectorType(self.lane_type, [self.program.lanes])
        is_integer = isinstance(self.lane_type, IntegerType)
        zero = DenseIntOrFPElementsAttr.from_list(type, [0 if is_integer else 0.0])  # pyright: ignore
        op = self.copy.nest.insert(arith.ConstantOp(zero))
        op.results[0].name_hint = "zeros"
        return op.results[0]
