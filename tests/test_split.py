"""SplitDesc: the laws of a descriptor in parts."""

from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from layoutc.descriptor import MemoryDesc
from layoutc.element_type import element_type
from layoutc.errors import LayoutcError
from layoutc.layout import Layout
from layoutc.notations import openvino
from layoutc.split import SplitDesc, are_disjoint
from tests.strategies import many

F32, U8 = element_type("f32"), element_type("u8")
ROWS = Layout.row_major(2)
COLUMNS = openvino.parse("yx")


def halves(offset: int = 3) -> SplitDesc:
    """A 2x5 tensor whose columns 0..2 lie in rows of 5, columns 3..4 with a row's stride of 1 from `offset` on."""
    first = MemoryDesc((2, 3), U8, ROWS, (5, 1))
    return SplitDesc(1, (first, MemoryDesc((2, 2), U8, ROWS, (5, 1), offset)))


def descs() -> list[SplitDesc]:
    odd = [
        openvino.describe(f"{g}iy_xs_os_xsv2_osv{v}__ao32", (*((2,) if g else ()), o, i, y, x), "u4")
        for g, v, o, i, y, x in [
            ("", 8, 5, 2, 2, 3),
            ("g", 16, 35, 2, 3, 5),
            ("", 16, 32, 1, 1, 3),
            ("g", 8, 70, 1, 2, 7),
        ]
    ]
    return [halves(), halves(11), *(desc for desc in odd if isinstance(desc, SplitDesc))]


@pytest.mark.parametrize("desc", descs(), ids=str)
def test_offset_and_index_are_inverse(desc: SplitDesc):
    for index in product(*map(range, desc.dims)):
        assert desc.index_of(desc.offset(*index)) == index


@pytest.mark.parametrize("desc", descs(), ids=str)
def test_offsets_are_distinct_and_within_the_span(desc: SplitDesc):
    offsets = [desc.offset(*index) for index in product(*map(range, desc.dims))]
    assert len(set(offsets)) == len(offsets) == desc.elements
    assert desc.is_injective
    assert max(offsets) < desc.span
    assert desc.size_bytes == desc.element_type.size_bytes(desc.span)


@pytest.mark.parametrize("desc", descs()[2:], ids=str)
def test_elements_and_padding_fill_a_dense_buffer(desc: SplitDesc):
    offsets = {desc.offset(*index) for index in product(*map(range, desc.dims))}
    padding = list(desc.padding_offsets())
    assert sorted([*offsets, *padding]) == list(range(desc.span))
    assert all(desc.index_of(offset) is None for offset in padding)


def test_the_padding_of_a_part_is_not_where_another_part_has_an_element():
    block = openvino.parse("y_xs_xsv4")
    first = MemoryDesc((2, 3), U8, block, (8, 4, 1))
    desc = SplitDesc(1, (first, MemoryDesc((2, 1), U8, ROWS, (8, 1), 3)))
    assert list(desc.padding_offsets()) == []
    assert not desc.is_injective  # the block padding of one is the data of the other


def test_parts_that_share_an_element_are_found():
    assert are_disjoint(*halves(3).parts)
    assert not halves(2).is_injective
    assert not are_disjoint(*halves(0).parts)


@many(100)
@given(st.data())
def test_disjoint_is_what_the_offsets_say(data: st.DataObject):
    def part() -> MemoryDesc:
        dims = (data.draw(st.integers(1, 4)), data.draw(st.integers(1, 4)))
        strides = (data.draw(st.integers(0, 9)), data.draw(st.integers(0, 9)))
        return MemoryDesc(dims, U8, ROWS, strides, data.draw(st.integers(0, 20)))

    def offsets(desc: MemoryDesc) -> set[int]:
        return {desc.offset(*index) for index in product(*map(range, desc.dims))}

    one, other = part(), part()
    assert are_disjoint(one, other) == offsets(one).isdisjoint(offsets(other))


def test_large_parts_are_decided_at_once():
    desc = openvino.describe("giy_xs_os_xsv2_osv8__ao32", (64, 513, 511, 31, 33), "u8")
    assert desc.is_injective


def test_the_parts_meet_at_the_cut():
    desc = halves()
    assert (desc.dims, desc.starts, desc.rank, desc.elements) == ((2, 5), (0, 3, 5), 2, 10)
    assert desc.part_of(1, 2) == (desc.parts[0], (1, 2))
    assert desc.part_of(1, 3) == (desc.parts[1], (1, 0))
    assert str(desc) == (
        "d1 in [0, 3): 2x3xu8, (d0, d1) -> (d0, d1), strides (5, 1); "
        "d1 in [3, 5): 2x2xu8, (d0, d1) -> (d0, d1), strides (5, 1), offset 3"
    )
    with pytest.raises(LayoutcError, match=r"index \(0, 5\) lies outside of dims \(2, 5\)"):
        desc.offset(0, 5)


@pytest.mark.parametrize(
    ("axis", "parts", "message"),
    [
        (1, (MemoryDesc((2, 3), F32, ROWS),), "got 1 parts, expected two or more"),
        (2, (MemoryDesc((2, 3), F32, ROWS),) * 2, "axis 2 is outside of rank 2"),
        (0, (MemoryDesc((2, 3), F32, ROWS), MemoryDesc((2, 3), U8, ROWS)), "parts hold f32 and u8"),
        (0, (MemoryDesc((2, 3), F32, ROWS), MemoryDesc((2, 4), F32, ROWS)), "differ outside of axis 0"),
        (0, (MemoryDesc((2, 3), F32, ROWS), MemoryDesc((2, 3), F32, ROWS, low=(1, 0))), "a part has a border"),
    ],
)
def test_parts_that_are_not_of_one_tensor_are_refused(axis: int, parts: tuple[MemoryDesc, ...], message: str):
    with pytest.raises(LayoutcError, match=message):
        SplitDesc(axis, parts)
