"""The Inference Engine's layout names and blocking descriptors; the numbers are those of its library."""

import pytest

from layoutc import notations
from layoutc.errors import LayoutcError
from layoutc.layout import Digit, Layout
from layoutc.notations import inference_engine as ie
from tests.faults import check_fault

ORDERS = {
    "NCHW": "0123",
    "OIHW": "0123",
    "NHWC": "0231",
    "NCDHW": "01234",
    "GOIHW": "01234",
    "OIDHW": "01234",
    "NDHWC": "02341",
    "GOIDHW": "012345",
    "C": "0",
    "CHW": "012",
    "HWC": "120",
    "HW": "01",
    "NC": "01",
    "CN": "10",
    "SCALAR": "",
}


@pytest.mark.parametrize(("name", "order"), ORDERS.items())
def test_each_name_has_its_order_and_reads_back(name: str, order: str):
    layout = ie.parse(name)
    assert layout.digits == tuple(Digit((int(axis),)) for axis in order)
    assert ie.parse(ie.format(layout)) == layout
    assert ie.format(layout) == name or name in ("SCALAR",)


def test_the_guides_blocked_tensor():
    desc = notations.desc("BlockingDesc({1, 4, 20, 20, 8}, {0, 1, 2, 3, 1})", (1, 25, 20, 20))
    assert desc.layout == notations.parse("nChw8c")
    assert desc.strides == (12800, 3200, 160, 8, 1)
    assert [desc.offset(0, 0, 0, 0), desc.offset(0, 0, 0, 1), desc.offset(0, 0, 0, 2)] == [0, 8, 16]
    assert [desc.offset(0, 1, 0, 2), desc.offset(0, 24, 19, 19)] == [17, 12792]
    nhwc = notations.desc("BlockingDesc({1,20,20,25}, {0,2,3,1})")
    assert nhwc == notations.desc("NHWC", (1, 25, 20, 20))


def test_a_blocking_descriptor_of_dims_and_a_layout():
    """The library's other constructor: the dims are logical, and the layout permutes them."""
    for order in ("NHWC", "Layout::NHWC"):
        desc = notations.desc(f"BlockingDesc({{1,25,20,20}}, {order})")
        assert desc == ie.TensorDesc("FP32", (1, 25, 20, 20), "NHWC").memory_desc()
        assert desc == notations.desc("NHWC", (1, 25, 20, 20))
    rows = notations.desc("BlockingDesc({2,3,4,5,6,7}, BLOCKED)")
    assert rows == notations.desc("abcdef", (2, 3, 4, 5, 6, 7))
    with pytest.raises(LayoutcError, match=r"^dims \(1, 24, 20, 20\) differ from the sizes \(1, 25, 20, 20\) in"):
        notations.desc("BlockingDesc({1,25,20,20}, NHWC)", (1, 24, 20, 20))


def test_the_last_occurrence_of_an_axis_is_its_least_significant_digit():
    desc = notations.desc("BlockingDesc({1,2,2,1,2}, {0,1,2,3,1})", (1, 4, 2, 1))
    assert desc.offset(0, 2, 1, 0) == 6  # the library's offset(5)
    layout = ie.parse("BlockingDesc({2,2,4,3}, {0,0,1,0})")
    assert layout.digits == (Digit((0,), 6), Digit((0,), 3, 2), Digit((1,)), Digit((0,), 1, 3))


def test_blocked_dims_past_the_dims_are_alignment():
    desc = notations.desc("BlockingDesc({1,5,20,20,8}, {0,1,2,3,1})", (1, 25, 20, 20))
    assert (desc.physical_shape, desc.padded_dims, desc.layout.align) == (
        (1, 5, 20, 20, 8),
        (1, 40, 20, 20),
        (1, 40, 1, 1),
    )
    assert notations.desc("BlockingDesc({1,5,4,8}, {0,1,2,1})", (1, 33, 3)).layout.align == (1, 1, 2)
    rows = notations.desc("BlockingDesc({2,8}, {0,1})", (2, 5))
    assert (rows.layout.align, rows.offset(1, 4), rows.span) == ((1, 4), 12, 16)


def test_offset_and_strides_are_the_texts():
    text = "BlockingDesc({1,2,2,2,8}, {0,1,2,3,1}, 43, {0,0,1,1,0}, {512,256,32,8,1})"
    desc = notations.desc(text, (1, 16, 2, 2))
    assert (desc.base_offset, desc.strides) == (43, (512, 256, 32, 8, 1))
    # Dim offsets are part of the offset already: the first element lies there.
    assert desc.offset(0, 9, 1, 1) == 43 + 256 + 32 + 8 + 1


@pytest.mark.parametrize(
    ("source", "dims", "text"),
    [
        ("nChw8c", (1, 25, 20, 20), "BlockingDesc({1,4,20,20,8}, {0,1,2,3,1})"),
        ("OIhw4i16o4i", (32, 32, 3, 3), "BlockingDesc({2,2,3,3,4,16,4}, {0,1,2,3,1,0,1})"),
        ("strided<[10, 1], offset: 3>", (2, 5), "BlockingDesc({2,5}, {0,1}, 3, {0,0}, {10,1})"),
        ("strided<[5, 1], offset: 3>", (2, 5), "BlockingDesc({2,5}, {0,1}, 3)"),
    ],
)
def test_a_descriptor_formats_as_a_blocking_descriptor_and_reads_back(source: str, dims: tuple[int, ...], text: str):
    desc = notations.desc(source, dims)
    assert ie.format_desc(desc) == text
    assert notations.desc(text, dims) == desc


@pytest.mark.parametrize(
    ("text", "column", "message"),
    [
        ("ANY", 0, "layout ANY describes no memory"),
        ("BLOCKED", 0, "layout BLOCKED needs its blocked dims and order"),
        ("NCHWC", 0, "expected one of NCHW NHWC"),
        ("nchw", 0, "expected one of NCHW NHWC NCDHW NDHWC C CHW HWC HW NC CN OIHW GOIHW OIDHW GOIDHW SCALAR"),
        ("BlockingDesc", 12, "expected '('"),
        ("BlockingDesc({1,2}", 18, "expected ','"),
        ("BlockingDesc({1,2},NHWC)", 19, "Dims and format are inconsistent."),
        ("BlockingDesc({1,2},NX)", 19, "unknown layout 'NX', expected one of ANY NCHW"),
        ("BlockingDesc({1,0},NC)", 19, "blocked dims (1, 0) hold 0"),
        ("BlockingDesc({1,2},ANY)", 19, "layout ANY of dims (1, 2) describes no memory"),
        ("BlockingDesc({1,2},Layout::)", 27, "expected '{'"),
        ("BlockingDesc({1,2},NC,0)", 21, "expected ')'"),
        ("BlockingDesc({1 2},{0,1})", 16, "expected ',' or '}'"),
        ("BlockingDesc({1,-2},{0,1})", 16, "expected a blocked dim"),
        ("BlockingDesc({1,2},{0,1,2})", 19, "got 3 axes in the order, expected 2"),
        ("BlockingDesc({1,2},{0,2})", 19, "axis 1 is missing from the order, which has axis 2"),
        ("BlockingDesc({1,2},{0,1000000})", 19, "axis 1000000 is outside 0..11"),
        ("BlockingDesc({1,0},{0,1})", 13, "blocked dims (1, 0) hold 0"),
        ("BlockingDesc({1,100000},{0,0})", 13, "block 100000 of axis d0 is outside 1..65536"),
        ("BlockingDesc({1,2},{0,1},0,{0})", 27, "got 1 dim offsets, expected 2"),
        ("BlockingDesc({1,2},{0,1},0,{0,0},{1})", 33, "got 1 strides, expected 2"),
        ("BlockingDesc({1,2},{0,1},3,{0,4})", 0, "dim offsets put the first element at 4, the offset says 3"),
        ("BlockingDesc({1,2},{0,1}) x", 26, "expected the end"),
        ("BlockingDesc({1,99999999999999999999},{0,1})", 16, "a blocked dim has 20 digits"),
    ],
)
def test_faults_are_pointed_at(text: str, column: int, message: str):
    check_fault(ie.read, text, column, message)


def test_blocked_dims_that_do_not_cover_the_dims_are_refused():
    with pytest.raises(LayoutcError, match="blocked dims hold 24 of axis d1, which has 25"):
        notations.desc("BlockingDesc({1,3,20,20,8},{0,1,2,3,1})", (1, 25, 20, 20))
    with pytest.raises(LayoutcError, match="no alignment up to 65536 pads the 3 of axis d0 to 100003"):
        notations.desc("BlockingDesc({100003},{0})", (3,))


def test_layouts_without_a_name_are_refused_with_the_reason():
    with pytest.raises(LayoutcError, match="express no blocks, only a BlockingDesc with dims does"):
        ie.format(notations.parse("nChw8c"))
    with pytest.raises(LayoutcError, match="names no layout"):
        ie.format(notations.parse("chwn"))
    flattened = Layout(2, (Digit((0, 1), 4), Digit((0, 1), 1, 4)))
    with pytest.raises(LayoutcError, match="no flattened axes"):
        ie.format_desc(notations.desc(flattened, (3, 5)))
    with pytest.raises(LayoutcError, match="no border"):
        ie.format_desc(notations.desc("nchw", (1, 2, 3, 4), low=(0, 0, 1, 1)))
