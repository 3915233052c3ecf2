"""The table of OpenVINO's formats: which release has which name, and what the name means in memory."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from layoutc.checks import as_annotated
from layoutc.errors import LayoutcError

RELEASES = ("2018", "2019.3", "2020.3", "2021.4", "2022", "2026.4")
"""The releases whose formats were measured, oldest first."""
NEWEST = RELEASES[-1]


@dataclass(frozen=True, slots=True)
class Format:
    """
    One name of the enum.

    `reads` is the name that says what is in memory (its own, but for old spellings and names that lied), `narrow` what
    4-bit elements are read as, `last_x` what the last column of an odd x is read as. Of an axis in `whole` there
    are whole blocks only, one in `ignores` is not stored, one in `no_border` has no border in memory. `reason` says why
    it is not the memory of a tensor, or is empty.
    """

    name: str
    first: str
    last: str
    reads: str = ""
    narrow: str = ""
    last_x: str = ""
    whole: str = ""
    ignores: str = ""
    no_border: str = ""
    unit: str = ""
    reason: str = ""

    @property
    def is_linear(self) -> bool:
        """Whether an index has an offset: in tiled images and sampled planes it has none."""
        return not self.reason or bool(self.reads)

    @property
    def is_current(self) -> bool:
        """Whether the newest release still has it."""
        return self.last == NEWEST

    @property
    def is_plain(self) -> bool:
        """Whether the name says all: no rule depends on dims, elements or border."""
        return not (self.narrow or self.last_x or self.ignores or self.no_border or self.unit or self.reason)

    @property
    def text(self) -> str:
        """The name as a text that reads back, with a release if the newest one has not got it."""
        return self.name if self.is_current else f"{self.name}@{self.last}"


@cache
def formats() -> dict[str, Format]:
    """All formats by name: those of the newest release in the order of its enum, then the older ones."""
    lines = Path(__file__).with_name("openvino_formats.txt").read_text(encoding="ascii").splitlines()
    return {format.name: format for format in map(_format, lines) if format is not None}


def _format(line: str) -> Format | None:
    fields, _, reason = line.partition(" ! ")
    if line.startswith("#"):
        return None
    name, first, last, *rules = fields.split()
    given = dict(rule.split("=") for rule in rules)
    if not reason:
        given.setdefault("reads", name)
    return Format(name, first, last, reason=reason, **given)


def current_formats() -> Iterator[Format]:
    """The formats of the newest release, in the order of its enum."""
    return (format for format in formats().values() if format.is_current)


@as_annotated
def known_release(release: str) -> str:
    """The measured release of that text: a year alone is enough. LayoutcError, with the known ones, for any other."""
    for known in RELEASES:
        if release and (release == known.partition(".")[0] or f"{release}.".startswith(f"{known}.")):
            return known
    raise LayoutcError(f"unknown OpenVINO release {release[:20]!r}, expected one of {' '.join(RELEASES)}")


@as_annotated
def format_in(name: str, release: str) -> Format:
    """The format that a release calls so. LayoutcError if it has none of that name."""
    release, format = known_release(release), formats().get(name)
    if format is None:
        raise LayoutcError(f"OpenVINO has no format {name[:60]}")
    if not RELEASES.index(format.first) <= RELEASES.index(release) <= RELEASES.index(format.last):
        held = format.first if format.first == format.last else f"{format.first} to {format.last}"
        raise LayoutcError(f"OpenVINO {release} has no format {name}, which is in {held}")
    return format
