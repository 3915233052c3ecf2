"""MLIR's affine maps and strides as layouts."""

import subprocess
import sys

import pytest

from layoutc import notations
from layoutc.errors import LayoutcError
from layoutc.layout import Digit, Layout
from layoutc.notations import affine, onednn
from tests.faults import check_fault


@pytest.mark.parametrize("tag", ["a", "ab", "nChw8c", "OIhw4i16o4i", "acdb", "ABcd16b16a"])
def test_a_layout_reads_back_from_its_map(tag: str):
    layout = onednn.parse(tag)
    assert affine.parse(affine.format(layout)) == layout


def test_the_map_is_spelled_as_mlir_does():
    tag = "aB2b8b4b"
    expected = "affine_map<(d0, d1) -> (d0, d1 floordiv 64, (d1 floordiv 32) mod 2, (d1 floordiv 4) mod 8, d1 mod 4)>"
    assert notations.translate(tag, "affine") == expected


def test_the_offset_map_is_spelled_as_mlir_does():
    offsets = "d0 * 480 + (d1 floordiv 8) * 160 + d2 * 32 + d3 * 8 + d1 mod 8"
    expected = f"affine_map<(d0, d1, d2, d3) -> ({offsets})>"
    assert notations.translate("nChw8c", "affine", (2, 17, 5, 4)) == expected


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("(n, c) -> (n, c floordiv 8, c mod 8)", ("n", "c")),
        ("affine_map<(n,c)->(n,c floordiv 8,c mod 8)>", ("n", "c")),
        (" affine_map<(d0, d1) -> (d0, d1 floordiv 8, d1 mod 8)> ", ("d0", "d1")),
    ],
)
def test_axis_names_are_kept(text: str, names: tuple[str, ...]):
    layout = affine.parse(text)
    assert (layout, layout.axis_names) == (onednn.parse("aB8b"), names)


def test_strided():
    desc = notations.desc("strided<[5, 1], offset: 3>", (2, 3))
    assert [desc.offset(i, j) for i in range(2) for j in range(3)] == [3, 4, 5, 8, 9, 10]
    assert notations.desc("strided<[]>", ()).offset() == 0
    assert notations.desc("strided<[0, 1]>", (2, 3)).offset(1, 2) == 2


def test_one_result_is_an_offset():
    text = "affine_map<(d0, d1, d2, d3) -> (d0 * 480 + (d1 floordiv 8) * 160 + d2 * 32 + d3 * 8 + d1 mod 8 + 3)>"
    assert notations.desc(text, (2, 17, 5, 4)) == notations.desc("nChw8c", (2, 17, 5, 4), offset=3)


def test_coefficients_of_flattened_axes_must_fit_the_dims():
    text = "(y, x) -> ((y * 5 + x) floordiv 4, (y * 5 + x) mod 4)"
    assert notations.desc(text, (3, 5)).layout == Layout(2, (Digit((0, 1), 4), Digit((0, 1), 1, 4)))
    with pytest.raises(LayoutcError, match="axis x has 6 coordinates, the text implies 5"):
        notations.desc(text, (3, 6))


@pytest.mark.parametrize(
    ("text", "column", "message"),
    [
        ("(n, c) -> (n, c + 1)", 14, "constant 1 in a digit: give a border as low and high"),
        ("(n, c) -> (n, c * 2)", 14, "d1 * 2 skips positions, expected coefficient 1"),
        ("(n, c) -> (n, n floordiv 0)", 14, "floordiv by 0, expected a positive number"),
        ("(n, c) -> (n, c ceildiv 2)", 14, "ceildiv is not a digit, expected floordiv and mod"),
        ("(n, c) -> (n, c mod 6 floordiv 4)", 14, "mod 6 floordiv 4 is not a digit, 4 does not divide 6"),
        ("(n, c) -> (n, c mod 8, c floordiv 4)", 11, "digits of axis c do not nest: got divisor 4, expected 8"),
        ("(n, c) -> (n, n)", 11, "axis c is in no result"),
        ("(n, c) -> (n * c)", 11, "a product or quotient of axes is not affine"),
        ("(n, c) -> (n * -1 + c)", 11, "stride -1 of d0 is negative"),
        ("(n, c) -> (n + c - 4)", 11, "base offset -4 is negative"),
        ("(n)[s] -> (n + s)", 11, "the map has 1 symbols, expected none"),
        ("(n) -> (n mod 4 + (n floordiv 6) * 4)", 8, "4 and 6 cut axis d0 into pieces that do not nest"),
        ("(n, n) -> (n)", 4, "axis 'n' appears twice"),
        ("(n) -> (q)", 8, "unknown axis 'q', expected one of n"),
        ("() -> (q)", 7, "unknown axis 'q', the map has none"),
        ("(n, c) -> (n, k floordiv 8, c)", 14, "unknown axis 'k', expected one of n c"),
        ("(n) -> (n) x", 11, "expected the end of the map"),
        ("(n) -> (n", 9, "')' expected"),
        ("(n) (n)", 4, "expected `->`"),
        ("affine_map<(d0) -> (d0)", 23, "expected '>' at the end"),
        ("(n) -> (n mod " + "9" * 3000 + ")", 8, "block"),
        ("(n) -> (n floordiv 2, n mod ²)", 8, "a number has a digit that is none of 0 to 9"),
        ("(n) -> (" + "(" * 1800 + "n" + ")" * 1800 + ")", 8, "nested too deeply"),
        ("(n) -> (" + "n + " * 2000 + "n)", 0, "a map has at most 4000 characters, got 8010"),
        ("strided<[?, 1]>", 9, "a dynamic stride or offset has no value, expected a number"),
        ("strided<[-1]>", 9, "expected a stride of 0 or more"),
        ("strided<[1]", 11, "expected '>'"),
        ("strided<[1], offest: 3>", 13, "expected 'offset'"),
        ("strided<[" + "1," * 12 + "1]>", 8, "rank 13 is outside 0..12"),
        ("nchw", 0, "expected affine_map<(d0, ...) -> (...)> or strided<[...]>"),
    ],
)
def test_faults_are_pointed_at(text: str, column: int, message: str):
    check_fault(affine.read, text, column, message)


@pytest.mark.parametrize(
    ("text", "column", "message"),
    [
        ("affine_map<(d0, d1) -> (d0 ceildiv 2, d1)>", 24, "ceildiv is not a digit, expected floordiv and mod"),
        ("affine_map<(d0, d1) -> (d0, d1, d1 mod 3)>", 24, "digits of axis d1 do not nest: got divisor 1"),
        ("affine_map<(d0, d1) -> (d0 * d1)>", 24, "a product or quotient of axes is not affine"),
        ("affine_map<(d0) -> (d0, d1)>", 24, "unknown axis 'd1', expected one of d0"),
        ("affine_map<(n, n) -> (n, n)>", 15, "axis 'n' appears twice"),
        ("(n, c) -> (n, n)", 11, "axis c is in no result"),
    ],
)
def test_what_is_wrong_in_a_map_is_said_where_any_notation_may_stand(text: str, column: int, message: str):
    check_fault(notations.read, text, column, message)


def test_layouts_that_no_map_expresses_for_all_dims_are_refused_with_the_reason():
    with pytest.raises(LayoutcError, match="has no alignment"):
        affine.format(Layout(1, (Digit((0,)),), align=(8,)))
    with pytest.raises(LayoutcError, match="of flattened axes needs dims"):
        affine.format(Layout(2, (Digit((0, 1), 4), Digit((0, 1), 1, 4))))


def test_only_maps_need_xdsl():
    code = (
        "import sys; from layoutc import notations as n; n.desc('nChw8c', (1, 2, 3, 4)); n.names(n.parse('nchw'));"
        "n.desc('strided<[5, 1]>', (2, 3)); print([m for m in ('xdsl', 'numpy') if m in sys.modules])"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"
