"""The same memory as another tensor: a part of it, its axes in another order, and other dims."""

from __future__ import annotations

from itertools import permutations, product

import numpy as np
import pytest

import layoutc
from layoutc import reference
from layoutc.descriptor import MemoryDesc
from layoutc.errors import LayoutcError
from layoutc.kernel_options import Executor
from layoutc.notations import onednn

DIMS = (2, 19, 5, 4)
DESCS = {
    "plain": layoutc.desc("nchw", DIMS),
    "blocked with a tail": layoutc.desc("nChw8c", DIMS),
    "blocked twice": layoutc.desc("ABcd8b4a2b", DIMS, "s8"),
    "strides and an offset": layoutc.desc("nhwc", DIMS, strides=(700, 90, 20, 1), offset=5),
    "a border": layoutc.desc("nChw8c", DIMS, low=(0, 3, 1, 0), high=(1, 0, 0, 2)),
    "aligned": layoutc.desc("nchw", DIMS, align=(1, 4, 1, 8)),
    "flattened axes": layoutc.desc("openvino:os_iyx_osv16", DIMS),
    "two to a byte": layoutc.desc("nChw16c", DIMS, "s4"),
}
"""all of rank 4"""


@pytest.mark.parametrize("name", DESCS)
def test_a_part_has_the_offsets_of_its_elements_in_the_whole(name: str) -> None:
    whole = DESCS[name]
    for dims, offsets in (((1, 3, 2, 4), (1, 9, 3, 0)), ((2, 19, 5, 4), (0, 0, 0, 0)), ((1, 1, 1, 1), (1, 18, 4, 3))):
        part = whole.submemory(dims, offsets)
        assert part.dims == dims and part.size_bytes == whole.size_bytes
        for index in product(*map(range, dims)):
            assert part.offset(*index) == whole.offset(*(i + at for i, at in zip(index, offsets, strict=True)))
    assert whole.submemory((2, 10, 5, 4), (0, 9, 0, 0)).submemory((2, 4, 5, 1), (0, 6, 0, 3)) == whole.submemory(
        (2, 4, 5, 1), (0, 15, 0, 3)
    )


@pytest.mark.parametrize("name", DESCS)
def test_other_axes_have_the_offsets_of_their_elements(name: str) -> None:
    whole = DESCS[name]
    for axes in permutations(range(4)):
        other = whole.permute(axes)
        assert other.dims == tuple(whole.dims[axis] for axis in axes) and other.size_bytes == whole.size_bytes
        names = whole.layout.axis_names
        assert other.layout.axis_names == tuple(names[axis] for axis in axes)
        for index in product((0, 1), (0, 7, 18), (0, 4), (0, 3)):
            assert other.offset(*(index[axis] for axis in axes)) == whole.offset(*index)
        back = [axes.index(axis) for axis in range(4)]
        assert other.permute(back) == whole


RESHAPED = {
    "a split": ("nchw", (2, 12, 5, 4), (2, 3, 4, 5, 4), "(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)"),
    "a join": ("nchw", (2, 12, 5, 4), (2, 12, 20), "(d0, d1, d2) -> (d0, d1, d2)"),
    "a join that is split": ("nchw", (2, 12, 5, 4), (2, 12, 2, 10), "(d0, d1, d2, d3) -> (d0, d1, d2, d3)"),
    "a split of blocks": ("nChw8c", (2, 24, 5, 4), (2, 3, 8, 5, 4), None),
    "a split of a tail": ("nChw8c", (2, 10, 5, 4), (2, 2, 5, 5, 4), None),
    "a join beside blocks": ("nChw8c", (2, 10, 5, 4), (2, 10, 20), None),
    "a join in another order": ("nhwc", (2, 10, 5, 4), (2, 10, 20), "(d0, d1, d2) -> (d0, d2, d1)"),
    "ones that are dropped": ("nChw8c", (1, 10, 1, 4), (10, 4), None),
    "ones that are put in": ("nChw8c", (2, 10, 5, 4), (1, 2, 1, 10, 5, 4, 1), None),
    "ones that are joined": ("nchw", (2, 3, 1, 4), (1, 6, 4), "(d0, d1, d2) -> (d0, d1, d2)"),
    "one of a block": ("Nchw8n", (1, 10, 5, 4), (1, 10, 20), None),
    "flattened axes": ("openvino:os_iyx_osv16", (20, 3, 2, 2), (20, 12), None),
    "a part of flattened axes": ("openvino:os_iyx_osv16", (20, 3, 2, 2), (20, 3, 4), None),
    "flattened axes that are split": ("openvino:os_iyx_osv16", (20, 6, 2, 2), (4, 5, 2, 3, 2, 2), None),
    "one of flattened axes": ("openvino:os_iyx_osv16", (20, 3, 1, 2), (20, 3, 2), None),
    "a number": ("nchw", (1, 1, 1, 1), (), "() -> ()"),
}
"""layout, dims, other dims, the layout then, if it says what is meant"""


@pytest.mark.parametrize("name", RESHAPED)
def test_other_dims_have_the_offsets_of_the_same_elements(name: str) -> None:
    layout, before, after, expected = RESHAPED[name]
    whole = layoutc.desc(layout, before, "s8")
    other = whole.reshape(after)
    assert other.dims == after and other.size_bytes == whole.size_bytes
    assert expected is None or str(other.layout) == expected
    assert other.is_dense == whole.is_dense
    for index, found in zip(np.ndindex(*before), np.ndindex(*after), strict=True):
        assert other.offset(*found) == whole.offset(*index)
    assert whole.reshape(before) == whole


def test_what_stays_keeps_its_border_and_alignment() -> None:
    whole = layoutc.desc("nchw", (2, 12, 5, 4), low=(1, 2, 0, 0), align=(1, 4, 1, 1))
    other = whole.reshape((2, 12, 20))
    assert (other.low, other.layout.align) == ((1, 2, 0), (1, 4, 1))
    assert other.offset(1, 11, 19) == whole.offset(1, 11, 4, 3)


@pytest.mark.parametrize(
    ("whole", "dims", "message"),
    [
        ("plain", (2, 19, 5, 5), r"dims \(2, 19, 5, 5\) have 950 elements, expected the 760 of dims \(2, 19, 5, 4\)"),
        ("strides and an offset", (2, 95, 4), r"axes c h cannot become dims \(95,\): in memory they do not follow"),
        ("blocked with a tail", (2, 95, 4), r"axes c h cannot become dims \(95,\): in memory they .*, or have blocks"),
        ("a border", (2, 19, 20), "axis h has a border or padding, expected none to change it"),
        ("aligned", (38, 5, 4), "axis c has a border or padding"),
    ],
)
def test_dims_that_no_descriptor_has(whole: str, dims: tuple[int, ...], message: str) -> None:
    with pytest.raises(LayoutcError, match=message):
        DESCS[whole].reshape(dims)


@pytest.mark.parametrize("executor", ["reference", "interpret", "c"])
@pytest.mark.parametrize("element_type", ["f32", "u4"])
def test_parts_are_put_side_by_side(executor: Executor, element_type: str) -> None:
    """Two tensors of 5 and 6 channels become one of 11: each reorder leaves the other's elements alone."""
    whole = layoutc.desc("nChw8c", (2, 11, 3, 2), element_type)
    parts = [layoutc.desc("nchw", (2, channels, 3, 2), element_type) for channels in (5, 6)]
    together = layoutc.desc("nchw", (2, 11, 3, 2), element_type)
    read = np.random.default_rng(0).integers(0, 256, together.size_bytes, np.uint8)
    expected, written = np.zeros((2, whole.size_bytes), np.uint8)
    reference.reorder(together, whole, read, expected)
    for part, at in zip(parts, (0, 5), strict=True):
        dims, offsets = part.dims, (0, at, 0, 0)
        channels = np.zeros(part.size_bytes, np.uint8)
        reference.reorder(together.submemory(dims, offsets), part, read, channels)
        layoutc.compile(part, whole.submemory(dims, offsets), executor=executor)(channels, written)
    np.testing.assert_array_equal(written, expected)


def test_parts_and_axes_are_as_onednn_has_them() -> None:
    whole = layoutc.desc("nChw8c", (2, 24, 5, 4))
    part = onednn.memory_desc(onednn.submemory(onednn.from_memory_desc(whole), (1, 8, 5, 2), (1, 16, 0, 1)))
    mine = whole.submemory((1, 8, 5, 2), (1, 16, 0, 1))
    assert [part.offset(*index) for index in product(*map(range, part.dims))] == [
        mine.offset(*index) for index in product(*map(range, mine.dims))
    ]
    axes = (2, 0, 3, 1)
    other = onednn.memory_desc(onednn.permute_axes(onednn.from_memory_desc(whole), [axes.index(a) for a in range(4)]))
    assert other.same_memory(whole.permute(axes))


@pytest.mark.parametrize(
    ("dims", "offsets", "message"),
    [
        ((2, 11, 5, 4), (0, 9, 0, 0), r"a part of dims \(2, 11, 5, 4\) at \(0, 9, 0, 0\) lies outside of dims"),
        ((2, 19, 5), (0, 0, 0, 0), r"dims \(2, 19, 5\) have rank 3, layout .* has rank 4"),
        ((2, 19, 5, 4), (0, 0), r"offsets \(0, 0\) have rank 2, layout .* has rank 4"),
        ((2, 0, 5, 4), (0, 0, 0, 0), "dims"),
        ((2, 1, 5, 4), (0, -1, 0, 0), "offsets"),
    ],
)
def test_parts_that_are_none(dims: tuple[int, ...], offsets: tuple[int, ...], message: str) -> None:
    with pytest.raises(LayoutcError, match=message):
        DESCS["plain"].submemory(dims, offsets)


@pytest.mark.parametrize("axes", [(0, 1, 2), (0, 1, 2, 2), (1, 2, 3, 4), (0, 1, 2, 3, 4)])
def test_axes_that_are_no_permutation(axes: tuple[int, ...]) -> None:
    with pytest.raises(LayoutcError, match=r"axes \(.*\) are no permutation of \(0, 1, 2, 3\)"):
        DESCS["plain"].permute(axes)


def test_a_scalar_has_itself_as_its_part() -> None:
    scalar = MemoryDesc((), layoutc.desc("nchw", DIMS).element_type, layoutc.Layout.row_major(0))
    assert scalar.submemory((), ()) == scalar.permute(()) == scalar
