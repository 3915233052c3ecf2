"""
Copies of elements that share bytes: which load and store whole bytes, and how others go through buffers.

A row of 4095 elements of 4 bits ends inside of a byte, in which the next row begins. Where the rows of a side begin or
end inside of a byte, a macro tile of them is held in a buffer in which each element has a byte.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import gcd, lcm, prod

from layoutc.planning.conversions.even_copies import with_even_macro
from layoutc.planning.copies.copy_digits import SIDES, CopyDigit, SideName, StridedCopy, cut_after, falling
from layoutc.planning.machine import LINE
from layoutc.planning.moves.macro_shapes import MacroShape
from layoutc.planning.moves.macro_tiles import with_macro
from layoutc.planning.moves.staged_stores import few_lines
from layoutc.planning.plans.fits import is_power_of_two
from layoutc.planning.plans.plan import CopyPlan, Store

BUFFERED = MacroShape(16 << 10, 128, 128, "dst", prefetch=False)
BUFFERED_TWICE = MacroShape(64 << 10, 256, 256, "dst", prefetch=False)
"""macro tiles that are held in one buffer, and in two"""
MOST_BUFFERED = 256 << 10
"""bytes of a buffer"""


def first_inside_a_byte(plan: CopyPlan) -> SideName | None:
    """The side on which loads or stores of some tile begin or end inside of a byte, if there is one."""
    if not plan.target_lanes:
        return None
    return next((side for side in SIDES if not begins_with_bytes(plan, side)), None)


def can_be_buffered(plan: CopyPlan) -> bool:
    """Whether what a load takes lies together in rows that are held in a buffer, if they are."""
    return plan.gathers_lanes or begins_with_bytes(plan, "src")


def with_buffers(plan: CopyPlan) -> CopyPlan:
    """The plan with buffers for the sides whose rows begin or end inside of bytes."""
    sides = [side for side in SIDES if not begins_with_bytes(plan, side)]
    if not sides:
        return plan
    buffered = _with_buffered_sides(_with_rows(plan, BUFFERED if len(sides) == 1 else BUFFERED_TWICE))
    if _byte_buffer_size(buffered) > MOST_BUFFERED:
        buffered = _with_buffered_sides(_with_least_macro(plan))
    # Other macro tiles may have other runs.
    keeps_lines = buffered.side_by_side and buffered.stages_stores and buffered.keeps_lines
    return replace(buffered, side_by_side=keeps_lines)


def _with_least_macro(plan: CopyPlan) -> CopyPlan:
    """The plan with macro tiles of a tile, whose runs may be too short to leave a buffer by whole lines."""
    why = "a tile, as many short rows take large buffers"
    store: Store = "normal" if plan.stages_stores else plan.store
    least = plan.because("macro tiles", why, macro=plan.least_macro, store=store)
    if not plan.stages_stores:
        return least
    if least.run * least.widths.dst >= 2 * LINE and all(part.digit in least.run_digits for part in least.target_lanes):
        return replace(least, store=plan.store)
    return least.because("stores", few_lines(least))


def in_byte_buffers(box: CopyPlan) -> CopyPlan | None:
    """A box with buffers for the sides whose elements share bytes; None where they would be too large, or of no use."""
    sides = [side for side in SIDES if box.widths.per_byte(side) > 1]
    plan = _with_rows(box, BUFFERED if len(sides) == 1 else BUFFERED_TWICE)
    for macro in (plan.macro, box.least_macro):
        plan = replace(plan, macro=macro)
        if box.load == "normal" and "src" in sides:
            if not (plan.gathers_lanes and plan.source_run_digits):
                continue
            plan = replace(plan, load="unpacked")
        plan = replace(plan, store="packed") if "dst" in sides else plan
        if _byte_buffer_size(plan) <= MOST_BUFFERED:
            return plan
    return None


def with_packed_stores(plan: CopyPlan) -> CopyPlan:
    """The plan with macro tiles that are put together in a buffer of bytes, as rows of the destination are inside."""
    return _with_byte_buffer(_with_rows(plan, BUFFERED), "dst")


def with_even_buffers(plan: CopyPlan) -> CopyPlan:
    """The same, with macro tiles that divide the copy."""
    return _with_buffered_sides(with_even_macro(with_buffers(plan)))


def _with_rows(plan: CopyPlan, shape: MacroShape) -> CopyPlan:
    """The plan with macro tiles of many rows, where these are short."""
    plan = with_macro(plan, shape)
    macro, most = list(plan.macro), shape.budget // max(plan.widths.src, plan.widths.dst)
    for position in reversed(plan.outer_order):
        while macro[position] < plan.extents[position] and 2 * prod(macro) <= most:
            macro[position] = min(2 * macro[position], plan.extents[position])
    return replace(plan, macro=tuple(macro))


def _with_buffered_sides(plan: CopyPlan) -> CopyPlan:
    """The plan with buffers for the sides whose tiles begin or end inside of bytes, as other ones may."""
    while (side := first_inside_a_byte(plan)) is not None:
        plan = _with_byte_buffer(plan, side)
    return plan


def _with_byte_buffer(plan: CopyPlan, side: SideName) -> CopyPlan:
    """The plan with a buffer for a side."""
    why = "a buffer with a byte for each element, as rows begin or end inside of a byte"
    if side == "src":
        return plan.because("loads", f"out of {why}", load="unpacked")
    return plan.because("stores", f"into {why}", store="packed")


def _byte_buffer_size(plan: CopyPlan) -> int:
    """Bytes of the larger buffer in which each element has one."""
    return max((plan.buffer_bytes(side) for side in SIDES if plan.has_byte_buffer(side)), default=0)


def begins_with_bytes(plan: CopyPlan, side: SideName) -> bool:
    """Whether each piece of memory that a tile takes begins with a byte, and ends with one."""
    per_byte = plan.widths.per_byte(side)
    if per_byte == 1 or (plan.copy.is_fill and side == "src") or plan.has_byte_buffer(side):
        return True
    parts = plan.lanes(side)
    lanes = {part.digit: part.extent for part in parts}
    whole = prod(lanes.values())
    # Lanes of a few channels are as many registers, each of which begins somewhere.
    register = whole if plan.merges or is_power_of_two(whole) else parts[-1].extent
    places = [register, plan.copy.of(side)]
    for position, digit in enumerate(plan.copy.digits):
        piece = lanes.get(position, 1)
        if piece < digit.extent:
            # Pieces begin at multiples of their extent, or where the last one does that starts earlier.
            starts = piece, plan.macro[position], plan.macro_step(position), digit.extent
            places += (n * step for n in starts for _, step in digit.all_steps(side))
    return all(place % per_byte == 0 for place in places)


def macro_apart(plan: CopyPlan) -> tuple[CopyDigit, int] | None:
    """
    The slowest digit of packed stores, and macro tiles of it that write no byte together; None if there are none.

    They begin with bytes of the source too: what is left without the rest need not go through a buffer.
    """
    if plan.store != "packed" or not plan.copy.digits or plan.copy.dst % plan.widths.dst_per_byte or not _nests(plan):
        return None
    digit, macro = min(zip(plan.copy.digits, plan.macro, strict=True), key=lambda pair: falling(pair[0]))
    share = plan.widths.per_byte
    step = lcm(*(share(side) // gcd(share(side), step) for side in SIDES for _, step in digit.all_steps(side)))
    tiles = -(-digit.extent // macro)
    apart = digit.extent // tiles // step * step
    if apart < plan.tile[plan.copy.digits.index(digit)]:
        apart = -(-macro // step) * step
    fits = _byte_buffer_size(plan) * apart <= MOST_BUFFERED * macro
    if not digit.is_whole or digit.carries or apart >= digit.extent or not fits:
        return None
    return digit, apart


def in_two(
    copy: StridedCopy, plan: CopyPlan, threads: int
) -> tuple[CopyDigit, int, StridedCopy, Sequence[StridedCopy]] | None:
    """The digit that threads share, its macro tiles, the copy of whole ones, and of the rest; None if it is none."""
    found = macro_apart(plan) if threads > 1 else None
    if found is None:
        return None
    digit, macro = found
    whole = digit.extent // macro * macro
    first, *rest = (copy,) if whole == digit.extent else cut_after(copy, copy.digits.index(digit), whole)
    return replace(digit, extent=whole, loaded=whole), macro, first, rest


def fits_macro(plan: CopyPlan, digit: CopyDigit, macro: int) -> bool:
    """Whether the tiles of a plan fit macro tiles of so many steps of a digit."""
    return all(tile <= macro for other, tile in zip(plan.copy.digits, plan.tile, strict=True) if other == digit)


def with_macro_along(plan: CopyPlan, digit: CopyDigit, macro: int) -> CopyPlan:
    """The plan with other macro tiles along a digit."""
    sizes = zip(plan.copy.digits, plan.macro, strict=True)
    return replace(plan, macro=tuple(macro if other == digit else size for other, size in sizes))


def digits_apart(plan: CopyPlan) -> list[int]:
    """The digits whose macro tiles write no byte together, so that threads can share them."""
    per_byte = plan.widths.dst_per_byte
    if plan.store != "packed":
        return list(range(len(plan.macro)))
    found: list[int] = []
    if plan.copy.dst % per_byte or not _nests(plan):
        return found
    for position in sorted(range(len(plan.macro)), key=lambda g: falling(plan.copy.digits[g])):
        digit, macro = plan.copy.digits[position], plan.macro[position]
        if macro < digit.extent:
            if macro * digit.dst % per_byte or digit.extent % macro:
                return found
            found.append(position)
        if digit.dst % per_byte:
            return found
    return found


def _nests(plan: CopyPlan) -> bool:
    """Whether the steps of each digit lie past all that the faster ones reach in the destination."""
    reach = 0
    for digit in sorted(plan.copy.digits, key=falling, reverse=True):
        if digit.dst <= reach or any(side == "dst" for side, _ in digit.carries):
            return False
        reach += digit.dst * (digit.extent - 1)
    return True
