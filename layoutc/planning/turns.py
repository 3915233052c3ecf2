"""Copies that run in the turns of loops that they share: as they share cache lines, or by way of a buffer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from layoutc.errors import LayoutcError

if TYPE_CHECKING:
    from layoutc.planning.plan import CopyPlan


@dataclass(frozen=True, slots=True)
class SharedLoop:
    """
    A loop around several copies: `extent` steps of `src` and `dst` bytes, `step` of which each copy does itself.

    Of copies that convert a step is so many values of each list of parameters, as it is of their digits.
    """

    extent: int
    step: int
    src: int
    dst: int
    params: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        if not 1 <= self.step <= self.extent:
            raise LayoutcError(f"got {self.step} steps at a time, expected 1 to {self.extent}")


@dataclass(frozen=True)
class Together:
    """
    Copies that run one after the other in each turn of some loops, as they share cache lines.

    The last turn of a loop whose extent is no multiple of its step starts earlier, as the last tile of a copy does.
    With `staged` stores, what copies write side by side in a turn is put together in a buffer, and leaves that as the
    macro tile of a staged copy does (`unions`); a copy with non-temporal stores needs no buffer.
    """

    loops: tuple[SharedLoop, ...]
    copies: tuple[CopyPlan, ...]
    store: Literal["normal", "staged"] = "normal"

    def __post_init__(self) -> None:
        if all(loop.step == loop.extent for loop in self.loops):
            raise LayoutcError("shared loops have one turn, expected a loop with more steps than a turn takes")


@dataclass(frozen=True)
class Through:
    """
    Copies into a buffer on the stack, and then copies out of it, in each turn of some loops.

    Blocks that do not divide each other are taken apart on the way in, and put together on the way out. Each side of a
    turn is the memory of the source, and of the destination; the buffer holds what one turn moves.
    """

    loops: tuple[SharedLoop, ...]
    into: tuple[CopyPlan, ...]
    out_of: tuple[CopyPlan, ...]

    @property
    def copies(self) -> tuple[CopyPlan, ...]:
        """All copies, in the order in which they run."""
        return (*self.into, *self.out_of)

    @property
    def buffer_bytes(self) -> int:
        """Bytes of the buffer."""
        ends = (
            (copy.copy.dst + sum(d.offset("dst", d.extent - 1) for d in copy.copy.digits) + 1) * copy.widths.dst
            for copy in self.into
        )
        return max(ends, default=0)
