"""`layoutc translate`: one layout in other systems' words."""

from __future__ import annotations

import json

import click

from layoutc import notations
from layoutc.tools import options


@click.command("translate")
@click.argument("notation")
@click.option("--to", "system", metavar="SYSTEM", help="Print this system's name alone, as openvino.")
@options.json_option
def command(notation: str, system: str | None, as_json: bool) -> None:
    """Print a layout's name in every system that has one, or in one system."""
    if system is not None:
        names = {system: notations.translate(notation, to=system)}
    else:
        names = notations.names(notations.read(notation).layout)
    if as_json:
        click.echo(json.dumps(names, indent=2))
        return
    for name_of, name in names.items():
        click.echo(name if system else f"{name_of:<17} {name}")
