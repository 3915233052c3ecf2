"""All notations together: bare texts, prefixes, translation, errors, and speed on hostile texts."""

import random
import time

import pytest

from layoutc import notations
from layoutc.errors import LayoutcError, NotationError
from layoutc.layout import Layout
from layoutc.notations import inference_engine, openvino
from layoutc.notations.onednn_tags import canonical_tags, enum
from layoutc.notations.openvino_formats import formats
from layoutc.notations.reading import Reading

SAMPLES = [
    "nchw",
    "nChw16c",
    "OIhw4i16o4i",
    "gIOdhw2i8o16i2o",
    "aBcd5b",
    "b_fs_yx_fsv16",
    "os_is_zyx_osa4_isa8_osv8_isv4_swizzled_by_4",
    "gs_oi_yxs_gsv4_yxsv4",
    "os_iyx_osv32__ai32",
    "NDHWC",
    "BlockingDesc({1,4,20,20,8},{0,1,2,3,1},3,{0,0,0,0,0},{1,2,3,4,5})",
    "sizes={2,3} strides={5,1}",
    "{2,3},{5,1}",
    '#layout.tag<"aB8b", offset = 16, low = [0, 1]>',
    "affine_map<(d0, d1) -> (d0, d1 floordiv 8, d1 mod 8)>",
    "(n, c) -> (n * 3 + (c floordiv 8) * 8 + c mod 8 + 3)",
    "strided<[5, 1], offset: 3>",
    "memref<2x17xf32, strided<[20, 1], offset: 3>>",
    'memref<2x17x5xui8, #layout.tag<"aBc8b", low = [0, 1, 0], align = [1, 1, 4]>>',
    "onednn:nchw",
    "ie:NCHW",
]


@pytest.mark.parametrize("text", SAMPLES)
def test_bare_and_named_texts_are_the_same(text: str):
    bare = text.partition(":")[2] if text.startswith(("onednn:", "ie:")) else text
    readings: list[Reading] = []
    for name in notations.NOTATIONS:
        try:
            readings.append(notations.read(f"{name}:{bare}"))
        except NotationError:
            continue
    assert set(readings) == {notations.read(text)}


def test_no_name_means_two_things():
    for text in [*canonical_tags(), *openvino.format_names()]:
        notations.read(text)


def test_a_text_that_notations_read_differently_lists_the_readings(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(openvino, "read", lambda text: Reading(Layout.row_major(2)))  # pyright: ignore[reportUnknownLambdaType, reportUnknownArgumentType]
    notations.read.cache_clear()
    with pytest.raises(NotationError) as caught:
        notations.read("ba")
    notations.read.cache_clear()
    assert caught.value.message == (
        "several notations read this, differently: onednn:ba is (a, b) -> (b, a), openvino:ba is (d0, d1) -> (d0, d1)"
    )


@pytest.mark.parametrize(
    ("text", "column", "message"),
    [
        ("nChw16q", 6, "unknown axis 'q', a block names one of n c h w; did you mean nChw16c"),
        ("onednn:nChw16q", 13, "unknown axis 'q'"),
        ("openvino:nchw", 9, "unknown axis 'n'"),
        ("b_fs_yx_fsv16q", 13, "expected '_' or the end; did you mean b_fs_yx_fsv16"),
        ("nv12", 0, "nv12 is not an offset map: two planes"),
        ("winograd_2x3_s1_data", 0, "winograd_2x3_s1_data is not an offset map"),
        ("ANY", 0, "layout ANY describes no memory"),
        ("BlockingDesc({1,2},{0,2})", 19, "axis 1 is missing from the order, which has axis 2"),
        ("{2,3},{5}", 6, "got 1 strides, expected 2"),
        ("(n, c) -> (n, c + 1)", 14, "constant 1 in a digit"),
        ("strided<[5, ?]>", 12, "a dynamic stride"),
        ("BlockingDesc({1,2},{0,1},3,{0,4})", 0, "dim offsets put the first element at 4"),
        ("{}", 0, "got 0 sizes"),
        ("(c) -> (" + "c+" * 3000 + "c)", 0, "a map has at most 4000 characters"),
    ],
)
def test_the_error_is_that_of_the_notation_that_was_meant(text: str, column: int, message: str):
    with pytest.raises(NotationError) as caught:
        notations.read(text)
    assert (caught.value.text, caught.value.column) == (text, column)
    assert caught.value.message.startswith(message)


def test_an_unknown_notation_lists_the_known_ones():
    with pytest.raises(
        LayoutcError, match="unknown notation 'tflite', expected one of onednn openvino ie directml affine"
    ):
        notations.translate("nchw", "tflite")


def test_a_system_as_it_is_spelled_is_taken_for_its_notation():
    for call in (lambda: notations.translate("nchw", "OpenVINO"), lambda: notations.read("OpenVINO:bfyx")):
        with pytest.raises(LayoutcError, match=r"unknown notation 'OpenVINO', .*; did you mean openvino"):
            call()
    for name in ("OpenVINO", "openvino", "oneDNN", "DirectML", "ie", "memref"):
        with pytest.raises(NotationError, match=f"{name.lower()} is a notation, expected a layout in its words"):
            notations.read(name)


@pytest.mark.parametrize(
    ("text", "to", "expected"),
    [
        ("nChw16c", "openvino", "b_fs_yx_fsv16"),
        ("b_fs_yx_fsv16", "onednn", "aBcd16b"),
        ("NHWC", "onednn", "acdb"),
        ("nhwc", "ie", "NHWC"),
        ("oidhw", "ie", "OIDHW"),
        ("goihw", "ie", "GOIHW"),
        ("nhwc", "directml", "NHWC"),
        ("nChw8c", "affine", "affine_map<(d0, d1, d2, d3) -> (d0, d1 floordiv 8, d2, d3, d1 mod 8)>"),
        ("(n, c, h, w) -> (n, c floordiv 16, h, w, c mod 16)", "openvino", "b_fs_yx_fsv16"),
        ("{2,3},{5,1}", "affine", "affine_map<(d0, d1) -> (d0 * 5 + d1)>"),
        ("{2,3},{5,1}", "ie", "BlockingDesc({2,3}, {0,1}, 0, {0,0}, {5,1})"),
    ],
)
def test_translate(text: str, to: str, expected: str):
    assert notations.translate(text, to) == expected


@pytest.mark.parametrize(
    ("text", "to", "reason"),
    [
        ("nChw5c", "openvino", "OpenVINO has no data format for .* not 5"),
        ("nChw16c", "ie", "express no blocks"),
        ("nChw16c", "directml", "one stride per axis"),
        ("gs_oi_yxs_gsv4_yxsv4", "onednn", "no flattened axes"),
        ("os_i_osv8__ai8", "affine", "no alignment"),
        ("os_is_yx_osv32_isv4_swizzled_by_2", "onednn", "the most significant first"),
        ("{2,3},{5,1}", "onednn", "has no strides, offset or border"),
        ("{2,3},{5,1}", "openvino", "has no strides or offset"),
    ],
)
def test_a_refusal_says_what_the_target_cannot_express(text: str, to: str, reason: str):
    with pytest.raises(LayoutcError, match=reason):
        notations.translate(text, to)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("tensor<2x17xf32>", "expected memref<...>, affine_map<...>, strided<...> or a layout's name"),
        ("dnnl_nchw", "unknown prefix 'dnnl_'; did you mean nchw"),
        ("format_bfyx", "unknown prefix 'format_'; did you mean bfyx"),
        ("strides={5,1}, sizes={2,3}", "sizes stand before strides, as in sizes={2,3}, strides={5,1}"),
    ],
)
def test_a_text_in_no_notation_gets_a_hint(text: str, message: str):
    with pytest.raises(NotationError) as caught:
        notations.read(text)
    assert (caught.value.column, caught.value.message) == (0, message)


@pytest.mark.parametrize(
    ("text", "column", "message"),
    [
        ("onednn:bfyx", 9, "unknown axis 'y'; did you mean openvino:bfyx"),
        ("onednn:b_fs_yx_fsv16", 8, "expected an axis, a block size or the end; did you mean openvino:b_fs_yx_fsv16"),
        ("memref:nchw", 7, "expected memref<...>; did you mean onednn:nchw"),
        ("ie:nchw", 3, "did you mean NCHW"),
        ("onednn:dnnl_nchw", 7, "unknown prefix 'dnnl_'; did you mean nchw"),
        ("blocked", 0, "layout BLOCKED needs its blocked dims and order, as BlockingDesc({..}, {..})"),
        ("Any", 0, "layout ANY describes no memory"),
        ("NCHWc", 4, "axis 'c' appears twice; did you mean nChw4c"),
        ("nchwc8", 4, "axis 'c' appears twice; did you mean nChw8c"),
        ("BlockingDsc({2,3}, {1,0})", 0, "did you mean BlockingDesc"),
    ],
)
def test_what_is_meant_is_near_and_a_layout(text: str, column: int, message: str):
    """In the notation that the prefix names, or in another one; or what is known says why it is no layout."""
    with pytest.raises(NotationError) as caught:
        notations.read(text)
    assert caught.value.column == column
    assert caught.value.message.endswith(message)


def test_every_name_that_is_meant_reads():
    """Of texts in which a character of a name is another, is left out, or stands twice, in any case."""
    drawn, meant = random.Random(5), set[str]()
    names = drawn.sample([*formats(), *canonical_tags()], 300)
    for name in (*names, *openvino.refused_formats(), *inference_engine.DATA_LAYOUTS, "ANY", "BLOCKED", "BlockingDesc"):
        at = drawn.randrange(len(name))
        for middle in ("q", "", 2 * name[at], name[at].swapcase()):
            try:
                notations.read(name[:at] + middle + name[at + 1 :])
            except NotationError as error:
                meant.update(error.message.partition("; did you mean ")[2:])
    for text in sorted(meant - {""}):
        assert notations.read(text)
    assert len(meant) > 100


def test_names_of_a_layout():
    assert notations.names(notations.parse("nhwc")) == {
        "onednn": "acdb",
        "openvino": "byxf",
        "ie": "NHWC",
        "directml": "NHWC",
        "affine": "affine_map<(d0, d1, d2, d3) -> (d0, d2, d3, d1)>",
    }
    assert list(notations.names(notations.parse("aBcd5b"))) == ["onednn", "affine"]


def test_every_name_of_every_system_reads_back():
    layouts = {notations.parse(name) for name in (*openvino.format_names(), *(f"onednn:{t}" for t in enum()))}
    for layout in layouts:
        for system, name in notations.names(layout).items():
            assert notations.parse(f"{system}:{name}") == layout
    assert len(layouts) > 900


def test_a_layout_stands_wherever_a_text_does():
    layout = notations.parse("nChw8c")
    assert notations.parse(layout) is layout
    assert notations.translate(layout, to="openvino") == "b_fs_yx_fsv8"
    assert notations.desc(layout, (2, 17, 5, 4)) == notations.desc("nChw8c", (2, 17, 5, 4))


def test_parse_refuses_what_a_layout_cannot_hold():
    assert notations.parse("{2,3}") == Layout.row_major(2)
    with pytest.raises(NotationError, match="the text gives strides, an offset or sizes"):
        notations.parse("{2,3},{5,1}")


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        ({"text": "nchw"}, "needs 4 dims, got none"),
        ({"text": "nchw", "dims": (2, 17)}, r"dims \(2, 17\) have rank 2, layout .* has rank 4"),
        ({"text": "ab", "dims": (2, 3), "strides": (1,)}, "got 1 strides, expected 2"),
        ({"text": "{2,3},{5,1}", "strides": (7, 1)}, r"strides \(7, 1\) given, the text already says \(5, 1\)"),
        ({"text": "strided<[1], offset: 3>", "dims": (2,), "offset": 4}, "offset 4 given, the text already says 3"),
        ({"text": "ab", "dims": (2, 3), "align": (2,)}, "got 1 alignments, expected 2, one per axis"),
        ({"text": "ab", "dims": (2, 3), "element_type": "f33"}, "unknown element type 'f33'"),
        ({"text": 7, "dims": (2, 3)}, "a layout is a text or a Layout, got int"),
    ],
)
def test_parts_that_do_not_fit_each_other_are_refused(given: dict[str, object], reason: str):
    with pytest.raises(LayoutcError, match=reason):
        notations.desc(**given)  # pyright: ignore[reportArgumentType]


def test_a_layout_and_options():
    desc = notations.desc(
        Layout.row_major(2), (3, 5), "s8", strides=(8, 1), offset=2, low=(1, 0), high=(0, 1), align=(1, 4)
    )
    assert desc.physical_shape == (4, 8)
    assert desc.offset(0, 0) == 10


def hostile(count: int) -> list[str]:
    """Random texts over the notations' characters, and samples with a few edits; the seed is fixed."""
    draw = random.Random(20)
    letters = "".join(sorted(set("".join(SAMPLES)))) + "?-~\u0663\n\0"
    texts: list[str] = []
    for number in range(count):
        text = draw.choice(SAMPLES) if number % 3 else "".join(draw.choices(letters, k=draw.randrange(24)))
        for _ in range(draw.randrange(1, 4)):
            at, length = draw.randrange(len(text) + 1), draw.randrange(3)
            text = text[:at] + "".join(draw.choices(letters, k=draw.randrange(3))) + text[at + length :]
        texts.append(text)
    return texts


def test_hostile_texts_raise_only_layoutc_errors_at_once():
    slowest = 0.0
    notations.read("(a) -> (a)")  # loads xDSL
    notations.read("memref<f32>")
    for text in hostile(30_000):
        start = time.process_time()
        try:
            reading = notations.read(text)
            notations.names(reading.layout)
            reading.bind(reading.dims or (3,) * reading.layout.rank, None)
        except LayoutcError as error:
            assert not isinstance(error, NotationError) or 0 <= error.column <= len(error.text)
            str(error)
        slowest = max(slowest, time.process_time() - start)
    assert slowest < 1  # a hang, not a slow machine


@pytest.mark.parametrize("name", notations.NOTATIONS)
@pytest.mark.parametrize(
    "unit", ["a", "A", "1", "_", "b_fs", "a8", "{", "(", "{1,", "a,", "9" * 50, "(a)->(", "strided<["]
)
def test_ten_thousand_characters_fail_at_once(name: str, unit: str):
    text = (unit * 10_000)[:10_000]
    start = time.process_time()
    with pytest.raises(NotationError):
        notations.read(f"{name}:{text}")
    assert time.process_time() - start < 0.5


def test_a_descriptor_from_text_is_quick_when_warm():
    notations.desc("nChw16c", (2, 17, 5, 4))
    start = time.process_time()
    for _ in range(2_000):
        notations.desc("nChw16c", (2, 17, 5, 4))
    assert (time.process_time() - start) / 2_000 < 200e-6  # measured: see the benchmarks


@pytest.mark.parametrize(
    ("text", "to", "dims", "expected"),
    [
        ("nChw16c", "onednn", (2, 16, 3, 3), "aBcd16b"),
        ("{2,1,5,4},{20,20,4,1}", "onednn", None, "abcd"),
        ("{2,16,3,3},{144,1,48,16}", "openvino", None, "byxf"),
        ("{2,3,5,4},{60,1,12,3}", "ie", None, "NHWC"),
        (
            "(n, c, h, w) -> (n, c floordiv 8, h, w, (c floordiv 2) mod 4, c mod 2)",
            "openvino",
            (2, 17, 3, 3),
            "b_fs_yx_fsv8",
        ),
    ],
)
def test_dims_find_names_that_the_layout_alone_has_not(text, to, dims, expected):
    assert notations.translate(text, to, dims) == expected
    desc = notations.desc(text, dims)
    assert notations.desc(f"{to}:{expected}", desc.dims).same_memory(desc)


def test_a_memory_without_a_name_is_refused():
    with pytest.raises(LayoutcError):
        notations.translate("{2,3},{5,1}", "onednn")
