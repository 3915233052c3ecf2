"""Laws of Layout, MemoryDesc and strides: each over the shared list, and over random descriptors."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from math import prod
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from layoutc.descriptor import MemoryDesc
from layoutc.errors import LayoutcError
from layoutc.layout import AxisGroup, Layout
from layoutc.strides import are_distinct, dense_strides, position_of
from tests.descriptors import DESCRIPTORS
from tests.strategies import many, memory_descs

MANY = many(80)


def law(check: Callable[[MemoryDesc], None]) -> Callable[..., None]:
    """A test of the law on every descriptor of the list, followed by random ones."""

    @pytest.mark.parametrize("name", [*DESCRIPTORS, "random"])
    def test(name: str) -> None:
        if name == "random":
            MANY(given(memory_descs().filter(lambda desc: prod(desc.physical_shape) < 4000))(check))()
        else:
            check(DESCRIPTORS[name])

    test.__doc__ = check.__doc__
    return test


def box(shape: tuple[int, ...]) -> product[tuple[int, ...]]:
    """Every index of a shape."""
    return product(*map(range, shape))


def dot(position: tuple[int, ...], strides: tuple[int, ...]) -> int:
    return sum(p * s for p, s in zip(position, strides, strict=True))


@law
def test_offset_map_agrees_with_offset(desc: MemoryDesc) -> None:
    """The affine map and offset() give the same offset for every index."""
    map = desc.offset_map()
    assert all(map.eval(index, []) == (desc.offset(*index),) for index in box(desc.dims))


@law
def test_offset_is_strides_times_physical_index(desc: MemoryDesc) -> None:
    """The sum that leaves out needless terms equals the whole one."""
    for index in box(desc.dims):
        assert desc.offset(*index) == desc.base_offset + dot(desc.physical_index(*index), desc.strides)


@law
def test_physical_index_lies_in_the_physical_shape(desc: MemoryDesc) -> None:
    """No digit exceeds its extent."""
    for index in box(desc.dims):
        assert all(0 <= p < n for p, n in zip(desc.physical_index(*index), desc.physical_shape, strict=True))


@law
def test_logical_index_inverts_physical_index(desc: MemoryDesc) -> None:
    """Digits can be put together again."""
    assert all(desc.logical_index(desc.physical_index(*index)) == index for index in box(desc.dims))


@law
def test_physical_index_inverts_logical_index(desc: MemoryDesc) -> None:
    """A position that has a logical index is the position of that index."""
    for position in box(desc.physical_shape):
        index = desc.logical_index(position)
        assert index is None or desc.physical_index(*index) == position


@law
def test_as_many_positions_as_elements(desc: MemoryDesc) -> None:
    """Exactly one position of the physical shape per logical element."""
    found = [index for p in box(desc.physical_shape) if (index := desc.logical_index(p)) is not None]
    assert len(found) == len(set(found)) == desc.elements == prod(desc.dims)


@law
def test_index_of_inverts_offset(desc: MemoryDesc) -> None:
    """An injective descriptor knows every offset of its buffer: elements, and nothing else."""
    if desc.is_injective:
        owners = {desc.offset(*index): index for index in box(desc.dims)}
        assert [desc.index_of(o) for o in range(desc.span + 2)] == [owners.get(o) for o in range(desc.span + 2)]


@law
def test_index_of_a_shared_offset(desc: MemoryDesc) -> None:
    """Where offsets are shared, index_of names an index with that offset or a position that is no element."""
    for offset in {desc.offset(*index) for index in box(desc.dims)}:
        index = desc.index_of(offset)
        assert index is None or desc.offset(*index) == offset


@law
def test_injectivity(desc: MemoryDesc) -> None:
    """is_injective is whether all positions have their own offset."""
    found = {dot(position, desc.strides) for position in box(desc.physical_shape)}
    assert desc.is_injective == (len(found) == prod(desc.physical_shape))


@law
def test_span_is_past_the_last_position(desc: MemoryDesc) -> None:
    """The buffer reaches to the last position and no further."""
    last = max(desc.base_offset + dot(position, desc.strides) for position in box(desc.physical_shape))
    assert desc.span == last + 1


@law
def test_size_bytes_is_the_span_in_bytes(desc: MemoryDesc) -> None:
    """Every type of the list and of the strategies has whole bytes."""
    assert desc.size_bytes == desc.span * desc.element_type.numpy.itemsize


@law
def test_padded_dims_hold_the_physical_shape(desc: MemoryDesc) -> None:
    """Padded dims are the least multiples of block and alignment that hold dims and border."""
    for group in desc.layout.groups:
        padded = prod(desc.physical_shape[p] for p in group.positions)
        extent = prod(desc.extents[axis] for axis in group.axes)
        assert extent <= padded < extent + group.multiple
        assert padded % group.block == 0 and padded % group.multiple == 0
        if len(group.axes) == 1:
            assert desc.padded_dims[group.axes[0]] == padded


@law
def test_dense_strides_are_dense(desc: MemoryDesc) -> None:
    """Dense descriptors use every offset of their buffer once."""
    found = sorted(desc.base_offset + dot(position, desc.strides) for position in box(desc.physical_shape))
    if desc.is_dense:
        assert found == list(range(desc.span))
    elif desc.base_offset == 0 and prod(desc.physical_shape) > 1:
        assert desc.strides != dense_strides(desc.physical_shape)


@law
def test_padding_boxes_are_the_block_padding(desc: MemoryDesc) -> None:
    """
    The boxes are disjoint, and are the positions past some axis that lie in no border.

    With the logical elements and the border they make up the whole physical shape.
    """
    kinds: dict[tuple[int, ...], str] = {}
    for position in box(desc.physical_shape):
        coordinates = tuple(_coordinate(desc, group, position) for group in desc.layout.groups)
        kinds[coordinates] = _kind(desc, coordinates)
    assert len(kinds) == prod(desc.physical_shape)
    boxed = [coordinates for found in desc.padding_boxes for coordinates in _members(desc, found)]
    assert len(boxed) == len(set(boxed))
    assert set(boxed) == {coordinates for coordinates, kind in kinds.items() if kind == "padding"}
    assert sum(kind == "element" for kind in kinds.values()) == desc.elements


def _coordinate(desc: MemoryDesc, group: AxisGroup, position: tuple[int, ...]) -> int:
    return sum(position[p] * desc.layout.digits[p].divisor for p in group.positions)


def _kind(desc: MemoryDesc, coordinates: tuple[int, ...]) -> str:
    kinds = {_group_kind(desc, g, c) for g, c in zip(desc.layout.groups, coordinates, strict=True)}
    return next((kind for kind in ("border", "padding") if kind in kinds), "element")


def _group_kind(desc: MemoryDesc, group: AxisGroup, coordinate: int) -> str:
    for axis in reversed(group.axes[1:]):
        coordinate, of_axis = divmod(coordinate, desc.extents[axis])
        if not _is_data(desc, axis, of_axis):
            return "border" if coordinate < desc.extents[group.axes[0]] else "padding"
    if coordinate >= desc.extents[group.axes[0]]:
        return "padding"
    return "element" if _is_data(desc, group.axes[0], coordinate) else "border"


def _is_data(desc: MemoryDesc, axis: int, coordinate: int) -> bool:
    low = desc.low[axis] if desc.low else 0
    return low <= coordinate < low + desc.dims[axis]


def _members(desc: MemoryDesc, found: tuple[range | None, ...]) -> product[tuple[Any, ...]]:
    spans = [
        span if span is not None else [desc.group_coordinate(group, index) for index in _data_of(desc, group)]
        for group, span in zip(desc.layout.groups, found, strict=True)
    ]
    return product(*spans)


def _data_of(desc: MemoryDesc, group: AxisGroup) -> product[tuple[int, ...]]:
    """Every logical index of the group's axes, zero on the others."""
    return box(tuple(dim if axis in group.axes else 1 for axis, dim in enumerate(desc.dims)))


def test_an_index_outside_of_dims_is_refused() -> None:
    """offset() answers for logical indices only, not for padding."""
    desc = DESCRIPTORS["nchw to nChw8c, destination"]
    for index in ((0, 17, 0, 0), (-1, 0, 0, 0), (0, 0, 0), (0, 0, 0, 0, 0)):
        with pytest.raises(LayoutcError, match="outside of dims"):
            desc.offset(*index)


def test_row_major_is_c_order() -> None:
    """The plainest layout counts its elements."""
    desc = MemoryDesc((2, 3, 4), DESCRIPTORS["rank 1, source"].element_type, Layout.row_major(3))
    assert [desc.offset(*index) for index in box((2, 3, 4))] == list(range(24))


shapes = st.lists(st.tuples(st.integers(1, 5), st.integers(0, 12)), max_size=4)


@MANY
@given(shapes)
def test_are_distinct(axes: list[tuple[int, int]]) -> None:
    """Against the set of all offsets."""
    shape, strides = tuple(n for n, _ in axes), tuple(s for _, s in axes)
    found = {dot(position, strides) for position in box(shape)}
    assert are_distinct(shape, strides) == (len(found) == prod(shape))


@MANY
@given(shapes)
def test_position_of(axes: list[tuple[int, int]]) -> None:
    """Every offset that a position has gives back such a position, every other one None."""
    shape, strides = tuple(n for n, _ in axes), tuple(s for _, s in axes)
    found = {dot(position, strides) for position in box(shape)}
    for offset in range(-1, max(found) + 2):
        position = position_of(shape, strides, offset)
        assert (position is not None) == (offset in found)
        if position is not None:
            assert dot(position, strides) == offset
            assert all(0 <= p < n for p, n in zip(position, shape, strict=True))


@MANY
@given(shapes)
def test_interleaved_strides_are_distinct(axes: list[tuple[int, int]]) -> None:
    """The search, not only the nesting of strides, decides: strides within each other's reach."""
    shape, strides = tuple(n for n, _ in axes if n > 1), tuple(s for n, s in axes if n > 1)
    assume(
        strides and min(strides) > 0 and min(strides) < max(s * (n - 1) for n, s in zip(shape, strides, strict=True))
    )
    found = {dot(position, strides) for position in box(shape)}
    assert are_distinct(shape, strides) == (len(found) == prod(shape))
