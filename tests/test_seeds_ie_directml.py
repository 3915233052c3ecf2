"""
The documents on the Inference Engine's memory primitives and on DirectML's strides, example by example.

Their misprints are corrected here, each with a comment that says what was printed.
"""

from __future__ import annotations

from itertools import product

import pytest

import layoutc
from layoutc import notations
from layoutc.notations import inference_engine as ie
from layoutc.notations.directml import BufferTensorDesc, calc_buffer_tensor_size
from layoutc.notations.inference_engine import BlockingDesc, Layout, TensorDesc

# --- Inference Engine: memory primitives -----------------------------------------------------------------------------


def test_ie_a_blob_with_a_specific_layout() -> None:
    # Printed: InferenceEngige::TensorDesc tdesc(FP32, ...); the names are InferenceEngine and Precision::FP32.
    desc = TensorDesc("FP32", (1, 3, 227, 227), Layout.NCHW)
    assert (desc.layout.name, desc.size, desc.byte_size) == ("NCHW", 3 * 227 * 227, 4 * 3 * 227 * 227)
    assert desc.memory_desc() == notations.desc("NCHW", (1, 3, 227, 227), "f32")


@pytest.mark.parametrize("name", ["NCDHW", "NCHW", "NC", "C"])
def test_ie_planar_layouts_by_name(name: str) -> None:
    dims = (2, 3, 4, 5, 6)[: len(name)]
    desc = TensorDesc("FP32", dims, name)
    assert (desc.layout.name, desc.blocking) == (name, BlockingDesc(dims, range(len(dims))))


def test_ie_nhwc_of_1_25_20_20_in_two_ways() -> None:
    by_order = BlockingDesc((1, 20, 20, 25), (0, 2, 3, 1))
    # Printed with the dims that are permuted already, {1, 20, 20, 25}; the layout permutes them again.
    by_layout = BlockingDesc((1, 25, 20, 20), Layout.NHWC)
    assert by_order == by_layout
    assert BlockingDesc((1, 20, 20, 25), Layout.NHWC).blocked_dims == (1, 20, 25, 20)
    desc = TensorDesc("FP32", (1, 25, 20, 20), by_order)
    assert (desc.layout, desc.memory_desc()) == (Layout.NHWC, notations.desc("nhwc", (1, 25, 20, 20)))


def test_ie_channels_blocked_by_8() -> None:
    desc = TensorDesc("FP32", (1, 25, 20, 20), BlockingDesc((1, 4, 20, 20, 8), (0, 1, 2, 3, 1)))
    assert (desc.layout, desc.memory_desc()) == (Layout.BLOCKED, notations.desc("nChw8c", (1, 25, 20, 20)))


def test_ie_strides_and_offsets_if_the_layout_has_them() -> None:
    blocking = BlockingDesc((2, 3), (0, 1), 4, (0, 0), (8, 1))
    desc = TensorDesc("FP32", (2, 3), blocking)
    assert [desc.offset((i, j)) for i in range(2) for j in range(3)] == [4, 5, 6, 12, 13, 14]
    assert desc.memory_desc() == notations.desc("strided<[8, 1], offset: 4>", (2, 3))


def test_ie_the_real_offset_to_data() -> None:
    blocking = BlockingDesc((1, 4, 20, 20, 8), (0, 1, 2, 3, 1))
    desc = TensorDesc("FP32", (1, 25, 20, 20), blocking)
    assert desc.offset(0) == 0
    assert desc.offset(1) == 8
    assert desc.offset((0, 0, 0, 2)) == 16
    assert desc.offset((0, 1, 0, 2)) == 17
    for index in ((0, 0, 0, 0), (0, 0, 0, 1), (0, 0, 0, 2), (0, 1, 0, 2)):
        assert desc.memory_desc().offset(*index) == desc.offset(index)


@pytest.mark.parametrize(
    ("dims", "layout"),
    [
        ((1,), Layout.C),
        ((1, 2), Layout.NC),
        ((1, 2, 3, 4), Layout.NCHW),
        ((1, 2, 3), Layout.CHW),  # printed: BLOCKED; every release answers CHW
        ((1, 2, 3, 4, 5), Layout.NCDHW),
        ((1, 2, 3, 4, 5, 6), Layout.BLOCKED),
    ],
)
def test_ie_layout_by_dims(dims: tuple[int, ...], layout: Layout) -> None:
    assert ie.layout_by_dims(dims) is layout


# --- DirectML: padding and memory layout by strides -------------------------------------------------------------------


def memory(desc: BufferTensorDesc, values: str) -> str:
    """The buffer that holds `values`, which are in row-major order; x where it holds none."""
    buffer = ["x"] * desc.physical_elements
    for value, index in zip(values, product(*map(range, desc.sizes)), strict=True):
        assert buffer[desc.offset(*index)] in ("x", value)
        assert desc.offset(*index) == desc.memory_desc().offset(*index)
        buffer[desc.offset(*index)] = value
    return "".join(buffer)


def test_directml_row_major() -> None:
    desc = BufferTensorDesc("UINT8", (2, 3))
    assert (desc.elements, desc.effective_strides, desc.label) == (6, (3, 1), "HW")
    assert memory(desc, "ABCDEF") == "ABCDEF"
    assert desc.offset(1, 0) - desc.offset(0, 0) == 3  # from A to D


def test_directml_column_major() -> None:
    desc = BufferTensorDesc("UINT8", (2, 3), (1, 2))
    assert desc.label == "WH"
    assert memory(desc, "ABCDEF") == "ADBECF"  # printed: Um D B E C F, the letter A translated as an article


@pytest.mark.parametrize("label", ["HW", "WH", "DHW", "WHD", "NCHW"])
def test_directml_labels_name_the_highest_order_dimension_first(label: str) -> None:
    sizes = (2, 3, 4, 5)[: len(label)]
    desc = BufferTensorDesc.of_label(label, "UINT8", sizes)
    letters = {2: "HW", 3: "DHW", 4: "NCHW"}[len(label)]
    size, stride = dict(zip(letters, sizes, strict=True)), dict(zip(letters, desc.effective_strides, strict=True))
    for place, letter in enumerate(label):  # the packed stride is the product of the sizes of lower order
        product_below = 1
        for below in label[place + 1 :]:
            product_below *= size[below]
        assert stride[letter] == product_below
    assert (desc.is_packed, desc.physical_elements) == (True, desc.elements)


def test_directml_depth_height_width() -> None:
    desc = BufferTensorDesc("UINT8", (2, 2, 3))
    height, width = 2, 3
    assert desc.effective_strides == (height * width, width, 1) == (6, 3, 1)
    assert (desc.label, desc.elements) == ("DHW", 12)
    assert memory(desc, "ABCDEFGHIJKL") == "ABCDEFGHIJKL"
    # From A to G, A to D, A to B.
    assert [desc.offset(1, 0, 0), desc.offset(0, 1, 0), desc.offset(0, 0, 1)] == [6, 3, 1]
    assert desc.offset(1, 0, 1) == 1 * 6 + 0 * 3 + 1 * 1 == 7  # H


def test_directml_packed_tensors() -> None:
    # Equal sizes are not enough, though one sentence of the page says so: each element needs an offset of its own.
    assert BufferTensorDesc("UINT8", (2, 2, 3), (6, 3, 1)).is_packed
    collides = BufferTensorDesc("UINT8", (2, 2, 2), (5, 1, 1))
    assert (collides.physical_elements, collides.elements, collides.is_packed) == (8, 8, False)


def test_directml_broadcast_rows() -> None:
    # Printed: a height of 0 instead of 3; it is the height's stride.
    desc = BufferTensorDesc("UINT8", (2, 3), (0, 1))
    assert memory(desc, "ABCABC") == "ABC"
    assert (desc.physical_elements, desc.elements, desc.is_broadcast) == (3, 6, True)
    assert memory(BufferTensorDesc("UINT8", (2, 3), (3, 1)), "ABCABC") == "ABCABC"  # or packed


def test_directml_broadcast_channels() -> None:
    desc = BufferTensorDesc("FLOAT32", (1, 3, 2, 2), (4, 0, 2, 1))
    assert memory(desc, "ABCD" * 3) == "ABCD"


def test_directml_padded_rows() -> None:
    desc = BufferTensorDesc("UINT8", (2, 3), (5, 1), total_tensor_size_in_bytes=12)
    assert memory(desc, "ABCDEF") + "xx" == "ABCxxDEFxx"
    assert (desc.kinds, desc.effective_strides[0] - desc.sizes[1]) == (("padded",), 2)
    # The minimum is the product of the sizes only for packed tensors; here it ends at F: 8, where 10 are drawn.
    assert (desc.elements, desc.physical_elements) == (6, 8)
    assert calc_buffer_tensor_size("UINT8", (2, 3), (5, 1)) == 8


@pytest.mark.parametrize("label", ["NCHW", "NHWC"])
def test_directml_sizes_and_strides_have_a_fixed_order(label: str) -> None:
    # The two lists of the 4D section are missing on the page: {N, C, H, W} for sizes and strides alike.
    n, c, h, w = 2, 3, 4, 5
    desc = BufferTensorDesc.of_label(label, "FLOAT32", (n, c, h, w))
    strides = {"NCHW": (c * h * w, h * w, w, 1), "NHWC": (h * w * c, 1, w * c, c)}[label]
    assert (desc.sizes, desc.effective_strides) == ((n, c, h, w), strides)


def test_directml_5d_has_a_fixed_order_too() -> None:
    n, c, d, h, w = 2, 3, 4, 5, 6
    assert BufferTensorDesc("FLOAT32", (n, c, d, h, w)).label == "NCDHW"
    interleaved = BufferTensorDesc.interleaved_channel("FLOAT32", (n, c, d, h, w))
    assert (interleaved.label, interleaved.strides) == ("NDHWC", (d * h * w * c, 1, h * w * c, w * c, c))


def test_directml_lower_ranks_have_leading_ones() -> None:
    # Printed: operators need 4D or 5D tensors; it is 1 to 8 dimensions by now.
    assert BufferTensorDesc("FLOAT32", (3, 5)).with_rank(4).sizes == (1, 1, 3, 5)
    assert BufferTensorDesc("FLOAT32", (3, 5)).with_rank(8).sizes == (1,) * 6 + (3, 5)


def test_directml_the_three_descriptions_of_3_by_5() -> None:
    n, c, h, w = sizes = (1, 1, 3, 5)
    implicit = BufferTensorDesc("FLOAT32", sizes)
    nchw = BufferTensorDesc("FLOAT32", sizes, (c * h * w, h * w, w, 1))
    nhwc = BufferTensorDesc("FLOAT32", sizes, (h * w * c, 1, w * c, c))
    assert (n, nchw.strides, nhwc.strides) == (1, (15, 15, 5, 1), (15, 1, 5, 1))
    assert implicit.effective_strides == nchw.strides
    assert nhwc.strides == BufferTensorDesc.of_label("NHWC", "FLOAT32", sizes).strides
    values = "ABCDEFGHIJKLMNO"
    assert {memory(desc, values) for desc in (implicit, nchw, nhwc)} == {values}
    assert nhwc.memory_desc().same_memory(nchw.memory_desc())
    assert layoutc.desc("{1,1,3,5},{15,1,5,1}") == nhwc.memory_desc()
