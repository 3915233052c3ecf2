"""The reference executor against a loop over single elements, on poisoned destinations."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from layoutc.descriptor import MemoryDesc
from layoutc.element_type import ELEMENT_TYPES, ElementType, element_type
from layoutc.errors import BufferError, LayoutcError
from layoutc.numeric.convert import convert
from layoutc.numeric.packing import unpacked
from layoutc.reference import offsets, padding_offsets, reorder
from tests.descriptors import DESCRIPTORS, PAIRS, desc
from tests.strategies import many, memory_descs, reorders

MANY = many(100)
POISON = 0xA5


def distinct(of: MemoryDesc) -> np.ndarray:
    """A buffer of bytes in which no two elements are equal, as far as the width allows."""
    count = np.arange(1, of.span + 1, dtype=np.uint64) * 0x9E3779B97F4A7C15
    return (count >> (64 - of.element_type.bits)).astype(f"u{of.element_type.bits // 8}").view(np.uint8)


def poisoned(of: MemoryDesc) -> np.ndarray:
    return np.full(of.size_bytes, POISON, np.uint8)


def one_by_one(src: MemoryDesc, dst: MemoryDesc, source: np.ndarray, destination: np.ndarray) -> None:
    """The contract in single steps: elements by offset(), then zero where a position is block padding."""
    width = src.element_type.bits // 8
    for index in product(*map(range, src.dims)):
        a, b = src.offset(*index) * width, dst.offset(*index) * width
        destination[b : b + width] = source[a : a + width]
    for position in product(*map(range, dst.physical_shape)):
        if is_block_padding(dst, position):
            b = width * (dst.base_offset + sum(p * s for p, s in zip(position, dst.strides, strict=True)))
            destination[b : b + width] = 0


def is_block_padding(of: MemoryDesc, position: tuple[int, ...]) -> bool:
    """No element, and past the end of some group while no axis is within a border."""
    coordinates, past = of.axis_coordinates(position), set[int]()
    for group in of.layout.groups:
        if coordinates[group.axes[0]] >= of.extents[group.axes[0]]:
            past.update(group.axes)
    low = of.low or (0,) * of.rank
    inside = (low[a] <= c < low[a] + of.dims[a] for a, c in enumerate(coordinates) if a not in past)
    return bool(past) and all(inside)


@pytest.mark.parametrize("type", ["u8", "bf16", "f32", "f64"])
@pytest.mark.parametrize("name", PAIRS)
def test_pair(name: str, type: str) -> None:
    """Every pair of the shared list, in every element width."""
    src, dst = (replace(side, element_type=element_type(type)) for side in PAIRS[name])
    check(src, dst)


@MANY
@given(reorders())
def test_random(pair: tuple[MemoryDesc, MemoryDesc]) -> None:
    """Random pairs of every kind."""
    check(*pair)


TYPES = st.sampled_from(ELEMENT_TYPES)


@MANY
@given(reorders(), TYPES, TYPES)
def test_random_conversions_move_converted_codes(
    pair: tuple[MemoryDesc, MemoryDesc], source_type: ElementType, destination_type: ElementType
) -> None:
    """Between any types, packed or not: the codes are converted one by one, and lie where codes of 64 bits would."""
    src, dst = (
        replace(side, element_type=type) for side, type in zip(pair, (source_type, destination_type), strict=True)
    )
    wide_src, wide_dst = (replace(side, element_type=element_type("u64")) for side in pair)
    read = np.random.default_rng(0).integers(0, 256, src.size_bytes, np.uint8)
    got, want = poisoned(dst), codes_of(dst, poisoned(dst)).astype(np.uint64)
    reorder(src, dst, read, got)
    converted = convert(codes_of(src, read), source_type, destination_type).astype(np.uint64)
    reorder(wide_src, wide_dst, converted, want)
    np.testing.assert_array_equal(codes_of(dst, got), want)


def codes_of(of: MemoryDesc, buffer: np.ndarray) -> np.ndarray:
    """One code per element of a buffer."""
    bits = of.element_type.bits
    return unpacked(buffer, bits, of.span) if bits < 8 else buffer.view(f"u{bits // 8}")


def check(src: MemoryDesc, dst: MemoryDesc) -> None:
    source, got, want = distinct(src), poisoned(dst), poisoned(dst)
    reorder(src, dst, source, got)
    one_by_one(src, dst, source, want)
    np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize("name", DESCRIPTORS)
def test_padding_is_none_minus_border_and_gaps(name: str) -> None:
    """Padding offsets are the positions without logical index that are no border; gaps have no position."""
    of = DESCRIPTORS[name]
    found = [
        of.base_offset + sum(p * s for p, s in zip(position, of.strides, strict=True))
        for position in product(*map(range, of.physical_shape))
        if of.logical_index(position) is None and is_block_padding(of, position)
    ]
    assert sorted(padding_offsets(of).tolist()) == sorted(found)


@MANY
@given(memory_descs(injective=True))
def test_padding_and_elements_are_disjoint(of: MemoryDesc) -> None:
    """No element is padding, and no padding is named twice."""
    padding, elements = padding_offsets(of).tolist(), offsets(of).ravel().tolist()
    assert len(set(padding + elements)) == len(padding) + len(elements)


def test_offsets_have_the_shape_of_dims() -> None:
    """A broadcast axis too, and rank 0."""
    assert offsets(DESCRIPTORS["broadcast of an axis, source"]).tolist() == [[0, 1, 2, 3, 4]] * 3
    assert offsets(DESCRIPTORS["rank 0 with offsets, destination"]).tolist() == 3


def test_the_280_padding_elements_of_17_channels() -> None:
    """2x17x5x4 in blocks of 8 is padded by 7 channels of 2x5x4."""
    assert padding_offsets(DESCRIPTORS["nchw to nChw8c, destination"]).size == 280


def test_bits_of_a_signalling_nan_survive() -> None:
    """Elements are moved, not converted."""
    src, dst = (replace(side, element_type=element_type("f32")) for side in PAIRS["rank 2 transposed"])
    bits = np.full(15, 0x7F800001, np.uint32)
    result = np.zeros(15, np.float32)
    reorder(src, dst, bits.view(np.float32), result)
    assert set(result.view(np.uint32).tolist()) == {0x7F800001}


def refused(src: MemoryDesc, dst: MemoryDesc, source: np.ndarray, destination: np.ndarray, message: str) -> None:
    before = destination.copy()
    with pytest.raises(LayoutcError, match=message):
        reorder(src, dst, source, destination)
    np.testing.assert_array_equal(destination, before)


def test_a_buffer_of_the_wrong_size_is_refused() -> None:
    """Either side, and the destination stays as it was."""
    src, dst = PAIRS["nchw to nChw8c"]
    refused(src, dst, np.zeros(679, np.float32), np.ones(960, np.float32), "source has 2716 bytes, expected 2720")
    refused(src, dst, np.zeros(680, np.float32), np.ones(961, np.float32), "destination has 3844 bytes, expected 3840")


def test_a_buffer_that_cannot_be_used_in_place_is_refused() -> None:
    """Read-only and strided destinations."""
    src, dst = PAIRS["rank 1"]
    locked = np.ones(7, np.float32)
    locked.flags.writeable = False
    refused(src, dst, np.zeros(7, np.float32), locked, "destination is read-only")
    refused(src, dst, np.zeros(7, np.float32), np.ones(14, np.float32)[::2], "destination is not contiguous")
    with pytest.raises(BufferError):
        reorder(src, dst, np.zeros(7, np.float32), locked)


def test_descriptors_that_do_not_fit_are_refused() -> None:
    """Dims, and shared positions of a destination."""
    a, x = desc("ab", (2, 3)), np.zeros(6, np.float32)
    refused(a, desc("ab", (3, 2)), x, x.copy(), "source dims .2, 3. differ from destination dims .3, 2.")
    refused(a, desc("ab", (2, 3), strides=(0, 1)), x, x.copy(), "two positions of shape .* at one offset")
