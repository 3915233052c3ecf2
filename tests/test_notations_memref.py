"""MLIR's memref types as a notation: both ways, without xDSL on the way out."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import numpy as np
import pytest

import layoutc
from layoutc import notations
from layoutc.dialects.attributes import MapAttr
from layoutc.dialects.memory import memory_desc, memref_type
from layoutc.element_type import ELEMENT_TYPES
from layoutc.notations import memref
from layoutc.pipeline import make_context
from layoutc.tools.layoutc import main
from tests.descriptors import DESCRIPTORS

TEXTS = [
    ('memref<2x17xf32, #layout.tag<"aB8b">>', layoutc.desc("aB8b", (2, 17))),
    ("memref<2x3xf32, strided<[5, 1]>>", layoutc.desc("ab", (2, 3), strides=(5, 1))),
    ("memref<2x3xf32, strided<[5, 1], offset: 3>>", layoutc.desc("ab", (2, 3), strides=(5, 1), offset=3)),
    ("memref<2x3xf16>", layoutc.desc("ab", (2, 3), "f16")),
    ("memref<2x3xsi8>", layoutc.desc("ab", (2, 3), "s8")),
    ("memref<2x3xui8>", layoutc.desc("ab", (2, 3), "u8")),
    ("memref<bf16>", layoutc.desc("SCALAR", (), "bf16")),
    ("memref<2x3xf32, affine_map<(d0, d1) -> (d1, d0)>>", layoutc.desc("ba", (2, 3))),
    (
        'memref<2x3xf32, #layout.tag<"ab", low = [1, 0], high = [0, 2], align = [1, 8]>>',
        layoutc.desc("ab", (2, 3), low=(1, 0), high=(0, 2), align=(1, 8)),
    ),
]


@pytest.mark.parametrize(("text", "expected"), TEXTS)
def test_a_type_says_everything(text: str, expected: layoutc.MemoryDesc) -> None:
    assert layoutc.desc(text) == expected
    assert layoutc.desc(f"memref:{text}", expected.dims, expected.element_type) == expected
    assert layoutc.desc(layoutc.translate(text, to="memref")) == expected


@pytest.mark.parametrize("name", DESCRIPTORS)
def test_every_descriptor_reads_back(name: str) -> None:
    desc = DESCRIPTORS[name]
    again = layoutc.desc(memref.format_desc(desc))
    assert again == desc or (again.same_memory(desc) and again.padded_dims == desc.padded_dims)


@pytest.mark.parametrize("name", DESCRIPTORS)
def test_the_text_is_that_of_the_dialect(name: str) -> None:
    """Both writers of a type agree, wherever the text has a `#layout.map`."""
    from xdsl.parser import Parser

    text, expected = memref.format_desc(DESCRIPTORS[name]), memref_type(DESCRIPTORS[name])
    parsed: Any = Parser(make_context(), text).parse_type()
    if "#layout" in text:
        assert parsed == expected and str(expected) == text
    assert memory_desc(parsed) == memory_desc(expected)


@pytest.mark.parametrize("name", DESCRIPTORS)
def test_the_attribute_of_the_dialect_is_a_layout(name: str) -> None:
    """As IR prints it: the rest of the type is what `desc` is given."""
    desc = DESCRIPTORS[name]
    again = layoutc.desc(str(MapAttr.of(desc)), desc.dims, desc.element_type)
    assert again == desc or (again.same_memory(desc) and again.padded_dims == desc.padded_dims)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('#layout.tag<"nChw8c">', layoutc.desc("nChw8c", (2, 17, 5, 4))),
        ('memref:#layout.tag<"openvino:bfyx">', layoutc.desc("bfyx", (2, 17, 5, 4))),
        ('#layout.tag<"nChw8c", offset = 3>', layoutc.desc("nChw8c", (2, 17, 5, 4), offset=3)),
        (
            '#layout.tag<"bfyx", low = [0, 0, 1, 1], align = [1, 8, 1, 1]>',
            layoutc.desc("bfyx", (2, 17, 5, 4), low=(0, 0, 1, 1), align=(1, 8, 1, 1)),
        ),
    ],
)
def test_an_attribute_says_what_its_tag_and_options_do(text: str, expected: layoutc.MemoryDesc) -> None:
    assert layoutc.desc(text, expected.dims) == expected
    if expected == layoutc.desc(expected.layout, expected.dims):
        assert layoutc.parse(text) == expected.layout
    else:
        with pytest.raises(layoutc.NotationError, match="gives strides, an offset or sizes"):
            layoutc.parse(text)


@pytest.mark.parametrize("element", ELEMENT_TYPES, ids=str)
def test_every_element_type_reads_back(element: layoutc.ElementType) -> None:
    desc = layoutc.desc("aB8b", (2, 17), element)
    assert layoutc.desc(memref.format_desc(desc)) == desc


def test_types_are_short_where_mlir_has_a_word() -> None:
    assert notations.translate("{2,3},{3,1}", "memref") == "memref<2x3xf32>"
    assert notations.translate("ab", "memref", (2, 3), "u8") == "memref<2x3xui8>"
    assert notations.translate("{2,3},{5,1}", "memref") == "memref<2x3xf32, strided<[5, 1]>>"
    assert notations.translate("aB8b", "memref", (2, 17)) == (
        "memref<2x17xf32, #layout.map<(d0, d1) -> (d0, d1 floordiv 8, d1 mod 8)>>"
    )
    with pytest.raises(layoutc.LayoutcError, match="a memref type needs dims"):
        notations.translate("nchw", "memref")


@pytest.mark.parametrize(
    ("text", "column", "message"),
    [
        ("memref<2x3xf32", 14, "expected '>'"),
        ("memref<2x3xf33>", 11, "expected an element type of MLIR, as f32 or i8, got 'f33'"),
        ("memref<2x3xs8>", 11, "got 's8'; did you mean i8"),
        ("memref<2x3xf8_e4m3>", 11, "got 'f8_e4m3'; did you mean f8E4M3FN"),
        ("memref<2x3x>", 11, "expected an element type of MLIR, as f32 or i8, got none"),
        ("memref<2x3xf32>zz", 15, "expected the end of a type"),
        ("memref<?xf32>", 0, "dynamic dimension"),
        ("memref<0xf32>", 0, "hold 0, expected 1 or more"),
        ("memref<2x3xcomplex<f32>>", 0, "unknown element type 'complex<f32>'"),
        ('memref<2x3xf32, #layout.tag<"abc">>', 0, "dims (2, 3) have rank 2"),
        ('memref<2x3xf32, #layout.tag<"zq">>', 30, "unknown axis 'q'"),
        ("memref<2xf32, affine_map<(d0) -> (" + "(" * 1500 + "d0" + ")" * 1500 + ")>>", 0, "nested too deeply"),
        ("memref<" + "9" * 5000 + "xf32>", 0, "at most 4000 characters"),
        ('memref<2x3xf32, #layout.tag<"' + "ab" * 500 + ">>", 28, "a string is not closed"),
        ("affine_map<(d0) -> (d0" + '"' + "ab" * 500, 22, "a map has no quotes"),
        ("memref<2x3xf32, strided<[3, ²]>>", 0, "a number has a digit that is none of 0 to 9"),
        ("memref:tensor<2xf32>", 7, "expected memref<...>"),
        ('#layout.tag<"zq">', 14, "unknown axis 'q'"),
        ('#layout.tag<"ab"', 16, "'>' expected"),
        ('#layout.tag<"ab">>', 17, "expected the end of an attribute"),
        ("#layout.map<(d0) -> (d1)>", 21, ""),
        ("#layout.conversion<sum = 1.0>", 0, "expected #layout.tag<...> or #layout.map<...>"),
        ('#layout.tag<"{2,3},{5,1}", strides = [3, 1]>', 0, "strides (3, 1) given, the text already says (5, 1)"),
        ('#layout.tag<"' + "ab" * 500, 12, "a string is not closed"),
    ],
)
def test_a_text_that_is_no_type(text: str, column: int, message: str) -> None:
    with pytest.raises(layoutc.NotationError) as caught:
        layoutc.desc(text)
    assert (caught.value.column, message in caught.value.message) == (column, True), caught.value.message


def test_what_contradicts_the_type_is_refused() -> None:
    with pytest.raises(layoutc.LayoutcError, match="element type s8 differs from f32 in the text"):
        layoutc.desc("memref<2x3xf32>", element_type="s8")
    with pytest.raises(layoutc.LayoutcError, match=r"dims \(2, 4\) differ from the sizes \(2, 3\) in the text"):
        layoutc.desc("memref<2x3xf32>", (2, 4))
    with pytest.raises(layoutc.LayoutcError, match=r"low border \(1, 1\) given, the text already says \(1, 0\)"):
        layoutc.desc('memref<2x3xf32, #layout.tag<"ab", low = [1, 0]>>', low=(1, 1))


def test_writing_a_type_loads_no_xdsl() -> None:
    code = "import layoutc, sys; layoutc.translate('nChw8c', 'memref', (2, 17, 5, 4)); assert 'xdsl' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_the_type_that_a_destination_states_is_what_is_converted_to() -> None:
    array = np.array([[1, 2, 3]], np.float32)
    result = layoutc.reorder(array, "ab", 'memref<1x3xi8, #layout.tag<"ba">>')
    np.testing.assert_array_equal(result, np.array([[1], [2], [3]], np.int8), strict=True)
    assert main(["compile", "--from", "memref<2x3xf32>", "--to", "memref<2x3xbf16>"]) == 0
    with pytest.raises(layoutc.LayoutcError, match="element type u8 differs from s8 in the text"):
        layoutc.reorder(array, "ab", "memref<1x3xi8>", to_dtype="u8")
