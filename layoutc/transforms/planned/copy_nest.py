"""One planned copy as IR: straight, or through buffers on the stack."""

from __future__ import annotations

from layoutc.planning.plans.plan import CopyPlan
from layoutc.transforms.building.loop_nest import NestBuilder
from layoutc.transforms.planned.buffered_copy import BufferedCopy
from layoutc.transforms.planned.copy_memory import Memory
from layoutc.transforms.planned.tiled_nest import TiledCopy


def tiled_copy(nest: NestBuilder, plan: CopyPlan, memory: Memory, threads: int) -> TiledCopy:
    """One planned copy, prepared."""
    is_straight = plan.load == "normal" and plan.store in ("normal", "nontemporal")
    copy = (TiledCopy if is_straight else BufferedCopy)(nest, plan, memory, threads)
    copy.prepare()
    return copy
