"""Choosing a plan: which copies, how each runs, and which run together, by rules that benchmarks/ justifies."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from layoutc.conversion import NO_ATTRIBUTES, Conversion
from layoutc.descriptor import MemoryDesc
from layoutc.planning.conversions.converting import Converting
from layoutc.planning.conversions.param_lists import asked_list, divisor_list, packed_lists
from layoutc.planning.conversions.plan_conversions import converting_plans
from layoutc.planning.conversions.plan_cost import COMPUTED
from layoutc.planning.conversions.running_sums import with_running_sums
from layoutc.planning.conversions.shorter_tiles import parts_with_shorter_tiles
from layoutc.planning.conversions.spread_params import as_spread
from layoutc.planning.copies.copy_digits import StridedCopy
from layoutc.planning.copies.strided_copy import NotStridedError
from layoutc.planning.machine import Machine, machine
from layoutc.planning.moves.fetched_lines import with_fetched_lines
from layoutc.planning.moves.fetched_rows import with_fetched_rows
from layoutc.planning.moves.plan_copy import pieces
from layoutc.planning.moves.thread_rows import with_rows_of_threads
from layoutc.planning.plans.plan import Plan
from layoutc.planning.reasons import because, forget_copies
from layoutc.planning.reorder_copies import copies_of, copies_that_convert, joined_moves, widths_of
from layoutc.planning.threads import gains_by_threads, gains_past_caches_early, goes_past_caches, worthwhile
from layoutc.planning.through.byte_images import Images
from layoutc.planning.through.plan_images import best_images, moves_between, plan_images, through_images, writes_apart
from layoutc.planning.through.plan_through import MOST_SEGMENTS, best_buffer, plan_through
from layoutc.planning.through.rows_through import rows_through
from layoutc.planning.together.plan_together import parts_in_cache, parts_past_it
from layoutc.planning.together.small_copies import with_small_conversions
from layoutc.planning.together.together_conversions import with_shared_loops


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

    `goes_through` says whether it is known to go through a buffer where it need not: rows that are converted, or
    elements that share bytes, by way of images.

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


def _plan(
    source: MemoryDesc,
    destination: MemoryDesc,
    target: Machine,
    threads: int,
    conversion: Conversion,
    goes_through: bool | None = None,
) -> Plan:
    """The plan of copies that, with a compensation, say which sums their elements go into."""
    types = source.element_type, destination.element_type
    spread, moves = as_spread(source, destination, conversion), conversion.arithmetic(*types) == "move"
    how = Converting(
        widths_of(source, destination),
        target,
        streams=False,
        threads=threads,
        adds=bool(conversion.sum),
        moves=moves,
        divisor=divisor_list(spread, types[1]),
        asked=asked_list(spread, *types),
    )
    straight = None if moves else copies_that_convert(source, destination, conversion, target)
    buffered = best_buffer(source, destination, target, conversion, straight and len(straight[0]))
    if buffered is not None:
        threads = worthwhile(threads, source, destination, len(buffered.halves))
        streams = goes_past_caches(source.size_bytes, destination.size_bytes, target, threads)
        return Plan(plan_through(buffered, replace(how, streams=streams, threads=threads)), threads)
    images = best_images(source, destination, how.widths, conversion, target)
    try:
        copies, widths = straight or copies_of(source, destination, conversion)
    except NotStridedError:
        if images is None:
            raise
        copies, widths = (), how.widths
    how = replace(how, widths=widths)
    if moves and not widths.are_packed:
        return _moving_plan(source, destination, conversion, copies, how)
    how = replace(how, computed=COMPUTED if not moves_between(source, destination, conversion) else 0 if moves else 1)
    return _converting_plan(source, destination, conversion, copies, images, how, goes_through)


def _moving_plan(
    source: MemoryDesc,
    destination: MemoryDesc,
    conversion: Conversion,
    copies: Sequence[StridedCopy],
    how: Converting,
) -> Plan:
    """The plan of copies that move elements of whole bytes as they are; of as many threads as are asked for at most."""
    target, element = how.target, how.widths.dst
    threads = worthwhile(how.threads, source, destination, len(copies))
    streams = goes_past_caches(source.size_bytes, destination.size_bytes, target, threads)
    moved = [piece for copy in copies for piece in pieces(copy, element, target)]
    if len(copies) > 1:
        moved = joined_moves(source, destination, moved, conversion, element, target)
    if threads > 1 and not streams and gains_past_caches_early(moved, destination.size_bytes, target):
        because("caches", "past them, as in them rows would evict each other or leave a buffer; one thread goes too")
        streams = True
    parts = parts_in_cache if destination.size_bytes < target.l2 else parts_past_it
    return Plan(parts(moved, target, streams), threads)


def _converting_plan(
    source: MemoryDesc,
    destination: MemoryDesc,
    conversion: Conversion,
    copies: Sequence[StridedCopy],
    images: Images | None,
    how: Converting,
    goes_through: bool | None,
) -> Plan:
    """The plan of copies that convert, or whose elements share bytes; of as many threads as are asked for at most."""
    is_shared = how.threads > 1 and copies and gains_by_threads(source, destination, len(copies))
    if images is not None and is_shared and not writes_apart(images, how.widths, how.target):
        images = None  # several threads share the copies that go straight
    needed = None if 0 < len(copies) <= MOST_SEGMENTS else images
    threads = worthwhile(how.threads, source, destination, len(needed.turns) if needed else len(copies))
    streams = goes_past_caches(source.size_bytes, destination.size_bytes, how.target, threads)
    how = replace(how, threads=threads, streams=streams)
    if needed is not None:
        because("bytes", "by way of images in which each element has a byte, as copies would be many")
        return Plan(plan_images(needed, how), threads)
    how = replace(how, copies=sum(not copy.is_fill for copy in copies))
    plans = tuple(converting_plans(copies, how))
    parts = images and through_images(images, plans, how, goes_through)
    parts = parts or rows_through(source, destination, conversion, plans, how, goes_through)
    if parts:
        return Plan(parts, threads)
    shares = len(plans) > 1 and destination.size_bytes >= how.target.l2
    parts = with_shared_loops(plans, how) if shares else plans
    parts = with_small_conversions(parts, how, sum(copy.elements for copy in copies))
    return Plan(parts_with_shorter_tiles(parts, packed_lists(as_spread(source, destination, conversion))), threads)
