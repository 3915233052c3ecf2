"""The attributes of a conversion on the command line: `0.02`, `0.1,0.2@axis=1`, `scales.npy@axis=0,1@groups=1,32`."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from layoutc.conversion import Attributes, Compensation
from layoutc.errors import LayoutcError
from layoutc.param import Param
from layoutc.tools.options import INTEGER, integers

Command = TypeVar("Command", bound=Callable[..., Any])
Made = TypeVar("Made")

NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")
FORMS = "expected one, 0.1,0.2@axis=1 with commas, or a .npy file"
SUMS = (
    "Append sums of s8 weights: s8s8=AXES, asymmetric=AXES or both with / between, as s8s8=0/asymmetric=0. "
    "Excludes zero points and --sum."
)
KEYS = {"axis": "AXES", "groups": "SIZES", "dtype": "TYPE"}
"""what may follow the values, and what each is followed by"""


def number(text: str) -> int | float:
    """One number: an integer if it is written as one."""
    if INTEGER.fullmatch(text):
        return int(text)
    if not NUMBER.fullmatch(text):
        raise click.BadParameter(f"{text[:40]!r} is not a number")
    return float(text)


def param(text: str) -> Param:
    """The values of a scale or zero point: numbers, a .npy file or `argument`, then `@axis=`, `@groups=`, `@dtype=`."""
    values, *parts = text.split("@")
    given: dict[str, Any] = {}
    for part in parts:
        key, _, value = part.partition("=")
        if key not in KEYS or key in given or not value.strip():
            expected = ", ".join(f"@{name}={what}" for name, what in KEYS.items())
            raise click.BadParameter(f"{part[:40]!r} is not one of {expected}, each once")
        given[key] = value if key == "dtype" else integers(value)
    form = given.get("axis", ()), given.get("groups", ()), given.get("dtype")
    return Param(None if values == "argument" else _numbers(values, given.get("dtype")), *form)


def _numbers(text: str, dtype: str | None) -> object:
    if not text.endswith(".npy"):
        if not all(map(NUMBER.fullmatch, text.split(","))):
            raise click.BadParameter(f"{text[:40]!r} is not a number; {FORMS}")
        return [number(value) for value in text.split(",")]
    from layoutc.tools.npy_files import read_npy
    from layoutc.views import stored_type

    array = read_npy(Path(text))
    if array.dtype.kind != "V":
        return array
    if dtype is None:
        raise click.BadParameter(f"{text} holds NumPy type {array.dtype}; @dtype= says what that is, as @dtype=bf16")
    return array.view(stored_type(array, dtype).numpy)


def compensation(text: str) -> Compensation:
    """`s8s8=0`, `asymmetric=0,1`, or both with a `/` between."""
    given: dict[str, tuple[int, ...]] = {}
    for part in text.split("/"):
        key, _, axes = part.partition("=")
        if key not in ("s8s8", "asymmetric") or key in given:
            raise click.BadParameter(f"{part[:40]!r} is neither s8s8=AXES nor asymmetric=AXES, each once")
        given[key] = integers(axes)
    return _made(Compensation, given.get("s8s8"), given.get("asymmetric"))


def _made(what: Callable[..., Made], *values: object) -> Made:
    try:
        return what(*values)
    except LayoutcError as error:
        raise click.BadParameter(str(error)) from None


def _values(_: click.Context, __: click.Parameter, text: str | None) -> Param | None:
    return None if text is None else _made(param, text)


def attribute_options(command: Command) -> Command:
    """The attributes of a conversion, under the names of its fields."""
    options = (
        click.option("--src-scale", callback=_values, metavar="VALUES", help="Factor of the source."),
        click.option("--src-zero-point", callback=_values, metavar="VALUES", help="Taken off the source first."),
        click.option("--dst-scale", callback=_values, metavar="VALUES", help="Divisor of the result."),
        click.option("--dst-zero-point", callback=_values, metavar="VALUES", help="Added to the result last."),
        click.option("--sum", type=number, metavar="BETA", help="Factor of what the destination holds, added."),
        click.option("--reciprocal", is_flag=True, help="Multiply by 1 / dst scale instead of dividing."),
        click.option("--compensation", type=compensation, metavar="SUMS", help=SUMS),
    )
    for option in reversed(options):
        command = option(command)
    return command


def given_attributes(options: dict[str, Any]) -> Attributes:
    """Those options of a command that are attributes. Raises UsageError for one that does nothing without another."""
    if options["reciprocal"] and options["dst_scale"] is None:
        raise click.UsageError("--reciprocal needs --dst-scale")
    return Attributes(**{name: options[name] for name in Attributes.__annotations__})
