"""`layoutc describe`: everything about one memory descriptor."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import click

from layoutc import notations
from layoutc.descriptor import MemoryDesc
from layoutc.errors import NotationError
from layoutc.layout import Layout
from layoutc.tools import options
from layoutc.tools.facts import Facts, desc_facts, layout_facts, memory_order, type_text
from layoutc.tools.memory_order import line_count, listing
from layoutc.tools.translate import names_of

LABELS = {
    "layout": "layout",
    "axes": "axes",
    "offset_map": "offset map",
    "element_type": "element type",
    "values": "values",
    "dims": "dims",
    "padded_dims": "padded dims",
    "physical_axes": "physical axes",
    "physical_shape": "physical shape",
    "strides": "strides",
    "inner_blocks": "inner blocks",
    "align": "alignment",
    "base_offset": "base offset",
    "low": "border before",
    "high": "border after",
    "elements": "elements",
    "block_padding": "block padding",
    "size_bytes": "size in bytes",
    "injective": "injective",
}


@click.command("describe")
@click.argument("notation")
@options.dims_option
@options.dtype_option
@click.option("--strides", type=options.integers, default="", help="Elements, one per physical axis, slowest first.")
@click.option("--offset", type=options.integer, default="0", help="Base offset in elements.")
@click.option("--low", type=options.integers, default="", help="Border elements before each axis.")
@click.option("--high", type=options.integers, default="", help="Border elements after each axis.")
@click.option("--align", type=options.integers, default="", help="A multiple that each axis is padded to.")
@click.option("--lines", type=options.line_count, metavar="N|all", help="Lines of the memory order to print.")
@options.json_option
def command(notation: str, dims: tuple[int, ...] | None, lines: int | None, as_json: bool, **given: Any) -> None:
    """
    Print everything about one memory descriptor.

    Without --dims: what is known of the layout alone. The memory order is printed whole up to 256 positions, else its
    first 16 and its last one.
    """
    described = described_as(notation, dims, **given)
    facts = layout_facts(described) if isinstance(described, Layout) else desc_facts(described)
    facts["names"] = names_of(described)
    if as_json:
        if isinstance(described, MemoryDesc):
            facts["memory_order"] = memory_order(described, line_count(described, lines))
        click.echo(json.dumps({"notation": notation} | facts, indent=2))
        return
    for line in facts_text(facts):
        click.echo(line)
    if isinstance(described, MemoryDesc):
        click.echo("memory order:")
        for line in listing(described, lines):
            click.echo(line)


def described_as(notation: str, dims: tuple[int, ...] | None, dtype: str | None, **given: Any) -> Layout | MemoryDesc:
    """The descriptor, or the layout alone where neither the options nor the text say the dims."""
    reading = notations.read(notation)
    if dims is not None or reading.dims is not None:
        return notations.desc(notation, dims, dtype, **given)
    if dtype or any(given.values()):
        raise click.UsageError("--dtype, --strides, --offset, --low, --high and --align need --dims")
    if not reading.is_layout:
        raise NotationError(notation, 0, "the text gives strides, an offset or sizes: it needs --dims")
    return reading.layout


def facts_text(facts: Facts) -> Iterator[str]:
    """The facts, one per line; the ones of each physical axis together."""
    for key, label in LABELS.items():
        if key in facts:
            text = type_text(facts[key]) if key == "values" else _value_text(facts[key])
            yield f"{label:<15} {text}"
    yield "names"
    for system, name in facts["names"].items():
        yield f"  {system:<13} {name}"


def _value_text(value: Any) -> str:
    if value is None:
        return "undecided"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list):
        return ", ".join(map(_value_text, value)) or "none"  # pyright: ignore[reportUnknownArgumentType]
    if isinstance(value, dict):
        return " ".join(map(str, value.values()))  # pyright: ignore[reportUnknownArgumentType]
    return str(value)
