"""Tiles whose stores are put together to whole cache lines, where elements share bytes and a register fills no line."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import prod

from layoutc.planning.copies.runs import contiguous
from layoutc.planning.machine import LINE
from layoutc.planning.plans.fits import is_power_of_two
from layoutc.planning.plans.plan import CopyPlan
from layoutc.planning.shuffles.synthesis import REGISTER_LIMIT
from layoutc.planning.tiles.lanes import lane_count
from layoutc.planning.tiles.tile import Piece


def line_elements(plan: CopyPlan) -> int:
    """Elements of the destination in a cache line."""
    return LINE * plan.widths.dst_per_byte // plan.widths.dst


def with_joined_lines(plan: CopyPlan) -> CopyPlan:
    """
    The plan with registers in a tile that lie side by side in the destination, as many as fill a line when packed.

    A register has a byte for each element; stored by itself it would be half a line, or a quarter.
    """
    if plan.widths.dst_per_byte == 1 or plan.merges:
        return plan
    if not all(is_power_of_two(part.extent) for part in (*plan.source_lanes, *plan.target_lanes)):
        return plan
    needed, tile = line_elements(plan), list(plan.tile)
    for position, digit in contiguous(plan.copy, "dst"):
        if needed == 1:
            break
        steps = 1 << (min(needed, digit.extent).bit_length() - 1)
        if not digit.is_whole or digit.carries:
            return plan
        tile[position] = max(tile[position], steps)
        needed //= steps
        if steps < digit.extent and needed > 1:
            return plan
    found = replace(plan, tile=tuple(tile), macro=tuple(map(max, plan.macro, tile)))
    fits = prod(tile) <= REGISTER_LIMIT * plan.vector_bytes // plan.widths.moved
    return found if fits and needed == 1 else plan


def joined_digits(plan: CopyPlan) -> set[int] | None:
    """The digits of the parts of a tile that fill lines in the destination; None if a tile has parts of lines."""
    needed, found = line_elements(plan), set[int]()
    if plan.widths.dst_per_byte == 1 or plan.merges:
        filled = lane_count(plan.target_lanes) % needed == 0
        return {part.digit for part in plan.target_lanes} if filled else None
    for position, digit in contiguous(plan.copy, "dst"):
        found.add(position)
        steps = plan.tile[position]
        if needed <= steps or steps < digit.extent:
            return found if steps % needed == 0 else None
        if needed % steps:
            return None
        needed //= steps
    return None


def side_by_side(places: Sequence[Piece], count: int, line: int) -> list[list[int]]:
    """Which pieces of `count` elements are whole lines of so many elements together; the others by themselves."""
    lines = dict[tuple[int, int], list[int]]()
    for number in sorted(range(len(places)), key=lambda n: places[n].offset):
        lines.setdefault((places[number].step, places[number].offset // line), []).append(number)
    groups: list[list[int]] = []
    for (_, number), found in lines.items():
        follow = [places[n].offset for n in found] == [*range(number * line, (number + 1) * line, count)]
        groups += [found] if follow else [[n] for n in found]
    return groups
