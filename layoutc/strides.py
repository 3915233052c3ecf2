"""Offsets as sums of extent x stride: whether they are all distinct, and which position an offset is."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import reduce
from math import gcd

from layoutc.errors import LayoutcError

SEARCH_LIMIT = 200_000
"""steps after which an interleaving of strides counts as undecided"""

Axes = tuple[tuple[int, int], ...]
"""(stride, extent) pairs, largest stride first"""


def dense_strides(shape: Sequence[int]) -> tuple[int, ...]:
    """Row-major strides of a shape, in elements."""
    strides = [1] * len(shape)
    for axis in range(len(shape) - 2, -1, -1):
        strides[axis] = strides[axis + 1] * shape[axis + 1]
    return tuple(strides)


def are_distinct(shape: Sequence[int], strides: Sequence[int]) -> bool:
    """
    Whether every position of the box `shape` has its own offset.

    Raises LayoutcError if the strides interleave so that `SEARCH_LIMIT` steps do not decide it.
    """
    axes = _sorted_axes(shape, strides)
    if _nests(axes):
        return True
    if any(stride == 0 for stride, _ in axes):
        return False
    # Two positions share an offset iff some non-zero difference of positions has offset zero.
    differences = tuple((stride, extent - 1) for stride, extent in axes)
    return next(_combinations(differences, 0, _Budget(strides), True), None) is None


def position_of(shape: Sequence[int], strides: Sequence[int], offset: int) -> tuple[int, ...] | None:
    """
    The position of the box `shape` whose offset this is, or None for a gap.

    Where several positions share the offset (a broadcast), the one that is largest in the largest strides.
    """
    order = sorted(range(len(shape)), key=lambda axis: -strides[axis])
    axes = _sorted_axes(shape, strides)
    found = next(_positions(axes, offset, _Budget(strides)), None)
    if found is None:
        return None
    position = [0] * len(shape)
    for axis, value in zip((a for a in order if shape[a] > 1), found, strict=True):
        position[axis] = value
    return tuple(position)


def _sorted_axes(shape: Sequence[int], strides: Sequence[int]) -> Axes:
    pairs = zip(strides, shape, strict=True)
    return tuple(sorted(((s, n) for s, n in pairs if n > 1), key=lambda pair: -pair[0]))


def _nests(axes: Axes) -> bool:
    """Whether each stride is past all that the smaller ones reach."""
    reach = 0
    for stride, extent in reversed(axes):
        if stride <= reach:
            return False
        reach += stride * (extent - 1)
    return True


class _Budget:
    """Counts search steps and gives up, so that no descriptor can make the search hang."""

    def __init__(self, strides: Sequence[int]):
        self.strides, self.steps = tuple(strides), 0

    def step(self) -> None:
        self.steps += 1
        if self.steps > SEARCH_LIMIT:
            raise LayoutcError(f"strides {self.strides} interleave too much to decide whether offsets are distinct")


def _positions(axes: Axes, offset: int, budget: _Budget) -> Iterator[tuple[int, ...]]:
    """All positions with this offset, the largest values of the largest strides first."""
    if not axes:
        if offset == 0:
            yield ()
        return
    (stride, extent), rest = axes[0], axes[1:]
    reach = sum(s * (n - 1) for s, n in rest)
    high = extent - 1 if stride == 0 else min(extent - 1, offset // stride)
    low = 0 if stride == 0 else max(0, -(-(offset - reach) // stride))
    divisor = reduce(gcd, (s for s, _ in rest), 0)
    for value in range(high, low - 1, -1):
        budget.step()
        remaining = offset - value * stride
        if remaining % divisor == 0 if divisor else remaining == 0:
            for tail in _positions(rest, remaining, budget):
                yield (value, *tail)


def _combinations(differences: Axes, target: int, budget: _Budget, zero_so_far: bool) -> Iterator[tuple[int, ...]]:
    """Non-zero integer combinations of the strides, each within plus or minus its limit, that make `target`."""
    if not differences:
        if target == 0 and not zero_so_far:
            yield ()
        return
    (stride, limit), rest = differences[0], differences[1:]
    reach = sum(s * n for s, n in rest)
    low = max(0 if zero_so_far else -limit, -((reach - target) // stride))
    high = min(limit, (target + reach) // stride)
    divisor = reduce(gcd, (s for s, _ in rest), 0)
    for value in range(low, high + 1):
        budget.step()
        remaining = target - value * stride
        if remaining % divisor == 0 if divisor else remaining == 0:
            for tail in _combinations(rest, remaining, budget, zero_so_far and value == 0):
                yield (value, *tail)
