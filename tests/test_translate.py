"""Translation between every ordered pair of systems: each counterpart is the same memory for random dims."""

from __future__ import annotations

import random
from functools import cache

import pytest
from hypothesis import given

from layoutc import notations
from layoutc.descriptor import MemoryDesc
from layoutc.errors import LayoutcError
from layoutc.notations.directml_labels import KNOWN_LABELS
from layoutc.notations.inference_engine_layouts import Layout as InferenceEngineLayout
from layoutc.notations.onednn_tags import enum
from layoutc.notations.openvino_names import format_names
from layoutc.tools.translate import names_of as listed_names
from tests.strategies import many, memory_descs

SYSTEMS = ("onednn", "openvino", "ie", "directml", "affine")


@cache
def names_of(system: str) -> tuple[str, ...]:
    """The system's names of layouts, each with its prefix; affine has none of its own."""
    match system:
        case "onednn":
            tags = enum()
            listed = (*tags, *(alias for aliases in tags.values() for alias in aliases))
        case "openvino":
            listed = format_names()
        case "ie":
            listed = tuple(InferenceEngineLayout.__members__)
        case "directml":
            listed = KNOWN_LABELS
        case _:
            listed = tuple(notations.translate(f"onednn:{tag}", "affine") for tag in enum())
    return tuple(f"{system}:{name}" for name in dict.fromkeys(listed))


def counterparts(source: str, target: str) -> list[tuple[str, str]]:
    """The names of one system that another has a text for, for all dims."""
    found: list[tuple[str, str]] = []
    for name in names_of(source):
        try:
            if notations.read(name).is_layout:
                found.append((name, f"{target}:{notations.translate(name, target)}"))
        except LayoutcError:
            continue
    return found


@pytest.mark.parametrize("target", SYSTEMS)
@pytest.mark.parametrize("source", SYSTEMS)
def test_counterparts_are_the_same_memory(source: str, target: str) -> None:
    draw = random.Random(f"{source} {target}")
    pairs = counterparts(source, target)
    assert pairs
    for name, counterpart in pairs:
        rank = notations.parse(name).rank
        dims = tuple(draw.choice((1, 3, 5, 17, 33)) if rank < 6 else draw.choice((1, 2, 3)) for _ in range(rank))
        one, other = notations.desc(name, dims), notations.desc(counterpart, dims)
        assert one.same_memory(other), f"{name} and {counterpart} for {dims}"


@pytest.mark.parametrize("system", ["onednn", "openvino", "ie"])
def test_names_that_are_listed_for_dims_are_the_same_memory(system: str) -> None:
    draw = random.Random(system)
    found = [desc for name in names_of(system) if (desc := random_desc(draw, name)) is not None]
    assert len(found) > 10
    for desc in found:
        check_listed_names(desc)


def random_desc(draw: random.Random, name: str) -> MemoryDesc | None:
    """A tensor of that layout; None for a name of no memory, and for an odd x that takes two descriptors."""
    try:
        reading = notations.read(name)
        rank = reading.layout.rank
        return reading.bind([draw.choice((1, 2, 3, 8, 17)) if rank < 6 else 2 for _ in range(rank)], "s8")
    except LayoutcError:
        return None


@many(300)
@given(memory_descs())
def test_names_that_are_listed_for_any_descriptor_are_the_same_memory(desc: MemoryDesc) -> None:
    check_listed_names(desc)


def check_listed_names(desc: MemoryDesc) -> None:
    for system, text in listed_names(desc).items():
        found = notations.desc(f"{system}:{text}", desc.dims, desc.element_type)
        assert found.same_memory(desc), f"{system}:{text} of {desc}"


@many(100)
@given(memory_descs())
def test_a_descriptor_has_a_name_wherever_one_is_listed(desc: MemoryDesc) -> None:
    for system in listed_names(desc):
        name = notations.translate(desc, system)
        assert notations.desc(f"{system}:{name}", desc.dims, desc.element_type).same_memory(desc)


def test_a_descriptor_has_its_own_dims_and_type() -> None:
    blocked = notations.desc("nChw8c", (2, 17, 5, 4), "f32")
    assert notations.translate(blocked, "openvino") == "b_fs_yx_fsv8"
    for others in ({"dims": (2, 17, 5, 4)}, {"element_type": "f32"}):
        with pytest.raises(LayoutcError, match="a MemoryDesc has dims and an element type, expected no others"):
            notations.translate(blocked, "openvino", **others)  # pyright: ignore[reportArgumentType]


@pytest.mark.parametrize(
    ("text", "results"),
    [
        ("b_fs_yx_fsv16", "d0, d1 floordiv 16, d2, d3, d1 mod 16"),
        ("nhwc", "d2 * 16 + d3 * 8 + d1"),
        ("nChw4c", "(d1 floordiv 4) * 16 + d2 * 8 + d3 * 4 + d1 mod 4"),
        (
            'memref<1x8x2x2xf32, #layout.tag<"b_fs_yx_fsv16", offset = 3>>',
            "d0 * 64 + (d1 floordiv 16) * 64 + d2 * 32 + d3 * 16 + d1 mod 16 + 3",
        ),
    ],
)
def test_an_affine_map_keeps_the_padding_of_blocks_that_no_index_leaves(text: str, results: str) -> None:
    dims = None if text.startswith("memref") else (1, 8, 2, 2)
    assert notations.translate(text, "affine", dims) == f"affine_map<(d0, d1, d2, d3) -> ({results})>"


@pytest.mark.parametrize(
    ("options", "reason"), [("low = [1, 0]", "an affine map has no border"), ("align = [1, 4]", "has no alignment")]
)
def test_what_an_affine_map_cannot_hold_is_said(options: str, reason: str) -> None:
    with pytest.raises(LayoutcError, match=reason):
        notations.translate(f'memref<2x5xf32, #layout.tag<"ab", {options}>>', "affine")


@pytest.mark.parametrize("type", ["u4", "s4"])
@pytest.mark.parametrize("size", [16, 32, 64])
def test_formats_that_mean_another_layout_for_4_bits_have_other_names(size: int, type: str) -> None:
    tag, format = f"Abcd{size}a", f"os_iyx_osv{size}"
    assert notations.translate(format, "onednn") == tag
    with pytest.raises(LayoutcError, match="needs 4 dims, got none"):
        notations.translate(format, "onednn", element_type=type)
    with pytest.raises(LayoutcError, match=f"^openvino:{format} is another layout for {type}, got"):
        notations.translate(tag, "openvino", element_type=type)
    assert "openvino" not in notations.names(notations.parse(tag), type)
    assert notations.names(notations.parse(tag))["openvino"] == format


def test_openvino_names_that_are_onednn_tags() -> None:
    pairs = counterparts("openvino", "onednn")
    assert len(pairs) == 116
    assert sum(tag.removeprefix("onednn:") in enum() for _, tag in pairs) == 91


@pytest.mark.parametrize("wrong", [None, 3, b"openvino", [], {}])
def test_what_names_no_notation_is_said_to_be_none(wrong: object) -> None:
    with pytest.raises(LayoutcError, match=r"^notation is an? \w+, expected a str$"):
        notations.translate("nchw", to=wrong)  # pyright: ignore[reportArgumentType]
