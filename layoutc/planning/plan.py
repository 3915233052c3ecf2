"""Plan: the decisions about one reorder, as data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from layoutc.errors import LayoutcError
from layoutc.planning.strided_copy import StridedCopy

Store = Literal["normal", "nontemporal"]


@dataclass(frozen=True, slots=True)
class Part:
    """`extent` (a power of two) low values of the digit at position `digit`."""

    digit: int
    extent: int


@dataclass(frozen=True)
class CopyPlan:
    """
    How one strided copy runs. All tuples are parallel to `copy.digits`.

    A tile of `tile` values per digit is moved through registers: the lanes of its loads are `source_lanes`, those
    of its stores `target_lanes`, the first part in the lowest lanes. Without lanes it goes element by element.
    Tiles fill macro tiles of `macro` values in `inner_order`, macro tiles fill the copy in `outer_order` (positions
    of digits, slowest first). The last tile of a digit that its extent is no multiple of starts earlier, so that it
    writes some elements again.
    """

    copy: StridedCopy
    element_bytes: int
    vector_bytes: int
    tile: tuple[int, ...]
    source_lanes: tuple[Part, ...]
    target_lanes: tuple[Part, ...]
    macro: tuple[int, ...]
    outer_order: tuple[int, ...]
    inner_order: tuple[int, ...]
    store: Store = "normal"

    def __post_init__(self) -> None:
        digits = self.copy.digits
        for name in ("tile", "macro", "outer_order", "inner_order"):
            if len(getattr(self, name)) != len(digits):
                raise LayoutcError(f"{name} {getattr(self, name)} has not one entry for each of {len(digits)} digits")
        for order in (self.outer_order, self.inner_order):
            if sorted(order) != list(range(len(digits))):
                raise LayoutcError(f"loop order {order} is no permutation of {len(digits)} digits")
        for digit, tile, macro in zip(digits, self.tile, self.macro, strict=True):
            if not 1 <= tile <= macro <= digit.extent or tile & (tile - 1):
                raise LayoutcError(
                    f"tile {tile} and macro tile {macro} do not fit extent {digit.extent}: expected a power of two, "
                    "and tile <= macro tile <= extent"
                )
            if not digit.is_whole and (macro != digit.extent or digit.extent % tile):
                raise LayoutcError(
                    f"a digit that is loaded in part needs one macro tile of whole tiles, got macro tile {macro} and "
                    f"tile {tile} of {digit.extent}"
                )


@dataclass(frozen=True)
class Plan:
    """The copies of a reorder with their plans, in the order in which they run, and the threads they share."""

    copies: tuple[CopyPlan, ...]
    threads: int = 1
