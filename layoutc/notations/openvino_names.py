"""OpenVINO's names to layouts and back, by release."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

from layoutc.checks import as_annotated
from layoutc.descriptor import MemoryDesc
from layoutc.element_type import TypeName
from layoutc.errors import LayoutcError, NotationError
from layoutc.layout import Layout
from layoutc.notations.openvino_formats import Format, current_formats, format_in, formats
from layoutc.notations.openvino_reading import NARROW, FormatReading, layout_of, split_desc, whole_desc
from layoutc.notations.reading import Options, Reading
from layoutc.notations.scanner import MeantError, Scanner, near_index, near_match
from layoutc.split import SplitDesc


@as_annotated
def read(text: str, release: str | None = None) -> Reading:
    """
    What a format says, in a release's words if one is named here or in the text (`name@2020.3`).

    Raises NotationError, with the column, for a text that is none, and for one that is not an offset map.
    """
    name, found = _find(text, release)
    if found is None:
        return Reading(_by_grammar(text, name), trailing_ones=True)
    if found.is_plain:
        return Reading(layout_of(found.reads), trailing_ones=True)
    if found.reason:
        instead = "; openvino.describe gives the offsets of the transformed values" if found.reads else ""
        raise MeantError(text, 0, f"{name} is not an offset map: {found.reason}{instead}")
    return FormatReading(layout_of(found.reads), trailing_ones=True, format=found)


@as_annotated
def parse(text: str, release: str | None = None) -> Layout:
    """The layout of a format, for all dims. Raises NotationError, with the column, for a text that is none."""
    return read(text, release).layout_alone(text)


@as_annotated
def describe(
    text: str,
    dims: Sequence[int],
    element_type: TypeName = "f32",
    *,
    low: Sequence[int] = (),
    high: Sequence[int] = (),
    release: str | None = None,
) -> MemoryDesc | SplitDesc:
    """
    The memory of a tensor in any format that is linear memory.

    A SplitDesc where the last column of an odd x is laid out in another way than the others. For a winograd format dims
    are those of its transformed domain, and the offsets are those of transformed values: it is not a layout of the
    tensor that was transformed. Raises NotationError for a text that is no format or no linear memory, LayoutcError for
    dims that do not fit.
    """
    _, found = _find(text, release)
    if found is not None and found.reason and found.reads:
        if any((*low, *high)):
            raise LayoutcError(f"{found.name} has no border")
        return whole_desc(found, Reading(layout_of(found.reads), trailing_ones=True).completed(dims), element_type)
    reading = read(text, release)
    low, high = reading.completed_border(low, dims), reading.completed_border(high, dims)
    dims = reading.completed(dims)
    if found is not None and found.last_x and not any((*low, *high)):
        return split_desc(found, dims, element_type) or reading.bind(dims, element_type)
    return reading.bind(dims, element_type, Options(low=low, high=high))


def _find(text: str, release: str | None) -> tuple[str, Format | None]:
    """The name in a text, and the format of that name in the release that is meant, if OpenVINO has one."""
    name, at, suffix = text.partition("@")
    if at and release not in (None, suffix):
        Scanner(text).fail(f"the text asks for release {suffix}, the call for {release}", len(name) + 1)
    release = suffix if at else release
    if release is None:
        return name, formats().get(name)
    try:
        return name, format_in(name, release)
    except LayoutcError as error:
        is_known = name in formats()
        near = None if is_known else near_match(name, _near_names())
        Scanner(text).fail(str(error), len(name) + 1 if at and is_known else 0, near)


def _by_grammar(text: str, name: str) -> Layout:
    try:
        return layout_of(name)
    except NotationError as error:
        Scanner(text).fail(error.message, error.column, near_match(name, _near_names()))


@as_annotated
def format(layout: Layout) -> str:
    """
    The format's name: a weights format if the axes are named o and i, a grouped one if one is named g; an older one
    only where no other is left, then with its release. LayoutcError if OpenVINO has none.
    """
    return _chosen(_names_by_layout(narrow=False).get(layout, ()), layout)


@as_annotated
def format_desc(desc: MemoryDesc) -> str:
    """The format of a dense descriptor; LayoutcError for strides, offset or border, which no name has."""
    if not desc.is_dense:
        raise LayoutcError(f"an OpenVINO format has no strides or offset, got {desc}")
    if desc.low or desc.high:
        raise LayoutcError(f"an OpenVINO format's name has no border, got {desc}")
    narrow = desc.element_type.name in NARROW
    return _chosen(_names_by_layout(narrow=narrow).get(desc.layout, ()), desc.layout)


def format_names() -> tuple[str, ...]:
    """The newest release's formats that are one offset map for all dims, in the order of its enum."""
    return tuple(f.name for f in current_formats() if not f.reason and not f.last_x)


def refused_formats() -> dict[str, str]:
    """The formats that are not the memory of a tensor, and why."""
    return {f.name: f.reason for f in formats().values() if f.reason}


def _chosen(names: Sequence[str], layout: Layout) -> str:
    weights = [name for name in names if _letters(name) & {"o", "i"}]
    data = [name for name in names if name not in weights]
    letters = set(layout.axis_names)
    if letters & {"o", "i"}:
        if weights:
            # goiyx and oizyx are one layout of five axes.
            return min(weights, key=lambda name: ("g" in _letters(name)) != ("g" in letters))
        other, kind = data, "weights"
    elif data or layout.axis_names[:2] not in (("n", "c"), ("b", "f")):
        if data or weights:
            return (data + weights)[0]
        other, kind = [], ""
    else:
        other, kind = weights, "data"
    instead = f"; it has {other[0]}, which is not for {kind}" if other else ""
    raise LayoutcError(f"OpenVINO has no {kind}{' ' * bool(kind)}format for {layout}{_blame(layout)}{instead}")


def _letters(text: str) -> set[str]:
    """The letters of the axes of a format, given by its text."""
    return set(layout_of(formats()[text.partition("@")[0]].reads).axis_names)


def _blame(layout: Layout) -> str:
    """What the layout has that no format has, if that is plain to see."""
    known = _names_by_layout(narrow=False)
    ranks = sorted({layout.rank for layout in known})
    if layout.rank not in ranks:
        return f", its formats have ranks {' '.join(map(str, ranks))}"
    sizes = {size for other in known for _, size in other.inner_blocks}
    odd = sorted({size for _, size in layout.inner_blocks} - sizes)
    return f", its blocks are {' '.join(map(str, sorted(sizes)))}, not {odd[0]}" if odd else ""


@cache
def _names_by_layout(narrow: bool) -> dict[Layout, list[str]]:
    """Texts by layout, those of the newest release first; for `narrow` elements as those are read."""
    found: dict[Layout, list[str]] = {}
    for f in sorted(formats().values(), key=lambda f: not f.is_current):
        if not (f.reason or f.last_x or f.ignores):
            layout = layout_of((narrow and f.narrow) or f.reads)
            found.setdefault(layout, []).append(f.text)
    return found


@cache
def _near_names() -> dict[str, list[str]]:
    return near_index([format.name for format in formats().values() if not format.reason])
