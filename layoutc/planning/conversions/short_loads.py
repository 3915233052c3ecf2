"""
Elements that become f32 as they lie: loads of as many as a register has of these.

What a longer load has is taken apart in registers, by a shuffle or two for each part. A short one is widened as it
comes from memory. Of codes of 4 bits all bytes are in each lane then, and a lane's code is one shift away.
"""

from __future__ import annotations

from dataclasses import replace

from layoutc.planning.conversions.reorder import Reorder
from layoutc.planning.machine import Machine
from layoutc.planning.plans.plan import CONVERTED_LANE, CopyPlan

LEAST_VECTOR = 32
"""bytes of registers, from which on a load widens what it loads"""
CODE, BYTE, NUMBER = 4, 8, 32
"""bits of integers that share a byte, of elements that do not, and of f32"""
IN_LANES = ("u8", "f8_e4m3")
"""types that one shuffle takes out of a register of a line, or that are looked up there, if it moves any bytes"""


def loads_few(reorder: Reorder, target: Machine) -> bool:
    """Whether loads are short: the elements of a reorder become f32, and are not looked up in longer registers."""
    source, destination = reorder.source.element_type, reorder.destination.element_type
    arithmetic = reorder.conversion.arithmetic(source, destination)
    is_f32 = arithmetic == "f32" or (arithmetic == "direct" and destination.float_format is not None)
    if not is_f32 or destination.bits > NUMBER or target.vector < LEAST_VECTOR:
        return False
    moves_bytes = target.vector > LEAST_VECTOR and target.shuffles != "words"
    if _is_looked_up(reorder) and (source.bits < BYTE or moves_bytes):
        return False
    if source.bits < BYTE:
        return source.is_integer and source.bits == CODE
    if moves_bytes and source.name in IN_LANES:
        return False
    return source.bits == BYTE or (source.bits < NUMBER and target.vector == LEAST_VECTOR)


def _is_looked_up(reorder: Reorder) -> bool:
    """Whether elements become narrow numbers that follow from them alone."""
    params = reorder.conversion.params.values()
    is_known = all(param.is_constant and not param.axes for param in params)
    return reorder.destination.element_type.bits < NUMBER and is_known


def with_short_loads(plan: CopyPlan) -> CopyPlan:
    """The plan, or one with shorter loads, where lanes follow each other on both sides and nothing is moved between."""
    if not plan.source_lanes or not plan.target_lanes:
        return plan
    (first, *others), stored = plan.source_lanes, plan.target_lanes[0]
    lanes = plan.vector_bytes // CONVERTED_LANE
    left = {part.digit for part in others}
    tile = tuple(1 if g in left else steps for g, steps in enumerate(plan.tile))
    short = replace(plan, source_lanes=(replace(first, extent=lanes),), tile=tile)
    is_shorter = short.source_lanes != plan.source_lanes and first.extent % lanes == 0 and first.extent >= stored.extent
    if not is_shorter or not has_short_loads(short):
        return plan
    return short.because("loads", f"of {lanes} elements, as many as a register has f32")


def has_short_loads(plan: CopyPlan) -> bool:
    """Whether a plan has such loads, of a part of a register, and tiles in which nothing is moved."""
    if plan.load != "normal" or plan.merges or plan.widths.converted_at != "dst":
        return False
    if len(plan.source_lanes) != 1 or len(plan.target_lanes) != 1 or plan.widths.src >= CONVERTED_LANE:
        return False
    (first,), (stored,) = plan.source_lanes, plan.target_lanes
    is_straight = first.digit == stored.digit and stored.extent % first.extent == 0
    return is_straight and first.extent == plan.vector_bytes // CONVERTED_LANE
