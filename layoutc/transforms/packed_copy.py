"""A planned copy whose tiles are loaded from a buffer of bytes, stored to one, or both."""

from __future__ import annotations

from dataclasses import replace

from xdsl.ir import Operation

from layoutc.planning.plan import CopyPlan
from layoutc.planning.shared_bytes import digits_apart
from layoutc.transforms.byte_stage import ByteStage
from layoutc.transforms.copy_memory import Memory
from layoutc.transforms.lane_params import param_sites
from layoutc.transforms.loop_nest import NestBuilder
from layoutc.transforms.staged_nest import with_strides
from layoutc.transforms.tile_loops import Term
from layoutc.transforms.tiled_nest import TiledCopy


class PackedCopy(TiledCopy):
    """A copy whose tiles are loaded from a buffer of bytes, stored to one, or both."""

    def __init__(self, nest: NestBuilder, plan: CopyPlan, memory: Memory, threads: int):
        super().__init__(nest, plan, memory, threads)
        plain, shares = replace(plan, load="normal", store="normal"), dict(self.shares)
        self.load_stage: ByteStage | None = None
        self.store_stage: ByteStage | None = None
        if plan.load == "unpacked":
            self.load_stage = ByteStage(nest, plan, memory.source, "src")
            plain = replace(plain, prefetch=0, copy=with_strides(plain, "src", plan.load_stage[0]))
            self.tile_source, shares["src"] = self.load_stage.buffer, 1
        if plan.store == "packed":
            self.store_stage = ByteStage(nest, plan, memory.target, "dst")
            plain = replace(plain, copy=with_strides(plain, "dst", plan.store_stage[0]))
            self.target, shares["dst"] = self.store_stage.buffer, 1
        plain = replace(plain, per_byte=(shares["src"], shares["dst"]))
        self.shares = shares
        self.touched = [self.src_strides] * (not self.load_stage) + [self.dst_strides] * (not self.store_stage)
        self.tile_plan = plain

    @property
    def stages(self) -> list[ByteStage]:
        return [stage for stage in (self.load_stage, self.store_stage) if stage is not None]

    def build(self) -> Operation:
        outer, alloca = self._open_outer_with_buffers()
        if self.load_stage is not None:
            self.load_stage.copy_in(self.loops.inside(), outer, self.src_strides)
        if self.store_stage is not None and self.memory.adds and not self.plan.copy.is_fill:
            self.store_stage.copy_in(self.loops.inside(), outer, self.dst_strides)
        out = self.loops.inside()
        inner = self.loops.serial(self.inner)
        terms = (*outer, *inner)
        self.param_sites = param_sites(self.plan.copy, self.loops, terms)
        src = self.load_stage.place(self.loops, inner) if self.load_stage is not None else self.source(terms)
        dst = self.store_stage.place(self.loops, inner) if self.store_stage is not None else self.destination(terms)
        self.body.build(self.loops.builder, src, dst)
        if self.store_stage is not None:
            self.store_stage.copy_out(out, outer, self.dst_strides)
        return alloca if self.loops.outermost is None else self.loops.outermost

    def _open_outer_with_buffers(self) -> tuple[list[Term], Operation]:
        """The loops over macro tiles; the buffers are those of the function, or of each thread."""
        apart = digits_apart(self.plan) if self.threads > 1 else ()
        shared = [loop for loop in self.outer if loop.digit in apart]
        terms = self.loops.parallel(shared, self.threads) if shared else []
        insert = self.loops.builder.insert if shared else self.nest.insert
        made = [insert(stage.alloca) for stage in self.stages]
        return terms + self.loops.serial([loop for loop in self.outer if loop not in shared]), made[0]
