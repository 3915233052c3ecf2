"""Planning reorders through a buffer: when they are worth one, the order of its digits, and how each copy runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import gcd, prod

from layoutc.descriptor import MemoryDesc
from layoutc.planning.copy_digits import SIDES, StridedCopy
from layoutc.planning.machine import Machine
from layoutc.planning.macro_tiles import NORMAL, with_macro
from layoutc.planning.plan import CopyPlan
from layoutc.planning.plan_copy import instructions, pieces, plan_moved
from layoutc.planning.reasons import because
from layoutc.planning.strided_copy import NotStridedError, count_segments
from layoutc.planning.through import Buffered, Halves, through_buffers
from layoutc.planning.together import Sized
from layoutc.planning.turns import Through

MOST_SEGMENTS = 16
"""copies, more than which go through a buffer if they are fewer there"""


def best_buffer(source: MemoryDesc, destination: MemoryDesc, target: Machine) -> Buffered | None:
    """A reorder through a buffer in few instructions; None where the copies that go straight are few, or fewer."""
    element = destination.element_type.bits // 8
    try:
        straight = count_segments(source, destination)
        if straight <= MOST_SEGMENTS:
            return None
        found = [buffered for side in SIDES if (buffered := through_buffers(source, destination, side, element))]
    except NotStridedError:
        return None
    if not found or found[0].count >= straight:
        return None
    because("blocks", f"through a buffer, by {found[0].count} copies, as straight they would be {straight}")
    return min(found, key=lambda buffered: _instructions(buffered, element, target))


def plan_through(best: Buffered, element: int, target: Machine, streams: bool) -> tuple[CopyPlan | Through, ...]:
    """How each copy of a reorder through a buffer runs."""
    turns = [_turns(half, element, target, streams) for half in best.halves]
    fills = [plan_moved(*piece, target, streams) for piece in _pieces(best.fills, element, target)]
    return *turns, *fills


def _instructions(buffered: Buffered, element: int, target: Machine) -> float:
    """About how many instructions all copies take."""
    return sum(
        instructions(_pieces((*half.into, *half.out_of), element, target), target)
        * prod(loop.extent / loop.step for loop in half.loops)
        for half in buffered.halves
    )


def _pieces(copies: Sequence[StridedCopy], element: int, target: Machine) -> list[Sized]:
    return [piece for copy in copies for piece in pieces(copy, element, target)]


def _turns(half: Halves, element: int, target: Machine, streams: bool) -> Through:
    """How the copies of a turn run: into the buffer by way of the caches, and out of it past them if it `streams`."""
    into = tuple(_into(*piece, target) for piece in _pieces(half.into, element, target))
    # What is a whole line in the first turn need be none in the others.
    turns = [loop.dst * gcd(loop.step, loop.extent) for loop in half.loops if loop.step < loop.extent]
    of_turn = replace(target, alignment=gcd(target.alignment, *turns))
    out_of = tuple(plan_moved(*piece, of_turn, streams) for piece in _pieces(half.out_of, element, target))
    return Through(half.loops, into, out_of)


def _into(copy: StridedCopy, size: int, target: Machine) -> CopyPlan:
    """The plan of a copy into the buffer, which stays in the caches: its lines need no other buffer."""
    plan = plan_moved(copy, size, target, streams=False)
    if plan.store == "normal":
        return plan
    because("stores", "normal, through the caches")
    return with_macro(replace(plan, store="normal"), NORMAL)
