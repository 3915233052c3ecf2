"""The memory that a copy moves elements between, and what becomes of an element on the way."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from xdsl.builder import Builder
from xdsl.ir import Attribute, SSAValue

from layoutc.transforms.sums.running_sums import RunningSums
from layoutc.transforms.values.lane_params import PieceParams
from layoutc.transforms.values.register_parts import Calls, Join, RegisterPart

Convert = Callable[[Builder, SSAValue, int | None, PieceParams, SSAValue | None], SSAValue]
"""
From what was loaded to what is stored: a value, or so many lanes, with their parameters, and what the destination holds
if that counts.
"""


Call = Callable[[Builder, SSAValue, RegisterPart, int, PieceParams, SSAValue | None, Calls], SSAValue]
"""The same for a part of a register, by a function if calls are made."""


CallJoining = Callable[
    [Builder, Attribute, int, Sequence[PieceParams], Join, Calls], "Callable[[Sequence[SSAValue]], SSAValue] | None"
]
"""
What gives a register for its pieces, by a function that converts and joins them; None if none is called. The pieces are
of one type, of so many lanes, and have these parameters.
"""


def unchanged(_: Builder, loaded: SSAValue, *_how: object) -> SSAValue:
    """What is stored of elements that are moved as they are."""
    return loaded


def without_call(*_: object) -> None:
    """No function converts and joins."""
    return


@dataclass(frozen=True)
class Memory:
    """Both flat buffers, the type and width of their elements, and a zero of that type."""

    source: SSAValue
    target: SSAValue
    element: Attribute
    element_bytes: int
    zero: SSAValue | None
    converted_from: Attribute | None = None
    """the source's elements, where those of the target are converted from other ones"""
    converted_bytes: int = 0
    """the width of those"""
    loaded_zero: SSAValue | None = None
    """a zero of the source's elements, where there is one before they are converted"""
    convert: Convert = unchanged
    call: Call = unchanged
    """the same, by functions that are called for many registers"""
    call_joining: CallJoining = without_call
    """by those that are called for many registers of several pieces"""
    adds: bool = False
    """whether what the destination holds counts"""
    sums: RunningSums | None = None
    """where what tiles store is added up"""
    widest_bytes: int = 0
    """of the widest number that a value is on its way, where it is converted"""

    @property
    def loaded_bytes(self) -> int:
        """The width of the source's elements."""
        return self.converted_bytes or self.element_bytes

    @property
    def as_loaded(self) -> Memory:
        """The memory of copies into a buffer from which others convert."""
        assert self.converted_from is not None, "what is converted has a type"
        return Memory(self.source, self.target, self.converted_from, self.converted_bytes, self.loaded_zero)

    @property
    def as_gathered(self) -> Memory:
        """The memory of tiles that are loaded from a buffer in which elements are converted already."""
        return Memory(self.source, self.target, self.element, self.element_bytes, self.zero, sums=self.sums)
