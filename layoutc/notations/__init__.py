"""
The registry of notations: text in any of them to a layout or a memory descriptor, and back.

A notation is a module with `NAME`, `read(text) -> Reading`, `format(layout)` and `format_desc(desc)`; a new one is
a new file and a line in `_MODULES`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache, lru_cache
from importlib import import_module
from typing import Protocol, cast

from layoutc.checks import instance, integers
from layoutc.descriptor import MemoryDesc
from layoutc.element_type import ElementType, TypeName
from layoutc.element_type import element_type as element_type_of
from layoutc.errors import LayoutcError, NotationError
from layoutc.layout import Layout
from layoutc.notations.by_memory import NAMED, name_of_memory
from layoutc.notations.reading import Options, Reading
from layoutc.notations.scanner import MeantError

_MODULES = {
    "onednn": "onednn",
    "openvino": "openvino",
    "ie": "inference_engine",
    "directml": "directml",
    "affine": "affine",
    "memref": "memref",
}
NOTATIONS = tuple(_MODULES)
_TYPE = re.compile(r"[A-Za-z_!#][\w.]*<")
_PREFIX = re.compile(r"[A-Za-z_]\w*")


class Notation(Protocol):
    """What a module of a notation offers."""

    NAME: str

    def read(self, text: str) -> Reading:
        """What a text says; NotationError if it is not in this notation."""
        ...

    def format(self, layout: Layout) -> str:
        """The text for a layout, for all dims; LayoutcError says what the notation cannot express."""
        ...

    def format_desc(self, desc: MemoryDesc) -> str:
        """The text for one descriptor; LayoutcError says what the notation cannot express."""
        ...


@cache
def notation(name: str) -> Notation:
    """The notation of that name. Raises LayoutcError, naming the known ones, for any other."""
    instance("notation", name, str)
    if name not in _MODULES:
        raise LayoutcError(_unknown_notation(name))
    return cast(Notation, import_module(f"{__name__}.{_MODULES[name]}"))


@lru_cache(maxsize=4096)
def read(text: str) -> Reading:
    """
    What a text says, in the notation that its prefix names (`onednn:nchw`), or in whichever can read it.

    Raises NotationError for a text that no notation reads, and for one that two read as different layouts.
    """
    name, colon, rest = text.partition(":")
    if colon and name in _MODULES:
        try:
            return notation(name).read(rest)
        except NotationError as error:
            nearest = error if isinstance(error, MeantError) else _surroundings(rest, (name,)) or error
            hint = "" if "did you mean" in nearest.message else _elsewhere(rest)
            raise NotationError(text, len(name) + 1 + nearest.column, nearest.message + hint) from None
    return _read_bare(text)


def _read_bare(text: str) -> Reading:
    readings: dict[str, Reading] = {}
    errors: list[NotationError] = []
    for name in NOTATIONS:
        try:
            readings[name] = notation(name).read(text)
        except NotationError as error:
            errors.append(error)
    if not readings:
        # The notation that knows the name or one like it, else the one that got furthest, is the one that was meant.
        nearest = max(errors, key=_nearness)
        raise nearest if isinstance(nearest, MeantError) else _unknown(text) or _surroundings(text, NAMED) or nearest
    if len(set(readings.values())) > 1:
        listed = ", ".join(f"{name}:{text} is {reading.layout}" for name, reading in readings.items())
        raise NotationError(text, 0, f"several notations read this, differently: {listed}")
    return next(iter(readings.values()))


def _unknown_notation(name: str) -> str:
    hint = f"; did you mean {name.lower()}" if name.lower() in _MODULES else ""
    return f"unknown notation {name[:40]!r}, expected one of {' '.join(NOTATIONS)}{hint}"


def _unknown(text: str) -> NotationError | None:
    """What is wrong with a text that begins as no notation does."""
    name, colon, rest = text.partition(":")
    if colon and _PREFIX.fullmatch(name) and rest[:1] != ":":
        return NotationError(text, 0, _unknown_notation(name))
    if text.lower() in _MODULES:
        return NotationError(text, 0, f"{text.lower()} is a notation, expected a layout in its words")
    if _TYPE.match(text):
        return NotationError(text, 0, "expected memref<...>, affine_map<...>, strided<...> or a layout's name")
    return None


def _surroundings(text: str, named: Sequence[str]) -> NotationError | None:
    """What is wrong before or behind a layout rather than in it, which is a name in one of these notations."""
    if text != text.strip() and text.strip():
        at = 0 if text[0].isspace() else len(text.rstrip())
        return NotationError(text, at, "a blank before or behind the layout, expected none")
    prefix, underscore, rest = text.partition("_")
    if underscore and any(_reads(name, rest) for name in named):
        return NotationError(text, 0, f"unknown prefix {prefix + underscore!r}; did you mean {rest}")
    return None


def _elsewhere(text: str) -> str:
    """The hint that another notation than the one asked for reads a text, if one does."""
    found = next((name for name in NOTATIONS if _reads(name, text)), None)
    return f"; did you mean {found}:{text}" if found else ""


def _reads(name: str, text: str) -> bool:
    try:
        notation(name).read(text)
    except NotationError:
        return False
    return True


def _nearness(error: NotationError) -> tuple[bool, bool, int]:
    return isinstance(error, MeantError), "did you mean" in error.message, error.column


def parse(text: str | Layout) -> Layout:
    """
    The layout of a text that says no more than a layout (sizes and blocked dims in it are left out); a Layout as it is.

    Raises NotationError for other texts, and for one that gives strides or an offset, which need `desc`.
    """
    return reading_of(text).layout_alone(str(text))


def desc(
    text: str | Layout,
    dims: Sequence[int] | None = None,
    element_type: TypeName | None = None,
    *,
    strides: Sequence[int] | None = None,
    offset: int = 0,
    low: Sequence[int] = (),
    high: Sequence[int] = (),
    align: Sequence[int] = (),
) -> MemoryDesc:
    """
    The memory descriptor of a layout, given as a text in any notation or as a Layout, for these dims.

    `dims` may be left out where the text gives them; OpenVINO's formats complete a lower rank with ones, and a border
    of as many axes with zeros. `strides` are per physical axis, slowest first, in elements; `offset` is in elements;
    `low` and `high` are border elements per axis; `align` is a multiple per axis. The element type is the text's if
    it has one, or else f32.
    Raises NotationError for a text that no notation reads, LayoutcError for parts that do not fit each other.
    """
    reading = reading_of(text)
    low, high = integers("low border", low), integers("high border", high)
    if dims is not None:
        given = integers("dims", dims, 1)
        low, high = reading.completed_border(low, given), reading.completed_border(high, given)
        dims = reading.completed(given)
    strides = () if strides is None else integers("strides", strides)
    align = integers("alignments", align, 1)
    return reading.bind(dims, reading.elements(element_type), Options(strides, offset, low, high, align))


def destination(text: str | Layout, source: MemoryDesc, element_type: TypeName | None = None) -> MemoryDesc:
    """The descriptor to reorder `source` into: of its dims, and its element type unless the text or a name has one."""
    return desc(text, source.dims, element_type or reading_of(text).element_type or source.element_type)


def stated(*texts: str) -> tuple[tuple[int, ...] | None, ElementType | None]:
    """The dims, and the element type, that the first of the texts gives which gives any."""
    found = [reading_of(text) for text in texts]
    dims = next((each.dims for each in found if each.dims is not None), None)
    return dims, next((each.element_type for each in found if each.element_type is not None), None)


def reading_of(text: str | Layout) -> Reading:
    """What a text says, or a Layout. Raises LayoutcError for anything else, NotationError as `read` does."""
    if isinstance(text, Layout):
        return Reading(text)
    if not isinstance(cast(object, text), str):
        raise LayoutcError(f"a layout is a text or a Layout, got {type(text).__name__}")
    return read(text)


def translate(
    text: str | Layout | MemoryDesc, to: str, dims: Sequence[int] | None = None, element_type: TypeName | None = None
) -> str:
    """
    The text for the same memory as a text or a Layout in the notation `to`: for all dims, or for those given here or in
    the text, which may have a name where the layout alone has none. A MemoryDesc says its dims and type itself.

    Raises NotationError for a text that no notation reads, LayoutcError saying what the target cannot express.
    """
    instance("notation", to, str)
    target = notation(to)
    if isinstance(text, MemoryDesc):
        if dims is not None or element_type is not None:
            raise LayoutcError("a MemoryDesc has dims and an element type, expected no others")
        return _name_of(target, text)
    reading = reading_of(text)
    elements = reading.elements(element_type)
    if dims is None and reading.says_all(elements):
        try:
            return _name(target, reading.layout, elements)
        except LayoutcError:
            if reading.dims is None:
                raise
    return _name_of(target, desc(text, dims, element_type))


def _name_of(target: Notation, found: MemoryDesc) -> str:
    """The target's text for a descriptor; LayoutcError says what it cannot express."""
    try:
        own = target.format_desc(found)
    except LayoutcError:
        own = None
    # A name of its own is best, then the name of another layout that is the same memory, then one with strides.
    if own is None or (target.NAME in NAMED and not read(f"{target.NAME}:{own}").is_layout):
        own = name_of_memory(found, target.NAME) or own
    return own or target.format_desc(found)


def names(layout: Layout, element_type: TypeName = "f32") -> dict[str, str]:
    """What each notation calls a layout of such elements; those that cannot express it are left out."""
    instance("layout", layout, Layout, "layoutc.parse reads a text, and a descriptor has its `layout`")
    elements = element_type_of(element_type)
    found: dict[str, str] = {}
    for name in NOTATIONS:
        try:
            found[name] = _name(notation(name), layout, elements)
        except LayoutcError:
            continue
    return found


def _name(target: Notation, layout: Layout, elements: ElementType) -> str:
    """The target's text for a layout; LayoutcError if it has none, or one that is another layout for these elements."""
    name = target.format(layout)
    if target.NAME in NAMED and not target.read(name).says_all(elements):
        raise LayoutcError(f"{target.NAME}:{name} is another layout for {elements}, got {layout}")
    return name
