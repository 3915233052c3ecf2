"""The examples of oneDNN's page "Understanding Memory Formats": its formulas, its code and its numbers."""

from __future__ import annotations

from itertools import product

import pytest

from layoutc import notations
from layoutc.descriptor import MemoryDesc
from layoutc.notations import onednn

N, C, H, W = 2, 16, 5, 4
INDICES = list(product(range(N), range(C), range(H), range(W)))


def offsets(desc: MemoryDesc) -> list[int]:
    return [desc.offset(*index) for index in product(*map(range, desc.dims))]


@pytest.mark.parametrize(
    ("tag", "offset"),
    [
        ("nchw", lambda n, c, h, w: n * C * H * W + c * H * W + h * W + w),
        ("nhwc", lambda n, c, h, w: n * H * W * C + h * W * C + w * C + c),
        ("chwn", lambda n, c, h, w: c * H * W * N + h * W * N + w * N + n),
        ("nChw8c", lambda n, c, h, w: n * C * H * W + (c // 8) * H * W * 8 + h * W * 8 + w * 8 + c % 8),
    ],
)
def test_the_offset_formulas(tag: str, offset) -> None:
    assert offsets(notations.desc(tag, (N, C, H, W))) == [offset(*index) for index in INDICES]


def test_the_value_of_the_example_is_its_offset_in_nchw() -> None:
    assert offsets(notations.desc("nchw", (N, C, H, W))) == list(range(N * C * H * W))


@pytest.mark.parametrize(
    ("tag", "steps"),
    [
        # within a line, line by line, plane by plane, image by image
        ("nchw", [(0, 0, 0, 1), (0, 0, 1, 0), (0, 1, 0, 0), (1, 0, 0, 0)]),
        # the same pixel's next channel first
        ("nhwc", [(0, 1, 0, 0), (0, 0, 0, 1), (0, 0, 1, 0), (1, 0, 0, 0)]),
        # from the inner-most to the outer-most: batch, width, height, channels
        ("chwn", [(1, 0, 0, 0), (0, 0, 0, 1), (0, 0, 1, 0), (0, 1, 0, 0)]),
    ],
)
def test_the_order_in_memory(tag: str, steps: list[tuple[int, ...]]) -> None:
    desc = notations.desc(tag, (N, C, H, W))
    jumps = [desc.offset(*step) for step in steps]
    assert jumps[0] == 1 and jumps == sorted(jumps)


def test_neighbours_in_nchw_differ_in_w_and_the_next_image_is_a_whole_image_away() -> None:
    desc = notations.desc("nchw", (N, C, H, W))
    assert desc.index_of(desc.offset(1, 7, 2, 1) + 1) == (1, 7, 2, 2)
    assert desc.index_of(desc.offset(0, 7, 2, 1) + C * H * W) == (1, 7, 2, 1)


def test_offsets_of_any_strides() -> None:
    stride_n, stride_c, stride_h, stride_w = strides = (1000, 60, 10, 2)
    desc = onednn.create_with_strides((N, C, H, W), "f32", strides)
    for n, c, h, w in INDICES:
        assert desc.offset(n, c, h, w) == n * stride_n + c * stride_c + h * stride_h + w * stride_w


def test_plain_formats_are_special_cases_of_strides() -> None:
    strides = {
        "nchw": (C * H * W, H * W, W, 1),
        "nhwc": (H * W * C, 1, W * C, C),
        "chwn": (1, H * W * N, W * N, N),
    }
    for tag, expected in strides.items():
        by_tag = onednn.create_with_tag((N, C, H, W), "f32", tag)
        assert by_tag.strides == expected
        assert by_tag == onednn.create_with_strides((N, C, H, W), "f32", expected)


def test_a_matrix_with_a_row_pitch() -> None:
    rows, columns, stride = 3, 5, 8
    desc = onednn.create_with_strides((rows, columns), "f32", (stride, 1))
    assert [desc.offset(row, 0) for row in range(rows)] == [0, stride, 2 * stride]


def test_the_queries_of_nchw8c() -> None:
    md = onednn.create_with_tag((N, C, H, W), "f32", "nChw8c")
    stride_n, stride_c, stride_h, stride_w = C * H * W, H * W * 8, W * 8, 8
    assert md.strides == (stride_n, stride_c, stride_h, stride_w)
    assert (md.inner_nblks, md.inner_idxs, md.inner_blks) == (1, (1,), (8,))
    assert (md.ndims, md.data_type, md.format_kind, md.offset0) == (4, "f32", "blocked", 0)


def test_blocks_of_8_channels_are_contiguous_then_come_pixels_then_slices_then_images() -> None:
    desc = notations.desc("nChw8c", (N, C, H, W))
    order = [desc.index_of(offset) for offset in range(desc.elements)]
    assert order[:8] == [(0, c, 0, 0) for c in range(8)]
    assert order[8] == (0, 0, 0, 1)
    assert order[H * W * 8] == (0, 8, 0, 0)
    assert order[C * H * W] == (1, 0, 0, 0)


def test_17_channels_are_padded_to_24() -> None:
    block_size, channels = 8, 17
    padded = (channels + block_size - 1) // block_size * block_size
    assert padded == 24
    md = onednn.create_with_tag((N, channels, H, W), "f32", "nChw8c")
    assert md.dims == (N, channels, H, W)
    assert md.padded_dims == (N, padded, H, W)
    assert md.strides == (padded * H * W, H * W * block_size, W * block_size, block_size)
    assert (md.inner_nblks, md.inner_idxs[0], md.inner_blks[0]) == (1, 1, 8)


def test_with_17_channels_the_formula_counts_the_padded_ones() -> None:
    channels, padded = 17, 24
    desc = notations.desc("nChw8c", (N, channels, H, W))
    for n, c, h, w in product(range(N), range(channels), range(H), range(W)):
        expected = n * padded * H * W + c // 8 * H * W * 8 + h * W * 8 + w * 8 + c % 8
        assert desc.offset(n, c, h, w) == expected


def test_the_size_is_not_that_of_the_elements() -> None:
    md = onednn.create_with_tag((N, 17, H, W), "f32", "nChw8c")
    assert md.get_size() == 4 * N * 24 * H * W != 4 * N * 17 * H * W
    assert onednn.memory_desc(md).size_bytes == md.get_size()


def test_the_padding_is_the_tail_of_the_last_block() -> None:
    desc = notations.desc("nChw8c", (1, 17, 1, 1))
    assert [offset for offset in range(desc.span) if desc.index_of(offset) is None] == list(range(17, 24))


def test_letters_are_upper_case_for_the_blocked_axis() -> None:
    layout = notations.parse("nChw16c")
    assert (layout.axis_names, layout.inner_blocks) == (("n", "c", "h", "w"), ((1, 16),))
