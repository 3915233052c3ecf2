"""The named reorders: data/cases.txt, data/conversions.txt, and the tensor transpositions of TTC and HPTT."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Literal, get_args

import layoutc
from benchmarks.placement import Placement
from layoutc.errors import LayoutcError

DATA = Path(__file__).parent / "data"
TYPES = ("s8", "bf16", "f32", "f64")
"""one for each width"""
CONVERT = "convert "
"""how names of cases from data/conversions.txt begin"""
TRANSPOSITIONS, CONVERSIONS = "Tensor transpositions", "Conversions"
RANDOM, RANDOM_CONVERSIONS = "Random", "Random conversions"
"""kinds of cases that are no paragraph of data/cases.txt"""
Size = Literal["dram", "l3", "l2"]
SIZES: tuple[Size, ...] = get_args(Size)
"""where source and destination fit"""


@dataclass(frozen=True)
class Case:
    """
    A reorder to be measured, for several element types; `f32->s8` is one that converts.

    `attributes` are options of `layoutc reorder`. `scaled` are groups of axes whose extents may be changed to reach
    a size, the first group first; the other extents make the case what it is. `sizes` are those that make sense for it.
    `kind` is what tables put it under.
    """

    name: str
    dims: tuple[int, ...]
    source: Placement
    destination: Placement
    types: tuple[str, ...]
    scaled: tuple[tuple[int, ...], ...]
    sizes: tuple[Size, ...] = SIZES
    attributes: str = ""
    kind: str = ""


def named_cases() -> list[Case]:
    """All named cases that move elements as they are, in a fixed order."""
    return [replace(read_case(line), kind=kind) for kind, line in lines_of("cases.txt")] + list(transpositions())


def conversion_cases() -> list[Case]:
    """Those of data/conversions.txt."""
    return [replace(read_conversion(line), kind=CONVERSIONS) for _, line in lines_of("conversions.txt")]


def lines_of(file: str) -> Iterator[tuple[str, str]]:
    """The cases of a list, each with the heading of its paragraph, up to a colon or the full stop."""
    _, *paragraphs = (DATA / file).read_text(encoding="utf-8").split("\n\n")
    for heading, *lines in (paragraph.splitlines() for paragraph in paragraphs):
        yield from ((re.split("[:.]", heading.removeprefix("# "))[0], line) for line in lines if line[0] != "#")


def selected(cases: list[Case], pattern: str) -> list[Case]:
    """The cases whose name has a shell pattern in it. Raises LayoutcError if there is none."""
    found = [case for case in cases if is_named(case, pattern)]
    if not found:
        raise LayoutcError(f"no case among {len(cases)} has {pattern!r} in its name")
    return found


def is_named(case: Case, pattern: str) -> bool:
    """Whether a case has a shell pattern in its name."""
    return fnmatchcase(case.name, f"*{pattern}*")


def read_case(line: str) -> Case:
    """A line of data/cases.txt."""
    source, destination, label, dims, types, scaled, *sizes = re.split(r" {2,}", line.strip())
    letters = axis_names(source)
    return Case(
        name=f"{short(source)}->{short(destination)} {label}",
        dims=tuple(int(dim) for dim in dims.split(",")),
        source=Placement.parse(source),
        destination=Placement.parse(destination),
        types=tuple(types.split()),
        scaled=tuple(tuple(letters.index(letter) for letter in group) for group in scaled.split()),
        sizes=tuple(size for size in SIZES if not sizes or size in sizes[0].split()),
    )


def read_conversion(line: str) -> Case:
    """A line of data/conversions.txt: as in data/cases.txt, but with a column of attributes before the sizes."""
    columns = re.split(r" {2,}", line.strip())
    attributes = columns.pop(6)
    case = read_case("  ".join(columns))
    return replace(case, name=CONVERT + case.name, attributes="" if attributes == "-" else attributes)


def axis_names(text: str) -> tuple[str, ...]:
    """The letters of the axes of a layout."""
    return layoutc.parse(Placement.parse(text).layout).axis_names


def short(text: str) -> str:
    """A placement without the name of its notation."""
    return text.partition(":")[2] or text


def transpositions() -> Iterator[Case]:
    """All of them for f32; the others in turn for one more type, as four times 57 tensors of 200 MB say little more."""
    cases = json.loads((DATA / "tensor_transpositions.json").read_text(encoding="utf-8"))["cases"]
    others = ("s8", "bf16", "f64")
    for number, (shape, axes) in enumerate(cases, 1):
        yield Case(
            name=f"TTC {number} {''.join(map(str, axes))}",
            dims=tuple(shape),
            source=Placement("onednn:" + letters(range(len(axes)))),
            destination=Placement("onednn:" + letters(axes)),
            types=(others[number % 3], "f32"),
            scaled=(tuple(range(len(axes))),),
            kind=TRANSPOSITIONS,
        )


def letters(axes: range | list[int]) -> str:
    """Axes as a oneDNN tag."""
    return "".join("abcdefghijkl"[axis] for axis in axes)
