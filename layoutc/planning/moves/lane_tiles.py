"""A plan from the lanes of its loads and stores, with macro tiles of one tile."""

from __future__ import annotations

from layoutc.planning.copies.copy_digits import StridedCopy
from layoutc.planning.copies.widths import Widths
from layoutc.planning.machine import Machine
from layoutc.planning.moves.macro_tiles import loop_order
from layoutc.planning.plans.plan import CopyPlan, Part
from layoutc.planning.tiles.lanes import tile_of


def with_lanes(
    copy: StridedCopy,
    widths: Widths,
    target: Machine,
    source_lanes: tuple[Part, ...],
    target_lanes: tuple[Part, ...],
) -> CopyPlan:
    """A plan with these lanes, and macro tiles of one tile."""
    tile = tile_of(copy, source_lanes, target_lanes)
    return CopyPlan(
        copy,
        widths,
        target.vector,
        target.shuffles,
        tile,
        source_lanes,
        target_lanes,
        macro=tuple(t if d.is_whole else d.extent for t, d in zip(tile, copy.digits, strict=True)),
        outer_order=loop_order(copy.digits, "dst"),
        inner_order=loop_order(copy.digits, "dst"),
    )
