"""`layoutc translate`: one layout in other systems' words."""

from __future__ import annotations

import json

import click

from layoutc import notations
from layoutc.descriptor import MemoryDesc
from layoutc.errors import LayoutcError
from layoutc.layout import Layout
from layoutc.tools import options


@click.command("translate")
@click.argument("notation")
@click.option("--to", "system", metavar="SYSTEM", help=f"Print one name alone: {', '.join(notations.NOTATIONS)}.")
@options.dims_option
@options.dtype_option
@options.json_option
def command(notation: str, system: str | None, dims: tuple[int, ...] | None, dtype: str | None, as_json: bool) -> None:
    """
    Print a layout's name in every system that has one, or in one system.

    With --dims also what names one tensor's memory only, such as DirectML's sizes and strides.
    """
    if system is not None:
        names = {system: notations.translate(notation, system, dims, dtype)}
    else:
        names = _names(notation, dims, dtype)
    if as_json:
        click.echo(json.dumps(names, indent=2))
        return
    for name_of, name in names.items():
        click.echo(name if system else f"{name_of:<9} {name}")


def _names(notation: str, dims: tuple[int, ...] | None, dtype: str | None) -> dict[str, str]:
    """The names of the layout, or of the descriptor where it takes one to say what the text means."""
    reading = notations.read(notation)
    elements = reading.elements(dtype)
    if dims is None and reading.says_all(elements):
        return notations.names(reading.layout, elements)
    return names_of(reading.bind(dims, elements))


def names_of(described: Layout | MemoryDesc) -> dict[str, str]:
    """What each notation calls it; those that cannot express it are left out."""
    if isinstance(described, Layout):
        return notations.names(described)
    found: dict[str, str] = {}
    for name in notations.NOTATIONS:
        try:
            found[name] = notations.notation(name).format_desc(described)
        except LayoutcError:
            continue
    return found
