"""Affine maps as digits: what `read_map` reads has the offsets that the map says."""

from itertools import product

import pytest
from xdsl.ir.affine import AffineExpr, AffineMap

from layoutc import notations
from layoutc.affine_digits import MapError, physical_map, read_map
from layoutc.descriptor import MemoryDesc

D0, D1, D2 = (AffineExpr.dimension(axis) for axis in range(3))

CASES = [
    ("nchw", (2, 17, 5, 4)),
    ("nChw8c", (2, 17, 5, 4)),
    ("nChw8c", (2, 8, 5, 4)),
    ("nChw8c", (2, 3, 1, 1)),
    ("OIhw4i16o4i", (17, 33, 2, 3)),
    ("b_fs_yx_fsv16", (1, 17, 1, 3)),
    ("os_is_yx_osa4_isa8_osv8_isv4_swizzled_by_4", (35, 21, 2, 1)),
    ("gs_oi_yxs_gsv4_yxsv4", (5, 2, 1, 3, 3)),
    ("i_yxs_os_yxsv2_osv16", (17, 3, 3, 5)),
    ("i_yxs_os_yxsv2_osv16", (17, 3, 3, 1)),
    ("os_i_osv8__ai8", (9, 5)),
    ("{2,3},{5,1}", (2, 3)),
    ("{2,3},{0,1}", (2, 3)),
    ("strided<[40, 3], offset: 7>", (3, 5)),
    ("SCALAR", ()),
]


def indices(desc: MemoryDesc) -> list[tuple[int, ...]]:
    return list(product(*map(range, desc.dims)))


@pytest.mark.parametrize(("text", "dims"), CASES)
def test_an_offset_map_reads_back_to_the_same_offsets(text: str, dims: tuple[int, ...]):
    desc = notations.desc(text, dims)
    again = read_map(desc.offset_map(), dims).bind(None, "f32")
    for index in indices(desc):
        assert again.offset(*index) == desc.offset(*index)


@pytest.mark.parametrize(("text", "dims"), CASES)
def test_a_physical_map_reads_back_to_the_same_layout(text: str, dims: tuple[int, ...]):
    desc = notations.desc(text, dims)
    map = physical_map(desc.layout, desc.extents)
    for index in indices(desc):
        assert map.eval(index, ()) == desc.physical_index(*index)
    assert read_map(map, dims, physical=True).layout.digits == desc.layout.digits


@pytest.mark.parametrize(
    "offset",
    [
        D0 + (D0 // 8) * 4,
        (D0 % 16) * 3 + (D0 % 4) * 7 + D1,
        (D0 // 4) % 2 + D1 * 2,
        ((D0 // 2) // 3) * 50 + ((D0 % 6) // 2) * 10 + (D0 % 6) % 2 + D1,
        D0 * 100 + (D1 * 3 + D2) // 4 * 4 + (D1 * 3 + D2) % 4,
        AffineExpr.constant(5),
        D2 * 2 + 1,
    ],
    ids=str,
)
def test_sums_of_pieces_have_the_offsets_of_the_map(offset: AffineExpr):
    map = AffineMap(3, 0, (offset,))
    desc = read_map(map, (40, 5, 3)).bind(None, "f32")
    for index in indices(desc):
        assert (desc.offset(*index),) == map.eval(index, ())


def test_an_axis_of_one_coordinate_may_be_absent():
    map = AffineMap(3, 0, (D0, D2))
    assert read_map(map, (4, 1, 3)).bind(None, "f32").offset(2, 0, 1) == 7
    with pytest.raises(MapError, match="axis d1 is in no result"):
        read_map(map, (4, 2, 3))
    with pytest.raises(MapError, match="axis d1 is in no result"):
        read_map(map, None)


def test_a_result_of_zero_is_an_axis_of_one_coordinate():
    map = AffineMap(2, 0, (AffineExpr.constant(0), D1, D0))
    assert read_map(map, None).layout == notations.parse("ba")


@pytest.mark.parametrize(
    ("results", "reason"),
    [
        ((D0, D1 * 4 + D2 * 2), "skips positions"),
        ((D0, (D1 * 3 + D2 * 2) // 4), "do not flatten axes row-major"),
        ((D0, D1 - D2), "do not flatten axes row-major"),
        ((D0, (D1 * 3 + D2) // 4, (D1 * 5 + D2) % 4), "imply 3 and 5 coordinates of axis d2"),
        ((D0 % 4, D1, D2), "needs exactly one digit without mod"),
        ((D0, D1 + D2 // 2), "in a sum of axes is not a digit"),
        ((D0 // 4, D1, D2, D0 % 8), "do not nest"),
    ],
)
def test_physical_maps_that_are_not_digits_are_refused_with_the_reason(results: tuple[AffineExpr, ...], reason: str):
    with pytest.raises(MapError, match=reason):
        read_map(AffineMap(3, 0, results), None)


def test_coefficients_of_flattened_axes_imply_their_dims():
    reading = read_map(AffineMap(3, 0, (D0, D1 * 2 + D2)), None)
    assert reading.extents == ((2, 2),)
    assert [digit.axes for digit in reading.layout.digits] == [(0,), (1, 2)]


def test_dims_of_another_rank_are_refused():
    with pytest.raises(MapError, match=r"dims \(2,\) have rank 1, the map has 3 dims"):
        read_map(AffineMap(3, 0, (D0, D1, D2)), (2,))
