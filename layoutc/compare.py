"""Whether two memory descriptors, or two layouts, mean the same memory, and where they differ if not."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, product
from math import lcm, prod
from typing import Any

from layoutc.checks import integers
from layoutc.descriptor import MemoryDesc
from layoutc.element_type import element_type
from layoutc.errors import LayoutcError
from layoutc.layout import Digit, Layout

MAX_ELEMENTS = 1 << 24
"""elements of axes that are flattened together, among which a difference is searched for"""


@dataclass(frozen=True)
class Difference:
    """The smallest logical index (last axis fastest) whose offsets differ, and both offsets in elements."""

    index: tuple[int, ...]
    offsets: tuple[int, int]


def first_difference(one: MemoryDesc, other: MemoryDesc) -> Difference | None:
    """
    Where two descriptors of the same dims first put an element at different offsets; None if nowhere.

    Raises LayoutcError for different dims, and where the first `MAX_ELEMENTS` elements of axes that are flattened
    together do not differ, and there are more.
    """
    if one.dims != other.dims:
        raise LayoutcError(f"dims {one.dims} differ from dims {other.dims}")
    if one.normal_form == other.normal_form and one.extents == other.extents:
        return None
    # Offsets are sums over groups of axes that no digit mixes, so the smallest witness lies in one of them.
    found = [d for axes in _independent_axes(one.layout, other.layout) if (d := _difference_along(one, other, axes))]
    return min(found, key=lambda difference: difference.index, default=None)


def _independent_axes(*layouts: Layout) -> list[tuple[int, ...]]:
    """The axes in sets that no layout flattens together."""
    sets: list[set[int]] = [{axis} for axis in range(layouts[0].rank)] or [set()]
    for group in (group for layout in layouts for group in layout.groups):
        joined = [found for found in sets if found & set(group.axes)]
        sets = [found for found in sets if found not in joined] + [set[int]().union(*joined)]
    return [tuple(sorted(found)) for found in sets]


def _difference_along(one: MemoryDesc, other: MemoryDesc, axes: Sequence[int]) -> Difference | None:
    """The first difference among the indices that are zero outside of these axes."""
    import numpy as np

    shape = tuple(one.dims[axis] for axis in axes)
    # The first indices of the slowest axis come before all others: what differs among them is the smallest.
    rows = MAX_ELEMENTS // prod(shape[1:])
    searched = (min(shape[0], rows), *shape[1:]) if shape else ()
    index: list[Any] = [0] * one.rank
    for axis, values in zip(axes, np.ogrid[tuple(slice(n) for n in searched)], strict=True):
        index[axis] = values
    offsets = [d.coordinate_offset([d.group_coordinate(g, index) for g in d.layout.groups]) for d in (one, other)]
    different = np.broadcast_to(np.not_equal(*offsets), searched)
    if not different.any():
        if searched != shape:
            raise LayoutcError(f"axes of shape {shape} are too many elements to compare, expected {MAX_ELEMENTS}")
        return None
    position = np.unravel_index(int(different.argmax()), searched)
    witness = [0] * one.rank
    for axis, value in zip(axes, position, strict=True):
        witness[axis] = int(value)
    return Difference(tuple(witness), (one.offset(*witness), other.offset(*witness)))


def equal_for_all_dims(one: Layout, other: Layout) -> bool:
    """Whether two layouts have the same offsets and the same block padding whatever the dims are."""
    return one.rank == other.rank and _structure(one) == _structure(other)


def _structure(layout: Layout) -> tuple[tuple[Digit, ...], frozenset[tuple[tuple[int, ...], int]]]:
    """
    The digits with contiguous ones merged, and what each group of axes is padded to a multiple of.

    `(x floordiv 8, x mod 8)` side by side are x again, padded to 8; flattened axes without padding or blocks
    are the axes one after the other.
    """
    merged: list[Digit] = []
    for digit in layout.digits:
        if digit.modulus == 1:
            continue
        slower = merged[-1] if merged else None
        if (
            slower is not None
            and digit.modulus
            and slower.axes == digit.axes
            and slower.divisor == digit.divisor * digit.modulus
        ):
            modulus = slower.modulus and slower.modulus * digit.modulus
            merged[-1] = Digit(digit.axes, digit.divisor, modulus)
        else:
            merged.append(digit)
    multiples = {group.axes: group.multiple for group in layout.groups if group.multiple > 1}
    whole = {d for d in merged if d.divisor == 1 and d.modulus is None and d.axes not in multiples}
    split = ((Digit((axis,)) for axis in d.axes) if d in whole else (d,) for d in merged)
    return tuple(chain.from_iterable(split)), frozenset(multiples.items())


def telling_dims(one: Layout, other: Layout) -> Iterator[tuple[int, ...]]:
    """Dims that tell layouts apart, small ones first: around the blocks of each axis, on both sides."""
    choices: list[list[int]] = []
    for axis in range(one.rank):
        blocks = [group.multiple for layout in (one, other) for group in layout.groups if axis in group.axes]
        block = min(lcm(*blocks), 4096)
        choices.append(sorted({2, 3, block, block + 1, 2 * block + 1} - {1}))
    longest = max(map(len, choices), default=0)
    for step in range(longest):
        yield tuple(sizes[min(step, len(sizes) - 1)] for sizes in choices)
    yield from (dims for _, dims in zip(range(256), product(*choices), strict=False))


@dataclass(frozen=True)
class Verdict:
    """
    How two layouts compare.

    `for_all_dims` says that they are one layout; `dims` are those that were compared (given, or found to
    tell them apart), `difference` the first index that differs there; without one they are the same there,
    up to the padding if that differs. `element_types` are those that the two are said to have, if they differ.
    """

    for_all_dims: bool
    dims: tuple[int, ...] | None = None
    difference: Difference | None = None
    same_padding: bool = True
    element_types: tuple[str, ...] = ()


def compare(one: Layout, other: Layout, dims: Sequence[int] | None = None) -> Verdict:
    """
    Compares two layouts for these dims, or for all.

    Raises LayoutcError for different ranks, and for dims that do not fit.
    """
    if one.rank != other.rank:
        raise LayoutcError(f"{one} has rank {one.rank}, {other} has rank {other.rank}")
    given = None if dims is None else MemoryDesc(integers("dims", dims, 1), element_type("f32"), one).dims
    if equal_for_all_dims(one, other):
        return Verdict(True, given)
    verdict = Verdict(False)
    # Layouts that are not the same structure differ for dims that fill no block and leave none empty.
    for tried in [given] if given is not None else telling_dims(one, other):
        descs = [MemoryDesc(tried, element_type("f32"), layout) for layout in (one, other)]
        verdict = Verdict(False, tried, first_difference(*descs), descs[0].same_memory(descs[1]))
        if verdict.difference is not None:
            return verdict
    return verdict
