"""What every plan of a copy is: tuples as long as its digits are many, tiles that fit, and buffers that have runs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from layoutc.errors import LayoutcError
from layoutc.planning.machine import LINE

if TYPE_CHECKING:
    from layoutc.planning.plans.plan import CopyPlan


def check_fits(plan: CopyPlan) -> None:
    """Raises LayoutcError, with got and expected, for numbers that are no plan of the copy."""
    digits = plan.copy.digits
    for name, extents in (("tile", plan.tile), ("macro", plan.macro)):
        if len(extents) != len(digits):
            text = "x".join(map(str, extents)) or "-"
            raise LayoutcError(
                f"{name} {text} has {len(extents)} numbers, expected one for each of {len(digits)} digits"
            )
    for name, order in (("outer", plan.outer_order), ("inner", plan.inner_order)):
        if sorted(order) != (expected := list(range(len(digits)))):
            got, wanted = (" ".join(map(str, numbers)) or "-" for numbers in (order, expected))
            raise LayoutcError(f"got loops {name} {got}, expected each of {wanted} once")
    _check_tiles(plan)
    if plan.gathers_converted and plan.widths.at != "src":
        got = "'when stored'" if plan.widths.at else "no side"
        raise LayoutcError(f"staged loads are converted when loaded, got {got}")
    if plan.load != "normal" and not plan.gathers_lanes:
        raise LayoutcError(f"{plan.load} loads gather runs of other digits than those of their lanes")
    if plan.stages_stores and (not plan.run_digits or plan.run * plan.widths.dst < 2 * LINE):
        raise LayoutcError(f"staged stores need lanes and runs of {2 * LINE} bytes, got {plan.run} elements")
    if plan.stages_stores and any(part.digit not in plan.run_digits for part in plan.target_lanes):
        raise LayoutcError("staged stores keep runs of other digits than those of their lanes")


def _check_tiles(plan: CopyPlan) -> None:
    """Tiles fill macro tiles, and these the copy."""
    for digit, tile, macro in zip(plan.copy.digits, plan.tile, plan.macro, strict=True):
        fits = 1 <= tile <= macro <= digit.extent
        if not fits or not (plan.merges or is_power_of_two(tile) or tile == digit.extent):
            raise LayoutcError(
                f"tile {tile} and macro tile {macro} do not fit extent {digit.extent}: expected a power of two or "
                "all of the digit, and tile <= macro tile <= extent"
            )
        if not digit.is_whole and not plan.target_lanes:
            raise LayoutcError("a copy that goes element by element loads all of each digit")
        if not digit.is_whole and (macro != digit.extent or digit.extent % tile):
            raise LayoutcError(
                f"a digit that is loaded in part needs one macro tile of whole tiles, got macro tile {macro} and "
                f"tile {tile} of {digit.extent}"
            )


def is_power_of_two(number: int) -> bool:
    """Whether a positive number is one."""
    return number & (number - 1) == 0
