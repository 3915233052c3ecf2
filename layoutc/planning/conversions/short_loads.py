"""
Elements that are wide numbers while they are converted, as they lie: loads of as many as a register has of these.

What a longer load has is taken apart in registers, by a shuffle or two for each part. A short one is widened as it
comes from memory. Of codes of 4 bits all bytes are in each lane then, and a lane's code is one shift away.
"""

from __future__ import annotations

from dataclasses import replace

from layoutc.planning.conversions.reorder import Reorder
from layoutc.planning.machine import Machine
from layoutc.planning.plans.plan import CONVERTED_LANE, CopyPlan

WIDENING_VECTOR = 32
"""bytes of registers, from which on a load widens what it loads"""
CODE, BYTE, PAIR, NUMBER = 4, 8, 16, 32
"""bits of integers that share a byte, of elements of one byte and of two, and of the least that numbers are"""
LEAST_CODES = 8
"""of a register, at least, into which codes go by one shift of each"""
WIDENED_TIMES = 4
"""times as wide integers become that no longer load gives as soon, in half registers of a line"""
IN_LANES = {"u8": ("any", "single"), "f8_e4m3": ("single",)}
"""types that one shuffle takes out of a register of a line, or that are looked up there -> if it is one of these"""


def loads_few(reorder: Reorder, target: Machine) -> bool:
    """Whether loads are short: of elements that become wide numbers, and are not looked up in longer registers."""
    source, destination = reorder.source.element_type, reorder.destination.element_type
    if target.vector < WIDENING_VECTOR:
        return False
    arithmetic, widest = reorder.conversion.arithmetic(source, destination), max(NUMBER, destination.bits)
    if arithmetic == "integer" or (arithmetic == "direct" and destination.is_integer):
        is_wide = source.is_integer and source.bits >= BYTE and WIDENED_TIMES * source.bits <= widest
        return is_wide and target.vector == WIDENING_VECTOR
    is_any_shuffled = target.vector > WIDENING_VECTOR and target.shuffles != "words"
    if _is_looked_up(reorder) and (source.bits < BYTE or is_any_shuffled):
        return False
    if source.bits < BYTE:
        return source.is_integer and source.bits == CODE and 8 * target.vector // widest >= LEAST_CODES
    if widest > NUMBER or target.vector == WIDENING_VECTOR:
        return source.bits <= PAIR
    return source.bits == BYTE and target.shuffles not in IN_LANES.get(source.name, ())


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
    lanes = _lanes(plan)
    left = {part.digit for part in others}
    tile = tuple(1 if g in left else steps for g, steps in enumerate(plan.tile))
    short = replace(plan, source_lanes=(replace(first, extent=lanes),), tile=tile)
    is_shorter = short.source_lanes != plan.source_lanes and first.extent % lanes == 0 and first.extent >= stored.extent
    if not is_shorter or not has_short_loads(short):
        return plan
    return short.because("loads", f"straight, of {lanes} elements, as many as a register has of what they become")


def has_short_loads(plan: CopyPlan) -> bool:
    """Whether a plan has such loads, of a part of a register, and tiles in which nothing is moved."""
    if plan.vector_bytes < WIDENING_VECTOR or plan.load != "normal" or plan.merges or plan.widths.converted_at != "dst":
        return False
    if len(plan.source_lanes) != 1 or len(plan.target_lanes) != 1 or plan.widths.src >= CONVERTED_LANE:
        return False
    (first,), (stored,) = plan.source_lanes, plan.target_lanes
    is_straight = first.digit == stored.digit and stored.extent % first.extent == 0
    return is_straight and first.extent == _lanes(plan)


def _lanes(plan: CopyPlan) -> int:
    """How many of the numbers that elements become fill a register."""
    return plan.vector_bytes // max(CONVERTED_LANE, plan.widths.dst)
