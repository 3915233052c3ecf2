"""
Tiles that are boxes of any extents, for copies whose inner structure is small and odd: digits of 3, 5, 12 or 24.

Where any lanes of two registers are one instruction, a box that is contiguous along some digits on each side is
loaded and stored in as few pieces as it has lines, and what lies between is merged (`merging`). Powers of two need
fewer shuffles along index bits (`synthesis`), so both are counted.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from math import prod

from layoutc.planning.copy_digits import SIDES, SideName, StridedCopy, contiguous
from layoutc.planning.lanes import lane_count
from layoutc.planning.machine import Machine
from layoutc.planning.macro_tiles import loop_order
from layoutc.planning.merged_tile import merges_registers
from layoutc.planning.plan import CopyPlan, Part
from layoutc.planning.tile import TileProgram

BOX_REGISTERS = 16
"""registers of elements in a box: what is merged stays in registers"""
BOX_PIECES = 64
"""loads, or stores, of a box"""
BOX_GAIN = 0.8
"""A box is taken if it needs less than this share of the instructions."""
LOAD = 0.5
"""what a load costs, where a shuffle and a store cost 1: two of them are done at a time"""
ELEMENT = 3.0
"""what an element by itself costs: its load, its store, and its share of the loop"""
TILE = 4.0
"""what a tile costs beside its loads, shuffles and stores"""


@dataclass(frozen=True, slots=True)
class Box:
    """A tile and the parts that are contiguous on both sides."""

    tile: tuple[int, ...]
    source: tuple[Part, ...]
    target: tuple[Part, ...]


def with_box(plan: CopyPlan, copy: StridedCopy, target: Machine) -> CopyPlan:
    """The plan of a copy, or one with the best box for its tile if that needs far fewer instructions."""
    element = plan.element_bytes
    if not merges_registers(target.vector, target.shuffles, element) or plan.converted_bytes or copy.is_fill:
        return plan
    if any(not digit.is_whole for digit in copy.digits):
        return plan
    lanes = target.vector // element
    found = [(_box_cost(copy, box, lanes), box) for box in _boxes(copy, lanes)]
    if not found:
        return plan
    cost, box = min(found, key=lambda pair: pair[0])
    if cost > BOX_GAIN * _tile_cost(plan):
        return plan
    order = loop_order(copy.digits, "dst")
    return replace(
        plan,
        copy=copy,
        tile=box.tile,
        source_lanes=box.source,
        target_lanes=box.target,
        macro=box.tile,
        outer_order=order,
        inner_order=order,
        merges=True,
    )


def _boxes(copy: StridedCopy, lanes: int) -> Iterator[Box]:
    """Boxes with longer and longer runs on both sides."""
    seen: set[tuple[int, ...]] = set()
    sides = [[*_runs(copy, side, lanes)] for side in SIDES]
    for source in sides[0]:
        for destination in sides[1]:
            tile = tuple(map(max, source, destination))
            if tile in seen or prod(tile) > BOX_REGISTERS * lanes:
                continue
            seen.add(tile)
            box = Box(tile, _parts(copy, tile, "src"), _parts(copy, tile, "dst"))
            if box.source and box.target and max(_pieces(box, lanes)) <= BOX_PIECES:
                yield box


def _runs(copy: StridedCopy, side: SideName, lanes: int) -> Iterator[tuple[int, ...]]:
    """Tiles that are a run of one side: whole digits and a part of the next, which divides it evenly."""
    tile = [1] * len(copy.digits)
    inner = 1
    for position, digit in contiguous(copy, side):
        for count in sorted({1, -(-lanes // (4 * inner)), -(-lanes // (2 * inner)), -(-lanes // inner), digit.extent}):
            if 1 < count <= digit.extent and inner * count <= BOX_REGISTERS * lanes:
                tile[position] = -(-digit.extent // -(-digit.extent // count))
                yield tuple(tile)
        tile[position] = digit.extent
        inner *= digit.extent
        if inner > BOX_REGISTERS * lanes:
            return


def _parts(copy: StridedCopy, tile: Sequence[int], side: SideName) -> tuple[Part, ...]:
    """The digits of a tile's runs on one side."""
    found: list[Part] = []
    for position, digit in contiguous(copy, side):
        if tile[position] > 1:
            found.append(Part(position, tile[position]))
        if tile[position] < digit.extent:
            break
    return tuple(found)


def _pieces(box: Box, lanes: int) -> tuple[int, int]:
    """How many loads and stores a box takes."""
    runs = lane_count(box.source), lane_count(box.target)
    loads, stores = (prod(box.tile) // run * -(-run // lanes) for run in runs)
    return loads, stores


def _box_cost(copy: StridedCopy, box: Box, lanes: int) -> float:
    """Instructions for each element, about."""
    loads, stores = _pieces(box, lanes)
    cost = LOAD * loads + _merges(box, lanes, loads, stores) + stores + TILE
    return cost / prod(box.tile) * _waste(copy, box.tile)


def _merges(box: Box, lanes: int, loads: int, stores: int) -> float:
    """Shuffles, about: in each round half as many groups of registers, which hold what the same outputs wait for."""
    along = {part.digit for part in (*box.source, *box.target)}
    apart = prod(extent for g, extent in enumerate(box.tile) if g not in along)
    loads, stores = loads // apart, stores // apart
    filled = prod(box.tile) / apart / stores
    sources = min(loads, _sources(box, lanes))
    total, groups = 0, loads
    for step in range(1, (sources - 1).bit_length() + 1):
        groups = -(-groups // 2)
        share = max(1, round(filled * min(1 << step, sources) / sources))
        held = 1 << (max(1, lanes // share)).bit_length() - 1
        total += max(groups, 1) * -(-stores // held) if sources > 1 << step else stores
    return float(apart * total)


def _sources(box: Box, lanes: int) -> int:
    """How many loads an output has elements of."""
    source, count = {part.digit for part in box.source}, 1
    left = lanes
    rows = 1
    for part in box.target:
        taken = min(part.extent, left)
        if part.digit not in source:
            rows *= taken
        count *= taken
        left = max(1, left // part.extent)
    within = -(-lane_count(box.source) // lanes)
    return rows * within


def _tile_cost(plan: CopyPlan) -> float:
    """Instructions for each element of the tile that the plan has."""
    if not plan.target_lanes:
        return ELEMENT
    program = TileProgram(plan)
    loads, stores = program.loads([0] * len(plan.tile)), program.stores()
    pieces = sum(len(register.pieces) for register in loads)
    parts = sum(len(register.pieces) for register in stores)
    apart = pieces - len(loads) + parts - len(stores)
    cost = LOAD * (pieces + apart) + len(program.network.steps) + parts + TILE
    return cost / prod(plan.tile) * _waste(plan.copy, plan.tile)


def _waste(copy: StridedCopy, tile: Sequence[int]) -> float:
    """How often an element is moved, as last tiles begin earlier."""
    return prod(-(-digit.extent // size) * size / digit.extent for digit, size in zip(copy.digits, tile, strict=True))
