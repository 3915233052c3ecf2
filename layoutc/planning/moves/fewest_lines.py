"""
Ways to run tiles through the caches where lines evict each other: the one is taken whose lines come again least.

A set of the first cache holds a few lines. What passes between two tiles that take parts of a line may fill it: rows of
the tile, or of its neighbours along the other side, that lie a multiple of a page apart, or nearly so.
"""

from __future__ import annotations

from collections.abc import Iterator

from layoutc.planning.copies.copy_digits import SIDES, SideName
from layoutc.planning.machine import LINE, Machine
from layoutc.planning.moves.cache_sets import COLLIDING_ROWS, l1_ways, share_evicted, waits_in_second_cache
from layoutc.planning.moves.colliding_rows import (
    crowds_sets,
    evict_each_other,
    gathered_in_caches,
    halved,
    rows_of_a_set,
)
from layoutc.planning.moves.macro_shapes import (
    ALONG_ROWS_OF,
    ALONG_SOURCE_SMALL,
    GATHERED_ALONG_SOURCE,
    GATHERED_IN_CACHES,
)
from layoutc.planning.moves.macro_tiles import with_macro
from layoutc.planning.moves.next_tile import straddles_lines
from layoutc.planning.plans.plan import CopyPlan
from layoutc.planning.tiles.lanes import PIECE_BYTES, lane_count

REGISTER_TIME, BUFFER_TIME, END_TIME = 1 / 8, 1.0, 0.75
"""of what a line takes that comes again from the second cache: a load or store; a buffer; the end of a run for that"""
CROWDED_TIME = 0.5
"""the same of a line that is stored where rows of a tile fill most of a set"""
EVICTING_GAIN = 0.75
"""times the cost of the usual plan, that gathered rows cost at most in L2 where rows of the destination evict others"""
GATHERED_FULL = 2
"""times what a set of the first cache holds are the rows that share it, if they are gathered there and stores wait"""
LEAST_BYTES: dict[SideName, int] = {"src": PIECE_BYTES, "dst": 2 * PIECE_BYTES}
"""of a load, and of a store"""
LEAST_STORED_SMALL = LINE
"""the same of a store of elements of 1 byte"""


EVICTED = "as lines of others would evict each other from the first cache"


def with_fewest_lines(plan: CopyPlan, usual: CopyPlan, target: Machine) -> CopyPlan:
    """
    The usual plan of a copy through the caches, or a way that costs less, if tiles transpose.

    `plan` has macro tiles of one tile. Where stores wait for lines these cost more than is counted here: what rows of
    the source evict is known to be worth it.
    """
    if plan.keeps_rows:
        return usual
    if target.waits_for_lines and (usual.store != "normal" or rows_of_a_set(plan) <= COLLIDING_ROWS):
        return usual
    if not (_again(usual, target) or _crowded(usual, target)):
        return usual

    def cost(way: CopyPlan) -> float:
        return _cost(way, target) + _crowded(way, target)

    return min((usual, *_ways(plan, usual, target)), key=cost)


def _lines_wait(plan: CopyPlan, target: Machine) -> bool:
    """Whether stores of whole lines wait for these in the second cache."""
    return target.streams_whole_lines and waits_in_second_cache(plan, target)


def _ways(plan: CopyPlan, usual: CopyPlan, target: Machine) -> Iterator[CopyPlan]:
    """
    Tiles of all rows of a side, of half of them or less, one after the other along the rows of the other; fewer rows in
    the macro tiles of the usual plan; gathered rows. Rows of digits that carry are only gathered. Where stores wait in
    the second cache none stores less of a row.
    """
    most = _cost(usual, target)
    found = () if any(digit.carries for digit in plan.copy.digits) else (SIDES, SIDES[::-1])
    if _lines_wait(plan, target):
        found = found[1:]  # What stores less of a row waits more often.
    for side, other in found:
        is_small = side == "src" and plan.widths.src == 1
        shape = ALONG_SOURCE_SMALL if is_small else ALONG_ROWS_OF[side]
        name = {"src": "source", "dst": "destination"}[side]
        for tiles in _with_fewer_rows(plan, other):
            rows = f"{lane_count(tiles.target_lanes if side == 'src' else tiles.source_lanes)} of the {name}"
            if tiles is not plan or not target.waits_for_lines:
                yield with_macro(tiles, shape).because("rows", f"{rows}, along which tiles go, {EVICTED}")
            if tiles is not plan:
                if usual.load == "normal" and _crowded(usual, target):
                    lanes = {"source_lanes": tiles.source_lanes, "target_lanes": tiles.target_lanes}
                    yield usual.because("rows", f"{rows}, {EVICTED}", tile=tiles.tile, **lanes)
                yield from _gathered(tiles, most, target, f" for tiles of {rows}")
    yield from _gathered(plan, most, target)


def _gathered(plan: CopyPlan, most: float, target: Machine, tiles: str = "") -> Iterator[CopyPlan]:
    """
    The plan with its source rows gathered, with macro tiles of two shapes. `tiles` says which ones take them.

    In the second cache lines come again as soon as they are gathered: where rows of the destination evict each other
    it has to spare much.
    """
    is_large = plan.copy.elements * plan.widths.src >= target.l2
    if _lines_wait(plan, target) and rows_of_a_set(plan) <= GATHERED_FULL * l1_ways(target):
        return
    for shape in (GATHERED_IN_CACHES[plan.widths.src], GATHERED_ALONG_SOURCE):
        gathered = gathered_in_caches(plan, shape)
        if gathered is None:
            continue
        if is_large or not evict_each_other(gathered, target) or _cost(gathered, target) < EVICTING_GAIN * most:
            yield gathered.because("loads", f"gathered on the stack first{tiles}, {EVICTED}")


def _with_fewer_rows(plan: CopyPlan, other: SideName) -> Iterator[CopyPlan]:
    """The plan, and those with fewer and fewer rows in a tile, whose other side has half the lanes each time."""
    found: CopyPlan | None = plan
    width = plan.widths.of(other)
    least = LEAST_STORED_SMALL if (other, width) == ("dst", 1) else LEAST_BYTES[other]
    while found is not None:
        yield found
        is_cut = found.is_plain and lane_count(found.lanes(other)) * width >= 2 * least
        found = halved(found, other) if is_cut else None


def _cost(plan: CopyPlan, target: Machine) -> float:
    """The time of a line of both sides, over that of a line that comes again."""
    buffers = (plan.load == "staged") + (plan.store == "aligned")
    registers = sum(_registers(plan, side) for side in SIDES)
    ends = (plan.load == "staged") * straddles_lines(plan) * LINE / (plan.source_run * plan.widths.src)
    return REGISTER_TIME * registers + BUFFER_TIME * buffers + END_TIME * ends + _again(plan, target)


def _crowded(plan: CopyPlan, target: Machine) -> float:
    """What a line takes that is stored more, if rows that a tile stores fill most of a set."""
    is_known = not target.waits_for_lines and plan.store == "normal"
    return CROWDED_TIME * (is_known and crowds_sets(plan, target))


def _registers(plan: CopyPlan, side: SideName) -> float:
    """In how many registers a line of a side is moved."""
    lanes = plan.lanes(side)
    return LINE / (lane_count(lanes) * plan.widths.of(side))


def _again(plan: CopyPlan, target: Machine) -> float:
    """How often a line of both sides comes again."""
    return sum(_comes_again(plan, side, target) for side in SIDES)


def _comes_again(plan: CopyPlan, side: SideName, target: Machine) -> float:
    """How often a line of a side does: for each register, and as it is fetched ahead, if others have evicted it."""
    if plan.load == "staged" if side == "src" else plan.store == "aligned":
        return 0
    return (_registers(plan, side) + straddles_lines(plan, side)) * share_evicted(plan, side, target)
