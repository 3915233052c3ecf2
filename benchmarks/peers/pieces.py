"""
A reorder as strided copies, for libraries that have views with strides but no blocked layouts.

Where an axis is cut into blocks, its index range is split into runs that begin and end at block boundaries;
in a run, every digit of both layouts is an axis of its own. A tail makes a second piece, and so on.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise, product

from layoutc.descriptor import MemoryDesc


@dataclass(frozen=True)
class View:
    """Strides and offset in elements."""

    strides: tuple[int, ...]
    offset: int


@dataclass(frozen=True)
class Piece:
    """Elements of both sides that one strided copy moves; without a source they become zero."""

    shape: tuple[int, ...]
    destination: View
    source: View | None


@dataclass(frozen=True)
class Run:
    """Indices from `start` on of one axis, as nested digits: (what a step adds to the index, extent), slowest first."""

    start: int
    digits: tuple[tuple[int, int], ...]


def pieces(source: MemoryDesc, destination: MemoryDesc) -> list[Piece] | None:
    """The strided copies of a reorder; None for flattened axes, borders, and blocks that do not divide each other."""
    if not (is_simple(source) and is_simple(destination)):
        return None
    cuts = [sorted(set(cuts_of(source, axis)) | set(cuts_of(destination, axis))) for axis in range(source.rank)]
    if any(large % small for axis in cuts for small, large in pairwise(axis)):
        return None
    return [*copies(source, destination, cuts), *zeros(destination, cuts)]


def is_simple(desc: MemoryDesc) -> bool:
    return not (desc.low or desc.high) and all(len(digit.axes) == 1 for digit in desc.layout.digits)


def cuts_of(desc: MemoryDesc, axis: int) -> list[int]:
    """The divisors of an axis's digits."""
    return [digit.divisor for digit in desc.layout.digits if digit.axes == (axis,)]


def copies(source: MemoryDesc, destination: MemoryDesc, cuts: Sequence[Sequence[int]]) -> Iterator[Piece]:
    for combination in product(*(runs(0, dim, axis) for dim, axis in zip(source.dims, cuts, strict=True))):
        yield Piece(shape(combination), view(destination, combination), view(source, combination))


def zeros(desc: MemoryDesc, cuts: Sequence[Sequence[int]]) -> Iterator[Piece]:
    """The block padding of a descriptor."""
    for box in desc.padding_boxes:
        spans = (span or range(dim) for span, dim in zip(box, desc.dims, strict=True))
        for combination in product(
            *(runs(span.start, span.stop, axis) for span, axis in zip(spans, cuts, strict=True))
        ):
            yield Piece(shape(combination), view(desc, combination), None)


def runs(start: int, stop: int, cuts: Sequence[int]) -> list[Run]:
    """The indices from `start` to `stop` as few runs in which no digit overflows into the next."""
    found: list[Run] = []
    while start < stop:
        level = max(k for k, cut in enumerate(cuts) if start % cut == 0 and start + cut <= stop)
        steps = (stop - start) // cuts[level]
        if level + 1 < len(cuts):
            steps = min(steps, (-start % cuts[level + 1] or cuts[level + 1]) // cuts[level])
        inner = ((small, large // small) for small, large in reversed(list(pairwise(cuts[: level + 1]))))
        found.append(Run(start, ((cuts[level], steps), *inner)))
        start += steps * cuts[level]
    return found


def shape(combination: Sequence[Run]) -> tuple[int, ...]:
    return tuple(extent for run in combination for _, extent in run.digits)


def view(desc: MemoryDesc, combination: Sequence[Run]) -> View:
    """Where the elements of one run per axis are: a step of a digit is worth the same everywhere in a run."""
    starts = [run.start for run in combination]
    origin = desc.coordinate_offset(starts)
    strides: list[int] = []
    for axis, run in enumerate(combination):
        for step, extent in run.digits:
            moved = [start + step * (k == axis and extent > 1) for k, start in enumerate(starts)]
            strides.append(desc.coordinate_offset(moved) - origin)
    return View(tuple(strides), origin)
