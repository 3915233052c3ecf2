"""What the Inference Engine's descriptors share: its error, its releases, its vectors of sizes."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from operator import index
from re import fullmatch

from layoutc.errors import LayoutcError

DEFAULT_RELEASE = "2021.4"
MAX_SIZE = 2**63 - 1
MAX_LENGTH = 100


class InferenceEngineError(LayoutcError):
    """
    What the library throws: the message is the library's own text.

    `kind` is the library's name for the status; its descriptors know no other than this one.
    """

    kind = "GENERAL_ERROR"


def year_of(release: object) -> int:
    """The year of a release such as `2021.4`. Raises LayoutcError for one that had no Inference Engine."""
    return _year(str(release)[:20])


@lru_cache(maxsize=64)
def _year(release: str) -> int:
    found = fullmatch(r"(20\d\d)(\.\d+){0,3}", release)
    if found is None or not 2018 <= int(found.group(1)) <= 2023:
        raise LayoutcError(f"unknown release {release!r}, expected one of 2018 to 2023.3, such as {DEFAULT_RELEASE!r}")
    return int(found.group(1))


def is_checked(release: object) -> bool:
    """Whether the release is 2022 or later: those check strides, and re-derive blocked dims."""
    return year_of(release) >= 2022


def sizes(what: str, values: Sequence[int]) -> tuple[int, ...]:
    """The values as plain ints. Raises LayoutcError unless each is an integer of 0 or more below 2^63."""
    try:
        checked = tuple(map(index, values))
    except TypeError:
        raise LayoutcError(f"{what} {shown(values)} are not integers") from None
    if len(checked) > MAX_LENGTH:
        raise LayoutcError(f"got {len(checked)} {what}, expected at most {MAX_LENGTH}")
    for value in checked:
        if not 0 <= value <= MAX_SIZE:
            raise LayoutcError(f"{what} {shown(checked)} hold {shown(value)}, expected 0 or more and below 2^63")
    return checked


def size(what: str, value: int) -> int:
    """One value as `sizes` takes them."""
    return sizes(what, (value,))[0]


def shown(value: object) -> str:
    """The value for a message, cut where it is long."""
    if isinstance(value, int) and value.bit_length() > 200:
        return f"an integer of {value.bit_length()} bits"
    text = repr(value)
    return text if len(text) <= 80 else text[:77] + "..."
