"""Checks of what a public constructor is given: integers and tuples of them, with got and expected."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache, wraps
from operator import index
from typing import Any, ParamSpec, TypeVar, get_type_hints

from layoutc.errors import LayoutcError

P = ParamSpec("P")
T = TypeVar("T")

MAX_SIZE = 2**63 - 1
"""sizes, strides and offsets stay within 63 bits"""
UNORDERED = (set, frozenset, dict)


def integer(name: str, value: object, least: int = 0, most: int = MAX_SIZE) -> int:
    """The value as a plain int from `least` to `most`; `name` says what it is."""
    return _number(f"{name} is", value, least, most)


def integers(name: str, values: Sequence[int] | Any, least: int = 0) -> tuple[int, ...]:
    """The values as plain ints, each `least` or more; `name` says what they are. A set or a dict has no order."""
    try:
        if issubclass(type(values), UNORDERED):
            raise TypeError
        checked = tuple(map(int, map(index, values)))
    except TypeError:
        raise LayoutcError(f"{name} {shown(values)} {verb(name, 'are')} no sequence of integers") from None
    for value in checked:
        if not least <= value <= MAX_SIZE:
            _number(f"{name} {shown(checked)} {verb(name, 'hold')}", value, least)
    return checked


def _number(what: str, value: Any, least: int, most: int = MAX_SIZE) -> int:
    try:
        number = int(index(value))
    except TypeError:
        text = shown(repr(value) if isinstance(value, str) else value)
        raise LayoutcError(f"{what} {text}, expected an integer") from None
    if not least <= number <= most:
        expected = f"{least} or more and below 2^63" if most == MAX_SIZE else f"{least} to {most}"
        raise LayoutcError(f"{what} {shown(number)}, expected {expected}")
    return number


def instance(name: str, value: object, kind: type, hint: str = "") -> None:
    """Raises LayoutcError unless the value is of this class; `hint` says how to come by one."""
    if not isinstance(value, kind):
        raise LayoutcError(f"{name} is {a_class(type(value))}, expected {a_class(kind)}{hint and '; ' + hint}")


def as_annotated(function: Callable[P, T]) -> Callable[P, T]:
    """
    The function, which raises LayoutcError for an argument that is not what its annotation says: an object of a class,
    an integer, or a sequence of integers. Arguments with other annotations it checks itself.
    """

    @cache
    def hints() -> dict[str, Any]:
        return get_type_hints(function)

    @wraps(function)
    def checked(*args: P.args, **kwargs: P.kwargs) -> T:
        for name, value in (*zip(hints(), args, strict=False), *kwargs.items()):
            _annotated(name, value, hints().get(name))
        return function(*args, **kwargs)

    return checked


def _annotated(name: str, value: object, kind: Any) -> None:
    name = name.replace("_", " ")
    if kind == Sequence[int]:
        integers(name, value, -MAX_SIZE)
    elif kind is int:
        integer(name, value, -MAX_SIZE)
    elif isinstance(kind, type):
        instance(name, value, kind)


def a_class(kind: type) -> str:
    """The name of a class with its article."""
    article = "an" if kind.__name__.startswith((*"aeiouAEIOU", "ndarray")) else "a"
    return f"{article} {kind.__name__}"


def verb(name: str, plural: str) -> str:
    """`plural`, or its singular where the name is none."""
    singular = {"are": "is", "have": "has", "hold": "holds"}
    return plural if name.endswith("s") else singular[plural]


def shown(value: object) -> str:
    """A value in an error: cut where it is long."""
    try:
        text = str(value)
    except ValueError:  # Python's limit of digits
        return "a number of thousands of digits"
    return text if len(text) <= 80 else text[:77] + "..."
