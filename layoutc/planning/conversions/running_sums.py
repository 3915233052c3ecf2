"""
Sums of a compensation that run along with the copies: what a tile stores is added to them while it is in registers.

Past the caches the weights are then not read again. No weight may be stored twice, and threads share those loops alone
whose steps go into other sums.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from math import prod

from layoutc.conversion import Conversion
from layoutc.descriptor import MemoryDesc
from layoutc.planning.conversions.even_copies import with_even_macro
from layoutc.planning.conversions.weight_sums import MIN_LANES
from layoutc.planning.copies.copy_digits import SIDES
from layoutc.planning.moves.longer_tiles import ROW_REGISTERS
from layoutc.planning.moves.macro_tiles import loop_order
from layoutc.planning.moves.next_tile import asking_ahead
from layoutc.planning.plans.fits import is_power_of_two
from layoutc.planning.plans.plan import CopyPlan, Plan
from layoutc.planning.tiles.lanes import lane_count

MOST_TOTALS = 32 << 10
"""sums that are added up in a buffer on the stack, at most: 128 KiB"""
FOLDED_REGISTERS = 4
"""registers that are added up before their lanes are folded, where the weights would be read from the caches after"""
SMALL_PART = 8
"""times the threads that a copy is smaller than all together which one thread runs by itself"""
SHARED_TURNS = 4
"""times the threads that a loop has turns whose number is no multiple of them, so that none waits long"""


@dataclass(frozen=True)
class TileSums:
    """
    The sums that what a tile stores goes into, counted from that of its first weight.

    `at` has the sum of each element, by how far it lies from the tile's first in the destination. Vectors that are
    stored have `width` weights; `kept` says of each bit of a lane's number whether lanes that differ in it go into
    other sums, and `lane_offsets` how far these are from that of the first lane, those of one sum once.
    """

    at: Mapping[int, int]
    weights: int
    """of an element, which may be several that stay neighbours"""
    width: int
    kept: tuple[bool, ...]
    lane_offsets: tuple[int, ...]

    @property
    def are_cheap(self) -> bool:
        """
        Whether few steps beside the sums of lanes are taken for a register.

        Neighbours go into one sum, and all lanes of 32 bits are other ones, or those of several registers are folded.
        """
        registers = len(self.at) * self.weights // self.width
        folds = not all(self.kept[2:])
        return not any(self.kept[:2]) and (not folds or registers >= FOLDED_REGISTERS * len({*self.at.values()}))


def sum_number(plan: Plan, conversion: Conversion, destination: MemoryDesc) -> int | None:
    """
    Which of the numbers that a plan's digits have for parameters are those of sums that run along with all of its
    copies; none if the sums do not. The conversion is as copies see it.
    """
    number = _number(conversion, destination)
    if number is None:
        return None
    return (
        number if all(isinstance(part, CopyPlan) and _runs_along(part, number, plan) for part in plan.parts) else None
    )


def with_running_sums(plan: Plan, conversion: Conversion, destination: MemoryDesc) -> Plan | None:
    """The plan with tiles that divide its copies, and add up many weights of a sum; none if sums cannot run along."""
    number = _number(conversion, destination)
    if number is None:
        return None
    parts = tuple(_prepared(part, number, plan.threads) if isinstance(part, CopyPlan) else part for part in plan.parts)
    prepared = replace(plan, parts=parts)
    return None if sum_number(prepared, conversion, destination) is None else prepared


def _number(conversion: Conversion, destination: MemoryDesc) -> int | None:
    """Which number is that of the sums, if they are few, and of the same axes, of which the first alone is padded."""
    grouping = conversion.sum_grouping
    if grouping is None or any(destination.padded_dims[axis] != destination.dims[axis] for axis in grouping.axes[1:]):
        return None
    if prod(destination.padded_dims[axis] for axis in grouping.axes) > MOST_TOTALS:
        return None
    return conversion.groupings.index(grouping)


def _runs_along(copy: CopyPlan, number: int, plan: Plan) -> bool:
    """Whether what the tiles of a copy store is added to sums by whole registers, each weight once, and this pays."""
    if copy.copy.is_fill:
        return True
    if len(copy.copy.params) <= number or not _stores_once(copy) or (sums := tile_sums(copy, number)) is None:
        return False
    if copy.store == "normal" and not sums.are_cheap:
        return False
    elements = sum(each.copy.elements for each in plan.copies)
    return _is_shared(copy, number, plan.threads) or copy.copy.elements * SMALL_PART * plan.threads <= elements


def _is_shared(plan: CopyPlan, number: int, threads: int) -> bool:
    """Whether the loops whose steps go into other sums have turns for so many threads."""
    turns = prod(_turns(plan, g) for g in own_loops(plan, number))
    return turns % threads == 0 or turns >= SHARED_TURNS * threads


def own_loops(plan: CopyPlan, number: int) -> list[int]:
    """The digits of the outermost loops whose steps go into other sums, which threads can share."""
    found: list[int] = []
    for g in plan.outer_order:
        if _turns(plan, g) == 1:
            continue
        if not plan.copy.digits[g].params[number]:
            break
        found.append(g)
    return found


def _turns(plan: CopyPlan, position: int) -> int:
    return -(-plan.extents[position] // plan.macro[position])


def _stores_once(plan: CopyPlan) -> bool:
    """Whether tiles and macro tiles divide the copy; those of one without a buffer may end where it ends."""
    if any(plan.macro_step(g) != macro for g, macro in enumerate(plan.macro)) or plan.widths.dst_per_byte > 1:
        return False
    sizes = zip(plan.extents, plan.macro, plan.tile, strict=True)
    return all(
        extent % tile == macro % tile == 0 and (not plan.has_buffers or extent % macro == 0)
        for extent, macro, tile in sizes
    )


def tile_sums(plan: CopyPlan, number: int) -> TileSums | None:
    """The sums of a tile; none if the vectors that it stores go into sums in different ways, or are no whole ones."""
    digits, lanes = plan.copy.digits, plan.target_lanes
    has_parts = plan.merges or all(is_power_of_two(part.extent) for part in lanes)
    if not lanes or not has_parts or any(digit.carries for digit in digits):
        return None
    width = plan.vector_bytes // plan.widths.moved if plan.merges else lane_count(lanes)
    at = {0: 0}
    for digit, extent in zip(digits, plan.tile, strict=True):
        at = {a + n * digit.dst: s + n * digit.params[number] for a, s in at.items() for n in range(extent)}
    ways = {tuple(at.get(start + lane, -1) - at[start] for lane in range(width)) for start in _starts(at, width)}
    weights = plan.widths.dst
    if len(ways) > 1 or width * weights < MIN_LANES or not (found := _bits(ways.pop())):
        return None
    kept = (False,) * (weights.bit_length() - 1) + tuple(step != 0 for step in found[1])
    return TileSums(at, weights, width * weights, kept, found[0])


def _starts(at: Mapping[int, int], width: int) -> Iterator[int]:
    """Where the vectors of a tile begin: each behind the one before, if that lies behind it."""
    end = None
    for place in sorted(at):
        if end is None or place >= end:
            yield place
            end = place + width


def _bits(way: tuple[int, ...]) -> tuple[tuple[int, ...], tuple[int, ...]] | None:
    """The sums of lanes once each, and what each bit of a lane's number adds, if that is all that their sums are."""
    steps = tuple(way[1 << bit] for bit in range(len(way).bit_length() - 1))
    expected, offsets = [0], [0]
    for step in steps:
        expected += [step + before for before in expected]
        offsets += [step + before for before in offsets] if step else []
    return (tuple(offsets), steps) if expected == [*way] else None


def _prepared(plan: CopyPlan, number: int, threads: int) -> CopyPlan:
    """The plan with macro tiles that divide it, longer tiles, and for threads the loops outside that they can share."""
    if plan.copy.is_fill or not plan.target_lanes or len(plan.copy.params) <= number:
        return plan
    if plan.has_buffers and all(e % t == 0 for e, t in zip(plan.extents, plan.tile, strict=True)):
        plan = _asking_ahead(with_even_macro(plan))
    orders = {loop_order(plan.copy.digits, side) for side in SIDES}
    if not _is_shared(plan, number, threads) and len(orders) > 1:
        # Rows that stay as they are have the order of both sides, and keep it.
        own = [g for g in plan.outer_order if plan.copy.digits[g].params[number]]
        order = (*own, *(g for g in plan.outer_order if g not in own))
        plan = _asking_ahead(replace(plan, outer_order=order))
    return _with_longer_tile(plan, number)


def _asking_ahead(plan: CopyPlan) -> CopyPlan:
    """The plan of other macro tiles, or other loops over them, which asks for the next one if it did before."""
    return asking_ahead(plan) if plan.prefetch else plan


def _with_longer_tile(plan: CopyPlan, number: int) -> CopyPlan:
    """The plan of rows that stay as they are with several registers of a row in a tile, if they go into one sum."""
    g = plan.target_lanes[-1].digit
    digit, most = plan.copy.digits[g], ROW_REGISTERS * plan.vector_bytes // plan.widths.moved
    is_row = plan.keeps_rows and not (plan.merges or digit.carries or digit.params[number])
    while is_row and digit.is_whole and 2 * prod(plan.tile) <= most:
        if plan.extents[g] % (2 * plan.tile[g]) or plan.macro[g] % (2 * plan.tile[g]):
            break
        plan = replace(plan, tile=tuple(2 * n if i == g else n for i, n in enumerate(plan.tile)))
    return plan
