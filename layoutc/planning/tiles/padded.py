"""Tiles of elements that are loaded one by one, and stored with the zeros beside them."""

from __future__ import annotations

from dataclasses import replace

from layoutc.planning.copies.copy_digits import StridedCopy
from layoutc.planning.copies.widths import Widths
from layoutc.planning.machine import Machine, merges_registers
from layoutc.planning.plans.fits import is_power_of_two
from layoutc.planning.plans.plan import CopyPlan, Part
from layoutc.planning.tiles.lanes import PIECE_BYTES, TILE_REGISTERS, choose_lanes

MOST_LOADED = 4
"""elements beside zeros that are put into a register one by one"""
WORD_BYTES, ODD_LOADED = 8, 3
"""of a general register, and how many elements that lie together are put into one"""


def padded_lanes(copy: StridedCopy, element: int, target: Machine) -> tuple[Part, ...]:
    """
    The lanes of stores that have elements and the zeros beside them, where nothing is contiguous in the source.

    None where registers are merged: a box may have them. Copied apart from their zeros, elements and zeros would each
    be stored by themselves.
    """
    if merges_registers(target.vector, target.shuffles, element) or any(digit.carries for digit in copy.digits):
        return ()
    in_part = [(g, digit) for g, digit in enumerate(copy.digits) if not digit.is_whole]
    if len(in_part) != 1 or choose_lanes(copy, Widths(element, element), target)[1]:
        return ()
    position, digit = in_part[0]
    # Bytes beyond a general register are put into a vector by memory, where it takes no single ones.
    most = WORD_BYTES if target.shuffles == "unpack" and element == 1 else PIECE_BYTES
    fits = is_power_of_two(digit.extent) and digit.extent * element <= most
    apart = digit.loaded == 1 or (digit.src != 1 and 1 < digit.loaded <= MOST_LOADED)
    # Three that lie together are no load; where bytes are not shuffled they are put into a word.
    is_word = digit.loaded == ODD_LOADED and target.shuffles == "unpack" and digit.extent * element <= WORD_BYTES
    return (Part(position, digit.extent),) if digit.dst == 1 and fits and (apart or is_word) else ()


def with_padded_tile(plan: CopyPlan) -> CopyPlan:
    """The plan with a tile of several such stores, which follow one another in the destination."""
    digits, (lanes,) = plan.copy.digits, plan.target_lanes
    others = [g for g in range(len(digits)) if g != lanes.digit and digits[g].extent > 1]
    if not others:
        return plan
    near = min(others, key=lambda g: digits[g].dst)
    count = 1 << min(digits[near].extent, TILE_REGISTERS).bit_length() - 1
    tile, macro = (tuple(count if g == near else n for g, n in enumerate(steps)) for steps in (plan.tile, plan.macro))
    return replace(plan, tile=tile, macro=macro)
