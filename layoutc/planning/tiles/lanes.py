"""Choosing the lanes of a copy's loads and stores, and the tile of registers that they give."""

from __future__ import annotations

from collections.abc import Container, Iterator, Sequence
from dataclasses import replace
from itertools import islice
from math import prod

from layoutc.planning.copies.copy_digits import SideName, StridedCopy, continues_params, fuse
from layoutc.planning.copies.runs import contiguous
from layoutc.planning.copies.widths import Widths
from layoutc.planning.machine import LINE, WORD, Machine, has_masks
from layoutc.planning.plans.fits import is_power_of_two
from layoutc.planning.plans.plan import CopyPlan, Part

TILE_REGISTERS = 16
"""registers of a tile: more would spill"""
MAX_CHANNELS = {"single": 31, "any": 31, "words": 31, "unpack": 7}
"""channels that are taken apart in registers, by what moves lanes: as many registers are live"""
NARROW_CHANNELS: dict[SideName, int] = {"src": 18, "dst": 12}
"""
the same of elements narrower than a word that lie together on a side, where what takes any lanes of two registers is
several instructions: each has lanes of its own that it takes, which come from memory
"""
PIECE_BYTES = 16
"""a load of less costs as much as one of this"""
FUSE_GAIN = 1.25
"""how much fuller fused lanes are at least: each of their loads or stores takes a few instructions more"""
WELL_FILLED = 0.97
"""of lanes that no more digits are counted as one for: each further one takes a few instructions more"""


Lanes = tuple[tuple[Part, ...], tuple[Part, ...]]
"""of loads, and of stores"""


def choose_lanes(
    copy: StridedCopy,
    widths: Widths,
    target: Machine,
    is_even: bool = False,
    whole: SideName = "dst",
    registers: int | None = None,
) -> Lanes:
    """
    Contiguous parts on both sides, cut down until the tile fits the registers, those of the `whole` side last.

    They divide digits if `is_even`. A tile has so many `registers`, or `TILE_REGISTERS`.
    """
    channels = _channel_lanes(copy, widths, target)
    if channels is not None and not (is_even and any(copy.digits[p.digit].extent % p.extent for p in channels[0])):
        return channels
    source = [] if copy.is_fill else list(_chain(copy, "src", target.vector // widths.held("src"), is_even))
    destination = list(_chain(copy, "dst", target.vector // widths.held("dst"), is_even))
    if not destination or not (source or copy.is_fill):
        return (), ()
    while _tile_bytes(copy, source, destination, widths.moved) > (registers or TILE_REGISTERS) * target.vector:
        first, last, width = (source, destination, widths.src) if whole == "dst" else (destination, source, widths.dst)
        shrinks = first if lane_count(first) * width > PIECE_BYTES else last
        shrinks[-1] = replace(shrinks[-1], extent=shrinks[-1].extent // 2)
        if shrinks[-1].extent == 1:
            shrinks.pop()
    return tuple(source), tuple(destination)


def _channel_lanes(copy: StridedCopy, widths: Widths, target: Machine) -> Lanes | None:
    """
    The lanes of a few channels side by side that go apart, or come together: 3 registers of pixels and 3 of planes.

    They may also stay together, where each has parameters of its own. Powers of two are left to the network of index
    bits.
    """
    most, least = (size // max(widths.src, widths.dst) for size in (target.vector, PIECE_BYTES))
    sides: tuple[tuple[SideName, SideName], ...] = (("src", "dst"), ("dst", "src"))
    for side, other in sides:
        run = list(islice(contiguous(copy, side), 2))
        if copy.is_fill or copy.swapping is not None or len(run) < 2:
            continue
        (channel, few), (position, many) = run
        if is_power_of_two(few.extent) or few.extent > _most_channels(side, widths, target):
            continue
        if any(digit.is_uneven or not digit.is_whole for digit in (few, many)):
            continue
        lanes = _power_of_two(min(most, many.extent))
        if lanes < least or (lanes < most and lanes * min(widths.src, widths.dst) < PIECE_BYTES):
            continue
        together, apart = (Part(channel, few.extent), Part(position, lanes)), (Part(position, lanes),)
        if getattr(many, other) == 1:
            if widths.held(side) == widths.moved:
                # What fills registers as it is moved goes by whole ones, and by parts where it is wider.
                all_lanes = _power_of_two(min(target.vector // widths.moved, many.extent))
                together = Part(channel, few.extent), Part(position, all_lanes)
            return (together, apart) if side == "src" else (apart, together)
        if list(islice(contiguous(copy, other), 2)) == run:
            return together, together
    return None


def _most_channels(side: SideName, widths: Widths, target: Machine) -> int:
    """Channels together on a side that are taken apart in registers, at most."""
    most = MAX_CHANNELS[target.shuffles]
    is_dear = target.shuffles != "single" and has_masks(target.vector, target.shuffles)
    is_narrow = widths.moved < WORD and not widths.converts
    return min(most, NARROW_CHANNELS[side]) if is_dear and is_narrow else most


def _chain(copy: StridedCopy, side: SideName, lanes: int, is_even: bool = False) -> Iterator[Part]:
    """Parts of the digits that follow one another without a gap, and carry alike on both sides, up to `lanes`."""
    for position, digit in contiguous(copy, side):
        part = _power_of_two(min(lanes, digit.extent))
        if digit.is_uneven or (side == "src" and not digit.is_whole):
            return
        if is_even or not digit.is_whole:
            part = min(part, digit.extent & -digit.extent)
        if part == 1:
            return
        yield Part(position, part)
        lanes //= part
        if part != digit.extent or lanes == 1:
            return


def _power_of_two(number: int) -> int:
    """The largest power of two up to a number."""
    return 1 << (number.bit_length() - 1)


def fused(copy: StridedCopy, widths: Widths, target: Machine) -> StridedCopy:
    """
    The copy with digits counted as one that give longer lanes together: rows of 3x3 filters, which 9 does not fill.

    A lane digit of the one side is none of a fused digit of the other, on which it carries.
    """
    if copy.is_fill or _channel_lanes(copy, widths, target):
        return copy
    lanes = target.vector // widths.held("dst")
    # Stores should fill a register; a tile of such stores has room for so many lanes in a load.
    piece = max(PIECE_BYTES // widths.src, 1)
    sides: tuple[tuple[SideName, SideName, int, int], ...] = (
        ("dst", "src", lanes, piece),
        ("src", "dst", min(target.vector // widths.held("src"), TILE_REGISTERS), lanes),
    )
    near = _needed(copy, "src", max(LINE // (2 * widths.src), 1))
    most = target.l1 // max(PIECE_BYTES, widths.src)
    for side, other, count, needed in sides:
        run = _fusable(copy, side, count, _needed(copy, other, needed))
        if side == "dst":
            run = _within(copy, run, near, most)
        if len(run) > 1 and _filled(prod(copy.digits[g].extent for g in run), count) > FUSE_GAIN * _chained(
            copy, side, count
        ):
            copy = fuse(copy, run)
    return copy


def _within(copy: StridedCopy, run: Sequence[int], near: Container[int], most: int) -> list[int]:
    """
    The digits up to the first that lies within a line of the other side, and of which a macro tile does not have all.

    Of such lines each macro tile would take a part.
    """
    count = 1
    for number, position in enumerate(run):
        count *= copy.digits[position].extent
        if position in near and count > most:
            return [*run[:number]]
    return [*run]


def _chained(copy: StridedCopy, side: SideName, lanes: int) -> float:
    """Elements per vector of a chain, where its last digit starts earlier at the end."""
    *inner, last = [*_chain(copy, side, lanes)] or [Part(0, 1)]
    return lane_count(inner) * _filled(copy.digits[last.digit].extent, last.extent)


def _needed(copy: StridedCopy, side: SideName, least: int) -> set[int]:
    """The digits that lanes of at least so many elements are made of."""
    found: set[int] = set()
    count = 1
    for position, digit in contiguous(copy, side):
        if count >= least:
            break
        found.add(position)
        count *= digit.extent
    return found


def _fusable(copy: StridedCopy, side: SideName, lanes: int, taken: set[int]) -> list[int]:
    """Whole digits of a contiguous run, until they fill lanes well."""
    found: list[int] = []
    count = 1
    for position, digit in contiguous(copy, side):
        if not digit.is_whole or position in taken or digit.carries or digit.swaps:
            break
        if found and not continues_params(digit, copy.digits[found[-1]]):
            break
        found.append(position)
        count *= digit.extent
        if _filled(count, lanes) > WELL_FILLED * lanes:
            break
    return found


def _filled(extent: int, lanes: int) -> float:
    """Elements of a digit per vector, where the last one starts earlier."""
    part = _power_of_two(min(lanes, extent))
    return extent / -(-extent // part)


def lane_count(parts: Sequence[Part]) -> int:
    return prod(part.extent for part in parts)


def converted_lanes(plan: CopyPlan) -> int:
    """How many elements a vector has where they are converted."""
    return lane_count(plan.lanes(plan.widths.converted_at))


def tile_of(copy: StridedCopy, *lanes: Sequence[Part]) -> tuple[int, ...]:
    tile = [1] * len(copy.digits)
    for part in (part for parts in lanes for part in parts):
        tile[part.digit] = max(tile[part.digit], part.extent)
    return tuple(digit.extent if digit.swaps else size for size, digit in zip(tile, copy.digits, strict=True))


def _tile_bytes(copy: StridedCopy, source: Sequence[Part], destination: Sequence[Part], element: int) -> int:
    return prod(tile_of(copy, source, destination)) * element
