"""One planned copy as IR: straight, or through buffers on the stack."""

from __future__ import annotations

from layoutc.planning.plan import CopyPlan
from layoutc.transforms.copy_memory import Memory
from layoutc.transforms.loop_nest import NestBuilder
from layoutc.transforms.packed_copy import PackedCopy
from layoutc.transforms.staged_nest import StagedCopy
from layoutc.transforms.tiled_nest import TiledCopy


def tiled_copy(nest: NestBuilder, plan: CopyPlan, memory: Memory, threads: int) -> TiledCopy:
    """One planned copy, prepared."""
    kind = TiledCopy
    if plan.stages_stores or plan.load == "staged":
        kind = StagedCopy
    elif plan.store == "packed" or plan.load == "unpacked":
        kind = PackedCopy
    copy = kind(nest, plan, memory, threads)
    copy.prepare()
    return copy
