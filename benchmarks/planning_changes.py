"""Changes of what the planner knows: other values of its rules, and the planner with them."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from types import ModuleType
from typing import Any

from layoutc import planning
from layoutc.errors import LayoutcError
from layoutc.planning.conversions.plan_conversions import parts_are_a_box
from layoutc.planning.conversions.plan_cost import box_instructions
from layoutc.planning.copies.strided_copy import strided_copies
from layoutc.planning.moves.boxes import best_box
from layoutc.planning.moves.cache_sets import most_in_a_set, share_evicted
from layoutc.planning.moves.plan_copy import instructions_each

MODULES = tuple(
    importlib.import_module(found.name)
    for found in pkgutil.walk_packages(planning.__path__, "layoutc.planning.")
    if not found.ispkg
)
Change = Callable[[Any], Any]


def to(value: Any) -> Change:
    return lambda _: value


def answering(value: Any) -> Change:
    """A function that gives this whatever it is asked."""

    def function(*_: Any) -> Any:
        return value

    return to(function)


def as_it_is(*copy_and_element: Any) -> Any:
    return copy_and_element


def unless_unpacked(function: Any) -> Any:
    """A function of plans, which leaves those alone whose elements are taken apart in a buffer."""

    def others(plan: Any, *more: Any) -> Any:
        return plan if plan.load == "unpacked" else function(plan, *more)

    return others


def first_of(found: Any, *_: Any) -> Any:
    return found


def of_each(change: Change) -> Change:
    """Of all values of a dict."""

    def function(found: Any) -> Any:
        return dict(zip(found, map(change, found.values()), strict=True))

    return function


def times(factor: float) -> Change:
    return lambda value: type(value)(value * factor)


def shape(**fields: Any) -> Change:
    """Of a macro shape; numbers are factors."""

    def change(found: Any) -> Any:
        if isinstance(found, dict):
            return of_each(change)(found)
        return replace(
            found, **{k: v if isinstance(v, str | bool) else int(getattr(found, k) * v) for k, v in fields.items()}
        )

    return change


def turned(found: Any) -> Any:
    """A macro shape whose inner loops follow the other side."""
    if isinstance(found, dict):
        return of_each(turned)(found)
    return replace(found, inner="dst" if found.inner == "src" else "src")


def shapes(name: str, *, prefetches: bool = False) -> dict[str, dict[str, Change]]:
    """Other macro shapes than this one."""
    others = {
        "half the bytes": shape(budget=0.5),
        "twice the bytes": shape(budget=2),
        "inner loops along the other side": turned,
        "half the source's run": shape(source_run=0.5),
        "twice the source's run": shape(source_run=2),
        "half the destination's run": shape(target_run=0.5),
        "twice the destination's run": shape(target_run=2),
    }
    if prefetches:
        others["no prefetch"] = shape(prefetch=False)
    return {words: {name: change} for words, change in others.items()}


@contextmanager
def changed(changes: Mapping[str, Change]) -> Generator[None, None, None]:
    """
    The planner with other values inside of the block; `file.NAME` changes what one file knows under a name.

    Raises LayoutcError for a name that it does not have.
    """
    places = [
        (module, name.rpartition(".")[2], change) for name, change in changes.items() for module in _knowing(name)
    ]
    if missing := [name for name in changes if not _knowing(name)]:
        raise LayoutcError(f"the planner has no {', '.join(sorted(missing))}")
    before = [(module, name, getattr(module, name)) for module, name, _ in places]
    try:
        for (module, name, value), (_, _, change) in zip(before, places, strict=True):
            setattr(module, name, change(value))
        _forget()
        yield
    finally:
        for module, name, value in before:
            setattr(module, name, value)
        _forget()


def _knowing(name: str) -> list[ModuleType]:
    """The modules that know a name, or the one file that stands before it."""
    file, _, alone = name.rpartition(".")
    found = [module for module in MODULES if hasattr(module, alone)]
    return [module for module in found if not file or module.__name__.endswith(f".{file}")]


def _forget() -> None:
    """What the planner remembers of copies, which other values found."""
    of_sets = most_in_a_set, share_evicted
    for remembers in (best_box, box_instructions, instructions_each, parts_are_a_box, strided_copies, *of_sets):
        remembers.cache_clear()
