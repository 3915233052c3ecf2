"""Copies that run in the turns of loops that they share: as they share cache lines, or by way of a buffer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from layoutc.errors import LayoutcError
from layoutc.planning.copies.copy_digits import SideName
from layoutc.planning.plans.row_spans import MASKED, row_span

if TYPE_CHECKING:
    from layoutc.planning.plans.plan import CopyPlan


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

    def of(self, side: SideName) -> int:
        """Bytes from one step to the next on a side."""
        return self.src if side == "src" else self.dst

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

    Where elements share bytes the buffers are images of the source, of the destination, or of both, in which each
    element has a byte: rows go into one and out of the other, and copies `between` from one to the other. What has no
    image is memory there, or a buffer in which axes have no blocks. In the loops an element that shares a byte counts
    as one byte.
    """

    loops: tuple[SharedLoop, ...]
    into: tuple[CopyPlan, ...]
    out_of: tuple[CopyPlan, ...]
    between: tuple[CopyPlan, ...] = ()

    @property
    def copies(self) -> tuple[CopyPlan, ...]:
        """All copies, in the order in which they run."""
        return (*self.into, *self.between, *self.out_of)

    @property
    def buffer_bytes(self) -> int:
        """Bytes of the buffer, of the image of the source where there are images."""
        ends = (
            (copy.copy.dst + sum(d.offset("dst", d.extent - 1) for d in copy.copy.digits) + 1) * copy.widths.dst
            for copy in self.into
        )
        return max(ends, default=0)

    @property
    def moves_between(self) -> bool:
        """Whether copies between images move elements as they are."""
        return bool(self.between) and not any(copy.widths.converts for copy in self.between)

    @property
    def converts_rows(self) -> bool:
        """Whether copies between images move bytes, and rows are converted, if anything is."""
        return self.moves_between and all(copy.moves_rows for copy in (*self.into, *self.out_of))

    @property
    def writes_apart(self) -> bool:
        """Whether no two turns write into one byte, so that threads can share them."""
        moving = [loop for loop in self.loops if loop.step < loop.extent]
        for row in self.out_of if moving else ():
            if not row.moves_rows:
                continue
            share, digits = row.widths.dst_per_byte, row.copy.digits
            least = min(loop.dst for loop in moving)
            inner = [digit for digit in digits if digit.dst < least]
            is_within = sum((digit.extent - 1) * digit.dst for digit in inner) < least
            places = [row.copy.dst, *(digit.dst for digit in digits if digit.dst > least or not is_within)]
            places += (loop.dst * steps for loop in moving for steps in (loop.step, loop.extent))
            if any(place % share for place in places):
                return False
        return True

    def takes_spans(self, number: int) -> bool:
        """
        Whether rows of a copy into an image may be taken apart with what lies between them, by vectors.

        All turns begin with the same place of a byte then.
        """
        row = self.into[number] if number < len(self.into) else None
        span = row_span(row) if row is not None else None
        if row is None or span is None:
            return False
        share = row.widths.src_per_byte
        turns = (
            loop.src * steps for loop in self.loops for steps in (loop.step, loop.extent) if loop.step < loop.extent
        )
        return all(place % share == 0 for place in turns) and (number == 0 or MASKED % span.step == 0)

    @property
    def image_bytes(self) -> int:
        """Bytes of the image of the destination."""
        loaded = [copy.copy for copy in self.out_of if not copy.copy.is_fill]
        ends = (copy.src + sum(digit.offset("src", digit.loaded - 1) for digit in copy.digits) for copy in loaded)
        return max(ends, default=-1) + 1 if self.between else 0
