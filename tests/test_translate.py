"""Translation between every ordered pair of systems: each counterpart is the same memory for random dims."""

from __future__ import annotations

import random
from functools import cache

import pytest

from layoutc import notations
from layoutc.errors import LayoutcError
from layoutc.notations.directml_labels import KNOWN_LABELS
from layoutc.notations.inference_engine_layouts import Layout as InferenceEngineLayout
from layoutc.notations.onednn_tags import enum
from layoutc.notations.openvino_names import format_names

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


def test_openvino_names_that_are_onednn_tags() -> None:
    pairs = counterparts("openvino", "onednn")
    assert len(pairs) == 116
    assert sum(tag.removeprefix("onednn:") in enum() for _, tag in pairs) == 91


@pytest.mark.parametrize("wrong", [None, 3, b"openvino", [], {}])
def test_what_names_no_notation_is_said_to_be_none(wrong: object) -> None:
    with pytest.raises(LayoutcError, match=r"^notation is an? \w+, expected a str$"):
        notations.translate("nchw", to=wrong)  # pyright: ignore[reportArgumentType]
