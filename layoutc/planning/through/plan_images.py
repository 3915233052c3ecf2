"""Planning reorders by way of images of bytes: when they are worth them, and how each copy runs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from math import prod
from typing import Literal

from layoutc.conversion import Conversion
from layoutc.descriptor import MemoryDesc
from layoutc.planning.conversions.plan_conversions import converting_plans
from layoutc.planning.conversions.row_conversions import Converting
from layoutc.planning.conversions.shorter_tiles import with_shorter_tiles
from layoutc.planning.conversions.spread_params import as_spread
from layoutc.planning.copies.axis_segments import MAX_SEGMENTS
from layoutc.planning.copies.copy_digits import SIDES, SideName, StridedCopy, contiguous
from layoutc.planning.copies.promotion import in_bytes
from layoutc.planning.copies.strided_copy import NotStridedError
from layoutc.planning.copies.widths import Widths
from layoutc.planning.machine import LINE, PAGE, Machine, merges_registers
from layoutc.planning.moves.boxes import BOX_GAIN
from layoutc.planning.moves.macro_tiles import loop_order
from layoutc.planning.moves.next_tile import LEAST_AHEAD
from layoutc.planning.moves.plan_copy import instructions, pieces, plan_moved
from layoutc.planning.plans.plan import CopyPlan, Part
from layoutc.planning.plans.turns import SharedLoop, Through
from layoutc.planning.reasons import because, forget_copies, next_copy
from layoutc.planning.through.byte_images import Imaged, Images, by_images
from layoutc.planning.through.plan_through import MOST_SEGMENTS, plans_into, plans_out_of, target_of_turns

LEAST_ROW = 32
"""elements of a row that takes as long in a buffer of its copy alone"""
FEW, MOST_STRAIGHT = 0.05, 0.85
"""of the elements may be in shorter rows; and so many in rows of whole bytes, which take longer by way of images"""
MOST_SHORT = 0.25
"""of the elements may be in rows of an image that are half as long or less, and are taken apart one by one"""
MOST_PAGES = 1024
"""pages of a side that a turn has a part of a line of"""
MOST_TURNS = 8
"""parts of a reorder that have turns of their own"""


def best_images(
    source: MemoryDesc,
    destination: MemoryDesc,
    widths: Widths,
    conversion: Conversion,
    copies: Sequence[StridedCopy],
    target: Machine,
) -> Images | None:
    """
    A reorder by way of images, where copies that go straight (none if they are too many) have rows of few elements.

    None where they do as well, or what the destination holds counts.
    """
    if not widths.are_packed or conversion.sum or conversion.compensation is not None:
        return None
    moves = conversion.arithmetic(source.element_type, destination.element_type) == "move"
    rows = {copy: _rows_of(copy, widths, moves) for copy in copies}
    short, straight = (sum(copy.elements for copy in copies if rows[copy] == kind) for kind in ("short", "straight"))
    every = sum(copy.elements for copy in copies)
    is_short = (
        short > FEW * every and straight < MOST_STRAIGHT * every and not _has_lanes(copies, widths, target, moves)
    )
    if 0 < len(copies) <= MOST_SEGMENTS and not is_short:
        return None
    groupings = as_spread(source, destination, conversion).groupings
    try:
        images = by_images(source, destination, widths, groupings, "none")
        if images is None or not 0 < len(images.turns) <= MOST_TURNS or images.count > MAX_SEGMENTS:
            return None
        if moves_between(source, destination, conversion) and merges_registers(target.vector, target.shuffles, 8):
            joined = by_images(source, destination, widths, groupings, "all")
            if joined is not None and _instructions(joined, target) < BOX_GAIN * _instructions(images, target):
                images = joined
    except NotStridedError:
        return None
    is_few = 0 < len(copies) <= 2 * MOST_SEGMENTS
    if is_few and not all(_has_long_rows(turn, widths, target) for turn in images.turns):
        return None
    why = f"{short} elements are in rows of less than {LEAST_ROW}" if is_short else "copies would be many"
    because("bytes", f"by way of images in which each element has a byte, as {why}")
    return images


def _has_lanes(copies: Sequence[StridedCopy], widths: Widths, target: Machine, moves: bool) -> bool:
    """Whether all that is loaded is one copy that has lanes: between buffers of its own it does as well."""
    first, *others = (copy for copy in copies if not copy.is_fill)
    if others:
        return False
    plans = list(converting_plans([first], Converting(widths, target, False, 1, False, moves)))
    forget_copies(len(plans))
    return any(plan.target_lanes for plan in plans if not plan.copy.is_fill)


def moves_between(source: MemoryDesc, destination: MemoryDesc, conversion: Conversion) -> bool:
    """Whether bytes go from image to image as they are: rows convert, if need be, what has no attributes."""
    return not conversion.has_attributes and max(source.element_type.bits, destination.element_type.bits) <= 8


def _instructions(images: Images, target: Machine) -> float:
    """About how many instructions copies of bytes from image to image take."""
    return sum(
        instructions((piece for copy in turn.between for piece in pieces(copy, 1, target)), target)
        * prod(loop.extent / loop.step for loop in turn.loops)
        for turn in images.turns
    )


def _has_long_rows(turn: Imaged, widths: Widths, target: Machine) -> bool:
    """Whether rows of a turn are long, or taken apart several at once, and few of those that are no line lie apart."""
    into, out_of = _rows_into(turn, widths, target), _rows_out_of(turn, widths, target)
    forget_copies(len(into) + len(out_of))
    through = Through(turn.loops, into, out_of)
    sides: tuple[tuple[SideName, Sequence[CopyPlan]], ...] = (("src", into), ("dst", out_of))
    for side, rows in sides:
        lengths = [_row(plan.copy, side) for plan in rows]
        spans = [side == "src" and through.takes_spans(number) for number in range(len(rows))]
        short = sum(
            plan.copy.elements
            for plan, length, span in zip(rows, lengths, spans, strict=True)
            if length < LEAST_ROW // 2 and not span
        )
        if short > MOST_SHORT * sum(plan.copy.elements for plan in rows):
            return False
        share = widths.per_byte(side)
        pages = sum(
            prod(digit.extent for digit in plan.copy.digits if getattr(digit, side) >= PAGE * share)
            for plan, length in zip(rows, lengths, strict=True)
            if length < LINE * share
        )
        if pages > MOST_PAGES:
            return False
    return True


def _rows_of(copy: StridedCopy, widths: Widths, moves: bool) -> Literal["short", "odd", "straight"]:
    """
    What rows a copy has on the sides whose elements share bytes: of few elements, such that begin or end inside of
    bytes, or such that vectors load and store as they are. Short ones have half as few where they are whole bytes.
    """
    if copy.is_fill or (moves and in_bytes(copy, widths.dst_per_byte) is not None):
        return "straight"
    shared: list[tuple[SideName, int]] = [(side, share) for side in SIDES if (share := widths.per_byte(side)) > 1]
    even = {side: _has_whole_bytes(copy, side, share) for side, share in shared}
    if any(_row(copy, side) < (LEAST_ROW // 2 if even[side] else LEAST_ROW) for side, _ in shared):
        return "short"
    return "straight" if all(even.values()) else "odd"


def _has_whole_bytes(copy: StridedCopy, side: SideName, per_byte: int) -> bool:
    """Whether rows of a side begin with bytes, and end with them."""
    along = {position for position, _ in contiguous(copy, side)}
    apart = (step for g, digit in enumerate(copy.digits) if g not in along for _, step in digit.all_steps(side))
    return all(place % per_byte == 0 for place in (_row(copy, side), getattr(copy, side), *apart))


def _row(copy: StridedCopy, side: SideName) -> int:
    """Elements that lie together on a side."""
    return prod(digit.loaded if side == "src" else digit.extent for _, digit in contiguous(copy, side))


def writes_apart(images: Images, widths: Widths, target: Machine) -> bool:
    """Whether no two turns write into one byte, so that threads can share them."""
    rows = [_rows_out_of(turn, widths, target) for turn in images.turns]
    forget_copies(sum(map(len, rows)))
    turns = zip(images.turns, rows, strict=True)
    return all(Through(turn.loops, (), out_of).writes_apart for turn, out_of in turns)


def plan_images(images: Images, how: Converting, moves: bool) -> tuple[CopyPlan | Through, ...]:
    """How each copy of a reorder by way of images runs, which moves bytes from image to image or converts there."""
    turns = [_turns(each, replace(how, moves=moves)) for each in images.turns]
    return *turns, *converting_plans(images.fills, replace(how, adds=False))


def _turns(turn: Imaged, how: Converting) -> Through:
    """How the copies of a turn run: past the caches, if it `streams`, where they store to memory."""
    widths, target = how.widths, how.target
    is_packed = widths.dst_per_byte > 1
    if not is_packed:
        target = target_of_turns(turn.loops, target)
    inner = replace(how, widths=Widths(widths.src, widths.dst), target=target, threads=1)
    wide = replace(inner, moves=False)
    rows = _rows_into(turn, widths, target)
    if how.streams:
        rows = tuple(_asking_ahead(row, turn.loops) for row in rows)
    into = rows or plans_into(turn.into, wide, converts=True)
    if turn.converts_apart(widths):
        inner = replace(inner, widths=Widths(1, 1), moves=True)
    is_buffered = bool(turn.out_of)
    between = tuple(_between(turn.between, replace(inner, streams=how.streams and not is_buffered), is_buffered))
    out_of = _rows_out_of(turn, widths, target) or plans_out_of(turn.out_of, wide, converts=True)
    return Through(turn.loops, into, out_of, between)


def _rows_into(turn: Imaged, widths: Widths, target: Machine) -> tuple[CopyPlan, ...]:
    """Rows of a source whose elements share bytes, the shortest first: those may fill what lies behind them."""
    rows = sorted(turn.into, key=lambda copy: _row(copy, "src")) if widths.src_per_byte > 1 else ()
    return tuple(_rows(copy, (widths.src_per_byte, 1), target) for copy in rows)


def _asking_ahead(plan: CopyPlan, loops: Sequence[SharedLoop]) -> CopyPlan:
    """
    The plan of rows that ask for those of a later turn: the first one that comes in time, and whose rows begin in lines
    that these do not touch.
    """
    moving = [loop for loop in loops if loop.step < loop.extent]
    loop, share = moving[-1] if moving else None, plan.widths.src_per_byte
    if loop is None or not loop.src:
        return plan
    ahead, row = loop.step * loop.src, _row(plan.copy, "src") + LINE * share
    turns = max(-(-LEAST_AHEAD * share // plan.copy.elements), -(-row // ahead))
    return replace(plan, prefetch=ahead * (turns if turns * loop.step <= loop.extent // 2 else 1))


def _rows_out_of(turn: Imaged, widths: Widths, target: Machine) -> tuple[CopyPlan, ...]:
    """Rows of a destination whose elements share bytes."""
    rows = turn.out_of if widths.dst_per_byte > 1 else ()
    return tuple(_rows(copy, (1, widths.dst_per_byte), target) for copy in rows)


def _between(copies: Sequence[StridedCopy], how: Converting, buffered: bool) -> Iterable[CopyPlan]:
    """The plans of copies of bytes, or from bytes and to bytes; `buffered` if they store to an image."""
    if how.moves:
        found = (piece for copy in copies for piece in pieces(copy, how.widths.dst, how.target))
        return (plan_moved(*piece, how.target, how.streams, buffered=buffered) for piece in found)
    return with_shorter_tiles(converting_plans(copies, how))


def _rows(copy: StridedCopy, per_byte: tuple[int, int], target: Machine) -> CopyPlan:
    """The plan of rows that are taken apart, or put together."""
    next_copy()
    is_into = per_byte[0] > 1
    because("tiles", f"none: whole rows are {'taken apart' if is_into else 'put together'}, by vectors of bytes")
    order = loop_order(copy.digits, "src" if is_into else "dst")
    none: tuple[Part, ...] = ()
    return CopyPlan(
        copy,
        1,
        target.vector,
        target.shuffles,
        (1,) * len(copy.digits),
        none,
        none,
        macro=tuple(digit.extent for digit in copy.digits),
        outer_order=order,
        inner_order=order,
        store="normal" if is_into else "packed",
        load="unpacked" if is_into else "normal",
        converted_bytes=1,
        per_byte=per_byte,
    )
