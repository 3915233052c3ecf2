"""The coordinates of one axis as strided copies: cut where blocks begin that do not divide each other."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from itertools import pairwise
from math import gcd, lcm

from layoutc.errors import LayoutcError
from layoutc.planning.copies.axis_copies import Axis, CutAxis, Side
from layoutc.planning.copies.copy_digits import CopyDigit, StridedCopy

MAX_SEGMENTS = 256
"""segments of one axis, or copies in all, past which blocks that do not divide each other are not worth unrolling"""


class NotStridedError(LayoutcError):
    """The reorder has no form as strided copies; the plain plan serves."""


def copies_along(axis: Axis) -> tuple[StridedCopy, ...]:
    """The coordinates of an axis and the destination's padding of it, without the border between them."""
    dst, dim = axis.dst, axis.dim
    if not dst.high:
        return (*_from_a_block(axis),)
    padding = dst.shifted(dim + dst.high)
    zeros = _from_a_block(axis._replace(src=padding, dst=padding, dim=0)) if padding.padded else ()
    return (*_from_a_block(axis._replace(dst=replace(dst, padded=dim))), *zeros)


def _from_a_block(axis: Axis) -> Iterator[StridedCopy]:
    """
    Coordinates as `segments` has them, of sides that may start within a block, behind a border.

    What lies before the first coordinate at which all blocks start is cut wherever one does.
    """
    stop = axis.dst.padded
    origin = _origin(axis.sides, stop)
    if origin is None:
        yield from segments(axis)
        return
    if origin:
        cuts = {piece.cut for side in axis.sides for piece in side.pieces} - {1}
        for start, end in pairwise([*_edges(axis.sides, cuts, origin), origin]):
            yield from CutAxis(axis, (1,)).cover((1,), start, axis.dim, end)
    if origin < stop:
        yield from segments(axis.shifted(origin))


def _origin(sides: Sequence[Side], stop: int) -> int | None:
    """The first coordinate at which blocks of all sides start, `stop` if none starts before; None if they never do."""
    origin, step = 0, 1
    # `origin` is right for all blocks so far, and so is every `step` from there.
    for low, cut in ((side.low, piece.cut) for side in sides for piece in side.pieces):
        found = next((at for at in range(origin, origin + step * cut, step) if (at + low) % cut == 0), None)
        if found is None:
            return None
        origin, step = found, lcm(step, cut)
    return min(origin, stop)


def _edges(sides: Sequence[Side], cuts: Collection[int], stop: int) -> list[int]:
    """0, and where blocks of these cuts start before `stop`. Raises NotStridedError for too many."""
    least = stop // min(cuts)
    found = {0}.union(*(side.edges(cuts, stop) for side in sides)) if least <= MAX_SEGMENTS else ()
    if not 0 < len(found) <= MAX_SEGMENTS:
        raise NotStridedError(f"blocks cut an axis into {max(least, len(found))} segments")
    return sorted(found)


def segments(axis: Axis) -> Iterator[StridedCopy]:
    """Coordinates up to the destination's padding, those below `dim` loaded, as copies and fills of one axis."""
    dim, stop = axis.dim, axis.dst.padded
    nests = all(side.starts_blocks for side in axis.sides)
    cuts = sorted({1, *(p.cut for side in axis.sides for p in side.pieces if p.cut < stop or not nests)})
    nesting = [cut for cut in cuts if cut == 1 or (nests and all(n % cut == 0 for n in cuts if n > cut))]
    shared = nesting if len(nesting) == len(cuts) else [c for c in nesting if c < min(set(cuts) - set(nesting))]
    walk = CutAxis(axis, tuple(reversed(shared)))
    odd = [cut for cut in cuts if cut not in shared]
    if not odd:
        yield from walk.joined(walk.cover(walk.cuts, 0, dim, stop), 0, dim, stop)
    elif axis.joins == "steps" and nests and axis.has_plain_params:
        yield from walk.stepped(gcd(*odd))
    else:
        yield from walk.joined(_periods(walk, odd), 0, dim, stop)


def _periods(walk: CutAxis, odd: Sequence[int]) -> Iterator[StridedCopy]:
    """Periods of an axis whose blocks do not nest, cut where a block begins, and the last one."""
    axis, dim, padded = walk.axis, walk.axis.dim, walk.axis.dst.padded
    period = lcm(*odd)
    inside = _edges(axis.sides, odd, period)
    whole = dim // period
    if whole:
        in_src, in_dst, *steps = (side.at(period) - side.at(0) for side in axis.sides)
        outer = CopyDigit(whole, in_src, in_dst, whole, params=tuple(steps))
        spans = pairwise([*inside, period])
        found = (part for start, stop in spans for part in walk.cover(walk.cuts, start, stop, stop))
        for part in walk.joined(found, 0, period, period):
            yield replace(part, digits=(outer, *part.digits))
    edges = {base + edge for base in range(whole * period, padded, period) for edge in inside}
    spans = pairwise([*sorted(e for e in edges if e < padded), padded])
    found = (part for start, stop in spans for part in walk.cover(walk.cuts, start, dim, stop))
    yield from walk.joined(found, whole * period, dim, padded)
