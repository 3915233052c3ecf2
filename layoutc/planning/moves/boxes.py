"""
Tiles that are boxes of any extents, for copies whose inner structure is small and odd: digits of 3, 5, 12 or 24.

Where any lanes of two registers are one instruction, or a few (`halves`), a box that is contiguous along some digits
on each side is loaded and stored in as few pieces as it has lines, and what lies between is merged (`merging`). Powers
of two need fewer shuffles along index bits (`synthesis`), so both are counted.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import product
from math import inf, prod
from typing import NamedTuple

from layoutc.planning.copies.copy_digits import SIDES, Carry, SideName, StridedCopy
from layoutc.planning.copies.runs import chain_of, run_of
from layoutc.planning.copies.widths import Widths
from layoutc.planning.machine import WORD, Machine, boxing, has_masks
from layoutc.planning.moves.macro_tiles import loop_order
from layoutc.planning.plans.plan import CopyPlan, Part
from layoutc.planning.shuffles.merging import ZERO
from layoutc.planning.tiles.lanes import lane_count
from layoutc.planning.tiles.merged_tile import MergedTile, has_whole_rows
from layoutc.planning.tiles.tile import TileProgram
from layoutc.planning.tiles.tile_runs import in_pieces, places, rows, runs, taken

BOX_REGISTERS = 16
"""registers of elements in a box: what is merged stays in registers"""
BOX_PIECES = 64
"""loads, or stores, of a box"""
BOX_GAIN = 0.8
"""
A box is taken if it needs less than this share of the instructions of lanes that are powers of two; of others, which
are taken apart by as many registers at once, if it needs fewer.
"""
BOX_GAIN_APART, BOX_GAIN_FUSED = 0.93, 0.77
"""
The same of bytes, where registers have masks, but what takes any bytes of two of them is several instructions: of lanes
of digits that are apart, if stores are no shorter, and of digits that count as one.
"""
NARROWER = 0.85
"""Of narrower registers, that merge by fewer instructions, a box is taken if it needs less than this share."""
LOAD = 0.5
"""what a load costs, where a shuffle and a store cost 1: two of them are done at a time"""
ELEMENT = 3.0
"""what an element by itself costs: its load, its store, and its share of the loop"""
SHORT = 1.0
"""what a store of less than a register costs more: it takes a mask, and is no whole cache line"""
CARRIED = 1.5
"""what a load costs more where digits count as one, and carry: its place comes from a table"""
STEPS_OVER_GAPS = 2
"""steps of a digit, of which a load holds more where they lie over gaps: rows of 3 of blocks of 16 bytes"""
NARROW = 1.5
"""what a load of less than a word costs more: it goes through another register"""
SWAPPED = 2.0
"""what a register costs more whose bytes swap elements: a shift and a merge for each of two of them"""
TILE = 4.0
"""what a tile costs beside its loads, shuffles and stores"""


@dataclass(frozen=True, slots=True)
class Box:
    """A tile, the parts that are contiguous on both sides, and a machine with the registers that merge them."""

    tile: tuple[int, ...]
    source: tuple[Part, ...]
    target: tuple[Part, ...]
    merging: Machine


def with_box(plan: CopyPlan, copy: StridedCopy, target: Machine) -> CopyPlan:
    """The plan of a copy, or one with the best box for its tile if that needs few enough instructions."""
    found = None if plan.widths.converts or _moves_registers(plan) else best_box(copy, plan.widths.src, target)
    if found is None:
        return plan
    cost, box = found
    gain = _box_gain(plan, run_of(copy, "dst", box.tile), target) if plan.is_plain else 1
    return plan if cost >= gain * tile_cost(plan) else boxed(copy, plan.widths.src, target)


def _box_gain(plan: CopyPlan, run: int, target: Machine) -> float:
    """The share of the instructions of lanes that are powers of two, less than which a box with such a run needs."""
    is_dear = target.shuffles == "any" and has_masks(target.vector, target.shuffles)
    if plan.widths.src > 1 or not is_dear:
        return BOX_GAIN
    if _carries(plan):
        return BOX_GAIN_FUSED
    return BOX_GAIN_APART if run >= lane_count(plan.target_lanes) else BOX_GAIN


def _moves_registers(plan: CopyPlan) -> bool:
    """Whether tiles move whole registers as they are, which a box without masks would do, too."""
    is_filled = lane_count(plan.target_lanes) * plan.widths.dst >= plan.vector_bytes
    return plan.keeps_rows and is_filled and not has_masks(plan.vector_bytes, plan.shuffles)


def boxed(copy: StridedCopy, element: int, target: Machine, over_gaps: bool = True) -> CopyPlan:
    """The plan of a copy that has a box, with the best one, and macro tiles of one tile."""
    found = best_box(copy, element, target, over_gaps)
    assert found is not None, "the copy has a box"
    _, box = found
    plan = _plan_of(copy, box, element)
    why = f"by registers of {plan.vector_bytes} bytes, as wider ones merge such elements by more instructions, or not"
    return plan if box.merging == target else plan.because("rows", why)


def _plan_of(copy: StridedCopy, box: Box, element: int) -> CopyPlan:
    order = loop_order(copy.digits, "dst")
    return CopyPlan(
        copy,
        Widths(element, element),
        box.merging.vector,
        box.merging.shuffles,
        box.tile,
        box.source,
        box.target,
        macro=box.tile,
        outer_order=order,
        inner_order=order,
        merges=True,
    )


@lru_cache(maxsize=256)
def best_box(copy: StridedCopy, element: int, target: Machine, over_gaps: bool = True) -> tuple[float, Box] | None:
    """
    The best box for a copy of elements of so many bytes, and about its instructions for each; None without any.

    Its loads may take several rows at once, and the gaps between them.
    """
    best: tuple[float, Box] | None = None
    for merging in () if copy.is_fill else boxing(target, element):
        best = _better_box(copy, element, merging, over_gaps, best)
    return best


def _better_box(
    copy: StridedCopy, element: int, merging: Machine, over_gaps: bool, best: tuple[float, Box] | None
) -> tuple[float, Box] | None:
    """The best box of some registers, if it is better than one of wider ones."""
    lanes, masks = merging.vector // element, has_masks(merging.vector, merging.shuffles)
    found, least = best, NARROWER * best[0] if best else inf
    for box, pieces in _boxes(copy, merging, lanes, lanes // STEPS_OVER_GAPS if over_gaps else 0):
        # What merges registers is counted for those boxes alone that would be the best one without it.
        if _box_cost(copy, box, pieces) < least:
            merges = _merges(copy, box, lanes, pieces) if masks else _unmasked(_plan_of(copy, box, element))
            cost = _box_cost(copy, box, pieces, merges)
            found, least = ((cost, box), cost) if cost < least else (found, least)
    return found


def _boxes(copy: StridedCopy, merging: Machine, lanes: int, gap: int) -> Iterator[tuple[Box, Pieces]]:
    """
    Boxes with longer and longer runs on both sides, and their pieces; they have all of a digit loaded in part.

    Rows of the source that begin less than `gap` elements apart are one run.
    """
    seen: set[tuple[int, ...]] = set()
    least = tuple(
        1 if digit.is_whole and not (digit.is_uneven or digit.swaps) else digit.extent for digit in copy.digits
    )
    if prod(least) > BOX_REGISTERS * lanes:
        return
    gaps: dict[SideName, int] = {"src": gap, "dst": 0}
    masks = has_masks(merging.vector, merging.shuffles)
    sides = [[*_tiles(copy, least, side, lanes, gaps[side], masks)] for side in SIDES]
    for source, destination in product(*sides):
        tile = tuple(map(max, source, destination))
        if tile in seen or prod(tile) > BOX_REGISTERS * lanes:
            continue
        seen.add(tile)
        box = Box(tile, _parts(copy, tile, "src", lanes, gap), _parts(copy, tile, "dst", lanes, 0), merging)
        if found := _pieces(copy, box, lanes):
            yield box, found


def _tiles(
    copy: StridedCopy, least: Sequence[int], side: SideName, lanes: int, gap: int, masks: bool
) -> Iterator[tuple[int, ...]]:
    """
    Tiles that are a run of one side: whole digits and a part of the next, which divides it evenly.

    Without masks a part is not made less than registers for that; and one is whole registers, whatever is inside.
    """
    tile = list(least)
    for position, inner in chain_of(copy, side, lanes, gap):
        extent = copy.digits[position].extent
        parts = {1, -(-lanes // (4 * inner)), -(-lanes // (2 * inner)), -(-lanes // inner), extent}
        for count in sorted(parts if masks else {*parts, lanes}):
            if max(1, least[position] - 1) < count <= extent and inner * count <= BOX_REGISTERS * lanes:
                tile[position] = -(-extent // -(-extent // count)) if masks else count
                yield tuple(tile)
        tile[position] = extent
        if inner * copy.digits[position].steps(side, inner) > BOX_REGISTERS * lanes:
            return


def loads_over_gaps(copy: StridedCopy) -> bool:
    """Whether no two elements of the source that a copy loads lie side by side."""
    return not copy.is_fill and all(copy.digits[g].steps("src", step) == 1 for g, step in chain_of(copy, "src"))


def _parts(copy: StridedCopy, tile: Sequence[int], side: SideName, lanes: int, gap: int) -> tuple[Part, ...]:
    """The digits of a tile's runs on one side."""
    found: list[Part] = []
    for position, _ in chain_of(copy, side, lanes, gap):
        if tile[position] > 1:
            found.append(Part(position, tile[position]))
        if tile[position] < copy.digits[position].extent:
            break
    return tuple(found)


class Pieces(NamedTuple):
    """Where the loads of a box begin, how many stores it has, and how many of these are less than a register."""

    loads: Sequence[int]
    stores: int
    short: int


def _pieces(copy: StridedCopy, box: Box, lanes: int) -> Pieces | None:
    """The loads and stores of a box, if they are few enough."""
    found: list[list[tuple[int, int]]] = []
    for side, parts in zip(SIDES, (box.source, box.target), strict=True):
        along = [part.digit for part in parts]
        row = in_pieces(runs(copy, box.tile, side, along), lanes)
        across = [g for g, extent in enumerate(box.tile) if extent > 1 and g not in along]
        if len(row) * prod(taken(copy, box.tile, side, g) for g in across) > BOX_PIECES:
            return None
        found.append(rows(copy, box.tile, side, across, row))
    loads, stores = found
    return Pieces(sorted(start for start, _ in loads), len(stores), sum(count < lanes for _, count in stores))


def _box_cost(copy: StridedCopy, box: Box, pieces: Pieces, merges: float = 0.0) -> float:
    """Instructions for each element, about, with those that merge registers."""
    stores = pieces.stores + SHORT * pieces.short
    loads = len(pieces.loads)
    cost = LOAD * loads + _swaps(copy, loads, pieces.stores) + merges + stores + TILE
    return cost / prod(box.tile) * waste(copy, box.tile)


def _merges(copy: StridedCopy, box: Box, lanes: int, pieces: Pieces) -> float:
    """Shuffles, about: in each round half as many groups of registers, which hold what the same outputs wait for."""
    along = {part.digit for part in (*box.source, *box.target)}
    counts = [taken(copy, box.tile, "src", g) for g in range(len(box.tile))]
    apart = prod(count for g, count in enumerate(counts) if g not in along)
    loads, stores = len(pieces.loads) // apart, pieces.stores // apart
    filled = prod(counts) / apart / stores
    sources = min(loads, _sources(copy, box, lanes, pieces.loads))
    # Of more loads than an output has elements of, each set is for outputs of its own.
    waiting = max(1, round(stores * sources / loads))
    total, groups = 0, loads
    for step in range(1, (sources - 1).bit_length() + 1):
        groups = -(-groups // 2)
        share = max(1, round(filled * min(1 << step, sources) / sources))
        held = 1 << (max(1, lanes // share)).bit_length() - 1
        total += groups * -(-waiting // held) if sources > 1 << step else stores
    return float(apart * total)


def _unmasked(plan: CopyPlan) -> float:
    """Instructions that merge registers without masks; inf if some rows would need these."""
    return MergedTile(plan).merges if has_whole_rows(plan) else inf


def _sources(copy: StridedCopy, box: Box, lanes: int, starts: Sequence[int]) -> int:
    """How many loads an output has elements of: the first one, or the second."""
    found = [(0, 0)]
    for part in box.target:
        digit = copy.digits[part.digit]
        count = part.extent if digit.carries else min(part.extent, -(-2 * lanes // len(found)))
        steps = [places(digit, value) for value in range(count)]
        found = [(dst + at, ZERO if ZERO in (src, step) else src + step) for at, step in steps for dst, src in found]
        if len(found) >= 2 * lanes:
            break
    sources = [bisect_right(starts, src) if src != ZERO else 0 for _, src in sorted(found)]
    return max(1, *(len({*sources[first : first + lanes]} - {0}) for first in (0, lanes)))


def tile_cost(plan: CopyPlan) -> float:
    """Instructions for each element of the tile that the plan has."""
    if not plan.target_lanes:
        return ELEMENT
    program = TileProgram(plan)
    (loads, of_load), (stores, of_store) = program.load_counts, program.store_counts
    pieces, parts = loads * of_load, stores * of_store
    apart = pieces - loads + parts - stores
    short = parts if program.store_piece * plan.widths.dst < plan.vector_bytes else 0
    cost = LOAD * (pieces + apart) + len(program.network.steps) + parts + SHORT * short + TILE
    cost += CARRIED * pieces * _carries(plan) + _swaps(plan.copy, loads, stores)
    if program.load_piece * plan.widths.src < WORD:
        cost += NARROW * pieces
    return cost / prod(plan.tile) * waste(plan.copy, plan.tile)


def _swaps(copy: StridedCopy, loads: int, stores: int) -> float:
    """Instructions that swap the elements of bytes of registers that are loaded, or stored, if a copy does."""
    if copy.swapping is None:
        return 0.0
    return SWAPPED * (loads if copy.digits[copy.swapping].swaps_at == "src" else stores)


def _carries(plan: CopyPlan) -> bool:
    """Whether the loads of a tile begin where a table says."""
    digits = zip(plan.copy.digits, plan.tile, strict=True)
    return any(isinstance(digit.stride("src"), Carry) and extent > 1 for digit, extent in digits)


def waste(copy: StridedCopy, tile: Sequence[int]) -> float:
    """How often an element is moved, as last tiles begin earlier."""
    return prod(-(-digit.extent // size) * size / digit.extent for digit, size in zip(copy.digits, tile, strict=True))
