"""Planning reorders by way of images of bytes: when they are worth them, and how each copy runs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from math import prod

from layoutc.planning.conversions.converting import Converting
from layoutc.planning.conversions.plan_conversions import converting_plans, pass_caches
from layoutc.planning.conversions.plan_cost import least_cost, parts_cost
from layoutc.planning.conversions.reorder import Reorder
from layoutc.planning.conversions.shorter_tiles import with_shorter_tiles
from layoutc.planning.copies.axis_segments import MAX_SEGMENTS
from layoutc.planning.copies.copy_digits import StridedCopy
from layoutc.planning.copies.runs import contiguous
from layoutc.planning.copies.strided_copy import NotStridedError, count_segments
from layoutc.planning.copies.widths import Widths
from layoutc.planning.machine import LINE, Machine, merges_registers
from layoutc.planning.moves.boxes import BOX_GAIN
from layoutc.planning.moves.macro_tiles import loop_order
from layoutc.planning.moves.next_tile import LEAST_AHEAD
from layoutc.planning.moves.plan_copy import all_pieces, plan_moved
from layoutc.planning.plans.plan import CopyPlan, Part
from layoutc.planning.plans.turns import SharedLoop, Through
from layoutc.planning.reasons import because
from layoutc.planning.through.byte_images import by_images
from layoutc.planning.through.plan_through import asking_for_turns, plans_into, plans_out_of, turn_instructions
from layoutc.planning.through.through import Detour, Turn
from layoutc.planning.together.turn_copies import target_of_turns

IMAGE_GAIN = 0.9
"""of the instructions of copies that go straight are those by way of images, at most"""
PARTS_FEWER = 2
"""times as few are the copies by turns that have parts of short axes, as all of these have no room, at least"""
MOST_TURNS = 8
"""parts of a reorder that have turns of their own"""


def best_images(reorder: Reorder, target: Machine) -> Detour | None:
    """
    A reorder by way of images; None where no elements share bytes, turns are too large or too many, or what the
    destination holds counts.
    """
    source, destination, conversion = reorder.source, reorder.destination, reorder.conversion
    if not reorder.widths.are_packed or conversion.sum or conversion.compensation is not None:
        return None
    asked = source, destination, reorder.widths, reorder.seen.groupings
    try:
        images = next(by_images(*asked, "none"), None)
        if images is None:
            most = count_segments(source, destination) // PARTS_FEWER
            return next((each for each in by_images(*asked, "none", by_parts=True) if _is_short(each, most)), None)
        if not _is_short(images, MAX_SEGMENTS):
            return None
        if moves_between(reorder) and merges_registers(target.vector, target.shuffles, 8):
            joined = next(by_images(*asked, "all"), None)
            if joined is not None and _instructions(joined, target) < BOX_GAIN * _instructions(images, target):
                images = joined
    except NotStridedError:
        return None
    return images


def _is_short(images: Detour, most: int) -> bool:
    """Whether a reorder by way of images has few turns, and copies up to a number, and to what any reorder may have."""
    return 0 < len(images.turns) <= MOST_TURNS and images.count <= min(most, MAX_SEGMENTS)


def through_images(
    images: Detour, straight: Sequence[CopyPlan], how: Converting
) -> tuple[CopyPlan | Through, ...] | None:
    """
    The plans of a reorder by way of images; None where copies that go `straight` take as few instructions, or write
    whole lines past the caches.

    It is as it is known that it `goes_through` one, or none.
    """
    others, is_known = parts_cost(straight, how.computed), how.goes_through
    if is_known is False or (not is_known and (pass_caches(straight) or _least(straight, how) > IMAGE_GAIN * others)):
        return None
    parts = plan_images(images, how)
    cost = parts_cost(parts, how.computed, how.threads)
    if not is_known and cost > IMAGE_GAIN * others:
        return None
    because("bytes", f"by way of images in which each element has a byte, in {cost / others:.2f} of the instructions")
    return parts


def _least(straight: Sequence[CopyPlan], how: Converting) -> float:
    """The instructions of all turns, at the least."""
    loaded = (prod(digit.loaded for digit in plan.copy.digits) for plan in straight if not plan.copy.is_fill)
    return least_cost(how.widths, how.computed, how.target.vector) * sum(loaded)


def moves_between(reorder: Reorder) -> bool:
    """Whether bytes go from image to image as they are: rows convert, if need be, what has no attributes."""
    widest = max(reorder.source.element_type.bits, reorder.destination.element_type.bits)
    return not reorder.conversion.has_attributes and widest <= 8


def _instructions(images: Detour, target: Machine) -> float:
    """About how many instructions copies of bytes from image to image take."""
    return sum(turn_instructions(turn, turn.between, 1, target) for turn in images.turns)


def _row(copy: StridedCopy) -> int:
    """Elements that lie together in the source."""
    return prod(digit.loaded for _, digit in contiguous(copy, "src"))


def writes_apart(images: Detour, widths: Widths, target: Machine) -> bool:
    """Whether no two turns write into one byte, so that threads can share them."""
    return all(Through(turn.loops, (), _rows_out_of(turn, widths, target)).writes_apart for turn in images.turns)


def plan_images(images: Detour, how: Converting) -> tuple[CopyPlan | Through, ...]:
    """How each copy of a reorder by way of images runs, which moves bytes from image to image or converts there."""
    how = replace(how, asked=None, copies=1)
    turns = [_turns(each, replace(how, moves=how.computed <= 1)) for each in images.turns]
    return *turns, *converting_plans(images.fills, how)


def _turns(turn: Turn, how: Converting) -> Through:
    """How the copies of a turn run: past the caches, if it `streams`, where they store to memory."""
    widths, target = how.widths, how.target
    is_packed = widths.dst_per_byte > 1
    if not is_packed:
        target = target_of_turns(turn.loops, target)
    inner = replace(how, widths=replace(widths, src_per_byte=1, dst_per_byte=1), target=target, threads=1)
    wide = replace(inner, moves=False)
    rows = _rows_into(turn, widths, target)
    if how.streams:
        rows = tuple(_asking_ahead(row, turn.loops) for row in rows)
    into = rows or plans_into(turn.into, wide, converts=True)
    if (turn.into and widths.src_per_byte == 1) or (turn.out_of and not is_packed):
        # Elements are converted into a buffer without blocks, or out of one: between are bytes.
        inner = replace(inner, widths=Widths(1, 1), moves=True)
    is_buffered = bool(turn.out_of)
    between = tuple(_between(turn.between, replace(inner, streams=how.streams and not is_buffered), is_buffered))
    if how.streams and not turn.into:
        between = asking_for_turns(between, turn.loops, target)
    out_of = _rows_out_of(turn, widths, target) or plans_out_of(turn.out_of, wide, converts=True)
    return Through(turn.loops, into, out_of, between)


def _rows_into(turn: Turn, widths: Widths, target: Machine) -> tuple[CopyPlan, ...]:
    """Rows of a source whose elements share bytes, the shortest first: those may fill what lies behind them."""
    rows = sorted(turn.into, key=_row) if widths.src_per_byte > 1 else ()
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
    ahead, row = loop.step * loop.src, _row(plan.copy) + LINE * share
    turns = max(-(-LEAST_AHEAD * share // plan.copy.elements), -(-row // ahead))
    return replace(plan, prefetch=ahead * (turns if turns * loop.step <= loop.extent // 2 else 1))


def _rows_out_of(turn: Turn, widths: Widths, target: Machine) -> tuple[CopyPlan, ...]:
    """Rows of a destination whose elements share bytes."""
    rows = turn.out_of if widths.dst_per_byte > 1 else ()
    return tuple(_rows(copy, (1, widths.dst_per_byte), target) for copy in rows)


def _between(copies: Sequence[StridedCopy], how: Converting, buffered: bool) -> Iterable[CopyPlan]:
    """The plans of copies of bytes, or from bytes and to bytes; `buffered` if they store to an image."""
    if how.moves:
        found = all_pieces(copies, how.widths.dst, how.target)
        return (plan_moved(*piece, how.target, how.streams, buffered=buffered) for piece in found)
    return with_shorter_tiles(converting_plans(copies, how))


def _rows(copy: StridedCopy, per_byte: tuple[int, int], target: Machine) -> CopyPlan:
    """The plan of rows that are taken apart, or put together."""
    is_into = per_byte[0] > 1
    why = f"none: whole rows are {'taken apart' if is_into else 'put together'}, by vectors of bytes"
    order = loop_order(copy.digits, "src" if is_into else "dst")
    none: tuple[Part, ...] = ()
    return CopyPlan(
        copy,
        Widths(1, 1, *per_byte, converts=True),
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
        why=(("tiles", why),),
    )
