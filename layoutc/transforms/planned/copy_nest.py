"""One planned copy as IR: straight, or through buffers on the stack."""

from __future__ import annotations

from layoutc.planning.plans.plan import CopyPlan
from layoutc.transforms.building.loop_nest import NestBuilder
from layoutc.transforms.planned.buffered_copy import BufferedCopy, LineCopy
from layoutc.transforms.planned.copy_memory import Memory
from layoutc.transforms.planned.tiled_nest import TiledCopy


def tiled_copy(nest: NestBuilder, plan: CopyPlan, memory: Memory, threads: int) -> TiledCopy:
    """One planned copy, prepared."""
    is_straight = plan.load == "normal" and plan.store in ("normal", "nontemporal")
    has_lines = plan.copies_runs and memory.sums is None
    copy = (TiledCopy if is_straight else LineCopy if has_lines else BufferedCopy)(nest, plan, memory, threads)
    copy.prepare()
    return copy
