"""Rows that share sets of the first cache: tiles have fewer of them, or gather them in a buffer first."""

from __future__ import annotations

from dataclasses import replace

from layoutc.planning.copies.copy_digits import Carry, SideName
from layoutc.planning.copies.runs import run_of
from layoutc.planning.machine import LINE, Machine
from layoutc.planning.moves.cache_sets import COLLIDING_ROWS, l1_ways, most_in_a_set
from layoutc.planning.moves.macro_shapes import ALONG_ROWS_OF, MacroShape
from layoutc.planning.moves.macro_tiles import loop_order, steps_along_rows, with_macro
from layoutc.planning.plans.plan import CopyPlan
from layoutc.planning.tiles.lanes import PIECE_BYTES, lane_count, tile_of

CROWDED_PART = 3 / 4
"""of a set of the first cache, that rows which a tile stores fill at most"""


def widens(plan: CopyPlan) -> bool:
    """Whether elements are moved before they are wide, and the tile has a row of the destination for each loaded."""
    return plan.is_plain and plan.widths.converted_at == "dst" and plan.widths.src < plan.widths.dst


def with_fewer_rows(plan: CopyPlan, target: Machine) -> CopyPlan:
    """
    The plan with tiles that load fewer elements of a row, as those of the destination would fill a set.

    Registers of narrow elements have more of these than registers of wide ones: where those are, 64 rows 2 KiB apart
    were stored in turn. Loops then go along the rows of the destination, of which a line leaves at once.
    """
    stored = stored_in_a_set(plan)
    why = f"of fewer rows, as {stored} of them would share one set of the first cache where they are stored"
    least = plan.vector_bytes // plan.widths.dst
    while crowds_sets(plan, target) and lane_count(plan.source_lanes) > least:
        if (fewer := halved(plan, "src")) is None:
            break
        plan = fewer
    return with_macro(plan, ALONG_ROWS_OF["dst"]).because("rows", why)


def gathered_in_caches(plan: CopyPlan, shape: MacroShape) -> CopyPlan | None:
    """
    The plan with its source rows gathered in a buffer, where loads take parts of their lines.

    By loops along the destination a line would be evicted before its next part is loaded, by others the rows of the
    destination would.
    """
    gathered = with_macro(plan, shape)
    carries = any(isinstance(digit.stride("dst"), Carry) for digit in plan.copy.digits)
    if carries or not takes_parts_of_lines(gathered):
        return None
    return replace(gathered, load="staged", inner_order=loop_order(plan.copy.digits, "dst"))


def gathers_rows(plan: CopyPlan, target: Machine) -> bool:
    """
    Whether rows that collide come sooner from a buffer: where the last cache is near, if sets hold less than half.

    Lines of others come back from the second cache.
    """
    if not rows_collide(plan):
        return False
    rows = most_in_a_set(plan, "src", plan.macro, plan.source_run_digits)
    return target.llc_is_far or rows > 2 * l1_ways(target)


def rows_collide(plan: CopyPlan) -> bool:
    """Whether a tile takes parts of lines of more rows than that in one set of the first cache."""
    if not takes_parts_of_lines(plan):
        return False
    # Where the next macro tile lies here or there it cannot be asked for, and gathering would wait for each row.
    carries = any(isinstance(digit.stride("src"), Carry) for digit in plan.copy.digits)
    if carries and not steps_along_rows(plan):
        return False
    return rows_of_a_set(plan) > COLLIDING_ROWS


def with_gathered_rows(plan: CopyPlan, target: Machine) -> CopyPlan:
    """The plan with its source rows gathered in a buffer, as they collide."""
    why = f"gathered on the stack first, as {rows_of_a_set(plan)} rows of a tile share one set of the first cache"
    asks = "by tiles" if plan.prefetch and not target.llc_is_far else ""
    return plan.because("loads", why, load="staged", asks=asks)


def evict_each_other(plan: CopyPlan, target: Machine) -> bool:
    """Whether rows of a macro tile do, in the destination."""
    return bool(plan.target_lanes) and most_in_a_set(plan, "dst", plan.macro, width=plan.widths.dst) > l1_ways(target)


def stored_in_a_set(plan: CopyPlan) -> int:
    """The most rows of the destination that a tile stores into one set of the first cache."""
    return most_in_a_set(plan, "dst", plan.tile, width=plan.widths.dst)


def crowds_sets(plan: CopyPlan, target: Machine) -> bool:
    """Whether rows that a tile stores fill most of a set of the first cache, or would more than it."""
    return stored_in_a_set(plan) > CROWDED_PART * l1_ways(target)


def rows_of_a_set(plan: CopyPlan) -> int:
    """The most rows of the source that a tile loads from one set of the first cache."""
    return most_in_a_set(plan, "src", plan.tile, plan.source_run_digits)


def with_few_rows(plan: CopyPlan) -> CopyPlan:
    """
    The plan with tiles of fewer rows of the source, as they would share a set of the first cache.

    What is loaded of a line is in registers before others evict it; a buffer takes stores of any size. Tiles of
    registers of less than a line have few rows.
    """
    moves = plan.is_plain and plan.transposes and not plan.widths.converts
    if not moves or plan.load != "normal" or plan.store != "staged" or plan.vector_bytes != LINE:
        return plan
    rows, found = rows_of_a_set(plan), plan
    tiles = replace(plan, store="normal", side_by_side=False)
    while rows_of_a_set(tiles) > COLLIDING_ROWS and lane_count(tiles.target_lanes) * plan.widths.dst > PIECE_BYTES:
        if (fewer := halved(tiles, "dst")) is None:
            break
        tiles = fewer
        why = f"of fewer rows of the source, as {rows} of them would share one set of the first cache"
        found = plan.because("rows", why, tile=tiles.tile, target_lanes=tiles.target_lanes)
    return found


def takes_parts_of_lines(plan: CopyPlan) -> bool:
    """
    Whether several loads take parts of the lines of the source that a macro tile has.

    Those of elements that share bytes are parts of a line also where the next macro tile takes the others.
    """
    piece, share = lane_count(plan.source_lanes), plan.widths.src_per_byte
    is_part = piece * plan.widths.src < LINE * share
    row = plan.source_run if share == 1 else run_of(plan.copy, "src", plan.extents)
    return is_part and piece < row and plan.gathers_lanes


def with_at_most(plan: CopyPlan, lanes: int) -> CopyPlan:
    """The plan, whose lanes are powers of two, with so many of the source or fewer, if its tile can be cut."""
    while lane_count(plan.source_lanes) > lanes and (fewer := halved(plan, "src")):
        plan = fewer
    return plan


def halved(plan: CopyPlan, side: SideName) -> CopyPlan | None:
    """The plan, whose lanes are powers of two, with half of those of one side; None if its tile stays as it is."""
    lanes = {"src": plan.source_lanes, "dst": plan.target_lanes}
    *others, last = lanes[side]
    if last.extent == 2:
        return None
    lanes[side] = (*others, replace(last, extent=last.extent // 2))
    tile = tile_of(plan.copy, lanes["src"], lanes["dst"])
    halved = replace(plan, source_lanes=lanes["src"], target_lanes=lanes["dst"], tile=tile)
    return replace(halved, macro=halved.least_macro) if tile != plan.tile else None
