"""Macro tiles of a plan: how far they are apart, and their runs of contiguous elements on both sides."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING

from layoutc.once import once
from layoutc.planning.copies.copy_digits import SideName, StridedCopy
from layoutc.planning.copies.runs import contiguous
from layoutc.planning.copies.widths import Widths
from layoutc.planning.machine import LINE

if TYPE_CHECKING:
    from layoutc.planning.plans.plan import Load, Part, Store

COPIED_RUN = 1 << 10
"""bytes of a run that leaves no buffer where it lies in the source as it is"""


class MacroRuns:
    """What follows from the decisions about a copy (`CopyPlan`) for its macro tiles, and memory on both sides."""

    copy: StridedCopy
    widths: Widths
    tile: tuple[int, ...]
    source_lanes: tuple[Part, ...]
    macro: tuple[int, ...]
    load: Load
    store: Store
    side_by_side: bool

    @once
    def extents(self) -> tuple[int, ...]:
        """The extents of the copy's digits."""
        return tuple(digit.extent for digit in self.copy.digits)

    @property
    def least_macro(self) -> tuple[int, ...]:
        """A macro tile of one tile, but of all of a digit that is loaded in part."""
        sizes = zip(self.tile, self.copy.digits, strict=True)
        return tuple(tile if digit.is_whole else digit.extent for tile, digit in sizes)

    @property
    def stages_stores(self) -> bool:
        """Whether a macro tile is put together in a buffer."""
        return self.store in ("aligned", "staged")

    def macro_step(self, position: int) -> int:
        """
        How far macro tiles are apart along a digit.

        Staged ones overlap by a line along the digit that a run ends in, unless they are side by side: each writes the
        lines that start in its step, whole.
        """
        cuts_runs = self.stages_stores and position == self.run_digits[-1] and not self.side_by_side
        if cuts_runs and self.macro[position] < self.extents[position]:
            return self.macro[position] - self.steps_of_a_line(prod(self.macro[g] for g in self.run_digits[:-1]))
        return self.macro[position]

    @once
    def run_digits(self) -> tuple[int, ...]:
        """The digits of a macro tile's runs of contiguous destination elements, fastest first; the last may be cut."""
        found: list[int] = []
        inner = 1
        for position, digit in contiguous(self.copy, "dst"):
            macro = self.macro[position]
            if macro < digit.extent:
                return (*found, position) if macro > 2 * self.steps_of_a_line(inner) else tuple(found)
            found.append(position)
            inner *= macro
        return tuple(found)

    @once
    def run(self) -> int:
        """Elements of a run."""
        return prod(self.macro[g] for g in self.run_digits)

    @once
    def keeps_lines(self) -> bool:
        """Whether runs are whole lines where the destination begins with one, but for the last ones along a digit."""
        digits = enumerate(self.copy.digits)
        steps = [step for g, digit in digits if g not in self.run_digits for _, step in digit.all_steps("dst")]
        return not any(place * self.widths.dst % LINE for place in (self.run, self.copy.dst, *steps))

    def steps_of_a_line(self, inner: int) -> int:
        """Steps of a digit that hold a line, if each is `inner` elements."""
        return -(-LINE // self.widths.dst // inner)

    @property
    def copies_runs(self) -> bool:
        """Whether long runs need no buffer, as they lie in the source as they are: lines are loaded from there."""
        if not self.stages_stores or self.load != "normal" or self.copy.is_fill or self.widths.converts:
            return False
        in_source = self.source_run_digits[: len(self.run_digits)] == self.run_digits
        is_whole = self.copy.is_whole and self.macro != self.extents
        return in_source and is_whole and self.run * self.widths.src >= COPIED_RUN

    def loaded_steps(self, position: int) -> int:
        """How many steps of a digit a macro tile has in the source; all others are zero."""
        return min(self.macro[position], self.copy.digits[position].loaded)

    def memory_steps(self, side: SideName) -> tuple[int, ...]:
        """How many steps of each digit a macro tile has on a side."""
        return self.macro if side == "dst" else tuple(map(self.loaded_steps, range(len(self.macro))))

    def memory_run_digits(self, side: SideName) -> tuple[int, ...]:
        """
        Those of its runs of contiguous elements on a side.

        Staged stores leave a buffer by other ones (`run_digits`), others by these.
        """
        found: list[int] = []
        for position, digit in contiguous(self.copy, side):
            found.append(position)
            if self.macro[position] < digit.extent:
                break
        return tuple(found)

    def memory_run(self, side: SideName) -> int:
        """Elements of a run on a side."""
        steps = self.memory_steps(side)
        return prod(steps[g] for g in self.memory_run_digits(side))

    @once
    def source_run_digits(self) -> tuple[int, ...]:
        """The digits of a macro tile's runs of contiguous source elements, fastest first."""
        return self.memory_run_digits("src")

    @once
    def source_run(self) -> int:
        """Elements of a run of the source."""
        return self.memory_run("src")

    @property
    def gathers_lanes(self) -> bool:
        """Whether what a load takes lies together where rows are gathered; in a source that overlaps it need not."""
        return all(part.digit in self.source_run_digits for part in self.source_lanes)

    @property
    def macro_tiles_of_a_line(self) -> int:
        """How many macro tiles in turn take a line of the source, of which each has a run."""
        return max(LINE // (self.source_run * self.widths.src), 1)
