"""
A planned copy through buffers on the stack: its tiles are loaded from one, stored to one, or both.

In the loops over macro tiles the buffer of the source is filled, the tiles are moved, and what they stored leaves the
buffer of the destination. Elements that share bytes have a byte each there (`byte_stage`); else rows of the source are
gathered, and converted if need be (`gathered_loads`), and rows of the destination leave by whole lines (`whole_lines`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from xdsl.ir import Operation

from layoutc.planning.conversions.shared_bytes import digits_apart
from layoutc.planning.copies.copy_digits import CopyDigit, SideName, StridedCopy
from layoutc.planning.plans.macro_buffers import MacroBuffer
from layoutc.planning.plans.plan import CopyPlan
from layoutc.transforms.building.loop_nest import NestBuilder
from layoutc.transforms.planned.byte_stage import ByteStage
from layoutc.transforms.planned.copy_memory import Memory
from layoutc.transforms.planned.gathered_loads import GatheredLoads
from layoutc.transforms.planned.lines_ahead import LinesAhead
from layoutc.transforms.planned.tiled_nest import TiledCopy
from layoutc.transforms.planned.whole_lines import AskAhead, StoreStage, run_loops
from layoutc.transforms.values.tile_loops import Steps, Term, TileLoops


class BufferedCopy(TiledCopy):
    """A copy whose tiles are loaded from a buffer, stored to a buffer, or both."""

    def __init__(self, nest: NestBuilder, plan: CopyPlan, memory: Memory, threads: int):
        moved = plan.gathered
        super().__init__(nest, moved, memory.as_gathered if plan.gathers_converted else memory, threads)
        self.load_stage = self._made_load_stage(plan, memory)
        self.store_stage = self._made_store_stage(moved, memory)
        of_tiles, shares = moved, dict(self.shares)
        if self.load_stage is not None:
            of_tiles = replace(of_tiles, load="normal", prefetch=0, copy=_inside(of_tiles, "src", plan.load_buffer))
            self.tile_source, shares["src"] = self.load_stage.buffer, 1
        if self.store_stage is not None:
            of_tiles = replace(of_tiles, store="normal", copy=_inside(of_tiles, "dst", moved.store_buffer))
            self.target, shares["dst"] = self.store_stage.buffer, 1
        self.shares = shares
        widths = replace(of_tiles.widths, src_per_byte=shares["src"], dst_per_byte=shares["dst"])
        self.tile_plan = replace(of_tiles, widths=widths)
        self.touched = [self.src_strides] * (not self.load_stage) + [self.dst_strides] * (not self.store_stage)

    def _made_load_stage(self, plan: CopyPlan, memory: Memory) -> GatheredLoads | ByteStage | None:
        if plan.load == "staged":
            return GatheredLoads(self.nest, plan, memory, self.inner)
        return ByteStage(self.nest, plan, memory.source, "src") if plan.load == "unpacked" else None

    def _made_store_stage(self, plan: CopyPlan, memory: Memory) -> StoreStage | ByteStage | None:
        if plan.stages_stores:
            return StoreStage(self.nest, plan, self.memory)
        return ByteStage(self.nest, plan, memory.target, "dst") if plan.store == "packed" else None

    def prepare(self) -> None:
        super().prepare()
        if isinstance(self.load_stage, GatheredLoads):
            self.load_stage.prepare(self.src_strides)
        if isinstance(self.store_stage, StoreStage):
            self.store_stage.prepare()

    def build(self) -> Operation:
        outer, first = self._open_outer_with_buffers()
        if self.store_stage is not None:
            self.store_stage.fetch_parts(self.loops, outer, self.dst_strides)
        if self.load_stage is not None:
            if isinstance(self.load_stage, GatheredLoads):
                self.load_stage.fill(
                    self.loops.inside(), outer, self.src_strides, self._overlapping, self.shared_params
                )
            else:
                self.load_stage.fill(self.loops.inside(), outer, self.src_strides)
        if isinstance(self.store_stage, ByteStage) and self.memory.adds and not self.plan.copy.is_fill:
            self.store_stage.fill(self.loops.inside(), outer, self.dst_strides)
        out = self.loops.inside()
        inner = self.loops.of_new_tiles(self.inner, self._overlapping, outer)
        terms = (*outer, *inner)
        self.find_params(terms)
        if isinstance(self.load_stage, GatheredLoads) and self.plan.asks == "by tiles":
            self.load_stage.ask_ahead(self.loops.inside(), outer, inner, self.src_strides)
        if self.load_stage is None:
            src = self.source(terms)
            self.ask_in_turn(terms, src)
        else:
            src = self.load_stage.place(self.loops, inner)
        dst = self.destination(terms) if self.store_stage is None else self.store_stage.place(self.loops, inner)
        self.body.build(self.loops.builder, src, dst)
        if isinstance(self.store_stage, StoreStage):
            self.store_stage.copy_out(out, outer, self.dst_strides, self._asks_again(out, outer))
        elif self.store_stage is not None:
            self.store_stage.copy_out(out, outer, self.dst_strides)
        return self.loops.outermost or first

    @property
    def _overlapping(self) -> list[tuple[Steps, Steps]]:
        """
        Loops over macro tiles, with those over their tiles, whose last one starts earlier and has tiles moved already.

        Out of a buffer of the destination leave all of them.
        """
        if self.store_stage is not None:
            return []
        tiles = {loop.digit: loop for loop in self.inner if loop.is_even}
        return [(loop, tiles[loop.digit]) for loop in self.outer if loop.digit in tiles and not loop.is_even]

    def _asks_again(self, loops: TileLoops, outer: Sequence[Term]) -> AskAhead | None:
        """How each line that leaves the buffer asks for lines of the source as well; None if loads alone do."""
        plan = self.plan
        if plan.asks != "twice":
            return None
        run = plan.source_run_digits
        rows = run_loops(plan, run, plan.memory_steps("src"))
        ahead = LinesAhead(plan, self.memory, self.memory.source, self.outer, rows, run[0])
        at = ahead.take_turns(loops, outer) if plan.macro_tiles_of_a_line > 1 else outer
        return lambda loops, number, turns: ahead.ask(loops, at, self.src_strides, number, turns)

    def _open_outer_with_buffers(self) -> tuple[list[Term], Operation]:
        """The loops over macro tiles; the buffers are those of the function, or of each thread, or turn."""
        apart = digits_apart(self.plan) if self.threads > 1 else ()
        ahead = self.outer if self.around is not None else [loop for loop in self.shared if loop.digit in apart]
        is_inside = bool(ahead) or self.around is not None
        terms = self.open_outer(ahead) if is_inside else []
        insert = self.loops.builder.insert if is_inside else self.nest.insert
        stages = [stage for stage in (self.load_stage, self.store_stage) if stage is not None]
        made = [insert(alloca) for stage in stages for alloca in stage.allocas]
        return terms + self.loops.serial([loop for loop in self.outer if loop not in ahead]), made[0]


class LineCopy(TiledCopy):
    """A copy of runs of the source, which is stored by whole lines of the destination."""

    def __init__(self, nest: NestBuilder, plan: CopyPlan, memory: Memory, threads: int):
        super().__init__(nest, plan, memory, threads)
        self.lines = StoreStage(nest, plan, memory, in_source=True)

    def prepare(self) -> None:
        self.lines.prepare()

    def build(self) -> Operation:
        outer = self.open_outer(self.outer)
        self.lines.fetch_parts(self.loops, outer, self.dst_strides)
        self.lines.copy_out(self.loops.inside(), outer, self.dst_strides, source=self.src_strides)
        assert self.loops.outermost is not None, "macro tiles are parts of the copy"
        return self.loops.outermost


def tiled_copy(nest: NestBuilder, plan: CopyPlan, memory: Memory, threads: int) -> TiledCopy:
    """One planned copy, straight or through buffers, prepared."""
    has_lines = plan.copies_runs and memory.sums is None
    copy = (TiledCopy if not plan.has_buffers else LineCopy if has_lines else BufferedCopy)(nest, plan, memory, threads)
    copy.prepare()
    return copy


def _inside(plan: CopyPlan, side: SideName, buffer: MacroBuffer) -> StridedCopy:
    """The copy as its tiles see it: one side is a buffer, in which nothing carries."""
    digits: list[CopyDigit] = []
    for digit, stride in zip(plan.copy.digits, buffer.strides, strict=True):
        carries = tuple((name, carry) for name, carry in digit.carries if name != side)
        moved = replace(digit, src=stride) if side == "src" else replace(digit, dst=stride)
        digits.append(replace(moved, carries=carries))
    base = replace(plan.copy, src=0) if side == "src" else replace(plan.copy, dst=0)
    return replace(base, digits=tuple(digits))
