"""Choosing a plan: which copies, how each runs, and which run together, by rules that benchmarks/ justifies."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from layoutc.conversion import NO_ATTRIBUTES, Conversion
from layoutc.descriptor import MemoryDesc
from layoutc.planning.conversions.converting import Converting
from layoutc.planning.conversions.param_lists import packed_lists
from layoutc.planning.conversions.plan_conversions import converting_plans
from layoutc.planning.conversions.plan_cost import COMPUTED
from layoutc.planning.conversions.reorder import Reorder
from layoutc.planning.conversions.running_sums import with_running_sums
from layoutc.planning.conversions.shorter_tiles import parts_with_shorter_tiles
from layoutc.planning.copies.copy_digits import SideName, StridedCopy
from layoutc.planning.copies.strided_copy import NotStridedError
from layoutc.planning.machine import Machine, machine
from layoutc.planning.moves.fetched_lines import with_fetched_lines
from layoutc.planning.moves.fetched_rows import with_fetched_rows
from layoutc.planning.moves.plan_copy import all_pieces
from layoutc.planning.moves.thread_rows import with_rows_of_threads
from layoutc.planning.plans.plan import Plan
from layoutc.planning.reasons import because
from layoutc.planning.reorder_copies import copies_of, copies_that_convert, copies_with_rows, joined_moves
from layoutc.planning.threads import gains_by_threads, gains_past_caches_early, goes_past_caches, worthwhile
from layoutc.planning.through.plan_images import best_images, moves_between, plan_images, through_images, writes_apart
from layoutc.planning.through.plan_through import MOST_SEGMENTS, best_buffer, plan_through
from layoutc.planning.through.rows_through import rows_through
from layoutc.planning.through.through import Detour
from layoutc.planning.together.plan_together import parts_in_cache, parts_past_it
from layoutc.planning.together.small_copies import with_small_conversions
from layoutc.planning.together.together_conversions import with_shared_loops


def choose_plan(
    source: MemoryDesc,
    destination: MemoryDesc,
    target: Machine | None = None,
    threads: int = 1,
    conversion: Conversion = NO_ATTRIBUTES,
    goes_through: bool | SideName | None = None,
) -> Plan:
    """
    The plan of a reorder on a machine (default: this one), which moves elements as they are or converts each.

    `goes_through` says whether it is known to go through a buffer where it need not: rows that are converted, of the
    wider side or of the one that it names, or elements that share bytes, by way of images. It goes straight if there
    is no such way.

    Raises NotStridedError if the reorder has no form as strided copies.
    """
    target, reorder = target or machine(), Reorder(source, destination, conversion)
    if conversion.compensation is not None:
        found = _with_running_sums(reorder, target, threads)
        if found is not None:
            return with_fetched_lines(found, reorder.bytes, target)
        reorder = replace(reorder, conversion=replace(conversion, compensation=None))
    plan = _plan(reorder, Converting.of(reorder, target, threads, goes_through))
    if not conversion.sum:
        plan = with_rows_of_threads(plan, destination.size_bytes, target)
    return with_fetched_lines(with_fetched_rows(plan, target), reorder.bytes, target)


def _with_running_sums(reorder: Reorder, target: Machine, threads: int) -> Plan | None:
    """The plan whose tiles add up the sums of a compensation, if they can."""
    try:
        plan = _plan(reorder, Converting.of(reorder, target, threads, None))
    except NotStridedError:
        return None
    return with_running_sums(plan, reorder.seen, reorder.destination)


def _plan(reorder: Reorder, how: Converting) -> Plan:
    """The plan of copies that, with a compensation, say which sums their elements go into."""
    target, moves = replace(how.target, halves_boxes=False), how.moves
    # The copies of what converts, or shares bytes, are read back by the registers of the first one.
    moving, how = how, replace(how, target=target)
    straight = None if moves else copies_that_convert(reorder, target)
    buffered = best_buffer(reorder, target, straight and len(straight[0]))
    if buffered is not None:
        threads = worthwhile(how.threads, reorder, len(buffered.turns))
        streams = goes_past_caches(reorder, target, threads)
        return Plan(plan_through(buffered, replace(how, streams=streams, threads=threads)), threads)
    images = best_images(reorder, target)
    try:
        copies, widths = straight or (
            copies_with_rows(reorder, target) if how.goes_through is None else copies_of(reorder)
        )
    except NotStridedError:
        if images is None:
            raise
        copies, widths = (), how.widths
    how = replace(how, widths=widths)
    if moves and not widths.are_packed:
        return _moving_plan(reorder, copies, replace(moving, widths=widths))
    how = replace(how, computed=COMPUTED if not moves_between(reorder) else 0 if moves else 1)
    return _converting_plan(reorder, copies, images, how)


def _moving_plan(reorder: Reorder, copies: Sequence[StridedCopy], how: Converting) -> Plan:
    """The plan of copies that move elements of whole bytes as they are; of as many threads as are asked for at most."""
    target, element = how.target, how.widths.dst
    threads = worthwhile(how.threads, reorder, len(copies))
    streams = goes_past_caches(reorder, target, threads)
    moved = all_pieces(copies, element, target)
    if len(copies) > 1:
        moved = joined_moves(reorder, moved, element, target)
    if not streams and gains_past_caches_early(moved, reorder.destination.size_bytes, target, threads):
        because("caches", "past them, as in them rows would evict each other or leave a buffer")
        streams = True
    parts = parts_in_cache if reorder.destination.size_bytes < target.l2 else parts_past_it
    return Plan(parts(moved, target, streams), threads)


def _converting_plan(reorder: Reorder, copies: Sequence[StridedCopy], images: Detour | None, how: Converting) -> Plan:
    """The plan of copies that convert, or whose elements share bytes; of as many threads as are asked for at most."""
    is_shared = how.threads > 1 and copies and gains_by_threads(reorder, len(copies))
    if images is not None and is_shared and not writes_apart(images, how.widths, how.target):
        images = None  # several threads share the copies that go straight
    needed = None if 0 < len(copies) <= MOST_SEGMENTS else images
    threads = worthwhile(how.threads, reorder, len(needed.turns) if needed else len(copies))
    streams = goes_past_caches(reorder, how.target, threads)
    how = replace(how, threads=threads, streams=streams)
    if needed is not None:
        because("bytes", "by way of images in which each element has a byte, as copies would be many")
        return Plan(plan_images(needed, how), threads)
    how = replace(how, copies=sum(not copy.is_fill for copy in copies))
    plans = tuple(converting_plans(copies, how))
    parts = images and through_images(images, plans, how)
    parts = parts or rows_through(reorder, plans, how)
    if parts:
        return Plan(parts, threads)
    shares = len(plans) > 1 and reorder.destination.size_bytes >= how.target.l2
    parts = with_shared_loops(plans, how) if shares else plans
    parts = with_small_conversions(parts, how, sum(copy.elements for copy in copies))
    return Plan(parts_with_shorter_tiles(parts, packed_lists(reorder.seen)), threads)
