"""DirectML's sizes and strides, and its labels."""

from itertools import permutations

import pytest

from layoutc import notations
from layoutc.errors import LayoutcError
from layoutc.notations import directml
from tests.faults import check_fault


@pytest.mark.parametrize(
    "text", ["{2,3},{5,1}", "{2, 3} {5, 1}", "sizes={2,3} strides={5,1}", "sizes = {2,3}, strides = {5,1}"]
)
def test_padded_rows(text: str):
    desc = notations.desc(text)
    assert [desc.offset(i, j) for i in range(2) for j in range(3)] == [0, 1, 2, 5, 6, 7]
    assert (desc.dims, desc.span) == ((2, 3), 8)
    assert directml.format_desc(desc) == "{2,3},{5,1}"


def test_the_pages_examples():
    assert notations.desc("{2,2,3}").offset(1, 0, 1) == 7
    rows = notations.desc("{2,3},{0,1}")
    assert [rows.offset(i, j) for i in range(2) for j in range(3)] == [0, 1, 2, 0, 1, 2]
    columns = notations.desc("{2,3},{1,2}")
    assert [columns.offset(0, 1), columns.offset(1, 0), columns.offset(1, 2)] == [2, 1, 5]
    assert notations.desc("{1,1,3,5},{15,1,5,1}").offset(0, 0, 2, 4) == 14


def test_column_major_is_the_label_wh():
    by_label, by_strides = notations.desc("WH", (2, 3)), notations.desc("{2,3},{1,2}")
    for i in range(2):
        for j in range(3):
            assert by_label.offset(i, j) == by_strides.offset(i, j)


def test_every_label_reads_back():
    labels = ["".join(p) for n in range(1, 6) for p in permutations("NCDHW", n)]
    for label in labels:
        assert directml.format(directml.parse(label)) == label
    assert len(labels) == 325


@pytest.mark.parametrize(
    ("text", "dims", "expected"),
    [
        ("nchw", (2, 17, 5, 4), "{2,17,5,4}"),
        ("nhwc", (2, 17, 5, 4), "{2,17,5,4},{340,1,68,17}"),
        ("strided<[0, 1]>", (2, 3), "{2,3},{0,1}"),
    ],
)
def test_a_descriptor_formats_as_sizes_and_strides(text: str, dims: tuple[int, ...], expected: str):
    assert notations.translate(text, "directml", dims) == expected


@pytest.mark.parametrize(
    ("text", "column", "message"),
    [
        ("{2,0}", 0, "a size is 0, expected 1 or more"),
        ("{}", 0, "got 0 sizes, expected 1 to 8"),
        ("{1,1,1,1,1,1,1,1,1}", 0, "got 9 sizes, expected 1 to 8"),
        ("{2,3},{5}", 6, "got 1 strides, expected 2, one per size"),
        ("{2,3},{5,-1}", 9, "expected a stride"),
        ("{2,3},{5,1},", 11, "expected the end"),
        ("sizes={2,3} {5,1}", 12, "expected 'strides'"),
        ("{2;3}", 2, "expected ',' or '}'"),
        ("NCHX", 3, "a label of the axes N C D H W"),
        ("NCHH", 3, "axis 'H' appears twice"),
        ("nchw", 0, "expected sizes such as {2,3}, or a label of the axes N C D H W"),
        ("", 0, "expected sizes such as {2,3}, or a label such as NCHW"),
    ],
)
def test_faults_are_pointed_at(text: str, column: int, message: str):
    check_fault(directml.read, text, column, message)


def test_what_strides_cannot_express_is_refused_with_the_reason():
    with pytest.raises(LayoutcError, match="one stride per axis, no blocks or padding"):
        directml.format(notations.parse("nChw8c"))
    with pytest.raises(LayoutcError, match="labels axes N C D H W"):
        directml.format(notations.parse("abcdef"))
    with pytest.raises(LayoutcError, match="no base offset or border"):
        directml.format_desc(notations.desc("ab", (2, 3), offset=1))
    with pytest.raises(LayoutcError, match="has 1 to 8 dimensions, got 9"):
        directml.format_desc(notations.desc("abcdefghi", (1,) * 9))
    with pytest.raises(LayoutcError, match=r"dims \(2, 4\) differ from the sizes \(2, 3\) in the text"):
        notations.desc("{2,3}", (2, 4))
