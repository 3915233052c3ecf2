"""What plans of boxes must be: tiles of any extents, whose registers are merged."""

from __future__ import annotations

from math import prod

from layoutc.errors import LayoutcError
from layoutc.planning.copies.copy_digits import SIDES
from layoutc.planning.machine import has_boxes, has_masks
from layoutc.planning.plans.plan import CopyPlan
from layoutc.planning.shuffles.synthesis import REGISTER_LIMIT
from layoutc.planning.tiles.merged_tile import converts_twice, count_pieces, has_whole_rows


def check_merged(plan: CopyPlan) -> None:
    """Any box of elements, contiguous on both sides along some of its digits."""
    if not has_boxes(plan.vector_bytes, plan.shuffles, plan.widths.moved) or not _converts_merged(plan):
        raise LayoutcError(
            "merged lanes need any shuffles of their elements, a byte of a buffer for each that shares one, and are "
            "converted, if at all, when stored, or to wider ones when loaded"
        )
    if plan.copy.is_fill or not (plan.source_lanes and plan.target_lanes):
        raise LayoutcError("merged lanes need contiguous elements on both sides")
    if not (has_masks(plan.vector_bytes, plan.shuffles) or has_whole_rows(plan)):
        raise LayoutcError(
            f"merged lanes in vectors of {plan.vector_bytes} bytes, which have no masks, need rows of half of one in "
            "the source, and of a whole one, with nothing in between, in the destination"
        )
    _check_box(plan)
    tile = "x".join(map(str, plan.tile))
    if prod(plan.tile) > REGISTER_LIMIT * plan.vector_bytes // plan.widths.moved:
        raise LayoutcError(f"tile {tile} does not fit {REGISTER_LIMIT} registers")
    if converts_twice(plan):
        raise LayoutcError("merged lanes that are converted when loaded overlap in the source")
    for side, name in zip(SIDES, ("loads", "stores"), strict=True):
        if (count := count_pieces(plan, side)) > REGISTER_LIMIT:
            raise LayoutcError(f"tile {tile} has {count} {name}, expected at most {REGISTER_LIMIT}")


def _check_box(plan: CopyPlan) -> None:
    """All of a digit that carries or is loaded in part, and lanes of all that a tile has of theirs."""
    for extent, digit in zip(plan.tile, plan.copy.digits, strict=True):
        if (digit.carries or not digit.is_whole) and extent != digit.extent:
            raise LayoutcError(
                f"merged lanes have all {digit.extent} of a digit that carries or is loaded in part, got {extent}"
            )
    for part in (*plan.source_lanes, *plan.target_lanes):
        if part.extent != plan.tile[part.digit]:
            raise LayoutcError(f"got merged lanes {part.digit}:{part.extent}, expected all {plan.tile[part.digit]}")


def _converts_merged(plan: CopyPlan) -> bool:
    """Whether what is merged is moved, or converted when stored, or to wider elements when loaded; in whole bytes."""
    widths = plan.widths
    is_late = widths.converted_at == "dst"
    is_early = widths.converted_at == "src" and widths.dst > widths.src
    # What rows are converted into a buffer has a byte for each element, too.
    in_bytes = {"src": plan.is_buffered("src"), "dst": plan.has_byte_buffer("dst")}
    has_bytes = all(widths.per_byte(side) == 1 or in_bytes[side] for side in SIDES)
    return has_bytes and (not plan.widths.converts or is_late or is_early)
