"""Plan: the decisions about one reorder, as data."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from math import prod
from typing import Any, Literal

from layoutc.errors import LayoutcError
from layoutc.once import once
from layoutc.planning.copies.copy_digits import SIDES, SideName, StridedCopy, contiguous
from layoutc.planning.copies.widths import Widths
from layoutc.planning.machine import LINE, Shuffles
from layoutc.planning.plans.macro_buffers import MAX_STAGE_BYTES, MacroBuffer, macro_buffer
from layoutc.planning.plans.turns import Through, Together

Asks = Literal["", "by tiles", "twice"]
Store = Literal["normal", "nontemporal", "aligned", "staged", "packed"]
"""into the caches; past them; out of a buffer, by whole lines into the caches, and past them; by whole bytes"""

Load = Literal["normal", "staged", "unpacked"]
"""straight; out of a buffer that a macro tile is gathered in, where elements that share bytes have one each"""

MAX_THREADS = 1024
COPIED_RUN = 1 << 10
"""bytes of a run that leaves no buffer where it lies in the source as it is"""
ELEMENT_TILE = 16
"""elements of a tile without lanes that are converted at once, at most"""
CONVERTED_LANE = 4
"""bytes of a register for each lane that is converted at once"""


@dataclass(frozen=True, slots=True)
class Part:
    """`extent` low values of the digit at position `digit`: a power of two, or all of a few channels."""

    digit: int
    extent: int


@dataclass(frozen=True)
class CopyPlan:
    """
    How one strided copy runs. All tuples are parallel to `copy.digits`.

    A tile of `tile` values per digit is moved through registers: the lanes of its loads are `source_lanes`, those
    of its stores `target_lanes`, the first part in the lowest lanes. Without lanes it goes element by element; those of
    a tile are converted at once.
    Tiles fill macro tiles of `macro` values in `inner_order`, macro tiles fill the copy in `outer_order` (positions
    of digits, slowest first). The last tile of a digit that its extent is no multiple of starts earlier, so that it
    writes some elements again; the last macro tile has fewer tiles, but in a buffer, where it starts earlier too.
    With `staged` stores a macro tile is put together in a buffer, and its runs of contiguous elements leave that by
    whole lines, past the caches; with `aligned` stores they stay in them. With `staged` loads it is first gathered
    in a buffer, where its rows do not evict each other; elements that are converted are so on their way there, row
    by row, and tiles move what they have become. Rows of elements that share bytes may begin inside of one: with
    `unpacked` loads a macro tile is gathered in a buffer in which each has a byte, with `packed` stores it is put
    together in one; without lanes that buffer is an image, which other copies share. Each load also asks for the
    memory `prefetch` elements further on (0: nothing), or each tile for its share of what lies so far ahead.
    """

    copy: StridedCopy
    widths: Widths
    vector_bytes: int
    shuffles: Shuffles
    tile: tuple[int, ...]
    source_lanes: tuple[Part, ...]
    target_lanes: tuple[Part, ...]
    macro: tuple[int, ...]
    outer_order: tuple[int, ...]
    inner_order: tuple[int, ...]
    store: Store = "normal"
    prefetch: int = 0
    load: Load = "normal"
    merges: bool = False
    """whether registers are merged in pairs: lanes may then be any number of elements, and several registers"""
    fetches: bool = False
    """whether a tile asks for the lines that it will store into, before it loads"""
    asks: Asks = ""
    """
    who asks for what lies `prefetch` elements ahead: each load, each tile for a share of what is gathered, or of lines
    that it and the next ones take parts of, or each load and again each line that leaves the buffer of the
    destination, for a share
    """
    side_by_side: bool = False
    """whether macro tiles that leave a buffer do not overlap, as their runs are whole lines"""
    why: tuple[tuple[str, str], ...] = field(default=(), compare=False, repr=False)
    """topics, and in words why it was decided so; of the same topic the last ones count"""

    def __post_init__(self) -> None:
        digits = self.copy.digits
        for name, extents in (("tile", self.tile), ("macro", self.macro)):
            if len(extents) != len(digits):
                text = "x".join(map(str, extents)) or "-"
                raise LayoutcError(
                    f"{name} {text} has {len(extents)} numbers, expected one for each of {len(digits)} digits"
                )
        for name, order in (("outer", self.outer_order), ("inner", self.inner_order)):
            if sorted(order) != (expected := list(range(len(digits)))):
                got, wanted = (" ".join(map(str, numbers)) or "-" for numbers in (order, expected))
                raise LayoutcError(f"got loops {name} {got}, expected each of {wanted} once")
        self._check_tiles()
        if self.load != "normal" and not self.gathers_lanes:
            raise LayoutcError(f"{self.load} loads gather runs of other digits than those of their lanes")
        if self.stages_stores and (not self.run_digits or self.run * self.widths.dst < 2 * LINE):
            raise LayoutcError(f"staged stores need lanes and runs of {2 * LINE} bytes, got {self.run} elements")
        if self.stages_stores and any(part.digit not in self.run_digits for part in self.target_lanes):
            raise LayoutcError("staged stores keep runs of other digits than those of their lanes")

    def because(self, topic: str, words: str, **changes: Any) -> CopyPlan:
        """The plan with these changes, and why it has them."""
        return replace(self, **changes, why=(*self.why, (topic, words)))

    def _check_tiles(self) -> None:
        for digit, tile, macro in zip(self.copy.digits, self.tile, self.macro, strict=True):
            fits = 1 <= tile <= macro <= digit.extent
            if not fits or not (self.merges or is_power_of_two(tile) or tile == digit.extent):
                raise LayoutcError(
                    f"tile {tile} and macro tile {macro} do not fit extent {digit.extent}: expected a power of two or "
                    "all of the digit, and tile <= macro tile <= extent"
                )
            if not digit.is_whole and not self.target_lanes:
                raise LayoutcError("a copy that goes element by element loads all of each digit")
            if not digit.is_whole and (macro != digit.extent or digit.extent % tile):
                raise LayoutcError(
                    f"a digit that is loaded in part needs one macro tile of whole tiles, got macro tile {macro} and "
                    f"tile {tile} of {digit.extent}"
                )

    @property
    def gathers_converted(self) -> bool:
        """Whether elements are converted on their way into the buffer that tiles are loaded from."""
        return self.load == "staged" and self.widths.converts

    @property
    def gathered(self) -> CopyPlan:
        """The plan as its tiles see it: what they load is in registers as it was gathered, converted or not."""
        if not self.gathers_converted:
            return self
        widths = Widths(self.widths.dst, self.widths.dst, dst_per_byte=self.widths.dst_per_byte)
        return replace(self, widths=widths, load="normal")

    @property
    def keeps_rows(self) -> bool:
        """Whether registers are stored as they were loaded; what goes element by element has none."""
        return self.source_lanes == self.target_lanes

    def lanes(self, side: SideName) -> tuple[Part, ...]:
        """The lanes of loads, or of stores."""
        return self.source_lanes if side == "src" else self.target_lanes

    @once
    def lane_digits(self) -> frozenset[int]:
        """The digits of the lanes of loads and of stores."""
        return frozenset(part.digit for part in (*self.source_lanes, *self.target_lanes))

    @property
    def transposes(self) -> bool:
        """Whether registers are loaded along other digits than they are stored along."""
        loaded, stored = ({part.digit for part in self.lanes(side)} for side in SIDES)
        return bool(loaded) and loaded != stored

    @property
    def pads_elements(self) -> bool:
        """Whether elements are loaded one by one, and stored with the zeros beside them."""
        alone = bool(self.target_lanes) and not (self.source_lanes or self.copy.is_fill or self.widths.converts)
        return alone and not all(self.copy.digits[part.digit].is_whole for part in self.target_lanes)

    @property
    def moves_rows(self) -> bool:
        """Whether rows of memory are taken apart in an image of bytes, or put together out of one, and that is all."""
        return not self.target_lanes and (self.load == "unpacked" or self.store == "packed")

    @property
    def stages_stores(self) -> bool:
        """Whether a macro tile is put together in a buffer."""
        return self.store in ("aligned", "staged")

    @property
    def copies_runs(self) -> bool:
        """Whether long runs need no buffer, as they lie in the source as they are: lines are loaded from there."""
        if not self.stages_stores or self.load != "normal" or self.copy.is_fill or self.widths.converts:
            return False
        in_source = self.source_run_digits[: len(self.run_digits)] == self.run_digits
        is_whole = self.copy.is_whole and self.macro != self.extents
        return in_source and is_whole and self.run * self.widths.src >= COPIED_RUN

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
    def keeps_lines(self) -> bool:
        """Whether runs are whole lines where the destination begins with one, but for the last ones along a digit."""
        digits = enumerate(self.copy.digits)
        steps = [step for g, digit in digits if g not in self.run_digits for _, step in digit.all_steps("dst")]
        return not any(place * self.widths.dst % LINE for place in (self.run, self.copy.dst, *steps))

    def steps_of_a_line(self, inner: int) -> int:
        """Steps of a digit that hold a line, if each is `inner` elements."""
        return -(-LINE // self.widths.dst // inner)

    @once
    def extents(self) -> tuple[int, ...]:
        """The extents of the copy's digits."""
        return tuple(digit.extent for digit in self.copy.digits)

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
    def source_run_digits(self) -> tuple[int, ...]:
        """The digits of a macro tile's runs of contiguous source elements, fastest first."""
        return self.memory_run_digits("src")

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

    @property
    def least_macro(self) -> tuple[int, ...]:
        """A macro tile of one tile, but of all of a digit that is loaded in part."""
        sizes = zip(self.tile, self.copy.digits, strict=True)
        return tuple(tile if digit.is_whole else digit.extent for tile, digit in sizes)

    def loaded_steps(self, position: int) -> int:
        """How many steps of a digit a macro tile has in the source; all others are zero."""
        return min(self.macro[position], self.copy.digits[position].loaded)

    def memory_steps(self, side: SideName) -> tuple[int, ...]:
        """How many steps of each digit a macro tile has on a side."""
        return self.macro if side == "dst" else tuple(map(self.loaded_steps, range(len(self.macro))))

    def memory_run(self, side: SideName) -> int:
        """Elements of a run on a side."""
        steps = self.memory_steps(side)
        return prod(steps[g] for g in self.memory_run_digits(side))

    @property
    def gathers_lanes(self) -> bool:
        """Whether what a load takes lies together where rows are gathered; in a source that overlaps it need not."""
        return all(part.digit in self.source_run_digits for part in self.source_lanes)

    @once
    def source_run(self) -> int:
        """Elements of a run of the source."""
        return self.memory_run("src")

    @property
    def macro_tiles_of_a_line(self) -> int:
        """How many macro tiles in turn take a line of the source, of which each has a run."""
        return max(LINE // (self.source_run * self.widths.src), 1)

    def is_buffered(self, side: SideName) -> bool:
        """Whether macro tiles of a side lie in a buffer."""
        return self.load != "normal" if side == "src" else self.store not in ("normal", "nontemporal")

    def has_byte_buffer(self, side: SideName) -> bool:
        """Whether they do so for their elements, which share bytes of memory, to have one each."""
        return self.load == "unpacked" if side == "src" else self.store == "packed"

    @once
    def load_buffer(self) -> MacroBuffer:
        """The buffer that a macro tile of the source is gathered in, if it is."""
        return macro_buffer(self, "src")

    @once
    def store_buffer(self) -> MacroBuffer:
        """The buffer that a macro tile of the destination is put together in, if it is."""
        return macro_buffer(self, "dst")

    def buffer(self, side: SideName) -> MacroBuffer:
        """The one of these two of a side."""
        return self.load_buffer if side == "src" else self.store_buffer

    def buffer_bytes(self, side: SideName) -> int:
        """Bytes of the buffer that a macro tile of a side goes through, if it does."""
        return self.buffer(side).bytes if self.is_buffered(side) else 0

    @property
    def has_buffers(self) -> bool:
        """Whether macro tiles lie in a buffer on some side."""
        return any(map(self.is_buffered, SIDES))

    @property
    def fits_stack(self) -> bool:
        """Whether no buffer of a macro tile is larger than one may be."""
        return max(map(self.buffer_bytes, SIDES)) <= MAX_STAGE_BYTES


def is_power_of_two(number: int) -> bool:
    """Whether a positive number is one."""
    return number & (number - 1) == 0


PlanPart = CopyPlan | Together | Through


@dataclass(frozen=True)
class Plan:
    """What a reorder does, in the order in which it runs, and the threads that share it."""

    parts: tuple[PlanPart, ...]
    threads: int = 1

    @property
    def copies(self) -> tuple[CopyPlan, ...]:
        """All copies, also those that run together with others."""
        return tuple(copy for part in self.parts for copy in ((part,) if isinstance(part, CopyPlan) else part.copies))
