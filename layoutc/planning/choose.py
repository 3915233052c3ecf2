"""Choosing a plan: which copies, how each runs, and which run together, by rules that benchmarks/ justifies."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from layoutc.conversion import NO_ATTRIBUTES, Conversion
from layoutc.descriptor import MemoryDesc
from layoutc.planning.conversions.merged_conversions import has_box
from layoutc.planning.conversions.plan_conversions import Converting, converting_plans, has_padded_tile
from layoutc.planning.conversions.running_sums import with_running_sums
from layoutc.planning.conversions.shorter_tiles import parts_with_shorter_tiles
from layoutc.planning.conversions.spread_params import as_spread
from layoutc.planning.copies.axis_copies import Joins
from layoutc.planning.copies.copy_digits import Sized, StridedCopy
from layoutc.planning.copies.promotion import MAX_ELEMENT_BYTES, in_bytes
from layoutc.planning.copies.strided_copy import NotStridedError, strided_copies
from layoutc.planning.copies.widths import Widths
from layoutc.planning.machine import FAR_STREAMED, Machine, machine, merges_registers
from layoutc.planning.moves.boxes import ELEMENT, loads_over_gaps
from layoutc.planning.moves.colliding_rows import evict_each_other
from layoutc.planning.moves.fetched_lines import with_fetched_lines
from layoutc.planning.moves.fetched_rows import with_fetched_rows
from layoutc.planning.moves.plan_copy import instructions, pieces, plan_moved
from layoutc.planning.moves.thread_rows import with_rows_of_threads
from layoutc.planning.plans.plan import Plan
from layoutc.planning.reasons import because, forget_copies
from layoutc.planning.through.byte_images import Images
from layoutc.planning.through.plan_images import best_images, moves_between, plan_images, writes_apart
from layoutc.planning.through.plan_through import best_buffer, plan_through
from layoutc.planning.through.rows_through import rows_through
from layoutc.planning.together.plan_together import parts_in_cache, parts_past_it
from layoutc.planning.together.small_copies import with_small_conversions
from layoutc.planning.together.together_conversions import with_shared_loops

PARALLEL_BYTES = 128 << 10
"""what a copy writes, below which threads that wait for work take as long to start as they gain"""
FEW_COPIES = 4
"""as many as are counted: threads start with each, and gain more of what fills the second cache"""
JOIN_GAIN = 0.8
"""Boxes have all of short axes if they need less than this share of the instructions."""
BYTE = 8
"""bits, below which parameters are taken out of bytes that they share"""


def choose_plan(
    source: MemoryDesc,
    destination: MemoryDesc,
    target: Machine | None = None,
    threads: int = 1,
    conversion: Conversion = NO_ATTRIBUTES,
    goes_through: bool | None = None,
) -> Plan:
    """
    The plan of a reorder on a machine (default: this one), which moves elements as they are or converts each.

    `goes_through` says whether rows that are converted go through a buffer where they need not, if that is known.

    Raises NotStridedError if the reorder has no form as strided copies.
    """
    target, size = target or machine(), source.size_bytes + destination.size_bytes
    if conversion.compensation is not None:
        found = _with_running_sums(source, destination, target, threads, conversion)
        if found is not None:
            return with_fetched_lines(found, size, target)
        conversion = replace(conversion, compensation=None)
    plan = _plan(source, destination, target, threads, conversion, goes_through)
    if not conversion.sum:
        plan = with_rows_of_threads(plan, destination.size_bytes, target)
    return with_fetched_lines(with_fetched_rows(plan, target), size, target)


def _with_running_sums(
    source: MemoryDesc, destination: MemoryDesc, target: Machine, threads: int, conversion: Conversion
) -> Plan | None:
    """The plan whose tiles add up the sums of a compensation, if they can."""
    try:
        plan = _plan(source, destination, target, threads, conversion)
    except NotStridedError:
        return None
    found = with_running_sums(plan, as_spread(source, destination, conversion), destination)
    if found is None:
        forget_copies(len(plan.copies))
    return found


def _divisor(source: MemoryDesc, destination: MemoryDesc, conversion: Conversion) -> int | None:
    """Which list of parameters integers are the quotients by, if one is."""
    spread = as_spread(source, destination, conversion)
    scale = spread.dst_scale
    is_divided = scale is not None and scale.axes and not spread.reciprocal and destination.element_type.is_integer
    return spread.groupings.index(scale.grouping) if scale is not None and is_divided else None


def _asked(source: MemoryDesc, destination: MemoryDesc, conversion: Conversion) -> int | None:
    """Which list of parameters integers are scaled by to bf16, or else which share bytes, if one is."""
    spread = as_spread(source, destination, conversion)
    scale = spread.src_scale
    is_asked = scale is not None and scale.axes and source.element_type.is_integer
    if scale is not None and is_asked and destination.element_type.name == "bf16" and spread.scales_alone:
        return spread.groupings.index(scale.grouping)
    return next(iter(_packed(source, destination, conversion)), None)


def _packed(source: MemoryDesc, destination: MemoryDesc, conversion: Conversion) -> list[int]:
    """Which lists of parameters have values that share bytes."""
    spread = as_spread(source, destination, conversion)
    packed = (param for param in spread.params.values() if param.axes and param.type.bits < BYTE)
    return [spread.groupings.index(param.grouping) for param in packed]


def _plan(
    source: MemoryDesc,
    destination: MemoryDesc,
    target: Machine,
    threads: int,
    conversion: Conversion,
    goes_through: bool | None = None,
) -> Plan:
    """The plan of copies that, with a compensation, say which sums their elements go into."""
    moves = conversion.arithmetic(source.element_type, destination.element_type) == "move"
    adds, divisor = bool(conversion.sum), _divisor(source, destination, conversion)
    asked = _asked(source, destination, conversion)
    straight = None if moves else _converted(source, destination, conversion, target)
    buffered = best_buffer(source, destination, target, conversion, straight and len(straight[0]))
    if buffered is not None:
        threads = _worth(threads, destination, len(buffered.halves))
        streams = _streams(source.size_bytes, destination.size_bytes, target, threads)
        widths = Widths(source.element_type.bits // 8, destination.element_type.bits // 8)
        how = Converting(widths, target, streams, threads, adds, moves, divisor, asked)
        return Plan(plan_through(buffered, how), threads)
    images = _images(source, destination, conversion, straight and straight[0], threads, target)
    if images is not None:
        threads = _worth(threads, destination, len(images.turns))
        streams = _streams(source.size_bytes, destination.size_bytes, target, threads)
        how = Converting(_widths(source, destination), target, streams, threads, adds, moves, divisor)
        return Plan(plan_images(images, how, moves_between(source, destination, conversion)), threads)
    copies, widths = straight or copies_of(source, destination, conversion)
    threads = _worth(threads, destination, len(copies))
    streams = _streams(source.size_bytes, destination.size_bytes, target, threads)
    if not moves or widths.are_packed:
        count = sum(not copy.is_fill for copy in copies)
        how = Converting(widths, target, streams, threads, adds, moves, divisor, asked, count)
        plans = tuple(converting_plans(copies, how))
        if (rows := rows_through(source, destination, conversion, plans, how, goes_through)) is not None:
            return Plan(rows, threads)
        shares = len(plans) > 1 and destination.size_bytes >= target.l2
        parts = with_shared_loops(plans, how) if shares else plans
        parts = with_small_conversions(parts, how, sum(copy.elements for copy in copies))
        return Plan(parts_with_shorter_tiles(parts, _packed(source, destination, conversion)), threads)
    moved = [piece for copy in copies for piece in pieces(copy, widths.dst, target)]
    if len(copies) > 1:
        moved = _joined(source, destination, moved, conversion, widths.dst, target)
    if threads > 1 and not streams and _streams_early(moved, destination.size_bytes, target):
        because("caches", "past them, as in them rows would evict each other or leave a buffer; one thread goes too")
        streams = True
    if destination.size_bytes < target.l2:
        return Plan(parts_in_cache(moved, target, streams), threads)
    return Plan(parts_past_it(moved, target, streams), threads)


def _images(
    source: MemoryDesc,
    destination: MemoryDesc,
    conversion: Conversion,
    straight: Sequence[StridedCopy] | None,
    threads: int,
    target: Machine,
) -> Images | None:
    """
    The reorder by way of images of bytes, if elements share bytes, and its copies do worse without.

    Copies that several threads can share go straight where turns would write into one byte.
    """
    copies, widths = straight or (), _widths(source, destination)
    if not copies and widths.are_packed:
        try:
            copies, widths = copies_of(source, destination, conversion)
        except NotStridedError:
            copies = ()
    images = best_images(source, destination, widths, conversion, copies, target)
    is_shared = threads > 1 and copies and destination.size_bytes >= PARALLEL_BYTES * min(len(copies), FEW_COPIES)
    return None if images is None or (is_shared and not writes_apart(images, widths, target)) else images


def _widths(source: MemoryDesc, destination: MemoryDesc) -> Widths:
    """Bytes of the elements of both sides, and how many share one."""
    bits = source.element_type.bits, destination.element_type.bits
    src, dst = (max(width // 8, 1) for width in bits)
    return Widths(src, dst, None, *(max(8 // width, 1) for width in bits))


def _worth(threads: int, destination: MemoryDesc, copies: int) -> int:
    """As many threads as gain more than they take to start."""
    least = PARALLEL_BYTES * min(copies, FEW_COPIES)
    if threads == 1 or destination.size_bytes >= least:
        return threads
    because("threads", f"one, as more take as long to start as they gain where less than {least} bytes are written")
    return 1


def _joined(
    source: MemoryDesc,
    destination: MemoryDesc,
    apart: list[Sized],
    conversion: Conversion,
    element: int,
    target: Machine,
) -> list[Sized]:
    """The copies with segments of short axes joined, if boxes of whole axes take fewer instructions."""
    if not merges_registers(target.vector, target.shuffles, MAX_ELEMENT_BYTES):
        return apart
    copies, widths = copies_of(source, destination, conversion, joins="all")
    is_more = len(copies) > len(apart)  # than what steps leave
    if widths.are_packed or is_more or not any(digit.is_uneven for copy in copies for digit in copy.digits):
        return apart
    joined = [piece for copy in copies for piece in pieces(copy, element, target)]
    over_gaps = [sized for sized in apart if loads_over_gaps(sized[0])]
    # They load lines that others have loaded once more, and gain nothing.
    alone = ELEMENT * sum(copy.elements for copy, _ in over_gaps)
    cost = alone + instructions((sized for sized in apart if sized not in over_gaps), target)
    return joined if instructions(joined, target) < JOIN_GAIN * cost else apart


def _converted(
    source: MemoryDesc, destination: MemoryDesc, conversion: Conversion, target: Machine
) -> tuple[Sequence[StridedCopy], Widths] | None:
    """The copies of a reorder that converts, with short axes joined where that pays; None if there are none."""
    try:
        copies, widths = copies_of(source, destination, conversion)
    except NotStridedError:
        return None
    if len(copies) > 1 and not conversion.sum:
        copies = _joined_conversions(source, destination, copies, conversion, widths, target)
    return copies, widths


def _joined_conversions(
    source: MemoryDesc,
    destination: MemoryDesc,
    apart: Sequence[StridedCopy],
    conversion: Conversion,
    widths: Widths,
    target: Machine,
) -> Sequence[StridedCopy]:
    """
    The copies with segments of short axes joined, and with their last blocks, if boxes of whole axes convert them in
    fewer instructions.

    Where a box cannot have all of two axes, or gains nothing by it, one alone may be joined.
    """
    held = max(widths.src, widths.dst)
    ways: list[tuple[Joins, int | None]] = [
        ("all", None),
        *(("whole", along) for along in (None, *range(destination.rank))),
    ]
    tried: list[Sequence[StridedCopy]] = []
    for joins, along in ways:
        joined, _ = copies_of(source, destination, conversion, joins, along)
        uneven = [copy for copy in joined if any(digit.is_uneven for digit in copy.digits)]
        if not uneven and along is None and joins == "whole":
            break
        if joined in tried:
            continue
        tried.append(joined)
        if uneven and all(_has_tile(copy, widths, target) for copy in uneven):
            cost, before = (instructions(((copy, held) for copy in copies), target) for copies in (joined, apart))
            if cost < JOIN_GAIN * before:
                return joined
    return apart


def _has_tile(copy: StridedCopy, widths: Widths, target: Machine) -> bool:
    """Whether a tile holds all of the axes that a copy has as one digit, converted in it or before."""
    is_whole = all(digit.is_whole for digit in copy.digits)
    return has_box(copy, widths, target) if is_whole else has_padded_tile(copy, widths, target)


def copies_of(
    source: MemoryDesc,
    destination: MemoryDesc,
    conversion: Conversion,
    joins: Joins = "none",
    along: int | None = None,
) -> tuple[tuple[StridedCopy, ...], Widths]:
    """
    The strided copies of a reorder, and the widths of their elements; moves of elements that share bytes as moves of
    bytes, where all of them are. Raises NotStridedError if there are none.
    """
    moves = conversion.arithmetic(source.element_type, destination.element_type) == "move"
    groupings = as_spread(source, destination, conversion).groupings
    widths = _widths(source, destination)
    copies = strided_copies(source, destination, groupings, joins, along, steps=moves and not widths.are_packed)
    if widths.are_packed and moves:
        moved = tuple(in_bytes(copy, widths.dst_per_byte) for copy in copies)
        whole = tuple(copy for copy in moved if copy is not None)
        if len(whole) == len(moved):
            return whole, Widths(1, 1)
    return copies, widths


def _streams(source_bytes: int, destination_bytes: int, target: Machine, threads: int) -> bool:
    """
    Whether the destination is written past the caches.

    One thread gains from it long before both buffers fill the last cache; several, which have all of that, gain
    where both fill it. A last cache that is far is as slow as memory: what fills the second ones of all threads gains.
    """
    if target.llc_is_far:
        streams = destination_bytes >= target.streamed * threads
        times = "" if FAR_STREAMED == 1 else f"{FAR_STREAMED:g} times "
        limit = f"the destination is {times}as large as what its threads have of the second one"
    elif threads == 1:
        streams, limit = destination_bytes >= target.streamed, "the destination fills a quarter of the last one"
    else:
        streams = source_bytes + destination_bytes > target.llc
        limit = "both buffers fill the last one"
    because("caches", f"past them, as {limit}" if streams else f"through them, until {limit}")
    return streams


def _streams_early(copies: Sequence[Sized], destination_bytes: int, target: Machine) -> bool:
    """Whether several threads gain as early as one, as rows in the caches would evict each other, or leave a buffer."""
    if destination_bytes < target.streamed:
        return False
    plans = [plan_moved(*copy, target, streams=False) for copy in copies]
    forget_copies(len(plans))
    return any(plan.store == "aligned" or evict_each_other(plan, target) for plan in plans)
