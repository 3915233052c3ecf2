"""Option types and options that the sub-commands of `layoutc` share."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from layoutc.planning.machine import ALIGNMENT

Command = TypeVar("Command", bound=Callable[..., Any])

INTEGER = re.compile(r"[+-]?[0-9]{1,40}")
MAX_LINES = 2**63 - 1


def integers(text: str) -> tuple[int, ...]:
    """`2,17,5,4`; the empty text is the empty list, as for a tensor of rank 0."""
    parts = [part.strip() for part in text.split(",")] if text.strip() else []
    for part in parts:
        if not INTEGER.fullmatch(part):
            raise click.BadParameter(f"{part[:40]!r} is not an integer; expected integers with commas, as 2,17,5,4")
    return tuple(map(int, parts))


def integer(text: str) -> int:
    """One integer."""
    if not INTEGER.fullmatch(text):
        raise click.BadParameter(f"{text[:40]!r} is not an integer")
    return int(text)


def line_count(text: str) -> int:
    """A number of lines, or `all`."""
    if text == "all":
        return MAX_LINES
    if not INTEGER.fullmatch(text) or not 0 <= int(text) <= MAX_LINES:
        raise click.BadParameter(f"{text[:40]!r} is neither a number of lines nor 'all'")
    return int(text)


def file(text: str) -> Path:
    """A file's path. The empty text, which `Path` takes for the current folder, names none."""
    if not text:
        raise click.BadParameter("'' names no file")
    return Path(text)


def dims_option(command: Command) -> Command:
    """`--dims`: the logical sizes."""
    text = "Logical sizes, one per axis, as 2,17,5,4."
    return click.option("--dims", type=integers, metavar="D0,D1,...", help=text)(command)


def dtype_option(command: Command) -> Command:
    """`--dtype`: the element type in any system's words."""
    return click.option("--dtype", metavar="TYPE", help="Element type, as f32, bf16, s8 or int8.")(command)


def to_dtype_option(command: Command) -> Command:
    """`--to-dtype`: the element type to convert to."""
    return click.option("--to-dtype", metavar="TYPE", help="Element type to write. Default: as it is.")(command)


def json_option(command: Command) -> Command:
    """`--json`: data instead of text."""
    return click.option("--json", "as_json", is_flag=True, help="Print JSON.")(command)


MACHINES = "Machine to plan for: native, avx512, avx2, sse2, neon, generic"


def target_option(command: Command) -> Command:
    """`--target`: what machine a reorder is planned for, if it is."""
    return _target(f"{MACHINES}; plain for textbook loops.", command)


def planned_target_option(command: Command) -> Command:
    """`--target`, where there must be a plan."""
    return _target(f"{MACHINES}.", command)


def _target(text: str, command: Command) -> Command:
    option = click.option("--target", "plan_for", default="native", show_default=True, metavar="TARGET", help=text)
    return option(command)


def threads_option(command: Command) -> Command:
    """`--threads`: how many threads share a reorder."""
    text = "Threads that share a large reorder."
    return click.option("--threads", type=integer, default="1", show_default=True, metavar="N", help=text)(command)


def alignment_option(command: Command) -> Command:
    """`--alignment`: what the destination's address is a multiple of."""
    text = "What the destination's address is a multiple of; the code is right at any other, and slower there."
    default = str(ALIGNMENT)
    return click.option("--alignment", type=integer, default=default, show_default=True, metavar="BYTES", help=text)(
        command
    )


def from_to_options(command: Command) -> Command:
    """`--from` and `--to`: the two layouts of a reorder."""
    command = click.option("--to", "target", required=True, metavar="NOTATION", help="Layout to write.")(command)
    return click.option("--from", "source", required=True, metavar="NOTATION", help="Layout to read.")(command)


def tuned_option(command: Command) -> Command:
    """`--tuned`: a file that `layoutc tune` wrote."""
    text = "Take plans from this file of `layoutc tune` where it has them; default $LAYOUTC_TUNED."
    return click.option("--tuned", type=file, metavar="FILE", help=text)(command)
