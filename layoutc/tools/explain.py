"""`layoutc explain`: whether two layouts are the same memory, and where they differ if not."""

from __future__ import annotations

import json
from dataclasses import asdict, replace

import click

from layoutc import notations
from layoutc.compare import Verdict, compare, first_difference
from layoutc.notations.reading import Reading
from layoutc.tools import options


@click.command("explain")
@click.argument("one")
@click.argument("other")
@options.dims_option
@options.json_option
def command(one: str, other: str, dims: tuple[int, ...] | None, as_json: bool) -> None:
    """
    Say whether two layouts mean the same memory: for all dims, for the given dims, or not.

    If not, print the smallest index whose offsets differ, and both offsets in elements.
    """
    are_layouts = all(is_layout_alone(notations.read(text)) for text in (one, other))
    verdict = verdict_of(one, other, dims)
    if as_json:
        click.echo(json.dumps(asdict(verdict), indent=2))
        return
    click.echo("\n".join(in_words(one, other, verdict, are_layouts, dims is not None)))


def verdict_of(one: str, other: str, dims: tuple[int, ...] | None) -> Verdict:
    """Compares layouts; where a text says more than a layout, descriptors of its dims, or of the given ones."""
    readings = [notations.read(text) for text in (one, other)]
    if all(map(is_layout_alone, readings)):
        return compare(readings[0].layout, readings[1].layout, dims)
    dims = dims or next((reading.dims for reading in readings if reading.dims), None)
    stated = [reading.element_type for reading in readings]
    common = next(filter(None, stated), None)
    descs = [replace(reading, element_type=common).bind(dims, None) for reading in readings]
    names = tuple(type.name for type in stated if type)
    return Verdict(
        for_all_dims=False,
        dims=descs[0].dims,
        difference=first_difference(*descs),
        same_padding=descs[0].same_memory(descs[1]),
        element_types=names if len(set(names)) == 2 else (),
    )


def is_layout_alone(reading: Reading) -> bool:
    """Whether a text says nothing of dims, strides or elements, so that it can be compared for all dims."""
    return reading.is_layout and reading.dims is None and reading.element_type is None


def in_words(one: str, other: str, verdict: Verdict, are_layouts: bool, dims_given: bool) -> list[str]:
    """
    The verdict, the reason on the second line.

    What is no layout alone, but has dims, strides or an element type, says nothing of other dims.
    """
    if verdict.for_all_dims:
        return ["equal for all dims"]
    assert verdict.dims is not None
    shown = ",".join(map(str, verdict.dims)) or "none"
    if verdict.difference is None:
        rest = "" if verdict.same_padding else "; block padding or size differ"
        if verdict.element_types:
            rest += f"; elements are {' and '.join(verdict.element_types)}"
        if are_layouts and not dims_given:
            return [f"equal offsets for all dims tried{rest}"]
        return [f"equal for dims {shown}{', not for all dims' if are_layouts else ''}{rest}"]
    here, there = verdict.difference.offsets
    return [
        f"different for dims {shown}",
        f"index {verdict.difference.index} has offset {here} in {one}, {there} in {other}",
    ]
